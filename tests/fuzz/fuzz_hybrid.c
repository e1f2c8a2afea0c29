/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables of observations from arbitrary bytes: an error with a message, or observations that make
 * sense, and an analysis that ends with a verdict or an error.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "predict/hybrid/hybrid.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_row(const struct observation *row)
{
    if (!(row->size > 0) || !(row->cpi > 0) || row->cpi_pipeline < 0 || row->cpi_memory < 0 ||
        row->levels > OBSERVED_LEVELS_MAX)
        abort();
    for (uint32_t i = 0; i < row->levels; i++)
        if (!(row->hits[i] >= 0) || row->latencies[i] <= 0)
            abort();
}

static void analyse(struct observations *observations, bool sizes_as_replicates)
{
    const struct hybrid_options options = {0.05, 0.05, sizes_as_replicates};
    struct psnap_error error = {0};
    struct hybrid hybrid;

    if (hybrid_make(&hybrid, observations, &options, &error) != PSNAP_OK) {
        if (!error.message[0])
            abort();
    } else
        for (size_t c = 0; c < hybrid.code_count; c++)
            if (!hybrid.codes[c].verdict[0])
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct observations observations = {.arena = psnap_arena_new()};
    struct psnap_error error = {0};
    FILE *file = size ? fmemopen((void *)(uintptr_t)data, size, "r") : NULL;

    if (file && observations.arena &&
        observations_read(&observations, file, "in", &error) != PSNAP_OK) {
        if (!error.message[0])
            abort();
    } else {
        for (size_t i = 0; i < observations.count; i++)
            check_row(&observations.rows[i]);
        if (observations.count && observations.count < 500)
            for (int sizes = 0; sizes < 2; sizes++)
                analyse(&observations, sizes);
    }
    observations_release(&observations);
    psnap_arena_free(observations.arena);
    if (file)
        fclose(file);
    return 0;
}
