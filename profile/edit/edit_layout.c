/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * References, draws, walks and regions to where arrays are after an edit (edit_space.c). What is
 * affine stays so when all of it lies in one array, or where all is moved by the same; what leads
 * from an array that is stretched into another one has no place, and is an error.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profile/edit/edit.h"

/* How far all of [low, high) is moved, which is in several arrays, or beside them. */
static enum psnap_status find_shift(const struct editing *e, uint64_t low, uint64_t high,
                                    uint32_t loop, uint32_t ref, uint64_t *shift)
{
    uint64_t ends[2] = {low, high - 1};
    enum psnap_status status = edit_place(e, &ends[0]);
    bool is_odd = false;

    if (!status)
        status = edit_place(e, &ends[1]);
    *shift = ends[0] - low;
    is_odd = *shift != ends[1] - (high - 1);
    for (uint32_t i = 0; i < e->array_count && e->arrays[i].low < high; i++)
        if (e->arrays[i].high > low)
            is_odd |= edit_is_stretched(&e->arrays[i]) || (uint64_t)e->arrays[i].shift != *shift;
    if (status || !is_odd)
        return status;
    return edit_fail(e, loop, PSNAP_NONE,
                     "reference %" PRIu32 " of loop '%.100s' leads from one array into another: it "
                     "cannot be changed with one of them",
                     ref, e->profile->loops[loop].id);
}

static enum psnap_status scale_ref(const struct editing *e, uint64_t times, uint64_t over,
                                   struct edit_ref *ref, uint32_t depth)
{
    enum psnap_status status = edit_scale(e, times, over, &ref->stride);

    for (uint32_t i = 0; i < depth && !status; i++)
        status = edit_scale(e, times, over, &ref->value.steps[i]);
    return status;
}

/* Where draws of a source lead, by the first of its areas; false: it is not known. */
static bool first_of_draw(const struct editing *e, const struct nest_source *source,
                          uint64_t *address)
{
    const struct nest_models *models = e->profile->nests->models;
    uint64_t offset = 0;

    for (uint32_t i = 0; source->with != PSNAP_NONE && i <= models->draw_count; i++) {
        const struct nest_draw *leader = &e->draws[source->with];
        offset += source->offset;
        if (leader->leads[0] &&
            nests_first_of(e->profile->nests, leader->loop, leader->leads[0] - 1, address)) {
            *address += offset;
            return true;
        }
        source = leader->start ? nest_source_of(&e->draws[leader->start - 1], true) : &leader->rest;
        if (source->with == PSNAP_NONE && !source->gather.area_count && leader->has_entry)
            source = &leader->entry; /* it goes on from there by steps */
    }
    if (source->with != PSNAP_NONE || !source->gather.area_count)
        return false;
    *address = source->gather.areas[0].base + offset;
    return true;
}

static uint32_t array_of_draw(const struct editing *e, const struct nest_source *source)
{
    uint64_t address;

    return first_of_draw(e, source, &address) ? edit_array_of(e, address) : PSNAP_NONE;
}

/* ---- references ---- */

struct moving {
    struct editing *e;
    enum psnap_status status;
};

static enum psnap_status move_affine(struct editing *e, struct edit_ref *ref, uint32_t loop,
                                     uint32_t depth)
{
    uint64_t shift = 0;
    enum psnap_status status = PSNAP_OK;

    if (ref->array == PSNAP_NONE) { /* not in one array before the edit */
        if (ref->high)
            status = find_shift(e, ref->low, ref->high, loop, ref->ref.ref, &shift);
        ref->value.first += (int64_t)shift;
        return status;
    }
    uint64_t address = (uint64_t)ref->value.first, times, over;
    status = edit_map(e, loop, ref->array, ref->ref.size, &address, &times, &over);
    ref->value.first = (int64_t)address;
    if (status || !edit_is_stretched(&e->arrays[ref->array]))
        return status;
    e->is_touched[loop] = true;
    return scale_ref(e, times, over, ref, depth);
}

