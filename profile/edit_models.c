/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Edits of loops in what is drawn (nest_models.h): counts of walks and of the states of mixes,
 * states that are not there any more, and how often mixes are visited.
 *
 * A state that is taken out of a graph leaves the transitions into it and out of it. They meet in
 * `any` (mix.h): what led into it goes on, in random order, with what came out of it. So the
 * numbers of all others stay as they are.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profile/edit.h"
#include "profile/mix_graph.h"

/* How often each of these is drawn, times / over as often, with sums `by` times as large. */
static enum psnap_status scale_counts(const struct editing *e, struct psnap_counts *counts,
                                      uint64_t times, uint64_t over, uint64_t by)
{
    enum psnap_status status = edit_scale_count(e, times, over, &counts->times);

    if (!status)
        status = edit_scale_count(e, times * by, over, &counts->sum);
    for (uint32_t i = 0; i < counts->bin_count && !status; i++) {
        struct psnap_counts_bin *bin = &counts->bins[i];
        if ((status = edit_scale_count(e, times, over, &bin->times)) ||
            (status = edit_scale_count(e, times * by, over, &bin->sum)) ||
            (status = edit_scale_count(e, by, 1, &bin->low)))
            return status;
        status = edit_scale_count(e, by, 1, &bin->high);
    }
    return status;
}

/* All of a mix times / over as often. */
static enum psnap_status scale_mix(const struct editing *e, struct psnap_mix *mix, uint64_t times,
                                   uint64_t over)
{
    enum psnap_status status = edit_scale_count(e, times, over, &mix->visits);

    if (!status)
        status = edit_scale_count(e, times, over, &mix->tokens);
    if (!status)
        status = scale_counts(e, &mix->lengths, times, over, 1);
    for (uint32_t i = 0; i < mix->state_count && !status; i++)
        status = scale_counts(e, &mix->states[i].counts, times, over, 1);
    for (uint32_t i = 0; i < mix->first[MIX_STATE + mix->state_count] && !status; i++)
        status = edit_scale_count(e, times, over, &mix->edges[i].times);
    return status;
}

/* ---- more iterations, more entries ---- */

struct drawing {
    struct editing *e;
    bool *is_seen; /* by the models' counts */
    enum psnap_status status;
};

static void scale_leaf(void *context, struct edit_node *leaf)
{
    struct drawing *d = context;
    struct editing *e = d->e;

    if (d->status || !leaf->width || !leaf->counts || !e->is_selected[leaf->loop] ||
        d->is_seen[leaf->counts - 1])
        return;
    d->is_seen[leaf->counts - 1] = true;
    d->status =
        scale_counts(e, &e->profile->nests->models->counts[leaf->counts - 1], 1, 1, e->edit->times);
}

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

/* That a mix does not have the edit's loop together with others that are within it, or several that
 * are: what happens between them cannot be told. */
static enum psnap_status check_states(const struct editing *e, uint32_t index)
{
    const struct nest_mix *mix = &e->profile->nests->models->mixes[index];
    const bool by_iterations = e->edit->what == PSNAP_EDIT_ITERATIONS;
    uint32_t of = PSNAP_NONE;

    for (uint32_t i = 0; i < mix->chain->state_count; i++)
        if (by_iterations ? e->is_selected[mix->states[i]->loop]
                          : e->is_inside[mix->states[i]->loop])
            of = mix->states[i]->loop;
    for (uint32_t i = 0; i < mix->chain->state_count && of != PSNAP_NONE; i++) {
        const uint32_t loop = mix->states[i]->loop;
        if (e->is_inside[loop] && (by_iterations ? !e->is_selected[loop] : loop != of))
            return edit_fail(
                e, of, PSNAP_NONE,
                "loops '%.100s' and '%.100s' come in no order that folds (mix m%" PRIu32
                "): how often one comes for another cannot be changed",
                e->profile->loops[of].id, e->profile->loops[loop].id, index + 1);
    }
    return PSNAP_OK;
}

