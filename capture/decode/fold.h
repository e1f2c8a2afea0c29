/* SPDX-License-Identifier: BSD-3-Clause */
/* Iterations of a nest's loops in closed form (fold.c). */
#ifndef PSNAP_CAPTURE_DECODE_FOLD_H
#define PSNAP_CAPTURE_DECODE_FOLD_H

#include "capture/decode/hoist.h"
#include "capture/decode/value.h"

enum {
    PSNAP_FOLD_DEPTH = PSNAP_NEST_LEVELS - 1, /* a hoisted loop is within */
    PSNAP_FOLD_ITERATIONS_MIN = 4 /* of the outermost loop: fewer are not worth a nest */
};

/* A loop that is being folded. */
struct psnap_fold_level {
    uint64_t begun, position; /* its first iteration, and which from it on it is in */
    uint64_t times;           /* iterations behind the first that are as the first */
    uint64_t within;          /* iterations of loops in one of it, at most */
    uint32_t enter, loop;     /* its step, and which loop of the nest it is */
    bool is_over;             /* the first iteration is */
};

/* Room for folding, and what has come of it. */
struct psnap_fold {
    uint32_t depth, over; /* loops that are open; those whose first iteration is over */
    struct psnap_fold_level levels[PSNAP_FOLD_DEPTH];
    uint32_t loop;                    /* of the context's maker, the next */
    uint16_t steps[PSNAP_NEST_LOOPS]; /* ENTER or RUN, of which the loop is */
    uint64_t found;                   /* nests so far */
    int64_t deltas[PSNAP_FOLD_DEPTH][PSNAP_NEST_VALUES_MAX]; /* of values, by level */
};

/* The record of a nest that is being delivered. */
struct psnap_nested {
    const struct psnap_capture_nest *nest; /* NULL: none */
    struct psnap_capture_step *steps;
    uint32_t at, stop; /* next step, and the one before which the record ends, or in which: */
    uint64_t stopped;  /* iterations that its hoisted loop has had */
    uint32_t left;     /* so many iterations of loops may come */
    uint64_t iterations[PSNAP_NEST_LEVELS_MAX];
    uint64_t values[PSNAP_NEST_VALUES_MAX]; /* the record's words first */
    struct psnap_shift *shift;              /* NULL: none */
    /* By how much the values advance along it, and along those further out. */
    int64_t shifts[PSNAP_PERIOD_DEPTH][PSNAP_NEST_VALUES_MAX];
    struct psnap_fold fold;
};

/* How the values of a step, which are computed, advance along the shifts. */
void psnap_nested_shift(const struct psnap_context *context, struct psnap_nested *open,
                        const struct psnap_capture_step *step);

/* Computes the values of a step, in the present iteration. */
static inline void psnap_nested_evaluate(const struct psnap_context *context,
                                         struct psnap_nested *open,
                                         const struct psnap_capture_step *step)
{
    psnap_values_compute(&context->tables.values[open->nest->first_value + step->a], step->b,
                         open->iterations[step->level], open->values, open->nest->words + step->a);
    if (open->shift)
        psnap_nested_shift(context, open, step);
}

/* A value that decides how the nest goes on: it may not advance along a shift. */
static inline uint64_t psnap_nested_decide(const struct psnap_nested *open, uint32_t value)
{
    const int64_t(*shifts)[PSNAP_NEST_VALUES_MAX] = open->shifts;

    for (struct psnap_shift *shift = open->shift; shift; shift = shift->outer, shifts++)
        if ((*shifts)[value])
            shift->times = 0;
    return open->values[value];
}

/* Iterations of the hoisted loop that a step runs. */
static inline uint64_t psnap_nested_count(const struct psnap_nested *open,
                                          const struct psnap_capture_step *step)
{
    return step->b ? psnap_nested_decide(open, step->b) : 1;
}

/* Where a branch leads. */
static inline uint32_t psnap_nested_branch(const struct psnap_nested *open,
                                           const struct psnap_capture_step *step)
{
    return psnap_nested_decide(open, step->a) ? step->b : step->c;
}

static inline void psnap_nested_set(struct psnap_nested *open,
                                    const struct psnap_capture_step *step)
{
    int64_t(*shifts)[PSNAP_NEST_VALUES_MAX] = open->shifts;

    open->values[step->a] = open->values[step->b];
    for (const struct psnap_shift *shift = open->shift; shift; shift = shift->outer, shifts++)
        (*shifts)[step->a] = (*shifts)[step->b];
}

/* Whether the step at which the record stops has come, in the iterations in which it did. */
static inline bool psnap_nested_has_stopped(const struct psnap_nested *open)
{
    const uint64_t *to = open->values + PSNAP_NEST_HEADER_WORDS + open->nest->levels;

    const struct psnap_capture_step *step = &open->steps[open->stop];
    const uint32_t levels = step->op == PSNAP_STEP_ENTER ? step->level : step->level + 1u;

    for (uint32_t i = 0; i < levels; i++)
        if (open->iterations[i] != to[i])
            return false;
    return true;
}

/*
 * An iteration of the loop that step `enter` enters begins: its values are computed and, from it
 * on, as many as are a nest are delivered as one, or counted where nothing is accessed; the record
 * goes on behind them. False: they are too few, or none, and it goes on in the iteration.
 */
bool psnap_fold(struct psnap_context *context, struct psnap_nested *open, uint32_t enter,
                struct psnap_delivery *to);

#endif
