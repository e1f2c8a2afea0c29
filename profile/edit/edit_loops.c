/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loops in the tree of nests: which repeats and walks are the iterations of which loop, and edits
 * of these. The tree does not say it: a walk may be a loop of its own (times: its iterations) or a
 * piece of an iteration (what a loop does around an inner one, a copy of a struct). The numbers of
 * entries and iterations tell: a loop whose walks have as many repetitions as it has iterations is
 * those walks; one whose walks are come to as often as it has iterations has them in a repeat.
 *
 * A repeat belongs to the innermost loop that everything in it is within:
 *
 *   a walk that is a loop     is within the loop around that
 *   a piece of an iteration   is within its loop
 *   a repeat of a loop        is within the loop around that
 *   a visit of a mix          is within the loop that all its states are within; or, when that one
 *                             has states of it, and visits are no more than its entries, executions
 *                             of it, within the loop around that
 */
#include "profile/edit/edit.h"

#include <stdlib.h>
#include <string.h>

bool edit_is_within(const struct psnap_profile *profile, uint32_t loop, uint32_t other)
{
    for (; loop != PSNAP_NONE; loop = profile->loops[loop].parent)
        if (loop == other)
            return true;
    return false;
}

static uint32_t parent_of(const struct editing *e, uint32_t loop)
{
    return loop == PSNAP_NONE ? PSNAP_NONE : e->profile->loops[loop].parent;
}

/* The innermost loop that both are within. */
static uint32_t common(const struct editing *e, uint32_t a, uint32_t b)
{
    for (; a != PSNAP_NONE; a = parent_of(e, a))
        if (edit_is_within(e->profile, b, a))
            return a;
    return PSNAP_NONE;
}

/* ---- walks that are loops, and pieces ---- */

struct sums {
    uint64_t visits, all;
    bool is_repeated; /* some are of more than one time */
};

struct telling {
    const struct editing *e;
    struct sums *sums; /* by loop, and behind them by mix */
};

static void sum_leaf(void *context, struct edit_node *leaf)
{
    struct sums *sums = ((struct telling *)context)->sums;

    if (!leaf->width) {
        sums[((struct telling *)context)->e->profile->loop_count + leaf->loop].all += leaf->all;
        return;
    }
    sums[leaf->loop].visits += leaf->visits;
    sums[leaf->loop].all += leaf->all;
    sums[leaf->loop].is_repeated |= leaf->counts != 0 || leaf->all != leaf->visits;
}

/* The innermost loop that all states of a mix are within; whether it has some of that one. */
static uint32_t loop_of_mix(const struct editing *e, uint32_t index, bool *is_own)
{
    const struct nest_mix *mix = &e->profile->nests->models->mixes[index];
    uint32_t of = PSNAP_NONE;

    for (uint32_t i = 0; i < mix->chain->state_count; i++)
        of = i ? common(e, of, mix->states[i]->loop) : mix->states[i]->loop;
    *is_own = false;
    for (uint32_t i = 0; i < mix->chain->state_count; i++)
        *is_own |= mix->states[i]->loop == of;
    return of;
}

static void tell_visit(const struct telling *t, struct edit_node *visit)
{
    const struct psnap_profile *profile = t->e->profile;
    bool is_own;
    const uint32_t of = loop_of_mix(t->e, visit->loop, &is_own);

    visit->is_piece = !is_own || !profile->loops[of].depth ||
                      t->sums[profile->loop_count + visit->loop].all > profile->loops[of].entries;
}

static void tell_leaf(void *context, struct edit_node *leaf)
{
    const struct telling *t = context;
    const struct psnap_profile_loop *loop;
    const struct sums *sums;

    if (!leaf->width) {
        tell_visit(t, leaf);
        return;
    }
    loop = &t->e->profile->loops[leaf->loop];
    sums = &t->sums[leaf->loop];
    if (!sums->is_repeated || loop->depth == 0)
        leaf->is_piece = true;
    else if (loop->iterations == UINT64_MAX || leaf->counts)
        leaf->is_piece = false;
    else
        leaf->is_piece = sums->all != loop->iterations && sums->visits == loop->iterations;
}

/* ---- repeats ---- */

