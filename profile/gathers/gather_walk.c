/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses drawn from the model of an irregular reference.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/rng.h"
#include "profile/gathers/gather.h"

const double gather_quantiles[GATHER_QUANTILES] = {
    0,      0.01,  0.03,   0.0625, 0.125,  0.1875, 0.25,   0.3125, 0.375, 0.4375, 0.5,
    0.5625, 0.625, 0.6875, 0.75,   0.8125, 0.875,  0.9375, 0.97,   0.99,  1};

#define UNIT 64 /* bytes: what classes are of */

enum { HISTORY = 1 << 17 }; /* addresses that echoes come from */

/* Drawing from one area. */
struct area_walk {
    struct gather_area model;
    uint32_t next[GATHER_STEPS + 1][GATHER_STEPS + 1]; /* cumulative, of 2^32 */
    uint32_t kind;                                     /* of the last step */
    uint64_t at;                                       /* the last offset */
    uint64_t count, jumps;
    uint64_t elements;
    uint32_t parts[GATHER_PARTS];     /* cumulative, of 2^32 */
    uint8_t part_guide[257];          /* the part at which each 256th begins */
    uint32_t classes[GATHER_CLASSES]; /* cumulative, of 2^32 */
    double ranks[GATHER_CLASSES + 1];
    double quantiles[GATHER_PARTS + 1];
    uint32_t echoes[GATHER_ECHOES];
    double echo_share;
    uint64_t *history; /* a ring, when there are echoes */
    uint64_t order;
    uint32_t cursor_shares[GATHER_CLASSES];
    uint64_t cursor_first[GATHER_CLASSES];
    double cursor_from[GATHER_CLASSES];
    uint32_t *cursor_counts;
};

struct gather_walk {
    struct psnap_gather model;
    struct psnap_rng rng;
    struct area_walk *areas;
    uint32_t area, turn;
    uint64_t turn_left;
};

static uint32_t share(double x)
{
    return x >= 1 ? UINT32_MAX : x <= 0 ? 0 : (uint32_t)(x * 4294967296.0);
}

/* A one-to-one map of [0, n) onto itself, one of many. */
static uint64_t permuted(uint64_t x, uint64_t n, uint64_t order)
{
    const unsigned bits = n > 2 ? 64 - (unsigned)__builtin_clzll(n - 1) : 1;
    const uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    const unsigned shift = bits / 2 + (bits == 1);

    if (n < 2)
        return 0;
    do {
        x = (x + order) & mask;
        x ^= x >> shift;
        x = x * UINT64_C(0x9e3779b97f4a7c15) & mask;
        x ^= x >> shift;
        x = (x ^ order >> 20) & mask;
        x = x * UINT64_C(0xbf58476d1ce4e5b9) & mask;
        x ^= x >> shift;
        x = x * UINT64_C(0x94d049bb133111eb) & mask;
        x ^= x >> shift;
    } while (x >= n);
    return x;
}

