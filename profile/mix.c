/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A mix (mix.h) as one block of memory, and the tree that a walk needs: grown from the outside, by
 * that node first of whose transitions into the tree one occurs most often (Prim's algorithm, as it
 * is used for undirected graphs).
 */
#include "profile/mix_graph.h"

#include <stdlib.h>
#include <string.h>

/* Where in the block the parts are. */
static struct psnap_mix *place(struct psnap_mix *mix, uint32_t states, uint32_t edges)
{
    mix->state_count = states;
    mix->states = (struct mix_state *)(mix + 1);
    mix->edges = (struct mix_edge *)(mix->states + states);
    mix->first = (uint32_t *)(mix->edges + edges);
    return mix;
}

static size_t block_bytes(size_t states, size_t edges)
{
    return sizeof(struct psnap_mix) + states * sizeof(struct mix_state) +
           edges * sizeof(struct mix_edge) + (MIX_STATE + states + 1) * sizeof(uint32_t);
}

struct psnap_mix *mix_new(uint32_t states, uint32_t edges)
{
    struct psnap_mix *mix = calloc(1, block_bytes(states, edges));

    return mix ? place(mix, states, edges) : NULL;
}

void mix_free(struct psnap_mix *mix)
{
    free(mix);
}

struct psnap_mix *mix_copy(const struct psnap_mix *mix)
{
    const uint32_t edges = mix->first[MIX_STATE + mix->state_count];
    const size_t bytes = block_bytes(mix->state_count, edges);
    struct psnap_mix *copy = malloc(bytes);

    if (!copy)
        return NULL;
    memcpy(copy, mix, bytes);
    return place(copy, mix->state_count, edges);
}

uint32_t mix_find(const struct psnap_mix *mix, uint32_t id)
{
    uint32_t low = 0, high = mix->state_count;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (mix->states[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < mix->state_count && mix->states[low].id == id ? low : UINT32_MAX;
}

static int compare_edges(const void *a, const void *b)
{
    const struct mix_link *x = a, *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

void mix_set_edges(struct psnap_mix *mix, struct mix_link *links, uint32_t count)
{
    const uint32_t nodes = MIX_STATE + mix->state_count;
    uint32_t at = 0;

    qsort(links, count, sizeof *links, compare_edges);
    for (uint32_t node = 0; node <= nodes; node++) {
        mix->first[node] = at;
        for (; at < count && links[at].from == node; at++)
            mix->edges[at] = (struct mix_edge){links[at].to, links[at].times};
    }
}

/* Edges by the node to which they lead: those to node n at begin[n] ... begin[n + 1]. */
struct reversed {
    uint32_t *begin;
    struct mix_edge *edges; /* `to` is where they come from */
};

static bool reverse(const struct psnap_mix *mix, struct reversed *reversed)
{
    const uint32_t nodes = MIX_STATE + mix->state_count, edges = mix->first[nodes];
    uint32_t *begin = calloc(nodes + 2, sizeof *begin);

    reversed->edges = malloc((edges + (size_t)1) * sizeof *reversed->edges);
    reversed->begin = begin;
    if (!begin || !reversed->edges)
        return false;
    for (uint32_t i = 0; i < edges; i++)
        begin[mix->edges[i].to + 2]++;
    for (uint32_t n = 1; n <= nodes; n++)
        begin[n + 1] += begin[n];
    for (uint32_t n = 0; n < nodes;
         n++) /* begin[n + 1], where n's begin, moves to where they end */
        for (uint32_t i = mix->first[n]; i < mix->first[n + 1]; i++)
            reversed->edges[begin[mix->edges[i].to + 1]++] =
                (struct mix_edge){n, mix->edges[i].times};
    return true;
}

/* best[n]: how often the transition last[n] of a node that is not yet in the tree occurs; in the
 * tree 0. */
static uint32_t grow(const struct reversed *reversed, uint32_t nodes, uint32_t *last,
                     uint64_t *best)
{
    uint32_t count = 0, node = MIX_OUTSIDE;

    for (uint64_t most = 1; most; count++) {
        last[node] = best[node] ? last[node] : UINT32_MAX;
        best[node] = 0;
        for (uint32_t i = reversed->begin[node]; i < reversed->begin[node + 1]; i++) {
            const struct mix_edge edge = reversed->edges[i];
            const bool is_in =
                edge.to == MIX_OUTSIDE || (last[edge.to] != UINT32_MAX && !best[edge.to]);
            if (!is_in && edge.times > best[edge.to]) {
                best[edge.to] = edge.times;
                last[edge.to] = node;
            }
        }
        most = 0;
        for (uint32_t n = 0; n < nodes; n++)
            if (best[n] > most) {
                most = best[n];
                node = n;
            }
    }
    return count;
}

uint32_t mix_tree(const struct psnap_mix *mix, uint32_t *last)
{
    const uint32_t nodes = MIX_STATE + mix->state_count;
    uint64_t *best = calloc(nodes, sizeof *best);
    struct reversed reversed = {0};
    uint32_t count = 0;

    if (reverse(mix, &reversed) && best) {
        for (uint32_t n = 0; n < nodes; n++)
            last[n] = UINT32_MAX;
        count = grow(&reversed, nodes, last, best);
    }
    free(reversed.begin);
    free(reversed.edges);
    free(best);
    return count;
}
