/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mixes (profile/mixes/mix.h): over all visits a walk has each state and each transition as often
 * as recorded, with counts of the same sum, so the mix of a walk is the mix that was walked; what
 * leaves nothing to choose comes back as it was; what there is to choose is chosen as often as it
 * should be, everywhere; too many transitions lose their order and no more.
 */
#include "tests/unit/test_mix_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "1 2*5 3 / 2": tokens, of a count of 1 unless said, of visits. */
static void collect(struct mix_collector *collector, const char *text)
{
    assert_int_equal(mix_begin(collector), PSNAP_OK);
    for (const char *at = text; *at;) {
        char *end;
        uint64_t count = 1;
        uint32_t id;
        if (*at == ' ' || *at == '/') {
            if (*at++ == '/')
                assert_int_equal(mix_begin(collector), PSNAP_OK);
            continue;
        }
        id = (uint32_t)strtoul(at, &end, 10);
        at = end;
        if (*at == '*') {
            count = strtoul(at + 1, &end, 10);
            at = end;
        }
        assert_int_equal(mix_add(collector, id, count), PSNAP_OK);
    }
    assert_int_equal(mix_end(collector), PSNAP_OK);
}

static struct psnap_mix *mix_of(const char *text)
{
    struct mix_collector *collector = mix_collector_new();
    struct psnap_mix *mix;

    assert_non_null(collector);
    collect(collector, text);
    mix = mix_take(collector, EDGES, COUNTS_BINS);
    assert_non_null(mix);
    mix_collector_free(collector);
    return mix;
}

/* `visits` visits of a walk, as text. */
static char *walk_text(const struct psnap_mix *mix, uint64_t seed, unsigned visits)
{
    struct mix_walk *walk = mix_walk_new(mix, seed);
    char *text;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    uint32_t state;
    uint64_t count;

    assert_non_null(walk);
    for (unsigned i = 0; i < visits; i++) {
        fputs(i ? " /" : "", file);
        while (mix_walk_next(walk, &state, &count)) {
            fprintf(file, " %u", (unsigned)mix->states[state].id);
            if (count != 1)
                fprintf(file, "*%u", (unsigned)count);
        }
    }
    fclose(file);
    mix_walk_free(walk);
    return text;
}

/* ---- collecting ---- */

static void test_graph_by_hand(void **state)
{
    struct psnap_mix *mix = mix_of("9*5 4 9*6 / 4 4 / / 9*5");

    (void)state;
    assert_int_equal(mix->visits, 4);
    assert_int_equal(mix->tokens, 6);
    assert_int_equal(mix->state_count, 2);
    assert_int_equal(mix->states[0].id, 4);
    assert_int_equal(mix->states[1].id, 9);
    assert_int_equal(mix->states[1].counts.times, 3);
    assert_int_equal(mix->states[1].counts.sum, 16);
    assert_int_equal(mix->lengths.times, 4);
    assert_int_equal(mix->lengths.sum, 6);
    assert_int_equal(mix->first[MIX_STATE + 2], 8);
    assert_int_equal(times_of(mix, MIX_OUTSIDE, MIX_OUTSIDE), 1);
    assert_int_equal(times_of(mix, MIX_OUTSIDE, node_of(mix, 4)), 1);
    assert_int_equal(times_of(mix, MIX_OUTSIDE, node_of(mix, 9)), 2);
    assert_int_equal(times_of(mix, node_of(mix, 4), MIX_OUTSIDE), 1);
    assert_int_equal(times_of(mix, node_of(mix, 4), node_of(mix, 4)), 1);
    assert_int_equal(times_of(mix, node_of(mix, 4), node_of(mix, 9)), 1);
    assert_int_equal(times_of(mix, node_of(mix, 9), MIX_OUTSIDE), 2);
    assert_int_equal(times_of(mix, node_of(mix, 9), node_of(mix, 4)), 1);
    assert_int_equal(mix_find(mix, 5), UINT32_MAX);
    mix_free(mix);
}

