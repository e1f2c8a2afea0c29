/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes executions of the source's loops of executions of bodies (unit.h).
 */
#include "profile/collect/unit.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"
#include "profile/collect/lane.h"

/* ---- joining ---- */

static uint64_t bytes_of(const struct lane *lane, const struct lane_body *body)
{
    uint64_t bytes = 0;

    for (uint32_t k = 0; k < body->width; k++)
        bytes += lane->sites[body->sites[k]].size;
    return bytes;
}

/* Whether nothing but the loop of the source stands between two bodies in the program: copies of it
 * elsewhere, as of an inlined function, are others. */
static bool are_beside(const struct lane *lane, const struct lane_body *a,
                       const struct lane_body *b)
{
    const struct psnap_program *program = lane->program;
    const uint32_t p = lane->sites[a->sites[0]].ref, q = lane->sites[b->sites[0]].ref;

    for (uint32_t ref = p < q ? p : q; ref < (p < q ? q : p); ref++)
        if (strcmp(program->loops[program->refs[ref].loop].src_id,
                   program->loops[a->loop].src_id) != 0)
            return false;
    return true;
}

/* Whether a body may be a part: no other one is of its loop, and its iterations are multiples of
 * the others' or the other way round. */
static bool fits(const struct lane *lane, const struct lane_unit *unit,
                 const struct lane_body *body, uint64_t bytes)
{
    bool does = !unit->is_over && unit->part_count < EXPAND_PARTS;

    for (uint32_t i = 0; i < unit->part_count; i++) {
        const struct unit_part *part = &unit->parts[i];
        does &= part->bytes != bytes && lane->bodies[part->body].loop != body->loop &&
                (part->bytes > bytes ? part->bytes % bytes : bytes % part->bytes) == 0 &&
                are_beside(lane, &lane->bodies[part->body], body);
    }
    return does;
}

/* A body without references for the unit. */
static uint32_t add_whole(struct lane *lane, uint64_t source, uint32_t loop)
{
    struct lane_body *more =
        psnap_with_room(lane->bodies, &lane->body_room, lane->body_count + (size_t)1, sizeof *more);
    struct lane_unit *unit = more ? calloc(1, sizeof *unit) : NULL;

    lane->bodies = more ? more : lane->bodies;
    if (!unit)
        return PSNAP_NONE;
    unit->source = source;
    more[lane->body_count] = (struct lane_body){.loop = loop, .whole = PSNAP_NONE, .unit = unit};
    series_init(&more[lane->body_count].trips, lane->patterns);
    more[lane->body_count].trips.keeps = !lane->has_reuse;
    return lane->body_count++;
}

/* Adds a part; the widest one is the first. What all parts before it left to the new part was left
 * to the next narrower one until now. */
static void add_part(struct lane_unit *unit, uint32_t body, uint64_t bytes)
{
    uint32_t at = unit->part_count++;

    for (; at && unit->parts[at - 1].bytes < bytes; at--)
        unit->parts[at] = unit->parts[at - 1];
    unit->parts[at] =
        (struct unit_part){.body = body, .bytes = bytes, .entered = UINT64_MAX, .low = UINT64_MAX};
    if (at + 1 < unit->part_count)
        unit->parts[at].most = unit->parts[at].passed = unit->parts[at + 1].most;
}

bool unit_join(struct lane *lane, uint32_t index)
{
    const uint64_t source = lane_source(lane, lane->bodies[index].loop);
    const uint64_t bytes = bytes_of(lane, &lane->bodies[index]);
    uint32_t whole = 0;

    if (!source)
        return true;
    while (whole < lane->body_count &&
           !(lane->bodies[whole].unit && lane->bodies[whole].unit->source == source &&
             fits(lane, lane->bodies[whole].unit, &lane->bodies[index], bytes)))
        whole++;
    if (whole == lane->body_count &&
        (whole = add_whole(lane, source, lane->bodies[index].loop)) == PSNAP_NONE)
        return false;
    add_part(lane->bodies[whole].unit, index, bytes);
    lane->bodies[index].whole = whole;
    return !lane->bodies[whole].executions ||
           lane_count_trips(lane, index, 0, lane->bodies[whole].executions);
}

/* ---- executions ---- */

/* Learns from an execution of so many bytes, `left`, with how many bytes each part executes, and
 * how many it leaves to narrower ones. */
