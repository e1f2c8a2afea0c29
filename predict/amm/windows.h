/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Executions of basic blocks in a labelled stream ("windows"), which of them are sampled, and which
 * block follows which.
 */
#ifndef PSNAP_PREDICT_AMM_WINDOWS_H
#define PSNAP_PREDICT_AMM_WINDOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/access.h"
#include "formats/base/program.h"
#include "formats/base/status.h"

struct windows;

/*
 * Of each block's windows the share `rate` is sampled, above 0 and at most 1, by a hash of `seed`,
 * block and number; of a block with fewer than WINDOWS_FEW / rate all are. `program` is the
 * stream's, and outlives this. NULL: out of memory.
 *
 * WINDOWS_FEW: a block that is sampled has so many windows or more in the sample, by which a share
 * of its distances is off by up to 0.5 / sqrt(100) = 0.05. A larger number takes more windows than
 * the rate says. It is a choice that was not varied in a measurement.
 */
#define WINDOWS_FEW 100
struct windows *windows_new(const struct psnap_program *program, double rate, uint64_t seed);
void windows_free(struct windows *windows);

/* Counts a block of accesses, and gives each its row for a tagger of psnap_reuse_new(). */
enum psnap_status windows_tag(struct windows *windows, const struct psnap_access *block, size_t n,
                              uint32_t *rows, struct psnap_error *error);

/* The rows that have a reference's accesses in the sample: `rows` of them, [0] always. */
int windows_rows(const struct windows *windows, uint32_t ref, uint32_t rows[2]);

/* Windows of a block so far, and the accesses of a reference. */
uint64_t windows_count(const struct windows *windows, uint32_t block);
/* How often the block that followed was not the expected one (mispredict.h). */
uint64_t windows_mispredictions(const struct windows *windows, uint32_t block);
uint64_t windows_accesses(const struct windows *windows, uint32_t ref);
uint32_t windows_threads(const struct windows *windows);

/* How often a window of `to` came next, in the same thread, after one of `from`; PSNAP_NONE: it
 * was the thread's first, or last, one. */
struct transition {
    uint32_t from, to;
    uint64_t count;
};

/* All transitions, those that ended threads included, ordered by from and to; the caller frees
 * them. NULL: out of memory. */
struct transition *windows_transitions(const struct windows *windows, size_t *count);

#endif