static void test_merge(void **state)
{
    struct mix_collector *a = mix_collector_new(), *b = mix_collector_new();
    struct psnap_mix *expected = mix_of("1 2*7 1 / 2 3 / 3*40 3*50 3*41 / 1 3"), *mix;

    (void)state;
    collect(a, "1 2*7 1");
    collect(b, "2 3 / 3*40 3*50 3*41");
    assert_int_equal(mix_begin(a), PSNAP_OK); /* and goes on */
    assert_int_equal(mix_add(a, 1, 1), PSNAP_OK);
    assert_int_equal(mix_merge(a, b), PSNAP_OK);
    assert_int_equal(mix_add(a, 3, 1), PSNAP_OK);
    mix = mix_take(a, EDGES, COUNTS_BINS);
    assert_same(expected, mix, true);
    assert_int_equal(mix->lengths.bin_count, 2);
    assert_int_equal(mix_collector_visits(a), 4);
    assert_int_equal(mix_collector_states(a), 3);
    mix_free(mix);
    mix_free(expected);
    mix_collector_free(a);
    mix_collector_free(b);
}

static void test_too_many_states(void **state)
{
    struct mix_collector *full = mix_collector_new(), *other = mix_collector_new();
    struct psnap_mix *before, *after;

    (void)state;
    for (uint32_t i = 0; i < MIX_STATES_MAX; i++)
        assert_int_equal(mix_add(full, i, 1), PSNAP_OK);
    assert_int_equal(mix_end(full), PSNAP_OK);
    before = mix_take(full, EDGES, COUNTS_BINS);
    assert_int_equal(mix_add(full, MIX_STATES_MAX, 1), PSNAP_ERROR_LIMIT);
    assert_int_equal(mix_add(other, MIX_STATES_MAX, 1), PSNAP_OK);
    assert_int_equal(mix_merge(full, other), PSNAP_ERROR_LIMIT);
    after = mix_take(full, EDGES, COUNTS_BINS);
    assert_same(before, after, true);
    mix_free(before);
    mix_free(after);
    mix_collector_free(full);
    mix_collector_free(other);
}

/* ---- walks ---- */

static void test_nothing_to_choose(void **state)
{
    static const char *const texts[] = {
        " 1 2 3 4*9 1 2 3 4*9 1 2 3 4*9", /* (the end of a visit is the last that is left) */
        " 7*3 8 / 7*3 8 / 7*3 8",         " 5 / 5 / 5", " 1 1 1 1 1 1 1", "", " / /"};

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (uint64_t seed = 0; seed < 5; seed++) {
            struct psnap_mix *mix = mix_of(texts[i]);
            char *text = walk_text(mix, seed, (unsigned)mix->visits);
            assert_string_equal(text, texts[i]);
            free(text);
            mix_free(mix);
        }
}

static void test_long_chain(void **state)
{
    struct mix_collector *collector = mix_collector_new();
    struct psnap_mix *mix;
    struct mix_walk *walk;
    uint32_t index;
    uint64_t count;

    (void)state;
    for (uint32_t i = 0; i < 10 * MIX_STATES_MAX; i++) /* each number once in each round */
        assert_int_equal(mix_add(collector, i * 77 % MIX_STATES_MAX, i * 77 % MIX_STATES_MAX),
                         PSNAP_OK);
    mix = mix_take(collector, 0, 1); /* what has no choice needs no more than two transitions */
    mix_free(mix);
    mix = mix_take(collector, EDGES, 1);
    walk = mix_walk_new(mix, 1);
    for (uint32_t i = 0; i < 10 * MIX_STATES_MAX; i++) {
        assert_true(mix_walk_next(walk, &index, &count));
        assert_int_equal(mix->states[index].id, i * 77 % MIX_STATES_MAX);
        assert_int_equal(count, i * 77 % MIX_STATES_MAX);
    }
    assert_false(mix_walk_next(walk, &index, &count));
    mix_walk_free(walk);
    mix_free(mix);
    mix_collector_free(collector);
}

static void test_walks_are_exact(void **state)
{
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 1);
    for (unsigned round = 0; round < 200; round++) {
        const uint32_t states = 1 + (uint32_t)psnap_rng_below(&rng, round % 2 ? 5 : 300);
        const uint64_t tokens = 1 + psnap_rng_below(&rng, 3000);
        struct mix_collector *collector =
            collect_random(&rng, states, 1 + (unsigned)psnap_rng_below(&rng, 6), tokens,
                           1 + psnap_rng_below(&rng, round % 3 ? 20 : 2000));
        struct psnap_mix *mix = mix_take(collector, EDGES, 1 + round % COUNTS_BINS);
        check_walk(mix, round, true);
        mix->lengths = (struct psnap_counts){0}; /* and with visits that end as it happens */
        check_walk(mix, round, true);
        mix_free(mix);
        mix_collector_free(collector);
    }
}

