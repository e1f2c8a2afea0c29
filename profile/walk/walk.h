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
    uint32_t nest, takes;         /* the reference whose nest has its addresses, and how many of its
                                     numbers an access takes */
    uint64_t latest, latest_time; /* address and time of its latest access */
    uint32_t object;              /* the recall's object, or PSNAP_NONE, of its latest access: it */
    uint64_t low, end;            /* has all addresses of [low, end) */
};

/*
 * An access of the iterations of a body whose references are all nests. Several accesses may read
 * the numbers of one nest in turn (MODEL_SHARED): an iteration then takes `all` numbers of it, and
 * this access those behind the first `before` ones.
 */
struct walk_column {
    uint32_t ref; /* the reference whose reader has the addresses */
    uint32_t before, all;
};

struct walk_body {
    struct reader reader;
    struct trips_draw trips;
    struct walk_column *columns; /* by access of an iteration; NULL: some references are no nests */
};

struct walk {
    const struct psnap_stream_model *model;
    struct psnap_rng rng;
    struct recall recall;         /* has the objects of the thread whose order is under way */
    struct model_object *objects; /* those objects; what they point to is the model's */
    uint32_t *numbers;            /* by object of the model: its index there, or PSNAP_NONE */
    uint32_t begun;               /* orders for whose thread the recall was made */
    uint64_t seed;
    struct walk_ref *refs;
    struct walk_body *bodies;
    struct chain_draw *chains;

    uint32_t order, last; /* the order that is under way, and the one behind the last one, */
    size_t term;          /* and its next term */
    bool is_inside;       /* the cursor is within the loops of the term before */
    struct nest_cursor cursor;
    struct walk_visit {
        uint32_t chain, state;
    } *visits;      /* each within the one before; room for all chains */
    uint32_t depth; /* how many visits are under way */

    uint32_t whole, part;          /* body whose parts execute, or PSNAP_NONE; its next part */
    uint64_t counts[EXPAND_PARTS]; /* iterations of the parts, where they follow from the whole's */
    uint32_t body;                 /* body that executes, */
    uint64_t iterations;           /* how many of its iterations are still to come, */
    uint32_t column;               /* and the next access of the iteration under way */
    bool has_failed;               /* out of memory: trip counts are not known */
    uint64_t now;                  /* accesses of the thread so far */
    bool is_tracked; /* some references are drawn by reuse time: all accesses enter the recall */

    struct psnap_access *first; /* of a run */
    int64_t *strides;
    uint64_t *due;         /* by access of the run: the repetition that next enters the recall */
    uint32_t *ref_numbers; /* access.ref by reference of the model */
};

/* As model_source_new. */
struct walk *walk_new(const struct psnap_stream_model *model, const uint32_t *first_ref,
                      uint64_t seed);
void walk_free(struct walk *walk);
/*
 * Makes what comes next in the stream, no more than `most` accesses, at least one. Returns 1: it is
 * `run`, valid until the next call; 2: it is the first *n accesses of `block`, at least one; 0: the
 * stream has ended; negative: out of memory.
 */
int walk_next(struct walk *walk, uint64_t most, struct psnap_run *run, struct psnap_access *block,
              size_t capacity, size_t *n);

#endif
