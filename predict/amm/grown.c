/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * AMM (Chennupati et al.) keeps P(D | BB) as it is in the small input. From several inputs it is
 * seen how it changes: accesses, and of each reference's distances the cold ones and the quantiles
 * of two modes, are fitted to the size (growth.c). The modes are those of a line that was just used
 * and of data that the reference comes back to: with the size their shares change as much as their
 * distances. What is cold in all is the number of lines, which bounds distances.
 */
#include "predict/amm/target.h"

#include <math.h>
#include <stdlib.h>

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the larger input");
}

struct growing {
    const struct measure *const *measures;
    const double *sizes;
    size_t count;
    double size;
};

static double log_distance(uint64_t distance)
{
    return log((double)distance + 1);
}

/*
 * The first distance of the far mode by Otsu's threshold ("A threshold selection method from
 * gray-level histograms", 1979): the one that explains most of the variance of log distances.
 * *share gets how much it explains, 0 to 1.
 */
static uint64_t otsu_threshold(const struct psnap_distances *distances, double *share)
{
    struct psnap_distance_count each = {0};
    double all = 0, sum = 0, squares = 0, below = 0, sum_below = 0, best = 0, variance;
    uint64_t threshold = 0;

    while (psnap_distances_next(distances, &each)) {
        const double x = log_distance(each.distance), count = (double)each.count;
        all += count;
        sum += count * x;
        squares += count * x * x;
    }
    variance = all > 0 ? squares - sum * sum / all : 0;
    each = (struct psnap_distance_count){0};
    while (psnap_distances_next(distances, &each)) {
        const double above = all - below;
        const double apart = below > 0 ? sum_below / below - (sum - sum_below) / above : 0;
        const double explained = below * above / all * apart * apart;
        if (explained > best) {
            best = explained;
            threshold = each.distance;
        }
        below += (double)each.count;
        sum_below += (double)each.count * log_distance(each.distance);
    }
    *share = variance > 1e-9 * squares ? best / variance : 0;
    return threshold;
}

/* Accesses and quantiles of those distances that are from `from` to `to` - 1. */
static double take_quantiles(const struct psnap_distances *distances, uint64_t from, uint64_t to,
                             double quantiles[SPREAD_QUANTILES])
{
    struct psnap_distance_count each = {0};
    double all = 0, below = 0;
    int q = 0;

    while (psnap_distances_next(distances, &each))
        all += each.distance >= from && each.distance < to ? (double)each.count : 0;
    each = (struct psnap_distance_count){0};
    while (q < SPREAD_QUANTILES && psnap_distances_next(distances, &each)) {
        if (each.distance < from || each.distance >= to)
            continue;
        below += (double)each.count;
        while (q < SPREAD_QUANTILES && (q + 0.5) / SPREAD_QUANTILES * all <= below)
            quantiles[q++] = (double)each.distance;
    }
    return all;
}

/* How a reference's distances are spread at some sizes; shares are numbers of accesses here. */
struct spreads {
    struct spread at[GROWTH_SIZES_MAX];
    double sizes[GROWTH_SIZES_MAX];
    size_t count;
};

/*
 * Of the variance, that two modes are to explain. Two halves explain 75 % of a uniform distribution
 * and 64 % of a normal one, which are to stay whole: a number near 75 splits them by chance, and
 * one near 100 takes two wide modes for one, whose quantiles then grow in between. It is a choice
 * that was not varied in a measurement.
 */
#define BIMODAL_SHARE 0.8

/* Two modes if all sizes have them, else one. Sizes at which all accesses are cold are left out. */
static void take_spreads(const struct growing *growing, size_t plan, uint32_t ref,
                         struct spreads *spreads)
{
    uint64_t thresholds[GROWTH_SIZES_MAX];
    const struct psnap_distances *distances[GROWTH_SIZES_MAX];
    bool is_bimodal = true;

