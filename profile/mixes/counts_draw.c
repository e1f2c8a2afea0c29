/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drawing counts (counts.h): first a bin, without replacement, in proportion to what each has
 * left (urn.h); then a count of it. Of a bin that has n counts left with the sum s, that is about
 * their mean m = s / n, rounded up or down at random so as to be m in the mean. It lies below m
 * with the probability (high - m) / (high - low), else above, and is uniform there: so it is m in
 * the mean as well, and all the bin's range occurs. What this leaves has to be the sum of n - 1
 * counts between low and high; where it would not, the count is the nearest for which it is.
 * So the last one is what is left, and sums come out exactly. That does not depend on m, which is
 * therefore only looked at again after MEAN_EACH counts, or when fewer are left.
 *
 * Of counts that come evenly the bin is not random: of t among n counts the j-th is due by the
 * j n / t-th draw, and what is due first comes first (C. L. Liu and J. W. Layland, "Scheduling
 * algorithms for multiprogramming in a hard-real-time environment", 1973: none is late then). Of
 * those due at once the commoner bin comes first, then the lower one: a counter's digits come as
 * they do when it counts. A heap has the one that comes next.
 */
#include <string.h>

#include "profile/mixes/counts.h"

enum { MEAN_EACH = 64 };

/* The mean of what a bin has left. Only divisions and differences: the same on all machines. */
static void set_mean(const struct psnap_counts_bin *bin, struct counts_left *left)
{
    const double mean = (double)left->sum / (double)left->times;

    left->mean = (uint64_t)mean;
    left->rest = (uint32_t)((mean - (double)left->mean) * 4294967296.0);
    if (left->mean < bin->low || left->mean >= bin->high) { /* rounded, or all are the highest */
        left->mean = left->mean < bin->low ? bin->low : bin->high;
        left->rest = 0;
    }
}

/* Whether the next count of bin `a` comes before that of `b`. */
static inline bool is_before(const struct counts_due *a, const struct counts_due *b)
{
    __extension__ typedef unsigned __int128 wide;
    const wide x = (wide)(a->drawn + 1) * b->times, y = (wide)(b->drawn + 1) * a->times;

    if (x != y)
        return x < y;
    return a->times != b->times ? a->times > b->times : a->bin < b->bin;
}

/* What is at `at` of the heap comes later than it did. */
static void sink(struct counts_draw *draw, uint32_t at)
{
    const struct counts_due due = draw->due[at];

    for (;;) {
        uint32_t next = 2 * at + 1;
        if (next + 1 < draw->due_count && is_before(&draw->due[next + 1], &draw->due[next]))
            next++;
        if (next >= draw->due_count || !is_before(&draw->due[next], &due))
            break;
        draw->due[at] = draw->due[next];
        at = next;
    }
    draw->due[at] = due;
}

static void refill_due(struct counts_draw *draw)
{
    const struct psnap_counts *counts = draw->counts;

    draw->due_count = counts->bin_count;
    for (uint32_t i = 0; i < counts->bin_count; i++)
        draw->due[i] = (struct counts_due){.times = counts->bins[i].times, .bin = i};
    for (uint32_t i = draw->due_count / 2; i-- > 0;)
        sink(draw, i);
}

static void refill(struct counts_draw *draw)
{
    const struct psnap_counts *counts = draw->counts;

    memset(draw->urn, 0, draw->leaves * sizeof *draw->urn);
    for (uint32_t i = 0; i < counts->bin_count; i++) {
        draw->bins[i].times = counts->bins[i].times;
        draw->bins[i].sum = counts->bins[i].sum;
        set_mean(&counts->bins[i], &draw->bins[i]);
        urn_put(draw->urn, draw->leaves, i, counts->bins[i].times);
    }
    if (counts->is_even)
        refill_due(draw);
    draw->left = counts->times;
}

void counts_draw_init(struct counts_draw *draw, const struct psnap_counts *counts)
{
    draw->counts = counts;
    draw->leaves = urn_leaves(counts->bin_count);
    draw->is_exact = !counts->is_even;
    draw->due_count = 0;
    for (uint32_t i = 0; i < counts->bin_count; i++)
        draw->is_exact = draw->is_exact && counts->bins[i].low == counts->bins[i].high;
    refill(draw);
}

/* Of a bin, also one with a single count: to ask would be a branch that nobody could predict. */
static uint64_t draw_within(const struct psnap_counts_bin *bin, struct counts_left *left,
                            struct psnap_rng *rng)
{
    const uint64_t n = left->times - 1, highest = left->sum - bin->low * n;
    const uint64_t random = psnap_rng_next(rng),
                   mean = left->mean + ((uint32_t)random < left->rest);
    /* 32 bits are enough to tell which half, and leave others for the rest. */
    const uint64_t side = bin->high - bin->low < UINT32_MAX
                              ? (random >> 32) * (bin->high - bin->low) >> 32
                              : psnap_rng_below(rng, bin->high - bin->low);
    /* As a mask, for no branch could be predicted: all ones for the upper half. */
    const uint64_t upper = UINT64_C(0) - (side >= bin->high - mean);
    const uint64_t low = bin->low + ((mean - bin->low) & upper);
    const uint64_t high = mean + ((bin->high - mean) & upper);
    uint64_t count = low + psnap_rng_below(rng, high - low + 1), most;

    if (count > highest)
        count = highest;
    else if (!__builtin_mul_overflow(bin->high, n, &most) && most < left->sum &&
             count < left->sum - most)
        count = left->sum - most;
    return count;
}

/* The bin that comes next. */
static uint32_t take_due(struct counts_draw *draw)
{
    const uint32_t bin = draw->due[0].bin;

    draw->due[0].drawn++;
    sink(draw, 0);
    draw->left--;
    return bin;
}

uint64_t counts_draw_next(struct counts_draw *draw, struct psnap_rng *rng)
{
    const struct psnap_counts_bin *bin;
    struct counts_left *left;
    uint64_t count;
    uint32_t at;

    if (!draw->left)
        refill(draw);
    if (draw->is_exact)
        return counts_draw_exact(draw, rng);
    at = draw->due_count ? take_due(draw)
                         : urn_take(draw->urn, draw->leaves, psnap_rng_below(rng, draw->left--));
    bin = &draw->counts->bins[at];
    left = &draw->bins[at];
    if (left->times < MEAN_EACH || left->times % MEAN_EACH == 0)
        set_mean(bin, left);
    count = draw_within(bin, left, rng);
    left->times--;
    left->sum -= count;
    return count;
}
