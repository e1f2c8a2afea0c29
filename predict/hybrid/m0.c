/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * m0 after Sun and Cameron's hybrid statistical-empirical analysis:
 *
 *     cpi = cpi_pipeline + cpi_memory,   cpi_memory = (1 - m0) sum over i >= 2 of h_i T_i,
 *     m0 = 1 - sum h_i t_i / sum h_i T_i
 *
 * with h_i the accesses per instruction that level i satisfies, T_i its maximal latency (of an
 * access that waits for it alone) and t_i the average one, which is what is left of it when others
 * and the pipeline work meanwhile. So cpi_memory = sum h_i t_i: of one size that gives m0 =
 * 1 - cpi_memory / sum h_i T_i, and over sizes the t_i, by least squares without negative ones, if
 * there are as many sizes as levels and their hits are not all in proportion. By the conditions of
 * Kuhn and Tucker these are the ordinary least squares of those levels whose t_i are above 0. There
 * are few levels, so all subsets of them are tried.
 *
 * Steady from size n: the smallest size from which on, over three sizes or more, no m0 is further
 * than the tolerance from the mean of those. It is judged by m0 as observed: by t_i it would be
 * smoothed already.
 */
#include "predict/hybrid/m0.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_math.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdlib.h>

#define LEAST_SHARE 1e-4 /* of the sum of h_i T_i, for t_i of a level to mean something */
#define DEPENDENT 1e-9   /* of a level's hits: what those of others leave of them, relative */

/* Returns the sum of h_i T_i; NAN when it is not known. */
static double maximal_of(const struct observation *row)
{
    double sum = 0;

    for (uint32_t i = 0; i < row->levels; i++)
        if (row->hits[i] != 0)
            sum += row->hits[i] * row->latencies[i];
    return row->levels ? sum : NAN;
}

double m0_of(const struct observation *row)
{
    const double maximal = maximal_of(row);

    return maximal > 0 ? 1 - row->cpi_memory / maximal : NAN;
}

/* --------------------------------------------------------------------------- points */

/* Adds a row to the point of its size, or leaves it out. */
static void add_row(struct m0_curve *curve, struct m0_point *point, const struct observation *row)
{
    curve->levels = row->levels > curve->levels ? row->levels : curve->levels;
    if (isnan(m0_of(row))) {
        curve->left_out++;
        return;
    }
    for (uint32_t l = 0; l < row->levels; l++)
        point->hits[l] += row->hits[l];
    point->maximal += maximal_of(row);
    point->memory += row->cpi_memory;
    point->observations++;
}

static void make_points(struct m0_curve *curve)
{
    const struct observation *row = curve->rows, *const end = row + curve->row_count;

    while (row < end) {
        struct m0_point *const point = &curve->points[curve->sizes];
        *point = (struct m0_point){.size = row->size, .m0_fitted = NAN};
        while (row < end && row->size == point->size)
            add_row(curve, point, row++);
        point->m0 = 1 - point->memory / point->maximal;
        curve->sizes += point->observations > 0;
    }
}

/* ------------------------------------------------------------------------ latencies */

static void take_maximal(struct m0_curve *curve)
{
    for (uint32_t l = 0; l < OBSERVED_LEVELS_MAX; l++) {
        double sum = 0, known = 0;
        for (size_t i = 0; i < curve->row_count; i++)
            if (!isnan(m0_of(&curve->rows[i])) && !isnan(curve->rows[i].latencies[l])) {
                sum += curve->rows[i].latencies[l];
                known++;
            }
        curve->maximal_cycles[l] = sum / known;
        curve->average_cycles[l] = NAN;
    }
}

/* Returns the levels that take part in what memory costs at some size, a bit each. */
static unsigned used_levels(const struct m0_curve *curve)
{
    unsigned used = 0;

    for (uint32_t l = 0; l < curve->levels; l++)
        for (size_t p = 0; p < curve->sizes; p++)
            if (curve->points[p].hits[l] * curve->maximal_cycles[l] >
                LEAST_SHARE * curve->points[p].maximal)
                used |= 1u << l;
    return used;
}

