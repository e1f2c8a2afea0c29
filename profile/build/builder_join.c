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
#include "profile/build/builder.h"

#include <stdlib.h>
#include <string.h>

static bool belongs(const struct build_loop *loop, const struct build_region *group,
                    const struct build_region *next)
{
    if (next->low <= group->high)
        return true;
    return next->low - group->high <= loop->gap && build_region_same_place(group, next);
}

/* The bin of the first stride, or BUILD_START when there is none. */
static unsigned first_bin(const struct build_region *region)
{
    unsigned bin = 0;

    while (bin < BUILD_START && !build_edge_count(region, BUILD_START, bin))
        bin++;
    return bin;
}

/* Adds the edges of a region's strides; those of its first one when `with_first`. */
static void add_edges(struct build_loop *loop, struct build_region *into,
                      const struct build_region *from, bool with_first)
{
    for (unsigned bin = 0; bin < PSNAP_STRIDE_BINS; bin++)
        for (unsigned before = 0; before < (with_first ? BUILD_ROWS : PSNAP_STRIDE_BINS);
             before++) {
            const uint64_t count = build_edge_count(from, before, bin);
            if (count)
                build_edge_add(loop, into, before, bin, count);
        }
}

/* The stride to a walk that begins with bin `first`. */
static void enter(struct build_loop *loop, struct build_region *into, unsigned first)
{
    if (first != BUILD_START)
        build_edge_add(loop, into, PSNAP_STRIDE_ZERO, first, 1);
}

/* Joins the walks: see the top. */
static void join_walks(struct build_loop *loop, struct build_region *into,
                       const struct build_region *from)
{
    const bool goes_first = from->first_thread < into->first_thread;
    const bool goes_last = from->last_thread >= into->last_thread;
    const unsigned mine = first_bin(into), other = first_bin(from);
    const unsigned inner_first = goes_first ? mine : other;
    unsigned my_last = build_previous_bin(into), other_last = build_previous_bin(from);

    if (goes_first)
        memset(into->edges, 0, into->room * sizeof *into->edges);
    add_edges(loop, into, from, goes_first);
    if (goes_first == goes_last) { /* one is in the middle of the other's walks */
        const unsigned inner_last = goes_first ? my_last : other_last;
        build_edge_add(loop, into, inner_first == BUILD_START ? PSNAP_STRIDE_ZERO : inner_last,
                       PSNAP_STRIDE_ZERO, 1);
    } else
        build_edge_add(loop, into, goes_first ? other_last : my_last, PSNAP_STRIDE_ZERO, 1);
    enter(loop, into, inner_first);
    if (goes_last)
        my_last = other_last;
    build_previous_set(loop, into, my_last == BUILD_START ? PSNAP_STRIDE_ZERO : my_last);
}

void build_region_add(struct build_loop *loop, struct build_region *into,
                      const struct build_region *from)
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
    for (unsigned s = 0; s < from->shape_room; s++)
        if (from->shapes[s].key != BUILD_NO_SHAPE) {
            const unsigned place = build_shape_place(loop, into, from->shapes[s].key);
            into->shapes[place].count += from->shapes[s].count;
        }
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
        build_loop_charge(out, sizeof *region + build_counts_bytes(region), 0);
        out->order[out->count++] = region;
    }
}

/* The lower thread's pattern, and its regions as positions. */
static void take_pattern(struct build_loop *out, struct build_loop *from, uint32_t *positions)
{
    for (uint32_t i = 0; i < from->pattern_kept; i++)
        positions[i] = from->slots[from->pattern[i]]->position;
    out->pattern = from->pattern;
    out->pattern_count = from->pattern_count;
    out->pattern_kept = from->pattern_kept;
    out->pattern_room = from->pattern_room;
    build_loop_charge(out, out->pattern_room * sizeof *out->pattern, 0);
    from->pattern = NULL;
}

/* Makes groups one region each; group[i] is the place of what was at i. False: out of memory. */
static bool join_groups(struct build_loop *out, uint32_t *group)
{
    uint32_t kept = 0;
    bool is_short = false;

    for (uint32_t i = 0; i < out->count; i++) {
        struct build_region *region = out->order[i];
        if (kept && belongs(out, out->order[kept - 1], region)) {
            join_walks(out, out->order[kept - 1], region);
            build_region_add(out, out->order[kept - 1], region);
            is_short |= out->order[kept - 1]->is_short;
            build_loop_charge(out, 0, sizeof *region + build_counts_bytes(region));
            build_region_free(region);
        } else {
            region->slot = (uint16_t)kept;
            out->slots[kept] = region;
            out->order[kept++] = region;
        }
        group[i] = kept - 1;
    }
    out->count = out->slot_count = kept;
    build_loop_reorder(out);
    return !is_short;
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
    struct build_loop *lower = a->thread <= b->thread ? a : b;
    struct build_loop *out = build_loop_new(a->index, a->gap, limit);
    uint32_t *group = malloc((room + lower->pattern_kept) * sizeof *group);
    bool is_done = false;

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
    take_regions(out, a, b);
    take_pattern(out, lower, group + room);
    drop_shell(a);
    drop_shell(b);
    is_done = join_groups(out, group);
    for (uint32_t i = 0; i < out->pattern_kept; i++)
        out->pattern[i] = (uint16_t)group[group[room + i]];
    free(group);
    if (is_done && (out->count <= limit || !build_loop_merge(out, program, BUILD_MERGE_FULL)))
        return out;
    build_loop_free(out);
    return NULL;
}
