/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Surfaces as files: figures, drawn by gnuplot, and CSV.
 */
#ifndef PSNAP_PREDICT_CMD_SURFACE_H
#define PSNAP_PREDICT_CMD_SURFACE_H

#include <stdbool.h>
#include <stdio.h>

#include "predict/locality/cmd_locality_rows.h"

/* Whether a figure can be written under this name: "x.svg", "x.png". */
bool surface_can_draw(const char *path);

/* Draws the first row of a report that has one, its sides beside each other, to an open file in the
 * format that its name says. */
enum psnap_status surface_draw(const struct locality_report *report, const char *path, FILE *file,
                               struct psnap_error *error);

/* What figures of surfaces have in a script: view, axes; not the palette and the heights. */
void surface_axes(FILE *script);

/* A round number that a share is not above: where the height's axis ends. */
double surface_top(double highest);

/* All rows' counts. */
void surface_write_csv(const struct locality_report *report, FILE *file);

#endif
