/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts that come evenly (profile/mixes/counts.h): those that come as the digits of a counter do
 * are known and drawn in the order in which they came; chance, bursts and what is sorted are not
 * taken for that; draws are as an obvious search for what is due next has them; and as text they
 * are read as they are written.
 */
#include "tests/unit/test_counts_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RULER = 10, N = (1 << RULER) - 1, MANY = 1 << 16 };

static uint64_t values[MANY];

/* Sizes of the merges of 2^depth pieces, in their order: 1 1 2 1 1 2 4 ...; how many. */
static size_t fill_ruler(uint64_t *to, unsigned depth)
{
    size_t n = 0;

    if (!depth)
        return 0;
    n = fill_ruler(to, depth - 1);
    memcpy(to + n, to, n * sizeof *to);
    to[2 * n] = UINT64_C(1) << (depth - 1);
    return 2 * n + 1;
}

/* ---- collecting ---- */

static void test_ruler_is_even(void **state)
{
    struct psnap_counts counts;

    (void)state;
    assert_int_equal(fill_ruler(values, RULER), N);
    counts = histogram(values, N, 8);
    assert_true(counts.is_even);
    assert_int_equal(counts.bin_count, RULER); /* more than were asked for */
    for (uint32_t i = 0; i < RULER; i++) {
        assert_int_equal(counts.bins[i].low, 1 << i);
        assert_int_equal(counts.bins[i].high, 1 << i);
        assert_int_equal(counts.bins[i].times, 1 << (RULER - 1 - i));
    }
    fill_ruler(values, 16);
    assert_true(histogram(values, MANY - 1, COUNTS_BINS).is_even);
    for (size_t i = 0; i < MANY; i++)
        values[i] = UINT64_C(1) << i % 8; /* round and round */
    assert_true(histogram(values, MANY, COUNTS_BINS).is_even);
}

/* Each size is a bin, wherever octaves begin, and few counts beside many are of theirs. */
static void test_sizes_are_bins(void **state)
{
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 1);
    for (uint64_t size = 16; size < 32; size++) {
        struct psnap_counts counts;
        fill_ruler(values, RULER);
        for (size_t i = 0; i < N; i++) /* a size, or up to an eighth less */
            values[i] = size * values[i] - psnap_rng_below(&rng, size * values[i] / 8 + 1);
        counts = histogram(values, N, 8);
        assert_true(counts.is_even);
        assert_int_equal(counts.bin_count, RULER);
        for (uint32_t i = 0; i < RULER; i++) {
            assert_int_equal(counts.bins[i].times, 1 << (RULER - 1 - i));
            assert_in_range(counts.bins[i].low, (size << i) - ((size << i) / 8), size << i);
            assert_in_range(counts.bins[i].high, counts.bins[i].low, size << i);
        }
        fill_ruler(values, 16);
        for (size_t i = 0; i < MANY - 1; i++)
            values[i] *= size;
        values[0] = size / 3; /* two of the least ones */
        values[1] = size / 4;
        counts = histogram(values, MANY - 1, COUNTS_BINS);
        assert_true(counts.is_even);
        assert_int_equal(counts.bin_count, 16);
        assert_int_equal(counts.bins[0].low, size / 4);
        assert_int_equal(counts.bins[0].high, size);
        assert_int_equal(counts.bins[0].times, MANY / 2);
    }
}

static void assert_uneven(size_t n)
{
    assert_false(histogram(values, n, COUNTS_BINS).is_even);
}

static void test_others_are_not_even(void **state)
{
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 2);
    for (unsigned round = 0; round < 300; round++) { /* by chance */
        const size_t n = 1 + psnap_rng_below(&rng, 5000);
        fill_random(&rng, values, n);
        assert_uneven(n);
        for (size_t i = 0; i < n; i++)
            values[i] = UINT64_C(1) << __builtin_ctzll(psnap_rng_next(&rng) | 1 << 20);
        assert_uneven(n);
    }
    for (size_t i = 0; i < N; i++) /* sorted, both ways */
        values[i] = UINT64_C(1) << (i * 10 / N);
    assert_uneven(N);
    for (size_t i = 0; i < N; i++)
        values[i] = UINT64_C(512) >> (i * 10 / N);
    assert_uneven(N);
    for (size_t i = 0; i < MANY; i++) /* the same many times, then others */
        values[i] = UINT64_C(1) << (i / 100 % 10);
    assert_uneven(MANY);
    fill_ruler(values, RULER); /* evenly twice, but small ones first */
    for (size_t i = 0; i < N; i++)
        values[N + i] = values[i] << 20;
    assert_true(histogram(values, N, COUNTS_BINS).is_even);
    assert_uneven((size_t)2 * N);
    for (size_t i = 0; i < MANY; i++) /* three octaves: one besides the two others tells nothing */
        values[i] = 1 + i % 3 * 10;
    assert_uneven(MANY);
    fill_ruler(values, 7); /* too few */
    assert_uneven(127);
    fill_ruler(values, 16);
    for (size_t i = 0; i < MANY; i += 50) /* more octaves than there are bins */
        values[i] = UINT64_C(1) << (20 + i / 50 % 30);
    assert_uneven(MANY - 1);
}

