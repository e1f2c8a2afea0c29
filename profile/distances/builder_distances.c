/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model stackdist while building: the published model's builder, and beside it the LRU stack of
 * the thread's lines. Each access is put singly, for its region is then where its depth counts.
 *
 * Memory grows with the lines that are touched (lru_stack.c), and not with anything else. A thread
 * whose builder gave way to others (builder_threads.c) begins with an empty stack again.
 */
#include "profile/build/builder.h"
#include "profile/distances/distances.h"

#include <stdlib.h>
#include <string.h>

static bool has_counters(struct build_loop *loop, struct build_region *region)
{
    if (region->distances)
        return true;
    region->distances = calloc(1, sizeof *region->distances);
    if (!region->distances)
        return false;
    build_loop_charge(loop, sizeof *region->distances, 0);
    return true;
}

size_t build_distances_bytes(const struct build_region *region)
{
    return region->distances ? sizeof *region->distances : 0;
}

void build_distances_clear(struct build_region *region)
{
    if (region->distances)
        *region->distances = (struct distance_counts){0};
}

void build_distances_add(struct build_loop *loop, struct build_region *into,
                         const struct build_region *from)
{
    if (!from->distances)
        return;
    if (!has_counters(loop, into)) {
        into->is_short = true;
        return;
    }
    into->distances->new_lines += from->distances->new_lines;
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++) {
        into->distances->counts[bin] += from->distances->counts[bin];
        into->distances->depths[bin] += from->distances->depths[bin];
    }
}

enum psnap_status build_distances_export(const struct build_region *from, struct psnap_arena *arena,
                                         struct psnap_profile_region *region)
{
    const struct distance_counts *counts = from->distances;
    unsigned bins = 0;

    if (!counts)
        return PSNAP_OK;
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++)
        bins += counts->counts[bin] != 0;
    region->new_lines = counts->new_lines;
    region->distances = psnap_arena_alloc(arena, (bins + 1) * sizeof *region->distances);
    if (!region->distances)
        return PSNAP_ERROR_MEMORY;
    for (unsigned bin = 0; bin < DISTANCE_BINS; bin++)
        if (counts->counts[bin])
            region->distances[region->distance_count++] = (struct psnap_distance_count){
                counts->counts[bin], (uint32_t)(counts->depths[bin] / counts->counts[bin])};
    return PSNAP_OK;
}

/* False: out of memory. */
static bool count(struct lru_stack *stack, uint64_t line, struct distance_counts *counts)
{
    const uint32_t number = lru_stack_find(stack, line);
    uint32_t depth;

    if (number == LRU_NONE) {
        counts->new_lines++;
        return lru_stack_add(stack, line) != LRU_NONE;
    }
    depth = lru_stack_depth(stack, number);
    lru_stack_raise(stack, number);
    counts->counts[distance_bin(depth)]++;
    counts->depths[distance_bin(depth)] += depth;
    return true;
}

enum psnap_status build_put_distances(struct psnap_sink *self, const struct psnap_access *block,
                                      size_t n, struct psnap_error *error)
{
    struct builder *b = (struct builder *)self;
    enum psnap_status status = PSNAP_OK;

    for (size_t i = 0; i < n && !status; i++) {
        const uint64_t line = block[i].address >> DISTANCE_LINE_LOG2;
        struct build_region *region;
        status = build_put(self, &block[i], 1, error);
        if (status)
            break;
        region = b->refs[block[i].ref].region;
        if (!has_counters(b->current, region) || !count(b->stack, line, region->distances))
            status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    }
    return status;
}
