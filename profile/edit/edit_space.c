/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What lies where before and after an edit. Regions of all loops are grouped to arrays: those that
 * overlap are of one, and so are all of a global; objects of model nests that lie in several places
 * are arrays between the others. Then arrays of a group (image, heap, ...) are
 * gone through from the lowest on: each is moved by what those below it have grown.
 *
 *   new address = low + shift + (address - low) * times / over
 *
 * An array that grows into the gap behind it pushes nothing. Else what it grows by is a multiple of
 * PUSH bytes, so that what is pushed lies in its cache lines as before.
 */
#include "profile/edit/edit.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/arena.h"
#include "formats/base/layout.h"
#include "formats/base/room.h"
#include "formats/base/text.h"
#include "profile/model.h"

enum { PUSH = 64 };

static uint64_t push_of(uint64_t bytes)
{
    return (bytes + PUSH - 1) / PUSH * PUSH;
}

static bool is_same_group(uint64_t a, uint64_t b)
{
    const struct psnap_place p = psnap_layout_split(a), q = psnap_layout_split(b);

    return p.group == q.group && p.index == q.index;
}

static bool is_same_object(const struct edit_array *a, const struct edit_array *b)
{
    return a->object && b->object && a->object_kind == b->object_kind &&
           !strcmp(a->object, b->object);
}

static int compare_low(const void *a, const void *b)
{
    const struct edit_array *p = a, *q = b;

    return p->low != q->low    ? (p->low < q->low ? -1 : 1)
           : p->high > q->high ? -1
                               : p->high < q->high;
}

static void join(struct edit_array *to, const struct edit_array *from)
{
    to->low = from->low < to->low ? from->low : to->low;
    to->high = from->high > to->high ? from->high : to->high;
    if (to->mixed == PSNAP_NONE)
        to->mixed = from->mixed;
    if (!to->object) {
        to->object = from->object;
        to->object_kind = from->object_kind;
    } else if (from->object && !is_same_object(to, from) && to->mixed == PSNAP_NONE)
        to->mixed = from->loop;
}

/* Arrays, sorted, that overlap become one. */
static void join_overlapping(struct editing *e)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < e->array_count; i++)
        if (kept && e->arrays[i].low < e->arrays[kept - 1].high)
            join(&e->arrays[kept - 1], &e->arrays[i]);
        else
            e->arrays[kept++] = e->arrays[i];
    e->array_count = kept;
}

/* And those of one global; false: there were none. */
static bool join_globals(struct editing *e)
{
    bool is_any = false;

    for (uint32_t i = 0; i < e->array_count; i++)
        for (uint32_t k = i + 1; k < e->array_count && e->arrays[i].object &&
                                 e->arrays[i].object_kind == PSNAP_OBJECT_GLOBAL &&
                                 is_same_group(e->arrays[i].low, e->arrays[k].low);
             k++)
            if (is_same_object(&e->arrays[i], &e->arrays[k]) &&
                e->arrays[i].high <= e->arrays[k].low) {
                e->arrays[i].high = e->arrays[k].high; /* and what is between overlaps it */
                is_any = true;
            }
    return is_any;
}

static struct edit_array array_of(const struct editing *e, uint32_t loop, uint32_t index)
{
    const struct psnap_profile_region *region = &e->profile->loops[loop].regions[index];

    return (struct edit_array){.low = region->low,
                               .high = region->low + region->bytes,
                               .loop = loop,
                               .region = index,
                               .mixed = PSNAP_NONE,
                               .object = region->object,
                               .object_kind = region->object_kind,
                               .times = 1,
                               .over = 1};
}

/* Adds the array but for what the first `whole` ones, which are sorted, have of it. */
static bool add_between(struct editing *e, struct edit_array array, uint32_t whole)
{
    for (uint32_t i = 0; i <= whole; i++) {
        const bool is_last = i == whole || e->arrays[i].low >= array.high;
        struct edit_array piece = array;
        if (!is_last && e->arrays[i].high <= array.low)
            continue;
        piece.high = is_last ? array.high : e->arrays[i].low;
        if (piece.low < piece.high && !is_same_group(piece.low, piece.high - 1))
            piece.high = (piece.low | (PSNAP_LAYOUT_INSTANCE - 1)) + 1;
        if (piece.low < piece.high) {
            if (!psnap_resize(&e->arrays, e->array_count + (size_t)1, sizeof *e->arrays))
                return false;
            e->arrays[e->array_count++] = piece;
        }
        if (is_last || e->arrays[i].high >= array.high)
            break;
        array.low = e->arrays[i].high;
    }
    return true;
}

static void sort_arrays(struct editing *e)
{
    if (e->array_count)
        qsort(e->arrays, e->array_count, sizeof *e->arrays, compare_low);
    join_overlapping(e);
}

