/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chase: follow pointers through n = SIZE nodes linked into one random cycle (Sattolo's
 * shuffle), ITERATIONS times round.
 *
 * Accesses: chase() loads value and next of a node of 64 bytes, then goes where next points:
 * 2 n a round over a region of 64 n bytes (heap). The value's line has just come, so next
 * always hits. A node comes again after all the others, at a reuse distance of n - 1: LRU
 * misses on every value as soon as 64 n bytes exceed the cache, and on none after the first
 * round when they fit. init() walks order (4 n bytes) and the nodes at unit stride, and the
 * shuffle swaps elements of order at random.
 */
#include "sample.h"

struct node {
    uint64_t value;
    struct node *next;
    uint64_t unused[6]; /* to the size of a usual cache line */
};

static void shuffle(size_t n, uint32_t *order)
{
    uint64_t random = 1;

    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    for (size_t i = n - 1; i > 0; i--) {
        size_t j = sample_below(&random, i);
        uint32_t other = order[j];

        order[j] = order[i];
        order[i] = other;
    }
}

static void init(size_t n, struct node *nodes, const uint32_t *order)
{
    for (size_t i = 0; i < n; i++) {
        nodes[i].value = i;
        nodes[i].next = &nodes[order[i]];
    }
}

/* Returns where the round ends: where it began, which the compiler cannot know. */
static const struct node *chase(size_t n, const struct node *node, uint64_t *sum)
{
    uint64_t s = *sum;

    for (size_t i = 0; i < n; i++) {
        s = s * 3 + node->value;
        node = node->next;
    }
    *sum = s;
    return node;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "chase",
                            .size_is = "the nodes of the cycle",
                            .size = 32768,
                            .size_min = 2,
                            .size_max = 100000000,
                            .iterations = 100};
    uint64_t sum = 0;
    uint32_t *order;
    struct node *nodes;
    const struct node *node;

    sample_arguments(&sample, argc, argv);
    order = malloc(sample.size * sizeof(*order));
    nodes = malloc(sample.size * sizeof(*nodes));
    sample_need_memory(&sample, order && nodes);

    shuffle(sample.size, order);
    init(sample.size, nodes, order);
    node = nodes;
    for (size_t i = 0; i < sample.iterations; i++)
        node = chase(sample.size, node, &sum);

    free(order);
    free(nodes);
    return sample_print_count(&sample, sum);
}
