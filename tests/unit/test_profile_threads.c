/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Profiles of several threads: the same, to the byte, in whatever pieces and in
 * whatever order the threads' accesses come, and one that reads (so counts add
 * up and graphs are paths), merged and apart; hand-worked cases; threads by the
 * thousand. What is particular to threads apart is in test_profile_apart.c.
 */
#include <malloc.h>

#include "tests/unit/test_profile_support.h"

enum { LOOPS = 4, REFS = 3, THREADS = 5, EACH = 4000 };

static struct psnap_access access_of(uint32_t loop, uint32_t i, uint64_t address, uint16_t thread)
{
    return (struct psnap_access){.address = address,
                                 .ref = loop * REFS + i,
                                 .size = 8,
                                 .kind = (uint8_t)(i % 2),
                                 .thread = thread};
}

/* The profile of what was put, which reads again; its text is the caller's. */
static char *end(struct psnap_sink *builder, struct psnap_profile **profile)
{
    char *text;

    *profile = end_profile(builder);
    text = write_text(*profile);
    psnap_profile_free(*profile);
    *profile = read_text(text);
    return text;
}

/* The two texts are one; frees both. */
static void check_same(char *a, char *b)
{
    const char *p = a, *q = b;

    while (*p && *p == *q)
        p++, q++;
    while (p > a && p[-1] != '\n') /* where the lines that differ begin */
        p--, q--;
    if (*p)
        fail_msg("another order makes another profile:\n%.*s\n---\n%.*s", 400, p, 400, q);
    free(a);
    free(b);
}

/* A thread's accesses: walks in arrays that all share, in a part of one, and far from all. */
static void make_thread(struct psnap_access *accesses, uint16_t thread, uint64_t seed)
{
    struct psnap_rng rng;
    uint32_t n = 0;

    psnap_rng_init(&rng, 100 * seed + thread);
    while (n < EACH) {
        const uint32_t loop = (uint32_t)psnap_rng_below(&rng, LOOPS);
        const uint32_t first = (uint32_t)psnap_rng_below(&rng, REFS);
        const uint64_t areas[] = {HEAP, HEAP + 40000 + 4000 * (uint64_t)thread,
                                  HEAP + ((uint64_t)(thread + 1) << 24)};
        uint64_t at = areas[first] + 8 * psnap_rng_below(&rng, 200);
        if (loop == 3 && thread < 2)
            continue; /* a loop that the first threads do not come to */
        for (uint64_t length = 1 + psnap_rng_below(&rng, 60); length-- && n < EACH; at += 8)
            accesses[n++] = access_of(loop, first, at, thread);
    }
}

static char *build_shuffled(struct psnap_access (*threads)[EACH], uint64_t seed, bool is_apart)
{
    const struct psnap_builder_options options = {.is_apart = is_apart};
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct psnap_sink *builder = psnap_profile_builder_new(program, &options, NULL);
    struct psnap_profile *profile;
    struct psnap_rng rng;
    uint32_t done[THREADS] = {0}, left = THREADS;
    char *text;

    assert_non_null(builder);
    psnap_rng_init(&rng, seed);
    while (left) {
        struct psnap_access block[300];
        uint32_t n = 0;
        for (uint64_t pieces = 1 + psnap_rng_below(&rng, 4); pieces--;) { /* of several threads */
            const uint32_t t = (uint32_t)psnap_rng_below(&rng, THREADS);
            uint64_t length = 1 + psnap_rng_below(&rng, 70);
            if (done[t] == EACH)
                continue;
            for (; length-- && done[t] < EACH; n++)
                block[n] = threads[t][done[t]++];
            left -= done[t] == EACH;
        }
        assert_int_equal(psnap_sink_put(builder, block, n, NULL), PSNAP_OK);
    }
    text = end(builder, &profile);
    psnap_profile_free(profile);
    psnap_program_free(program);
    return text;
}

static void order_of_threads_plays_no_part(void **state)
{
    static struct psnap_access threads[THREADS][EACH];

    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++) {
        for (uint16_t t = 0; t < THREADS; t++)
            make_thread(threads[t], t, seed);
        for (uint64_t order = 1001; order < 1005; order++) {
            check_same(build_shuffled(threads, 1000, false), build_shuffled(threads, order, false));
            check_same(build_shuffled(threads, 1000, true), build_shuffled(threads, order, true));
        }
    }
}

static uint64_t stride_count(const struct psnap_profile_region *region, int64_t stride)
{
    for (unsigned i = 0; i < region->stride_count; i++)
        if (region->strides[i].bin == psnap_stride_bin(stride))
            return region->strides[i].count;
    return 0;
}

/* Three threads, a third of an array each, and a counter: walks go on where others have ended. */
static void parts_of_an_array(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct psnap_sink *builder = psnap_profile_builder_new(program, NULL, NULL);
    const uint16_t order[3] = {2, 0, 1};
    struct psnap_profile *profile;
    char *text;

    (void)state;
    assert_non_null(builder);
    for (uint32_t i = 0; i < 100; i++)
        for (unsigned t = 0; t < 3; t++) {
            const struct psnap_access both[2] = {
                access_of(0, 0, HEAP + 8 * (100u * order[t] + i), order[t]),
                access_of(0, 1, HEAP + (1 << 20), order[t])};
            assert_int_equal(psnap_sink_put(builder, both, 2, NULL), PSNAP_OK);
        }
    text = end(builder, &profile);
    assert_int_equal(profile->loop_count, 1);
    assert_int_equal(profile->loops->region_count, 2);
    for (unsigned r = 0; r < 2; r++) {
        const struct psnap_profile_region *region = &profile->loops->regions[r];
        assert_int_equal(region->accesses, 300);
        assert_int_equal(region->bytes, r ? 8 : 2400);
        assert_int_equal(stride_count(region, 8), r ? 0 : 297);
        assert_int_equal(stride_count(region, 0), r ? 299 : 2);
    }
    free(text);
    psnap_profile_free(profile);
    psnap_program_free(program);
}

