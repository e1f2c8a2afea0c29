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
 * there are as many sizes as levels and their hits are not all in proportion.
 *
 * Steady from size n: the smallest size from which on, over three sizes or more, no m0 is further
 * than the tolerance from the mean of those. It is judged by m0 as observed: by t_i it would be
 * smoothed already.
 */
#include "predict/hybrid/m0.h"

#include <math.h>
#include <stdlib.h>

#include "predict/hybrid/numeric.h"

/* The sum of h_i T_i; NAN when it is not known. */
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

static const char *why_not(const struct observation *row)
{
    if (isnan(row->cpi_memory))
        return "cpi_memory is not known: give it, or cpi_pipeline";
    if (!row->levels)
        return "hits per level are not known: give hits2, hits3 ..., or hit_rate1, hit_rate2 ... "
               "with "
               "accesses_per_instruction";
    if (isnan(maximal_of(row)))
        return "maximal latencies are not known: give latency2, latency3 ..., or machines (-m)";
    return isnan(m0_of(row)) ? "no access goes beyond level 1" : NULL;
}

/* ----------------------------------------------------------------------- points */

static int by_size(const void *left, const void *right)
{
    const struct observation *a = *(const struct observation *const *)left;
    const struct observation *b = *(const struct observation *const *)right;

    if (a->size != b->size)
        return a->size < b->size ? -1 : 1;
    return (a > b) - (a < b);
}

/* The rows of the curve by size, those of which m0 is known; *count of them. The caller frees. */
static const struct observation **rows_of(struct m0_curve *curve,
                                          const struct observations *observations, size_t *count,
                                          struct psnap_error *error)
{
    const struct observation **rows = calloc(observations->count + 1, sizeof *rows);

    *count = 0;
    if (!rows) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for m0");
        return NULL;
    }
    for (size_t i = 0; i < observations->count; i++) {
        const struct observation *row = &observations->rows[i];
        const char *why;
        if (row->code != curve->code || row->machine != curve->machine)
            continue;
        why = why_not(row);
        if (why && !curve->left_out++) {
            curve->why = why;
            curve->first_left_out = row;
        }
        if (!why)
            rows[(*count)++] = row;
        if (row->levels > curve->levels)
            curve->levels = row->levels;
    }
    if (*count)
        qsort(rows, *count, sizeof *rows, by_size);
    return rows;
}

/* A point of the rows of one size, `count` of them. */
static void make_point(struct m0_point *point, const struct observation **rows, size_t count)
{
    const double n = (double)count;
    double memory = 0, mean = 0, squares = 0;

    *point = (struct m0_point){.size = rows[0]->size, .count = count, .m0_fitted = NAN};
    for (size_t i = 0; i < count; i++) {
        memory += rows[i]->cpi_memory / n;
        point->maximal += maximal_of(rows[i]) / n;
        mean += m0_of(rows[i]) / n;
        for (uint32_t l = 0; l < rows[i]->levels; l++)
            point->hits[l] += rows[i]->hits[l] / n;
    }
    for (size_t i = 0; i < count; i++)
        squares += (m0_of(rows[i]) - mean) * (m0_of(rows[i]) - mean);
    point->m0 = 1 - memory / point->maximal;
    point->deviation = count > 1 ? sqrt(squares / (n - 1)) : NAN;
}

static void make_points(struct m0_curve *curve, const struct observation **rows, size_t count)
{
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && rows[next]->size == rows[i]->size; next++)
            ;
        make_point(&curve->points[curve->count++], rows + i, next - i);
    }
}

/* -------------------------------------------------------------------- latencies */

#define LEAST_SHARE 1e-4 /* of the sum of h_i T_i, for t_i of a level to mean something */

/* Which levels take part in what memory costs, at some size; how many. */
static size_t used_levels(const struct m0_curve *curve, uint32_t used[OBSERVED_LEVELS_MAX])
{
    size_t count = 0;

    for (uint32_t l = 0; l < curve->levels; l++)
        for (size_t p = 0; p < curve->count; p++)
            if (curve->points[p].hits[l] * curve->maximal[l] >
                LEAST_SHARE * curve->points[p].maximal) {
                used[count++] = l;
                break;
            }
    return count;
}

static void take_maximal(struct m0_curve *curve, const struct observation **rows, size_t count)
{
    for (uint32_t l = 0; l < curve->levels; l++) {
        double sum = 0, known = 0;
        for (size_t i = 0; i < count; i++)
            if (!isnan(rows[i]->latencies[l])) {
                sum += rows[i]->latencies[l];
                known++;
                curve->lowest[l] = fmin(curve->lowest[l], rows[i]->latencies[l]);
                curve->highest[l] = fmax(curve->highest[l], rows[i]->latencies[l]);
            }
        curve->maximal[l] = known > 0 ? sum / known : NAN;
    }
}

static void take_latencies(struct m0_curve *curve, const uint32_t *used, size_t columns,
                           const double *latencies)
{
    curve->has_latencies = true;
    for (size_t k = 0; k < columns; k++)
        curve->latencies[used[k]] = latencies[k];
    for (size_t p = 0; p < curve->count; p++) {
        struct m0_point *point = &curve->points[p];
        double sum = 0;
        for (size_t k = 0; k < columns; k++)
            sum += point->hits[used[k]] * latencies[k];
        point->m0_fitted = 1 - sum / point->maximal;
    }
}

