/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One loop of a replay: its regions' accesses in the order of its pattern
 * buffer.
 */
#ifndef PSNAP_REPLAY_INTERLEAVE_H
#define PSNAP_REPLAY_INTERLEAVE_H

#include <stdint.h>

#include "formats/base/access.h"
#include "formats/base/status.h"
#include "profile/profile.h"

enum { REPLAY_BUFFER = 64 /* accesses a region generates at a time */ };

struct replay_region {
    struct psnap_generator *generator;
    struct psnap_access *buffer;
    uint32_t at, end; /* of the buffer: what is generated and not delivered */
    uint64_t left;    /* accesses still to deliver */
    uint64_t rate;    /* accesses per slot, in 2^-32 */
    uint64_t credit;  /* earned and not delivered, in 2^-32 */
};

struct replay_loop {
    struct replay_region *regions;
    uint32_t region_count;
    uint32_t slot_count;
    uint32_t *slots; /* regions in the order of the pattern, walked round and round */
    uint32_t at;     /* next slot */
    struct replay_region *burst_region; /* what the current slot still delivers */
    uint64_t burst;
};

/* `refs` has three entries per region, by kind. A loop that failed is released all the same. */
enum psnap_status replay_loop_init(struct replay_loop *loop,
                                   const struct psnap_profile_loop *profile, uint64_t seed,
                                   const uint32_t (*refs)[3]);
void replay_loop_release(struct replay_loop *loop);

/* The loop's next `n` accesses; no more in all than it has. */
void replay_loop_fill(struct replay_loop *loop, struct psnap_access *block, size_t n);

#endif
