/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses drawn from one area of an irregular reference (gather_draw.h).
 */
#include "profile/gathers/gather_draw.h"

#include <math.h>
#include <stdlib.h>

enum { ECHO = GATHER_STEPS + 1 }; /* a kind that no step follows */

#define JUMPS_FEW 0.1 /* share: then a branch is cheaper than none */

const double gather_quantiles[GATHER_QUANTILES] = {
    0,      0.01,  0.03,   0.0625, 0.125,  0.1875, 0.25,   0.3125, 0.375, 0.4375, 0.5,
    0.5625, 0.625, 0.6875, 0.75,   0.8125, 0.875,  0.9375, 0.97,   0.99,  1};

static uint32_t share(double x)
{
    return x >= 1 ? UINT32_MAX : x <= 0 ? 0 : (uint32_t)(x * 4294967296.0);
}

/* ---- a new one ---- */

/* Below which of 2^53 words are, of which gather_unit is below x. */
static uint64_t threshold(double x)
{
    return x >= 1 ? UINT64_C(1) << 53 : x <= 0 ? 0 : (uint64_t)ceil(x * 0x1p53);
}

/* Chances of steps, and how far they lead. */
static void set_steps(struct gather_draw *w)
{
    const struct gather_area *m = &w->model;
    const int64_t way = m->span_bytes ? m->sweep_bytes % (int64_t)m->span_bytes : 0;

    for (uint32_t i = 0; i <= m->step_count; i++) {
        double sum = 0;
        for (uint32_t j = 0; j <= m->step_count; j++)
            w->next[i][j] = share(sum += m->next[i][j]);
        for (uint32_t j = m->step_count; j < GATHER_STEPS + 2; j++)
            w->next[i][j] = UINT32_MAX;
    }
    for (uint32_t i = 0; i < m->step_count; i++) {
        w->steps[i + 1] = (uint64_t)m->steps[i];
        w->around[i + 1] = m->steps[i] < 0 ? m->span_bytes : -m->span_bytes;
        w->is_step[i + 1] = UINT64_MAX;
    }
    /* A sweep is a step onwards, or backwards, around the span. */
    w->steps[0] = way < 0 ? m->span_bytes - (uint64_t)-way : (uint64_t)way;
    w->around[0] = -m->span_bytes;
    w->is_step[0] = m->places == GATHER_SWEEP ? UINT64_MAX : 0;
    if (!m->step_count)
        w->is_steady = m->places == GATHER_SWEEP && !w->history;
    else if (m->step_count == 1)
        w->is_steady = !w->next[0][0] && !w->next[1][0];
    if (w->is_steady)
        w->kind = m->step_count;
    w->is_walk = m->step_count;
    for (uint32_t i = 1; i <= m->step_count; i++)
        w->is_walk = w->is_walk && m->next[i][0] < JUMPS_FEW;
}

/* How many steps come in a row, where that is known: no chance of a jump among them. */
static void set_runs(struct gather_draw *w)
{
    const struct gather_area *m = &w->model;
    double sum = 0, all = 0;

    for (uint32_t i = 0; i < GATHER_RUNS; i++)
        all += m->runs[i];
    w->has_runs = all > 0 && m->step_count;
    if (!w->has_runs)
        return;
    for (uint32_t i = 0; i < GATHER_RUNS; i++)
        w->runs[i] = share((sum += m->runs[i]) / all);
    w->runs[GATHER_RUNS - 1] = UINT32_MAX;
    for (uint32_t i = 0; i <= m->step_count; i++) {
        const double steps = 1 - m->next[i][0];
        sum = 0;
        for (uint32_t j = 0; j <= m->step_count; j++)
            w->next[i][j] = !j ? 0 : share(sum += steps > 0 ? m->next[i][j] / steps : 1);
    }
    w->is_steady = false;
    w->is_walk = true;
}

static struct gather_lines lines_of(uint64_t n, uint64_t order, uint64_t low)
{
    return (struct gather_lines){
        .map = gather_map_of(n, order), .low = low, .count = (double)(n ? n : 1), .known = low};
}

