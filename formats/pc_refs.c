/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open addressing with linear probing, at most half full.
 */
#include "formats/pc_refs.h"

#include <stdlib.h>

#define REFS_MAX (1u << 20)
#define FIRST_BUCKETS 4096u
#define SIZE_MAX_KNOWN 4096u /* as text gives it, before it is split */

void pc_refs_release(struct pc_refs *refs)
{
    free(refs->buckets);
    *refs = (struct pc_refs){0};
}

static struct pc_ref *find_bucket(const struct pc_refs *refs, const struct pc_ref *wanted)
{
    uint32_t b = pc_refs_bucket(refs, wanted->pc, wanted->kind, wanted->size);
    struct pc_ref *buckets = refs->buckets;

    while (buckets[b].ref && (buckets[b].pc != wanted->pc || buckets[b].size != wanted->size ||
                              buckets[b].kind != wanted->kind))
        b = (b + 1) & (refs->bucket_count - 1);
    return &buckets[b];
}

static bool grow_buckets(struct pc_refs *refs)
{
    struct pc_refs grown = {.bucket_count = refs->buckets ? refs->bucket_count * 2 : FIRST_BUCKETS,
                            .ref_count = refs->ref_count};

    grown.buckets = calloc(grown.bucket_count, sizeof *grown.buckets);
    if (!grown.buckets)
        return false;
    for (uint32_t b = 0; b < refs->bucket_count; b++)
        if (refs->buckets[b].ref)
            *find_bucket(&grown, &refs->buckets[b]) = refs->buckets[b];
    free(refs->buckets);
    *refs = grown;
    return true;
}

uint32_t pc_refs_search(struct pc_refs *refs, struct psnap_program *program, uint64_t pc,
                        enum psnap_access_kind kind, uint64_t size)
{
    struct pc_ref wanted = {pc, 0, (uint16_t)size, (uint8_t)kind};
    struct psnap_ref ref = {.kind = (uint8_t)kind,
                            .size = size <= PSNAP_ACCESS_SIZE_MAX ? (uint8_t)size : 0};
    struct pc_ref *bucket;

    if (size > SIZE_MAX_KNOWN)
        return (uint32_t)kind;
    if (refs->ref_count >= refs->bucket_count / 2 && !grow_buckets(refs))
        return PSNAP_NONE;
    bucket = find_bucket(refs, &wanted);
    if (bucket->ref)
        return bucket->ref;
    if (refs->ref_count >= REFS_MAX)
        return (uint32_t)kind;
    wanted.ref = psnap_program_add_ref(program, &ref);
    if (wanted.ref != PSNAP_NONE) {
        *bucket = wanted;
        refs->ref_count++;
    }
    return wanted.ref;
}
