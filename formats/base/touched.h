/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an access touches, as far as that is known: a tagger for `--by region`.
 * Its rows are pairs of a loop of the source and an object's name.
 */
#ifndef PSNAP_BASE_TOUCHED_H
#define PSNAP_BASE_TOUCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/access.h"
#include "formats/base/api.h"
#include "formats/base/program.h"

struct psnap_touched;

struct psnap_touched_row {
    const char *loop;   /* src_id */
    const char *object; /* a name, or "(heap)", "(stack)", ... */
    bool is_object;     /* it is a name */
};

/* `program` is the stream's and outlives the tagger. NULL: out of memory. */
PSNAP_API struct psnap_touched *psnap_touched_new(const struct psnap_program *program);
PSNAP_API void psnap_touched_free(struct psnap_touched *touched);

/* For the `tagger` of psnap_sim_options and psnap_reuse_options; the context is a struct
 * psnap_touched. */
PSNAP_API enum psnap_status psnap_touched_tag(void *context, const struct psnap_access *block,
                                              size_t n, uint32_t *rows, struct psnap_error *error);

/* The rows so far; valid until the next call of psnap_touched_tag. */
PSNAP_API const struct psnap_touched_row *psnap_touched_rows(const struct psnap_touched *touched,
                                                             uint32_t *count);

#endif
