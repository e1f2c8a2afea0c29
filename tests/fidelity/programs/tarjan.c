/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tarjan: strongly connected components of a directed graph with edges as linked lists in arrays,
 * by Tarjan's recursive search; then the components' graph is walked for reachable weight.
 * Irregular: a depth first search that follows chains of edges, a stack that is popped in bursts.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct vertex {
    int32_t edges; /* the first one, or -1 */
    uint32_t index, low, component;
};

struct edge {
    int32_t next;
    uint32_t to;
};

static struct vertex *vertex;
static struct edge *edge;
static uint32_t *stack, stacked, indices, components;

static uint64_t xorshift(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    return *s ^= *s << 17;
}

static void search(uint32_t v)
{
    vertex[v].index = vertex[v].low = ++indices;
    stack[stacked++] = v;
    for (int32_t e = vertex[v].edges; e >= 0; e = edge[e].next) {
        uint32_t w = edge[e].to;

        if (!vertex[w].index) {
            search(w);
            if (vertex[w].low < vertex[v].low)
                vertex[v].low = vertex[w].low;
        } else if (!vertex[w].component && vertex[w].index < vertex[v].low) {
            vertex[v].low = vertex[w].index;
        }
    }
    if (vertex[v].low == vertex[v].index) {
        uint32_t w;

        components++;
        do {
            w = stack[--stacked];
            vertex[w].component = components;
        } while (w != v);
    }
}

/* Components are numbered in reverse topological order, so that each needs only smaller ones. */
static uint64_t weigh(uint32_t n)
{
    uint64_t *weight = calloc(components + 1, sizeof(*weight)), sum = 0;
    uint32_t *size = calloc(components + 1, sizeof(*size));

    for (uint32_t v = 0; v < n; v++)
        size[vertex[v].component]++;
    for (uint32_t v = 0; v < n; v++) {
        uint32_t from = vertex[v].component;

        for (int32_t e = vertex[v].edges; e >= 0; e = edge[e].next) {
            uint32_t to = vertex[edge[e].to].component;

            if (to != from && weight[from] < size[to])
                weight[from] = size[to];
        }
    }
    for (uint32_t c = 1; c <= components; c++)
        sum = sum * 31 + weight[c] + size[c];
    free(weight);
    free(size);
    return sum;
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 60000;
    uint64_t s = 271828, sum = 0;
    uint32_t m = 0;

    vertex = calloc(n, sizeof(*vertex));
    edge = malloc(3 * (size_t)n * sizeof(*edge));
    stack = malloc(n * sizeof(*stack));
    for (int round = 0; round < 6; round++) {
        m = indices = components = 0;
        for (uint32_t v = 0; v < n; v++)
            vertex[v] = (struct vertex){.edges = -1};
        for (uint32_t i = 0; i < n + n / 2 * (uint32_t)round / 4; i++) {
            uint32_t from = (uint32_t)(xorshift(&s) >> 32) % n;
            uint32_t near = from + (uint32_t)(xorshift(&s) >> 50) % 300;

            edge[m].to = s & 3 ? near % n : (uint32_t)(s >> 20) % n;
            edge[m].next = vertex[from].edges;
            vertex[from].edges = (int32_t)m++;
        }
        for (uint32_t v = 0; v < n; v++)
            if (!vertex[v].index)
                search(v);
        sum = sum * 7 + weigh(n) + components;
    }
    free(vertex);
    free(edge);
    free(stack);
    printf("tarjan %u checksum %" PRIu64 "\n", n, sum);
    return 0;
}
