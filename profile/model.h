/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model of a stream (nests-3), as it is in memory:
 *
 *   order       of each thread, which bodies of loops execute one after the other: nests of symbols
 *               (nest/nest.h), Markov chains where these do not fold (order/chain.h)
 *   bodies      what an iteration accesses, and trip counts: nests of numbers, or histograms
 *               (order/trips.h)
 *   references  where each access goes: nests of addresses, offsets from another reference
 *               (address/depend.h), or reuse histograms (address/reuse.h)
 *   objects     that reuse histograms are of
 *
 * Everything is a sequence of its own: one that is no nest does not keep the others from being one.
 */
#ifndef PSNAP_PROFILE_MODEL_H
#define PSNAP_PROFILE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/base/capture_abi.h"
#include "formats/base/status.h"
#include "formats/base/stream.h"
#include "profile/address/depend.h"
#include "profile/address/reuse.h"
#include "profile/nest/nest.h"
#include "profile/order/chain.h"
#include "profile/order/expand.h"
#include "profile/order/trips.h"
#include "profile/profile.h"

#define MODEL_CHAIN (UINT32_C(1) << 31) /* symbols of orders from here on are chains */
#define MODEL_OUTSIDE "(outside)"       /* the name of state 0 of chains */

enum model_rule {
    MODEL_NEST,      /* its addresses are a nest */
    MODEL_DEPENDENT, /* the latest address of its bases and an offset */
    MODEL_REUSE,     /* drawn by reuse time */
    MODEL_SHARED     /* the next elements of the sweep of another reference, whose nest it is */
};

struct model_ref {
    uint32_t loop;   /* of the program, or of the profile once it is one's */
    uint32_t number; /* of the program's references, or of its loop's */
    uint16_t thread;
    uint8_t size, kind;
    uint8_t rule;               /* enum model_rule */
    char mark[PSNAP_MARK_SIZE]; /* "omp.iteration 8": it is no access of the program but what psnap
                                   cc --psnap-openmp put there; else "" */
    uint64_t executions;
    struct nest_terms addresses; /* MODEL_NEST */
    uint8_t element; /* MODEL_NEST: bytes of an element, when these are what the nest is of: each
                        access takes as many as it has, its address is the first's; else 0 */
    uint32_t sweep;  /* MODEL_SHARED: the index of the reference with the nest */
    uint32_t
        bases[DEPEND_BASES]; /* MODEL_DEPENDENT: indices of references; the latest one counts */
    uint32_t base_count, offset_count;
    struct depend_offset offsets[DEPEND_OFFSETS];
    double off; /* share of its executions by which reuse times were off when the model was made */
    struct reuse *reuses; /* MODEL_REUSE: by object; owned */
    uint32_t reuse_count, phases;
};

struct model_body {
    char *id; /* unique in the model once it is a profile's; owned */
    uint32_t loop;
    uint16_t thread;
    uint32_t width;
    uint32_t *refs;            /* indices, in the order in which they access; owned */
    struct expand_part *parts; /* instead of these: bodies, one after the other; owned */
    uint32_t part_count;       /* 0: none */
    bool is_counted; /* its trip counts tell those of the parts, else these have their own */
    bool is_part;    /* the trip counts of such a body tell its own */
    bool is_drawn;   /* trip counts are a histogram, else a nest */
    uint64_t executions, iterations;
    struct nest_terms trips;
    struct trips histogram;
};

/* Bytes of an object, from the object's first one on. */
struct model_range {
    uint64_t offset, bytes;
};

enum { MODEL_RANGES = 64 /* of an object */ };

struct model_object {
    char *id;   /* as that of a body */
    char *name; /* owned; NULL: all of its group that is in no other */
    uint8_t kind;
    bool is_pool;               /* several allocations of a site */
    uint64_t low, bytes;        /* where irregular references go, */
    struct model_range *ranges; /* in which parts of that, by offset; owned; none: all of it but
                                   for other objects in it */
    uint32_t range_count;
    struct reuse_stride strides[REUSE_STRIDES]; /* of first touches, commonest first */
    uint32_t stride_count;
    uint64_t firsts; /* first touches whose strides were counted */
};

#define MODEL_NO_PLACE UINT64_MAX
#define MODEL_LIFE_TEXT 100

/* A thread's. Those that were there together are in turn, about `turn` accesses each time; they are
 * as a call to thread 0 where they begin in its stream, and else one behind the other. */
struct model_order {
    uint16_t thread;
    uint16_t with;  /* the lowest thread that was there together with it, or itself */
    uint32_t turn;  /* the same for all of these; UINT32_MAX: none were */
    uint64_t after; /* accesses of thread 0 before it begins; MODEL_NO_PLACE: not in its stream */
    struct nest_terms terms;
};

