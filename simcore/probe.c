/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measuring this computer. Time in cycles is time in units of a dependent integer addition, which
 * takes one cycle wherever clocks are counted: a chain of additions is timed in turns with what is
 * measured, so that a clock that changes changes both. (The time stamp counter has a frequency of
 * its own.)
 *
 * A figure is the median of many runs of a quarter of a millisecond: short against the time slices
 * of a system, so that most runs are not interrupted, and long against reading the time. The
 * minimum would do for times, which others can only make longer, but not for their quotient: a
 * chain that was interrupted makes it too small. How far its runs are apart says how sure it is.
 */
#include "simcore/probe.h"

#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/base/reals.h"
#include "formats/base/rng.h"
#include "simcore/machine.h"
#include "simcore/probe_survey.h"

#define RUN_SECONDS 250e-6
#define ADDITIONS 4096 /* steps of the chain beside each run: about 35 us */
#define REPEATS_MAX 8192

static double time_run(struct probe_kernel kernel, uint64_t steps)
{
    double begin;

    if (kernel.prepare)
        kernel.prepare(kernel.context);
    begin = psnap_reals_now();
    kernel.run(kernel.context, steps);
    return psnap_reals_now() - begin;
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, psnap_reals_compare);
    return values[n / 2];
}

struct probe_time probe_measure(struct probe_kernel kernel, double seconds, double limit)
{
    double share, cycles[REPEATS_MAX], times[REPEATS_MAX];
    const struct probe_kernel additions = probe_operation(PSNAP_OP_INT_ADD, true, &share);
    const double end = psnap_reals_now() + seconds;
    uint64_t steps = 1;
    size_t n = 0;

    struct probe_time time;

    while (time_run(kernel, steps) < RUN_SECONDS && psnap_reals_now() < limit)
        steps *= 2;
    while (!n || (psnap_reals_now() < limit &&
                  (n < PROBE_RUNS_MIN || (n < REPEATS_MAX && psnap_reals_now() < end)))) {
        const double cycle = time_run(additions, ADDITIONS) * share / ADDITIONS;

        times[n] = time_run(kernel, steps) / (double)steps;
        cycles[n] = times[n] / cycle;
        n++;
    }
    time = (struct probe_time){median(cycles, n), median(times, n), .runs = n};
    time.spread = (cycles[n - 1 - n / 4] - cycles[n / 4]) / time.cycles;
    return time;
}

double survey_rounded(double value)
{
    return value > 0 ? psnap_reals_round(value, 3) : 0;
}

struct probe_time survey_measure(struct survey *survey, struct probe_kernel kernel, double slices,
                                 const char *format, ...)
{
    struct probe_notes *notes = survey->notes;
    struct probe_figure *figure = &notes->figures[notes->figure_count];
    va_list arguments;
    struct probe_time time;

    va_start(arguments, format);
    vsnprintf(figure->what, sizeof figure->what, format, arguments);
    va_end(arguments);
    if (survey->progress.tell)
        survey->progress.tell(survey->progress.context, figure->what, survey->done / survey->all);
    survey->done += slices;
    time = probe_measure(kernel, slices * survey->slice, survey->limit);
    figure->spread = time.spread;
    figure->runs = time.runs;
    notes->is_short |= time.runs < PROBE_RUNS_MIN;
    survey->clocks[notes->figure_count] = time.cycles / time.seconds;
    notes->figure_count += notes->figure_count + 1 < PROBE_FIGURES_MAX;
    return time;
}

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
    machine->clock_hz = survey_rounded(median(survey.clocks, notes->figure_count));
    if (is_pinned)
        sched_setaffinity(0, sizeof before, &before);
    else
        notes->cpu = -1;
    if (!status)
        survey_parallel(&survey);
    notes->seconds = psnap_reals_now() - survey.begin;
    return status;
}