static void set_parts(struct gather_draw *w)
{
    const struct gather_area *m = &w->model;
    uint64_t low = 0;
    double sum = 0;

    for (uint32_t i = 0; i < m->part_count; i++) {
        const double end = m->parts[i].end;
        const uint64_t bytes =
            (uint64_t)((double)(m->base % GATHER_UNIT) + (double)m->span_bytes * end);
        const uint64_t high = i + 1 < m->part_count ? bytes / GATHER_UNIT : w->units;
        w->bounds[i + 1] = (uint64_t)((double)w->elements * end + 0.5);
        w->lines[i] = lines_of(high - low, w->order + (low ? i : 0), low);
        w->quantiles[i] = sum;
        w->parts[i] = share(sum += m->parts[i].share);
        low = high;
    }
    w->lines[GATHER_PARTS] = lines_of(w->units, w->order, 0);
    w->quantiles[m->part_count] = 1;
    w->parts[m->part_count - 1] = UINT32_MAX;
    for (uint32_t i = 0, part = 0; i < 257; i++) {
        while (part + 1 < m->part_count && w->quantiles[part + 1] * 256 <= i)
            part++;
        w->part_guide[i] = (uint8_t)part;
    }
}

static void set_classes(struct gather_draw *w)
{
    const struct gather_area *m = &w->model;
    double sum = 0;

    for (uint32_t i = 0; i < m->class_count; i++) {
        w->ranks[i + 1] = w->ranks[i] + m->classes[i].lines;
        w->classes[i] = share(sum += m->classes[i].jumps);
        w->is_everywhere[i] = m->classes[i].lines * (double)w->units > 4 * m->part_count;
    }
    for (uint32_t i = m->class_count - 1; i < GATHER_CLASSES; i++)
        w->classes[i] = UINT32_MAX;
    for (uint32_t i = 0, class = 0; i < 256; i++) {
        while (i << 24 >= w->classes[class] && w->classes[class] != UINT32_MAX)
            class ++;
        w->class_guide[i] = (uint8_t)class;
    }
}

static bool set_cursors(struct gather_draw *w)
{
    const struct gather_area *m = &w->model;
    uint64_t cursors = 0;
    double sum = 0;

    if (!m->cursor_classes)
        return true;
    for (uint32_t i = 0; i < m->cursor_classes; i++) {
        w->cursor_from[i] = sum;
        w->cursor_shares[i] = share(sum += m->cursors[i].share);
        w->cursor_first[i] = cursors;
        cursors += m->cursors[i].count;
    }
    for (uint32_t i = m->cursor_classes - 1; i < GATHER_CLASSES; i++)
        w->cursor_shares[i] = UINT32_MAX;
    w->cursor_counts = calloc(cursors, sizeof *w->cursor_counts);
    return w->cursor_counts;
}

/* The history is as long as echoes come from. */
static bool set_echoes(struct gather_draw *w)
{
    const struct gather_area *m = &w->model;
    double sum = 0, all = 0;
    uint64_t length = 1;

    for (uint32_t i = 0; i < GATHER_ECHOES; i++) {
        all += m->echoes[i];
        if (m->echoes[i] > 0)
            length = UINT64_C(2) << i;
    }
    if (!(all > 0))
        return true;
    w->echo = threshold(all);
    for (uint32_t i = 0; i < GATHER_ECHOES; i++)
        w->echoes[i] = share((sum += m->echoes[i]) / all);
    w->echoes[GATHER_ECHOES - 1] = UINT32_MAX;
    length = length < GATHER_HISTORY ? length : GATHER_HISTORY;
    w->history_mask = length - 1;
    w->history = calloc(length, sizeof *w->history);
    return w->history;
}

/* How many words each jump takes; 0: none, or not always as many. */
static uint32_t jump_words(const struct gather_area *m)
{
    if (m->places == GATHER_ANYWHERE)
        return m->class_count == 1 ? 2 : m->fixed > 0 ? 0 : 3;
    return m->places == GATHER_CURSORS ? 2 : m->places == GATHER_DESCENT;
}

