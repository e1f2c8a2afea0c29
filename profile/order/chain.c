/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Markov chains with exact counts: collected, checked, and drawn from (chain.h).
 */
#include "profile/order/chain.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/program.h"
#include "formats/base/room.h"

bool chain_init(struct chain *chain)
{
    *chain = (struct chain){.room = 4};
    chain->states = calloc(chain->room, sizeof *chain->states);
    chain->count = 1;
    if (chain->states)
        chain->states[0].symbol = PSNAP_NONE;
    return chain->states != NULL;
}

void chain_release(struct chain *chain)
{
    for (uint32_t i = 0; chain->states && i < chain->count; i++)
        free(chain->states[i].edges);
    free(chain->states);
    *chain = (struct chain){0};
}

uint32_t chain_add_state(struct chain *chain, uint32_t symbol)
{
    if (chain->count == chain->room) {
        if (!psnap_resize(&chain->states, 2 * (size_t)chain->room, sizeof *chain->states))
            return PSNAP_NONE;
        chain->room *= 2;
    }
    chain->states[chain->count] = (struct chain_state){.symbol = symbol};
    return chain->count++;
}

static struct chain_edge *edge_to(struct chain_state *from, uint32_t to)
{
    for (uint32_t i = 0; i < from->edge_count; i++) {
        struct chain_edge *edge = &from->edges[i];
        if (edge->to != to)
            continue;
        if (i && edge[-1].count < edge->count) { /* commonest first */
            const struct chain_edge kept = *edge;
            *edge = edge[-1];
            *--edge = kept;
        }
        return edge;
    }
    if (from->edge_count == from->edge_room) {
        const uint32_t room = from->edge_room ? 2 * from->edge_room : 2;
        if (!psnap_resize(&from->edges, room, sizeof *from->edges))
            return NULL;
        from->edge_room = room;
    }
    from->edges[from->edge_count] = (struct chain_edge){.to = to};
    return &from->edges[from->edge_count++];
}

bool chain_go(struct chain *chain, uint32_t state, uint64_t times)
{
    struct chain_edge *edge = edge_to(&chain->states[chain->at], state);

    if (edge)
        edge->count += times;
    chain->at = state;
    return edge != NULL;
}

/* By state, the edge that leads towards state 0 on a shortest way; PSNAP_NONE: there is none.
 * False: out of memory. */
static bool find_ways(const struct chain *chain, uint32_t *way)
{
    uint32_t *distance = malloc(chain->count * sizeof *distance);
    bool is_changed = distance != NULL;

    for (uint32_t i = 0; distance && i < chain->count; i++) {
        distance[i] = i ? UINT32_MAX : 0;
        way[i] = PSNAP_NONE;
    }
    while (is_changed) { /* as many rounds as the longest way has edges */
        is_changed = false;
        for (uint32_t i = 1; i < chain->count; i++)
            for (uint32_t k = 0; k < chain->states[i].edge_count; k++) {
                const uint32_t to = chain->states[i].edges[k].to;
                if (distance[to] == UINT32_MAX || distance[to] + 1 >= distance[i])
                    continue;
                distance[i] = distance[to] + 1;
                way[i] = k;
                is_changed = true;
            }
    }
    free(distance);
    return distance != NULL;
}

uint64_t chain_entries(const struct chain *chain, uint32_t state)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < chain->count; i++)
        for (uint32_t k = 0; k < chain->states[i].edge_count; k++)
            sum += chain->states[i].edges[k].to == state ? chain->states[i].edges[k].count : 0;
    return sum;
}

uint64_t chain_circuits(const struct chain *chain)
{
    uint64_t sum = 0;

    for (uint32_t k = 0; k < chain->states[0].edge_count; k++)
        sum += chain->states[0].edges[k].count;
    return sum;
}