static enum psnap_status move_ref(struct editing *e, struct edit_ref *ref, uint32_t loop,
                                  uint32_t depth)
{
    const struct nest_models *models = e->profile->nests->models;
    uint64_t address, times, over;
    enum psnap_status status;
    uint32_t in;

    if (ref->ref.mode == NEST_AFFINE)
        return move_affine(e, ref, loop, depth);
    if (ref->ref.mode == NEST_CONTINUING)
        address = models->walks[ref->ref.draw].address;
    else if (!first_of_draw(e, &e->draws[ref->ref.draw].rest, &address))
        return PSNAP_OK;
    in = edit_array_of(e, address);
    if (in == PSNAP_NONE || !edit_is_stretched(&e->arrays[in]))
        return PSNAP_OK;
    e->is_touched[loop] = true;
    status = edit_map(e, loop, in, ref->ref.size, &address, &times, &over);
    if (status || ref->ref.mode == NEST_DRAWN)
        return status;
    if (ref->ref.mode == NEST_CONTINUING &&
        (status = edit_scale(e, times, over, &ref->value.first)))
        return status;
    return ref->ref.mode == NEST_CONTINUING ? scale_ref(e, times, over, ref, depth)
                                            : edit_scale(e, times, over, &ref->stride);
}

static void move_leaf(void *context, struct edit_node *leaf)
{
    struct moving *m = context;

    for (uint32_t k = 0; k < leaf->width && !m->status; k++)
        m->status =
            edit_in_loop(m->e, leaf->loop, move_ref(m->e, &leaf->refs[k], leaf->loop, leaf->depth));
}

/* ---- models ---- */

/* Draws whose leader is elsewhere then: the distance is what it is between the first addresses,
 * which must be so for all. */
static enum psnap_status move_with(const struct editing *e, uint32_t loop,
                                   struct nest_source *source)
{
    uint64_t from = 0, to = 0, times[2] = {1, 1}, over[2] = {1, 1};
    const bool is_known = first_of_draw(e, source, &to);
    uint32_t in[2];
    enum psnap_status status;

    from = to - source->offset;
    in[0] = edit_array_of(e, from);
    in[1] = edit_array_of(e, to);
    if (!is_known || in[0] == PSNAP_NONE || in[1] == PSNAP_NONE)
        return PSNAP_OK;
    if ((status = edit_map(e, loop, in[0], 1, &from, &times[0], &over[0])) ||
        (status = edit_map(e, loop, in[1], 1, &to, &times[1], &over[1])))
        return status;
    if (times[0] * over[1] != times[1] * over[0])
        return edit_fail(e, loop, PSNAP_NONE,
                         "what loop '%.100s' draws goes with what is drawn in another array: one "
                         "cannot be changed without the other",
                         e->profile->loops[loop].id);
    source->offset = to - from;
    return PSNAP_OK;
}

/* Of an area that is scaled. */
static enum psnap_status scale_pass(const struct editing *e, uint64_t times, uint64_t over,
                                    struct gather_pass *pass)
{
    enum psnap_status status = edit_scale_count(e, times, over, &pass->from);

    if (!status)
        status = edit_scale_count(e, times, over, &pass->to);
    return status ? status : edit_scale(e, times, over, &pass->stride);
}

/* A tree in memory, level by level. */
static enum psnap_status scale_levels(const struct editing *e, uint64_t times, uint64_t over,
                                      struct gather_area *area)
{
    enum psnap_status status = edit_scale_count(e, times, over, &area->root);

    for (uint32_t i = 0; i < area->level_count && !status; i++) {
        status = edit_scale(e, times, over, &area->levels[i].down);
        if (!status)
            status = edit_scale(e, times, over, &area->levels[i].up);
    }
    return status;
}

static enum psnap_status scale_area(const struct editing *e, uint32_t in, uint32_t loop,
                                    struct gather_area *area)
{
    int64_t element = area->element_bytes, place = (int64_t)area->place_bytes;
    int64_t grid = area->grid_bytes, grid_start = area->grid_start;
    uint64_t times, over;
    enum psnap_status status = edit_map(e, loop, in, 1, &area->base, &times, &over);

