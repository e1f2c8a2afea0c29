/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Observations y_ijk = mu + alpha_i + beta_j + gamma_ij + e_ijk, with alpha, beta and gamma that
 * add up to 0 over each of their indices (contrasts that sum to zero). Sums of squares are of type
 * III: each effect given all others, a hypothesis of the cells' expected means m_ij that does not
 * depend on how many observations there are of each:
 *
 *     A             the means over j of m_ij are the same for all i
 *     B             the means over i are the same for all j
 *     interaction   m_ij = mu + alpha_i + beta_j
 *     overall       all m_ij are the same
 *
 * (Searle, "Linear Models for Unbalanced Data", 1987). For main effects these are Yates' weighted
 * squares of means (1934): with n_ij observations of cell ij, of b levels of B,
 *
 *     SS_A = sum_i W_i (m_i - m)^2,   m_i = sum_j ybar_ij / b,   W_i = b^2 / sum_j (1 / n_ij),
 *
 * m the mean of m_i weighted by W_i; B likewise. The interaction is what the additive model leaves
 * of cells' means, weighted by n_ij: the factor with more levels is swept out, the other one is
 * fitted by QR. None of it is a difference of large numbers, and the response is shifted by its
 * first value before, so that leading digits that all have in common cost no precision. Every cell
 * has observations: with empty ones the hypotheses would depend on which they are.
 */
#include "predict/hybrid/anova.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "predict/hybrid/numeric.h"

/* What anova_make works with, a number each of every cell or observation. */
struct work {
    double *means;            /* of cells, of shifted values */
    uint32_t *counts;         /* of cells */
    uint32_t *cells;          /* of observations */
    double *residuals, *room; /* of observations */
    double *scaled;           /* of cells: sqrt(n_ij) times the mean, the larger factor swept out */
    double *matrix;           /* the same of the other factor's indicators, a row for each cell */
    double *level_means, *level_weights; /* of a factor: m_i and W_i */
    size_t cell_count;
};

static uint32_t cell_of(const struct experiment *experiment, size_t i)
{
    return experiment->a[i] * experiment->b_levels + experiment->b[i];
}

static enum psnap_status work_init(struct work *work, const struct experiment *experiment,
                                   struct psnap_error *error)
{
    const size_t n = experiment->count + 1;
    const uint32_t a = experiment->a_levels, b = experiment->b_levels;
    const size_t more = a > b ? a : b, fewer = a > b ? b : a;

    work->cell_count = (size_t)experiment->a_levels * experiment->b_levels;
    if (work->cell_count > ANOVA_CELLS_MAX)
        return psnap_error_set(error, PSNAP_ERROR_UNSUPPORTED,
                               "%zu combinations of %u and %u levels: at most %d can be analysed; "
                               "leave some sizes out",
                               work->cell_count, experiment->a_levels, experiment->b_levels,
                               ANOVA_CELLS_MAX);
    work->means = calloc(work->cell_count + 1, sizeof *work->means);
    work->counts = calloc(work->cell_count + 1, sizeof *work->counts);
    work->scaled = calloc(work->cell_count + 1, sizeof *work->scaled);
    work->matrix = calloc(work->cell_count * fewer + 1, sizeof *work->matrix);
    work->level_means = calloc(more + 1, sizeof *work->level_means);
    work->level_weights = calloc(more + 1, sizeof *work->level_weights);
    work->cells = calloc(n, sizeof *work->cells);
    work->residuals = calloc(n, sizeof *work->residuals);
    work->room = calloc(n, sizeof *work->room);
    if (work->means && work->counts && work->scaled && work->matrix && work->cells &&
        work->residuals && work->room && work->level_means && work->level_weights)
        return PSNAP_OK;
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the experiment");
}

static void work_release(struct work *work)
{
    free(work->means);
    free(work->counts);
    free(work->scaled);
    free(work->matrix);
    free(work->level_means);
    free(work->level_weights);
    free(work->cells);
    free(work->residuals);
    free(work->room);
}

