/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses drawn from the model of an irregular reference.
 *
 * They are drawn ahead, some tens at a time, from words of the generator that are drawn ahead, some
 * hundreds at a time: so that one waits for the other as little as can be.
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

enum {
    HISTORY = 1 << 17, /* addresses that echoes come from */
    WORDS = 256,       /* of the generator, drawn at once */
    WORDS_EACH = 16    /* that an address may take, at most */
};

/* Drawing from one area. */
struct area_walk {
    struct gather_area model;
    uint32_t next[GATHER_STEPS + 1][GATHER_STEPS + 2]; /* cumulative, of 2^32 */
    uint32_t kind;                                     /* of the last step */
    uint64_t at;                                       /* the last offset */
    uint64_t count;
    uint64_t lap_at, laps; /* jumps of the model's lap, and laps before it */
    uint64_t elements, units;
    uint64_t inverse;                     /* 2^64 / element_bytes, rounded up; 0: not exact */
    uint32_t parts[GATHER_PARTS];         /* cumulative, of 2^32 */
    uint64_t bounds[2][GATHER_PARTS + 1]; /* where they begin: elements, units */
    bool is_everywhere[GATHER_CLASSES];   /* there are lines of the class in each part */
    uint8_t part_guide[257];              /* the part at which each 256th begins */
    uint32_t classes[GATHER_CLASSES];     /* cumulative, of 2^32 */
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
    struct gather_ahead ahead;
    struct psnap_gather model;
    struct psnap_rng rng;
    struct area_walk *areas;
    uint32_t area, turn;
    uint64_t turn_left;
    uint64_t words[WORDS]; /* the generator's, */
    uint32_t words_at;     /* from here on */
};

static uint32_t share(double x)
{
    return x >= 1 ? UINT32_MAX : x <= 0 ? 0 : (uint32_t)(x * 4294967296.0);
}

