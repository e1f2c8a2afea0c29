/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an access touches: the object that its reference is known to touch, else
 * the object announced last that contains its address, else the part of the
 * canonical layout it lies in, "(heap)". Rows are (loop of the source, name).
 *
 * Objects lie in layers: a layer is a sorted array of ranges that cover all
 * addresses, gaps between objects being ranges without a name; where it has a
 * gap, the layer below shows. An object comes as a layer of its own, and layers
 * of equally many objects are merged, as the digits of a binary counter carry:
 * n objects cost O(n log n) whenever they are announced, and there are at most
 * 32 layers to search. Each reference remembers the range and row of its last
 * access, so that the search is for references that leave their object.
 */
#include "formats/base/touched.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/layout.h"
#include "formats/base/map.h"
#include "formats/base/room.h"

#define LAYERS_MAX 32 /* of 2^31, ..., 2, 1 objects: all that an object_count can say */

struct range {
    uint64_t first;   /* up to the next range's first, or to the top; of the first range 0 */
    const char *name; /* NULL: no object */
};

struct layer {
    struct range *ranges;
    size_t range_count;
    uint32_t objects; /* a power of two, less than the layer's below */
};

struct memory { /* of a reference */
    uint64_t first, last;
    uint32_t row;
    uint32_t objects_seen; /* when this was found out; PSNAP_NONE: never */
};

struct psnap_touched {
    const struct psnap_program *program;
    struct layer layers[LAYERS_MAX]; /* the objects announced last on top */
    uint32_t layer_count;
    uint32_t objects_seen;
    struct memory *memories;
    size_t memory_room;
    struct psnap_touched_row *rows;
    uint32_t row_count;
    size_t row_room;
    struct psnap_map numbers; /* of rows, from 1 on */
};

/* ---------------------------------------------------------------- the layers */

/* Merges `upper` into `lower`, in one walk through both. */
static bool merge(struct layer *lower, struct layer *upper)
{
    const struct range *low = lower->ranges, *high = upper->ranges;
    const struct range *const low_end = low + lower->range_count;
    const struct range *const high_end = high + upper->range_count;
    struct range *ranges = malloc((lower->range_count + upper->range_count) * sizeof *ranges);
    bool more_low, more_high, next_low, next_high;
    size_t n = 0;
    uint64_t first = 0;

    if (!ranges)
        return false;
    for (;;) {
        const char *name = high->name ? high->name : low->name;

        if (n == 0 || ranges[n - 1].name != name)
            ranges[n++] = (struct range){first, name};
        more_low = low + 1 < low_end;
        more_high = high + 1 < high_end;
        if (!more_low && !more_high)
            break;
        next_low = more_low && (!more_high || low[1].first <= high[1].first);
        next_high = more_high && (!more_low || high[1].first <= low[1].first);
        low += next_low;
        high += next_high;
        first = next_low ? low->first : high->first;
    }
    free(lower->ranges);
    free(upper->ranges);
    *lower = (struct layer){ranges, n, lower->objects + upper->objects};
    *upper = (struct layer){0};
    return true;
}

static bool add_object(struct psnap_touched *touched, const struct psnap_object *object)
{
    const uint64_t end = object->address + object->size_bytes;  /* at most 0 or beyond: the top */
    struct layer *top = &touched->layers[touched->layer_count]; /* zeroed */

    if (!object->size_bytes)
        return true;
    top->ranges = malloc(3 * sizeof *top->ranges);
    if (!top->ranges)
        return false;
    if (object->address)
        top->ranges[top->range_count++] = (struct range){0, NULL};
    top->ranges[top->range_count++] =
        (struct range){object->address, object->name ? object->name : ""};
    if (end > object->address)
        top->ranges[top->range_count++] = (struct range){end, NULL};
    top->objects = 1;
    for (; top > touched->layers && top[-1].objects == top->objects; top--)
        if (!merge(&top[-1], top))
            return false;
    touched->layer_count = (uint32_t)(top - touched->layers) + 1;
    return true;
}

/*
 * The name of the object at `address`, NULL where there is none, and the
 * addresses around it from *first to *last for which the layers say the same.
 */
static const char *object_at(const struct psnap_touched *touched, uint64_t address, uint64_t *first,
                             uint64_t *last)
{
    const char *name = NULL;

    *first = 0;
    *last = UINT64_MAX;
    for (uint32_t i = touched->layer_count; i-- > 0 && !name;) {
        const struct layer *layer = &touched->layers[i];
        const size_t end =
            psnap_place(layer->ranges, layer->range_count, sizeof(struct range), address);

        if (layer->ranges[end - 1].first > *first)
            *first = layer->ranges[end - 1].first;
        if (end < layer->range_count && layer->ranges[end].first - 1 < *last)
            *last = layer->ranges[end].first - 1;
        name = layer->ranges[end - 1].name;
    }
    return name;
}

