/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an access touches, as far as that is known: a tagger for `--by region`.
 * Its rows are pairs of a loop of the source and an object's name.
 */
#ifndef PSNAP_SIMCORE_TOUCHED_H
#define PSNAP_SIMCORE_TOUCHED_H

#include <stddef.h>
#include <stdint.h>

#include "formats/base/access.h"
#include "formats/base/program.h"

struct touched;

struct touched_row {
    const char *loop;   /* src_id */
    const char *object; /* a name, or "(heap)", "(stack)", ... */
};

/* `program` is the stream's and outlives the tagger. NULL: out of memory. */
struct touched *touched_new(const struct psnap_program *program);
void touched_free(struct touched *touched);

/* For psnap_sim_options.tagger; the context is a struct touched. */
enum psnap_status touched_tag(void *context, const struct psnap_access *block, size_t n,
                              uint32_t *rows, struct psnap_error *error);

/* The rows so far; valid until the next call of touched_tag. */
const struct touched_row *touched_rows(const struct touched *touched, uint32_t *count);

#endif
