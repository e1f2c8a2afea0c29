/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is different about the models of two profiles of model nests, and how far that is apart:
 * references with another rule or other addresses and bodies with other trip counts, by pairs of
 * loops; the first item in which the schedules differ; transitions of chains. References of a pair
 * are those of equal number in parts of equal place, bodies those of equal place in their part.
 * Reuse histograms are compared as those of whole loops (diff.c), being statistics.
 *
 * Numbers that mean the same (counts, strides, steps, first numbers as they lie to that of the
 * nest) are apart by 1 - less / more, and a term by the largest of these, or 1 when it has another
 * form. Histograms of trip counts are apart by half the sum of the differences of shares.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "profile/diff/diff.h"

#define LEAST 1e-9 /* how far what differs is apart, be it by ever so little */

/* ---- nests ---- */

/* How far two numbers of the same meaning are apart: 0 only for equal ones, 1 for other signs. */
static double numbers_apart(uint64_t a, uint64_t b)
{
    const int64_t p = (int64_t)a, q = (int64_t)b;

    if (p == q)
        return 0;
    if (!p || !q || (p < 0) != (q < 0))
        return 1;
    return fmax(LEAST, diff_of_counts(p < 0 ? 0 - a : a, q < 0 ? 0 - b : b));
}

/* The largest difference of two terms' numbers, 1 for another form; first numbers are those from
 * `origins` on, which are a number of each side. */
static double term_apart(const struct nest_pattern *a, const uint64_t *p,
                         const struct nest_pattern *b, const uint64_t *q, const uint64_t origins[2])
{
    double most;

    if (a->depth < b->depth && b->body_count == 1) /* a's is that of one iteration */
        return fmax(numbers_apart(1, q[0]), term_apart(a, p, b->body[0], q + 1, origins));
    if (b->depth < a->depth && a->body_count == 1)
        return fmax(numbers_apart(p[0], 1), term_apart(a->body[0], p + 1, b, q, origins));
    if (a->body_count != b->body_count || a->values != b->values || a->depth != b->depth)
        return 1;
    most = numbers_apart(p[0], q[0]);
    for (uint32_t i = 0; i + 1 < a->values && most < 1; i++)
        most = fmax(most, numbers_apart(a->steps[i], b->steps[i]));
    if (!a->body_count)
        return fmax(most, numbers_apart(p[1] - origins[0], q[1] - origins[1]));
    for (uint32_t i = 0, at = 1; i < a->body_count && most < 1; at += a->body[i++]->values) {
        if (a->body[i]->values != b->body[i]->values)
            return 1;
        most = fmax(most, term_apart(a->body[i], p + at, b->body[i], q + at, origins));
    }
    return most;
}

static double length_of(const struct nest_terms *nest, size_t term)
{
    return term < nest->count
               ? (double)nest_length(nest->terms[term].pattern, nest_term_values(nest, term))
               : 0;
}

/* The first number of a nest that may be shifted, else 0. */
static uint64_t origin_of(const struct nest_terms *nest, bool may_shift)
{
    return may_shift && nest->count
               ? nest_first_number(nest->terms[0].pattern, nest_term_values(nest, 0))
               : 0;
}

/* How far they are apart, each term as its share of the numbers; all first numbers may differ by as
 * much if nests may be shifted. */
static double nest_apart(const struct nest_terms *a, const struct nest_terms *b, bool may_shift)
{
    const uint64_t origins[2] = {origin_of(a, may_shift), origin_of(b, may_shift)};
    double sum = 0, all = 0;

    for (size_t i = 0; i < a->count || i < b->count; i++) {
        const double weight = fmax(1, fmax(length_of(a, i), length_of(b, i)));
        all += weight;
        sum += i >= a->count || i >= b->count
                   ? weight
                   : weight * term_apart(a->terms[i].pattern, nest_term_values(a, i),
                                         b->terms[i].pattern, nest_term_values(b, i), origins);
    }
    return all > 0 ? sum / all : 0;
}

/* ---- references ---- */

static bool same_bases(const struct model_ref *refs_a, const struct model_ref *a,
                       const struct model_ref *refs_b, const struct model_ref *b)
{
    if (a->base_count != b->base_count || a->offset_count != b->offset_count)
        return false;
    for (uint32_t i = 0; i < a->base_count; i++)
        if (refs_a[a->bases[i]].number != refs_b[b->bases[i]].number)
            return false;
    for (uint32_t i = 0; i < a->offset_count; i++)
        if (a->offsets[i].bytes != b->offsets[i].bytes)
            return false;
    return true;
}