    if (!status)
        status = edit_scale(e, times, over, &element);
    if (!status)
        area->span_bytes = (area->span_bytes + over - 1) / over * over;
    if (!status)
        status = edit_scale_count(e, times, over, &area->span_bytes);
    if (!status)
        status = edit_scale(e, times, over, &place);
    if (!status)
        status = edit_scale(e, times, over, &grid);
    if (!status)
        status = edit_scale(e, times, over, &grid_start);
    if (!status)
        status = edit_scale(e, times, over, &area->cursor_step);
    for (uint32_t i = 0; i < area->stretch_count && !status; i++) {
        status = scale_pass(e, times, over, &area->stretches[i].first);
        if (!status)
            status = scale_pass(e, times, over, &area->stretches[i].last);
    }
    if (!status)
        status = scale_levels(e, times, over, area);
    if (!status && area->places == GATHER_SWEEP)
        status = edit_scale(e, times, over, &area->sweep_bytes);
    for (uint32_t i = 0; i < area->step_count && !status; i++) {
        status = edit_scale(e, times, over, &area->steps[i]);
        if (!status && (area->steps[i] > GATHER_STEP_MAX || area->steps[i] < -GATHER_STEP_MAX))
            status = edit_fail(e, loop, PSNAP_NONE,
                               "what loop '%.100s' draws goes on in steps, which would be of "
                               "%" PRId64 " bytes: they are %d at most",
                               e->profile->loops[loop].id, area->steps[i], GATHER_STEP_MAX);
    }
    if (!status && (element < 1 || element > UINT32_MAX || grid > UINT32_MAX))
        status = edit_fail(e, loop, PSNAP_NONE, "elements that loop '%.100s' draws are too large",
                           e->profile->loops[loop].id);
    area->element_bytes = (uint32_t)element;
    area->place_bytes = (uint64_t)place;
    area->grid_bytes = (uint32_t)grid;
    area->grid_start = (uint32_t)grid_start;
    return status;
}

/* That nothing in [first, last] is stretched: what is drawn there leads on to something else. */
static enum psnap_status span_arrays(const struct editing *e, uint64_t first, uint64_t last,
                                     uint32_t loop)
{
    for (uint32_t i = 0; i < e->array_count && e->arrays[i].low <= last; i++)
        if (e->arrays[i].high > first && edit_is_stretched(&e->arrays[i]))
            return edit_fail(e, loop, PSNAP_NONE,
                             "what loop '%.100s' draws leads from one array into another: it "
                             "cannot be stretched with one of them",
                             e->profile->loops[loop].id);
    return PSNAP_OK;
}

/* How what comes after other addresses is stretched: with the loop's array, if it has but one; in
 * one of several nobody knows which, and offsets stay. */
static enum psnap_status stretch_after(struct editing *e, uint32_t loop, uint64_t *times,
                                       uint64_t *over)
{
    const struct psnap_profile_loop *of = &e->profile->loops[loop];
    const uint32_t in = of->region_count ? edit_array_of(e, of->regions[0].low) : PSNAP_NONE;
    uint64_t low;

    *times = *over = 1;
    for (uint32_t i = 1; i < of->region_count; i++)
        if (edit_array_of(e, of->regions[i].low) != in)
            return PSNAP_OK;
    if (in == PSNAP_NONE || !edit_is_stretched(&e->arrays[in]))
        return PSNAP_OK;
    low = e->arrays[in].low;
    return edit_map(e, loop, in, 1, &low, times, over);
}

