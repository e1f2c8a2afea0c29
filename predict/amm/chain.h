/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How often the blocks of a program are executed, from branch probabilities.
 */
#ifndef PSNAP_PREDICT_AMM_CHAIN_H
#define PSNAP_PREDICT_AMM_CHAIN_H

#include <stddef.h>
#include <stdint.h>

#include "formats/base/program.h"
#include "formats/base/status.h"

/* The probability that block `to` comes after `from`; PSNAP_NONE: the program's entry, or exit.
 * From the entry they may add up to more than 1: to the number of threads. */
struct branch {
    uint32_t from, to;
    double probability;
};

#define CHAIN_BLOCKS_MAX 8192
#define CHAIN_TOLERANCE                                                                            \
    1e-6 /* share of 1 - p_kk by which the sum of what comes after k may miss 1 */

/*
 * executions[b], of `blocks`, is how often block b is executed: N_j = e_j + sum over i of p_ij N_i,
 * e those of the entry. An error when probabilities do not add up to 1, or nothing leads from an
 * executed block to the exit (the system is singular); the message calls blocks b0, b1 ...
 */
enum psnap_status chain_solve(const struct branch *branches, size_t count, uint32_t blocks,
                              double *executions, struct psnap_error *error);

#endif
