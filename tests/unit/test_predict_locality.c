/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locality: surfaces and scores of streams worked out by hand, of random ones
 * against their definition taken literally, and what must be so of any stream.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/rng.h"
#include "predict/neighbours.h"
#include "predict/predict.h"
#include "predict/recency.h"
#include "simcore/simcore.h"
#include "tests/unit/test_simcore_support.h"

#define MIDDLE PSNAP_SURFACE_STRIDE_MAX
enum { ACCESSES_MAX = 1 << 18 };

static uint64_t stream[ACCESSES_MAX];

/* Class of a distance, by the definition: above 2^(k-1) and up to 2^k. */
static int class_of(uint64_t distance)
{
    int k = 0;

    while ((UINT64_C(1) << k) < distance)
        k++;
    return k;
}

/* The definition: each access is compared with those after it, until its address recurs. */
static struct psnap_locality *by_definition(const uint64_t *addresses, size_t n, uint64_t reach)
{
    struct psnap_locality *locality = calloc(1, sizeof *locality);

    assert_non_null(locality);
    locality->accesses = n;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n && j - i <= reach; j++) {
            const int64_t stride = (int64_t)(addresses[j] - addresses[i]);
            if (stride >= -MIDDLE && stride <= MIDDLE)
                locality->surface[MIDDLE + stride][class_of(j - i)]++;
            if (!stride)
                break;
        }
    return locality;
}

static struct psnap_sink *sink_of(const struct psnap_program *program, uint64_t word_bytes)
{
    struct psnap_sink *sink = psnap_locality_new(program, word_bytes, NULL);

    assert_non_null(sink);
    return sink;
}

static void put(struct psnap_sink *sink, uint64_t address, uint32_t ref, uint16_t thread)
{
    const struct psnap_access access = {address, ref, 1, PSNAP_LOAD, thread};

    assert_int_equal(psnap_sink_put(sink, &access, 1, NULL), PSNAP_OK);
}

/* What the sink makes of a stream of one thread. */
static struct psnap_locality *measured(const uint64_t *addresses, size_t n)
{
    struct psnap_program *program = program_with_loops();
    struct psnap_sink *sink = sink_of(program, 8);
    struct psnap_locality *locality = calloc(1, sizeof *locality);

    assert_non_null(locality);
    for (size_t i = 0; i < n; i++)
        put(sink, addresses[i], 0, 0);
    psnap_locality_add_total(sink, locality);
    assert_int_equal(locality->accesses, n);
    psnap_sink_free(sink);
    psnap_program_free(program);
    return locality;
}

static void assert_same_surface(const struct psnap_locality *a, const struct psnap_locality *b)
{
    for (int s = 0; s < PSNAP_SURFACE_STRIDES; s++)
        for (int k = 0; k < PSNAP_SURFACE_DISTANCES; k++)
            if (a->surface[s][k] != b->surface[s][k])
                fail_msg("stride %d, class %d: %lu and %lu", s - MIDDLE, k,
                         (unsigned long)a->surface[s][k], (unsigned long)b->surface[s][k]);
}

/* ------------------------------------------------------------------- by hand */

static void four_accesses(void **state)
{
    const uint64_t addresses[] = {0x1000, 0x1008, 0x1000, 0x1010};
    struct psnap_locality *locality = measured(addresses, 4),
                          *expected = calloc(1, sizeof *expected);

    (void)state;
    assert_non_null(expected);
    expected->surface[MIDDLE + 8][0] = 1;  /* 1000 to 1008 */
    expected->surface[MIDDLE][1] = 1;      /* 1000 to itself, and no further */
    expected->surface[MIDDLE - 8][0] = 1;  /* 1008 to 1000 */
    expected->surface[MIDDLE + 8][1] = 1;  /* 1008 to 1010 */
    expected->surface[MIDDLE + 16][0] = 1; /* 1000 to 1010 */
    assert_same_surface(locality, expected);
    assert_true(psnap_locality_share(locality, 8, 0) == 0.25);
    assert_true(psnap_locality_share(locality, 8, 1) == 0.5);
    assert_true(psnap_locality_share(locality, 8, 16) == 0.5);
    /* the second is one word from the first, the third is there already, the fourth is one from
     * the second */
    assert_true(psnap_locality_spatial(locality) == 0.5);
    /* the third has one other word in between, so it is in caches of 2, 4, ... words */
    assert_int_equal(locality->reused[1], 1);
    assert_true(psnap_locality_temporal(locality) == 0.25);
    free(expected);
    free(locality);
}

