/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Observations y_ijk = mu + alpha_i + beta_j + gamma_ij + e_ijk, with alpha, beta and gamma that
 * add up to 0 over each of their indices (contrasts that sum to zero). Sums of squares are of type
 * III: each effect given all others, a hypothesis of the cells' expected means m_ij that does not
 * depend on how many observations there are of each (Searle, "Linear Models for Unbalanced Data",
 * 1987):
 *
 *     A             the means over j of m_ij are the same for all i
 *     B             the means over i are the same for all j
 *     interaction   m_ij = mu + alpha_i + beta_j
 *     overall       all m_ij are the same
 *
 * Each but the last says that contrasts of the means are 0, C m = 0, where C is a product of one
 * matrix of each factor: its levels' differences from the first one, or their mean. With N the
 * observations by cell on the diagonal, SS = (C m)' (C N^-1 C')^-1 (C m), which is the square of
 * the part of N^1/2 m that lies in the span of N^-1/2 C'. None of it is a difference of large
 * numbers, and the response is shifted by its first value before, so that leading digits that all
 * have in common cost no precision. Every cell has observations: with empty ones the hypotheses
 * would depend on which they are.
 *
 * Whether residuals are as F takes them to be. Normal: the statistic of Anderson and Darling (1954)
 * with mean and variance estimated,
 *
 *     A^2 = -n - sum (2i - 1) [ln Phi(z_i) + ln(1 - Phi(z_{n+1-i}))] / n,
 *     A*  = A^2 (1 + 0.75/n + 2.25/n^2),
 *
 * and the p of Stephens (D'Agostino and Stephens, "Goodness-of-Fit Techniques", 1986, table 4.9).
 * They are not quite independent, as they add up to 0 in each cell, so that p is a guide. Of equal
 * variance: the statistic of Brown and Forsythe (1974), F of one factor, the cell, on the distances
 * of observations from the median of their cell. An outlier: the residual that is largest in its
 * own standard deviations, s sqrt(1 - 1/n_ij).
 */
#include "predict/hybrid/anova.h"

#include <float.h>
#include <gsl/gsl_blas.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_FOR_NORMALITY 8
#define LEAST_LOG (-700.0) /* of a probability that underflows */

static size_t cell_count(const struct experiment *experiment)
{
    return experiment->a_levels * experiment->b_levels;
}

static enum anova_problem problem_of_cells(struct anova *anova, const struct experiment *experiment)
{
    if (cell_count(experiment) > ANOVA_CELLS_MAX)
        return ANOVA_TOO_LARGE;
    if (experiment->a_levels < 2 || experiment->b_levels < 2)
        return ANOVA_ONE_LEVEL;
    for (size_t c = 0; c < cell_count(experiment); c++)
        if (!experiment->counts[c]) {
            anova->problem_a = c / experiment->b_levels;
            anova->problem_b = c % experiment->b_levels;
            return ANOVA_EMPTY_CELL;
        }
    return experiment->count > cell_count(experiment) ? ANOVA_FINE : ANOVA_NO_REPLICATES;
}

/* Replaces values by residuals, and takes sqrt(n) times the means of cells less that of all. */
static enum anova_problem take_means(const struct experiment *experiment, gsl_vector *means)
{
    const size_t count = experiment->count;
    double *const values = experiment->values;
    const double rounding =
        8 * DBL_EPSILON *
        fmax(fabs(gsl_stats_min(values, 1, count)), fabs(gsl_stats_max(values, 1, count)));
    const double shift = values[0];
    double *cell = values, mean, residual = 0;

    for (size_t i = 0; i < count; i++)
        values[i] -= shift;
    mean = gsl_stats_mean(values, 1, count);
    for (size_t c = 0; c < means->size; cell += experiment->counts[c++]) {
        const double own = gsl_stats_mean(cell, 1, experiment->counts[c]);
        gsl_vector_set(means, c, sqrt(experiment->counts[c]) * (own - mean));
        for (size_t i = 0; i < experiment->counts[c]; i++) {
            cell[i] -= own;
            residual = fmax(residual, fabs(cell[i]));
        }
    }
    return residual <= rounding ? ANOVA_NO_RESIDUAL : ANOVA_FINE;
}

/* ------------------------------------------------------------------------- effects */

/* An entry of a factor's matrix: of differences from its first level, or its only row of means. */
static double contrast(bool is_tested, size_t row, size_t level, size_t levels)
{
    return is_tested ? (level == row + 1) - (level == 0) : 1.0 / (double)levels;
}

static void set_effect(struct anova *anova, int which, size_t df, double root)
{
    struct anova_effect *const effect = &anova->effects[which];
    const struct anova_effect *const residual = &anova->effects[ANOVA_RESIDUAL];

    effect->df = (double)df;
    effect->sum_of_squares = root * root;
    effect->f = effect->sum_of_squares / effect->df / (residual->sum_of_squares / residual->df);
    effect->p = gsl_cdf_fdist_Q(effect->f, effect->df, residual->df);
    effect->partial_eta_squared =
        effect->sum_of_squares / (effect->sum_of_squares + residual->sum_of_squares);
}

/* Tests A, B or both of them; false: out of memory. */
static bool test(struct anova *anova, int which, const struct experiment *experiment,
                 const gsl_vector *means)
{
    const size_t a = experiment->a_levels, b = experiment->b_levels, cells = a * b;
    const bool of_a = which != ANOVA_B, of_b = which != ANOVA_A;
    const size_t b_rows = of_b ? b - 1 : 1, df = (of_a ? a - 1 : 1) * b_rows;
    double *const numbers = calloc(cells * df + df + cells, sizeof *numbers);
    gsl_matrix_view matrix = gsl_matrix_view_array(numbers, cells, df);
    gsl_vector_view tau = gsl_vector_view_array(numbers + cells * df, df);
    gsl_vector_view along = gsl_vector_view_array(numbers + cells * df + df, cells);

    if (!numbers)
        return false;
    for (size_t c = 0; c < cells; c++)
        for (size_t r = 0; r < df; r++)
            gsl_matrix_set(&matrix.matrix, c, r,
                           contrast(of_a, r / b_rows, c / b, a) *
                               contrast(of_b, r % b_rows, c % b, b) / sqrt(experiment->counts[c]));
    gsl_vector_memcpy(&along.vector, means);
    gsl_linalg_QR_decomp(&matrix.matrix, &tau.vector);
    gsl_linalg_QR_QTvec(&matrix.matrix, &tau.vector, &along.vector);
    along = gsl_vector_subvector(&along.vector, 0, df);
    set_effect(anova, which, df, gsl_blas_dnrm2(&along.vector));
    free(numbers);
    return true;
}

/* ------------------------------------------------------------------------- checks */

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

/* Sorts the residuals. */
static void check_normal(struct anova *anova, double *residuals, size_t count)
{
    const double deviation = gsl_stats_sd_m(residuals, 1, count, 0), n = (double)count;
    double sum = 0;

    anova->anderson_darling = anova->anderson_darling_p = NAN;
    if (count < LEAST_FOR_NORMALITY)
        return;
    gsl_sort(residuals, 1, count);
    for (size_t i = 0; i < count; i++) {
        const double below = log(gsl_cdf_ugaussian_P(residuals[i] / deviation));
        const double above = log(gsl_cdf_ugaussian_Q(residuals[count - 1 - i] / deviation));
        sum += (2 * (double)i + 1) * (fmax(below, LEAST_LOG) + fmax(above, LEAST_LOG));
    }
    anova->anderson_darling = -n - sum / n;
    anova->anderson_darling_p = stephens_p(anova->anderson_darling * (1 + 0.75 / n + 2.25 / n / n));
}

/* Replaces residuals by their distances from the median of their cell. */
static void check_variance(struct anova *anova, const struct experiment *experiment)
{
    const size_t cells = cell_count(experiment);
    const double df = (double)cells - 1, residual_df = anova->effects[ANOVA_RESIDUAL].df;
    double *cell = experiment->values, mean, between = 0, within = 0, largest;

    for (size_t c = 0; c < cells; cell += experiment->counts[c++]) {
        double median;
        gsl_sort(cell, 1, experiment->counts[c]);
        median = gsl_stats_median_from_sorted_data(cell, 1, experiment->counts[c]);
        for (size_t i = 0; i < experiment->counts[c]; i++)
            cell[i] = fabs(cell[i] - median);
    }
    mean = gsl_stats_mean(experiment->values, 1, experiment->count);
    largest = gsl_stats_max(experiment->values, 1, experiment->count);
    cell = experiment->values;
    for (size_t c = 0; c < cells; cell += experiment->counts[c++]) {
        const double own = gsl_stats_mean(cell, 1, experiment->counts[c]);
        between += experiment->counts[c] * (own - mean) * (own - mean);
        within += gsl_stats_tss_m(cell, 1, experiment->counts[c], own);
    }
    anova->brown_forsythe = anova->brown_forsythe_p = NAN;
    if (!(within > 1e-20 * largest * largest))
        return; /* two in each cell are as far from their median */
    anova->brown_forsythe = between / df / (within / residual_df);
    anova->brown_forsythe_p = gsl_cdf_fdist_Q(anova->brown_forsythe, df, residual_df);
}

static void find_largest(struct anova *anova, const struct experiment *experiment)
{
    const struct anova_effect *const residual = &anova->effects[ANOVA_RESIDUAL];
    const double deviation = sqrt(residual->sum_of_squares / residual->df);
    size_t i = 0;

    for (size_t c = 0, end = 0; c < cell_count(experiment); c++)
        for (end += experiment->counts[c]; i < end; i++) {
            const double share = 1 - 1.0 / experiment->counts[c];
            const double standardized =
                share > 0 ? fabs(experiment->values[i]) / (deviation * sqrt(share)) : 0;
            if (standardized > anova->largest) {
                anova->largest = standardized;
                anova->largest_of = i;
            }
        }
}

/* Fills in what is known when there is no problem; false: out of memory. */
static bool analyse(struct anova *anova, struct experiment *experiment, const gsl_vector *means)
{
    const size_t count = experiment->count, cells = cell_count(experiment);
    double *const sorted = malloc(count * sizeof *sorted);

    if (!sorted)
        return false;
    anova->is_balanced = true;
    for (size_t c = 0; c < cells; c++)
        anova->is_balanced &= experiment->counts[c] == experiment->counts[0];
    anova->effects[ANOVA_RESIDUAL] = (struct anova_effect){
        (double)(count - cells), gsl_stats_tss_m(experiment->values, 1, count, 0), NAN, NAN, NAN};
    set_effect(anova, ANOVA_OVERALL, cells - 1, gsl_blas_dnrm2(means));
    memcpy(sorted, experiment->values, count * sizeof *sorted);
    check_normal(anova, sorted, count);
    free(sorted);
    find_largest(anova, experiment);
    check_variance(anova, experiment);
    return test(anova, ANOVA_A, experiment, means) && test(anova, ANOVA_B, experiment, means) &&
           test(anova, ANOVA_INTERACTION, experiment, means);
}

bool anova_make(struct anova *anova, struct experiment *experiment)
{
    gsl_vector *means;
    bool has_memory;

    *anova = (struct anova){.problem = ANOVA_FINE};
    anova->problem = problem_of_cells(anova, experiment);
    if (anova->problem != ANOVA_FINE)
        return true;
    means = gsl_vector_alloc(cell_count(experiment));
    if (!means)
        return false;
    anova->problem = take_means(experiment, means);
    has_memory = anova->problem != ANOVA_FINE || analyse(anova, experiment, means);
    gsl_vector_free(means);
    return has_memory;
}
