/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pages that a stream touches first: the system makes them then, and a program waits for it.
 */
#ifndef PSNAP_PREDICT_AMM_PAGES_H
#define PSNAP_PREDICT_AMM_PAGES_H

#include <stdint.h>

#include "formats/base/program.h"
#include "formats/base/stream.h"

#define PAGES_BYTES 4096     /* of a page */
#define PAGES_LINE_BYTES 64  /* of the lines that are fresh */
#define PAGES_STILL_NEAR 256 /* pages, 1 MiB: the last ones that were made are in caches */

/* What a reference did first. */
struct pages_touched {
    uint64_t pages;
    uint64_t fresh; /* lines that it touched first, in pages that were made just before: they are in
                       the core's own caches, as the system has filled the page with zeros */
};

/* A sink that follows pages. `program` is the stream's and outlives it. NULL: out of memory. */
struct psnap_sink *pages_new(const struct psnap_program *program);

struct pages_touched pages_of(const struct psnap_sink *sink, uint32_t ref);

#endif