/* A walk that goes on gives the same again, and half a walk a half. */
static void test_walks_go_on(void **state)
{
    struct psnap_rng rng;
    struct mix_collector *collector, *walked;
    struct psnap_mix *mix, *again;

    (void)state;
    psnap_rng_init(&rng, 2);
    collector = collect_random(&rng, 40, 4, 20000, 50);
    mix = mix_take(collector, EDGES, COUNTS_BINS);
    walked = walk_all(mix, 3, 3 * mix->visits);
    assert_int_equal(mix_merge(collector, collector), PSNAP_OK); /* twice */
    mix_free(mix);
    mix = mix_take(collector, EDGES, COUNTS_BINS);
    mix_collector_free(collector);
    collector = walk_all(mix, 4, mix->visits / 2); /* once */
    assert_int_equal(mix_merge(collector, walked), PSNAP_OK);
    again = mix_take(collector, EDGES, COUNTS_BINS);
    assert_int_equal(again->visits, 2 * mix->visits);
    assert_in_range(again->tokens, 2 * mix->tokens - 2000, 2 * mix->tokens + 2000);
    for (uint32_t i = 0; i < mix->state_count; i++) {
        const uint64_t times = 2 * mix->states[i].counts.times;
        assert_in_range(again->states[i].counts.times, times - times / 10, times + times / 10);
    }
    mix_free(mix);
    mix_free(again);
    mix_collector_free(walked);
    mix_collector_free(collector);
}

static void test_seeds(void **state)
{
    struct psnap_rng rng;
    struct mix_collector *collector;
    struct psnap_mix *mix, *copy;
    char *a, *b, *c;

    (void)state;
    psnap_rng_init(&rng, 3);
    collector = collect_random(&rng, 10, 3, 1000, 30);
    mix = mix_take(collector, EDGES, COUNTS_BINS);
    copy = mix_copy(mix);
    a = walk_text(mix, 1, 100);
    mix_free(mix);
    b = walk_text(copy, 1, 100);
    c = walk_text(copy, 2, 100);
    assert_string_equal(a, b);
    assert_string_not_equal(a, c);
    free(a);
    free(b);
    free(c);
    mix_free(copy);
    mix_collector_free(collector);
}

/* sum of (seen - expected)^2 / expected. */
static double chi_square(const uint64_t *seen, const double *expected, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += ((double)seen[i] - expected[i]) * ((double)seen[i] - expected[i]) / expected[i];
    return sum;
}

/* The walk's n-th token over many seeds is what it should be, also the last but a few. */
static void test_choices(void **state)
{
    static const double expected[3] = {4000 * 50 / 99.0, 4000 * 30 / 99.0, 4000 * 19 / 99.0};
    struct mix_collector *collector = mix_collector_new();
    struct psnap_mix *mix;
    uint64_t seen[100][3] = {{0}};

    (void)state;
    for (uint32_t i = 0; i < 100; i++) { /* 50 of 1, 30 of 2, 20 of 3, each to come after a 0 */
        assert_int_equal(mix_add(collector, 0, 1), PSNAP_OK);
        assert_int_equal(mix_add(collector, i < 50 ? 1 : i < 80 ? 2 : 3, 1), PSNAP_OK);
    }
    mix = mix_take(collector, EDGES, 1);
    for (uint64_t seed = 0; seed < 4000; seed++) {
        struct mix_walk *walk = mix_walk_new(mix, seed);
        uint32_t index;
        uint64_t count;
        for (unsigned i = 0; i < 100; i++) {
            assert_true(mix_walk_next(walk, &index, &count));
            assert_int_equal(index, 0);
            assert_true(mix_walk_next(walk, &index, &count));
            seen[i][index - 1]++;
        }
        assert_false(mix_walk_next(walk, &index, &count));
        mix_walk_free(walk);
    }
    assert_int_equal(seen[99][2], 4000); /* the only way out */
    for (unsigned i = 0; i < 99; i++)
        assert_true(chi_square(seen[i], expected, 3) < 13.8 + 5);
    mix_free(mix);
    mix_collector_free(collector);
}