int chain_is_circuit(const struct chain *chain, uint32_t *state)
{
    uint64_t *in = calloc(chain->count, sizeof *in), *out = calloc(chain->count, sizeof *out);
    uint32_t *way = malloc(chain->count * sizeof *way);
    int is_circuit = in && out && way && find_ways(chain, way) ? 1 : -1;

    for (uint32_t i = 0; is_circuit > 0 && i < chain->count; i++)
        for (uint32_t k = 0; k < chain->states[i].edge_count; k++) {
            out[i] += chain->states[i].edges[k].count;
            in[chain->states[i].edges[k].to] += chain->states[i].edges[k].count;
        }
    for (uint32_t i = 0; is_circuit > 0 && i < chain->count; i++)
        if (in[i] != out[i] || (i && out[i] && way[i] == PSNAP_NONE)) {
            *state = i;
            is_circuit = 0;
        }
    free(in);
    free(out);
    free(way);
    return is_circuit;
}

int chain_commonest_first(const void *a, const void *b)
{
    const struct chain_edge *p = a, *q = b;

    if (p->count != q->count)
        return p->count > q->count ? -1 : 1;
    return p->to < q->to ? -1 : p->to > q->to;
}

/* What is left of the edges of a state is all of them. */
static void refill(struct chain_draw *draw, uint32_t i)
{
    const struct chain_state *state = &draw->chain->states[i];
    const uint32_t way = draw->last[i] == PSNAP_NONE ? PSNAP_NONE : draw->left[i][draw->last[i]].to;

    if (!state->edge_count)
        return;
    memcpy(draw->left[i], state->edges, state->edge_count * sizeof *state->edges);
    qsort(draw->left[i], state->edge_count, sizeof *state->edges, chain_commonest_first);
    draw->total[i] = 0;
    for (uint32_t k = 0; k < state->edge_count; k++) {
        draw->total[i] += draw->left[i][k].count;
        if (draw->left[i][k].to == way)
            draw->last[i] = k;
    }
}

bool chain_draw_init(struct chain_draw *draw, const struct chain *chain)
{
    bool is_done;

    *draw = (struct chain_draw){.chain = chain,
                                .left = calloc(chain->count, sizeof(struct chain_edge *)),
                                .total = calloc(chain->count, sizeof *draw->total),
                                .last = malloc(chain->count * sizeof *draw->last)};
    is_done = draw->left && draw->total && draw->last && find_ways(chain, draw->last);
    for (uint32_t i = 0; is_done && i < chain->count; i++) {
        const struct chain_state *state = &chain->states[i];
        draw->left[i] = malloc((state->edge_count + (size_t)1) * sizeof *draw->left[i]);
        is_done = draw->left[i] != NULL;
        if (is_done && state->edge_count)
            memcpy(draw->left[i], state->edges, state->edge_count * sizeof *state->edges);
        if (is_done)
            refill(draw, i);
    }
    if (!is_done)
        chain_draw_release(draw);
    return is_done;
}

void chain_draw_release(struct chain_draw *draw)
{
    for (uint32_t i = 0; draw->left && i < draw->chain->count; i++)
        free(draw->left[i]);
    free(draw->left);
    free(draw->total);
    free(draw->last);
    *draw = (struct chain_draw){0};
}

uint32_t chain_draw_next(struct chain_draw *draw, uint32_t state, struct psnap_rng *rng)
{
    struct chain_edge *edge;
    uint64_t ticket;
    bool is_reserved;

    if (!draw->total[state])
        refill(draw, state);
    if (!draw->total[state])
        return 0; /* a state without transitions */
    edge = draw->left[state];
    is_reserved = draw->last[state] != PSNAP_NONE && draw->total[state] > 1;
    ticket = psnap_rng_below(rng, draw->total[state] - is_reserved);
    for (uint32_t k = 0;; k++, edge++) {
        const uint64_t count = edge->count - (is_reserved && k == draw->last[state]);
        if (ticket < count)
            break;
        ticket -= count;
    }
    edge->count--;
    draw->total[state]--;
    return edge->to;
}
