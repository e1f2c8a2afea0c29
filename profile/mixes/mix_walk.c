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
 * left. Where the lengths of visits are known, each visit has one, drawn likewise. Some transitions
 * close a visit: they lead to its end, or to where it is certain to come to it soon, by what the
 * walk has not come through. As long as there are others, these are taken before it has its
 * length, and as soon as there are some, these then. What a visit becomes longer or shorter than
 * that is made up for by the next ones. What is left over after a state's counts is drawn with
 * these, and comes next, if there is any. Where it is known how often a transition comes in a row,
 * that is drawn, too, when another one was taken; as long as there are both.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/mixes/mix_graph.h"

/* Transitions from a node, to draw from. */
struct exits {
    uint64_t left;
    uint64_t *urn;
    struct mix_edge *edges;
    uint32_t count, leaves;
};

/* A transition that comes so often in a row; it is not among the exits. */
struct again {
    uint64_t left, times, now; /* in all, and in this row */
    uint32_t to;
    struct counts_draw counts;
};

/* What is left over after a state's counts, by bins of these. */
struct rest {
    const struct psnap_counts *counts;
    const struct mix_rest *of;
    uint64_t *times; /* left, of each */
    uint32_t begin[COUNTS_BINS + 1];
    uint64_t left[COUNTS_BINS]; /* with those after which nothing is */
};

struct walk_node {
    struct exits closing, others; /* without the last one of all, */
    uint32_t last;                /* which leads to this node */
    struct again *again;          /* or NULL */
    struct rest *rest;            /* or NULL; transitions to what is left over are no exits */
    uint32_t tail;                /* tokens that come after a closing one, at most */
    struct counts_draw *counts;   /* of the state; NULL: all are */
    uint64_t count;
};

struct mix_walk {
    struct mix_ahead drawn;
    const struct psnap_mix *mix;
    struct psnap_rng rng;
    struct walk_node *nodes;
    struct mix_edge *edges; /* the mix's, of each node the closing ones first */
    uint64_t *urns;
    size_t urn_words;
    struct counts_draw *counts; /* by state */
    struct counts_draw lengths;
    struct again *again;   /* as the mix's rounds */
    struct rest *rests;    /* of nodes that have one */
    uint64_t *rest_times;  /* as the mix's rests */
    struct mix_token due;  /* what is left over comes next, if that is of a count */
    uint32_t at;           /* node */
    uint64_t visits_left;  /* before all begins again */
    uint64_t made, wanted; /* tokens of this visit */
    uint64_t owed, ahead;  /* tokens that visits before were too short, or too long; one is 0 */
};

/* All of them but one to `last`, which may be no node. */
static void fill(struct exits *exits, uint32_t last)
{
    exits->left = 0;
    for (uint32_t i = 0; i < exits->count; i++) {
        const uint64_t times = exits->edges[i].times - (exits->edges[i].to == last);
        urn_put(exits->urn, exits->leaves, i, times);
        exits->left += times;
    }
}

static void refill(struct mix_walk *walk)
{
    memset(walk->urns, 0, walk->urn_words * sizeof *walk->urns);
    for (uint32_t n = 0; n < MIX_STATE + walk->mix->state_count; n++) {
        fill(&walk->nodes[n].closing, walk->nodes[n].last);
        fill(&walk->nodes[n].others, walk->nodes[n].last);
    }
    for (uint32_t i = 0; i < walk->mix->rounds_count; i++) {
        struct again *again = &walk->again[i];
        again->left = again->times - (again->to == walk->nodes[walk->mix->rounds[i].node].last);
        again->now = counts_draw_next(&again->counts, &walk->rng);
    }
    walk->visits_left = walk->mix->visits;
}

static inline bool is_to_close(const struct mix_walk *walk, const struct walk_node *node,
                               struct psnap_rng *rng)
{
    const uint64_t closing = node->closing.left, others = node->others.left;

    if (!closing || !others)
        return closing;
    if (walk->mix->lengths.times)
        return walk->made + node->tail >= walk->wanted;
    return psnap_rng_below(rng, closing + others) < closing;
}

/* Whether the transition that comes in a row comes now. */
static bool is_again(const struct walk_node *node, struct psnap_rng *rng)
{
    struct again *again = node->again;
    const bool has_others = node->closing.left || node->others.left;

    if (again->left && (again->now || !has_others)) {
        again->left--;
        again->now -= again->now > 0;
        return true;
    }
    again->now = counts_draw_next(&again->counts, rng);
    return false;
}

/* The node after this one. */
static inline uint32_t leave(const struct mix_walk *walk, struct walk_node *node,
                             struct psnap_rng *rng)
{
    struct exits *exits = &node->others;
    uint64_t ticket;

