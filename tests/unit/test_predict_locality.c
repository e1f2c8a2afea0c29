/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locality: surfaces and scores of streams worked out by hand, and of random ones against their
 * definition taken literally; streams with several threads or loops; the distance of two streams.
 */
#include <math.h>

#include "predict/locality/neighbours.h"
#include "predict/locality/recency.h"
#include "predict/predict.h"
#include "tests/unit/test_simcore_support.h"

#define MIDDLE PSNAP_SURFACE_STRIDE_MAX
enum { ACCESSES_MAX = 1 << 18 };

static uint64_t stream[ACCESSES_MAX];

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

/* What the sink makes of a stream of one thread, of all accesses (1) or one in `every`. */
static struct psnap_locality *measured_every(const uint64_t *addresses, size_t n, uint32_t every)
{
    struct psnap_program *program = program_with_loops();
    struct psnap_sink *sink = sink_of(program, 8);
    struct psnap_locality *locality = calloc(1, sizeof *locality);

    assert_non_null(locality);
    if (every > 1)
        psnap_locality_sample(sink, every);
    for (size_t i = 0; i < n; i++)
        put(sink, addresses[i], 0, 0);
    psnap_locality_add_total(sink, locality);
    psnap_sink_free(sink);
    psnap_program_free(program);
    return locality;
}

static struct psnap_locality *measured(const uint64_t *addresses, size_t n)
{
    struct psnap_locality *locality = measured_every(addresses, n, 1);

    assert_int_equal(locality->accesses, n);
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

/* ------------------------------------------------------------------- by hand */

TEST(four_accesses)
{
    const uint64_t addresses[] = {0x1000, 0x1008, 0x1000, 0x1010};
    struct psnap_locality *locality = measured(addresses, 4),
                          *expected = calloc(1, sizeof *expected);

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

TEST(scores_of_walks)
{
    enum { N = 1000 };
    static const uint64_t strides[] = {1, 2, 4, 8, 24, 4096};
    struct psnap_locality *locality;

    for (size_t i = 0; i < sizeof strides / sizeof strides[0]; i++) {
        const uint64_t stride = strides[i], per_word = stride < 8 ? 8 / stride : 1;
        for (uint64_t j = 0; j < N; j++)
            stream[j] = (1 << 20) + stride * j;
        locality = measured(stream, N);
        /* all but the first word are a step from the word before, and touched per_word times */
        assert_true(fabs(psnap_locality_spatial(locality) -
                         (double)(N / per_word - 1) / (double)N *
                             (stride > 8 ? 8.0 / (double)stride : 1)) < 1e-12);
        assert_true(fabs(psnap_locality_temporal(locality) - (1 - 1.0 / (double)per_word)) < 1e-12);
        free(locality);
    }
    /* the same address again and again */
    memset(stream, 0, N * sizeof *stream);
    locality = measured(stream, N);
    assert_true(psnap_locality_spatial(locality) == 0);
    assert_true(fabs(psnap_locality_temporal(locality) - (double)(N - 1) / (double)N) < 1e-12);
    assert_int_equal(locality->surface[MIDDLE][0], N - 1);
    free(locality);
}

/* A walk long enough for counts to be settled, more than once. */
TEST(a_long_walk)
{
    enum { N = 200000 };
    struct psnap_locality *locality;
    uint64_t expected[PSNAP_SURFACE_STRIDES][PSNAP_SURFACE_DISTANCES] = {{0}};

    for (uint64_t i = 0; i < N; i++)
        stream[i] = (1 << 20) + 4 * i;
    locality = measured(stream, N);
    for (int m = 1; 4 * m <= MIDDLE; m++)
        expected[MIDDLE + 4 * m][class_of((uint64_t)m)] = N - (uint64_t)m;
    assert_memory_equal(locality->surface, expected, sizeof expected);
    free(locality);
}

/* The last distance that counts, and the first that does not. */
TEST(limits)
{
    static const struct {
        uint64_t others;
        int64_t stride;
        bool counts;
    } cases[] = {{65535, 256, true}, {65536, 256, false}, {65535, -256, true}, {65535, 0, true},
                 {65536, 0, false},  {65535, 257, false}, {65535, -257, false}};

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

TEST(random_streams_by_definition)
{
    enum { N = 4000, KINDS = 14 };
    struct psnap_rng rng;

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

/* Those of units of 2^unit bytes, but those that nobody wants to know of. */
static void add_counts(struct psnap_locality *sum, const uint16_t *counts, unsigned unit)
{
    for (int n = 0; n < NEIGHBOURS_COUNTS; n++) {
        const int place = n / NEIGHBOURS_CLASSES - NEIGHBOURS_LEAD, k = n % NEIGHBOURS_CLASSES;
        if (!counts[n] || k == PSNAP_SURFACE_DISTANCES)
            continue;
        assert_in_range(place, 0, 2 * MIDDLE >> unit);
        sum->surface[2 * MIDDLE - (place << unit)][k] += counts[n];
    }
}

/* The same with a short reach, so that most of the stream falls out of it. */
TEST(short_reaches_by_definition)
{
    enum { N = 3000, KINDS = 14 };
    static uint16_t counts[NEIGHBOURS_COUNTS];
    struct psnap_rng rng;

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
                    add_counts(&got, counts, now);
                    memset(counts, 0, sizeof counts);
                    assert_int_equal(neighbours_refine(neighbours, now - 1), PSNAP_OK);
                }
                assert_int_equal(neighbours_access(neighbours, stream[i], counts, NULL), PSNAP_OK);
            }
            add_counts(&got, counts, now);
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

TEST(recency_by_definition)
{
    enum { N = 30000 };
    static uint64_t words[4096];
    struct psnap_rng rng;

    psnap_rng_init(&rng, 3);
    for (uint32_t reach = 1; reach <= 4096; reach *= 4)
        for (unsigned kind = 0; kind < 3; kind++) {
            struct recency *recency = recency_new(reach, 1);
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
TEST(reach_of_recency)
{
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

/* The nearest of the last 32 words, and no more of them; also of such as need all digits. */
TEST(spatial_by_definition)
{
    enum { N = 5000 };
    struct psnap_rng rng;

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
        assert_true(fabs(psnap_locality_spatial(locality) - sum / (double)N) < 1e-12);
        free(locality);
    }
}

/* A sample's accesses are as all are, and stand for them. Some streams have a hundred words only,
 * of which few are drawn. */
TEST(samples_are_as_all)
{
    struct psnap_rng rng;

    psnap_rng_init(&rng, 2);
    for (unsigned kind = 0; kind < 14; kind += 3) {
        struct psnap_locality *all, *part;
        for (size_t i = 0; i < ACCESSES_MAX; i++)
            stream[i] = random_address(&rng, kind, i);
        all = measured(stream, ACCESSES_MAX);
        part = measured_every(stream, ACCESSES_MAX, 8);
        assert_int_equal(part->accesses, ACCESSES_MAX);
        assert_true(psnap_locality_distance(part, all) < 0.05);
        assert_true(fabs(psnap_locality_spatial(part) - psnap_locality_spatial(all)) < 0.01);
        assert_true(fabs(psnap_locality_temporal(part) - psnap_locality_temporal(all)) < 0.05);
        free(all);
        free(part);
    }
}

/* ---- threads, loops, and distances ---- */

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
