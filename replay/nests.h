/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replay of a profile's nests (profile/walks/nests.h), in the place of a schedule.
 */
#ifndef PSNAP_REPLAY_NESTS_H
#define PSNAP_REPLAY_NESTS_H

#include "formats/base/stream.h"
#include "profile/profile.h"

/*
 * A source of the accesses of a profile with nests, deterministic in (profile, seed). Refers to the
 * program, of which loop and block i are the profile's, and to which it adds the references of
 * walks; does not own it; keeps no pointer to `profile`. NULL: out of memory.
 */
struct psnap_source *replay_nests_new(const struct psnap_profile *profile,
                                      struct psnap_program *program, uint64_t seed);

#endif
