/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Regions of one loop, ordered by address: finding by binary search over the
 * low ends of their reaches, opening, growing, and their metrics in the form
 * that profiles have.
 *
 * The rule (PSnAP): an access joins the closest region whose address range it
 * is within `gap` bytes of, else it opens a new one. Distance is that of
 * addresses; inside a range it is 0. It follows that ranges never overlap: an
 * address beyond a neighbour would be closer to the neighbour.
 */
#include "profile/build/builder.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

/* Steps through the program's objects that naming a loop's regions may cost. */
#define NAMING_STEPS_MAX (UINT64_C(1) << 26)

enum { PATTERN_FIRST = 16 }; /* accesses that a pattern has room for to begin with */

struct build_loop *build_loop_new(uint32_t index, uint64_t gap, uint32_t limit)
{
    struct build_loop *loop = calloc(1, sizeof *loop);

    if (!loop)
        return NULL;
    loop->bytes = sizeof *loop;
    loop->refs = PSNAP_NONE;
    loop->index = loop->source = loop->unit = index;
    loop->gap = gap;
    loop->limit = limit;
    loop->restless_at = loop->restless_after = BUILD_RESTLESS_FIRST;
    if (build_loop_reserve(loop, limit < BUILD_ROOM_FIRST ? limit : BUILD_ROOM_FIRST))
        return loop;
    build_loop_free(loop);
    return NULL;
}

bool build_loop_reserve(struct build_loop *loop, uint32_t room)
{
    if (room <= loop->room)
        return true;
    if (!psnap_resize(&loop->order, room, sizeof *loop->order) ||
        !psnap_resize(&loop->reach_lows, room, sizeof *loop->reach_lows) ||
        !psnap_resize(&loop->slots, room, sizeof *loop->slots) ||
        !psnap_resize(&loop->free_slots, room, sizeof *loop->free_slots))
        return false;
    build_loop_charge(loop,
                      (room - loop->room) * (sizeof *loop->order + sizeof *loop->reach_lows +
                                             sizeof *loop->slots + sizeof *loop->free_slots),
                      0);
    loop->room = room;
    return true;
}

void build_region_free(struct build_region *region)
{
    if (!region)
        return;
    build_counts_release(region);
    free(region);
}

void build_loop_free(struct build_loop *loop)
{
    if (!loop)
        return;
    for (uint32_t i = 0; i < loop->slot_count; i++)
        build_region_free(loop->slots[i]);
    free(loop->order);
    free(loop->reach_lows);
    free(loop->slots);
    free(loop->free_slots);
    free(loop->pattern);
    free(loop);
}

/* A full pattern is kept as what it repeats: what a loop of one path does. */
static void fold_pattern(struct build_loop *loop)
{
    const uint16_t *pattern = loop->pattern;
    uint32_t period = 1;
    uint16_t *shorter;

    while (memcmp(pattern, pattern + period, (BUILD_PATTERN - period) * sizeof *pattern) != 0)
        period++;
    shorter = realloc(loop->pattern, period * sizeof *pattern);
    if (!shorter)
        return;
    build_loop_charge(loop, 0, (loop->pattern_room - period) * sizeof *pattern);
    loop->pattern = shorter;
    loop->pattern_kept = loop->pattern_room = period;
}

bool build_loop_note(struct build_loop *loop, uint16_t slot)
{
    if (loop->pattern_count == loop->pattern_room) {
        const uint32_t room = loop->pattern_room ? 2 * loop->pattern_room : PATTERN_FIRST;
        if (!psnap_resize(&loop->pattern, room, sizeof *loop->pattern))
            return false;
        build_loop_charge(loop, (room - loop->pattern_room) * sizeof *loop->pattern, 0);
        loop->pattern_room = room;
    }
    loop->pattern[loop->pattern_count++] = slot;
    loop->pattern_kept = loop->pattern_count;
    if (loop->pattern_count == BUILD_PATTERN)
        fold_pattern(loop);
    return true;
}

/* The number of reaches that begin at or below the address. */
static uint32_t count_at_or_below(const struct build_loop *loop, uint64_t address)
{
    const uint64_t *lows = loop->reach_lows, *base = lows;
    uint32_t n = loop->count;

    if (!n)
        return 0;
    while (n > 1) {
        uint32_t half = n / 2;
        base += base[half] <= address ? half : 0; /* a conditional move, not a branch */
        n -= half;
    }
    return (uint32_t)(base - lows) + (*base <= address);
}

