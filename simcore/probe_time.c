/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time of pieces of code on this computer. Time in cycles is time in units of a dependent integer
 * addition, which takes one cycle wherever clocks are counted: a chain of additions is timed in
 * turns with what is measured, so that a clock that changes changes both. (The time stamp counter
 * has a frequency of its own.)
 *
 * A figure is the median of many runs of a quarter of a millisecond: short against the time slices
 * of a system, so that most runs are not interrupted, and long against reading the time. The
 * minimum would do for times, which others can only make longer, but not for their quotient: a
 * chain that was interrupted makes it too small. How far its runs are apart says how sure it is.
 */
#include <stdarg.h>
#include <stdlib.h>

#include "formats/base/reals.h"
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

double survey_median(double *values, size_t n)
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
    time = (struct probe_time){survey_median(cycles, n), survey_median(times, n), .runs = n};
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
