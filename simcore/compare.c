/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far two simulated streams are apart, per loop and in total.
 *
 * The error of a loop at a level is |observed - synthetic| of the cumulative hit
 * rates, in points (percent), as in PSnAP's Table 2 (Olschanowsky et al.). A loop
 * is relevant with at least 0.5 % of the observed accesses; means are over
 * relevant loops and machines, unweighted. A loop that only one side has
 * disagrees wholly, 100 points at every level, and is relevant when it has 0.5 %
 * of the accesses of the side that has it: nothing is left out by being lost.
 * A TLB's levels are compared as those of the caches are, and kept apart from them.
 */
#include "simcore/compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Accesses of the run for each of the stream. */
static double weight(const struct compare_side *side)
{
    return side->run_accesses && side->accesses
               ? (double)side->run_accesses / (double)side->accesses
               : 1;
}

bool compare_machine_has(const struct psnap_machine *machine, uint32_t level)
{
    return level < COMPARE_TLB ? level < machine->level_count
                               : level - COMPARE_TLB < machine->tlb_level_count;
}

bool compare_has(const struct compare *compare, uint32_t level)
{
    return level < COMPARE_TLB ? level < compare->levels
                               : level - COMPARE_TLB < compare->tlb_levels;
}

char *compare_level_name(uint32_t level, char *text, size_t size)
{
    if (level < COMPARE_TLB)
        snprintf(text, size, "L%" PRIu32, level + 1);
    else
        snprintf(text, size, "%s", scope_tlb_name(level - COMPARE_TLB));
    return text;
}

static double cumulative(const struct psnap_tally *tally, uint32_t level)
{
    return level < COMPARE_TLB ? psnap_tally_cumulative(tally, level)
                               : psnap_tally_tlb_cumulative(tally, level - COMPARE_TLB);
}

static double misses(const struct psnap_tally *tally, uint32_t level)
{
    return (double)(level < COMPARE_TLB ? psnap_tally_reached(tally, level + (size_t)1)
                                        : psnap_tally_tlb_reached(tally, level - COMPARE_TLB + 1));
}

/* Of the misses past a level: their difference to the observed ones, over those; `scale` is the
 * weight of a synthetic one. */
static double miss_error(const struct psnap_tally *observed, const struct psnap_tally *synthetic,
                         uint32_t level, double scale)
{
    const double expected = misses(observed, level);
    const double found = scale * misses(synthetic, level);

    if (expected > 0)
        return fabs(found - expected) / expected;
    return found > 0 ? NAN : 0;
}

static void fill_levels(struct compare_row *row, const struct psnap_machine *machine,
                        const struct psnap_tally *observed, const struct psnap_tally *synthetic,
                        double scale)
{
    for (uint32_t i = 0; i < COMPARE_LEVELS; i++) {
        struct compare_level *level = &row->levels[i];

        if (!compare_machine_has(machine, i))
            continue;
        level->observed = observed ? cumulative(observed, i) : NAN;
        level->synthetic = synthetic ? cumulative(synthetic, i) : NAN;
        level->relative_miss_error = NAN;
        level->error_points = COMPARE_WHOLLY;
        if (observed && synthetic) {
            level->error_points = 100 * fabs(level->observed - level->synthetic);
            level->relative_miss_error = miss_error(observed, synthetic, i, scale);
            if (isnan(level->error_points)) /* an empty stream: alike only if both are */
                level->error_points =
                    observed->accesses == synthetic->accesses ? 0 : COMPARE_WHOLLY;
        }
        if (level->error_points > row->worst_points)
            row->worst_points = level->error_points;
    }
}

/* Sums up the rows of a loop, one per machine. */
static void add_loop(struct compare *compare, const struct compare_row *rows)
{
    struct compare_loop *loop = &compare->loops[compare->loop_count++];
    size_t machines[COMPARE_LEVELS] = {0};

    *loop = (struct compare_loop){
        .id = rows->id, .name = rows->name, .share = rows->share, .relevant = rows->relevant};
    for (size_t i = 0; i < compare->machine_count; i++) {
        for (uint32_t level = 0; level < COMPARE_LEVELS; level++) {
            const double points = rows[i].levels[level].error_points;
            if (!compare_machine_has(&compare->machines[i], level))
                continue;
            loop->mean_points[level] += points;
            loop->max_points[level] = fmax(loop->max_points[level], points);
            machines[level]++;
        }
        if (rows[i].worst_points > loop->worst_points) {
            loop->worst_points = rows[i].worst_points;
            loop->worst_machine = i;
        }
    }
    for (uint32_t level = 0; level < COMPARE_LEVELS; level++)
        if (machines[level])
            loop->mean_points[level] /= (double)machines[level];
}

/* One row per machine for a loop or total that at least one side has. */
static void add_rows(struct compare *compare, enum psnap_scope scope,
                     const struct compare_side *observed, const struct scope_row *observed_row,
                     const struct compare_side *synthetic, const struct scope_row *synthetic_row)
{
    const struct scope_row *either = observed_row ? observed_row : synthetic_row;
    const struct compare_side *side = observed_row ? observed : synthetic;
    const double share =
        side->accesses ? (double)either->tallies[0].accesses / (double)side->accesses : 0;
    const bool relevant = scope == PSNAP_SCOPE_TOTAL || share >= COMPARE_RELEVANT;

    for (size_t i = 0; i < compare->machine_count; i++) {
        struct compare_row *row = &compare->rows[compare->count++];

        *row = (struct compare_row){.machine = i,
                                    .scope = scope,
                                    .id = either->id,
                                    .name = either->name,
                                    .share = observed_row ? share : 0,
                                    .relevant = relevant,
                                    .in_observed = observed_row != NULL,
                                    .in_synthetic = synthetic_row != NULL};
        fill_levels(row, &compare->machines[i], observed_row ? &observed_row->tallies[i] : NULL,
                    synthetic_row ? &synthetic_row->tallies[i] : NULL,
                    weight(synthetic) / weight(observed));
    }
    if (scope == PSNAP_SCOPE_LOOP)
        add_loop(compare, compare->rows + compare->count - compare->machine_count);
    if (scope == PSNAP_SCOPE_LOOP && relevant) {
        compare->relevant_loops++;
        compare->missing_loops += !observed_row || !synthetic_row;
    }
}