/* Whether a region lies in several places, with arrays in between: all of a group that is in no
 * array with a name, or several allocations. */
static bool is_spread(const struct psnap_profile *profile,
                      const struct psnap_profile_region *region)
{
    const struct psnap_stream_model *model = profile->stream;

    for (uint32_t i = 0; model && i < model->object_count; i++) {
        const struct model_object *object = &model->objects[i];
        if ((!object->name || object->is_pool) && object->low == region->low &&
            object->bytes == region->bytes)
            return true;
    }
    return !is_same_group(region->low, region->low + region->bytes - 1);
}

/* Objects of the model that are arrays by themselves, as far as a region of their name says so;
 * false: out of memory. */
static bool add_objects(struct editing *e)
{
    const struct psnap_profile *profile = e->profile;
    const struct psnap_stream_model *model = profile->stream;

    for (uint32_t o = 0; model && o < model->object_count; o++) {
        const struct model_object *object = &model->objects[o];
        bool is_found = !object->name || object->is_pool;
        for (uint32_t i = 0; i < profile->loop_count && !is_found; i++)
            for (uint32_t k = 0; k < profile->loops[i].region_count && !is_found; k++) {
                const struct psnap_profile_region *region = &profile->loops[i].regions[k];
                struct edit_array array = array_of(e, i, k);
                if (!region->object || strcmp(region->object, object->name) != 0 ||
                    region->low >= object->low + object->bytes ||
                    region->low + region->bytes <= object->low)
                    continue;
                is_found = true;
                array.low = object->low;
                array.high = object->low + object->bytes;
                if (!psnap_resize(&e->arrays, e->array_count + (size_t)1, sizeof *e->arrays))
                    return false;
                e->arrays[e->array_count++] = array;
            }
    }
    return true;
}

enum psnap_status edit_find_arrays(struct editing *e)
{
    const struct psnap_profile *profile = e->profile;
    uint32_t whole;

    for (uint32_t i = 0; i < profile->loop_count; i++)
        e->region_count += profile->loops[i].region_count;
    e->arrays = calloc(e->region_count + (size_t)1, sizeof *e->arrays);
    if (!e->arrays)
        return edit_no_memory(e);
    for (uint32_t i = 0; i < profile->loop_count; i++)
        for (uint32_t k = 0; k < profile->loops[i].region_count; k++)
            if (!is_spread(profile, &profile->loops[i].regions[k]))
                e->arrays[e->array_count++] = array_of(e, i, k);
    if (!add_objects(e))
        return edit_no_memory(e);
    sort_arrays(e);
    while (join_globals(e))
        join_overlapping(e);
    whole = e->array_count;
    for (uint32_t i = 0; i < profile->loop_count; i++)
        for (uint32_t k = 0; k < profile->loops[i].region_count; k++)
            if (is_spread(profile, &profile->loops[i].regions[k]) &&
                !add_between(e, array_of(e, i, k), whole))
                return edit_no_memory(e);
    sort_arrays(e);
    return PSNAP_OK;
}

