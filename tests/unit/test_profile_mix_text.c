/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mixes (profile/mixes/mix.h) as text are read as they are written, or refused with the place of
 * what is wrong; and memory may end at any place.
 */
#include "tests/unit/failing_malloc.h"
#include "tests/unit/test_mix_text_support.h"

static void write_name(void *context, struct psnap_yaml_doc *doc, struct psnap_yaml_node *map,
                       uint32_t id)
{
    char name[16];

    assert_string_equal(context, "context");
    snprintf(name, sizeof name, "f:%u", (unsigned)id);
    psnap_yaml_add_text(doc, map, "loop", name);
}

static char *text_of(const struct psnap_mix *mix)
{
    return mix_text(mix, write_name, (void *)(uintptr_t)"context");
}

static enum psnap_status read_name(void *context, const struct psnap_yaml_node *map, uint32_t id,
                                   struct psnap_error *error)
{
    const struct psnap_yaml_node *loop = psnap_yaml_get(map, "loop");
    char name[16];

    (*(unsigned *)context)++;
    snprintf(name, sizeof name, "f:%u", (unsigned)id);
    if (loop && !strcmp(loop->text, name))
        return PSNAP_OK;
    return psnap_error_set(error, PSNAP_ERROR_VALUE, "it should be %s", name);
}

static struct psnap_mix *read_text(const char *text, struct psnap_error *error)
{
    unsigned states = 0;
    struct psnap_mix *mix = mix_of(text, read_name, &states, error);

    if (mix)
        assert_int_equal(states, mix->state_count);
    return mix;
}

static const char base[] = "begin: {1: 3}\n" /* 1 */
                           "lengths: [{is: 2, times: 2}, {is: 4, times: 1}]\n"
                           "any: {3: 1}\n" /* 3 */
                           "states:\n"     /* 4 */
                           "- state: 1\n"  /* 5 */
                           "  loop: f:1\n" /* 6 */
                           "  times: [{is: 5, times: 2}, {is: 9, times: 1}]\n"
                           "  next: {2: 2, any: 1}\n" /* 8 */
                           "- state: 2\n"             /* 9 */
                           "  loop: f:2\n"            /* 10 */
                           "  times: 7\n"             /* 11 */
                           "  next: {3: 1, end: 2}\n" /* 12 */
                           "- state: 3\n"             /* 13 */
                           "  loop: f:3\n"            /* 14 */
                           "  times: [{from: 40, to: 50, times: 2, sum: 90}]\n"
                           "  next: {2: 1, end: 1}\n"; /* 16 */

static void test_text(void **state)
{
    struct psnap_error error = {0};
    struct psnap_mix *mix = read_text(base, &error), *again;
    char *text, *second;

    (void)state;
    if (!mix)
        fail_msg("%u: %s", (unsigned)error.src_line, error.message);
    assert_int_equal(mix->visits, 3);
    assert_int_equal(mix->tokens, 8);
    assert_int_equal(times_of(mix, MIX_STATE, MIX_ANY), 1);
    assert_int_equal(times_of(mix, MIX_STATE, MIX_STATE + 1), 2);
    assert_int_equal(mix->states[1].counts.sum, 21);
    text = text_of(mix);
    assert_string_equal(text, base);
    mix_free(mix);
    free(text);
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct psnap_rng rng;
        struct mix_collector *collector;
        psnap_rng_init(&rng, seed);
        collector = collect_random(&rng, 50, 5, 3000, seed % 2 ? 100 : UINT64_MAX);
        mix = mix_take(collector, seed % 3 ? EDGES : 120, 8);
        text = text_of(mix);
        again = read_text(text, &error);
        if (!again)
            fail_msg("%u: %s", (unsigned)error.src_line, error.message);
        assert_same(mix, again, true);
        second = text_of(again);
        assert_string_equal(text, second);
        free(text);
        free(second);
        mix_free(mix);
        mix_free(again);
        mix_collector_free(collector);
    }
}

