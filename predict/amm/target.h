/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What AMM predicts a run to be: that of a measured input, or of a larger one.
 */
#ifndef PSNAP_PREDICT_AMM_TARGET_H
#define PSNAP_PREDICT_AMM_TARGET_H

#include "predict/amm/chain.h"
#include "predict/amm/growth.h"
#include "predict/amm/measure.h"

#define SPREAD_MODES 2
#define SPREAD_QUANTILES 50

/*
 * The distances of a reference at the larger input: what share is cold, or of one of the two
 * modes, near and far, which add up to 1; and quantiles of each mode, the middles of equal parts of
 * it.
 */
struct spread {
    double cold;
    double shares[SPREAD_MODES];
    double quantiles[SPREAD_MODES][SPREAD_QUANTILES];
};

struct target {
    const struct measure *base; /* whose distances are taken where there is no spread */
    double *accesses;           /* as those of a measure */
    double *operations;
    double *iterations;
    double *entries;
    struct spread **spreads; /* [plan * ref_count + ref]; NULL: as measured */
    double left_out;         /* of growth: the relative error of accesses at an input left out */
    double unknown;          /* accesses of blocks that the base did not execute */
};

/* All of these are released by the caller, also after an error; the measures outlive them. */
void target_release(struct target *target);

/* An empty one, for the functions below. */
enum psnap_status target_begin(struct target *target, const struct measure *base,
                               struct psnap_error *error);

/* Whether two inputs have the same loops, blocks and references. */
bool target_is_same_program(const struct measure *a, const struct measure *b);

/* The measured input itself. */
enum psnap_status target_same(struct target *target, const struct measure *base,
                              struct psnap_error *error);

/*
 * An input of which blocks are executed as often as `executions` says, by block of the base's
 * program; those of blocks without accesses, where that is negative, grow as their loop does.
 */
enum psnap_status target_executions(struct target *target, const struct measure *base,
                                    const double *executions, struct psnap_error *error);

/* The input of another measure, of which only executions and operations are used: block by block
 * when both are traces of the same program, else loop by loop. An error: it is of another program
 * or build, or more than a tenth of its accesses are of what the base did not execute. */
enum psnap_status target_at(struct target *target, const struct measure *base,
                            const struct measure *large, struct psnap_error *error);

/* The input of a size, from `count` measures of the same program at other ones; `base` of the
 * target is the last. `fixed`: all grows but distances, as in the paper. */
enum psnap_status target_grown(struct target *target, const struct measure *const *measures,
                               const double *sizes, size_t count, double size, bool fixed,
                               struct psnap_error *error);

/* The chance that an access of a reference hits in a cache, by SDCM, or if the plan has sets by
 * its distances within these. NAN: of a reference that was not accessed. */
double target_hit_rate(const struct target *target, size_t plan, bool per_set, uint32_t ref,
                       uint64_t ways, uint64_t lines);

/* By how much a block is executed more often than in the base, and how many more lines a reference
 * touches first; 1 where that is not known. */
double target_growth(const struct target *target, uint32_t block);
double target_cold_growth(const struct target *target, uint32_t ref);

/* Calls `each` with the distances of all references by the first plan, and the accesses that are
 * expected of them; PSNAP_DISTANCE_COLD for cold ones. */
void target_distances(const struct target *target,
                      void (*each)(void *context, uint64_t distance, double accesses),
                      void *context);

#endif
