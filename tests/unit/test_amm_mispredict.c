/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The predictor of blocks: sequences whose decisions can be known, and such whose can not.
 */
#include "tests/unit/test.h"

#include "formats/base/rng.h"
#include "predict/amm/mispredict.h"

enum { STEPS = 100000 };

/* The share of decisions behind block 0 that were predicted wrongly, for blocks that `next` says;
 * block 0 comes before each. */
static double wrong_share(uint32_t (*next)(struct psnap_rng *rng, uint32_t step))
{
    struct mispredict *mispredict = mispredict_new();
    struct psnap_rng rng;
    double share;

    assert_non_null(mispredict);
    psnap_rng_init(&rng, 1);
    for (uint32_t i = 0; i < STEPS; i++) {
        const uint32_t to = next(&rng, i);
        assert_true(mispredict_add(mispredict, 0, 0, to));
        assert_true(mispredict_add(mispredict, 0, to, 0));
    }
    assert_int_equal(mispredict_count(mispredict, 1), 0); /* always followed by block 0 */
    assert_int_equal(mispredict_count(mispredict, 7), 0); /* unknown */
    share = (double)mispredict_count(mispredict, 0) / (double)STEPS;
    mispredict_free(mispredict);
    return share;
}

static uint32_t always(struct psnap_rng *rng, uint32_t step)
{
    (void)rng;
    (void)step;
    return 1;
}

static uint32_t in_turn(struct psnap_rng *rng, uint32_t step)
{
    (void)rng;
    return 1 + step % 2;
}

static uint32_t every_100th(struct psnap_rng *rng, uint32_t step)
{
    (void)rng;
    return 1 + (step % 100 == 0);
}

/* Of three: by the digits of a number, 17 steps on and on. */
static uint32_t by_list(struct psnap_rng *rng, uint32_t step)
{
    (void)rng;
    return 1 + (0x2c9a61u >> (step % 17)) % 3;
}

static uint32_t every_1000th(struct psnap_rng *rng, uint32_t step)
{
    (void)rng;
    return 1 + (step % 1000 == 0);
}

static uint32_t by_coin(struct psnap_rng *rng, uint32_t step)
{
    (void)step;
    return 1 + (uint32_t)psnap_rng_below(rng, 2);
}

static uint32_t rarely(struct psnap_rng *rng, uint32_t step)
{
    (void)step;
    return 1 + (psnap_rng_below(rng, 10) == 0);
}

TEST(known)
{
    assert_true(wrong_share(always) == 0);
    assert_true(wrong_share(in_turn) < 0.001);
    assert_true(wrong_share(by_list) < 0.005);
    assert_true(wrong_share(every_100th) < 0.002);
}

/* No predictor does better than the rarer of two, and a good one hardly worse. */
TEST(unknown)
{
    double share = wrong_share(every_1000th); /* longer than any history */

    assert_true(share > 0.0009 && share < 0.0015);
    share = wrong_share(by_coin);
    assert_true(share > 0.48 && share < 0.52);
    share = wrong_share(rarely);
    assert_true(share > 0.095 && share < 0.12);
}

/* What one thread does is no part of another's history. */
TEST(threads)
{
    struct mispredict *mispredict = mispredict_new();
    struct psnap_rng rng;

    assert_non_null(mispredict);
    psnap_rng_init(&rng, 2);
    for (uint32_t i = 0; i < STEPS; i++) {
        assert_true(mispredict_add(mispredict, 3, 0, 1 + i % 2));
        assert_true(mispredict_add(mispredict, 9, 5, 6 + (uint32_t)psnap_rng_below(&rng, 2)));
    }
    assert_true((double)mispredict_count(mispredict, 0) / (double)STEPS < 0.01);
    assert_true((double)mispredict_count(mispredict, 5) / (double)STEPS > 0.45);
    mispredict_free(mispredict);
}
