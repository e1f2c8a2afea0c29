/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is different about the models of two profiles of model nests: references with another rule
 * or other addresses and bodies with other trip counts, by pairs of loops; the first item in which
 * the schedules differ; transitions of chains. References of a pair are those of equal number in
 * parts of equal place, bodies those of equal place in their part. Reuse histograms are compared as
 * those of whole loops (diff.c), being statistics.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/diff/diff.h"
#include "profile/model.h"

/* ---- references ---- */

/* Where a region lies is said of the region, so nests may be shifted as a whole. */
static bool same_addresses(const struct profile_diff *diff, const struct model_ref *a,
                           const struct model_ref *b)
{
    const struct model_ref *refs_a = diff->a.profile->stream->refs;
    const struct model_ref *refs_b = diff->b.profile->stream->refs;

    if (a->rule != b->rule || a->kind != b->kind || a->size != b->size ||
        strcmp(a->mark, b->mark) != 0)
        return false;
    if (a->rule == MODEL_NEST)
        return a->element == b->element && diff_same_nest(&a->addresses, &b->addresses, true);
    if (a->rule == MODEL_SHARED)
        return refs_a[a->sweep].number == refs_b[b->sweep].number;
    if (a->rule != MODEL_DEPENDENT)
        return true;
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

/* ---- pairs of loops ---- */

/* Items of one part that are at the same place in the other. */
static uint32_t common(const struct model_list *a, uint32_t loop_a, const struct model_list *b,
                       uint32_t loop_b)
{
    const uint32_t n = a->first[loop_a + 1] - a->first[loop_a];
    const uint32_t m = b->first[loop_b + 1] - b->first[loop_b];

    return n < m ? n : m;
}

/* Notes what differs between two parts, and which bodies are which. */
static void compare_parts(struct profile_diff *diff, uint32_t loop_a, uint32_t loop_b,
                          struct diff_pair *pair)
{
    const struct psnap_stream_model *a = diff->a.profile->stream, *b = diff->b.profile->stream;
    const uint32_t refs = common(&diff->a.by_loop.refs, loop_a, &diff->b.by_loop.refs, loop_b);
    const uint32_t bodies =
        common(&diff->a.by_loop.bodies, loop_a, &diff->b.by_loop.bodies, loop_b);

    for (uint32_t i = 0; i < refs; i++) {
        const struct diff_item item = {
            diff->a.by_loop.refs.items[diff->a.by_loop.refs.first[loop_a] + i],
            diff->b.by_loop.refs.items[diff->b.by_loop.refs.first[loop_b] + i]};
        if (!same_addresses(diff, &a->refs[item.a], &b->refs[item.b]))
            pair->refs[pair->ref_count++] = item;
    }
    for (uint32_t i = 0; i < bodies; i++) {
        const struct diff_item item = {
            diff->a.by_loop.bodies.items[diff->a.by_loop.bodies.first[loop_a] + i],
            diff->b.by_loop.bodies.items[diff->b.by_loop.bodies.first[loop_b] + i]};
        diff->body_of[item.a] = item.b;
        if (!diff_same_trips(&a->bodies[item.a], &b->bodies[item.b]))
            pair->bodies[pair->body_count++] = item;
    }
}

bool diff_compare_models(struct profile_diff *diff)
{
    const struct psnap_stream_model *a = diff->a.profile->stream, *b = diff->b.profile->stream;
    uint32_t refs = 0, bodies = 0;

    if (!a || !b)
        return true;
    diff->items = calloc((size_t)a->ref_count + a->body_count + 1, sizeof *diff->items);
    diff->body_of = malloc((a->body_count + (size_t)1) * sizeof *diff->body_of);
    if (!diff->items || !diff->body_of)
        return false;
    for (uint32_t i = 0; i < a->body_count; i++)
        diff->body_of[i] = PSNAP_NONE;
    for (uint32_t i = 0; i < diff->pair_count; i++) {
        struct diff_pair *pair = &diff->pairs[i];
        pair->refs = diff->items + refs;
        pair->bodies = diff->items + a->ref_count + bodies;
        for (uint32_t k = 0; pair->a && pair->b && k < pair->a->all_parts && k < pair->b->all_parts;
             k++)
            compare_parts(diff, pair->a->parts[k], pair->b->parts[k], pair);
        refs += pair->ref_count;
        bodies += pair->body_count;
    }
    return true;
}

/* ---- schedules ---- */

struct following {
    struct profile_diff *diff;
    bool is_same;
};

/* An item of a schedule in words. */
static void item_text(const struct psnap_stream_model *model, const struct nest_pattern *pattern,
                      const uint64_t *values, char text[DIFF_TEXT])
{
    char first[DIFF_TEXT];

    if (!pattern->body_count && pattern->symbol & MODEL_CHAIN) {
        snprintf(text, DIFF_TEXT, "visit %.100s", model_symbol_id(model, pattern->symbol));
    } else if (!pattern->body_count) {
        snprintf(text, DIFF_TEXT, "%.100s", model->bodies[pattern->symbol].id);
    } else {
        item_text(model, pattern->body[0], values + 1, first);
        snprintf(text, DIFF_TEXT, "repeat %" PRIu64 " of %.80s%s", values[0], first,
                 pattern->body_count > 1 ? ", ..." : "");
    }
}

static void part_ways(struct following *f, const struct nest_pattern *a, const uint64_t *p,
                      const struct nest_pattern *b, const uint64_t *q)
{
    f->is_same = false;
    snprintf(f->diff->order_a, DIFF_TEXT, "its end");
    snprintf(f->diff->order_b, DIFF_TEXT, "its end");
    if (a)
        item_text(f->diff->a.profile->stream, a, p, f->diff->order_a);
    if (b)
        item_text(f->diff->b.profile->stream, b, q, f->diff->order_b);
}

static void follow(struct following *f, const struct nest_pattern *a, const uint64_t *p,
                   const struct nest_pattern *b, const uint64_t *q)
{
    size_t i_at = 1, k_at = 1;

    if (!a->body_count || !b->body_count) {
        const bool is_same = !a->body_count && !b->body_count &&
                             (a->symbol & MODEL_CHAIN || b->symbol & MODEL_CHAIN
                                  ? a->symbol == b->symbol
                                  : f->diff->body_of[a->symbol] == b->symbol);
        if (!is_same)
            part_ways(f, a, p, b, q);
        return;
    }
    if (p[0] != q[0] || a->body_count != b->body_count || a->values != b->values ||
        memcmp(a->steps, b->steps, (a->values - 1) * sizeof *a->steps) != 0) {
        part_ways(f, a, p, b, q);
        return;
    }
    for (uint32_t i = 0; i < a->body_count && f->is_same; i++) {
        follow(f, a->body[i], p + i_at, b->body[i], q + k_at);
        i_at += a->body[i]->values;
        k_at += b->body[i]->values;
    }
}

/* Whether a thread begins elsewhere, or is there together with others. */
static void compare_turns(struct following *f, const struct model_order *a,
                          const struct model_order *b)
{
    f->is_same = a->with == b->with && a->turn == b->turn && a->after == b->after;
    if (!f->is_same) {
        model_order_life(a, f->diff->order_a);
        model_order_life(b, f->diff->order_b);
    }
}

void diff_compare_orders(struct profile_diff *diff)
{
    const struct psnap_stream_model *a = diff->a.profile->stream, *b = diff->b.profile->stream;
    struct following f = {diff, true};

    for (uint32_t t = 0; a && b && f.is_same && (t < a->order_count || t < b->order_count); t++) {
        const struct nest_terms none = {0};
        const struct nest_terms *p = t < a->order_count ? &a->orders[t].terms : &none;
        const struct nest_terms *q = t < b->order_count ? &b->orders[t].terms : &none;
        if (t < a->order_count && t < b->order_count)
            compare_turns(&f, &a->orders[t], &b->orders[t]);
        diff->order_thread = t < a->order_count ? a->orders[t].thread : b->orders[t].thread;
        for (size_t i = 0; f.is_same && (i < p->count || i < q->count); i++)
            if (i < p->count && i < q->count)
                follow(&f, p->terms[i].pattern, nest_term_values(p, i), q->terms[i].pattern,
                       nest_term_values(q, i));
            else
                part_ways(&f, i < p->count ? p->terms[i].pattern : NULL,
                          i < p->count ? nest_term_values(p, i) : NULL,
                          i < q->count ? q->terms[i].pattern : NULL,
                          i < q->count ? nest_term_values(q, i) : NULL);
    }
    diff->has_other_order = !f.is_same;
}

/* ---- chains ---- */

static double share_of(const struct chain_state *state, uint32_t to)
{
    uint64_t sum = 0, count = 0;

    for (uint32_t k = 0; k < state->edge_count; k++) {
        sum += state->edges[k].count;
        count += state->edges[k].to == to ? state->edges[k].count : 0;
    }
    return sum ? (double)count / (double)sum : 0;
}

static uint64_t left_of(const struct chain_state *state)
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
        if (a->states[state].symbol & MODEL_CHAIN
                ? b->states[i].symbol == a->states[state].symbol
                : b->states[i].symbol == diff->body_of[a->states[state].symbol])
            return i;
    return PSNAP_NONE;
}