    if (node->again && is_again(node, rng))
        return node->again->to;
    if (node->closing.left && is_to_close(walk, node, rng))
        exits = &node->closing;
    if (!exits->left)
        return node->last;
    if (exits->leaves == 1) {
        exits->left--;
        return exits->edges[0].to;
    }
    ticket = psnap_rng_below(rng, exits->left--);
    return exits->edges[urn_take(exits->urn, exits->leaves, ticket)].to;
}

/* How much is left over after a count of a state: without replacement, by its bin. */
static uint64_t draw_rest(struct rest *rest, uint64_t count, struct psnap_rng *rng)
{
    const struct psnap_counts *counts = rest->counts;
    uint32_t bin = 0, i;
    uint64_t ticket;

    while (count > counts->bins[bin].high)
        bin++;
    if (!rest->left[bin]) {
        rest->left[bin] = counts->bins[bin].times;
        for (i = rest->begin[bin]; i < rest->begin[bin + 1]; i++)
            rest->times[i] = rest->of[i].times;
    }
    ticket = psnap_rng_below(rng, rest->left[bin]--);
    for (i = rest->begin[bin]; i < rest->begin[bin + 1]; i++) {
        if (ticket < rest->times[i]) {
            rest->times[i]--;
            return rest->of[i].count;
        }
        ticket -= rest->times[i];
    }
    return 0;
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

/* The generator is kept in registers but for what is rare: a copy whose address is not taken. */
void mix_walk_fill(struct mix_walk *walk)
{
    struct mix_token *token = walk->drawn.tokens;
    /* Few at first: there are mixes of few visits. */
    const uint32_t more = 2 * walk->drawn.count + 1, n = more < MIX_AHEAD ? more : MIX_AHEAD;
    struct psnap_rng rng = walk->rng;
    uint32_t at = walk->at;

    for (const struct mix_token *end = token + n; token < end; token++) {
        struct walk_node *node;
        if (at == MIX_OUTSIDE) {
            walk->rng = rng;
            begin_visit(walk);
            rng = walk->rng;
        }
        if (walk->due.count) {
            *token = walk->due;
            walk->due.count = 0;
            walk->made++;
            at = MIX_STATE + token->state;
            continue;
        }
        do
            at = leave(walk, &walk->nodes[at], &rng);
        while (at == MIX_ANY);
        token->state = at - MIX_STATE;
        if (at == MIX_OUTSIDE) {
            end_visit(walk);
            token->state = MIX_END;
            continue;
        }
        walk->made++;
        node = &walk->nodes[at];
        token->count = node->count;
        token->rest = token->skipped = 0;
        if (node->counts && node->counts->is_exact && node->counts->left)
            token->count = counts_draw_exact(node->counts, &rng);
        else if (node->counts) {
            walk->rng = rng;
            token->count = counts_draw_next(node->counts, &walk->rng);
            rng = walk->rng;
        }
        if (node->rest) {
            token->rest = walk->due.count = draw_rest(node->rest, token->count, &rng);
            walk->due.state = node->rest->of->to;
            token->skipped = token->rest ? 0 : 1 + walk->due.state;
        }
    }
    walk->rng = rng;
    walk->at = at;
    walk->drawn.at = 0;
    walk->drawn.count = n;
}

void mix_walk_free(struct mix_walk *walk)
{
    if (!walk)
        return;
    free(walk->nodes);
    free(walk->edges);
    free(walk->urns);
    free(walk->counts);
    free(walk->again);
    free(walk->rests);
    free(walk->rest_times);
    free(walk);
}

/* Parts a node's transitions into those that close a visit and others, without what comes in a row,
 * or is left over. */
static void part_edges(struct mix_walk *walk, uint32_t n, const uint32_t *tails)
{
    const struct psnap_mix *mix = walk->mix;
    struct walk_node *node = &walk->nodes[n];
    struct mix_edge *to = &walk->edges[mix->first[n]];
    const uint32_t again = node->again  ? node->again->to
                           : node->rest ? MIX_STATE + node->rest->of->to
                                        : UINT32_MAX;

    node->closing.edges = to;
    for (uint32_t i = mix->first[n]; i < mix->first[n + 1]; i++) {
        const uint32_t tail = tails[mix->edges[i].to];
        if (node->again && mix->edges[i].to == again)
            node->again->times = mix->edges[i].times;
        if (tail == UINT32_MAX || mix->edges[i].to == again)
            continue;
        *to++ = mix->edges[i];
        node->tail = tail > node->tail ? tail : node->tail;
    }
    node->closing.count = (uint32_t)(to - node->closing.edges);
    node->others.edges = to;
    for (uint32_t i = mix->first[n]; i < mix->first[n + 1]; i++)
        if (tails[mix->edges[i].to] == UINT32_MAX && mix->edges[i].to != again)
            *to++ = mix->edges[i];
    node->others.count = (uint32_t)(to - node->others.edges);
}

static bool make_urns(struct mix_walk *walk)
{
    const uint32_t nodes = MIX_STATE + walk->mix->state_count;
    uint64_t *urn;

    for (uint32_t n = 0; n < nodes; n++) {
        struct walk_node *node = &walk->nodes[n];
        node->closing.leaves = urn_leaves(node->closing.count);
        node->others.leaves = urn_leaves(node->others.count);
        walk->urn_words += node->closing.leaves + node->others.leaves;
    }
    walk->urns = urn = malloc(walk->urn_words * sizeof *urn);
    for (uint32_t n = 0; urn && n < nodes; n++) {
        struct walk_node *node = &walk->nodes[n];
        node->closing.urn = urn;
        node->others.urn = urn + node->closing.leaves;
        urn = node->others.urn + node->others.leaves;
    }
    return urn;
}

/* What is left over after states' counts; false: out of memory. */
static bool make_rests(struct mix_walk *walk)
{
    const struct psnap_mix *mix = walk->mix;
    uint32_t count = 0;

    for (uint32_t i = 0; i < mix->rest_count; i++)
        count += !i || mix->rests[i].state != mix->rests[i - 1].state;
    walk->rests = calloc(count + (size_t)1, sizeof *walk->rests);
    walk->rest_times = calloc(mix->rest_count + (size_t)1, sizeof *walk->rest_times);
    if (!walk->rests || !walk->rest_times)
        return false;
    count = 0;
    for (uint32_t i = 0, n; i < mix->rest_count; i += n) {
        struct rest *rest = &walk->rests[count++];
        const uint32_t state = mix->rests[i].state;
        rest->counts = &mix->states[state].counts;
        rest->of = &mix->rests[i];
        rest->times = &walk->rest_times[i];
        walk->nodes[MIX_STATE + state].rest = rest;
        for (n = 0; i + n < mix->rest_count && mix->rests[i + n].state == state; n++)
            rest->begin[mix->rests[i + n].bin + 1] = n + 1;
        for (uint32_t bin = 0; bin < COUNTS_BINS; bin++)
            if (rest->begin[bin + 1] < rest->begin[bin])
                rest->begin[bin + 1] = rest->begin[bin];
    }
    return true;
}

/* The nodes, their transitions not yet filled in. */
static bool make_nodes(struct mix_walk *walk)
{
    const uint32_t nodes = MIX_STATE + walk->mix->state_count;
    uint32_t *last = malloc(nodes * sizeof *last), *tails = malloc(nodes * sizeof *tails);
    bool is_done = false;

    walk->nodes = calloc(nodes, sizeof *walk->nodes);
    walk->edges = calloc(walk->mix->first[nodes] + (size_t)1, sizeof *walk->edges);
    if (walk->nodes && walk->edges && last && tails && mix_tree(walk->mix, last) &&
        mix_tails(walk->mix, tails) && make_rests(walk)) {
        for (uint32_t i = 0; i < walk->mix->rounds_count; i++) {
            walk->nodes[walk->mix->rounds[i].node].again = &walk->again[i];
            walk->again[i].to = walk->mix->rounds[i].to;
            counts_draw_init(&walk->again[i].counts, &walk->mix->rounds[i].counts);
        }
        for (uint32_t n = 0; n < nodes; n++) {
            walk->nodes[n].last = last[n];
            part_edges(walk, n, tails);
        }
        is_done = make_urns(walk);
    }
    free(last);
    free(tails);
    return is_done;
}

struct mix_walk *mix_walk_new(const struct psnap_mix *mix, uint64_t seed)
{
    struct mix_walk *walk = calloc(1, sizeof *walk);

    if (!walk)
        return NULL;
    walk->mix = mix;
    psnap_rng_init(&walk->rng, seed);
    walk->counts = malloc((mix->state_count + (size_t)1) * sizeof *walk->counts);
    walk->again = calloc(mix->rounds_count + (size_t)1, sizeof *walk->again);
    if (!walk->counts || !walk->again || !make_nodes(walk)) {
        mix_walk_free(walk);
        return NULL;
    }
    for (uint32_t i = 0; i < mix->state_count; i++) {
        const struct psnap_counts *counts = &mix->states[i].counts;
        counts_draw_init(&walk->counts[i], counts);
        walk->nodes[MIX_STATE + i].count = counts->bins[0].low;
        if (counts->bin_count > 1 || counts->bins[0].low < counts->bins[0].high)
            walk->nodes[MIX_STATE + i].counts = &walk->counts[i];
    }
    if (mix->lengths.times)
        counts_draw_init(&walk->lengths, &mix->lengths);
    return walk; /* urns are filled at the first visit */
}
