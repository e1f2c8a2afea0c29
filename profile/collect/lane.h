/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stream of a thread while it comes: accesses to iterations, iterations to bodies of loops and
 * their trip counts, addresses to each reference. An iteration is references of one loop in rising
 * order; of a loop with very many different iterations, as an interpreter's, each basic block is
 * one. What there is does not depend on how the stream was cut into blocks and runs.
 */
#ifndef PSNAP_PROFILE_LANE_H
#define PSNAP_PROFILE_LANE_H

#include "formats/base/stream.h"
#include "profile/address/depend.h"
#include "profile/address/objects.h"
#include "profile/address/reuse.h"
#include "profile/address/sample.h"
#include "profile/address/visit.h"
#include "profile/collect/lane_log.h"
#include "profile/collect/sweep.h"
#include "profile/collect/unit.h"
#include "profile/model.h"
#include "profile/nest/series.h"
#include "profile/order/order.h"
#include "profile/order/trips.h"

enum {
    LANE_WIDTH_MAX = 256, /* references of a body */
    LANE_QUEUE = 1024,
    LANE_BODIES_MAX = 48 /* of a loop, before an iteration of it is a basic block */
};

/* A site is a reference with one size and kind of access. This is what each access reads or writes;
 * the rest, which is larger, is in lane_history. */
struct lane_site {
    uint64_t latest, latest_time; /* address; when, of an irregular one */
    uint64_t length;              /* accesses so far */
    uint64_t due;                 /* number of the next access that takes more than counting it */
    bool is_irregular;            /* as far as is known: reuse times are collected */
    bool is_series;               /* its addresses may be a nest */
    uint8_t size, kind;
    uint32_t ref;   /* of the program, or PSNAP_NONE: rare code */
    uint32_t next;  /* site of the same reference, with another size or kind, or PSNAP_NONE */
    uint32_t root;  /* node of iterations that begin with it, or 0 */
    uint32_t sweep; /* that it shares with others, or PSNAP_NONE */
};

enum { LANE_TURNS = 4 }; /* of each site that are kept */

/* What is known about the addresses of a site: the series that they form, and, once the site is
 * irregular, its reuse times and the references that it may depend on. */
struct lane_history {
    struct series addresses;
    uint64_t turns[LANE_TURNS]; /* accesses after which it was irregular no more, or again: in a
                                   lane without reuse times */
    uint32_t turn_count;        /* there may be more than are kept */
    struct reuse_collector reuse;
    uint64_t notes;                  /* reuse times that were noted */
    struct depend_collector *depend; /* NULL: none yet */
    uint64_t next_look, looks; /* the access at which dependence is looked for next, by its number;
                                  how many were looked at */
};

/* The references that an iteration has had so far: a trie. Node 0 is none. */
struct lane_node {
    uint64_t key; /* of the accesses that lead here: lane_key */
    uint32_t site, parent;
    uint32_t child, sibling; /* the child that came last is the first */
    uint32_t next;           /* where the iteration behind one that ended here began at last */
    uint32_t body;           /* of iterations that end here, or PSNAP_NONE */
};

struct lane_body {
    uint32_t *sites; /* owned; behind them as many for `rows` */
    uint32_t *rows;  /* sites whose addresses may be a nest */
    uint32_t width, row_count;
    uint64_t executions, iterations;
    uint64_t same, times; /* executions under way of as many iterations each */
    uint32_t loop;
    struct series trips;
    struct trips histogram;
    uint32_t whole;         /* the body without references whose part it is, or PSNAP_NONE */
    struct lane_unit *unit; /* of a body without references, whose trips are bytes; owned */
};

struct lane_loop {
    uint32_t last_ref;   /* of the program's, as far as they are known */
    uint32_t body_count; /* that it has */
    bool is_parted;      /* an iteration is a basic block */
};

struct lane {
    const struct psnap_program *program;
    struct nest_patterns *patterns;
    struct order order;
    struct lane_site *sites;
    struct lane_history *histories; /* by site */
    struct lane_node *nodes;
    struct lane_body *bodies;
    struct lane_loop *loops;
    struct lane_sweep *sweeps;
    uint32_t *site_of_ref; /* the first one's index, or PSNAP_NONE */
    uint32_t site_count, node_count, body_count;
    uint32_t known_refs, loop_count, sweep_count;
    size_t site_room, history_room, node_room, body_room, ref_room, sweep_room;

