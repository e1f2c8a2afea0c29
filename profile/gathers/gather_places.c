/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the jumps of a batch lead: how the next place is chosen when no step leads there (enum
 * gather_places). Jumps do not depend on each other, so each part of the work is a loop over all of
 * them.
 */
#include <stdlib.h>

#include "profile/gathers/gather_draw.h"

#define FAR (INT64_C(1) << 60) /* bytes from an area, in which offsets can be added */

enum {
    KNOWN_USES = 8,        /* of each line, so that it is worth while to know what is in it */
    KNOWN_MAX = 1 << 18,   /* lines: a load from a cache that is not near, and which others need not
                              wait for, takes less time than to find out what is in one */
    KNOWN_SHARED = 1 << 14 /* lines of a span, in which a part that has none goes to the next one's
                              first: that is so for ever */
};

/* ---- one-to-one maps ---- */

struct gather_map gather_map_of(uint64_t n, uint64_t order)
{
    const unsigned bits = n > 2 ? 64 - (unsigned)__builtin_clzll(n - 1) : 1;

    return (struct gather_map){.n = n ? n : 1,
                               .mask = UINT64_MAX >> (64 - bits),
                               .order = order,
                               .shift = bits / 2 + (bits == 1)};
}

/* Onto the powers of two that n is not more than. */
static inline uint64_t mix_bits(const struct gather_map *map, uint64_t x)
{
    x = (x + map->order) & map->mask;
    x ^= x >> map->shift;
    x = x * UINT64_C(0x9e3779b97f4a7c15) & map->mask;
    x ^= x >> map->shift;
    x = (x ^ map->order >> 20) & map->mask;
    x = x * UINT64_C(0xbf58476d1ce4e5b9) & map->mask;
    x ^= x >> map->shift;
    x = x * UINT64_C(0x94d049bb133111eb) & map->mask;
    x ^= x >> map->shift;
    return x;
}

/* Of x below map->n. What leads beyond n is led on until it does not. */
static uint64_t permuted(const struct gather_map *map, uint64_t x)
{
    do
        x = mix_bits(map, x);
    while (x >= map->n);
    return x;
}

/* The same of so many, each of its lines: those that have to go on are listed. */
static void permute(uint64_t *restrict x, const struct gather_lines *const *lines, uint32_t count)
{
    uint8_t listed[GATHER_BATCH];
    uint32_t left = 0;

    for (uint32_t i = 0; i < count; i++) {
        x[i] = mix_bits(&lines[i]->map, x[i]);
        listed[left] = (uint8_t)i;
        left += x[i] >= lines[i]->map.n;
    }
    while (left) {
        const uint32_t before = left;
        left = 0;
        for (uint32_t k = 0; k < before; k++) {
            const uint8_t i = listed[k];
            x[i] = mix_bits(&lines[i]->map, x[i]);
            listed[left] = i;
            left += x[i] >= lines[i]->map.n;
        }
    }
}

/* ---- anywhere ---- */

static inline uint64_t divided(const struct gather_draw *w, uint64_t bytes)
{
    __extension__ typedef unsigned __int128 wide;

    if (!w->inverse)
        return bytes / w->model.element_bytes;
    return (uint64_t)((wide)bytes * w->inverse >> 64);
}

/* What is in a line: elements from this one on, so many, and which of them is the fixed one. */
struct elements {
    uint64_t from, count, fixed;
};

/* Of the line of that number, the first of which is that of the base. */
static inline struct elements elements_of(const struct gather_draw *w, uint64_t line)
{
    const struct gather_area *m = &w->model;
    const uint64_t lead = m->base % GATHER_UNIT, begin = line * GATHER_UNIT;
    const uint64_t start = begin > lead ? begin - lead : 0;
    const uint64_t from = divided(w, start + m->element_bytes - 1);
    const uint64_t to = divided(w, begin + GATHER_UNIT - lead + m->element_bytes - 1);
    const uint64_t n = to > from ? to - from : 1;
    struct elements of = {.from = from, .count = n};

    if (w->fixed)
        of.fixed = (line * UINT64_C(0x9e3779b97f4a7c15) ^ w->order) % (n * 4) / 4;
    return of;
}

