/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs, as execvp finds them.
 */
#ifndef PSNAP_CAPTURE_COLLECT_FIND_PROGRAM_H
#define PSNAP_CAPTURE_COLLECT_FIND_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/* The file that `name` is, in the PATH when it has no slash, into `path`. False when there is
 * none: `path` is then where it was looked for last. */
bool psnap_find_program(const char *name, char *path, size_t size);

#endif
