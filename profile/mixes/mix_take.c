/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The mix of what a collector has (mix.h): states by id, what comes in a row, what is left over.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/mixes/mix_collect.h"

enum { ROUNDS_MIN = 64 /* times that a transition came in a row, to say how often it does */ };

/* By chance the variance of how often it comes is m (m + 1), with the mean m. */
#define EVENLY 0.5
#define UNEVENLY 4.0

static int compare_ids(const void *a, const void *b)
{
    const uint32_t x = (*(struct state *const *)a)->id, y = (*(struct state *const *)b)->id;

    return x < y ? -1 : x > y;
}

/* Whether how often a transition comes in a row is not what chance gives. The longest row does not
 * count: that may be all that there was before the program did something else. */
static bool is_told(const struct psnap_counts *counts)
{
    const struct psnap_counts_bin *last = &counts->bins[counts->bin_count - 1];
    const double longest = (double)last->sum / (double)last->times;
    const double times = (double)counts->times - 1;
    const double mean = ((double)counts->sum - longest) / times, by_chance = mean * (mean + 1);
    double squares = -longest * longest;

    for (uint32_t i = 0; i < counts->bin_count; i++) {
        const struct psnap_counts_bin *bin = &counts->bins[i];
        squares += (double)bin->sum * (double)bin->sum / (double)bin->times;
    }
    squares = squares / times - mean * mean;
    return mean >= 1 && (squares < EVENLY * by_chance || squares > UNEVENLY * by_chance);
}

/* Whether a state is only come to from one other node. */
static bool is_from(const struct mix_link *links, uint32_t link_count, uint32_t to, uint32_t from)
{
    for (uint32_t i = 0; i < link_count; i++)
        if (links[i].to == to && links[i].from != from)
            return false;
    return true;
}

/* Whether a state is one of those rests. */
static bool is_rest(const uint32_t *of, size_t count, size_t state)
{
    size_t i = 0;

    while (i < count && of[i] != state + 1)
        i++;
    return i < count;
}

/* of[s]: 1 + the state whose counts are told by those of state s, or 0; returns of how many. What
 * is left over leaves nothing over itself. */
static uint32_t find_rests(const struct mix_collector *collector, const struct mix_link *links,
                           uint32_t link_count, uint32_t *of)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < collector->state_count; i++) {
        const struct rests *rests = &collector->states[i].rests;
        uint32_t *own;
        if (!rests->tokens || rests->from == MIX_STATE + i ||
            !rests_are_told(rests, &collector->states[rests->from - MIX_STATE].counts) ||
            !is_from(links, link_count, MIX_STATE + i, rests->from))
            continue;
        own = &of[rests->from - MIX_STATE];
        if (*own && collector->states[*own - 1].rests.tokens >= rests->tokens)
            continue;
        *own = i + 1;
    }
    for (uint32_t i = 0; i < collector->state_count; i++) {
        of[i] = is_rest(of, collector->state_count, i) ? 0 : of[i];
        count += of[i] > 0;
    }
    return count;
}

/* Whether all transitions of a mix can be taken. */
static bool has_end(const struct psnap_mix *mix, const uint32_t *last)
{
    for (uint32_t n = MIX_ANY; n < MIX_STATE + mix->state_count; n++)
        if (mix->first[n] < mix->first[n + 1] && last[n] == UINT32_MAX)
            return false;
    return true;
}

/* What is left over after counts of states; `of` as find_rests has set it. None where a walk could
 * not take all transitions then. False: out of memory. */
static bool take_rests(const struct mix_collector *collector, struct state *const *order,
                       const uint32_t *nodes, const uint32_t *of, struct psnap_mix *mix)
{
    uint32_t *last = malloc((MIX_STATE + mix->state_count) * sizeof *last);
    bool is_done = last;

    mix->rest_count = 0;
    for (uint32_t i = 0; i < mix->state_count; i++) {
        const uint32_t to = of[order[i] - collector->states];
        struct mix_rest *taken = &mix->rests[mix->rest_count];
        const uint32_t n = to ? rests_take(&collector->states[to - 1].rests, &order[i]->counts,
                                           &mix->states[i].counts, taken)
                              : 0;
        for (uint32_t k = 0; k < n; k++) {
            taken[k].state = i;
            taken[k].to = nodes[MIX_STATE + to - 1] - MIX_STATE;
        }
        mix->rest_count += n;
    }
    if (is_done && mix->rest_count) {
        is_done = mix_tree(mix, last);
        mix->rest_count = is_done && has_end(mix, last) ? mix->rest_count : 0;
    }
    free(last);
    return is_done;
}

/* Rounds of nodes, which are by number of the collector's, that are there among the links, and are
 * not chosen by what is left over; returns how many. */
static uint32_t take_rounds(const struct mix_collector *collector, const uint32_t *nodes,
                            const struct mix_link *links, uint32_t link_count, const uint32_t *of,
                            struct mix_rounds *taken)
{
    uint32_t count = 0;