static void scores_of_walks(void **state)
{
    enum { N = 1000 };
    static const uint64_t strides[] = {1, 2, 4, 8, 24, 4096};
    struct psnap_locality *locality;

    (void)state;
    for (size_t i = 0; i < sizeof strides / sizeof strides[0]; i++) {
        const uint64_t stride = strides[i], per_word = stride < 8 ? 8 / stride : 1;
        for (uint64_t j = 0; j < N; j++)
            stream[j] = (1 << 20) + stride * j;
        locality = measured(stream, N);
        /* all but the first word are a step from the word before, and touched per_word times */
        assert_true(fabs(psnap_locality_spatial(locality) -
                         (double)(N / per_word - 1) / N * (stride > 8 ? 8.0 / (double)stride : 1)) <
                    1e-12);
        assert_true(fabs(psnap_locality_temporal(locality) - (1 - 1.0 / (double)per_word)) < 1e-12);
        free(locality);
    }
    /* the same address again and again */
    memset(stream, 0, N * sizeof *stream);
    locality = measured(stream, N);
    assert_true(psnap_locality_spatial(locality) == 0);
    assert_true(fabs(psnap_locality_temporal(locality) - (double)(N - 1) / N) < 1e-12);
    assert_int_equal(locality->surface[MIDDLE][0], N - 1);
    free(locality);
}

/* A walk long enough for counts to be settled, more than once. */
static void a_long_walk(void **state)
{
    enum { N = 200000 };
    struct psnap_locality *locality;
    uint64_t expected[PSNAP_SURFACE_STRIDES][PSNAP_SURFACE_DISTANCES] = {{0}};

    (void)state;
    for (uint64_t i = 0; i < N; i++)
        stream[i] = (1 << 20) + 4 * i;
    locality = measured(stream, N);
    for (int m = 1; 4 * m <= MIDDLE; m++)
        expected[MIDDLE + 4 * m][class_of((uint64_t)m)] = N - (uint64_t)m;
    assert_memory_equal(locality->surface, expected, sizeof expected);
    free(locality);
}

/* The last distance that counts, and the first that does not. */
static void limits(void **state)
{
    static const struct {
        uint64_t others;
        int64_t stride;
        bool counts;
    } cases[] = {{65535, 256, true}, {65536, 256, false}, {65535, -256, true}, {65535, 0, true},
                 {65536, 0, false},  {65535, 257, false}, {65535, -257, false}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct psnap_locality *locality;
        uint64_t n = 0, sum = 0;

        stream[n++] = 1 << 20;
        for (uint64_t j = 0; j < cases[i].others; j++)
            stream[n++] = (UINT64_C(1) << 40) + 4096 * j;
        stream[n++] = (UINT64_C(1) << 20) + (uint64_t)cases[i].stride;
        locality = measured(stream, n);
        for (int s = 0; s < PSNAP_SURFACE_STRIDES; s++)
            for (int k = 0; k < PSNAP_SURFACE_DISTANCES; k++)
                sum += locality->surface[s][k];
        assert_int_equal(sum, cases[i].counts);
        if (cases[i].counts)
            assert_int_equal(locality->surface[MIDDLE + cases[i].stride][16], 1);
        free(locality);
    }
}

/* ---------------------------------------------------------- against definitions */

/* Addresses of several kinds, by `kind`: dense and sparse, aligned and not, at the ends of the
 * address space, and with repeated walks. */
static uint64_t random_address(struct psnap_rng *rng, unsigned kind, size_t i)
{
    const uint64_t base = kind % 2 ? UINT64_C(0) - 300 * 8 : 1 << 20;

    switch (kind / 2) {
    case 0:
        return base + 8 * psnap_rng_below(rng, 100);
    case 1:
        return base + 4 * psnap_rng_below(rng, 3000);
    case 2:
        return base + psnap_rng_below(rng, 700);
    case 3:
        return base + (i > 1500 ? psnap_rng_below(rng, 1000) : 8 * psnap_rng_below(rng, 500));
    case 4:
        return base + (psnap_rng_below(rng, 20) ? 8 * (i % 400) : 8 * psnap_rng_below(rng, 2000));
    case 5:
        return base + i % 900;
    default:
        return psnap_rng_below(rng, 2) ? base + 2 * psnap_rng_below(rng, 300)
                                       : psnap_rng_next(rng) & ~UINT64_C(1);
    }
}

