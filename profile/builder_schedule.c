/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The schedule from the folded visits. A visit is of a unit: the parts of one
 * source loop that follow each other (builder.c); each of them is visited, in
 * the order in which they were first seen, and replay gives each its share.
 *
 * Counts in folded visits are means, so a schedule can come to far more visits
 * than there were, in the worst case more than readers accept: then every loop
 * is visited once, in the order of first accesses.
 */
#include "profile/builder.h"

#include <stdlib.h>

#include "profile/read.h"

static uint32_t count_parts(struct build_loop *const *loops, uint32_t loop_count, uint32_t unit)
{
    uint32_t parts = 0;

    for (uint32_t i = 0; i < loop_count; i++)
        parts += loops[i]->unit == unit;
    return parts;
}

/* The unit that a folded visit is of: its loop may have joined another one later. */
static uint32_t unit_of(struct build_loop *const *loops, uint32_t loop_count, uint32_t visited)
{
    for (uint32_t i = 0; i < loop_count; i++)
        if (loops[i]->index == visited)
            return loops[i]->unit;
    return visited;
}

static void add_parts(struct psnap_sequence *schedule, const uint32_t *kept,
                      struct build_loop *const *loops, uint32_t loop_count, uint32_t unit)
{
    for (uint32_t i = 0; i < loop_count; i++)
        if (loops[i]->unit == unit)
            schedule->items[schedule->count++] =
                (struct psnap_sequence_item){1, kept[loops[i]->index], 0};
}

/* Items [begin, end) with parts for units; as deep as the fold's groups. */
static void expand(const struct psnap_sequence *seen, uint32_t begin, uint32_t end,
                   struct psnap_sequence *schedule, const uint32_t *kept,
                   struct build_loop *const *loops, uint32_t loop_count)
{
    for (uint32_t i = begin; i < end; i += 1 + seen->items[i].span) {
        const struct psnap_sequence_item *item = &seen->items[i];
        uint32_t head = schedule->count;
        if (item->what != PSNAP_NONE) {
            add_parts(schedule, kept, loops, loop_count, unit_of(loops, loop_count, item->what));
            continue;
        }
        schedule->items[schedule->count++] = *item;
        expand(seen, i + 1, i + 1 + item->span, schedule, kept, loops, loop_count);
        schedule->items[head].span = schedule->count - head - 1;
    }
}

/* Every loop once, in the order of first accesses. */
static void list_loops(struct psnap_sequence *schedule, const uint32_t *kept,
                       struct build_loop *const *loops, uint32_t loop_count)
{
    schedule->count = 0;
    for (uint32_t i = 0; i < loop_count; i++)
        schedule->items[schedule->count++] =
            (struct psnap_sequence_item){1, kept[loops[i]->index], 0};
}

/* Adds the loops that other threads alone visit; false when the schedule has too many visits. */
static bool complete(struct psnap_profile *profile, const uint32_t *kept,
                     struct build_loop *const *loops, uint32_t loop_count, uint64_t *counts)
{
    struct psnap_sequence *schedule = &profile->schedule;
    struct psnap_profile_totals totals;

    psnap_profile_totals(profile, &totals);
    if (!sequence_counts(schedule, totals.accesses * PSNAP_VISITS_PER_ACCESS, counts))
        return false;
    for (uint32_t i = 0; i < loop_count; i++)
        if (!counts[kept[loops[i]->index]])
            schedule->items[schedule->count++] =
                (struct psnap_sequence_item){1, kept[loops[i]->index], 0};
    return true;
}

enum psnap_status build_schedule(struct psnap_profile *profile, const uint32_t *kept,
                                 struct build_loop *const *loops, uint32_t loop_count,
                                 struct fold *visits)
{
    struct psnap_sequence seen;
    uint64_t room = 2 * (uint64_t)loop_count + 1;
    uint64_t *counts = calloc(profile->loop_count + 1, sizeof *counts);
    enum psnap_status status =
        counts ? fold_finish(visits, profile->arena, &seen) : PSNAP_ERROR_MEMORY;

    if (!status) {
        for (uint32_t i = 0; i < seen.count; i++)
            room += seen.items[i].what == PSNAP_NONE
                        ? 1
                        : count_parts(loops, loop_count,
                                      unit_of(loops, loop_count, seen.items[i].what));
        profile->schedule.items =
            psnap_arena_alloc(profile->arena, room * sizeof *profile->schedule.items);
        status = profile->schedule.items ? PSNAP_OK : PSNAP_ERROR_MEMORY;
    }
    if (!status) {
        expand(&seen, 0, seen.count, &profile->schedule, kept, loops, loop_count);
        if (!complete(profile, kept, loops, loop_count, counts))
            list_loops(&profile->schedule, kept, loops, loop_count);
    }
    free(counts);
    return status;
}
