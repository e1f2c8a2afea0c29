/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fits of all methods to points, with what they are worth: errors of the points they were fitted
 * to, and of points that were held out (cross-validation).
 */
#ifndef PSNAP_PREDICT_BANDWIDTH_FIT_H
#define PSNAP_PREDICT_BANDWIDTH_FIT_H

#include "predict/bandwidth/model.h"

struct fit_result {
    struct bandwidth_model model;
    uint32_t points, parameters;
    double mean_error, worst_error; /* relative, of the points */
    double probe_error[MAP_PROBES]; /* of the points of each benchmark; NaN: none */
    double held_out_error;          /* mean over all points, each held out once; NaN: no folds */
    double held_out_spread;         /* standard deviation of the folds' means */
    uint32_t generations;           /* of METHOD_GA */
    double seconds;                 /* that the fit took, without folds */
};

struct fit_settings {
    bool by_kind;
    uint32_t folds; /* 0: no cross-validation */
    uint64_t seed;
    uint32_t population, generations, threads;
    bool with_apex; /* all points of Apex-MAP, not those of random words alone */
    /* Told now and then; `fold` 0 is the fit to all points. May be NULL. */
    void (*tell)(void *context, enum bandwidth_method method, uint32_t fold, uint32_t generation);
    void *context;
};

enum psnap_status fit_points(const struct maps *maps, enum bandwidth_method method,
                             const struct fit_settings *settings, struct fit_result *result,
                             struct psnap_error *error);

/* Seconds that an access waits for each level of the machine, and for its memory, when the next one
 * needs what it brings: from the points that are chains; all 0 without any. */
enum psnap_status fit_latencies(const struct maps *maps, double latencies[SUPPLY_LEVELS],
                                struct psnap_error *error);

/* The best of the results by held-out error, or by mean error when none was held out. */
size_t fit_best(const struct fit_result *results, size_t count);

/* --------------------------------------------------------------------- fit files */

/* What a file of fits holds. */
struct fits {
    struct psnap_machine machine;
    struct map_origin origin;        /* of the points */
    double latencies[SUPPLY_LEVELS]; /* seconds, of the machine's levels and memory; 0: unknown */
    struct fit_result results[METHODS];
    size_t count;
};

enum psnap_status fits_write(const struct fits *fits, FILE *file, struct psnap_error *error);
enum psnap_status fits_read(FILE *file, const char *name, struct fits *fits,
                            struct psnap_error *error);

#endif
