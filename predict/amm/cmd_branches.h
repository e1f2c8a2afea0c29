/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Branch probabilities: of a measured run, and as a CSV file that a user may change for a larger
 * one. AMM.md documents the file.
 */
#ifndef PSNAP_PREDICT_AMM_CMD_BRANCHES_H
#define PSNAP_PREDICT_AMM_CMD_BRANCHES_H

#include <stdio.h>

#include "predict/amm/chain.h"
#include "predict/amm/measure.h"

/* Those of a measure, measure->transition_count of them; the caller frees them. NULL: out of
 * memory. */
struct branch *branches_of(const struct measure *measure);

void branches_write(const struct measure *measure, const struct branch *branches, FILE *file);

/* Those of a file, of blocks of a program; the caller frees them. NULL with `error` filled. */
struct branch *branches_read(const char *path, const struct psnap_program *program, size_t *count,
                             struct psnap_error *error);

#endif
