/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rare code: which bodies and chains it is (rare_mark.c), and what stands in their place (rare.c).
 */
#ifndef PSNAP_PROFILE_RARE_H
#define PSNAP_PROFILE_RARE_H

#include "profile/collect/lane.h"

/*
 * All rare bodies together have one in RARE_SHARE accesses at most. With 1 in 200 the cumulative
 * hit rates of SQLite's loops are 0.05 points further off than without rare code, with 1 in 250
 * they are not.
 */
enum {
    RARE_BODIES = 128, /* a profile with at most so many bodies has no rare ones */
    RARE_SHARE = 250
};

/* How often a symbol of the order, a body or a chain, executes, and what it accesses in all. */
struct rare_amount {
    bool is_rare;
    uint32_t number;                  /* the body's index when rare ones are gone */
    uint64_t executions, accesses[2]; /* loads; stores and atomics */
};

static inline bool rare_is_store(const struct lane_site *site)
{
    return site->kind != PSNAP_LOAD;
}

/* Measures bodies and chains, whose amounts are 0, and marks the rare ones; false: out of memory.
 */
bool rare_mark(const struct lane *lane, struct rare_amount *bodies, struct rare_amount *chains);

#endif
