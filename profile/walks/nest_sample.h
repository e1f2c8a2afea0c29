/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sample of a stream of unknown length in which each is as likely as any other (reservoir
 * sampling; Vitter, "Random sampling with a reservoir", ACM TOMS 11, 1985), with a hash instead of
 * a random number: the same stream has the same sample.
 */
#ifndef PSNAP_PROFILE_NEST_SAMPLE_H
#define PSNAP_PROFILE_NEST_SAMPLE_H

#include <stdint.h>

/* Where in a sample of `size` the next one goes, of which *seen came before it; `size`: nowhere. */
static inline uint64_t nest_sample_next(uint64_t *seen, uint64_t size)
{
    const uint64_t number = (*seen)++;
    uint64_t x = number * UINT64_C(0x9e3779b97f4a7c15);

    if (number < size)
        return number;
    x ^= x >> 29;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 32) % *seen;
    return x < size ? x : size;
}

#endif
