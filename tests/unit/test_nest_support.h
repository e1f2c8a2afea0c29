/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the tests of nests: numbers that loops in loops make, and those that the terms of a
 * nest stand for.
 */
#ifndef PSNAP_TEST_NEST_SUPPORT_H
#define PSNAP_TEST_NEST_SUPPORT_H

#include "tests/unit/test.h"

#include "formats/base/rng.h"
#include "profile/nest/series.h"
#include "profile/walk/reader.h"

/* Of the test that runs. */
static struct nest_patterns *patterns;

static inline int begin_patterns(void **state)
{
    (void)state;
    patterns = nest_patterns_new();
    return patterns ? 0 : -1;
}

static inline int end_patterns(void **state)
{
    (void)state;
    nest_patterns_free(patterns);
    return 0;
}

#define TEST_OF_PATTERNS(name) TEST_WITHIN(begin_patterns, end_patterns, name)

enum { NUMBERS_MAX = 1 << 16 };

struct numbers {
    uint64_t of[NUMBERS_MAX];
    bool is_last[NUMBERS_MAX]; /* of its row */
    size_t count;
};

static inline void add_number(struct numbers *numbers, uint64_t number)
{
    if (numbers->count == NUMBERS_MAX)
        return;
    numbers->is_last[numbers->count] = false;
    numbers->of[numbers->count++] = number;
}

static inline void end_row(struct numbers *numbers)
{
    if (numbers->count)
        numbers->is_last[numbers->count - 1] = true;
}

/* A loop around others: how often it iterates, what that changes by in the loop around it, and what
 * the address changes by. */
struct level {
    int64_t count, count_step;
    uint64_t stride;
};

enum { LEVELS = 4 };

/* All numbers of a nest of `count` loops, the innermost of which makes a row; one in `jitter` is
 * elsewhere (0: none). */
static inline void add_nest(struct numbers *numbers, const struct level *levels, unsigned depth,
                            unsigned count, uint64_t first, int64_t outer, uint64_t jitter,
                            struct psnap_rng *rng)
{
    const int64_t iterations = levels[depth].count + outer * levels[depth].count_step;

    for (int64_t i = 0; i < iterations; i++) {
        const uint64_t number = first + (uint64_t)i * levels[depth].stride;
        if (depth + 1 < count)
            add_nest(numbers, levels, depth + 1, count, number, i, jitter, rng);
        else
            add_number(numbers, jitter && !psnap_rng_below(rng, jitter)
                                    ? number + 8 * psnap_rng_below(rng, 100)
                                    : number);
    }
    if (depth + 1 == count)
        end_row(numbers);
}

static inline void random_levels(struct level *levels, unsigned count, struct psnap_rng *rng)
{
    static const uint64_t strides[] = {0, 1, 8, 8, 64, 400, 4096, (uint64_t)-8};

    for (unsigned i = 0; i < count; i++)
        levels[i] = (struct level){
            .count = 1 + (int64_t)psnap_rng_below(rng, 9),
            .count_step =
                i && !psnap_rng_below(rng, 3) ? 1 - 2 * (int64_t)psnap_rng_below(rng, 2) : 0,
            .stride = strides[psnap_rng_below(rng, sizeof strides / sizeof *strides)]};
}

/* Puts numbers [from, to), in runs cut at random places (`rng` NULL: one by one). */
static inline void put_numbers(struct series *series, const struct numbers *numbers, size_t from,
                               size_t to, struct psnap_rng *rng)
{
    for (size_t i = from, n; i < to; i += n) {
        const bool is_row = i && !numbers->is_last[i - 1]; /* of several numbers */
        const uint64_t stride = i + 1 < to ? numbers->of[i + 1] - numbers->of[i] : 0;
        const size_t most = rng ? 1 + psnap_rng_below(rng, 20) : 1;
        for (n = 1; n < most && i + n < to && !numbers->is_last[i + n - 1]; n++)
            if (numbers->of[i + n] - numbers->of[i + n - 1] != stride)
                break;
        assert_true(series_put(series, numbers->of[i], n > 1 ? stride : 0, n));
        if (numbers->is_last[i + n - 1] && (is_row || n > 1))
            series_end_row(series);
    }
}

/* That terms stand for these numbers and no others. */
static inline void assert_numbers(const struct nest_terms *terms, const uint64_t *numbers,
                                  size_t count)
{
    struct reader reader;
    uint64_t length = 0;

    for (size_t i = 0; i < terms->count; i++)
        length += nest_length(terms->terms[i].pattern, nest_term_values(terms, i));
    assert_int_equal(length, count);
    reader_init(&reader, terms);
    for (int turn = 0; turn < 2; turn++) /* after the last one they begin again */
        for (size_t i = 0; i < count; i++)
            assert_int_equal(reader_next(&reader), numbers[i]);
    reader_release(&reader);
}

static inline void assert_same_terms(const struct nest_terms *a, const struct nest_terms *b)
{
    assert_ptr_equal(a->patterns, b->patterns);
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->value_count, b->value_count);
    for (size_t i = 0; i < a->count; i++)
        assert_ptr_equal(a->terms[i].pattern, b->terms[i].pattern);
    for (size_t i = 0; i < a->value_count; i++)
        assert_int_equal(a->values[i], b->values[i]);
}

#endif
