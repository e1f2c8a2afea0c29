/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sequences as affine loop nests, after A. Ketterlin and P. Clauss, "Prediction and trace
 * compression of data access addresses through nested loop recognition", CGO 2008.
 *
 * A sequence of numbers (the addresses of a reference, the trip counts of a loop) is made of runs:
 * `count` numbers from `first` on, each a stride further. A sequence of symbols (the bodies of
 * loops in the order in which they execute) has leaves without a first number. A loop repeats its
 * body, and the values in it, counts and first numbers, change by the same steps from one iteration
 * to the next: they are affine in the iterations around. What all leaves or loops of one form have
 * in common, symbol, stride and steps, is a pattern; a term is a pattern and its values:
 *
 *   leaf of symbols   count (1)
 *   leaf of numbers   count, first number
 *   loop              count, values of the terms of its first iteration, one after the other
 *
 * Counts are signed; a term whose count is zero or less is not there.
 */
#ifndef PSNAP_PROFILE_NEST_H
#define PSNAP_PROFILE_NEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    NEST_BODY_MAX = 512, /* terms of an iteration */
    NEST_DEPTH_MAX = 32  /* loops in loops */
};

#define NEST_NUMBERS UINT32_MAX /* in the place of a symbol: a run of numbers */

struct nest_pattern {
    uint32_t number;     /* of those made before */
    uint32_t values;     /* words of a term's values */
    uint32_t depth;      /* of loops in it; 0: a leaf */
    uint32_t body_count; /* 0: a leaf */
    uint32_t symbol;     /* of a leaf, or NEST_NUMBERS */
    const struct nest_pattern **body;
    uint64_t *steps; /* of values[1...]: a run's stride; a loop's steps by iteration */
};

/* ---- patterns, one of each form, never changed: pattern.c ---- */

struct nest_patterns;

struct nest_patterns *nest_patterns_new(void); /* NULL: out of memory */
void nest_patterns_free(struct nest_patterns *patterns);
/* The pattern of these properties, which are copied; NULL: out of memory. */
const struct nest_pattern *nest_pattern_symbol(struct nest_patterns *patterns, uint32_t symbol);
const struct nest_pattern *nest_pattern_run(struct nest_patterns *patterns, uint64_t stride);
const struct nest_pattern *nest_pattern_loop(struct nest_patterns *patterns,
                                             const struct nest_pattern *const *body,
                                             uint32_t body_count, const uint64_t *steps);
/* The same pattern among others. */
const struct nest_pattern *nest_pattern_copy(struct nest_patterns *to,
                                             const struct nest_pattern *from);

/* Hands the terms in a loop to `put`, one by one, iteration after iteration; false: `put` was, or
 * out of memory. */
bool nest_each_iteration(const struct nest_pattern *loop, const uint64_t *values,
                         bool (*put)(void *context, const struct nest_pattern *pattern,
                                     const uint64_t *values),
                         void *context);

/* Whether each iteration of a loop is as long as the others. */
bool nest_is_steady(const struct nest_pattern *loop);
/* Leaves that a term executes, counts multiplied out: numbers of a series, bodies of an order.
 * UINT64_MAX beyond PSNAP_COUNT_MAX, or when counting would take too long. */
uint64_t nest_length(const struct nest_pattern *pattern, const uint64_t *values);

/* ---- terms one after the other: terms.c ---- */

struct nest_term {
    const struct nest_pattern *pattern;
    size_t at; /* of its values */
};

struct nest_terms {
    struct nest_patterns *patterns; /* not owned */
    struct nest_term *terms;
    uint64_t *values;
    size_t count, room, value_count, value_room;
};

void nest_terms_release(struct nest_terms *terms);
/* Adds a term of a pattern of these patterns, copying its values; false: out of memory. */
bool nest_terms_push(struct nest_terms *terms, const struct nest_pattern *pattern,
                     const uint64_t *values);
void nest_terms_pop(struct nest_terms *terms, size_t n);
/* Takes the last `count` leaves of numbers away, or all; false: out of memory. */
bool nest_terms_cut(struct nest_terms *terms, uint64_t count);
/* Adds copies of the terms of others, whose patterns may be others as well; false: out of memory.
 */
bool nest_terms_copy(struct nest_terms *to, const struct nest_terms *from);

