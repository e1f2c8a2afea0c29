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
    struct psnap_access *next, *end; /* generated and not delivered, never none on a seat */
    struct psnap_generator *generator;
    struct psnap_access *buffer;
    uint64_t left; /* accesses still to generate */
};

/*
 * The pattern is a ring of slots, and a slot belongs to a seat. A region that
 * the pattern names has one seat; when it has delivered all its accesses the
 * seat goes to the next region without one.
 */
struct replay_loop {
    struct replay_region *regions; /* as in the profile */
    uint32_t region_count;
    struct replay_region **seats; /* the region on each seat, NULL when it is empty */
    uint32_t *waiting;            /* regions without a seat, by their order in the profile */
    uint32_t waiting_count, waiting_at;
    uint32_t *slots; /* seats */
    uint32_t slot_count;
    uint32_t at;    /* next slot */
    uint32_t empty; /* slots of empty seats passed since these were taken out */
};

/* `refs` has three entries per region, by kind. A loop that failed is released all the same. */
enum psnap_status replay_loop_init(struct replay_loop *loop,
                                   const struct psnap_profile_loop *profile, uint64_t seed,
                                   const uint32_t (*refs)[3]);
void replay_loop_release(struct replay_loop *loop);

/* The loop's next `n` accesses; no more in all than it has. */
void replay_loop_fill(struct replay_loop *loop, struct psnap_access *block, size_t n);

#endif