/* t_i, of all rows. */
static enum psnap_status fit_latencies(struct m0_curve *curve, const struct observation **rows,
                                       size_t count, struct psnap_error *error)
{
    uint32_t used[OBSERVED_LEVELS_MAX];
    double latencies[OBSERVED_LEVELS_MAX], left, squares = 0;
    size_t columns;
    bool is_unique = false;
    double *matrix, *memory;
    enum psnap_status status = PSNAP_OK;

    take_maximal(curve, rows, count);
    columns = used_levels(curve, used);
    if (curve->count < columns) {
        curve->why_no_latencies = "there are fewer sizes than levels";
        return PSNAP_OK;
    }
    matrix = calloc(count * columns + 1, sizeof *matrix);
    memory = calloc(count + 1, sizeof *memory);
    if (!matrix || !memory) {
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for m0");
        goto out;
    }
    for (size_t i = 0; i < count; i++) {
        memory[i] = rows[i]->cpi_memory;
        squares += memory[i] * memory[i];
        for (size_t k = 0; k < columns; k++)
            matrix[i * columns + k] = rows[i]->levels > used[k] ? rows[i]->hits[used[k]] : 0;
    }
    status = numeric_least_squares_nonnegative(matrix, count, columns, memory, latencies, &left,
                                               &is_unique, error);
    if (status)
        goto out;
    if (is_unique) {
        take_latencies(curve, used, columns, latencies);
        curve->fit_error = squares > 0 ? sqrt(left / squares) : 0;
    } else
        curve->why_no_latencies = "hits of levels are in proportion at all sizes";
out:
    free(matrix);
    free(memory);
    return status;
}

/* ----------------------------------------------------------------------- steady */

/* Over the points from `from` on; the furthest of them from their mean. */
static double spread(const struct m0_curve *curve, size_t from, double *mean, double *deviation)
{
    const double n = (double)(curve->count - from);
    double squares = 0, furthest = 0;

    *mean = 0;
    for (size_t p = from; p < curve->count; p++)
        *mean += curve->points[p].m0 / n;
    for (size_t p = from; p < curve->count; p++) {
        const double off = curve->points[p].m0 - *mean;
        squares += off * off;
        furthest = fmax(furthest, fabs(off));
    }
    *deviation = n > 1 ? sqrt(squares / (n - 1)) : NAN;
    return furthest;
}

/* Decimal fractions that are at the tolerance are within it. */
static bool is_within(double distance, double tolerance)
{
    return distance <= tolerance + 1e-12;
}

static void find_steady(struct m0_curve *curve, double tolerance)
{
    double mean, deviation;

    curve->steady_from = curve->steady_mean = curve->steady_deviation = NAN;
    spread(curve, 0, &curve->mean, &curve->deviation);
    for (size_t from = 0; from + M0_STEADY_SIZES <= curve->count; from++)
        if (is_within(spread(curve, from, &mean, &deviation), tolerance)) {
            curve->is_steady = true;
            curve->steady_from = curve->points[from].size;
            curve->steady_mean = mean;
            curve->steady_deviation = deviation;
            return;
        }
}

enum psnap_status m0_curve_make(struct m0_curve *curve, const struct observations *observations,
                                uint32_t code, uint32_t machine, double tolerance,
                                struct psnap_error *error)
{
    const struct observation **rows;
    size_t count;
    enum psnap_status status = PSNAP_OK;

    *curve = (struct m0_curve){.code = code, .machine = machine};
    for (int l = 0; l < OBSERVED_LEVELS_MAX; l++)
        curve->latencies[l] = curve->maximal[l] = curve->lowest[l] = curve->highest[l] = NAN;
    rows = rows_of(curve, observations, &count, error);
    if (!rows)
        return error ? error->code : PSNAP_ERROR_MEMORY;
    curve->points = calloc(count + 1, sizeof *curve->points);
    if (!curve->points)
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for m0");
    if (!status && count) {
        make_points(curve, rows, count);
        status = fit_latencies(curve, rows, count, error);
        find_steady(curve, tolerance);
    }
    free(rows);
    return status;
}

void m0_curve_release(struct m0_curve *curve)
{
    free(curve->points);
}

/* ------------------------------------------------------------------- difference */

/* Whether there is another size of both, from points *i and *j on, which it moves there. */
static bool next_common(const struct m0_curve *first, const struct m0_curve *second, double from,
                        size_t *i, size_t *j)
{
    while (*i < first->count && *j < second->count) {
        const double size = first->points[*i].size;
        if (size == second->points[*j].size && size >= from)
            return true;
        if (size <= second->points[*j].size)
            ++*i;
        else
            ++*j;
    }
    return false;
}

void m0_compare(struct m0_difference *difference, const struct m0_curve *first,
                const struct m0_curve *second, double from, double tolerance)
{
    double sum = 0;

    *difference = (struct m0_difference){.mean = NAN, .largest = NAN};
    for (size_t i = 0, j = 0; next_common(first, second, from, &i, &j); i++, j++) {
        sum += second->points[j].m0 - first->points[i].m0;
        difference->sizes++;
    }
    if (!difference->sizes)
        return;
    difference->mean = sum / (double)difference->sizes;
    difference->largest = 0;
    for (size_t i = 0, j = 0; next_common(first, second, from, &i, &j); i++, j++)
        difference->largest =
            fmax(difference->largest,
                 fabs(second->points[j].m0 - first->points[i].m0 - difference->mean));
    difference->is_constant =
        difference->sizes >= M0_STEADY_SIZES && is_within(difference->largest, tolerance);
}
