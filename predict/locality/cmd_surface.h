/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of gnuplot scripts that draw locality surfaces.
 */
#ifndef PSNAP_PREDICT_CMD_SURFACE_H
#define PSNAP_PREDICT_CMD_SURFACE_H

#include <stdbool.h>
#include <stdio.h>

#include "predict/predict.h"

/* The data "$side<number>", of strides that are multiples of `step`, each the highest of those that
 * round to it away from 0; without `has_floor` tiles of height 0 are left out. */
void surface_data(FILE *script, const struct psnap_locality *locality, int side, int step,
                  bool has_floor);
/* View and axes. */
void surface_axes(FILE *script);
/* Palette and heights, up to a round number that no share is above. */
void surface_heights(FILE *script, double highest);
double surface_highest(const struct psnap_locality *locality);

#endif
