/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Markov chains, for parts of a program whose order does not fold: how often which body of a loop
 * executed right after which other one, exactly. A state may also be a chain, which is visited
 * then. State 0 stands for the outside: what a visit of the chain begins with follows it, and it
 * follows what a visit ends with.
 *
 * Every state is entered as often as it is left, so the transitions are a circuit of Euler in the
 * multigraph of states. A walk that takes each transition as often as it was seen, and from each
 * state at last the one that leads towards state 0 (a tree with its root there), uses up all of
 * them (T. van Aardenne-Ehrenfest and N. G. de Bruijn, "Circuits and trees in oriented linear
 * graphs", 1951). So replay has exactly the program's transitions, in random order.
 */
#ifndef PSNAP_PROFILE_CHAIN_H
#define PSNAP_PROFILE_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/base/rng.h"

struct chain_edge {
    uint32_t to; /* state */
    uint64_t count;
};

struct chain_state {
    uint32_t symbol; /* whose state it is: a body or a chain; unused for state 0 */
    uint32_t edge_count, edge_room;
    struct chain_edge *edges; /* none empty */
};

struct chain {
    struct chain_state *states;
    uint32_t count, room;
    uint32_t at; /* while transitions are counted: the state in which the chain is */
};

bool chain_init(struct chain *chain); /* false: out of memory */
void chain_release(struct chain *chain);
/* A state more; PSNAP_NONE: out of memory. */
uint32_t chain_add_state(struct chain *chain, uint32_t symbol);
/* Counts `times` transitions from the state in which the chain is to `state`, in which it is then;
 * false: out of memory. */
bool chain_go(struct chain *chain, uint32_t state, uint64_t times);
/* How often a state is entered. */
uint64_t chain_entries(const struct chain *chain, uint32_t state);
/* How many visits there were: circuits through state 0. */
uint64_t chain_circuits(const struct chain *chain);
/* Whether every state is left as often as it is entered, and leads to state 0; if not, *state gets
 * a state that breaks this. Negative: out of memory. */
int chain_is_circuit(const struct chain *chain, uint32_t *state);

/* For qsort(): of edges the commonest first. */
int chain_commonest_first(const void *a, const void *b);

/* What is left to draw, by state. */
struct chain_draw {
    const struct chain *chain;
    struct chain_edge **left; /* by state, a copy of its edges, the commonest first */
    uint64_t *total;          /* by state: transitions that are left */
    uint32_t *last;           /* by state: the edge that is taken last */
};

/* `chain`, a circuit, outlives it. False: out of memory. */
bool chain_draw_init(struct chain_draw *draw, const struct chain *chain);
void chain_draw_release(struct chain_draw *draw);
/* The state after `state`. When all transitions from it are drawn these begin again. */
uint32_t chain_draw_next(struct chain_draw *draw, uint32_t state, struct psnap_rng *rng);

#endif