/* A one-to-one map of [0, n) onto itself, one of many. */
static inline uint64_t permuted(uint64_t x, uint64_t n, uint64_t order)
{
    const unsigned bits = n > 2 ? 64 - (unsigned)__builtin_clzll(n - 1) : 1;
    const uint64_t mask = UINT64_MAX >> (64 - bits);
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
    w->units = (model->base % UNIT + model->span_bytes + UNIT - 1) / UNIT;
    /* Exact below 2^64 / element_bytes, as the error of the inverse is below 1. */
    if (model->span_bytes < UINT64_C(1) << 40 && model->element_bytes < 1u << 20)
        w->inverse = UINT64_MAX / model->element_bytes + 1;
    for (uint32_t i = 0; i <= model->part_count; i++) {
        w->bounds[0][i] = w->elements * i / model->part_count;
        w->bounds[1][i] = w->units * i / model->part_count;
    }
    for (uint32_t i = 0; i <= model->step_count; i++) {
        sum = 0;
        for (uint32_t j = 0; j <= model->step_count; j++)
            w->next[i][j] = share(sum += model->next[i][j]);
        for (uint32_t j = model->step_count; j < GATHER_STEPS + 2; j++)
            w->next[i][j] = UINT32_MAX;
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
        w->is_everywhere[i] = model->classes[i].lines * (double)w->units > 4 * model->part_count;
    }
    for (uint32_t i = model->class_count - 1; i < GATHER_CLASSES; i++)
        w->classes[i] = UINT32_MAX;
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
    w->words_at = WORDS;
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

/* The next words of a generator, drawn ahead. */
struct words {
    const uint64_t *at;
};

static inline uint64_t next_word(struct words *words)
{
    return *words->at++;
}

/* As psnap_rng_below. */
static inline uint64_t below(struct words *words, uint64_t bound)
{
    __extension__ typedef unsigned __int128 wide;

    return (uint64_t)((wide)next_word(words) * bound >> 64);
}

static inline double unit(struct words *words)
{
    return (double)(next_word(words) >> 11) * 0x1p-53;
}

/* Which of ascending shares x falls in, the last of which is all ones. */
static uint32_t pick(const uint32_t *cumulative, uint32_t x)
{
    uint32_t i = 0;

    while (x >= cumulative[i] && cumulative[i] != UINT32_MAX)
        i++;
    return i;
}

/* The same of so many, all ones from the last on; without a branch. */
static inline uint32_t pick_of(const uint32_t *cumulative, unsigned n, uint32_t x)
{
    uint32_t below = 0;

    x -= x == UINT32_MAX;
    for (unsigned i = 0; i < n; i++)
        below += x >= cumulative[i];
    return below;
}

static inline uint64_t divided(const struct area_walk *w, uint64_t bytes)
{
    __extension__ typedef unsigned __int128 wide;

    if (!w->inverse)
        return bytes / w->model.element_bytes;
    return (uint64_t)((wide)bytes * w->inverse >> 64);
}

/* An element in the line of that number, the first of which is that of the base. */
static inline uint64_t in_line(const struct area_walk *w, uint64_t line, struct words *words)
{
    const struct gather_area *m = &w->model;
    const uint64_t lead = m->base % UNIT;
    const uint64_t start = line * UNIT > lead ? line * UNIT - lead : 0;
    const uint64_t from = divided(w, start + m->element_bytes - 1);
    const uint64_t to = divided(w, line * UNIT + UNIT - lead + m->element_bytes - 1);
    const uint64_t n = to > from ? to - from : 1;
    const uint64_t element =
        from + (m->fixed > 0 && unit(words) < m->fixed
                    ? (line * UINT64_C(0x9e3779b97f4a7c15) ^ w->order) % (n * 4) / 4
                    : below(words, n));

    return (element < w->elements ? element : w->elements - 1) * m->element_bytes;
}

static inline uint64_t anywhere(struct area_walk *w, struct words *words)
{
    const struct gather_area *m = &w->model;
    const uint64_t bits = next_word(words);
    uint32_t part = 0, class = 0;
    uint64_t low = 0, n = w->units, line;
    double rank;

    if (m->part_count == 1 && m->class_count == 1)
        return below(words, w->elements) * m->element_bytes;
    if (m->part_count > 1) {
        part = w->part_guide[(uint32_t)bits >> 24];
        while ((uint32_t)bits >= w->parts[part] && w->parts[part] != UINT32_MAX)
            part++;
    }
    if (m->class_count == 1) {
        low = w->bounds[0][part];
        n = w->bounds[0][part + 1] - low;
        low += below(words, n ? n : 1);
        return (low < w->elements ? low : low % w->elements) * m->element_bytes;
    }
    class = pick_of(w->classes, GATHER_CLASSES, (uint32_t)(bits >> 32));
    rank = w->ranks[class] + unit(words) * m->classes[class].lines;
    if (w->is_everywhere[class]) {
        low = w->bounds[1][part];
        n = w->bounds[1][part + 1] - low;
        n += !n;
    }
    line = (uint64_t)(rank * (double)n);
    if (m->classes[class].spacing > 1) {
        /* numbers of lines are those of memory: the first multiple is so far from the low end */
        const uint64_t spacing = m->classes[class].spacing;
        const uint64_t first = -(m->base / UNIT + low) & (spacing - 1);
        const uint64_t multiples = n > first ? (n - first - 1) / spacing + 1 : 1;
        line = low + first + permuted(line % multiples, multiples, w->order) * spacing;
        line = line < w->units ? line : w->units - 1;
    } else {
        line = low + permuted(line < n ? line : n - 1, n, w->order + (low ? part : 0));
    }
    return in_line(w, line, words);
}

static uint64_t once(const struct area_walk *w)
{
    const uint64_t order =
        w->order + (w->model.same_order ? 0 : w->laps * UINT64_C(0xd1342543de82ef95));

    return permuted(w->lap_at, w->model.lap, order) * w->model.place_bytes;
}

static double quantile(const struct area_walk *w, double x)
{
    const uint32_t n = w->model.part_count;
    uint32_t i = w->part_guide[(uint32_t)(x * 256)];
    double size;

    while (i + 1 < n && w->quantiles[i + 1] <= x)
        i++;
    size = w->quantiles[i + 1] - w->quantiles[i];
    return (i + (x - w->quantiles[i]) / (size > 1e-9 ? size : 1e-9)) / n;
}

/* floor, of what is far below 2^63 */
static inline int64_t rounded_down(double x)
{
    const int64_t i = (int64_t)x;

    return i - ((double)i > x);
}

static uint64_t band(struct area_walk *w, struct words *words)
{
    const struct gather_area *m = &w->model;
    double x;
    uint32_t i;
    int64_t point;

    if (unit(words) >= m->inside)
        return anywhere(w, words);
    x = (double)w->lap_at / (double)m->lap;
    point = (int64_t)(quantile(w, m->downwards ? 1 - x : x) * (double)w->elements);
    x = unit(words);
    i = (uint32_t)(x * 16) + 2; /* or a neighbour */
    while (x < gather_quantiles[i])
        i--;
    while (x >= gather_quantiles[i + 1])
        i++;
    x = (x - gather_quantiles[i]) / (gather_quantiles[i + 1] - gather_quantiles[i]);
    point +=
        rounded_down((double)m->offsets[i] + x * (double)(m->offsets[i + 1] - m->offsets[i]) + 0.5);
    if (point < 0)
        point = -point % (int64_t)w->elements;
    if (point >= (int64_t)w->elements)
        point = (int64_t)w->elements - 1 - (point - (int64_t)w->elements) % (int64_t)w->elements;
    return (uint64_t)point * m->element_bytes;
}

static inline uint64_t cursor(struct area_walk *w, struct words *words)
{
    const struct gather_area *m = &w->model;
    const uint32_t class = pick(w->cursor_shares, (uint32_t)next_word(words));
    const struct gather_cursors *of = &m->cursors[class];
    const uint64_t k = below(words, of->count);
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

static inline uint64_t jump(struct area_walk *w, struct words *words)
{
    const struct gather_area *m = &w->model;

    switch (m->places) {
    case GATHER_ONCE:
        return once(w);
    case GATHER_BAND:
        return band(w, words);
    case GATHER_CURSORS:
        return cursor(w, words);
    case GATHER_SWEEP:
        return swept(w);
    default:
        return m->knot_count ? within_reach(w, anywhere(w, words)) : anywhere(w, words);
    }
}

/* An address in the line that was visited some accesses ago. */
static uint64_t echo(struct area_walk *w, struct words *words)
{
    const uint32_t octave = pick(w->echoes, (uint32_t)next_word(words));
    const uint64_t gap = (UINT64_C(1) << octave) + below(words, UINT64_C(1) << octave);

    if (gap > w->count || gap >= HISTORY)
        return jump(w, words);
    return w->history[(w->count - gap) % HISTORY];
}

/* The kind of the next step. */
static inline uint32_t next_kind(const struct area_walk *w, uint32_t x)
{
    const uint32_t *shares = w->next[w->kind];

    return w->model.step_count == 1 ? x >= shares[0] && shares[0] != UINT32_MAX
                                    : pick_of(shares, GATHER_STEPS + 2, x);
}

static inline uint64_t next_in_area(struct area_walk *w, struct words *words)
{
    const struct gather_area *m = &w->model;

    if (m->step_count)
        w->kind = next_kind(w, (uint32_t)next_word(words));
    if (w->kind) {
        const int64_t step = m->steps[w->kind - 1];
        w->at += (uint64_t)step;
        if (w->at >= m->span_bytes)
            w->at = step < 0 ? w->at + m->span_bytes : w->at - m->span_bytes;
        if (w->at >= m->span_bytes)
            w->at = 0;
    } else if (w->history && unit(words) < w->echo_share) {
        w->at = echo(w, words);
    } else {
        w->at = jump(w, words);
        if (++w->lap_at == m->lap) {
            w->lap_at = 0;
            w->laps++;
        }
    }
    if (w->history)
        w->history[w->count % HISTORY] = w->at;
    w->count++;
    return m->base + w->at;
}

/* Which area the next access goes to. */
static void choose_area(struct gather_walk *w, struct words *words)
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
        double x = unit(words);
        uint32_t i = 0;
        while (i + 1 < m->area_count && x >= m->next_area[w->area][i])
            x -= m->next_area[w->area][i++];
        w->area = i;
    }
}

