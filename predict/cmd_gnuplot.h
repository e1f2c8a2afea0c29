/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Figures of the commands, drawn by gnuplot.
 */
#ifndef PSNAP_PREDICT_CMD_GNUPLOT_H
#define PSNAP_PREDICT_CMD_GNUPLOT_H

#include <stdio.h>

#include "formats/base/status.h"

/* Whether gnuplot is there; an error that says how to do without it: `otherwise`. */
enum psnap_status gnuplot_find(const char *otherwise, struct psnap_error *error);

/* An unnamed file to write a script to; NULL with `error` filled. */
FILE *gnuplot_script(struct psnap_error *error);

/* A text in single quotes. */
void gnuplot_quoted(FILE *script, const char *text);

/* Has a script drawn to an open file, which messages call `path`; closes the script. */
enum psnap_status gnuplot_draw(FILE *script, const char *path, FILE *file,
                               struct psnap_error *error);

#endif
