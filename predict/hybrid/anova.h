/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Analysis of variance of two factors, A and B, balanced or not: effects with F and p, and checks
 * of the residuals.
 */
#ifndef PSNAP_PREDICT_HYBRID_ANOVA_H
#define PSNAP_PREDICT_HYBRID_ANOVA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ANOVA_CELLS_MAX 1024 /* the interaction of as many takes a second */

/* Observations of a response, cell after cell, levels of B fastest. */
struct experiment {
    double *values; /* finite */
    size_t count;
    uint32_t *counts; /* of observations, by cell */
    size_t a_levels, b_levels;
};

/* Why there is nothing to analyse. */
enum anova_problem {
    ANOVA_FINE,
    ANOVA_TOO_LARGE,     /* more than ANOVA_CELLS_MAX cells */
    ANOVA_ONE_LEVEL,     /* of A or B */
    ANOVA_EMPTY_CELL,    /* of levels problem_a and problem_b */
    ANOVA_NO_REPLICATES, /* one observation in every cell */
    ANOVA_NO_RESIDUAL    /* the same in each cell */
};

enum { ANOVA_A, ANOVA_B, ANOVA_INTERACTION, ANOVA_OVERALL, ANOVA_RESIDUAL, ANOVA_EFFECTS };

struct anova_effect {
    double df, sum_of_squares;
    double f, p;
    double partial_eta_squared; /* sum of squares / (that + the residual's) */
};

struct anova {
    enum anova_problem problem; /* else than ANOVA_FINE: nothing below is set but, */
    size_t problem_a, problem_b;
    struct anova_effect effects[ANOVA_EFFECTS]; /* [ANOVA_OVERALL]: of all cells together; of
                                                   [ANOVA_RESIDUAL] no F and p */
    bool is_balanced;
    /* Checks of residuals. NAN: not to be computed of so few observations. */
    double anderson_darling, anderson_darling_p;
    double brown_forsythe, brown_forsythe_p;
    double largest; /* residual in its standard deviations, without sign */
    size_t largest_of;
};

/* Analyses an experiment, whose values are overwritten; false: out of memory. GSL's error handler
 * is off. */
bool anova_make(struct anova *anova, struct experiment *experiment);

#endif
