/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Edits of loops in mixes (mix.h): more iterations and entries of their states, and states that are
 * not there any more.
 *
 * What comes K times where it came once is runs: what is in the edit's loops, from where the graph
 * leads into them to where it leads out of them. With
 *
 *   others -> a -> b -> ... -> c -> others     n times
 *
 * all that is between comes K times as often, what leads in and out as often as before, and of the
 * K n ends of runs (K - 1) n go on with what runs begin with: each end with each begin in
 * proportion to how often these come. So as much leads into each node as out of it, still. With
 * more entries the runs are those of the edit's loops and all within them. With more iterations
 * they are whole visits, whose iterations cannot be told from each other; so all of a mix must be
 * in the edit's loops. One that has only states of these loops themselves, and none within them,
 * has longer states instead.
 *
 * A state that is taken out of a graph leaves the transitions into it and out of it. They meet in
 * `any`: what led into it goes on, in random order, with what came out of it. So the numbers of all
 * others stay as they are.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profile/edit/edit.h"
#include "profile/mixes/mix_graph.h"

/* Whether all states of a mix are within the edit's loops, or any. */
static bool has_states(const struct editing *e, const struct nest_mix *mix, bool all)
{
    for (uint32_t i = 0; i < mix->chain->state_count; i++)
        if (e->is_inside[mix->states[i]->loop] != all)
            return !all;
    return all;
}

bool edit_is_mix_inside(const struct editing *e, uint32_t mix)
{
    return has_states(e, &e->profile->nests->models->mixes[mix], true);
}

/* That iterations of the edit's loops can be told from what else a mix has: there is nothing else,
 * or nothing that is within them. */
static enum psnap_status check_states(const struct editing *e, uint32_t index)
{
    const struct nest_mix *mix = &e->profile->nests->models->mixes[index];
    uint32_t of = PSNAP_NONE;

    if (edit_is_mix_inside(e, index))
        return PSNAP_OK;
    for (uint32_t i = 0; i < mix->chain->state_count; i++)
        if (e->is_selected[mix->states[i]->loop])
            of = mix->states[i]->loop;
    for (uint32_t i = 0; i < mix->chain->state_count && of != PSNAP_NONE; i++) {
        const uint32_t loop = mix->states[i]->loop;
        if (e->is_inside[loop] && !e->is_selected[loop])
            return edit_fail(
                e, of, PSNAP_NONE,
                "loops '%.100s' and '%.100s' come in no order that folds, with others (mix "
                "m%" PRIu32 "): how often one comes for another cannot be changed",
                e->profile->loops[of].id, e->profile->loops[loop].id, index + 1);
    }
    return PSNAP_OK;
}

/* ---- graphs ---- */

/* The edges of a mix as links; the caller frees them. */
static struct mix_link *links_of(const struct psnap_mix *mix, uint32_t *count)
{
    const uint32_t nodes = MIX_STATE + mix->state_count;
    struct mix_link *links = malloc((mix->first[nodes] + (size_t)1) * sizeof *links);

    *count = 0;
    for (uint32_t node = 0; links && node < nodes; node++)
        for (uint32_t i = mix->first[node]; i < mix->first[node + 1]; i++)
            links[(*count)++] = (struct mix_link){node, mix->edges[i].to, mix->edges[i].times};
    return links;
}

static int compare_links(const void *a, const void *b)
{
    const struct mix_link *x = a, *y = b;

    return x->from != y->from ? (x->from < y->from ? -1 : 1) : (x->to < y->to ? -1 : x->to > y->to);
}

/* The mix with these states of it and these links, which may be there several times; frees the
 * links. */
static struct psnap_mix *remake(const struct psnap_mix *mix, const bool *is_gone,
                                struct mix_link *links, uint32_t count)
{
    struct psnap_mix *made;
    uint32_t states = 0, kept = 0;

    for (uint32_t i = 0; i < mix->state_count; i++)
        states += !is_gone[i];
    qsort(links, count, sizeof *links, compare_links);
    for (uint32_t i = 0; i < count; i++)
        if (kept && !compare_links(&links[kept - 1], &links[i]))
            links[kept - 1].times += links[i].times;
        else
            links[kept++] = links[i];
    made = mix_new(states, kept, 0, 0);
    if (made) {
        made->visits = mix->visits;
        states = 0;
        for (uint32_t i = 0; i < mix->state_count; i++)
            if (!is_gone[i]) {
                made->states[states++] = mix->states[i];
                made->tokens += mix->states[i].counts.times;
            }
        mix_set_edges(made, links, kept);
    }
    free(links);
    return made;
}

/* ---- more iterations, more entries ---- */

/* What runs end and begin with. */
struct run_ends {
    uint64_t leaving[MIX_STATE + MIX_STATES_MAX],
        entering[MIX_STATE + MIX_STATES_MAX]; /* by node */
    uint32_t leave_count, enter_count;        /* nodes of which there are some */
    uint64_t times;                           /* of runs */
};

