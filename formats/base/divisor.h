/* SPDX-License-Identifier: BSD-3-Clause */
/* The greatest common divisor, by Euclid. */
#ifndef PSNAP_BASE_DIVISOR_H
#define PSNAP_BASE_DIVISOR_H

#include <stdint.h>

/* Of 0 and another number that one. */
static inline uint64_t psnap_common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

#endif