static bool start_area(struct area_walk *w, const struct gather_area *model, uint64_t order)
{
    double sum;
    uint64_t cursors = 0;

    w->model = *model;
    w->order = order;
    w->elements = model->span_bytes / model->element_bytes;
    for (uint32_t i = 0; i <= model->step_count; i++) {
        sum = 0;
        for (uint32_t j = 0; j <= model->step_count; j++)
            w->next[i][j] = share(sum += model->next[i][j]);
        w->next[i][model->step_count] = UINT32_MAX;
    }
    sum = 0;
    for (uint32_t i = 0; i < model->part_count; i++) {
        w->quantiles[i] = sum;
        w->parts[i] = share(sum += model->parts[i]);
    }
    w->quantiles[model->part_count] = 1;
    w->parts[model->part_count - 1] = UINT32_MAX;
    for (uint32_t i = 0, part = 0; i < 257; i++) {
        while (part + 1 < model->part_count && w->quantiles[part + 1] * 256 <= i)
            part++;
        w->part_guide[i] = (uint8_t)part;
    }
    sum = 0;
    for (uint32_t i = 0; i < model->class_count; i++) {
        w->ranks[i + 1] = w->ranks[i] + model->classes[i].lines;
        w->classes[i] = share(sum += model->classes[i].jumps);
    }
    w->classes[model->class_count - 1] = UINT32_MAX;
    sum = 0;
    for (uint32_t i = 0; i < model->cursor_classes; i++) {
        w->cursor_from[i] = sum;
        w->cursor_shares[i] = share(sum += model->cursors[i].share);
        w->cursor_first[i] = cursors;
        cursors += model->cursors[i].count;
    }
    if (model->cursor_classes) {
        w->cursor_shares[model->cursor_classes - 1] = UINT32_MAX;
        w->cursor_counts = calloc(cursors, sizeof *w->cursor_counts);
        if (!w->cursor_counts)
            return false;
    }
    w->echo_share = 0;
    for (uint32_t i = 0; i < GATHER_ECHOES; i++)
        w->echo_share += model->echoes[i];
    sum = 0;
    for (uint32_t i = 0; w->echo_share > 0 && i < GATHER_ECHOES; i++)
        w->echoes[i] = share((sum += model->echoes[i]) / w->echo_share);
    w->echoes[GATHER_ECHOES - 1] = UINT32_MAX;
    if (w->echo_share > 0)
        w->history = calloc(HISTORY, sizeof *w->history);
    return !(w->echo_share > 0) || w->history;
}

struct gather_walk *gather_walk_new(const struct psnap_gather *model, uint64_t seed)
{
    struct gather_walk *w = calloc(1, sizeof *w);
    bool good = w;

    if (!w)
        return NULL;
    w->model = *model;
    w->areas = calloc(model->area_count + 1, sizeof *w->areas);
    good = w->areas;
    psnap_rng_init(&w->rng, seed);
    for (uint32_t i = 0; i < model->area_count && good; i++)
        good = start_area(&w->areas[i], &model->areas[i], psnap_rng_next(&w->rng));
    if (!good) {
        gather_walk_free(w);
        return NULL;
    }
    if (model->turn_count) {
        w->area = model->turns[0].area;
        w->turn_left = model->turns[0].accesses;
    }
    return w;
}

void gather_walk_free(struct gather_walk *walk)
{
    if (!walk)
        return;
    for (uint32_t i = 0; walk->areas && i < walk->model.area_count; i++) {
        free(walk->areas[i].cursor_counts);
        free(walk->areas[i].history);
    }
    free(walk->areas);
    free(walk);
}

static double unit(struct psnap_rng *rng)
{
    return (double)(psnap_rng_next(rng) >> 11) * 0x1p-53;
}

static uint32_t pick(const uint32_t *cumulative, uint32_t x)
{
    uint32_t i = 0;

    while (x >= cumulative[i] && cumulative[i] != UINT32_MAX)
        i++;
    return i;
}

/* An element in the line of that number, the first of which is that of the base. */
static uint64_t in_line(const struct area_walk *w, uint64_t line, struct psnap_rng *rng)
{
    const struct gather_area *m = &w->model;
    const uint64_t lead = m->base % UNIT;
    const uint64_t start = line * UNIT > lead ? line * UNIT - lead : 0;
    const uint64_t from = (start + m->element_bytes - 1) / m->element_bytes;
    const uint64_t to = (line * UNIT + UNIT - lead + m->element_bytes - 1) / m->element_bytes;
    const uint64_t n = to > from ? to - from : 1;
    const uint64_t element =
        from + (m->fixed > 0 && unit(rng) < m->fixed
                    ? (line * UINT64_C(0x9e3779b97f4a7c15) ^ w->order) % (n * 4) / 4
                    : psnap_rng_below(rng, n));

    return (element < w->elements ? element : w->elements - 1) * m->element_bytes;
}

