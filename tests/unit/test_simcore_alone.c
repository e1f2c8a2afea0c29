/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Simulators for accesses of no program: what they count is what one with a program does, several
 * are there at once, and no machine and no such reference are errors.
 */
#include "tests/unit/test_watch_support.h"

TEST(counts_are_those_of_a_program)
{
    const struct psnap_machine machine = machine_of("1K:64:2,4K:64:4");
    struct psnap_error error = {.code = PSNAP_OK};
    struct psnap_sink *alone = psnap_sim_new_alone("1K:64:2,4K:64:4", &error);
    struct psnap_sink *other = psnap_sim_new_alone("i7-5960x", &error);
    struct psnap_tally tally = {0}, of_ref = {0};
    struct watch watch;
    struct psnap_rng rng;

    assert_true(alone && other);
    watch_begin(&watch, &machine);
    psnap_rng_init(&rng, 1);
    for (int i = 0; i < MIXED; i++) {
        const struct psnap_access access = {8 * psnap_rng_below(&rng, 1000),
                                            (uint32_t)psnap_rng_below(&rng, 2), 8,
                                            (uint8_t)psnap_rng_below(&rng, 2), 0};
        assert_int_equal(psnap_sink_put(alone, &access, 1, &error), PSNAP_OK);
        assert_int_equal(psnap_sink_put(other, &access, 1, &error), PSNAP_OK);
        assert_int_equal(psnap_sink_put(watch.sim, &access, 1, &error), PSNAP_OK);
    }
    psnap_sim_add_total(alone, 0, &tally);
    assert_memory_equal(&tally, &(struct psnap_tally[1]){watch_total(&watch)}, sizeof tally);
    assert_true(tally.hits[0] > 0 && tally.hits[1] > 0);
    psnap_sim_add(alone, 0, PSNAP_VIEW_REF, 1, &of_ref);
    assert_true(of_ref.accesses > MIXED / 3 && of_ref.accesses < MIXED);
    watch_end(&watch);
    psnap_sink_free(other);
    psnap_sink_free(alone);
}

TEST(errors_are_told)
{
    const struct psnap_access stray = {.ref = 2, .size = 8};
    struct psnap_error error = {.code = PSNAP_OK};
    struct psnap_sink *sim;

    assert_null(psnap_sim_new_alone("32K:64", &error));
    assert_true(error.code != PSNAP_OK && error.message[0]);
    assert_null(psnap_sim_new_alone("nonesuch", NULL));
    sim = psnap_sim_new_alone("32K:64:8", &error);
    assert_int_equal(psnap_sink_put(sim, &stray, 1, &error), PSNAP_ERROR_VALUE);
    psnap_sink_free(sim);
}
