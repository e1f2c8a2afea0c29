/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The comparison of two simulated streams, as numbers.
 */
#ifndef PSNAP_SIMCORE_COMPARE_H
#define PSNAP_SIMCORE_COMPARE_H

#include "simcore/scope.h"

#define COMPARE_RELEVANT 0.005 /* of a stream's accesses */
#define COMPARE_WHOLLY 100.0   /* points of error of a loop that only one side has */

/* One stream's results on all machines. */
struct compare_side {
    const char *path;
    uint64_t accesses;
    uint64_t run_accesses; /* that these are a sample of; 0: they are all */
    uint32_t threads;
    bool in_turn;            /* these, access by access; else in the trace's order */
    struct scope_rows total; /* one row */
    struct scope_rows loops;
};

struct compare_level {
    double observed, synthetic; /* cumulative hit rates; NaN: this side has no such loop */
    double error_points;
    double relative_miss_error; /* NaN: no misses to relate to */
};

/* One loop, or the total, on one machine. */
struct compare_row {
    size_t machine;
    enum scope scope;
    const char *id, *name; /* the sides' */
    double share;          /* of the observed accesses */
    bool relevant;
    bool in_observed, in_synthetic;
    double worst_points;
    struct compare_level levels[PSNAP_LEVELS_MAX];
};

/* One loop over all machines. */
struct compare_loop {
    const char *id, *name;
    double share;
    bool relevant;
    size_t worst_machine;
    double worst_points;
    double mean_points[PSNAP_LEVELS_MAX], max_points[PSNAP_LEVELS_MAX]; /* of machines with it */
};

struct compare {
    const struct psnap_machine *machines;
    size_t machine_count;
    struct compare_row *rows; /* worst error first */
    size_t count;
    struct compare_loop *loops; /* worst error first */
    size_t loop_count;
    size_t relevant_loops, missing_loops; /* loops, not rows; missing: relevant, on one side only */
    uint32_t levels;                      /* of the machine with most */
    double mean_points[PSNAP_LEVELS_MAX], max_points[PSNAP_LEVELS_MAX]; /* NaN: no such loops */
    double total_points[PSNAP_LEVELS_MAX];                              /* mean over machines */
};

/* Keeps pointers to the sides and machines. */
enum psnap_status compare_init(struct compare *compare, const struct psnap_machine *machines,
                               size_t machine_count, const struct compare_side *observed,
                               const struct compare_side *synthetic, struct psnap_error *error);
void compare_release(struct compare *compare);

#endif