static void learn(struct lane_unit *unit, uint64_t left)
{
    for (uint32_t i = 0; i < unit->part_count; i++) {
        struct unit_part *part = &unit->parts[i];
        part->most = left > part->most ? left : part->most;
        if (part->count) {
            part->entered = left < part->entered ? left : part->entered;
            left -= part->count * part->bytes;
            part->low = left < part->low ? left : part->low;
            part->high = left > part->high ? left : part->high;
        } else {
            part->passed = left > part->passed ? left : part->passed;
        }
        unit->is_over |= part->entered <= part->passed || part->high >= 2 * part->bytes ||
                         (part->low <= part->high && part->high - part->low >= part->bytes);
    }
}

/* The parts execute by themselves, in the order in which they stand. */
static bool put_apart(struct lane *lane, const struct lane_unit *unit)
{
    uint32_t after = 0;

    for (;;) {
        const struct unit_part *next = NULL;
        uint32_t first = UINT32_MAX;
        for (uint32_t i = 0; i < unit->part_count; i++) {
            const uint32_t ref = lane->sites[lane->bodies[unit->parts[i].body].sites[0]].ref;
            if (unit->parts[i].count && ref >= after && ref < first) {
                next = &unit->parts[i];
                first = ref;
            }
        }
        if (!next)
            return true;
        if (!lane_count_trips(lane, next->body, next->count, 1) ||
            !order_put(&lane->order, next->body))
            return false;
        after = first + 1;
    }
}

static bool put_whole(struct lane *lane, uint32_t whole, uint64_t bytes)
{
    struct lane_unit *unit = lane->bodies[whole].unit;

    for (uint32_t i = 0; i < unit->part_count; i++) {
        struct unit_part *part = &unit->parts[i];
        part->executions += part->count > 0;
        part->iterations += part->count;
        if (!lane_count_trips(lane, part->body, part->count, 1))
            return false;
    }
    lane->bodies[whole].executions++;
    return lane_count_trips(lane, whole, bytes, 1) && order_put(&lane->order, whole);
}

bool unit_end(struct lane *lane)
{
    const uint32_t whole = lane->unit;
    struct lane_unit *unit;
    uint64_t bytes = 0;

    if (whole == PSNAP_NONE)
        return true;
    unit = lane->bodies[whole].unit;
    lane->unit = PSNAP_NONE;
    for (uint32_t i = 0; i < unit->part_count; i++)
        bytes += unit->parts[i].count * unit->parts[i].bytes;
    learn(unit, bytes);
    if (unit->is_over ? !put_apart(lane, unit) : !put_whole(lane, whole, bytes))
        return false;
    for (uint32_t i = 0; i < unit->part_count; i++)
        unit->parts[i].count = 0;
    return true;
}

bool unit_put(struct lane *lane, uint32_t body, uint64_t iterations)
{
    const uint32_t whole = lane->bodies[body].whole;
    const uint32_t ref = lane->sites[lane->bodies[body].sites[0]].ref;
    struct lane_unit *unit;

    if ((lane->unit != whole || ref <= lane->unit_ref) && !unit_end(lane))
        return false;
    unit = whole == PSNAP_NONE ? NULL : lane->bodies[whole].unit;
    if (!unit || unit->is_over)
        return lane_count_trips(lane, body, iterations, 1) && order_put(&lane->order, body);
    for (uint32_t i = 0; i < unit->part_count; i++)
        if (unit->parts[i].body == body)
            unit->parts[i].count = iterations;
    lane->unit = whole;
    lane->unit_ref = ref;
    return true;
}

/* ---- in the end ---- */

bool unit_rule(const struct lane *lane, const struct lane_unit *unit,
               struct expand_part parts[EXPAND_PARTS], uint64_t *bytes)
{
    uint32_t first[EXPAND_PARTS];

    *bytes = unit->parts[unit->part_count - 1].bytes;
    for (uint32_t i = 0; i < unit->part_count; i++) {
        const struct unit_part *from = &unit->parts[i];
        const uint32_t ref = lane->sites[lane->bodies[from->body].sites[0]].ref;
        struct expand_part part = {.body = from->body, .width = from->bytes / *bytes};
        uint32_t at = i;
        if (part.width > 1 && from->high >= from->bytes)
            part.leaves = (from->high - from->bytes) / *bytes + 1;
        part.from = part.width + part.leaves;
        if (part.width > 1 &&
            (part.from * *bytes <= from->passed || part.from * *bytes > from->entered))
            part.from = from->entered / *bytes;
        for (; at && first[at - 1] > ref; at--) {
            first[at] = first[at - 1];
            parts[at] = parts[at - 1];
        }
        first[at] = ref;
        parts[at] = part;
    }
    return !unit->is_over;
}

bool lane_execute_again(struct lane *lane, const struct lane_execution *execution)
{
    lane->bodies[execution->body].executions++;
    lane->bodies[execution->body].iterations += execution->iterations;
    return unit_put(lane, execution->body, execution->iterations);
}
