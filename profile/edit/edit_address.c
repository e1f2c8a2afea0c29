/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * References of a model to where arrays are after an edit (edit_space.c).
 *
 *   nests       a run that lies in one array goes with it, its stride and the steps of its first
 *               address scaled as the array is; one that leads from array to array has a place only
 *               when all of these are moved by the same
 *   dependent   the offset is the distance of the two places, which must be scaled alike
 *   reuse       its object goes with the arrays in it; one that is stretched has its histograms
 *               stretched (edit_reuse.c); the fields of records that are parted, or put together,
 *               have histograms that cannot be known, which is an error
 */
#include <inttypes.h>
#include <stdlib.h>

#include "profile/edit/edit.h"
#include "profile/edit/edit_tree.h"
#include "profile/model.h"

/* ---- before the change ---- */

struct finding {
    const struct editing *e;
    const struct model_ref *ref;
};

/* The array that a run is in. */
static bool find_places(void *context, struct edit_node *leaf)
{
    const struct finding *f = context;

    leaf->array = PSNAP_NONE;
    if (leaf->low > leaf->high)
        return true;
    leaf->array = edit_array_of(f->e, leaf->low);
    if (leaf->array != PSNAP_NONE &&
        leaf->high + model_nest_width(f->ref) > f->e->arrays[leaf->array].high)
        leaf->array = PSNAP_NONE;
    return true;
}

enum psnap_status edit_find_addresses(struct editing *e)
{
    struct psnap_stream_model *model = e->profile->stream;

    e->trees = calloc(model->ref_count + (size_t)1, sizeof(struct edit_tree *));
    if (!e->trees)
        return edit_no_memory(e);
    for (uint32_t i = 0; i < model->ref_count; i++) {
        struct finding finding = {e, &model->refs[i]};
        if (finding.ref->rule != MODEL_NEST)
            continue;
        e->trees[i] = edit_tree_new(&finding.ref->addresses);
        if (!e->trees[i])
            return edit_no_memory(e);
        if (!edit_tree_measure(e->trees[i]))
            return edit_fail(e, finding.ref->loop, PSNAP_NONE,
                             "reference %" PRIu32 " of loop '%.100s' has too many iterations to "
                             "follow",
                             finding.ref->number, e->profile->loops[finding.ref->loop].id);
        edit_tree_leaves(&e->trees[i]->root, find_places, &finding);
    }
    return PSNAP_OK;
}

/* ---- arrays that are led out of ---- */

struct growing {
    const struct editing *e;
    uint8_t size;
    uint64_t *low, *high; /* by array, of what leads out of it */
};

static bool see_growth(void *context, struct edit_node *leaf)
{
    const struct growing *g = context;
    const uint64_t high = leaf->high + g->size;

    if (leaf->array == PSNAP_NONE || leaf->low > leaf->high)
        return true;
    if (leaf->low < g->low[leaf->array])
        g->low[leaf->array] = leaf->low;
    if (high > g->high[leaf->array])
        g->high[leaf->array] = high;
    return true;
}

static enum psnap_status grow_arrays(struct editing *e)
{
    struct growing g = {.e = e,
                        .low = calloc(e->array_count + (size_t)1, sizeof *g.low),
                        .high = calloc(e->array_count + (size_t)1, sizeof *g.high)};
    enum psnap_status status = g.low && g.high ? PSNAP_OK : edit_no_memory(e);

    for (uint32_t i = 0; i < e->array_count && !status; i++) {
        g.low[i] = e->arrays[i].low;
        g.high[i] = e->arrays[i].high;
    }
    for (uint32_t i = 0; i < e->profile->stream->ref_count && !status; i++) {
        if (!e->trees[i])
            continue;
        g.size = model_nest_width(&e->profile->stream->refs[i]);
        if (!edit_tree_measure(e->trees[i]))
            status =
                edit_fail(e, PSNAP_NONE, PSNAP_NONE, "there are too many iterations to follow");
        edit_tree_leaves(&e->trees[i]->root, see_growth, &g);
    }
    for (uint32_t i = 0; i < e->array_count && !status; i++) {
        e->arrays[i].pad += (e->arrays[i].low - g.low[i] + 63) / 64 * 64;
        e->arrays[i].grown += g.high[i] - e->arrays[i].high;
    }
    free(g.low);
    free(g.high);
    return status;
}

