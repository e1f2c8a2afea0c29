/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locality: streams with several threads or loops, and the distance of two streams.
 */
#include "tests/unit/test_locality_support.h"

#include <math.h>

TEST(threads_are_apart)
{
    enum { N = 3000 };
    struct psnap_program *program = program_with_loops();
    struct psnap_sink *both = sink_of(program, 8), *alone = sink_of(program, 8);
    struct psnap_locality *sums = calloc(2, sizeof *sums);
    struct psnap_rng rng;

    assert_non_null(sums);
    psnap_rng_init(&rng, 8);
    for (size_t i = 0; i < N; i++)
        stream[i] = random_address(&rng, 4, i);
    for (size_t i = 0; i < N; i++) {
        put(both, stream[i], 0, 0);
        put(both, stream[N - 1 - i], 0, 7);
    }
    assert_int_equal(psnap_locality_threads(both), 2);
    psnap_locality_add_total(both, &sums[0]);
    for (size_t i = 0; i < N; i++)
        put(alone, stream[i], 0, 3);
    psnap_locality_add_total(alone, &sums[1]);
    psnap_sink_free(alone);
    alone = sink_of(program, 8);
    for (size_t i = 0; i < N; i++)
        put(alone, stream[N - 1 - i], 0, 0);
    psnap_locality_add_total(alone, &sums[1]);
    assert_same_surface(&sums[0], &sums[1]);
    assert_memory_equal(sums[0].reused, sums[1].reused, sizeof sums[0].reused);
    psnap_sink_free(alone);
    psnap_sink_free(both);
    psnap_program_free(program);
    free(sums);
}

/* What an access finds is its loop's; the loops together are the whole. */
TEST(loops_share_a_stream)
{
    struct psnap_program *program = program_with_loops();
    struct psnap_sink *sink = sink_of(program, 8);
    struct psnap_locality *rows = calloc(7, sizeof *rows);
    struct psnap_rng rng;

    assert_non_null(rows);
    psnap_program_add_ref(program, &(struct psnap_ref){.loop = PSNAP_NONE, .block = PSNAP_NONE});
    psnap_rng_init(&rng, 9);
    put(sink, 1 << 20, 2, 0);       /* loop 1 */
    put(sink, (1 << 20) + 8, 4, 0); /* loop 2 finds it */
    put(sink, (1 << 20) + 8, 8, 0); /* no loop */
    psnap_locality_add_loop(sink, 1, &rows[1]);
    psnap_locality_add_loop(sink, 2, &rows[2]);
    psnap_locality_add_loop(sink, PSNAP_NONE, &rows[4]);
    assert_int_equal(rows[1].accesses, 1);
    assert_true(psnap_locality_spatial(&rows[1]) == 0);
    assert_int_equal(rows[2].surface[MIDDLE + 8][0], 1);
    assert_true(psnap_locality_spatial(&rows[2]) == 1);
    assert_int_equal(rows[4].surface[MIDDLE][0], 1);
    assert_true(psnap_locality_temporal(&rows[4]) == 1);
    memset(rows, 0, 7 * sizeof *rows);
    for (size_t i = 0; i < 300000; i++) /* rows are settled at different times, units change */
        put(sink, i < 100000 ? 8 * psnap_rng_below(&rng, 500) : psnap_rng_below(&rng, 100) * 2,
            (uint32_t)psnap_rng_below(&rng, psnap_rng_below(&rng, 9) + 1), 0);
    for (uint32_t i = 0; i < 4; i++)
        psnap_locality_add_loop(sink, i, &rows[5]);
    psnap_locality_add_loop(sink, PSNAP_NONE, &rows[5]);
    psnap_locality_add_loop(sink, 4, &rows[5]); /* there is none */
    psnap_locality_add_total(sink, &rows[6]);
    assert_int_equal(rows[6].accesses, 300003);
    assert_int_equal(rows[5].accesses, 300003);
    assert_same_surface(&rows[5], &rows[6]);
    assert_memory_equal(rows[5].reused, rows[6].reused, sizeof rows[5].reused);
    psnap_sink_free(sink);
    psnap_program_free(program);
    free(rows);
}

TEST(distances_are_a_metric)
{
    enum { N = 2000, STREAMS = 6 };
    struct psnap_locality *all[STREAMS], none = {0};
    struct psnap_rng rng;

    psnap_rng_init(&rng, 10);
    for (unsigned i = 0; i < STREAMS; i++) {
        for (size_t j = 0; j < N; j++)
            stream[j] = random_address(&rng, 2 * i, j);
        all[i] = measured(stream, N);
    }
    for (int i = 0; i < STREAMS; i++)
        for (int j = 0; j < STREAMS; j++) {
            const double ij = psnap_locality_distance(all[i], all[j]);
            assert_true(i == j ? ij == 0 : ij > 0 && ij <= 1);
            assert_true(ij == psnap_locality_distance(all[j], all[i]));
            for (int k = 0; k < STREAMS; k++)
                assert_true(ij <= psnap_locality_distance(all[i], all[k]) +
                                      psnap_locality_distance(all[k], all[j]) + 1e-12);
        }
    assert_true(isnan(psnap_locality_distance(all[0], &none)));
    assert_true(isnan(psnap_locality_spatial(&none)) && isnan(psnap_locality_temporal(&none)));
    for (int i = 0; i < STREAMS; i++)
        free(all[i]);
}

/* Worked out: upwards and downwards have nothing in common; 2 accesses apart, instead of 1, is 1 of
 * 17 classes; half as often is half. */
TEST(distances_by_hand)
{
    struct psnap_locality *a = calloc(1, sizeof *a), *b = calloc(1, sizeof *b);

    assert_true(a && b);
    a->accesses = b->accesses = 10;
    assert_true(psnap_locality_distance(a, b) == 0);
    a->surface[MIDDLE + 8][0] = 10;
    b->surface[MIDDLE - 8][0] = 10;
    assert_true(psnap_locality_distance(a, b) == 1);
    memset(b->surface, 0, sizeof b->surface);
    b->surface[MIDDLE + 8][1] = 10;
    assert_true(fabs(psnap_locality_distance(a, b) - 1.0 / 17) < 1e-12);
    b->surface[MIDDLE + 8][1] = 0;
    b->surface[MIDDLE + 8][0] = 10;
    b->accesses = 20;
    assert_true(fabs(psnap_locality_distance(a, b) - 0.5) < 1e-12);
    free(a);
    free(b);
}

TEST(what_is_refused)
{
    struct psnap_program *program = program_with_loops();
    const struct psnap_access far = {0, 8, 1, PSNAP_LOAD, 0};
    struct psnap_error error;
    struct psnap_sink *sink;

    assert_null(psnap_locality_new(program, 12, &error));
    assert_int_equal(error.code, PSNAP_ERROR_USAGE);
    assert_null(psnap_locality_new(program, 0, &error));
    assert_null(psnap_locality_new(program, 8192, &error));
    sink = sink_of(program, 4096);
    assert_int_equal(psnap_sink_put(sink, &far, 1, &error), PSNAP_ERROR_VALUE);
    psnap_sink_free(sink);
    psnap_program_free(program);
}
