/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs of which the order, or what data decides, does not fold: what is kept of it is bounded
 * (profile/walks/nest_stack.c).
 */
#include "tests/unit/test_nests_support.h"

/* Addresses that come from a table of n entries, in each of many rounds the same; how large the
 * profile is. */
static size_t size_of_rounds(unsigned n)
{
    struct psnap_program *program = make_program(LOOPS, REFS);
    struct stream stream = new_stream();
    struct psnap_profile *profile;
    struct psnap_rng rng;
    char *text;
    size_t size;

    for (unsigned round = 0; round < 60; round++) {
        psnap_rng_init(&rng, 5);
        for (unsigned i = 0; i < n; i++) {
            add(&stream, 0, HEAP + psnap_rng_below(&rng, 4096) * 64);
            add(&stream, REFS, HEAP + 1000000 + i * 8);
        }
        add(&stream, 2 * REFS, HEAP + 2000000); /* what rounds are told apart by */
    }
    profile = profile_of(program, &stream);
    assert_non_null(profile->nests);
    assert_resembles(profile, &stream, 0);
    text = write_text(profile);
    size = strlen(text);
    free(text);
    psnap_profile_free(profile);
    psnap_program_free(program);
    free(stream.accesses);
    return size;
}

/* A table is drawn from, and not told: it may have any length. */
static void test_history(void **state)
{
    const size_t few = size_of_rounds(50), many = size_of_rounds(250);

    (void)state;
    assert_in_range(many, 1, few + few / 2);
}

/* Loops called in a random order, so many that making them a mix one by one takes too many steps:
 * they become one, of which each loop has as many accesses as there were. Beyond what a mix can
 * have there are no walks, and that is soon clear. */
static void call_at_random(uint32_t loops, bool has_walks)
{
    enum { CALLS = 30000 };
    struct psnap_program *program = make_program(loops, 1);
    struct stream stream = {calloc(8 * (size_t)CALLS, sizeof *stream.accesses), 0};
    uint64_t *counts = calloc(loops, sizeof *counts);
    struct psnap_access block[64];
    struct psnap_profile *profile;
    struct psnap_rng rng;
    ssize_t got;

    psnap_rng_init(&rng, 9);
    for (unsigned call = 0; call < CALLS; call++) {
        const uint32_t loop = (uint32_t)psnap_rng_below(&rng, loops);
        const uint64_t first = HEAP + 8 * psnap_rng_below(&rng, 100000);
        const uint64_t n = 3 + psnap_rng_below(&rng, 5);
        for (uint64_t i = 0; i < n; i++)
            add_to(&stream, 8 * (size_t)CALLS, loop, first + i * 8 * (1 + loop % 7));
        counts[loop] += n;
    }
    profile = profile_of(program, &stream);
    assert_int_equal(profile->nests != NULL, has_walks);
    if (has_walks) {
        struct psnap_source *source = psnap_replay_new(profile, 3, NULL);
        while ((got = psnap_source_next(source, block, 64, NULL)) > 0)
            for (ssize_t i = 0; i < got; i++)
                counts[loop_of(source, &block[i])]--;
        for (uint32_t i = 0; i < loops; i++)
            assert_int_equal(counts[i], 0);
        psnap_source_free(source);
    }
    psnap_profile_free(profile);
    psnap_program_free(program);
    free(stream.accesses);
    free(counts);
}

static void test_many_loops(void **state)
{
    (void)state;
    call_at_random(300, true);
    call_at_random(3000, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_history),
                                       cmocka_unit_test(test_many_loops)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
