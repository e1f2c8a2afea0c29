/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Iterations of the source to those of the parts of its loop (expand.h). Beyond what the widest
 * part needs to be entered the iterations of the narrower ones are periodic in n, and those of the
 * widest one rise by one with each period, so that sums over many n take a period of steps.
 */
#include "profile/order/expand.h"

#include "profile/profile.h"

/* The widest part that is narrower than `below`, or `count`. */
static uint32_t next_part(const struct expand_part *parts, uint32_t count, uint64_t below)
{
    uint32_t widest = count;

    for (uint32_t i = 0; i < count; i++)
        if (parts[i].width < below && (widest == count || parts[i].width > parts[widest].width))
            widest = i;
    return widest;
}

void expand_counts(const struct expand_part *parts, uint32_t count, uint64_t n,
                   uint64_t counts[EXPAND_PARTS])
{
    uint64_t below = UINT64_MAX;

    for (uint32_t k = 0; k < count; k++) {
        const uint32_t i = next_part(parts, count, below);
        counts[i] = n >= parts[i].from ? (n - parts[i].leaves) / parts[i].width : 0;
        n -= counts[i] * parts[i].width;
        below = parts[i].width;
    }
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Adds the iterations for n, `times` times, the widest part's rising by `rise` each time. */
static bool add_counts(const struct expand_part *parts, uint32_t count, uint64_t n, uint64_t times,
                       uint64_t rise, uint64_t sums[EXPAND_PARTS])
{
    __extension__ typedef unsigned __int128 wide;
    const uint32_t widest = next_part(parts, count, UINT64_MAX);
    uint64_t counts[EXPAND_PARTS];

    expand_counts(parts, count, n, counts);
    for (uint32_t i = 0; i < count; i++) {
        wide all = (wide)counts[i] * times + sums[i];
        if (i == widest && rise)
            all += (wide)times * (times - 1) / 2 * rise;
        if (all > PSNAP_COUNT_MAX)
            return false;
        sums[i] = (uint64_t)all;
    }
    return true;
}

bool expand_sums(const struct expand_part *parts, uint32_t count, uint64_t first, uint64_t stride,
                 uint64_t runs, uint64_t *steps, uint64_t sums[EXPAND_PARTS])
{
    const struct expand_part *widest = &parts[next_part(parts, count, UINT64_MAX)];
    uint64_t period;

    if (!stride || runs == 1)
        return add_counts(parts, count, first, runs, 0, sums);
    if ((int64_t)stride < 0) { /* the other way round */
        first += (runs - 1) * stride;
        stride = 0 - stride;
    }
    for (; runs && first < widest->from; runs--, first += stride, --*steps)
        if (!*steps || !add_counts(parts, count, first, 1, 0, sums))
            return false;
    period = widest->width / common_divisor(stride, widest->width);
    for (uint64_t k = 0; k < period && k < runs; k++, first += stride, --*steps)
        if (!*steps || !add_counts(parts, count, first, (runs - 1 - k) / period + 1,
                                   stride * period / widest->width, sums))
            return false;
    return true;
}