/* ------------------------------------------------------------------ the rows */

static uint32_t row_of(struct psnap_touched *touched, const char *loop, const char *object,
                       bool is_object)
{
    uint64_t key = psnap_map_hash(psnap_map_hash(0, loop), object), *number;
    uint32_t known;

    for (; (known = (uint32_t)psnap_map_get(&touched->numbers, key)) != 0; key++)
        if (!strcmp(touched->rows[known - 1].loop, loop) &&
            !strcmp(touched->rows[known - 1].object, object))
            return known - 1;
    number = psnap_map_put(&touched->numbers, key);
    if (!number || !psnap_make_room(&touched->rows, &touched->row_room, touched->row_count + 1,
                                    sizeof *touched->rows))
        return PSNAP_NONE;
    touched->rows[touched->row_count] = (struct psnap_touched_row){loop, object, is_object};
    *number = ++touched->row_count;
    return touched->row_count - 1;
}

/* ------------------------------------------------------------------- tagging */

static const char *layout_name(uint64_t address)
{
    static const char *const names[] = {"(unknown)", "(image)", "(heap)", "(mmap)", "(stack)"};

    _Static_assert(sizeof names / sizeof names[0] == PSNAP_GROUP_COUNT, "a name per group");
    return names[psnap_layout_split(address).group];
}

static bool look_up(struct psnap_touched *touched, const struct psnap_access *access)
{
    const struct psnap_program *program = touched->program;
    const struct psnap_ref *ref = &program->refs[access->ref];
    struct memory *memory = &touched->memories[access->ref];
    const char *name = ref->object;
    const char *loop = ref->loop < program->loop_count ? program->loops[ref->loop].src_id : "";
    bool is_object = true;

    *memory = (struct memory){0, UINT64_MAX, PSNAP_NONE, touched->objects_seen};
    if (!name || !*name) {
        const uint64_t window = access->address & ~(PSNAP_LAYOUT_WINDOW - 1);

        name = object_at(touched, access->address, &memory->first, &memory->last);
        if (!name || !*name) { /* the layout changes at windows */
            name = layout_name(access->address);
            is_object = false;
            if (memory->first < window)
                memory->first = window;
            if (memory->last > window + (PSNAP_LAYOUT_WINDOW - 1))
                memory->last = window + (PSNAP_LAYOUT_WINDOW - 1);
        }
    }
    memory->row = row_of(touched, loop, name, is_object);
    return memory->row != PSNAP_NONE;
}

static bool catch_up(struct psnap_touched *touched)
{
    const struct psnap_program *program = touched->program;
    const size_t had = touched->memory_room;

    while (touched->objects_seen < program->object_count)
        if (!add_object(touched, &program->objects[touched->objects_seen++]))
            return false;
    if (!psnap_make_room(&touched->memories, &touched->memory_room, program->ref_count,
                         sizeof *touched->memories))
        return false;
    for (size_t i = had; i < touched->memory_room; i++)
        touched->memories[i].objects_seen = PSNAP_NONE;
    return true;
}

enum psnap_status psnap_touched_tag(void *context, const struct psnap_access *block, size_t n,
                                    uint32_t *rows, struct psnap_error *error)
{
    struct psnap_touched *touched = context;
    bool fits = catch_up(touched);

    for (size_t i = 0; i < n && fits; i++) {
        const struct memory *memory = &touched->memories[block[i].ref];
        if (memory->objects_seen != touched->objects_seen || block[i].address < memory->first ||
            block[i].address > memory->last)
            fits = look_up(touched, &block[i]);
        rows[i] = memory->row;
    }
    if (!fits)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for regions");
    return PSNAP_OK;
}

const struct psnap_touched_row *psnap_touched_rows(const struct psnap_touched *touched,
                                                   uint32_t *count)
{
    *count = touched->row_count;
    return touched->rows;
}

struct psnap_touched *psnap_touched_new(const struct psnap_program *program)
{
    struct psnap_touched *touched = calloc(1, sizeof *touched);

    if (touched)
        touched->program = program;
    return touched;
}

void psnap_touched_free(struct psnap_touched *touched)
{
    if (!touched)
        return;
    for (uint32_t i = 0; i < LAYERS_MAX; i++)
        free(touched->layers[i].ranges);
    free(touched->memories);
    free(touched->rows);
    free(touched->numbers.slots);
    free(touched);
}
