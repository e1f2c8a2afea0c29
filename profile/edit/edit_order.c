/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap edit --iterations and --entries on a model: all that a loop and the loops in it do is done
 * K times as often.
 *
 *   orders      symbols one after the other that are within the loop are one entry of it, or
 *               several (the builder joins entries that follow each other). A loop of symbols has
 *               K times the iterations; else, and for --entries, they are repeated K times. When
 *               the loop's first or last iteration stands by itself beside a loop of the order,
 * that loop gets as many iterations more as there are K times all of them chains      states within
 * the loop are entered again, K - 1 times, when they are left (edit_chain.h) trip counts of an
 * innermost loop are K times as large; those of loops in the edit's loop are repeated with its
 * entries addresses   of nests go on, or are repeated, with the entries (edit_align.h); reuse
 * histograms have K times the accesses (edit_reuse.c)
 */
#include <inttypes.h>
#include <stdlib.h>

#include "profile/edit/edit_align.h"
#include "profile/edit/edit_chain.h"
#include "profile/model.h"

struct ordering {
    struct editing *e;
    struct psnap_stream_model *model;
    bool *is_rows;    /* by loop: the edit's, with bodies, and no bodies in loops within it */
    bool *is_one;     /* by loop: the edit's, and each entry has one iteration */
    bool *is_grouped; /* by body: orders repeat it */
    bool *is_visited; /* by chain: and all states of it */
    uint64_t *takes;  /* by reference: numbers of its nest */
    uint64_t *period; /* by loop: accesses of an entry of the edit's, with all within it */
    struct edit_tree *tree;
    bool repeats; /* in orders: loops are not scaled */
};

static bool repeats(const struct ordering *o)
{
    return o->e->edit->what == PSNAP_EDIT_ENTRIES;
}

/* The edit's loop that a loop within it is, or is within. */
static uint32_t selected(const struct ordering *o, uint32_t loop)
{
    while (!o->e->is_selected[loop] && o->e->profile->loops[loop].parent != PSNAP_NONE)
        loop = o->e->profile->loops[loop].parent;
    return loop;
}

/* Whether an entry of the edit's loop enters the next one on the way to a loop within it only once,
 * or has but one iteration: then nothing tells where more iterations would lead. */
static bool is_once(const struct ordering *o, uint32_t loop)
{
    const struct psnap_profile_loop *loops = o->e->profile->loops;
    const uint32_t of = selected(o, loop);

    if (o->is_one[of] || of == loop)
        return o->is_one[of];
    while (loops[loop].parent != of)
        loop = loops[loop].parent;
    return loops[loop].entries == loops[of].entries;
}

static void find_loops(struct ordering *o)
{
    const struct psnap_profile *profile = o->e->profile;

    for (uint32_t i = 0; i < profile->loop_count; i++) {
        o->is_rows[i] = o->e->is_selected[i];
        o->is_one[i] = profile->loops[i].iterations == profile->loops[i].entries;
    }
    for (uint32_t i = 0; i < o->model->body_count; i++) {
        const uint32_t loop = o->model->bodies[i].loop, of = selected(o, loop);
        if (o->e->is_inside[loop] && of != loop)
            o->is_rows[of] = false;
    }
    for (uint32_t i = 0; i < profile->loop_count; i++)
        if (o->e->is_inside[i])
            o->period[selected(o, i)] += profile->loops[i].accesses;
    for (uint32_t i = 0; i < profile->loop_count; i++)
        if (profile->loops[i].entries && profile->loops[i].entries != UINT64_MAX)
            o->period[i] /= profile->loops[i].entries;
    for (uint32_t i = 0; i < o->model->body_count; i++) {
        const uint32_t loop = o->model->bodies[i].loop;
        o->is_grouped[i] = o->e->is_inside[loop] && (repeats(o) || !o->is_rows[loop]);
    }
}

/* ---- orders ---- */

