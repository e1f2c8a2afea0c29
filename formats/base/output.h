/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Output files that appear whole or not at all: a regular file is written
 * under a temporary name beside its target, then flushed, fsynced and renamed
 * by commit; without commit nothing is left. "-" (stdout), devices and FIFOs
 * are written directly. An existing regular file is refused unless `force`.
 */
#ifndef PSNAP_BASE_OUTPUT_H
#define PSNAP_BASE_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/base/api.h"
#include "formats/base/status.h"

struct psnap_output;

/* Checks and opens; call it before the work starts. NULL on failure, with `error` filled. */
PSNAP_API struct psnap_output *psnap_output_open(const char *path, bool force,
                                                 struct psnap_error *error);

/*
 * The same for what is worth having in parts: a regular file is written under
 * its name with ".part" behind it (".part.2" while another process writes that
 * one, or it is nothing of ours), and stays there when this process dies. A part
 * that an earlier process left is refused as the file itself would be, and
 * overwritten with `force`: `is_own` tells it by its first `n` bytes, up to
 * PSNAP_OUTPUT_START, one more readable.
 */
#define PSNAP_OUTPUT_START 64u
PSNAP_API struct psnap_output *
psnap_output_open_partial(const char *path, bool force, bool (*is_own)(const void *start, size_t n),
                          struct psnap_error *error);

/* True of "-" and the like: such an output goes to standard output. False of NULL: no output. */
PSNAP_API bool psnap_output_is_stdout(const char *path);

/* Whether two paths, NULL for none, are one regular file, existing or to be made: the second output
 * would replace the first. */
PSNAP_API bool psnap_output_is_same(const char *path, const char *other);

/* It is written under a partial name: a file of our own, which may be written over until then. */
PSNAP_API bool psnap_output_is_partial(const struct psnap_output *output);

/* The stream to write to. Owned by the output; do not close it. */
PSNAP_API FILE *psnap_output_file(struct psnap_output *output);

/* Flushes, makes the file appear, and frees the output, also on failure (then nothing appears). */
PSNAP_API enum psnap_status psnap_output_commit(struct psnap_output *output,
                                                struct psnap_error *error);

/* The same, but what must not be lost: where a regular file has its name by now it appears beside
 * that, whatever `force` was, with .ID behind its name (or .ID.2, and so on). `name` gets the name
 * that it has in the end. */
PSNAP_API enum psnap_status psnap_output_commit_beside(struct psnap_output *output, long id,
                                                       char *name, size_t size,
                                                       struct psnap_error *error);

/* Frees, and leaves what was written under its partial name, which goes to `name` ("": nothing was
 * written, or not in parts). */
PSNAP_API void psnap_output_keep(struct psnap_output *output, char *name, size_t size);

/* Takes room on the disk for up to `bytes` of a regular file before they are written, so that other
 * files that grow meanwhile leave it; at most a quarter of what is free, and none where the file
 * system cannot. What is not needed in the end is given back. */
PSNAP_API void psnap_output_reserve(struct psnap_output *output, uint64_t bytes);

/* Drops what was written and frees; NULL is legal. */
PSNAP_API void psnap_output_abandon(struct psnap_output *output);

/* Commits after a `status` of PSNAP_OK, else abandons; the error of a write that has failed gets
 * the path, which the writer does not know. `output` NULL: nothing but the status. */
PSNAP_API enum psnap_status psnap_output_finish(struct psnap_output *output,
                                                enum psnap_status status,
                                                struct psnap_error *error);

#endif
