/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Descents: a reference goes down a tree that lies in memory in order, from its root at each level
 * by one of two steps, as a binary search does. All that is kept is of levels.
 */
#ifndef PSNAP_PROFILE_GATHER_DESCENT_H
#define PSNAP_PROFILE_GATHER_DESCENT_H

#include "profile/gathers/gather.h"

enum {
    GATHER_DESCENT_NEAR = 3, /* elements by which the steps of a level differ */
    GATHER_DESCENT_FEW = 64, /* lines of two caches */
    GATHER_DESCENT_MANY = 2048
};

/* From a level to the one below. */
struct gather_descended {
    uint64_t first[2]; /* bytes: the first steps that were down and up */
    uint64_t near[2][2 * GATHER_DESCENT_NEAR + 1]; /* steps by how many elements they are from it */
    uint64_t taken[2];                             /* all steps down and up */
    uint64_t ends;                                 /* by the root */
};

/* Of a collector, from the first access on for as long as they may be descents. */
struct gather_descents {
    uint64_t count, near;   /* accesses; those that levels tell, nearly */
    uint64_t root, element; /* of steps */
    uint64_t last;
    uint32_t level, used; /* of the last access; levels below the root */
    struct gather_descended levels[GATHER_LEVELS + 1];
    uint64_t first[GATHER_DESCENT_FIRST];
    /* The last line at each place of the caches, plus one, and hits in both: */
    uint32_t few[GATHER_DESCENT_FEW], many[GATHER_DESCENT_MANY];
    uint64_t hits[2];
};

struct gather_descents *gather_descents_new(void); /* NULL: out of memory */
/* *descents is freed, and NULL, when they are none; NULL stays. */
void gather_descents_put(struct gather_descents **descents, const uint64_t *addresses, size_t n);
void gather_descents_put_run(struct gather_descents **descents, uint64_t first, uint64_t step,
                             uint64_t n);
/* Whether lines are used again as soon in other descents; false as well when memory is out. */
bool gather_descents_are_alike(const struct gather_descents *descents, const uint64_t *others,
                               size_t n);

#endif
