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

struct pc_ref;

struct pc_refs {
    struct pc_ref *buckets;
    uint32_t bucket_count, ref_count;
};

/* False: out of memory. */
bool pc_refs_init(struct pc_refs *refs);
void pc_refs_release(struct pc_refs *refs);

/* The reference of such accesses, made if need be; the anonymous one after 2^20 of them, and of
 * sizes that are split. PSNAP_NONE: out of memory. */
uint32_t pc_refs_find(struct pc_refs *refs, struct psnap_program *program, uint64_t pc,
                      enum psnap_access_kind kind, uint64_t size);

#endif
