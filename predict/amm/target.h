/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What AMM predicts a run to be: that of a measured input, or of a larger one.
 */
#ifndef PSNAP_PREDICT_AMM_TARGET_H
#define PSNAP_PREDICT_AMM_TARGET_H

#include "predict/amm/chain.h"
#include "predict/amm/measure.h"

struct target {
    const struct measure *base; /* whose distances are taken */
    double *accesses;           /* as those of a measure */
    double *operations;
    double *iterations;
    double *entries;
    double unknown; /* accesses of blocks that the base did not execute */
};

/* All of these are released by the caller, also after an error; the measures outlive them. */
void target_release(struct target *target);

/* The measured input itself. */
enum psnap_status target_same(struct target *target, const struct measure *base,
                              struct psnap_error *error);

/*
 * An input of which blocks are executed as often as `executions` says, by block of the base's
 * program; those of blocks without accesses, where that is negative, grow as their loop does.
 */
enum psnap_status target_executions(struct target *target, const struct measure *base,
                                    const double *executions, struct psnap_error *error);

/* The input of another measure of the same program, of which only executions are used; both are of
 * traces. An error: it is of another program or build, or more than a tenth of its accesses are of
 * blocks that the base did not execute. */
enum psnap_status target_at(struct target *target, const struct measure *base,
                            const struct measure *large, struct psnap_error *error);

/* The chance that an access of a reference hits in a cache, by SDCM, or if the plan has sets by
 * its distances within these. NAN: of a reference that was not accessed. */
double target_hit_rate(const struct target *target, size_t plan, bool per_set, uint32_t ref,
                       uint64_t ways, uint64_t lines);

/* By how much a block is executed more often than in the base, and a reference; 1 where that is not
 * known. */
double target_growth(const struct target *target, uint32_t block);
double target_ref_growth(const struct target *target, uint32_t ref);

/* Calls `each` with the distances of all references by the first plan, and the accesses that are
 * expected of them; PSNAP_DISTANCE_COLD for cold ones. */
void target_distances(const struct target *target,
                      void (*each)(void *context, uint64_t distance, double accesses),
                      void *context);

#endif
