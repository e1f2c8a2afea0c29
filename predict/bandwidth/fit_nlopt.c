/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The published function by NLopt: controlled random search with local mutation (CRS2, an
 * evolutionary method) within bounds around what sources have alone, then a subspace-searching
 * simplex (Sbplx), both without derivatives, as absolute errors have none everywhere.
 */
#include <math.h>

#include "predict/bandwidth/fit_genes.h"

#ifdef PSNAP_HAVE_NLOPT

#    include <nlopt.h>

bool fit_nlopt_is_built(void)
{
    return true;
}

enum { SEARCHED = 60000, IMPROVED = 60000, IMPROVEMENTS = 3 }; /* evaluations */

static double objective(unsigned n, const double *values, double *gradient, void *context)
{
    const double error = genes_error(context, values);

    (void)n;
    (void)gradient;
    return isfinite(error) ? error : HUGE_VAL;
}

/* From `values` on; they become the best ones that were found. */
static bool optimise(nlopt_algorithm algorithm, const struct genes *genes, double *values,
                     int evaluations)
{
    nlopt_opt opt = nlopt_create(algorithm, (unsigned)genes->count);
    double low[GENES_MAX], high[GENES_MAX], least;
    nlopt_result result;

    if (!opt)
        return false;
    for (size_t i = 0; i < genes->count; i++) {
        low[i] = fmin(genes->start[i] - 4 * genes->scale[i], values[i]);
        high[i] = fmax(genes->start[i] + 4 * genes->scale[i], values[i]);
    }
    nlopt_set_lower_bounds(opt, low);
    nlopt_set_upper_bounds(opt, high);
    nlopt_set_min_objective(opt, objective, (void *)genes);
    nlopt_set_maxeval(opt, evaluations);
    nlopt_set_xtol_rel(opt, 1e-7);
    result = nlopt_optimize(opt, values, &least);
    nlopt_destroy(opt);
    return result > 0 || result == NLOPT_ROUNDOFF_LIMITED;
}

enum psnap_status fit_nlopt(const struct samples *samples, uint64_t seed, struct penalised *fitted,
                            struct psnap_error *error)
{
    struct genes *genes = genes_new(samples, error);
    double values[GENES_MAX], started[GENES_MAX];
    bool is_good;

    if (!genes)
        return error->code;
    nlopt_srand((unsigned long)seed + 1);
    for (size_t i = 0; i < genes->count; i++)
        values[i] = started[i] = genes->start[i];
    is_good = optimise(NLOPT_GN_CRS2_LM, genes, values, SEARCHED);
    for (int i = 0; i < IMPROVEMENTS && is_good; i++) {
        is_good = optimise(NLOPT_LN_SBPLX, genes, values, IMPROVED) &&
                  optimise(NLOPT_LN_SBPLX, genes, started, IMPROVED);
    }
    if (genes_error(genes, started) < genes_error(genes, values))
        genes_express(genes, started, fitted);
    else
        genes_express(genes, values, fitted);
    genes_free(genes);
    return is_good
               ? PSNAP_OK
               : psnap_error_set(error, PSNAP_ERROR_MEMORY, "NLopt could not fit: out of memory");
}

#else

bool fit_nlopt_is_built(void)
{
    return false;
}

enum psnap_status fit_nlopt(const struct samples *samples, uint64_t seed, struct penalised *fitted,
                            struct psnap_error *error)
{
    (void)samples;
    (void)seed;
    (void)fitted;
    return psnap_error_set(error, PSNAP_ERROR_UNSUPPORTED,
                           "this psnap was built without NLopt (libnlopt-dev)");
}

#endif
