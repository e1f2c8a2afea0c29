/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Histograms of reuse distances as they are written, and as miss-ratio curves: CSV, and figures.
 */
#ifndef PSNAP_PREDICT_CMD_REUSE_CURVES_H
#define PSNAP_PREDICT_CMD_REUSE_CURVES_H

#include <stdio.h>

#include "predict/reuse/cmd_reuse_rows.h"

/*
 * The next entry of a histogram: a distance, or with `bins` those from a power of two up to the one
 * before the next (0 and 1 by themselves), of which *distance is the first. Begins with `each` and
 * *count zero; false at the end.
 */
bool reuse_next_entry(const struct psnap_distances *distances, bool bins,
                      struct psnap_distance_count *each, uint64_t *distance, uint64_t *count);

/* All rows: a line for each cache size, in lines, from which on a curve is lower. */
void reuse_curves_write(const struct reuse_rows *rows, uint64_t line_bytes, bool bins, FILE *file);

/* Draws those of the first rows, under a title, as SVG to an open file that messages call `path`.
 */
enum psnap_status reuse_curves_draw(const struct reuse_rows *rows, uint64_t line_bytes,
                                    const char *title, const char *path, FILE *file,
                                    struct psnap_error *error);

#endif
