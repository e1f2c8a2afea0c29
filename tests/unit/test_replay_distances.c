/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replay of model stackdist: the distances of the stream are those of the profile, as are numbers,
 * kinds and sizes of accesses, and it is the same stream however it is read.
 */
#include "tests/unit/test_distances_support.h"

/* How many of a replay's accesses have another distance than its profile says, at least. */
static uint64_t count_strays(const struct psnap_profile *profile, uint64_t seed)
{
    struct psnap_source *source;
    size_t n;
    struct psnap_access *accesses = replay(profile, seed, 333, &n, &source);
    struct histogram *loops = measure(source->program, accesses, n, 1);
    uint64_t strays = 0;

    for (uint32_t l = 0; l < profile->loop_count; l++) {
        const struct psnap_profile_loop *loop = &profile->loops[l];
        struct histogram *has = &loops[l];
        for (uint32_t i = 0; i < loop->region_count; i++) {
            has->counts[0] -= loop->regions[i].new_lines;
            for (uint32_t d = 0; d < loop->regions[i].distance_count; d++)
                has->counts[loop->regions[i].distances[d].lines + 1] -=
                    loop->regions[i].distances[d].count;
        }
        for (uint32_t d = 0; d <= LINES; d++)
            strays += (int64_t)has->counts[d] > 0 ? has->counts[d] : 0;
    }
    free(loops);
    free(accesses);
    psnap_source_free(source);
    return strays;
}

/* Of one loop and region, every access has the distance that the profile says. */
static void test_replay_has_the_distances(void **state)
{
    enum { N = 20000 };
    struct psnap_program *program = make_program(1, 1);
    struct psnap_access *accesses = calloc(N, sizeof *accesses);
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 4);
    for (unsigned round = 0; round < 8; round++) {
        const uint64_t span = UINT64_C(100) << 2 * (round % 4);
        struct psnap_profile *profile;
        uint64_t at = 0;
        for (unsigned i = 0; i < N; i++) {
            at = psnap_rng_below(&rng, round < 4 ? 9 : 2) ? at + 8 : psnap_rng_below(&rng, span);
            at %= span;
            accesses[i] = (struct psnap_access){HEAP + at, 0, 8, PSNAP_LOAD, 0};
        }
        profile = build(program, accesses, N, &wide);
        assert_int_equal(profile->loops[0].region_count, 1);
        assert_int_equal(count_strays(profile, round), 0);
        psnap_profile_free(profile);
    }
    free(accesses);
    psnap_program_free(program);
}

/* Of several, what is put off may come too late: at most a few of the accesses in a hundred. */
static void test_replay_of_loops_is_near(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct psnap_access *accesses = calloc(ACCESSES, sizeof *accesses);
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 5);
    for (unsigned round = 0; round < 8; round++) {
        struct psnap_profile *profile;
        make_stream(&rng, accesses, 1);
        profile = build(program, accesses, ACCESSES, &stackdist);
        assert_true(count_strays(profile, round) < ACCESSES / 50);
        psnap_profile_free(profile);
    }
    free(accesses);
    psnap_program_free(program);
}

/* Whether the line of an address is one of some working set. */
static bool is_inside(const struct psnap_profile *profile, uint64_t address)
{
    for (uint32_t l = 0; l < profile->loop_count; l++)
        for (uint32_t i = 0; i < profile->loops[l].region_count; i++) {
            const struct psnap_profile_region *region = &profile->loops[l].regions[i];
            if (address / 64 >= region->low / 64 &&
                address / 64 <= (region->low + region->bytes - 1) / 64)
                return true;
        }
    return false;
}

/* Accesses by region, kind and size are those of the profile. */
static void assert_exact(const struct psnap_profile *profile, const struct psnap_access *accesses,
                         size_t n)
{
    uint64_t kinds[64] = {0}, sizes[64][65] = {{0}};
    uint32_t ref = 0;

    for (size_t i = 0; i < n; i++) {
        assert_true(accesses[i].ref < 64);
        kinds[accesses[i].ref]++;
        sizes[accesses[i].ref][accesses[i].size]++;
        assert_true(is_inside(profile, accesses[i].address));
        assert_true(accesses[i].address % 64 + accesses[i].size <= 64);
    }
    for (uint32_t l = 0; l < profile->loop_count; l++)
        for (uint32_t i = 0; i < profile->loops[l].region_count; i++) {
            const struct psnap_profile_region *region = &profile->loops[l].regions[i];
            const uint32_t first = ref;
            for (unsigned kind = 0; kind < 3; kind++)
                if (region->kinds[kind])
                    assert_int_equal(kinds[ref++], region->kinds[kind]);
            for (unsigned s = 0; s < region->size_count; s++) {
                uint64_t sum = 0;
                for (uint32_t k = first; k < ref; k++)
                    sum += sizes[k][region->sizes[s].size];
                assert_int_equal(sum, region->sizes[s].count);
            }
        }
}

/* Same seed, same stream, however it is read. Of merged threads, and of each for itself. */
static void test_replay_is_exact_and_the_same(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct psnap_access *accesses = calloc(ACCESSES, sizeof *accesses), *again[3];
    struct psnap_source *sources[3];
    struct psnap_rng rng;
    size_t n;

    (void)state;
    psnap_rng_init(&rng, 6);
    for (unsigned round = 0; round < 4; round++) {
        const struct psnap_builder_options options = {
            .stackdist = true, .is_apart = round % 2, .region_gap_bytes = 65536};
        struct psnap_profile *profile;
        make_stream(&rng, accesses, 3);
        profile = build(program, accesses, ACCESSES, &options);
        again[0] = replay(profile, 7, 512, &n, &sources[0]);
        again[1] = replay(profile, 7, 61, &n, &sources[1]);
        again[2] = replay(profile, 8, 512, &n, &sources[2]);
        assert_memory_equal(again[0], again[1], n * sizeof **again);
        assert_memory_not_equal(again[0], again[2], n * sizeof **again);
        assert_exact(profile, again[0], n);
        for (unsigned i = 0; i < 3; i++) {
            free(again[i]);
            psnap_source_free(sources[i]);
        }
        psnap_profile_free(profile);
    }
    free(accesses);
    psnap_program_free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replay_has_the_distances),
        cmocka_unit_test(test_replay_of_loops_is_near),
        cmocka_unit_test(test_replay_is_exact_and_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
