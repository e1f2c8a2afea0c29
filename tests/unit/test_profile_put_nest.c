/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nests are a faster way to say the same: a builder that is given nests writes the profile that it
 * writes for their accesses one by one. Random nests: loops in loops of up to four levels, of one
 * loop of the program or several, some with counts that depend on iterations around, in areas that
 * touch, with strides that cross from one bin to another; nests that come again, and runs and
 * accesses between them. And regions that grow.
 */
#include "tests/unit/test_profile_support.h"
#include "tests/unit/test_affine_support.h"

enum { LOOPS = 4, REFS = 16, MADE = 6 };

/* Loop 3 is the remainder of loop 2. */
static struct psnap_program *make_loops(void)
{
    static const char *const ids[LOOPS] = {"f:1", "f:2", "f:3.vector", "f:3.rest"};
    static const char *const sources[LOOPS] = {"f:1", "f:2", "f:3", "f:3"};

    return make_striped(ids, sources, LOOPS, REFS);
}

static void take(const struct psnap_access *access, void *to)
{
    assert_int_equal(psnap_sink_put(to, access, 1, NULL), PSNAP_OK);
}

static void put_both(const struct builders *both, const struct psnap_nest *nest)
{
    uint64_t iteration[PSNAP_NEST_LEVELS];

    assert_int_equal(psnap_sink_put_nest(both->whole, nest, NULL), PSNAP_OK);
    for_each_access(nest, 0, 0, iteration, take, both->singly);
}

/* A run of what the nests begin with. */
static void put_run(const struct builders *both, const struct random_nest *made, uint64_t count)
{
    const int64_t stride = 8;
    const struct psnap_run run = {
        .first = made->first, .strides = &stride, .width = 1, .count = count};

    assert_int_equal(psnap_sink_put_run(both->whole, &run, NULL), PSNAP_OK);
    assert_int_equal(psnap_sink_put_repetitions(both->singly, &run, 0, count, NULL), PSNAP_OK);
}

/* A nest of no more than `most` accesses, whose outermost loop may be longer than the others. */
static struct psnap_nest make_nest(struct random_nest *made, struct psnap_rng *rng, unsigned levels,
                                   uint64_t count, uint64_t outermost, uint64_t most)
{
    struct psnap_nest nest;

    do {
        nest = make_affine(made, rng, levels, count);
        if (outermost)
            made->made[0].count = 1 + (int64_t)psnap_rng_below(rng, outermost);
    } while (psnap_nest_accesses(&nest) > most);
    return nest;
}

static void put_random_nests(const struct psnap_builder_options *options, uint64_t seeds)
{
    for (uint64_t seed = 0; seed < seeds; seed++) {
        struct random_nest made[MADE];
        struct psnap_nest nests[MADE];
        struct psnap_rng rng;
        const struct builders both = new_builders(make_loops(), options);

        psnap_rng_init(&rng, seed);
        for (unsigned i = 0; i < MADE; i++) {
            made[i] = (struct random_nest){.refs = REFS,
                                           .loops = LOOPS,
                                           .areas = seed % 5 ? 3 : 40, /* near, or anywhere */
                                           .base = 0x100000,
                                           .is_uneven = i % 3 == 0};
            nests[i] =
                make_nest(&made[i], &rng, 2 + (unsigned)(seed % 3), seed % 2 ? 12 : 40, 0, 20000);
        }
        for (unsigned i = 0; i < 40; i++) {
            const unsigned which = (unsigned)psnap_rng_below(&rng, MADE);
            put_both(&both, &nests[which]);
            if (psnap_rng_below(&rng, 3) == 0)
                put_run(&both, &made[0], 1);
            if (psnap_rng_below(&rng, 3) == 0)
                put_run(&both, &made[1], 1 + psnap_rng_below(&rng, 60));
            if (psnap_rng_below(&rng, 3) == 0) /* elsewhere the next time */
                for (uint32_t k = 0; k < made[which].width; k++)
                    made[which].first[k].address += 8 * psnap_rng_below(&rng, 20);
        }
        assert_same_profile(&both, (unsigned)seed, NULL, NULL);
    }
}

TEST(nests_equal_their_accesses)
{
    put_random_nests(NULL, 60);
}

TEST(nests_equal_their_accesses_in_nests)
{
    put_random_nests(&(const struct psnap_builder_options){.nests = true}, 40);
}

/* The same nests in turn, each further by as much every time, so that all is nests of nests. */
TEST(regular_nests_equal_their_accesses_in_nests)
{
    const struct psnap_builder_options options = {.nests = true};

    for (uint64_t seed = 0; seed < 150; seed++) {
        struct random_nest made[MADE];
        struct psnap_nest nests[MADE];
        struct psnap_rng rng;
        const struct builders both = new_builders(make_loops(), &options);
        const unsigned count = 1 + (unsigned)(seed % MADE);

        psnap_rng_init(&rng, 1000 + seed);
        for (unsigned i = 0; i < count; i++) {
            made[i] = (struct random_nest){.refs = REFS,
                                           .loops = LOOPS,
                                           .areas = 3,
                                           .base = 0x100000,
                                           .is_uneven = seed % 3 == 0};
            nests[i] = make_nest(&made[i], &rng, 2 + (unsigned)(seed % 3), 9, 40, 5000);
        }
        for (unsigned i = 0; i < 30; i++) {
            struct random_nest *which = &made[i % count];
            put_both(&both, &nests[i % count]);
            for (uint32_t k = 0; k < which->width; k++)
                which->first[k].address += 64 * (seed % 4);
        }
        assert_same_profile(&both, (unsigned)seed, NULL, NULL);
    }
}

/* What is new to a region: near where it ends, or beyond the gap. */
TEST(regions_grow_as_by_accesses)
{
    static const int64_t outer[] = {64, 128, 256, 264, 376, 384, 400, 4096};

    for (unsigned i = 0; i < COUNT(outer); i++) {
        const struct psnap_access first = {.address = 0x10000, .ref = 0, .size = 8};
        const int64_t warm[PSNAP_NEST_LEVELS] = {0, 8};
        const int64_t strides[PSNAP_NEST_LEVELS] = {outer[i], 8};
        const struct psnap_nest_loop loops[] = {{.count = 100, .inside = 1, .width = 1},
                                                {.count = 17, .width = 1}};
        struct psnap_nest nest = {
            .loops = loops, .first = &first, .loop_count = 2, .levels = PSNAP_NEST_LEVELS};
        const struct builders both = new_builders(make_loops(), NULL);

        nest.strides = warm;
        put_both(&both, &nest);
        nest.strides = strides;
        put_both(&both, &nest);
        assert_same_profile(&both, i, NULL, NULL);
    }
}
