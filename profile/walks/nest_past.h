/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses that a reference comes back to: private to nest_after*.c and to walkers. They are a
 * stack, as the ranges are that a recursion has still to do: an address that is in it is gone back
 * to, and what lies above it forgotten; any other one is put on top. Of many the lowest are
 * forgotten. Below the lowest that is known there is that one again.
 */
#ifndef PSNAP_PROFILE_NEST_PAST_H
#define PSNAP_PROFILE_NEST_PAST_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "profile/walks/nest_models.h"

enum { NEST_PAST = 2 * NEST_EARLIER_MAX };

/* Zeros: nothing yet. */
struct nest_past {
    uint64_t addresses[NEST_PAST]; /* the top first */
    uint64_t left;                 /* what lay above that to which it came back last */
    bool is_begun;
};

/* The next address; returns how far below the top it was, 0 the top itself, NEST_PAST: nowhere. */
static inline uint32_t nest_past_put(struct nest_past *past, uint64_t address)
{
    uint64_t *const all = past->addresses;
    uint32_t at = 0;

    for (uint32_t i = 0; !past->is_begun && i < NEST_PAST; i++)
        all[i] = past->left = address;
    past->is_begun = true;
    while (at < NEST_PAST && all[at] != address)
        at++;
    if (at == NEST_PAST) {
        memmove(all + 1, all, (NEST_PAST - 1) * sizeof *all);
        all[0] = address;
    } else if (at) {
        const uint64_t lowest = all[NEST_PAST - 1];
        past->left = all[at - 1];
        memmove(all, all + at, (NEST_PAST - at) * sizeof *all);
        for (uint32_t i = NEST_PAST - at; i < NEST_PAST; i++)
            all[i] = lowest;
    }
    return at;
}

#endif