static inline uint64_t in_line(const struct gather_draw *w, uint64_t line, const uint64_t *words)
{
    const struct elements of = elements_of(w, line);
    const uint64_t is_fixed = UINT64_C(0) - (words[0] >> 11 < w->fixed); /* no branch */
    const uint64_t any = gather_below(words[w->fixed > 0], of.count);
    const uint64_t element = of.from + ((of.fixed & is_fixed) | (any & ~is_fixed));

    return (element < w->elements ? element : w->elements - 1) * w->model.element_bytes;
}

/* Which of ascending shares x falls in, the last of which is all ones; each 256th has a guide to
 * the one at which it begins, or one before. Nearly always one step is enough, which is no branch.
 */
static inline uint32_t guided(const uint8_t *guide, const uint32_t *cumulative, uint32_t x)
{
    uint32_t i = guide[x >> 24];

    x -= x == UINT32_MAX;
    i += x >= cumulative[i];
    while (x >= cumulative[i])
        i++;
    return i;
}

static inline uint32_t part_of(const struct gather_draw *w, uint32_t x)
{
    return w->model.part_count == 1 ? 0 : guided(w->part_guide, w->parts, x);
}

/* By parts alone. */
static uint64_t in_part(const struct gather_draw *w, const uint64_t *words)
{
    const uint32_t part = part_of(w, (uint32_t)words[0]);
    const uint64_t low = w->bounds[part], n = w->bounds[part + 1] - low;
    const uint64_t element = low + gather_below(words[1], n ? n : 1);

    return (element < w->elements ? element : element % w->elements) * w->model.element_bytes;
}

/* Which of which lines, before they are put in another order. */
struct choice {
    const struct gather_lines *of;
    uint64_t line;
    uint32_t spacing;
};

static inline struct choice choose(const struct gather_draw *w, const uint64_t *words)
{
    const uint32_t part = part_of(w, (uint32_t)words[0]);
    const uint32_t class = guided(w->class_guide, w->classes, (uint32_t)(words[0] >> 32));
    const struct gather_class *of = &w->model.classes[class];
    const double rank = w->ranks[class] + gather_unit(words[1]) * of->lines;
    const struct gather_lines *lines = &w->lines[w->is_everywhere[class] ? part : GATHER_PARTS];
    const uint64_t line = (uint64_t)(int64_t)(rank * lines->count), n = lines->map.n;

    return (struct choice){lines, of->spacing > 1 || line < n ? line : n - 1, of->spacing};
}

/* A line of a class whose lines lie so far apart. */
static uint64_t spaced_line(const struct gather_draw *w, const struct choice *choice)
{
    /* numbers of lines are those of memory: the first multiple is so far from the low end */
    const struct gather_lines *lines = choice->of;
    const uint64_t n = lines->map.n, spacing = choice->spacing;
    const uint64_t first = -(w->model.base / GATHER_UNIT + lines->low) & (spacing - 1);
    const uint64_t multiples = n > first ? (n - first - 1) / spacing + 1 : 1;
    const struct gather_map map = gather_map_of(multiples, w->order);
    const uint64_t found = lines->low + first + permuted(&map, choice->line % multiples) * spacing;

    return found < w->units ? found : w->units - 1;
}

/* By classes of lines. */
static void in_classes(const struct gather_draw *restrict w, const uint64_t *const *words,
                       uint64_t *restrict offsets, uint32_t n)
{
    const struct gather_lines *lines[GATHER_BATCH] = {0};
    uint64_t found[GATHER_BATCH];
    uint8_t listed[GATHER_BATCH];
    uint32_t count = 0;

    for (uint32_t i = 0; i < n; i++) {
        const struct choice choice = choose(w, words[i]);
        if (choice.spacing > 1) {
            offsets[i] = in_line(w, spaced_line(w, &choice), words[i] + 2);
            continue;
        }
        listed[count] = (uint8_t)i;
        lines[count] = choice.of;
        found[count++] = choice.line;
    }
    permute(found, lines, count);
    for (uint32_t i = 0; i < count; i++)
        offsets[listed[i]] = in_line(w, lines[i]->low + found[i], words[listed[i]] + 2);
}