static void compare_transitions(const struct profile_diff *diff, const struct chain *a,
                                const struct chain *b, struct diff_chain *to)
{
    double most = 0;

    for (uint32_t s = 0; s < a->count; s++) {
        const uint32_t in_b = state_in_b(diff, a, b, s);
        const double weight = (double)left_of(&a->states[s]);
        to->is_same &= in_b != PSNAP_NONE && a->states[s].edge_count == b->states[in_b].edge_count;
        for (uint32_t k = 0; in_b != PSNAP_NONE && k < a->states[s].edge_count; k++) {
            const uint32_t next = state_in_b(diff, a, b, a->states[s].edges[k].to);
            const double p = share_of(&a->states[s], a->states[s].edges[k].to);
            const double q = next == PSNAP_NONE ? 0 : share_of(&b->states[in_b], next);
            uint64_t count = 0;
            for (uint32_t e = 0; next != PSNAP_NONE && e < b->states[in_b].edge_count; e++)
                count += b->states[in_b].edges[e].to == next ? b->states[in_b].edges[e].count : 0;
            to->is_same &= count == a->states[s].edges[k].count;
            if (fabs(p - q) * weight <= most)
                continue;
            most = fabs(p - q) * weight;
            to->from = s;
            to->next = a->states[s].edges[k].to;
            to->share_a = p;
            to->share_b = q;
        }
    }
    to->has_transition = most > 0;
}

bool diff_compare_chains(struct profile_diff *diff)
{
    const struct psnap_stream_model *a = diff->a.profile->stream, *b = diff->b.profile->stream;
    const uint32_t most = !a || !b                          ? 0
                          : a->chain_count > b->chain_count ? a->chain_count
                                                            : b->chain_count;

    diff->chains = calloc(most + (size_t)1, sizeof *diff->chains);
    if (!diff->chains)
        return false;
    for (uint32_t i = 0; i < most; i++) {
        struct diff_chain *to = &diff->chains[diff->chain_count];
        *to =
            (struct diff_chain){.chain = i, .in_a = i < a->chain_count, .in_b = i < b->chain_count};
        if (to->in_a && to->in_b) {
            to->is_same = a->chains[i].count == b->chains[i].count;
            compare_transitions(diff, &a->chains[i], &b->chains[i], to);
        }
        diff->chain_count += !to->is_same;
    }
    return true;
}