/* ---- nests ---- */

/* How far all of [low, high] is moved, which is in several arrays, or beside them. */
static enum psnap_status find_shift(const struct editing *e, uint64_t low, uint64_t high,
                                    const struct model_ref *ref, uint64_t *shift)
{
    uint64_t ends[2] = {low, high};
    enum psnap_status status = edit_place(e, &ends[0]);
    bool is_odd = false;

    if (!status)
        status = edit_place(e, &ends[1]);
    *shift = ends[0] - low;
    is_odd = *shift != ends[1] - high;
    for (uint32_t i = 0; i < e->array_count && e->arrays[i].low <= high; i++)
        if (e->arrays[i].high > low)
            is_odd |= edit_is_stretched(&e->arrays[i]) || (uint64_t)e->arrays[i].shift != *shift;
    if (status || !is_odd)
        return status;
    return edit_fail(e, ref->loop, PSNAP_NONE,
                     "reference %" PRIu32 " of loop '%.100s' leads from one array into another: it "
                     "cannot be changed with one of them",
                     ref->number, e->profile->loops[ref->loop].id);
}

struct moving {
    const struct editing *e;
    const struct model_ref *ref;
    enum psnap_status status;
};

static bool move_run(void *context, struct edit_node *leaf)
{
    struct moving *m = context;
    uint64_t address = (uint64_t)leaf->value.first, times, over, shift;

    if (leaf->low > leaf->high)
        return true;
    if (leaf->array == PSNAP_NONE) {
        m->status = find_shift(m->e, leaf->low, leaf->high, m->ref, &shift);
        leaf->value.first += m->status ? 0 : (int64_t)shift;
        return !m->status;
    }
    m->status = edit_map(m->e, m->ref->loop, leaf->array, model_nest_width(m->ref), &address,
                         &times, &over);
    leaf->value.first = (int64_t)address;
    if (m->status || !edit_is_stretched(&m->e->arrays[leaf->array]))
        return !m->status;
    if (leaf->count.first != 1 || leaf->all != leaf->visits)
        m->status = edit_scale(m->e, times, over, &leaf->stride);
    for (uint32_t i = 0; i < leaf->depth && !m->status; i++)
        m->status = edit_scale(m->e, times, over, &leaf->value.steps[i]);
    m->status = edit_in_loop(m->e, m->ref->loop, m->status);
    return !m->status;
}

/* ---- dependent references ---- */

/* The address, or one as many elements further on, from where the offset does not lead out of the
 * array if it need not. */
static uint64_t within(const struct editing *e, uint64_t address, int64_t offset)
{
    const uint32_t in = edit_array_of(e, address);
    const struct edit_array *array = &e->arrays[in == PSNAP_NONE ? 0 : in];
    uint64_t element, middle;

    if (in == PSNAP_NONE || edit_array_of(e, address + (uint64_t)offset) == in)
        return address;
    element = array->fields ? array->fields[0].over : array->over;
    middle = address + (array->high - address) / 2 / element * element;
    return edit_array_of(e, middle + (uint64_t)offset) == in ? middle : address;
}

/* An address that a reference goes to: of a nest the first, of one that is drawn the beginning of
 * the region of its loop where it goes most; false: it is not known. */