    /* Accesses whose addresses are yet to be looked at; from `begun` on of the iteration under way,
     * which has come to a node, or 0. */
    uint32_t queued, begun, node;
    uint32_t sites_queued[LANE_QUEUE];
    uint64_t addresses_queued[LANE_QUEUE];
    uint32_t pending;        /* body that is executing, or PSNAP_NONE */
    uint64_t iterations;     /* that it has had */
    uint32_t unit, unit_ref; /* body whose parts are executing, or PSNAP_NONE; the latest one's */

    bool has_reuse;   /* reuse times and dependences are collected; else the stream is kept whole */
    bool wants_reuse; /* a reference is irregular for good, or what is kept is too much */
    bool wants_times; /* that only came out in the end, and of rare references */

    struct lane_log *log; /* the innermost one of iterations of loops of a nest; NULL: none */
    struct lane_log logs[PSNAP_NEST_LEVELS];

    uint64_t now; /* accesses so far, without those in the queue */
    struct sample sample;
    struct objects objects; /* known in the end */
    struct depend_recent recent;
};

/* `program`, the stream's, must outlive it. Without `has_reuse` it collects nothing that irregular
 * references alone need, and is good for a model if there are none in the end. Until then its nests
 * are the whole stream: lane_wants_reuse says when that should be put through a lane that has reuse
 * times. NULL: out of memory. */
struct lane *lane_new(const struct psnap_program *program, bool has_reuse);
void lane_free(struct lane *lane);
/* Accesses of one thread; false: out of memory. */
bool lane_put(struct lane *lane, const struct psnap_access *block, size_t n);
bool lane_put_run(struct lane *lane, const struct psnap_run *run);
bool lane_put_nest(struct lane *lane, const struct psnap_nest *nest);
/* Whether a lane without reuse times is no good for a model as it is, now or in the end. */
static inline bool lane_wants_reuse(const struct lane *lane)
{
    return !lane->has_reuse && (lane->wants_reuse || lane->order.is_over);
}

/* Nothing more will come. A lane that has no reuse times and has come to want them keeps the
 * stream; any other one is ready for the model. */
bool lane_end(struct lane *lane);
/* After lane_end, if `wants_times`: the references that are no nests get the reuse times and
 * dependences that they would have in a lane with reuse times, and the lane is ready for the model;
 * or it wants reuse times as before, when they may depend on references that are not rare. False:
 * out of memory. */
bool lane_collect_times(struct lane *lane);
void lane_history_release(struct lane_history *history);
void lane_body_release(struct lane_body *body);

/* Values that may describe so many accesses: a few, and their part of `most` others. */
size_t lane_budget(const struct lane *lane, uint64_t accesses, size_t few, size_t most);

/* After order_end: very many bodies become fewer, rare.c; false: out of memory. */
bool lane_lower_rare(struct lane *lane);

/* The identity of the loop of the source, if the optimiser has made several loops of it; else 0. */
uint64_t lane_source(const struct lane *lane, uint32_t loop);
/* The body has executed with so many iterations, `times` times; false: out of memory. */
bool lane_count_trips(struct lane *lane, uint32_t body, uint64_t trips, uint64_t times);
/* Executions of the same number of iterations go to the body's series and histogram; false: out of
 * memory. */
bool lane_flush_trips(struct lane *lane, struct lane_body *body);
/* The iteration and the execution under way end; false: out of memory. */
bool lane_flush(struct lane *lane);

/* What tells the sites of a thread apart: reference, size and kind. It is the second word of an
 * access without the thread, which compilers know. */
static inline uint64_t lane_key(const struct psnap_access *access)
{
    return (access->ref | (uint64_t)access->size << 32 | (uint64_t)access->kind << 40 |
            (uint64_t)access->thread << 48)
           << 16;
}

/* ---- iterations and executions: lane_site.c, lane.c ---- */