/* Least squares of the levels whose bits are set. */
struct fit {
    double latencies[OBSERVED_LEVELS_MAX]; /* 0 of other levels */
    double left;                           /* sum of squares */
    bool is_unique, has_negative;
};

/* Fits some levels, one or more, whose hits are the columns of a matrix; false: out of memory. */
static bool fit_levels(struct fit *fit, const struct m0_curve *curve, unsigned levels)
{
    const size_t n = curve->row_count - curve->left_out, k = (size_t)__builtin_popcount(levels);
    double *const numbers = calloc(n * k + 2 * n + 2 * k, sizeof *numbers);
    double *const memory = numbers + n * k, *const latencies = memory + 2 * n;
    gsl_matrix_view hits = gsl_matrix_view_array(numbers, n, k);
    gsl_vector_view of_memory = gsl_vector_view_array(memory, n);
    gsl_vector_view left = gsl_vector_view_array(memory + n, n);
    gsl_vector_view solution = gsl_vector_view_array(latencies, k);
    gsl_vector_view tau = gsl_vector_view_array(latencies + k, k);
    double lengths[OBSERVED_LEVELS_MAX], *next = numbers;
    size_t row = 0, column = 0;

    if (!numbers)
        return false;
    for (const struct observation *from = curve->rows; row < n; from++) {
        if (isnan(m0_of(from)))
            continue;
        memory[row++] = from->cpi_memory;
        for (uint32_t l = 0; l < OBSERVED_LEVELS_MAX; l++)
            if (levels >> l & 1)
                *next++ = l < from->levels ? from->hits[l] : 0;
    }
    for (size_t c = 0; c < k; c++)
        lengths[c] = cblas_dnrm2((int)n, numbers + c, (int)k);
    *fit = (struct fit){.is_unique = true};
    gsl_linalg_QR_decomp(&hits.matrix, &tau.vector);
    for (size_t c = 0; c < k; c++)
        fit->is_unique &= fabs(gsl_matrix_get(&hits.matrix, c, c)) > DEPENDENT * lengths[c];
    gsl_linalg_QR_lssolve(&hits.matrix, &tau.vector, &of_memory.vector, &solution.vector,
                          &left.vector);
    fit->left = gsl_pow_2(gsl_blas_dnrm2(&left.vector));
    for (uint32_t l = 0; l < OBSERVED_LEVELS_MAX; l++)
        if (levels >> l & 1) {
            fit->latencies[l] = latencies[column++];
            fit->has_negative |= fit->latencies[l] < 0;
        }
    free(numbers);
    return true;
}

static void take_fit(struct m0_curve *curve, const struct fit *fit, unsigned used, double squares)
{
    curve->fit_error = squares > 0 ? sqrt(fit->left / squares) : 0;
    for (uint32_t l = 0; l < curve->levels; l++)
        if (used >> l & 1)
            curve->average_cycles[l] = fit->latencies[l];
    for (size_t p = 0; p < curve->sizes; p++) {
        double sum = 0;
        for (uint32_t l = 0; l < curve->levels; l++)
            sum += curve->points[p].hits[l] * fit->latencies[l];
        curve->points[p].m0_fitted = 1 - sum / curve->points[p].maximal;
    }
}

/* Finds t_i, of all rows. */
static enum psnap_status fit_latencies(struct m0_curve *curve, struct psnap_error *error)
{
    const unsigned used = used_levels(curve);
    struct fit fit, best = {{0}};
    double squares = 0;