static bool first_of(const struct editing *e, const struct model_ref *ref, uint64_t *address)
{
    const struct psnap_stream_model *model = e->profile->stream;
    const struct psnap_profile_loop *loop;
    const struct psnap_profile_region *best = NULL;
    const struct model_object *object;
    int64_t offset = 0;
    uint64_t most = 0;
    uint32_t drawn = 0;

    for (; ref->rule == MODEL_DEPENDENT; ref = &model->refs[ref->bases[0]])
        offset += ref->offsets[0].bytes;
    ref = model_nest_of(model, ref);
    loop = &e->profile->loops[ref->loop];
    if (ref->rule == MODEL_NEST) {
        if (!ref->addresses.count || !e->trees[ref - model->refs])
            return false;
        const struct edit_node *node = &e->trees[ref - model->refs]->root;
        while (node->is_loop)
            node = node->children[0];
        *address = (uint64_t)(node->value.first + offset);
        return true;
    }
    for (uint32_t i = 0; i < ref->reuse_count; i++) {
        uint64_t sum = 0;
        for (uint32_t k = 0; k < ref->reuses[i].bin_count; k++)
            sum += ref->reuses[i].bins[k].count;
        if (sum > most) {
            most = sum;
            drawn = ref->reuses[i].object;
        }
    }
    object = &model->objects[drawn];
    for (uint32_t k = 0; most && k < loop->region_count; k++) {
        const struct psnap_profile_region *region = &loop->regions[k];
        if (region->low < object->low + object->bytes &&
            region->low + region->bytes > object->low &&
            (!best || region->accesses > best->accesses))
            best = region;
    }
    *address = best && best->low > object->low ? best->low : object->low;
    *address = within(e, *address, offset) + (uint64_t)offset;
    return most > 0;
}

/* The factors of the array, or the field of one, that an address is in. */
static enum psnap_status map(const struct editing *e, const struct model_ref *ref,
                             uint64_t *address, uint64_t *times, uint64_t *over)
{
    const uint32_t in = edit_array_of(e, *address);

    *times = *over = 1;
    if (in == PSNAP_NONE)
        return edit_place(e, address);
    return edit_map(e, ref->loop, in, 1, address, times, over);
}

static enum psnap_status move_offsets(const struct editing *e, struct model_ref *ref,
                                      const struct depend_offset *offsets)
{
    const struct model_ref *base = &e->profile->stream->refs[ref->bases[0]];
    uint64_t from, times[2], over[2];
    enum psnap_status status = PSNAP_OK;

    if (!first_of(e, base, &from))
        return PSNAP_OK;
    for (uint32_t i = 0; i < ref->offset_count && !status; i++) {
        uint64_t at = within(e, from, offsets[i].bytes), to = at + (uint64_t)offsets[i].bytes;
        status = map(e, ref, &at, &times[0], &over[0]);
        if (!status)
            status = map(e, ref, &to, &times[1], &over[1]);
        if (!status && times[0] * over[1] != times[1] * over[0])
            return edit_fail(e, ref->loop, PSNAP_NONE,
                             "reference %" PRIu32 " of loop '%.100s' goes with one in another "
                             "array, %" PRId64 " bytes away: one cannot be stretched without the "
                             "other",
                             ref->number, e->profile->loops[ref->loop].id, offsets[i].bytes);
        ref->offsets[i].bytes = (int64_t)(to - at);
    }
    return status;
}

/* Offsets of all, told by the addresses that there were. */
static enum psnap_status move_dependents(struct editing *e)
{
    struct psnap_stream_model *model = e->profile->stream;
    struct depend_offset(*before)[DEPEND_OFFSETS] =
        calloc(model->ref_count + (size_t)1, sizeof *before);
    struct depend_offset(*after)[DEPEND_OFFSETS] =
        calloc(model->ref_count + (size_t)1, sizeof *after);
    enum psnap_status status = before && after ? PSNAP_OK : edit_no_memory(e);

    for (uint32_t i = 0; i < model->ref_count && !status; i++) {
        struct model_ref *ref = &model->refs[i];
        for (uint32_t k = 0; k < DEPEND_OFFSETS; k++)
            before[i][k] = after[i][k] = ref->offsets[k];
        if (ref->rule != MODEL_DEPENDENT)
            continue;
        status = move_offsets(e, ref, before[i]);
        for (uint32_t k = 0; k < DEPEND_OFFSETS; k++) {
            after[i][k] = ref->offsets[k];
            ref->offsets[k] = before[i][k]; /* others are told by it */
        }
    }
    for (uint32_t i = 0; i < model->ref_count && !status; i++)
        for (uint32_t k = 0; k < DEPEND_OFFSETS; k++)
            model->refs[i].offsets[k] = after[i][k];
    free(before);
    free(after);
    return status;
}

