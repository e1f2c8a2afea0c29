/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which references that are drawn go with which (profile/walks/nest_draws.h).
 */
#include <math.h>
#include <stdint.h>

#include "tests/unit/test_nest_draws_support.h"

enum { ALONE = 1000 };

/* A swap of what a scan has found, `with` times; before, the scan was affine, and nobody's leader.
 */
static struct nest_draw *draw(struct psnap_program *program, int with, uint64_t away)
{
    struct nest_draws *draws = nest_draws_new(program);
    struct psnap_rng rng;
    uint32_t swap, scan;

    assert_non_null(draws);
    psnap_rng_init(&rng, 1);
    swap = add(draws, 0);
    for (int i = 0; i < ALONE; i++)
        nest_draws_put(draws, swap, false, BASE + 8 * psnap_rng_below(&rng, 1000));
    scan = add(draws, 1);
    assert_int_not_equal(scan, swap);
    for (int i = 0; i < with; i++) {
        const uint64_t found = BASE + 8 * psnap_rng_below(&rng, 1000);
        nest_draws_put(draws, scan, false, found);
        nest_draws_put(draws, swap, false, found + away);
    }
    assert_true(nest_draws_are_whole(draws));
    return take(draws, 2);
}

/* One that comes late is gone with all the same; but not for the smaller part of what there is. */
static void test_late_leader(void **state)
{
    struct psnap_program *program = make_program(1, 2);
    struct nest_draw *taken = draw(program, 3 * ALONE, 4);

    (void)state;
    assert_int_equal(taken[0].rest.with, 1);
    assert_int_equal(taken[0].rest.offset, 4);
    assert_int_equal(taken[1].rest.with, PSNAP_NONE);
    assert_int_equal(taken[1].rest.gather.accesses, 3 * ALONE);
    free(taken);
    taken = draw(program, ALONE / 2, 4);
    assert_int_equal(taken[0].rest.with, PSNAP_NONE);
    assert_true(taken[0].rest.gather.accesses >= ALONE);
    free(taken);
    psnap_program_free(program);
}

/* Two references in turn, in two arrays of SIZE elements; the second is at the first's place and up
 * to 50 elements before or after it, or, `is_apart`, at another one that is as likely. */
static struct nest_draw *draw_two(struct psnap_program *program, bool is_apart, bool has_head,
                                  uint32_t numbers[2])
{
    enum { SIZE = 1 << 20, TIMES = 60000 };
    struct nest_draws *draws = nest_draws_new(program);
    struct psnap_rng rng;

    assert_non_null(draws);
    psnap_rng_init(&rng, 1);
    numbers[0] = add(draws, 0);
    numbers[1] = add(draws, 1);
    for (int i = 0; i < TIMES; i++) {
        const uint64_t all = has_head && psnap_rng_below(&rng, 10) ? 200 : SIZE;
        const uint64_t other = has_head && psnap_rng_below(&rng, 10) ? 200 : SIZE;
        const uint64_t place = psnap_rng_below(&rng, all), near = psnap_rng_below(&rng, 101);
        nest_draws_put(draws, numbers[0], false, BASE + 8 * place);
        nest_draws_put(draws, numbers[1], false,
                       BASE + (1 << 26) +
                           8 * (is_apart ? psnap_rng_below(&rng, other) : place + near));
    }
    return take(draws, 2);
}

/* What lies close to where another reference just was, though not always as far, is drawn around
 * that; not so what is as close by chance, because both have a hot head. */
