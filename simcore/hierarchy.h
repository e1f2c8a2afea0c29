/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cache levels of any number of machines. A block of accesses goes in, and
 * for each of them comes out how deep it went on each machine and how many dirty
 * lines each level evicted for it.
 *
 * Machines whose first levels are alike share them: levels form a forest, a
 * machine is a path from a root. A level depends on the levels above it only.
 * A TLB is a path of its own, its levels are caches whose lines are pages.
 *
 * With cores a level is as many caches as the machine has of it; an access meets that of its core
 * at each level. The levels' order of requests stays that of accesses, so a level that several
 * cores share serves theirs as they come.
 */
#ifndef PSNAP_SIMCORE_HIERARCHY_H
#define PSNAP_SIMCORE_HIERARCHY_H

#include "simcore/cache.h"
#include "simcore/rename.h"
#include "simcore/rpt.h"

#define HIERARCHY_BLOCK 1024 /* accesses at a time: their outcome stays in the host's L1 */
#define HIERARCHY_QUEUE 1024

/* What one level asks of the next. */
struct request {
    uint64_t address; /* of the access's first byte, or of the range to write back */
    uint64_t bytes;   /* access: bit i: byte `address + i` is sought; write-back: their number */
    uint32_t access;  /* index in the block, for attribution */
    uint32_t size;    /* of the whole access in bytes; 0: a write-back; or a prefetch, which is as
                         the access that it foresees: its size is in `access` above the index */
};

#define REQUEST_AHEAD_SHIFT 16

/* A level's prefetcher. Per access of the block, lines that it brought in, that were asked for the
 * first time, that left without it. */
struct ahead {
    struct rpt *rpts;                 /* one for each cache of the level */
    const struct psnap_access *block; /* in hand */
    uint16_t issued[HIERARCHY_BLOCK];
    uint16_t useful[HIERARCHY_BLOCK];
    uint16_t useless[HIERARCHY_BLOCK];
};

struct level;

/* What serves a level of one representation: accesses, and requests. */
struct loops {
    void (*block)(struct level *level, const struct psnap_access *block, size_t n);
    void (*queue)(struct level *level);
};

struct level {
    struct cache *cache;  /* of the access in hand */
    struct cache *caches; /* one for all, or for each `share` cores one */
    uint32_t cache_count, share;
    struct psnap_cache_level shape;
    const struct loops *loops; /* what serves it */
    struct level *below;       /* the first of those that follow on some machine, or NULL */
    struct level *sibling;     /* the next one that follows the same level, or NULL */
    struct ahead *ahead;       /* its prefetcher, or NULL */
    uint32_t queued;
    uint16_t owners[HIERARCHY_BLOCK]; /* per access: its cache, where there are several */
    uint32_t miss_count;
    uint16_t misses[HIERARCHY_BLOCK]; /* accesses that went on from here, ascending */
    uint32_t evicting_count;
    uint16_t evicting[HIERARCHY_BLOCK];    /* accesses that evicted dirty lines, each once */
    uint16_t evictions[HIERARCHY_BLOCK];   /* per access: dirty lines evicted; at most 64, and as
                                                many for each prefetch of this level or above */
    struct request queue[HIERARCHY_QUEUE]; /* from the level above, not served yet */
};

struct path {
    uint32_t level_count;
    struct level *levels[PSNAP_LEVELS_MAX];
};

struct paths {
    struct path caches, tlb;
};

struct hierarchy {
    struct level *roots;   /* siblings: the different first levels */
    struct level **levels; /* all of them, each after the one above it */
    size_t level_count, machine_count;
    uint32_t cores; /* 0: all threads have one hierarchy */
    bool is_foreseen;
    bool packs;   /* some levels are packed: addresses are renamed */
    bool is_dead; /* it ran out of memory half way */
    struct rename rename;
    struct psnap_access renamed[HIERARCHY_BLOCK];
    struct paths paths[]; /* per machine */
};

/* Serves all requests of the level's queue. */
static inline void level_drain(struct level *level)
{
    level->loops->queue(level);
}

/* All levels cold. `kind` as for cache_init, of all of them; CACHE_PACKED where that can be.
 * `cores` 0: one hierarchy for all threads; else threads are cores, all below it, and have the
 * caches that machines say. NULL: out of memory. */
struct hierarchy *hierarchy_new(const struct psnap_machine *machines, size_t n,
                                enum cache_kind kind, uint32_t cores);
void hierarchy_free(struct hierarchy *hierarchy);

/* Whether what comes is likely to hit and miss in a pattern, as loops with strides do: a hint. */
void hierarchy_foresee(struct hierarchy *hierarchy, bool foreseen);

/* Runs n <= HIERARCHY_BLOCK valid accesses and fills misses and evictions. False: out of memory,
 * nothing was run. */
bool hierarchy_run(struct hierarchy *hierarchy, const struct psnap_access *block, size_t n);

/* The two parts of that around the first levels, for who knows what these ask for (memo.h): no
 * misses and evictions so far; and all levels serve what they were asked for. */
void hierarchy_forget(struct hierarchy *hierarchy);
void hierarchy_drain(struct hierarchy *hierarchy);

#endif
