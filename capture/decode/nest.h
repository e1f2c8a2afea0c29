/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of nests. */
#ifndef PSNAP_CAPTURE_DECODE_NEST_H
#define PSNAP_CAPTURE_DECODE_NEST_H

#include "capture/decode/hoisted.h"
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
};

/* The record of a nest that is being delivered. */
struct psnap_nested {
    const struct psnap_table_nest *nest; /* NULL: none */
    struct psnap_capture_step *steps;
    uint32_t at, stop; /* next step, and the one before which the record ends, or in which: */
    uint64_t stopped;  /* iterations that its hoisted loop has had */
    uint32_t left;     /* so many iterations of loops may come */
    uint64_t iterations[PSNAP_NEST_LEVELS_MAX];
    uint64_t values[PSNAP_NEST_VALUES_MAX]; /* the record's words first */
    struct psnap_shift *shift;              /* NULL: none */
    uint32_t shifts, directions; /* it and those further out; these, and loops that are folded */
    /* By how much the values advance along each. */
    int64_t deltas[PSNAP_PERIOD_DEPTH + PSNAP_FOLD_DEPTH][PSNAP_NEST_VALUES_MAX];
    struct psnap_fold fold;
};

/* Takes the record of a nest, as psnap_hoisted_open does. */
enum psnap_status psnap_nested_open(struct psnap_context *context, struct psnap_nested *open,
                                    const struct psnap_capture_piece *end,
                                    struct psnap_error *error);
/* Goes on with it until a nest follows or a hoisted loop has been opened, to be delivered by
 * psnap_hoisted_next; when nothing is left of it its nest is NULL. */
enum psnap_status psnap_nested_next(struct psnap_context *context, struct psnap_nested *open,
                                    struct psnap_hoisted *hoisted, struct psnap_delivery *to,
                                    struct psnap_error *error);

#endif
