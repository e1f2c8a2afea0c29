/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * m0, the share of memory's latency that is hidden, as a function of problem size: of a code on a
 * machine, and whether it is steady and how machines differ.
 */
#ifndef PSNAP_PREDICT_HYBRID_M0_H
#define PSNAP_PREDICT_HYBRID_M0_H

#include "formats/base/arena.h"
#include "predict/hybrid/observations.h"

#define M0_STEADY_SIZES 3 /* the fewest of which one can say that they are steady */

enum answer { ANSWER_UNKNOWN, ANSWER_NO, ANSWER_YES };

struct m0_point {
    double size;
    size_t observations;
    double m0;        /* as observed */
    double m0_fitted; /* by the latencies t_i of the curve; NAN without them */
    double hits[OBSERVED_LEVELS_MAX], maximal, memory; /* sums of h_i, h_i T_i, and cpi_memory */
};

struct m0_curve {
    const char *machine;
    const struct observation *rows; /* by size; set before m0_curve_make, as are the two others */
    size_t row_count;
    size_t left_out;                            /* rows that m0 is not known of */
    struct m0_point *points;                    /* by size */
    size_t sizes;                               /* of points; 0: nothing else is known */
    uint32_t levels;                            /* beyond level 1 */
    double average_cycles[OBSERVED_LEVELS_MAX]; /* t_i; NAN: not determined */
    double maximal_cycles[OBSERVED_LEVELS_MAX]; /* T_i, their mean */
    double fit_error;             /* root of the squares left, relative to those of cpi_memory */
    const char *why_no_latencies; /* NULL: there are t_i */
    double mean, deviation;       /* of m0, over all sizes; standard, NAN of one */
    enum answer is_steady;
    double steady_from, steady_mean, steady_deviation; /* over the sizes from there on */
};

/* Of two curves at the sizes that both have. */
struct m0_difference {
    size_t sizes;
    double mean, largest; /* of second - first, and the largest deviation from that mean */
    enum answer is_constant;
};

/* Returns m0 of one observation; NAN where something is not known, or nothing goes beyond level 1.
 */
double m0_of(const struct observation *row);

/* Makes the curve of its rows, in the arena; `tolerance` is of m0, for what is steady. GSL's error
 * handler is off. */
enum psnap_status m0_curve_make(struct m0_curve *curve, double tolerance, struct psnap_arena *arena,
                                struct psnap_error *error);

/* Compares two curves over their common sizes from this one on. */
struct m0_difference m0_compare(const struct m0_curve *first, const struct m0_curve *second,
                                double from, double tolerance);

#endif