/* Links within runs K times, those into them and out of them as they are; an error when runs are
 * more than can be counted then. */
static enum psnap_status scale_links(const struct editing *e, const bool *is_in,
                                     struct mix_link *links, uint32_t count, struct run_ends *ends)
{
    uint64_t all;
    enum psnap_status status = PSNAP_OK;

    for (uint32_t i = 0; i < count && !status; i++) {
        const bool from = is_in[links[i].from], to = is_in[links[i].to];
        if (from && to)
            status = edit_scale_count(e, e->edit->times, 1, &links[i].times);
        else if (from) {
            ends->leave_count += !ends->leaving[links[i].from];
            ends->leaving[links[i].from] += links[i].times;
            ends->times += links[i].times;
        } else if (to) {
            ends->enter_count += !ends->entering[links[i].to];
            ends->entering[links[i].to] += links[i].times;
        }
    }
    all = ends->times;
    return status ? status : edit_scale_count(e, e->edit->times, 1, &all);
}

/* Links from the ends of all runs to their begins, `more` times as often as these come: in
 * proportion, rounded down, and what that leaves in the order of the nodes. */
static struct mix_link *join_runs(struct run_ends *ends, uint32_t nodes, uint64_t more,
                                  uint32_t *count)
{
    __extension__ typedef unsigned __int128 wide;
    const size_t pairs = (size_t)ends->leave_count * ends->enter_count;
    struct mix_link *links = malloc((pairs + 1) * sizeof *links);

    *count = 0;
    for (uint32_t from = 0; links && from < nodes; from++)
        for (uint32_t to = 0; to < nodes && ends->leaving[from]; to++)
            if (ends->entering[to])
                links[(*count)++] = (struct mix_link){from, to,
                                                      (uint64_t)((wide)ends->leaving[from] * more *
                                                                 ends->entering[to] / ends->times)};
    for (uint32_t node = 0; node < nodes; node++) {
        ends->leaving[node] *= more;
        ends->entering[node] *= more;
    }
    for (uint32_t i = 0; links && i < *count; i++) {
        ends->leaving[links[i].from] -= links[i].times;
        ends->entering[links[i].to] -= links[i].times;
    }
    for (uint32_t i = 0; links && i < *count; i++) {
        uint64_t *from = &ends->leaving[links[i].from], *to = &ends->entering[links[i].to];
        const uint64_t rest = *from < *to ? *from : *to;
        links[i].times += rest;
        *from -= rest;
        *to -= rest;
    }
    return links;
}

/* Both lists in one, but for what is none, or leads from `any` to itself; frees them. */
static struct mix_link *put_together(struct mix_link *links, uint32_t *count,
                                     struct mix_link *joints, uint32_t joint_count)
{
    struct mix_link *all =
        links && joints ? realloc(links, (*count + (size_t)joint_count + 1) * sizeof *all) : NULL;

    for (uint32_t i = 0; all && i < joint_count; i++)
        if (joints[i].times && (joints[i].from != MIX_ANY || joints[i].to != MIX_ANY))
            all[(*count)++] = joints[i];
    if (!all)
        free(links);
    free(joints);
    return all;
}

/* The graph with its runs in `is_in` (by node) K times where they came once. */
static enum psnap_status repeat_runs(struct editing *e, struct nest_mix *mix, const bool *is_in)
{
    const uint32_t nodes = MIX_STATE + mix->chain->state_count;
    const bool is_gone[MIX_STATES_MAX] = {false};
    struct run_ends ends = {{0}, {0}, 0, 0, 0};
    uint32_t count, joint_count = 0;
    struct mix_link *links = links_of(mix->chain, &count), *joints;
    enum psnap_status status =
        links ? scale_links(e, is_in, links, count, &ends) : edit_no_memory(e);
    struct psnap_mix *made;

    for (uint32_t i = 0; i < mix->chain->state_count && !status; i++)
        if (is_in[MIX_STATE + i])
            status = edit_scale_counts(e, &mix->chain->states[i].counts, e->edit->times, 1, 1);
    if (status) {
        free(links);
        return status;
    }
    joints = join_runs(&ends, nodes, e->edit->times - 1, &joint_count);
    links = put_together(links, &count, joints, joint_count);
    made = links ? remake(mix->chain, is_gone, links, count) : NULL;
    if (!made)
        return edit_no_memory(e);
    if (is_in[MIX_ANY]) /* all that visits have */
        made->lengths = mix->chain->lengths;
    mix_free(mix->chain);
    mix->chain = made;
    return is_in[MIX_ANY] ? edit_scale_counts(e, &made->lengths, 1, 1, e->edit->times) : PSNAP_OK;
}

