/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a system says of its caches is their sizes. How they replace lines it does not say, and of
 * a cache that many cores share, or a virtual machine's, a program has more or less from moment to
 * moment. Bandwidths of arrays between two levels show both: under LRU they would fall at once,
 * under random replacement they fall slowly, and so they do, the slower, the more a share changes.
 *
 * So variants of the machine are tried: as it is; with random replacement in all levels behind the
 * first; and with the last level as two or three levels of its line and ways, whose sizes are
 * spread between the level before it and its own: a mixture of shares. The variant is taken whose
 * rates explain the times best, by the fit that is fastest (METHOD_NNLS), and a simpler one when a
 * further one is not better by a twentieth.
 */
#include "predict/bandwidth/calibrate.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predict/bandwidth/fit.h"

#define BETTER 0.95

enum psnap_status machine_vary(const struct psnap_machine *machine, uint32_t parts,
                               struct psnap_machine *variant, struct psnap_error *error)
{
    const uint32_t last = machine->level_count - 1;
    const struct psnap_cache_level *level = &machine->levels[last];
    const double nearer = last ? (double)machine->levels[last - 1].size_bytes : 0;
    const uint64_t unit = level->line_bytes * level->ways;

    *variant = *machine;
    for (uint32_t part = 0; last && part + 1 < parts; part++) {
        struct psnap_cache_level *share = &variant->levels[last + part];
        const double size =
            nearer * pow((double)level->size_bytes / nearer, (part + 1.0) / (double)parts);

        *share = *level;
        share->size_bytes = (uint64_t)(size / (double)unit + 0.5) * unit;
        share->effective_bytes = 0;
        if (level->name[0])
            snprintf(share->name, sizeof share->name, "%.20s.%" PRIu32, level->name, part + 1);
    }
    if (last) {
        variant->level_count = last + parts;
        variant->levels[last + parts - 1] = *level;
    }
    for (uint32_t i = 1; i < variant->level_count; i++)
        if (variant->levels[i].replacement == PSNAP_REPLACE_LRU)
            variant->levels[i].replacement = PSNAP_REPLACE_RANDOM;
    if (parts > 1)
        snprintf(variant->description, sizeof variant->description,
                 "%.150s; random replacement and %" PRIu32 " shares of the last cache",
                 machine->description, parts);
    else
        snprintf(variant->description, sizeof variant->description, "%.180s; random replacement",
                 machine->description);
    return psnap_machine_check(variant, error);
}

static enum psnap_status judge(struct maps *maps, const struct psnap_machine *machine,
                               double *mean_error, struct psnap_error *error)
{
    const struct fit_settings settings = {.by_kind = true};
    struct fit_result result;
    enum psnap_status status = maps_supply(maps, machine, NULL, NULL, error);

    if (!status)
        status = fit_points(maps, METHOD_NNLS, &settings, &result, error);
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
    const uint32_t room = PSNAP_LEVELS_MAX - machine->level_count + 1;
    const uint32_t parts_max = machine->level_count < 2 ? 0
                               : room < CALIBRATE_PARTS ? room
                                                        : CALIBRATE_PARTS;
    struct supply *kept = calloc(maps->count + 1, sizeof *kept);
    struct psnap_machine best = *machine, variant;
    double least = INFINITY, mean_error;
    enum psnap_status status = PSNAP_OK;

    if (!kept)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for points");
    for (uint32_t parts = 0; parts <= parts_max && !status; parts++) {
        if (tell)
            tell(context, parts + 1, parts_max + 1);
        if (parts)
            status = machine_vary(machine, parts, &variant, error);
        else
            variant = *machine;
        if (!status)
            status = judge(maps, &variant, &mean_error, error);
        if (!status && mean_error < BETTER * least) {
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