    for (uint32_t node = 0; node < MIX_STATE + collector->state_count; node++) {
        const struct rounds *rounds =
            node == MIX_OUTSIDE ? &collector->begin : &collector->states[node - MIX_STATE].rounds;
        uint32_t k = 0;
        if (node == MIX_ANY || (node >= MIX_STATE && of[node - MIX_STATE]) || !rounds->weight ||
            rounds->counts.times < ROUNDS_MIN)
            continue;
        while (k < link_count && (links[k].from != node || links[k].to != rounds->to))
            k++;
        if (k == link_count)
            continue;
        taken[count].node = nodes[node];
        taken[count].to = nodes[rounds->to];
        counts_take(&rounds->counts, COUNTS_BINS, &taken[count].counts);
        count += is_told(&taken[count].counts);
    }
    return count;
}

static int compare_rounds(const void *a, const void *b)
{
    const struct mix_rounds *x = a, *y = b;

    return x->node < y->node ? -1 : x->node > y->node;
}

/* States by id; nodes[]: the mix's node of each of the collector's. */
static void number_states(struct mix_collector *collector, struct state **order, uint32_t *nodes)
{
    const uint32_t n = (uint32_t)collector->state_count;

    for (size_t i = 0; i < n; i++)
        order[i] = &collector->states[i];
    qsort(order, n, sizeof(struct state *), compare_ids);
    nodes[MIX_OUTSIDE] = MIX_OUTSIDE;
    nodes[MIX_ANY] = MIX_ANY;
    for (uint32_t i = 0; i < n; i++)
        nodes[MIX_STATE + (order[i] - collector->states)] = MIX_STATE + i;
}

/* The mix's states, and how often each came in a row: in more detail where something is left over.
 */
static void set_states(struct state *const *order, const uint32_t *rests,
                       const struct mix_collector *collector, uint32_t bins, struct psnap_mix *mix)
{
    for (uint32_t i = 0; i < mix->state_count; i++) {
        mix->states[i].id = order[i]->id;
        counts_take(&order[i]->counts, rests[order[i] - collector->states] ? COUNTS_BINS : bins,
                    &mix->states[i].counts);
    }
}

/* The mix's edges, of links by number of the collector's nodes, which become those of the mix's. */
static void set_links(struct mix_link *links, uint32_t link_count, const uint32_t *nodes,
                      struct psnap_mix *mix)
{
    for (uint32_t i = 0; i < link_count; i++) {
        links[i].from = nodes[links[i].from];
        links[i].to = nodes[links[i].to];
    }
    mix_set_edges(mix, links, link_count);
}

/* How many visits there were, and how long they are, if no rounds say when they end. */
static void set_visits(const struct mix_collector *collector, struct psnap_mix *mix)
{
    bool has_lengths = collector->lengths.times > 1; /* a single one: as there are tokens */

    mix->visits = collector->visits;
    mix->tokens = collector->tokens;
    for (uint32_t i = 0; i < mix->rounds_count; i++)
        has_lengths &= mix->rounds[i].to != MIX_OUTSIDE;
    if (has_lengths)
        counts_take(&collector->lengths, COUNTS_BINS, &mix->lengths);
}

struct psnap_mix *mix_take(struct mix_collector *collector, uint32_t edges, uint32_t bins)
{
    const uint32_t states = (uint32_t)collector->state_count;
    uint32_t *nodes = malloc((MIX_STATE + states) * sizeof *nodes), count = 0, rounds_count = 0;
    struct state **order = calloc(states + (size_t)1, sizeof(struct state *));
    struct mix_rounds *rounds = calloc(states + (size_t)2, sizeof *rounds);
    uint32_t *rests = calloc(states + (size_t)1, sizeof *rests), rest_count;
    struct mix_link *links = nodes && order && rounds && rests && !mix_end(collector)
                                 ? mix_list_edges(collector, edges, &count)
                                 : NULL;
    struct psnap_mix *mix = NULL;

    if (links) {
        number_states(collector, order, nodes);
        rest_count = find_rests(collector, links, count, rests);
        rounds_count = take_rounds(collector, nodes, links, count, rests, rounds);
        qsort(rounds, rounds_count, sizeof *rounds, compare_rounds);
        mix = mix_new(states, count, rounds_count, rest_count * COUNTS_BINS * RESTS_MAX);
    }
    if (mix) {
        set_states(order, rests, collector, bins, mix);
        set_links(links, count, nodes, mix);
        memcpy(mix->rounds, rounds, rounds_count * sizeof *rounds);
        set_visits(collector, mix);
    }
    if (mix && !take_rests(collector, order, nodes, rests, mix)) {
        mix_free(mix);
        mix = NULL;
    }
    free(links);
    free(rounds);
    free(rests);
    free(order);
    free(nodes);
    return mix;
}