/* Learns of references and loops that the program has by now; false: out of memory. */
bool lane_learn_refs(struct lane *lane);
/* The site of an access, made if need be; PSNAP_NONE: out of memory. */
uint32_t lane_site_of(struct lane *lane, const struct psnap_access *access);
/* The node of iterations that begin with a site, and of those that go on from a node with one; 0:
 * out of memory. */
uint32_t lane_begin_with(struct lane *lane, uint32_t site);
uint32_t lane_go_on(struct lane *lane, uint32_t node, uint32_t site);
/* Whether an access of reference `next` may be of the same iteration as one of `ref` just before
 * it; and whether an access may be of the iteration under way. */
bool lane_follows(const struct lane *lane, uint32_t ref, uint32_t next);
bool lane_follows_iteration(const struct lane *lane, const struct psnap_access *next);
/* The body of iterations that end at a node, which has none yet; PSNAP_NONE: out of memory. */
uint32_t lane_add_body(struct lane *lane, uint32_t node, uint32_t width);
/* A body has so many iterations more; false: out of memory, as below. */
bool lane_execute(struct lane *lane, uint32_t body, uint64_t iterations);
/* One that there has been before has so many iterations once more. */
bool lane_execute_again(struct lane *lane, const struct lane_execution *execution);
/* The iteration under way is whole. */
bool lane_end_iteration(struct lane *lane);
/* Looks at the addresses of all that came before the iteration under way. */
bool lane_empty_queue(struct lane *lane);

/* ---- iterations, accesses by accesses: lane.c; their addresses: lane_touch.c ---- */

/* From so many accesses of a reference on they are noted in part (lane_touch.c); rarer references
 * have all of them noted. */
enum { LANE_NOTES = 1 << 16 };

/* How many accesses a reference has until it is looked at again whether it is irregular: at the
 * same ones however the stream was cut. */
enum { LANE_LOOK_IRREGULAR = 512, LANE_LOOK_PLAIN = 4096 };

static inline uint64_t lane_until_look(const struct lane_site *site)
{
    const uint64_t period = site->is_irregular ? LANE_LOOK_IRREGULAR : LANE_LOOK_PLAIN;

    return period - (site->length & (period - 1)); /* powers of two */
}

/* The addresses of `width` sites, one access each, the first of which is number `time` of the
 * stream; false: out of memory. */
bool lane_touch(struct lane *lane, const uint32_t *sites, uint32_t width, const uint64_t *addresses,
                uint64_t time);
/* Iterations of one body, `turns` of them in a repetition: access k of repetition i is that of site
 * k to columns[k]'s address i. */
struct lane_run {
    const uint32_t *sites;
    const struct run_column *columns;
    uint32_t width, turns;
    uint64_t count;
};

/* A run that no site is to be looked at again within, but at its end, or that goes to the log. */
bool lane_touch_run(struct lane *lane, const struct lane_run *run, uint64_t time);
/* So many accesses of a site to a series of addresses, or that the series has been told of
 * (series_skip): in a lane without reuse times. */
bool lane_put_numbers(struct lane *lane, uint32_t site, uint64_t first, uint64_t stride,
                      uint64_t count);
void lane_skip_numbers(struct lane *lane, uint32_t site, uint64_t count);
/* Finds out whether a site's addresses are a nest, now that there are more of them. One that is a
 * nest for sure depends on no other; its reuse times are kept, for it may not stay one. */
void lane_look(struct lane *lane, struct lane_site *site, struct lane_history *history);

/* An access to a line of the sample, number `index` of its site; and one that is looked at for
 * dependence, which has been counted. False: out of memory. */
bool lane_note_reuse(struct lane *lane, uint32_t site, uint64_t address, uint64_t time,
                     uint64_t index);
bool lane_note_dependence(struct lane *lane, uint32_t site, uint64_t address, uint64_t time);
/* A lane that does not come to want reuse times of all forgets what it has kept for that; false:
 * out of memory. */
bool lane_forget(struct lane *lane);

/* Adds what a lane has to a model; false: out of memory. */
bool lane_take(struct lane *lane, uint16_t thread, struct psnap_stream_model *model);

#endif
