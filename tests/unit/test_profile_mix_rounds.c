/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rounds of mixes (profile/mixes/mix.h): how often a transition comes in a row, where that is not
 * what chance gives, is as recorded in walks, and stays what it is when two mixes become one.
 */
#include "tests/unit/test_mix_support.h"

#include <string.h>

/* A loop of two states, TIMES times entered, with as many iterations as `iterations` says. */
static struct mix_collector *collect_loop(struct psnap_rng *rng,
                                          uint64_t (*iterations)(struct psnap_rng *))
{
    enum { TIMES = 2000 };
    struct mix_collector *collector = mix_collector_new();

    assert_non_null(collector);
    for (int i = 0; i < TIMES; i++) {
        assert_int_equal(mix_add(collector, 1, 1), PSNAP_OK);
        for (uint64_t n = iterations(rng); n; n--) {
            assert_int_equal(mix_add(collector, 2, 1), PSNAP_OK);
            assert_int_equal(mix_add(collector, 3 + (uint32_t)psnap_rng_below(rng, 2), 1),
                             PSNAP_OK);
            assert_int_equal(mix_add(collector, 5, 1), PSNAP_OK);
        }
    }
    return collector;
}

static struct psnap_mix *taken(struct mix_collector *collector)
{
    struct psnap_mix *mix = mix_take(collector, EDGES, COUNTS_BINS);

    assert_non_null(mix);
    mix_collector_free(collector);
    return mix;
}

static struct psnap_mix *mix_of_loop(struct psnap_rng *rng,
                                     uint64_t (*iterations)(struct psnap_rng *))
{
    return taken(collect_loop(rng, iterations));
}

static uint64_t six_or_seven(struct psnap_rng *rng)
{
    return psnap_rng_below(rng, 10) ? 6 : 7;
}

static uint64_t few_or_many(struct psnap_rng *rng)
{
    return psnap_rng_below(rng, 20) ? 2 : 200 + psnap_rng_below(rng, 100);
}

static uint64_t by_chance(struct psnap_rng *rng)
{
    uint64_t n = 1;

    while (psnap_rng_below(rng, 6))
        n++;
    return n;
}

/* How many iterations the loop has in a walk: so many times up to 5, 7, 50 and more. */
static void count_iterations(const struct psnap_mix *mix, uint64_t seed, uint64_t times[4])
{
    struct mix_walk *walk = mix_walk_new(mix, seed);
    uint64_t count, n = 0, entries = 0;
    uint32_t state;

    assert_non_null(walk);
    memset(times, 0, 4 * sizeof *times);
    while (mix_walk_next(walk, &state, &count)) {
        n += mix->states[state].id == 2;
        if (mix->states[state].id != 1)
            continue;
        if (entries++)
            times[n <= 5 ? 0 : n <= 7 ? 1 : n <= 50 ? 2 : 3]++;
        n = 0;
    }
    times[n <= 5 ? 0 : n <= 7 ? 1 : n <= 50 ? 2 : 3]++;
    mix_walk_free(walk);
}

/* A loop with others in it has as many iterations each time as it had, where that is not what
 * chance gives: nearly always as many, or mostly few, and a few times very many. */
static void test_rounds(void **state)
{
    struct psnap_rng rng;
    struct psnap_mix *mix;
    uint64_t times[4];

    (void)state;
    psnap_rng_init(&rng, 3);
    mix = mix_of_loop(&rng, six_or_seven);
    assert_int_equal(mix->rounds_count, 1);
    assert_int_equal(mix->rounds[0].node, node_of(mix, 5));
    assert_int_equal(mix->rounds[0].to, node_of(mix, 2));
    for (uint64_t seed = 0; seed < 5; seed++) {
        count_iterations(mix, seed, times);
        assert_in_range(times[1], 1990, 2000); /* but for the last ones, which close the walk */
        check_walk(mix, seed, true);
    }
    mix_free(mix);
    mix = mix_of_loop(&rng, few_or_many);
    assert_int_equal(mix->rounds_count, 1);
    for (uint64_t seed = 0; seed < 5; seed++) {
        count_iterations(mix, seed, times);
        assert_in_range(times[0], 1800, 2000);
        assert_in_range(times[3], 60, 140);
        check_walk(mix, seed, true);
    }
    mix_free(mix);
    mix = mix_of_loop(&rng, by_chance);
    assert_int_equal(mix->rounds_count, 0);
    mix_free(mix);
}

static void assert_same_rounds(const struct psnap_mix *a, const struct psnap_mix *b)
{
    assert_int_equal(a->rounds_count, b->rounds_count);
    for (uint32_t i = 0; i < a->rounds_count; i++) {
        const struct mix_rounds *x = &a->rounds[i], *y = &b->rounds[i];
        assert_int_equal(x->node, y->node);
        assert_int_equal(x->to, y->to);
        assert_int_equal(x->counts.times, y->counts.times);
        assert_int_equal(x->counts.sum, y->counts.sum);
    }
}

/* Of two that become one, the first of which had another transition and gave it up: rounds are
 * those of the second alone. */
static void test_merged_rounds(void **state)
{
    struct mix_collector *into = mix_collector_new(), *from, *same;
    struct psnap_mix *merged, *alone;
    struct psnap_rng rng;

    (void)state;
    assert_non_null(into);
    psnap_rng_init(&rng, 4);
    from = collect_loop(&rng, six_or_seven);
    psnap_rng_init(&rng, 4);
    same = collect_loop(&rng, six_or_seven);
    for (uint32_t i = 0; i < 4; i++) { /* 5, then 1; 5, then 3 */
        assert_int_equal(mix_add(into, 5, 1), PSNAP_OK);
        assert_int_equal(mix_add(into, i % 2 ? 3 : 1, 1), PSNAP_OK);
    }
    assert_int_equal(mix_merge(into, from), PSNAP_OK);
    mix_collector_free(from);
    merged = taken(into);
    alone = taken(same);
    assert_int_equal(alone->rounds_count, 1);
    assert_same_rounds(merged, alone);
    mix_free(merged), mix_free(alone);
}

/* Visits that begin with the same state many times in a row do so after a merge, too. */
static void test_merged_beginnings(void **state)
{
    struct mix_collector *into = mix_collector_new(), *from = mix_collector_new();
    struct mix_collector *same = mix_collector_new();
    struct psnap_mix *merged, *alone;

    (void)state;
    assert_true(into && from && same);
    for (uint32_t i = 0; i < 2000; i++)
        for (unsigned k = 0; k < 2; k++) {
            assert_int_equal(mix_begin(k ? same : from), PSNAP_OK);
            assert_int_equal(mix_add(k ? same : from, i % 8 ? 1 : 2, 1), PSNAP_OK);
        }
    assert_int_equal(mix_merge(into, from), PSNAP_OK);
    mix_collector_free(from);
    merged = taken(into);
    alone = taken(same);
    assert_int_equal(alone->rounds_count, 1);
    assert_int_equal(alone->rounds[0].node, MIX_OUTSIDE);
    assert_same_rounds(merged, alone);
    mix_free(merged), mix_free(alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounds),
        cmocka_unit_test(test_merged_rounds),
        cmocka_unit_test(test_merged_beginnings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
