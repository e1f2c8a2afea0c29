/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Histograms of counts (profile/mixes/counts.h): bins do not depend on order or cuts; draws come to
 * what there was, exactly, bin by bin, and are distributed as it was; and they are read as they are
 * written, or refused with the place of what is wrong. Urns (profile/urn.h) against their
 * definition. (What comes evenly: test_profile_counts_even.c.)
 */
#include "tests/unit/test_counts_support.h"

#include <stdlib.h>
#include <string.h>

static void assert_bin(const struct psnap_counts *counts, uint32_t i, uint64_t low, uint64_t high,
                       uint64_t times, uint64_t sum)
{
    assert_true(i < counts->bin_count);
    assert_int_equal(counts->bins[i].low, low);
    assert_int_equal(counts->bins[i].high, high);
    assert_int_equal(counts->bins[i].times, times);
    assert_int_equal(counts->bins[i].sum, sum);
}

/* sum of (seen - expected)^2 / expected. */
static double chi_square(const uint64_t *seen, const double *expected, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += ((double)seen[i] - expected[i]) * ((double)seen[i] - expected[i]) / expected[i];
    return sum;
}

/* ---- urns ---- */

static void test_urn(void **state)
{
    static const uint64_t numbers[5] = {3, 0, 4, 1, 2};
    uint64_t below[8] = {0};
    uint32_t thing = 0;

    (void)state;
    assert_int_equal(urn_leaves(0), 1);
    assert_int_equal(urn_leaves(1), 1);
    assert_int_equal(urn_leaves(5), 8);
    for (uint32_t i = 0; i < 5; i++)
        urn_put(below, 8, i, numbers[i]);
    for (uint64_t ticket = 0, i = 0; ticket < 10; ticket++) { /* each ticket, of a full urn */
        while (i == numbers[thing]) {
            i = 0;
            thing++;
        }
        i++;
        assert_int_equal(urn_take(below, 8, ticket), thing);
        urn_put(below, 8, thing, 1);
    }
    urn_put(below, 8, 2, (uint64_t)-4);
    assert_int_equal(urn_take(below, 8, 3), 3);
    assert_int_equal(urn_take(below, 8, 3), 4); /* the 3 has gone */
    assert_int_equal(urn_take(below, 8, 3), 4);
    for (int i = 0; i < 3; i++)
        assert_int_equal(urn_take(below, 8, 0), 0);
}

/* ---- collecting ---- */

static void test_bins_by_hand(void **state)
{
    static const uint64_t values[] = {5, 33, 0, 5, 35, 100, 100, 32, 5};
    struct psnap_counts counts = histogram(values, 9, COUNTS_BINS);

    (void)state;
    assert_int_equal(counts.times, 9);
    assert_int_equal(counts.sum, 315);
    assert_int_equal(counts.bin_count, 5);
    assert_bin(&counts, 0, 0, 0, 1, 0);
    assert_bin(&counts, 1, 5, 5, 3, 15);
    assert_bin(&counts, 2, 32, 32, 1, 32);
    assert_bin(&counts, 3, 33, 35, 2, 68);
    assert_bin(&counts, 4, 100, 100, 2, 200);
    /* 32 is nearest to 33 to 35, then 100 to these, being fewer than the fives and nearer than 0.
     */
    counts = histogram(values, 9, 4);
    assert_int_equal(counts.bin_count, 4);
    assert_bin(&counts, 2, 32, 35, 3, 100);
    counts = histogram(values, 9, 1);
    assert_bin(&counts, 0, 0, 100, 9, 315);
}

static void test_wide_bins(void **state)
{
    struct counts_collector collector = {0};
    struct psnap_counts counts;

    (void)state;
    for (unsigned bit = 6; bit < 62; bit++) { /* eight bins in an octave, their ends apart */
        for (uint64_t part = 0; part < 2; part++) {
            const uint64_t low = (UINT64_C(8) + part) << (bit - 3);
            assert_true(counts_add(&collector, low));
            assert_true(counts_add(&collector, low + (UINT64_C(1) << (bit - 3)) - 1));
        }
        counts_take(&collector, COUNTS_BINS, &counts);
        assert_int_equal(counts.bin_count, 2);
        for (uint32_t i = 0; i < 2; i++)
            assert_bin(&counts, i, (UINT64_C(8) + i) << (bit - 3),
                       ((UINT64_C(9) + i) << (bit - 3)) - 1, 2,
                       ((UINT64_C(17) + 2 * i) << (bit - 3)) - 1);
        counts_release(&collector);
    }
}

