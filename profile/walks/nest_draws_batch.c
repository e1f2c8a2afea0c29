/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Iterations of references that draw together (nest_draws.h): as putting their addresses one by
 * one, but for those in which nobody looks for leaders, and none is told apart. These are collected
 * draw by draw; who comes after whom is noted of the last ones alone.
 */
#include <string.h>

#include "profile/walks/nest_draws_seen.h"

/* How many iterations there are from here on, of n, in which nobody looks for leaders, and none is
 * told apart: the first one may be an entry. */
static uint64_t count_resting(const struct nest_draws *draws, const struct nest_drawn *drawn,
                              uint32_t width, uint64_t n, bool is_entry)
{
    for (uint32_t k = 0; k < width; k++) {
        const struct draw *draw = &draws->draws[drawn[k].draw];
        const uint64_t rest = draw->followers[draw->is_split ? DRAW_REST : DRAW_ALL].rest;

        if (!draw->is_decided || (is_entry && draw->is_split) || rest < width)
            return 0;
        n = rest < n * width ? rest / width : n;
    }
    return n;
}

/* Words one after the other, as many as fit at once straight to the room. */
static void put_words(struct gather_areas *areas, const uint64_t *words, uint64_t first, uint64_t n)
{
    for (uint64_t i = 0, end; i < n; i = end) {
        const uint64_t low = areas->low, span = areas->span, free = areas->most - areas->count;
        uint64_t *out = areas->room + areas->count;
        bool is_elsewhere = !free;

        end = i + (free < n - i ? free : n - i);
        for (uint64_t k = i; k < end; k++) {
            out[k - i] = words[k] + first;
            is_elsewhere |= out[k - i] - low > span;
        }
        if (!is_elsewhere) {
            areas->count += end - i;
            continue;
        }
        end = end == i ? i + 1 : end;
        for (uint64_t k = i; k < end; k++)
            gather_areas_put(areas, words[k] + first);
    }
}

/* References of a batch that are copies of one. */
struct copies {
    const struct nest_drawn *of[NEST_WIDTH_MAX];
    uint32_t count;
};

/* Whether their addresses lie one after the other. */
static bool is_flat(const struct copies *copies)
{
    const struct nest_drawn *first = copies->of[0];
    bool flat = first->words && first->pitch == copies->count;

    for (uint32_t k = 1; flat && k < copies->count; k++)
        flat = copies->of[k]->words == first->words + k && copies->of[k]->pitch == copies->count &&
               copies->of[k]->first == first->first;
    return flat;
}

/* Whether they go on by one step, *step: those of n iterations in turn. */
static bool is_run(const struct copies *copies, uint64_t n, uint64_t *step)
{
    const struct nest_drawn *first = copies->of[0];
    bool is_one = true;

    *step = copies->count > 1 ? copies->of[1]->first - first->first : first->step;
    for (uint32_t k = 0; is_one && k < copies->count; k++)
        is_one = !copies->of[k]->words && copies->of[k]->first == first->first + k * *step &&
                 (n == 1 || copies->of[k]->step == copies->count * *step);
    return is_one;
}

/* The addresses of iterations [from, to) of copies, in turn. Those of an iteration that fit go
 * straight to the room. */
static void put_columns(struct gather_areas *areas, const struct copies *copies, uint64_t from,
                        uint64_t to)
{
    uint64_t step;

    if (is_flat(copies)) {
        put_words(areas, copies->of[0]->words + from * copies->count, copies->of[0]->first,
                  (to - from) * copies->count);
        return;
    }
    if (is_run(copies, to - from, &step)) {
        gather_areas_put_run(areas, nest_drawn_address(copies->of[0], from), step,
                             (to - from) * copies->count);
        return;
    }
    for (uint64_t i = from; i < to; i++) {
        const uint64_t low = areas->low, span = areas->span;
        uint64_t *out = areas->room + areas->count;
        bool is_elsewhere = areas->most - areas->count < copies->count;

        for (uint32_t k = 0; !is_elsewhere && k < copies->count; k++) {
            out[k] = nest_drawn_address(copies->of[k], i);
            is_elsewhere = out[k] - low > span;
        }
        areas->count += is_elsewhere ? 0 : copies->count;
        for (uint32_t k = 0; is_elsewhere && k < copies->count; k++)
            gather_areas_put(areas, nest_drawn_address(copies->of[k], i));
    }
}

/* The references of a batch by draw: next[k] is the next copy of the k-th, or `width`. */
static void link_copies(struct nest_draws *draws, const struct nest_drawn *drawn, uint32_t width,
                        uint32_t *next)
{
    const uint64_t batch = ++draws->batches;

    for (uint32_t k = width; k--;) {
        struct draw *draw = &draws->draws[drawn[k].draw];
        next[k] = draw->batch == batch ? draw->batch_first : width;
        draw->batch = batch;
        draw->batch_first = k;
    }
}

