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

/* Each address as often as any other, or once more when a lap is under way; and not on and on by
 * steps, past all of them before a jump. */
bool gather_fit_once(const struct gather_collector *c, struct gather_area *m)
{
    const struct spread a = spread_of(&c->addresses);
    const double distinct = (double)c->addresses.distinct;
    const uint32_t unit = m->grid_bytes ? m->grid_bytes : m->element_bytes;
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
    m->place_bytes = (uint64_t)((double)m->span_bytes / distinct * run / unit + 0.5) * unit;
    if (m->place_bytes < unit)
        m->place_bytes = unit;
    if (m->place_bytes > m->span_bytes)
        return false;
    m->lap = m->span_bytes / m->place_bytes;
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

/* Lines whose visits are within an octave of what their part of the span gives them. */
struct octave {
    double lines, due, jumps;    /* as the sample has them; due: visits that parts give them */
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

/* What is known of lines, of which there are `all` with those that were never visited. */
struct usage {
    const struct gather_collector *c;
    const struct gather_area *m;
    double all, mean, rate; /* visits of a line; share of the lines that are sampled */
    double seen;            /* share of the visits while there was a sample */
    struct octave octaves[CLASS_OCTAVES];
};

/* The visits that a line has by its part of the span. */
static double due_to(const struct usage *u, uint64_t line)
{
    return (double)u->c->visits *
           (gather_share_below(u->m, (line + 1) << 6) - gather_share_below(u->m, line << 6));
}

/* How far off visits are, in relation to a tenth of what is due and of chance: 1 of each that is
 * due, or less, where lines of a part are alike. */
static double off_by(double visits, double due)
{
    return (visits - due) * (visits - due) / (0.1 * due + 1.3);
}

/* Of lines that were never visited, of a part where that can be told. */
static double never_visited(const struct usage *u, uint32_t part, double sampled)
{
    const struct gather_part *p = &u->m->parts[part];
    const double lines = u->m->part_count == 1
                             ? u->all
                             : (p->end - (part ? p[-1].end : 0)) * (double)u->m->span_bytes / 64;
    const double never = lines - sampled / u->rate;

    return never > 0 && lines * u->rate >= 4
               ? never * off_by(0, p->share * (double)u->c->seen / lines)
               : 0;
}

static void take_sample(struct usage *u, uint64_t line, double visits, double due)
{
    /* of what is seldom due a visit tells nothing */
    const bool is_known = due >= 1 || due >= u->mean / 4;
    struct octave *of = &u->octaves[class_octave(is_known ? visits / due : 1)];

    of->lines += 1 / u->rate;
    of->due += due / u->rate;
    of->jumps += (is_known ? visits : due) / u->rate;
    of->aligned[zeros_of(line)]++;
}

/* Fills the octaves. Whether lines of a part are used alike. */
static bool take_octaves(struct usage *u)
{
    const struct gather_table *t = &u->c->lines;
    double off = 0, sampled[GATHER_PARTS] = {0};

    for (size_t i = 0; i < (size_t)1 << t->bits; i++) {
        const struct gather_sample *s = &t->slots[i];
        uint32_t part = 0;
        double due, at;
        if (!s->key)
            continue;
        due = fmax(due_to(u, s->key - 1), 0.01 * u->mean);
        at = ((double)(s->key - 1) * 64 + 32 - (double)u->m->base) / (double)u->m->span_bytes;
        while (part + 1 < u->m->part_count && at >= u->m->parts[part].end)
            part++;
        sampled[part]++;
        off += off_by(s->visits, due * u->seen) / u->rate;
        take_sample(u, s->key - 1, s->visits / u->seen, due);
    }
    for (uint32_t i = 0; i < u->m->part_count; i++)
        off += never_visited(u, i, sampled[i]);
    for (size_t i = 0; i < 1 << HOT_BITS; i++) {
        const struct gather_hot *hot = &u->c->hot[i];
        const double due =
            u->c->hot_keys[i] ? fmax(due_to(u, u->c->hot_keys[i] - 1), 0.01 * u->mean) : 0;
        const double visits = (double)hot->visits * gather_unwatched(u->c);
        struct octave *of;
        if (!u->c->hot_keys[i] || hot->visits < 16 || visits < 4 * due)
            continue;
        of = &u->octaves[class_octave(visits / due)];
        off += t->shift ? off_by(visits * u->seen, due * u->seen) : 0;
        of->hot_lines++;
        of->hot_jumps += visits;
        of->aligned[zeros_of(u->c->hot_keys[i] - 1)]++;
    }
    return off < (double)u->c->seen;
}

/*
 * Lines by octaves of their visits, in relation to what their part of the span has. A sample tells
 * how many there are of those that are many; of the few that are used most it may have none, or too
 * many: they are counted.
 */
bool gather_fit_classes(const struct gather_collector *c, struct gather_area *m)
{
    const double rate = c->lines.count / (double)c->lines.distinct;
    const double all_lines = fmax((double)c->lines.distinct, (double)m->span_bytes / 64);
    const double seen = (double)c->seen / (double)c->visits;
    struct usage u = {c, m, all_lines, (double)c->visits / all_lines, rate, seen, {{0}}};
    double sum = 0;

    if (!c->seen || take_octaves(&u))
        return true;
    for (int i = 0; i < CLASS_OCTAVES; i++) {
        struct octave *of = &u.octaves[i];
        if (c->lines.shift && of->lines < (double)CLASS_SAMPLES / rate && i >= 35 &&
            of->hot_lines < (double)HOT_LINES) {
            of->lines = of->hot_lines;
            of->due = of->hot_lines * u.mean;
            of->jumps = of->hot_jumps;
        }
        sum += of->jumps;
    }
    m->class_count = 0;
    for (int i = CLASS_OCTAVES - 1; i >= 0; i--) {
        const struct octave *of = &u.octaves[i];
        const double share = of->due / (double)c->visits;
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
    /* a sample may have too many of what is hot */
    for (uint32_t i = 0; i < m->class_count; i++)
        m->classes[i].lines = fmin(m->classes[i].lines, 1);
    return true;
}
