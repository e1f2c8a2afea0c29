/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The manual and the completion of bash, of the table of commands (up to one without a name) and
 * those of formats and machines.
 */
#ifndef PSNAP_FORMATS_CMD_MANUAL_H
#define PSNAP_FORMATS_CMD_MANUAL_H

#include "formats/base/cmd.h"

/* Prints the page of a command ("predict", "cache"), of a trace format, or with no names that of
 * psnap. All return an exit status. */
int psnap_manual_print(const struct psnap_command *commands, int count, char *const *names);

/* Writes all pages to a folder that exists: psnap.1, psnap-predict-cache.1, psnap-din.5 ... */
int psnap_manual_write(const struct psnap_command *commands, const char *folder);

int psnap_completion_print(const struct psnap_command *commands);

#endif