static void random_streams_by_definition(void **state)
{
    enum { N = 4000, KINDS = 14 };
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 1);
    for (unsigned kind = 0; kind < KINDS; kind++) {
        struct psnap_locality *got, *wanted;
        for (size_t i = 0; i < N; i++)
            stream[i] = random_address(&rng, kind, i);
        got = measured(stream, N);
        wanted = by_definition(stream, N, PSNAP_SURFACE_DISTANCE_MAX);
        assert_same_surface(got, wanted);
        free(got);
        free(wanted);
    }
}

/* The same with a short reach, so that most of the stream falls out of it. */
static void short_reaches_by_definition(void **state)
{
    enum { N = 3000, KINDS = 14 };
    static uint16_t counts[NEIGHBOURS_COUNTS];
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 2);
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (uint32_t reach = 1; reach <= 512; reach *= 8) {
            const unsigned unit = 3;
            struct neighbours *neighbours = neighbours_new(reach, unit);
            struct psnap_locality *wanted, got = {0};
            unsigned now = unit;

            assert_non_null(neighbours);
            memset(counts, 0, sizeof counts);
            for (size_t i = 0; i < N; i++) {
                stream[i] = random_address(&rng, kind, i);
                for (; stream[i] & ((UINT64_C(1) << now) - 1); now--) {
                    for (int n = 0; n < NEIGHBOURS_COUNTS; n++)
                        if (counts[n])
                            got.surface[2 * MIDDLE - (n % NEIGHBOURS_WIDTH << now)]
                                       [n / NEIGHBOURS_WIDTH] += counts[n];
                    memset(counts, 0, sizeof counts);
                    assert_int_equal(neighbours_refine(neighbours, now - 1), PSNAP_OK);
                }
                assert_int_equal(neighbours_access(neighbours, stream[i], counts), PSNAP_OK);
            }
            for (int n = 0; n < NEIGHBOURS_COUNTS; n++)
                if (counts[n])
                    got.surface[2 * MIDDLE - (n % NEIGHBOURS_WIDTH << now)][n / NEIGHBOURS_WIDTH] +=
                        counts[n];
            wanted = by_definition(stream, N, reach);
            assert_same_surface(&got, wanted);
            free(wanted);
            neighbours_free(neighbours);
        }
}

/* Words by when they were touched last, the latest first. */
static int naive_reuse(uint64_t *words, uint32_t *count, uint32_t reach, uint64_t word)
{
    uint32_t at = 0;
    int c = 0;

    while (at < *count && words[at] != word)
        at++;
    for (; UINT32_C(1) << c <= at; c++) {
    }
    if (at == *count) {
        c = RECENCY_NONE;
        *count += *count < reach;
        at = *count - 1;
    }
    memmove(words + 1, words, at * sizeof *words);
    words[0] = word;
    return c;
}

static void recency_by_definition(void **state)
{
    enum { N = 30000 };
    static uint64_t words[4096];
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 3);
    for (uint32_t reach = 1; reach <= 4096; reach *= 4)
        for (unsigned kind = 0; kind < 3; kind++) {
            struct recency *recency = recency_new(reach);
            uint32_t count = 0;

            assert_non_null(recency);
            for (uint32_t i = 0; i < N; i++) {
                const uint64_t walk = i % (reach + reach / 2 + 1);
                const uint64_t any = psnap_rng_below(&rng, reach + reach / 4 + 1);
                const uint64_t word = kind == 0 ? any : kind == 1 ? walk : i % 3 ? any / 8 : walk;
                const int wanted = naive_reuse(words, &count, reach, word);
                assert_int_equal(recency_access(recency, word), wanted);
            }
            recency_free(recency);
        }
}

