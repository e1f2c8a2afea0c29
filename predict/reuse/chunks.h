/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stream that is measured by several threads, chunk by chunk, with the results of one.
 */
#ifndef PSNAP_PREDICT_REUSE_CHUNKS_H
#define PSNAP_PREDICT_REUSE_CHUNKS_H

#include "predict/reuse/measure.h"

struct chunks;

/* Threads as options->jobs says, whose counts and lines `whole` has after chunks_finish(). NULL: no
 * memory, or no threads. */
struct chunks *chunks_new(const struct psnap_reuse_options *options, struct measure *whole);
void chunks_free(struct chunks *chunks); /* gives up what is not finished */

/* As measure_accesses() and measure_run(), which may have failed for something put before. */
bool chunks_put(struct chunks *chunks, const struct psnap_access *accesses, const uint32_t *tags,
                size_t n);
bool chunks_put_run(struct chunks *chunks, const struct psnap_run *run);
bool chunks_finish(struct chunks *chunks);

#endif