static void test_around(void **state)
{
    struct psnap_program *program = make_program(1, 2);
    uint32_t numbers[2];
    struct nest_draw *taken = draw_two(program, false, false, numbers);
    const uint32_t second = taken[0].rest.around == PSNAP_NONE; /* one lies around the other */
    const struct nest_source *source = &taken[second].rest;
    const int64_t away = second ? (1 << 26) + 400 : -(1 << 26) - 400;

    (void)state;
    assert_int_equal(taken[!second].rest.around, PSNAP_NONE);
    assert_int_equal(source->around, !second);
    assert_int_equal(source->with, PSNAP_NONE);
    assert_int_equal(source->gather.areas[0].places, GATHER_AROUND);
    assert_true(llabs((int64_t)source->offset - away) < 100);
    for (int i = 0; i < GATHER_QUANTILES; i++)
        assert_true(fabs((double)source->gather.areas[0].offsets[i] -
                         (100 * gather_quantiles[i] - 50)) < 15);
    free(taken);
    for (int has_head = 0; has_head < 2; has_head++) {
        taken = draw_two(program, true, has_head, numbers);
        assert_int_equal(taken[0].rest.around, PSNAP_NONE);
        assert_int_equal(taken[1].rest.around, PSNAP_NONE);
        free(taken);
    }
    psnap_program_free(program);
}

/* Where a loop begins anywhere and goes on by one step, that is told apart: a walk is as long as it
 * was. */
static void test_begins_anywhere(void **state)
{
    enum { TIMES = 3000, LENGTH = 40 };
    struct psnap_program *program = make_program(1, 2);
    struct nest_draws *draws = nest_draws_new(program);
    struct nest_draw *taken;
    struct psnap_rng rng;
    uint32_t index, other;

    (void)state;
    assert_non_null(draws);
    psnap_rng_init(&rng, 1);
    index = add(draws, 0);
    other = add(draws, 1);
    for (int i = 0; i < TIMES; i++) {
        const uint64_t at = psnap_rng_below(&rng, 1 << 16);
        nest_draws_put(draws, other, true, BASE + (1 << 26) + 8 * psnap_rng_below(&rng, 1 << 16));
        for (uint64_t k = 0; k < LENGTH; k++)
            nest_draws_put(draws, index, !k, BASE + 8 * (at + k));
    }
    taken = take(draws, 2);
    assert_true(taken[0].has_entry);
    assert_int_equal(taken[0].entry.gather.accesses, TIMES);
    assert_int_equal(taken[0].rest.after_count, 1);
    assert_int_equal(taken[0].rest.after[0].back, 0);
    assert_int_equal(taken[0].rest.after[0].offset, 8);
    free(taken);
    psnap_program_free(program);
}

/* Two stores of a line that swap what two scans have found: by the first addresses, when the scans
 * were told in another way, they look like copies. `turns` that one is the other's. */
static struct nest_draw *draw_swaps(int turns, uint32_t *count, uint32_t **numbers)
{
    enum { SWAP, SWAP2, SCAN, SCAN2, ALL, BEFORE = 3000, AFTER = 100000 };
    struct psnap_program *program = make_program(1, ALL);
    const struct psnap_object object = {.address = BASE, .size_bytes = 8 * BASE, .name = "a"};
    struct nest_draws *draws = nest_draws_new(program);
    struct nest_draw *taken;
    uint32_t own[ALL];
    struct psnap_rng rng;

    assert_non_null(draws);
    psnap_rng_init(&rng, 1);
    psnap_program_add_object(program, &object);
    program->loops[0].src_id = "f:1";
    for (uint32_t ref = 0; ref < ALL; ref++)
        program->refs[ref].src_line = ref <= SWAP2 ? 1 : 1 + ref;
    own[SWAP] = add(draws, SWAP);
    own[SWAP2] = add(draws, SWAP2);
    for (int i = 0; i < BEFORE + AFTER; i++) {
        const uint64_t found[] = {BASE + 8 * psnap_rng_below(&rng, BASE),
                                  BASE + 8 * psnap_rng_below(&rng, BASE)};
        const int turned = i % 10 < turns;
        if (i == BEFORE) {
            own[SCAN] = add(draws, SCAN);
            own[SCAN2] = add(draws, SCAN2);
        }
        for (uint32_t k = 0; k < 2 && i >= BEFORE; k++)
            nest_draws_put(draws, own[SCAN + k], false, found[k]);
        for (int k = 0; k < 2; k++)
            nest_draws_put(draws, own[SWAP + k], false, found[k ^ turned]);
    }
    taken = nest_draws_take(draws, count);
    *numbers = nest_draws_number(draws);
    assert_true(taken && *numbers);
    nest_draws_free(draws);
    psnap_program_free(program);
    return taken;
}

