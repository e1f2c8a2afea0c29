/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A recorded run of several threads, simulated on the same machines as the mimicked stream.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "predict/multicore/cmd_multicore.h"

/* Reads all of the trace, for its program, which knows all references then; counts threads. */
static enum psnap_status read_through(struct psnap_source *source, uint32_t *threads,
                                      struct psnap_error *error)
{
    struct psnap_access *block = malloc(PSNAP_BLOCK_ACCESSES * sizeof *block);
    ssize_t n = block ? 1 : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");

    *threads = 0;
    while (n > 0) {
        n = psnap_source_next(source, block, PSNAP_BLOCK_ACCESSES, error);
        for (ssize_t i = 0; i < n; i++)
            *threads = block[i].thread >= *threads ? block[i].thread + 1u : *threads;
    }
    free(block);
    return (enum psnap_status)n;
}

/* The threads of the trace, a reader each, aligned. NULL with `error` filled. */
static struct psnap_source *open_threads(const char *path, uint32_t threads,
                                         struct psnap_program *program, struct psnap_error *error)
{
    const struct psnap_input_options again = {.count = UINT64_MAX, .is_again = true};
    struct psnap_source *sources[PSNAP_CORES_MAX], *aligned;

    for (uint32_t i = 0; i < threads; i++) {
        struct psnap_source *file = psnap_input_open(path, &again, error);
        sources[i] = file ? psnap_thread_source_new(file, (uint16_t)i) : NULL;
        if (sources[i])
            continue;
        if (file)
            psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        while (i)
            psnap_source_free(sources[--i]);
        return NULL;
    }
    aligned = psnap_aligned_new(sources, threads, program);
    if (!aligned)
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return aligned;
}

enum psnap_status multicore_observe(struct multicore *study, struct multicore_run *run,
                                    struct psnap_error *error)
{
    const struct psnap_sim_options options = {.cores = run->cores};
    struct psnap_source *tables = psnap_input_open(study->against, NULL, error), *aligned = NULL;
    struct psnap_sink *sim = NULL;
    uint32_t threads = 0;
    enum psnap_status status = tables ? read_through(tables, &threads, error) : error->code;

    if (!status && threads != run->cores)
        status = psnap_error_set(error, PSNAP_ERROR_VALUE,
                                 "'%s' has %" PRIu32 " threads, not %" PRIu32
                                 ": record it with OMP_NUM_THREADS=%" PRIu32,
                                 study->against, threads, run->cores, run->cores);
    if (!status)
        aligned = open_threads(study->against, threads, tables->program, error);
    if (aligned)
        sim =
            psnap_sim_new(study->machines, study->machine_count, tables->program, &options, error);
    if (!status)
        status = sim ? psnap_pump(aligned, sim, NULL, error) : error->code;
    for (size_t m = 0; m < study->machine_count && !status; m++) {
        struct multicore_row *total = multicore_row(study, run, m, study->tasks.count);
        struct psnap_tally tally = {0};
        psnap_sim_add_total(sim, m, &tally);
        for (uint32_t l = 0; l < study->machines[m].level_count; l++)
            total->rates[MULTICORE_OBSERVED].levels[l] = psnap_tally_cumulative(&tally, l);
    }
    psnap_sink_free(sim);
    psnap_source_free(aligned);
    psnap_source_free(tables);
    return status;
}