    spreads->count = 0;
    for (size_t i = 0; i < growing->count; i++) {
        const struct measure *measure = growing->measures[i];
        const struct psnap_distances *of =
            measure->distances[plan * measure->program->ref_count + ref];
        double share;
        if (!of || psnap_distances_accesses(of) == psnap_distances_cold(of))
            continue;
        distances[spreads->count] = of;
        thresholds[spreads->count] = otsu_threshold(of, &share);
        is_bimodal &= share > BIMODAL_SHARE;
        spreads->at[spreads->count].cold = measure->accesses[ref] *
                                           (double)psnap_distances_cold(of) /
                                           (double)psnap_distances_accesses(of);
        spreads->sizes[spreads->count++] = growing->sizes[i];
    }
    for (size_t i = 0; i < spreads->count; i++) {
        struct spread *at = &spreads->at[i];
        const uint64_t between = is_bimodal ? thresholds[i] : UINT64_MAX;
        at->shares[0] = take_quantiles(distances[i], 0, between, at->quantiles[0]);
        at->shares[1] = take_quantiles(distances[i], between, UINT64_MAX, at->quantiles[1]);
    }
}

/* By how many lines a distance is off because a row of data begins and ends within lines. */
enum { DISTANCE_ROUNDING = 1 };

/* A value of each spread, which lies `offset` doubles into it, at the wanted size. */
static double grown_value(const struct spreads *spreads, size_t offset, double size,
                          double tolerance)
{
    double values[GROWTH_SIZES_MAX];
    struct growth growth;

    for (size_t i = 0; i < spreads->count; i++)
        values[i] = *(const double *)((const char *)&spreads->at[i] + offset);
    growth = growth_fit(spreads->sizes, values, spreads->count, tolerance);
    return growth_at(&growth, size);
}

/* The spread of a reference at the wanted size; false: too few inputs have it. */
static bool grow_spread(const struct growing *growing, size_t plan, uint32_t ref,
                        struct spread *spread)
{
    struct spreads spreads;
    double sum;

    take_spreads(growing, plan, ref, &spreads);
    if (spreads.count < GROWTH_SIZES_MIN)
        return false;
    spread->cold = grown_value(&spreads, offsetof(struct spread, cold), growing->size, 0.5);
    sum = spread->cold;
    for (int m = 0; m < SPREAD_MODES; m++) {
        const size_t offset = (size_t)m * sizeof spread->quantiles[0];
        spread->shares[m] =
            grown_value(&spreads, offsetof(struct spread, shares) + (size_t)m * sizeof(double),
                        growing->size, 0.5);
        sum += spread->shares[m];
        for (size_t q = 0; q < SPREAD_QUANTILES; q++)
            spread->quantiles[m][q] = grown_value(
                &spreads, offsetof(struct spread, quantiles) + offset + q * sizeof(double),
                growing->size, DISTANCE_ROUNDING);
    }
    spread->cold /= fmax(sum, 1);
    for (int m = 0; m < SPREAD_MODES; m++)
        spread->shares[m] /= fmax(sum, 1);
    return sum > 0;
}

/* The cold accesses of the references that have a spread, in an input. */
static double cold_of(const struct target *target, const struct measure *measure, size_t plan)
{
    const uint32_t refs = target->base->program->ref_count;
    double cold = 0;

    for (uint32_t ref = 0; ref < refs; ref++) {
        const struct psnap_distances *of = measure->distances[plan * refs + ref];
        if (of && target->spreads[plan * refs + ref])
            cold += measure->accesses[ref] * (double)psnap_distances_cold(of) /
                    (double)psnap_distances_accesses(of);
    }
    return cold;
}

/*
 * Cold accesses of a reference may be too few to see how they grow; those of all together are
 * not, and each gets its part of them. They are the lines that there are, of which no distance has
 * more.
 */
