/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loops of nests (nests.h) that make few accesses in an iteration, written out without going
 * through them leaf by leaf.
 */
#ifndef PSNAP_PROFILE_NEST_UNROLL_H
#define PSNAP_PROFILE_NEST_UNROLL_H

#include "profile/walks/nests.h"

enum {
    NEST_UNROLL_MAX = 4096,      /* accesses that are written out at once: with their steps they
                                    stay in a second-level cache */
    NEST_UNROLL_RUN = 32,        /* accesses of a run that is worth one, for who takes runs */
    NEST_UNROLL_VALUES = 1 << 12 /* words of values of the loops in a loop */
};

/* Zeroed: of no loops, and nothing under way. */
struct nest_unroll {
    uint8_t *kinds; /* by pattern number; 0: it is to be entered */
    /* The loop under way: its next accesses, as words, and how far each is from there in the next
     * round, the other word being 0. */
    uint64_t *now, *steps;
    uint32_t length, at; /* accesses of a round, and of those that are already out */
    uint64_t left;       /* accesses still to come, in all */
    uint64_t *values;    /* of the loops around what is written out, one after the other */
};

/* For patterns of nests that will not change; `is_affine` says so of a shape's references and
 * count. False: out of memory. */
bool nest_unroll_init(struct nest_unroll *unroll, const struct psnap_nests *nests,
                      bool (*is_affine)(const void *context, const struct nest_shape *shape),
                      const void *context);
void nest_unroll_release(struct nest_unroll *unroll);

/* Takes a loop that a cursor has come to, when its iterations are small enough; with `by_runs` also
 * no leaf in it may be worth a run. False: it is to be entered. *last: the loop of the program that
 * its last leaf is of, as it was when there is none. */
bool nest_unroll_begin(struct nest_unroll *unroll, const struct nest_leaf *loop, bool by_runs,
                       uint32_t *last);

/* Up to `capacity` accesses of the loop under way; how many. */
size_t nest_unroll_write(struct nest_unroll *unroll, struct psnap_access *block, size_t capacity);

#endif
