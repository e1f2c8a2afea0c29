/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Draws by where walks begin and end (profile/walks/nest_around.c, nest_after.c).
 */
#include <math.h>
#include <stdint.h>

#include "tests/unit/test_nest_draws_support.h"

/* Behind a front that moves on, pieces are gone over that end there, of 8 to 263 elements: by a
 * copy, and from where that began by what goes on by one element or stays, a quarter of the times.
 * The start of the copy is as far from the front as it has iterations, that of the other is the
 * copy's; and its steps are known exactly, though most of them are not looked at. */
static void test_pieces(void **state)
{
    enum { PIECES = 4000, FRONT = 1 << 24 };
    struct psnap_program *program = make_program(1, 3);
    struct nest_draws *draws = nest_draws_new(program);
    const struct nest_after *ways;
    struct nest_draw *taken;
    struct psnap_rng rng;
    uint32_t front, copy, other, count, start;
    uint64_t ahead = FRONT, moved = 0, steps = 0;

    (void)state;
    assert_non_null(draws);
    psnap_rng_init(&rng, 3);
    front = add(draws, 0);
    copy = add(draws, 1);
    other = add(draws, 2);
    for (int i = 0; i < PIECES; i++) {
        const uint64_t n = 8 + psnap_rng_below(&rng, i % 4 ? 8 : 256);
        uint64_t at = ahead - 8 * n;
        nest_draws_put(draws, front, true, ahead);
        nest_draws_end(draws, 1);
        for (uint64_t k = 0; k < n; k++)
            nest_draws_put(draws, copy, !k, ahead - 8 * n + 8 * k);
        nest_draws_end(draws, n);
        nest_draws_put(draws, other, true, at);
        for (uint64_t k = 1; k < n; k++) {
            const bool is_on = psnap_rng_below(&rng, 4);
            nest_draws_put(draws, other, false, at += is_on ? 8 : 0);
            moved += is_on;
            steps++;
        }
        nest_draws_end(draws, n);
        ahead += 64 + 8 * psnap_rng_below(&rng, 30);
    }
    taken = nest_draws_take(draws, &count);
    assert_non_null(taken);
    assert_int_equal(count, 4);
    assert_int_equal(taken[copy].entry.around, front);
    assert_int_equal(taken[copy].entry.slope, -8);
    assert_int_equal(taken[copy].entry.offset, 0);
    start = taken[other].entry.with;
    assert_int_equal(start, 3);
    assert_int_equal(taken[start].start, 1 + copy);
    assert_int_equal(taken[other].entry.offset, 0);
    ways = taken[other].rest.after;
    assert_int_equal(taken[other].rest.after_count, 2);
    assert_true(fabs((double)ways[ways[0].offset == 0].times / (1 << 20) -
                     (double)moved / (double)steps) < 2e-6);
    free(taken);
    nest_draws_free(draws);
    psnap_program_free(program);
}

/* Walks that begin anywhere, of any length, and what is stored where they end: it goes with them.
 */
static void test_walks_end(void **state)
{
    struct psnap_program *program = make_program(1, 2);
    struct nest_draws *draws = nest_draws_new(program);
    uint32_t walk, store;
    struct nest_draw *taken;
    struct psnap_rng rng;

    (void)state;
    assert_non_null(draws);
    psnap_rng_init(&rng, 4);
    walk = add(draws, 0);
    store = add(draws, 1);
    for (int i = 0; i < 3000; i++) {
        const uint64_t at = BASE + 8 * psnap_rng_below(&rng, 1 << 16);
        const uint64_t end = at - 8 * psnap_rng_below(&rng, 20);
        nest_draws_put_first(draws, walk, true, at);
        nest_draws_move(draws, walk, end);
        nest_draws_put(draws, store, true, end + 8);
    }
    taken = take_two(draws);
    assert_int_equal(taken[store].rest.with, walk);
    assert_int_equal(taken[store].rest.offset, 8);
    assert_int_equal(taken[walk].rest.with, PSNAP_NONE);
    free(taken);
    psnap_program_free(program);
}

/* Where a pivot is chosen a scan begins, always, from where it goes on as far as it does; the pivot
 * lies somewhere around where the scan was. That one is found for sure comes before what is only
 * near, though the pivot's draw is the first. */
static void test_tight_first(void **state)
{
    struct psnap_program *program = make_program(1, 2);
    struct nest_draws *draws = nest_draws_new(program);
    uint64_t at = BASE;
    uint32_t pivot, scan;
    struct nest_draw *taken;
    struct psnap_rng rng;

    (void)state;
    assert_non_null(draws);
    psnap_rng_init(&rng, 6);
    pivot = add(draws, 0);
    scan = add(draws, 1);
    for (int i = 0; i < 6000; i++) {
        const uint64_t chosen = at + 8 * psnap_rng_below(&rng, 400);
        nest_draws_put(draws, pivot, true, chosen - 1600);
        for (uint64_t k = 0, n = 20 + psnap_rng_below(&rng, 100); k < n; k++)
            nest_draws_put(draws, scan, false, at = chosen - 1600 + 64 + 8 * k);
        at = at < BASE + (1 << 19) ? at : BASE;
    }
    taken = take_two(draws);
    assert_int_equal(taken[pivot].rest.around, PSNAP_NONE);
    assert_int_equal(taken[scan].rest.around, pivot);
    assert_int_equal(taken[scan].rest.offset, 64);
    assert_int_equal(taken[scan].rest.gather.areas[0].offsets[0], 0);
    assert_int_equal(taken[scan].rest.gather.areas[0].offsets[GATHER_QUANTILES - 2], 0);
    free(taken);
    psnap_program_free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pieces),
                                       cmocka_unit_test(test_walks_end),
                                       cmocka_unit_test(test_tight_first)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
