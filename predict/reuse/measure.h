/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reuse distances of a stream, or of a chunk of one, counted for each row of each view.
 */
#ifndef PSNAP_PREDICT_REUSE_MEASURE_H
#define PSNAP_PREDICT_REUSE_MEASURE_H

#include "predict/predict.h"

struct measure_row {
    struct psnap_distances *known;   /* exact; NULL: no accesses, or none of them */
    struct psnap_distances *sampled; /* of accesses to lines of the sample */
    uint64_t outside;                /* accesses to others, whose distances are not known */
};

struct measure_view {
    struct measure_row *rows;
    uint32_t room, count; /* rows at and above count have no accesses */
};

struct measure;

/* `options` are those of the sink, checked, and outlive it. A chunk is measured for itself: first
 * touches in it are not counted but kept for measure_merge(). NULL: out of memory. */
struct measure *measure_new(const struct psnap_reuse_options *options, bool is_chunk);
void measure_free(struct measure *measure);

/* All of these are false where memory is short, or lines are too many: measure_is_full(). */
bool measure_is_full(const struct measure *measure);

/* Takes accesses, with a row of PSNAP_VIEW_TAG each where options have a tagger. */
bool measure_accesses(struct measure *measure, const struct psnap_access *accesses,
                      const uint32_t *tags, size_t n);

/* Whether measure_run() takes a run; if not, its accesses are put one by one. */
bool measure_takes_run(const struct psnap_reuse_options *options, const struct psnap_run *run);
bool measure_run(struct measure *measure, const struct psnap_run *run);

/* Counts the first touches of a chunk, by the lines of the stream before, which `whole` has, and
 * adds its lines to these. The chunk has its counts and no more until it is cleared. */
bool measure_merge(struct measure *whole, struct measure *chunk);
uint64_t measure_first_touches(const struct measure *chunk);
void measure_clear(struct measure *chunk);

bool measure_add_counts(struct measure *whole, const struct measure *chunk);

/* Makes known what accesses outside the sample have for distances; nothing is measured after. */
bool measure_estimate(struct measure *measure);

uint32_t measure_threads(const struct measure *measure);
/* Estimated where there is a sample. */
uint64_t measure_lines(const struct measure *measure);
const struct measure_view *measure_view(const struct measure *measure, enum psnap_view view);

#endif
