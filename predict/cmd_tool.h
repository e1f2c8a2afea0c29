/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs of others that predictions use. */
#ifndef PSNAP_PREDICT_CMD_TOOL_H
#define PSNAP_PREDICT_CMD_TOOL_H

#include <stdio.h>

/* Runs a program (looked for as a shell does) with these standard streams and waits; 0 when it did
 * well, -1 with errno when it could not be run, else what wait said. */
int tool_run(const char *const *arguments, int in, int out, int err);

/* The first line of what a tool complained about, without its line feed. */
void tool_complaint(FILE *err, char *line, int size);

#endif
