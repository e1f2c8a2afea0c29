/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A mix (mix.h) as one block of memory.
 */
#include "profile/mixes/mix_graph.h"

#include <stdlib.h>
#include <string.h>

/* Where in the block the parts are. */
static struct psnap_mix *place(struct psnap_mix *mix, uint32_t states, uint32_t edges,
                               uint32_t rounds, uint32_t rests)
{
    mix->state_count = states;
    mix->rounds_count = rounds;
    mix->rest_count = rests;
    mix->states = (struct mix_state *)(mix + 1);
    mix->rounds = (struct mix_rounds *)(mix->states + states);
    mix->rests = (struct mix_rest *)(mix->rounds + rounds);
    mix->edges = (struct mix_edge *)(mix->rests + rests);
    mix->first = (uint32_t *)(mix->edges + edges);
    return mix;
}

static size_t block_bytes(size_t states, size_t edges, size_t rounds, size_t rests)
{
    return sizeof(struct psnap_mix) + states * sizeof(struct mix_state) +
           rounds * sizeof(struct mix_rounds) + rests * sizeof(struct mix_rest) +
           edges * sizeof(struct mix_edge) + (MIX_STATE + states + 1) * sizeof(uint32_t);
}

struct psnap_mix *mix_new(uint32_t states, uint32_t edges, uint32_t rounds, uint32_t rests)
{
    struct psnap_mix *mix = calloc(1, block_bytes(states, edges, rounds, rests));

    return mix ? place(mix, states, edges, rounds, rests) : NULL;
}

void mix_free(struct psnap_mix *mix)
{
    free(mix);
}

struct psnap_mix *mix_copy(const struct psnap_mix *mix)
{
    const uint32_t nodes = MIX_STATE + mix->state_count, edges = mix->first[nodes];
    struct psnap_mix *copy = mix_new(mix->state_count, edges, mix->rounds_count, mix->rest_count);

    if (!copy)
        return NULL;
    copy->visits = mix->visits;
    copy->tokens = mix->tokens;
    copy->lengths = mix->lengths;
    memcpy(copy->states, mix->states, mix->state_count * sizeof *mix->states);
    memcpy(copy->rounds, mix->rounds, mix->rounds_count * sizeof *mix->rounds);
    memcpy(copy->rests, mix->rests, mix->rest_count * sizeof *mix->rests);
    memcpy(copy->edges, mix->edges, edges * sizeof *mix->edges);
    memcpy(copy->first, mix->first, (nodes + 1) * sizeof *mix->first);
    return copy;
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

bool mix_has_rest(const struct psnap_mix *mix, uint32_t state)
{
    uint32_t i = 0;

    while (i < mix->rest_count && mix->rests[i].state != state)
        i++;
    return i < mix->rest_count;
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