uint32_t edit_array_of(const struct editing *e, uint64_t address)
{
    uint32_t low = 0, high = e->array_count;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (e->arrays[middle].high <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < e->array_count && e->arrays[low].low <= address ? low : PSNAP_NONE;
}

/* ---- those that the edit is about ---- */

static bool is_named(const struct psnap_profile_region *region, const char *name, bool has_loop)
{
    if (region->object && !strcmp(region->object, name))
        return true;
    return has_loop && !strcmp(region->id, name);
}

/* The arrays of one name; ids of regions count when a loop is named, or when nothing is called
 * so. */
static bool want(struct editing *e, const char *name, bool by_id)
{
    bool is_any = false;

    for (uint32_t i = 0; i < e->profile->loop_count; i++)
        for (uint32_t k = 0; k < e->profile->loops[i].region_count; k++) {
            const struct psnap_profile_region *region = &e->profile->loops[i].regions[k];
            if ((e->edit->loop && !e->is_selected[i]) || !is_named(region, name, by_id))
                continue;
            for (uint32_t a = 0; a < e->array_count; a++)
                if (e->arrays[a].low < region->low + region->bytes &&
                    e->arrays[a].high > region->low &&
                    (!is_spread(e->profile, region) || e->arrays[a].object == region->object))
                    e->arrays[a].is_wanted = is_any = true;
        }
    return is_any;
}

/* Whether an array has a region of that name. */
static bool is_called(const struct editing *e, const struct edit_array *array, const char *called)
{
    for (uint32_t i = 0; i < e->profile->loop_count; i++)
        for (uint32_t k = 0; k < e->profile->loops[i].region_count; k++) {
            const struct psnap_profile_region *region = &e->profile->loops[i].regions[k];
            if (region->low >= array->low && region->low < array->high &&
                (!e->edit->loop || e->is_selected[i]) &&
                is_named(region, called, e->edit->loop != NULL))
                return true;
        }
    return false;
}

/* Says which name may have been meant: of an array, or of a region of the edit's loop. */
static enum psnap_status no_such_array(const struct editing *e, const char *name)
{
    const bool has_loop = e->edit->loop != NULL;
    const char **names = calloc(2 * (size_t)e->region_count + 1, sizeof *names);
    const char *nearest = NULL, *what = "";
    size_t count = 0;

    for (uint32_t i = 0; names && i < e->profile->loop_count; i++)
        for (uint32_t k = 0; k < e->profile->loops[i].region_count && e->is_selected[i]; k++) {
            const struct psnap_profile_region *region = &e->profile->loops[i].regions[k];
            names[count++] = region->object;
            names[count++] = has_loop ? region->id : NULL;
        }
    if (names)
        nearest = psnap_text_nearest(name, names, count);
    free(names);
    if (nearest)
        what = "; did you mean '";
    else if (!has_loop)
        what = "; those without a name are told by their loop and id";
    if (has_loop)
        return edit_fail(e, PSNAP_NONE, PSNAP_NONE,
                         "loop '%.100s' has no region '%.100s'%s%.100s%s", e->edit->loop, name,
                         what, nearest ? nearest : "", nearest ? "'?" : "");
    return edit_fail(e, PSNAP_NONE, PSNAP_NONE, "no region is in an array '%.100s'%s%.100s%s", name,
                     what, nearest ? nearest : "", nearest ? "'?" : "");
}

enum psnap_status edit_want_arrays(struct editing *e)
{
    for (size_t i = 0; i < e->edit->region_count; i++) {
        const char *name = e->edit->regions[i];
        if (want(e, name, e->edit->loop != NULL))
            continue;
        return no_such_array(e, name);
    }
    for (uint32_t i = 0; i < e->array_count; i++) {
        const struct edit_array *array = &e->arrays[i];
        if (array->is_wanted && array->mixed != PSNAP_NONE)
            return edit_fail(e, array->mixed, PSNAP_NONE,
                             "'%.100s' cannot be changed by itself: a region of loop '%.100s' is "
                             "in it and in something else",
                             array->object ? array->object : e->edit->regions[0],
                             e->profile->loops[array->mixed].id);
    }
    return PSNAP_OK;
}

/* ---- afterwards ---- */

/* How long an array is then, without what it has grown by. */
static uint64_t stretched(const struct edit_array *array)
{
    __extension__ typedef unsigned __int128 wide;

    return (uint64_t)((wide)(array->high - array->low) * array->times / array->over);
}

/* How far it pushes what lies behind it. */
static uint64_t push_by(const struct editing *e, uint32_t index)
{
    const struct edit_array *array = &e->arrays[index], *next = array + 1;
    const uint64_t bytes = array->high - array->low, then = stretched(array) + array->grown;

    if (then <= bytes || (index + 1 < e->array_count && is_same_group(array->low, next->low) &&
                          then - bytes <= next->low - array->high))
        return 0;
    return push_of(then - bytes);
}

enum psnap_status edit_settle_space(struct editing *e)
{
    uint64_t pushed = 0;

    for (uint32_t i = 0; i < e->array_count; i++) {
        struct edit_array *array = &e->arrays[i];
        const uint64_t bytes = array->high - array->low;
        uint64_t top;
        if (i && !is_same_group(array[-1].low, array->low))
            pushed = 0;
        pushed += array->pad;
        array->shift = (int64_t)pushed + array->moved;
        top = array->low + (uint64_t)array->shift + stretched(array) + array->grown - 1;
        if (bytes > PSNAP_COUNT_MAX / array->times || array->grown > PSNAP_COUNT_MAX ||
            !is_same_group(array->low, array->low + (uint64_t)array->shift) ||
            !is_same_group(array->low, top))
            return edit_fail(e, array->loop, array->region,
                             "there is no room for region '%.100s' of loop '%.100s': not all of it "
                             "would be in group '%s'",
                             e->profile->loops[array->loop].regions[array->region].id,
                             e->profile->loops[array->loop].id,
                             psnap_group_name(psnap_layout_split(array->low).group));
        pushed += push_by(e, i);
        array->behind = pushed;
    }
    return PSNAP_OK;
}

enum psnap_status edit_map(const struct editing *e, uint32_t loop, uint32_t array, uint64_t size,
                           uint64_t *address, uint64_t *times, uint64_t *over)
{
    const struct edit_array *in = &e->arrays[array];
    int64_t from = (int64_t)(*address - in->low);
    enum psnap_status status;

    *times = in->times;
    *over = in->over;
    for (uint32_t i = 0; i < in->field_count; i++) {
        const struct edit_field *field = &in->fields[i];
        const int64_t block = (int64_t)field->over;
        const int64_t element = (from < 0 ? from - block + 1 : from) / block;
        const uint64_t at = (uint64_t)(from - element * block);
        if (at < field->from || at + size > field->from + field->bytes)
            continue;
        *times = field->times;
        *over = field->over;
        *address = e->arrays[field->in].low + (uint64_t)e->arrays[field->in].shift + field->to +
                   (uint64_t)element * field->times + (at - field->from);
        return PSNAP_OK;
    }
    if (in->fields)
        return edit_fail(e, loop, PSNAP_NONE,
                         "loop '%.100s' accesses %" PRIu64 " bytes at once at byte %" PRId64
                         " of '%.100s': they would not lie together any more",
                         e->profile->loops[loop].id, size, from,
                         in->object ? in->object : "the array");
    status = edit_scale(e, *times, *over, &from);
    *address = in->low + (uint64_t)in->shift + (uint64_t)from;
    return status;
}

enum psnap_status edit_place(const struct editing *e, uint64_t *address)
{
    const uint32_t in = edit_array_of(e, *address);
    uint64_t times, over;

    if (in == PSNAP_NONE) { /* beside arrays: it goes with the one below */
        const struct edit_array *below = NULL;
        for (uint32_t i = 0; i < e->array_count && e->arrays[i].low <= *address; i++)
            below = &e->arrays[i];
        if (below && is_same_group(below->low, *address))
            *address += below->behind;
        return PSNAP_OK;
    }
    return edit_map(e, e->arrays[in].loop, in, 0, address, &times, &over);
}

/* ---- fields ---- */

/* "a+b"; NULL when there is no memory for it: a name is no more than that. */
static const char *joined_name(const struct editing *e)
{
    char name[256] = "";
    size_t at = 0;

    for (size_t i = 0; i < e->edit->region_count && at < sizeof name; i++)
        at += (size_t)snprintf(name + at, sizeof name - at, "%s%s", i ? "+" : "",
                               e->edit->regions[i]);
    return psnap_arena_strndup(e->profile->arena, name, strlen(name));
}

static enum psnap_status interleave(struct editing *e, uint64_t element)
{
    uint64_t elements = 0, k = 0, count = 0;
    uint32_t first = PSNAP_NONE;

    for (uint32_t i = 0; i < e->array_count; i++) {
        const struct edit_array *array = &e->arrays[i];
        const uint64_t n = (array->high - array->low + element - 1) / element;
        if (!array->is_wanted)
            continue;
        first = first == PSNAP_NONE ? i : first;
        elements = n > elements ? n : elements;
        count++;
    }
    if (count < 2)
        return edit_fail(e, PSNAP_NONE, PSNAP_NONE, "there is nothing to interleave '%.100s' with",
                         e->edit->regions[0]);
    for (size_t i = 0; i < e->edit->region_count; i++) /* in the order in which they are named */
        for (uint32_t a = 0; a < e->array_count; a++) {
            struct edit_array *array = &e->arrays[a];
            if (!array->is_wanted || array->fields || !is_called(e, array, e->edit->regions[i]))
                continue;
            array->fields = calloc(1, sizeof *array->fields);
            if (!array->fields)
                return edit_no_memory(e);
            array->fields[0] =
                (struct edit_field){0, element, k++ * element, count * element, element, first};
            array->field_count = 1;
        }
    e->arrays[first].object = joined_name(e);
    e->arrays[first].grown =
        elements * count * element - (e->arrays[first].high - e->arrays[first].low);
    return PSNAP_OK;
}

static enum psnap_status split(struct editing *e)
{
    uint64_t record = 0;

    for (size_t i = 0; i < e->edit->field_count; i++)
        record += e->edit->fields[i];
    for (uint32_t a = 0; a < e->array_count; a++) {
        struct edit_array *array = &e->arrays[a];
        const uint64_t n = (array->high - array->low + record - 1) / record;
        uint64_t at = 0;
        if (!array->is_wanted)
            continue;
        array->fields = calloc(e->edit->field_count, sizeof *array->fields);
        if (!array->fields)
            return edit_no_memory(e);
        for (size_t i = 0; i < e->edit->field_count; at += e->edit->fields[i++])
            array->fields[array->field_count++] =
                (struct edit_field){at, e->edit->fields[i], at * n, e->edit->fields[i], record, a};
        array->grown = n * record - (array->high - array->low);
    }
    return PSNAP_OK;
}

enum psnap_status edit_lay_fields(struct editing *e)
{
    return e->edit->what == PSNAP_EDIT_SPLIT ? split(e) : interleave(e, e->edit->fields[0]);
}
