/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Series of numbers: what nests of loops make is told by a few terms, which are the same however
 * the numbers came and stand for exactly these; what goes on by the same stride is one run; what is
 * no nest is given up; memory is bounded.
 */
#include "tests/unit/test_nest_support.h"

enum { FEW = 48 /* values that a series may have anyway */, REPEATED = 9 };

static struct numbers numbers;

static void begin(struct series *series)
{
    series_init(series, patterns);
}

/* Puts all numbers, one by one and cut in two ways: the same becomes of them. */
static void put_in_all_ways(struct series *series, struct psnap_rng *rng)
{
    begin(series);
    put_numbers(series, &numbers, 0, numbers.count, NULL);
    assert_true(series_end(series, FEW));
    assert_int_equal(series->length, numbers.count);
    for (int way = 0; way < 2; way++) {
        struct series other;
        begin(&other);
        put_numbers(&other, &numbers, 0, numbers.count, rng);
        assert_true(series_end(&other, FEW));
        assert_int_equal(other.is_none, series->is_none);
        assert_int_equal(other.length, numbers.count);
        assert_same_terms(&other.fold.terms, &series->fold.terms);
        series_release(&other);
    }
    if (!series->is_none)
        assert_numbers(&series->fold.terms, numbers.of, numbers.count);
}

static void assert_terms(size_t terms) /* 0: it is none */
{
    struct psnap_rng rng;
    struct series series;

    psnap_rng_init(&rng, 1);
    put_in_all_ways(&series, &rng);
    assert_int_equal(series.is_none, !terms);
    assert_int_equal(series.fold.terms.count, terms);
    series_release(&series);
}

TEST_OF_PATTERNS(hand_worked)
{
    const struct level rectangle[] = {{20, 0, 800}, {30, 0, 8}};
    const struct level triangle[] = {{20, 0, 800}, {3, 1, 8}};
    const struct level thrice[] = {{3, 0, 0}, {20, 0, 800}, {22, -1, 8}};

    numbers.count = 0;
    add_nest(&numbers, rectangle, 0, 2, 4096, 0, 0, NULL);
    assert_terms(1);
    numbers.count = 0;
    add_nest(&numbers, triangle, 0, 2, 4096, 0, 0, NULL);
    assert_terms(1);
    numbers.count = 0;
    add_nest(&numbers, thrice, 0, 3, 4096, 0, 0, NULL);
    assert_terms(1);
    numbers.count = 0; /* a constant, one number, and the largest one */
    for (int i = 0; i < 100; i++)
        add_number(&numbers, 7);
    assert_terms(1);
    numbers.count = 1;
    assert_terms(1);
    numbers.of[0] = UINT64_MAX;
    add_number(&numbers, 1); /* by 2, modulo 2^64 */
    add_number(&numbers, 3);
    assert_terms(1);
}

TEST_OF_PATTERNS(nests_come_back)
{
    unsigned kept = 0;

    for (uint64_t seed = 0; seed < 400; seed++) {
        struct psnap_rng rng;
        struct series series;
        unsigned parts;
        psnap_rng_init(&rng, seed);
        numbers.count = 0;
        parts = 1 + (unsigned)psnap_rng_below(&rng, 3);
        for (unsigned repeat = 1 + (unsigned)psnap_rng_below(&rng, 4); repeat; repeat--)
            for (unsigned part = 0; part < parts; part++) {
                const unsigned count = 1 + (unsigned)psnap_rng_below(&rng, LEVELS);
                const uint64_t jitter =
                    psnap_rng_below(&rng, 4) ? 0 : UINT64_C(1) << psnap_rng_below(&rng, 9);
                struct level levels[LEVELS];
                random_levels(levels, count, &rng);
                add_nest(&numbers, levels, 0, count, 1000000 * (part + 1), 0, jitter, &rng);
            }
        if (!numbers.count)
            continue;
        put_in_all_ways(&series, &rng);
        if (!series.is_none && numbers.count) { /* and without the last ones */
            const size_t cut = psnap_rng_below(&rng, numbers.count);
            assert_true(nest_terms_cut(&series.fold.terms, cut));
            assert_numbers(&series.fold.terms, numbers.of, numbers.count - cut);
        }
        kept += !series.is_none;
        series_release(&series);
    }
    assert_in_range(kept, 200, 400);
}