static bool is_symbol_grouped(const struct ordering *o, uint32_t symbol)
{
    return symbol & MODEL_CHAIN ? o->is_visited[symbol & ~MODEL_CHAIN] : o->is_grouped[symbol];
}

static bool is_grouped(const struct ordering *o, const struct edit_node *node)
{
    if (!node->is_loop)
        return is_symbol_grouped(o, node->symbol);
    for (uint32_t i = 0; i < node->child_count; i++)
        if (!is_grouped(o, node->children[i]))
            return false;
    return true;
}

static bool is_steady(const struct edit_node *loop)
{
    for (uint32_t i = 0; i < loop->child_count; i++)
        if (edit_node_varies(loop->children[i], loop->depth))
            return false;
    return true;
}

/* Adds what an execution of the node has of each symbol, `times` times. */
static void tally(uint64_t *symbols, uint32_t bodies, const struct edit_node *node, uint64_t times)
{
    times *= (uint64_t)node->count.first;
    if (!node->is_loop)
        symbols[node->symbol & MODEL_CHAIN ? bodies + (node->symbol & ~MODEL_CHAIN)
                                           : node->symbol] += times;
    for (uint32_t i = 0; i < node->child_count; i++)
        tally(symbols, bodies, node->children[i], times);
}

/* How many iterations of a loop stand beside it, taken apart; 0: none, or something else does. */
static uint64_t iterations_beside(const struct ordering *o, const struct edit_node *parent,
                                  uint32_t at, uint32_t count, uint32_t loop)
{
    const struct psnap_stream_model *model = o->model;
    const size_t n = model->body_count + (size_t)model->chain_count + 1;
    uint64_t *within = calloc(n, sizeof *within), *beside = calloc(n, sizeof *beside), found = 0;

    for (uint32_t i = 0; within && beside && i < parent->children[loop]->child_count; i++)
        tally(within, model->body_count, parent->children[loop]->children[i], 1);
    for (uint32_t i = at; within && beside && i < at + count; i++)
        if (i != loop)
            tally(beside, model->body_count, parent->children[i], 1);
    for (size_t i = 0; within && beside && i < n; i++)
        if (within[i] && !found)
            found = beside[i] / within[i];
    for (size_t i = 0; within && beside && i < n; i++)
        if (within[i] * found != beside[i])
            found = 0;
    free(within);
    free(beside);
    return found;
}

static enum psnap_status scale_value(const struct ordering *o, struct edit_value *value,
                                     uint32_t depth)
{
    enum psnap_status status = edit_scale(o->e, o->e->edit->times, 1, &value->first);

    for (uint32_t i = 0; i < depth && !status; i++)
        status = edit_scale(o->e, o->e->edit->times, 1, &value->steps[i]);
    return status;
}

/* Children of a node, from `at` on, are all within the edit's loop, what is beside them is not. */
static enum psnap_status change_group(struct ordering *o, struct edit_node *parent, uint32_t at,
                                      uint32_t count)
{
    const int64_t times = (int64_t)o->e->edit->times;
    uint32_t loop = PSNAP_NONE, loops = 0;

    for (uint32_t i = at; i < at + count; i++)
        if (parent->children[i]->is_loop) {
            loop = i;
            loops++;
        }
    if (!o->repeats && loops == 1 && is_steady(parent->children[loop])) {
        const uint64_t beside = count > 1 ? iterations_beside(o, parent, at, count, loop) : 0;
        if (count == 1 || beside) {
            struct edit_value *iterations = &parent->children[loop]->count;
            const enum psnap_status status =
                scale_value(o, iterations, parent->children[loop]->depth);
            iterations->first += (int64_t)beside * (times - 1);
            return status;
        }
    }
    if (edit_tree_wrap(o->tree, parent, at, count, times))
        return PSNAP_OK;
    return edit_fail(o->e, PSNAP_NONE, PSNAP_NONE, "out of memory, or more than %d loops in loops",
                     NEST_DEPTH_MAX);
}

