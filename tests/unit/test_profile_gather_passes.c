/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Irregular references that go through memory by one stride, then again by another one
 * (profile/gathers/gather_passes.c).
 */
#include "formats/base/rng.h"
#include "tests/unit/test_gather_support.h"

enum { MANY = 300000 };

/* Strides and ends that change in line come back address for address, up or down, whether they were
 * put one by one or as runs. */
static void test_in_line(void **state)
{
    enum { LENGTH = 1000, PASSES = 100, TOP = PASSES * (LENGTH + 10) };
    uint64_t *real = room_for(MANY), *drawn;

    (void)state;
    for (int is_down = 0; is_down < 2; is_down++) {
        struct gather_areas *by_run = gather_areas_new();
        struct psnap_gather *model, *of_runs = calloc(1, sizeof *of_runs);
        assert_true(by_run && of_runs);
        for (uint64_t pass = 0; pass < PASSES; pass++) {
            const uint64_t stride = 8 * (1 + pass), way = is_down ? 0 - stride : stride;
            const uint64_t from = BASE + 10 * stride + (is_down ? 8 * TOP - 20 * stride : 0);
            for (uint64_t i = 0; i < LENGTH; i++)
                real[pass * LENGTH + i] = from + i * way;
            gather_areas_put_run(by_run, from, way, LENGTH);
        }
        model = model_of(real, PASSES * LENGTH);
        assert_int_equal(model->areas[0].places, GATHER_PASSES);
        gather_areas_fit(by_run, of_runs);
        assert_memory_equal(model->areas, of_runs->areas, sizeof model->areas);
        drawn = drawn_from(model, 1, PASSES * LENGTH);
        assert_memory_equal(drawn, real, PASSES * LENGTH * sizeof *drawn);
        gather_areas_free(by_run);
        free(model), free(of_runs), free(drawn);
    }
    free(real);
}

/* Primes, which are near to lines: accesses stay in their line as often, and all of memory is used
 * as much. */
static void test_sieve(void **state)
{
    enum { ELEMENTS = 1 << 16, PARTS = 16 };
    uint64_t *real = room_for(MANY), *drawn, used[2][PARTS] = {{0}}, stays[2] = {0};
    struct psnap_gather *model;
    size_t count = 0;

    (void)state;
    for (uint64_t n = 2; n < 200; n++) {
        bool is_prime = true;
        for (uint64_t k = 2; k * k <= n; k++)
            is_prime = is_prime && n % k;
        for (uint64_t i = n * n; is_prime && i < ELEMENTS && count < MANY; i += n)
            real[count++] = BASE + i;
    }
    model = model_of(real, count);
    assert_int_equal(model->areas[0].places, GATHER_PASSES);
    assert_in_range(model->areas[0].stretch_count, 2, GATHER_STRETCHES);
    drawn = drawn_from(model, 1, count);
    for (size_t i = 1; i < count; i++) {
        assert_in_range(drawn[i], model->areas[0].base, BASE + ELEMENTS - 1);
        stays[0] += real[i] / 64 == real[i - 1] / 64;
        stays[1] += drawn[i] / 64 == drawn[i - 1] / 64;
        used[0][(real[i] - BASE) / (ELEMENTS / PARTS)]++;
        used[1][(drawn[i] - BASE) / (ELEMENTS / PARTS)]++;
    }
    assert_in_range(stays[1] * 100, stays[0] * 99, stays[0] * 101);
    for (int i = 0; i < PARTS; i++)
        assert_in_range(used[1][i] * 100, used[0][i] * 97, used[0][i] * 103);
    free(real), free(drawn), free(model);
}

/* Where walks begin there are none: how long walks are is drawn. */
static void test_walks(void **state)
{
    enum { LENGTH = 1000, PASSES = 100 };
    struct gather_areas *areas = gather_areas_new();
    struct psnap_gather *model = calloc(1, sizeof *model);

    (void)state;
    assert_true(areas && model);
    gather_areas_of_walks(areas);
    for (uint64_t pass = 0; pass < PASSES; pass++)
        for (uint64_t i = 0; i < LENGTH; i++)
            gather_areas_put(areas, BASE + 8 * (1 + pass) * i);
    gather_areas_fit(areas, model);
    assert_int_not_equal(model->areas[0].places, GATHER_PASSES);
    gather_areas_free(areas);
    free(model);
}

/* Neither one stride, wherever passes begin, nor strides that change from access to access, nor
 * passes to and fro of which no few are in line. */
static void test_others(void **state)
{
    uint64_t *real = room_for(MANY);
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 3);
    for (unsigned what = 0; what < 4; what++) {
        struct psnap_gather *model;
        uint64_t at = 0, stride = 8;
        for (size_t i = 0; i < MANY; i++) {
            if (i % 100 == 0) {
                at = 8 * psnap_rng_below(&rng, 1 << 17);
                stride = what == 1 ? 8 * (1 + psnap_rng_below(&rng, 100)) : 8;
                stride = what == 2 && i % 200 ? -stride : stride;
            }
            real[i] = BASE + (1 << 20) + at;
            at += what == 3 ? 8 * psnap_rng_below(&rng, 100) : stride;
        }
        model = model_of(real, MANY);
        assert_int_not_equal(model->areas[0].places, GATHER_PASSES);
        assert_int_equal(model->areas[0].stretch_count, 0);
        free(model);
    }
    free(real);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_line),
        cmocka_unit_test(test_sieve),
        cmocka_unit_test(test_walks),
        cmocka_unit_test(test_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
