/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Regions of one loop, ordered by address: finding by binary search, opening, growing, and their
 * metrics in the form that profiles have.
 *
 * The rule (PSnAP): an access joins the closest region whose address range it is within `gap`
 * bytes of, else it opens a new one. Distance is that of addresses; inside a range it is 0. It
 * follows that ranges never overlap: an address beyond a neighbour would be closer to the
 * neighbour.
 */
#include "profile/published/published.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

enum {
    NAMING_STEPS_MAX = 1 << 26, /* through the program's objects, to name a loop's regions */
    ROOM_FIRST = 4,
    PATTERN_FIRST = 16
};

struct loop *loop_new(const struct psnap_program *program, uint32_t index,
                      const struct psnap_builder_options *options)
{
    struct loop *loop = calloc(1, sizeof *loop);

    if (!loop)
        return NULL;
    loop->program = program;
    loop->index = loop->unit = index;
    loop->gap = options->region_gap_bytes;
    loop->limit = options->region_limit;
    loop->restless_at = loop->restless_after = PUBLISHED_RESTLESS_FIRST;
    return loop;
}

/* ------------------------------------------------------------- memory of a region */

bool region_make_row(struct region *region, unsigned bin)
{
    if (!region->rows[bin])
        region->rows[bin] = calloc(PSNAP_STRIDE_BINS, sizeof *region->rows[bin]);
    return region->rows[bin] != NULL;
}

bool region_make_sizes(struct region *region, unsigned kind)
{
    if (!region->sizes[kind])
        region->sizes[kind] = calloc(PSNAP_ACCESS_SIZE_MAX, sizeof *region->sizes[kind]);
    return region->sizes[kind] != NULL;
}

static void release_counts(struct region *region)
{
    for (unsigned bin = 0; bin < PUBLISHED_ROWS; bin++)
        free(region->rows[bin]);
    for (unsigned kind = 0; kind < 3; kind++)
        free(region->sizes[kind]);
}

void region_retire(struct loop *loop, struct region *region)
{
    release_counts(region);
    *region =
        (struct region){.low = UINT64_MAX, .next_free = loop->free}; /* high 0: holds nothing */
    loop->free = region;
}

void loop_free(struct loop *loop)
{
    if (!loop)
        return;
    for (uint32_t i = 0; i < loop->count; i++) {
        release_counts(loop->order[i]);
        free(loop->order[i]);
    }
    for (struct region *region = loop->free, *next; region; region = next) {
        next = region->next_free;
        free(region);
    }
    free(loop->order);
    free(loop->pattern);
    free(loop);
}

/* ------------------------------------------------------------- the pattern */

/* A full pattern is kept as what it repeats: loops of one path have little. */
static void fold_pattern(struct loop *loop)
{
    struct region **pattern = loop->pattern;
    uint32_t period = 1;

    while (memcmp(pattern, pattern + period, (PUBLISHED_PATTERN - period) * sizeof *pattern) != 0)
        period++;
    if (psnap_resize(&loop->pattern, period, sizeof *pattern))
        loop->pattern_kept = period;
}

bool loop_add_to_pattern(struct loop *loop, struct region *region)
{
    if (loop->pattern_count == loop->pattern_room) {
        loop->pattern_room = loop->pattern_room ? 2 * loop->pattern_room : PATTERN_FIRST;
        if (!psnap_resize(&loop->pattern, loop->pattern_room, sizeof *loop->pattern))
            return false;
    }
    loop->pattern[loop->pattern_count++] = region;
    loop->pattern_kept = loop->pattern_count;
    if (loop->pattern_count == PUBLISHED_PATTERN)
        fold_pattern(loop);
    return true;
}

/* ------------------------------------------------------------- reaches */