struct build_region *build_region_find(const struct build_loop *loop, uint64_t address)
{
    uint32_t below = count_at_or_below(loop, address);
    struct build_region *region;

    if (!below)
        return NULL;
    region = loop->order[below - 1];
    if (region->reach_bytes == UINT64_MAX) /* all addresses, one more than counts */
        return region;
    return address - region->reach_low < region->reach_bytes ? region : NULL;
}

/* Of the addresses between two neighbours, the last that is not closer to the upper one. */
static uint64_t middle(const struct build_region *lower, const struct build_region *upper)
{
    return lower->high + (upper->low - lower->high) / 2;
}

static void set_reach(struct build_loop *loop, uint32_t position)
{
    struct build_region *region = loop->order[position];
    uint64_t gap = loop->gap;
    uint64_t low = region->low - (gap < region->low ? gap : region->low);
    uint64_t above = UINT64_MAX - region->high;
    uint64_t last = region->high + (gap < above ? gap : above);

    region->free_high = UINT64_MAX - gap;
    if (position > 0) {
        uint64_t border = middle(loop->order[position - 1], region) + 1;
        if (low < border)
            low = border;
    }
    if (position + 1 < loop->count) {
        const struct build_region *next = loop->order[position + 1];
        uint64_t border = middle(region, next);
        if (last > border)
            last = border;
        region->free_high = next->low < 2 * gap + 2 ? 0 : next->low - 2 * gap - 2;
    }
    region->reach_low = low;
    region->reach_bytes = last - low + 1 ? last - low + 1 : UINT64_MAX;
    loop->reach_lows[position] = low;
}

static void set_reaches_around(struct build_loop *loop, uint32_t position)
{
    set_reach(loop, position);
    if (position > 0)
        set_reach(loop, position - 1);
    if (position + 1 < loop->count)
        set_reach(loop, position + 1);
}

void build_region_extend(struct build_loop *loop, struct build_region *region, uint64_t address)
{
    if (address < region->low)
        region->low = address;
    if (address > region->high)
        region->high = address;
    set_reaches_around(loop, region->position);
}

void build_loop_reorder(struct build_loop *loop)
{
    for (uint32_t i = 0; i < loop->count; i++)
        loop->order[i]->position = i;
    for (uint32_t i = 0; i < loop->count; i++)
        set_reach(loop, i);
}

struct build_region *build_region_stretch(struct build_loop *loop, uint64_t address)
{
    uint32_t below = count_at_or_below(loop, address);
    struct build_region *lower = below ? loop->order[below - 1] : NULL;
    struct build_region *upper = below < loop->count ? loop->order[below] : NULL;
    struct build_region *region = lower ? lower : upper;

    if (lower && upper && address > lower->high && upper->low - address < address - lower->high)
        region = upper;
    build_region_extend(loop, region, address);
    return region;
}

/* A new slot with a region that is all zero but for its number; NULL: out of memory. */
static struct build_region *new_slot(struct build_loop *loop)
{
    struct build_region *region;

    if (loop->slot_count == loop->room && !build_loop_reserve(loop, 2 * loop->room))
        return NULL;
    region = calloc(1, sizeof *region);
    if (!region)
        return NULL;
    region->slot = (uint16_t)loop->slot_count;
    loop->slots[loop->slot_count++] = region;
    build_loop_charge(loop, sizeof *region, 0);
    return region;
}

/* A region that has nothing yet. Plans of runs still know where the one whose slot it has had their
 * shapes: the tables do not shrink. */
static struct build_region *take_slot(struct build_loop *loop)
{
    struct build_region *region, old;

    if (!loop->free_count) {
        region = new_slot(loop);
    } else {
        region = loop->slots[loop->free_slots[--loop->free_count]];
        old = *region;
        *region = (struct build_region){.slot = old.slot,
                                        .edges = old.edges,
                                        .room = old.room,
                                        .shapes = old.shapes,
                                        .shape_room = old.shape_room};
    }
    return region && build_counts_init(loop, region) ? region : NULL;
}

struct build_region *build_region_open(struct build_loop *loop, uint64_t address, unsigned size)
{
    uint32_t position = count_at_or_below(loop, address);
    uint32_t above = loop->count - position;
    struct build_region *region = take_slot(loop);

    if (!region)
        return NULL;
    region->low = region->high = region->previous = address;
    region->last_byte = address + size - 1;
    region->row = BUILD_OPENED;
    region->serial = loop->opened++;
    memmove(&loop->order[position + 1], &loop->order[position], above * sizeof *loop->order);
    memmove(&loop->reach_lows[position + 1], &loop->reach_lows[position],
            above * sizeof *loop->reach_lows);
    loop->order[position] = region;
    loop->count++;
    for (uint32_t i = position; i < loop->count; i++)
        loop->order[i]->position = i;
    set_reaches_around(loop, position);
    return region;
}

