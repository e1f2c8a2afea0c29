/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model stackdist, what a profile keeps: how often each region's accesses found their cache line
 * how deep in the LRU stack of their thread, and how often it was new.
 *
 * Depths are counted in bins, of which the profile has the mean depth. Depths below 8 have bins of
 * their own; from there on each power of two has four of equal width. So a fully associative cache
 * of 2^k lines lies between two bins, and its hits and misses are never in one.
 */
#ifndef PSNAP_PROFILE_DISTANCES_H
#define PSNAP_PROFILE_DISTANCES_H

#include <stdint.h>

enum {
    DISTANCE_LINE_LOG2 = 6, /* lines of 64 bytes; an access is to the line of its first byte */
    DISTANCE_LINE = 1 << DISTANCE_LINE_LOG2,
    DISTANCE_SINGLE = 8,                      /* depths with bins of their own */
    DISTANCE_BINS = DISTANCE_SINGLE + 29 * 4, /* of depths below 2^32 */
    DISTANCES_MAX = 4096                      /* of a region, as read */
};

static inline unsigned distance_bin(uint32_t depth)
{
    const unsigned log2 = 31u - (unsigned)__builtin_clz(depth | 1);

    return depth < DISTANCE_SINGLE ? depth
                                   : DISTANCE_SINGLE + (log2 - 3) * 4 + (depth >> (log2 - 2)) % 4;
}

/* The least depth of a bin. */
static inline uint32_t distance_bin_low(unsigned bin)
{
    const unsigned above = bin - DISTANCE_SINGLE;

    return bin < DISTANCE_SINGLE ? bin : (4 + above % 4) << (above / 4 + 1);
}

/* What a region counts. */
struct distance_counts {
    uint64_t new_lines;
    uint64_t counts[DISTANCE_BINS];
    uint64_t depths[DISTANCE_BINS]; /* their sums: for 2^32 accesses at least */
};

#endif
