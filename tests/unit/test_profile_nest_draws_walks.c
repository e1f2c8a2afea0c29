/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Draws by where walks begin and end (profile/walks/nest_around.c, nest_after_fit.c).
 */
#include <math.h>
#include <stdint.h>

#include "profile/walks/nest_after.h"
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
    uint32_t front, copy, other, start;
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
        nest_draws_end(draws, PSNAP_NONE, 1);
        for (uint64_t k = 0; k < n; k++)
            nest_draws_put(draws, copy, !k, ahead - 8 * n + 8 * k);
        nest_draws_end(draws, PSNAP_NONE, n);
        nest_draws_put(draws, other, true, at);
        for (uint64_t k = 1; k < n; k++) {
            const bool is_on = psnap_rng_below(&rng, 4);
            nest_draws_put(draws, other, false, at += is_on ? 8 : 0);
            moved += is_on;
            steps++;
        }
        nest_draws_end(draws, PSNAP_NONE, n);
        ahead += 64 + 8 * psnap_rng_below(&rng, 30);
    }
    taken = take(draws, 4);
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
    taken = take(draws, 2);
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
    taken = take(draws, 2);
    assert_int_equal(taken[pivot].rest.around, PSNAP_NONE);
    assert_int_equal(taken[scan].rest.around, pivot);
    assert_int_equal(taken[scan].rest.offset, 64);
    assert_int_equal(taken[scan].rest.gather.areas[0].offsets[0], 0);
    assert_int_equal(taken[scan].rest.gather.areas[0].offsets[GATHER_QUANTILES - 2], 0);
    free(taken);
    psnap_program_free(program);
}

/* Of an outer loop that is unrolled two references take turns, and behind each the inner loop
 * begins beside it: beside whichever came last. */
static void test_latest(void **state)
{
    struct psnap_program *program = make_program(1, 3);
    struct nest_draws *draws = nest_draws_new(program);
    struct nest_draw *taken;
    struct psnap_rng rng;
    uint32_t inner, lead;
    uint64_t at = BASE;

    (void)state;
    assert_non_null(draws);
    psnap_rng_init(&rng, 5);
    inner = add(draws, 2);
    for (int i = 0; i < 4000; i++) {
        nest_draws_mark(draws, (uint32_t)i % 2, at);
        for (uint64_t k = 0; k < 2 + psnap_rng_below(&rng, 9); k++)
            nest_draws_put(draws, inner, !k, at - 8 - 8 * k);
        at += 8 * (1 + psnap_rng_below(&rng, 99));
    }
    taken = take(draws, 2);
    lead = taken[inner].entry.with;
    assert_int_equal(lead, 1);
    assert_int_equal((int64_t)taken[inner].entry.offset, -8);
    assert_int_equal(taken[lead].leads[0] + taken[lead].leads[1], 3); /* references 0 and 1 */
    assert_int_equal(taken[lead].leads[2], 0);
    free(taken);
    psnap_program_free(program);
}

/* What is stored behind a loop is where that stopped: beside what it loaded last, if it loaded, or
 * where it stored, if it did not. By chance it would be either. */
static void test_by(void **state)
{
    struct psnap_program *program = make_program(1, 3);
    struct nest_draws *draws = nest_draws_new(program);
    const struct nest_source *source;
    struct nest_draw *taken;
    struct psnap_rng rng;
    uint32_t load, store, behind, first;

    (void)state;
    assert_non_null(draws);
    psnap_rng_init(&rng, 6);
    load = add(draws, 0);
    store = add(draws, 1);
    behind = add(draws, 2);
    for (int i = 0; i < 4000; i++) {
        const uint64_t at = BASE + 8 * psnap_rng_below(&rng, 1 << 20);
        const bool is_stored = psnap_rng_below(&rng, 3) == 0;
        nest_draws_put(draws, load, true, at);
        if (is_stored)
            nest_draws_put(draws, store, true, BASE / 2 + 8 * psnap_rng_below(&rng, 1 << 10));
        if (is_stored)
            nest_draws_put(draws, store, false, at - 80);
        nest_draws_put(draws, behind, true, is_stored ? at - 88 : at + 16);
    }
    taken = take(draws, 3);
    source = taken[behind].has_entry ? &taken[behind].entry : &taken[behind].rest;
    assert_int_equal(source->after_count, 2);
    first = source->after[0].by - 1;
    assert_true(first == load || first == store);
    assert_int_equal(source->after[0].back, 1);
    assert_int_equal((int64_t)source->after[0].offset, first == load ? 16 : -8);
    assert_int_equal(source->after[1].by, 0); /* else the other */
    assert_int_equal(source->after[1].back, 1);
    assert_int_equal((int64_t)source->after[1].offset, first == load ? -8 : 16);
    free(taken);
    psnap_program_free(program);
}

