/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A mix: what comes in an order that does not fold, as a graph of states with how often each
 * follows which. A state is a number that means something to the caller (a leaf's references); a
 * token is a state with a count (of iterations). Tokens come in visits: of each is kept how many
 * tokens it has, of each state the histogram of its counts (counts.h), and how often which state
 * came after it.
 *
 *   outside -> state -> state -> ... -> outside     a visit
 *
 * Numbers are exact and balance: into a node of the graph lead as many transitions as out of it,
 * and a state's are as many as its counts. So all visits together are a closed walk that takes
 * each transition as often as it is counted: what is recorded is one, and replay draws another
 * (mix_walk.c). Over all visits it gives each state as often as recorded, with counts of the same
 * sum; and a graph in which nothing is left to choose gives what was recorded.
 *
 * One state before is what a mix knows. Two tell little more: of the tokens of 13 irregular
 * programs (searches, trees, heaps, hash tables, sorts, sparse products) the next state has 0.40
 * bits when one is known and 0.35 with two; its count 1.11 bits, and 1.07 when the state before is
 * known too. Where it matters, a caller may give a state one number for each that it may follow.
 *
 * Some transitions come several times in a row: those that go on with a loop in which there are
 * others, until it ends. Where how often they do is not what chance gives (a loop that is entered
 * thousands of times has as many iterations each time, or a few times very many), a histogram of
 * that is kept for a node, of the one transition that comes most.
 *
 * The count of a state may depend on that of the one before: what an unrolled or vectorised loop
 * leaves over is what the number of all iterations leaves, so many of those with 3 iterations
 * leave 2. Of a state that comes after one other only, and whose counts (none, where it does not
 * come) are told by those of that one, is kept how often which count comes after which: its rest.
 *
 * Memory is bounded. Transitions that are too rare to be kept lead through a node without a token,
 * `any`: what enters it leaves it in random order. They stay exact in number at both their ends.
 */
#ifndef PSNAP_PROFILE_MIX_H
#define PSNAP_PROFILE_MIX_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/base/rng.h"
#include "formats/base/yaml.h"
#include "profile/mixes/counts.h"

enum {
    MIX_STATES_MAX = 1024,
    MIX_EDGES_MAX = 16384, /* kinds of transitions */
    MIX_OUTSIDE = 0,       /* nodes: where visits begin and end, */
    MIX_ANY,               /* where rare transitions lead through, */
    MIX_STATE,             /* and states[i] at MIX_STATE + i */
    MIX_ID_MAX = 1 << 30
};

struct mix_state {
    uint32_t id; /* the caller's */
    struct psnap_counts counts;
};

struct mix_edge {
    uint32_t to; /* a node */
    uint64_t times;
};

/* How often the transition from a node to another one comes in a row. */
struct mix_rounds {
    uint32_t node, to;
    struct psnap_counts counts;
};

/* After counts of a bin of `state` comes `to`, so often with this count; else it does not come. */
struct mix_rest {
    uint32_t state, to, bin; /* states; bin: of the counts of the first */
    uint64_t count, times;
};

struct psnap_mix {
    uint64_t visits, tokens;
    struct psnap_counts lengths; /* tokens of a visit; of no counts: as the graph has it */
    uint32_t state_count;        /* nodes are MIX_STATE more */
    struct mix_state *states;    /* by id */
    struct mix_rounds *rounds;   /* by node, of some */
    struct mix_rest *rests; /* by state, bin and count, of some; of a state all have one `to` */
    uint32_t rounds_count, rest_count;
    uint32_t *first;        /* by node: of its edges; one more at the end */
    struct mix_edge *edges; /* of a node by `to` */
};

/* A mix is one block of memory. */
void mix_free(struct psnap_mix *mix);
struct psnap_mix *mix_copy(const struct psnap_mix *mix); /* NULL: out of memory */
/* The state's index, or UINT32_MAX. */
uint32_t mix_find(const struct psnap_mix *mix, uint32_t id);
/* Whether a state has a rest. */
bool mix_has_rest(const struct psnap_mix *mix, uint32_t state);

/* ---- collecting: mix_collector.c ---- */

struct mix_collector;

struct mix_collector *mix_collector_new(void); /* NULL: out of memory */
void mix_collector_free(struct mix_collector *collector);

/* A visit begins; one that is under way ends. These return PSNAP_OK; PSNAP_ERROR_LIMIT for one
 * state more than MIX_STATES_MAX: it has not been added; or PSNAP_ERROR_MEMORY: the collector is to
 * be freed. */
enum psnap_status mix_begin(struct mix_collector *collector);
/* A token of the visit, which begins if none is under way. `id` is at most MIX_ID_MAX. */
enum psnap_status mix_add(struct mix_collector *collector, uint32_t id, uint64_t count);
enum psnap_status mix_end(struct mix_collector *collector);
/* Adds what `from` has, whose visit under way ends there; that of `into` goes on. States are the
 * same if their ids are. */
enum psnap_status mix_merge(struct mix_collector *into, struct mix_collector *from);

uint64_t mix_collector_visits(const struct mix_collector *collector);
uint32_t mix_collector_states(const struct mix_collector *collector);

/* What was collected; a visit under way ends. At most `edges` kinds of transitions, but as many
 * as there have to be (two for each state), and `bins` bins of counts for a state. NULL: out of
 * memory. */
struct psnap_mix *mix_take(struct mix_collector *collector, uint32_t edges, uint32_t bins);

/* ---- a walk through a mix: mix_walk.c ---- */

struct mix_walk;

/* `mix` must outlive it. NULL: out of memory. Same mix, same seed, same walk. */
struct mix_walk *mix_walk_new(const struct psnap_mix *mix, uint64_t seed);
void mix_walk_free(struct mix_walk *walk);
/* Draws ahead, when all that was has been taken. */
void mix_walk_fill(struct mix_walk *walk);

enum { MIX_AHEAD = 64 /* tokens that a walk draws at once */ };
#define MIX_END UINT32_MAX /* in the place of a state: the visit has ended */

struct mix_token {
    uint32_t state; /* its index */
    uint64_t count;
    uint64_t rest;    /* the count of the next one, if that is this one's rest, or 0; */
    uint32_t skipped; /* then: 1 + the state which that would have been, or 0 */
};

/* What a walk has drawn ahead: its first member. */
struct mix_ahead {
    struct mix_token tokens[MIX_AHEAD];
    uint32_t at, count;
};

/* The next token, or the end of a visit, after which another one begins; until the next call. After
 * all visits of the mix it begins again, with other draws. */
static inline const struct mix_token *mix_walk_take(struct mix_walk *walk)
{
    struct mix_ahead *ahead = (struct mix_ahead *)walk;

    if (ahead->at == ahead->count)
        mix_walk_fill(walk);
    return &ahead->tokens[ahead->at++];
}

/* ---- as YAML: mix_yaml.c ---- */

/* Keys of a state's map that are the mix's own; all others are the caller's. */
#define MIX_STATE_KEYS "state", "times", "evenly", "rest_of", "next", "rounds"

/*
 * map: {begin, rounds, lengths, evenly, any,
 *       states: [{state, (the caller's), times, evenly, next, rounds}, ...]};
 * the caller writes what a state is, after `state` (NULL: nothing). Ids are written as they are.
 */
void mix_write(const struct psnap_mix *mix, struct psnap_yaml_doc *doc, struct psnap_yaml_node *map,
               void (*write_state)(void *context, struct psnap_yaml_doc *doc,
                                   struct psnap_yaml_node *map, uint32_t id),
               void *context);
/*
 * The mix written in `map`; read_state (may be NULL) reads the other keys of a state's map, in
 * the order in which they stand. Errors with their place: what is missing or unknown, what does not
 * balance, what is never left again. *mix is the caller's.
 */
enum psnap_status mix_read(const struct psnap_yaml_doc *doc, const struct psnap_yaml_node *map,
                           enum psnap_status (*read_state)(void *context,
                                                           const struct psnap_yaml_node *map,
                                                           uint32_t id, struct psnap_error *error),
                           void *context, struct psnap_mix **mix, struct psnap_error *error);

#endif
