/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parameters of the published function as a vector of genes without bounds, and their error of
 * the samples, fast: what a genetic algorithm and NLopt ask for millions of times.
 */
#ifndef PSNAP_PREDICT_BANDWIDTH_FIT_GENES_H
#define PSNAP_PREDICT_BANDWIDTH_FIT_GENES_H

#include "predict/bandwidth/model.h"

/* log b of each source, log c of all but the first, f of two levels, log x of two. */
enum { GENES_MAX = 2 * SOURCES_MAX + 3 };

struct genes {
    size_t count;
    double start[GENES_MAX]; /* near what sources have alone */
    double scale[GENES_MAX]; /* how far from it they may well be */
    const struct samples *samples;
    struct genes_data *data; /* samples, as the error needs them */
};

/* NULL with `error` filled. Does not own the samples, which outlive it. */
struct genes *genes_new(const struct samples *samples, struct psnap_error *error);
void genes_free(struct genes *genes); /* NULL is legal */

/* The sum of absolute relative errors of bandwidths. May be called by several threads at once. */
double genes_error(const struct genes *genes, const double *values);
void genes_express(const struct genes *genes, const double *values, struct penalised *penalised);

#endif