/* Where a region lies is said of the region, so nests may be shifted as a whole. */
static double ref_apart(const struct model_ref *refs_a, const struct model_ref *a,
                        const struct model_ref *refs_b, const struct model_ref *b)
{
    if (a->rule != b->rule || a->kind != b->kind || a->size != b->size ||
        strcmp(a->mark, b->mark) != 0)
        return 1;
    if (a->rule == MODEL_NEST)
        return a->element == b->element ? nest_apart(&a->addresses, &b->addresses, true) : 1;
    if (a->rule == MODEL_SHARED)
        return refs_a[a->sweep].number != refs_b[b->sweep].number;
    return a->rule == MODEL_DEPENDENT && !same_bases(refs_a, a, refs_b, b);
}

/* ---- trip counts ---- */

static bool same_parts(const struct model_body *a, const struct model_body *b)
{
    if (a->is_drawn != b->is_drawn || a->is_part != b->is_part || a->is_counted != b->is_counted ||
        a->part_count != b->part_count)
        return false;
    for (uint32_t i = 0; i < a->part_count; i++)
        if (a->parts[i].width != b->parts[i].width || a->parts[i].from != b->parts[i].from ||
            a->parts[i].leaves != b->parts[i].leaves)
            return false;
    return true;
}

/* Half the sum of the differences of shares of bins, which are those of equal bounds. */
static double histogram_apart(const struct trips *p, const struct trips *q)
{
    double sum = 0;

    if (p->count == q->count && !memcmp(p->bins, q->bins, p->count * sizeof *p->bins))
        return 0;
    for (uint32_t i = 0, k = 0; i < p->count || k < q->count;) {
        const struct trips_bin *a = i < p->count ? &p->bins[i] : NULL;
        const struct trips_bin *b = k < q->count ? &q->bins[k] : NULL;
        const bool is_a = a && (!b || a->low < b->low || (a->low == b->low && a->high <= b->high));
        const bool is_b = b && (!a || b->low < a->low || (a->low == b->low && b->high <= a->high));
        sum += fabs((is_a ? (double)a->times / (double)p->times : 0) -
                    (is_b ? (double)b->times / (double)q->times : 0));
        i += is_a;
        k += is_b;
    }
    return fmax(LEAST, sum / 2);
}

/* Bodies that the optimiser took apart in another way are compared by how often they iterate. */
static double trips_apart(const struct model_body *a, const struct model_body *b)
{
    if (!same_parts(a, b))
        return fmax(LEAST, diff_of_counts(a->iterations, b->iterations));
    return a->is_drawn ? histogram_apart(&a->histogram, &b->histogram)
                       : nest_apart(&a->trips, &b->trips, false);
}

/* ---- pairs of loops ---- */

/* The items of a loop that both lists have; *a and *b are the first. */
static uint32_t common(const struct model_list *list_a, uint32_t loop_a, const uint32_t **a,
                       const struct model_list *list_b, uint32_t loop_b, const uint32_t **b)
{
    const uint32_t n = list_a->first[loop_a + 1] - list_a->first[loop_a];
    const uint32_t m = list_b->first[loop_b + 1] - list_b->first[loop_b];

    *a = &list_a->items[list_a->first[loop_a]];
    *b = &list_b->items[list_b->first[loop_b]];
    return n < m ? n : m;
}

/* Notes what differs between two parts, and which bodies are which. */
static void compare_parts(struct profile_diff *diff, uint32_t loop_a, uint32_t loop_b,
                          struct diff_pair *pair)
{
    const struct psnap_stream_model *a = diff->a.profile->stream, *b = diff->b.profile->stream;
    const struct model_index *in_a = &diff->a.by_loop, *in_b = &diff->b.by_loop;
    const uint32_t *p, *q;
    uint32_t n = common(&in_a->refs, loop_a, &p, &in_b->refs, loop_b, &q);

    for (uint32_t i = 0; i < n; i++) {
        const struct model_ref *of_a = &a->refs[p[i]], *of_b = &b->refs[q[i]];
        const double apart = ref_apart(a->refs, of_a, b->refs, of_b);
        if (!(apart > 0))
            continue;
        pair->refs[pair->ref_count++] = (struct diff_item){p[i], q[i]};
        pair->elsewhere += (double)of_a->executions;
        pair->refs_apart += apart * fmax((double)of_a->executions, (double)of_b->executions);
    }
    n = common(&in_a->bodies, loop_a, &p, &in_b->bodies, loop_b, &q);
    for (uint32_t i = 0; i < n; i++) {
        const double apart = trips_apart(&a->bodies[p[i]], &b->bodies[q[i]]);
        diff->body_of[p[i]] = q[i];
        if (!(apart > 0))
            continue;
        pair->bodies[pair->body_count++] = (struct diff_item){p[i], q[i]};
        pair->trips_apart += apart * (double)a->bodies[p[i]].iterations;
    }
}

