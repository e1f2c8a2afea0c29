/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random rounds, and their accesses one by one as loops in loops make them. Include behind
 * cmocka.h.
 */
#ifndef PSNAP_TEST_ROUNDS_SUPPORT_H
#define PSNAP_TEST_ROUNDS_SUPPORT_H

#include "formats/base/rng.h"
#include "formats/base/stream.h"

enum { ROUNDS_NODES = 24, ROUNDS_WIDTH = 48 };

struct random_rounds {
    uint32_t node_count, width;
    struct psnap_round nodes[ROUNDS_NODES];
    struct psnap_access first[ROUNDS_WIDTH];
    int64_t strides[ROUNDS_WIDTH * PSNAP_ROUNDS_LEVELS];
    /* What they are made of: references r, of loop r % loops; `areas` that touch. */
    uint32_t refs, loops, areas;
    uint64_t base;
};

static inline int64_t random_stride(struct psnap_rng *rng)
{
    static const int64_t choices[] = {0,   0,   0,   8,    8,    16, 24, 64,
                                      128, 256, 264, 1024, 4096, -8, -64};

    return choices[psnap_rng_below(rng, sizeof choices / sizeof *choices)];
}

/* A run of one loop. */
static inline void add_random_run(struct random_rounds *made, struct psnap_rng *rng, unsigned depth,
                                  uint64_t most)
{
    const uint32_t loop = (uint32_t)psnap_rng_below(rng, made->loops);
    const uint32_t left = ROUNDS_WIDTH - made->width, own = made->refs / made->loops;
    const uint32_t width = 1 + (uint32_t)psnap_rng_below(rng, own < left ? own : left);
    const int64_t common = random_stride(rng);
    const bool is_even = psnap_rng_below(rng, 2);

    made->nodes[made->node_count++] = (struct psnap_round){1 + psnap_rng_below(rng, most), 0,
                                                           (uint16_t)made->width, (uint16_t)width};
    for (uint32_t k = 0; k < width; k++, made->width++) {
        int64_t *strides = &made->strides[(size_t)made->width * PSNAP_ROUNDS_LEVELS];
        made->first[made->width] = (struct psnap_access){
            .address = made->base + psnap_rng_below(rng, made->areas) * 0x1000 +
                       8 * psnap_rng_below(rng, 400),
            .ref = loop + k * made->loops,
            .size = (uint8_t)(psnap_rng_below(rng, 3) ? 8 : 1 + psnap_rng_below(rng, 16)),
            .kind = (uint8_t)(k % 2)};
        for (unsigned l = 0; l < PSNAP_ROUNDS_LEVELS; l++)
            strides[l] = l > depth ? 0 : is_even && l == depth ? common : random_stride(rng);
    }
}

static inline void add_random_loop(struct random_rounds *made, struct psnap_rng *rng,
                                   unsigned depth, unsigned levels, uint64_t most)
{
    struct psnap_round *node = &made->nodes[made->node_count++];
    const uint32_t at = made->node_count - 1;

    *node = (struct psnap_round){1 + psnap_rng_below(rng, most), 0, (uint16_t)made->width, 0};
    do {
        if (depth + 2 < levels && psnap_rng_below(rng, 3) == 0 &&
            made->node_count + 2 < ROUNDS_NODES)
            add_random_loop(made, rng, depth + 1, levels, most);
        else
            add_random_run(made, rng, depth + 1, most);
    } while (psnap_rng_below(rng, 3) && made->node_count + 4 < ROUNDS_NODES &&
             made->width + 4 < ROUNDS_WIDTH);
    node->span = made->node_count - 1 - at;
    node->width = (uint16_t)(made->width - node->begin);
}

/* Rounds of so many levels at most, with counts of at most `most`. */
static inline struct psnap_rounds make_rounds(struct random_rounds *made, struct psnap_rng *rng,
                                              unsigned levels, uint64_t most)
{
    made->node_count = made->width = 0;
    add_random_loop(made, rng, 0, levels, most);
    return (struct psnap_rounds){made->nodes, made->first, made->strides, made->node_count};
}

/* Each access of the rounds of a node, in order. */
static inline void for_each_access(const struct psnap_rounds *rounds, uint32_t at, unsigned depth,
                                   uint64_t *round,
                                   void (*take)(const struct psnap_access *, void *), void *to)
{
    const struct psnap_round *node = &rounds->nodes[at];

    if (depth >= PSNAP_ROUNDS_LEVELS) {
        fail();
        return;
    }
    for (round[depth] = 0; round[depth] < node->count; round[depth]++) {
        for (uint32_t i = at + 1; i <= at + node->span; i += 1 + rounds->nodes[i].span)
            for_each_access(rounds, i, depth + 1, round, take, to);
        for (uint32_t a = node->begin; !node->span && a < (uint32_t)node->begin + node->width;
             a++) {
            struct psnap_access access = rounds->first[a];
            for (unsigned l = 0; l <= depth; l++)
                access.address +=
                    round[l] * (uint64_t)rounds->strides[(size_t)a * PSNAP_ROUNDS_LEVELS + l];
            take(&access, to);
        }
    }
}

#endif
