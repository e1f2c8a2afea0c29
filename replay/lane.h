/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One thread of a replay: its way through the schedule. A profile whose threads
 * are merged has one.
 */
#ifndef PSNAP_REPLAY_LANE_H
#define PSNAP_REPLAY_LANE_H

#include <stdint.h>

#include "formats/base/stream.h"
#include "profile/profile.h"
#include "replay/interleave.h"

/*
 * A source of a thread's accesses, PSNAP_NONE for those of merged threads; what of the schedule is
 * other threads' is passed over. Refers to `loops`, the profile's, and to the program, but owns
 * neither; keeps no pointer to `profile`. NULL: out of memory.
 */
struct psnap_source *replay_lane_new(const struct psnap_profile *profile, uint32_t thread,
                                     struct replay_loop *loops, struct psnap_program *program);

#endif
