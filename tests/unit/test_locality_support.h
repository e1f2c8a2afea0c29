/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by the tests of locality: streams, some of them random, and what the sink makes of them.
 */
#ifndef PSNAP_TEST_LOCALITY_SUPPORT_H
#define PSNAP_TEST_LOCALITY_SUPPORT_H

#include "tests/unit/test.h"

#include "formats/base/rng.h"
#include "predict/predict.h"
#include "tests/unit/test_simcore_support.h"

#define MIDDLE PSNAP_SURFACE_STRIDE_MAX
enum { ACCESSES_MAX = 1 << 18 };

static uint64_t stream[ACCESSES_MAX];

static inline struct psnap_sink *sink_of(const struct psnap_program *program, uint64_t word_bytes)
{
    struct psnap_sink *sink = psnap_locality_new(program, word_bytes, NULL);

    assert_non_null(sink);
    return sink;
}

static inline void put(struct psnap_sink *sink, uint64_t address, uint32_t ref, uint16_t thread)
{
    const struct psnap_access access = {address, ref, 1, PSNAP_LOAD, thread};

    assert_int_equal(psnap_sink_put(sink, &access, 1, NULL), PSNAP_OK);
}

/* What the sink makes of a stream of one thread, of all accesses (1) or one in `every`. */
static inline struct psnap_locality *measured_every(const uint64_t *addresses, size_t n,
                                                    uint32_t every)
{
    struct psnap_program *program = program_with_loops();
    struct psnap_sink *sink = sink_of(program, 8);
    struct psnap_locality *locality = calloc(1, sizeof *locality);

    assert_non_null(locality);
    if (every > 1)
        psnap_locality_sample(sink, every);
    for (size_t i = 0; i < n; i++)
        put(sink, addresses[i], 0, 0);
    psnap_locality_add_total(sink, locality);
    psnap_sink_free(sink);
    psnap_program_free(program);
    return locality;
}

static inline struct psnap_locality *measured(const uint64_t *addresses, size_t n)
{
    struct psnap_locality *locality = measured_every(addresses, n, 1);

    assert_int_equal(locality->accesses, n);
    return locality;
}

static inline void assert_same_surface(const struct psnap_locality *a,
                                       const struct psnap_locality *b)
{
    for (int s = 0; s < PSNAP_SURFACE_STRIDES; s++)
        for (int k = 0; k < PSNAP_SURFACE_DISTANCES; k++)
            if (a->surface[s][k] != b->surface[s][k])
                fail_msg("stride %d, class %d: %lu and %lu", s - MIDDLE, k,
                         (unsigned long)a->surface[s][k], (unsigned long)b->surface[s][k]);
}

/* Addresses of several kinds, by `kind`: dense and sparse, aligned and not, at the ends of the
 * address space, and with repeated walks. */
static inline uint64_t random_address(struct psnap_rng *rng, unsigned kind, size_t i)
{
    const uint64_t base = kind % 2 ? UINT64_C(0) - 300 * 8 : 1 << 20;

    switch (kind / 2) {
    case 0:
        return base + 8 * psnap_rng_below(rng, 100);
    case 1:
        return base + 4 * psnap_rng_below(rng, 3000);
    case 2:
        return base + psnap_rng_below(rng, 700);
    case 3:
        return base + (i > 1500 ? psnap_rng_below(rng, 1000) : 8 * psnap_rng_below(rng, 500));
    case 4:
        return base + (psnap_rng_below(rng, 20) ? 8 * (i % 400) : 8 * psnap_rng_below(rng, 2000));
    case 5:
        return base + i % 900;
    default:
        return psnap_rng_below(rng, 2) ? base + 2 * psnap_rng_below(rng, 300)
                                       : psnap_rng_next(rng) & ~UINT64_C(1);
    }
}

#endif
