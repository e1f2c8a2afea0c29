/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drawing counts (counts.h): first a bin, without replacement, in proportion to what each has
 * left (urn.h); then a count of it. Of a bin that has n counts left with the sum s, that is about
 * their mean m = s / n, rounded up or down at random so as to be m in the mean. It lies below m
 * with the probability (high - m) / (high - low), else above, and is uniform there: so it is m in
 * the mean as well, and all the bin's range occurs. What this leaves has to be the sum of n - 1
 * counts between low and high; where it would not, the count is the nearest for which it is.
 * So the last one is what is left, and sums come out exactly.
 */
#include <string.h>

#include "profile/counts.h"

static void refill(struct counts_draw *draw)
{
    const struct psnap_counts *counts = draw->counts;

    memset(draw->urn, 0, draw->leaves * sizeof *draw->urn);
    for (uint32_t i = 0; i < counts->bin_count; i++) {
        draw->bins[i].times = counts->bins[i].times;
        draw->bins[i].sum = counts->bins[i].sum;
        urn_put(draw->urn, draw->leaves, i, counts->bins[i].times);
    }
    draw->left = counts->times;
}

void counts_draw_init(struct counts_draw *draw, const struct psnap_counts *counts)
{
    draw->counts = counts;
    draw->leaves = urn_leaves(counts->bin_count);
    refill(draw);
}

/* Of a bin with counts of several sizes: `n` are left, and come to `sum`. */
static uint64_t draw_within(const struct psnap_counts_bin *bin, uint64_t n, uint64_t sum,
                            struct psnap_rng *rng)
{
    const uint64_t highest = sum - bin->low * (n - 1);
    uint64_t mean = sum / n, count, most;

    mean += psnap_rng_below(rng, n) < sum - mean * n;
    if (psnap_rng_below(rng, bin->high - bin->low) < bin->high - mean)
        count = bin->low + psnap_rng_below(rng, mean - bin->low + 1);
    else
        count = mean + psnap_rng_below(rng, bin->high - mean + 1);
    if (count > highest)
        return highest;
    if (!__builtin_mul_overflow(bin->high, n - 1, &most) && most < sum && count < sum - most)
        return sum - most;
    return count;
}

uint64_t counts_draw_next(struct counts_draw *draw, struct psnap_rng *rng)
{
    const struct psnap_counts_bin *bin;
    uint64_t count, n;
    uint32_t at;

    if (!draw->left)
        refill(draw);
    at = urn_take(draw->urn, draw->leaves, psnap_rng_below(rng, draw->left--));
    bin = &draw->counts->bins[at];
    if (bin->low == bin->high)
        return bin->low;
    n = draw->bins[at].times--;
    count = draw_within(bin, n, draw->bins[at].sum, rng);
    draw->bins[at].sum -= count;
    return count;
}
