/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * loops[ID].iterations *= K and .entries *= K: all that a loop and the loops in it do is done K
 * times as often.
 *
 *   orders      symbols one after the other that are within the loop are one entry of it, or
 *               several (the builder joins entries that follow each other). A loop of symbols has
 *               K times the iterations; else, and for entries, they are repeated K times
 *   chains      states within the loop are entered again, K - 1 times, when they are left
 *               (edit_chain.c)
 *   trip counts of an innermost loop are K times as large; those of loops in the edit's loop are
 *               repeated with its entries
 *   addresses   of nests go on, or are repeated, with the entries; reuse histograms have K times
 *               the accesses (edit_reuse.c)
 *
 * Where in a sequence of addresses, or of trip counts, entries of the loop begin is found, in this
 * order,
 *
 *   by rows     of an innermost loop, when there are as many runs as entries: each is one
 *   by length   when all entries have equally many numbers: loops and runs that hold several are
 *               split, so that 1600 numbers of 40 entries become 40 x 40
 *   by count    of a loop of the nest that executes as often as the loop is entered
 *   by sweeps   of an innermost loop whose entries have ever other lengths: rows that go on where
 *               the one before ended are one sweep, which goes on
 *
 * An entry goes on when its outermost loop has more iterations, by the steps that it has. When trip
 * counts change in that loop, or the entry is no single loop, it is repeated instead. The sequence
 * is then K times as long, or as it was when entries are not found: then it begins again.
 */
#include "profile/edit/edit.h"

#include <inttypes.h>
#include <stdlib.h>

#include "profile/nest/series.h"
#include "profile/walk/reader.h"

enum {
    VALUES_MAX = 1024, /* of the trip counts of a part */
    STEPS_MAX = 1 << 24
};

struct repeating {
    struct editing *e;
    struct psnap_stream_model *model;
    int64_t times;    /* K */
    bool is_entries;  /* each entry is repeated, else it has K times the iterations */
    bool *is_rows;    /* by loop: the edit's, with bodies, and no bodies in loops within it */
    bool *is_one;     /* by loop: each entry has one iteration */
    bool *is_grouped; /* by body: orders repeat it */
    bool *is_visited; /* by chain: and all states of it */
    uint64_t *takes;  /* by reference: numbers of its nest */
    uint64_t *period; /* by loop: accesses of an entry of the edit's, with all within it */
    bool has_one;     /* some loop of the edit's has one iteration an entry: orders are repeated */
};

/* ---- entries of the loop in a sequence of numbers ---- */

struct sequence {
    const struct repeating *r;
    uint64_t entries; /* in all of it; UINT64_MAX: not known */
    bool repeats;     /* each is repeated K times, else has K times the iterations */
    bool is_rows;     /* the loop has no loops in it: a run of numbers is an entry, or several */
    bool is_trips;    /* numbers are trip counts, which do not go on beyond those that there are */
};

/* Whether more iterations of a node are like those before: trip counts do not change with them. */
static bool goes_on(const struct sequence *s, const struct edit_node *node)
{
    if (!node->is_loop)
        return !s->is_trips || !node->stride;
    for (uint32_t i = 0; i < node->child_count && s->is_trips; i++)
        if (node->children[i]->is_loop || node->children[i]->value.steps[node->depth])
            return false;
    return edit_loop_is_steady(node);
}

/* Children of a node, from `at` on, are an entry. */
static void extend_entry(const struct sequence *s, struct edit_node *parent, uint32_t at,
                         uint32_t count)
{
    struct edit_node *node = parent->children[at];

    if (count > 1 || s->repeats || !goes_on(s, node))
        edit_tree_wrap(s->r->e, parent, at, count, s->r->times);
    else
        edit_scale_value(s->r->e, &node->count, node->depth);
}

/* Finds entries of a length within the children of a node, and extends them if `changes`; whether
 * they can be found. */
static bool extend_by_length(const struct sequence *s, struct edit_node *parent, uint64_t length,
                             bool changes);

/* Within a child, which has several entries. */
static bool extend_within(const struct sequence *s, struct edit_node *parent, uint32_t at,
                          uint64_t whole, uint64_t length, bool changes)
{
    struct edit_node *node = parent->children[at];
    const uint64_t iteration = whole / (uint64_t)node->count.first;

    if (node->is_loop && iteration % length == 0)
        return extend_by_length(s, node, length, changes);
    if (length % iteration || whole % length)
        return false;
    if (changes && edit_tree_split(s->r->e, parent, at, (int64_t)(length / iteration)))
        extend_entry(s, parent->children[at], 0, 1);
    return true;
}

