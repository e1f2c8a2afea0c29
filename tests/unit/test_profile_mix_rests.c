/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is left over after a state's counts (profile/mixes/mix.h): it is known where it is told by
 * these, and nowhere else; a walk has it as often after each count as there was, next, and takes
 * all transitions still; as text it is read as it is written, and what contradicts it is an error.
 */
#include "tests/unit/test_mix_text_support.h"

enum { MAIN = 1, LEFT, OTHER, LAST, COUNTS = 40, TOKENS = 8000 };

/* How often which rest came after a count of the main loop, and what came in all. */
struct seen {
    uint64_t rests[COUNTS][4], tokens[LAST + 1];
};

/* One trip through an unrolled loop, by fours, and what is left over. */
static void add_trip(struct mix_collector *collector, uint64_t n, struct seen *seen)
{
    assert_int_equal(mix_add(collector, MAIN, n / 4), PSNAP_OK);
    seen->tokens[MAIN]++;
    seen->rests[n / 4][n % 4]++;
    if (n % 4)
        assert_int_equal(mix_add(collector, LEFT, n % 4), PSNAP_OK);
    seen->tokens[LEFT] += n % 4 != 0;
}

/* Trips of few lengths, of which a number of iterations nearly tells the rest, among others. */
static struct mix_collector *collect(struct psnap_rng *rng, bool is_told, struct seen *seen)
{
    static const uint64_t lengths[] = {13, 30, 31, 44, 74, 121, 122};
    struct mix_collector *collector = mix_collector_new();

    assert_non_null(collector);
    *seen = (struct seen){0};
    for (int i = 0; i < TOKENS; i++) {
        if (psnap_rng_below(rng, 10) == 0)
            assert_int_equal(mix_begin(collector), PSNAP_OK);
        for (uint64_t k = psnap_rng_below(rng, 3); k; k--) {
            const uint32_t id = psnap_rng_below(rng, 2) ? OTHER : LAST;
            assert_int_equal(mix_add(collector, id, 1 + psnap_rng_below(rng, 9)), PSNAP_OK);
            seen->tokens[id]++;
        }
        add_trip(collector,
                 is_told ? lengths[psnap_rng_below(rng, 7)] : 4 + psnap_rng_below(rng, 120), seen);
    }
    return collector;
}

static void test_found(void **state)
{
    struct psnap_rng rng;
    struct seen seen;

    (void)state;
    psnap_rng_init(&rng, 1);
    for (int round = 0; round < 5; round++) {
        struct mix_collector *collector = collect(&rng, true, &seen);
        struct psnap_mix *mix = mix_take(collector, EDGES, 8);
        assert_non_null(mix);
        assert_true(mix_has_rest(mix, 0));
        assert_int_equal(mix->rest_count, 6); /* of 13, 30, 31, 74, 121 and 122 */
        for (uint32_t i = 0; i < mix->rest_count; i++) {
            const struct mix_rest *rest = &mix->rests[i];
            const struct psnap_counts_bin *bin = &mix->states[0].counts.bins[rest->bin];
            assert_int_equal(rest->state, 0);
            assert_int_equal(rest->to, 1);
            assert_int_equal(bin->low, bin->high);
            assert_int_equal(rest->times, seen.rests[bin->low][rest->count]);
        }
        mix_free(mix);
        mix_collector_free(collector);
        collector = collect(&rng, false, &seen); /* all lengths: a count tells nothing */
        mix = mix_take(collector, EDGES, COUNTS_BINS);
        assert_non_null(mix);
        assert_int_equal(mix->rest_count, 0);
        mix_free(mix);
        mix_collector_free(collector);
        collector = collect(&rng, true, &seen);
        assert_int_equal(mix_add(collector, OTHER, 1), PSNAP_OK);
        assert_int_equal(mix_add(collector, LEFT, 1), PSNAP_OK); /* comes elsewhere, once */
        mix = mix_take(collector, EDGES, 8);
        assert_non_null(mix);
        assert_int_equal(mix->rest_count, 0);
        mix_free(mix);
        mix_collector_free(collector);
    }
}

/* What two have collected, one after the other, and as one. */
static void test_merged(void **state)
{
    struct psnap_rng rng;
    struct seen seen, more;
    struct mix_collector *a, *b;
    struct psnap_mix *mix;
    uint64_t sum = 0;

    (void)state;
    psnap_rng_init(&rng, 2);
    a = collect(&rng, true, &seen);
    b = collect(&rng, true, &more);
    assert_int_equal(mix_merge(a, b), PSNAP_OK);
    mix = mix_take(a, EDGES, 8);
    assert_non_null(mix);
    assert_true(mix_has_rest(mix, 0));
    for (uint32_t i = 0; i < mix->rest_count; i++)
        sum += mix->rests[i].times;
    assert_int_equal(sum, seen.tokens[LEFT] + more.tokens[LEFT]);
    mix_free(mix);
    mix_collector_free(a);
    mix_collector_free(b);
}

