/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one file that includes GSL, the GNU Scientific Library: distributions from gsl_cdf, least
 * squares from gsl_linalg's Householder QR. A build without GSL has the same functions, which say
 * so; the program is then free of GSL's licence (GPL).
 *
 * GSL's own answer to an error, to abort, is switched off for as long as one of these runs.
 */
#include "predict/hybrid/numeric.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef PSNAP_HAVE_GSL

#    include <gsl/gsl_cdf.h>
#    include <gsl/gsl_errno.h>
#    include <gsl/gsl_linalg.h>

#    define DEPENDENT 1e-9 /* of a column: what is left of it beside those before, relative */

enum psnap_status numeric_check(struct psnap_error *error)
{
    (void)error;
    return PSNAP_OK;
}

double numeric_f_tail(double f, double df_numerator, double df_denominator)
{
    gsl_error_handler_t *const handler = gsl_set_error_handler_off();
    const double p = gsl_cdf_fdist_Q(f, df_numerator, df_denominator);

    gsl_set_error_handler(handler);
    return p;
}

double numeric_normal_below(double z)
{
    return gsl_cdf_ugaussian_P(z);
}

double numeric_normal_above(double z)
{
    return gsl_cdf_ugaussian_Q(z);
}

/* A matrix that was factorized, and a vector that its Q was applied to. Views of an array of ours,
 * as GSL's own allocations lose memory when one of them fails. */
struct factorized {
    double *numbers;
    gsl_matrix_view qr;
    gsl_vector_view tau, vector;
};

static void factorized_free(struct factorized *factorized)
{
    free(factorized->numbers);
}

/* Of k columns, n >= k >= 1. The caller frees it, also after an error. */
static enum psnap_status factorize(struct factorized *factorized, const double *matrix, size_t n,
                                   size_t k, const double *vector, struct psnap_error *error)
{
    double *const numbers = calloc(n * k + k + n, sizeof *numbers);

    factorized->numbers = numbers;
    if (!numbers)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for least squares");
    memcpy(numbers, matrix, n * k * sizeof *numbers);
    memcpy(numbers + n * k + k, vector, n * sizeof *numbers);
    factorized->qr = gsl_matrix_view_array(numbers, n, k);
    factorized->tau = gsl_vector_view_array(numbers + n * k, k);
    factorized->vector = gsl_vector_view_array(numbers + n * k + k, n);
    if (gsl_linalg_QR_decomp(&factorized->qr.matrix, &factorized->tau.vector) ||
        gsl_linalg_QR_QTvec(&factorized->qr.matrix, &factorized->tau.vector,
                            &factorized->vector.vector))
        return psnap_error_set(error, PSNAP_ERROR_VALUE, "least squares have no solution");
    return PSNAP_OK;
}

static double sum_of_squares(const gsl_vector *vector, size_t from, size_t to)
{
    double sum = 0;

    for (size_t i = from; i < to; i++)
        sum += gsl_vector_get(vector, i) * gsl_vector_get(vector, i);
    return sum;
}

enum psnap_status numeric_split(const double *matrix, size_t n, size_t k, const double *vector,
                                double *along, double *across, struct psnap_error *error)
{
    gsl_error_handler_t *const handler = gsl_set_error_handler_off();
    struct factorized factorized;
    const enum psnap_status status = factorize(&factorized, matrix, n, k, vector, error);

    if (!status) {
        *along = sum_of_squares(&factorized.vector.vector, 0, k);
        *across = sum_of_squares(&factorized.vector.vector, k, n);
    }
    factorized_free(&factorized);
    gsl_set_error_handler(handler);
    return status;
}

/* Whether each column has a part of its own: R's diagonal against the column's length. */
static bool is_independent(const gsl_matrix *qr, size_t k)
{
    for (size_t j = 0; j < k; j++) {
        double length = 0;
        for (size_t i = 0; i <= j; i++)
            length = hypot(length, gsl_matrix_get(qr, i, j));
        if (!(fabs(gsl_matrix_get(qr, j, j)) > DEPENDENT * length))
            return false;
    }
    return true;
}

enum psnap_status numeric_least_squares(const double *matrix, size_t n, size_t k,
                                        const double *vector, double *coefficients, double *left,
                                        bool *is_unique, struct psnap_error *error)
{
    gsl_error_handler_t *handler;
    struct factorized factorized;
    enum psnap_status status;

    *is_unique = false;
    if (k > n || !k)
        return PSNAP_OK;
    handler = gsl_set_error_handler_off();
    status = factorize(&factorized, matrix, n, k, vector, error);
    if (!status && is_independent(&factorized.qr.matrix, k)) {
        *is_unique = true;
        *left = sum_of_squares(&factorized.vector.vector, k, n);
        for (size_t j = k; j-- > 0;) { /* R is triangular */
            double sum = gsl_vector_get(&factorized.vector.vector, j);
            for (size_t i = j + 1; i < k; i++)
                sum -= gsl_matrix_get(&factorized.qr.matrix, j, i) * coefficients[i];
            coefficients[j] = sum / gsl_matrix_get(&factorized.qr.matrix, j, j);
        }
    }
    factorized_free(&factorized);
    gsl_set_error_handler(handler);
    return status;
}

#else

enum psnap_status numeric_check(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_UNSUPPORTED,
                           "this psnap was built without GSL, which statistics need: install "
                           "libgsl-dev and build psnap again");
}

double numeric_f_tail(double f, double df_numerator, double df_denominator)
{
    (void)f, (void)df_numerator, (void)df_denominator;
    return NAN;
}

double numeric_normal_below(double z)
{
    (void)z;
    return NAN;
}

double numeric_normal_above(double z)
{
    (void)z;
    return NAN;
}

enum psnap_status numeric_split(const double *matrix, size_t n, size_t k, const double *vector,
                                double *along, double *across, struct psnap_error *error)
{
    (void)matrix, (void)n, (void)k, (void)vector, (void)along, (void)across;
    return numeric_check(error);
}

enum psnap_status numeric_least_squares(const double *matrix, size_t n, size_t k,
                                        const double *vector, double *coefficients, double *left,
                                        bool *is_unique, struct psnap_error *error)
{
    (void)matrix, (void)n, (void)k, (void)vector, (void)coefficients, (void)left;
    *is_unique = false;
    return numeric_check(error);
}

#endif