/* ---- schedules ---- */

/* An item of a schedule; without a pattern its end. */
struct item {
    const struct psnap_stream_model *model;
    const struct nest_pattern *pattern;
    const uint64_t *values;
};

static void item_text(struct item item, char text[DIFF_TEXT])
{
    const struct nest_pattern *pattern = item.pattern;
    char first[DIFF_TEXT];

    if (!pattern) {
        snprintf(text, DIFF_TEXT, "its end");
    } else if (!pattern->body_count) {
        snprintf(text, DIFF_TEXT, "%s%.100s", pattern->symbol & MODEL_CHAIN ? "visit " : "",
                 model_symbol_id(item.model, pattern->symbol));
    } else {
        item_text((struct item){item.model, pattern->body[0], item.values + 1}, first);
        snprintf(text, DIFF_TEXT, "repeat %" PRIu64 " of %.80s%s", item.values[0], first,
                 pattern->body_count > 1 ? ", ..." : "");
    }
}

static bool same_symbol(const struct profile_diff *diff, uint32_t a, uint32_t b)
{
    return (a & MODEL_CHAIN || b & MODEL_CHAIN ? a : diff->body_of[a]) == b;
}

/* Follows two items until they part ways, which is noted. */
static bool follow(struct profile_diff *diff, struct item a, struct item b)
{
    const struct nest_pattern *p = a.pattern, *q = b.pattern;
    bool is_same = p && q && p->body_count == q->body_count && p->values == q->values;

    if (is_same && !p->body_count)
        is_same = same_symbol(diff, p->symbol, q->symbol);
    else if (is_same)
        is_same = a.values[0] == b.values[0] &&
                  !memcmp(p->steps, q->steps, (p->values - 1) * sizeof *p->steps);
    if (!is_same) {
        diff->has_other_order = true;
        item_text(a, diff->order_a);
        item_text(b, diff->order_b);
    }
    for (uint32_t i = 0; is_same && i < p->body_count; i++) {
        a = (struct item){a.model, p->body[i],
                          i ? a.values + p->body[i - 1]->values : a.values + 1};
        b = (struct item){b.model, q->body[i],
                          i ? b.values + q->body[i - 1]->values : b.values + 1};
        is_same = follow(diff, a, b);
    }
    return is_same;
}

static struct item item_at(const struct psnap_stream_model *model, uint32_t order, size_t at)
{
    const struct nest_terms *terms =
        order < model->order_count ? &model->orders[order].terms : NULL;

    return terms && at < terms->count
               ? (struct item){model, terms->terms[at].pattern, nest_term_values(terms, at)}
               : (struct item){model, NULL, NULL};
}

/* Where a thread begins, and with which others it takes turns. */
static void life_text(const struct model_order *order, char text[DIFF_TEXT])
{
    model_order_life(order, text);
    if (!*text)
        snprintf(text, DIFF_TEXT, "behind the threads before it");
}

static bool same_life(struct profile_diff *diff, const struct model_order *a,
                      const struct model_order *b)
{
    if (a->with == b->with && a->turn == b->turn && a->after == b->after)
        return true;
    diff->has_other_order = true;
    life_text(a, diff->order_a);
    life_text(b, diff->order_b);
    return false;
}

static void compare_orders(struct profile_diff *diff)
{
    const struct psnap_stream_model *a = diff->a.profile->stream, *b = diff->b.profile->stream;
    bool is_same = true;

    for (uint32_t t = 0; is_same && (t < a->order_count || t < b->order_count); t++) {
        struct item p, q;
        diff->order_thread = t < a->order_count ? a->orders[t].thread : b->orders[t].thread;
        if (t < a->order_count && t < b->order_count)
            is_same = same_life(diff, &a->orders[t], &b->orders[t]);
        for (size_t i = 0; is_same; i++) {
            p = item_at(a, t, i);
            q = item_at(b, t, i);
            if (!p.pattern && !q.pattern)
                break;
            is_same = follow(diff, p, q);
        }
    }
}

/* ---- chains ---- */

