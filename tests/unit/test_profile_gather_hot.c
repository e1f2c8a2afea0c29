/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Irregular references of which some lines or elements are used more than others
 * (profile/gathers/gather_fit_lines.c, gather_fit_parts.c).
 */
#include "formats/base/rng.h"
#include "profile/gathers/gather_collect.h"
#include "profile/gathers/gather_fit.h"
#include "tests/unit/test_gather_support.h"

enum { MANY = 300000 };

/* Few lines are used much, in no order: those of x * y, x and y uniform. */
static void test_hot_lines(void **state)
{
    uint64_t *real = room_for(MANY), *drawn;
    struct psnap_gather *model;
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 2);
    for (size_t i = 0; i < MANY; i++) {
        const uint64_t a = psnap_rng_below(&rng, 1 << 10), b = psnap_rng_below(&rng, 1 << 10);
        real[i] = BASE + 64 * ((a * b * UINT64_C(0x9e3779b1)) & ((1 << 20) - 1));
    }
    model = model_of(real, MANY);
    assert_int_equal(model->areas[0].places, GATHER_ANYWHERE);
    assert_true(model->areas[0].class_count > 1);
    drawn = drawn_from(model, 1, MANY);
    assert_inside(&model->areas[0], drawn, MANY);
    assert_true(gaps_apart(real, drawn, MANY) < 0.06);
    free(real), free(drawn), free(model);
}

/* Which share of the addresses lies below an element. */
static double share_below(const uint64_t *addresses, size_t n, uint64_t element)
{
    size_t below = 0;

    for (size_t i = 0; i < n; i++)
        below += addresses[i] < BASE + 8 * element;
    return (double)below / (double)n;
}

/* Element i of 2^20 as often as 1 / (i + 1): as many in each octave. */
static void test_hot_head(void **state)
{
    uint64_t *real = room_for(MANY), *drawn;
    struct psnap_gather *model;
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 11);
    for (size_t i = 0; i < MANY; i++)
        real[i] =
            BASE + 8 * ((uint64_t)exp2(20 * ((double)(psnap_rng_next(&rng) >> 11) * 0x1p-53)) - 1);
    model = model_of(real, MANY);
    assert_int_equal(model->areas[0].places, GATHER_ANYWHERE);
    assert_int_equal(model->areas[0].class_count, 1);
    drawn = drawn_from(model, 1, MANY);
    assert_inside(&model->areas[0], drawn, MANY);
    for (unsigned octave = 1; octave < 20; octave++)
        assert_true(fabs(share_below(drawn, MANY, (UINT64_C(1) << octave) - 1) - octave / 20.0) <
                    0.01);
    assert_true(gaps_apart(real, drawn, MANY) < 0.02);
    free(real), free(drawn), free(model);
}

/* Four elements with a tenth of the accesses each, all others alike. */
static void test_hot_elements(void **state)
{
    enum { ELEMENTS = 1 << 20 };
    static const uint64_t hot[] = {77777, ELEMENTS / 2, ELEMENTS / 2 + 1, 900001};
    uint64_t *real = room_for(MANY), *drawn;
    struct psnap_gather *model;
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 12);
    for (size_t i = 0; i < MANY; i++) {
        const uint64_t x = psnap_rng_below(&rng, 10);
        real[i] = BASE + 8 * (x < 4 ? hot[x] : psnap_rng_below(&rng, ELEMENTS));
    }
    model = model_of(real, MANY);
    drawn = drawn_from(model, 1, MANY);
    for (unsigned k = 0; k < 4; k++)
        assert_true(fabs(share_below(drawn, MANY, hot[k] + 1) - share_below(drawn, MANY, hot[k]) -
                         0.1) < 0.01);
    assert_true(fabs(share_below(drawn, MANY, ELEMENTS / 4) - 0.25) < 0.01);
    free(real), free(drawn), free(model);
}

/* What searches for a few look at, in any order: of lines that are hot a sample may have too many,
 * but a share is no more than all. */
static void test_lines_are_shares(void **state)
{
    enum { LOOKS = 1 << 20, ELEMENTS = 300000 };
    uint64_t *real = malloc(LOOKS * sizeof *real);
    struct psnap_gather *model;
    struct psnap_rng rng;
    size_t count = 0;

    (void)state;
    assert_non_null(real);
    psnap_rng_init(&rng, 3);
    while (count < LOOKS) {
        const uint64_t key = psnap_rng_below(&rng, 100)
                                 ? ELEMENTS / 3 + psnap_rng_below(&rng, ELEMENTS / 100)
                                 : psnap_rng_below(&rng, ELEMENTS);
        for (uint64_t low = 0, high = ELEMENTS; low < high && count < LOOKS;) {
            const uint64_t middle = low + (high - low) / 2;
            real[count++] = BASE + 8 * middle;
            low = middle < key ? middle + 1 : low;
            high = middle < key ? high : middle;
        }
    }
    for (size_t i = LOOKS - 1; i; i--) {
        const size_t k = psnap_rng_below(&rng, i + 1);
        const uint64_t other = real[i];
        real[i] = real[k];
        real[k] = other;
    }
    model = model_of(real, LOOKS);
    assert_in_range(model->areas[0].class_count, 4, GATHER_CLASSES);
    for (uint32_t i = 0; i < model->areas[0].class_count; i++)
        assert_true(model->areas[0].classes[i].lines <= 1);
    free(real), free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hot_lines),
        cmocka_unit_test(test_hot_head),
        cmocka_unit_test(test_hot_elements),
        cmocka_unit_test(test_lines_are_shares),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
