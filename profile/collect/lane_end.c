/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The end of a stream (lane.h): which series of addresses, sweeps and trip counts are nests. A nest
 * may have so many values as its share of the accesses allows, so that a profile stays small; what
 * has more is drawn.
 */
#include <stdlib.h>

#include "profile/collect/lane.h"
#include "profile/collect/unit.h"

enum {
    MOST = 20000,    /* values of all nests in the end, parted by their accesses, */
    FEW = 48,        /* and of each so many more, */
    FEW_OF_MANY = 12 /* when there are many */
};

size_t lane_budget(const struct lane *lane, uint64_t accesses, size_t few, size_t most)
{
    return few + (size_t)((double)accesses / (double)lane->now * (double)most);
}

/* Values that even a nest of next to no accesses may have: more where there are few in all. */
static size_t few_of(const struct lane *lane)
{
    size_t values = 0;

    for (uint32_t i = 0; i < lane->site_count; i++)
        values += lane->histories[i].addresses.fold.terms.value_count;
    return values <= MOST / 2 ? FEW : FEW_OF_MANY;
}

static uint64_t accesses_of(const struct lane *lane, const struct lane_body *body)
{
    uint64_t accesses = body->iterations * body->width;

    for (uint32_t i = 0; body->unit && i < body->unit->part_count; i++)
        accesses += accesses_of(lane, &lane->bodies[body->unit->parts[i].body]);
    return accesses;
}

/* The trip counts of bodies. Where they are drawn, a nest that has values for every execution tells
 * nothing: rows[i] is how many executions of such bodies reference i is in, if in no others. False:
 * out of memory. */
static bool end_bodies(struct lane *lane, size_t few, uint64_t *rows)
{
    for (uint32_t i = 0; i < lane->body_count; i++) {
        struct lane_body *body = &lane->bodies[i];
        const uint64_t accesses = accesses_of(lane, body);
        if (!lane_flush_trips(lane, body) ||
            !series_end(&body->trips, lane_budget(lane, accesses, few, MOST)))
            return false;
        for (uint32_t k = 0; k < body->width; k++) {
            uint64_t *row = &rows[body->sites[k]];
            *row = body->trips.is_over && body->whole == PSNAP_NONE && *row < UINT64_MAX
                       ? *row + body->executions
                       : UINT64_MAX;
        }
    }
    return true;
}

/* The series of addresses; false: out of memory. */
static bool end_sites(struct lane *lane, size_t few, const uint64_t *rows)
{
    const bool wanted = lane_wants_reuse(lane);
    bool is_rare = true;

    for (uint32_t i = 0; i < lane->site_count; i++) {
        const struct lane_site *site = &lane->sites[i];
        struct series *addresses = &lane->histories[i].addresses;
        const uint64_t most_of_rows = rows[i] / 2 > FEW_OF_MANY ? rows[i] / 2 : FEW_OF_MANY;
        size_t most = lane_budget(lane, site->length, few, MOST);
        most = most < most_of_rows ? most : (size_t)most_of_rows;
        /* without reuse times it is a nest */
        if (!series_end(addresses, site->is_irregular ? most : SIZE_MAX))
            return false;
        lane->wants_reuse |= addresses->is_over;
        is_rare &= !addresses->is_over || site->length <= LANE_NOTES;
        is_rare &= lane->histories[i].turn_count <= LANE_TURNS;
    }
    lane->wants_times = !wanted && lane_wants_reuse(lane) && is_rare;
    for (uint32_t k = 0; k < lane->sweep_count; k++) {
        uint64_t accesses = 0;
        for (uint32_t i = 0; i < lane->site_count; i++)
            accesses += lane->sites[i].sweep == k ? lane->sites[i].length : 0;
        if (!series_end(&lane->sweeps[k].bytes, lane_budget(lane, accesses, few, MOST)))
            return false;
    }
    return true;
}

bool lane_forget(struct lane *lane)
{
    for (uint32_t i = 0; i < lane->body_count; i++)
        if (lane->bodies[i].trips.is_over)
            series_give_up(&lane->bodies[i].trips);
    lane->order.keeps = false;
    return order_end(&lane->order);
}

bool lane_end(struct lane *lane)
{
    bool is_done = lane_flush(lane) && order_end(&lane->order) && lane_lower_rare(lane);
    uint64_t *rows = calloc(lane->site_count + (size_t)1, sizeof *rows);
    const size_t few = few_of(lane);

    is_done = is_done && rows && end_bodies(lane, few, rows) && end_sites(lane, few, rows);
    free(rows);
    return is_done && (lane->has_reuse || lane_wants_reuse(lane) || lane_forget(lane));
}
