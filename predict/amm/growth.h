/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a quantity grows with the size of the input.
 */
#ifndef PSNAP_PREDICT_AMM_GROWTH_H
#define PSNAP_PREDICT_AMM_GROWTH_H

#include <stddef.h>

#define GROWTH_SIZES_MAX 32
#define GROWTH_SIZES_MIN 3 /* of which two give the two coefficients, and one the form */

enum growth_form { GROWTH_CONSTANT, GROWTH_POWER, GROWTH_POLYNOMIAL };

struct growth {
    enum growth_form form;
    int low, high;   /* of the polynomial: a n^low + b n^high */
    double a, b;     /* constant: a; power: a n^b */
    double left_out; /* the relative error of an input that the fit did without, in the mean */
};

/*
 * The form that is best at sizes which it was not fitted to (leave one out), fitted to all `count`,
 * GROWTH_SIZES_MIN to GROWTH_SIZES_MAX; sizes are above 0 and differ, values are not negative. An
 * error of up to `tolerance` counts as none.
 */
struct growth growth_fit(const double *sizes, const double *values, size_t count, double tolerance);

/* The value at a size; never negative. */
double growth_at(const struct growth *growth, double size);

#endif
