/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much memory this process may have.
 */
#ifndef PSNAP_SIMCORE_MEMORY_LIMIT_H
#define PSNAP_SIMCORE_MEMORY_LIMIT_H

#include <stdint.h>

/*
 * The smallest of `bytes`, what the computer has, and the limits of the process's control groups
 * (cgroups), in bytes. `root` is put before /proc and /sys: "" but in tests. Files that are not
 * there or hold no number limit nothing.
 */
uint64_t memory_limit(const char *root, uint64_t bytes);

#endif