static bool export_sizes(const struct build_region *region, struct psnap_arena *arena,
                         struct psnap_profile_region *out)
{
    uint64_t counts[PSNAP_ACCESS_SIZE_MAX + 1] = {0};
    unsigned sizes = 0;

    for (unsigned i = 0; i < region->shape_room; i++) {
        const struct build_shape *shape = &region->shapes[i];
        if (shape->key == BUILD_NO_SHAPE)
            continue;
        out->kinds[shape->key >> 8] += shape->count;
        counts[shape->key & 0xff] += shape->count;
        out->accesses += shape->count;
    }
    for (unsigned size = 1; size <= PSNAP_ACCESS_SIZE_MAX; size++)
        sizes += counts[size] != 0;
    out->sizes = psnap_arena_alloc(arena, sizes * sizeof *out->sizes);
    if (!out->sizes)
        return false;
    for (unsigned size = 1; size <= PSNAP_ACCESS_SIZE_MAX; size++)
        if (counts[size])
            out->sizes[out->size_count++] = (struct psnap_size_count){counts[size], (uint8_t)size};
    return true;
}

/* The bins that have steps, in order; returns their number. */
static unsigned list_bins(const struct build_region *region, uint8_t *bins)
{
    unsigned count = 0;

    for (unsigned bin = 0; bin < PSNAP_STRIDE_BINS; bin++)
        if (region->steps[bin] != BUILD_NO_STEP)
            bins[count++] = (uint8_t)bin;
    return count;
}

static bool export_strides(const struct build_region *region, struct psnap_arena *arena,
                           struct psnap_profile_region *out)
{
    struct psnap_stride_edge edges[PSNAP_STRIDE_BINS * PSNAP_STRIDE_BINS];
    struct psnap_stride_count strides[PSNAP_STRIDE_BINS];
    uint8_t bins[PSNAP_STRIDE_BINS];
    const unsigned count = list_bins(region, bins);

    for (unsigned i = 0; i < count; i++) {
        const unsigned mine = region->steps[bins[i]];
        uint64_t sum = *build_edge(region, 0, mine); /* of the first stride */
        for (unsigned k = 0; k < count; k++) {
            const unsigned other = region->steps[bins[k]];
            const uint64_t edge = *build_edge(region, build_row(mine), other);
            sum += *build_edge(region, build_row(other), mine);
            if (edge)
                edges[out->edge_count++] = (struct psnap_stride_edge){edge, bins[i], bins[k]};
        }
        if (sum)
            strides[out->stride_count++] = (struct psnap_stride_count){sum, bins[i]};
    }
    out->strides = psnap_arena_alloc(arena, out->stride_count * sizeof *strides);
    out->edges = psnap_arena_alloc(arena, out->edge_count * sizeof *edges);
    if (!out->strides || !out->edges)
        return false;
    memcpy(out->strides, strides, out->stride_count * sizeof *strides);
    memcpy(out->edges, edges, out->edge_count * sizeof *edges);
    return true;
}

enum psnap_status build_region_export(const struct build_region *region, struct psnap_arena *arena,
                                      struct psnap_profile_region *out)
{
    memset(out, 0, sizeof *out);
    out->low = region->low;
    out->bytes = region->last_byte - region->low + 1;
    if (!out->bytes) /* all of the address space: one byte more than counts */
        out->bytes = UINT64_MAX;
    return export_sizes(region, arena, out) && export_strides(region, arena, out)
               ? PSNAP_OK
               : PSNAP_ERROR_MEMORY;
}

/* The object that an address is in, or NULL: also when looking for objects has taken too long. */
static const struct psnap_object *find_object(struct build_loop *loop,
                                              const struct psnap_program *program, uint64_t address)
{
    loop->naming_steps += program->object_count;
    return loop->naming_steps > NAMING_STEPS_MAX ? NULL
                                                 : psnap_program_find_object(program, address);
}

void build_region_name(struct build_loop *loop, struct build_region *region,
                       const struct psnap_program *program)
{
    const struct psnap_object *object;

    if (region->named)
        return;
    region->named = true;
    object = find_object(loop, program, region->low);
    if (object) {
        region->object = object->name;
        region->object_kind = object->kind;
    }
}
