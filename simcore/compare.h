/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The comparison of two simulated streams, as numbers.
 */
#ifndef PSNAP_SIMCORE_COMPARE_H
#define PSNAP_SIMCORE_COMPARE_H

#include "simcore/scope.h"

#define COMPARE_RELEVANT 0.005 /* of a stream's accesses */
#define COMPARE_WHOLLY 100.0   /* points of error of a loop that only one side has */

/* The levels of a report: those of the caches, and from COMPARE_TLB on those of the TLB. */
#define COMPARE_TLB PSNAP_LEVELS_MAX
#define COMPARE_LEVELS (PSNAP_LEVELS_MAX + PSNAP_TLB_LEVELS_MAX)

/* One stream's results on all machines. */
struct compare_side {
    const char *path;
    uint64_t accesses;
    uint64_t run_accesses; /* that these are a sample of; 0: they are all */
    uint32_t threads;
    const struct psnap_deadline *deadline; /* when it is set the side stays without; NULL: none */
    bool in_turn;                          /* these, access by access; else in the trace's order */
    struct scope_rows total;               /* one row */
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
    enum psnap_scope scope;
    const char *id, *name; /* the sides' */
    double share;          /* of the observed accesses */
    bool relevant;
    bool in_observed, in_synthetic;
    double worst_points;
    struct compare_level levels[COMPARE_LEVELS];
};

/* One loop over all machines. */
struct compare_loop {
    const char *id, *name;
    double share;
    bool relevant;
    size_t worst_machine;
    double worst_points;
    double mean_points[COMPARE_LEVELS], max_points[COMPARE_LEVELS]; /* of machines with it */
};

struct compare {
    const struct psnap_machine *machines;
    size_t machine_count;
    struct compare_row *rows; /* worst error first */
    size_t count;
    struct compare_loop *loops; /* worst error first */
    size_t loop_count;
    size_t relevant_loops, missing_loops; /* loops, not rows; missing: relevant, on one side only */
    uint32_t levels, tlb_levels;          /* of the machine with most */
    double mean_points[COMPARE_LEVELS], max_points[COMPARE_LEVELS]; /* NaN: no such loops */
    double total_points[COMPARE_LEVELS];                            /* mean over machines */
};

/* Whether a machine has a level; and whether one of them has it. */
bool compare_machine_has(const struct psnap_machine *machine, uint32_t level);
bool compare_has(const struct compare *compare, uint32_t level);

/* "L1", "TLB" into `text`; returns it. */
char *compare_level_name(uint32_t level, char *text, size_t size);

/* Keeps pointers to the sides and machines. */
enum psnap_status compare_init(struct compare *compare, const struct psnap_machine *machines,
                               size_t machine_count, const struct compare_side *observed,
                               const struct compare_side *synthetic, struct psnap_error *error);
void compare_release(struct compare *compare);

#endif
