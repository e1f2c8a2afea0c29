/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an LRU stack consists of; private to stack.c and stack_run.c.
 *
 * Invariants: lines on top that are not of the sample have cell 0 there. A cell is EMPTY (never
 * touched), ON_TOP, or has a slot on the time line.
 */
#ifndef PSNAP_PREDICT_REUSE_STACK_PARTS_H
#define PSNAP_PREDICT_REUSE_STACK_PARTS_H

#include <math.h>

#include "formats/base/rng.h"
#include "predict/reuse/stack.h"
#include "predict/reuse/table.h"
#include "predict/reuse/timeline.h"

enum { EMPTY = 0, ON_TOP = 1 };

struct stack {
    uint64_t top[STACK_TOP];       /* the lines touched last, the last one first */
    uint32_t top_cells[STACK_TOP]; /* theirs */
    uint32_t top_count;
    struct table table;
    struct timeline below; /* all others */
    uint64_t threshold;    /* lines whose hash is above it are not of the sample */
    double scale;          /* lines for each one of the sample */
    uint64_t left;         /* by stack_leave() since stack_join() */
};

static inline bool stack_samples(const struct stack *stack, uint64_t line)
{
    return stack->threshold == UINT64_MAX ||
           psnap_rng_mix(line + PSNAP_RNG_GOLDEN) <= stack->threshold;
}

/* The distance of a line that has slots taken `behind` its own, and `above` lines on top. */
static inline uint64_t stack_distance(const struct stack *stack, uint32_t above, uint32_t behind)
{
    return stack->threshold == UINT64_MAX
               ? above + behind
               : STACK_SAMPLED | (above + (uint64_t)llround(behind * stack->scale));
}

/* The line of a cell that is on top, 0: none, goes below all others there; false: as above. */
static inline bool stack_lower(struct stack *stack, uint32_t cell)
{
    if (!cell)
        return true;
    if (!timeline_make_room(&stack->below, stack->table.cells))
        return false;
    timeline_put(&stack->below, stack->table.cells, cell);
    return true;
}

#endif
