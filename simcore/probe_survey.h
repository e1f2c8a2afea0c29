/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of a survey of this computer share (probe_machine). */
#ifndef PSNAP_SIMCORE_PROBE_SURVEY_H
#define PSNAP_SIMCORE_PROBE_SURVEY_H

#include "simcore/probe.h"

#define PROBE_LINE_BYTES_MIN 32 /* of working sets, whatever a cache has */

struct survey {
    struct psnap_machine *machine;
    struct probe_notes *notes;
    struct probe_progress progress;
    double begin, limit, slice;       /* seconds; a slice for each kernel */
    double done, all;                 /* slices */
    double clocks[PROBE_FIGURES_MAX]; /* of each measurement, Hz */
};

/* One kernel for so many slices. */
struct probe_time survey_measure(struct survey *survey, struct probe_kernel kernel, double slices,
                                 const char *format, ...) PSNAP_PRINTF(4, 5);

/* A figure to three digits, which are more than a measurement has; 0 for one that is not positive.
 */
double survey_rounded(double value);

/* The median of values, which it sorts. */
double survey_median(double *values, size_t n);

/* Times of the caches and of memory, and how much of the last cache there is. */
#define SURVEY_CAPACITY_SLICES 12
enum psnap_status survey_places(struct survey *survey, struct psnap_error *error);

/* What functions of mathematics take. */
#define SURVEY_FUNCTIONS_SLICES 7.0
void survey_functions(struct survey *survey);

/* What parallel sections of OpenMP take; nothing is added where its library is not found. Runs on
 * all processors that it may. */
#define SURVEY_PARALLEL_SLICES 3
void survey_parallel(struct survey *survey);

#endif
