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
#include "profile/edit/edit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- before the change ---- */

void edit_each_run(struct editing *e, void (*see)(struct editing *e, struct edit_node *run))
{
    for (uint32_t i = 0; i < e->model->ref_count && !e->status; i++) {
        e->ref = &e->model->refs[i];
        e->in_loop = e->ref->loop;
        if (e->trees[i])
            edit_each_leaf(e, e->trees[i], see);
    }
    e->in_loop = PSNAP_NONE;
}

/* Finds the array that a run is in. */
static void find_array(struct editing *e, struct edit_node *run)
{
    run->array = run->low > run->high ? PSNAP_NONE : edit_array_of(e, run->low);
    if (run->array != PSNAP_NONE &&
        run->high + model_nest_width(e->ref) > e->arrays[run->array].high)
        run->array = PSNAP_NONE;
}

/* Measures the trees of all references. */
static void measure_trees(struct editing *e)
{
    for (uint32_t i = 0; i < e->model->ref_count && !e->status; i++)
        if (e->trees[i] && !edit_tree_measure(e->trees[i]))
            edit_fail_ref(e, &e->model->refs[i], "has too many iterations to follow");
}

void edit_find_addresses(struct editing *e)
{
    e->trees = edit_alloc(e, e->model->ref_count, sizeof(struct edit_node *));
    for (uint32_t i = 0; i < e->model->ref_count && !e->status; i++)
        if (e->model->refs[i].rule == MODEL_NEST)
            e->trees[i] = edit_tree_new(e, &e->model->refs[i].addresses);
    measure_trees(e);
    edit_each_run(e, find_array);
}

/* ---- arrays that are led out of ---- */

static void see_growth(struct editing *e, struct edit_node *run)
{
    struct edit_array *array = &e->arrays[run->array == PSNAP_NONE ? 0 : run->array];
    const uint64_t high = run->high + model_nest_width(e->ref);

    if (run->array == PSNAP_NONE || run->low > run->high)
        return;
    array->from = run->low < array->from ? run->low : array->from;
    array->to = high > array->to ? high : array->to;
}

static void grow_arrays(struct editing *e)
{
    for (uint32_t i = 0; i < e->array_count; i++) {
        e->arrays[i].from = e->arrays[i].low;
        e->arrays[i].to = e->arrays[i].high;
    }
    measure_trees(e);
    edit_each_run(e, see_growth);
    for (uint32_t i = 0; i < e->array_count; i++) {
        struct edit_array *array = &e->arrays[i];
        array->pad += (array->low - array->from + 63) / 64 * 64;
        array->grown += array->to - array->high;
    }
}

/* ---- nests ---- */

/* How far all of [low, high] is moved, which is in several arrays, or beside them. */
static uint64_t find_shift(struct editing *e, uint64_t low, uint64_t high)
{
    const uint64_t shift = edit_place(e, low).address - low;
    bool is_odd = shift != edit_place(e, high).address - high;

    for (uint32_t i = 0; i < e->array_count && e->arrays[i].low <= high; i++)
        if (e->arrays[i].high > low)
            is_odd |= edit_is_stretched(&e->arrays[i]) || (uint64_t)e->arrays[i].shift != shift;
    if (is_odd)
        edit_fail_ref(e, e->ref,
                      "leads from one array into another: it cannot be changed with one of them");
    return shift;
}

