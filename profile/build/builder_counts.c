/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a region counts: strides that follow strides, and accesses by kind and size.
 *
 * There are 20 bins of strides and 192 shapes, but most regions have two bins and one
 * shape, and there may be tens of thousands of regions. So both tables are as large as what has
 * come: bins get ranks in the order in which they come, and the edges between them are a
 * square that grows; shapes are a list.
 *
 * Growing moves the tables, never what a place in them means. Nothing is done at once when there
 * is no memory for it: the region is marked as short of it, which ends the stream where the next
 * access or run has been put.
 */
#include "profile/build/builder.h"

#include <stdlib.h>
#include <string.h>

static size_t edges_bytes(unsigned room)
{
    return (room + 1u) * room * sizeof(uint64_t);
}

size_t build_counts_bytes(const struct build_region *region)
{
    return edges_bytes(region->room) + region->shape_room * sizeof *region->shapes;
}

void build_edges_clear(struct build_region *region)
{
    memset(region->edges, 0, edges_bytes(region->room));
    memset(region->steps, 0xff, sizeof region->steps); /* BUILD_NO_STEP */
    region->bin_count = 0;
    region->row = 0;
}

static void shapes_clear(struct build_region *region, unsigned from)
{
    for (unsigned i = from; i < region->shape_room; i++)
        region->shapes[i] = (struct build_shape){.key = BUILD_NO_SHAPE};
}

void build_counts_release(struct build_region *region)
{
    free(region->edges);
    free(region->shapes);
}

/* ------------------------------------------------------------- edges */

/* 2, 4, 8, 12, 16, 20 */
static unsigned larger_room(unsigned room)
{
    return room < 2 ? 2 : room < 4 ? 4 : room + 4;
}

static unsigned make_step(unsigned rank, unsigned room)
{
    return (rank + 1) * room << BUILD_RANK_BITS | rank;
}

static bool grow_edges(struct build_loop *loop, struct build_region *region)
{
    const unsigned old = region->room, room = larger_room(old);
    uint64_t *edges = calloc(1, edges_bytes(room));

    if (!edges)
        return false;
    for (unsigned row = 0; old && row <= old; row++)
        memcpy(&edges[row * room], &region->edges[row * old], old * sizeof *edges);
    for (unsigned bin = 0; bin < PSNAP_STRIDE_BINS; bin++)
        if (old && region->steps[bin] != BUILD_NO_STEP)
            region->steps[bin] = (uint16_t)make_step(build_rank(region->steps[bin]), room);
    if (old && region->row != BUILD_OPENED)
        region->row = (uint16_t)(region->row / old * room);
    free(region->edges);
    region->edges = edges;
    region->room = (uint8_t)room;
    build_loop_charge(loop, edges_bytes(room), edges_bytes(old));
    return true;
}

unsigned build_step_new(struct build_loop *loop, struct build_region *region, unsigned bin)
{
    if (region->bin_count == region->room && !grow_edges(loop, region)) {
        region->is_short = true;
        return make_step(0, region->room);
    }
    region->steps[bin] = (uint16_t)make_step(region->bin_count++, region->room);
    return region->steps[bin];
}

unsigned build_previous_bin(const struct build_region *region)
{
    unsigned bin = 0;

    while (bin < PSNAP_STRIDE_BINS && build_row(region->steps[bin]) != region->row)
        bin++;
    return bin;
}

void build_previous_set(struct build_loop *loop, struct build_region *region, unsigned bin)
{
    unsigned row = region->row;

    region->row = (uint16_t)build_row(build_step(loop, region, bin, &row));
}

uint64_t build_edge_count(const struct build_region *region, unsigned from, unsigned to)
{
    const unsigned after = from == BUILD_START ? 0 : region->steps[from], step = region->steps[to];

    return after == BUILD_NO_STEP || step == BUILD_NO_STEP
               ? 0
               : *build_edge(region, build_row(after), step);
}

void build_edge_add(struct build_loop *loop, struct build_region *region, unsigned from,
                    unsigned to, uint64_t times)
{
    unsigned row = region->row;

    if (from != BUILD_START)
        build_step(loop, region, from, &row);
    build_step(loop, region, to, &row);
    if (region->is_short)
        return;
    row = from == BUILD_START ? 0 : build_row(region->steps[from]);
    *build_edge(region, row, region->steps[to]) += times;
}

/* ------------------------------------------------------------- shapes */

static bool grow_shapes(struct build_loop *loop, struct build_region *region)
{
    const unsigned old = region->shape_room, most = 3 * PSNAP_ACCESS_SIZE_MAX;
    const unsigned room = !old ? 1 : 2 * old < most ? 2 * old : most;
    struct build_shape *shapes = realloc(region->shapes, room * sizeof *shapes);

    if (!shapes)
        return false;
    region->shapes = shapes;
    region->shape_room = (uint8_t)room;
    shapes_clear(region, old);
    build_loop_charge(loop, (room - old) * sizeof *shapes, 0);
    return true;
}

/* The place of a shape, or shape_room. */
static unsigned find_shape(const struct build_region *region, uint32_t key)
{
    unsigned place = 0;

    while (place < region->shape_room && region->shapes[place].key != key)
        place++;
    return place;
}

unsigned build_shape_place(struct build_loop *loop, struct build_region *region, uint32_t key)
{
    unsigned place = find_shape(region, key);

    if (place < region->shape_room)
        return place;
    place = find_shape(region, BUILD_NO_SHAPE);
    if (place == region->shape_room && !grow_shapes(loop, region)) {
        region->is_short = true;
        return 0;
    }
    region->shapes[place].key = key;
    return place;
}

bool build_counts_init(struct build_loop *loop, struct build_region *region)
{
    if ((!region->room && !grow_edges(loop, region)) ||
        (!region->shape_room && !grow_shapes(loop, region)))
        return false;
    build_edges_clear(region);
    shapes_clear(region, 0);
    return true;
}

uint64_t build_region_accesses(const struct build_region *region)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < region->shape_room; i++)
        sum += region->shapes[i].count;
    return sum;
}
