/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Seeding of the generator. SplitMix64 (Steele, Lea and Flood, "Fast splittable
 * pseudorandom number generators", 2014; constants as published by Vigna)
 * turns a 64-bit seed into the 256 bits of state that xoshiro256** wants: never
 * all zero, since SplitMix64 is a bijection of a counter and takes the value 0
 * once in 2^64 steps.
 *
 * Streams: the state is filled from SplitMix64 started at mix(mix(seed) +
 * stream), where mix(x) is the first SplitMix64 output from x. mix is a
 * bijection, so the streams of one seed differ for certain; a plain sum of the
 * two would make stream 1 of seed 2 that of stream 2 of seed 1.
 * All of this is fixed for ever: profiles promise their streams.
 */
#include "formats/base/rng.h"

static uint64_t splitmix64(uint64_t *state)
{
    return psnap_rng_mix(*state += PSNAP_RNG_GOLDEN);
}

void psnap_rng_init(struct psnap_rng *rng, uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        rng->state[i] = splitmix64(&seed);
}

void psnap_rng_init_stream(struct psnap_rng *rng, uint64_t seed, uint64_t stream)
{
    uint64_t start = splitmix64(&seed) + stream;

    psnap_rng_init(rng, splitmix64(&start));
}