/* The last number of words that counts, and the first that does not. */
static void reach_of_recency(void **state)
{
    (void)state;
    for (uint32_t others = PSNAP_LOCALITY_WORDS - 1; others <= PSNAP_LOCALITY_WORDS; others++) {
        struct psnap_locality *locality;
        uint32_t n = 0;

        for (uint32_t i = 0; i <= others; i++)
            stream[n++] = 8 * (uint64_t)i;
        stream[n++] = 0;
        locality = measured(stream, n);
        assert_int_equal(locality->reused[PSNAP_LOCALITY_REUSES - 1],
                         others < PSNAP_LOCALITY_WORDS);
        free(locality);
    }
}

/* The temporal score is the mean of hit rates of LRU caches of 2, 4, ... words: of the simulator.
 */
static void temporal_is_of_caches(void **state)
{
    enum { N = 20000, MACHINES = 17 };
    static struct psnap_machine machines[MACHINES];
    struct psnap_program *program = program_with_loops();
    struct psnap_locality *locality;
    struct psnap_sink *sim;
    struct psnap_rng rng;
    double sum = 0;

    (void)state;
    psnap_rng_init(&rng, 4);
    for (int i = 0; i < MACHINES; i++) {
        char text[64];
        snprintf(text, sizeof text, "%u:8:full", 16u << i);
        assert_int_equal(psnap_machine_parse_inline(text, &machines[i], NULL), PSNAP_OK);
    }
    sim = psnap_sim_new(machines, MACHINES, program, NULL, NULL);
    assert_non_null(sim);
    for (int i = 0; i < N; i++) {
        const uint64_t range = UINT64_C(1) << psnap_rng_below(&rng, 14);
        stream[i] = (1 << 20) + 8 * psnap_rng_below(&rng, range);
        put(sim, stream[i], 0, 0);
    }
    for (size_t i = 0; i < MACHINES; i++) {
        struct psnap_tally tally = {0};
        psnap_sim_add_total(sim, i, &tally);
        sum += psnap_tally_hit_rate(&tally, 0);
    }
    locality = measured(stream, N);
    assert_true(sum > 1);
    assert_true(fabs(psnap_locality_temporal(locality) - sum / MACHINES) < 1e-9);
    free(locality);
    psnap_sink_free(sim);
    psnap_program_free(program);
}

/* The nearest of the last 32 words, and no more of them; also of such as need all digits. */
static void spatial_by_definition(void **state)
{
    enum { N = 5000 };
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 5);
    for (int far = 0; far < 2; far++) {
        struct psnap_locality *locality;
        double sum = 0;
        for (int i = 0; i < N; i++) {
            const uint64_t base = far && i > N / 2 ? UINT64_C(1) << 63 : 0;
            uint64_t nearest = UINT64_MAX;
            stream[i] = psnap_rng_below(&rng, 50) ? base + 4 * psnap_rng_below(&rng, 9000)
                                                  : psnap_rng_next(&rng) >> (far ? 0 : 8);
            for (int j = i < 32 ? 0 : i - 32; j < i; j++) {
                const uint64_t a = stream[i] / 8, b = stream[j] / 8, stride = a > b ? a - b : b - a;
                nearest = stride < nearest ? stride : nearest;
            }
            if (i && nearest)
                sum += 1 / (double)nearest;
        }
        locality = measured(stream, N);
        assert_true(fabs(psnap_locality_spatial(locality) - sum / N) < 1e-12);
        free(locality);
    }
}

/* ------------------------------------------------------------------ properties */

static void what_does_not_matter(void **state)
{
    enum { N = 4000 };
    static uint64_t other[2 * N];
    struct psnap_locality *first, *second;
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 6);
    for (size_t i = 0; i < N; i++)
        stream[i] = random_address(&rng, 6, i);
    first = measured(stream, N);
    for (size_t i = 0; i < N; i++) /* somewhere else */
        other[i] = stream[i] + 12345671;
    second = measured(other, N);
    assert_same_surface(first, second);
    free(second);
    for (size_t i = 0; i < N; i++) /* in the mirror */
        other[i] = 0 - stream[i];
    second = measured(other, N);
    for (int s = 0; s < PSNAP_SURFACE_STRIDES; s++)
        assert_memory_equal(first->surface[s], second->surface[PSNAP_SURFACE_STRIDES - 1 - s],
                            sizeof first->surface[s]);
    free(second);
    for (size_t i = 0; i < N; i++) /* the other way round: reuse is as it was */
        other[i] = stream[N - 1 - i];
    second = measured(other, N);
    assert_memory_equal(first->surface[MIDDLE], second->surface[MIDDLE],
                        sizeof first->surface[MIDDLE]);
    free(second);
    for (size_t i = 0; i < N; i++) { /* twice as far apart: the next class */
        other[2 * i] = stream[i];
        other[2 * i + 1] = (UINT64_C(1) << 40) + 4096 * i;
    }
    second = measured(other, (size_t)2 * N);
    for (int s = 0; s < PSNAP_SURFACE_STRIDES; s++) {
        assert_int_equal(second->surface[s][0], 0);
        assert_memory_equal(first->surface[s], second->surface[s] + 1,
                            sizeof first->surface[s] - sizeof first->surface[s][0]);
    }
    free(second);
    free(first);
}

