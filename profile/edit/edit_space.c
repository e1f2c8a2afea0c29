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

#include "formats/base/divisor.h"
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
    to->is_between &= from->is_between;
    if (!to->mixed)
        to->mixed = from->mixed;
    if (!to->object) {
        to->object = from->object;
        to->object_kind = from->object_kind;
    } else if (from->object && !is_same_object(to, from) && !to->mixed)
        to->mixed = from->of->loop;
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

static void sort_arrays(struct editing *e)
{
    if (e->array_count)
        qsort(e->arrays, e->array_count, sizeof *e->arrays, compare_low);
    join_overlapping(e);
}

/* Adds the array [low, high) of a region. */
static void add_array(struct editing *e, const struct edit_region *of, uint64_t low, uint64_t high)
{
    if (!edit_need(e, psnap_make_room(&e->arrays, &e->array_room, e->array_count + (size_t)1,
                                      sizeof *e->arrays)))
        return;
    e->arrays[e->array_count++] = (struct edit_array){.low = low,
                                                      .high = high,
                                                      .of = of,
                                                      .object = of->region->object,
                                                      .object_kind = of->region->object_kind,
                                                      .times = 1,
                                                      .over = 1};
}

/* Adds a region but for what the first `whole` arrays, which are sorted, have of it. */
static void add_between(struct editing *e, const struct edit_region *of, uint32_t whole)
{
    const uint64_t end = of->region->low + of->region->bytes;
    uint64_t low = of->region->low;

    for (uint32_t i = 0; i <= whole; i++) {
        const bool is_last = i == whole || e->arrays[i].low >= end;
        uint64_t high = is_last ? end : e->arrays[i].low;
        if (!is_last && e->arrays[i].high <= low)
            continue;
        if (low < high && !is_same_group(low, high - 1))
            high = (low | (PSNAP_LAYOUT_INSTANCE - 1)) + 1;
        if (low < high) {
            add_array(e, of, low, high);
            e->arrays[e->array_count - 1].is_between = true;
        }
        if (is_last || e->arrays[i].high >= end)
            break;
        low = e->arrays[i].high;
    }
}

/* Whether a region lies in several places, with arrays in between: all of a group that is in no
 * array with a name, or several allocations. */
static bool is_spread(const struct editing *e, const struct psnap_profile_region *region)
{
    for (uint32_t i = 0; i < e->model->object_count; i++) {
        const struct model_object *object = &e->model->objects[i];
        if ((!object->name || object->is_pool) && object->low == region->low &&
            object->bytes == region->bytes)
            return true;
    }
    return !is_same_group(region->low, region->low + region->bytes - 1);
}

static bool do_overlap(const struct psnap_profile_region *region, uint64_t low, uint64_t high)
{
    return region->low < high && region->low + region->bytes > low;
}

/* Adds objects of the model that are arrays by themselves, as far as a region of their name says
 * so. */
static void add_objects(struct editing *e)
{
    for (uint32_t o = 0; o < e->model->object_count; o++) {
        const struct model_object *object = &e->model->objects[o];
        const uint64_t end = object->low + object->bytes;
        for (uint32_t i = 0; i < e->region_count && object->name && !object->is_pool; i++) {
            const struct psnap_profile_region *region = e->regions[i].region;
            if (!region->object || strcmp(region->object, object->name) != 0 ||
                !do_overlap(region, object->low, end))
                continue;
            add_array(e, &e->regions[i], object->low, end);
            break;
        }
    }
}

static void list_regions(struct editing *e)
{
    const struct psnap_profile *profile = e->profile;
    size_t count = 0;

    for (uint32_t i = 0; i < profile->loop_count; i++)
        count += profile->loops[i].region_count;
    e->regions = edit_alloc(e, count, sizeof *e->regions);
    for (uint32_t i = 0; e->regions && i < profile->loop_count; i++)
        for (uint32_t k = 0; k < profile->loops[i].region_count; k++) {
            const struct psnap_profile_region *region = &profile->loops[i].regions[k];
            e->regions[e->region_count++] =
                (struct edit_region){&profile->loops[i], region, is_spread(e, region)};
        }
}

void edit_find_arrays(struct editing *e)
{
    uint32_t whole;

    list_regions(e);
    for (uint32_t i = 0; i < e->region_count; i++) {
        const struct psnap_profile_region *region = e->regions[i].region;
        if (!e->regions[i].is_spread)
            add_array(e, &e->regions[i], region->low, region->low + region->bytes);
    }
    add_objects(e);
    sort_arrays(e);
    while (join_globals(e))
        join_overlapping(e);
    whole = e->array_count;
    for (uint32_t i = 0; i < e->region_count; i++)
        if (e->regions[i].is_spread)
            add_between(e, &e->regions[i], whole);
    sort_arrays(e);
}

uint32_t edit_array_of(const struct editing *e, uint64_t address)
{
    for (uint32_t i = 0; i < e->array_count && e->arrays[i].low <= address; i++)
        if (address < e->arrays[i].high)
            return i;
    return PSNAP_NONE;
}

