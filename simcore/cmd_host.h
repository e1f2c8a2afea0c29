/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What commands that measure this computer have in common.
 */
#ifndef PSNAP_SIMCORE_CMD_HOST_H
#define PSNAP_SIMCORE_CMD_HOST_H

#include <stdbool.h>
#include <stddef.h>

/* "30s", "500ms", "2m", or seconds; up to an hour. */
bool host_parse_seconds(const char *text, double *seconds);

/* How the processor calls itself, in one line of printable characters. */
void host_processor(char *name, size_t size);

#endif