/* Each goes with its scan all the same; but they stay one when it is now with one, now with the
 * other. */
static void test_pool_parted(void **state)
{
    enum { SWAP, SWAP_POOL, SWAP2, SCAN, SCAN2 }; /* numbers of draws: the pool is one */
    uint32_t count, *numbers;
    struct nest_draw *taken = draw_swaps(0, &count, &numbers);

    (void)state;
    assert_int_equal(count, 4);
    assert_int_equal(taken[numbers[SWAP]].rest.with, numbers[SCAN]);
    assert_int_equal(taken[numbers[SWAP2]].rest.with, numbers[SCAN2]);
    assert_int_equal(taken[numbers[SWAP]].rest.offset, 0);
    free(taken), free(numbers);
    taken = draw_swaps(5, &count, &numbers);
    assert_int_equal(count, 3);
    assert_int_equal(numbers[SWAP], numbers[SWAP2]);
    free(taken), free(numbers);
}

/* Terms that were told otherwise are drawn one after the other: what is always at one address, a
 * temporary on the stack, has seen only the last address of what moves, and does not go with it. */
static void test_one_address(void **state)
{
    struct psnap_program *program = make_program(1, 2);
    struct nest_draws *draws = nest_draws_new(program);
    struct nest_draw *taken;
    struct psnap_rng rng;
    uint32_t moves, stays;

    (void)state;
    assert_non_null(draws);
    psnap_rng_init(&rng, 1);
    moves = add(draws, 0);
    stays = add(draws, 1);
    for (int i = 0; i < 3 * ALONE; i++)
        nest_draws_put(draws, moves, false, BASE + 8 * psnap_rng_below(&rng, 1000));
    for (int i = 0; i < 3 * ALONE; i++)
        nest_draws_put(draws, stays, false, 64);
    taken = take(draws, 2);
    assert_int_equal(taken[stays].rest.with, PSNAP_NONE);
    assert_int_equal(taken[stays].rest.gather.area_count, 1);
    assert_int_equal(taken[stays].rest.gather.areas[0].base, 64);
    assert_int_equal(taken[stays].rest.gather.areas[0].span_bytes, 8);
    free(taken);
    psnap_program_free(program);
}

/* What comes as columns is what comes one by one, as long as somebody looks and when nobody does;
 * of three references the first two are copies. */
static void test_columns(void **state)
{
    enum { WIDTH = 4, TURNS = 3000, ITERATIONS = 50 };
    struct psnap_program *program = make_program(1, WIDTH);
    struct nest_draws *one = nest_draws_new(program), *all = nest_draws_new(program);
    struct nest_draw *taken[2];
    struct nest_drawn drawn[WIDTH] = {{0}};
    uint64_t words[ITERATIONS][WIDTH];
    struct psnap_rng rng;
    uint32_t count;

    (void)state;
    assert_true(one && all);
    psnap_rng_init(&rng, 1);
    for (uint32_t k = 0; k < WIDTH; k++) {
        drawn[k] = (struct nest_drawn){add(one, k), &words[0][k], WIDTH, 8 * k, 0};
        assert_int_equal(add(all, k), drawn[k].draw);
    }
    drawn[1].draw = drawn[0].draw;
    for (int turn = 0; turn < TURNS; turn++) {
        const uint64_t n = 1 + psnap_rng_below(&rng, ITERATIONS);
        for (uint64_t i = 0; i < n; i++) {
            for (uint32_t k = 0; k < WIDTH; k++)
                words[i][k] = BASE + 8 * psnap_rng_below(&rng, 1000);
            if (!i && turn % 2) /* loops are begun elsewhere */
                words[i][2] += 1 << 24;
            words[i][3] = words[i][2] + 64; /* goes with it */
        }
        for (uint64_t i = 0; i < n; i++)
            for (uint32_t k = 0; k < WIDTH; k++)
                nest_draws_put(one, drawn[k].draw, !i && turn % 2,
                               nest_drawn_address(&drawn[k], i));
        nest_draws_put_all(all, drawn, WIDTH, n, turn % 2);
    }
    taken[0] = nest_draws_take(one, &count);
    taken[1] = nest_draws_take(all, &count);
    assert_true(taken[0] && taken[1]);
    assert_int_equal(taken[0][3].rest.with, 2);
    assert_true(taken[0][2].has_entry);
    assert_memory_equal(taken[0], taken[1], count * sizeof *taken[0]);
    free(taken[0]), free(taken[1]);
    nest_draws_free(one), nest_draws_free(all);
    psnap_program_free(program);
}