static void shuffle(struct psnap_rng *rng, uint64_t *of, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        const size_t k = psnap_rng_below(rng, i);
        const uint64_t value = of[i - 1];
        of[i - 1] = of[k];
        of[k] = value;
    }
}

/* What begins in random order may still come evenly, but only if that is soon. */
static void test_beginnings(void **state)
{
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 3);
    fill_ruler(values, 16);
    shuffle(&rng, values, 1000);
    assert_true(histogram(values, MANY - 1, COUNTS_BINS).is_even);
    shuffle(&rng, values, 4096);
    assert_uneven(MANY - 1);
}

/* Of counts that were collected apart the order is not known, unless there are none of one. */
static void test_merged(void **state)
{
    struct counts_collector a = {0}, b = {0}, none = {0};
    struct psnap_counts counts, whole;
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 4);
    fill_ruler(values, 12);
    whole = histogram(values, 4095, COUNTS_BINS);
    collect(&b, values, 2000);
    assert_true(counts_merge(&a, &b));
    assert_true(counts_merge(&a, &none));
    collect(&a, values + 2000, 2095); /* goes on */
    counts_take(&a, COUNTS_BINS, &counts);
    assert_same(&counts, &whole);
    for (int i = 0; i < 2000; i++)
        counts_give(&b, &rng);
    assert_true(counts_merge(&b, &a)); /* there are none any more */
    counts_take(&b, COUNTS_BINS, &counts);
    assert_same(&counts, &whole);
    assert_true(counts_merge(&b, &a));
    counts_take(&b, COUNTS_BINS, &counts);
    assert_int_equal(counts.times, 2 * 4095);
    assert_false(counts.is_even);
    counts_release(&a);
    assert_true(counts_merge(&a, &b));
    collect(&a, values, 4095);
    counts_take(&a, COUNTS_BINS, &counts);
    assert_false(counts.is_even);
    counts_release(&a);
    counts_release(&b);
}

/* What is left comes as all did, and so does what is added. */
static void test_giving(void **state)
{
    struct counts_collector collector = {0};
    struct psnap_counts counts;
    struct counts_draw draw;
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 5);
    fill_ruler(values, 12);
    collect(&collector, values, 3000);
    for (int i = 0; i < 1000; i++)
        counts_give(&collector, &rng);
    collect(&collector, values + 3000, 1095);
    counts_take(&collector, COUNTS_BINS, &counts);
    assert_int_equal(counts.times, 3095);
    assert_true(counts.is_even);
    counts_draw_init(&draw, &counts);
    check_round(&draw, &rng);
    check_round(&draw, &rng);
    counts_release(&collector);
}

/* ---- drawing ---- */

/* Exactly as recorded, again and again. */
static void test_ruler_is_drawn(void **state)
{
    static uint64_t ruler[N];
    struct psnap_counts counts;
    struct counts_draw draw;
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 6);
    fill_ruler(ruler, RULER);
    counts = histogram(ruler, N, COUNTS_BINS);
    counts_draw_init(&draw, &counts);
    for (size_t i = 0; i < (size_t)3 * N; i++)
        assert_int_equal(counts_draw_next(&draw, &rng), ruler[i % N]);
    for (size_t i = 0; i < N; i++) /* octaves with counts of several sizes */
        values[i] = 100 * ruler[i] / 3 + psnap_rng_below(&rng, 10 * ruler[i]);
    counts = histogram(values, N, 8);
    assert_true(counts.is_even);
    counts_draw_init(&draw, &counts);
    for (size_t i = 0; i < (size_t)3 * N; i++)
        assert_int_equal(counts_octave(counts_draw_next(&draw, &rng)),
                         counts_octave(values[i % N]));
}

/* Of bins, the one that is due next: by definition. */
struct oracle {
    uint64_t n, drawn[COUNTS_BINS];
    const struct psnap_counts *counts;
};

static uint32_t oracle_next(struct oracle *o)
{
    const struct psnap_counts_bin *bins = o->counts->bins;
    uint32_t first = 0;

    while (o->drawn[first] == bins[first].times)
        first++;
    for (uint32_t i = first + 1; i < o->counts->bin_count; i++) {
        const uint64_t x = (o->drawn[i] + 1) * bins[first].times;
        const uint64_t y = (o->drawn[first] + 1) * bins[i].times;
        if (o->drawn[i] < bins[i].times && (x < y || (x == y && bins[i].times > bins[first].times)))
            first = i;
    }
    o->drawn[first]++;
    return first;
}

/* No bin is ever late: of d draws it has had its share of d, but for a fraction of one. */
static void check_shares(const struct oracle *o, uint64_t d)
{
    for (uint32_t i = 0; i < o->counts->bin_count; i++)
        assert_true(o->drawn[i] >= d * o->counts->bins[i].times / o->n);
}