static uint64_t anywhere(struct area_walk *w, struct psnap_rng *rng)
{
    const struct gather_area *m = &w->model;
    const uint64_t bits = psnap_rng_next(rng);
    const uint64_t units = (m->base % UNIT + m->span_bytes + UNIT - 1) / UNIT;
    uint32_t part = 0, class = 0;
    uint64_t low, n, line;
    double rank;

    if (m->part_count == 1 && m->class_count == 1)
        return psnap_rng_below(rng, w->elements) * m->element_bytes;
    if (m->part_count > 1) {
        part = w->part_guide[(uint32_t)bits >> 24];
        while ((uint32_t)bits >= w->parts[part] && w->parts[part] != UINT32_MAX)
            part++;
    }
    if (m->class_count == 1) {
        low = w->elements * part / m->part_count;
        n = w->elements * (part + 1) / m->part_count - low;
        return (low + psnap_rng_below(rng, n ? n : 1)) % w->elements * m->element_bytes;
    }
    class = pick(w->classes, (uint32_t)(bits >> 32));
    rank = w->ranks[class] + unit(rng) * m->classes[class].lines;
    low = 0;
    n = units;
    if (m->classes[class].lines * (double)units > 4 * m->part_count) {
        /* enough of them to be in every part */
        low = units * part / m->part_count;
        n = units * (part + 1) / m->part_count - low;
        n += !n;
    }
    line = (uint64_t)(rank * (double)n);
    if (m->classes[class].spacing > 1) {
        /* numbers of lines are those of memory: the first multiple is so far from the low end */
        const uint64_t spacing = m->classes[class].spacing;
        const uint64_t first = -(m->base / UNIT + low) & (spacing - 1);
        const uint64_t multiples = n > first ? (n - first - 1) / spacing + 1 : 1;
        line = low + first + permuted(line % multiples, multiples, w->order) * spacing;
        line = line < units ? line : units - 1;
    } else {
        line = low + permuted(line < n ? line : n - 1, n, w->order + (low ? part : 0));
    }
    return in_line(w, line, rng);
}

static uint64_t once(const struct area_walk *w)
{
    const uint64_t lap = w->model.lap, i = w->jumps % lap, n = w->jumps / lap;
    const uint64_t order = w->order + (w->model.same_order ? 0 : n * UINT64_C(0xd1342543de82ef95));

    return permuted(i, lap, order) * w->model.place_bytes;
}

static double quantile(const struct area_walk *w, double x)
{
    const uint32_t n = w->model.part_count;
    uint32_t i = w->part_guide[(uint32_t)(x * 256)];

    while (i + 1 < n && w->quantiles[i + 1] <= x)
        i++;
    return (i + (x - w->quantiles[i]) / fmax(1e-9, w->quantiles[i + 1] - w->quantiles[i])) / n;
}

static uint64_t band(struct area_walk *w, struct psnap_rng *rng)
{
    const struct gather_area *m = &w->model;
    double x;
    uint32_t i;
    int64_t point;

    if (unit(rng) >= m->inside)
        return anywhere(w, rng);
    x = (double)(w->jumps % m->lap) / (double)m->lap;
    point = (int64_t)(quantile(w, m->downwards ? 1 - x : x) * (double)w->elements);
    x = unit(rng);
    i = (uint32_t)(x * 16) + 2; /* or a neighbour */
    while (x < gather_quantiles[i])
        i--;
    while (x >= gather_quantiles[i + 1])
        i++;
    x = (x - gather_quantiles[i]) / (gather_quantiles[i + 1] - gather_quantiles[i]);
    point += (int64_t)floor((double)m->offsets[i] +
                            x * (double)(m->offsets[i + 1] - m->offsets[i]) + 0.5);
    if (point < 0)
        point = -point % (int64_t)w->elements;
    if (point >= (int64_t)w->elements)
        point = (int64_t)w->elements - 1 - (point - (int64_t)w->elements) % (int64_t)w->elements;
    return (uint64_t)point * m->element_bytes;
}

static uint64_t cursor(struct area_walk *w, struct psnap_rng *rng)
{
    const struct gather_area *m = &w->model;
    const uint32_t class = pick(w->cursor_shares, (uint32_t)psnap_rng_next(rng));
    const struct gather_cursors *of = &m->cursors[class];
    const uint64_t k = psnap_rng_below(rng, of->count);
    const double first = w->cursor_from[class], size = of->share / (double)of->count;
    const uint64_t from = (uint64_t)((double)w->elements * (first + size * (double)k));
    const uint64_t to = (uint64_t)((double)w->elements * (first + size * (double)(k + 1)));
    const uint64_t n = to > from ? to - from : 1;
    const uint64_t step = (uint64_t)llabs(m->cursor_step) / m->element_bytes;
    const uint64_t i = w->cursor_counts[w->cursor_first[class] + k]++ * step % n;

    return (from + (m->cursor_step < 0 ? n - 1 - i : i)) % w->elements * m->element_bytes;
}

