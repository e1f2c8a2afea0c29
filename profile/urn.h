/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drawing without replacement in proportion to what is left: a binary tree over the things to
 * draw, each node with what is left in its lower half. A draw walks down from the root and takes
 * one from what it has come to: log2(leaves) steps.
 *
 *   below[1]          the root
 *   below[n]          what is left under 2n, the lower half of node n; the other one is 2n + 1
 *   leaves + i        where thing i would be; below[] ends before these
 */
#ifndef PSNAP_PROFILE_URN_H
#define PSNAP_PROFILE_URN_H

#include <stdint.h>

/* How many leaves, and words of below[], `count` things want. */
static inline uint32_t urn_leaves(uint32_t count)
{
    uint32_t leaves = 1;

    while (leaves < count)
        leaves *= 2;
    return leaves;
}

/* Puts `number` of a thing into an urn that was zeroed at first; modulo 2^64, so that it also
 * takes some out. */
static inline void urn_put(uint64_t *below, uint32_t leaves, uint32_t thing, uint64_t number)
{
    for (uint32_t node = leaves + thing; node > 1; node /= 2)
        if (node % 2 == 0)
            below[node / 2] += number;
}

/* Takes one out: the thing that ticket 0, 1, ... below the number of all that is left stands
 * for. */
static inline uint32_t urn_take(uint64_t *below, uint32_t leaves, uint64_t ticket)
{
    uint32_t node = 1;

    while (node < leaves) {
        /* No branches, which nobody could predict. */
        const uint64_t lower = below[node], upper = UINT64_C(0) - (ticket >= lower);
        below[node] = lower - 1 - upper;
        ticket -= lower & upper;
        node = 2 * node + (uint32_t)(upper & 1);
    }
    return node - leaves;
}

#endif
