/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a walk through a mix asks of its graph (mix_graph.h). The tree of last transitions grows
 * from the outside, by that node first of whose transitions into the tree one occurs most often:
 * Prim's algorithm, as it is used for undirected graphs. Tails are longest paths in what of the
 * graph has no way back, from its end on.
 */
#include <stdlib.h>

#include "profile/mixes/mix_graph.h"

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
    /* begin[n + 1], where those to n begin, moves to where they end. */
    for (uint32_t n = 0; n < nodes; n++)
        for (uint32_t i = mix->first[n]; i < mix->first[n + 1]; i++)
            reversed->edges[begin[mix->edges[i].to + 1]++] =
                (struct mix_edge){n, mix->edges[i].times};
    return true;
}

/* rest[n]: the node that is a node's rest; MIX_OUTSIDE: it has none. Where that is all that it
 * leads to there is nothing to choose, and it is as any other. */
static void find_rests(const struct psnap_mix *mix, uint32_t *rest)
{
    for (uint32_t i = 0; i < mix->rest_count; i++) {
        const uint32_t node = MIX_STATE + mix->rests[i].state;
        if (mix->first[node + 1] - mix->first[node] > 1)
            rest[node] = MIX_STATE + mix->rests[i].to;
    }
}

/* best[n]: how often the transition last[n] of a node that is not yet in the tree occurs; in the
 * tree 0. One that has a rest comes into it behind that. */
static uint32_t grow(const struct reversed *reversed, const uint32_t *rest, uint32_t nodes,
                     uint32_t *last, uint64_t *best, bool *is_in)
{
    uint32_t count = 0, node = MIX_OUTSIDE;

    for (uint64_t most = 1; most; count++) {
        is_in[node] = true;
        for (uint32_t i = reversed->begin[node]; i < reversed->begin[node + 1]; i++) {
            const struct mix_edge edge = reversed->edges[i];
            const bool is_rest = rest[edge.to] != MIX_OUTSIDE && rest[edge.to] == node;
            if (!is_in[edge.to] && !is_rest && edge.times > best[edge.to]) {
                best[edge.to] = edge.times;
                last[edge.to] = node;
            }
        }
        most = 0;
        for (uint32_t n = 0; n < nodes; n++)
            if (!is_in[n] && is_in[rest[n]] && best[n] > most) {
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
    uint32_t *rest = calloc(nodes, sizeof *rest);
    bool *is_in = calloc(nodes, sizeof *is_in);
    struct reversed reversed = {0};
    uint32_t count = 0;

    if (reverse(mix, &reversed) && best && rest && is_in) {
        for (uint32_t n = 0; n < nodes; n++)
            last[n] = UINT32_MAX;
        find_rests(mix, rest);
        count = grow(&reversed, rest, nodes, last, best, is_in);
        for (uint32_t n = 0; n < nodes; n++)
            last[n] = is_in[n] ? last[n] : UINT32_MAX;
    }
    free(reversed.begin);
    free(reversed.edges);
    free(best);
    free(rest);
    free(is_in);
    return count;
}

bool mix_tails(const struct psnap_mix *mix, uint32_t *tails)
{
    const uint32_t nodes = MIX_STATE + mix->state_count;
    uint32_t *open = malloc(nodes * sizeof *open), *queue = malloc(nodes * sizeof *queue);
    struct reversed reversed = {0};
    const bool is_done = reverse(mix, &reversed) && open && queue;
    uint32_t count = 0;

    if (is_done) {
        for (uint32_t n = 0; n < nodes; n++) {
            open[n] = mix->first[n + 1] - mix->first[n];
            tails[n] = 0;
        }
        queue[count++] = MIX_OUTSIDE;
        for (uint32_t done = 0; done < count; done++)
            for (uint32_t n = queue[done], i = reversed.begin[n]; i < reversed.begin[n + 1]; i++) {
                const uint32_t from = reversed.edges[i].to, tail = tails[n] + (from != MIX_ANY);
                if (from == MIX_OUTSIDE)
                    continue;
                tails[from] = tail > tails[from] ? tail : tails[from];
                if (--open[from] == 0)
                    queue[count++] = from;
            }
        for (uint32_t n = MIX_ANY; n < nodes; n++)
            if (open[n])
                tails[n] = UINT32_MAX;
    }
    free(reversed.begin);
    free(reversed.edges);
    free(open);
    free(queue);
    return is_done;
}
