/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Walks through a mix (mix.h): each transition as often as the mix counts it, in random order.
 *
 * A closed walk over all transitions of a graph in which as many lead into each node as out of it
 * is an Eulerian circuit. All of these are got so (T. van Aardenne-Ehrenfest and N. G. de Bruijn,
 * "Circuits and trees in oriented linear graphs", 1951): of each node one transition is taken
 * last, these chosen so that they lead from every node to where the walk begins, the others in
 * any order. Such a walk comes to its end only when it has taken all. Altschul and Erickson,
 * "Significance of nucleotide sequence alignments", 1985, draw sequences with given numbers of
 * pairs in this way. They choose the last ones at random, which would take as long here as a visit
 * does; mix_tree takes frequent ones, so that what is reserved is little of its kind.
 *
 * The order of a node's other transitions is drawn without replacement, in proportion to what is
 * left. Where the lengths of visits are known, each visit has a length, drawn likewise, before
 * which it takes no transition to its end as long as there are others, and after which it takes
 * one as soon as there is one. What a visit becomes longer or shorter than that is made up for by
 * the next ones.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/mix_graph.h"

struct walk_node {
    uint64_t ends;   /* transitions to the end of a visit that are left, */
    uint64_t others; /* and others; without the last one */
    uint32_t leaves;
    uint32_t first; /* edge of the others */
    uint32_t last;  /* node to which the last transition leads */
    bool is_steady; /* all counts of the state are `count` */
    uint64_t count;
    uint64_t *urn;
};

struct mix_walk {
    const struct psnap_mix *mix;
    struct psnap_rng rng;
    struct walk_node *nodes;
    uint64_t *urns;
    size_t urn_words;
    struct counts_draw *counts; /* by state */
    struct counts_draw lengths;
    uint32_t at;           /* node */
    uint64_t visits_left;  /* before all begins again */
    uint64_t made, wanted; /* tokens of this visit */
    uint64_t owed, ahead;  /* tokens that visits before were too short, or too long; one is 0 */
};

static void fill_node(struct mix_walk *walk, uint32_t n)
{
    const struct mix_edge *edges = walk->mix->edges;
    const uint32_t end = walk->mix->first[n + 1];
    struct walk_node *node = &walk->nodes[n];

    node->ends = node->others = 0;
    if (node->first > walk->mix->first[n])
        node->ends = edges[node->first - 1].times - (n != MIX_OUTSIDE && node->last == MIX_OUTSIDE);
    for (uint32_t i = node->first; i < end; i++) {
        const bool is_last = n != MIX_OUTSIDE && edges[i].to == node->last;
        const uint64_t times = edges[i].times - is_last;
        urn_put(node->urn, node->leaves, i - node->first, times);
        node->others += times;
    }
}

static void refill(struct mix_walk *walk)
{
    memset(walk->urns, 0, walk->urn_words * sizeof *walk->urns);
    for (uint32_t n = 0; n < MIX_STATE + walk->mix->state_count; n++)
        fill_node(walk, n);
    walk->visits_left = walk->mix->visits;
}

static bool is_to_end(struct mix_walk *walk, const struct walk_node *node)
{
    if (!node->ends || !node->others)
        return node->ends;
    if (walk->mix->lengths.times)
        return walk->made >= walk->wanted;
    return psnap_rng_below(&walk->rng, node->ends + node->others) < node->ends;
}

/* The node after this one. */
static uint32_t leave(struct mix_walk *walk, struct walk_node *node)
{
    uint64_t ticket;

    if (!node->others && !node->ends)
        return node->last;
    if (is_to_end(walk, node)) {
        node->ends--;
        return MIX_OUTSIDE;
    }
    ticket = node->leaves > 1 ? psnap_rng_below(&walk->rng, node->others) : 0;
    node->others--;
    return walk->mix->edges[node->first + urn_take(node->urn, node->leaves, ticket)].to;
}

