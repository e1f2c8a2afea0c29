/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replay of model stackdist: a thread's way through schedule and patterns is that of the published
 * model (lane.c), and so are the sizes and kinds of accesses; where they go is drawn from their
 * regions' stack distances.
 */
#ifndef PSNAP_REPLAY_DISTANCES_H
#define PSNAP_REPLAY_DISTANCES_H

#include <stdint.h>

#include "formats/base/stream.h"
#include "profile/profile.h"

/*
 * A source of the accesses of `lane`, of this thread (PSNAP_NONE: of merged threads), with other
 * addresses. Owns the lane, also when it fails. The references are those that replay.c adds: by
 * loop, region and kind. Keeps no pointer to `profile`. NULL: out of memory.
 */
struct psnap_source *replay_distances_new(struct psnap_source *lane,
                                          const struct psnap_profile *profile, uint32_t thread,
                                          uint64_t seed);

#endif