bool gather_draw_init(struct gather_draw *w, const struct gather_area *model, uint64_t order)
{
    *w = (struct gather_draw){.model = *model, .order = order};
    w->elements = model->span_bytes / model->element_bytes;
    w->units = (model->base % GATHER_UNIT + model->span_bytes + GATHER_UNIT - 1) / GATHER_UNIT;
    /* Exact below 2^64 / element_bytes, as the error of the inverse is below 1. */
    if (model->span_bytes < UINT64_C(1) << 40 && model->element_bytes < 1u << 20)
        w->inverse = UINT64_MAX / model->element_bytes + 1;
    w->fixed = threshold(model->fixed);
    w->inside = threshold(model->inside);
    w->jump_words = jump_words(model);
    w->level = model->level_count;
    set_parts(w);
    set_classes(w);
    if (!set_cursors(w) || !set_echoes(w) || !gather_know_lines(w))
        return false;
    set_steps(w);
    set_runs(w);
    return true;
}

void gather_draw_release(struct gather_draw *w)
{
    free(w->cursor_counts);
    free(w->known);
    free(w->history);
}

/* ---- what addresses are, and their words ---- */

/* Where planning is. */
struct planned {
    const uint64_t *words;
    uint64_t lap_at, laps;
    uint32_t jumps, inside, outside;
};

/* A jump, if `is_one`, without a branch: in any case it is put in the place of the next one. */
static inline void plan_jump(const struct gather_draw *restrict w, struct gather_batch *restrict b,
                             struct planned *p, uint32_t number, uint32_t is_one, bool is_anywhere)
{
    const uint64_t *words = p->words;
    const uint32_t j = p->jumps;
    uint32_t count = w->jump_words;

    b->from[number] = &b->offsets[j];
    b->numbers[j] = (uint8_t)number;
    if (is_anywhere)
        count = count ? count : gather_words_anywhere(w, words);
    else if (w->model.places == GATHER_BAND || w->model.places == GATHER_AROUND) {
        const uint32_t is_inside = *words++ >> 11 < w->inside;
        b->are_inside[p->inside] = b->are_outside[p->outside] = (uint8_t)j;
        p->inside += is_inside & is_one;
        p->outside += (is_inside ^ 1) & is_one;
        count = is_inside ? 2 : 1 + gather_words_anywhere(w, words);
    }
    b->words[j] = words;
    if (!is_anywhere) {
        b->lap_at[j] = p->lap_at;
        b->laps[j] = p->laps;
    }
    p->jumps += is_one;
    p->words += count & (0 - is_one);
}

static inline void pass_lap(const struct gather_draw *w, struct planned *p, uint32_t jumps)
{
    p->lap_at += jumps;
    if (jumps && p->lap_at == w->model.lap) {
        p->lap_at = 0;
        p->laps++;
    }
}

/* How many accesses back an echo comes from. */
static inline uint64_t echo_gap(const struct gather_draw *w, const uint64_t **words)
{
    const uint64_t *word = *words;
    const uint32_t octave = gather_pick(w->echoes, GATHER_ECHOES - 1, (uint32_t)word[0]);

    *words += 2;
    return (UINT64_C(1) << octave) + gather_below(word[1], UINT64_C(1) << octave);
}

/* Whether that is known, so many accesses from the beginning. */
static inline bool is_remembered(uint64_t count, uint64_t gap)
{
    return gap <= count && gap < GATHER_HISTORY;
}

/* A jump, or an address in the line that was visited some accesses ago. */
static inline void plan_echo(const struct gather_draw *restrict w, struct gather_batch *restrict b,
                             struct planned *p, uint32_t number, bool is_anywhere)
{
    const uint64_t at = w->count + number;
    uint64_t gap;