/* How much further away arrays are moved than those of a reference that others go with. */
static enum psnap_status move_from_lead(struct editing *e, const struct nest_after *after,
                                        uint64_t *shift)
{
    struct nest_source with = {.with = after->draw - 1};
    uint64_t from = 0, to;
    enum psnap_status status = PSNAP_OK;

    *shift = 0;
    if (!after->draw || after->scale > 1 || !first_of_draw(e, &with, &from))
        return PSNAP_OK;
    to = from + after->offset;
    *shift = from - to;
    if (!(status = edit_place(e, &from)) && !(status = edit_place(e, &to)))
        *shift += to - from;
    return status;
}

/* Where addresses are that come after others. */
static enum psnap_status move_within(struct editing *e, uint64_t times, uint64_t over,
                                     struct nest_source *source)
{
    uint64_t end = source->low + source->span_bytes - 1;
    enum psnap_status status = edit_place(e, &source->low);

    if (status || times != over)
        return status ? status : edit_scale_count(e, times, over, &source->span_bytes);
    status = edit_place(e, &end);
    source->span_bytes = end + 1 - source->low;
    return status;
}

static enum psnap_status move_after(struct editing *e, uint32_t loop, struct nest_source *source)
{
    const struct nest_source before = *source;
    uint64_t times, over;
    enum psnap_status status = stretch_after(e, loop, &times, &over);

    if (!status && source->span_bytes)
        status = move_within(e, times, over, source);
    for (uint32_t i = 0; i < source->after_count && !status; i++) {
        struct nest_after *after = &source->after[i];
        int64_t offset = (int64_t)(after->offset + nest_after_origin(&before, after));
        uint64_t shift = 0;
        if (times == over)
            status = move_from_lead(e, &before.after[i], &shift);
        else
            status = edit_scale(e, times, over, &offset);
        after->offset = (uint64_t)offset + shift - nest_after_origin(source, after);
    }
    return status;
}

/* What is drawn around addresses of another draw stays as far from them; in one array as many
 * elements. */
static enum psnap_status move_around(struct editing *e, uint32_t loop, struct nest_source *source)
{
    const uint32_t own = edit_array_of(e, source->gather.areas[0].base);
    const struct nest_source there = {.with = source->around};
    const uint32_t other = array_of_draw(e, &there);
    uint64_t base = source->gather.areas[0].base, leader = 0, times = 1, over = 1;
    const bool is_known = first_of_draw(e, &there, &leader);
    int64_t offset = (int64_t)source->offset;
    enum psnap_status status;

    if (own != PSNAP_NONE && own == other && edit_is_stretched(&e->arrays[own])) {
        status = edit_map(e, loop, own, 1, &base, &times, &over);
        if (!status && !(status = edit_scale(e, times, over, &offset)) &&
            !(status = edit_scale(e, times, over, &source->slope)) &&
            !(status = edit_scale(e, times, over, &source->rest_slope)))
            source->offset = (uint64_t)offset;
        if (!status &&
            (llabs(source->slope) > NEST_SLOPE_MAX || llabs(source->rest_slope) > NEST_SLOPE_MAX))
            status = edit_fail(e, loop, PSNAP_NONE,
                               "what loop '%.100s' draws would lie %" PRId64
                               " bytes further for each iteration: it is %d at most",
                               e->profile->loops[loop].id,
                               llabs(source->slope) > NEST_SLOPE_MAX ? source->slope
                                                                     : source->rest_slope,
                               NEST_SLOPE_MAX);
        return status;
    }
    if ((own != PSNAP_NONE && edit_is_stretched(&e->arrays[own])) ||
        (other != PSNAP_NONE && edit_is_stretched(&e->arrays[other])))
        return edit_fail(e, loop, PSNAP_NONE,
                         "what loop '%.100s' draws lies around what is drawn in another array: one "
                         "cannot be stretched without the other",
                         e->profile->loops[loop].id);
    source->offset += leader - base;
    status = edit_place(e, &base);
    if (!status && is_known)
        status = edit_place(e, &leader);
    source->offset += base - leader;
    return status;
}

static enum psnap_status move_source(struct editing *e, uint32_t loop, struct nest_source *source)
{
    enum psnap_status status = PSNAP_OK;

