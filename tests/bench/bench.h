/* SPDX-License-Identifier: BSD-3-Clause */
/* What benches share: a clock, the median of their rounds, and their end when something fails. */
#ifndef PSNAP_BENCH_H
#define PSNAP_BENCH_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "formats/base/reals.h"
#include "formats/base/status.h"

/* Seconds, of CLOCK_PROCESS_CPUTIME_ID or CLOCK_MONOTONIC. */
static inline double now(clockid_t clock)
{
    struct timespec time;

    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static inline double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, psnap_reals_compare);
    return values[n / 2];
}

static inline void must_be(bool good, const char *what, const struct psnap_error *error)
{
    if (good)
        return;
    fprintf(stderr, "bench: %s%s%s\n", what, error ? ": " : "", error ? error->message : "");
    exit(1);
}

static inline void *must(void *pointer)
{
    must_be(pointer != NULL, "out of memory or failed", NULL);
    return pointer;
}

#endif