static bool extend_by_length(const struct sequence *s, struct edit_node *parent, uint64_t length,
                             bool changes)
{
    for (uint32_t i = 0; i < parent->child_count;) {
        uint64_t sum = 0, child;
        uint32_t n = 0;
        while (i + n < parent->child_count && sum < length) {
            if (!edit_node_length(parent->children[i + n++], &child))
                return false;
            sum += child;
        }
        if ((sum > length && n > 1) || (sum < length && sum))
            return false;
        if (sum > length && !extend_within(s, parent, i, sum, length, changes))
            return false;
        if (sum == length && changes)
            extend_entry(s, parent, i, n);
        i += changes && sum ? 1 : n; /* those of an entry may be in one loop now */
    }
    return true;
}

/* How often all runs of a node execute. */
static uint64_t count_runs(const struct edit_node *node)
{
    uint64_t sum = node->is_loop ? 0 : node->visits;

    for (uint32_t i = 0; i < node->child_count; i++)
        sum += count_runs(node->children[i]);
    return sum;
}

/* Every run is an entry, or a part of one. */
static void extend_runs(const struct sequence *s, struct edit_node *node)
{
    for (uint32_t i = 0; i < node->child_count; i++)
        if (node->children[i]->is_loop)
            extend_runs(s, node->children[i]);
        else if (s->repeats)
            edit_tree_wrap(s->r->e, node, i, 1, s->r->times);
        else
            edit_scale_value(s->r->e, &node->children[i]->count, node->children[i]->depth);
}

/* Whether b goes on where a ended, by its stride. */
static bool is_next(const struct edit_node *a, const struct edit_node *b)
{
    const int64_t way = b->value.first - a->value.first;

    if (a->is_loop || b->is_loop || a->count.first < 1 || b->count.first < 1)
        return false;
    for (uint32_t i = 0; i < a->depth; i++)
        if (a->count.steps[i] || b->count.steps[i] || a->value.steps[i] != b->value.steps[i])
            return false;
    if (a->count.first == 1)
        return b->count.first == 1 || way == b->stride;
    return way % a->count.first == 0 && way / a->count.first == a->stride &&
           (b->count.first == 1 || b->stride == a->stride);
}

/* A loop of runs, each of which goes on where the one before ended, is one run. */
static void join_loop(struct edit_node *loop)
{
    struct edit_node *run = loop->children[0], before = *run;
    const int64_t step = run->value.steps[loop->depth];

    if (loop->child_count != 1 || run->is_loop || edit_node_varies(run, loop->depth) ||
        (run->count.first == 1 ? 0 : step != run->count.first * run->stride))
        return;
    for (uint32_t i = 0; i < loop->depth; i++)
        if (run->count.steps[i])
            return;
    before.stride = run->count.first == 1 ? step : run->stride;
    before.depth = loop->depth;
    before.count = loop->count;
    for (uint32_t i = 0; i < loop->depth; i++)
        before.count.steps[i] *= run->count.first;
    before.count.first *= run->count.first;
    before.value.steps[loop->depth] = 0;
    *loop = before;
}

/* Rows that go on are joined; whether no single numbers are left. */
static bool join_rows(struct edit_node *node)
{
    uint32_t kept = 0;
    bool is_swept = true;

    for (uint32_t i = 0; i < node->child_count; i++) {
        struct edit_node *child = node->children[i];
        if (child->is_loop) {
            is_swept &= join_rows(child);
            join_loop(child);
        }
        if (kept && is_next(node->children[kept - 1], child)) {
            struct edit_node *to = node->children[kept - 1];
            to->stride = to->count.first == 1 ? child->value.first - to->value.first : to->stride;
            to->count.first += child->count.first;
        } else
            node->children[kept++] = child;
    }
    node->child_count = kept;
    for (uint32_t i = 0; i < kept; i++)
        is_swept &= node->children[i]->is_loop || node->children[i]->count.first > 1;
    return is_swept;
}

