/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What tests of irregular references share: addresses that are drawn from a model, and how they are
 * compared.
 */
#ifndef PSNAP_TEST_GATHER_SUPPORT_H
#define PSNAP_TEST_GATHER_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "profile/gathers/gather.h"

#define BASE UINT64_C(0x20000000040)

/* However they are asked for, they are the same. */
static inline uint64_t *drawn_from(const struct psnap_gather *model, uint64_t seed, size_t n)
{
    struct gather_walk *walk = gather_walk_new(model, seed), *other = gather_walk_new(model, seed);
    uint64_t *addresses = malloc(n * sizeof *addresses), some[150];

    assert_true(walk && other && addresses);
    gather_walk_next(walk, addresses, n);
    for (size_t i = 0, count = 1; i < n; i += count, count = count % 150 + 1) {
        count = count < n - i ? count : n - i;
        if (count % 3 == 0)
            for (size_t k = 0; k < count; k++)
                some[k] = gather_walk_take(other);
        else
            gather_walk_next(other, some, count);
        assert_memory_equal(some, addresses + i, count * sizeof *some);
    }
    gather_walk_free(walk);
    gather_walk_free(other);
    return addresses;
}

/* The model of what a reference accesses; the caller's. */
static inline struct psnap_gather *model_of(const uint64_t *addresses, size_t n)
{
    struct psnap_gather *model = calloc(1, sizeof *model);
    struct gather_areas *areas = gather_areas_new();

    assert_true(model && areas);
    for (size_t i = 0; i < n; i++) {
        gather_areas_put(areas, addresses[i]);
        assert_int_equal(gather_areas_count(areas), i + 1);
    }
    assert_true(gather_areas_are_whole(areas));
    model->accesses = gather_areas_count(areas);
    gather_areas_fit(areas, model);
    gather_areas_free(areas);
    return model;
}

/* Room for n addresses; the caller's. */
static inline uint64_t *room_for(size_t n)
{
    uint64_t *addresses = malloc(n * sizeof *addresses);

    assert_non_null(addresses);
    return addresses;
}

/* That addresses are elements of an area. */
static inline void assert_inside(const struct gather_area *area, const uint64_t *addresses,
                                 size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert_true(addresses[i] >= area->base);
        assert_true(addresses[i] + area->element_bytes <= area->base + area->span_bytes);
        assert_int_equal((addresses[i] - area->base) % area->element_bytes, 0);
    }
}

/* Visits of lines by octave of the accesses since the last one of each: all of them, not a sample
 * as collectors have. */
static inline void gaps_of(const uint64_t *addresses, size_t n, double gaps[64])
{
    enum { SLOTS = 1 << 20 };
    struct {
        uint64_t line, at;
    } *slots = calloc(SLOTS, sizeof *slots);

    assert_non_null(slots);
    memset(gaps, 0, 64 * sizeof *gaps);
    for (size_t i = 0; i < n; i++) {
        const uint64_t line = addresses[i] / 64 + 1;
        size_t slot = line * UINT64_C(0x9e3779b97f4a7c15) >> 44;
        if (i && addresses[i - 1] / 64 + 1 == line)
            continue;
        while (slots[slot].line && slots[slot].line != line)
            slot = (slot + 1) % SLOTS;
        if (slots[slot].line)
            gaps[63 - __builtin_clzll(i - slots[slot].at)] += 1 / (double)n;
        slots[slot].line = line;
        slots[slot].at = i;
    }
    free(slots);
}

/* How far the shares of lines that come back within 2^k accesses are apart, at most, k below 14. */
static inline double gaps_apart(const uint64_t *a, const uint64_t *b, size_t n)
{
    double of_a[64], of_b[64], x = 0, most = 0;

    gaps_of(a, n, of_a);
    gaps_of(b, n, of_b);
    for (int i = 0; i < 14; i++) {
        x += of_a[i] - of_b[i];
        most = fmax(most, fabs(x));
    }
    return most;
}

#endif
