/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far the reuse times of a model's replay are from those that were recorded. For each reference
 * two histograms are compared, the recorded one and that of the replay: their distance is the
 * largest difference of their cumulative shares (Kolmogorov and Smirnov's distance) at reuse times
 * of MEASURE_LONG accesses and more. A fully associative LRU cache hits an access whose reuse time
 * is short enough, so in every such cache that keeps a line for at least MEASURE_LONG accesses the
 * reference's hit rates, recorded and replayed, differ by about that distance at most.
 */
#ifndef PSNAP_PROFILE_MEASURE_H
#define PSNAP_PROFILE_MEASURE_H

#include "profile/model.h"

enum { MEASURE_LONG = 64 };

/*
 * Replays the first `most` accesses, one thread's after the other's. It stops
 * when `deadline` (NULL: none) is set. off[i] is the distance of reference i, from 0 to 1; 0 where
 * the reference has no histogram or was not replayed. False: out of memory.
 */
bool walk_measure(const struct psnap_stream_model *model, uint64_t most,
                  const struct psnap_deadline *deadline, double *off);

#endif