/* The addresses of iterations [from, to), of each draw its own in turn. */
static void collect_all(struct nest_draws *draws, const struct nest_drawn *drawn, uint32_t width,
                        uint64_t from, uint64_t to)
{
    uint32_t next[NEST_WIDTH_MAX];
    struct copies copies;

    if (to - from > 1)
        link_copies(draws, drawn, width, next);
    for (uint32_t k = 0; k < width; k++) {
        struct draw *draw = &draws->draws[drawn[k].draw];
        struct gather_areas *areas;

        if (!draw_is_collected(draw, draw->is_split ? DRAW_REST : DRAW_ALL) ||
            (to - from > 1 && draw->batch_first != k))
            continue;
        areas = draw_areas(draws, draw, DRAW_REST);
        if (!areas)
            return;
        if (to - from == 1) {
            gather_areas_put(areas, nest_drawn_address(&drawn[k], from));
            continue;
        }
        copies.count = 0;
        for (uint32_t i = k; i < width; i = next[i])
            copies.of[copies.count++] = &drawn[i];
        put_columns(areas, &copies, from, to);
    }
}

/* Those that came last in an iteration are the latest. */
static void remember_all(struct nest_draws *draws, const struct nest_drawn *drawn, uint32_t width)
{
    uint32_t latest[DRAW_RECENT], count = 0;

    for (uint32_t k = width; k-- && count < DRAW_RECENT;) {
        uint32_t i = 0;
        while (i < count && latest[i] != drawn[k].draw)
            i++;
        latest[i] = drawn[k].draw;
        count += i == count;
    }
    if (!memcmp(latest, draws->recent, count * sizeof *latest))
        return;
    while (count--)
        draws_remember(draws, latest[count]);
}

/* The last addresses of iterations [from, to), as many as a trail has. */
static void leave_trail(struct nest_draws *draws, const struct nest_drawn *drawn, uint32_t width,
                        uint64_t from, uint64_t to)
{
    const uint64_t most = (NEST_BACK_MAX + width - 1) / width;
    uint64_t i = to - from > most ? to - most : from;
    uint32_t n = (uint32_t)(to - i) * width, k = n > NEST_BACK_MAX ? n - NEST_BACK_MAX : 0;

    for (; i < to; i++, k = 0)
        for (; k < width; k++)
            nest_trail_push(&draws->trail, drawn[k].draw, nest_drawn_address(&drawn[k], i));
}

/* Iterations [from, to), at least one, in which nobody looks for leaders; the first one may be an
 * entry. */
static void put_resting(struct nest_draws *draws, const struct nest_drawn *drawn, uint32_t width,
                        uint64_t from, uint64_t to, bool is_entry)
{
    collect_all(draws, drawn, width, from, to);
    for (uint32_t k = 0; k < width; k++) {
        struct draw *draw = &draws->draws[drawn[k].draw];

        draw->followers[draw->is_split ? DRAW_REST : DRAW_ALL].rest -= (uint32_t)(to - from);
        if (is_entry)
            draw_begin(draw, nest_drawn_address(&drawn[k], from));
        draw->last = nest_drawn_address(&drawn[k], to - 1);
    }
    remember_all(draws, drawn, width);
    leave_trail(draws, drawn, width, from, to);
}

/* As count_resting, of those of pools. */
static uint64_t count_apart(const struct nest_draws *draws, const struct nest_drawn *drawn,
                            uint32_t width, uint64_t n)
{
    for (uint32_t k = 0; k < width; k++) {
        const struct draw *draw = &draws->draws[drawn[k].draw];
        const uint64_t rest = draw->followers[DRAW_ALL].rest;

        if (draw->into != drawn[k].draw && !draw->is_lost && rest < n * width)
            n = rest / width;
    }
    return n;
}

static void rest_apart(struct nest_draws *draws, const struct nest_drawn *drawn, uint32_t width,
                       uint64_t n)
{
    for (uint32_t k = 0; k < width; k++) {
        struct draw *draw = &draws->draws[drawn[k].draw];
        if (draw->into != drawn[k].draw && !draw->is_lost)
            draw->followers[DRAW_ALL].rest -= (uint32_t)n;
    }
}

/* The next iterations, from `from` on: returns how many. `drawn` are the references as they are,
 * `into` the draws that they are of. */
static uint64_t put_some(struct nest_draws *draws, const struct nest_drawn *drawn,
                         const struct nest_drawn *into, uint32_t width, uint64_t from, uint64_t n,
                         bool is_entry)
{
    uint64_t resting = count_resting(draws, into, width, n - from, is_entry);

    if (resting && draws->has_pools && (resting = count_apart(draws, drawn, width, resting)))
        rest_apart(draws, drawn, width, resting);
    if (resting) {
        put_resting(draws, into, width, from, from + resting, is_entry);
        return resting;
    }
    for (uint32_t k = 0; k < width; k++)
        nest_draws_put(draws, drawn[k].draw, is_entry, nest_drawn_address(&drawn[k], from));
    return 1;
}

void nest_draws_put_all(struct nest_draws *draws, const struct nest_drawn *drawn, uint32_t width,
                        uint64_t n, bool is_entry)
{
    struct nest_drawn own[NEST_WIDTH_MAX];
    const struct nest_drawn *into = draws->has_pools ? own : drawn;

    for (uint32_t k = 0; draws->has_pools && k < width; k++) {
        own[k] = drawn[k];
        own[k].draw = draws->draws[drawn[k].draw].into;
    }
    for (uint64_t i = 0; i < n && !draws->is_out_of_memory;)
        i += put_some(draws, drawn, into, width, i, n, !i && is_entry);
}