static void test_order_and_cuts(void **state)
{
    enum { N = 3000 };
    static uint64_t values[N];
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 1);
    for (unsigned round = 0; round < 50; round++) {
        const uint32_t bins = 1 + (uint32_t)psnap_rng_below(&rng, COUNTS_BINS);
        struct counts_collector parts[3] = {0}, whole = {0};
        struct psnap_counts counts, merged;
        uint64_t sum = 0;

        fill_random(&rng, values, N);
        counts = histogram(values, N, bins);
        assert_true(counts.bin_count <= bins);
        for (uint32_t i = 0; i < counts.bin_count; i++) {
            assert_true(i == 0 || counts.bins[i].low > counts.bins[i - 1].high);
            sum += counts.bins[i].sum;
        }
        assert_int_equal(sum, counts.sum);
        for (size_t i = 0; i < N; i++)
            assert_true(counts_add(&parts[psnap_rng_below(&rng, 3)], values[N - 1 - i]));
        for (unsigned i = 0; i < 3; i++) {
            assert_true(counts_merge(&whole, &parts[2 - i]));
            counts_release(&parts[2 - i]);
        }
        counts_take(&whole, bins, &merged);
        counts_release(&whole);
        assert_same(&counts, &merged);
    }
}

/* What is given and what is left come to what there was, and what is left is a histogram. */
static void test_giving(void **state)
{
    struct counts_collector collector = {0};
    struct psnap_counts counts;
    struct psnap_rng rng;
    uint64_t values[500], sum = 0, small = 0;

    (void)state;
    psnap_rng_init(&rng, 7);
    fill_random(&rng, values, 500);
    for (int i = 0; i < 500; i++) {
        assert_true(counts_add(&collector, values[i]));
        sum += values[i];
        small += values[i] <= COUNTS_EXACT;
    }
    for (uint64_t left = 500; left > 0;) {
        const uint64_t count = counts_give(&collector, &rng);
        sum -= count;
        small -= count <= COUNTS_EXACT;
        left--;
        counts_take(&collector, COUNTS_BINS, &counts);
        assert_int_equal(counts.times, left);
        assert_int_equal(counts.sum, sum);
        for (uint32_t b = 0; b < counts.bin_count; b++) {
            assert_true(counts.bins[b].sum >= counts.bins[b].low * counts.bins[b].times);
            assert_true(counts.bins[b].sum <= counts.bins[b].high * counts.bins[b].times);
        }
    }
    assert_int_equal(sum, 0);
    assert_int_equal(small, 0);
    counts_release(&collector);
}

/* ---- drawing ---- */

static void test_draws_are_exact(void **state)
{
    enum { N = 2000 };
    static uint64_t values[N];
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 2);
    for (unsigned round = 0; round < 100; round++) {
        const size_t n = 1 + psnap_rng_below(&rng, N);
        struct psnap_counts counts;
        struct counts_draw draw;

        fill_random(&rng, values, n);
        counts = histogram(values, n, 1 + (uint32_t)psnap_rng_below(&rng, COUNTS_BINS));
        counts_draw_init(&draw, &counts);
        for (unsigned again = 0; again < 3; again++)
            check_round(&draw, &rng);
    }
}

/* Sums at the ends of what can be, and one that is nearly all at one end. */
static void test_draws_of_odd_bins(void **state)
{
    static const struct psnap_counts_bin bins[] = {
        {10, 20, 5, 50},          {10, 20, 5, 100},
        {10, 20, 5, 51},          {10, 20, 5, 99},
        {0, 1, 1000, 1},          {0, 1000, 1000, 999},
        {7, 90, 1, 33},           {40, 41, 1001, 40541},
        {1, 1 << 30, 1000, 5000}, {0, UINT64_C(1) << 56, 1 << 20, UINT64_C(1) << 56}};
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 3);
    for (size_t i = 0; i < sizeof bins / sizeof bins[0]; i++) {
        const struct psnap_counts counts = {bins[i].times, bins[i].sum, 1, {bins[i]}};
        struct counts_draw draw;
        counts_draw_init(&draw, &counts);
        check_round(&draw, &rng);
        check_round(&draw, &rng);
    }
}

