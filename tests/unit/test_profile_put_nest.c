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
    struct psnap_error error = {0};

    assert_int_equal(psnap_sink_put(to, access, 1, &error), PSNAP_OK);
}

static void put_both(struct psnap_sink *by_nest, struct psnap_sink *by_access,
                     const struct psnap_nest *nest)
{
    struct psnap_error error = {0};
    uint64_t iteration[PSNAP_NEST_LEVELS];

    assert_int_equal(psnap_sink_put_nest(by_nest, nest, &error), PSNAP_OK);
    for_each_access(nest, 0, 0, iteration, take, by_access);
}

/* A run of what the nests begin with. */
static void put_run(struct psnap_sink *by_nest, struct psnap_sink *by_access,
                    const struct random_nest *made, uint64_t count)
{
    const int64_t stride = 8;
    const struct psnap_run run = {
        .first = made->first, .strides = &stride, .width = 1, .count = count};
    struct psnap_error error = {0};
    struct psnap_access access = run.first[0];

    assert_int_equal(psnap_sink_put_run(by_nest, &run, &error), PSNAP_OK);
    for (uint64_t i = 0; i < count; i++, access.address += (uint64_t)stride)
        take(&access, by_access);
}

static void put_random_nests(const struct psnap_builder_options *options, uint64_t seeds)
{
    for (uint64_t seed = 0; seed < seeds; seed++) {
        struct random_nest made[MADE];
        struct psnap_nest nests[MADE];
        struct psnap_rng rng;
        struct psnap_error error = {0};
        struct psnap_program *program = make_loops();
        struct psnap_sink *by_nest = psnap_profile_builder_new(program, options, &error);
        struct psnap_sink *by_access = psnap_profile_builder_new(program, options, &error);

        psnap_rng_init(&rng, seed);
        for (unsigned i = 0; i < MADE; i++) {
            made[i] = (struct random_nest){.refs = REFS,
                                           .loops = LOOPS,
                                           .areas = seed % 5 ? 3 : 40, /* near, or anywhere */
                                           .base = 0x100000,
                                           .is_uneven = i % 3 == 0};
            nests[i] = make_affine(&made[i], &rng, 2 + (unsigned)(seed % 3), seed % 2 ? 12 : 40);
            if (psnap_nest_accesses(&nests[i]) > 20000)
                i--; /* another one */
        }
        for (unsigned i = 0; i < 40; i++) {
            const unsigned which = (unsigned)psnap_rng_below(&rng, MADE);
            put_both(by_nest, by_access, &nests[which]);
            if (psnap_rng_below(&rng, 3) == 0) {
                take(&made[0].first[0], by_nest);
                take(&made[0].first[0], by_access);
            }
            if (psnap_rng_below(&rng, 3) == 0)
                put_run(by_nest, by_access, &made[1], 1 + psnap_rng_below(&rng, 60));
            if (psnap_rng_below(&rng, 3) == 0) /* elsewhere the next time */
                for (uint32_t k = 0; k < made[which].width; k++)
                    made[which].first[k].address += 8 * psnap_rng_below(&rng, 20);
        }
        assert_same_profile(by_nest, by_access, (unsigned)seed);
        psnap_program_free(program);
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
        struct psnap_error error = {0};
        struct psnap_program *program = make_loops();
        struct psnap_sink *by_nest = psnap_profile_builder_new(program, &options, &error);
        struct psnap_sink *by_access = psnap_profile_builder_new(program, &options, &error);
        const unsigned count = 1 + (unsigned)(seed % MADE);

        psnap_rng_init(&rng, 1000 + seed);
        for (unsigned i = 0; i < count; i++) {
            made[i] = (struct random_nest){.refs = REFS,
                                           .loops = LOOPS,
                                           .areas = 3,
                                           .base = 0x100000,
                                           .is_uneven = seed % 3 == 0};
            nests[i] = make_affine(&made[i], &rng, 2 + (unsigned)(seed % 3), 9);
            made[i].made[0].count = 1 + (int64_t)psnap_rng_below(&rng, 40);
            if (psnap_nest_accesses(&nests[i]) > 5000)
                i--; /* another one */
        }
        for (unsigned i = 0; i < 30; i++) {
            struct random_nest *which = &made[i % count];
            put_both(by_nest, by_access, &nests[i % count]);
            for (uint32_t k = 0; k < which->width; k++)
                which->first[k].address += 64 * (seed % 4);
        }
        assert_same_profile(by_nest, by_access, (unsigned)seed);
        psnap_program_free(program);
    }
}

/* What is new to a region: near where it ends, or beyond the gap. */
TEST(regions_grow_as_by_accesses)
{
    static const int64_t outer[] = {64, 128, 256, 264, 376, 384, 400, 4096};

    for (unsigned i = 0; i < sizeof outer / sizeof *outer; i++) {
        const struct psnap_access first = {.address = 0x10000, .ref = 0, .size = 8};
        const int64_t warm[PSNAP_NEST_LEVELS] = {0, 8};
        const int64_t strides[PSNAP_NEST_LEVELS] = {outer[i], 8};
        const struct psnap_nest_loop loops[] = {{.count = 100, .inside = 1, .width = 1},
                                                {.count = 17, .width = 1}};
        struct psnap_nest nest = {
            .loops = loops, .first = &first, .loop_count = 2, .levels = PSNAP_NEST_LEVELS};
        struct psnap_error error = {0};
        struct psnap_program *program = make_loops();
        struct psnap_sink *by_nest = psnap_profile_builder_new(program, NULL, &error);
        struct psnap_sink *by_access = psnap_profile_builder_new(program, NULL, &error);
        nest.strides = warm;
        put_both(by_nest, by_access, &nest);
        nest.strides = strides;
        put_both(by_nest, by_access, &nest);
        assert_same_profile(by_nest, by_access, i);
        psnap_program_free(program);
    }
}