/* Extends a tree, measured before, of `numbers` numbers. */
static void extend(const struct sequence *s, struct edit_node *root, uint64_t numbers)
{
    const bool is_known = s->entries && s->entries != UINT64_MAX && numbers % s->entries == 0;
    const uint64_t length = is_known ? numbers / s->entries : 0;
    struct edit_node *entry = root;

    if (s->is_rows && count_runs(root) == s->entries) {
        extend_runs(s, root);
        return;
    }
    if (is_known && extend_by_length(s, root, length, false)) {
        extend_by_length(s, root, length, true);
        return;
    }
    while (entry->all != s->entries && entry->child_count == 1 && entry->children[0]->is_loop)
        entry = entry->children[0];
    if (entry->all == s->entries && entry->child_count)
        extend_entry(s, entry, 0, entry->child_count);
    else if (s->is_rows && !s->is_trips && !s->repeats && join_rows(root))
        extend_runs(s, root);
}

/* ---- which loops, and what they are ---- */

/* The edit's loop that a loop within it is, or is within. */
static uint32_t selected(const struct repeating *r, uint32_t loop)
{
    while (!r->e->is_selected[loop] && r->e->profile->loops[loop].parent != PSNAP_NONE)
        loop = r->e->profile->loops[loop].parent;
    return loop;
}

/* Whether an entry of the edit's loop enters the next one on the way to a loop within it only once,
 * or has but one iteration: then nothing tells where more iterations would lead. */
static bool is_once(const struct repeating *r, uint32_t loop)
{
    const struct psnap_profile_loop *loops = r->e->profile->loops;
    const uint32_t of = selected(r, loop);

    if (r->is_one[of] || of == loop)
        return r->is_one[of];
    while (loops[loop].parent != of)
        loop = loops[loop].parent;
    return loops[loop].entries == loops[of].entries;
}

static void find_loops(struct repeating *r)
{
    const struct psnap_profile *profile = r->e->profile;

    for (uint32_t i = 0; i < profile->loop_count; i++) {
        r->is_rows[i] = r->e->is_selected[i];
        r->is_one[i] = profile->loops[i].iterations == profile->loops[i].entries;
        r->has_one |= r->e->is_selected[i] && r->is_one[i];
        if (r->e->is_inside[i])
            r->period[selected(r, i)] += profile->loops[i].accesses;
    }
    for (uint32_t i = 0; i < profile->loop_count; i++)
        if (profile->loops[i].entries && profile->loops[i].entries != UINT64_MAX)
            r->period[i] /= profile->loops[i].entries;
    for (uint32_t i = 0; i < r->model->body_count; i++) {
        const uint32_t loop = r->model->bodies[i].loop, of = selected(r, loop);
        if (r->e->is_inside[loop] && of != loop)
            r->is_rows[of] = false;
    }
    for (uint32_t i = 0; i < r->model->body_count; i++) {
        const uint32_t loop = r->model->bodies[i].loop;
        r->is_grouped[i] = r->e->is_inside[loop] && (r->is_entries || !r->is_rows[loop]);
    }
}

/* ---- orders ---- */

static bool is_symbol_grouped(const struct repeating *r, uint32_t symbol)
{
    return symbol & MODEL_CHAIN ? r->is_visited[symbol & ~MODEL_CHAIN] : r->is_grouped[symbol];
}

static bool is_grouped(const struct repeating *r, const struct edit_node *node)
{
    if (!node->is_loop)
        return is_symbol_grouped(r, node->symbol);
    for (uint32_t i = 0; i < node->child_count; i++)
        if (!is_grouped(r, node->children[i]))
            return false;
    return true;
}

/* Children of a node, from `at` on, are all within the edit's loop, what is beside them is not. */
static void change_group(const struct repeating *r, struct edit_node *parent, uint32_t at,
                         uint32_t count)
{
    struct edit_node *node = parent->children[at];

    if (count == 1 && node->is_loop && !r->is_entries && !r->has_one && edit_loop_is_steady(node))
        edit_scale_value(r->e, &node->count, node->depth);
    else
        edit_tree_wrap(r->e, parent, at, count, r->times);
}