/* So is what goes on by steps: two copies whose addresses alternate, a sweep that goes on from one
 * call to the next, and a reference with another step. */
static void test_steps(void **state)
{
    enum { WIDTH = 3, TURNS = 20000, ITERATIONS = 30, SWEEP = 1 << 20 };
    struct psnap_program *program = make_program(1, WIDTH);
    struct nest_draws *one = nest_draws_new(program), *all = nest_draws_new(program);
    struct nest_draw *taken[2];
    struct nest_drawn drawn[WIDTH] = {{0}};
    struct psnap_rng rng;
    uint64_t at = 0;
    uint32_t count;

    (void)state;
    assert_true(one && all);
    psnap_rng_init(&rng, 1);
    for (uint32_t k = 0; k < WIDTH; k++) {
        drawn[k].draw = add(one, k);
        assert_int_equal(add(all, k), drawn[k].draw);
    }
    drawn[1].draw = drawn[0].draw;
    for (int turn = 0; turn < TURNS; turn++) {
        uint64_t n = 1 + psnap_rng_below(&rng, ITERATIONS);
        n = n < (SWEEP - at) / 16 ? n : (SWEEP - at) / 16; /* the sweep's laps end where calls do */
        drawn[0].first = BASE + at;
        drawn[1].first = BASE + at + 8;
        drawn[0].step = drawn[1].step = 16;
        drawn[2].first = BASE + (1 << 24) + 8 * psnap_rng_below(&rng, 1000);
        drawn[2].step = 40;
        for (uint64_t i = 0; i < n; i++)
            for (uint32_t k = 0; k < WIDTH; k++)
                nest_draws_put(one, drawn[k].draw, false, nest_drawn_address(&drawn[k], i));
        nest_draws_put_all(all, drawn, WIDTH, n, false);
        at = (at + n * 16) % SWEEP;
    }
    taken[0] = nest_draws_take(one, &count);
    taken[1] = nest_draws_take(all, &count);
    assert_true(taken[0] && taken[1]);
    assert_int_equal(taken[1][0].rest.gather.areas[0].places, GATHER_SWEEP);
    assert_int_equal(taken[1][0].rest.gather.areas[0].span_bytes, SWEEP);
    assert_memory_equal(&taken[0][0], &taken[1][0], sizeof *taken[0]);
    assert_int_equal(taken[0][2].rest.gather.accesses, taken[1][2].rest.gather.accesses);
    assert_int_equal(taken[0][2].rest.gather.areas[0].base, taken[1][2].rest.gather.areas[0].base);
    assert_int_equal(taken[0][2].rest.gather.areas[0].span_bytes,
                     taken[1][2].rest.gather.areas[0].span_bytes);
    free(taken[0]), free(taken[1]);
    nest_draws_free(one), nest_draws_free(all);
    psnap_program_free(program);
}

