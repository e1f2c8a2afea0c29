/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a system says of its caches is their sizes. How they replace lines it does not say, and of
 * a cache that many cores share, or a virtual machine's, a program has a part, perhaps another one
 * from moment to moment. Bandwidths of arrays between two levels show both: under LRU they would
 * fall at once, under random replacement they fall slowly, and where they fall is the size.
 *
 * So variants of the machine are tried: as it is; with random replacement behind the first level;
 * with a half of the last level, a quarter and so on, down to twice the level before it; with a
 * half more, a quarter more and a quarter less than the best of these; and with two or three levels
 * in its place, sizes spread between the level before it and twice the best, which is a mixture of
 * shares. The variant is taken whose rates explain the times best, by the fit that is fastest
 * (METHOD_NNLS), and a simpler one when a further one is not better by a twentieth. One that there
 * cannot be is passed over.
 */
#include "predict/bandwidth/calibrate.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predict/bandwidth/fit.h"

#define BETTER 0.95
#define GOOD 0.005 /* an error that nothing needs to be better than */
#define HALVINGS_MAX 16

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

/* The error of a variant by some of the points: where bandwidth falls they all show, and simulating
 * takes long. */
static enum psnap_status judge(const struct maps *maps, const struct psnap_machine *machine,
                               double *mean_error, struct psnap_error *error)
{
    const struct fit_settings settings = {.by_kind = true};
    struct maps some = {0};
    struct fit_result result;
    enum psnap_status status = PSNAP_OK;

    for (size_t i = 0; i < maps->count && !status; i++) {
        const struct map_point *point = &maps->points[i];
        const bool is_shown = point->step <= 8 || point->step == 64; /* lines, and every 8th */

        if (point->probe == MAP_STRIDED && is_shown && !maps_add(&some, point))
            status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for points");
    }
    if (!status)
        status = maps_supply(&some, machine, NULL, NULL, error);
    *mean_error = INFINITY; /* too few points to tell */
    if (!status && some.count && !fit_points(&some, METHOD_NNLS, &settings, &result, NULL))
        *mean_error = result.mean_error;
    maps_release(&some);
    return status;
}

struct search {
    const struct maps *maps;
    const struct psnap_machine *machine;
    struct psnap_machine best; /* so far */
    struct calibration chosen;
    double least; /* its error */
    uint32_t tried, count;
    void (*tell)(void *context, uint32_t variant, uint32_t count);
    void *context;
};

static enum psnap_status try_variant(struct search *search, struct calibration calibration,
                                     struct psnap_error *error)
{
    struct psnap_machine variant;
    double mean_error;
    enum psnap_status status;

    if (machine_vary(search->machine, &calibration, &variant, NULL))
        return PSNAP_OK;
    search->tried++;
    if (search->tell)
        search->tell(search->context, search->tried, search->count);
    status = judge(search->maps, &variant, &mean_error, error);
    if (status ||
        (search->tried > 1 && (search->least < GOOD || !(mean_error < BETTER * search->least))))
        return status;
    search->least = mean_error;
    search->best = variant;
    search->chosen = calibration;
    return PSNAP_OK;
}

/* How often the last level can be halved and be twice the one before it. */
static uint32_t halvings_of(const struct psnap_machine *machine)
{
    const uint32_t last = machine->level_count - 1;
    uint32_t halvings = 0;

    while (last && halvings < HALVINGS_MAX &&
           machine->levels[last].size_bytes >> (halvings + 1) >=
               2 * machine->levels[last - 1].size_bytes)
        halvings++;
    return halvings;
}

static enum psnap_status search_variants(struct search *search, struct psnap_error *error)
{
    static const double around[] = {1.5, 1.25, 0.75};
    const uint32_t halvings = halvings_of(search->machine);
    double share;
    enum psnap_status status;

    search->count = 2 + halvings + sizeof around / sizeof around[0] + 2;
    status = try_variant(search, (struct calibration){false, 1, 1}, error);
    if (!status)
        status = try_variant(search, (struct calibration){true, 1, 1}, error);
    for (uint32_t i = 1; i <= halvings && !status; i++)
        status = try_variant(search, (struct calibration){true, 1, ldexp(1, -(int)i)}, error);
    share = search->chosen.share;
    for (size_t i = 0; i < sizeof around / sizeof around[0] && !status; i++)
        if (share * around[i] <= 1)
            status = try_variant(search, (struct calibration){true, 1, share * around[i]}, error);
    share = fmin(2 * search->chosen.share, 1);
    for (uint32_t parts = 2; parts <= 3 && !status; parts++)
        status = try_variant(search, (struct calibration){true, parts, share}, error);
    return status;
}

enum psnap_status maps_calibrate(const struct maps *maps, const struct psnap_machine *machine,
                                 struct psnap_machine *calibrated,
                                 void (*tell)(void *context, uint32_t variant, uint32_t count),
                                 void *context, struct psnap_error *error)
{
    struct search search = {.maps = maps,
                            .machine = machine,
                            .best = *machine,
                            .least = INFINITY,
                            .tell = tell,
                            .context = context};
    const enum psnap_status status = search_variants(&search, error);

    *calibrated = search.best;
    return status;
}
