/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an access touches: the object that its reference is known to touch, else
 * the object announced last that contains its address, else the part of the
 * canonical layout it lies in, "(heap)". Rows are (loop of the source, name).
 *
 * Objects become a sorted array of disjoint ranges, where a later one hides an
 * earlier one. Each reference remembers the range and row of its last access,
 * so that the search is for references that leave their object. The ranges are
 * contiguous: gaps between objects are ranges without a name.
 */
#include "simcore/touched.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/layout.h"

struct range {
    uint64_t first;   /* up to the next range's first, or to the top */
    const char *name; /* NULL: no object */
};

struct memory { /* of a reference */
    uint64_t first, last;
    uint32_t row;
    uint32_t objects_seen; /* when this was found out; PSNAP_NONE: never */
};

struct touched {
    const struct psnap_program *program;
    struct range *ranges;
    size_t range_count, range_room;
    uint32_t objects_seen;
    struct memory *memories;
    uint32_t memory_room;
    struct touched_row *rows;
    uint32_t row_count, row_room;
    uint32_t *buckets;     /* of rows, open addressing, PSNAP_NONE: free */
    uint32_t bucket_count; /* a power of two, at least twice row_count */
};

/* ---------------------------------------------------------------- the ranges */

/* The last range that starts at or below `address`. ranges[0].first is 0. */
static size_t range_at(const struct touched *touched, uint64_t address)
{
    size_t low = 0, high = touched->range_count;

    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (touched->ranges[middle].first <= address)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Makes a range start at `first`, naming what it was named before; returns its index. */
static size_t cut(struct touched *touched, uint64_t first)
{
    const size_t at = range_at(touched, first);

    if (touched->ranges[at].first == first)
        return at;
    memmove(&touched->ranges[at + 2], &touched->ranges[at + 1],
            (touched->range_count - at - 1) * sizeof touched->ranges[0]);
    touched->ranges[at + 1] = (struct range){first, touched->ranges[at].name};
    touched->range_count++;
    return at + 1;
}

static bool add_object(struct touched *touched, const struct psnap_object *object)
{
    uint64_t end = object->address + object->size_bytes;
    size_t from, to;

    if (!object->size_bytes)
        return true;
    if (touched->range_count + 2 > touched->range_room) {
        const size_t room = 2 * touched->range_room + 64;
        struct range *ranges = realloc(touched->ranges, room * sizeof *ranges);
        if (!ranges)
            return false;
        touched->ranges = ranges;
        touched->range_room = room;
    }
    from = cut(touched, object->address);
    to = touched->range_count;
    if (end > object->address)
        to = cut(touched, end);
    touched->ranges[from].name = object->name;
    memmove(&touched->ranges[from + 1], &touched->ranges[to],
            (touched->range_count - to) * sizeof touched->ranges[0]);
    touched->range_count -= to - from - 1;
    return true;
}

/* ------------------------------------------------------------------ the rows */

static uint64_t hash_text(uint64_t hash, const char *text) /* FNV-1a, with the terminator */
{
    do {
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    } while (*text++);
    return hash;
}

static uint32_t *bucket_of(const struct touched *touched, const char *loop, const char *object)
{
    const uint32_t mask = touched->bucket_count - 1;
    const uint64_t hash = hash_text(hash_text(UINT64_C(0xcbf29ce484222325), loop), object);
    uint32_t at = (uint32_t)(hash ^ hash >> 32) & mask;

    for (;; at = (at + 1) & mask) {
        const uint32_t row = touched->buckets[at];
        if (row == PSNAP_NONE ||
            (!strcmp(touched->rows[row].loop, loop) && !strcmp(touched->rows[row].object, object)))
            return &touched->buckets[at];
    }
}

static bool grow_rows(struct touched *touched)
{
    const uint32_t room = 2 * touched->row_room + 32;
    struct touched_row *rows = realloc(touched->rows, room * sizeof *rows);
    uint32_t bucket_count = 64, *buckets;

    if (!rows)
        return false;
    touched->rows = rows;
    while (bucket_count < 2 * room)
        bucket_count *= 2;
    buckets = malloc(bucket_count * sizeof *buckets);
    if (!buckets)
        return false;
    memset(buckets, 0xff, bucket_count * sizeof *buckets); /* PSNAP_NONE */
    free(touched->buckets);
    touched->buckets = buckets;
    touched->bucket_count = bucket_count;
    touched->row_room = room;
    for (uint32_t row = 0; row < touched->row_count; row++)
        *bucket_of(touched, rows[row].loop, rows[row].object) = row;
    return true;
}

static uint32_t row_of(struct touched *touched, const char *loop, const char *object)
{
    uint32_t *bucket;

    if (touched->row_count == touched->row_room && !grow_rows(touched))
        return PSNAP_NONE;
    bucket = bucket_of(touched, loop, object);
    if (*bucket == PSNAP_NONE) {
        *bucket = touched->row_count;
        touched->rows[touched->row_count++] = (struct touched_row){loop, object};
    }
    return *bucket;
}

/* ------------------------------------------------------------------- tagging */

static const char *layout_name(uint64_t address)
{
    static const char *const names[] = {"(unknown)", "(image)", "(heap)", "(mmap)", "(stack)"};

    _Static_assert(sizeof names / sizeof names[0] == PSNAP_GROUP_COUNT, "a name per group");
    return names[psnap_layout_split(address).group];
}

static bool look_up(struct touched *touched, const struct psnap_access *access)
{
    const struct psnap_program *program = touched->program;
    const struct psnap_ref *ref = &program->refs[access->ref];
    struct memory *memory = &touched->memories[access->ref];
    const char *name = ref->object;
    const char *loop = ref->loop < program->loop_count ? program->loops[ref->loop].src_id : "";

    *memory = (struct memory){0, UINT64_MAX, PSNAP_NONE, touched->objects_seen};
    if (!name || !*name) {
        const size_t at = range_at(touched, access->address);
        const uint64_t window = access->address & ~(PSNAP_LAYOUT_WINDOW - 1);

        memory->first = touched->ranges[at].first;
        if (at + 1 < touched->range_count)
            memory->last = touched->ranges[at + 1].first - 1;
        name = touched->ranges[at].name;
        if (!name || !*name) { /* the layout changes at windows */
            name = layout_name(access->address);
            if (memory->first < window)
                memory->first = window;
            if (memory->last > window + (PSNAP_LAYOUT_WINDOW - 1))
                memory->last = window + (PSNAP_LAYOUT_WINDOW - 1);
        }
    }
    memory->row = row_of(touched, loop, name);
    return memory->row != PSNAP_NONE;
}

static bool catch_up(struct touched *touched)
{
    const struct psnap_program *program = touched->program;

    while (touched->objects_seen < program->object_count)
        if (!add_object(touched, &program->objects[touched->objects_seen++]))
            return false;
    if (program->ref_count > touched->memory_room) {
        const uint32_t twice = 2 * touched->memory_room;
        const uint32_t room = program->ref_count > twice ? program->ref_count : twice;
        struct memory *memories = realloc(touched->memories, room * sizeof *memories);
        if (!memories)
            return false;
        for (uint32_t i = touched->memory_room; i < room; i++)
            memories[i].objects_seen = PSNAP_NONE;
        touched->memories = memories;
        touched->memory_room = room;
    }
    return true;
}

enum psnap_status touched_tag(void *context, const struct psnap_access *block, size_t n,
                              uint32_t *rows, struct psnap_error *error)
{
    struct touched *touched = context;
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

const struct touched_row *touched_rows(const struct touched *touched, uint32_t *count)
{
    *count = touched->row_count;
    return touched->rows;
}

struct touched *touched_new(const struct psnap_program *program)
{
    struct touched *touched = calloc(1, sizeof *touched);

    if (!touched)
        return NULL;
    touched->program = program;
    touched->ranges = malloc(64 * sizeof *touched->ranges);
    if (!touched->ranges) {
        free(touched);
        return NULL;
    }
    touched->range_room = 64;
    touched->range_count = 1;
    touched->ranges[0] = (struct range){0, NULL};
    return touched;
}

void touched_free(struct touched *touched)
{
    if (!touched)
        return;
    free(touched->ranges);
    free(touched->memories);
    free(touched->rows);
    free(touched->buckets);
    free(touched);
}
