/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model of an irregular reference from what its collector kept.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/gather_collect.h"

/* ---- the element, and steps ---- */

static size_t burst_length(const struct gather_collector *c, size_t burst)
{
    return burst + 1 == c->burst_count ? c->burst_fill : BURST;
}

/* The greatest number of bytes, up to 64, that divides all distances. */
static uint32_t element_of(const struct gather_collector *c)
{
    uint64_t divisor = 0;

    for (size_t i = 0; i < c->burst_count; i++)
        for (size_t j = 0; j < burst_length(c, i); j++) {
            uint64_t a = c->bursts[i][j] - c->low;
            while (a) {
                const uint64_t rest = divisor % a;
                divisor = a;
                a = rest;
            }
        }
    if (!divisor)
        return 8;
    while (divisor > 64 && divisor % 2 == 0)
        divisor /= 2;
    return divisor > 64 ? 1 : (uint32_t)divisor;
}

struct stride {
    int64_t bytes;
    uint64_t count;
};

static int more_often(const void *a, const void *b)
{
    const struct stride *x = a, *y = b;

    return x->count != y->count ? (x->count < y->count) - (x->count > y->count)
                                : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static void fit_steps(const struct gather_collector *c, struct gather_area *m)
{
    struct stride strides[2 * GATHER_STEP_MAX + 1];
    uint64_t total = 0, counts[GATHER_STEPS + 1][GATHER_STEPS + 1] = {0};
    const double by_chance = 2.0 * m->element_bytes / (double)m->span_bytes;

    for (int64_t i = 0; i <= 2 * GATHER_STEP_MAX; i++)
        strides[i] = (struct stride){i - GATHER_STEP_MAX, 0};
    for (size_t i = 0; i < c->burst_count; i++)
        for (size_t j = 1; j < burst_length(c, i); j++) {
            const int64_t stride = (int64_t)(c->bursts[i][j] - c->bursts[i][j - 1]);
            total++;
            if (stride >= -GATHER_STEP_MAX && stride <= GATHER_STEP_MAX)
                strides[stride + GATHER_STEP_MAX].count++;
        }
    qsort(strides, 2 * GATHER_STEP_MAX + 1, sizeof strides[0], more_often);
    m->step_count = 0;
    while (m->step_count < GATHER_STEPS &&
           (double)strides[m->step_count].count > (0.02 + by_chance) * (double)total) {
        m->steps[m->step_count] = strides[m->step_count].bytes;
        m->step_count++;
    }
    for (size_t i = 0; i < c->burst_count; i++) {
        uint32_t last = 0;
        for (size_t j = 1; j < burst_length(c, i); j++) {
            const int64_t stride = (int64_t)(c->bursts[i][j] - c->bursts[i][j - 1]);
            uint32_t kind = 0;
            for (uint32_t k = 0; k < m->step_count; k++)
                if (m->steps[k] == stride)
                    kind = k + 1;
            counts[last][kind] += j > 1;
            last = kind;
        }
    }
    for (uint32_t i = 0; i <= m->step_count; i++) {
        uint64_t sum = 0;
        for (uint32_t j = 0; j <= m->step_count; j++)
            sum += counts[i][j];
        for (uint32_t j = 0; j <= m->step_count; j++)
            m->next[i][j] = sum ? (double)counts[i][j] / (double)sum : j == 0;
    }
}

/* ---- anywhere ---- */

static void fit_parts(const struct gather_collector *c, struct gather_area *m)
{
    const double size = ldexp(1, (int)c->block_shift), part = (double)m->span_bytes / GATHER_PARTS;
    double chi = 0;

    memset(m->parts, 0, sizeof m->parts);
    m->part_count = GATHER_PARTS;
    for (size_t i = 0; i < BLOCKS; i++) {
        /* a block's bytes within the span, evenly over the parts that it overlaps */
        double from = (double)((c->block_origin + i) << c->block_shift) - (double)m->base;
        double to = from + size;
        if (!c->blocks[i])
            continue;
        from = from < 0 ? 0 : from;
        to = to > (double)m->span_bytes ? (double)m->span_bytes : to;
        for (size_t p = (size_t)(from / part); p < GATHER_PARTS && (double)p * part < to; p++) {
            const double low = fmax(from, (double)p * part),
                         high = fmin(to, (double)(p + 1) * part);
            if (high > low)
                m->parts[p] += (double)c->blocks[i] / (double)c->count * (high - low) / (to - from);
        }
    }
    for (size_t p = 0; p < GATHER_PARTS; p++)
        chi = fmax(chi, fabs(m->parts[p] * GATHER_PARTS - 1));
    if (chi < 0.05) {
        m->part_count = 1;
        m->parts[0] = 1;
    }
}

struct spread {
    double entries, mean, dispersion; /* variance over mean, of visits */
    double once, same;
};

static struct spread spread_of(const struct gather_table *table)
{
    struct spread s = {0};
    double sum = 0, squares = 0;

    for (size_t i = 0; i < (size_t)1 << table->bits; i++) {
        const struct gather_sample *sample = &table->slots[i];
        if (!sample->key)
            continue;
        s.entries++;
        sum += sample->visits;
        squares += (double)sample->visits * sample->visits;
        s.once += sample->visits == 1;
        s.same += sample->same_gaps;
    }
    s.mean = sum / s.entries;
    s.dispersion = (squares / s.entries - s.mean * s.mean) / s.mean;
    s.once /= s.entries;
    s.same /= sum - 2 * s.entries > 0 ? sum - 2 * s.entries : 1;
    return s;
}

static uint64_t within(const struct gather_area *m, uint64_t address)
{
    return address < m->base ? m->base : address;
}

static double part_share(const struct gather_area *m, uint64_t address)
{
    const uint64_t p = (address - m->base) * m->part_count / m->span_bytes;

    return m->parts[p < m->part_count ? p : m->part_count - 1] * m->part_count;
}

enum { CLASS_OCTAVES = 64, CLASS_SAMPLES = 8, HOT_LINES = 700 };

static int class_octave(double relative)
{
    const int octave = (int)floor(log2(relative)) + 32;

    return octave < 0 ? 0 : octave >= CLASS_OCTAVES ? CLASS_OCTAVES - 1 : octave;
}

static unsigned zeros_of(uint64_t line)
{
    const unsigned zeros = line ? (unsigned)__builtin_ctzll(line) : 31;

    return zeros < 31 ? zeros : 31;
}

/* Of which power of two four in five are multiples, when there are enough to tell; the lines have
   to have room. */
static uint32_t spacing_of(const uint32_t *aligned, double share)
{
    uint32_t all = 0, fewer = 0, zeros = 0;

    for (int i = 0; i < 32; i++)
        all += aligned[i];
    if (all < 3)
        return 1;
    while (zeros < 20 && (fewer += aligned[zeros]) * 5 <= all && ldexp(share, (int)zeros + 1) <= 1)
        zeros++;
    return UINT32_C(1) << zeros;
}

/*
 * Lines by octaves of their visits, in relation to what their part of the span has. A sample tells
 * how many there are of those that are many; of the few that are used most it may have none, or too
 * many: they are counted.
 */
static bool fit_classes(const struct gather_collector *c, struct gather_area *m)
{
    double lines[CLASS_OCTAVES] = {0}, jumps[CLASS_OCTAVES] = {0}, hot_lines[CLASS_OCTAVES] = {0};
    double hot_jumps[CLASS_OCTAVES] = {0}, squares = 0, sum = 0;
    uint32_t aligned[CLASS_OCTAVES][32] = {0}; /* by zero bits at the end of the line's number */
    const struct gather_table *t = &c->lines;
    const double rate = ldexp(1, -(int)t->shift);
    const double all_lines = fmax(t->count / rate, (double)m->span_bytes / 64);
    const double mean = (double)c->visits / all_lines;

    m->class_count = 1;
    m->classes[0] = (struct gather_class){1, 1, 1};
    for (size_t i = 0; i < (size_t)1 << c->lines.bits; i++) {
        const struct gather_sample *s = &t->slots[i];
        double relative;
        if (!s->key)
            continue;
        relative = s->visits / (mean * fmax(0.01, part_share(m, within(m, (s->key - 1) << 6))));
        squares += (relative - 1) * (relative - 1) / rate;
        lines[class_octave(relative)] += 1 / rate;
        jumps[class_octave(relative)] += relative / rate;
        aligned[class_octave(relative)][zeros_of(s->key - 1)]++;
    }
    squares += all_lines - t->count / rate; /* lines that were never visited */
    for (size_t i = 0; i < 1 << HOT_BITS; i++) {
        const struct gather_hot *hot = &c->hot[i];
        double relative;
        if (!hot->key || hot->visits < 16)
            continue;
        relative = (double)hot->visits /
                   (mean * fmax(0.01, part_share(m, within(m, (hot->key - 1) << 6))));
        if (relative < 4)
            continue;
        squares += t->shift ? relative * relative : 0;
        hot_lines[class_octave(relative)]++;
        hot_jumps[class_octave(relative)] += relative;
        aligned[class_octave(relative)][zeros_of(hot->key - 1)]++;
    }
    if (squares / all_lines < 0.1 + 1.3 / mean)
        return true;
    for (int i = 0; i < CLASS_OCTAVES; i++) {
        if (t->shift && lines[i] < CLASS_SAMPLES / rate && i >= 35 && hot_lines[i] < HOT_LINES) {
            lines[i] = hot_lines[i];
            jumps[i] = hot_jumps[i];
        }
        sum += jumps[i];
    }
    m->class_count = 0;
    for (int i = CLASS_OCTAVES - 1; i >= 0; i--) {
        struct gather_class *class;
        if (!(lines[i] > 0))
            continue;
        if (m->class_count == GATHER_CLASSES) {
            class = &m->classes[GATHER_CLASSES - 1];
            class->spacing = 1;
            class->lines += lines[i] / all_lines;
            class->jumps += jumps[i] / sum;
        } else {
            m->classes[m->class_count++] = (struct gather_class){
                lines[i] / all_lines, jumps[i] / sum, spacing_of(aligned[i], lines[i] / all_lines)};
        }
    }
    return true;
}

/* ---- once, band, cursors ---- */

/* Variance over mean of counts of random visits, of those places only that have one: a Poisson
   distribution without its zeros. */
static double random_dispersion(double mean)
{
    double low = 0, high = mean;

    for (int i = 0; i < 50; i++) {
        const double rate = (low + high) / 2;
        if (rate / -expm1(-rate) < mean)
            low = rate;
        else
            high = rate;
    }
    return 1 + low - mean;
}

/* Each address as often as any other, or once more when a lap is under way. */
static bool fit_once(const struct gather_collector *c, struct gather_area *m)
{
    const struct spread a = spread_of(&c->addresses);
    const double distinct = a.entries * ldexp(1, (int)c->addresses.shift);
    double run = 1, jumps = 0, all = 0;

    if (distinct < 64 || a.dispersion > 0.4 * random_dispersion(a.mean))
        return false;
    /* runs are one place */
    for (size_t i = 0; i < c->burst_count; i++)
        for (size_t j = 1; j < burst_length(c, i); j++) {
            const int64_t stride = (int64_t)(c->bursts[i][j] - c->bursts[i][j - 1]);
            bool is_jump = true;
            for (uint32_t k = 0; k < m->step_count; k++)
                is_jump &= m->steps[k] != stride;
            jumps += is_jump;
            all++;
        }
    if (jumps > 0 && m->step_count)
        run = all / jumps;
    m->place_bytes = (uint64_t)((double)m->span_bytes / distinct * run / m->element_bytes + 0.5) *
                     m->element_bytes;
    if (m->place_bytes < m->element_bytes)
        m->place_bytes = m->element_bytes;
    m->lap = m->span_bytes / m->place_bytes;
    m->lap += !m->lap;
    m->same_order = a.same > 0.8;
    m->places = GATHER_ONCE;
    return true;
}

static int ascending(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* The middle of the shortest interval that holds half of a burst, and its length. */
static uint64_t middle_of(const uint64_t *burst, size_t n, uint64_t *length)
{
    uint64_t sorted[BURST], best = UINT64_MAX, middle = 0;

    memcpy(sorted, burst, n * sizeof *burst);
    qsort(sorted, n, sizeof *sorted, ascending);
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
        qsort(near, count, sizeof *near, ascending);
        point = near[count / 2];
    }
    return point;
}

static int ascending_signed(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static bool fit_band(const struct gather_collector *c, struct gather_area *m)
{
    static const size_t room = (size_t)BURST * BURSTS;
    uint64_t points[BURSTS], widths[BURSTS], sorted[BURSTS], width;
    int64_t *offsets;
    double laps = 1;
    size_t n = 0, up = 0, down = 0, inside = 0;

    for (size_t i = 0; i < c->burst_count; i++)
        if (burst_length(c, i) == BURST) {
            points[n] = point_of(c->bursts[i], BURST, &widths[n]);
            n++;
        }
    if (n < 8)
        return false;
    memcpy(sorted, widths, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, ascending);
    width = sorted[n / 2];
    memcpy(sorted, points, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, ascending);
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
    offsets = malloc(room * sizeof *offsets);
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
    m->lap = (uint64_t)((double)c->count / laps);
    m->places = GATHER_BAND;
    return true;
}

/* Lines that are filled step by step, by octaves of how long a step takes. */
static bool fit_cursors(const struct gather_collector *c, struct gather_area *m)
{
    uint64_t sum = 0;
    double shares[64] = {0}, gaps[64] = {0}, total = 0;
    size_t best = 128;

    for (size_t i = 0; i < 256; i++) {
        sum += i != 128 ? c->deltas[i] : 0;
        if (i != 128 && (best == 128 || c->deltas[i] > c->deltas[best]))
            best = i;
    }
    if (sum < 100 || (double)c->deltas[best] < 0.8 * (double)sum)
        return false;
    for (size_t i = 0; i < (size_t)1 << c->lines.bits; i++) {
        const struct gather_sample *sample = &c->lines.slots[i];
        double gap;
        if (!sample->key || sample->steps < 3)
            continue;
        gap = (double)sample->step_gaps / sample->steps;
        shares[(int)log2(gap)]++;
        gaps[(int)log2(gap)] += gap;
        total++;
    }
    if (!total)
        return false;
    for (size_t i = 0; i < 64; i++)
        if (shares[i] > 0.005 * total && m->cursor_classes < GATHER_CLASSES) {
            struct gather_cursors *of = &m->cursors[m->cursor_classes++];
            of->share = shares[i] / total;
            of->count = (uint64_t)(of->share * gaps[i] / shares[i] + 0.5);
            of->count += !of->count;
            of->count = of->count < GATHER_CURSORS_MAX ? of->count : GATHER_CURSORS_MAX;
        }
    m->cursor_step = (int64_t)best - 128;
    m->places = GATHER_CURSORS;
    return true;
}

static bool is_step(const struct gather_area *m, int64_t stride)
{
    for (uint32_t k = 0; k < m->step_count; k++)
        if (m->steps[k] == stride)
            return true;
    return false;
}

/* The burst with most jumps but for `other`: the begin or the end of an era may have got into it.
 */
static size_t wildest_burst(const struct gather_collector *c, const struct gather_area *m,
                            size_t other)
{
    size_t wildest = SIZE_MAX, most = 0;

    for (size_t i = 0; i < c->burst_count; i++) {
        size_t jumps = 0;
        for (size_t j = 1; j < burst_length(c, i); j++)
            jumps += !is_step(m, (int64_t)(c->bursts[i][j] - c->bursts[i][j - 1]));
        if (i != other && jumps > most) {
            most = jumps;
            wildest = i;
        }
    }
    return wildest;
}

/* Steps and jumps nearly all lead the same way. */
static bool fit_sweep(const struct gather_collector *c, struct gather_area *m)
{
    uint64_t up[2] = {0}, down[2] = {0}, rest = 0; /* of steps, of jumps */
    double moved = 0;
    const size_t wild = c->burst_count < 16 ? SIZE_MAX : wildest_burst(c, m, SIZE_MAX);
    const size_t wild2 = c->burst_count < 16 ? SIZE_MAX : wildest_burst(c, m, wild);

    for (size_t i = 0; i < c->burst_count; i++)
        for (size_t j = 1; j < burst_length(c, i) && i != wild && i != wild2; j++) {
            const int64_t stride = (int64_t)(c->bursts[i][j] - c->bursts[i][j - 1]);
            const bool is_jump = !is_step(m, stride);

            up[is_jump] += stride >= 0;
            down[is_jump] += stride <= 0;
            if (is_jump && llabs(stride) < (int64_t)(m->span_bytes / 16)) {
                moved += (double)stride;
                rest++;
            }
        }
    for (int k = 0; k < 2; k++)
        if ((double)up[k] < 0.97 * (double)(up[k] + down[k]) &&
            (double)down[k] < 0.97 * (double)(up[k] + down[k]) && up[k] + down[k] > 10)
            return false;
    m->sweep_bytes = rest ? (int64_t)floor(moved / (double)rest / m->element_bytes + 0.5) : 1;
    m->sweep_bytes *= m->element_bytes;
    m->places = GATHER_SWEEP;
    return true;
}

/* What of the span bursts reach, when that changes. */
static bool fit_reach(const struct gather_collector *c, struct gather_area *m)
{
    double low[BURSTS], high[BURSTS], moved = 0;
    size_t n = 0;

    for (size_t i = 0; i < c->burst_count; i++) {
        uint64_t least = UINT64_MAX, most = 0;
        if (burst_length(c, i) < BURST)
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
    {
        const double change = fabs(low[n - 1] - low[0]) + fabs(high[n - 1] - high[0]);
        if (change < 0.2 || moved > 2 * change)
            return false;
    }
    m->knot_count = GATHER_KNOTS;
    for (size_t k = 0; k < GATHER_KNOTS; k++) {
        const uint64_t half = BURST / 2;
        const double at = (double)k / (GATHER_KNOTS - 1) * (double)c->count;
        size_t i = 1;
        while (i + 1 < n && (double)(c->burst_at[i] + half) < at)
            i++;
        {
            const double from = (double)(c->burst_at[i - 1] + half);
            const double x = (at - from) / ((double)(c->burst_at[i] + half) - from);
            m->knots[k].low = fmin(1, fmax(0, low[i - 1] + x * (low[i] - low[i - 1])));
            m->knots[k].high =
                fmin(1, fmax(m->knots[k].low, high[i - 1] + x * (high[i] - high[i - 1])));
        }
    }
    m->part_count = 1;
    m->parts[0] = 1;
    return true;
}

#define NEAR_ENOUGH 0.004 /* of a model without echoes */

enum { ECHOES_FIT = 15 }; /* octaves that are compared */

/* Visits of lines by octave of the accesses since the last, as the model has them. */
static bool draw_gaps(const struct gather_area *m, size_t n, double gaps[64])
{
    struct gather_collector *measure = gather_collector_new();
    struct psnap_gather *model = calloc(1, sizeof *model);
    struct gather_walk *walk = NULL;
    bool good = measure && model;

    if (good) {
        model->accesses = m->accesses;
        model->area_count = 1;
        model->areas[0] = *m;
        model->next_area[0][0] = 1;
        walk = gather_walk_new(model, 1);
        good = walk;
    }
    for (size_t i = 0; i < n && good; i++) {
        uint64_t address;
        gather_walk_next(walk, NULL, &address, 1);
        gather_collector_put(measure, address);
    }
    if (good)
        gather_collector_gaps(measure, gaps);
    gather_walk_free(walk);
    gather_collector_free(measure);
    free(model);
    return good;
}

/* Mean difference of the shares of visits that come within an octave or sooner. */
static double gaps_apart(const double *a, const double *b)
{
    double x = 0, y = 0, sum = 0;

    for (int i = 0; i < ECHOES_FIT; i++) {
        x += a[i];
        y += b[i];
        sum += fabs(x - y);
    }
    return sum / ECHOES_FIT;
}

/*
 * What comes back soon more often than the model has it: the model is drawn from and measured.
 * Returns how far it is off then, and leaves how far it was off before.
 */
static double fit_echoes(const struct gather_collector *c, struct gather_area *m, double *raw)
{
    enum { DRAWN = 1 << 17, ROUNDS = 4 };
    double wanted[64], drawn[64] = {0}, apart = 1;
    struct gather_area best = *m;
    const size_t n = c->count < DRAWN ? c->count : DRAWN;

    gather_collector_gaps(c, wanted);
    for (int round = 0; round < ROUNDS; round++) {
        double sum = 0;
        if (!draw_gaps(m, n, drawn))
            return 1;
        if (round == 0)
            *raw = gaps_apart(wanted, drawn);
        if (gaps_apart(wanted, drawn) < apart) {
            apart = gaps_apart(wanted, drawn);
            best = *m;
        }
        if (apart < (round ? 0.002 : NEAR_ENOUGH))
            break;
        for (int i = 0; i < ECHOES_FIT; i++) {
            const double lack = wanted[i] - drawn[i];
            m->echoes[i] = fmax(0, m->echoes[i] + 0.7 * lack);
            sum += m->echoes[i];
        }
        for (int i = 0; i < ECHOES_FIT && sum > 0.99; i++)
            m->echoes[i] *= 0.99 / sum;
    }
    *m = best;
    return apart;
}

/* The share of a line's accesses that go to one element of it, from how often two visits go to the
   same. */
static double fixed_share(const struct gather_collector *c, const struct gather_area *m)
{
    const double one = m->element_bytes >= 64 ? 1 : m->element_bytes / 64.0;
    double all = 0, same;

    for (size_t i = 0; i < 256; i++)
        all += (double)c->deltas[i];
    if (all < 100 || one >= 1)
        return 0;
    same = ((double)c->deltas[128] / all - one) / (1 - one);
    return same > 0.01 ? sqrt(same) : 0;
}

/* Of several ways to choose places the one that comes nearest to what was measured; of those that
   come near enough the first, which says most. */
static void choose_places(const struct gather_collector *c, struct gather_area *m)
{
    enum { WAYS = 5 };
    bool (*const fit[WAYS])(const struct gather_collector *, struct gather_area *) = {
        fit_once, fit_cursors, fit_band, fit_reach, fit_classes};
    struct gather_area best = *m;
    double least = 2;

    for (int i = 0; i < WAYS; i++) {
        struct gather_area way = *m;
        double apart, raw = 1;

        if (!fit[i](c, &way))
            continue;
        if (way.places == GATHER_ONCE && way.same_order) {
            *m = way;
            return;
        }
        apart = fit_echoes(c, &way, &raw);
        if (apart < least) {
            least = apart;
            best = way;
        }
        if (raw < NEAR_ENOUGH)
            break;
    }
    *m = best;
}

void gather_fit(const struct gather_collector *c, struct gather_area *m)
{
    memset(m, 0, sizeof *m);
    m->accesses = c->count;
    m->base = c->low;
    m->element_bytes = element_of(c);
    m->span_bytes = c->high - c->low + m->element_bytes;
    fit_steps(c, m);
    fit_parts(c, m);
    m->class_count = 1;
    m->classes[0] = (struct gather_class){1, 1, 1};
    m->fixed = fixed_share(c, m);
    if (!fit_sweep(c, m))
        choose_places(c, m);
}