/* The loop that all of a node is within; PSNAP_NONE: none, or it is not known. */
static uint32_t own(const struct editing *e, struct edit_node *node)
{
    uint32_t of = PSNAP_NONE;
    bool is_own;

    if (!node->is_repeat) {
        of = node->width ? node->loop : loop_of_mix(e, node->loop, &is_own);
        return node->is_piece ? of : parent_of(e, of);
    }
    for (uint32_t i = 0; i < node->child_count; i++) {
        const uint32_t child = own(e, node->children[i]);
        of = i ? common(e, of, child) : child;
    }
    if (of == PSNAP_NONE || e->profile->loops[of].depth == 0)
        return of;
    node->owner = of;
    return parent_of(e, of);
}

/* Which walks and repeats are iterations of which loop. */
static enum psnap_status find_owners(struct editing *e)
{
    const struct nest_models *models = e->profile->nests->models;
    const size_t mixes = models ? models->mix_count : 0;
    struct sums *sums = calloc(e->profile->loop_count + mixes + 1, sizeof *sums);
    struct telling telling = {e, sums};

    if (!sums)
        return edit_no_memory(e);
    edit_tree_leaves(&e->tree->root, sum_leaf, &telling);
    edit_tree_leaves(&e->tree->root, tell_leaf, &telling);
    for (uint32_t i = 0; i < e->tree->root.child_count; i++)
        own(e, e->tree->root.children[i]);
    free(sums);
    return PSNAP_OK;
}

/* ---- iterations ---- */

static enum psnap_status scale_value(const struct editing *e, struct edit_value *value,
                                     uint32_t depth)
{
    enum psnap_status status = edit_scale(e, e->edit->times, 1, &value->first);

    for (uint32_t i = 0; i < depth && !status; i++)
        status = edit_scale(e, e->edit->times, 1, &value->steps[i]);
    if (!status && value->first > (int64_t)PSNAP_COUNT_MAX)
        return edit_fail(e, PSNAP_NONE, PSNAP_NONE, "that is more than can be counted");
    return status;
}

/* Whether the edit's loop repeats this node. */
static bool is_loop(const struct editing *e, const struct edit_node *node)
{
    if (node->is_repeat)
        return node->owner != PSNAP_NONE && e->is_selected[node->owner];
    return node->width && !node->is_piece && e->is_selected[node->loop];
}

/* More iterations of what is not drawn; says of which loops there were some. */
static enum psnap_status scale_iterations(struct editing *e, struct edit_node *node, bool *is_there)
{
    enum psnap_status status = PSNAP_OK;

    if (is_loop(e, node)) {
        is_there[node->is_repeat ? node->owner : node->loop] = true;
        if (node->is_repeat || !node->counts)
            status = edit_in_loop(e, node->is_repeat ? node->owner : node->loop,
                                  scale_value(e, &node->count, node->depth));
    }
    for (uint32_t i = 0; i < node->child_count && !status; i++)
        status = scale_iterations(e, node->children[i], is_there);
    return status;
}

/* States of mixes are walks that are loops. */
static void see_states(const struct editing *e, bool *is_there)
{
    const struct nest_models *models = e->profile->nests->models;

    for (uint32_t i = 0; models && i < models->mix_count; i++)
        for (uint32_t k = 0; models->mixes[i].chain && k < models->mixes[i].chain->state_count; k++)
            is_there[models->mixes[i].states[k]->loop] = true;
}

/* That a loop of the edit is not left as it was. */
static enum psnap_status check_there(const struct editing *e, const bool *is_there)
{
    for (uint32_t i = 0; i < e->profile->loop_count; i++)
        if (e->is_selected[i] && !is_there[i] && e->profile->loops[i].depth > 0)
            return edit_fail(e, i, PSNAP_NONE,
                             "no repeat of the schedule is that of loop '%.100s' alone: its "
                             "iterations stand one by one, or among others (--entries repeats all "
                             "of them)",
                             e->profile->loops[i].id);
    return edit_have_iterations(e, is_there);
}

static enum psnap_status edit_iterations(struct editing *e)
{
    bool *is_there = calloc(e->profile->loop_count + (size_t)1, sizeof *is_there);
    enum psnap_status status = is_there ? PSNAP_OK : edit_no_memory(e);