/* Whether the nests visit a mix in a repeat of the edit's loops, and whether not in one. */
static void see_visits(const struct editing *e, const struct edit_node *node, uint32_t mix,
                       bool is_repeated, bool seen[2])
{
    if (!node->is_repeat && !node->width && node->loop == mix)
        seen[is_repeated] = true;
    is_repeated |= node->is_repeat && node->owner != PSNAP_NONE && e->is_selected[node->owner];
    for (uint32_t i = 0; i < node->child_count; i++)
        see_visits(e, node->children[i], mix, is_repeated, seen);
}

static enum psnap_status more_iterations(struct editing *e, uint32_t index)
{
    struct nest_mix *mix = &e->profile->nests->models->mixes[index];
    bool is_in[MIX_STATE + MIX_STATES_MAX] = {false}, is_any = false, is_all = true,
                           seen[2] = {false};
    enum psnap_status status = check_states(e, index);

    for (uint32_t i = 0; i < mix->chain->state_count; i++) {
        is_any |= e->is_selected[mix->states[i]->loop];
        is_all &= e->is_selected[mix->states[i]->loop];
    }
    if (status || !is_any)
        return status;
    see_visits(e, &e->tree->root, index, false, seen);
    if (!seen[false])
        return PSNAP_OK; /* it is come to more often */
    if (seen[true])
        return edit_fail(
            e, PSNAP_NONE, PSNAP_NONE,
            "some iterations of loop '%.100s' come in no order that folds (mix m%" PRIu32
            "), and that in some of its iterations: they cannot be changed apart",
            e->edit->loop, index + 1);
    if (!is_all && edit_is_mix_inside(e, index)) {
        memset(is_in + MIX_ANY, true, MIX_STATE - MIX_ANY + mix->chain->state_count);
        return repeat_runs(e, mix, is_in);
    }
    for (uint32_t i = 0; i < mix->chain->state_count && !status; i++)
        if (e->is_selected[mix->states[i]->loop])
            status = edit_scale_counts(e, &mix->chain->states[i].counts, 1, 1, e->edit->times);
    for (uint32_t i = 0; i < mix->chain->rest_count && !status; i++)
        if (e->is_selected[mix->states[mix->chain->rests[i].to]->loop])
            status = edit_scale_count(e, e->edit->times, 1, &mix->chain->rests[i].count);
    return status;
}

static enum psnap_status more_entries(struct editing *e, struct nest_mix *mix)
{
    bool is_in[MIX_STATE + MIX_STATES_MAX] = {false};

    if (has_states(e, mix, true) || !has_states(e, mix, false))
        return PSNAP_OK; /* its visits are repeated, or it has none of them */
    for (uint32_t i = 0; i < mix->chain->state_count; i++)
        is_in[MIX_STATE + i] = e->is_inside[mix->states[i]->loop];
    return repeat_runs(e, mix, is_in);
}

/* ---- removals ---- */

static enum psnap_status remove_states(struct editing *e, struct nest_mix *mix)
{
    const uint32_t n = mix->chain->state_count;
    bool is_gone[MIX_STATES_MAX] = {false};
    uint32_t nodes[MIX_STATE + MIX_STATES_MAX] = {MIX_OUTSIDE, MIX_ANY}, kept = 0, count, used = 0;
    struct mix_link *links;
    struct psnap_mix *made;

    for (uint32_t i = 0; i < n; i++) {
        is_gone[i] = e->is_inside[mix->states[i]->loop];
        nodes[MIX_STATE + i] = is_gone[i] ? MIX_ANY : MIX_STATE + kept;
        if (is_gone[i])
            continue;
        mix->strides[kept] = mix->strides[i];
        mix->states[kept++] = mix->states[i];
    }
    if (kept == n)
        return PSNAP_OK;
    links = kept ? links_of(mix->chain, &count) : NULL;
    if (kept && !links)
        return edit_no_memory(e);
    for (uint32_t i = 0; kept && i < count; i++) {
        const struct mix_link link = {nodes[links[i].from], nodes[links[i].to], links[i].times};
        if (link.from != MIX_ANY || link.to != MIX_ANY)
            links[used++] = link;
    }
    made = kept ? remake(mix->chain, is_gone, links, used) : NULL;
    if (kept && !made)
        return edit_no_memory(e);
    mix_free(mix->chain);
    mix->chain = made;
    return PSNAP_OK;
}

enum psnap_status edit_mix_states(struct editing *e, uint32_t index)
{
    struct nest_mix *mix = &e->profile->nests->models->mixes[index];

    if (e->edit->what == PSNAP_EDIT_REMOVE)
        return remove_states(e, mix);
    if (e->edit->times == 1)
        return PSNAP_OK;
    return e->edit->what == PSNAP_EDIT_ITERATIONS ? more_iterations(e, index)
                                                  : more_entries(e, mix);
}
