/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a system says of its caches is their sizes. How they replace lines it does not say, and of
 * a cache that many cores share, or a virtual machine's, a program has a part, perhaps another one
 * from moment to moment. Bandwidths of arrays between two levels show both: under LRU they would
 * fall at once, under random replacement they fall slowly, and where they fall is the size.
 *
 * So variants of the machine are tried: as it is; with random replacement behind the first level;
 * with three quarters of the last level, and less; and with two or three levels in its place, sizes
 * spread between the level before it and its own, which is a mixture of shares. The variant is
 * taken whose rates explain the times best, by the fit that is fastest (METHOD_NNLS), and a simpler
 * one when a further one is not better by a twentieth. One that there cannot be is passed over.
 */
#include "predict/bandwidth/calibrate.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predict/bandwidth/fit.h"

#define BETTER 0.95

static const struct calibration calibrations[] = {
    {false, 1, 1},  {true, 1, 1},     {true, 1, 0.75}, {true, 1, 0.625},
    {true, 1, 0.5}, {true, 1, 0.375}, {true, 2, 1},    {true, 3, 1},
};

enum { CALIBRATIONS = sizeof calibrations / sizeof calibrations[0] };

static void describe(const struct psnap_machine *machine, const struct calibration *calibration,
                     struct psnap_machine *variant)
{
    char more[80] = "";

    if (calibration->parts > 1)
        snprintf(more, sizeof more, ", %" PRIu32 " shares of the last cache", calibration->parts);
    else if (calibration->share < 1)
        snprintf(more, sizeof more, ", %g of the last cache", calibration->share);
    snprintf(variant->description, sizeof variant->description, "%.140s%s%s%s",
             machine->description, machine->description[0] ? "; " : "",
             calibration->is_random ? "random replacement" : "as described", more);
}

static uint64_t whole_sets(const struct psnap_cache_level *level, double bytes)
{
    const uint64_t set = level->line_bytes * level->ways;

    return (uint64_t)(bytes / (double)set + 0.5) * set;
}

enum psnap_status machine_vary(const struct psnap_machine *machine,
                               const struct calibration *calibration, struct psnap_machine *variant,
                               struct psnap_error *error)
{
    const uint32_t last = machine->level_count - 1, parts = calibration->parts;
    const struct psnap_cache_level *level = &machine->levels[last];
    const double nearer = last ? (double)machine->levels[last - 1].size_bytes : 0;
    const double whole = calibration->share * (double)level->size_bytes;

    *variant = *machine;
    if (last + parts > PSNAP_LEVELS_MAX || (!last && (parts > 1 || calibration->is_random)))
        return psnap_error_set(error, PSNAP_ERROR_UNSUPPORTED, "no such variant");
    for (uint32_t part = 0; part < parts; part++) {
        struct psnap_cache_level *share = &variant->levels[last + part];
        const double exponent = (part + 1.0) / (double)parts;

        *share = *level;
        share->size_bytes =
            whole_sets(level, parts > 1 ? nearer * pow(whole / nearer, exponent) : whole);
        share->effective_bytes = 0;
        if (level->name[0] && parts > 1)
            snprintf(share->name, sizeof share->name, "%.20s.%" PRIu32, level->name, part + 1);
    }
    variant->level_count = last + parts;
    for (uint32_t i = 1; calibration->is_random && i < variant->level_count; i++)
        if (variant->levels[i].replacement == PSNAP_REPLACE_LRU)
            variant->levels[i].replacement = PSNAP_REPLACE_RANDOM;
    describe(machine, calibration, variant);
    return psnap_machine_check(variant, error);
}

static enum psnap_status judge(struct maps *maps, const struct psnap_machine *machine,
                               double *mean_error, struct psnap_error *error)
{
    const struct fit_settings settings = {.by_kind = true};
    struct fit_result result;
    enum psnap_status status = maps_supply(maps, machine, NULL, NULL, error);

    *mean_error = INFINITY; /* too few points to tell */
    if (!status && !fit_points(maps, METHOD_NNLS, &settings, &result, NULL))
        *mean_error = result.mean_error;
    return status;
}

/* The supplies of the best variant so far. */
static void keep(const struct maps *maps, struct supply *kept)
{
    for (size_t i = 0; i < maps->count; i++)
        kept[i] = maps->points[i].supply;
}

enum psnap_status maps_calibrate(struct maps *maps, const struct psnap_machine *machine,
                                 void (*tell)(void *context, uint32_t variant, uint32_t count),
                                 void *context, struct psnap_error *error)
{
    struct supply *kept = calloc(maps->count + 1, sizeof *kept);
    struct psnap_machine best = *machine, variant;
    double least = INFINITY, mean_error;
    enum psnap_status status = PSNAP_OK;

    if (!kept)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for points");
    for (uint32_t i = 0; i < CALIBRATIONS && !status; i++) {
        if (tell)
            tell(context, i + 1, CALIBRATIONS);
        if (machine_vary(machine, &calibrations[i], &variant, NULL))
            continue;
        status = judge(maps, &variant, &mean_error, error);
        if (!status && (!i || mean_error < BETTER * least)) {
            least = mean_error;
            best = variant;
            keep(maps, kept);
        }
    }
    for (size_t i = 0; i < maps->count; i++)
        maps->points[i].supply = kept[i];
    maps->machine = best;
    free(kept);
    return status;
}