    for (uint32_t i = 0; i < e->tree->root.child_count && !status; i++)
        status = scale_iterations(e, e->tree->root.children[i], is_there);
    if (!status) {
        see_states(e, is_there);
        status = check_there(e, is_there);
    }
    free(is_there);
    return status;
}

/* ---- entries, removals ---- */

/* Whether a node is an entry of the edit's loops, or a part of one. */
static bool is_entry(const struct editing *e, const struct edit_node *node)
{
    if (node->is_repeat)
        return node->owner != PSNAP_NONE && e->is_inside[node->owner];
    return node->width ? e->is_inside[node->loop] : edit_is_mix_inside(e, node->loop);
}

/* Entries one behind the other, as the vector body and the rest are, are repeated together. */
static bool repeat_entries(struct editing *e, struct edit_node *parent, bool *is_any)
{
    for (uint32_t i = 0; i < parent->child_count; i++) {
        uint32_t n = 0;
        while (i + n < parent->child_count && is_entry(e, parent->children[i + n]))
            n++;
        *is_any |= n > 0;
        if (n ? !edit_tree_wrap(e->tree, parent, i, n, (int64_t)e->edit->times)
              : parent->children[i]->is_repeat && !repeat_entries(e, parent->children[i], is_any))
            return false;
    }
    return true;
}

static enum psnap_status edit_entries(struct editing *e)
{
    bool is_any = false, *is_there = calloc(e->profile->loop_count + (size_t)1, sizeof *is_there);

    if (!is_there || !repeat_entries(e, &e->tree->root, &is_any)) {
        free(is_there);
        return edit_fail(e, PSNAP_NONE, PSNAP_NONE,
                         "out of memory, or more than %d repeats in "
                         "each other",
                         NEST_DEPTH_MAX);
    }
    see_states(e, is_there);
    for (uint32_t i = 0; i < e->profile->loop_count; i++)
        is_any |= is_there[i] && e->is_inside[i];
    free(is_there);
    return is_any ? PSNAP_OK
                  : edit_fail(e, PSNAP_NONE, PSNAP_NONE, "loop '%.100s' is never come to",
                              e->edit->loop);
}

static bool is_gone(const void *context, const struct edit_node *leaf)
{
    const struct editing *e = context;
    const struct nest_models *models = e->profile->nests->models;

    return leaf->width ? e->is_inside[leaf->loop] : !models->mixes[leaf->loop].chain;
}

/* ---- what loops say of themselves ---- */

static enum psnap_status scale_known(const struct editing *e, uint64_t *count)
{
    return *count == UINT64_MAX ? PSNAP_OK : edit_scale_count(e, e->edit->times, 1, count);
}

enum psnap_status edit_scale_loops(struct editing *e)
{
    enum psnap_status status = PSNAP_OK;

    for (uint32_t i = 0; i < e->profile->loop_count && !status; i++) {
        struct psnap_profile_loop *loop = &e->profile->loops[i];
        if (!e->is_inside[i])
            continue;
        status = scale_known(e, &loop->iterations);
        if (!status && (e->edit->what == PSNAP_EDIT_ENTRIES || !e->is_selected[i]))
            status = scale_known(e, &loop->entries);
        for (unsigned op = 0; op < PSNAP_OPERATION_COUNT && !status; op++)
            status = edit_scale_count(e, e->edit->times, 1, &loop->operations[op]);
        status = edit_in_loop(e, i, status);
    }
    return status;
}

enum psnap_status edit_loops(struct editing *e)
{
    enum psnap_status status = find_owners(e);

    if (!status && e->edit->what == PSNAP_EDIT_ITERATIONS)
        status = edit_iterations(e);
    if (!status && e->edit->what == PSNAP_EDIT_ENTRIES)
        status = edit_entries(e);
    if (!status)
        status = edit_models(e);
    if (!status && e->edit->what == PSNAP_EDIT_REMOVE)
        edit_tree_prune(&e->tree->root, is_gone, e);
    if (!status && e->edit->what != PSNAP_EDIT_REMOVE) {
        status = edit_scale_loops(e);
        for (uint32_t i = 0; i < e->profile->loop_count; i++)
            e->is_touched[i] |= e->is_inside[i];
    }
    return status;
}
