/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Relative times as the paper's Table 11 makes them of its Table 10: t(machine) / t(base) - 1 of
 * each program, and of these the mean and the standard deviation (by Welford's updates).
 */
#include "predict/bandwidth/relative.h"

#include <math.h>
#include <stdlib.h>

void relative_add(struct relative *relative, double value)
{
    const double step = value - relative->mean;

    relative->mean += step / (double)++relative->count;
    relative->squares += step * (value - relative->mean);
}

double relative_deviation(const struct relative *relative)
{
    return relative->count > 1 ? sqrt(relative->squares / (double)(relative->count - 1)) : NAN;
}

static int by_mean(const void *left, const void *right)
{
    const double a = ((const struct relative *)left)->mean;
    const double b = ((const struct relative *)right)->mean;

    return (a > b) - (a < b);
}

void relative_sort(struct relative *machines, size_t count)
{
    qsort(machines, count, sizeof *machines, by_mean);
}
