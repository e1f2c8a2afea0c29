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
#include "profile/build/builder.h"

#include <stdlib.h>
#include <string.h>

#include "profile/yaml/read.h"

#define UNEVEN 1.25

/* The parts of each unit of an itinerary: stops in their order, as lists. */
struct units {
    uint32_t *first, *last; /* stop by unit */
    uint32_t *unit, *next;  /* by loop, and by stop */
};

/* What of one thread's visits goes into the schedule. */
struct expansion {
    struct psnap_sequence *schedule;
    const uint32_t *kept;
    const struct build_itinerary *itinerary;
    const struct psnap_sequence *seen; /* its visits */
    const struct units *units;
    const bool *is_known; /* by loop: an earlier thread visits it */
};

static bool units_init(struct units *units, uint32_t loop_count)
{
    const size_t bytes = (loop_count + 1) * sizeof *units->unit;

    units->first = malloc(bytes);
    units->last = malloc(bytes);
    units->unit = malloc(bytes);
    units->next = malloc(bytes);
    if (!units->first || !units->last || !units->unit || !units->next)
        return false;
    memset(units->unit, 0xff, bytes); /* PSNAP_NONE */
    return true;
}

static void units_release(struct units *units)
{
    free(units->first);
    free(units->last);
    free(units->unit);
    free(units->next);
}

static void units_set(struct units *units, const struct build_itinerary *itinerary)
{
    for (uint32_t i = 0; i < itinerary->count; i++) {
        units->unit[itinerary->stops[i].index] = itinerary->stops[i].unit;
        units->first[itinerary->stops[i].unit] = PSNAP_NONE;
    }
    for (uint32_t i = 0; i < itinerary->count; i++) {
        const uint32_t unit = itinerary->stops[i].unit;
        units->next[i] = PSNAP_NONE;
        if (units->first[unit] == PSNAP_NONE)
            units->first[unit] = i;
        else
            units->next[units->last[unit]] = i;
        units->last[unit] = i;
    }
}

/* The first part of the unit that a folded visit is of: its loop may have joined another one
 * later. */
static uint32_t first_part(const struct units *units, uint32_t visited)
{
    return units->first[units->unit[visited]];
}

static void add_parts(const struct expansion *e, const struct psnap_sequence_item *item)
{
    for (uint32_t i = first_part(e->units, item->what); i != PSNAP_NONE; i = e->units->next[i]) {
        const uint32_t index = e->itinerary->stops[i].index;
        if (!e->is_known[index])
            e->schedule->items[e->schedule->count++] = (struct psnap_sequence_item){
                .repeat = 1, .accesses = item->accesses, .what = e->kept[index]};
    }
}

static uint64_t count_parts(const struct units *units, const struct psnap_sequence *seen)
{
    uint64_t parts = 0;

    for (uint32_t i = 0; i < seen->count; i++) {
        const uint32_t visited = seen->items[i].what;
        if (visited == PSNAP_NONE)
            parts++;
        else
            for (uint32_t k = first_part(units, visited); k != PSNAP_NONE; k = units->next[k])
                parts++;
    }
    return parts;
}

/* Items [begin, end) with parts for units; as deep as the fold's groups. */
static void expand(const struct expansion *e, uint32_t begin, uint32_t end)
{
    struct psnap_sequence *schedule = e->schedule;

    for (uint32_t i = begin; i < end; i += 1 + e->seen->items[i].span) {
        const struct psnap_sequence_item *item = &e->seen->items[i];
        uint32_t head = schedule->count;
        if (item->what != PSNAP_NONE) {
            add_parts(e, item);
            continue;
        }
        schedule->items[schedule->count++] = *item;
        expand(e, i + 1, i + 1 + item->span);
        schedule->items[head].span = schedule->count - head - 1;
        if (!schedule->items[head].span)
            schedule->count = head; /* nothing in it is new */
    }
}

/* Every loop that `is_there` does not mark once, in the order of first accesses, thread by thread.
 */