static void test_draws_are_due(void **state)
{
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 7);
    for (unsigned round = 0; round < 200; round++) {
        const size_t n = 1 + psnap_rng_below(&rng, 2000);
        struct psnap_counts counts;
        struct counts_draw draw;
        for (size_t i = 0; i < n; i++)
            values[i] = psnap_rng_below(&rng, UINT64_C(2) << psnap_rng_below(&rng, 24));
        counts = histogram(values, n, COUNTS_BINS);
        counts.is_even = true; /* as it may be written, also where it did not come so */
        counts_draw_init(&draw, &counts);
        check_round(&draw, &rng);
        for (unsigned again = 0; again < 2; again++) {
            struct oracle o = {.n = n, .counts = &counts};
            for (uint64_t d = 1; d <= n; d++) {
                uint32_t bin = 0;
                const uint64_t count = counts_draw_next(&draw, &rng);
                while (count > counts.bins[bin].high)
                    bin++;
                assert_int_equal(bin, oracle_next(&o));
                check_shares(&o, d);
            }
        }
        check_round(&draw, &rng);
    }
}

/* Products of numbers of counts are beyond 64 bits. */
static void test_very_many(void **state)
{
    static const uint64_t times[4] = {UINT64_C(1) << 55, UINT64_C(3) << 52, UINT64_C(3) << 50,
                                      UINT64_C(1) << 50};
    struct psnap_counts counts = {.bin_count = 4, .is_even = true};
    uint64_t drawn[4] = {0};
    struct counts_draw draw;
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 8);
    for (uint32_t i = 0; i < 4; i++) {
        counts.bins[i] = (struct psnap_counts_bin){1u << i, 1u << i, times[i], times[i] << i};
        counts.times += counts.bins[i].times;
        counts.sum += counts.bins[i].sum;
    }
    counts_draw_init(&draw, &counts);
    for (int i = 0; i < 60 * 1000; i++) /* 32 : 12 : 3 : 1 */
        drawn[counts_octave(counts_draw_next(&draw, &rng)) - 1]++;
    assert_in_range(drawn[0], 39990, 40010);
    assert_in_range(drawn[1], 14990, 15010);
    assert_in_range(drawn[2], 3740, 3760);
    assert_in_range(drawn[3], 1240, 1260);
}

/* ---- as text ---- */

static char *text_of(const struct psnap_counts *counts)
{
    struct psnap_yaml_doc *doc = psnap_yaml_doc_new("t");
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    counts_write(counts, true, doc, psnap_yaml_add_map(doc, NULL, NULL, PSNAP_YAML_BLOCK), "times");
    assert_int_equal(psnap_yaml_write(doc, file, NULL), PSNAP_OK);
    fclose(file);
    psnap_yaml_doc_free(doc);
    return text;
}

static enum psnap_status read(const char *text, struct psnap_counts *counts,
                              struct psnap_error *error)
{
    struct psnap_yaml_doc *doc = psnap_yaml_read_text(text, strlen(text), "t", error);
    const struct psnap_yaml_node *root = doc ? psnap_yaml_root(doc) : NULL;
    enum psnap_status status;

    assert_non_null(doc);
    status = counts_read(doc, psnap_yaml_get(root, "times"), 0, NULL, counts, error);
    if (!status)
        status = counts_read_evenly(doc, root, counts, error);
    psnap_yaml_doc_free(doc);
    return status;
}

static void test_text(void **state)
{
    static const char bins[] =
        "times: [{is: 1, times: 4}, {from: 2, to: 3, times: 2, sum: 5}, {is: 4, times: 1}]\n";
    static const char *const wrong[] = {"1", "'true'", "yes", "[true]", "{}", "True"};
    struct psnap_counts counts, back;
    struct psnap_error error = {0};
    char text[200], *written;

    (void)state;
    snprintf(text, sizeof text, "%sevenly: true\n", bins);
    assert_int_equal(read(text, &counts, NULL), PSNAP_OK);
    assert_true(counts.is_even);
    written = text_of(&counts);
    assert_string_equal(written, text);
    free(written);
    snprintf(text, sizeof text, "%sevenly: false\n", bins);
    assert_int_equal(read(text, &back, NULL), PSNAP_OK);
    assert_false(back.is_even);
    written = text_of(&back);
    assert_string_equal(written, bins);
    free(written);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(text, sizeof text, "%sevenly: %s\n", bins, wrong[i]);
        assert_int_equal(read(text, &back, &error), PSNAP_ERROR_VALUE);
        assert_string_equal(error.message, "'evenly' must be true or false");
        assert_int_equal(error.src_line, 2);
        assert_int_equal(error.column, 9);
    }
    fill_ruler(values, RULER);
    counts = histogram(values, N, COUNTS_BINS);
    written = text_of(&counts);
    assert_int_equal(read(written, &back, NULL), PSNAP_OK);
    assert_same(&counts, &back);
    free(written);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ruler_is_even),
        cmocka_unit_test(test_sizes_are_bins),
        cmocka_unit_test(test_others_are_not_even),
        cmocka_unit_test(test_beginnings),
        cmocka_unit_test(test_merged),
        cmocka_unit_test(test_giving),
        cmocka_unit_test(test_ruler_is_drawn),
        cmocka_unit_test(test_draws_are_due),
        cmocka_unit_test(test_very_many),
        cmocka_unit_test(test_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