struct psnap_stream_model {
    _Atomic uint32_t holders; /* besides the profile: sources of its stream */
    struct nest_patterns *patterns;
    struct model_ref *refs;
    struct model_body *bodies;
    struct chain *chains;
    char **chain_ids; /* once it is a profile's; owned */
    struct model_object *objects;
    struct model_order *orders; /* by thread, one after the other */
    uint32_t ref_count, body_count, chain_count, object_count, order_count;
};

/* The references and bodies of each loop: items[first[loop]] to items[first[loop + 1]], without
 * that, are their indices. */
struct model_index {
    struct model_list {
        uint32_t *first, *items;
    } refs, bodies;
};

/* False: out of memory; it is to be released then, too. */
bool model_index_init(struct model_index *index, const struct psnap_stream_model *model,
                      uint32_t loops);
void model_index_release(struct model_index *index);

struct psnap_stream_model *model_new(void); /* NULL: out of memory */
void model_object_release(struct model_object *object);
/* When nobody else holds it. */
/* Where a thread's part begins, and with whom, in words: "after 300 accesses of thread 0", or "".
 */
void model_order_life(const struct model_order *order, char text[MODEL_LIFE_TEXT]);
void model_free(struct psnap_stream_model *model);
/*
 * The model of a stream becomes that of a profile: kept[loop] is the profile's number of a loop,
 * whose ids `loop_ids` are; references are numbered within their loops, bodies and objects get ids.
 * False: out of memory.
 */
bool model_adopt(struct psnap_stream_model *model, const uint32_t *kept,
                 const struct psnap_profile *profile);
/*
 * Makes the regions and patterns of all loops anew, from the model: they are derived. `program`
 * tells the names of objects; NULL: only those that the model has.
 */
enum psnap_status model_derive(struct psnap_profile *profile, const struct psnap_program *program);
/* The same of what is in the regions, which stay where they are. */
enum psnap_status model_fill_regions(struct psnap_profile *profile);
/* The region of a loop that an address is in, or the nearest one below it; NULL: it has none. */
const struct psnap_profile_region *model_region_at(const struct psnap_profile_loop *loop,
                                                   uint64_t address);
/* The id of a loop's region, of those before it and its object: "a" for a global, "x" for a local
 * "f.x", "r3" for what has no name of its own; ".2" and so on tell apart several in one object.
 * NULL: out of memory. */
const char *profile_region_id(struct psnap_arena *arena, const struct psnap_profile_region *regions,
                              uint32_t index);
/* The id of a body or chain; of a state of a chain. */
const char *model_symbol_id(const struct psnap_stream_model *model, uint32_t symbol);
const char *model_state_id(const struct psnap_stream_model *model, const struct chain *chain,
                           uint32_t state);
/* The reference whose nest has the addresses of one that is no dependent or irregular one, and how
 * many numbers of it an access takes. */
static inline const struct model_ref *model_nest_of(const struct psnap_stream_model *model,
                                                    const struct model_ref *ref)
{
    return ref->rule == MODEL_SHARED ? &model->refs[ref->sweep] : ref;
}

/* Bytes that are touched at a number of a reference's nest. */
static inline uint8_t model_nest_width(const struct model_ref *ref)
{
    return ref->element ? ref->element : ref->size;
}

static inline uint32_t model_takes(const struct psnap_stream_model *model,
                                   const struct model_ref *ref)
{
    const uint32_t element = model_nest_of(model, ref)->element;

    return element ? ref->size / element : 1;
}

/* Accesses of all executions of a body, those of its parts included. */
uint64_t model_body_accesses(const struct psnap_stream_model *model, const struct model_body *body);

/* Numbers that all accesses take of the nest of each reference: takes[index]; executions are
 * counted. False: out of memory. */
bool model_count_takes(const struct psnap_stream_model *model, uint64_t **takes);
/* How often bodies execute and iterate and references access, from the orders and trip counts:
 * `executions` and `iterations` are set. What is wrong: PSNAP_ERROR_VALUE with a message without
 * place. */
enum psnap_status model_count(struct psnap_stream_model *model, struct psnap_error *error);

/* ---- a stream's model: collect.c ---- */

/* A sink; `program` must outlive it. NULL: out of memory. */
struct psnap_sink *model_builder_new(const struct psnap_program *program);
/* After psnap_sink_finish, once: its model, which the caller owns. What is chosen by measurement
 * (collect/choose.h) is not when `deadline` (NULL: none) is set. NULL: out of memory. */
struct psnap_stream_model *model_builder_take(struct psnap_sink *builder,
                                              const struct psnap_deadline *deadline);

/* ---- the model's stream: walk.c ---- */

/*
 * A source of the accesses that a model makes, deterministic in (model, seed); access.ref is
 * first_ref[ref's loop] + its number, or the number alone (NULL). Holds the model; `program` is the
 * source's, not owned. NULL: out of memory.
 */
struct psnap_source *model_source_new(struct psnap_stream_model *model, const uint32_t *first_ref,
                                      struct psnap_program *program, uint64_t seed);

#endif