/* Means and residuals; returns the mean of all, shifted. */
static double take_means(struct work *work, const struct experiment *experiment)
{
    const double shift = experiment->count ? experiment->values[0] : 0;
    double sum = 0;

    for (size_t i = 0; i < experiment->count; i++) {
        const uint32_t cell = work->cells[i] = cell_of(experiment, i);
        work->residuals[i] = experiment->values[i] - shift;
        work->counts[cell]++;
        work->means[cell] += work->residuals[i];
        sum += work->residuals[i];
    }
    for (size_t c = 0; c < work->cell_count; c++)
        if (work->counts[c])
            work->means[c] /= work->counts[c];
    for (size_t i = 0; i < experiment->count; i++)
        work->residuals[i] -= work->means[work->cells[i]];
    return experiment->count ? sum / (double)experiment->count : 0;
}

/* ------------------------------------------------------------------- problems */

static enum anova_problem problem_of_cells(struct anova *anova, const struct work *work,
                                           const struct experiment *experiment)
{
    bool has_replicates = false;

    if (experiment->a_levels < 2)
        return ANOVA_ONE_LEVEL_A;
    if (experiment->b_levels < 2)
        return ANOVA_ONE_LEVEL_B;
    for (size_t c = 0; c < work->cell_count; c++) {
        has_replicates |= work->counts[c] > 1;
        if (work->counts[c])
            continue;
        anova->problem_a = (uint32_t)(c / experiment->b_levels);
        anova->problem_b = (uint32_t)(c % experiment->b_levels);
        return ANOVA_EMPTY_CELL;
    }
    return has_replicates ? ANOVA_FINE : ANOVA_NO_REPLICATES;
}

/* Where values differ by no more than rounding does. */
static enum anova_problem problem_of_values(const struct work *work,
                                            const struct experiment *experiment)
{
    double largest = 0, smallest = INFINITY, highest = -INFINITY, residual = 0;

    for (size_t i = 0; i < experiment->count; i++) {
        largest = fmax(largest, fabs(experiment->values[i]));
        smallest = fmin(smallest, experiment->values[i]);
        highest = fmax(highest, experiment->values[i]);
        residual = fmax(residual, fabs(work->residuals[i]));
    }
    if (highest - smallest <= 8 * DBL_EPSILON * largest)
        return ANOVA_CONSTANT;
    return residual <= 8 * DBL_EPSILON * largest ? ANOVA_NO_RESIDUAL : ANOVA_FINE;
}

/* ------------------------------------------------------------ sums of squares */

/* Of A, or of B. */
static double main_effect(const struct work *work, const struct experiment *experiment, bool of_b)
{
    const uint32_t levels = of_b ? experiment->b_levels : experiment->a_levels;
    const uint32_t others = of_b ? experiment->a_levels : experiment->b_levels;
    double *const means = work->level_means, *const weights = work->level_weights;
    double mean = 0, weight = 0, sum = 0;

    for (uint32_t i = 0; i < levels; i++) {
        double inverse = 0;
        means[i] = 0;
        for (uint32_t j = 0; j < others; j++) {
            const size_t cell = of_b ? (size_t)j * levels + i : (size_t)i * others + j;
            means[i] += work->means[cell] / others;
            inverse += 1.0 / work->counts[cell];
        }
        weights[i] = (double)others * others / inverse;
        mean += weights[i] * means[i];
        weight += weights[i];
    }
    mean /= weight;
    for (uint32_t i = 0; i < levels; i++)
        sum += weights[i] * (means[i] - mean) * (means[i] - mean);
    return sum;
}

/* What level `row` of the factor that has more levels does not explain: of each of its cells the
 * deviation from their mean, and the same of indicators of the other factor's levels but one. */