/* A merge moves either of what it has compared, and the next one begins at either of two
 * distances behind the last that was moved: that must not keep what is moved from being where one
 * of the two is, though these come first. */
static void test_chosen_first(void **state)
{
    enum { LEFT, RIGHT, MOVED };
    struct psnap_program *program = make_program(1, 3);
    struct nest_draws *draws = nest_draws_new(program);
    uint64_t moved = BASE;
    uint32_t refs[3];
    struct nest_draw *taken;
    struct psnap_rng rng;

    (void)state;
    assert_non_null(draws);
    psnap_rng_init(&rng, 6);
    for (uint32_t i = 0; i < 3; i++)
        refs[i] = add(draws, i);
    for (int i = 0; i < 3000; i++) {
        const uint64_t behind = psnap_rng_below(&rng, 2) ? 8 : 232;
        uint64_t left = moved < BASE + (1 << 19) ? moved + behind : BASE, right = left + 8 * 64;
        for (uint32_t k = 0; k < 100; k++) {
            const bool is_left = psnap_rng_below(&rng, 2) && left < right;
            nest_draws_put(draws, refs[LEFT], k == 0, left);
            nest_draws_put(draws, refs[RIGHT], k == 0, right);
            nest_draws_put(draws, refs[MOVED], k == 0, moved = is_left ? left : right);
            left += is_left ? 8 : 0;
            right += is_left ? 0 : 8;
        }
    }
    taken = take(draws, 3);
    assert_int_equal(taken[MOVED].rest.after_count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_in_range(taken[MOVED].rest.after[i].back, 1, 2);
        assert_int_equal(taken[MOVED].rest.after[i].offset, 0);
    }
    free(taken);
    psnap_program_free(program);
}

/* Rows of a sparse matrix: a loop goes over most of a row, and another one over what that leaves
 * over, if it does. The first begins behind where the row before has ended, in either loop, though
 * the second goes on from the first; and at the start of the matrix. */
static void test_behind(void **state)
{
    enum { MAIN, MAIN_X, REST, REST_X, REFS_ALL, ROWS_ALL = 20000, X = 1 << 24 };
    struct psnap_program *program = make_program(1, REFS_ALL);
    struct nest_draws *draws = nest_draws_new(program);
    uint32_t refs[REFS_ALL];
    const struct nest_source *entry;
    struct nest_draw *taken;
    struct psnap_rng rng;
    uint64_t at = BASE;

    (void)state;
    assert_non_null(draws);
    psnap_rng_init(&rng, 5);
    for (uint32_t i = 0; i < REFS_ALL; i++)
        refs[i] = add(draws, i);
    for (int row = 0; row < ROWS_ALL; row++) {
        const uint64_t n = 1 + psnap_rng_below(&rng, 6);
        for (uint64_t k = 0; k < n; k++, at += 8) {
            nest_draws_put(draws, refs[MAIN], !k, at);
            nest_draws_put(draws, refs[MAIN_X], !k, X + 8 * psnap_rng_below(&rng, 1 << 16));
        }
        nest_draws_end(draws, PSNAP_NONE, n);
        if (!psnap_rng_below(&rng, 2))
            continue;
        nest_draws_put(draws, refs[REST], true, at);
        nest_draws_put(draws, refs[REST_X], true, X + 8 * psnap_rng_below(&rng, 1 << 16));
        nest_draws_end(draws, PSNAP_NONE, 1);
        at += 8;
    }
    taken = take(draws, REFS_ALL);
    entry = &taken[MAIN].entry;
    assert_true(taken[MAIN].has_entry);
    assert_int_equal(entry->after_count, 1); /* two back, whoever it was */
    assert_int_equal(entry->after[0].back, 2);
    assert_int_equal(entry->after[0].offset, 8);
    assert_int_equal(entry->low, BASE);
    assert_in_range(entry->span_bytes, at - BASE - 16, at - BASE);
    assert_int_equal(taken[REST].rest.with, MAIN);
    free(taken);
    psnap_program_free(program);
}

static bool any_may_lead(void *context, uint32_t draw, enum nest_lead lead)
{
    (void)context, (void)draw, (void)lead;
    return true;
}

