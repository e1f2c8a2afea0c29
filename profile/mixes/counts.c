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
 *
 * Counts come evenly when their octaves do, which may begin at 2^k or an eighth to seven eighths of
 * it further up, wherever they come most evenly. Of n counts, t of an octave, the gaps from one of
 * it to the next are m = n / t in the mean, and where each is drawn by chance they have the
 * variance m (m - 1) (of a geometric distribution). Of the ratio of theirs to that the mean is
 * taken over the octaves but the commonest one, which comes where no other does: of sizes that come
 * as the digits of a counter do it has the ratio 1, the others 0.17, 0.04, 0.01. Short sequences by
 * chance have 0.4 and more, long ones 0.9 to 1.1, those of a quicksort 0.67. An octave that comes
 * late or ends early is uneven: the first gap is from the beginning on, and what is longer than m
 * at the end is one, too. When there are 2^12 counts, and each time that they are twice as many,
 * those that are too uneven are given up: their order is looked at no longer, which most of the
 * time saves all that it costs.
 */
#include "profile/mixes/counts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PARTS_LOG2 = 3,
    PARTS = 1 << PARTS_LOG2,
    OCTAVE = 5, /* of the first wide bin: log2 of COUNTS_EXACT */
    WIDE_MAX = (64 - OCTAVE) * PARTS,
    BINS_MAX = COUNTS_EXACT + 1 + WIDE_MAX,
    SHIFTS = PARTS,   /* where octaves may begin */
    OCTAVES_EACH = 8, /* that room is made for at once */
    EVEN_TIMES = 16,  /* counts of an octave that tell whether it comes evenly, */
    EVEN_OCTAVES = 3, /* and octaves that tell it of all */
    EVEN_SOON = 1 << 12,
    RIM_SHARE = 64 /* one in so many of its neighbour's */
};

/* Of the variance that chance gives, at the end and so far. */
#define EVEN_MOST 0.25
#define EVEN_HOPE 0.5

_Static_assert(COUNTS_EXACT == 1 << OCTAVE, "wide bins begin where exact ones end");

/* ---- their order ---- */

/* The variance of an octave's gaps in relation to what chance gives. */
static double unevenness(const struct counts_order *octave, double all)
{
    const double times = (double)octave->times, last = (double)octave->last, mean = all / times;
    const double twice = 2 * mean * last, means = mean * all, by_chance = mean * (mean - 1);
    const double late = all - last > mean ? all - last - mean : 0, at_end = late * late;

    return ((double)octave->squares - twice + means + at_end) / times / by_chance;
}

/* The octave of a count, of those that begin at (1 + shift / SHIFTS) 2^k. */
static uint32_t octave_from(uint64_t count, uint32_t shift)
{
    __extension__ typedef unsigned __int128 wide;

    return counts_octave((uint64_t)((wide)count * SHIFTS / (SHIFTS + shift)));
}

/* The mean of the octaves' unevenness; too much of it where they do not tell. */
static double mean_unevenness(const struct counts_collector *collector, uint32_t shift)
{
    const struct counts_order *octaves = collector->octaves + shift;
    const double all = (double)(collector->times + collector->given);
    uint32_t commonest = 0, used = 0, told = 0;
    double sum = 0;

    for (uint32_t i = 0; i < collector->octave_count; i++) {
        const uint64_t times = octaves[(size_t)i * SHIFTS].times;
        commonest = times > octaves[(size_t)commonest * SHIFTS].times ? i : commonest;
        used += times > 0;
    }
    for (uint32_t i = 0; i < collector->octave_count; i++) {
        const struct counts_order *octave = &octaves[(size_t)i * SHIFTS];
        if (i == commonest || octave->times < EVEN_TIMES)
            continue;
        sum += unevenness(octave, all);
        told++;
    }
    return told >= EVEN_OCTAVES && used <= COUNTS_BINS ? sum / told : HUGE_VAL;
}

