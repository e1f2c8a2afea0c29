/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A recorded run of several threads, simulated on the same machines as the mimicked stream. Numbers
 * of accesses of its threads are compared with those of the mimicked cores, both in ascending
 * order: threads have numbers in the order in which they began, which need not be that of OpenMP.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predict/multicore/cmd_multicore.h"
#include "predict/multicore/marks.h"
#include "profile/profile.h"

/* What is known of a run before it is simulated. */
struct recorded {
    struct psnap_source *source; /* its program knows all references when it has been read */
    struct psnap_profile *profile;
    struct marks marks;
    uint32_t threads;
    uint64_t accesses[PSNAP_CORES_MAX]; /* by thread, without marks */
};

static void take_block(struct recorded *recorded, const struct psnap_access *block, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t thread = block[i].thread;

        if (thread >= recorded->threads)
            recorded->threads = thread + 1;
        if (thread < PSNAP_CORES_MAX && recorded->marks.of[block[i].ref].kind == MARK_NONE)
            recorded->accesses[thread]++;
    }
}

/* Reads all of the run. */
static enum psnap_status read_through(struct recorded *recorded, struct psnap_error *error)
{
    struct psnap_access *block = malloc(PSNAP_BLOCK_ACCESSES * sizeof *block);
    ssize_t n = block ? 1 : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");

    while (n > 0) {
        n = psnap_source_next(recorded->source, block, PSNAP_BLOCK_ACCESSES, error);
        if (n > 0 && !marks_update(&recorded->marks, recorded->source->program))
            n = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        if (n > 0)
            take_block(recorded, block, (size_t)n);
    }
    free(block);
    return (enum psnap_status)n;
}

/* Whether a parallel section of the run has this name. */
static bool has_section(const struct recorded *recorded, const char *id)
{
    const struct psnap_program *program = recorded->source->program;

    for (uint32_t i = 0; i < recorded->marks.count; i++)
        if (recorded->marks.of[i].kind == MARK_PARALLEL &&
            !strcmp(program->loops[program->refs[i].loop].id, id))
            return true;
    return false;
}

/* Whether it is a run of the same sections, and of so many threads. */
static enum psnap_status check(const struct multicore *study, const struct recorded *recorded,
                               uint32_t cores, struct psnap_error *error)
{
    for (size_t s = 1; s < study->tasks.count; s++)
        if (!has_section(recorded, study->tasks.tasks[s].id))
            return psnap_error_set(error, PSNAP_ERROR_VALUE,
                                   "'%s' has no parallel section %s, which '%s' has: --against "
                                   "needs a run of the same program, with marks",
                                   study->against, study->tasks.tasks[s].id, study->path);
    if (recorded->threads != cores)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "'%s' has %" PRIu32 " threads, not %" PRIu32
                               ": record it with OMP_NUM_THREADS=%" PRIu32,
                               study->against, recorded->threads, cores, cores);
    return PSNAP_OK;
}

static int by_size(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* The largest |mimicked - recorded| / recorded of the cores. */
static double difference(const uint64_t *mimicked, const uint64_t *recorded, uint32_t cores)
{
    uint64_t a[PSNAP_CORES_MAX], b[PSNAP_CORES_MAX];
    double largest = 0;

    memcpy(a, mimicked, cores * sizeof *a);
    memcpy(b, recorded, cores * sizeof *b);
    qsort(a, cores, sizeof *a, by_size);
    qsort(b, cores, sizeof *b, by_size);
    for (uint32_t i = 0; i < cores; i++)
        if (a[i] != b[i])
            largest = fmax(largest, fabs((double)a[i] - (double)b[i]) / (double)b[i]);
    return largest;
}

/* The threads of the trace, a reader each, aligned. NULL with `error` filled. */
static struct psnap_source *open_threads(const char *path, uint32_t threads,
                                         struct psnap_program *program, struct psnap_error *error)
{
    const struct psnap_input_options again = {
        .count = UINT64_MAX, .is_again = true, .is_lane = true};
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

/* Simulates the run, which has been read, into the totals of the machines. */
static enum psnap_status simulate(const struct multicore *study, const struct recorded *recorded,
                                  const struct multicore_run *run, struct psnap_error *error)
{
    const struct psnap_sim_options options = {.cores = run->cores};
    struct psnap_program *program = recorded->source->program;
    struct psnap_source *aligned = open_threads(study->against, recorded->threads, program, error);
    struct psnap_sink *sim =
        aligned ? psnap_sim_new(study->machines, study->machine_count, program, &options, error)
                : NULL;
    enum psnap_status status = sim ? psnap_pump(aligned, sim, NULL, error) : error->code;

    for (size_t m = 0; m < study->machine_count && !status; m++) {
        struct multicore_row *total = multicore_row(study, run, m, study->tasks.count);
        struct psnap_tally tally = {0};
        psnap_sim_add_total(sim, m, &tally);
        for (uint32_t l = 0; l < study->machines[m].level_count; l++)
            total->rates[MULTICORE_OBSERVED].levels[l] = psnap_tally_cumulative(&tally, l);
    }
    psnap_sink_free(sim);
    psnap_source_free(aligned);
    return status;
}

enum psnap_status multicore_observe(struct multicore *study, struct multicore_run *run,
                                    struct psnap_error *error)
{
    struct recorded recorded = {.threads = 0};
    struct psnap_input_options input = PSNAP_INPUT_DEFAULTS;
    enum psnap_status status;

    input.kept = &recorded.profile;
    recorded.source = psnap_input_open(study->against, &input, error);
    if (recorded.source && multicore_has_order(recorded.profile, study->against, error))
        status = read_through(&recorded, error);
    else
        status = error->code;
    if (!status)
        status = check(study, &recorded, run->cores, error);
    if (!status)
        status = simulate(study, &recorded, run, error);
    if (!status)
        study->core_difference = difference(study->core_accesses, recorded.accesses, run->cores);
    psnap_source_free(recorded.source);
    psnap_profile_free(recorded.profile);
    marks_release(&recorded.marks);
    return status;
}
