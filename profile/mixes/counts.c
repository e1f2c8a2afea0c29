/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collecting counts (counts.h). Up to COUNTS_EXACT each count is a bin; above, an octave has
 * PARTS bins of equal width, which know their lowest and highest count: one that only ever had
 * one count is exact. Bins are fixed, so the order of counts makes no difference.
 *
 * A histogram is written in fewer. Two neighbours of n and m counts, in the mean a and b, are
 * told apart by
 *
 *   n m / (n + m) * (a - b)^2 / ((a + 1) (b + 1))
 *
 * what their joining adds to the sum of squares within bins (Ward, "Hierarchical grouping to
 * optimize an objective function", 1963), on a scale on which a count from 10 to 20 differs as much
 * as one from 1000 to 2000. Those with the least join first, the lower ones of equals. The
 * arithmetic has no sum of a product, so it is the same on all machines.
 */
#include "profile/mixes/counts.h"

#include <stdlib.h>
#include <string.h>

enum {
    PARTS_LOG2 = 3,
    PARTS = 1 << PARTS_LOG2,
    OCTAVE = 5, /* of the first wide bin: log2 of COUNTS_EXACT */
    WIDE_MAX = (64 - OCTAVE) * PARTS,
    BINS_MAX = COUNTS_EXACT + 1 + WIDE_MAX
};

_Static_assert(COUNTS_EXACT == 1 << OCTAVE, "wide bins begin where exact ones end");

static uint32_t wide_bin(uint64_t count)
{
    const uint32_t octave = 63u - (uint32_t)__builtin_clzll(count);

    return (octave - OCTAVE) * PARTS + (uint32_t)((count >> (octave - PARTS_LOG2)) % PARTS);
}

/* Room for wide bins up to this one. */
static bool make_wide(struct counts_collector *collector, uint32_t bin)
{
    const uint32_t wanted = (bin / PARTS + 1) * PARTS;
    struct psnap_counts_bin *wide;

    if (wanted <= collector->wide_count)
        return true;
    wide = realloc(collector->wide, wanted * sizeof *wide);
    if (!wide)
        return false;
    memset(&wide[collector->wide_count], 0, (wanted - collector->wide_count) * sizeof *wide);
    collector->wide = wide;
    collector->wide_count = wanted;
    return true;
}

/* `b`, which is above `a` or overlaps it, joins it; `a` may be empty. */
static void join(struct psnap_counts_bin *a, const struct psnap_counts_bin *b)
{
    if (!b->times)
        return;
    if (!a->times || b->low < a->low)
        a->low = b->low;
    if (b->high > a->high)
        a->high = b->high;
    a->times += b->times;
    a->sum += b->sum;
}

bool counts_add_wide(struct counts_collector *collector, uint64_t count)
{
    const uint32_t bin = wide_bin(count);

    if (bin >= collector->wide_count && !make_wide(collector, bin))
        return false;
    join(&collector->wide[bin], &(struct psnap_counts_bin){count, count, 1, count});
    collector->times++;
    collector->sum += count;
    return true;
}

void counts_release(struct counts_collector *collector)
{
    free(collector->wide);
    *collector = (struct counts_collector){0};
}

bool counts_merge(struct counts_collector *into, const struct counts_collector *from)
{
    if (from->wide_count && !make_wide(into, from->wide_count - 1))
        return false;
    for (uint32_t i = 0; i <= COUNTS_EXACT; i++)
        into->exact[i] += from->exact[i];
    for (uint32_t i = 0; i < from->wide_count; i++)
        join(&into->wide[i], &from->wide[i]);
    into->times += from->times;
    into->sum += from->sum;
    return true;
}

/* About the mean of a bin; the others' sum is one that so many between low and high can have. */
static uint64_t give_wide(struct psnap_counts_bin *bin, struct psnap_rng *rng)
{
    const uint64_t n = bin->times - 1, mean = bin->sum / bin->times;
    const uint64_t spread = mean - bin->low < bin->high - mean ? mean - bin->low : bin->high - mean;
    const uint64_t highest = bin->sum - bin->low * n;
    uint64_t count = mean - spread + psnap_rng_below(rng, 2 * spread + 1), most;

    if (count > highest)
        count = highest;
    else if (!__builtin_mul_overflow(bin->high, n, &most) && most < bin->sum &&
             count < bin->sum - most)
        count = bin->sum - most;
    bin->times = n;
    bin->sum -= count;
    return count;
}

uint64_t counts_give(struct counts_collector *collector, struct psnap_rng *rng)
{
    uint64_t left = psnap_rng_below(rng, collector->times--), count = 0;
    uint32_t i = 0;

    while (count <= COUNTS_EXACT && left >= collector->exact[count])
        left -= collector->exact[count++];
    if (count <= COUNTS_EXACT) {
        collector->exact[count]--;
    } else {
        while (left >= collector->wide[i].times)
            left -= collector->wide[i++].times;
        count = give_wide(&collector->wide[i], rng);
    }
    collector->sum -= count;
    return count;
}

/* What is lost when two neighbours join. */
static double loss(const struct psnap_counts_bin *a, const struct psnap_counts_bin *b)
{
    const double n = (double)a->times, m = (double)b->times;
    const double low = (double)a->sum / n, high = (double)b->sum / m;
    const double scale = (low + 1) * (high + 1);

    return n / (n + m) * m * ((high - low) / scale * (high - low));
}

static uint32_t nearest_pair(const struct psnap_counts_bin *bins, uint32_t n)
{
    double least = loss(&bins[0], &bins[1]);
    uint32_t at = 0;

    for (uint32_t i = 1; i + 1 < n; i++) {
        const double here = loss(&bins[i], &bins[i + 1]);
        if (here < least) {
            least = here;
            at = i;
        }
    }
    return at;
}

void counts_take(const struct counts_collector *collector, uint32_t bins,
                 struct psnap_counts *counts)
{
    struct psnap_counts_bin all[BINS_MAX];
    uint32_t n = 0;

    for (uint32_t i = 0; i <= COUNTS_EXACT; i++)
        if (collector->exact[i])
            all[n++] =
                (struct psnap_counts_bin){i, i, collector->exact[i], i * collector->exact[i]};
    for (uint32_t i = 0; i < collector->wide_count; i++)
        if (collector->wide[i].times)
            all[n++] = collector->wide[i];
    while (n > bins) {
        const uint32_t at = nearest_pair(all, n);
        join(&all[at], &all[at + 1]);
        n--;
        memmove(&all[at + 1], &all[at + 2], (n - at - 1) * sizeof *all);
    }
    memset(counts, 0, sizeof *counts);
    counts->times = collector->times;
    counts->sum = collector->sum;
    counts->bin_count = n;
    memcpy(counts->bins, all, n * sizeof *all);
}