static void sweep_row(struct work *work, size_t row, size_t row_step, size_t columns,
                      size_t column_step)
{
    double count = 0, mean = 0;

    for (size_t c = 0; c < columns; c++) {
        const size_t cell = row * row_step + c * column_step;
        count += work->counts[cell];
        mean += work->counts[cell] * work->means[cell];
    }
    mean /= count;
    for (size_t c = 0; c < columns; c++) {
        const size_t cell = row * row_step + c * column_step;
        const double root = sqrt(work->counts[cell]);
        work->scaled[cell] = root * (work->means[cell] - mean);
        for (size_t k = 0; k + 1 < columns; k++) {
            const double share = work->counts[row * row_step + k * column_step] / count;
            work->matrix[cell * (columns - 1) + k] = root * ((c == k) - share);
        }
    }
}

/* What the additive model leaves. */
static enum psnap_status interaction(struct work *work, const struct experiment *experiment,
                                     double *sum_of_squares, struct psnap_error *error)
{
    const bool a_has_more = experiment->a_levels > experiment->b_levels;
    const size_t rows = a_has_more ? experiment->a_levels : experiment->b_levels;
    const size_t columns = work->cell_count / rows;
    double along;

    for (size_t row = 0; row < rows; row++)
        sweep_row(work, row, a_has_more ? columns : 1, columns, a_has_more ? 1 : rows);
    return numeric_split(work->matrix, work->cell_count, columns - 1, work->scaled, &along,
                         sum_of_squares, error);
}

static void test_effect(struct anova_effect *effect, double df, const struct anova *anova)
{
    const double mean_square = anova->residual_sum_of_squares / anova->residual_df;

    effect->df = df;
    effect->f = effect->sum_of_squares / df / mean_square;
    effect->p = numeric_f_tail(effect->f, df, anova->residual_df);
    effect->partial_eta_squared =
        effect->sum_of_squares / (effect->sum_of_squares + anova->residual_sum_of_squares);
}

static enum psnap_status sums_of_squares(struct anova *anova, struct work *work,
                                         const struct experiment *experiment, double mean,
                                         struct psnap_error *error)
{
    struct anova_effect *const effects = anova->effects;

    anova->is_balanced = true;
    for (size_t c = 0; c < work->cell_count; c++) {
        const double deviation = work->means[c] - mean;
        effects[ANOVA_OVERALL].sum_of_squares += work->counts[c] * deviation * deviation;
        anova->is_balanced &= work->counts[c] == work->counts[0];
    }
    for (size_t i = 0; i < experiment->count; i++)
        anova->residual_sum_of_squares += work->residuals[i] * work->residuals[i];
    anova->total_sum_of_squares =
        effects[ANOVA_OVERALL].sum_of_squares + anova->residual_sum_of_squares;
    anova->total_df = (double)experiment->count - 1;
    anova->residual_df = (double)(experiment->count - work->cell_count);
    effects[ANOVA_A].sum_of_squares = main_effect(work, experiment, false);
    effects[ANOVA_B].sum_of_squares = main_effect(work, experiment, true);
    return interaction(work, experiment, &effects[ANOVA_INTERACTION].sum_of_squares, error);
}

enum psnap_status anova_make(struct anova *anova, const struct experiment *experiment,
                             struct psnap_error *error)
{
    const double a = experiment->a_levels, b = experiment->b_levels;
    struct work work = {0};
    double mean;
    enum psnap_status status = work_init(&work, experiment, error);

    *anova = (struct anova){0};
    if (status)
        goto out;
    mean = take_means(&work, experiment);
    anova->problem = problem_of_cells(anova, &work, experiment);
    if (anova->problem == ANOVA_FINE)
        anova->problem = problem_of_values(&work, experiment);
    if (anova->problem != ANOVA_FINE)
        goto out;
    status = sums_of_squares(anova, &work, experiment, mean, error);
    if (status)
        goto out;
    test_effect(&anova->effects[ANOVA_A], a - 1, anova);
    test_effect(&anova->effects[ANOVA_B], b - 1, anova);
    test_effect(&anova->effects[ANOVA_INTERACTION], (a - 1) * (b - 1), anova);
    test_effect(&anova->effects[ANOVA_OVERALL], a * b - 1, anova);
    if (!anova_check_residuals(&anova->checks, work.residuals, work.cells, work.counts,
                               experiment->count, work.cell_count, work.room))
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for residuals");
out:
    work_release(&work);
    return status;
}
