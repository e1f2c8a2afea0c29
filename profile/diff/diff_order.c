/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far the orders of two profiles are apart: how often each loop comes right after each other
 * one, counted in the schedules and chains without unfolding them, and compared. What a loop finds
 * in a cache of the loop before it is at most the accesses of the smaller of the two, so each
 * succession weighs that, and the distance is
 *
 *   sum over successions of |times in a - times in b| * weight / (2 * accesses)
 *
 * Loops that only one profile has are left out, as if what is before and after them were
 * neighbours: they count as loops (diff.c). Bodies without accesses are left out as well.
 * Repeat counts that change from one iteration to the next are taken as those in the middle.
 */
#include <math.h>
#include <stdlib.h>

#include "formats/base/map.h"
#include "formats/base/room.h"
#include "profile/diff/diff.h"

#define ROUNDING 1e-12 /* of all accesses: what is left of equal sums */

/* Keys are what both profiles call a loop: of bodies their indices in b. */
struct counter {
    struct psnap_arena *arena;
    uint32_t *keys;       /* of bodies; PSNAP_NONE: it is left out */
    double *weights;      /* of bodies: accesses of an execution */
    struct psnap_map map; /* of successions, by their keys: 1 + index in times */
    double *times;        /* weight included; those of b are taken away */
    size_t count, room;
    double sign;
    bool is_full; /* out of memory */
};

/* What an item begins and ends with, as symbols; PSNAP_NONE: nothing is left of it. */
struct ends {
    uint32_t first, last;
};

static bool is_chain(uint32_t symbol)
{
    return symbol & MODEL_CHAIN;
}

static uint32_t key_of(const struct counter *counter, uint32_t symbol)
{
    return is_chain(symbol) ? symbol : counter->keys[symbol];
}

/* 0: it is left out; chains have no weight of their own. */
static double weight_of(const struct counter *counter, uint32_t symbol)
{
    if (is_chain(symbol))
        return INFINITY;
    return counter->keys[symbol] == PSNAP_NONE ? 0 : counter->weights[symbol];
}

static void count(struct counter *counter, uint32_t from, uint32_t to, double times)
{
    const double weight = fmin(weight_of(counter, from), weight_of(counter, to));
    uint64_t *slot;

    if (!(times > 0) || !(weight > 0) || isinf(weight))
        return;
    slot =
        psnap_map_put(&counter->map, (uint64_t)key_of(counter, from) << 32 | key_of(counter, to));
    if (!slot ||
        !psnap_make_room(&counter->times, &counter->room, counter->count + 1, sizeof(double))) {
        counter->is_full = true;
        return;
    }
    if (!*slot) {
        counter->times[counter->count] = 0;
        *slot = ++counter->count;
    }
    counter->times[*slot - 1] += counter->sign * times * weight;
}

/* Joins what follows to what was before; `times` is how often both are executed. */
static void join(struct counter *counter, struct ends *before, struct ends next, double times)
{
    if (next.first == PSNAP_NONE)
        return;
    if (before->first == PSNAP_NONE)
        before->first = next.first;
    else
        count(counter, before->last, next.first, times);
    before->last = next.last;
}

/* ---- nests of bodies ---- */

static struct ends nest(struct counter *counter, const struct nest_pattern *pattern,
                        const uint64_t *values, double times)
{
    const int64_t repeats = (int64_t)values[0];
    struct ends ends = {PSNAP_NONE, PSNAP_NONE};
    uint64_t *middle;

    if (repeats <= 0 || (!pattern->body_count && !(weight_of(counter, pattern->symbol) > 0)))
        return ends;
    if (!pattern->body_count) {
        count(counter, pattern->symbol, pattern->symbol, times * (double)(repeats - 1));
        return (struct ends){pattern->symbol, pattern->symbol};
    }
    middle = psnap_arena_alloc(counter->arena, pattern->values * sizeof *middle);
    if (!middle) {
        counter->is_full = true;
        return ends;
    }
    for (uint32_t i = 1; i < pattern->values; i++)
        middle[i] = values[i] + pattern->steps[i - 1] * (uint64_t)((repeats - 1) / 2);
    for (uint32_t i = 0, at = 1; i < pattern->body_count; at += pattern->body[i++]->values)
        join(counter, &ends, nest(counter, pattern->body[i], middle + at, times * (double)repeats),
             times * (double)repeats);
    if (ends.first != PSNAP_NONE)
        count(counter, ends.last, ends.first, times * (double)(repeats - 1));
    return ends;
}

/* State 0 of a chain, the outside, is the chain itself as a symbol. */
static void count_model(struct counter *counter, const struct psnap_stream_model *model)
{
    for (uint32_t t = 0; t < model->order_count; t++) {
        struct ends ends = {PSNAP_NONE, PSNAP_NONE};
        for (size_t i = 0; i < model->orders[t].terms.count; i++)
            join(counter, &ends,
                 nest(counter, model->orders[t].terms.terms[i].pattern,
                      nest_term_values(&model->orders[t].terms, i), 1),
                 1);
    }
    for (uint32_t c = 0; c < model->chain_count; c++)
        for (uint32_t s = 0; s < model->chains[c].count; s++) {
            const struct chain_state *state = &model->chains[c].states[s];
            for (uint32_t e = 0; e < state->edge_count; e++) {
                const uint32_t to = state->edges[e].to;
                count(counter, s ? state->symbol : c | MODEL_CHAIN,
                      to ? model->chains[c].states[to].symbol : c | MODEL_CHAIN,
                      (double)state->edges[e].count);
            }
        }
}

/* ---- comparing ---- */

/* Counts a side, whose bodies have these keys. */
static void count_side(struct counter *counter, const struct psnap_stream_model *model,
                       uint32_t *keys, double sign)
{
    counter->keys = keys;
    counter->sign = sign;
    counter->weights =
        psnap_arena_alloc(counter->arena, model->body_count * sizeof *counter->weights);
    if (!counter->weights) {
        counter->is_full = true;
        return;
    }
    for (uint32_t i = 0; i < model->body_count; i++)
        counter->weights[i] = (double)model_body_accesses(model, &model->bodies[i]) /
                              fmax(1, (double)model->bodies[i].executions);
    count_model(counter, model);
}

double diff_order_apart(const struct profile_diff *diff)
{
    const struct psnap_stream_model *a = diff->a.profile->stream, *b = diff->b.profile->stream;
    const double accesses = fmax((double)diff->a.totals.accesses, (double)diff->b.totals.accesses);
    struct counter counter = {.arena = diff->arena};
    uint32_t *keys = psnap_arena_alloc(diff->arena, b->body_count * sizeof *keys);
    double sum = 0;

    if (!keys)
        return -1;
    for (uint32_t i = 0; i < b->body_count; i++)
        keys[i] = PSNAP_NONE;
    for (uint32_t i = 0; i < a->body_count; i++)
        if (diff->body_of[i] != PSNAP_NONE)
            keys[diff->body_of[i]] = diff->body_of[i];
    count_side(&counter, a, diff->body_of, 1);
    count_side(&counter, b, keys, -1);
    for (size_t i = 0; i < counter.count; i++)
        sum += fabs(counter.times[i]) > ROUNDING * accesses ? fabs(counter.times[i]) : 0;
    free(counter.map.slots);
    free(counter.times);
    return counter.is_full ? -1 : sum / fmax(1, 2 * accesses);
}
