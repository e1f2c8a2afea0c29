/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Non-negative least squares: by the conditions of Kuhn and Tucker the solution is the ordinary one
 * of those columns whose coefficients are above 0. There are few columns here, so all subsets are
 * tried: 2^k factorizations, nothing to converge.
 */
#include <stdlib.h>
#include <string.h>

#include "predict/hybrid/numeric.h"

/* The least squares of a subset of the columns (a bit each); not unique, or a coefficient below 0:
 * *left stays as it is. */
static enum psnap_status try_subset(const double *matrix, size_t n, size_t k, unsigned subset,
                                    const double *vector, double *room, double *coefficients,
                                    double *left, struct psnap_error *error)
{
    double own[NUMERIC_COLUMNS_MAX], rest;
    size_t columns[NUMERIC_COLUMNS_MAX], count = 0;
    bool is_unique;
    enum psnap_status status;

    for (size_t j = 0; j < k; j++)
        if (subset >> j & 1)
            columns[count++] = j;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < count; j++)
            room[i * count + j] = matrix[i * k + columns[j]];
    status = numeric_least_squares(room, n, count, vector, own, &rest, &is_unique, error);
    if (status || !is_unique || !(rest < *left))
        return status;
    for (size_t j = 0; j < count; j++)
        if (own[j] < 0)
            return PSNAP_OK;
    *left = rest;
    memset(coefficients, 0, k * sizeof *coefficients);
    for (size_t j = 0; j < count; j++)
        coefficients[columns[j]] = own[j];
    return PSNAP_OK;
}

enum psnap_status numeric_least_squares_nonnegative(const double *matrix, size_t n, size_t k,
                                                    const double *vector, double *coefficients,
                                                    double *left, bool *is_unique,
                                                    struct psnap_error *error)
{
    double all[NUMERIC_COLUMNS_MAX];
    double *room;
    enum psnap_status status;

    if (k > NUMERIC_COLUMNS_MAX)
        return psnap_error_set(error, PSNAP_ERROR_UNSUPPORTED, "at most %d levels",
                               NUMERIC_COLUMNS_MAX);
    status = numeric_least_squares(matrix, n, k, vector, all, left, is_unique, error);
    if (status || !*is_unique)
        return status;
    room = calloc(n * k + 1, sizeof *room);
    if (!room)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for least squares");
    *left = 0;
    for (size_t i = 0; i < n; i++)
        *left += vector[i] * vector[i]; /* of no column */
    memset(coefficients, 0, k * sizeof *coefficients);
    for (unsigned subset = 1; subset < 1u << k && !status; subset++)
        status = try_subset(matrix, n, k, subset, vector, room, coefficients, left, error);
    free(room);
    return status;
}
