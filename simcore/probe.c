/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measuring this computer: operations, branches, first touches, caches and memory, functions of the
 * C library and OpenMP, each for its share of the time that there is (probe_time.c).
 */
#include "simcore/probe.h"

#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/base/reals.h"
#include "formats/base/rng.h"
#include "simcore/machine.h"
#include "simcore/probe_survey.h"

static void measure_operations(struct survey *survey)
{
    struct psnap_operation_cost *costs = survey->machine->operations;

    for (int i = 0; i < PSNAP_OPERATION_COUNT; i++) {
        double share;
        struct probe_kernel kernel = probe_operation(i, true, &share);

        if (kernel.run)
            costs[i].latency_cycles = share * survey_measure(survey, kernel, 1, "latency of %s",
                                                             machine_operation_names[i])
                                                  .cycles;
        kernel = probe_operation(i, false, &share);
        costs[i].throughput_cycles = share * survey_measure(survey, kernel, 1, "throughput of %s",
                                                            machine_operation_names[i])
                                                 .cycles;
    }
    costs[PSNAP_OP_FP_SQRT].latency_cycles -= costs[PSNAP_OP_FP_MUL].latency_cycles;
    for (int i = 0; i < PSNAP_OPERATION_COUNT; i++)
        costs[i] = (struct psnap_operation_cost){survey_rounded(costs[i].latency_cycles),
                                                 survey_rounded(costs[i].throughput_cycles)};
}

#define DECISIONS ((size_t)1 << 18)  /* too many to be known again */
#define NEW_BYTES ((size_t)64 << 20) /* for a run of pages */

/* Random decisions beside such that are always the same, of which half are the other way. */
static void measure_mispredictions(struct survey *survey, const struct probe_buffer *buffer)
{
    struct probe_set set = {.base = buffer->base, .bytes = DECISIONS};
    const struct probe_kernel kernel = {.run = probe_branches, .context = &set};
    struct psnap_rng rng;
    double known;

    memset(set.base, 0, set.bytes);
    known = survey_measure(survey, kernel, 1, "predicted branches").cycles;
    psnap_rng_init(&rng, 0);
    for (size_t i = 0; i < set.bytes; i++)
        set.base[i] = (unsigned char)psnap_rng_below(&rng, 2);
    survey->machine->mispredict_cycles =
        survey_rounded((survey_measure(survey, kernel, 1, "mispredicted branches").cycles - known) /
                       (0.5 * PROBE_ACCESSES));
}

static void measure_first_touches(struct survey *survey, const struct probe_buffer *buffer)
{
    struct probe_set set = {.base = buffer->base, .bytes = NEW_BYTES};
    const struct probe_kernel kernel = {.run = probe_first_touches, .context = &set};

    survey->machine->first_touch_cycles = survey_rounded(
        survey_measure(survey, kernel, 2, "first touches of pages").cycles / PROBE_PAGES);
}

static enum psnap_status measure_waits(struct survey *survey, struct psnap_error *error)
{
    struct probe_buffer buffer;
    const bool fits = probe_buffer_init(&buffer, NEW_BYTES, PROBE_LINE_BYTES_MIN);

    if (fits) {
        measure_mispredictions(survey, &buffer);
        measure_first_touches(survey, &buffer);
    }
    probe_buffer_release(&buffer);
    return fits ? PSNAP_OK
                : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for new pages");
}

enum psnap_status probe_machine(struct psnap_machine *machine, double seconds,
                                struct probe_progress progress, struct probe_notes *notes,
                                struct psnap_error *error)
{
    struct survey survey = {.machine = machine, .notes = notes, .progress = progress};
    cpu_set_t before, one;
    bool is_pinned;
    enum psnap_status status;

    *notes = (struct probe_notes){.cpu = sched_getcpu()};
    survey.begin = psnap_reals_now();
    survey.limit = survey.begin + PROBE_LIMIT_SECONDS(seconds);
    survey.all = 2 * PSNAP_OPERATION_COUNT + 4 + 6 * (machine->level_count + 1) +
                 SURVEY_CAPACITY_SLICES + SURVEY_FUNCTIONS_SLICES + SURVEY_PARALLEL_SLICES;
    survey.slice = seconds / survey.all;
    CPU_ZERO(&one);
    is_pinned = notes->cpu >= 0 && notes->cpu < CPU_SETSIZE &&
                sched_getaffinity(0, sizeof before, &before) == 0;
    if (is_pinned) {
        CPU_SET((size_t)notes->cpu, &one);
        is_pinned = sched_setaffinity(0, sizeof one, &one) == 0;
    }
    measure_operations(&survey);
    survey_functions(&survey);
    status = measure_waits(&survey, error);
    if (!status)
        status = survey_places(&survey, error);
    machine->clock_hz = survey_rounded(survey_median(survey.clocks, notes->figure_count));
    if (is_pinned)
        sched_setaffinity(0, sizeof before, &before);
    else
        notes->cpu = -1;
    if (!status)
        survey_parallel(&survey);
    notes->seconds = psnap_reals_now() - survey.begin;
    return status;
}