static void change_order(const struct repeating *r, struct edit_node *parent)
{
    for (uint32_t i = 0; i < parent->child_count && !r->e->status; i++) {
        uint32_t n = 0;
        while (i + n < parent->child_count && is_grouped(r, parent->children[i + n]))
            n++;
        if (n) {
            const uint32_t before = parent->child_count;
            change_group(r, parent, i, n);
            i += n - 1 - (before - parent->child_count); /* to the last one of them */
        } else if (parent->children[i]->is_loop)
            change_order(r, parent->children[i]);
    }
}

static void change_orders(const struct repeating *r)
{
    for (uint32_t i = 0; i < r->model->order_count && !r->e->status; i++) {
        struct nest_terms *terms = &r->model->orders[i].terms;
        struct edit_node *root = edit_tree_new(r->e, terms);
        if (!root)
            return;
        change_order(r, root);
        edit_tree_store(r->e, root, terms);
    }
}

/* Chains of which all states are repeated are, as a symbol; of others the states are. Chains that
 * are states come before those that have them. */
static void change_chains(const struct repeating *r)
{
    for (uint32_t i = 0; i < r->model->chain_count && !r->e->status; i++) {
        struct chain *chain = &r->model->chains[i];
        bool *inside = edit_alloc(r->e, chain->count, sizeof *inside);
        uint32_t n = 0;
        int result = 0;
        for (uint32_t k = 1; inside && k < chain->count; k++)
            n += inside[k] = is_symbol_grouped(r, chain->states[k].symbol);
        r->is_visited[i] = n && n + 1 == chain->count;
        if (n && !r->is_visited[i])
            result = edit_chain_repeat(chain, inside, (uint64_t)r->times);
        edit_need(r->e, result >= 0);
        if (result > 0)
            edit_fail(r->e, PSNAP_NONE, "%" PRId64 " times a chain is more than can be counted",
                      r->times);
    }
}

/* ---- trip counts, references, counts of loops ---- */

static void scale_histogram(struct editing *e, struct trips *trips)
{
    edit_scale_count(e, &trips->sum);
    for (uint32_t i = 0; i < trips->count; i++) {
        edit_scale_count(e, &trips->bins[i].low);
        edit_scale_count(e, &trips->bins[i].high);
        edit_scale_count(e, &trips->bins[i].sum);
    }
}

/* Numbers of a run are K times as large. */
static void scale_numbers(struct editing *e, struct edit_node *run)
{
    edit_scale_value(e, &run->value, run->depth);
    edit_scale(e, e->edit->times, 1, &run->stride);
}

static void change_trips(const struct repeating *r, struct model_body *body)
{
    const bool is_scaled = !r->is_grouped[body - r->model->bodies];
    const struct sequence s = {.r = r,
                               .entries = r->e->profile->loops[selected(r, body->loop)].entries,
                               .repeats = r->is_entries || is_once(r, body->loop),
                               .is_trips = true};
    struct edit_node *root;

    if (body->part_count) /* parts have their own */
        return;
    if (body->is_drawn) {
        if (is_scaled)
            scale_histogram(r->e, &body->histogram);
        return;
    }
    root = edit_tree_new(r->e, &body->trips);
    if (!root)
        return;
    if (is_scaled)
        edit_each_leaf(r->e, root, scale_numbers);
    else if (edit_tree_measure(root))
        extend(&s, root, body->executions);
    else
        edit_fail(r->e, body->loop, "the trip counts of '%.100s' are too many to follow", body->id);
    edit_tree_store(r->e, root, &body->trips);
}

static void change_ref(const struct repeating *r, uint32_t index)
{
    struct model_ref *ref = &r->model->refs[index];
    const uint32_t of = selected(r, ref->loop);
    const bool is_rows = r->is_rows[of];
    const struct sequence s = {.r = r,
                               .entries = r->e->profile->loops[of].entries,
                               .repeats = r->is_entries || (!is_rows && is_once(r, ref->loop)),
                               .is_rows = is_rows};

    if (ref->rule == MODEL_REUSE)
        edit_repeat_reuses(r->e, ref, r->period[of]);
    else if (ref->rule == MODEL_NEST)
        extend(&s, r->e->trees[index], r->takes[index]);
}

static void change_counts(const struct repeating *r, uint32_t index)
{
    struct psnap_profile_loop *loop = &r->e->profile->loops[index];

    if (loop->iterations != UINT64_MAX)
        edit_scale_count(r->e, &loop->iterations);
    if (loop->entries != UINT64_MAX && (r->is_entries || !r->e->is_selected[index]))
        edit_scale_count(r->e, &loop->entries);
    for (unsigned op = 0; op < PSNAP_OPERATION_COUNT; op++)
        edit_scale_count(r->e, &loop->operations[op]);
}

