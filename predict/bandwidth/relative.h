/* SPDX-License-Identifier: BSD-3-Clause */
/* How much longer runs take on a machine than on another one, over several programs. */
#ifndef PSNAP_PREDICT_BANDWIDTH_RELATIVE_H
#define PSNAP_PREDICT_BANDWIDTH_RELATIVE_H

#include <stddef.h>

struct relative {
    const char *machine;
    size_t count;
    double mean, squares; /* squares: sum of those of deviations from the mean */
};

/* Another program's seconds / base - 1, `base` being its seconds on the other machine. */
void relative_add(struct relative *relative, double value);
/* Standard deviation of a sample; NaN of one run. */
double relative_deviation(const struct relative *relative);
/* Sorts machines, the fastest first. */
void relative_sort(struct relative *machines, size_t count);

#endif