/* The number of reaches that begin at or below the address. */
static uint32_t count_at_or_below(const struct loop *loop, uint64_t address)
{
    uint32_t low = 0, high = loop->count;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (loop->order[middle]->reach_low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct region *region_find(const struct loop *loop, uint64_t address)
{
    const uint32_t below = count_at_or_below(loop, address);
    struct region *region = below ? loop->order[below - 1] : NULL;

    /* reach_bytes of all addresses would be one more than counts */
    return region && (address - region->reach_low < region->reach_bytes ||
                      region->reach_bytes == UINT64_MAX)
               ? region
               : NULL;
}

/* Of the addresses between two neighbours, the last that is not closer to the upper one. */
static uint64_t middle_of(const struct region *lower, const struct region *upper)
{
    return lower->high + (upper->low - lower->high) / 2;
}

static void set_reach(const struct loop *loop, uint32_t position)
{
    struct region *region = loop->order[position];
    const uint64_t gap = loop->gap, above = UINT64_MAX - region->high;
    uint64_t low = region->low - (gap < region->low ? gap : region->low);
    uint64_t last = region->high + (gap < above ? gap : above);

    region->free_high = UINT64_MAX - gap;
    if (position > 0) {
        const uint64_t border = middle_of(loop->order[position - 1], region) + 1;
        low = low < border ? border : low;
    }
    if (position + 1 < loop->count) {
        const struct region *next = loop->order[position + 1];
        const uint64_t border = middle_of(region, next);
        last = last > border ? border : last;
        region->free_high = next->low < 2 * gap + 2 ? 0 : next->low - 2 * gap - 2;
    }
    region->reach_low = low;
    region->reach_bytes = last - low + 1 ? last - low + 1 : UINT64_MAX;
}

static void set_reaches_around(const struct loop *loop, uint32_t position)
{
    set_reach(loop, position);
    if (position > 0)
        set_reach(loop, position - 1);
    if (position + 1 < loop->count)
        set_reach(loop, position + 1);
}

void region_widen(struct loop *loop, struct region *region, uint64_t address, uint64_t last_byte)
{
    const bool is_inside = address >= region->low && address <= region->high;

    region->low = address < region->low ? address : region->low;
    region->high = address > region->high ? address : region->high;
    region->last_byte = last_byte > region->last_byte ? last_byte : region->last_byte;
    if (!is_inside)
        set_reaches_around(loop, region->position);
}

void loop_reorder(struct loop *loop)
{
    for (uint32_t i = 0; i < loop->count; i++)
        loop->order[i]->position = i;
    for (uint32_t i = 0; i < loop->count; i++)
        set_reach(loop, i);
}

struct region *region_stretch(struct loop *loop, uint64_t address)
{
    const uint32_t below = count_at_or_below(loop, address);
    struct region *lower = below ? loop->order[below - 1] : NULL;
    struct region *upper = below < loop->count ? loop->order[below] : NULL;
    struct region *region = lower ? lower : upper;

    if (lower && upper && address > lower->high && upper->low - address < address - lower->high)
        region = upper;
    region_widen(loop, region, address, address);
    return region;
}

/* A region that is all zero but for the first row, which strides need. */
static struct region *take_region(struct loop *loop)
{
    struct region *region = loop->free ? loop->free : calloc(1, sizeof *region);

    if (!region)
        return NULL;
    if (region == loop->free)
        loop->free = region->next_free;
    *region = (struct region){0};
    if (region_make_row(region, PUBLISHED_FIRST_STRIDE))
        return region;
    region_retire(loop, region);
    return NULL;
}

struct region *region_open(struct loop *loop, const struct psnap_access *access)
{
    const struct psnap_ref *ref = &loop->program->refs[access->ref];
    const uint32_t position = count_at_or_below(loop, access->address);
    struct region *region;

    if (loop->count == loop->room) {
        const uint32_t room = loop->room ? 2 * loop->room : ROOM_FIRST;
        if (!psnap_resize(&loop->order, room, sizeof *loop->order))
            return NULL;
        loop->room = room;
    }
    region = take_region(loop);
    if (!region)
        return NULL;
    region->low = region->high = access->address;
    region->last_byte = access->address + access->size - 1;
    region->serial = loop->opened++;
    region->object = ref->object;
    region->object_kind = ref->object_kind;
    region->is_named = ref->object != NULL;
    memmove(&loop->order[position + 1], &loop->order[position],
            (loop->count - position) * sizeof *loop->order);
    loop->order[position] = region;
    loop->count++;
    for (uint32_t i = position; i < loop->count; i++)
        loop->order[i]->position = i;
    set_reaches_around(loop, position);
    return region;
}

/* ------------------------------------------------------------- metrics */

uint64_t region_accesses(const struct region *region)
{
    uint64_t sum = 0;

    for (unsigned kind = 0; kind < 3; kind++)
        for (unsigned i = 0; region->sizes[kind] && i < PSNAP_ACCESS_SIZE_MAX; i++)
            sum += region->sizes[kind][i];
    return sum;
}

static bool export_sizes(const struct region *region, struct psnap_arena *arena,
                         struct psnap_profile_region *out)
{
    uint64_t counts[PSNAP_ACCESS_SIZE_MAX] = {0};
    unsigned sizes = 0;

    for (unsigned kind = 0; kind < 3; kind++)
        for (unsigned i = 0; region->sizes[kind] && i < PSNAP_ACCESS_SIZE_MAX; i++) {
            sizes += region->sizes[kind][i] && !counts[i];
            counts[i] += region->sizes[kind][i];
            out->kinds[kind] += region->sizes[kind][i];
        }
    out->accesses = out->kinds[0] + out->kinds[1] + out->kinds[2];
    out->sizes = psnap_arena_alloc(arena, sizes * sizeof *out->sizes);
    for (unsigned i = 0; out->sizes && i < PSNAP_ACCESS_SIZE_MAX; i++)
        if (counts[i])
            out->sizes[out->size_count++] = (struct psnap_size_count){counts[i], (uint8_t)(i + 1)};
    return out->sizes != NULL;
}

static bool export_strides(const struct region *region, struct psnap_arena *arena,
                           struct psnap_profile_region *out)
{
    size_t strides = 0, edges = 0;

    for (unsigned from = 0; from < PUBLISHED_ROWS; from++) {
        strides += region->rows[from] != NULL; /* each bin of a stride has a row */
        for (unsigned to = 0; region->rows[from] && to < PSNAP_STRIDE_BINS; to++)
            edges += region->rows[from][to] != 0;
    }
    out->strides = psnap_arena_alloc(arena, strides * sizeof *out->strides);
    out->edges = psnap_arena_alloc(arena, (edges + 1) * sizeof *out->edges);
    if (!out->strides || !out->edges)
        return false;
    for (unsigned bin = 0; bin < PSNAP_STRIDE_BINS; bin++) {
        uint64_t count = 0;
        for (unsigned from = 0; from < PUBLISHED_ROWS; from++)
            count += region->rows[from] ? region->rows[from][bin] : 0;
        if (count)
            out->strides[out->stride_count++] = (struct psnap_stride_count){count, (uint8_t)bin};
        for (unsigned to = 0; region->rows[bin] && to < PSNAP_STRIDE_BINS; to++)
            if (region->rows[bin][to])
                out->edges[out->edge_count++] =
                    (struct psnap_stride_edge){region->rows[bin][to], (uint8_t)bin, (uint8_t)to};
    }
    return true;
}

enum psnap_status region_export(const struct region *region, struct psnap_arena *arena,
                                struct psnap_profile_region *out)
{
    *out = (struct psnap_profile_region){.low = region->low,
                                         .bytes = region->last_byte - region->low + 1};
    if (!out->bytes) /* all of the address space: one byte more than counts */
        out->bytes = UINT64_MAX;
    return export_sizes(region, arena, out) && export_strides(region, arena, out)
               ? PSNAP_OK
               : PSNAP_ERROR_MEMORY;
}

void region_name(struct loop *loop, struct region *region)
{
    const struct psnap_object *object;

    if (region->is_named)
        return;
    region->is_named = true;
    loop->naming_steps += loop->program->object_count;
    if (loop->naming_steps > NAMING_STEPS_MAX)
        return;
    object = psnap_program_find_object(loop->program, region->low);
    if (object) {
        region->object = object->name;
        region->object_kind = object->kind;
    }
}
