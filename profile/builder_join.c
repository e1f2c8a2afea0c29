/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One loop of several threads. Each thread's accesses have made regions of
 * their own (builder_threads.c); here they become the loop's regions.
 *
 * What overlaps is one region, and what is within the gap of each other in one
 * object and mapping. The walks of the threads in it follow each other, from
 * the lowest thread to the highest, and each goes on where the one before has
 * ended: a stride of 0 leads from one to the next. So a region's histogram and
 * graph are the sums over the threads and one stride per thread more, whichever
 * thread is joined first:
 *
 *   edges = sum of edges_t + (last_t, 0) of all but the highest thread
 *                          + (0, first_t) of all but the lowest
 *
 * The pattern is that of the lowest thread. With more regions than the limit
 * rare ones are merged as in any loop; there the order of joining matters.
 */
#include "profile/builder.h"

#include <stdlib.h>
#include <string.h>

static bool belongs(const struct build_loop *loop, const struct build_region *group,
                    const struct build_region *next)
{
    if (next->low <= group->high)
        return true;
    return next->low - group->high <= loop->gap && build_region_same_place(group, next);
}

/* The bin of the first stride, or BUILD_ROW_START when there is none. */
static uint32_t first_bin(const struct build_region *region)
{
    for (uint32_t bin = 0; bin < PSNAP_STRIDE_BINS; bin++)
        if (region->edges[BUILD_ROW_START][bin])
            return bin;
    return BUILD_ROW_START;
}

/* The stride to a walk that begins with bin `first`. */
static void enter(struct build_region *into, uint32_t first)
{
    if (first != BUILD_ROW_START)
        into->edges[PSNAP_STRIDE_ZERO][first]++;
}

/* Joins the walks: see the top. */
static void join_walks(struct build_region *into, const struct build_region *from)
{
    const bool goes_first = from->first_thread < into->first_thread;
    const bool goes_last = from->last_thread >= into->last_thread;
    const uint32_t mine = first_bin(into), other = first_bin(from);
    const struct build_region *inner = goes_first ? into : from;
    const uint32_t inner_first = goes_first ? mine : other;

    for (unsigned row = 0; row < PSNAP_STRIDE_BINS; row++)
        for (unsigned bin = 0; bin < PSNAP_STRIDE_BINS; bin++)
            into->edges[row][bin] += from->edges[row][bin];
    if (goes_first)
        memcpy(into->edges[BUILD_ROW_START], from->edges[BUILD_ROW_START],
               sizeof into->edges[BUILD_ROW_START]);
    if (goes_first == goes_last) { /* one is in the middle of the other's walks */
        into->edges[inner_first == BUILD_ROW_START ? PSNAP_STRIDE_ZERO : inner->row]
                   [PSNAP_STRIDE_ZERO]++;
        enter(into, inner_first);
    } else {
        into->edges[goes_first ? from->row : into->row][PSNAP_STRIDE_ZERO]++;
        enter(into, goes_first ? mine : other);
    }
    if (goes_last)
        into->row = from->row != BUILD_ROW_START ? from->row : (uint32_t)PSNAP_STRIDE_ZERO;
    else if (into->row == BUILD_ROW_START)
        into->row = PSNAP_STRIDE_ZERO;
}

void build_region_add(struct build_region *into, const struct build_region *from)
{
    if (from->first_thread < into->first_thread ||
        (from->first_thread == into->first_thread && from->serial < into->serial))
        into->serial = from->serial;
    if (from->first_thread < into->first_thread)
        into->first_thread = from->first_thread;
    if (from->last_thread > into->last_thread)
        into->last_thread = from->last_thread;
    into->low = from->low < into->low ? from->low : into->low;
    into->high = from->high > into->high ? from->high : into->high;
    if (from->last_byte > into->last_byte)
        into->last_byte = from->last_byte;
    into->visits += from->visits;
    for (unsigned s = 0; s < BUILD_SHAPES; s++)
        into->shapes[s] += from->shapes[s];
}

/* All regions of both, by address, are `out`'s now; those of equal address by thread. */
static void take_regions(struct build_loop *out, struct build_loop *a, struct build_loop *b)
{
    uint32_t i = 0, j = 0;

    while (i < a->count || j < b->count) {
        const bool is_a =
            j == b->count ||
            (i < a->count && (a->order[i]->low < b->order[j]->low ||
                              (a->order[i]->low == b->order[j]->low && a->thread < b->thread)));
        struct build_loop *from = is_a ? a : b;
        struct build_region *region = from->order[is_a ? i++ : j++];
        region->position = out->count;
        out->order[out->count++] = region;
    }
}

/* The regions of the lower thread's pattern, as positions. */
static void take_pattern(const struct build_loop *from, uint32_t *positions)
{
    for (uint32_t i = 0; i < from->pattern_count; i++)
        positions[i] = from->slots[from->pattern[i]]->position;
}

/* Makes groups one region each; group[i] is the place of what was at i. */
static void join_groups(struct build_loop *out, uint32_t *group)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < out->count; i++) {
        struct build_region *region = out->order[i];
        if (kept && belongs(out, out->order[kept - 1], region)) {
            join_walks(out->order[kept - 1], region);
            build_region_add(out->order[kept - 1], region);
            free(region);
        } else {
            region->slot = (uint16_t)kept;
            out->slots[kept] = region;
            out->order[kept++] = region;
        }
        group[i] = kept - 1;
    }
    out->count = out->slot_count = kept;
    build_loop_reorder(out);
}

/* What is left of a loop whose regions are another's. */
static void drop_shell(struct build_loop *loop)
{
    for (uint32_t i = 0; i < loop->count; i++)
        loop->slots[loop->order[i]->slot] = NULL;
    build_loop_free(loop);
}

struct build_loop *build_loop_join(struct build_loop *a, struct build_loop *b,
                                   const struct psnap_program *program, uint32_t limit)
{
    const uint32_t room = a->count + b->count;
    const struct build_loop *lower = a->thread <= b->thread ? a : b;
    struct build_loop *out = build_loop_new(a->index, a->gap, limit);
    uint32_t *group = malloc((room + BUILD_PATTERN) * sizeof *group);

    if (!out || !group || !build_loop_reserve(out, room)) {
        build_loop_free(a);
        build_loop_free(b);
        build_loop_free(out);
        free(group);
        return NULL;
    }
    for (uint32_t i = 0; i < a->count; i++)
        build_region_name(a, a->order[i], program);
    for (uint32_t i = 0; i < b->count; i++)
        build_region_name(b, b->order[i], program);
    out->limit = limit;
    out->thread = lower->thread;
    out->visits = a->visits + b->visits;
    out->naming_steps = a->naming_steps + b->naming_steps;
    out->pattern_count = lower->pattern_count;
    take_regions(out, a, b);
    take_pattern(lower, group + room);
    drop_shell(a);
    drop_shell(b);
    join_groups(out, group);
    for (uint32_t i = 0; i < out->pattern_count; i++)
        out->pattern[i] = (uint16_t)group[group[room + i]];
    free(group);
    if (out->count > limit && build_loop_merge(out, program, BUILD_MERGE_FULL)) {
        build_loop_free(out);
        return NULL;
    }
    return out;
}