static void test_mistakes(void **state)
{
    static const struct mix_mistake mistakes[] = {
        {"begin: {1: 3}", "begins: {1: 3}", "begins", 1},
        {"begin: {1: 3}\n", "", "begin", 1},
        {"begin: {1: 3}", "begin: [1]", "begin", 1},
        {"begin: {1: 3}", "begin: {}", "'begin' leads nowhere", 1},
        {"begin: {1: 3}", "begin: {4: 3}", "there is no state '4' in this mix", 1},
        {"begin: {1: 3}", "begin: {01: 3}", "there is no state '01' in this mix", 1},
        {"begin: {1: 3}", "begin: {1: 4}", "begins 4 times, but ends 3 times", 1},
        {"begin: {1: 3}", "begin: {1: 0}", "1", 1},
        {"begin: {1: 3}", "begin: {1: 72057594037927936, 2: 1}", "come to more than", 1},
        {"any: {3: 1}", "any: {any: 1}", "no state 'any'", 3},
        {"any: {3: 1}", "any: {3: 2}", "'any' is left 2 times, but entered 1 times", 3},
        {"any: {3: 1}\n", "", "'any' is left 0 times, but entered 1 times", 1},
        {"is: 4, times: 1}]\n", "is: 5, times: 1}]\n",
         "the visits of the mix have 9 states, but its states come to 8", 2},
        {"is: 4, times: 1}]\n", "is: 4, times: 2}]\n",
         "there are 4 counts here, but 'begin' (line 1) comes to 3", 2},
        {"- state: 2\n", "- state: 1\n", "there is a state 1 already (line 5)", 9},
        {"- state: 2\n", "- state: 2147483648\n", "state", 9},
        {"- state: 2\n", "- stat: 2\n", "state", 9},
        {"  loop: f:2\n", "  loop: f:3\n", "it should be f:2", 0},
        {"  times: 7\n", "", "times", 9},
        {"  times: 7\n", "  times: [{is: 7, times: 2}]\n",
         "there are 2 counts here, but 'next' (line 12) comes to 3", 11},
        {"  times: 7\n", "  times: [{is: 7, times: 2, sum: 3}]\n", "sum", 11},
        {"  times: 7\n", "  times: 24019198012642630\n", "the counts of a mix come to more than",
         15},
        {"  next: {3: 1, end: 2}\n", "", "next", 9},
        {"  next: {3: 1, end: 2}\n", "  next: {2: 1, end: 2}\n",
         "state 2 is left 3 times, but entered 4 times", 12},
        {"  next: {3: 1, end: 2}\n", "  next: {3: 1, 4: 1, end: 1}\n", "no state '4'", 12},
    };

    (void)state;
    check_mistakes(base, mistakes, sizeof mistakes / sizeof *mistakes, read_text);
}

/* What goes round for itself. */
static const char turning[] = "begin: {1: 2}\n"
                              "states:\n"
                              "- state: 1\n"
                              "  loop: f:1\n"
                              "  times: 1\n"
                              "  next: {1: 10, end: 2}\n"
                              "  rounds: {next: '1', times: [{is: 5, times: 2}]}\n"; /* 7 */

/* How often a transition comes in a row. */
static void test_rounds(void **state)
{
    static const struct mix_mistake mistakes[] = {
        {"next: '1'", "next: '3'", "there is no state '3' in this mix", 7},
        {"next: '1'", "next: any", "'any' does not come next (line 6)", 7},
        {"times: [", "time: [", "time", 7},
        {"{is: 5, times: 2}", "", "", 7},
        {"begin: {1: 2}\n", "begin: {1: 2}\nrounds: {next: end, times: [{is: 1, times: 1}]}\n",
         "'end' does not come next (line 1)", 2},
    };
    struct psnap_error error = {0};
    struct psnap_mix *mix = read_text(turning, &error);
    char *text;

    (void)state;
    assert_non_null(mix);
    text = text_of(mix);
    assert_string_equal(text, turning);
    free(text);
    mix_free(mix);
    check_mistakes(turning, mistakes, sizeof mistakes / sizeof *mistakes, read_text);
}

/* Counts that come evenly, wherever there are counts. */
static void test_evenly(void **state)
{
    static const char evenly[] =
        "begin: {1: 2}\n"
        "rounds: {next: '1', times: [{is: 2, times: 1}], evenly: true}\n"
        "lengths: [{is: 5, times: 1}, {is: 7, times: 1}]\n"
        "evenly: true\n" /* 4 */
        "states:\n"
        "- state: 1\n"
        "  loop: f:1\n"
        "  times: [{is: 1, times: 8}, {is: 2, times: 4}]\n"
        "  evenly: true\n" /* 9 */
        "  next: {1: 10, end: 2}\n"
        "  rounds: {next: '1', times: [{is: 5, times: 2}], evenly: true}\n";
    static const struct mix_mistake mistakes[] = {
        {"lengths: [{is: 5, times: 1}, {is: 7, times: 1}]\n", "",
         "there are no 'lengths' to come evenly", 3},
        {"]\nevenly: true", "]\nevenly: 1", "'evenly' must be true or false", 4},
        {"  evenly: true", "  evenly: []", "'evenly' must be true or false", 9},
        {"1}], evenly: true", "1}], evenly: often", "'evenly' must be true or false", 2},
        {"2}], evenly: true", "2}], even: true", "even", 11},
    };
    struct psnap_error error = {0};
    struct psnap_mix *mix = read_text(evenly, &error), *copy;
    char *text;

    (void)state;
    if (!mix)
        fail_msg("%u: %s", (unsigned)error.src_line, error.message);
    assert_true(mix->lengths.is_even && mix->states[0].counts.is_even);
    assert_true(mix->rounds[0].counts.is_even && mix->rounds[1].counts.is_even);
    copy = mix_copy(mix);
    text = text_of(copy);
    assert_string_equal(text, evenly);
    free(text);
    mix_free(copy);
    mix_free(mix);
    check_mistakes(evenly, mistakes, sizeof mistakes / sizeof *mistakes, read_text);
}

