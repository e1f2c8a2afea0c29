/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unionfind: percolation: sites of a square open in random order until top and bottom are
 * connected, by union-find with path halving; then clusters are sized. Irregular: parents of random
 * sites and their neighbours, paths that get shorter as they are used, roots that get hot.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct grid {
    uint32_t side;
    int32_t *parent; /* of a root: minus its size; 0: closed */
};

static uint32_t find(int32_t *parent, uint32_t x)
{
    while (parent[x] > 0) {
        uint32_t up = (uint32_t)parent[x];

        if (parent[up] > 0)
            parent[x] = parent[up];
        x = up;
    }
    return x;
}

static void join(int32_t *parent, uint32_t a, uint32_t b)
{
    a = find(parent, a);
    b = find(parent, b);
    if (a == b)
        return;
    if (parent[a] > parent[b]) {
        uint32_t t = a;

        a = b;
        b = t;
    }
    parent[a] += parent[b];
    parent[b] = (int32_t)a;
}

/* Sites are numbered from 2 on; 0 is not used, 1 is the top, the last one the bottom. */
static void open_site(struct grid *g, uint32_t x, uint32_t y)
{
    uint32_t at = 2 + y * g->side + x, bottom = 2 + g->side * g->side;

    g->parent[at] = -1;
    if (x > 0 && g->parent[at - 1])
        join(g->parent, at, at - 1);
    if (x + 1 < g->side && g->parent[at + 1])
        join(g->parent, at, at + 1);
    if (y > 0 ? g->parent[at - g->side] : 1)
        join(g->parent, at, y > 0 ? at - g->side : 1);
    if (y + 1 < g->side ? g->parent[at + g->side] : 1)
        join(g->parent, at, y + 1 < g->side ? at + g->side : bottom);
}

static uint32_t *shuffled(uint32_t n)
{
    uint32_t *order = malloc(n * sizeof(*order));
    uint64_t s = 0x2545f4914f6cdd1d;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t j;

        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        j = (uint32_t)(s >> 32) % (i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    return order;
}

int main(int argc, char **argv)
{
    struct grid g = {.side = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 700};
    uint32_t sites = g.side * g.side, opened = 0, bottom = sites + 2, crossing = 0;
    uint32_t *order = shuffled(sites);
    uint64_t sum = 0;

    g.parent = calloc(sites + 3, sizeof(*g.parent));
    g.parent[1] = g.parent[bottom] = -1;
    while (opened < sites && opened < sites / 10 * 7 + 1) {
        open_site(&g, order[opened] % g.side, order[opened] / g.side);
        opened++;
        if (!crossing && find(g.parent, 1) == find(g.parent, bottom))
            crossing = opened;
    }
    for (uint32_t i = 2; i < bottom; i++)
        if (g.parent[i])
            sum = sum * 3 + (uint32_t)-g.parent[find(g.parent, i)];
    free(order);
    free(g.parent);
    printf("unionfind %u checksum %" PRIu64 " (%u)\n", g.side, sum, crossing);
    return 0;
}