/* Each thread visits two loops in turn; the first does something else, so both orders are told. */
static void visits_of_other_threads(void **state)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct psnap_sink *builder = psnap_profile_builder_new(program, NULL, NULL);
    struct psnap_profile *profile;
    char *text;

    (void)state;
    assert_non_null(builder);
    for (uint32_t i = 0; i < 10; i++)
        for (uint16_t t = 0; t < 3; t++) {
            const struct psnap_access both[2] = {access_of(t ? 1 : 0, 0, HEAP, t),
                                                 access_of(t ? 2 : 0, 0, HEAP, t)};
            assert_int_equal(psnap_sink_put(builder, both, 2, NULL), PSNAP_OK);
        }
    text = end(builder, &profile);
    if (!strstr(text, "schedule: ['f:0', {repeat: 10, of: ['f:1', 'f:2']}]"))
        fail_msg("another schedule:\n%s", text);
    free(text);
    psnap_profile_free(profile);
    psnap_program_free(program);
}

/* More threads than are kept apart at a time: counts are exact, and the order plays no part. */
static char *build_many(uint32_t threads, bool is_backwards)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct psnap_sink *builder = psnap_profile_builder_new(program, NULL, NULL);
    struct psnap_profile *profile;
    uint64_t sum = 0;
    char *text;

    assert_non_null(builder);
    for (uint32_t i = 0; i < threads; i++) {
        const uint16_t t = (uint16_t)(is_backwards ? threads - 1 - i : i);
        for (uint32_t k = 0; k < 40; k++) {
            const uint64_t at = HEAP + ((k % 8ull) << 20) + 8 * ((t * 7u + 5) % 32);
            const struct psnap_access access =
                access_of(k % 2, k % REFS, at + (8u << t % 4) * (k / 8), t);
            assert_int_equal(psnap_sink_put(builder, &access, 1, NULL), PSNAP_OK);
        }
    }
    text = end(builder, &profile);
    for (uint32_t l = 0; l < profile->loop_count; l++)
        sum += profile->loops[l].accesses;
    assert_int_equal(sum, 40 * threads);
    psnap_profile_free(profile);
    psnap_program_free(program);
    return text;
}

static void threads_by_the_thousand(void **state)
{
    (void)state;
    check_same(build_many(4000, false), build_many(4000, true));
}

/* Threads that have rested for long are joined while the stream goes on: what all of them take
 * stays bounded (where malloc tells; a sanitizer's does not). */
static void memory_of_many_threads(void **state)
{
    enum { MANY = 30000, MOST = 48 << 20 }; /* 170 MB if all were kept */
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct psnap_sink *builder = psnap_profile_builder_new(program, NULL, NULL);
    const size_t before = mallinfo2().uordblks;
    struct psnap_profile *profile;

    (void)state;
    assert_non_null(builder);
    for (uint32_t t = 0; t < MANY; t++) {
        const struct psnap_access access = access_of(0, 0, HEAP + 8 * (t % 100), (uint16_t)t);
        assert_int_equal(psnap_sink_put(builder, &access, 1, NULL), PSNAP_OK);
    }
    assert_in_range(mallinfo2().uordblks - before, 0, MOST);
    free(end(builder, &profile));
    assert_int_equal(profile->loops->accesses, MANY);
    psnap_profile_free(profile);
    psnap_program_free(program);
}

/* Two threads with nearly as many regions each as a loop may have: joined, for a moment, twice as
 * many. The highest are kept, as they are the busy ones. */
static void most_regions_of_two_threads(void **state)
{
    const struct psnap_builder_options options = {.region_limit = PSNAP_REGION_LIMIT_MAX};
    struct psnap_program *program = make_program(1, 1);
    struct psnap_sink *builder = psnap_profile_builder_new(program, &options, NULL);
    struct psnap_profile *profile;
    uint64_t sum = 0;

    (void)state;
    assert_non_null(builder);
    for (uint32_t i = 0; i < 2 * 4000; i++)
        for (uint32_t times = i < 6000 ? 1 : 100; times--;) {
            const struct psnap_access access =
                access_of(0, 0, HEAP + 4096ull * i, (uint16_t)(i % 2));
            assert_int_equal(psnap_sink_put(builder, &access, 1, NULL), PSNAP_OK);
        }
    free(end(builder, &profile));
    assert_int_equal(profile->loop_count, 1);
    assert_in_range(profile->loops->region_count, 2000, PSNAP_REGION_LIMIT_MAX);
    for (uint32_t r = 0; r < profile->loops->region_count; r++)
        sum += profile->loops->regions[r].accesses;
    assert_int_equal(sum, 6000 + 100 * 2000);
    psnap_profile_free(profile);
    psnap_program_free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(most_regions_of_two_threads),
                                       cmocka_unit_test(order_of_threads_plays_no_part),
                                       cmocka_unit_test(parts_of_an_array),
                                       cmocka_unit_test(memory_of_many_threads),
                                       cmocka_unit_test(visits_of_other_threads),
                                       cmocka_unit_test(threads_by_the_thousand)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
