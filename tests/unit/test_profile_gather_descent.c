/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Irregular references that go down a tree in memory (profile/gathers/gather_descent.c): searches
 * of all kinds and sizes against what is drawn, by a cache of lines that is searched one by one.
 */
#include "formats/base/rng.h"
#include "tests/unit/test_gather_support.h"

enum { MANY = 200000 };

enum variant { HALF_OPEN, CLOSED, BRANCHLESS, VARIANTS };

/* The elements that a search looks at; returns how many. */
static size_t search(enum variant variant, uint64_t n, uint64_t key, uint64_t *looked_at)
{
    uint64_t low = 0, high = variant == CLOSED ? n - 1 : n;
    size_t count = 0;

    if (variant == BRANCHLESS) {
        for (uint64_t left = n; left > 1; left -= left / 2) {
            looked_at[count++] = low + left / 2 - 1;
            low += low + left / 2 - 1 < key ? left / 2 : 0;
        }
        return count;
    }
    while (variant == CLOSED ? low <= high : low < high) {
        const uint64_t middle = low + (high - low) / 2;
        looked_at[count++] = middle;
        if (variant == CLOSED && (middle == key || (middle > key && !middle)))
            break;
        if (middle < key)
            low = middle + 1;
        else
            high = middle - (variant == CLOSED);
    }
    return count;
}

enum keys { RANDOM, SORTED, FEW };

static uint64_t *searches(enum variant variant, uint64_t n, uint64_t element, enum keys keys)
{
    uint64_t *addresses = room_for(MANY), looked_at[64];
    struct psnap_rng rng;
    size_t count = 0;

    psnap_rng_init(&rng, n);
    while (count < MANY) {
        const uint64_t key = keys == SORTED ? count * n / MANY
                             : keys == FEW  ? psnap_rng_below(&rng, 20) * n / 20
                                            : psnap_rng_below(&rng, n);
        const size_t looks = search(variant, n, key, looked_at);
        for (size_t i = 0; i < looks && count < MANY; i++)
            addresses[count++] = BASE + looked_at[i] * element;
    }
    return addresses;
}

/* Hits in thousandths, of so many lines by the least recently used. */
static size_t hits(const uint64_t *addresses, size_t lines)
{
    uint64_t *stack = calloc(lines, sizeof *stack);
    size_t count = 0;

    assert_non_null(stack);
    for (size_t i = 0; i < MANY; i++) {
        const uint64_t line = addresses[i] / 64;
        size_t at = 0;
        while (at < lines - 1 && stack[at] != line)
            at++;
        count += stack[at] == line;
        memmove(stack + 1, stack, at * sizeof *stack);
        stack[0] = line;
    }
    free(stack);
    return count / (MANY / 1000);
}

/* Each kind of search is a descent, of which hits are as often in caches of all sizes. */
static void test_searches(void **state)
{
    static const uint64_t sizes[] = {1000, 4096, 77777, 1 << 18}, elements[] = {4, 8, 56};

    (void)state;
    for (enum variant variant = HALF_OPEN; variant < VARIANTS; variant++)
        for (size_t i = 0; i < 4; i++)
            for (size_t k = 0; k < 3; k++) {
                uint64_t *real = searches(variant, sizes[i], elements[k], RANDOM), *drawn;
                struct psnap_gather *model = model_of(real, MANY);
                const struct gather_area *area = &model->areas[0];
                assert_int_equal(model->area_count, 1);
                assert_int_equal(area->places, GATHER_DESCENT);
                assert_int_equal(area->base + area->root, real[0]);
                drawn = drawn_from(model, 1, MANY);
                assert_int_equal(drawn[0], real[0]);
                for (size_t j = 0; j < MANY; j++) {
                    assert_in_range(drawn[j], area->base, area->base + area->span_bytes - 1);
                    assert_int_equal((drawn[j] - area->base) % elements[k], 0);
                }
                for (size_t lines = 4; lines <= 256; lines *= 8) {
                    const size_t wanted = hits(real, lines), found = hits(drawn, lines);
                    assert_in_range(found + 15, wanted, wanted + 30); /* of 1000 */
                }
                free(real), free(drawn), free(model);
            }
}

/* By hand: eleven levels, of the last of which each other search sees one; three in four steps are
 * down. */
static void test_levels(void **state)
{
    enum { ELEMENT = 64, N = 4095, LEVELS = 10 };
    uint64_t *real = room_for(MANY), count = 0;
    struct psnap_gather *model;
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 1);
    while (count < MANY) {
        uint64_t at = N / 2, step = (N + 1) / 4;
        const unsigned last = psnap_rng_below(&rng, 2) ? LEVELS : LEVELS - 1;
        for (unsigned level = 0; level <= last && count < MANY; level++, step /= 2) {
            real[count++] = BASE + at * ELEMENT;
            at += psnap_rng_below(&rng, 4) ? -step : step;
        }
    }
    model = model_of(real, MANY);
    assert_int_equal(model->areas[0].places, GATHER_DESCENT);
    assert_int_equal(model->areas[0].level_count, LEVELS);
    for (int i = 0; i < LEVELS; i++) {
        const struct gather_level *level = &model->areas[0].levels[i];
        assert_int_equal(level->down, -(ELEMENT * (N + 1) / 4 >> i));
        assert_int_equal(level->up, ELEMENT * (N + 1) / 4 >> i);
        assert_in_range((uint64_t)(level->down_share * 1000), 730, 770);
        if (i < LEVELS - 1)
            assert_true(level->goes_on == 1);
        else
            assert_in_range((uint64_t)(level->goes_on * 1000), 480, 520);
    }
    free(real), free(model);
}

