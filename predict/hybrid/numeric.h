/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What psnap hybrid has from GSL: tails of distributions, and least squares by QR.
 */
#ifndef PSNAP_PREDICT_HYBRID_NUMERIC_H
#define PSNAP_PREDICT_HYBRID_NUMERIC_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/base/status.h"

/* PSNAP_OK, or an error that names what this build lacks: GSL. All else here needs it. */
enum psnap_status numeric_check(struct psnap_error *error);

/* The chance that F of so many degrees of freedom is above `f`. NAN without GSL. */
double numeric_f_tail(double f, double df_numerator, double df_denominator);
/* The chances that a standard normal variable is below and above `z`. */
double numeric_normal_below(double z);
double numeric_normal_above(double z);

/*
 * Splits a vector of `n` numbers into the part that lies in the span of the `k` <= n columns of a
 * matrix (row after row) and the part across it: the sums of their squares. Columns have to be
 * linearly independent.
 */
enum psnap_status numeric_split(const double *matrix, size_t n, size_t k, const double *vector,
                                double *along, double *across, struct psnap_error *error);

/*
 * The coefficients by which the columns of a matrix (n rows of k) come nearest to a vector, and the
 * sum of squares that is left; *is_unique is false, and nothing else set, where columns depend on
 * each other (by a relative 1e-9), or there are more of them than rows.
 */
enum psnap_status numeric_least_squares(const double *matrix, size_t n, size_t k,
                                        const double *vector, double *coefficients, double *left,
                                        bool *is_unique, struct psnap_error *error);

/* The same, but no coefficient below 0: the best least squares of all subsets of the columns that
 * have none. At most NUMERIC_COLUMNS_MAX columns. */
#define NUMERIC_COLUMNS_MAX 10
enum psnap_status numeric_least_squares_nonnegative(const double *matrix, size_t n, size_t k,
                                                    const double *vector, double *coefficients,
                                                    double *left, bool *is_unique,
                                                    struct psnap_error *error);

#endif
