/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bfs: breadth-first search from ITERATIONS vertices of a random undirected graph of
 * n = SIZE vertices and 8 n edges, in compressed rows, with a queue.
 *
 * Accesses: search() takes vertices from the queue (4 n bytes, written and read at unit
 * stride), loads the bounds of a vertex's edges (8 n bytes, at random), its 16 neighbours on
 * average at unit stride (runs of 64 bytes, at random in 64 n) and the distance of each
 * neighbour (4 n bytes, at random), which is stored when it is new: the data decide. About
 * 38 n accesses a search. Each neighbour is loaded once a search, so its lines miss, about two
 * to a vertex, unless 64 n bytes fit; the 16 n distances hit when 4 n bytes fit. build()
 * counts and scatters the edges likewise. Five regions (heap).
 */
#include "sample.h"

enum { EDGES_PER_VERTEX = 8 };

struct graph {
    size_t n;
    size_t *start; /* of vertex v: start[v] up to start[v + 1] */
    uint32_t *neighbour;
};

/* Count degrees and sum them up, then draw the same edges again and enter them twice each. */
static void build(struct graph *g, size_t *fill)
{
    uint64_t random = 1;

    for (size_t v = 0; v <= g->n; v++)
        g->start[v] = 0;
    for (size_t e = 0; e < EDGES_PER_VERTEX * g->n; e++) {
        g->start[sample_below(&random, g->n) + 1]++;
        g->start[sample_below(&random, g->n) + 1]++;
    }
    for (size_t v = 0; v < g->n; v++) {
        g->start[v + 1] += g->start[v];
        fill[v] = g->start[v];
    }
    random = 1;
    for (size_t e = 0; e < EDGES_PER_VERTEX * g->n; e++) {
        size_t v = sample_below(&random, g->n);
        size_t w = sample_below(&random, g->n);

        g->neighbour[fill[v]++] = (uint32_t)w;
        g->neighbour[fill[w]++] = (uint32_t)v;
    }
}

/* Returns how many vertices can be reached; distance is UINT32_MAX for the others. */
static size_t search(const struct graph *g, size_t source, uint32_t *queue, uint32_t *distance)
{
    size_t head = 0, tail = 0;

    for (size_t v = 0; v < g->n; v++)
        distance[v] = UINT32_MAX;
    distance[source] = 0;
    queue[tail++] = (uint32_t)source;
    while (head < tail) {
        uint32_t v = queue[head++];
        uint32_t next = distance[v] + 1;

        for (size_t e = g->start[v]; e < g->start[v + 1]; e++) {
            uint32_t w = g->neighbour[e];

            if (distance[w] == UINT32_MAX) {
                distance[w] = next;
                queue[tail++] = w;
            }
        }
    }
    return tail;
}

static uint64_t checksum(size_t reached, const uint32_t *queue, const uint32_t *distance)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < reached; i++)
        sum += distance[queue[i]];
    return sum + reached;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "bfs",
                            .size_is = "the vertices",
                            .size = 50000,
                            .size_min = 1,
                            .size_max = 100000000,
                            .iterations = 4};
    struct graph g = {0};
    uint32_t *queue, *distance;
    uint64_t sum = 0;
    size_t *fill;

    sample_arguments(&sample, argc, argv);
    g.n = sample.size;
    g.start = malloc((g.n + 1) * sizeof(*g.start));
    g.neighbour = malloc(2 * EDGES_PER_VERTEX * g.n * sizeof(*g.neighbour));
    fill = malloc(g.n * sizeof(*fill));
    queue = malloc(g.n * sizeof(*queue));
    distance = malloc(g.n * sizeof(*distance));
    sample_need_memory(&sample, g.start && g.neighbour && fill && queue && distance);

    build(&g, fill);
    for (size_t i = 0; i < sample.iterations; i++) {
        size_t reached = search(&g, i * 7 % g.n, queue, distance);

        sum += checksum(reached, queue, distance);
    }

    free(g.start);
    free(g.neighbour);
    free(fill);
    free(queue);
    free(distance);
    return sample_print_count(&sample, sum);
}