/* What is drawn, by hand: down, up, down out of the area, which is its rim, and from the root
 * again. */
static void test_drawn(void **state)
{
    static const uint64_t wanted[] = {400, 200, 304, 0, 400, 200, 304, 0, 400};
    struct psnap_gather model = {.accesses = 1000, .area_count = 1};
    uint64_t *drawn;

    (void)state;
    model.areas[0] =
        (struct gather_area){.accesses = 1000,
                             .base = BASE,
                             .span_bytes = 800,
                             .element_bytes = 8,
                             .places = GATHER_DESCENT,
                             .part_count = 1,
                             .parts = {{1, 1}},
                             .class_count = 1,
                             .classes = {{1, 1, 1}},
                             .root = 400,
                             .level_count = 3,
                             .levels = {{-200, 200, 1, 1}, {-104, 104, 0, 1}, {-400, 400, 1, 1}}};
    drawn = drawn_from(&model, 1, 9);
    for (int i = 0; i < 9; i++)
        assert_int_equal(drawn[i], BASE + wanted[i]);
    free(drawn);
}

/* As they come one by one and as runs: the last steps of a search are alike. */
static void test_runs(void **state)
{
    uint64_t *real = searches(HALF_OPEN, 50000, 8, RANDOM);
    struct psnap_gather *model = model_of(real, MANY), *of_runs = calloc(1, sizeof *of_runs);
    struct gather_areas *by_run = gather_areas_new();

    (void)state;
    assert_true(of_runs && by_run);
    for (size_t i = 0, n; i < MANY; i += n) {
        const uint64_t step = i + 1 < MANY ? real[i + 1] - real[i] : 0;
        for (n = 1; i + n < MANY && real[i + n] - real[i + n - 1] == step; n++)
            continue;
        gather_areas_put_run(by_run, real[i], step, n);
    }
    gather_areas_fit(by_run, of_runs);
    assert_int_equal(model->areas[0].places, GATHER_DESCENT);
    assert_memory_equal(model->areas, of_runs->areas, sizeof model->areas);
    gather_areas_free(by_run);
    free(real), free(model), free(of_runs);
}

/* Now and then, where a search ends, an address between elements: there are no more levels than
 * searches have, and they lead from element to element. */
static void test_strays(void **state)
{
    enum { ELEMENT = 56, ELEMENTS = 50000, STRAYS = 5 };
    uint64_t *real = searches(HALF_OPEN, ELEMENTS, ELEMENT, RANDOM);
    const struct gather_area *area;
    struct psnap_gather *model;

    (void)state;
    for (size_t i = 0, at = 0; i < STRAYS; i++) {
        for (at += MANY / (STRAYS + 1); real[at] != real[0]; at++)
            continue;
        memmove(real + at + 1, real + at, (MANY - at - 1) * sizeof *real);
        real[at] = BASE + 8 * (1000 + 7 * i + 1);
    }
    model = model_of(real, MANY);
    assert_int_equal(model->areas[0].places, GATHER_DESCENT);
    area = &model->areas[0];
    assert_int_equal(area->level_count, 15);
    assert_int_equal(area->root % area->element_bytes, 0);
    for (uint32_t i = 0; i < area->level_count; i++) {
        assert_int_equal(area->levels[i].down % (int64_t)area->element_bytes, 0);
        assert_int_equal(area->levels[i].up % (int64_t)area->element_bytes, 0);
    }
    free(real), free(model);
}

/* The first addresses show it, or what came before does not. */
static void test_first(void **state)
{
    uint64_t *real = searches(CLOSED, 5000, 8, RANDOM);

    (void)state;
    assert_true(gather_is_descent(real, 1024));
    assert_false(gather_is_descent(real, 1023));
    for (size_t i = 0; i < 1024; i += 10)
        real[i] ^= 8192;
    assert_false(gather_is_descent(real, 1024));
    free(real);
}

/* Neither numbers drawn from many or few, nor a heap, whose steps depend on the node, nor a list
 * that is gone through, nor searches for what is sorted, which follow each other, or for a few. */
static void test_others(void **state)
{
    uint64_t *real = room_for(MANY);
    struct psnap_gather *model;
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 3);
    for (unsigned what = 0; what < 4; what++) {
        uint64_t at = 0;
        for (size_t i = 0; i < MANY; i++) {
            real[i] = BASE + 8 * at;
            if (what < 2)
                at = psnap_rng_below(&rng, what ? 4 : 100000);
            else if (what == 2)
                at = (at = 2 * at + 1 + psnap_rng_below(&rng, 2)) < 100000 ? at : 0;
            else
                at = (at * 5 + 3) % 4096;
        }
        model = model_of(real, MANY);
        assert_int_not_equal(model->areas[0].places, GATHER_DESCENT);
        free(model);
    }
    free(real);
    for (enum keys keys = SORTED; keys <= FEW; keys++) {
        real = searches(HALF_OPEN, 100000, 8, keys);
        model = model_of(real, MANY);
        assert_int_not_equal(model->areas[0].places, GATHER_DESCENT);
        free(real), free(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_searches), cmocka_unit_test(test_levels),
        cmocka_unit_test(test_drawn),    cmocka_unit_test(test_runs),
        cmocka_unit_test(test_strays),   cmocka_unit_test(test_first),
        cmocka_unit_test(test_others)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
