/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Machines in order: relative speeds, pairs, the probability that a pair is the other way round,
 * and inversions that were observed. RANK.md defines each.
 */
#ifndef PSNAP_PREDICT_RANK_RANKING_H
#define PSNAP_PREDICT_RANK_RANKING_H

#include "predict/rank/times.h"

#define RANKING_PAIRS_MIN 3 /* of predicted and measured times, for an estimate of sigma */

/* The error of predictions, of ln(predicted / measured). */
struct ranking_error {
    double sigma; /* standard deviation; NaN: neither given nor estimated */
    bool is_given;
    size_t pairs;         /* cells with both times; the rest is of these, NaN without any */
    double bias;          /* mean */
    double deviation;     /* standard deviation about the mean; NaN below RANKING_PAIRS_MIN */
    double mean_absolute; /* of |predicted - measured| / measured */
};

/* Speeds against the base, over the cases that all machines have. */
struct ranking_speed {
    double mean;      /* geometric; NaN: there is no such case */
    double deviation; /* geometric standard deviation, of a sample; NaN below two cases */
    double lowest, highest;
};

struct ranking_machine {
    struct ranking_speed speeds[TIMES_KINDS];
    double seconds[TIMES_KINDS]; /* geometric mean over the same cases */
    size_t wins;                 /* how many machines it is faster than in most cases of both */
};

/* `first` is before `second` in the order. */
struct ranking_pair {
    size_t first, second;
    size_t cases;               /* that both have, of the kind that is ranked by */
    size_t first_faster, equal; /* of these */
    double ratio;               /* geometric mean of t(second) / t(first); NaN without cases */
    double expected;            /* inversions: the sum of their probabilities; NaN without sigma */
    double probability;         /* its mean over cases */
    double order_probability;   /* that `first` is the slower one by geometric means of these cases;
                                 * above 1/2 where `ratio` is below 1 */
    size_t compared;            /* cases with both kinds on both machines */
    size_t observed, over_threshold; /* inversions in these */
};

struct ranking {
    enum times_kind kind; /* ranked by: predicted where there are predictions */
    bool has_both;
    double threshold;
    size_t base;
    size_t common[TIMES_KINDS]; /* cases that all machines have */
    size_t *order;              /* fastest first */
    bool is_by_wins;            /* as no case is common */
    struct ranking_machine *machines;
    struct ranking_error error;
    struct ranking_pair *pairs; /* in the order's order */
    size_t pair_count;
    struct ranking_case {
        bool is_common[TIMES_KINDS]; /* all machines have it */
        double tau; /* Kendall's, of its predicted and measured times; NaN: undefined */
    } *cases;
    double mean_tau;           /* over cases where it is defined */
    double order_tau;          /* of the geometric means over cases that are common to both kinds */
    struct ranking_pair total; /* sums over pairs */
};

struct ranking_settings {
    size_t base;      /* SIZE_MAX: the slowest */
    double error;     /* NaN: estimate it */
    double threshold; /* alpha */
};

/* `times` have passed times_check; `ranking` is released whether or not it fails. */
enum psnap_status ranking_make(struct ranking *ranking, const struct times *times,
                               const struct ranking_settings *settings, struct psnap_error *error);
void ranking_release(struct ranking *ranking);

/* The kind that is ranked by. */
enum times_kind ranking_kind(const struct times *times);

/* The probability that of two times that are predicted the true ones are in the other order. */
double ranking_inversion(double seconds, double other_seconds, double sigma);

/* Kendall's tau-b of `count` pairs of values; pairs with a NaN are passed over; NaN where all
 * values of one side are equal. */
double ranking_tau(const double *x, const double *y, size_t count);

/* t(base) / t(machine); NaN where one is missing. */
double ranking_case_speed(const struct ranking *ranking, const struct times *times, size_t index,
                          size_t machine, enum times_kind kind);

#endif
