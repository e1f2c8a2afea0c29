/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Candidates for how places are chosen that bursts give, runs of accesses that are kept from time
 * to time. Sweep: nearly all strides lead the same way. Band: half of a burst lies close together,
 * and where that is moves through the span, lap after lap. Reach: what of the span bursts touch
 * changes, and not to and fro.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/gathers/gather_fit.h"

/* ---- sweep ---- */

/* The burst with most jumps but for `other`: the begin or the end of an era may have got into it.
 */
static size_t wildest_burst(const struct gather_collector *c, const struct gather_area *m,
                            size_t other)
{
    size_t wildest = SIZE_MAX, most = 0;

    for (size_t i = 0; i < c->burst_count; i++) {
        size_t jumps = 0;
        for (size_t j = 1; j < gather_burst_length(c, i); j++)
            jumps += gather_kind(m, gather_stride(c, i, j)) == 0;
        if (i != other && jumps > most) {
            most = jumps;
            wildest = i;
        }
    }
    return wildest;
}

/* Steps and jumps nearly all lead the same way. */
bool gather_fit_sweep(const struct gather_collector *c, struct gather_area *m)
{
    uint64_t up[2] = {0}, down[2] = {0}, rest = 0; /* of steps, of jumps */
    double moved = 0;
    const size_t wild = c->burst_count < 16 ? SIZE_MAX : wildest_burst(c, m, SIZE_MAX);
    const size_t wild2 = c->burst_count < 16 ? SIZE_MAX : wildest_burst(c, m, wild);

    for (size_t i = 0; i < c->burst_count; i++)
        for (size_t j = 1; j < gather_burst_length(c, i) && i != wild && i != wild2; j++) {
            const int64_t stride = gather_stride(c, i, j);
            const bool is_jump = gather_kind(m, stride) == 0;

            up[is_jump] += stride >= 0;
            down[is_jump] += stride <= 0;
            if (is_jump && llabs(stride) < (int64_t)(m->span_bytes / 16)) {
                moved += (double)stride;
                rest++;
            }
        }
    for (int k = 0; k < 2 && !c->is_sweep; k++)
        if ((double)up[k] < 0.97 * (double)(up[k] + down[k]) &&
            (double)down[k] < 0.97 * (double)(up[k] + down[k]) && up[k] + down[k] > 10)
            return false;
    m->sweep_bytes = rest ? (int64_t)floor(moved / (double)rest / m->element_bytes + 0.5) : 1;
    m->sweep_bytes *= m->element_bytes;
    m->places = GATHER_SWEEP;
    return true;
}

/* ---- band ---- */

/* The middle of the shortest interval that holds half of a burst, and its length. */
static uint64_t middle_of(const uint64_t *burst, size_t n, uint64_t *length)
{
    uint64_t sorted[BURST], best = UINT64_MAX, middle = 0;

    memcpy(sorted, burst, n * sizeof *burst);
    qsort(sorted, n, sizeof *sorted, gather_ascending);
    for (size_t i = 0; i + n / 2 < n; i++) {
        const uint64_t width = sorted[i + n / 2] - sorted[i];
        if (width < best) {
            best = width;
            middle = sorted[i] + width / 2;
        }
    }
    *length = best;
    return middle;
}

/* Where the band is in a burst: the middle of what lies near. Leaves how wide half of that is. */
static uint64_t point_of(const uint64_t *burst, size_t n, uint64_t *width)
{
    uint64_t near[BURST], point = middle_of(burst, n, width);
    const uint64_t reach = 2 * *width + 64;

    for (int round = 0; round < 3; round++) {
        size_t count = 0;
        for (size_t i = 0; i < n; i++)
            if ((burst[i] < point ? point - burst[i] : burst[i] - point) <= reach)
                near[count++] = burst[i];
        qsort(near, count, sizeof *near, gather_ascending);
        point = near[count / 2];
    }
    return point;
}

static int ascending_signed(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* How far from the points their bursts lie, and which share of them does so near enough; false: out
   of memory. */
static bool fit_offsets(const struct gather_collector *c, const uint64_t *points, size_t n,
                        uint64_t width, struct gather_area *m)
{
    int64_t *offsets = malloc((size_t)BURST * BURSTS * sizeof *offsets);
    size_t inside = 0;

    if (!offsets)
        return false;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < BURST; j++) {
            const int64_t offset = (int64_t)(c->bursts[i][j] - points[i]);
            if ((uint64_t)llabs(offset) <= 3 * width + 8 * m->element_bytes)
                offsets[inside++] = offset / m->element_bytes;
        }
    qsort(offsets, inside, sizeof *offsets, ascending_signed);
    for (size_t i = 0; i < GATHER_QUANTILES; i++)
        m->offsets[i] = offsets[(size_t)(gather_quantiles[i] * (double)(inside - 1))];
    free(offsets);
    m->inside = (double)inside / (double)(n * BURST);
    return true;
}