/* ---- objects ---- */

/* That nothing is drawn from an object whose records are parted or put together. */
static enum psnap_status check_fields(const struct editing *e, uint32_t object)
{
    const struct psnap_stream_model *model = e->profile->stream;

    for (uint32_t i = 0; i < model->ref_count; i++)
        for (uint32_t k = 0; k < model->refs[i].reuse_count; k++)
            if (model->refs[i].reuses[k].object == object)
                return edit_fail(e, model->refs[i].loop, PSNAP_NONE,
                                 "reference %" PRIu32 " of loop '%.100s' is drawn from '%.100s' by "
                                 "reuse time: which lines its records would share cannot be said "
                                 "(its working set and reuse times can be changed)",
                                 model->refs[i].number, e->profile->loops[model->refs[i].loop].id,
                                 model->objects[object].id);
    return PSNAP_OK;
}

static enum psnap_status move_object(const struct editing *e, uint32_t index)
{
    struct model_object *object = &e->profile->stream->objects[index];
    const uint64_t low = object->low, end = low + object->bytes;
    const bool is_array = object->name && !object->is_pool;
    const struct edit_array *first = NULL, *last = NULL;
    uint64_t to = low, to_end;
    enum psnap_status status;

    for (uint32_t i = 0; i < e->array_count && e->arrays[i].low < end; i++)
        if (e->arrays[i].high > low) {
            first = first ? first : &e->arrays[i];
            last = &e->arrays[i];
            if (last->fields && (is_array || !last->object) && (status = check_fields(e, index)))
                return status;
        }
    if (!first)
        return edit_place(e, &object->low);
    if (low < first->low)
        to = low + (uint64_t)first->shift;
    else if ((status = edit_place(e, &to)))
        return status;
    to_end = last->high - 1;
    if ((status = edit_place(e, &to_end)))
        return status;
    if (first == last && edit_is_stretched(first))
        to_end = first->low + (uint64_t)first->shift +
                 (first->high - first->low + first->over - 1) / first->over * first->times - 1;
    to_end += 1 + last->grown + (end > last->high ? end - last->high : 0);
    if (to_end - to != object->bytes) { /* its parts are not where they were */
        free(object->ranges);
        object->ranges = NULL;
        object->range_count = 0;
    }
    object->low = to;
    object->bytes = to_end - to;
    if (first != last || first->times == first->over)
        return PSNAP_OK;
    for (uint32_t i = 0; i < object->stride_count; i++)
        object->strides[i].lines =
            object->strides[i].lines * (int64_t)first->times / (int64_t)first->over;
    return edit_stretch_reuses(e, index, first->times, first->over);
}

enum psnap_status edit_move_addresses(struct editing *e)
{
    struct psnap_stream_model *model = e->profile->stream;
    enum psnap_status status = grow_arrays(e);

    if (!status)
        status = edit_settle_space(e);
    if (!status)
        status = move_dependents(e);
    for (uint32_t i = 0; i < model->object_count && !status; i++)
        status = move_object(e, i);
    for (uint32_t i = 0; i < model->ref_count && !status; i++) {
        struct moving moving = {e, &model->refs[i], PSNAP_OK};
        if (!e->trees[i])
            continue;
        edit_tree_leaves(&e->trees[i]->root, move_run, &moving);
        status = moving.status;
        if (!status && !edit_tree_store(e->trees[i], &model->refs[i].addresses))
            status = edit_fail(e, moving.ref->loop, PSNAP_NONE,
                               "out of memory, or more than %d loops in loops", NEST_DEPTH_MAX);
    }
    return status;
}
