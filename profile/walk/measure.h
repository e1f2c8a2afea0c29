/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How well a model's stream keeps to the reuse histograms of its references. Histograms of what was
 * recorded and of what is replayed are compared by the largest difference of their cumulative
 * shares (Kolmogorov and Smirnov's distance) at times of MEASURE_LONG accesses and more: it bounds
 * by how much hit rates differ in any fully associative cache in which so few accesses stay hits.
 */
#ifndef PSNAP_PROFILE_MEASURE_H
#define PSNAP_PROFILE_MEASURE_H

#include "profile/model.h"

enum { MEASURE_LONG = 64 };

/*
 * Replays the first `most` accesses, one thread's after the other's. off[i] is the distance of
 * reference i, as a share of its executions; 0 where it has no histogram or was not replayed.
 * False: out of memory.
 */
bool walk_measure(const struct psnap_stream_model *model, uint64_t most, double *off);

#endif
