/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data objects, found by address while a stream goes on (objects.h). A later announcement hides an
 * earlier one where they overlap: memory was given back and used again, so the earlier object ends.
 */
#include "profile/address/objects.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/layout.h"
#include "formats/base/room.h"

enum {
    LARGE = 4096,      /* bytes: smaller ones are of their group */
    ANNOUNCED = 1 << 12 /* objects that are told apart; later ones are of their group */
};

void objects_release(struct objects *objects)
{
    free(objects->objects);
    free(objects->sorted);
    *objects = (struct objects){0};
}

static uint32_t add(struct objects *objects, const struct data_object *object)
{
    struct data_object *more = psnap_with_room(objects->objects, &objects->room,
                                               objects->count + (size_t)1, sizeof *more);

    if (!more)
        return PSNAP_NONE;
    objects->objects = more;
    more[objects->count] = *object;
    return objects->count++;
}

/* How many of the sorted ones begin at or below an address. */
static uint32_t place_of(const struct objects *objects, uint64_t address)
{
    uint32_t low = 0, high = objects->sorted_count;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (objects->objects[objects->sorted[middle]].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Takes the objects out that a new one overlaps. */
static void hide(struct objects *objects, uint64_t low, uint64_t end)
{
    uint32_t from = place_of(objects, low), to;

    if (from && objects->objects[objects->sorted[from - 1]].end > low)
        from--;
    for (to = from; to < objects->sorted_count && objects->objects[objects->sorted[to]].low < end;)
        to++;
    if (to > from)
        memmove(&objects->sorted[from], &objects->sorted[to],
                (objects->sorted_count - to) * sizeof *objects->sorted);
    objects->sorted_count -= to - from;
}

static bool announce(struct objects *objects, const struct psnap_object *from)
{
    const struct data_object object = {.name = from->name,
                                       .kind = from->kind,
                                       .low = from->address,
                                       .end = from->address + from->size_bytes};
    uint32_t *more, at, made;

    if (from->size_bytes < LARGE || from->kind == PSNAP_OBJECT_STACK || object.end < object.low ||
        objects->count >= ANNOUNCED)
        return true;
    at = place_of(objects, object.low);
    if (at) { /* the same one once more: of a name it is one object */
        struct data_object *before = &objects->objects[objects->sorted[at - 1]];
        if (before->low == object.low && before->end == object.end &&
            !strcmp(before->name, object.name))
            return true;
    }
    hide(objects, object.low, object.end);
    more = psnap_with_room(objects->sorted, &objects->sorted_room,
                           objects->sorted_count + (size_t)1, sizeof *more);
    if (!more)
        return false;
    objects->sorted = more;
    made = add(objects, &object);
    if (made == PSNAP_NONE)
        return false;
    at = place_of(objects, object.low);
    memmove(&more[at + 1], &more[at], (objects->sorted_count - at) * sizeof *more);
    more[at] = made;
    objects->sorted_count++;
    return true;
}

/* All else of the group that an address is in: found by where the group's window begins. */
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
    uint32_t at;

    for (; objects->known < program->object_count; objects->known++)
        if (!announce(objects, &program->objects[objects->known]))
            return PSNAP_NONE;
    at = place_of(objects, address);
    if (at && address < objects->objects[objects->sorted[at - 1]].end)
        return objects->sorted[at - 1];
    return group_at(objects, address);
}