/* Adds terms of bytes, runs of stride 1, as those of elements of so many bytes; or terms of numbers
 * of bytes (is_length) as those of numbers of elements: widen.c. False: they are not whole
 * elements, or out of memory. */
bool nest_terms_widen(struct nest_terms *to, const struct nest_terms *from, uint64_t bytes,
                      bool is_length);

static inline const uint64_t *nest_term_values(const struct nest_terms *terms, size_t term)
{
    return &terms->values[terms->terms[term].at];
}

/* The first number of a term of numbers. */
static inline uint64_t nest_first_number(const struct nest_pattern *pattern, const uint64_t *values)
{
    for (; pattern->body_count; pattern = pattern->body[0])
        values++;
    return values[1];
}

/* ---- the leaves of a term in order: cursor.c ---- */

struct nest_frame {
    const struct nest_pattern *pattern;
    uint64_t left;   /* iterations, this one included */
    uint64_t done;   /* iterations before this one */
    size_t at;       /* of this iteration's values in the cursor's */
    uint32_t child;  /* the next one */
    uint32_t offset; /* of its values in the iteration's */
};

struct nest_cursor { /* zeroed: at the end */
    struct nest_frame *frames;
    uint64_t *values;
    uint32_t depth, frame_room;
    size_t used, room;
};

struct nest_leaf {
    const struct nest_pattern *pattern;
    const uint64_t *values; /* pattern->values of them, valid until the next call */
};

void nest_cursor_free(struct nest_cursor *cursor);
/* Begins at iteration `done` of a loop with `count` iterations from there on; `values` are the
 * loop's. False: out of memory. */
bool nest_cursor_start(struct nest_cursor *cursor, const struct nest_pattern *loop,
                       const uint64_t *values, uint64_t done, uint64_t count);
/* As nest_cursor_next, when that is not a leaf of the iteration under way. */
int nest_cursor_step(struct nest_cursor *cursor, struct nest_leaf *leaf);

/* 1: the next leaf, 0: there is none, negative: out of memory. */
static inline int nest_cursor_next(struct nest_cursor *cursor, struct nest_leaf *leaf)
{
    if (cursor->depth) {
        struct nest_frame *frame = &cursor->frames[cursor->depth - 1];
        if (frame->child < frame->pattern->body_count) {
            const struct nest_pattern *child = frame->pattern->body[frame->child];
            const uint64_t *values = cursor->values + frame->at + frame->offset;
            if (!child->body_count && (int64_t)values[0] > 0) {
                frame->child++;
                frame->offset += child->values;
                *leaf = (struct nest_leaf){child, values};
                return 1;
            }
        }
    }
    return nest_cursor_step(cursor, leaf);
}

/* ---- folding: fold.c ---- */

struct nest_fold {
    struct nest_terms terms;
    struct nest_cursor cursor; /* in the loop on top, when that is open: */
    struct nest_leaf expected; /* the next one */
    bool is_open;
    uint64_t changes; /* of the terms, but for iterations of the open loop */
};

/* Where the cursor was: for each loop that it was in, the iteration, and the next term of that. */
struct nest_mark {
    uint64_t changes;
    uint32_t depth; /* 0: it was in none */
    struct nest_place {
        uint64_t done;
        uint32_t child;
    } places[NEST_DEPTH_MAX];
};

void nest_fold_init(struct nest_fold *fold, struct nest_patterns *patterns);
void nest_fold_release(struct nest_fold *fold);
/* The next leaf, or any term; false: out of memory. */
bool nest_fold_leaf(struct nest_fold *fold, const struct nest_pattern *leaf,
                    const uint64_t *values);
bool nest_fold_term(struct nest_fold *fold, const struct nest_pattern *pattern,
                    const uint64_t *values);
/* Leaves may be skipped that would be no more than further iterations of a loop that the cursor is
 * in. When leaves have come since a mark, and the same are to come again and again, all numbers
 * `step` further each time: nest_fold_repeats is how often these are such, so that they may be
 * skipped. */
void nest_fold_mark(const struct nest_fold *fold, struct nest_mark *mark);
uint64_t nest_fold_repeats(const struct nest_fold *fold, const struct nest_mark *mark,
                           uint64_t step);
void nest_fold_skip(struct nest_fold *fold, const struct nest_mark *mark, uint64_t step,
                    uint64_t times);
/* No more will come, for now: the terms are complete. */
bool nest_fold_end(struct nest_fold *fold);

#endif