/* As many words as there is room for. */
static void fill_words(struct gather_walk *w, uint32_t at)
{
    const uint32_t left = WORDS - at;
    struct psnap_rng rng = w->rng;

    memmove(w->words, w->words + at, left * sizeof *w->words);
    for (uint32_t i = left; i < WORDS; i++)
        w->words[i] = psnap_rng_next(&rng);
    w->rng = rng;
}

static void draw(struct gather_walk *w, uint64_t *addresses, size_t n)
{
    const uint64_t *const end = w->words + WORDS - WORDS_EACH;
    struct words words = {w->words + w->words_at};

    for (size_t i = 0; i < n; i++) {
        if (words.at > end) {
            fill_words(w, (uint32_t)(words.at - w->words));
            words.at = w->words;
        }
        if (w->model.area_count > 1)
            choose_area(w, &words);
        addresses[i] = next_in_area(&w->areas[w->area], &words);
    }
    w->words_at = (uint32_t)(words.at - w->words);
}

void gather_walk_next(struct gather_walk *w, uint64_t *addresses, size_t n)
{
    struct gather_ahead *ahead = &w->ahead;
    size_t done = 0;

    while (done < n) {
        size_t some = ahead->count - ahead->at;
        if (!some && n - done >= GATHER_AHEAD) {
            draw(w, addresses + done, n - done);
            return;
        }
        if (!some) {
            /* Few at first: there are references that are drawn once. */
            const uint32_t more = 2 * ahead->count + 1;
            ahead->at = 0;
            ahead->count = more < GATHER_AHEAD ? more : GATHER_AHEAD;
            draw(w, ahead->addresses, ahead->count);
            continue;
        }
        some = some < n - done ? some : n - done;
        memcpy(addresses + done, ahead->addresses + ahead->at, some * sizeof *addresses);
        ahead->at += (uint32_t)some;
        done += some;
    }
}