    if (*p->words++ >> 11 >= w->echo) {
        plan_jump(w, b, p, number, 1, is_anywhere);
        pass_lap(w, p, 1);
        return;
    }
    gap = echo_gap(w, &p->words);
    if (!is_remembered(at, gap)) {
        plan_jump(w, b, p, number, 1, is_anywhere);
        return;
    }
    b->kinds[number] = ECHO;
    b->from[number] = &w->history[(at - gap) & w->history_mask];
}

/* All are jumps anywhere. */
static uint32_t plan_anywhere(const struct gather_draw *restrict w, struct gather_batch *restrict b,
                              const uint64_t *begin, uint32_t n)
{
    const uint64_t *words = begin;

    for (uint32_t i = b->count; i < b->count + n; i++) {
        b->numbers[i] = (uint8_t)i;
        b->words[i] = words;
        words += w->jump_words ? w->jump_words : gather_words_anywhere(w, words);
    }
    b->jumps = b->count += n;
    return (uint32_t)(words - begin);
}

/* All are jumps anywhere, or echoes: what plan() does, of which this is most. */
static uint32_t plan_echoes(struct gather_draw *restrict w, struct gather_batch *restrict b,
                            const uint64_t *words, uint32_t n)
{
    const uint64_t echo = w->echo;
    const uint32_t end = b->count + n, each = w->jump_words;
    struct planned p = {words, 0, 0, b->jumps, 0, 0};

    for (uint32_t i = b->count; i < end; i++) {
        b->kinds[i] = 0;
        if (*p.words >> 11 >= echo && each) {
            b->from[i] = &b->offsets[p.jumps];
            b->numbers[p.jumps] = (uint8_t)i;
            b->words[p.jumps++] = p.words + 1;
            p.words += 1 + each;
        } else
            plan_echo(w, b, &p, i, true);
    }
    b->jumps = p.jumps;
    b->count = end;
    return (uint32_t)(p.words - words);
}

static inline uint32_t next_kind(const struct gather_draw *w, uint32_t kind, uint64_t word)
{
    if (w->model.step_count == 1)
        return gather_pick(w->next[kind], 1, (uint32_t)word);
    return gather_pick(w->next[kind], w->model.step_count, (uint32_t)word);
}

/* The same where it is drawn how many steps come. */
static inline uint32_t next_in_run(struct gather_draw *w, uint32_t kind, const uint64_t **words)
{
    const uint64_t *word = *words;
    uint32_t octave;

    if (w->run) {
        w->run--;
        ++*words;
        return next_kind(w, kind, *word);
    }
    *words += 2;
    octave = gather_pick(w->runs, GATHER_RUNS - 1, (uint32_t)word[0]);
    if (octave) {
        const uint64_t least = UINT64_C(1) << (octave - 1);
        w->run = least + gather_below(word[1], least);
    }
    return 0;
}

static inline uint32_t plan(struct gather_draw *restrict w, struct gather_batch *restrict b,
                            const uint64_t *words, uint32_t n, bool is_anywhere)
{
    const uint32_t end = b->count + n;
    const bool has_steps = w->model.step_count;
    struct planned p = {words, w->lap_at, w->laps, b->jumps, b->inside, b->outside};
    uint32_t kind = w->kind;

    if (!has_steps && !w->history)
        for (uint32_t i = b->count; i < end; i++) {
            b->kinds[i] = 0;
            plan_jump(w, b, &p, i, 1, is_anywhere);
            pass_lap(w, &p, 1);
        }
    else if (!w->history && !w->is_walk)
        for (uint32_t i = b->count; i < end; i++) {
            b->kinds[i] = (uint8_t)(kind = next_kind(w, kind, *p.words++));
            plan_jump(w, b, &p, i, !kind, is_anywhere);
            pass_lap(w, &p, !kind);
        }
    else
        for (uint32_t i = b->count; i < end; i++) {
            if (has_steps)
                kind =
                    w->has_runs ? next_in_run(w, kind, &p.words) : next_kind(w, kind, *p.words++);
            b->kinds[i] = (uint8_t)kind;
            if (kind)
                continue;
            if (w->history)
                plan_echo(w, b, &p, i, is_anywhere);
            else {
                plan_jump(w, b, &p, i, 1, is_anywhere);
                pass_lap(w, &p, 1);
            }
        }
    w->kind = kind;
    w->lap_at = p.lap_at;
    w->laps = p.laps;
    b->jumps = p.jumps;
    b->inside = p.inside;
    b->outside = p.outside;
    b->count = end;
    return (uint32_t)(p.words - words);
}