/* Walks once through all of a mix, which is collected again. */
static void check_rests(const struct psnap_mix *mix, uint64_t seed, const struct seen *seen)
{
    struct mix_walk *walk = mix_walk_new(mix, seed);
    struct mix_collector *again = mix_collector_new();
    struct seen drawn = {0};
    struct psnap_mix *taken;

    assert_non_null(walk);
    assert_non_null(again);
    for (uint64_t visit = 0; visit < mix->visits; visit++) {
        uint64_t due = 0, rest = 0;
        assert_int_equal(mix_begin(again), PSNAP_OK);
        for (;;) {
            const struct mix_token *token = mix_walk_take(walk);
            const uint32_t id = token->state == MIX_END ? 0 : mix->states[token->state].id;
            assert_int_equal(due ? id == LEFT && token->count == due : id != LEFT, true);
            due = rest = id == MAIN ? token->rest : 0;
            assert_int_equal(
                id == MAIN && !rest ? token->skipped == 2 : id != MAIN || !token->skipped, true);
            if (id == MAIN)
                drawn.rests[token->count][rest]++;
            if (!id)
                break;
            drawn.tokens[id]++;
            assert_int_equal(mix_add(again, id, token->count), PSNAP_OK);
        }
    }
    assert_memory_equal(&drawn, seen, sizeof drawn);
    taken = mix_take(again, EDGES, 8);
    assert_non_null(taken);
    assert_same(taken, mix, true);
    mix_free(taken);
    mix_collector_free(again);
    mix_walk_free(walk);
}

static void test_walks(void **state)
{
    struct psnap_rng rng;

    (void)state;
    psnap_rng_init(&rng, 3);
    for (uint64_t seed = 0; seed < 10; seed++) {
        struct seen seen;
        struct mix_collector *collector = collect(&rng, true, &seen);
        struct psnap_mix *mix = mix_take(collector, EDGES, COUNTS_BINS), *copy;
        assert_non_null(mix);
        copy = mix_copy(mix);
        assert_non_null(copy);
        check_rests(mix, seed, &seen);
        check_rests(copy, seed + 1, &seen);
        mix_free(copy);
        mix_free(mix);
        mix_collector_free(collector);
    }
}

/* ---- as text ---- */

static const char base[] = "begin: {1: 2, 3: 1}\n"
                           "states:\n"
                           "- state: 1\n" /* 3 */
                           "  times: [{is: 3, times: 6, rest: {1: 2, 3: 3}}, {is: 7, times: 4}]\n"
                           "  next: {2: 5, 3: 5}\n"    /* 5 */
                           "- state: 2\n"              /* 6 */
                           "  rest_of: 1\n"            /* 7 */
                           "  next: {3: 4, end: 1}\n"  /* 8 */
                           "- state: 3\n"              /* 9 */
                           "  times: 2\n"              /* 10 */
                           "  next: {1: 8, end: 2}\n"; /* 11 */

static struct psnap_mix *read_mix(const char *text, struct psnap_error *error)
{
    return mix_of(text, NULL, NULL, error);
}

static void test_text(void **state)
{
    struct psnap_error error = {0};
    struct psnap_mix *mix = read_mix(base, &error);
    char *text;

    (void)state;
    if (!mix)
        fail_msg("%u: %s", (unsigned)error.src_line, error.message);
    assert_int_equal(mix->rest_count, 2);
    assert_int_equal(mix->states[1].counts.times, 5);
    assert_int_equal(mix->states[1].counts.sum, 11);
    text = mix_text(mix, NULL, NULL);
    assert_string_equal(text, base);
    free(text);
    mix_free(mix);
}

/* What is left over leaves something over that it tells as well, as behind a vector loop a narrower
 * one and a scalar one: the first is the rest, and what comes of that is read. */