struct drawing {
    struct psnap_program *program; /* of one loop */
    struct nest_draws *draws;
    struct psnap_rng rng;
};

/* With so many references, that have yet to be added. */
static struct drawing begin(uint32_t refs)
{
    struct psnap_program *program = make_program(1, refs);
    struct drawing drawing = {.program = program, .draws = nest_draws_new(program)};

    assert_non_null(drawing.draws);
    psnap_rng_init(&drawing.rng, 1);
    return drawing;
}

/* With their own numbers. */
static void add_all(const struct drawing *drawing, uint32_t refs)
{
    for (uint32_t ref = 0; ref < refs; ref++)
        assert_int_equal(add(drawing->draws, ref), ref);
}

/* One of many, so many bytes apart. */
static uint64_t any_address(struct drawing *drawing, uint64_t bytes)
{
    return BASE + bytes * psnap_rng_below(&drawing->rng, 10 * ALONE);
}

static void end(const struct drawing *drawing, struct nest_draw *taken)
{
    free(taken);
    psnap_program_free(drawing->program);
}

/* Probes of a hash table go on to the next slot, what is found is a field of the last one, in
 * whichever loop that was; a child is one of two, and what it is compared with lies before it. What
 * goes on by a step, and then elsewhere, has nothing to come after, nor have few counters. */
static void test_after(void **state)
{
    enum { HEAD, PROBE, FIELD, CHILD, OTHER, SWEEP, FEW, ALL };
    struct drawing drawing = begin(ALL);
    struct nest_draws *draws = drawing.draws;
    struct nest_draw *taken;
    uint64_t sweep = BASE;

    (void)state;
    add_all(&drawing, ALL);
    for (int i = 0; i < 5 * ALONE; i++) {
        uint64_t at = any_address(&drawing, 16);
        const uint64_t probes = psnap_rng_below(&drawing.rng, 4);
        nest_draws_put(draws, HEAD, true, at);
        for (uint64_t n = 0; n < probes; n++)
            nest_draws_put(draws, PROBE, n == 0, at += 16);
        nest_draws_put(draws, FIELD, false, at + 8);
        at = any_address(&drawing, 16);
        nest_draws_put(draws, CHILD, true, at);
        nest_draws_put(draws, OTHER, false, at + (psnap_rng_below(&drawing.rng, 4) ? 16 : 0));
        sweep = i % 40 ? sweep + 8 : any_address(&drawing, 8);
        nest_draws_put(draws, SWEEP, false, sweep);
        nest_draws_put(draws, FEW, false, BASE + 8 * (psnap_rng_below(&drawing.rng, 5) / 2));
    }
    taken = take(draws, ALL);
    assert_true(taken[PROBE].has_entry);
    assert_int_equal(taken[PROBE].rest.after_count, 1);
    assert_int_equal(taken[PROBE].rest.after[0].back, 0);
    assert_int_equal(taken[PROBE].rest.after[0].offset, 16);
    assert_int_equal(taken[FIELD].rest.after_count, 1);
    assert_int_equal(taken[FIELD].rest.after[0].back, 1);
    assert_int_equal(taken[FIELD].rest.after[0].offset, 8);
    assert_int_equal(taken[OTHER].rest.after_count, 2);
    assert_int_equal(taken[OTHER].rest.after[0].offset, 16);
    assert_int_equal(taken[OTHER].rest.after[1].offset, 0);
    assert_in_range(taken[OTHER].rest.after[0].times, 160, 224);
    for (uint32_t k = 0; k < 3; k++)
        assert_int_equal(taken[k == 2 ? FEW : k ? SWEEP : CHILD].rest.after_count, 0);
    assert_true(taken[SWEEP].rest.gather.accesses);
    end(&drawing, taken);
}

/* Of a loop that at first is always left at once nobody knows what the rest is like: a way down a
 * heap, of one step for a long time. Where no rest comes there is no entry to tell apart. */
