/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Profile to access stream: region metrics generate addresses, pattern buffers
 * interleave regions, the schedule orders loops. The readings taken where the
 * published model is silent are listed in replay/MODELS.md.
 */
#ifndef PSNAP_REPLAY_H
#define PSNAP_REPLAY_H

#include <stdint.h>

#include "formats/base/api.h"
#include "formats/base/status.h"
#include "formats/base/stream.h"
#include "profile/profile.h"

/*
 * A source of the profile's synthetic stream, the same for the same (profile,
 * seed) on every machine. Accesses per loop and per region are exactly the
 * profile's. Its program has the profile's loops (same indices), one block per
 * loop and one ref per (region, kind). Keeps no pointer to `profile`. NULL on failure.
 */
PSNAP_API struct psnap_source *psnap_replay_new(const struct psnap_profile *profile, uint64_t seed,
                                                struct psnap_error *error);

#endif
