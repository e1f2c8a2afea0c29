/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Edits of loops in what is drawn (nest_models.h): counts of walks, mixes (edit_mixes.c), how often
 * these are visited, and what nothing draws from any more.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/divisor.h"
#include "profile/edit/edit.h"

enum psnap_status edit_scale_counts(const struct editing *e, struct psnap_counts *counts,
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
        status = edit_scale_counts(e, &mix->lengths, times, over, 1);
    for (uint32_t i = 0; i < mix->state_count && !status; i++)
        status = edit_scale_counts(e, &mix->states[i].counts, times, over, 1);
    for (uint32_t i = 0; i < mix->rest_count && !status; i++)
        status = edit_scale_count(e, times, over, &mix->rests[i].times);
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
    d->status = edit_scale_counts(e, &e->profile->nests->models->counts[leaf->counts - 1], 1, 1,
                                  e->edit->times);
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
            d.status = edit_mix_states(e, i);
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

static enum psnap_status fail_lead(const struct editing *e, uint32_t draw)
{
    return edit_fail(
        e, PSNAP_NONE, PSNAP_NONE,
        "what is drawn goes with a reference (d%" PRIu32 ") that is not there any more", draw + 1);
}

/* What a draw has, or that of which it has the start. */
static const struct nest_source *source_of(const struct nest_models *models, uint32_t draw)
{
    const uint32_t start = models->draws[draw].start;

    return start ? nest_source_of(&models->draws[start - 1], true) : &models->draws[draw].rest;
}

/* What came behind addresses of a draw that nothing draws from any more does not come; the last way
 * stays for all. */
static void keep_ways(const struct nest_models *models, struct nest_source *source)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < source->after_count; i++) {
        struct nest_after way = source->after[i];
        if (way.by && models->draws[way.by - 1].loop == PSNAP_NONE)
            way.by = 0;
        if (way.by == source->after[i].by || i + 1 == source->after_count)
            source->after[kept++] = way;
    }
    source->after_count = kept;
}

/* All that ways lead to lies so much further; its own addresses do already. */
static void shift_ways(struct nest_source *source, uint64_t offset)
{
    source->low += source->span_bytes ? offset : 0;
    for (uint32_t i = 0; i < source->after_count; i++) {
        struct nest_after *after = &source->after[i];
        const bool is_own = !after->back && !after->draw;
        const uint64_t scale = after->scale > 1 ? after->scale : 1;
        after->offset += after->earlier ? 0 : is_own ? offset - scale * offset : offset;
    }
}

/* A source that goes with a draw that nothing draws from any more has what that one had. */
static enum psnap_status follow(const struct editing *e, const struct nest_models *models,
                                struct nest_source *source)
{
    for (uint32_t i = 0;
         source->with != PSNAP_NONE && models->draws[source->with].loop == PSNAP_NONE; i++) {
        const struct nest_source *leader = source_of(models, source->with);
        const uint64_t offset = source->offset;
        if (i > models->draw_count)
            return edit_fail(e, PSNAP_NONE, PSNAP_NONE, "draws go with each other in a circle");
        if (models->draws[source->with].leads[0])
            return fail_lead(e, source->with);
        *source = *leader;
        if (leader->with != PSNAP_NONE)
            source->offset += offset;
        for (uint32_t k = 0; leader->with == PSNAP_NONE && k < source->gather.area_count; k++)
            source->gather.areas[k].base += offset;
        shift_ways(source, offset);
    }
    for (uint32_t i = 0;
         source->around != PSNAP_NONE && models->draws[source->around].loop == PSNAP_NONE &&
         i <= models->draw_count;
         i++) {
        const struct nest_source *leader = source_of(models, source->around);
        if (leader->with == PSNAP_NONE || i == models->draw_count)
            return edit_fail(e, PSNAP_NONE, PSNAP_NONE,
                             "what is drawn around addresses of d%" PRIu32
                             " has nothing to be around any more",
                             source->around + 1);
        source->around = leader->with;
        source->offset += leader->offset;
    }
    for (uint32_t i = 0; i < source->after_count; i++)
        if (source->after[i].draw && models->draws[source->after[i].draw - 1].loop == PSNAP_NONE)
            return fail_lead(e, source->after[i].draw - 1);
    keep_ways(models, source);
    return PSNAP_OK;
}

/* Those of a draw's references that are still there; false: none is, they stay as they are. */
static bool keep_there(const struct psnap_nests *nests, uint32_t loop, struct nest_draw *draw)
{
    uint32_t kept[NEST_MARKS] = {0}, n = 0;
    uint64_t address;

    for (uint32_t k = 0; k < NEST_MARKS && draw->leads[k]; k++)
        if (nests_first_of(nests, loop, draw->leads[k] - 1, &address))
            kept[n++] = draw->leads[k];
    if (n)
        memcpy(draw->leads, kept, sizeof kept);
    return n;
}

/* Draws that have the last address of a reference, or the start of a draw, stay as long as that is
 * there. */
static void keep_leads(const struct psnap_nests *nests, const uint32_t *loops)
{
    for (uint32_t i = 0; i < nests->models->draw_count; i++) {
        struct nest_draw *draw = &nests->models->draws[i];
        if (draw->start && loops[i] != PSNAP_NONE)
            draw->loop = nests->models->draws[draw->start - 1].loop;
        if (draw->leads[0] && loops[i] != PSNAP_NONE && keep_there(nests, loops[i], draw))
            draw->loop = loops[i];
    }
}

/* Draws, walks and counts that nothing uses any more go. */
static enum psnap_status drop_unused(struct editing *e)
{
    struct psnap_nests *nests = e->profile->nests;
    struct nest_models *models = nests->models;
    bool *counts = calloc(models->count_count + (size_t)1, sizeof *counts);
    uint32_t *loops = malloc((models->draw_count + (size_t)1) * sizeof *loops);
    enum psnap_status status = counts && loops ? PSNAP_OK : edit_no_memory(e);

    for (uint32_t i = 0; i < models->draw_count && loops; i++) {
        loops[i] = models->draws[i].loop;
        models->draws[i].loop = PSNAP_NONE;
    }
    for (uint32_t i = 0; i < models->walk_count; i++)
        models->walks[i].loop = PSNAP_NONE;
    for (size_t i = 0; i < nests->count && counts; i++)
        own_pattern(models, nests->terms[i].pattern, counts);
    for (uint32_t i = 0; i < models->mix_count; i++)
        for (uint32_t k = 0; models->mixes[i].chain && k < models->mixes[i].chain->state_count; k++)
            own_refs(models, models->mixes[i].states[k]);
    if (loops)
        keep_leads(nests, loops);
    free(loops);
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
        (nests_count(before, counts, was, NULL) == PSNAP_ERROR_MEMORY ||
         nests_count(nests, counts, is, NULL) == PSNAP_ERROR_MEMORY))
        status = edit_no_memory(e);
    for (uint32_t i = 0; i < mixes && !status; i++) {
        struct nest_mix *mix = &models->mixes[i];
        if (!mix->chain || is[i] == was[i] || !was[i])
            continue;
        if (is[i] && (status = scale_mix(e, mix->chain, is[i] / psnap_common_divisor(is[i], was[i]),
                                         was[i] / psnap_common_divisor(is[i], was[i]))))
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
