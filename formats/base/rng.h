/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one random generator: xoshiro256** 1.0 (Blackman and Vigna, "Scrambled
 * linear pseudorandom number generators", 2018), its 256-bit state filled by
 * SplitMix64 from a 64-bit seed. Its output is part of the profile format:
 * same profile, same seed, same stream, for ever.
 */
#ifndef PSNAP_BASE_RNG_H
#define PSNAP_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

#include "formats/base/api.h"

struct psnap_rng {
    uint64_t state[4];
};

#define PSNAP_RNG_GOLDEN                                                                           \
    UINT64_C(0x9e3779b97f4a7c15) /* SplitMix64's step: 2^64 / the golden ratio */

PSNAP_API void psnap_rng_init(struct psnap_rng *rng, uint64_t seed);

/* A generator whose stream depends on (seed, stream): one per region, loop, thread. */
PSNAP_API void psnap_rng_init_stream(struct psnap_rng *rng, uint64_t seed, uint64_t stream);

static inline uint64_t psnap_rng_rotl(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

/* The finaliser of SplitMix64 (Steele, Lea and Flood, 2014): a bijection whose bits are all as good
 * as random, a hash of a number. It leaves 0 as it is. */
static inline uint64_t psnap_rng_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* 64 uniform bits. */
static inline uint64_t psnap_rng_next(struct psnap_rng *rng)
{
    uint64_t *s = rng->state;
    const uint64_t result = psnap_rng_rotl(s[1] * 5, 7) * 9;
    const uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = psnap_rng_rotl(s[3], 45);
    return result;
}

/* Uniform in [0, bound), bound > 0: high half of a 128-bit product (bias under bound/2^64). */
static inline uint64_t psnap_rng_below(struct psnap_rng *rng, uint64_t bound)
{
    __extension__ typedef unsigned __int128 psnap_wide;
    return (uint64_t)(((psnap_wide)psnap_rng_next(rng) * bound) >> 64);
}

/* Uniform in [0, 1), of 53 bits. */
static inline double psnap_rng_uniform(struct psnap_rng *rng)
{
    return (double)(psnap_rng_next(rng) >> 11) * 0x1p-53;
}

/* Puts `count` items of `size` bytes each into an order, all orders being equally likely (Fisher
 * and Yates). */
static inline void psnap_rng_shuffle(struct psnap_rng *rng, void *items, size_t count, size_t size)
{
    unsigned char *bytes = (unsigned char *)items;

    for (size_t i = count; i > 1; i--) {
        unsigned char *a = bytes + (i - 1) * size;
        unsigned char *b = bytes + (size_t)psnap_rng_below(rng, i) * size;

        for (size_t k = 0; k < size; k++) {
            const unsigned char byte = a[k];

            a[k] = b[k];
            b[k] = byte;
        }
    }
}

#endif