/* Rows of random lengths that go on where the one before ended: one run. */
TEST_OF_PATTERNS(rows_that_go_on_are_one)
{
    struct psnap_rng rng;

    for (uint64_t seed = 0; seed < 20; seed++) {
        psnap_rng_init(&rng, seed);
        numbers.count = 0;
        while (numbers.count < 3000) {
            add_number(&numbers, 4096 + 8 * numbers.count);
            if (!psnap_rng_below(&rng, 1 + seed))
                end_row(&numbers);
        }
        assert_terms(1);
    }
}

/* Rows that begin elsewhere, but for one that happens to go on where the one before ended. */
TEST_OF_PATTERNS(other_rows_are_runs)
{
    struct psnap_rng rng;
    struct series series;

    psnap_rng_init(&rng, 1);
    numbers.count = 0;
    for (uint64_t row = 0; row < 200; row++) {
        for (uint64_t i = 0; i < 10; i++)
            add_number(&numbers, (row == 100 ? 99 * 4096 + 80 : row * 4096) + 8 * i);
        end_row(&numbers);
    }
    put_in_all_ways(&series, &rng);
    assert_false(series.is_none);
    assert_in_range(series.fold.terms.count, 3, 6);
    series_release(&series);
}

TEST_OF_PATTERNS(the_irregular_is_given_up)
{
    struct psnap_rng rng;

    psnap_rng_init(&rng, 5);
    for (size_t length = 100; length <= 60000; length *= 5) {
        numbers.count = 0;
        while (numbers.count < length)
            add_number(&numbers, 8 * psnap_rng_below(&rng, 1 << 20));
        assert_terms(0);
    }
}

/* A few loose terms stay. */
TEST_OF_PATTERNS(few_terms_stay)
{
    struct psnap_rng rng;
    struct series series;

    psnap_rng_init(&rng, 6);
    numbers.count = 0;
    while (numbers.count < 20)
        add_number(&numbers, 8 * psnap_rng_below(&rng, 1 << 20));
    put_in_all_ways(&series, &rng);
    assert_false(series.is_none);
    assert_false(series_is_plain(&series));
    series_release(&series);
    for (size_t most = 50; most <= 200; most += 150) { /* 50 runs, of two values each */
        begin(&series);
        for (uint64_t row = 0; row < 50; row++)
            assert_true(series_put(&series, psnap_rng_next(&rng), 8, 500 + 7 * row * row));
        assert_true(series_end(&series, most));
        assert_int_equal(series.is_none, most == 50);
        series_release(&series);
    }
}

/* Numbers that come again, a step further each time, are the same at once and one by one: within
 * loops of one to three levels that come again or not. */