/* Visits of two lengths over states in any order, the last of which may be known. */
static void check_lengths(uint32_t known)
{
    struct mix_collector *collector = mix_collector_new();
    struct psnap_mix *mix;
    struct psnap_rng rng;
    struct mix_walk *walk;
    unsigned of_length[2] = {0};

    psnap_rng_init(&rng, 5 + known);
    for (unsigned i = 0; i < 1000; i++) {
        assert_int_equal(mix_begin(collector), PSNAP_OK);
        for (uint32_t k = i % 4 ? 10 : 30; k-- > 0;) {
            const uint32_t id = k < known ? 10 + k : (uint32_t)psnap_rng_below(&rng, 6);
            assert_int_equal(mix_add(collector, id, 1), PSNAP_OK);
        }
    }
    mix = mix_take(collector, EDGES, 1);
    assert_int_equal(mix->lengths.bin_count, 2);
    check_walk(mix, 1, true);
    walk = mix_walk_new(mix, 1);
    for (unsigned i = 0; i < 1000; i++) {
        uint32_t state, length = 0;
        uint64_t count;
        while (mix_walk_next(walk, &state, &count))
            length++;
        of_length[0] += length == 10;
        of_length[1] += length == 30;
    }
    assert_in_range(of_length[0], 650, 750);
    assert_in_range(of_length[1], 215, 250);
    mix_walk_free(walk);
    mix_free(mix);
    mix_collector_free(collector);
}

static void test_lengths(void **state)
{
    (void)state;
    for (uint32_t known = 0; known < 4; known++)
        check_lengths(known);
}

/* Where lengths are not known, the first visits are not longer than the last. */
static void test_unknown_lengths(void **state)
{
    struct psnap_rng rng;
    struct mix_collector *collector;
    struct psnap_mix *mix;
    uint64_t tokens = 0, count;
    uint32_t index;

    (void)state;
    psnap_rng_init(&rng, 8);
    collector = collect_random(&rng, 40, 4, 20000, 50);
    mix = mix_take(collector, EDGES, 1);
    mix->lengths = (struct psnap_counts){0};
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct mix_walk *walk = mix_walk_new(mix, seed);
        for (uint64_t i = 0; i < mix->visits / 2; i++)
            while (mix_walk_next(walk, &index, &count))
                tokens++;
        mix_walk_free(walk);
    }
    assert_in_range(tokens, 49 * mix->tokens, 51 * mix->tokens);
    mix_free(mix);
    mix_collector_free(collector);
}

/* ---- too many transitions ---- */

static void test_any_order(void **state)
{
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 6);
    for (uint32_t edges = 0; edges < 1000; edges += 99) {
        struct mix_collector *collector = collect_random(&rng, 60, 12, 20000, 100);
        struct psnap_mix *mix = mix_take(collector, edges, 3);
        const uint32_t states = mix->state_count;
        assert_true(mix->first[MIX_STATE + states] <=
                    (edges < 2 * states + 2 ? 2 * states + 2 : edges));
        assert_true(edges > 800 || times_of(mix, MIX_ANY, node_of(mix, 5)));
        check_walk(mix, edges, false);
        mix_free(mix);
        mix_collector_free(collector);
    }
}

/* The most frequent transitions stay. */
static void test_rare_ones_go(void **state)
{
    static const char text[] = "1 2 1 2 1 2 1 2 1 2 3 4 5 6 4 3 5 3 6 5 4 6 3 6 1 4 5 2 1";
    struct psnap_mix *all = mix_of(text), *mix;
    struct mix_collector *collector = mix_collector_new();

    (void)state;
    collect(collector, text);
    mix = mix_take(collector, 16, 1);
    assert_int_equal(all->first[MIX_STATE + 6], 20);
    assert_true(mix->first[MIX_STATE + 6] <= 16);
    assert_int_equal(times_of(mix, node_of(mix, 1), node_of(mix, 2)), 5);
    assert_int_equal(times_of(mix, node_of(mix, 2), node_of(mix, 1)), 5);
    for (uint32_t id = 3; id <= 6; id++) {
        const uint64_t times = mix->states[mix_find(mix, id)].counts.times;
        assert_int_equal(times_of(mix, node_of(mix, id), MIX_ANY), times);
        assert_int_equal(times_of(mix, MIX_ANY, node_of(mix, id)), times);
    }
    mix_free(all);
    mix_free(mix);
    mix_collector_free(collector);
}

