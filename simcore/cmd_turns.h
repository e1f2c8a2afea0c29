/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The threads of an input in turn, for commands that put them through one cache.
 */
#ifndef PSNAP_CMD_TURNS_H
#define PSNAP_CMD_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "replay/cmd_input.h"

#define PSNAP_TURNS_MAX 64 /* threads: the input is read once for each */

/* Whether the input can be read more than once. */
bool psnap_turns_possible(const char *path);

/* The same stream, which ends where a second thread appears, with *is_mixed set. Owns `inner`
 * (freed also when this fails with NULL: out of memory). */
struct psnap_source *psnap_lone_source_new(struct psnap_source *inner, bool *is_mixed);

/* All threads of the input in turn, access by access. NULL with *threads > PSNAP_TURNS_MAX when
 * there are too many, else with `error` filled. */
struct psnap_source *psnap_turns_open(const char *path, const struct psnap_input_options *options,
                                      uint32_t *threads, struct psnap_error *error);

#endif