/* The place within what is reached at this time. */
static uint64_t within_reach(const struct area_walk *w, uint64_t offset)
{
    const struct gather_area *m = &w->model;
    const double x =
        (double)(w->count % (m->accesses + 1)) / (double)(m->accesses + 1) * (GATHER_KNOTS - 1);
    const uint32_t k = (uint32_t)x;
    const struct gather_reach *a = &m->knots[k], *b = a + 1;
    const double low = a->low + (b->low - a->low) * (x - k);
    const double high = a->high + (b->high - a->high) * (x - k);
    const uint64_t index = offset / m->element_bytes;
    const double element = (double)index * (high - low) + low * (double)w->elements;
    const uint64_t i = (uint64_t)element;

    return (i < w->elements ? i : w->elements - 1) * m->element_bytes;
}

/* Onwards, or backwards, around the span. */
static uint64_t swept(const struct area_walk *w)
{
    const uint64_t span = w->model.span_bytes;
    const int64_t way = w->model.sweep_bytes % (int64_t)span;

    return (w->at + (way < 0 ? span - (uint64_t)-way : (uint64_t)way)) % span;
}

static uint64_t jump(struct area_walk *w, struct psnap_rng *rng)
{
    const struct gather_area *m = &w->model;

    switch (m->places) {
    case GATHER_ONCE:
        return once(w);
    case GATHER_BAND:
        return band(w, rng);
    case GATHER_CURSORS:
        return cursor(w, rng);
    case GATHER_SWEEP:
        return swept(w);
    default:
        return m->knot_count ? within_reach(w, anywhere(w, rng)) : anywhere(w, rng);
    }
}

/* An address in the line that was visited some accesses ago. */
static uint64_t echo(struct area_walk *w, struct psnap_rng *rng)
{
    const uint32_t octave = pick(w->echoes, (uint32_t)psnap_rng_next(rng));
    const uint64_t gap = (UINT64_C(1) << octave) + psnap_rng_below(rng, UINT64_C(1) << octave);

    if (gap > w->count || gap >= HISTORY)
        return jump(w, rng);
    return w->history[(w->count - gap) % HISTORY];
}

static uint64_t next_in_area(struct area_walk *w, struct psnap_rng *rng)
{
    const struct gather_area *m = &w->model;

    if (m->step_count)
        w->kind = pick(w->next[w->kind], (uint32_t)psnap_rng_next(rng));
    if (w->kind) {
        const int64_t step = m->steps[w->kind - 1];
        w->at += (uint64_t)step;
        if (w->at >= m->span_bytes)
            w->at = step < 0 ? w->at + m->span_bytes : w->at - m->span_bytes;
        if (w->at >= m->span_bytes)
            w->at = 0;
    } else if (w->history && unit(rng) < w->echo_share) {
        w->at = echo(w, rng);
    } else {
        w->at = jump(w, rng);
        w->jumps++;
    }
    if (w->history)
        w->history[w->count % HISTORY] = w->at;
    w->count++;
    return m->base + w->at;
}

/* Which area the next access goes to. */
static void choose_area(struct gather_walk *w)
{
    const struct psnap_gather *m = &w->model;

    if (m->turn_count) {
        while (!w->turn_left) {
            w->turn = (w->turn + 1) % m->turn_count;
            w->area = m->turns[w->turn].area;
            w->turn_left = m->turns[w->turn].accesses;
        }
        w->turn_left--;
    } else {
        double x = unit(&w->rng);
        uint32_t i = 0;
        while (i + 1 < m->area_count && x >= m->next_area[w->area][i])
            x -= m->next_area[w->area][i++];
        w->area = i;
    }
}

void gather_walk_next(struct gather_walk *w, uint64_t *addresses, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (w->model.area_count > 1)
            choose_area(w);
        addresses[i] = next_in_area(&w->areas[w->area], &w->rng);
    }
}