/* ---- those that the edit is about ---- */

static bool is_selected(const struct editing *e, const struct edit_region *of)
{
    return e->is_selected[of->loop - e->profile->loops];
}

/* Whether a region is of the name, that of its array, or its id when a loop is named, and lies in
 * the array. */
static bool is_called(const struct editing *e, const struct edit_region *of, const char *name,
                      const struct edit_array *array)
{
    const char *object = of->region->object;

    return is_selected(e, of) && do_overlap(of->region, array->low, array->high) &&
           ((object && !strcmp(object, name)) ||
            (e->edit->loop && !strcmp(of->region->id, name))) &&
           (!of->is_spread || array->object == object);
}

/* Says which name may have been meant: of an array, or of a region of the edit's loop. */
static void no_such_array(struct editing *e, const char *name)
{
    const bool has_loop = e->edit->loop != NULL;
    const char **names = edit_alloc(e, 2 * (size_t)e->region_count, sizeof *names);
    const char *nearest, *what = "";
    size_t count = 0;

    for (uint32_t i = 0; names && i < e->region_count; i++) {
        if (!is_selected(e, &e->regions[i]))
            continue;
        names[count++] = e->regions[i].region->object;
        names[count++] = has_loop ? e->regions[i].region->id : NULL;
    }
    nearest = names ? psnap_text_nearest(name, names, count) : NULL;
    if (nearest)
        what = "; did you mean '";
    else if (!has_loop)
        what = "; those without a name are told by their loop and id";
    edit_fail(e, PSNAP_NONE, "%s%.100s%s '%.100s'%s%.100s%s", has_loop ? "loop '" : "no region is",
              has_loop ? e->edit->loop : "", has_loop ? "' has no region" : " in an array", name,
              what, nearest ? nearest : "", nearest ? "'?" : "");
}

/* Marks the arrays of a name. */
static void want(struct editing *e, const char *name)
{
    bool is_any = false;

    for (uint32_t a = 0; a < e->array_count; a++) {
        struct edit_array *array = &e->arrays[a];
        bool is_it = false;
        for (uint32_t i = 0; i < e->region_count && !is_it; i++)
            is_it = is_called(e, &e->regions[i], name, array);
        if (is_it && !array->is_wanted)
            array->rank = e->wanted_count++;
        array->is_wanted |= is_it;
        is_any |= is_it;
    }
    if (!is_any)
        no_such_array(e, name);
}

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

/* How many elements an array has, the last one perhaps cut off. */
static uint64_t elements_of(const struct edit_array *array, uint64_t bytes)
{
    return (array->high - array->low + bytes - 1) / bytes;
}

/* Makes the wanted arrays fields of the first one's elements, in the order in which they are named.
 */
static void interleave(struct editing *e)
{
    const uint64_t element = e->edit->fields[0], count = e->wanted_count;
    uint64_t elements = 0;
    uint32_t first = PSNAP_NONE;

    if (count < 2) {
        edit_fail(e, PSNAP_NONE, "there is nothing to interleave '%.100s' with",
                  e->edit->regions[0]);
        return;
    }
    for (uint32_t i = 0; i < e->array_count && !e->status; i++) {
        struct edit_array *array = &e->arrays[i];
        if (!array->is_wanted)
            continue;
        first = first == PSNAP_NONE ? i : first;
        elements = elements_of(array, element) > elements ? elements_of(array, element) : elements;
        array->fields = edit_alloc(e, 1, sizeof *array->fields);
        array->field_count = array->fields != NULL;
        if (array->fields)
            array->fields[0] = (struct edit_field){
                0, element, array->rank * element, count * element, element, first};
    }
    e->arrays[first].object = joined_name(e);
    e->arrays[first].grown =
        elements * count * element - (e->arrays[first].high - e->arrays[first].low);
}

static void split(struct editing *e, struct edit_array *array, uint32_t index)
{
    const struct psnap_edit *edit = e->edit;
    uint64_t record = 0, at = 0, n;

    array->fields = edit_alloc(e, edit->field_count, sizeof *array->fields);
    if (!array->fields)
        return;
    for (size_t i = 0; i < edit->field_count; i++)
        record += edit->fields[i];
    n = elements_of(array, record);
    for (size_t i = 0; i < edit->field_count; at += edit->fields[i++])
        array->fields[array->field_count++] =
            (struct edit_field){at, edit->fields[i], at * n, edit->fields[i], record, index};
    array->grown = n * record - (array->high - array->low);
}

