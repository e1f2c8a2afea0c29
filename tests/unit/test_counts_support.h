/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the tests of counts (profile/mixes/counts.h): histograms, whether two are the same, and
 * what all draws of one come to.
 */
#ifndef PSNAP_TEST_COUNTS_SUPPORT_H
#define PSNAP_TEST_COUNTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "profile/mixes/counts.h"

static inline void collect(struct counts_collector *collector, const uint64_t *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_true(counts_add(collector, values[i]));
}

static inline struct psnap_counts histogram(const uint64_t *values, size_t n, uint32_t bins)
{
    struct counts_collector collector = {0};
    struct psnap_counts counts;

    collect(&collector, values, n);
    counts_take(&collector, bins, &counts);
    counts_release(&collector);
    return counts;
}

/* Counts of all sizes, more of the small ones. */
static inline void fill_random(struct psnap_rng *rng, uint64_t *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        values[i] = psnap_rng_below(rng, UINT64_C(2) << psnap_rng_below(rng, 30));
}

static inline void assert_same(const struct psnap_counts *a, const struct psnap_counts *b)
{
    assert_int_equal(a->times, b->times);
    assert_int_equal(a->sum, b->sum);
    assert_int_equal(a->is_even, b->is_even);
    assert_int_equal(a->bin_count, b->bin_count);
    assert_memory_equal(a->bins, b->bins, a->bin_count * sizeof *a->bins);
}

/* All draws of a round: as many, with the same sum, of each bin. */
static inline void check_round(struct counts_draw *draw, struct psnap_rng *rng)
{
    const struct psnap_counts *counts = draw->counts;
    uint64_t times[COUNTS_BINS] = {0}, sums[COUNTS_BINS] = {0};

    for (uint64_t i = 0; i < counts->times; i++) {
        const uint64_t count = counts_draw_next(draw, rng);
        uint32_t bin = 0;
        while (count > counts->bins[bin].high)
            assert_true(++bin < counts->bin_count);
        assert_true(count >= counts->bins[bin].low);
        times[bin]++;
        sums[bin] += count;
    }
    for (uint32_t bin = 0; bin < counts->bin_count; bin++) {
        assert_int_equal(times[bin], counts->bins[bin].times);
        assert_int_equal(sums[bin], counts->bins[bin].sum);
    }
}

#endif
