/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * m0, the share of memory's latency that is hidden, as a function of problem size: of a code on a
 * machine, and whether it is steady and how machines differ.
 */
#ifndef PSNAP_PREDICT_HYBRID_M0_H
#define PSNAP_PREDICT_HYBRID_M0_H

#include "predict/hybrid/observations.h"

#define M0_STEADY_SIZES 3 /* the fewest of which one can say that they are steady */

struct m0_point {
    double size;
    size_t count;                     /* observations */
    double hits[OBSERVED_LEVELS_MAX]; /* h_i, their mean */
    double maximal;                   /* sum of h_i T_i, their mean */
    double m0;                        /* of what was observed */
    double deviation; /* standard, of m0 among replicates; NAN: there is one alone */
    double m0_fitted; /* by the latencies t_i of the curve; NAN without them */
};

struct m0_curve {
    uint32_t code, machine;
    struct m0_point *points; /* in ascending order of sizes */
    size_t count;            /* 0: nothing is known, `why` says why */
    uint32_t levels;         /* beyond level 1 */
    const char *why;
    size_t left_out; /* observations that m0 is not known of: the first one, and why */
    const struct observation *first_left_out;
    double latencies[OBSERVED_LEVELS_MAX]; /* t_i; NAN: not determined */
    double maximal[OBSERVED_LEVELS_MAX];   /* T_i, their mean; and between which they are */
    double lowest[OBSERVED_LEVELS_MAX], highest[OBSERVED_LEVELS_MAX];
    bool has_latencies;
    const char *why_no_latencies;
    double fit_error;       /* root of the squares left, relative to those of cpi_memory */
    double mean, deviation; /* of m0, over all sizes; standard, NAN of one */
    bool is_steady;
    double steady_from, steady_mean, steady_deviation; /* over the sizes from there on */
};

/* Of two curves at the sizes that both have. */
struct m0_difference {
    size_t sizes;
    double mean, largest; /* of second - first, and the largest deviation from that mean */
    bool is_constant;     /* that is within the tolerance, at M0_STEADY_SIZES sizes or more */
};

/* m0 of one observation; NAN where something is not known, or nothing goes beyond level 1. */
double m0_of(const struct observation *row);

/* The caller releases it, also after an error. `tolerance` is of m0, for what is steady. */
enum psnap_status m0_curve_make(struct m0_curve *curve, const struct observations *observations,
                                uint32_t code, uint32_t machine, double tolerance,
                                struct psnap_error *error);
void m0_curve_release(struct m0_curve *curve);

/* Over the common sizes from this one on. */
void m0_compare(struct m0_difference *difference, const struct m0_curve *first,
                const struct m0_curve *second, double from, double tolerance);

#endif