static enum psnap_status change_order(struct ordering *o, struct edit_node *parent)
{
    enum psnap_status status = PSNAP_OK;

    for (uint32_t i = 0; i < parent->child_count && !status; i++) {
        uint32_t n = 0;
        while (i + n < parent->child_count && is_grouped(o, parent->children[i + n]))
            n++;
        if (n) {
            const uint32_t before = parent->child_count;
            status = change_group(o, parent, i, n);
            i += n - 1 - (before - parent->child_count); /* to the last one of them */
        } else if (parent->children[i]->is_loop)
            status = change_order(o, parent->children[i]);
    }
    return status;
}

static enum psnap_status change_orders(struct ordering *o)
{
    enum psnap_status status = PSNAP_OK;

    o->repeats = repeats(o);
    for (uint32_t i = 0; i < o->e->profile->loop_count; i++)
        o->repeats |= o->e->is_selected[i] && o->is_one[i];
    for (uint32_t i = 0; i < o->model->order_count && !status; i++) {
        struct nest_terms *terms = &o->model->orders[i].terms;
        o->tree = edit_tree_new(terms);
        if (!o->tree)
            return edit_no_memory(o->e);
        status = change_order(o, &o->tree->root);
        if (!status && !edit_tree_store(o->tree, terms))
            status = edit_no_memory(o->e);
        edit_tree_free(o->tree);
    }
    return status;
}

/* ---- chains ---- */

/* Chains of which all states are repeated are, as a symbol; of others the states are. Chains that
 * are states come before those that have them. */
static enum psnap_status change_chains(struct ordering *o)
{
    for (uint32_t i = 0; i < o->model->chain_count; i++) {
        struct chain *chain = &o->model->chains[i];
        bool *inside = calloc(chain->count, sizeof *inside);
        uint32_t n = 0;
        int result = 0;
        if (!inside)
            return edit_no_memory(o->e);
        for (uint32_t k = 1; k < chain->count; k++)
            n += inside[k] = is_symbol_grouped(o, chain->states[k].symbol);
        o->is_visited[i] = n && n + 1 == chain->count;
        if (n && !o->is_visited[i])
            result = edit_chain_repeat(chain, inside, o->e->edit->times);
        free(inside);
        if (result < 0)
            return edit_no_memory(o->e);
        if (result)
            return edit_fail(o->e, PSNAP_NONE, PSNAP_NONE,
                             "%" PRIu64 " times a chain is more than can be counted",
                             o->e->edit->times);
    }
    return PSNAP_OK;
}

/* ---- trip counts ---- */

static enum psnap_status scale_histogram(const struct ordering *o, struct trips *trips)
{
    const uint64_t times = o->e->edit->times;
    enum psnap_status status = edit_scale_count(o->e, times, 1, &trips->sum);

    for (uint32_t i = 0; i < trips->count && !status; i++) {
        struct trips_bin *bin = &trips->bins[i];
        if (!(status = edit_scale_count(o->e, times, 1, &bin->low)) &&
            !(status = edit_scale_count(o->e, times, 1, &bin->high)))
            status = edit_scale_count(o->e, times, 1, &bin->sum);
    }
    return status;
}

struct scaling {
    const struct ordering *o;
    enum psnap_status status;
};

/* Numbers of a run are K times as large. */
static bool scale_numbers(void *context, struct edit_node *leaf)
{
    struct scaling *s = context;

    s->status = scale_value(s->o, &leaf->value, leaf->depth);
    if (!s->status)
        s->status = edit_scale(s->o->e, s->o->e->edit->times, 1, &leaf->stride);
    return !s->status;
}

