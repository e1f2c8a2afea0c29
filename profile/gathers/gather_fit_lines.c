/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Candidates for how places are chosen that the samples of lines and of addresses give. Once: each
 * is visited as often as any other, so that the counts of visits spread less than random ones do.
 * Cursors: nearly always a line's next visit is the same distance further in it, and the time that
 * takes tells how many cursors there are. Anywhere: independent draws, lines by octaves of how
 * often they are visited.
 */
#include <math.h>

#include "profile/gathers/gather_fit.h"

/* ---- once ---- */

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
bool gather_fit_once(const struct gather_collector *c, struct gather_area *m)
{
    const struct spread a = spread_of(&c->addresses);
    const double distinct = (double)c->addresses.distinct;
    double run = 1, jumps = 0, all = 0;

    if (distinct < 64 || a.dispersion > 0.4 * random_dispersion(a.mean))
        return false;
    /* runs are one place */
    for (size_t i = 0; i < c->burst_count; i++)
        for (size_t j = 1; j < gather_burst_length(c, i); j++) {
            jumps += gather_kind(m, gather_stride(c, i, j)) == 0;
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

/* ---- cursors ---- */

/* Lines that are filled step by step, by octaves of how long a step takes. */
bool gather_fit_cursors(const struct gather_collector *c, struct gather_area *m)
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
    if (total == 0)
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

/* ---- anywhere, by classes ---- */

enum { CLASS_OCTAVES = 64, CLASS_SAMPLES = 8, HOT_LINES = 700 };

/* Lines whose visits are within an octave. */
struct octave {
    double lines, jumps;         /* as the sample has them */
    double hot_lines, hot_jumps; /* as they were counted */
    uint32_t aligned[32];        /* by zero bits at the end of the line's number */
};

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

static double part_share(const struct gather_area *m, uint64_t address)
{
    const uint64_t p = (address - m->base) * m->part_count / m->span_bytes;

    return m->parts[p < m->part_count ? p : m->part_count - 1] * m->part_count;
}

/* A line's visits, in relation to `mean` of a line and to what its part of the span has. */
static double relative_use(const struct gather_area *m, double mean, uint64_t line, double visits)
{
    const uint64_t address = line << 6;

    return visits / (mean * fmax(0.01, part_share(m, address < m->base ? m->base : address)));
}

/* Fills the octaves; returns the mean square of how far lines are from the mean, of which there
   are `all_lines`. */
static double take_octaves(const struct gather_collector *c, const struct gather_area *m,
                           double all_lines, struct octave *octaves)
{
    const struct gather_table *t = &c->lines;
    const double rate = t->count / (double)t->distinct, mean = (double)c->visits / all_lines;
    const double seen = (double)t->seen / all_lines;
    double squares = 0;

    for (size_t i = 0; i < (size_t)1 << t->bits; i++) {
        const struct gather_sample *s = &t->slots[i];
        struct octave *of;
        double relative;
        if (!s->key)
            continue;
        relative = relative_use(m, seen, s->key - 1, s->visits);
        of = &octaves[class_octave(relative)];
        squares += (relative - 1) * (relative - 1) / rate;
        of->lines += 1 / rate;
        of->jumps += relative / rate;
        of->aligned[zeros_of(s->key - 1)]++;
    }
    squares += all_lines - (double)t->distinct; /* lines that were never visited */
    for (size_t i = 0; i < 1 << HOT_BITS; i++) {
        const struct gather_hot *hot = &c->hot[i];
        struct octave *of;
        double relative;
        if (!c->hot_keys[i] || hot->visits < 16)
            continue;
        relative =
            relative_use(m, mean, c->hot_keys[i] - 1, (double)hot->visits * gather_unwatched(c));
        if (relative < 4)
            continue;
        of = &octaves[class_octave(relative)];
        squares += t->shift ? relative * relative : 0;
        of->hot_lines++;
        of->hot_jumps += relative;
        of->aligned[zeros_of(c->hot_keys[i] - 1)]++;
    }
    return squares / all_lines;
}

/*
 * Lines by octaves of their visits, in relation to what their part of the span has. A sample tells
 * how many there are of those that are many; of the few that are used most it may have none, or too
 * many: they are counted.
 */
bool gather_fit_classes(const struct gather_collector *c, struct gather_area *m)
{
    struct octave octaves[CLASS_OCTAVES] = {0};
    const double rate = c->lines.count / (double)c->lines.distinct;
    const double all_lines = fmax((double)c->lines.distinct, (double)m->span_bytes / 64);
    double sum = 0;

    if (take_octaves(c, m, all_lines, octaves) < 0.1 + 1.3 / ((double)c->lines.seen / all_lines))
        return true;
    for (int i = 0; i < CLASS_OCTAVES; i++) {
        struct octave *of = &octaves[i];
        if (c->lines.shift && of->lines < (double)CLASS_SAMPLES / rate && i >= 35 &&
            of->hot_lines < (double)HOT_LINES) {
            of->lines = of->hot_lines;
            of->jumps = of->hot_jumps;
        }
        sum += of->jumps;
    }
    m->class_count = 0;
    for (int i = CLASS_OCTAVES - 1; i >= 0; i--) {
        const struct octave *of = &octaves[i];
        const double share = of->lines / all_lines;
        if (!(of->lines > 0))
            continue;
        if (m->class_count == GATHER_CLASSES) {
            struct gather_class *last = &m->classes[GATHER_CLASSES - 1];
            last->spacing = 1;
            last->lines += share;
            last->jumps += of->jumps / sum;
        } else {
            m->classes[m->class_count++] =
                (struct gather_class){share, of->jumps / sum, spacing_of(of->aligned, share)};
        }
    }
    return true;
}