static void move_run(struct editing *e, struct edit_node *run)
{
    struct edit_spot spot;

    if (run->low > run->high)
        return;
    if (run->array == PSNAP_NONE) {
        run->value.first += (int64_t)find_shift(e, run->low, run->high);
        return;
    }
    spot = edit_map(e, run->array, (uint64_t)run->value.first, model_nest_width(e->ref));
    run->value.first = (int64_t)spot.address;
    if (edit_is_stretched(&e->arrays[run->array])) {
        if (run->count.first != 1 || run->all != run->visits)
            edit_scale(e, spot.times, spot.over, &run->stride);
        edit_scale_steps(e, spot.times, spot.over, &run->value, run->depth);
    }
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
    const struct psnap_stream_model *model = e->model;
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
        const struct edit_node *node = e->trees[ref - model->refs];
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

/* Where the byte of an access is then. */
static struct edit_spot map(struct editing *e, uint64_t address)
{
    const uint32_t in = edit_array_of(e, address);

    return in == PSNAP_NONE ? edit_place(e, address) : edit_map(e, in, address, 1);
}

/* Offsets of a reference, *after, told by the addresses that there were. */
static void move_offsets(struct editing *e, const struct model_ref *ref,
                         struct depend_offset after[DEPEND_OFFSETS])
{
    uint64_t from;

    if (!first_of(e, &e->model->refs[ref->bases[0]], &from))
        return;
    for (uint32_t i = 0; i < ref->offset_count; i++) {
        const int64_t bytes = ref->offsets[i].bytes;
        const uint64_t base = within(e, from, bytes);
        const struct edit_spot at = map(e, base), to = map(e, base + (uint64_t)bytes);
        if (at.times * to.over != to.times * at.over)
            edit_fail_ref(e, ref,
                          "goes with one in another array, %" PRId64 " bytes away: one cannot be "
                          "stretched without the other",
                          bytes);
        after[i].bytes = (int64_t)(to.address - at.address);
    }
}

static void move_dependents(struct editing *e)
{
    struct depend_offset(*after)[DEPEND_OFFSETS] =
        edit_alloc(e, e->model->ref_count, sizeof *after);

    for (uint32_t i = 0; after && i < e->model->ref_count; i++) {
        memcpy(after[i], e->model->refs[i].offsets, sizeof after[i]);
        e->in_loop = e->model->refs[i].loop;
        if (e->model->refs[i].rule == MODEL_DEPENDENT)
            move_offsets(e, &e->model->refs[i], after[i]);
    }
    e->in_loop = PSNAP_NONE;
    for (uint32_t i = 0; after && i < e->model->ref_count; i++)
        memcpy(e->model->refs[i].offsets, after[i], sizeof after[i]);
}

/* ---- objects ---- */

/* Fails when something is drawn from an object whose records are parted or put together. */
static void check_fields(struct editing *e, uint32_t object)
{
    for (uint32_t i = 0; i < e->model->ref_count; i++)
        for (uint32_t k = 0; k < e->model->refs[i].reuse_count; k++)
            if (e->model->refs[i].reuses[k].object == object)
                edit_fail_ref(
                    e, &e->model->refs[i],
                    "is drawn from '%.100s' by reuse time: which lines its records would "
                    "share cannot be said (its working set and reuse times can be changed)",
                    e->model->objects[object].id);
}

static void move_object(struct editing *e, uint32_t index)
{
    struct model_object *object = &e->model->objects[index];
    const uint64_t low = object->low, end = low + object->bytes;
    const bool is_array = object->name && !object->is_pool;
    const struct edit_array *first = NULL, *last = NULL;
    uint64_t to, to_end;

    for (uint32_t i = 0; i < e->array_count && e->arrays[i].low < end; i++)
        if (e->arrays[i].high > low) {
            first = first ? first : &e->arrays[i];
            last = &e->arrays[i];
            if (last->fields && (is_array || !last->object))
                check_fields(e, index);
        }
    if (!first) {
        object->low = edit_place(e, low).address;
        return;
    }
    to = low < first->low ? low + (uint64_t)first->shift : edit_place(e, low).address;
    to_end = edit_place(e, last->high - 1).address;
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
        return;
    for (uint32_t i = 0; i < object->stride_count; i++)
        object->strides[i].lines =
            object->strides[i].lines * (int64_t)first->times / (int64_t)first->over;
    edit_stretch_reuses(e, index, first->times, first->over);
}

void edit_move_addresses(struct editing *e)
{
    grow_arrays(e);
    if (!e->status)
        edit_settle_space(e);
    if (!e->status)
        move_dependents(e);
    for (uint32_t i = 0; i < e->model->object_count && !e->status; i++)
        move_object(e, i);
    edit_each_run(e, move_run);
    for (uint32_t i = 0; i < e->model->ref_count && !e->status; i++)
        if (e->trees[i]) {
            e->in_loop = e->model->refs[i].loop;
            edit_tree_store(e, e->trees[i], &e->model->refs[i].addresses);
        }
    e->in_loop = PSNAP_NONE;
}
