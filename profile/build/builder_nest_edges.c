/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Edges of the graphs of strides that a nest adds to its regions, in closed form.
 *
 * Within a region each stride is the difference of two addresses that are both linear in the
 * iterations of the loops around them, so over a box of iterations its least and its largest value
 * are those at two corners. Where these are equal, or both random on the same side, all strides of
 * the box have one bin, and an edge of the graph is counted as often as the box has iterations. A
 * loop is gone through like this: its first iteration with the loops around it where they are; then
 * all others at once, as a box, for which each region must be left by the bin by which it was
 * entered. Where a stride leaves its bin the box is halved, and what does not come out in any
 * box is put iteration by iteration. Edges go to a list first: all or none are counted.
 */
#include <string.h>

#include "profile/build/builder_nest.h"

/* The bin of all strides of the box, from the place to `address` at its first corner; false: there
 * are several. */
static bool find_bin(struct build_nest *put, const struct build_place *place, uint64_t address,
                     const int64_t *strides, unsigned depth, unsigned *bin)
{
    const int64_t *others = place->last == PSNAP_NONE ? NULL : build_nest_strides(put, place->last);
    const uint64_t first = address - place->address;
    int64_t low = (int64_t)first, high = low;
    uint32_t varies = 0;

    for (unsigned l = 0; l <= depth; l++) {
        int64_t by = 0, way = 0;
        if (put->size[l] == 1)
            continue;
        by = (int64_t)((uint64_t)strides[l] - (others ? (uint64_t)others[l] : 0));
        if (!by)
            continue;
        varies |= 1u << l;
        if (__builtin_mul_overflow(by, (int64_t)(put->size[l] - 1), &way) ||
            __builtin_add_overflow(by < 0 ? low : high, way, by < 0 ? &low : &high)) {
            put->failed = varies;
            return false;
        }
    }
    *bin = put->b->bins[BUILD_BINS_SPAN];
    if (low > PSNAP_STRIDE_MAX || high < -PSNAP_STRIDE_MAX)
        return true;
    *bin = put->b->bins[first + PSNAP_STRIDE_MAX < BUILD_BINS_SPAN ? first + PSNAP_STRIDE_MAX
                                                                   : BUILD_BINS_SPAN];
    put->failed = varies;
    return low == high;
}

/* An access of a run at `depth`, in all iterations of the box, of which there are `times`. */
static bool pass_access(struct build_nest *put, uint32_t a, unsigned depth, uint64_t times)
{
    const int64_t *strides = build_nest_strides(put, a);
    struct build_place *place = &put->places[put->place_of[a]];
    uint64_t address = put->nest->first[a].address;
    unsigned bin;

    for (unsigned l = 0; l <= depth; l++)
        address += put->from[l] * (uint64_t)strides[l];
    put->failed = 0;
    if (!put->steps-- || put->edge_count == BUILD_EDGES_MAX) {
        put->steps = 0;
        return false;
    }
    if (!find_bin(put, place, address, strides, depth, &bin))
        return false;
    put->edges[put->edge_count++] =
        (struct build_edge_count){times, put->place_of[a], place->bin, (uint8_t)bin};
    place->address = address;
    place->last = a;
    place->bin = (uint8_t)bin;
    return true;
}

/* What is in a loop, once for each iteration of the box. */
static bool pass_body(struct build_nest *put, uint32_t at, unsigned depth, uint64_t times)
{
    const struct psnap_nest_loop *loop = &put->nest->loops[at];

    if (!loop->inside) {
        for (uint32_t a = loop->begin; a < (uint32_t)loop->begin + loop->width; a++)
            if (!pass_access(put, a, depth, times))
                return false;
        return true;
    }
    for (uint32_t i = at + 1; i <= at + loop->inside; i += 1 + put->nest->loops[i].inside)
        if (!build_nest_pass(put, i, depth + 1, 0, build_nest_count(put, i, depth + 1), times))
            return false;
    return true;
}

/* Whether the place was touched in the loop, whose last iteration is over. */
static bool is_touched(const struct build_place *place, const struct psnap_nest_loop *loop)
{
    return place->last != PSNAP_NONE && place->last - loop->begin < loop->width;
}

/* Whether the regions that the loop touches were left by the bins that they were entered by. */
static bool is_periodic(const struct build_nest *put, const struct psnap_nest_loop *loop,
                        const struct build_place *before)
{
    for (uint32_t i = 0; i < put->place_count; i++)
        if (is_touched(&put->places[i], loop) && put->places[i].bin != before[i].bin)
            return false;
    return true;
}

/* Iterations [from, from + size) at once; as it was before when false. */
static bool pass_box(struct build_nest *put, uint32_t at, unsigned depth, uint64_t from,
                     uint64_t size, uint64_t times, bool *is_uneven)
{
    const struct psnap_nest_loop *loop = &put->nest->loops[at];
    const uint32_t edge_count = put->edge_count;
    struct build_place before[BUILD_PLACES_MAX];

    memcpy(before, put->places, put->place_count * sizeof *before);
    put->from[depth] = from;
    put->size[depth] = size;
    *is_uneven = false;
    if (pass_body(put, at, depth, times * size)) {
        if (size == 1)
            return true;
        *is_uneven = !is_periodic(put, loop, before);
        for (uint32_t i = 0; i < put->place_count && !*is_uneven; i++)
            if (is_touched(&put->places[i], loop))
                put->places[i].address +=
                    (size - 1) * (uint64_t)build_nest_strides(put, put->places[i].last)[depth];
        if (!*is_uneven)
            return true;
    }
    put->edge_count = edge_count;
    memcpy(put->places, before, put->place_count * sizeof *before);
    return false;
}

/* The first iteration, then the others in boxes. */
bool build_nest_pass(struct build_nest *put, uint32_t at, unsigned depth, uint64_t from,
                     uint64_t end, uint64_t times)
{
    bool is_uneven;

    if (!pass_box(put, at, depth, from, 1, times, &is_uneven))
        return false;
    for (from++; from < end;) {
        uint64_t size = end - from;
        while (!pass_box(put, at, depth, from, size, times, &is_uneven)) {
            if (size == 1 || !put->steps || (!is_uneven && !(put->failed >> depth & 1)))
                return false; /* because of the loops around it */
            size = is_uneven ? 1 : (size + 1) / 2;
        }
        from += size;
    }
    put->size[depth] = 1;
    return true;
}

bool build_nest_commit(struct build_nest *put)
{
    bool is_short = false;

    for (uint32_t i = 0; i < put->edge_count; i++) {
        const struct build_edge_count *edge = &put->edges[i];
        const struct build_place *place = &put->places[edge->place];
        build_edge_add(place->loop, place->region, edge->from, edge->to, edge->times);
    }
    for (uint32_t i = 0; i < put->place_count; i++) {
        const struct build_place *place = &put->places[i];
        place->region->previous = place->address;
        build_previous_set(place->loop, place->region, place->bin);
        is_short |= place->region->is_short;
    }
    return !is_short;
}
