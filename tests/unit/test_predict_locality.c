/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locality: surfaces and scores of streams worked out by hand, and of random ones
 * against their definition taken literally.
 */
#include "tests/unit/test_locality_support.h"

#include <math.h>

#include "predict/locality/neighbours.h"
#include "predict/locality/recency.h"

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
