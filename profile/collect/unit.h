/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Of one loop of the source the optimiser makes several: a vector body, a remainder loop, others. A
 * unit takes their bodies for one symbol of the order. Bodies of a unit that execute right after
 * each other, in the order in which they stand in the program, are one execution of the source's
 * loop.
 *
 * The length of such an execution is measured in bytes: an iteration of each body accesses a
 * multiple of the bytes that one of the narrowest body does. A unit is worth having if the
 * iterations of each body follow from that length (order/expand.h). Executions show whether they
 * do; once they do not (is_over), each body is a symbol by itself.
 */
#ifndef PSNAP_PROFILE_UNIT_H
#define PSNAP_PROFILE_UNIT_H

#include "profile/order/expand.h"

struct lane;

struct unit_part {
    uint32_t body;                   /* its index in the lane */
    uint64_t bytes;                  /* bytes that an iteration accesses */
    uint64_t count;                  /* iterations in the execution under way */
    uint64_t executions, iterations; /* so far, of the part within executions of the whole */
    uint64_t most;                   /* the most bytes that the wider parts left to this one */
    uint64_t passed, entered;        /* the most with which it did not execute, the fewest with
                                        which it did */
    uint64_t low, high;              /* the fewest and the most that it left to narrower parts */
};

struct lane_unit {
    uint64_t source;     /* hash of the loop of the source */
    bool is_over;        /* iterations of the parts do not follow from the length */
    uint32_t part_count; /* the widest first */
    struct unit_part parts[EXPAND_PARTS];
};

/* Called when the first execution of a body has ended: the body joins a unit if it fits into one,
 * and bodies[body].whole is that unit's. False: out of memory. */
bool unit_join(struct lane *lane, uint32_t body);
/* Called when a body has executed; false: out of memory. */
bool unit_put(struct lane *lane, uint32_t body, uint64_t iterations);
/* The execution under way, of the source's loop, has ended; false: out of memory. */
bool unit_end(struct lane *lane);
/* Gets the rule by which iterations of the source expand into those of the parts, which are in the
 * order of the program and whose bodies are the lane's; *bytes gets the bytes of an iteration.
 * False: there is no such rule. */
bool unit_rule(const struct lane *lane, const struct lane_unit *unit,
               struct expand_part parts[EXPAND_PARTS], uint64_t *bytes);

#endif
