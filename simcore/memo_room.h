/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a tier keeps its outcomes (memo.h): one after the other in a room of fixed size, in which
 * new ones take the place of the oldest: the memory that outcomes take has an end.
 */
#ifndef PSNAP_SIMCORE_MEMO_ROOM_H
#define PSNAP_SIMCORE_MEMO_ROOM_H

#include "simcore/hierarchy.h"

enum {
    ROOM_OUTCOMES = 1024,  /* at most, and one for each rest of a hash by it */
    OUTCOME_TAPS_MAX = 32, /* levels whose requests it has */
};

/* An access of a run as levels see it: equal ones touch the same lines. */
struct memo_access {
    uint64_t address; /* less the base's */
    int64_t stride;
    uint64_t key; /* reference, size, kind, thread */
};

/* A run; in a row of them the next one follows after its accesses. */
struct memo_run {
    uint64_t count, width;
    struct memo_access accesses[];
};

static inline size_t memo_run_bytes(size_t width)
{
    return sizeof(struct memo_run) + width * sizeof(struct memo_access);
}

static inline const struct memo_run *memo_run_next(const struct memo_run *run)
{
    const void *next = &run->accesses[run->width];

    return next;
}

struct memo_count {
    uint32_t level, ref; /* the level's number in the tier */
    uint32_t misses, write_backs;
};

/* What it points to follows it in the room. */
struct outcome {
    uint64_t hash;
    size_t runs_bytes;
    const struct memo_run *runs;
    const uint32_t *before, *after; /* states of the levels, one after the other */
    const struct memo_count *counts;
    const struct request *requests; /* tap after tap; with the reference for their access */
    uint32_t count_count;
    uint32_t request_counts[OUTCOME_TAPS_MAX]; /* by tap */
};

struct room {
    struct outcome *by_hash[ROOM_OUTCOMES];
    uint64_t seen[ROOM_OUTCOMES]; /* hashes that were asked for */
    unsigned char *bytes;
    size_t size, at;                      /* the next outcome's place */
    struct outcome *queue[ROOM_OUTCOMES]; /* in their order, in a circle: */
    uint32_t first, count;
};

/* False: out of memory. */
bool room_init(struct room *room, size_t size);
void room_release(struct room *room);

/* The outcome of this hash, or NULL. */
const struct outcome *room_find(const struct room *room, uint64_t hash);
/* Whether somebody asked so for this hash before. */
bool room_has_seen(struct room *room, uint64_t hash);
/* So many bytes for an outcome of this hash, which may not be found before it is filled; what was
 * kept by it is not. NULL: there are never so many. */
void *room_take(struct room *room, uint64_t hash, size_t bytes);
/* The outcome is not found any more. */
void room_forget(struct room *room, const struct outcome *outcome);

#endif