/* The same, where it is known what is in each line. */
static void in_known_lines(const struct gather_draw *restrict w, const uint64_t *const *words,
                           uint64_t *restrict offsets, uint32_t n)
{
    const uint32_t bits = w->known_bits, mask = (1u << bits) - 1;
    const uint32_t *at[GATHER_BATCH];
    uint8_t listed[GATHER_BATCH];
    uint32_t count = 0;

    for (uint32_t i = 0; i < n; i++) {
        const struct choice choice = choose(w, words[i]);
        if (choice.spacing > 1) {
            offsets[i] = in_line(w, spaced_line(w, &choice), words[i] + 2);
            continue;
        }
        at[count] = &w->known[choice.of->known + choice.line];
        __builtin_prefetch(at[count]);
        listed[count++] = (uint8_t)i;
    }
    for (uint32_t k = 0; k < count; k++) {
        const uint32_t i = listed[k], known = *at[k];
        const uint64_t is_fixed = UINT64_C(0) - (words[i][2] >> 11 < w->fixed);
        uint64_t element = gather_below(words[i][2 + (w->fixed > 0)], known >> bits & mask);
        element = (known & mask & is_fixed) | (element & ~is_fixed);
        element += known >> 2 * bits;
        offsets[i] = (element < w->elements ? element : w->elements - 1) * w->model.element_bytes;
    }
}

/* What is in each of these lines. */
static void know(struct gather_draw *w, const struct gather_lines *lines)
{
    const uint32_t bits = w->known_bits;

    for (uint64_t k = 0; k < lines->map.n && lines->low + k < w->units; k++) {
        const struct elements in = elements_of(w, lines->low + permuted(&lines->map, k));
        w->known[lines->known + k] = (uint32_t)(in.from << 2 * bits | in.count << bits | in.fixed);
    }
}

bool gather_know_lines(struct gather_draw *w)
{
    const struct gather_area *m = &w->model;
    const uint64_t most = GATHER_UNIT / m->element_bytes + 1; /* elements of a line */
    const uint32_t bits = 32 - (uint32_t)__builtin_clz((uint32_t)most);
    bool is_any[2] = {false, false}; /* lines that are drawn from: of a part, of the span */
    uint64_t of_parts;

    for (uint32_t i = 0; i < m->class_count; i++)
        is_any[!w->is_everywhere[i]] |= m->classes[i].spacing == 1;
    if (m->class_count == 1 || m->accesses / KNOWN_USES < w->units || w->units > KNOWN_MAX ||
        w->elements + 1 >= UINT64_C(1) << (32 - 2 * bits))
        return true;
    w->known_bits = bits;
    of_parts = is_any[0] ? w->units + m->part_count : 0;
    w->known = calloc(of_parts + (is_any[1] ? w->units : 0) + 1, sizeof *w->known);
    if (!w->known)
        return false;
    w->lines[GATHER_PARTS].known = of_parts;
    for (uint32_t i = 0; i < m->part_count && is_any[0]; i++) {
        w->lines[i].known += w->units > KNOWN_SHARED ? i : 0;
        know(w, &w->lines[i]);
    }
    if (is_any[1])
        know(w, &w->lines[GATHER_PARTS]);
    return true;
}

