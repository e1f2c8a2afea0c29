/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open addressing with linear probing, at most half full.
 */
#include "formats/pc_refs.h"

#include <stdlib.h>

#define REFS_MAX (1u << 20)
#define FIRST_BUCKETS 4096u
#define SIZE_MAX_KNOWN 4096u /* as text gives it, before it is split */

struct pc_ref {
    uint64_t pc;
    uint32_t ref; /* 0: empty bucket */
    uint16_t size;
    uint8_t kind;
};

bool pc_refs_init(struct pc_refs *refs)
{
    *refs = (struct pc_refs){.bucket_count = FIRST_BUCKETS};
    refs->buckets = calloc(FIRST_BUCKETS, sizeof *refs->buckets);
    return refs->buckets != NULL;
}

void pc_refs_release(struct pc_refs *refs)
{
    free(refs->buckets);
    *refs = (struct pc_refs){0};
}

static uint32_t bucket_of(const struct pc_ref *wanted, uint32_t bucket_count)
{
    const uint64_t mixed =
        (wanted->pc ^ (uint64_t)wanted->size << 48 ^ (uint64_t)wanted->kind << 62) *
        UINT64_C(0x9e3779b97f4a7c15);

    return (uint32_t)(mixed >> 32) & (bucket_count - 1);
}

static struct pc_ref *find_bucket(struct pc_ref *buckets, uint32_t bucket_count,
                                  const struct pc_ref *wanted)
{
    uint32_t b = bucket_of(wanted, bucket_count);

    while (buckets[b].ref && (buckets[b].pc != wanted->pc || buckets[b].size != wanted->size ||
                              buckets[b].kind != wanted->kind))
        b = (b + 1) & (bucket_count - 1);
    return &buckets[b];
}

static bool grow_buckets(struct pc_refs *refs)
{
    const uint32_t count = refs->bucket_count * 2;
    struct pc_ref *buckets = calloc(count, sizeof *buckets);

    if (!buckets)
        return false;
    for (uint32_t b = 0; b < refs->bucket_count; b++)
        if (refs->buckets[b].ref)
            *find_bucket(buckets, count, &refs->buckets[b]) = refs->buckets[b];
    free(refs->buckets);
    refs->buckets = buckets;
    refs->bucket_count = count;
    return true;
}

uint32_t pc_refs_find(struct pc_refs *refs, struct psnap_program *program, uint64_t pc,
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
    bucket = find_bucket(refs->buckets, refs->bucket_count, &wanted);
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