/* More kinds than the collector has room for: numbers stay exact, and frequent ones are told. */
static void test_collector_is_bounded(void **state)
{
    struct mix_collector *collector = mix_collector_new();
    struct psnap_mix *mix;
    struct psnap_rng rng;
    uint64_t frequent = 0, in = 0, out = 0;

    (void)state;
    psnap_rng_init(&rng, 7);
    for (unsigned i = 0; i < 300000; i++) {
        uint32_t id = 10 + (uint32_t)psnap_rng_below(&rng, 1000);
        if (i % 3) /* 1, 2 and then another one */
            id = i % 3;
        assert_int_equal(mix_add(collector, id, i % 7), PSNAP_OK);
    }
    mix = mix_take(collector, EDGES, 1);
    assert_true(mix->first[MIX_STATE + mix->state_count] <= EDGES);
    frequent = times_of(mix, node_of(mix, 1), node_of(mix, 2));
    assert_int_equal(frequent, 100000);
    mix_free(mix);
    for (unsigned i = 0; i < 300000; i++)
        assert_int_equal(mix_add(collector, 10 + (uint32_t)psnap_rng_below(&rng, 1000), 1),
                         PSNAP_OK);
    mix = mix_take(collector, EDGES, 1);
    assert_true(mix->first[MIX_STATE + mix->state_count] <= EDGES);
    assert_int_equal(times_of(mix, node_of(mix, 1), node_of(mix, 2)), 100000);
    for (uint32_t n = 0; n < MIX_STATE + mix->state_count; n++) {
        in += times_of(mix, n, MIX_ANY);
        out += times_of(mix, MIX_ANY, n);
    }
    assert_true(in > 100000);
    assert_int_equal(in, out);
    assert_int_equal(mix->tokens, 600000);
    check_walk(mix, 1, false);
    mix_free(mix);
    mix_collector_free(collector);
}

/* The visits of a recursion of halves; their sizes to `sizes`, behind the n that are there. */
static size_t merge(struct mix_collector *collector, unsigned depth, uint64_t *sizes, size_t n)
{
    if (!depth)
        return n;
    n = merge(collector, depth - 1, sizes, n);
    n = merge(collector, depth - 1, sizes, n);
    assert_int_equal(mix_begin(collector), PSNAP_OK);
    assert_int_equal(mix_add(collector, 1, UINT64_C(3) << depth), PSNAP_OK);
    assert_int_equal(mix_add(collector, 2, UINT64_C(5) << depth), PSNAP_OK);
    sizes[n] = UINT64_C(1) << depth;
    return n + 1;
}

/* Walks have its sizes in their order, of both states alike. */
static void test_recursion(void **state)
{
    enum { DEPTH = 9, N = (1 << DEPTH) - 1 };
    struct mix_collector *collector = mix_collector_new(), *other = mix_collector_new();
    uint64_t sizes[N], count;
    struct psnap_mix *mix;
    struct mix_walk *walk;
    uint32_t at;

    (void)state;
    assert_int_equal(merge(other, DEPTH, sizes, 0), N);
    assert_int_equal(mix_merge(collector, other), PSNAP_OK); /* the only one of both has an order */
    mix = mix_take(collector, EDGES, 2);
    assert_non_null(mix);
    assert_true(mix->states[0].counts.is_even && mix->states[1].counts.is_even);
    walk = mix_walk_new(mix, 1);
    assert_non_null(walk);
    for (size_t i = 0; i < 2 * N; i++) {
        assert_true(mix_walk_next(walk, &at, &count));
        assert_int_equal(count, 3 * sizes[i % N]);
        assert_true(mix_walk_next(walk, &at, &count));
        assert_int_equal(count, 5 * sizes[i % N]);
        assert_false(mix_walk_next(walk, &at, &count));
    }
    mix_walk_free(walk);
    mix_free(mix);
    assert_int_equal(merge(other, DEPTH, sizes, 0), N);
    assert_int_equal(mix_merge(collector, other), PSNAP_OK);
    mix = mix_take(collector, EDGES, 2);
    assert_non_null(mix);
    assert_false(mix->states[0].counts.is_even || mix->states[1].counts.is_even);
    mix_free(mix);
    mix_collector_free(collector);
    mix_collector_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_graph_by_hand),   cmocka_unit_test(test_merge),
        cmocka_unit_test(test_too_many_states), cmocka_unit_test(test_nothing_to_choose),
        cmocka_unit_test(test_long_chain),      cmocka_unit_test(test_walks_are_exact),
        cmocka_unit_test(test_walks_go_on),     cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_choices),         cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_unknown_lengths), cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_rare_ones_go),    cmocka_unit_test(test_collector_is_bounded),
        cmocka_unit_test(test_recursion),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