static void anywhere(const struct gather_draw *w, const uint64_t *const *words, uint64_t *offsets,
                     uint32_t n)
{
    const struct gather_area *m = &w->model;

    if (w->known)
        in_known_lines(w, words, offsets, n);
    else if (m->class_count > 1)
        in_classes(w, words, offsets, n);
    else if (m->part_count > 1)
        for (uint32_t i = 0; i < n; i++)
            offsets[i] = in_part(w, words[i]);
    else
        for (uint32_t i = 0; i < n; i++)
            offsets[i] = gather_below(words[i][1], w->elements) * m->element_bytes;
}

/* The places within what is reached at these times. */
static void within_reach(const struct gather_draw *w, struct gather_batch *batch)
{
    const struct gather_area *m = &w->model;

    for (uint32_t i = 0; i < batch->jumps; i++) {
        const uint64_t count = w->count + batch->numbers[i], all = m->accesses + 1;
        const double x =
            (double)(count < all ? count : count % all) / (double)all * (GATHER_KNOTS - 1);
        const uint32_t k = (uint32_t)x;
        const struct gather_reach *a = &m->knots[k], *b = a + 1;
        const double low = a->low + (b->low - a->low) * (x - k);
        const double high = a->high + (b->high - a->high) * (x - k);
        const uint64_t index = divided(w, batch->offsets[i]);
        const double element = (double)index * (high - low) + low * (double)w->elements;
        const uint64_t e = (uint64_t)element;
        batch->offsets[i] = (e < w->elements ? e : w->elements - 1) * m->element_bytes;
    }
}

/* ---- in other ways ---- */

static void once(const struct gather_draw *w, struct gather_batch *batch)
{
    const struct gather_area *m = &w->model;
    struct gather_lines places = {.map = gather_map_of(m->lap, w->order)};
    const struct gather_lines *all[GATHER_BATCH];
    uint32_t from = 0;

    for (uint32_t i = 0; i < batch->jumps; i++)
        all[i] = &places;
    while (from < batch->jumps) { /* of one lap */
        const uint64_t lap = batch->laps[from];
        uint32_t to = from;
        for (; to < batch->jumps && batch->laps[to] == lap; to++)
            batch->offsets[to] = batch->lap_at[to];
        places.map.order = w->order + (m->same_order ? 0 : lap * UINT64_C(0xd1342543de82ef95));
        permute(batch->offsets + from, all, to - from);
        from = to;
    }
    for (uint32_t i = 0; i < batch->jumps; i++)
        batch->offsets[i] *= m->place_bytes;
}

static double quantile(const struct gather_draw *w, double x)
{
    const uint32_t n = w->model.part_count;
    uint32_t i = w->part_guide[(uint32_t)(x * 256)];
    double size, low;

    if (n == 1)
        return x;
    while (i + 1 < n && w->quantiles[i + 1] <= x)
        i++;
    size = w->quantiles[i + 1] - w->quantiles[i];
    low = i ? w->model.parts[i - 1].end : 0;
    return low +
           (w->model.parts[i].end - low) * (x - w->quantiles[i]) / (size > 1e-9 ? size : 1e-9);
}

/* floor, of what is far below 2^63 */
static inline int64_t rounded_down(double x)
{
    const int64_t i = (int64_t)x;

    return i - ((double)i > x);
}

/* The last quantile that is not above x, which is below 1; without a branch. */
static inline uint32_t quantile_at(double x)
{
    return (uint32_t)(x * 16) + 2 - (x < gather_quantiles[2]) - (x < gather_quantiles[1]) +
           (x >= gather_quantiles[GATHER_QUANTILES - 3]) +
           (x >= gather_quantiles[GATHER_QUANTILES - 2]);
}

/* The element that is jumped around: now, */
static inline int64_t point_led(const struct gather_draw *w)
{
    const struct gather_area *m = &w->model;
    int64_t from = w->leader ? (int64_t)(*w->leader + w->leader_offset - m->base)
                             : (int64_t)(m->span_bytes / 2);

    from = from < -FAR ? -FAR : from > FAR ? FAR : from;
    return from / (int64_t)m->element_bytes;
}

