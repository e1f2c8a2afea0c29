/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What tests of draws (profile/walks/nest_draws.h) have in common.
 */
#ifndef PSNAP_TEST_NEST_DRAWS_SUPPORT_H
#define PSNAP_TEST_NEST_DRAWS_SUPPORT_H

#include "profile/walks/nest_draws.h"
#include "tests/unit/test_profile_support.h"

enum { BASE = 1 << 20 };

/* A draw of a reference. */
static inline uint32_t add(struct nest_draws *draws, uint32_t ref)
{
    const struct nest_ref wanted = {.ref = ref, .size = 8, .mode = NEST_DRAWN};

    return nest_draws_add(draws, &wanted, BASE);
}

/* The models of draws, which are not needed any more; the caller's. */
static inline struct nest_draw *take(struct nest_draws *draws, uint32_t count)
{
    struct nest_draw *taken;
    uint32_t found;

    taken = nest_draws_take(draws, &found);
    assert_non_null(taken);
    assert_int_equal(found, count);
    nest_draws_free(draws);
    return taken;
}

#endif
