/* SPDX-License-Identifier: BSD-3-Clause */
/* What the commands of bandwidth share: points, read and drawn. */
#ifndef PSNAP_PREDICT_BANDWIDTH_CMD_BANDWIDTH_H
#define PSNAP_PREDICT_BANDWIDTH_CMD_BANDWIDTH_H

#include "predict/bandwidth/maps.h"
#include "predict/cmd_gnuplot.h"

/* As maps_read(), of the file at `path`; "-" is standard input. */
enum psnap_status maps_read_path(const char *path, struct maps *maps, struct psnap_error *error);

/* Draws bandwidth against the size of arrays, a line for each stride, to an open file. */
enum psnap_status maps_plot(const struct maps *maps, const char *path, FILE *file,
                            struct psnap_error *error);

/* Whether this build has what --method nlopt needs, for psnap doctor. */
bool fit_has_nlopt(void);

#endif
