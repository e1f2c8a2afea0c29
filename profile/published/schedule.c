/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The schedule from the folded visits. A visit is of a unit: the parts of one source loop that
 * follow each other (builder.c); each of them is visited, in the order in which they were first
 * accessed, and replay gives each its share.
 *
 * Counts in folded visits are means, so a schedule can come to far more visits than there were, in
 * the worst case more than readers accept: then every loop is visited once, in the order of first
 * accesses.
 */
#include "profile/published/published.h"

#include <stdlib.h>

#include "profile/yaml/fields.h"

#define UNEVEN 1.25

static const struct loop *first_part(struct loop *const *by_index, uint32_t visited)
{
    return by_index[by_index[visited]->unit]->first_part;
}

/* Makes each unit the list of its loops. */
static void link_parts(const struct published_loops *built)
{
    for (uint32_t i = 0; i < built->count; i++) {
        struct loop *loop = built->loops[i], *unit = built->by_index[loop->unit];
        if (unit->first_part)
            unit->last_part->next_part = loop;
        else
            unit->first_part = loop;
        unit->last_part = loop;
    }
}

static void add_loop(const struct published_loops *built, struct psnap_sequence *schedule,
                     const struct loop *loop, uint64_t accesses)
{
    schedule->items[schedule->count++] = (struct psnap_sequence_item){
        .repeat = 1, .accesses = accesses, .what = built->kept[loop->index]};
}

/* Items [begin, end) of the visits with loops for units; as deep as the fold's groups. */
static void expand(const struct published_loops *built, const struct psnap_sequence *visits,
                   uint32_t begin, uint32_t end, struct psnap_sequence *schedule)
{
    for (uint32_t i = begin; i < end; i += 1 + visits->items[i].span) {
        const struct psnap_sequence_item *item = &visits->items[i];
        const uint32_t head = schedule->count;
        if (item->what != PSNAP_NONE) {
            for (const struct loop *part = first_part(built->by_index, item->what); part;
                 part = part->next_part)
                add_loop(built, schedule, part, item->accesses);
            continue;
        }
        schedule->items[schedule->count++] = *item;
        expand(built, visits, i + 1, i + 1 + item->span, schedule);
        schedule->items[head].span = schedule->count - head - 1;
    }
}

/* Items that the schedule may have: those of the visits, and each loop once more. */
static uint64_t count_items(const struct published_loops *built,
                            const struct psnap_sequence *visits)
{
    uint64_t items = built->count + (uint64_t)1;

    for (uint32_t i = 0; i < visits->count; i++)
        if (visits->items[i].what == PSNAP_NONE)
            items++;
        else
            for (const struct loop *part = first_part(built->by_index, visits->items[i].what); part;
                 part = part->next_part)
                items++;
    return items;
}

/* Sums over all visits of one loop in the schedule. */
struct leaves {
    double least, most; /* mean accesses of a visit, by leaf */
    uint64_t amount;    /* accesses seen at all of them */
    uint64_t passed;    /* and at those before */
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
 * Leaves come with the accesses that were seen there, of all parts of their unit. A loop whose
 * visits are much the same everywhere needs no more; one whose visits differ (by UNEVEN from leaf
 * to leaf) gets its accesses split in the proportion of those that were seen.
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
        const uint64_t seen = item->accesses;
        uint64_t all;
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

enum psnap_status published_schedule_take(const struct published_loops *built, struct fold *folded,
                                          struct psnap_profile *profile)
{
    struct psnap_sequence *schedule = &profile->schedule, visits;
    uint64_t *counts = calloc(profile->loop_count + 1, sizeof *counts);
    struct psnap_profile_totals totals;
    bool is_expanded;

    psnap_profile_totals(profile, &totals);
    link_parts(built);
    if (counts && !fold_finish(folded, profile->arena, &visits))
        schedule->items = psnap_arena_alloc(profile->arena,
                                            count_items(built, &visits) * sizeof *schedule->items);
    if (!schedule->items) {
        free(counts);
        return PSNAP_ERROR_MEMORY;
    }
    expand(built, &visits, 0, visits.count, schedule);
    is_expanded = sequence_counts(schedule, totals.accesses * PSNAP_VISITS_PER_ACCESS, counts);
    if (!is_expanded)
        schedule->count = 0;
    for (uint32_t i = 0; i < built->count; i++)
        if (!is_expanded || !counts[built->kept[built->loops[i]->index]])
            add_loop(built, schedule, built->loops[i], is_expanded ? 0 : PSNAP_EVENLY);
    free(counts);
    return is_expanded ? share_out(profile) : PSNAP_OK;
}