static void test_no_way_out(void **state)
{
    struct psnap_error error = {0};

    (void)state;
    assert_null(read_text("begin: {1: 1}\n"
                          "states:\n"
                          "- {state: 1, loop: 'f:1', times: 1, next: {end: 1}}\n"
                          "- {state: 5, loop: 'f:5', times: 1, next: {6: 4}}\n"
                          "- {state: 6, loop: 'f:6', times: 1, next: {5: 4}}\n",
                          &error));
    assert_non_null(strstr(error.message, "from state 5 there is no way to the end of a visit"));
    assert_int_equal(error.src_line, 4);
    assert_null(read_text("begin: {1: 1}\nstates: []\n", &error));
    assert_non_null(strstr(error.message, "a mix has 1 to 1024 states"));
}

/* ---- memory ---- */

#if FAILING_MALLOC

static FILE *null;

static enum psnap_status collect_some(struct mix_collector *collector, uint32_t first,
                                      struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    for (uint32_t i = 0; i < 90 && !status; i++)
        status = mix_add(collector, first + i * i % 30, UINT64_C(1) << (i % 40));
    return status ? psnap_error_set(error, status, "out of memory") : PSNAP_OK;
}

static enum psnap_status write_and_read(const struct psnap_mix *mix, struct psnap_error *error)
{
    struct psnap_yaml_doc *doc = psnap_yaml_doc_new("t");
    enum psnap_status status = PSNAP_ERROR_MEMORY;
    struct psnap_mix *back = NULL;

    if (doc) {
        struct psnap_yaml_node *root = psnap_yaml_add_map(doc, NULL, NULL, PSNAP_YAML_BLOCK);
        mix_write(mix, doc, root, NULL, NULL);
        status = psnap_yaml_write(doc, null, error);
        if (!status)
            status = mix_read(doc, root, NULL, NULL, &back, error);
    } else {
        psnap_error_set(error, status, "out of memory");
    }
    mix_free(back);
    psnap_yaml_doc_free(doc);
    return status;
}

static enum psnap_status use_all(struct psnap_error *error)
{
    struct mix_collector *a = mix_collector_new(), *b = mix_collector_new();
    enum psnap_status status = a && b ? PSNAP_OK : PSNAP_ERROR_MEMORY;
    struct psnap_mix *mix = NULL, *copy = NULL;
    struct mix_walk *walk = NULL;

    if (!status)
        status = collect_some(a, 0, error);
    if (!status)
        status = collect_some(b, 9, error);
    if (!status)
        status = mix_merge(a, b);
    mix = status ? NULL : mix_take(a, 100, 2);
    copy = mix ? mix_copy(mix) : NULL;
    walk = copy ? mix_walk_new(copy, 1) : NULL;
    if (!status)
        status = walk ? write_and_read(copy, error) : PSNAP_ERROR_MEMORY;
    if (status)
        psnap_error_set(error, status, "out of memory");
    mix_walk_free(walk);
    mix_free(copy);
    mix_free(mix);
    mix_collector_free(a);
    mix_collector_free(b);
    return status;
}

static void test_memory(void **state)
{
    (void)state;
    null = fopen("/dev/null", "w");
    assert_non_null(null);
    assert_int_equal(setvbuf(null, NULL, _IONBF, 0), 0);
    run_job(use_all);
    fclose(null);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rounds),   cmocka_unit_test(test_text),
        cmocka_unit_test(test_mistakes), cmocka_unit_test(test_no_way_out),
        cmocka_unit_test(test_evenly),
#if FAILING_MALLOC
        cmocka_unit_test(test_memory),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
