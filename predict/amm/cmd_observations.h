/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A prediction as observations for psnap hybrid.
 */
#ifndef PSNAP_PREDICT_AMM_CMD_OBSERVATIONS_H
#define PSNAP_PREDICT_AMM_CMD_OBSERVATIONS_H

#include "predict/amm/cmd_forecast.h"

/* Writes what "overlap" predicts of each machine as a CSV file (HYBRID.md). `size` is the
 * problem's; 0: the first number among the program's arguments. */
enum psnap_status observations_write(const struct forecast *forecast, double size, FILE *file,
                                     struct psnap_error *error);

#endif