bool gather_fit_band(const struct gather_collector *c, struct gather_area *m)
{
    uint64_t points[BURSTS], widths[BURSTS], sorted[BURSTS], width;
    double laps = 1;
    size_t n = 0, up = 0, down = 0;

    for (size_t i = 0; i < c->burst_count; i++)
        if (gather_burst_length(c, i) == BURST) {
            points[n] = point_of(c->bursts[i], BURST, &widths[n]);
            n++;
        }
    if (n < 8)
        return false;
    memcpy(sorted, widths, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, gather_ascending);
    width = sorted[n / 2];
    memcpy(sorted, points, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, gather_ascending);
    if (width * 16 > m->span_bytes || (sorted[n - 1] - sorted[0]) < 8 * width)
        return false;
    for (size_t i = 1; i < n; i++) {
        up += points[i] > points[i - 1];
        down += points[i] < points[i - 1];
    }
    m->downwards = down > up;
    if ((m->downwards ? down : up) * 3 < (n - 1) * 2)
        return false; /* it wanders */
    for (size_t i = 1; i < n; i++)
        laps += m->downwards ? points[i] > points[i - 1] + m->span_bytes / 4
                             : points[i] + m->span_bytes / 4 < points[i - 1];
    if (!fit_offsets(c, points, n, width, m))
        return false;
    m->lap = (uint64_t)((double)c->count / laps);
    m->places = GATHER_BAND;
    return true;
}

/* ---- reach ---- */

enum { NEAR_BURSTS = 5 }; /* through which a line is laid */

/* The least squares of the bursts nearest to this moment, of which there are enough: a burst shows
   the reach nearly, and two may lie side by side. */
static double reach_at(const struct gather_collector *c, const double *reach, size_t n, double at)
{
    const double nearest = NEAR_BURSTS, half = (double)BURST / 2;
    double x = 0, y = 0, xx = 0, xy = 0;
    size_t from = 0;

    while (from + NEAR_BURSTS < n &&
           (double)c->burst_at[from + NEAR_BURSTS] - at < at - (double)c->burst_at[from])
        from++;
    for (size_t i = from; i < from + NEAR_BURSTS; i++) {
        x += ((double)c->burst_at[i] + half) / nearest;
        y += reach[i] / nearest;
    }
    for (size_t i = from; i < from + NEAR_BURSTS; i++) {
        const double away = (double)c->burst_at[i] + half - x;
        xx += away * away;
        xy += away * (reach[i] - y);
    }
    return fmin(1, fmax(0, y + (at - x) * xy / xx));
}

/* The reach at even moments. */
static void fit_knots(const struct gather_collector *c, const double *low, const double *high,
                      size_t n, struct gather_area *m)
{
    m->knot_count = GATHER_KNOTS;
    for (size_t k = 0; k < GATHER_KNOTS; k++) {
        const double at = (double)k / (GATHER_KNOTS - 1) * (double)c->count;
        m->knots[k].low = reach_at(c, low, n, at);
        m->knots[k].high = fmax(m->knots[k].low, reach_at(c, high, n, at));
    }
}

bool gather_fit_reach(const struct gather_collector *c, struct gather_area *m)
{
    double low[BURSTS], high[BURSTS], moved = 0, change;
    size_t n = 0;

    for (size_t i = 0; i < c->burst_count; i++) {
        uint64_t least = UINT64_MAX, most = 0;
        if (gather_burst_length(c, i) < BURST)
            continue;
        for (size_t j = 0; j < BURST; j++) {
            least = c->bursts[i][j] < least ? c->bursts[i][j] : least;
            most = c->bursts[i][j] > most ? c->bursts[i][j] : most;
        }
        low[n] = (double)(least - m->base) / (double)m->span_bytes;
        high[n] = (double)(most - m->base + m->element_bytes) / (double)m->span_bytes;
        n++;
    }
    if (n < 8)
        return false;
    for (size_t i = 1; i < n; i++)
        moved += fabs(low[i] - low[i - 1]) + fabs(high[i] - high[i - 1]);
    change = fabs(low[n - 1] - low[0]) + fabs(high[n - 1] - high[0]);
    if (change < 0.2 || moved > 2 * change)
        return false;
    fit_knots(c, low, high, n, m);
    m->part_count = 1;
    m->parts[0] = (struct gather_part){1, 1};
    return true;
}
