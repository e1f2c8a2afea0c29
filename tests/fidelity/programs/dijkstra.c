/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dijkstra: shortest paths on a road map (a grid with missing streets and some motorways) with a
 * binary heap that can decrease keys. Irregular: sifts through the heap with a table of positions
 * beside it, nodes of a front that moves through the map, edges in compressed rows.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct edge {
    uint32_t from, to, length;
};

struct graph {
    uint32_t nodes, edges;
    uint32_t *first, *to, *length;
};

struct heap {
    uint32_t *node, *place, *distance; /* place: of a node, from 1; 0: not in it */
    uint32_t size;
};

static uint32_t draw(uint32_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 17;
    *s ^= *s << 5;
    return *s;
}

static void put(struct heap *h, uint32_t at, uint32_t node)
{
    h->node[at] = node;
    h->place[node] = at;
}

static void sift_up(struct heap *h, uint32_t at)
{
    uint32_t node = h->node[at];

    while (at > 1 && h->distance[h->node[at / 2]] > h->distance[node]) {
        put(h, at, h->node[at / 2]);
        at /= 2;
    }
    put(h, at, node);
}

static uint32_t pop(struct heap *h)
{
    uint32_t top = h->node[1], last = h->node[h->size--], at = 1, child;

    while ((child = 2 * at) <= h->size) {
        if (child < h->size && h->distance[h->node[child + 1]] < h->distance[h->node[child]])
            child++;
        if (h->distance[h->node[child]] >= h->distance[last])
            break;
        put(h, at, h->node[child]);
        at = child;
    }
    put(h, at, last);
    h->place[top] = 0;
    return top;
}

static void shortest(const struct graph *g, struct heap *h, uint32_t from)
{
    for (uint32_t i = 0; i < g->nodes; i++) {
        h->distance[i] = UINT32_MAX;
        h->place[i] = 0;
    }
    h->distance[from] = 0;
    h->size = 1;
    put(h, 1, from);
    while (h->size) {
        uint32_t u = pop(h);

        for (uint32_t e = g->first[u]; e < g->first[u + 1]; e++) {
            uint32_t v = g->to[e], d = h->distance[u] + g->length[e];

            if (d < h->distance[v]) {
                h->distance[v] = d;
                if (!h->place[v])
                    put(h, ++h->size, v);
                sift_up(h, h->place[v]);
            }
        }
    }
}

static void make_map(struct graph *g, uint32_t side)
{
    struct edge *edges = malloc(5 * side * side * sizeof(*edges));
    uint32_t s = 4711, m = 0;

    g->nodes = side * side;
    for (uint32_t i = 0; i < g->nodes; i++) {
        if (i % side && draw(&s) % 8)
            edges[m++] = (struct edge){i, i - 1, 10 + draw(&s) % 50};
        if (i >= side && draw(&s) % 8)
            edges[m++] = (struct edge){i, i - side, 10 + draw(&s) % 50};
        if (draw(&s) % 64 == 0)
            edges[m++] = (struct edge){i, draw(&s) % g->nodes, 500 + draw(&s) % 500};
    }
    g->edges = 2 * m;
    g->first = calloc(g->nodes + 2, sizeof(uint32_t));
    g->to = malloc((g->edges + 1) * sizeof(uint32_t));
    g->length = malloc((g->edges + 1) * sizeof(uint32_t));
    for (uint32_t e = 0; e < m; e++) {
        g->first[edges[e].from + 2]++;
        g->first[edges[e].to + 2]++;
    }
    for (uint32_t i = 2; i < g->nodes + 2; i++)
        g->first[i] += g->first[i - 1];
    for (uint32_t e = 0; e < m; e++) {
        uint32_t a = g->first[edges[e].from + 1]++, b = g->first[edges[e].to + 1]++;

        g->to[a] = edges[e].to;
        g->to[b] = edges[e].from;
        g->length[a] = g->length[b] = edges[e].length;
    }
    free(edges);
}

int main(int argc, char **argv)
{
    uint32_t side = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 220;
    struct graph g;
    struct heap h;
    uint64_t sum = 0;

    make_map(&g, side);
    h.node = malloc((g.nodes + 2) * sizeof(uint32_t));
    h.place = malloc(g.nodes * sizeof(uint32_t));
    h.distance = malloc(g.nodes * sizeof(uint32_t));
    for (uint32_t k = 0; k < 3; k++) {
        shortest(&g, &h, (g.nodes - 1) / (k + 1));
        for (uint32_t i = 0; i < g.nodes; i++)
            sum += h.distance[i] == UINT32_MAX ? 1 : h.distance[i];
    }
    free(g.first);
    free(g.to);
    free(g.length);
    free(h.node);
    free(h.place);
    free(h.distance);
    printf("dijkstra %u checksum %" PRIu64 "\n", side, sum);
    return 0;
}