uint32_t gather_draw_plan(struct gather_draw *w, struct gather_batch *b, const uint64_t *words,
                          uint32_t n)
{
    if (w->model.places != GATHER_ANYWHERE)
        return plan(w, b, words, n, false);
    if (w->model.step_count)
        return plan(w, b, words, n, true);
    if (w->history)
        return plan_echoes(w, b, words, n);
    return plan_anywhere(w, b, words, n);
}

/* ---- addresses ---- */

static inline uint64_t stepped(const struct gather_draw *w, uint64_t at, uint32_t kind)
{
    const uint64_t span = w->model.span_bytes;

    at += w->steps[kind];
    at += at >= span ? w->around[kind] : 0;
    return at >= span ? 0 : at;
}

/* What is no step, around another reference's last address. */
static uint64_t place_one(const struct gather_draw *w, const uint64_t **words)
{
    uint64_t gap;

    if (!w->history || *(*words)++ >> 11 >= w->echo)
        return gather_place_around(w, words);
    gap = echo_gap(w, words);
    return is_remembered(w->count, gap) ? w->history[(w->count - gap) & w->history_mask]
                                        : gather_place_around(w, words);
}

uint32_t gather_draw_one(struct gather_draw *w, const uint64_t *words, uint64_t *address)
{
    const uint64_t *next = words;

    if (w->model.step_count)
        w->kind = w->has_runs ? next_in_run(w, w->kind, &next) : next_kind(w, w->kind, *next++);
    w->at = w->kind ? stepped(w, w->at, w->kind) : place_one(w, &next);
    if (w->history)
        w->history[w->count & w->history_mask] = w->at;
    w->count++;
    *address = w->model.base + w->at;
    return (uint32_t)(next - words);
}

void gather_draw_steady(struct gather_draw *w, uint64_t *addresses, size_t n)
{
    const uint64_t base = w->model.base, step = w->steps[w->kind], span = w->model.span_bytes;
    uint64_t at = w->at;

    for (size_t i = 0; i < n; i++) {
        at = at + step < span ? at + step : stepped(w, at, w->kind);
        addresses[i] = base + at;
    }
    w->at = at;
}

uint32_t gather_draw_write(struct gather_draw *w, struct gather_batch *b, uint64_t *addresses)
{
    const uint64_t base = w->model.base;
    const uint64_t mask = w->history_mask;
    const uint32_t count = b->count;
    uint64_t *history = w->history, at = w->at;

    if (b->jumps)
        gather_places(w, b);
    if (!w->model.step_count && w->model.places != GATHER_SWEEP) {
        for (uint32_t i = 0; !w->history && i < count; i++)
            addresses[i] = base + b->offsets[i];
        at = count && !w->history ? b->offsets[count - 1] : at;
        for (uint32_t i = 0; w->history && i < count; i++) {
            history[(w->count + i) & mask] = at = *b->from[i];
            addresses[i] = base + at;
        }
    } else
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t kind = b->kinds[i];
            const uint64_t is_step = w->is_step[kind];
            if (w->history || w->is_walk)
                at = is_step ? stepped(w, at, kind) : *b->from[i];
            else
                at = (stepped(w, at, kind) & is_step) | (*b->from[i] & ~is_step);
            if (w->history)
                w->history[(w->count + i) & w->history_mask] = at;
            addresses[i] = base + at;
        }
    w->at = at;
    w->count += count;
    b->count = b->jumps = b->inside = b->outside = 0;
    return count;
}