/* Whether there are octaves whose unevenness is less than `most`; *shift: those of least. */
static bool is_even(const struct counts_collector *collector, double most, uint32_t *shift)
{
    double least = HUGE_VAL;

    *shift = 0;
    for (uint32_t i = 0; i < SHIFTS; i++) {
        const double here = collector->is_shifted && i != collector->shift
                                ? HUGE_VAL
                                : mean_unevenness(collector, i);
        if (here >= least)
            continue;
        least = here;
        *shift = i;
    }
    return least < most;
}

/* The order is looked at no longer. */
static void forget_order(struct counts_collector *collector)
{
    free(collector->octaves);
    collector->octaves = NULL;
    collector->octave_count = 0;
    collector->is_unordered = true;
}

/* Room for octaves up to this one. */
static bool make_octaves(struct counts_collector *collector, uint32_t octave)
{
    const size_t had = (size_t)collector->octave_count * SHIFTS;
    const uint32_t wanted = (octave / OCTAVES_EACH + 1) * OCTAVES_EACH;
    struct counts_order *octaves =
        realloc(collector->octaves, (size_t)wanted * SHIFTS * sizeof *octaves);

    if (!octaves)
        return false;
    memset(octaves + had, 0, ((size_t)wanted * SHIFTS - had) * sizeof *octaves);
    collector->octaves = octaves;
    collector->octave_count = wanted;
    return true;
}

static void note_gap(struct counts_order *order, uint64_t at)
{
    const uint64_t gap = at - order->last;

    order->squares += __extension__(unsigned __int128) gap * gap;
    order->last = at;
    order->times++;
}

/* The count that comes next; false: out of memory. Whether to go on, and with which octaves, is
 * asked at powers of two. */
bool counts_note(struct counts_collector *collector, uint64_t count)
{
    const uint64_t before = collector->times + collector->given;
    uint32_t shift, first, end;

    if (before >= EVEN_SOON && !(before & (before - 1))) {
        if (!is_even(collector, EVEN_HOPE, &shift)) {
            forget_order(collector);
            return true;
        }
        collector->shift = shift;
        collector->is_shifted = true;
    }
    if (counts_octave(count) >= collector->octave_count &&
        !make_octaves(collector, counts_octave(count)))
        return false;
    first = collector->is_shifted ? collector->shift : 0;
    end = collector->is_shifted ? collector->shift + 1 : SHIFTS;
    for (shift = first; shift < end; shift++)
        note_gap(&collector->octaves[octave_from(count, shift) * SHIFTS + shift], before + 1);
    return true;
}

/* ---- bins ---- */

static uint32_t wide_bin(uint64_t count)
{
    const uint32_t octave = 63u - (uint32_t)__builtin_clzll(count);

    return (octave - OCTAVE) * PARTS + (uint32_t)((count >> (octave - PARTS_LOG2)) % PARTS);
}

uint32_t counts_bin_of(uint64_t count)
{
    return count <= COUNTS_EXACT ? (uint32_t)count : COUNTS_EXACT + 1 + wide_bin(count);
}

uint64_t counts_bin_times(const struct counts_collector *collector, uint32_t bin)
{
    if (bin <= COUNTS_EXACT)
        return collector->exact[bin];
    bin -= COUNTS_EXACT + 1;
    return bin < collector->wide_count ? collector->wide[bin].times : 0;
}

uint64_t counts_bin_low(const struct counts_collector *collector, uint32_t bin)
{
    return bin <= COUNTS_EXACT ? bin : collector->wide[bin - COUNTS_EXACT - 1].low;
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

    if ((bin >= collector->wide_count && !make_wide(collector, bin)) ||
        (!collector->is_unordered && !counts_note(collector, count)))
        return false;
    join(&collector->wide[bin], &(struct psnap_counts_bin){count, count, 1, count});
    collector->times++;
    collector->sum += count;
    return true;
}

void counts_release(struct counts_collector *collector)
{
    free(collector->wide);
    free(collector->octaves);
    *collector = (struct counts_collector){0};
}