/* or in a lap. */
static inline int64_t point_at(const struct gather_draw *w, uint64_t lap_at)
{
    const double x = (double)lap_at / (double)w->model.lap;

    return (int64_t)(quantile(w, w->model.downwards ? 1 - x : x) * (double)w->elements);
}

/* As far from the point as the quantiles say; what leads out of the span is reflected. */
static inline uint64_t near_point(const struct gather_draw *w, int64_t point, uint64_t word)
{
    const struct gather_area *m = &w->model;
    const int64_t elements = (int64_t)w->elements;
    double x = gather_unit(word);
    const uint32_t i = quantile_at(x);

    x = (x - gather_quantiles[i]) / (gather_quantiles[i + 1] - gather_quantiles[i]);
    point +=
        rounded_down((double)m->offsets[i] + x * (double)(m->offsets[i + 1] - m->offsets[i]) + 0.5);
    if (point < 0)
        point = -point % elements;
    if (point >= elements)
        point = elements - 1 - (point - elements) % elements;
    return (uint64_t)point * m->element_bytes;
}

/* That of the grid which lies in the same multiple of bytes, those of lines among them. */
static uint64_t on_grid(const struct gather_draw *w, uint64_t offset)
{
    const struct gather_area *m = &w->model;
    const uint64_t grid = m->grid_bytes, lead = m->base % grid;
    uint64_t at = (offset + lead) / grid * grid + (lead + m->grid_start) % grid;

    at = at < lead ? at + grid - lead : at - lead;
    at -= at + m->element_bytes > m->span_bytes && at >= grid ? grid : 0;
    return at + m->element_bytes > m->span_bytes ? offset : at;
}

uint64_t gather_place_around(const struct gather_draw *w, const uint64_t **words)
{
    const uint64_t *const own = *words;
    const uint64_t *const elsewhere = own + 1;
    uint64_t offset;

    if (own[0] >> 11 < w->inside) {
        *words += 2;
        offset = near_point(w, point_led(w), own[1]);
    } else {
        *words += 1 + gather_words_anywhere(w, elsewhere);
        anywhere(w, &elsewhere, &offset, 1);
    }
    return w->model.grid_bytes ? on_grid(w, offset) : offset;
}

static void band(struct gather_draw *w, struct gather_batch *batch)
{
    const uint64_t *words[GATHER_BATCH] = {0};
    uint64_t offsets[GATHER_BATCH];
    const bool is_led = w->model.places == GATHER_AROUND;
    const int64_t led = is_led ? point_led(w) : 0;

    for (uint32_t k = 0; k < batch->inside; k++) {
        const uint8_t j = batch->are_inside[k];
        const int64_t point = is_led ? led : point_at(w, batch->lap_at[j]);
        batch->offsets[j] = near_point(w, point, batch->words[j][0]);
    }
    for (uint32_t i = 0; i < batch->outside; i++)
        words[i] = batch->words[batch->are_outside[i]];
    anywhere(w, words, offsets, batch->outside);
    for (uint32_t i = 0; i < batch->outside; i++)
        batch->offsets[batch->are_outside[i]] = offsets[i];
}

static inline uint64_t cursor(struct gather_draw *w, const uint64_t *words)
{
    const struct gather_area *m = &w->model;
    const uint32_t class = gather_pick(w->cursor_shares, m->cursor_classes - 1, (uint32_t)words[0]);
    const struct gather_cursors *of = &m->cursors[class];
    const uint64_t k = gather_below(words[1], of->count);
    const double first = w->cursor_from[class], size = of->share / (double)of->count;
    const uint64_t from = (uint64_t)((double)w->elements * (first + size * (double)k));
    const uint64_t to = (uint64_t)((double)w->elements * (first + size * (double)(k + 1)));
    const uint64_t n = to > from ? to - from : 1;
    const uint64_t step = (uint64_t)llabs(m->cursor_step) / m->element_bytes;
    const uint64_t i = w->cursor_counts[w->cursor_first[class] + k]++ * step % n;

    return (from + (m->cursor_step < 0 ? n - 1 - i : i)) % w->elements * m->element_bytes;
}