static void test_chain(void **state)
{
    struct mix_collector *collector = mix_collector_new();
    struct psnap_error error = {0};
    struct psnap_mix *mix, *again;
    struct psnap_rng rng;
    char *text;

    (void)state;
    assert_non_null(collector);
    psnap_rng_init(&rng, 4);
    for (int i = 0; i < TOKENS; i++) {
        const uint64_t n = 2 + psnap_rng_below(&rng, 4);
        assert_int_equal(mix_add(collector, MAIN, n), PSNAP_OK);
        assert_int_equal(mix_add(collector, LEFT, 1 + n % 3), PSNAP_OK);
        assert_int_equal(mix_add(collector, OTHER, 5 - n % 3), PSNAP_OK);
    }
    mix = mix_take(collector, EDGES, COUNTS_BINS);
    assert_non_null(mix);
    assert_true(mix_has_rest(mix, 0));
    assert_false(mix_has_rest(mix, 1));
    check_walk(mix, 1, true);
    text = mix_text(mix, NULL, NULL);
    again = read_mix(text, &error);
    if (!again)
        fail_msg("%u: %s", (unsigned)error.src_line, error.message);
    assert_same(mix, again, true);
    free(text);
    mix_free(again);
    mix_free(mix);
    mix_collector_free(collector);
}

static void test_mistakes(void **state)
{
    static const struct mix_mistake mistakes[] = {
        {"  rest_of: 1\n", "  rest_of: 1\n  times: 5\n", "'rest_of' (line 7) says what 'times' are",
         8},
        {"  rest_of: 1\n", "  rest_of: 9\n", "there is no state '9' in this mix", 7},
        {"  rest_of: 1\n", "  rest_of: 3\n", "'times' of state 3 (line 9) say no 'rest'", 7},
        {"  rest_of: 1\n", "  times: 1\n", "no state that is 'rest_of' this one", 4},
        {"  times: 2\n", "  rest_of: 1\n", "another state is the rest of state 1 already", 10},
        {"rest: {1: 2, 3: 3}", "rest: {1: 2, 3: 5}", "a rest more often than the count, 6 times",
         4},
        {"rest: {1: 2, 3: 3}", "rest: {1: 2, 3: 2}",
         "state 2 comes 5 times after state 1 (line 3), but as its rest 4 times", 7},
        {"rest: {1: 2, 3: 3}", "rest: {0: 2, 3: 3}", "'0' is no count of what is left over", 4},
        {"rest: {1: 2, 3: 3}", "rest: {1: 2, 0x1: 3}", "there is a rest of 1 already", 4},
        {"rest: {1: 2, 3: 3}", "rest: [1]", "rest", 4},
        {"{is: 7, times: 4}", "{is: 7, times: 4, rust: {1: 1}}", "rust", 4},
        {"  next: {2: 5, 3: 5}\n",
         "  next: {2: 5, 3: 5}\n  rounds: {next: '3', times: [{is: 1, times: 1}]}\n",
         "'rounds' and a 'rest' both say what comes next", 6},
    };

    (void)state;
    check_mistakes(base, mistakes, sizeof mistakes / sizeof *mistakes, read_mix);
}

/* What a state with a rest leads to last is not chosen: the rest, too, has to get to the end
 * without coming to it again; and what else leads to the end has to come as often as it is left. */
static void test_no_way_out(void **state)
{
    static const char text[] = "begin: {1: 1}\n"
                               "states:\n"
                               "- state: 1\n"
                               "  times: [{is: 3, times: 3, rest: {1: 2}}, {is: 7, times: 1}]\n"
                               "  next: {2: 2, 3: 1, end: 1}\n"
                               "- state: 2\n"
                               "  rest_of: 1\n"
                               "  next: {1: 2}\n" /* 8 */
                               "- state: 3\n"
                               "  times: 1\n"
                               "  next: {1: 1}\n";
    static const struct mix_mistake mistakes[] = {
        {"next: {1: 2}", "next: {1: 2}", "there is no way to the end of a visit, but through", 5},
        {"  next: {1: 2}\n- state: 3\n  times: 1\n  next: {1: 1}\n",
         "  next: {3: 2}\n- state: 3\n  times: 1\n  next: {1: 3}\n",
         "there is no way to the end of a visit, but through", 5},
        {"next: {1: 2}", "next: {3: 2}", "state 1 is left 4 times, but entered 2 times", 5},
        {"next: {1: 2}", "next: {1: 1, end: 1}", "the mix begins 1 times, but ends 2 times", 1},
        {"begin: {1: 1}", "begin: {1: 2}", "the mix begins 2 times, but ends 1 times", 1},
    };

    (void)state;
    check_mistakes(text, mistakes, sizeof mistakes / sizeof *mistakes, read_mix);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_found),      cmocka_unit_test(test_merged),
        cmocka_unit_test(test_walks),      cmocka_unit_test(test_text),
        cmocka_unit_test(test_chain),      cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_no_way_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