static void list_loops(struct psnap_sequence *schedule, const uint32_t *kept,
                       const struct build_result *result, bool *is_there, uint64_t accesses)
{
    for (uint32_t i = 0; i < result->itinerary_count; i++)
        for (uint32_t k = 0; k < result->itineraries[i].count; k++) {
            const uint32_t index = result->itineraries[i].stops[k].index;
            if (!is_there[index])
                schedule->items[schedule->count++] = (struct psnap_sequence_item){
                    .repeat = 1, .accesses = accesses, .what = kept[index]};
            is_there[index] = true;
        }
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

/* The threads' visits one after the other; room for all of them. */
static enum psnap_status expand_all(struct psnap_profile *profile, const uint32_t *kept,
                                    const struct build_result *result, struct units *units,
                                    const struct psnap_sequence *seen, bool *is_known)
{
    struct psnap_sequence *schedule = &profile->schedule;
    uint64_t room = 1;

    for (uint32_t i = 0; i < result->itinerary_count; i++) {
        units_set(units, &result->itineraries[i]);
        room += count_parts(units, &seen[i]) + result->itineraries[i].count;
    }
    schedule->items = psnap_arena_alloc(profile->arena, room * sizeof *schedule->items);
    if (!schedule->items)
        return PSNAP_ERROR_MEMORY;
    for (uint32_t i = 0; i < result->itinerary_count; i++) {
        const struct build_itinerary *itinerary = &result->itineraries[i];
        const struct expansion expansion = {schedule, kept, itinerary, &seen[i], units, is_known};
        units_set(units, itinerary);
        expand(&expansion, 0, seen[i].count);
        for (uint32_t k = 0; k < itinerary->count; k++)
            is_known[itinerary->stops[k].index] = true;
    }
    return PSNAP_OK;
}

/* Adds the loops that no visit was counted of; false when the schedule has too many visits. */
static bool complete(struct psnap_profile *profile, const uint32_t *kept,
                     const struct build_result *result, uint64_t *counts, bool *is_there,
                     uint32_t loop_count)
{
    struct psnap_profile_totals totals;

    psnap_profile_totals(profile, &totals);
    if (!sequence_counts(&profile->schedule, totals.accesses * PSNAP_VISITS_PER_ACCESS, counts))
        return false;
    for (uint32_t i = 0; i < loop_count; i++)
        is_there[i] = kept[i] != PSNAP_NONE && counts[kept[i]];
    list_loops(&profile->schedule, kept, result, is_there, 0);
    return true;
}

/* The folded visits of an itinerary, of the result's loops. */
static enum psnap_status finish_visits(struct build_itinerary *itinerary, struct psnap_arena *arena,
                                       struct psnap_sequence *seen)
{
    enum psnap_status status = fold_finish(&itinerary->visits, arena, seen);

    for (uint32_t i = 0; i < seen->count && !status; i++)
        if (seen->items[i].what != PSNAP_NONE)
            seen->items[i].what += itinerary->offset;
    return status;
}

enum psnap_status build_schedule(struct psnap_profile *profile, const uint32_t *kept,
                                 uint32_t loop_count, const struct build_result *result)
{
    struct psnap_sequence *seen = calloc(result->itinerary_count + 1, sizeof *seen);
    uint64_t *counts = calloc(profile->loop_count + 1, sizeof *counts);
    bool *is_there = calloc(loop_count + 1, sizeof *is_there);
    struct units units = {0};
    enum psnap_status status = units_init(&units, loop_count) && seen && counts && is_there
                                   ? PSNAP_OK
                                   : PSNAP_ERROR_MEMORY;

    for (uint32_t i = 0; i < result->itinerary_count && !status; i++)
        status = finish_visits(&result->itineraries[i], profile->arena, &seen[i]);
    if (!status)
        status = expand_all(profile, kept, result, &units, seen, is_there);
    if (!status && complete(profile, kept, result, counts, is_there, loop_count))
        status = share_out(profile);
    else if (!status) {
        profile->schedule.count = 0;
        memset(is_there, 0, (loop_count + 1) * sizeof *is_there);
        list_loops(&profile->schedule, kept, result, is_there, PSNAP_EVENLY);
    }
    units_release(&units);
    free(seen);
    free(counts);
    free(is_there);
    return status;
}
