/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two-factor factorial experiment with interaction, balanced or not: effects with F and p, and
 * checks of the residuals.
 */
#ifndef PSNAP_PREDICT_HYBRID_ANOVA_H
#define PSNAP_PREDICT_HYBRID_ANOVA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

#define ANOVA_CELLS_MAX 4096

/* Observations of a response, each at a level of both factors. */
struct experiment {
    const double *values; /* finite */
    const uint32_t *a, *b;
    size_t count;
    uint32_t a_levels, b_levels;
};

/* Why there is nothing to analyse. */
enum anova_problem {
    ANOVA_FINE,
    ANOVA_ONE_LEVEL_A,
    ANOVA_ONE_LEVEL_B,
    ANOVA_EMPTY_CELL,    /* of levels a and b */
    ANOVA_NO_REPLICATES, /* one observation in every cell */
    ANOVA_CONSTANT,      /* the response is the same everywhere */
    ANOVA_NO_RESIDUAL    /* the same in each cell */
};

enum { ANOVA_A, ANOVA_B, ANOVA_INTERACTION, ANOVA_OVERALL, ANOVA_EFFECTS };

struct anova_effect {
    double df, sum_of_squares;
    double f, p;
    double partial_eta_squared; /* sum of squares / (that + the residual's) */
};

/* NAN: what cannot be computed of so few observations. */
struct anova_checks {
    double anderson_darling, anderson_darling_p;
    double brown_forsythe, brown_forsythe_df[2], brown_forsythe_p;
    double largest; /* residual in its standard deviations, without sign */
    size_t largest_of;
};

struct anova {
    struct anova_effect effects[ANOVA_EFFECTS]; /* [ANOVA_OVERALL]: of all cells together */
    double residual_df, residual_sum_of_squares;
    double total_df, total_sum_of_squares;
    bool is_balanced;
    struct anova_checks checks;
    enum anova_problem problem; /* else than ANOVA_FINE: nothing above is set, */
    uint32_t problem_a, problem_b;
};

/* An error is one of the machine (memory, GSL, too many cells), not a problem of the data. */
enum psnap_status anova_make(struct anova *anova, const struct experiment *experiment,
                             struct psnap_error *error);

/* By anova_make: of the residuals, in order of observations, and the cell of each; `room` is for as
 * many numbers. false: out of memory. */
bool anova_check_residuals(struct anova_checks *checks, const double *residuals,
                           const uint32_t *cells, const uint32_t *counts, size_t count,
                           size_t cell_count, double *room);

#endif
