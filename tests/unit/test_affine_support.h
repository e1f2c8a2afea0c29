/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random nests, and their accesses one by one as loops in loops make them. Include behind
 * cmocka.h.
 */
#ifndef PSNAP_TEST_AFFINE_SUPPORT_H
#define PSNAP_TEST_AFFINE_SUPPORT_H

#include "formats/base/rng.h"
#include "tests/unit/test.h"
#include "formats/base/stream.h"

enum { NEST_LOOPS = 24, NEST_WIDTH = 48 };

struct random_nest {
    uint32_t loop_count, width;
    struct psnap_nest_loop made[NEST_LOOPS];
    struct psnap_access first[NEST_WIDTH];
    int64_t strides[NEST_WIDTH * PSNAP_NEST_LEVELS];
    /* What they are made of: references r, of loop r % loops; `areas` that touch. */
    uint32_t refs, loops, areas;
    uint64_t base;
    bool is_uneven; /* some counts depend on the iterations of loops around */
};

static inline int64_t random_stride(struct psnap_rng *rng)
{
    static const int64_t choices[] = {0,   0,   0,   8,    8,    16, 24, 64,
                                      128, 256, 264, 1024, 4096, -8, -64};

    return choices[psnap_rng_below(rng, sizeof choices / sizeof *choices)];
}

/* Another loop, not of nothing in its first execution. */
static inline struct psnap_nest_loop *add_loop(struct random_nest *made, struct psnap_rng *rng,
                                               unsigned depth, uint64_t most)
{
    struct psnap_nest_loop *loop = &made->made[made->loop_count++];

    *loop = (struct psnap_nest_loop){.count = 1 + (int64_t)psnap_rng_below(rng, most),
                                     .begin = (uint16_t)made->width};
    for (unsigned l = 0; l < depth && made->is_uneven; l++)
        if (psnap_rng_below(rng, 4) == 0)
            loop->count_steps[l] = (int64_t)psnap_rng_below(rng, 4) - 2;
    return loop;
}

/* A run of one loop. */
static inline void add_random_run(struct random_nest *made, struct psnap_rng *rng, unsigned depth,
                                  uint64_t most)
{
    const uint32_t loop = (uint32_t)psnap_rng_below(rng, made->loops);
    const uint32_t left = NEST_WIDTH - made->width, own = made->refs / made->loops;
    const uint32_t width = 1 + (uint32_t)psnap_rng_below(rng, own < left ? own : left);
    const int64_t common = random_stride(rng);
    const bool is_even = psnap_rng_below(rng, 2);

    add_loop(made, rng, depth, most)->width = (uint16_t)width;
    for (uint32_t k = 0; k < width; k++, made->width++) {
        int64_t *strides = &made->strides[(size_t)made->width * PSNAP_NEST_LEVELS];
        made->first[made->width] = (struct psnap_access){
            .address = made->base + psnap_rng_below(rng, made->areas) * 0x1000 +
                       8 * psnap_rng_below(rng, 400),
            .ref = loop + k * made->loops,
            .size = (uint8_t)(psnap_rng_below(rng, 3) ? 8 : 1 + psnap_rng_below(rng, 16)),
            .kind = (uint8_t)(k % 2)};
        for (unsigned l = 0; l < PSNAP_NEST_LEVELS; l++)
            strides[l] = l > depth ? 0 : is_even && l == depth ? common : random_stride(rng);
    }
}

static inline void add_random_loop(struct random_nest *made, struct psnap_rng *rng, unsigned depth,
                                   unsigned levels, uint64_t most)
{
    struct psnap_nest_loop *loop = add_loop(made, rng, depth, most);
    const uint32_t at = made->loop_count - 1;

    do {
        if (depth + 2 < levels && psnap_rng_below(rng, 3) == 0 && made->loop_count + 2 < NEST_LOOPS)
            add_random_loop(made, rng, depth + 1, levels, most);
        else
            add_random_run(made, rng, depth + 1, most);
    } while (psnap_rng_below(rng, 3) && made->loop_count + 4 < NEST_LOOPS &&
             made->width + 4 < NEST_WIDTH);
    loop->inside = made->loop_count - 1 - at;
    loop->width = (uint16_t)(made->width - loop->begin);
}

/* A nest of so many levels at most, with counts of at most `most`. */
static inline struct psnap_nest make_affine(struct random_nest *made, struct psnap_rng *rng,
                                            unsigned levels, uint64_t most)
{
    made->loop_count = made->width = 0;
    add_random_loop(made, rng, 0, levels, most);
    return (struct psnap_nest){.loops = made->made,
                               .first = made->first,
                               .strides = made->strides,
                               .loop_count = made->loop_count,
                               .levels = PSNAP_NEST_LEVELS};
}

/* Each access of a loop of the nest, in order; `iteration`: of PSNAP_NEST_LEVELS. */
static inline void for_each_access(const struct psnap_nest *nest, uint32_t at, unsigned depth,
                                   uint64_t *iteration,
                                   void (*take)(const struct psnap_access *, void *), void *to)
{
    const struct psnap_nest_loop *loop = &nest->loops[at];
    int64_t count = loop->count;

    if (depth >= PSNAP_NEST_LEVELS) {
        fail();
        return;
    }
    for (unsigned l = 0; l < depth; l++)
        count += (int64_t)iteration[l] * loop->count_steps[l];
    for (iteration[depth] = 0; (int64_t)iteration[depth] < count; iteration[depth]++) {
        for (uint32_t i = at + 1; i <= at + loop->inside; i += 1 + nest->loops[i].inside)
            for_each_access(nest, i, depth + 1, iteration, take, to);
        for (uint32_t a = loop->begin; !loop->inside && a < (uint32_t)loop->begin + loop->width;
             a++) {
            struct psnap_access access = nest->first[a];
            for (unsigned l = 0; l <= depth; l++)
                access.address +=
                    iteration[l] * (uint64_t)nest->strides[(size_t)a * nest->levels + l];
            take(&access, to);
        }
    }
}

#endif