static int by_id(const void *left, const void *right)
{
    const struct scope_row *const *a = left, *const *b = right;

    return strcmp((*a)->id, (*b)->id);
}

static const struct scope_row **sorted_rows(const struct scope_rows *rows)
{
    const struct scope_row **sorted = malloc((rows->count + 1) * sizeof *sorted);

    if (!sorted)
        return NULL;
    for (size_t i = 0; i < rows->count; i++)
        sorted[i] = &rows->rows[i];
    qsort(sorted, rows->count, sizeof *sorted, by_id);
    return sorted;
}

/* Merges both sides' loops, ordered by id. */
static bool match_loops(struct compare *compare, const struct compare_side *observed,
                        const struct compare_side *synthetic)
{
    const struct scope_row **left = sorted_rows(&observed->loops);
    const struct scope_row **right = sorted_rows(&synthetic->loops);
    const bool fits = left && right;
    size_t i = 0, j = 0;

    while (fits && (i < observed->loops.count || j < synthetic->loops.count)) {
        int order = 0;

        if (i == observed->loops.count)
            order = 1;
        else if (j == synthetic->loops.count)
            order = -1;
        else
            order = strcmp(left[i]->id, right[j]->id);
        add_rows(compare, PSNAP_SCOPE_LOOP, observed, order <= 0 ? left[i] : NULL, synthetic,
                 order >= 0 ? right[j] : NULL);
        i += order <= 0;
        j += order >= 0;
    }
    free(left);
    free(right);
    return fits;
}

static void summarise(struct compare *compare)
{
    size_t loops[COMPARE_LEVELS] = {0}, totals[COMPARE_LEVELS] = {0};

    for (size_t i = 0; i < compare->machine_count; i++) {
        const struct psnap_machine *machine = &compare->machines[i];
        if (machine->level_count > compare->levels)
            compare->levels = machine->level_count;
        if (machine->tlb_level_count > compare->tlb_levels)
            compare->tlb_levels = machine->tlb_level_count;
    }
    for (size_t i = 0; i < compare->count; i++) {
        const struct compare_row *row = &compare->rows[i];

        for (uint32_t level = 0; level < COMPARE_LEVELS && row->relevant; level++) {
            const double points = row->levels[level].error_points;
            if (!compare_machine_has(&compare->machines[row->machine], level))
                continue;
            if (row->scope == PSNAP_SCOPE_TOTAL) {
                compare->total_points[level] += points;
                totals[level]++;
                continue;
            }
            compare->mean_points[level] += points;
            compare->max_points[level] = fmax(compare->max_points[level], points);
            loops[level]++;
        }
    }
    for (uint32_t level = 0; level < COMPARE_LEVELS; level++) {
        if (!compare_has(compare, level))
            continue;
        compare->mean_points[level] /= (double)loops[level]; /* NaN: no relevant loops */
        compare->total_points[level] /= (double)totals[level];
        if (!loops[level])
            compare->max_points[level] = NAN;
    }
}

static int by_error(const void *left, const void *right)
{
    const struct compare_row *a = left, *b = right;

    if (a->worst_points != b->worst_points)
        return a->worst_points < b->worst_points ? 1 : -1;
    if (a->share != b->share)
        return a->share < b->share ? 1 : -1;
    if (a->machine != b->machine)
        return a->machine > b->machine ? 1 : -1;
    return strcmp(a->id, b->id);
}

static int by_loop_error(const void *left, const void *right)
{
    const struct compare_loop *a = left, *b = right;

    if (a->worst_points != b->worst_points)
        return a->worst_points < b->worst_points ? 1 : -1;
    if (a->share != b->share)
        return a->share < b->share ? 1 : -1;
    return strcmp(a->id, b->id);
}

enum psnap_status compare_init(struct compare *compare, const struct psnap_machine *machines,
                               size_t machine_count, const struct compare_side *observed,
                               const struct compare_side *synthetic, struct psnap_error *error)
{
    const size_t loops = observed->loops.count + synthetic->loops.count;

    *compare = (struct compare){.machines = machines, .machine_count = machine_count};
    compare->rows = malloc((loops + 1) * machine_count * sizeof *compare->rows);
    compare->loops = malloc((loops + 1) * sizeof *compare->loops);
    if (!compare->rows || !compare->loops || !match_loops(compare, observed, synthetic)) {
        compare_release(compare);
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the comparison");
    }
    add_rows(compare, PSNAP_SCOPE_TOTAL, observed, &observed->total.rows[0], synthetic,
             &synthetic->total.rows[0]);
    summarise(compare);
    qsort(compare->rows, compare->count, sizeof compare->rows[0], by_error);
    qsort(compare->loops, compare->loop_count, sizeof compare->loops[0], by_loop_error);
    return PSNAP_OK;
}

void compare_release(struct compare *compare)
{
    free(compare->rows);
    free(compare->loops);
    *compare = (struct compare){0};
}
