/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What must hold after regions were merged: no more than the limit, apart from one another,
 * nothing lost, and one that reads again.
 */
#include "tests/unit/test_profile_support.h"

/* After merging: bounded, disjoint, nothing lost, and strides a path through the accesses. */
static void assert_sound(const struct psnap_profile_loop *loop, uint64_t accesses, uint32_t limit)
{
    uint64_t sum = 0;

    assert_true(loop->region_count <= limit);
    for (uint32_t i = 0; i < loop->region_count; i++) {
        const struct psnap_profile_region *region = &loop->regions[i];
        uint64_t strides = 0;
        unsigned first, last;
        for (unsigned s = 0; s < region->stride_count; s++)
            strides += region->strides[s].count;
        assert_int_equal(strides, region->accesses - 1);
        assert_true(strides == 0 || psnap_region_ends(region, &first, &last));
        assert_int_equal(region->kinds[0] + region->kinds[1] + region->kinds[2], region->accesses);
        for (uint32_t j = 0; j < i; j++) {
            /* by address ranges; the last access may reach into a neighbour by its size */
            const struct psnap_profile_region *other = &loop->regions[j];
            assert_true(region->low + region->bytes <= other->low + PSNAP_ACCESS_SIZE_MAX ||
                        other->low + other->bytes <= region->low + PSNAP_ACCESS_SIZE_MAX);
        }
        sum += region->accesses;
    }
    assert_int_equal(sum, accesses);
    assert_int_equal(loop->accesses, accesses);
}

TEST(test_gather_becomes_one_region)
{
    enum { N = 60000 };
    struct psnap_program *program = make_program(1, 3);
    struct psnap_access *accesses = calloc(N, sizeof *accesses);
    struct psnap_profile *profile;
    struct psnap_rng rng;

    psnap_rng_init(&rng, 2);
    for (uint64_t i = 0; i < N; i += 3) { /* y[i] += x[col[i]], x of 256 MiB */
        accesses[i] = (struct psnap_access){HEAP + i / 3 * 4, 0, 4, PSNAP_LOAD, 0};
        accesses[i + 1] = (struct psnap_access){2 * HEAP + 8 * psnap_rng_below(&rng, 1 << 25), 1, 8,
                                                PSNAP_LOAD, 0};
        accesses[i + 2] = (struct psnap_access){HEAP + (1 << 20) + i / 3 * 8, 2, 8, PSNAP_STORE, 0};
    }
    profile = build(program, accesses, N, NULL);
    assert_sound(&profile->loops[0], N, PSNAP_REGION_LIMIT_DEFAULT);
    assert_true(profile->loops[0].region_count < 8);
    psnap_profile_free(profile);
    psnap_program_free(program);
    free(accesses);
}

/* Two halves of an array that are walked in turn, some accesses of each: one region if the hole
 * between them is small beside both. */
TEST(test_neighbours_walked_in_turn)
{
    enum { HALF = 40000, STAY = 30, TURNS = 6000, N = TURNS * STAY };
    static const struct {
        uint64_t hole_bytes;
        uint32_t regions;
    } cases[] = {{2000, 1}, {20000, 2}};
    struct psnap_access *accesses = calloc(N, sizeof *accesses);

    for (unsigned c = 0; c < 2; c++) {
        struct psnap_program *program = make_program(1, 1);
        struct psnap_profile *profile;
        for (uint64_t i = 0; i < N; i++) {
            const uint64_t turn = i / STAY, half = turn % 2;
            const uint64_t within = (turn / 2 * STAY + i % STAY) * 8 % HALF;
            accesses[i] = (struct psnap_access){HEAP + half * (HALF + cases[c].hole_bytes) + within,
                                                0, 8, PSNAP_LOAD, 0};
        }
        profile = build(program, accesses, N, NULL);
        assert_sound(&profile->loops[0], N, PSNAP_REGION_LIMIT_DEFAULT);
        assert_int_equal(profile->loops[0].region_count, cases[c].regions);
        psnap_profile_free(profile);
        psnap_program_free(program);
    }
    free(accesses);
}

TEST(test_merging_random_streams)
{
    enum { N = 100000, REFS = 8 };
    struct psnap_access *accesses = calloc(N, sizeof *accesses);
    struct psnap_rng rng;

    psnap_rng_init(&rng, 3);
    for (unsigned round = 0; round < 12; round++) {
        struct psnap_program *program = make_program(1, REFS);
        struct psnap_builder_options options = {.region_limit = 2u << (round % 8)};
        struct psnap_profile *profile;
        random_stream(&rng, accesses, N, REFS, UINT64_C(1) << (12 + round * 2));
        profile = build(program, accesses, N, &options);
        assert_sound(&profile->loops[0], N, options.region_limit);
        psnap_profile_free(profile);
        psnap_program_free(program);
    }
    free(accesses);
}

/* So many loops and regions that not all can be had: the profile is one that is read again, and
 * nothing is missing from it. */
TEST(test_many_loops)
{
    enum { LOOPS = 4000, REGIONS = 30 };
    struct psnap_program *program = make_program(LOOPS, 1);
    struct psnap_access *accesses = calloc(LOOPS * REGIONS, sizeof *accesses);
    struct psnap_profile *profile, *again;
    char *text;
    size_t regions = 0;
    uint64_t sum = 0;

    for (uint32_t i = 0; i < LOOPS * REGIONS; i++)
        accesses[i] =
            (struct psnap_access){.address = HEAP + UINT64_C(65536) * (i / LOOPS * 7 % REGIONS),
                                  .ref = i % LOOPS,
                                  .size = 8};
    profile = build(program, accesses, LOOPS * REGIONS, NULL);
    text = write_text(profile);
    again = read_text(text);
    assert_int_equal(again->loop_count, LOOPS);
    for (uint32_t l = 0; l < LOOPS; l++) {
        const struct psnap_profile_loop *loop = &again->loops[l];
        uint64_t low = UINT64_MAX, high = 0;
        assert_true(loop->region_count > 0);
        regions += loop->region_count;
        for (uint32_t r = 0; r < loop->region_count; r++) {
            const struct psnap_profile_region *region = &loop->regions[r];
            sum += region->accesses;
            low = region->low < low ? region->low : low;
            high = region->low + region->bytes > high ? region->low + region->bytes : high;
        }
        assert_int_equal(low, HEAP);
        assert_int_equal(high, HEAP + UINT64_C(65536) * (REGIONS - 1) + 8);
    }
    assert_int_equal(sum, LOOPS * REGIONS);
    assert_in_range(regions, 16000, 16384 + LOOPS);
    psnap_profile_free(profile);
    psnap_profile_free(again);
    psnap_program_free(program);
    free(accesses);
    free(text);
}
