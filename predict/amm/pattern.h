/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How references get their addresses, as far as a stream shows it.
 */
#ifndef PSNAP_PREDICT_AMM_PATTERN_H
#define PSNAP_PREDICT_AMM_PATTERN_H

#include "formats/base/program.h"
#include "formats/base/stream.h"
#include "predict/amm/runtime.h"

#define PATTERN_STRIDE_MAX 2048 /* bytes: prefetchers stay within half a page */

/* A sink that follows each reference. `program` is the stream's and outlives it. NULL: out of
 * memory. */
struct psnap_sink *pattern_new(const struct psnap_program *program);

/* The pattern of each reference's accesses, of the program's ref_count, when the stream has ended.
 */
enum psnap_status pattern_all(const struct psnap_sink *sink, enum runtime_pattern *patterns,
                              struct psnap_error *error);

/* The reference that brings the lines which a store writes to: the load of the same address shortly
 * before most of its accesses, else itself. PSNAP_NONE: it does not store. */
uint32_t pattern_partner(const struct psnap_sink *sink, uint32_t ref);

/* What a load has to do with the thread's last stores. */
enum pattern_memory {
    PATTERN_FREE,
    PATTERN_CARRIED, /* it loads what the iteration before stored */
    PATTERN_MEETS    /* now and then it loads what was stored shortly before: a core that was wrong
                        about that waits until it knows the addresses of stores */
};
enum pattern_memory pattern_memory(const struct psnap_sink *sink, uint32_t ref);

#endif