void edit_repeat(struct editing *e)
{
    const size_t loops = e->profile->loop_count;
    struct psnap_stream_model *model = e->model;
    struct repeating r = {.e = e,
                          .model = model,
                          .times = (int64_t)e->edit->times,
                          .is_entries = e->edit->what == PSNAP_EDIT_ENTRIES,
                          .is_rows = edit_alloc(e, loops, sizeof(bool)),
                          .is_one = edit_alloc(e, loops, sizeof(bool)),
                          .period = edit_alloc(e, loops, sizeof(uint64_t)),
                          .is_grouped = edit_alloc(e, model->body_count, sizeof(bool)),
                          .is_visited = edit_alloc(e, model->chain_count, sizeof(bool))};

    if (e->edit->times > 1 && !e->status)
        edit_part_bodies(e);
    if (e->edit->times <= 1 || e->status || !edit_need(e, model_count_takes(model, &r.takes)))
        return;
    find_loops(&r);
    change_chains(&r);
    change_orders(&r);
    for (uint32_t i = 0; i < model->body_count && !e->status; i++)
        if (e->is_inside[model->bodies[i].loop])
            change_trips(&r, &model->bodies[i]);
    for (uint32_t i = 0; i < model->ref_count && !e->status; i++) {
        e->in_loop = model->refs[i].loop;
        if (e->is_inside[e->in_loop])
            change_ref(&r, i);
    }
    for (uint32_t i = 0; i < loops && !e->status; i++) {
        e->in_loop = i;
        if (e->is_inside[i])
            change_counts(&r, i);
    }
    e->in_loop = PSNAP_NONE;
    free(r.takes);
}

/* ---- bodies of parts ---- */

static bool is_inside(const struct editing *e, const struct model_body *whole)
{
    for (uint32_t i = 0; i < whole->part_count; i++)
        if (e->is_inside[e->model->bodies[whole->parts[i].body].loop])
            return true;
    return false;
}

/* The trip counts of each part, in the order of the executions; false: out of memory. */
static bool tell_parts(const struct model_body *whole, struct series *series)
{
    uint64_t counts[EXPAND_PARTS];
    struct reader reader;
    bool is_done = true;

    reader_init(&reader, &whole->trips);
    for (uint64_t n = 0; is_done && n < whole->executions; n++) {
        expand_counts(whole->parts, whole->part_count, reader_next(&reader), counts);
        for (uint32_t i = 0; is_done && i < whole->part_count; i++)
            is_done = series_put(&series[i], counts[i], 0, 1);
    }
    reader_release(&reader);
    for (uint32_t i = 0; is_done && i < whole->part_count; i++)
        is_done = series_end(&series[i], VALUES_MAX);
    return is_done;
}

static void part_body(struct editing *e, struct model_body *whole)
{
    struct series series[EXPAND_PARTS];

    if (whole->executions > STEPS_MAX) {
        edit_fail(e, whole->loop, "'%.100s' executes too often to follow", whole->id);
        return;
    }
    for (uint32_t i = 0; i < whole->part_count; i++)
        series_init(&series[i], e->model->patterns);
    edit_need(e, tell_parts(whole, series));
    for (uint32_t i = 0; i < whole->part_count; i++) {
        struct model_body *part = &e->model->bodies[whole->parts[i].body];
        part->is_part = false;
        if (series[i].is_none)
            edit_fail(e, part->loop,
                      "the trip counts of '%.100s' follow from those of '%.100s' and are no nest "
                      "of their own: edit the iterations of that (--set)",
                      part->id, whole->id);
        else
            edit_need(e, nest_terms_copy(&part->trips, &series[i].fold.terms));
        series_release(&series[i]);
    }
    whole->is_counted = false;
    nest_terms_release(&whole->trips);
}

void edit_part_bodies(struct editing *e)
{
    for (uint32_t i = 0; i < e->model->body_count && !e->status; i++)
        if (e->model->bodies[i].is_counted && is_inside(e, &e->model->bodies[i]))
            part_body(e, &e->model->bodies[i]);
}
