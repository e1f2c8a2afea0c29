/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A model's stream (profile/model.h): the orders of its threads one after the other, execution by
 * execution. Executions whose references are all nests come as runs, others access by access.
 */
#ifndef PSNAP_PROFILE_WALK_H
#define PSNAP_PROFILE_WALK_H

#include "profile/model.h"
#include "profile/order/order.h"
#include "profile/walk/draw.h"
#include "profile/walk/reader.h"
#include "profile/walk/recall.h"

struct walk_ref {
    struct reader reader;         /* of a nest */
    struct draw draw;             /* of an irregular reference */
    uint32_t nest, takes;         /* the reference whose nest it is; numbers that an access takes */
    uint64_t latest, latest_time; /* address, and when */
    uint32_t object;              /* that the latest access was in, */
    uint64_t low, end;            /* and where that is so */
};

/* An access of a body whose references are all nests. */
struct walk_column {
    uint32_t ref;    /* whose reader has the addresses */
    uint32_t before; /* numbers of that which the accesses before take, of the iteration */
    uint32_t all;    /* and those that all accesses of the iteration take */
};

struct walk_body {
    struct reader reader;
    struct trips_draw trips;
    struct walk_column *columns; /* NULL: some references are no nests */
};

struct walk {
    const struct psnap_stream_model *model;
    struct psnap_rng rng;
    struct recall recall;         /* of the thread whose order is under way, */
    struct model_object *objects; /* whose irregular references go to these (the model owns what
                                     they point to); */
    uint32_t *numbers;            /* by object of the model: which of these it is, or PSNAP_NONE */
    uint32_t begun;               /* orders whose thread the recall was made for */
    uint64_t seed;
    struct walk_ref *refs;
    struct walk_body *bodies;
    struct chain_draw *chains;

    uint32_t order; /* that is next, and in it: */
    size_t term;
    bool is_inside;
    struct nest_cursor cursor;
    struct walk_visit {
        uint32_t chain, state;
    } visits[ORDER_DEPTH]; /* each within the one before */
    uint32_t depth;        /* of visits */

    uint32_t whole, part;          /* body whose parts execute, or PSNAP_NONE; the next one */
    uint64_t counts[EXPAND_PARTS]; /* iterations of the parts, if the whole's tell them */
    uint32_t body;                 /* that executes, and */
    uint64_t iterations;           /* to come */
    uint32_t column;               /* of the iteration under way */
    uint64_t now;                  /* accesses of the thread so far */
    bool is_tracked;               /* something is drawn by reuse time: lines are entered */

    struct psnap_access *first; /* of a run */
    int64_t *strides;
    uint64_t *due;         /* by its accesses: the repetition that is entered next */
    uint32_t *ref_numbers; /* access.ref by reference of the model */
};

/* As model_source_new. */
struct walk *walk_new(const struct psnap_stream_model *model, const uint32_t *first_ref,
                      uint64_t seed);
void walk_free(struct walk *walk);
/*
 * 1: what comes next is `run`, valid until the next call; 2: it is in `block`, *n accesses, at
 * least one; 0: nothing comes; negative: out of memory.
 */
int walk_next(struct walk *walk, struct psnap_run *run, struct psnap_access *block, size_t capacity,
              size_t *n);

#endif
