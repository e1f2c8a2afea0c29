/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * References of formats that know instructions by their program counters alone: each counter, kind
 * and size is one, in the order in which they come, behind the anonymous ones (0 loads, 1 stores).
 * Private to formats/.
 */
#ifndef PSNAP_FORMATS_PC_REFS_H
#define PSNAP_FORMATS_PC_REFS_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/base/access.h"
#include "formats/base/program.h"

struct pc_ref {
    uint64_t pc;
    uint32_t ref; /* 0: empty bucket */
    uint16_t size;
    uint8_t kind;
};

/* Zero-initialise. */
struct pc_refs {
    struct pc_ref *buckets;
    uint32_t bucket_count, ref_count;
};

void pc_refs_release(struct pc_refs *refs);

/* Written, a reference has the counter of an instruction of four bytes, from 0x400000 on. */
static inline uint64_t pc_refs_counter(uint32_t ref)
{
    return UINT64_C(0x400000) + UINT64_C(4) * ref;
}

/* Where the search for a reference begins. */
static inline uint32_t pc_refs_bucket(const struct pc_refs *refs, uint64_t pc,
                                      enum psnap_access_kind kind, uint64_t size)
{
    const uint64_t mixed = (pc ^ size << 48 ^ (uint64_t)kind << 62) * UINT64_C(0x9e3779b97f4a7c15);

    return (uint32_t)(mixed >> 32) & (refs->bucket_count - 1);
}

/* The second half of pc_refs_find. */
uint32_t pc_refs_search(struct pc_refs *refs, struct psnap_program *program, uint64_t pc,
                        enum psnap_access_kind kind, uint64_t size);

/* The reference of such accesses, made if need be; the anonymous one after 2^20 of them, and of
 * sizes that are split. PSNAP_NONE: out of memory. */
static inline uint32_t pc_refs_find(struct pc_refs *refs, struct psnap_program *program,
                                    uint64_t pc, enum psnap_access_kind kind, uint64_t size)
{
    if (__builtin_expect(refs->buckets != NULL, 1)) {
        const struct pc_ref *bucket = &refs->buckets[pc_refs_bucket(refs, pc, kind, size)];
        if (bucket->ref && bucket->pc == pc && bucket->size == size && bucket->kind == kind)
            return bucket->ref;
    }
    return pc_refs_search(refs, program, pc, kind, size);
}

#endif
