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
 * neighbours: they count as loops (diff_apart.c). Bodies without accesses are left out as well.
 * Repeat counts that change from one iteration to the next are taken as those in the middle.
 */
#include "profile/diff/diff.h"

#include <math.h>
#include <stdlib.h>

#include "profile/model.h"

struct succession {
    uint32_t from, to;
    double times; /* weight included; of b: negative */
};

/* Keys are what both profiles call a loop. */
struct counter {
    const uint32_t *keys;   /* of symbols; PSNAP_NONE: it is left out */
    const double *weights;  /* of symbols: accesses of an execution */
    struct succession *all; /* of both profiles */
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

static void count(struct counter *counter, uint32_t from, uint32_t to, double times)
{
    const uint32_t a = key_of(counter, from), b = key_of(counter, to);
    const double weight = is_chain(from) && is_chain(to) ? 0
                          : is_chain(from)               ? counter->weights[to]
                          : is_chain(to)                 ? counter->weights[from]
                                         : fmin(counter->weights[from], counter->weights[to]);
    const size_t room = 2 * counter->room + 64;
    struct succession *all;

    if (a == PSNAP_NONE || b == PSNAP_NONE || !(times > 0) || !(weight > 0))
        return;
    if (counter->count == counter->room) {
        all = realloc(counter->all, room * sizeof *all);
        if (!all) {
            counter->is_full = true;
            return;
        }
        counter->all = all;
        counter->room = room;
    }
    counter->all[counter->count++] = (struct succession){a, b, counter->sign * times * weight};
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

static struct ends leaf(struct counter *counter, uint32_t symbol, double repeats, double times)
{
    if (key_of(counter, symbol) == PSNAP_NONE ||
        (!is_chain(symbol) && !(counter->weights[symbol] > 0)))
        return (struct ends){PSNAP_NONE, PSNAP_NONE};
    count(counter, symbol, symbol, times * (repeats - 1));
    return (struct ends){symbol, symbol};
}

static struct ends nest(struct counter *counter, const struct nest_pattern *pattern,
                        const uint64_t *values, double times)
{
    const int64_t repeats = (int64_t)values[0];
    struct ends ends = {PSNAP_NONE, PSNAP_NONE};
    uint64_t *middle;

    if (repeats <= 0)
        return ends;
    if (!pattern->body_count)
        return leaf(counter, pattern->symbol, (double)repeats, times);
    middle = malloc(pattern->values * sizeof *middle);
    if (!middle) {
        counter->is_full = true;
        return ends;
    }
    for (uint32_t i = 1; i < pattern->values; i++)
        middle[i] = values[i] + pattern->steps[i - 1] * (uint64_t)((repeats - 1) / 2);
    for (uint32_t i = 0, at = 1; i < pattern->body_count; at += pattern->body[i++]->values)
        join(counter, &ends, nest(counter, pattern->body[i], middle + at, times * (double)repeats),
             times * (double)repeats);
    free(middle);
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

/* Accesses of an execution of a body. */
static double body_weight(const struct psnap_stream_model *model, const struct model_body *body)
{
    double accesses = (double)body->iterations * body->width;

    for (uint32_t i = 0; i < body->part_count; i++) {
        const struct model_body *part = &model->bodies[body->parts[i].body];
        accesses += (double)part->iterations * part->width;
    }
    return accesses / fmax(1, (double)body->executions);
}

/* ---- comparing ---- */

static int by_keys(const void *left, const void *right)
{
    const struct succession *a = left, *b = right;

    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    return (a->times > b->times) - (a->times < b->times); /* sums do not depend on the sort */
}

/* Sum of the differences by `whole`, releasing the counter. Negative: out of memory. */
static double differences(struct counter *counter, double whole)
{
    double sum = 0;

    if (counter->count)
        qsort(counter->all, counter->count, sizeof *counter->all, by_keys);
    for (size_t i = 0, end; i < counter->count; i = end) {
        double times = 0;
        for (end = i; end < counter->count && counter->all[end].from == counter->all[i].from &&
                      counter->all[end].to == counter->all[i].to;
             end++)
            times += counter->all[end].times;
        sum += fabs(times);
    }
    free(counter->all);
    return counter->is_full ? -1 : sum / fmax(1, whole);
}

/* Bodies of a side: their keys, none yet, and weights. False: out of memory. */
static bool fill(const struct psnap_stream_model *model, uint32_t **keys, double **weights)
{
    const size_t n = model->body_count;

    *keys = malloc((n + 1) * sizeof **keys);
    *weights = calloc(n + 1, sizeof **weights);
    if (!*keys || !*weights)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        (*keys)[i] = PSNAP_NONE;
        (*weights)[i] = body_weight(model, &model->bodies[i]);
    }
    return true;
}

/* Keys of bodies are their indices in b. */
static void match(const struct profile_diff *diff, uint32_t *of_a, uint32_t *of_b)
{
    for (uint32_t i = 0; i < diff->a.profile->stream->body_count; i++) {
        of_a[i] = diff->body_of[i];
        if (of_a[i] != PSNAP_NONE)
            of_b[of_a[i]] = of_a[i];
    }
}

double diff_order_apart(const struct profile_diff *diff)
{
    const struct psnap_stream_model *a = diff->a.profile->stream, *b = diff->b.profile->stream;
    const double accesses = fmax((double)diff->a.totals.accesses, (double)diff->b.totals.accesses);
    uint32_t *keys[2] = {NULL, NULL};
    double *weights[2] = {NULL, NULL}, apart = -1;

    if (fill(a, &keys[0], &weights[0]) && fill(b, &keys[1], &weights[1])) {
        struct counter counter = {.sign = 1};
        match(diff, keys[0], keys[1]);
        for (unsigned side = 0; side < 2; side++) {
            counter.keys = keys[side];
            counter.weights = weights[side];
            counter.sign = side ? -1 : 1;
            count_model(&counter, side ? b : a);
        }
        apart = differences(&counter, 2 * accesses);
    }
    for (unsigned side = 0; side < 2; side++) {
        free(keys[side]);
        free(weights[side]);
    }
    return apart;
}
