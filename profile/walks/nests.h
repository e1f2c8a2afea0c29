/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stream of accesses as nests of affine loops, after A. Ketterlin and P. Clauss,
 * "Prediction and trace compression of data access addresses through nested loop
 * recognition", CGO 2008, and what of it is no such nest as statistics.
 *
 * A term is a leaf, a visit, or a loop. A leaf is a shape, references of one loop of the program
 * in their order, repeated so many times, each from a first address on and by a stride. A visit
 * is one of a mix, of loops that come in no order that folds. A loop of terms is their repetition,
 * with values that change by the same each time: so counts and first addresses are affine in the
 * iterations around. What all terms of one make have in common, shapes, strides and steps, is a
 * pattern; a term is a pattern and its values:
 *
 *   leaf   count, first address of each reference
 *   visit  count
 *   loop   count, values of the terms of its first iteration, one after the other
 *
 * Counts are signed; what has a count of zero or less is not there. A reference's value is what
 * its mode says: its first address, how far that is from where it went on, or nothing (0), when
 * addresses are drawn from a model. The count of a leaf may be drawn as well; its value is then 1.
 */
#ifndef PSNAP_PROFILE_NESTS_H
#define PSNAP_PROFILE_NESTS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "formats/base/stream.h"
#include "profile/profile.h"

enum {
    NEST_WIDTH_MAX = 256, /* references of a leaf */
    NEST_BODY_MAX = 512,  /* terms of an iteration */
    NEST_DEPTH_MAX = 32   /* loops in loops */
};

enum nest_mode {
    NEST_AFFINE,      /* the value is the first address */
    NEST_CONTINUING,  /* the first address less where the reference goes on: its last address and
                         its stride then, or where its walk begins */
    NEST_DRAWN_FIRST, /* the first address is drawn */
    NEST_DRAWN        /* every address is drawn; the stride is 0 */
};

struct nest_ref {
    uint32_t ref;
    uint16_t thread;
    uint8_t size, kind;
    uint32_t mode; /* enum nest_mode */
    uint32_t draw; /* of the models' draws, walks when it is continuing; else 0 */
};

struct nest_shape {
    uint32_t loop;   /* of a visit: the mix, of the models' */
    uint32_t width;  /* 0: a visit */
    uint32_t counts; /* 1 + those of the models that the count is drawn from, or 0 */
    uint32_t number; /* of those made before */
    struct nest_ref refs[];
};

struct nest_pattern {
    uint32_t number;                /* of those made before */
    uint32_t values;                /* words of a term's values */
    uint32_t depth;                 /* of loops in it; 0: a leaf */
    uint32_t body_count;            /* 0: a leaf */
    const struct nest_shape *shape; /* of a leaf */
    const struct nest_pattern **body;
    /* Leaf: strides in bytes; loop: of values[1...] from one iteration to the next. */
    uint64_t *steps;
};

static inline size_t nest_shape_bytes(uint32_t width)
{
    return sizeof(struct nest_shape) + width * sizeof(struct nest_ref);
}

/* Whether they are equal but for where their counts are drawn from. Most are narrow: a call of
 * memcmp for all references takes longer. */
static inline bool nest_shape_is_alike(const struct nest_shape *a, const struct nest_shape *b)
{
    if (a->loop != b->loop || a->width != b->width)
        return false;
    for (uint32_t k = 0; k < a->width; k++)
        if (memcmp(&a->refs[k], &b->refs[k], sizeof a->refs[k]))
            return false;
    return true;
}

static inline bool nest_shape_is_equal(const struct nest_shape *a, const struct nest_shape *b)
{
    return a->counts == b->counts && nest_shape_is_alike(a, b);
}

/* ---- patterns: nest_pattern.c ---- */

struct nest_patterns;

struct nest_patterns *nest_patterns_new(void);
void nest_patterns_free(struct nest_patterns *patterns); /* and all of them */
/* The shape, or the pattern, with these properties, which are copied; NULL: out of memory. */
const struct nest_shape *nest_shape_of(struct nest_patterns *patterns,
                                       const struct nest_shape *wanted);
/* How many there are: their numbers are below. */
uint32_t nest_pattern_count(const struct nest_patterns *patterns);
uint32_t nest_shape_count(const struct nest_patterns *patterns);
/* That with this number. */
const struct nest_pattern *nest_pattern_numbered(const struct nest_patterns *patterns,
                                                 uint32_t number);
const struct nest_pattern *nest_pattern_leaf(struct nest_patterns *patterns,
                                             const struct nest_shape *shape,
                                             const uint64_t *strides);
const struct nest_pattern *nest_pattern_loop(struct nest_patterns *patterns,
                                             const struct nest_pattern *const *body,
                                             uint32_t body_count, const uint64_t *steps);

/* The same shape among others, as `change` (NULL: nothing) leaves a copy of it. */
const struct nest_shape *nest_shape_copy(struct nest_patterns *to, const struct nest_shape *from,
                                         void (*change)(void *context, struct nest_shape *shape),
                                         void *context);
