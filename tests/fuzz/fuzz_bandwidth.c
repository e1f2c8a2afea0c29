/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Points and fits of bandwidth from arbitrary bytes: an error, or points whose shares add up and
 * that read back, or functions that are positive wherever they are asked, and read back.
 */
#include <math.h>

#include "predict/bandwidth/fit.h"
#include "tests/fuzz/fuzz.h"

static void check_points(const struct maps *maps)
{
    struct maps back;
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    for (size_t i = 0; i < maps->count; i++)
        must(fabs(supply_total(&maps->points[i].supply) - 1) < 1e-9 &&
             map_point_bandwidth(&maps->points[i]) > 0);
    must(file && maps_write(maps, file, NULL) == PSNAP_OK);
    fclose(file);
    file = open_text(text, size);
    must(maps_read(file, "back", &back, NULL) == PSNAP_OK && back.count == maps->count);
    fclose(file);
    free(text);
    maps_release(&back);
}

static void check_fits(const struct fits *fits)
{
    static struct fits back;
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    for (size_t i = 0; i < fits->count; i++)
        for (uint32_t level = 0; level <= fits->machine.level_count; level++)
            for (int kind = 0; kind < SUPPLY_KINDS; kind++) {
                struct supply supply = {.accesses[0][SUPPLY_NEAR] = 1};

                supply.accesses[level][kind] += 3;
                must(bandwidth_of(&fits->results[i].model, &supply) > 0);
            }
    must(file && fits_write(fits, file, NULL) == PSNAP_OK);
    fclose(file);
    file = open_text(text, size);
    must(fits_read(file, "back", &back, NULL) == PSNAP_OK && back.count == fits->count);
    fclose(file);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fits fits;
    struct psnap_error error = {0};
    struct maps maps;
    FILE *file;

    if (!size)
        return 0;
    file = open_text(data, size);
    if (maps_read(file, "in", &maps, &error) == PSNAP_OK)
        check_points(&maps);
    else
        must_refuse(&error);
    maps_release(&maps);
    fclose(file);
    file = open_text(data, size);
    if (fits_read(file, "in", &fits, &error) == PSNAP_OK)
        check_fits(&fits);
    else
        must_refuse(&error);
    fclose(file);
    return 0;
}