/* The order of what both have is known where `into` has nothing. */
static bool merge_order(struct counts_collector *into, const struct counts_collector *from)
{
    const size_t bytes = (size_t)from->octave_count * SHIFTS * sizeof *from->octaves;
    struct counts_order *octaves = NULL;

    if (!from->times)
        return true;
    if (!into->times && from->octaves) {
        octaves = malloc(bytes);
        if (!octaves)
            return false;
        memcpy(octaves, from->octaves, bytes);
    }
    forget_order(into);
    if (octaves) {
        into->octaves = octaves;
        into->octave_count = from->octave_count;
        into->is_shifted = from->is_shifted;
        into->shift = from->shift;
        into->given = from->given;
        into->is_unordered = false;
    }
    return true;
}

bool counts_merge(struct counts_collector *into, const struct counts_collector *from)
{
    if ((from->wide_count && !make_wide(into, from->wide_count - 1)) || !merge_order(into, from))
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

    collector->given++;
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

/* ---- the histogram ---- */

/* What is lost when two neighbours join. */
static double loss(const struct psnap_counts_bin *a, const struct psnap_counts_bin *b)
{
    const double n = (double)a->times, m = (double)b->times;
    const double low = (double)a->sum / n, high = (double)b->sum / m;
    const double scale = (low + 1) * (high + 1);

    return n / (n + m) * m * ((high - low) / scale * (high - low));
}

/* The lower one of the two bins that are to join. */
static uint32_t nearest_pair(const struct psnap_counts_bin *bins, uint32_t n)
{
    double least = HUGE_VAL;
    uint32_t at = 0;

    for (uint32_t i = 0; i + 1 < n; i++) {
        const double here = loss(&bins[i], &bins[i + 1]);
        if (here >= least)
            continue;
        least = here;
        at = i;
    }
    return at;
}

/* Whether one is so much rarer that it is what is left of the other's size. */
static bool is_rim(const struct psnap_counts_bin *a, const struct psnap_counts_bin *b)
{
    return a->times < b->times / RIM_SHARE || b->times < a->times / RIM_SHARE;
}

/* Each octave becomes a bin, with its rim: bins that are due at once must not come in another order
 * for a few counts. Returns how many there are then. */
static uint32_t join_octaves(struct psnap_counts_bin *bins, uint32_t n, uint32_t shift)
{
    uint32_t octaves = 0, count = 0;

    for (uint32_t i = 0; i < n; i++)
        if (octaves && octave_from(bins[octaves - 1].low, shift) == octave_from(bins[i].low, shift))
            join(&bins[octaves - 1], &bins[i]);
        else
            bins[octaves++] = bins[i];
    for (uint32_t i = 0; i < octaves; i++) {
        bins[count++] = bins[i];
        for (; count > 1 && is_rim(&bins[count - 2], &bins[count - 1]); count--)
            join(&bins[count - 2], &bins[count - 1]);
    }
    return count;
}

/* All bins that are not empty; returns how many. */
static uint32_t list_bins(const struct counts_collector *collector, struct psnap_counts_bin *bins)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i <= COUNTS_EXACT; i++)
        if (collector->exact[i])
            bins[n++] =
                (struct psnap_counts_bin){i, i, collector->exact[i], i * collector->exact[i]};
    for (uint32_t i = 0; i < collector->wide_count; i++)
        if (collector->wide[i].times)
            bins[n++] = collector->wide[i];
    return n;
}

void counts_take(const struct counts_collector *collector, uint32_t bins,
                 struct psnap_counts *counts)
{
    struct psnap_counts_bin all[BINS_MAX];
    uint32_t n = list_bins(collector, all), shift;

    memset(counts, 0, sizeof *counts);
    counts->is_even = is_even(collector, EVEN_MOST, &shift);
    if (counts->is_even)
        n = join_octaves(all, n, shift);
    while (n > (counts->is_even ? COUNTS_BINS : bins)) {
        const uint32_t at = nearest_pair(all, n);
        join(&all[at], &all[at + 1]);
        n--;
        memmove(&all[at + 1], &all[at + 2], (n - at - 1) * sizeof *all);
    }
    counts->times = collector->times;
    counts->sum = collector->sum;
    counts->bin_count = n;
    memcpy(counts->bins, all, n * sizeof *all);
}