/* The same pattern among others, its shapes as `change` (NULL: nothing) leaves copies of them. */
const struct nest_pattern *
nest_pattern_copy(struct nest_patterns *to, const struct nest_pattern *from,
                  void (*change)(void *context, struct nest_shape *shape), void *context);

/* Whether no count in the loop's body changes from one iteration to the next. */
bool nest_is_body_steady(const struct nest_pattern *loop);
/* Hands the terms in a loop to `put`, one by one, iteration after iteration; false: `put` was, or
 * out of memory. */
bool nest_each_iteration(const struct nest_pattern *loop, const uint64_t *values,
                         bool (*put)(void *context, const struct nest_pattern *pattern,
                                     const uint64_t *values),
                         void *context);

/* ---- terms one after the other, the whole of a stream: nests.c ---- */

struct nest_term {
    const struct nest_pattern *pattern;
    size_t at;        /* of its values */
    int64_t previous; /* the last term before of the same pattern, or -1 */
    int64_t loop;     /* the last term before that is a loop, or -1 */
};

struct nest_models; /* nest_models.h */

struct psnap_nests {
    struct nest_patterns *patterns;
    struct nest_models *models; /* owned; NULL: nothing is drawn */
    struct nest_term *terms;
    uint64_t *values;
    int64_t *last; /* by pattern number: the last term, or -1 */
    size_t count, room, value_count, value_room, last_room;
};

struct psnap_nests *nests_new(void);
void nests_free(struct psnap_nests *nests);
/* Adds a term of a pattern of these nests, copying its values; false: out of memory. */
bool nests_push(struct psnap_nests *nests, const struct nest_pattern *pattern,
                const uint64_t *values);
void nests_pop(struct psnap_nests *nests, size_t n);
/* The same terms with patterns of their own, as nest_pattern_copy; NULL: out of memory. */
struct psnap_nests *nests_copy(const struct psnap_nests *from,
                               void (*change)(void *context, struct nest_shape *shape),
                               void *context);

/* Adds copies of the terms of other nests, and of what they draw from (nest_join.c); false: out of
 * memory. */
bool nests_join(struct psnap_nests *to, const struct psnap_nests *from);

static inline const uint64_t *nests_values(const struct psnap_nests *nests, size_t term)
{
    return &nests->values[nests->terms[term].at];
}

/* ---- the leaves of a term in order: nest_cursor.c ---- */

struct nest_frame {
    const struct nest_pattern *pattern;
    uint64_t left;   /* iterations, this one included */
    uint64_t done;   /* iterations before this one */
    size_t at;       /* of this iteration's values in the cursor's */
    uint32_t child;  /* the next one */
    uint32_t offset; /* of its values in the iteration's */
};

struct nest_cursor { /* zeroed: at the end */
    struct nest_frame frames[NEST_DEPTH_MAX];
    uint32_t depth;
    uint64_t *values;
    size_t room, used;
    const uint8_t *whole; /* by pattern number, or NULL: not 0 for loops that come as leaves do */
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
/* 1: the next leaf, 0: there is none, negative: out of memory. */
int nest_cursor_next(struct nest_cursor *cursor, struct nest_leaf *leaf);
/* The loop that has just come is gone through; false: out of memory. */
bool nest_cursor_enter(struct nest_cursor *cursor, const struct nest_leaf *loop);

/* ---- folding: nest_fold.c ---- */

struct nest_fold {
    struct psnap_nests *nests;
    struct nest_cursor cursor; /* in the loop on top, when that is open: */
    struct nest_leaf expected; /* the next one */
    bool is_open;
    bool in_pairs;    /* two groups that are alike do for a loop: recursions fold */
    uint64_t changes; /* goes up when anything but what was expected came */
};

/* `nests` (owned) may have patterns, no terms. NULL: out of memory, `nests` is freed. */
struct nest_fold *nest_fold_new(struct psnap_nests *nests);
void nest_fold_free(struct nest_fold *fold);
/* The next leaf, or any term, of a pattern of the fold's nests; false: out of memory. */
bool nest_fold_leaf(struct nest_fold *fold, const struct nest_pattern *leaf,
                    const uint64_t *values);
bool nest_fold_term(struct nest_fold *fold, const struct nest_pattern *pattern,
                    const uint64_t *values);
/* No more will come, for now: nests are complete. */
bool nest_fold_end(struct nest_fold *fold);

/* ---- a stream's nests: nest_builder.c ---- */

/* A sink; loops of its shapes are the program's. `program` must outlive it. NULL: out of memory. */
struct psnap_sink *nest_builder_new(const struct psnap_program *program);
/* After psnap_sink_finish: its nests, owned by the sink; NULL when they have no order. */
const struct psnap_nests *nest_builder_nests(const struct psnap_sink *builder);

#endif
