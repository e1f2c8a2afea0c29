/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reuse distances of a part of a stream as a sink, and how to come by what it has measured.
 */
#ifndef PSNAP_PREDICT_REUSE_REUSE_H
#define PSNAP_PREDICT_REUSE_REUSE_H

#include "predict/reuse/measure.h"

/* As psnap_reuse_new(); a part is measured for itself, without a sample or sets: its first touches
 * are not counted but kept for measure_merge(). */
struct psnap_sink *reuse_new(const struct psnap_program *program,
                             const struct psnap_reuse_options *options, bool is_part,
                             struct psnap_error *error);

/* What a sink that is finished has measured; the sink's. */
struct measure *reuse_measure(struct psnap_sink *sink);

#endif
