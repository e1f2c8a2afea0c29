/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replay of a profile's nests (profile/nests.h), in the place of a schedule: walks as
 * they are, visits as the loops' statistics say.
 */
#ifndef PSNAP_REPLAY_NESTS_H
#define PSNAP_REPLAY_NESTS_H

#include "formats/base/stream.h"
#include "profile/profile.h"
#include "replay/interleave.h"

/*
 * A source of the accesses of a profile with nests. Refers to `loops`, the profile's, and to the
 * program, of which loop and block i are the profile's, and to which it adds the references of
 * walks; owns neither; keeps no pointer to `profile`. NULL: out of memory.
 */
struct psnap_source *replay_nests_new(const struct psnap_profile *profile,
                                      struct replay_loop *loops, struct psnap_program *program);

#endif
