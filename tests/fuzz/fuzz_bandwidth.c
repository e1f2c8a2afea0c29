/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Points and fits of bandwidth from arbitrary bytes: an error, or points whose shares add up and
 * that read back, or functions that are positive wherever they are asked, and read back.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predict/bandwidth/fit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static FILE *open_text(const void *text, size_t size)
{
    FILE *file = fmemopen((void *)(uintptr_t)text, size, "r");

    if (!file)
        abort();
    return file;
}

static void check_points(const struct maps *maps)
{
    struct psnap_error error;
    struct maps back;
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    for (size_t i = 0; i < maps->count; i++)
        if (!(fabs(supply_total(&maps->points[i].supply) - 1) < 1e-9) ||
            !(map_point_bandwidth(&maps->points[i]) > 0))
            abort();
    if (!file || maps_write(maps, file, &error) != PSNAP_OK)
        abort();
    fclose(file);
    file = open_text(text, size);
    if (maps_read(file, "back", &back, &error) != PSNAP_OK || back.count != maps->count)
        abort();
    fclose(file);
    free(text);
    maps_release(&back);
}

static void check_fits(const struct fits *fits)
{
    struct psnap_error error;
    struct fits *back = malloc(sizeof *back);
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    for (size_t i = 0; i < fits->count; i++)
        for (uint32_t level = 0; level <= fits->machine.level_count; level++)
            for (int kind = 0; kind < SUPPLY_KINDS; kind++) {
                struct supply supply = {.accesses[0][SUPPLY_NEAR] = 1};

                supply.accesses[level][kind] += 3;
                if (!(bandwidth_of(&fits->results[i].model, &supply) > 0))
                    abort();
            }
    if (!back || !file || fits_write(fits, file, &error) != PSNAP_OK)
        abort();
    fclose(file);
    file = open_text(text, size);
    if (fits_read(file, "back", back, &error) != PSNAP_OK || back->count != fits->count)
        abort();
    fclose(file);
    free(text);
    free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct psnap_error error = {0};
    struct maps maps;
    struct fits *fits = malloc(sizeof *fits);
    FILE *file;

    if (!size || !fits) {
        free(fits);
        return 0;
    }
    file = open_text(data, size);
    if (maps_read(file, "in", &maps, &error) == PSNAP_OK)
        check_points(&maps);
    else if (error.code >= 0 || !error.message[0])
        abort();
    maps_release(&maps);
    fclose(file);
    file = open_text(data, size);
    if (fits_read(file, "in", fits, &error) == PSNAP_OK)
        check_fits(fits);
    else if (error.code >= 0 || !error.message[0])
        abort();
    fclose(file);
    free(fits);
    return 0;
}
