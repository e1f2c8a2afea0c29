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

#define UNEVEN 1.25

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
                      struct build_loop *const *loops, uint32_t loop_count, uint32_t unit,
                      uint64_t accesses)
{
    for (uint32_t i = 0; i < loop_count; i++)
        if (loops[i]->unit == unit)
            schedule->items[schedule->count++] = (struct psnap_sequence_item){
                .repeat = 1, .accesses = accesses, .what = kept[loops[i]->index]};
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
            add_parts(schedule, kept, loops, loop_count, unit_of(loops, loop_count, item->what),
                      item->accesses);
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
        schedule->items[schedule->count++] = (struct psnap_sequence_item){
            .repeat = 1, .accesses = PSNAP_EVENLY, .what = kept[loops[i]->index]};
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
            schedule->items[schedule->count++] = (struct psnap_sequence_item){
                .repeat = 1, .accesses = 0, .what = kept[loops[i]->index]};
    return true;
}

/* What all leaves of one loop have in common. */
struct leaves {
    double least, most; /* mean accesses of a visit, by leaf */
    uint64_t amount;    /* what was seen at all of them */
    uint64_t passed;    /* what was seen at those before */
};

/* floor(value * by / divisor) */
static uint64_t scale(uint64_t value, uint64_t by, uint64_t divisor)
{
    __extension__ typedef unsigned __int128 wide;

    return divisor ? (uint64_t)((wide)value * by / divisor) : 0;
}

static void measure(struct leaves *leaves, const struct psnap_sequence_item *leaf, uint64_t visits)
{
    const double mean = (double)leaf->accesses / (double)visits;

    if (!leaves->amount || mean < leaves->least)
        leaves->least = mean;
    if (!leaves->amount || mean > leaves->most)
        leaves->most = mean;
    leaves->amount += leaf->accesses;
}

/*
 * Leaves come with the accesses that were seen there, of all parts of their
 * unit and of all threads. A loop whose visits are much the same everywhere
 * needs no telling; one whose visits differ (by UNEVEN from leaf to leaf) gets
 * its accesses split in the proportion of what was seen.
 */
static enum psnap_status share_out(struct psnap_profile *profile)
{
    struct psnap_sequence *schedule = &profile->schedule;
    struct leaves *leaves = calloc(profile->loop_count + 1, sizeof *leaves);
    uint64_t *visits = malloc((schedule->count + 1) * sizeof *visits);
    enum psnap_status status = leaves && visits ? PSNAP_OK : PSNAP_ERROR_MEMORY;

    if (!status) {
        psnap_sequence_visits(schedule, visits);
        for (uint32_t i = 0; i < schedule->count; i++)
            if (schedule->items[i].what != PSNAP_NONE)
                measure(&leaves[schedule->items[i].what], &schedule->items[i], visits[i]);
    }
    for (uint32_t i = 0; i < schedule->count && !status; i++) {
        struct psnap_sequence_item *item = &schedule->items[i];
        struct leaves *of = &leaves[item->what == PSNAP_NONE ? 0 : item->what];
        uint64_t all, seen = item->accesses;
        item->accesses = PSNAP_EVENLY;
        if (item->what == PSNAP_NONE || of->most <= UNEVEN * of->least)
            continue;
        all = profile->loops[item->what].accesses;
        item->accesses =
            scale(of->passed + seen, all, of->amount) - scale(of->passed, all, of->amount);
        of->passed += seen;
    }
    free(leaves);
    free(visits);
    return status;
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
        if (complete(profile, kept, loops, loop_count, counts))
            status = share_out(profile);
        else
            list_loops(&profile->schedule, kept, loops, loop_count);
    }
    free(counts);
    return status;
}
