/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A machine access by access: for what hierarchy.h leaves out. Levels that are inclusive or
 * exclusive, that write through or do not allocate on stores, victim caches, prefetches of the next
 * lines, coherence between cores' own caches; and of each miss what it is due to. MACHINES.md
 * states the model. Where a machine has none of these, both do the same (a test runs one against
 * the other), and this is the slower one.
 */
#ifndef PSNAP_SIMCORE_DETAIL_H
#define PSNAP_SIMCORE_DETAIL_H

#include "simcore/hierarchy.h"

/* What is counted of a level. */
enum detail_count {
    DETAIL_WRITE_BACKS,    /* dirty lines that it gave up */
    DETAIL_ISSUED,         /* lines that its prefetchers brought in */
    DETAIL_USEFUL,         /* of these: asked for, for the first time */
    DETAIL_USELESS,        /* of these: gone, and never asked for */
    DETAIL_WRITE_THROUGHS, /* stores that it sent on */
    DETAIL_EVICTIONS,      /* lines that it gave up for want of room */
    DETAIL_VICTIM_HITS,    /* lines found in its victim cache, which are hits of the level */
    DETAIL_INVALIDATIONS,  /* lines that others took from it: an inclusive level, another core */
    DETAIL_COLD,           /* accesses that missed, by their first line that was missing: */
    DETAIL_CAPACITY,       /* not there before; a fully associative LRU cache misses it, too; */
    DETAIL_CONFLICT,       /* such a cache of the level's size does not; */
    DETAIL_COHERENCE,      /* another core's store took it away */
    DETAIL_COUNTS
};

/* Of the block that ran last, by access. */
struct detail_outcome {
    uint8_t reached[HIERARCHY_BLOCK]; /* the level that satisfied it, as hierarchy_reached() */
    uint16_t counts[DETAIL_COUNTS][PSNAP_LEVELS_MAX][HIERARCHY_BLOCK];
};

struct detail;

/* Who is told of what the last level asks of memory, in order. `bytes` of a read are those of a
 * line, at its begin; of a write those that are written. */
struct detail_memory {
    void (*request)(void *context, size_t access, uint64_t address, uint64_t bytes, bool is_write);
    void *context;
};

/* All levels cold; `cores` as in hierarchy_new(). `classify`: misses are told apart, which takes
 * memory for each line of the stream. NULL: out of memory. */
struct detail *detail_new(const struct psnap_machine *machine, uint32_t cores, bool classify);
void detail_free(struct detail *detail);

/* From now on. `memory` is copied. */
void detail_watch_memory(struct detail *detail, const struct detail_memory *memory);

/* Runs n <= HIERARCHY_BLOCK valid accesses. False: out of memory. */
bool detail_run(struct detail *detail, const struct psnap_access *block, size_t n);
const struct detail_outcome *detail_outcome(const struct detail *detail);

#endif
