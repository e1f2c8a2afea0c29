/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cache levels of one machine. A block of accesses goes in, and for each
 * of them comes out how deep it went and how many dirty lines each level
 * evicted for it.
 */
#ifndef PSNAP_SIMCORE_HIERARCHY_H
#define PSNAP_SIMCORE_HIERARCHY_H

#include "simcore/cache.h"

#define HIERARCHY_BLOCK 1024 /* accesses at a time: their outcome stays in the host's L1 */
#define HIERARCHY_QUEUE 1024

/* What one level asks of the next. */
struct request {
    uint64_t address; /* of the access's first byte, or of the range to write back */
    uint64_t bytes;   /* access: bit i: byte `address + i` is sought; write-back: their number */
    uint32_t access;  /* index in the block, for attribution */
    uint8_t size;     /* of the whole access in bytes */
    bool write_back;
};

struct level {
    struct cache cache;
    struct level *next; /* NULL: memory is next */
    uint8_t *reached;   /* the hierarchy's */
    bool evicted;       /* some of evictions[] are not zero */
    uint32_t queued;
    uint8_t evictions[HIERARCHY_BLOCK];    /* per access: dirty lines evicted; at most 64 */
    struct request queue[HIERARCHY_QUEUE]; /* from the level above, not served yet */
};

struct hierarchy {
    uint32_t level_count;
    uint8_t reached[HIERARCHY_BLOCK]; /* per access: the level that satisfied it, from 0 */
    struct level levels[];
};

/* All levels cold. `kind` as for cache_init. NULL: out of memory. */
struct hierarchy *hierarchy_new(const struct psnap_machine *machine, enum cache_kind kind);
void hierarchy_free(struct hierarchy *hierarchy);

/* Runs n <= HIERARCHY_BLOCK valid accesses and fills reached and evictions. */
void hierarchy_run(struct hierarchy *hierarchy, const struct psnap_access *block, size_t n);

#endif