    if (curve->sizes < (size_t)__builtin_popcount(used)) {
        curve->why_no_latencies = "there are fewer sizes than levels";
        return PSNAP_OK;
    }
    for (size_t i = 0; i < curve->row_count; i++)
        if (!isnan(m0_of(&curve->rows[i])))
            squares += curve->rows[i].cpi_memory * curve->rows[i].cpi_memory;
    best.left = squares;
    for (unsigned levels = used; levels; levels = (levels - 1) & used) {
        if (!fit_levels(&fit, curve, levels))
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for least squares");
        if (levels == used && !fit.is_unique) {
            curve->why_no_latencies = "hits of levels are in proportion at all sizes";
            return PSNAP_OK;
        }
        if (fit.is_unique && !fit.has_negative && fit.left < best.left)
            best = fit;
    }
    take_fit(curve, &best, used, squares);
    return PSNAP_OK;
}

/* ---------------------------------------------------------------------------- steady */

/* Takes mean and standard deviation of the points from `from` on; returns how far the furthest of
 * them is from their mean. */
static double spread(const struct m0_curve *curve, size_t from, double *mean, double *deviation)
{
    const double *const m0 = &curve->points[from].m0;
    const size_t count = curve->sizes - from, stride = sizeof *curve->points / sizeof *m0;

    *mean = gsl_stats_mean(m0, stride, count);
    *deviation = count > 1 ? gsl_stats_sd_m(m0, stride, count, *mean) : NAN;
    return fmax(gsl_stats_max(m0, stride, count) - *mean, *mean - gsl_stats_min(m0, stride, count));
}

/* Decimal fractions that are at the tolerance are within it. */
static enum answer is_within(double distance, double tolerance, size_t sizes)
{
    if (sizes < M0_STEADY_SIZES)
        return ANSWER_UNKNOWN;
    return distance <= tolerance + 1e-12 ? ANSWER_YES : ANSWER_NO;
}

static void find_steady(struct m0_curve *curve, double tolerance)
{
    spread(curve, 0, &curve->mean, &curve->deviation);
    for (size_t from = 0; from + M0_STEADY_SIZES <= curve->sizes; from++) {
        double mean, deviation;
        const double furthest = spread(curve, from, &mean, &deviation);
        curve->is_steady = is_within(furthest, tolerance, curve->sizes - from);
        if (curve->is_steady == ANSWER_YES) {
            curve->steady_from = curve->points[from].size;
            curve->steady_mean = mean;
            curve->steady_deviation = deviation;
            return;
        }
    }
}

enum psnap_status m0_curve_make(struct m0_curve *curve, double tolerance, struct psnap_arena *arena,
                                struct psnap_error *error)
{
    curve->fit_error = curve->mean = curve->deviation = NAN;
    curve->steady_from = curve->steady_mean = curve->steady_deviation = NAN;
    curve->points = psnap_arena_alloc(arena, curve->row_count * sizeof *curve->points);
    if (!curve->points)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for m0");
    make_points(curve);
    if (!curve->sizes)
        return PSNAP_OK;
    find_steady(curve, tolerance);
    take_maximal(curve);
    return fit_latencies(curve, error);
}

struct m0_difference m0_compare(const struct m0_curve *first, const struct m0_curve *second,
                                double from, double tolerance)
{
    double sum = 0, lowest = INFINITY, highest = -INFINITY;
    struct m0_difference difference = {0, NAN, NAN, ANSWER_UNKNOWN};

    for (size_t i = 0, j = 0; i < first->sizes && j < second->sizes;) {
        const struct m0_point *const a = &first->points[i], *const b = &second->points[j];
        i += a->size <= b->size;
        j += b->size <= a->size;
        if (a->size != b->size || !(a->size >= from))
            continue;
        sum += b->m0 - a->m0;
        lowest = fmin(lowest, b->m0 - a->m0);
        highest = fmax(highest, b->m0 - a->m0);
        difference.sizes++;
    }
    if (!difference.sizes)
        return difference;
    difference.mean = sum / (double)difference.sizes;
    difference.largest = fmax(highest - difference.mean, difference.mean - lowest);
    difference.is_constant = is_within(difference.largest, tolerance, difference.sizes);
    return difference;
}