/* So far between two numbers, as a multiple of elements. */
static int64_t between(const struct gather_draw *w, int64_t a, int64_t b, double at)
{
    const int64_t element = w->model.element_bytes;
    const double elements = ((double)a + (double)(b - a) * at) / (double)element;

    return rounded_down(elements + 0.5) * element;
}

/* The first address of the next pass. */
static void begin_pass(struct gather_draw *w)
{
    const struct gather_area *m = &w->model;
    const struct gather_stretch *s = &m->stretches[w->stretch];
    const struct gather_pass *a = &s->first, *b = &s->last;
    const double at = s->passes > 1 ? (double)w->pass / (double)(s->passes - 1) : 0;
    const int64_t last = (int64_t)((w->elements - 1) * m->element_bytes);
    const int64_t from = between(w, (int64_t)a->from, (int64_t)b->from, at);
    const int64_t to = between(w, (int64_t)a->to, (int64_t)b->to, at);
    const int64_t stride = between(w, a->stride, b->stride, at);
    const int64_t way = (to < last ? to : last) - from;

    w->pass_at = (uint64_t)(from < last ? from : last);
    w->pass_stride = (uint64_t)stride;
    w->pass_left = 1 + (stride && way / stride > 0 ? (uint64_t)(way / stride) : 0);
    if (++w->pass == s->passes) {
        w->pass = 0;
        w->stretch = (w->stretch + 1) % m->stretch_count;
    }
}

static inline uint64_t along_passes(struct gather_draw *w)
{
    uint64_t at;

    if (!w->pass_left)
        begin_pass(w);
    at = w->pass_at;
    w->pass_at += w->pass_stride;
    w->pass_left--;
    return at;
}

/* One level further down, or at the root again. What is beside the area, as edits may have it, is
 * at its rim. */
static inline uint64_t down_levels(struct gather_draw *w, const uint64_t *words)
{
    const struct gather_area *m = &w->model;
    const struct gather_level *level = &m->levels[w->level];
    const int64_t last = (int64_t)((w->elements - 1) * m->element_bytes);
    const double x = gather_unit(*words);
    int64_t at;

    if (w->level == m->level_count || x >= level->goes_on) {
        w->level = 0;
        return w->level_at = m->root;
    }
    w->level++;
    at = (int64_t)w->level_at + (x < level->goes_on * level->down_share ? level->down : level->up);
    at = at < last ? at : last;
    return w->level_at = (uint64_t)(at > 0 ? at : 0);
}

/* Where the jumps of a batch lead, to any element. */
static void any_places(struct gather_draw *w, struct gather_batch *batch)
{
    switch (w->model.places) {
    case GATHER_ONCE:
        once(w, batch);
        return;
    case GATHER_BAND:
    case GATHER_AROUND:
        band(w, batch);
        return;
    case GATHER_CURSORS:
        for (uint32_t i = 0; i < batch->jumps; i++)
            batch->offsets[i] = cursor(w, batch->words[i]);
        return;
    case GATHER_PASSES:
        for (uint32_t i = 0; i < batch->jumps; i++)
            batch->offsets[i] = along_passes(w);
        return;
    case GATHER_DESCENT:
        for (uint32_t i = 0; i < batch->jumps; i++)
            batch->offsets[i] = down_levels(w, batch->words[i]);
        return;
    case GATHER_SWEEP:
        return;
    default:
        anywhere(w, batch->words, batch->offsets, batch->jumps);
        if (w->model.knot_count)
            within_reach(w, batch);
    }
}

void gather_places(struct gather_draw *w, struct gather_batch *batch)
{
    any_places(w, batch);
    if (w->model.grid_bytes && w->model.places != GATHER_SWEEP)
        for (uint32_t i = 0; i < batch->jumps; i++)
            batch->offsets[i] = on_grid(w, batch->offsets[i]);
}