static uint64_t count_of(const struct chain_state *from, uint32_t to)
{
    uint64_t count = 0;

    for (uint32_t k = 0; k < from->edge_count; k++)
        count += from->edges[k].to == to ? from->edges[k].count : 0;
    return count;
}

static uint64_t left(const struct chain_state *state)
{
    uint64_t sum = 0;

    for (uint32_t k = 0; k < state->edge_count; k++)
        sum += state->edges[k].count;
    return sum;
}

/* The state of b's chain that is one of a's, or PSNAP_NONE. */
static uint32_t state_in_b(const struct profile_diff *diff, const struct chain *a,
                           const struct chain *b, uint32_t state)
{
    if (!state)
        return 0;
    for (uint32_t i = 1; i < b->count; i++)
        if (same_symbol(diff, a->states[state].symbol, b->states[i].symbol))
            return i;
    return PSNAP_NONE;
}

static void compare_transitions(const struct profile_diff *diff, const struct chain *a,
                                const struct chain *b, struct diff_chain *to)
{
    double most = 0;

    for (uint32_t s = 0; s < a->count; s++) {
        const struct chain_state *p = &a->states[s];
        const uint32_t in_b = state_in_b(diff, a, b, s);
        const struct chain_state *q = in_b == PSNAP_NONE ? NULL : &b->states[in_b];
        const uint64_t left_a = left(p), left_b = q ? left(q) : 0;
        to->is_same &= q && p->edge_count == q->edge_count;
        for (uint32_t k = 0; q && k < p->edge_count; k++) {
            const uint64_t here = count_of(p, p->edges[k].to);
            const uint64_t there = count_of(q, state_in_b(diff, a, b, p->edges[k].to));
            const double share_a = diff_share(here, left_a), share_b = diff_share(there, left_b);
            to->is_same &= there == p->edges[k].count;
            if (fabs(share_a - share_b) * (double)left_a <= most)
                continue;
            most = fabs(share_a - share_b) * (double)left_a;
            to->from = s;
            to->next = p->edges[k].to;
            to->share_a = share_a;
            to->share_b = share_b;
        }
    }
    to->has_transition = most > 0;
}

static bool compare_chains(struct profile_diff *diff)
{
    const struct psnap_stream_model *a = diff->a.profile->stream, *b = diff->b.profile->stream;
    const uint32_t most = a->chain_count > b->chain_count ? a->chain_count : b->chain_count;

    diff->chains = psnap_arena_alloc(diff->arena, (most + (size_t)1) * sizeof *diff->chains);
    for (uint32_t i = 0; diff->chains && i < most; i++) {
        struct diff_chain *to = &diff->chains[diff->chain_count];
        *to =
            (struct diff_chain){.chain = i, .in_a = i < a->chain_count, .in_b = i < b->chain_count};
        if (to->in_a && to->in_b) {
            to->is_same = a->chains[i].count == b->chains[i].count;
            compare_transitions(diff, &a->chains[i], &b->chains[i], to);
        }
        diff->chain_count += !to->is_same;
    }
    return diff->chains != NULL;
}

/* ---- all of it ---- */

bool diff_compare_models(struct profile_diff *diff)
{
    const struct psnap_stream_model *a = diff->a.profile->stream, *b = diff->b.profile->stream;
    struct diff_item *refs, *bodies;

    if (!a || !b)
        return true;
    refs = psnap_arena_alloc(diff->arena, a->ref_count * sizeof *refs);
    bodies = psnap_arena_alloc(diff->arena, a->body_count * sizeof *bodies);
    diff->body_of = psnap_arena_alloc(diff->arena, a->body_count * sizeof *diff->body_of);
    if (!refs || !bodies || !diff->body_of)
        return false;
    memset(diff->body_of, 0xFF, a->body_count * sizeof *diff->body_of); /* PSNAP_NONE */
    for (uint32_t i = 0; i < diff->pair_count; i++) {
        struct diff_pair *pair = &diff->pairs[i];
        pair->refs = refs;
        pair->bodies = bodies;
        for (uint32_t k = 0;
             pair->a && pair->b && k < pair->a->part_count && k < pair->b->part_count; k++)
            compare_parts(diff, (uint32_t)(pair->a->parts[k] - diff->a.profile->loops),
                          (uint32_t)(pair->b->parts[k] - diff->b.profile->loops), pair);
        refs += pair->ref_count;
        bodies += pair->body_count;
    }
    compare_orders(diff);
    return compare_chains(diff);
}