    if (source->after_count)
        return move_after(e, loop, source);
    if (source->with != PSNAP_NONE)
        return move_with(e, loop, source);
    if (source->around != PSNAP_NONE)
        status = move_around(e, loop, source);
    for (uint32_t i = 0; i < source->gather.area_count && !status; i++) {
        struct gather_area *area = &source->gather.areas[i];
        /* The last element may be longer than what is used of it. */
        const uint64_t bytes = area->span_bytes, element = area->element_bytes;
        const uint32_t in = edit_array_of(e, area->base);
        uint64_t last = area->base + (bytes > element ? bytes - element : 0);
        if (in != PSNAP_NONE && last < e->arrays[in].high && edit_is_stretched(&e->arrays[in])) {
            status = scale_area(e, in, loop, area);
            continue;
        }
        if ((status = span_arrays(e, area->base, last, loop)) || (status = edit_place(e, &last)) ||
            (status = edit_place(e, &area->base)))
            return status;
        /* of several that are moved differently */
        area->span_bytes = last + (bytes > element ? element : bytes) - area->base;
    }
    return status;
}

static enum psnap_status move_draws(struct editing *e)
{
    const struct nest_models *models = e->profile->nests->models;
    enum psnap_status status = PSNAP_OK;

    for (uint32_t i = 0; i < models->draw_count && !status; i++) {
        struct nest_draw *draw = &models->draws[i];
        if (draw->loop == PSNAP_NONE)
            continue;
        status = move_source(e, draw->loop, &draw->rest);
        if (!status && draw->has_entry)
            status = move_source(e, draw->loop, &draw->entry);
        status = edit_in_loop(e, draw->loop, status);
    }
    return status;
}

/* Mixes have no references in the tree; what they draw from stretched arrays is described anew. */
static void touch_states(struct editing *e)
{
    const struct nest_models *models = e->profile->nests->models;

    for (uint32_t i = 0; i < models->mix_count; i++)
        for (uint32_t k = 0; models->mixes[i].chain && k < models->mixes[i].chain->state_count;
             k++) {
            const struct nest_shape *state = models->mixes[i].states[k];
            for (uint32_t j = 0; j < state->width; j++) {
                const uint32_t in = array_of_draw(e, &e->draws[state->refs[j].draw].rest);
                e->is_touched[state->loop] |= in != PSNAP_NONE && edit_is_stretched(&e->arrays[in]);
            }
        }
}

enum psnap_status edit_move_walks(struct editing *e)
{
    struct nest_models *models = e->profile->nests->models;
    const size_t draws = models ? models->draw_count : 0;
    struct moving m = {e, PSNAP_OK};

    e->draws = malloc((draws + 1) * sizeof *e->draws);
    if (!e->draws)
        return edit_no_memory(e);
    if (draws)
        memcpy(e->draws, models->draws, draws * sizeof *e->draws);
    edit_tree_leaves(&e->tree->root, move_leaf, &m);
    if (m.status || !models)
        return m.status;
    touch_states(e);
    for (uint32_t i = 0; i < models->walk_count && !m.status; i++)
        if (models->walks[i].loop != PSNAP_NONE)
            m.status = edit_place(e, &models->walks[i].address);
    return m.status ? m.status : move_draws(e);
}

/* ---- regions ---- */

enum psnap_status edit_move_regions(struct editing *e)
{
    enum psnap_status status = PSNAP_OK;

    for (uint32_t i = 0; i < e->profile->loop_count; i++)
        for (uint32_t k = 0; k < e->profile->loops[i].region_count && !status; k++) {
            struct psnap_profile_region *region = &e->profile->loops[i].regions[k];
            const struct edit_array *array = &e->arrays[edit_array_of(e, region->low)];
            if (array->times != array->over) {
                region->bytes = (region->bytes + array->over - 1) / array->over * array->over;
                status = edit_scale_count(e, array->times, array->over, &region->bytes);
            }
            if (!status)
                status = edit_place(e, &region->low);
        }
    return status;
}
