/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What figures of surfaces have in common, drawn by gnuplot.
 */
#ifndef PSNAP_PREDICT_CMD_SURFACE_H
#define PSNAP_PREDICT_CMD_SURFACE_H

#include <stdio.h>

/* View and axes, into a script; not the palette and the heights. */
void surface_axes(FILE *script);

/* A round number that a share is not above: where the height's axis ends. */
double surface_top(double highest);

#endif