/* Of what goes half of the times behind another draw's address, and else back to its own before,
 * the half is foreseen, and nearly all is told: shares, though how often it comes back is counted
 * among all addresses. */
static void test_foreseen(void **state)
{
    struct nest_rows *rows = NULL;
    struct nest_starts *starts;
    struct nest_trail trail;
    struct psnap_rng rng;
    uint64_t stack[1000], last = BASE;
    uint32_t depth = 0;
    double told, foreseen;

    (void)state;
    nest_trail_init(&trail);
    psnap_rng_init(&rng, 1);
    for (int i = 0; i < 20000; i++) {
        const uint64_t other = BASE + 8 * psnap_rng_below(&rng, 1 << 20);
        const bool is_back = depth > 1 && (depth == 1000 || psnap_rng_below(&rng, 2));
        nest_trail_push(&trail, 1, other);
        depth -= is_back;
        if (!is_back)
            stack[depth++] = other + 8;
        assert_true(nest_rows_put(&rows, &trail, 0, last, stack[depth - 1], &starts));
        if (starts)
            for (int k = 0; k < NEST_STARTS; k++)
                starts->draws[k] = PSNAP_NONE;
        last = stack[depth - 1];
    }
    foreseen = nest_rows_foreseen(rows, any_may_lead, NULL, &told);
    assert_true(foreseen > 0.4 && foreseen < 0.6);
    assert_true(told > 0.9 && told <= 1.0001);
    free(rows);
}

struct sorting {
    struct nest_draws *draws;
    struct psnap_rng rng;
    uint32_t left, right, out, back, copied;
};

/* Merges of elements [low, high), of an array and what it is merged to, as recursions have them;
 * what was merged is copied back, two elements at a time, up to one that may be left. */
static void sort(struct sorting *s, uint64_t low, uint64_t high)
{
    enum { OUT = 1 << 20 };
    const uint64_t middle = (low + high) / 2;
    uint64_t i = low, j = middle, k;

    if (high - low < 2)
        return;
    sort(s, low, middle);
    sort(s, middle, high);
    for (k = low; i < middle && j < high; k++) {
        const bool is_left = psnap_rng_below(&s->rng, 2);
        nest_draws_put(s->draws, s->left, k == low, BASE + 8 * i);
        nest_draws_put(s->draws, s->right, k == low, BASE + 8 * j);
        nest_draws_put(s->draws, s->out, k == low, BASE + OUT + 8 * k);
        i += is_left;
        j += !is_left;
    }
    nest_draws_end(s->draws, PSNAP_NONE, k - low);
    for (k = low; k + 1 < high; k += 2) {
        nest_draws_put(s->draws, s->back, k == low, BASE + OUT + 8 * k);
        nest_draws_put(s->draws, s->copied, k == low, BASE + 8 * k);
    }
    nest_draws_end(s->draws, PSNAP_NONE, (high - low) / 2);
}

/* What a merge has written is copied back from where it began, to the array from which the next
 * one comes: that this begins near where the copy ended must not keep the copy from it. */
static void test_copied_back(void **state)
{
    struct psnap_program *program = make_program(1, 5);
    struct sorting s = {.draws = nest_draws_new(program)};
    struct nest_draw *taken;
    uint32_t start;

    (void)state;
    assert_non_null(s.draws);
    psnap_rng_init(&s.rng, 1);
    s.left = add(s.draws, 0);
    s.right = add(s.draws, 1);
    s.out = add(s.draws, 2);
    s.back = add(s.draws, 3);
    s.copied = add(s.draws, 4);
    sort(&s, 0, 20000);
    taken = take(s.draws, 6);
    assert_true(taken[s.back].has_entry);
    start = taken[s.back].entry.with;
    assert_int_equal(start, 5);
    assert_int_equal(taken[start].start, 1 + s.out);
    assert_int_equal(taken[s.back].entry.offset, 0);
    assert_int_equal(taken[s.back].rest.after_count, 1);
    assert_int_equal(taken[s.back].rest.after[0].back, 0);
    assert_int_equal(taken[s.back].rest.after[0].offset, 16);
    assert_int_equal(taken[s.copied].rest.with, s.back);
    free(taken);
    psnap_program_free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copied_back), cmocka_unit_test(test_foreseen),
        cmocka_unit_test(test_behind),      cmocka_unit_test(test_latest),
        cmocka_unit_test(test_by),          cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_walks_end),   cmocka_unit_test(test_tight_first),
        cmocka_unit_test(test_chosen_first)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
