/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * maxflow: Dinic's method on a network of layers with random pipes, edges in pairs (e ^ 1 is the
 * way back) as linked lists. Irregular: breadth first levels, then depth first searches that keep
 * their place in each list; residual capacities of both directions are written together.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pipe {
    uint32_t to, next; /* next: 0 at the end */
    int32_t room;
};

struct network {
    uint32_t nodes, pipes;
    struct pipe *pipe;
    uint32_t *first, *at, *level, *queue;
};

static uint32_t draw(uint32_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 17;
    *s ^= *s << 5;
    return *s >> 4;
}

static void connect(struct network *n, uint32_t a, uint32_t b, int32_t room)
{
    n->pipe[n->pipes] = (struct pipe){.to = b, .next = n->first[a], .room = room};
    n->first[a] = n->pipes++;
    n->pipe[n->pipes] = (struct pipe){.to = a, .next = n->first[b], .room = 0};
    n->first[b] = n->pipes++;
}

static int find_levels(struct network *n, uint32_t source, uint32_t sink)
{
    uint32_t head = 0, tail = 0;

    memset(n->level, 0, n->nodes * sizeof(*n->level));
    n->level[source] = 1;
    n->queue[tail++] = source;
    while (head < tail) {
        uint32_t u = n->queue[head++];

        for (uint32_t p = n->first[u]; p; p = n->pipe[p].next) {
            uint32_t v = n->pipe[p].to;

            if (n->pipe[p].room > 0 && !n->level[v]) {
                n->level[v] = n->level[u] + 1;
                n->queue[tail++] = v;
            }
        }
    }
    return n->level[sink] != 0;
}

static int32_t augment(struct network *n, uint32_t u, uint32_t sink, int32_t most)
{
    int32_t sent = 0;

    if (u == sink)
        return most;
    for (; n->at[u]; n->at[u] = n->pipe[n->at[u]].next) {
        uint32_t p = n->at[u];
        struct pipe *pipe = &n->pipe[p];
        int32_t could, did;

        if (pipe->room <= 0 || n->level[pipe->to] != n->level[u] + 1)
            continue;
        could = pipe->room < most - sent ? pipe->room : most - sent;
        did = augment(n, pipe->to, sink, could);
        pipe->room -= did;
        n->pipe[p ^ 1].room += did;
        sent += did;
        if (sent == most)
            break;
    }
    return sent;
}

int main(int argc, char **argv)
{
    uint32_t width = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 280, layers = 24, s = 65537;
    struct network n = {.nodes = width * layers + 2, .pipes = 2};
    uint32_t source = width * layers, sink = source + 1, phases = 0;
    uint64_t flow = 0, sum = 0;

    n.pipe = malloc((2 + 2 * (size_t)width * (layers * 5 + 2)) * sizeof(*n.pipe));
    n.first = calloc(4 * n.nodes, sizeof(uint32_t));
    n.at = n.first + n.nodes;
    n.level = n.at + n.nodes;
    n.queue = n.level + n.nodes;
    for (uint32_t i = 0; i < width; i++) {
        connect(&n, source, i, 400);
        connect(&n, (layers - 1) * width + i, sink, 400);
    }
    for (uint32_t layer = 0; layer + 1 < layers; layer++)
        for (uint32_t i = 0; i < 4 * width; i++)
            connect(&n, layer * width + draw(&s) % width, (layer + 1) * width + draw(&s) % width,
                    (int32_t)(draw(&s) % 100 + 1));
    for (uint32_t i = 0; i < width * layers; i++) /* some go back, or along */
        connect(&n, i, draw(&s) % (width * layers), (int32_t)(draw(&s) % 20));
    while (find_levels(&n, source, sink)) {
        memcpy(n.at, n.first, n.nodes * sizeof(*n.at));
        flow += (uint64_t)augment(&n, source, sink, INT32_MAX);
        phases++;
    }
    for (uint32_t p = 2; p < n.pipes; p++)
        sum = sum * 3 + (uint32_t)n.pipe[p].room;
    free(n.pipe);
    free(n.first);
    printf("maxflow %u checksum %" PRIu64 " (%" PRIu64 " in %u phases)\n", width, sum, flow,
           phases);
    return 0;
}
