/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Histograms of trip counts: every count is in its bin, exact up to 16, and draws without
 * replacement give each bin's number and sum, and the sum of all, again and again.
 */
#include "tests/unit/test.h"

#include "profile/order/trips.h"

static uint64_t random_count(struct psnap_rng *rng)
{
    return 1 + (psnap_rng_next(rng) >> (4 + psnap_rng_below(rng, 60)));
}

/* The bin of a count, by looking at all of them. */
static uint32_t bin_of(const struct trips *trips, uint64_t count)
{
    uint32_t found = UINT32_MAX;

    for (uint32_t i = 0; i < trips->count; i++)
        if (trips->bins[i].low <= count && count <= trips->bins[i].high) {
            assert_int_equal(found, UINT32_MAX);
            found = i;
        }
    assert_in_range(found, 0, trips->count - 1);
    return found;
}

TEST(bins_have_all)
{
    for (uint64_t seed = 0; seed < 50; seed++) {
        uint64_t counts[500], times = 0, sum = 0;
        struct trips trips = {0}, copy;
        struct psnap_rng rng;
        psnap_rng_init(&rng, seed);
        for (int i = 0; i < 500; i++) {
            const uint64_t n = 1 + psnap_rng_below(&rng, 3);
            counts[i] = seed % 2 ? 1 + psnap_rng_below(&rng, 100) : random_count(&rng) % (1 << 20);
            counts[i] += !counts[i];
            assert_true(trips_add(&trips, counts[i], n));
            times += n;
            sum += n * counts[i];
        }
        assert_int_equal(trips.times, times);
        assert_int_equal(trips.sum, sum);
        assert_in_range(trips.count, 1, TRIPS_BINS);
        assert_true(trips_copy(&copy, &trips));
        for (int i = 0; i < 500; i++) {
            const struct trips_bin *bin = &copy.bins[bin_of(&copy, counts[i])];
            assert_true(bin->low == bin->high || bin->low > 16);
            assert_true(bin->high - bin->low <= bin->low / 4);
        }
        for (uint32_t i = 0; i < copy.count; i++) {
            const struct trips_bin *bin = &copy.bins[i];
            assert_true(bin->times > 0 && (!i || bin->low > bin[-1].high));
            assert_in_range(bin->sum, bin->low * bin->times, bin->high * bin->times);
        }
        trips_release(&copy);
        trips_release(&trips);
    }
}

TEST(draws_are_the_histogram)
{
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct trips trips = {0};
        struct trips_draw draw;
        struct psnap_rng rng;
        psnap_rng_init(&rng, seed);
        for (uint64_t n = 1 + psnap_rng_below(&rng, 300); n; n--)
            assert_true(trips_add(&trips, 1 + psnap_rng_below(&rng, 2000), 1));
        assert_true(trips_draw_init(&draw, &trips));
        for (int turn = 0; turn < 3; turn++) {
            uint64_t times[TRIPS_BINS] = {0}, sums[TRIPS_BINS] = {0};
            for (uint64_t i = 0; i < trips.times; i++) {
                const uint64_t count = trips_draw_next(&draw, &rng);
                const uint32_t bin = bin_of(&trips, count);
                times[bin]++;
                sums[bin] += count;
            }
            for (uint32_t i = 0; i < trips.count; i++) {
                assert_int_equal(times[i], trips.bins[i].times);
                assert_int_equal(sums[i], trips.bins[i].sum);
            }
        }
        trips_draw_release(&draw);
        trips_release(&trips);
    }
}