static void test_late_rest(void **state)
{
    enum { CHILD, PARENT, ONCE, ALL };
    struct drawing drawing = begin(ALL);
    struct nest_draws *draws = drawing.draws;
    struct nest_draw *taken;

    (void)state;
    add_all(&drawing, ALL);
    for (int i = 0; i < 6 * ALONE; i++) {
        uint64_t at = any_address(&drawing, 8);
        for (int n = 0; n < (i < 2 * ALONE ? 1 : 8); n++) {
            const uint64_t child = any_address(&drawing, 8);
            nest_draws_put(draws, CHILD, n == 0, child);
            nest_draws_put(draws, PARENT, n == 0, at);
            at = child;
        }
        nest_draws_put(draws, ONCE, true, any_address(&drawing, 8));
    }
    taken = take(draws, 3);
    assert_true(taken[PARENT].has_entry);
    assert_int_equal(taken[PARENT].entry.gather.accesses, 6 * ALONE);
    assert_int_equal(taken[PARENT].rest.after_count, 1);
    assert_int_equal(taken[PARENT].rest.after[0].back, 3);
    assert_int_equal(taken[PARENT].rest.after[0].offset, 0);
    assert_false(taken[ONCE].has_entry);
    assert_int_equal(taken[ONCE].rest.gather.accesses, 6 * ALONE);
    end(&drawing, taken);
}

/* References of one line to one array: copies that unrolling made draw from one model, the two rows
 * of a[i * n + k] + a[k * n + j] each for themselves. */
static void test_pools(void **state)
{
    enum { COPY, COPY2, ROW, ROW2, ALL };
    const struct psnap_object object = {.address = BASE, .size_bytes = BASE, .name = "a"};
    struct drawing drawing = begin(ALL);
    struct psnap_program *program = drawing.program;
    struct nest_draws *draws = drawing.draws;
    struct nest_draw *taken;
    uint32_t count, own[ALL], *numbers;

    (void)state;
    psnap_program_add_object(program, &object);
    program->loops[0].src_id = "f:1";
    for (uint32_t ref = 0; ref < ALL; ref++) {
        program->refs[ref].src_line = 1 + ref / 2;
        own[ref] = add(draws, ref);
    }
    for (int i = 0; i < 5 * ALONE; i++) {
        const uint64_t row = 8000 * (uint64_t)(i / 300 % 60);
        for (uint32_t ref = COPY; ref <= COPY2; ref++)
            nest_draws_put(draws, own[ref], false, any_address(&drawing, 8));
        nest_draws_put(draws, own[ROW], false, BASE + row);
        nest_draws_put(draws, own[ROW2], false, BASE + 8 * (uint64_t)(i % 300));
    }
    taken = nest_draws_take(draws, &count);
    numbers = nest_draws_number(draws);
    assert_true(taken && numbers);
    assert_int_equal(count, 3);
    assert_int_equal(numbers[own[COPY]], numbers[own[COPY2]]);
    assert_int_not_equal(numbers[own[ROW]], numbers[own[ROW2]]);
    assert_int_equal(taken[numbers[own[COPY]]].rest.gather.accesses, 10 * ALONE);
    assert_int_equal(taken[numbers[own[ROW2]]].rest.gather.areas[0].steps[0], 8);
    assert_int_equal(taken[numbers[own[ROW2]]].rest.gather.areas[0].step_count, 1);
    free(numbers);
    nest_draws_free(draws);
    end(&drawing, taken);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late_leader), cmocka_unit_test(test_columns),
        cmocka_unit_test(test_steps),       cmocka_unit_test(test_pools),
        cmocka_unit_test(test_one_address), cmocka_unit_test(test_pool_parted),
        cmocka_unit_test(test_after),       cmocka_unit_test(test_late_rest),
        cmocka_unit_test(test_around),      cmocka_unit_test(test_begins_anywhere)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