static void bound_spreads(struct target *target, const struct growing *growing, size_t plan)
{
    const uint32_t refs = target->base->program->ref_count;
    struct spread **spreads = &target->spreads[plan * refs];
    double values[GROWTH_SIZES_MAX], sum = 0, lines = 0;
    struct growth growth;

    for (size_t i = 0; i < growing->count; i++)
        values[i] = cold_of(target, growing->measures[i], plan);
    growth = growth_fit(growing->sizes, values, growing->count, 0.5);
    for (uint32_t ref = 0; ref < refs; ref++)
        sum += spreads[ref] ? target->accesses[ref] * spreads[ref]->cold : 0;
    for (uint32_t ref = 0; ref < refs && sum > 0; ref++) {
        struct spread *spread = spreads[ref];
        const double cold =
            spread ? fmin(spread->cold * growth_at(&growth, growing->size) / sum, 1) : 0;
        for (int m = 0; m < SPREAD_MODES && spread; m++)
            spread->shares[m] *= spread->cold < 1 ? (1 - cold) / (1 - spread->cold) : 0;
        if (spread)
            spread->cold = cold;
    }
    for (uint32_t ref = 0; ref < refs; ref++) {
        const struct psnap_distances *of = target->base->distances[plan * refs + ref];
        if (spreads[ref])
            lines += target->accesses[ref] * spreads[ref]->cold;
        else if (of)
            lines += target->accesses[ref] * (double)psnap_distances_cold(of) /
                     (double)psnap_distances_accesses(of);
    }
    for (uint32_t ref = 0; ref < refs; ref++)
        for (int i = 0; i < SPREAD_MODES * SPREAD_QUANTILES && spreads[ref]; i++) {
            double *distance = &spreads[ref]->quantiles[i / SPREAD_QUANTILES][i % SPREAD_QUANTILES];
            *distance = fmin(*distance, lines);
        }
}

static enum psnap_status grow_spreads(struct target *target, const struct growing *growing,
                                      struct psnap_error *error)
{
    const uint32_t refs = target->base->program->ref_count;

    for (size_t plan = 0; plan < target->base->plan_count; plan++) {
        for (uint32_t ref = 0; ref < refs; ref++) {
            struct spread *spread = malloc(sizeof *spread);
            if (!spread)
                return no_memory(error);
            if (grow_spread(growing, plan, ref, spread))
                target->spreads[plan * refs + ref] = spread;
            else
                free(spread);
        }
        bound_spreads(target, growing, plan);
    }
    return PSNAP_OK;
}

/* What `of` has of each measure at `index`, at the wanted size. *left_out (may be NULL) gets by how
 * much the fit misses inputs that it did without. */
static double grown_entry(const struct growing *growing,
                          const double *(*of)(const struct measure *measure), size_t index,
                          double *left_out)
{
    double values[GROWTH_SIZES_MAX];
    struct growth growth;

    for (size_t i = 0; i < growing->count; i++)
        values[i] = of(growing->measures[i])[index];
    growth = growth_fit(growing->sizes, values, growing->count, 0.5);
    if (left_out)
        *left_out = growth.left_out;
    return growth_at(&growth, growing->size);
}

static const double *accesses_of(const struct measure *measure)
{
    return measure->accesses;
}

static const double *operations_of(const struct measure *measure)
{
    return measure->operations;
}

static const double *iterations_of(const struct measure *measure)
{
    return measure->iterations;
}

static const double *entries_of(const struct measure *measure)
{
    return measure->entries;
}

enum psnap_status target_grown(struct target *target, const struct measure *const *measures,
                               const double *sizes, size_t count, double size, bool fixed,
                               struct psnap_error *error)
{
    const struct growing growing = {measures, sizes, count, size};
    const struct psnap_program *program = measures[count - 1]->program;
    double all = 0;
    enum psnap_status status;

    for (size_t i = 0; i + 1 < count; i++)
        if (!target_is_same_program(measures[i], measures[count - 1]))
            return psnap_error_set(
                error, PSNAP_ERROR_VALUE,
                "input %zu and the last one, %zu, are of two programs: record all "
                "of them, as traces, with the same build",
                i + 1, count);
    status = target_begin(target, measures[count - 1], error);
    if (status)
        return status;
    for (uint32_t i = 0; i < program->ref_count; i++) {
        double left_out;
        target->accesses[i] = grown_entry(&growing, accesses_of, i, &left_out);
        target->left_out += left_out * target->accesses[i];
        all += target->accesses[i];
    }
    target->left_out /= fmax(all, 1);
    for (uint32_t i = 0; i < program->loop_count; i++) {
        target->iterations[i] = grown_entry(&growing, iterations_of, i, NULL);
        target->entries[i] = grown_entry(&growing, entries_of, i, NULL);
    }
    for (size_t i = 0; i < (size_t)program->loop_count * PSNAP_OPERATION_COUNT; i++)
        target->operations[i] = grown_entry(&growing, operations_of, i, NULL);
    return fixed ? PSNAP_OK : grow_spreads(target, &growing, error);
}
