/* SPDX-License-Identifier: BSD-3-Clause */
/* The schedule of a replay of the published model. */
#ifndef PSNAP_REPLAY_LANE_H
#define PSNAP_REPLAY_LANE_H

#include <stdint.h>

#include "formats/base/stream.h"
#include "profile/profile.h"
#include "replay/interleave.h"

/*
 * A source of the profile's accesses. Refers to `loops`, the profile's, and to the program, but
 * owns neither; keeps no pointer to `profile`. NULL: out of memory.
 */
struct psnap_source *replay_lane_new(const struct psnap_profile *profile, struct replay_loop *loops,
                                     struct psnap_program *program);

#endif