TEST_OF_PATTERNS(repeated_numbers_are_the_same)
{
    static const uint64_t steps[] = {0, 8, 8, 16, 64, (uint64_t)-8};

    for (uint64_t seed = 0; seed < 600; seed++) {
        struct psnap_rng rng;
        struct series one, other;
        struct series_run of[REPEATED];
        uint64_t step = 0, count = 1, base = 4096;
        uint32_t n = 1;
        psnap_rng_init(&rng, seed);
        begin(&one);
        begin(&other);
        for (unsigned round = 0; round < 60; round++) {
            if (!round || psnap_rng_below(&rng, 1 + seed % 40) == 0) {
                step = steps[psnap_rng_below(&rng, sizeof steps / sizeof *steps)];
                n = 1 + (uint32_t)psnap_rng_below(&rng, REPEATED);
                count = 1 + psnap_rng_below(&rng, psnap_rng_below(&rng, 2) ? 100 : 5);
                for (uint32_t k = 0; k < n; k++) {
                    of[k].first =
                        base + (seed % 4 < 3 ? 8 * psnap_rng_below(&rng, seed % 2 ? 4 : 1000)
                                             : 8 * (k / 2) + 1000 * (k % 2));
                    of[k].stride = 1;
                    of[k].count = seed % 5 ? 1 : 1 + psnap_rng_below(&rng, 8);
                }
            } else if (psnap_rng_below(&rng, 10) == 0) {
                count = 1 + psnap_rng_below(&rng, 2 * count);
            }
            assert_true(series_put_repeated(&other, of, n, step, count));
            for (uint64_t i = 0; i < count; i++)
                for (uint32_t k = 0; k < n; k++)
                    assert_true(
                        series_put(&one, of[k].first + i * step, of[k].stride, of[k].count));
            if (psnap_rng_below(&rng, 8) == 0) {
                series_end_row(&one);
                series_end_row(&other);
            }
            assert_int_equal(one.fold.terms.value_count, other.fold.terms.value_count);
            for (uint32_t k = 0; k < n && seed % 3; k++)
                of[k].first += 800;
        }
        assert_int_equal(one.length, other.length);
        assert_true(series_end(&one, FEW) && series_end(&other, FEW));
        assert_int_equal(one.is_none, other.is_none);
        assert_same_terms(&one.fold.terms, &other.fold.terms);
        series_release(&one);
        series_release(&other);
    }
}

/* A million rows and runs, of nests that change, of random ones, and of none. */
TEST_OF_PATTERNS(memory_is_bounded)
{
    struct psnap_rng rng;

    for (int kind = 0; kind < 3; kind++) {
        struct series series;
        psnap_rng_init(&rng, (uint64_t)kind);
        begin(&series);
        for (uint64_t i = 0; i < 1000000; i++) {
            const uint64_t number = psnap_rng_next(&rng);
            assert_true(kind == 0   ? series_put(&series, number, 8, 1 + number % 9)
                        : kind == 1 ? series_put(&series, i / 1000 * 8, number % 9 * 8, 1 + i % 7)
                                    : series_put(&series, i * i, 8, 1 + i % 5));
            assert_in_range(series.fold.terms.value_room, 0, 4096);
            assert_in_range(series.fold.terms.room, 0, 4096);
            assert_in_range(series.fold.cursor.room, 0, 4096);
        }
        assert_true(series_end(&series, FEW));
        assert_true(series.is_none);
        series_release(&series);
    }
}

/* Terms whose counts fall to nothing are not there, and nothing at all has no numbers. */
TEST_OF_PATTERNS(readers_pass_by_what_is_empty)
{
    const struct nest_pattern *run = nest_pattern_run(patterns, 8), *loop;
    struct nest_terms terms = {.patterns = patterns};
    const uint64_t steps[2] = {(uint64_t)-1, 100}, values[3] = {5, 2, 1000}, none[2] = {0, 1};
    const uint64_t expected[] = {1000, 1008, 1100, 5};
    struct reader reader;

    loop = nest_pattern_loop(patterns, &run, 1, steps); /* 2, 1, 0, -1, -2 numbers */
    reader_init(&reader, &terms);
    assert_false(reader_fill(&reader));
    assert_true(nest_terms_push(&terms, run, none));
    assert_false(reader_fill(&reader));
    assert_true(nest_terms_push(&terms, loop, values));
    assert_int_equal(nest_length(loop, values), 3);
    assert_true(nest_terms_push(&terms, run, (const uint64_t[2]){1, 5}));
    assert_numbers(&terms, expected, 4);
    nest_terms_pop(&terms, 2);
    assert_int_equal(terms.value_count, 2);
    nest_terms_release(&terms);
    reader_release(&reader);
}
