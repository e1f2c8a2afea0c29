/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many steps come between two jumps of an irregular reference (profile/gathers/gather_areas.c).
 */
#include <math.h>

#include "formats/base/rng.h"
#include "tests/unit/test_gather_support.h"

/* The shares of scans by octaves of how many steps they have. */
static void count_scans(const uint64_t *addresses, size_t n, double scans[GATHER_RUNS])
{
    uint64_t run = 0, all = 0;

    memset(scans, 0, GATHER_RUNS * sizeof *scans);
    for (size_t i = 1; i < n; i++) {
        if (addresses[i] - addresses[i - 1] == 8) {
            run++;
            continue;
        }
        scans[run ? 64 - __builtin_clzll(run) : 0]++;
        all++;
        run = 0;
    }
    for (unsigned i = 0; i < GATHER_RUNS; i++)
        scans[i] /= (double)all;
}

/* How long they are does not depend on what of them comes as runs. */
static void test_scans_cut(void **state)
{
    struct gather_areas *by_run = gather_areas_new(), *by_one = gather_areas_new();
    struct psnap_gather *models = calloc(2, sizeof *models);
    struct psnap_rng rng;

    (void)state;
    assert_true(by_run && by_one && models);
    psnap_rng_init(&rng, 1);
    for (int i = 0; i < 4000; i++) {
        uint64_t at = BASE + 64 * psnap_rng_below(&rng, 1 << 20);
        const uint64_t n = i % 50 ? 2 + psnap_rng_below(&rng, 3) : 3000;
        gather_areas_put_run(by_run, at, 8, n);
        for (uint64_t k = 0; k < n; k++)
            gather_areas_put(by_one, at + 8 * k);
        at += 8 * n;
        gather_areas_put_run(by_run, at, 4096, 3);
        for (uint64_t k = 0; k < 3; k++)
            gather_areas_put(by_one, at + 4096 * k);
    }
    gather_areas_fit(by_run, &models[0]);
    gather_areas_fit(by_one, &models[1]);
    assert_true(models[0].areas[0].runs[0] > 0);
    assert_memory_equal(models[0].areas[0].runs, models[1].areas[0].runs,
                        sizeof models[0].areas[0].runs);
    gather_areas_free(by_run);
    gather_areas_free(by_one);
    free(models);
}

/* Scans of all sizes, half as many of each octave as of the one before, or of lengths as chance has
 * them, of 40 elements in the mean: how long they are is kept of the former, and drawn. */
static void test_scans(void **state)
{
    enum { N = 2000000, ELEMENTS = 1 << 20 };
    uint64_t *addresses = malloc(N * sizeof *addresses);
    double scans[GATHER_RUNS], drawn[GATHER_RUNS];
    struct psnap_rng rng;

    (void)state;
    assert_non_null(addresses);
    psnap_rng_init(&rng, 7);
    for (int is_by_chance = 0; is_by_chance < 2; is_by_chance++) {
        struct psnap_gather *model;
        uint64_t *again;
        uint64_t at = 0, left = 0;
        for (size_t i = 0; i < N; i++) {
            if (is_by_chance ? !psnap_rng_below(&rng, 40) : !left) {
                const uint64_t octave =
                    4 + (uint64_t)__builtin_ctzll(psnap_rng_next(&rng) | 1 << 12);
                left = (UINT64_C(1) << octave) + psnap_rng_below(&rng, UINT64_C(1) << octave);
                at = psnap_rng_below(&rng, ELEMENTS);
            }
            left -= left > 0;
            addresses[i] = BASE + 8 * (at++ % ELEMENTS);
        }
        model = model_of(addresses, N);
        assert_int_equal(model->area_count, 1);
        assert_true(model->areas[0].step_count >= 1);
        count_scans(addresses, N, scans);
        if (is_by_chance) {
            for (unsigned i = 0; i < GATHER_RUNS; i++)
                assert_true(model->areas[0].runs[i] == 0);
        } else {
            for (unsigned i = 0; i < GATHER_RUNS; i++)
                assert_true(fabs(model->areas[0].runs[i] - scans[i]) < 0.01);
            again = drawn_from(model, 1, N);
            count_scans(again, N, drawn);
            for (unsigned i = 0; i < GATHER_RUNS; i++)
                assert_true(fabs(drawn[i] - scans[i]) < 0.02);
            free(again);
        }
        free(model);
    }
    free(addresses);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scans),
                                       cmocka_unit_test(test_scans_cut)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
