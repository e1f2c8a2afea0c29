/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether the residuals of an experiment are as F takes them to be.
 *
 * Normal: the statistic of Anderson and Darling (1954) with mean and variance estimated,
 *
 *     A^2 = -n - sum (2i - 1) [ln Phi(z_i) + ln(1 - Phi(z_{n+1-i}))] / n,
 *     A*  = A^2 (1 + 0.75/n + 2.25/n^2),
 *
 * and the p of Stephens (D'Agostino and Stephens, "Goodness-of-Fit Techniques", 1986, table 4.9).
 * Residuals are not quite independent (they add up to 0 in each cell), so that p is a guide.
 *
 * Of equal variance: the statistic of Brown and Forsythe (1974), which is Levene's with medians: F
 * of one factor, the cell, on the distances of observations from the median of their cell.
 *
 * An outlier: the residual that is largest in its own standard deviations, s sqrt(1 - 1/n_ij).
 */
#include <math.h>
#include <stdlib.h>

#include "formats/base/reals.h"
#include "predict/hybrid/anova.h"
#include "predict/hybrid/numeric.h"

#define LEAST_FOR_NORMALITY 8
#define LEAST_LOG (-700.0) /* of a probability that underflows */

/* Table 4.9 */
static double stephens_p(double a)
{
    if (a < 0.2)
        return 1 - exp(-13.436 + 101.14 * a - 223.73 * a * a);
    if (a < 0.34)
        return 1 - exp(-8.318 + 42.796 * a - 59.938 * a * a);
    if (a < 0.6)
        return exp(0.9177 - 4.279 * a - 1.38 * a * a);
    if (a < 10)
        return exp(1.2937 - 5.709 * a + 0.0186 * a * a);
    return 3.7e-24;
}

static void check_normal(struct anova_checks *checks, const double *residuals, size_t count,
                         double *sorted)
{
    const double n = (double)count;
    double squares = 0, deviation, sum = 0;

    if (count < LEAST_FOR_NORMALITY)
        return;
    for (size_t i = 0; i < count; i++) { /* their mean is 0 */
        sorted[i] = residuals[i];
        squares += residuals[i] * residuals[i];
    }
    deviation = sqrt(squares / (n - 1));
    qsort(sorted, count, sizeof *sorted, psnap_reals_compare);
    for (size_t i = 0; i < count; i++) {
        const double below = log(numeric_normal_below(sorted[i] / deviation));
        const double above = log(numeric_normal_above(sorted[count - 1 - i] / deviation));
        sum += (2 * (double)i + 1) * (fmax(below, LEAST_LOG) + fmax(above, LEAST_LOG));
    }
    checks->anderson_darling = -n - sum / n;
    checks->anderson_darling_p =
        stephens_p(checks->anderson_darling * (1 + 0.75 / n + 2.25 / n / n));
}

/* Replaces the residuals of a cell, which are together, by their distances from the median. */
static void take_distances(double *values, size_t count)
{
    double median;

    qsort(values, count, sizeof *values, psnap_reals_compare);
    median = (values[(count - 1) / 2] + values[count / 2]) / 2;
    for (size_t i = 0; i < count; i++)
        values[i] = fabs(values[i] - median);
}

static double mean_of(const double *values, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return sum / (double)count;
}

/* `distances` has those of each cell after the other. */
static void compare_distances(struct anova_checks *checks, const double *distances,
                              const uint32_t *counts, size_t count, size_t cell_count)
{
    const double mean = mean_of(distances, count);
    double between = 0, within = 0, largest = 0;
    const double *cell = distances;

    for (size_t c = 0; c < cell_count; cell += counts[c++]) {
        const double own = mean_of(cell, counts[c]);
        between += counts[c] * (own - mean) * (own - mean);
        for (size_t i = 0; i < counts[c]; i++) {
            within += (cell[i] - own) * (cell[i] - own);
            largest = fmax(largest, cell[i]);
        }
    }
    if (count <= cell_count || !(within > 1e-20 * largest * largest))
        return; /* two in each cell are as far from their median */
    checks->brown_forsythe_df[0] = (double)cell_count - 1;
    checks->brown_forsythe_df[1] = (double)(count - cell_count);
    checks->brown_forsythe =
        between / checks->brown_forsythe_df[0] / (within / checks->brown_forsythe_df[1]);
    checks->brown_forsythe_p = numeric_f_tail(checks->brown_forsythe, checks->brown_forsythe_df[0],
                                              checks->brown_forsythe_df[1]);
}

/* false: out of memory. */
static bool check_variance(struct anova_checks *checks, const double *residuals,
                           const uint32_t *cells, const uint32_t *counts, size_t count,
                           size_t cell_count, double *sorted)
{
    size_t *next = calloc(cell_count + 1, sizeof *next);

    if (!next)
        return false;
    for (size_t c = 0; c < cell_count; c++)
        next[c + 1] = next[c] + counts[c];
    for (size_t i = 0; i < count; i++)
        sorted[next[cells[i]]++] = residuals[i];
    for (size_t c = 0; c < cell_count; c++)
        take_distances(sorted + next[c] - counts[c], counts[c]);
    compare_distances(checks, sorted, counts, count, cell_count);
    free(next);
    return true;
}

static void find_largest(struct anova_checks *checks, const double *residuals,
                         const uint32_t *cells, const uint32_t *counts, size_t count,
                         size_t cell_count)
{
    double squares = 0, deviation;

    for (size_t i = 0; i < count; i++)
        squares += residuals[i] * residuals[i];
    deviation = sqrt(squares / (double)(count - cell_count));
    for (size_t i = 0; i < count; i++) {
        const double share = 1 - 1.0 / counts[cells[i]];
        const double standardized = share > 0 ? fabs(residuals[i]) / (deviation * sqrt(share)) : 0;
        if (standardized > checks->largest) {
            checks->largest = standardized;
            checks->largest_of = i;
        }
    }
}

bool anova_check_residuals(struct anova_checks *checks, const double *residuals,
                           const uint32_t *cells, const uint32_t *counts, size_t count,
                           size_t cell_count, double *room)
{
    *checks = (struct anova_checks){.anderson_darling = NAN,
                                    .anderson_darling_p = NAN,
                                    .brown_forsythe = NAN,
                                    .brown_forsythe_df = {NAN, NAN},
                                    .brown_forsythe_p = NAN};
    check_normal(checks, residuals, count, room);
    find_largest(checks, residuals, cells, counts, count, cell_count);
    return check_variance(checks, residuals, cells, counts, count, cell_count, room);
}