/* Without recurrence a stream backwards has each stride the other way round. */
static void backwards(void **state)
{
    enum { N = 1000 };
    static uint64_t other[N];
    struct psnap_locality *first, *second;
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 7);
    for (uint64_t i = 0; i < N; i++)
        stream[i] = 4 * i;
    for (size_t i = N; i-- > 1;) {
        const size_t j = psnap_rng_below(&rng, i + 1);
        const uint64_t one = stream[i];
        stream[i] = stream[j];
        stream[j] = one;
    }
    for (size_t i = 0; i < N; i++)
        other[i] = stream[N - 1 - i];
    first = measured(stream, N);
    second = measured(other, N);
    for (int s = 0; s < PSNAP_SURFACE_STRIDES; s++)
        assert_memory_equal(first->surface[s], second->surface[PSNAP_SURFACE_STRIDES - 1 - s],
                            sizeof first->surface[s]);
    free(first);
    free(second);
}

static void threads_are_apart(void **state)
{
    enum { N = 3000 };
    struct psnap_program *program = program_with_loops();
    struct psnap_sink *both = sink_of(program, 8), *alone = sink_of(program, 8);
    struct psnap_locality *sums = calloc(2, sizeof *sums);
    struct psnap_rng rng;

    (void)state;
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
static void loops_share_a_stream(void **state)
{
    struct psnap_program *program = program_with_loops();
    struct psnap_sink *sink = sink_of(program, 8);
    struct psnap_locality *rows = calloc(7, sizeof *rows);
    struct psnap_rng rng;

    (void)state;
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

static void distances_are_a_metric(void **state)
{
    enum { N = 2000, STREAMS = 6 };
    struct psnap_locality *all[STREAMS], none = {0};
    struct psnap_rng rng;

    (void)state;
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
static void distances_by_hand(void **state)
{
    struct psnap_locality *a = calloc(1, sizeof *a), *b = calloc(1, sizeof *b);

    (void)state;
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

static void what_is_refused(void **state)
{
    struct psnap_program *program = program_with_loops();
    const struct psnap_access far = {0, 8, 1, PSNAP_LOAD, 0};
    struct psnap_error error;
    struct psnap_sink *sink;

    (void)state;
    assert_null(psnap_locality_new(program, 12, &error));
    assert_int_equal(error.code, PSNAP_ERROR_USAGE);
    assert_null(psnap_locality_new(program, 0, &error));
    assert_null(psnap_locality_new(program, 8192, &error));
    sink = sink_of(program, 4096);
    assert_int_equal(psnap_sink_put(sink, &far, 1, &error), PSNAP_ERROR_VALUE);
    psnap_sink_free(sink);
    psnap_program_free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_accesses),
        cmocka_unit_test(scores_of_walks),
        cmocka_unit_test(a_long_walk),
        cmocka_unit_test(limits),
        cmocka_unit_test(random_streams_by_definition),
        cmocka_unit_test(short_reaches_by_definition),
        cmocka_unit_test(recency_by_definition),
        cmocka_unit_test(reach_of_recency),
        cmocka_unit_test(temporal_is_of_caches),
        cmocka_unit_test(spatial_by_definition),
        cmocka_unit_test(what_does_not_matter),
        cmocka_unit_test(backwards),
        cmocka_unit_test(threads_are_apart),
        cmocka_unit_test(loops_share_a_stream),
        cmocka_unit_test(distances_are_a_metric),
        cmocka_unit_test(distances_by_hand),
        cmocka_unit_test(what_is_refused),
    };
    return cmocka_run_group_tests_name("predict_locality", tests, NULL, NULL);
}