/* Bins come in random order: at each place in proportion to their numbers. */
static void test_order_is_random(void **state)
{
    static const uint64_t values[] = {1, 1, 1, 1, 1, 1, 2, 2, 2, 9};
    static const double expected[3] = {6000, 3000, 1000};
    const struct psnap_counts counts = histogram(values, 10, COUNTS_BINS);
    uint64_t seen[10][3] = {{0}}, pairs = 0;

    (void)state;
    for (uint64_t seed = 0; seed < 10000; seed++) {
        struct psnap_rng rng;
        struct counts_draw draw;
        uint64_t before = 0;
        psnap_rng_init(&rng, seed);
        counts_draw_init(&draw, &counts);
        for (unsigned i = 0; i < 10; i++) {
            const uint64_t count = counts_draw_next(&draw, &rng);
            seen[i][count == 1 ? 0 : count == 2 ? 1 : 2]++;
            pairs += before == 2 && count == 2;
            before = count;
        }
    }
    for (unsigned i = 0; i < 10; i++)
        assert_true(chi_square(seen[i], expected, 3) < 13.8); /* 0.1 % of true ones are above */
    /* 9 pairs of places, 3/10 * 2/9 each */
    assert_in_range(pairs, 6000 - 250, 6000 + 250);
}

/* Many counts of one wide bin: as spread as they were, from the first to the last. */
static void test_wide_draws_are_spread(void **state)
{
    enum { N = 16000, PARTS = 8 };
    static uint64_t values[N];
    struct psnap_counts counts;
    struct counts_draw draw;
    struct psnap_rng rng;
    uint64_t seen[4][PARTS] = {{0}}, sums[4] = {0};
    double expected[PARTS];

    (void)state;
    psnap_rng_init(&rng, 4);
    for (size_t i = 0; i < N; i++)
        values[i] = 1024 + i % 128;
    counts = histogram(values, N, COUNTS_BINS);
    assert_int_equal(counts.bin_count, 1);
    counts_draw_init(&draw, &counts);
    for (size_t i = 0; i < N; i++) {
        const uint64_t count = counts_draw_next(&draw, &rng);
        seen[4 * i / N][(count - 1024) * PARTS / 128]++;
        sums[4 * i / N] += count;
    }
    for (unsigned i = 0; i < PARTS; i++)
        expected[i] = N / 4.0 / PARTS;
    for (unsigned quarter = 0; quarter < 4; quarter++) {
        assert_true(chi_square(seen[quarter], expected, PARTS) < 24.3);
        assert_in_range(sums[quarter] * 4 / N, 1086, 1089);
    }
}

/* A mean between two counts: both come, from the first to the last. */
static void test_means_are_rounded_at_random(void **state)
{
    const struct psnap_counts counts = {1000, 40250, 1, {{40, 41, 1000, 40250}}};
    struct counts_draw draw;
    struct psnap_rng rng;
    uint64_t sums[4] = {0};

    (void)state;
    psnap_rng_init(&rng, 6);
    counts_draw_init(&draw, &counts);
    for (unsigned i = 0; i < 1000; i++)
        sums[i / 250] += counts_draw_next(&draw, &rng) - 40;
    for (unsigned quarter = 0; quarter < 4; quarter++)
        assert_in_range(sums[quarter], 42, 83);
}

static void test_same_seed_same_draws(void **state)
{
    static uint64_t values[500];
    struct psnap_counts counts;
    struct counts_draw a, b;
    struct psnap_rng rng, other;
    unsigned different = 0;

    (void)state;
    psnap_rng_init(&rng, 5);
    fill_random(&rng, values, 500);
    counts = histogram(values, 500, 20);
    psnap_rng_init(&rng, 7);
    psnap_rng_init(&other, 7);
    counts_draw_init(&a, &counts);
    counts_draw_init(&b, &counts);
    for (unsigned i = 0; i < 1200; i++)
        assert_int_equal(counts_draw_next(&a, &rng), counts_draw_next(&b, &other));
    psnap_rng_init(&rng, 7);
    psnap_rng_init(&other, 8);
    counts_draw_init(&a, &counts);
    counts_draw_init(&b, &counts);
    for (unsigned i = 0; i < 500; i++)
        different += counts_draw_next(&a, &rng) != counts_draw_next(&b, &other);
    assert_true(different > 300);
}

/* ---- as text ---- */

static void assert_text(const struct psnap_counts *counts, bool is_known, const char *expected)
{
    struct psnap_yaml_doc *doc = psnap_yaml_doc_new("t");
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    counts_write(counts, is_known, doc, psnap_yaml_add_map(doc, NULL, NULL, PSNAP_YAML_BLOCK),
                 "times");
    assert_int_equal(psnap_yaml_write(doc, file, NULL), PSNAP_OK);
    fclose(file);
    psnap_yaml_doc_free(doc);
    assert_string_equal(text, expected);
    free(text);
}

