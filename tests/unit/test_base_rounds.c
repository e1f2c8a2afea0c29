/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rounds are loops in loops: a sink that takes none, behind a tee and a pump, gets their accesses
 * in order, and as many as they say.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/test_rounds_support.h"

/* Rounds once, then the end. */
struct once {
    struct psnap_source base;
    struct psnap_rounds rounds;
    struct psnap_access before;
};

static ssize_t once_next(struct psnap_source *self, struct psnap_access *block, size_t capacity,
                         struct psnap_error *error)
{
    (void)self, (void)block, (void)capacity, (void)error;
    fail_msg("rounds are asked for");
    return 0;
}

static ssize_t once_next_rounds(struct psnap_source *self, struct psnap_access *block,
                                size_t capacity, struct psnap_run *run, struct psnap_rounds *rounds,
                                struct psnap_error *error)
{
    struct once *once = (struct once *)self;

    (void)capacity, (void)run, (void)error;
    *rounds = once->rounds;
    block[0] = once->before;
    once->rounds.node_count = 0;
    return rounds->node_count > 0;
}

static void take(const struct psnap_access *access, void *to)
{
    struct psnap_error error = {0};

    assert_int_equal(psnap_sink_put(to, access, 1, &error), PSNAP_OK);
}

static void rounds_are_their_accesses(void **state)
{
    static const struct psnap_source_ops ops = {.next = once_next, .next_rounds = once_next_rounds};
    struct random_rounds made = {.refs = 12, .loops = 3, .areas = 3, .base = 0x100000};
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 1);
    for (unsigned turn = 0; turn < 300; turn++) {
        struct once once = {.base.ops = &ops,
                            .rounds = make_rounds(&made, &rng, 2 + turn % 3, 5),
                            .before = {.address = 77, .size = 1}};
        const struct psnap_rounds rounds = once.rounds;
        struct psnap_sink *expected = psnap_vector_sink_new(), *got = psnap_vector_sink_new();
        struct psnap_sink *tee = psnap_tee_sink_new(&got, 1);
        struct psnap_error error = {0};
        const struct psnap_access *a, *b;
        uint64_t round[PSNAP_ROUNDS_LEVELS], count;
        size_t n, m;

        take(&once.before, expected);
        for_each_access(&rounds, 0, 0, round, take, expected);
        assert_int_equal(psnap_pump(&once.base, tee, &count, &error), PSNAP_OK);
        a = psnap_vector_sink_data(expected, &n);
        b = psnap_vector_sink_data(got, &m);
        assert_int_equal(n, m);
        assert_int_equal(count, n);
        assert_int_equal(psnap_rounds_accesses(&rounds), n - 1);
        assert_memory_equal(a, b, n * sizeof *a);
        psnap_sink_free(tee);
        psnap_sink_free(got);
        psnap_sink_free(expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rounds_are_their_accesses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
