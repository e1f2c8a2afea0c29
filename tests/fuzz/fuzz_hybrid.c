/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables of observations from arbitrary bytes: an error with a message, or observations that make
 * sense, and an analysis that ends with a verdict or an error.
 */
#include <math.h>

#include "predict/hybrid/hybrid.h"
#include "tests/fuzz/fuzz.h"

static void check_row(const struct observation *row)
{
    must(row->size > 0 && row->cpi > 0 && row->levels <= OBSERVED_LEVELS_MAX);
    must(!(row->cpi_pipeline < 0) && !(row->cpi_memory < 0)); /* they may be unknown */
    for (uint32_t i = 0; i < row->levels; i++)
        must(row->hits[i] >= 0 && !(row->latencies[i] <= 0));
}

static void analyse(struct observations *observations, bool sizes_as_replicates)
{
    const struct hybrid_options options = {0.05, 0.05, sizes_as_replicates};
    struct psnap_error error = {0};
    struct hybrid hybrid;

    if (hybrid_make(&hybrid, observations, &options, &error) != PSNAP_OK)
        must_refuse(&error);
    else
        for (size_t c = 0; c < hybrid.code_count; c++)
            must(hybrid.codes[c].verdict[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct observations observations = {.arena = psnap_arena_new()};
    struct psnap_error error = {0};
    FILE *file;

    must(observations.arena != NULL);
    if (!size) {
        psnap_arena_free(observations.arena);
        return 0;
    }
    file = open_text(data, size);
    if (observations_read(&observations, file, "in", &error) != PSNAP_OK) {
        must_refuse(&error);
    } else {
        for (size_t i = 0; i < observations.count; i++)
            check_row(&observations.rows[i]);
        for (int sizes = 0; sizes < 2 && observations.count < 500; sizes++)
            analyse(&observations, sizes);
    }
    observations_release(&observations);
    psnap_arena_free(observations.arena);
    fclose(file);
    return 0;
}