/* The edges of a mix as links, with room for `more`; the caller frees them. */
static struct mix_link *links_of(const struct psnap_mix *mix, uint32_t more, uint32_t *count)
{
    const uint32_t nodes = MIX_STATE + mix->state_count;
    struct mix_link *links = malloc((mix->first[nodes] + (size_t)more + 1) * sizeof *links);

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
    made = mix_new(states, kept);
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

/* A state comes `k` times in a row where it came once. */
static enum psnap_status repeat_states(struct editing *e, struct nest_mix *mix)
{
    const uint64_t k = e->edit->times;
    bool is_gone[MIX_STATES_MAX] = {false};
    enum psnap_status status = PSNAP_OK;
    struct psnap_mix *made;
    uint32_t count;
    struct mix_link *links = links_of(mix->chain, mix->chain->state_count, &count);

    if (!links)
        return edit_no_memory(e);
    for (uint32_t i = 0; i < mix->chain->state_count && !status; i++) {
        struct psnap_counts *counts = &mix->chain->states[i].counts;
        if (!e->is_inside[mix->states[i]->loop] || k == 1)
            continue;
        links[count] = (struct mix_link){MIX_STATE + i, MIX_STATE + i, counts->times};
        status = edit_scale_count(e, k - 1, 1, &links[count++].times);
        if (!status)
            status = scale_counts(e, counts, k, 1, 1);
    }
    if (status) {
        free(links);
        return status;
    }
    made = remake(mix->chain, is_gone, links, count);
    if (!made)
        return edit_no_memory(e);
    mix_free(mix->chain);
    mix->chain = made;
    return PSNAP_OK;
}

static enum psnap_status scale_states(struct editing *e, uint32_t index)
{
    struct nest_mix *mix = &e->profile->nests->models->mixes[index];
    enum psnap_status status = PSNAP_OK;

    if (e->edit->what == PSNAP_EDIT_ENTRIES &&
        (has_states(e, mix, true) || !has_states(e, mix, false)))
        return PSNAP_OK; /* its visits are repeated, or it has none of them */
    status = check_states(e, index);
    if (status || e->edit->what == PSNAP_EDIT_ENTRIES)
        return status ? status : repeat_states(e, mix);
    for (uint32_t i = 0; i < mix->chain->state_count && !status; i++)
        if (e->is_selected[mix->states[i]->loop])
            status = scale_counts(e, &mix->chain->states[i].counts, 1, 1, e->edit->times);
    return status;
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
    links = kept ? links_of(mix->chain, 0, &count) : NULL;
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

enum psnap_status edit_models(struct editing *e)
{
    struct nest_models *models = e->profile->nests->models;
    struct drawing d = {e, NULL, PSNAP_OK};

    if (!models)
        return PSNAP_OK;
    d.is_seen = calloc(models->count_count + (size_t)1, sizeof *d.is_seen);
    if (!d.is_seen)
        return edit_no_memory(e);
    if (e->edit->what == PSNAP_EDIT_ITERATIONS)
        edit_tree_leaves(&e->tree->root, scale_leaf, &d);
    free(d.is_seen);
    for (uint32_t i = 0; i < models->mix_count && !d.status; i++)
        if (models->mixes[i].chain)
            d.status = e->edit->what == PSNAP_EDIT_REMOVE ? remove_states(e, &models->mixes[i])
                                                          : scale_states(e, i);
    return d.status;
}

/* ---- afterwards ---- */

/* Whose references draw from a draw, or go on in a walk; of those of none PSNAP_NONE. */
static void own_refs(struct nest_models *models, const struct nest_shape *shape)
{
    for (uint32_t k = 0; k < shape->width; k++)
        if (shape->refs[k].mode == NEST_CONTINUING)
            models->walks[shape->refs[k].draw].loop = shape->loop;
        else if (shape->refs[k].mode != NEST_AFFINE)
            models->draws[shape->refs[k].draw].loop = shape->loop;
}

static void own_pattern(struct nest_models *models, const struct nest_pattern *pattern,
                        bool *counts)
{
    for (uint32_t i = 0; i < pattern->body_count; i++)
        own_pattern(models, pattern->body[i], counts);
    if (pattern->body_count)
        return;
    if (pattern->shape->width)
        own_refs(models, pattern->shape);
    if (pattern->shape->counts)
        counts[pattern->shape->counts - 1] = true;
}

/* A source that goes with a draw that nothing draws from any more has what that one had. */
static enum psnap_status follow(const struct editing *e, const struct nest_models *models,
                                struct nest_source *source)
{
    for (uint32_t i = 0;
         source->with != PSNAP_NONE && models->draws[source->with].loop == PSNAP_NONE; i++) {
        const struct nest_source *leader = &models->draws[source->with].rest;
        const uint64_t offset = source->offset;
        if (i > models->draw_count)
            return edit_fail(e, PSNAP_NONE, PSNAP_NONE, "draws go with each other in a circle");
        *source = *leader;
        if (leader->with != PSNAP_NONE)
            source->offset += offset;
        for (uint32_t k = 0; leader->with == PSNAP_NONE && k < source->gather.area_count; k++)
            source->gather.areas[k].base += offset;
    }
    return PSNAP_OK;
}

/* Draws, walks and counts that nothing uses any more go. */
static enum psnap_status drop_unused(struct editing *e)
{
    struct psnap_nests *nests = e->profile->nests;
    struct nest_models *models = nests->models;
    bool *counts = calloc(models->count_count + (size_t)1, sizeof *counts);
    enum psnap_status status = counts ? PSNAP_OK : edit_no_memory(e);