void edit_want_arrays(struct editing *e)
{
    const struct psnap_edit *edit = e->edit;

    for (size_t i = 0; i < edit->region_count; i++)
        want(e, edit->regions[i]);
    for (uint32_t i = 0; i < e->array_count && !e->status; i++) {
        struct edit_array *array = &e->arrays[i];
        if (!array->is_wanted)
            continue;
        if (array->mixed)
            edit_fail(e, (uint32_t)(array->mixed - e->profile->loops),
                      "'%.100s' cannot be changed by itself: a region of loop '%.100s' is in it "
                      "and in something else",
                      array->object ? array->object : edit->regions[0], array->mixed->id);
        if (edit->what == PSNAP_EDIT_SPAN) {
            const uint64_t parts = psnap_common_divisor(edit->times, edit->over);
            array->times = edit->times / parts;
            array->over = edit->over / parts;
        } else if (edit->what == PSNAP_EDIT_PAD)
            array->pad = (uint64_t)edit->bytes;
        else if (edit->what == PSNAP_EDIT_MOVE)
            array->moved = edit->bytes;
        else if (edit->what == PSNAP_EDIT_SPLIT)
            split(e, array, i);
    }
    if (edit->what == PSNAP_EDIT_INTERLEAVE && !e->status)
        interleave(e);
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

/* Fails about an array, of which one region is told. */
static void fail(struct editing *e, const struct edit_array *array, const char *why)
{
    if (!e->status)
        *e->region = (uint32_t)(array->of->region - array->of->loop->regions);
    edit_fail(e, (uint32_t)(array->of->loop - e->profile->loops),
              "%sregion '%.100s' of loop '%.100s'%s", *why == ':' ? "there is no room for " : "",
              array->of->region->id, array->of->loop->id, why);
}

/* Refuses that an array is moved onto another one, whose name its regions would get. */
static void check_moved(struct editing *e, const struct edit_array *moved)
{
    const uint64_t low = moved->low + (uint64_t)moved->shift, high = low + moved->high - moved->low;
    char why[256];

    for (uint32_t i = 0; i < e->array_count; i++) {
        const struct edit_array *array = &e->arrays[i];
        const uint64_t there = array->low + (uint64_t)array->shift;
        if (array == moved || array->is_between || there >= high ||
            there + (array->high - array->low) <= low)
            continue;
        snprintf(why, sizeof why,
                 " would lie on region '%.80s' of loop '%.80s' then: pad += moves it with all that "
                 "lies behind it",
                 array->of->region->id, array->of->loop->id);
        fail(e, moved, why);
    }
}

void edit_settle_space(struct editing *e)
{
    uint64_t pushed = 0;
    char why[64];

    for (uint32_t i = 0; i < e->array_count; i++) {
        struct edit_array *array = &e->arrays[i];
        const uint64_t bytes = array->high - array->low;
        uint64_t top;
        if (i && !is_same_group(array[-1].low, array->low))
            pushed = 0;
        pushed += array->pad;
        array->shift = (int64_t)pushed + array->moved;
        top = array->low + (uint64_t)array->shift + stretched(array) + array->grown - 1;
        snprintf(why, sizeof why, ": not all of it would be in group '%.16s'",
                 psnap_group_name(psnap_layout_split(array->low).group));
        if (bytes > PSNAP_COUNT_MAX / array->times || array->grown > PSNAP_COUNT_MAX ||
            !is_same_group(array->low, array->low + (uint64_t)array->shift) ||
            !is_same_group(array->low, top))
            fail(e, array, why);
        pushed += push_by(e, i);
        array->behind = pushed;
    }
    for (uint32_t i = 0; i < e->array_count; i++)
        if (e->arrays[i].moved)
            check_moved(e, &e->arrays[i]);
}

struct edit_spot edit_map(struct editing *e, uint32_t array, uint64_t address, uint64_t size)
{
    const struct edit_array *in = &e->arrays[array];
    int64_t from = (int64_t)(address - in->low);

    for (uint32_t i = 0; i < in->field_count; i++) {
        const struct edit_field *field = &in->fields[i];
        const int64_t block = (int64_t)field->over;
        const int64_t element = (from < 0 ? from - block + 1 : from) / block;
        const uint64_t at = (uint64_t)(from - element * block);
        if (at >= field->from && at + size <= field->from + field->bytes)
            return (struct edit_spot){e->arrays[field->in].low +
                                          (uint64_t)e->arrays[field->in].shift + field->to +
                                          (uint64_t)element * field->times + (at - field->from),
                                      field->times, field->over};
    }
    if (in->fields)
        edit_fail(e, PSNAP_NONE,
                  "%" PRIu64 " bytes at once at byte %" PRId64
                  " of '%.100s' would not lie together any more",
                  size, from, in->object ? in->object : "the array");
    edit_scale(e, in->times, in->over, &from);
    return (struct edit_spot){in->low + (uint64_t)in->shift + (uint64_t)from, in->times, in->over};
}

struct edit_spot edit_place(struct editing *e, uint64_t address)
{
    const uint32_t in = edit_array_of(e, address);
    const struct edit_array *below = NULL;

    if (in != PSNAP_NONE)
        return edit_map(e, in, address, 0);
    for (uint32_t i = 0; i < e->array_count && e->arrays[i].low <= address; i++)
        below = &e->arrays[i];
    if (below && is_same_group(below->low, address)) /* beside arrays it goes with that below */
        address += below->behind;
    return (struct edit_spot){address, 1, 1};
}
