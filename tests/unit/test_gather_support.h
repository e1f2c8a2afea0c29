/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What tests of irregular references share: addresses that are drawn from a model.
 */
#ifndef PSNAP_TEST_GATHER_SUPPORT_H
#define PSNAP_TEST_GATHER_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
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

#endif