static enum psnap_status change_trips(struct ordering *o, struct model_body *body)
{
    const uint32_t of = selected(o, body->loop);
    const bool is_scaled = !o->is_grouped[body - o->model->bodies];
    struct scaling scaling = {o, PSNAP_OK};
    struct edit_extension x = {.e = o->e,
                               .entries = o->e->profile->loops[of].entries,
                               .repeats = repeats(o) || is_once(o, body->loop),
                               .is_rows = false,
                               .is_trips = true};

    if (body->part_count)
        return PSNAP_OK; /* parts have their own */
    if (body->is_drawn)
        return is_scaled ? scale_histogram(o, &body->histogram) : PSNAP_OK;
    x.tree = edit_tree_new(&body->trips);
    if (!x.tree)
        return edit_no_memory(o->e);
    if (is_scaled)
        edit_tree_leaves(&x.tree->root, scale_numbers, &scaling);
    else if (!edit_tree_measure(x.tree))
        scaling.status = edit_fail(o->e, body->loop, PSNAP_NONE,
                                   "the trip counts of '%.100s' are too many to follow", body->id);
    else
        scaling.status = edit_extend(&x, body->executions);
    if (!scaling.status && !edit_tree_store(x.tree, &body->trips))
        scaling.status = edit_no_memory(o->e);
    edit_tree_free(x.tree);
    return scaling.status;
}

/* ---- all of it ---- */

static enum psnap_status change_ref(struct ordering *o, uint32_t index)
{
    struct model_ref *ref = &o->model->refs[index];
    const uint32_t of = selected(o, ref->loop);
    const struct edit_extension x = {.e = o->e,
                                     .tree = o->e->trees[index],
                                     .entries = o->e->profile->loops[of].entries,
                                     .repeats =
                                         repeats(o) || (!o->is_rows[of] && is_once(o, ref->loop)),
                                     .is_rows = o->is_rows[of]};

    if (ref->rule == MODEL_REUSE)
        return edit_repeat_reuses(o->e, ref, o->period[of]);
    return ref->rule == MODEL_NEST ? edit_extend(&x, o->takes[index]) : PSNAP_OK;
}

static enum psnap_status change(struct ordering *o)
{
    struct editing *e = o->e;
    enum psnap_status status = PSNAP_OK;

    status = edit_parts(e);
    if (status)
        return status;
    find_loops(o);
    if (!model_count_takes(o->model, &o->takes))
        return edit_no_memory(e);
    status = change_chains(o);
    if (!status)
        status = change_orders(o);
    for (uint32_t i = 0; i < o->model->body_count && !status; i++)
        if (e->is_inside[o->model->bodies[i].loop])
            status = change_trips(o, &o->model->bodies[i]);
    for (uint32_t i = 0; i < o->model->ref_count && !status; i++)
        if (e->is_inside[o->model->refs[i].loop])
            status = edit_in_loop(e, o->model->refs[i].loop, change_ref(o, i));
    return status ? status : edit_scale_loops(e);
}

enum psnap_status edit_order(struct editing *e)
{
    const size_t loops = e->profile->loop_count + (size_t)1;
    struct psnap_stream_model *model = e->profile->stream;
    struct ordering o = {.e = e,
                         .model = model,
                         .is_rows = calloc(loops, sizeof(bool)),
                         .is_one = calloc(loops, sizeof(bool)),
                         .period = calloc(loops, sizeof(uint64_t)),
                         .is_grouped = calloc(model->body_count + (size_t)1, sizeof(bool)),
                         .is_visited = calloc(model->chain_count + (size_t)1, sizeof(bool))};
    enum psnap_status status = o.is_rows && o.is_one && o.period && o.is_grouped && o.is_visited
                                   ? PSNAP_OK
                                   : edit_no_memory(e);

    if (!status && e->edit->what == PSNAP_EDIT_ITERATIONS)
        status = edit_have_iterations(e);
    if (!status && e->edit->times > 1)
        status = change(&o);
    free(o.is_rows);
    free(o.is_one);
    free(o.period);
    free(o.is_grouped);
    free(o.is_visited);
    free(o.takes);
    return status;
}
