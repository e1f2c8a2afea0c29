/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Growth of distances, accesses and executions with the size n of the input. Candidates have at
 * most two coefficients: a constant; a n^i + b n^j with 0 <= i < j <= 3, which are the trip counts
 * and footprints of rectangular and triangular loop nests; and the power law a n^b for all else.
 * Coefficients are least squares of relative errors (values span orders of magnitude), the power
 * law's of logarithms. Each candidate is fitted to all inputs but one and told to predict that one,
 * for each of them. In this order, one takes the place of the best so far if its mean error is less
 * than half as large: higher powers need a reason, as they make much of little far outside. What
 * quantities that are whole are off by rounding is none. Nothing falls below nought in the end: the
 * highest power's coefficient is not negative. AMM keeps distances as they are in the small input:
 * the constant.
 */
#include "predict/amm/growth.h"

#include <math.h>
#include <stdbool.h>

enum { DEGREE = 3 };

double growth_at(const struct growth *growth, double size)
{
    double value = growth->a;

    if (growth->form == GROWTH_POWER)
        value = growth->a * pow(size, growth->b);
    else if (growth->form == GROWTH_POLYNOMIAL)
        value = growth->a * pow(size, growth->low) + growth->b * pow(size, growth->high);
    return value > 0 ? value : 0;
}

/* What an error of a value counts: relative, but where the value is nearly nothing. */
static double weight_of(double value)
{
    return 1 / (value > 1 ? value : 1);
}

/* Sums of least squares for u x + v y = z. */
struct squares {
    double xx, xy, yy, xz, yz;
};

static void add(struct squares *s, double x, double y, double z)
{
    s->xx += x * x;
    s->xy += x * y;
    s->yy += y * y;
    s->xz += x * z;
    s->yz += y * z;
}

/* Fits the coefficients of a form to all inputs but `out` (count: to all); false: it cannot. */
static bool fit(struct growth *growth, const double *sizes, const double *values, size_t count,
                size_t out)
{
    struct squares s = {0};
    double determinant;

    for (size_t i = 0; i < count; i++) {
        const double w = growth->form == GROWTH_POWER ? 1 : weight_of(values[i]);
        if (i == out)
            continue;
        if (growth->form == GROWTH_CONSTANT)
            add(&s, w, 0, w * values[i]);
        else if (growth->form == GROWTH_POLYNOMIAL)
            add(&s, w * pow(sizes[i], growth->low), w * pow(sizes[i], growth->high), w * values[i]);
        else if (values[i] > 0)
            add(&s, 1, log(sizes[i]), log(values[i]));
        else
            return false;
    }
    if (growth->form == GROWTH_CONSTANT) {
        growth->a = s.xz / s.xx;
        return true;
    }
    determinant = s.xx * s.yy - s.xy * s.xy;
    if (!(determinant > 1e-12 * s.xx * s.yy))
        return false;
    growth->a = (s.xz * s.yy - s.yz * s.xy) / determinant;
    growth->b = (s.yz * s.xx - s.xz * s.xy) / determinant;
    if (growth->form == GROWTH_POWER)
        growth->a = exp(growth->a);
    return growth->form == GROWTH_POWER || growth->b >= 0;
}

/* The mean relative error at inputs that were left out; infinite when one cannot be. */
static double left_out_error(struct growth growth, const double *sizes, const double *values,
                             size_t count, double tolerance)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++) {
        if (!fit(&growth, sizes, values, count, i))
            return INFINITY;
        sum += fmax(fabs(growth_at(&growth, sizes[i]) - values[i]) - tolerance, 0) *
               weight_of(values[i]);
    }
    return sum / (double)count;
}

/* Takes a candidate if it is twice as good as the best so far, which grows less. */
static void consider(struct growth *best, struct growth candidate, const double *sizes,
                     const double *values, size_t count, double tolerance)
{
    candidate.left_out = left_out_error(candidate, sizes, values, count, tolerance);
    if (2 * candidate.left_out < best->left_out - 1e-6 &&
        fit(&candidate, sizes, values, count, count))
        *best = candidate;
}

struct growth growth_fit(const double *sizes, const double *values, size_t count, double tolerance)
{
    struct growth best = {.left_out = INFINITY};

    consider(&best, (struct growth){.form = GROWTH_CONSTANT}, sizes, values, count, tolerance);
    for (int high = 1; high <= DEGREE; high++)
        for (int low = 0; low < high; low++)
            consider(&best, (struct growth){.form = GROWTH_POLYNOMIAL, .low = low, .high = high},
                     sizes, values, count, tolerance);
    consider(&best, (struct growth){.form = GROWTH_POWER}, sizes, values, count, tolerance);
    return best;
}
