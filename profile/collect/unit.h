/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Vector body, remainder and other bodies that the optimiser made of one loop of the source, as one
 * symbol of the order: bodies that execute right after each other, in the order in which they stand
 * in the program, are one execution of the loop. How many iterations of the source it had is
 * counted in bytes, which each body accesses a multiple of the narrowest one's of. Whether that
 * number tells how many each body had (order/expand.h) is found out on the way; when it does not,
 * each goes on by itself.
 */
#ifndef PSNAP_PROFILE_UNIT_H
#define PSNAP_PROFILE_UNIT_H

#include "profile/order/expand.h"

struct lane;

struct unit_part {
    uint32_t body;                   /* of the lane's */
    uint64_t bytes;                  /* that an iteration accesses */
    uint64_t count;                  /* iterations, in the execution under way */
    uint64_t executions, iterations; /* of it within executions of the whole, so far */
    uint64_t most;                   /* bytes that wider parts have left, at most; */
    uint64_t passed, entered;        /* at most when it did not execute, at least when it did; */
    uint64_t low, high;              /* and that it left then, at least and at most */
};

struct lane_unit {
    uint64_t source;     /* hash of the loop of the source */
    bool is_over;        /* it does not hold */
    uint32_t part_count; /* the widest first */
    struct unit_part parts[EXPAND_PARTS];
};

/* The first execution of a body has ended: bodies[body].whole is set. False: out of memory. */
bool unit_join(struct lane *lane, uint32_t body);
/* The body has executed; false: out of memory. */
bool unit_put(struct lane *lane, uint32_t body, uint64_t iterations);
bool unit_end(struct lane *lane);
/* How iterations expand into the parts, in the order in which these stand; bodies are the lane's.
 * *bytes gets those of an iteration. False: the number does not tell. */
bool unit_rule(const struct lane *lane, const struct lane_unit *unit,
               struct expand_part parts[EXPAND_PARTS], uint64_t *bytes);

#endif
