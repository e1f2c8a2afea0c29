/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measured numbers: their order, their digits, and the clock they come from.
 */
#ifndef PSNAP_BASE_REALS_H
#define PSNAP_BASE_REALS_H

#include <math.h>

/* For qsort() of doubles, ascending; none is NaN. */
static inline int psnap_reals_compare(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* `value` to so many decimal digits, 1 to 15, written as few as that; 0 for 0 and what is not
 * finite. */
static inline double psnap_reals_round(double value, int digits)
{
    double scale;

    if (!isfinite(value) || !(fabs(value) > 0))
        return 0;
    scale = pow(10, digits - 1 - floor(log10(fabs(value))));
    return scale >= 1 ? round(value * scale) / scale
                      : round(value / round(1 / scale)) * round(1 / scale);
}

/* Seconds of a clock that only goes forward, from some moment on. */
double psnap_reals_now(void);

#endif