static void begin_visit(struct mix_walk *walk)
{
    if (!walk->visits_left)
        refill(walk);
    walk->visits_left--;
    walk->made = 0;
    if (!walk->mix->lengths.times)
        return;
    walk->wanted = counts_draw_next(&walk->lengths, &walk->rng) + walk->owed;
    walk->owed = 0;
    if (walk->ahead < walk->wanted) {
        walk->wanted -= walk->ahead;
        walk->ahead = 0;
    } else {
        walk->ahead -= walk->wanted;
        walk->wanted = 0;
    }
}

static void end_visit(struct mix_walk *walk)
{
    if (!walk->mix->lengths.times)
        return;
    if (walk->made < walk->wanted)
        walk->owed += walk->wanted - walk->made;
    else
        walk->ahead += walk->made - walk->wanted;
}

bool mix_walk_next(struct mix_walk *walk, uint32_t *state, uint64_t *count)
{
    const struct walk_node *node;

    if (walk->at == MIX_OUTSIDE)
        begin_visit(walk);
    do
        walk->at = leave(walk, &walk->nodes[walk->at]);
    while (walk->at == MIX_ANY);
    if (walk->at == MIX_OUTSIDE) {
        end_visit(walk);
        return false;
    }
    node = &walk->nodes[walk->at];
    walk->made++;
    *state = walk->at - MIX_STATE;
    *count = node->is_steady ? node->count : counts_draw_next(&walk->counts[*state], &walk->rng);
    return true;
}

void mix_walk_free(struct mix_walk *walk)
{
    if (!walk)
        return;
    free(walk->nodes);
    free(walk->urns);
    free(walk->counts);
    free(walk);
}

/* The nodes without their transitions. */
static bool make_nodes(struct mix_walk *walk)
{
    const struct psnap_mix *mix = walk->mix;
    const uint32_t count = MIX_STATE + mix->state_count;
    uint32_t *last = malloc(count * sizeof *last);
    uint64_t *urn;

    if (!last || !mix_tree(mix, last)) {
        free(last);
        return false;
    }
    for (uint32_t n = 0; n < count; n++) {
        const uint32_t begin = mix->first[n], end = mix->first[n + 1];
        const bool has_end = begin < end && mix->edges[begin].to == MIX_OUTSIDE;
        walk->nodes[n] = (struct walk_node){
            .leaves = urn_leaves(end - begin - has_end), .first = begin + has_end, .last = last[n]};
        walk->urn_words += walk->nodes[n].leaves;
    }
    free(last);
    walk->urns = urn = malloc(walk->urn_words * sizeof *urn);
    for (uint32_t n = 0; urn && n < count; urn += walk->nodes[n++].leaves)
        walk->nodes[n].urn = urn;
    return walk->urns;
}

struct mix_walk *mix_walk_new(const struct psnap_mix *mix, uint64_t seed)
{
    struct mix_walk *walk = calloc(1, sizeof *walk);

    if (!walk)
        return NULL;
    walk->mix = mix;
    psnap_rng_init(&walk->rng, seed);
    walk->nodes = calloc(MIX_STATE + mix->state_count, sizeof *walk->nodes);
    walk->counts = malloc((mix->state_count + (size_t)1) * sizeof *walk->counts);
    if (!walk->nodes || !walk->counts || !make_nodes(walk)) {
        mix_walk_free(walk);
        return NULL;
    }
    for (uint32_t i = 0; i < mix->state_count; i++) {
        const struct psnap_counts *counts = &mix->states[i].counts;
        counts_draw_init(&walk->counts[i], counts);
        walk->nodes[MIX_STATE + i].count = counts->bins[0].low;
        walk->nodes[MIX_STATE + i].is_steady =
            counts->bin_count == 1 && counts->bins[0].low == counts->bins[0].high;
    }
    if (mix->lengths.times)
        counts_draw_init(&walk->lengths, &mix->lengths);
    return walk; /* urns are filled at the first visit */
}
