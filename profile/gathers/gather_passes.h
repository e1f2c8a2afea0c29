/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passes: a reference goes through memory by one stride, then again by another one, as a sieve does
 * for each prime. What is kept of them are stretches of passes, in which stride and ends change in
 * line.
 */
#ifndef PSNAP_PROFILE_GATHER_PASSES_H
#define PSNAP_PROFILE_GATHER_PASSES_H

#include "profile/gathers/gather.h"

/* Stretches that became one are off by so many accesses, as far as their strides and ends are. */
struct gather_passed {
    struct gather_stretch stretch; /* from, to: addresses */
    double accesses, off;
};

/* Of a collector. */
struct gather_passes {
    uint64_t first, last, count, stride; /* of the pass under way; count 0: none */
    uint64_t accesses, passes;           /* that have ended */
    uint64_t alike;                      /* by the stride of the one before, from elsewhere */
    uint32_t used;
    bool are_none; /* accesses go on by one stride too seldom */
    struct gather_passed passed[2 * GATHER_STRETCHES];
};

void gather_passes_put(struct gather_passes *passes, const uint64_t *addresses, size_t n);
void gather_passes_put_run(struct gather_passes *passes, uint64_t first, uint64_t step, uint64_t n);

#endif