static enum psnap_status read(const char *text, uint64_t times, struct psnap_counts *counts,
                              struct psnap_error *error)
{
    struct psnap_yaml_doc *doc = psnap_yaml_read_text(text, strlen(text), "t", error);
    enum psnap_status status;

    assert_non_null(doc);
    status =
        counts_read(doc, psnap_yaml_get(psnap_yaml_root(doc), "times"), times, NULL, counts, error);
    psnap_yaml_doc_free(doc);
    return status;
}

static void test_text(void **state)
{
    static const uint64_t values[] = {5, 33, 64, 5, 40};
    static const char text[] =
        "times: [{is: 5, times: 2}, {from: 33, to: 64, times: 3, sum: 137}]\n";
    static const struct psnap_counts same = {3, 21, 1, {{7, 7, 3, 21}}};
    struct psnap_counts counts = histogram(values, 5, 2), back;

    (void)state;
    assert_text(&counts, true, text);
    assert_int_equal(read(text, 0, &back, NULL), PSNAP_OK);
    assert_same(&counts, &back);
    assert_int_equal(read(text, 5, &back, NULL), PSNAP_OK);
    assert_same(&counts, &back);
    assert_text(&same, true, "times: 7\n");
    assert_text(&same, false, "times: [{is: 7, times: 3}]\n");
    assert_int_equal(read("times: 7\n", 3, &back, NULL), PSNAP_OK);
    assert_same(&same, &back);
    assert_int_equal(read("times: [{from: 2, to: 5, times: 3}]\n", 0, &back, NULL), PSNAP_OK);
    assert_bin(&back, 0, 2, 5, 3, 10);
}

static void test_mistakes(void **state)
{
    static const struct {
        uint64_t times;
        const char *text, *message;
        uint32_t column;
    } mistakes[] = {
        {0, "times: 7\n", "counts", 8},
        {0, "times: []\n", "1 to 24 counts", 8},
        {3, "times: [{is: 5, times: 2}]\n", "there are 2 counts, but there must be 3", 8},
        {3, "times: x\n", "times", 8},
        {3, "times: 72057594037927936\n", "come to more than", 8},
        {0, "times: [5]\n", "a count", 9},
        {0, "times: [{is: 5}]\n", "times", 9},
        {0, "times: [{is: 5, times: 0}]\n", "times", 24},
        {0, "times: [{is: 5, times: 2, sum: 10}]\n", "sum", 27},
        {0, "times: [{is: 5, to: 6, times: 2}]\n", "to", 17},
        {0, "times: [{from: 5, times: 2}]\n", "to", 9},
        {0, "times: [{from: 5, to: 4, times: 2}]\n", "to", 23},
        {0, "times: [{from: 5, to: 6, times: 2, sum: 9}]\n",
         "2 counts from 5 to 6 cannot have the sum 9", 41},
        {0, "times: [{from: 5, to: 6, times: 2, sum: 13}]\n", "cannot have the sum 13", 41},
        {0, "times: [{is: 5, times: 2}, {from: 5, to: 6, times: 2}]\n",
         "counts must ascend: 5 comes after 5", 28},
        {0, "times: [{is: 72057594037927936, times: 2}]\n", "come to more than", 9},
        {0, "times: [{from: 0, to: 72057594037927936, times: 2}]\n", "there must be a 'sum'", 9},
        {0, "times: [{is: 72057594037927930, times: 1}, {is: 72057594037927931, times: 1}]\n",
         "come to more than", 44},
        {0, "times: [{is: 0, times: 72057594037927936}, {is: 1, times: 1}]\n", "come to more than",
         44},
    };

    (void)state;
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        struct psnap_counts counts;
        struct psnap_error error = {0};
        assert_int_equal(read(mistakes[i].text, mistakes[i].times, &counts, &error),
                         PSNAP_ERROR_VALUE);
        if (!strstr(error.message, mistakes[i].message) || error.src_line != 1 ||
            error.column != mistakes[i].column)
            fail_msg("'%s': got %u: %s", mistakes[i].text, (unsigned)error.column, error.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_urn),
        cmocka_unit_test(test_bins_by_hand),
        cmocka_unit_test(test_giving),
        cmocka_unit_test(test_wide_bins),
        cmocka_unit_test(test_order_and_cuts),
        cmocka_unit_test(test_draws_are_exact),
        cmocka_unit_test(test_draws_of_odd_bins),
        cmocka_unit_test(test_order_is_random),
        cmocka_unit_test(test_wide_draws_are_spread),
        cmocka_unit_test(test_means_are_rounded_at_random),
        cmocka_unit_test(test_same_seed_same_draws),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_mistakes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