    for (uint32_t i = 0; i < models->draw_count; i++)
        models->draws[i].loop = PSNAP_NONE;
    for (uint32_t i = 0; i < models->walk_count; i++)
        models->walks[i].loop = PSNAP_NONE;
    for (size_t i = 0; i < nests->count && counts; i++)
        own_pattern(models, nests->terms[i].pattern, counts);
    for (uint32_t i = 0; i < models->mix_count; i++)
        for (uint32_t k = 0; models->mixes[i].chain && k < models->mixes[i].chain->state_count; k++)
            own_refs(models, models->mixes[i].states[k]);
    for (uint32_t i = 0; i < models->count_count && counts; i++)
        if (!counts[i])
            models->counts[i] = (struct psnap_counts){0};
    for (uint32_t i = 0; i < models->draw_count && !status; i++) {
        struct nest_draw *draw = &models->draws[i];
        if (draw->loop == PSNAP_NONE)
            continue;
        status = follow(e, models, &draw->rest);
        if (!status && draw->has_entry)
            status = follow(e, models, &draw->entry);
    }
    free(counts);
    return status;
}

enum psnap_status edit_settle_models(struct editing *e, const struct psnap_nests *before)
{
    struct psnap_nests *nests = e->profile->nests;
    struct nest_models *models = nests->models;
    const size_t mixes = models ? models->mix_count : 0;
    struct nest_count *counts = calloc(e->profile->loop_count + (size_t)1, sizeof *counts);
    uint64_t *was = calloc(mixes + 1, sizeof *was), *is = calloc(mixes + 1, sizeof *is);
    enum psnap_status status = counts && was && is ? PSNAP_OK : edit_no_memory(e);

    if (!status && models &&
        (nests_count(before, counts, was) == PSNAP_ERROR_MEMORY ||
         nests_count(nests, counts, is) == PSNAP_ERROR_MEMORY))
        status = edit_no_memory(e);
    for (uint32_t i = 0; i < mixes && !status; i++) {
        struct nest_mix *mix = &models->mixes[i];
        if (!mix->chain || is[i] == was[i] || !was[i])
            continue;
        if (is[i] && (status = scale_mix(e, mix->chain, is[i] / edit_common_divisor(is[i], was[i]),
                                         was[i] / edit_common_divisor(is[i], was[i]))))
            edit_fail(e, PSNAP_NONE, PSNAP_NONE,
                      "what comes in no order that folds (mix m%" PRIu32 ") is come to %" PRIu64
                      " times instead of %" PRIu64 ": its counts are no multiples of that",
                      i + 1, is[i], was[i]);
        if (!is[i]) {
            mix_free(mix->chain);
            mix->chain = NULL;
        }
    }
    if (!status && models)
        status = drop_unused(e);
    free(counts);
    free(was);
    free(is);
    return status;
}
