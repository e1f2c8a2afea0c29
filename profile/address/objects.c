/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data objects, found by address when a stream has ended (objects.h). A later announcement hides an
 * earlier one where they overlap: memory was given back and used again.
 */
#include "profile/address/objects.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/layout.h"
#include "formats/base/room.h"

enum {
    LARGE = 4096,       /* bytes: smaller ones are of their group */
    OF_A_SITE = 3,      /* objects of one name; later ones are a pool */
    OBJECTS_MAX = 1024, /* in all; then all is a pool, or of its group */
    RANGES_MAX = 1 << 14
};

void objects_release(struct objects *objects)
{
    free(objects->objects);
    free(objects->ranges);
    *objects = (struct objects){0};
}

static uint32_t add(struct objects *objects, const struct data_object *object)
{
    struct data_object *more =
        psnap_with_room(objects->objects, &objects->room, objects->count + (size_t)1, sizeof *more);

    if (!more)
        return PSNAP_NONE;
    objects->objects = more;
    more[objects->count] = *object;
    return objects->count++;
}

/* Takes the ranges out that a new one overlaps; returns its place. */
static size_t hide(struct objects *objects, uint64_t low, uint64_t end)
{
    size_t from = psnap_place(objects->ranges, objects->range_count, sizeof *objects->ranges, low),
           to;

    if (from && objects->ranges[from - 1].end > low)
        from--;
    for (to = from; to < objects->range_count && objects->ranges[to].low < end;)
        to++;
    if (to > from) {
        memmove(&objects->ranges[from], &objects->ranges[to],
                (objects->range_count - to) * sizeof *objects->ranges);
        objects->range_count -= to - from;
    }
    return from;
}

/* The object of an announcement: its own, or the pool of its site. PSNAP_NONE: out of memory. */
static uint32_t object_of(struct objects *objects, const struct psnap_object *from)
{
    const uint64_t low = from->address, end = low + from->size_bytes;
    struct data_object made = {.name = from->name, .kind = from->kind, .low = low, .end = end};
    uint32_t of_site = 0;

    for (uint32_t i = 0; i < objects->count; i++) {
        struct data_object *object = &objects->objects[i];
        if (!object->name || object->kind != from->kind || strcmp(object->name, from->name) != 0)
            continue;
        if (!object->is_pool && object->low == low && object->end == end)
            return i;
        if (object->is_pool) {
            object->low = low < object->low ? low : object->low;
            object->end = end > object->end ? end : object->end;
            return i;
        }
        of_site++;
    }
    made.is_pool = of_site >= OF_A_SITE;
    return add(objects, &made);
}

static bool announce(struct objects *objects, const struct psnap_object *from)
{
    const uint64_t low = from->address, end = low + from->size_bytes;
    struct data_range *more;
    uint32_t object;
    size_t at;

    if (end < low || from->kind == PSNAP_OBJECT_STACK)
        return true;
    at = hide(objects, low, end);
    if (from->size_bytes < LARGE || objects->count >= OBJECTS_MAX ||
        objects->range_count >= RANGES_MAX)
        return true;
    object = object_of(objects, from);
    more = psnap_with_room(objects->ranges, &objects->range_room, objects->range_count + 1,
                           sizeof *more);
    objects->ranges = more ? more : objects->ranges;
    if (!more || object == PSNAP_NONE)
        return false;
    memmove(&more[at + 1], &more[at], (objects->range_count - at) * sizeof *more);
    more[at] = (struct data_range){low, end, object};
    objects->range_count++;
    return true;
}

/* All else of the group that an address is in. */
static uint32_t group_at(struct objects *objects, uint64_t address)
{
    const struct psnap_place place = psnap_layout_split(address);

    for (uint32_t i = 0; i < objects->count; i++) {
        const struct data_object *object = &objects->objects[i];
        const struct psnap_place other = psnap_layout_split(object->low);
        if (!object->name && other.group == place.group && other.index == place.index)
            return i;
    }
    return add(objects, &(struct data_object){.low = address, .end = address});
}

uint32_t objects_at(struct objects *objects, const struct psnap_program *program, uint64_t address)
{
    size_t at;

    for (; objects->known < program->object_count; objects->known++)
        if (!announce(objects, &program->objects[objects->known]))
            return PSNAP_NONE;
    at = psnap_place(objects->ranges, objects->range_count, sizeof *objects->ranges, address);
    if (at && address < objects->ranges[at - 1].end)
        return objects->ranges[at - 1].object;
    return group_at(objects, address);
}

/* ---- where objects are ---- */

static void add_range(struct data_range *ranges, size_t *count, uint64_t low, uint64_t end,
                      uint32_t object)
{
    if (*count && ranges[*count - 1].end == low)
        ranges[*count - 1].end = end;
    else if (low < end)
        ranges[(*count)++] = (struct data_range){low, end, object};
}

static int compare_gaps(const void *a, const void *b)
{
    const uint64_t p = *(const uint64_t *)a, q = *(const uint64_t *)b;

    return p < q ? -1 : p > q;
}

/* The narrowest gaps close until there are at most so many ranges; false: out of memory. */
static bool close_gaps(struct data_range *ranges, size_t *count, size_t most)
{
    uint64_t *gaps, widest;
    size_t kept = 1, closing = *count - most, equal = 0;

    if (*count <= most)
        return true;
    gaps = malloc(*count * sizeof *gaps);
    if (!gaps)
        return false;
    for (size_t i = 1; i < *count; i++)
        gaps[i - 1] = ranges[i].low - ranges[i - 1].end;
    qsort(gaps, *count - 1, sizeof *gaps, compare_gaps);
    widest = gaps[closing - 1];
    while (equal < closing && gaps[closing - 1 - equal] == widest)
        equal++; /* of the gaps that close; more may be as wide */
    free(gaps);
    for (size_t i = 1; i < *count; i++) {
        const uint64_t gap = ranges[i].low - ranges[kept - 1].end;
        if (gap < widest || (gap == widest && equal)) {
            equal -= gap == widest;
            ranges[kept - 1].end = ranges[i].end;
        } else {
            ranges[kept++] = ranges[i];
        }
    }
    *count = kept;
    return true;
}

bool objects_ranges(const struct objects *objects, uint32_t object, uint64_t low, uint64_t end,
                    size_t most, struct data_range **ranges, size_t *count)
{
    const bool is_rest = !objects->objects[object].name;
    uint64_t from = low;

    *count = 0;
    *ranges = malloc((objects->range_count + 1) * sizeof **ranges);
    for (size_t i = 0; *ranges && i < objects->range_count; i++) {
        const struct data_range *range = &objects->ranges[i];
        const uint64_t begin = range->low > low ? range->low : low;
        const uint64_t stop = range->end < end ? range->end : end;
        if (begin >= stop)
            continue;
        if (is_rest) {
            add_range(*ranges, count, from, begin, object);
            from = stop;
        } else if (range->object == object) {
            add_range(*ranges, count, begin, stop, object);
        }
    }
    if (*ranges && is_rest)
        add_range(*ranges, count, from, end, object);
    if (*ranges && close_gaps(*ranges, count, most))
        return true;
    free(*ranges);
    *ranges = NULL;
    return false;
}
