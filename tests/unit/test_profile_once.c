/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What of a schedule is written once: items with a name come again wherever the name does, and
 * what comes again gets one; strides of a walk are those of its references.
 */
#include "tests/unit/test_nests_support.h"

/* Three references go through 24 bytes each: twice in each of two repetitions, and once behind. */
#define ITEM(indent, strides)                                                                      \
    indent "- loop: f\n" indent "  times: 3\n" indent "  strides: " strides "\n" indent            \
           "  references:\n" indent "  - {ref: 0, load: 8, region: r1, start: 0}\n" indent         \
           "  - {ref: 1, load: 8, region: r1, start: 24}\n" indent                                 \
           "  - {ref: 2, load: 8, region: r1, start: 48}\n"
#define SINGLE(indent)                                                                             \
    indent "- {loop: f, times: 1, references: [{ref: 3, load: 8, region: r1, start: 72}]}\n"
#define LOOPS_OF(accesses)                                                                         \
    "loops:\n"                                                                                     \
    "- {id: f, nest: {depth: 0}, accesses: " accesses ", pattern: [r1], regions: [\n"              \
    "  {id: r1, working_set: {bytes: 200, group: heap, offset: 0},\n"                              \
    "   accesses: " accesses ", loads: " accesses ", sizes: {8: " accesses "}}]}\n"
#define HEAD "psnap: 1\ncapture: {model: walks-2}\nschedule:\n"

static const char named[] =
    HEAD "- repeat: 2\n  of:\n  - nest: a\n    of:\n" ITEM("    ", "[32, 8]")
        SINGLE("    ") "  - {nest: a}\n" SINGLE("  ") ITEM("", "[8]") LOOPS_OF("51");
static const char in_full[] = HEAD "- repeat: 2\n  of:\n" ITEM("  ", "[32, 8]") SINGLE("  ")
    ITEM("  ", "[32, 8]") SINGLE("  ") SINGLE("  ") ITEM("", "[8]") LOOPS_OF("51");

/* Addresses of a profile's stream. */
static size_t addresses(const struct psnap_profile *profile, uint64_t *to, size_t room)
{
    struct psnap_source *source = psnap_replay_new(profile, 1, NULL);
    struct psnap_access block[64];
    size_t count = 0;
    ssize_t got;

    assert_non_null(source);
    while ((got = psnap_source_next(source, block, 64, NULL)) > 0)
        for (ssize_t i = 0; i < got; i++, count++) {
            assert_true(count < room);
            to[count] = block[i].address;
        }
    assert_int_equal(got, 0);
    psnap_source_free(source);
    return count;
}

static void test_names(void **state)
{
    struct psnap_profile *profiles[2] = {read_text(named), read_text(in_full)};
    uint64_t streams[2][64];

    (void)state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(addresses(profiles[i], streams[i], 64), 51);
    assert_memory_equal(streams[0], streams[1], 51 * sizeof streams[0][0]);
    assert_int_equal(streams[0][1] - streams[0][0], 24);
    assert_int_equal(streams[0][3] - streams[0][0], 8);
    assert_int_equal(streams[0][21] - streams[0][0], 32); /* the second time of both */
    for (int i = 0; i < 2; i++)
        psnap_profile_free(profiles[i]);
}

/* What comes again behind each other is written once, with those strides that all have. */
static void test_written(void **state)
{
    struct psnap_profile *profile = read_text(in_full);
    char *text = write_text(profile);

    (void)state;
    assert_non_null(strstr(text, "  - nest: f\n    of:\n    - loop: f\n      times: 3\n"
                                 "      strides: [32, 8]\n"));
    assert_non_null(strstr(text, "  - {nest: f}\n"));
    assert_non_null(strstr(text, "- {ref: 1, load: 8, region: r1, start: 24}\n"));
    assert_is_its_text(profile);
    free(text);
    psnap_profile_free(profile);
}

static void test_refused(void **state)
{
    (void)state;
    assert_refused(named, "{nest: a}", "{nest: b}", "there is no nest 'b' before this");
    assert_refused(named, "{nest: a}", "{nest: a, of: [{nest: a}]}",
                   "a nest 'a' already, in line 6");
    assert_refused(named, "{nest: a}", "{nest: b, of: [{nest: b}]}", "is in itself");
    assert_refused(named, "{nest: a}", "{repeat: 2, of: [{nest: a}]}",
                   "(line 6) is in 1 repeats, here");
    assert_refused(named, "{nest: a}", "{nest: a, off: []}", "off");
    assert_refused(named, "{nest: a}", "{repeat: 2, of: [{nest: b, of: []}]}", "nothing to repeat");
    assert_refused(named, "{nest: a}", "{nest: [a]}", "'nest' must be one value, not a list");
    assert_refused(named, "[32, 8]", "[32]", "there must be 2");
    assert_refused(named, "{nest: a}", "{nest: b, of: [{nest: a}, {nest: a}]}", "comes to 71");
}

/* Each nest is `times` times the one before. */
static void assert_chain_refused(unsigned nests, unsigned times, const char *message)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    fprintf(file, HEAD "- {nest: a0, of: [{loop: f, times: 1, references: [{ref: 0, load: 8, "
                       "region: r1, start: 0}]}]}\n");
    for (unsigned i = 1; i < nests; i++) {
        fprintf(file, "- {nest: a%u, of: [{nest: a%u}", i, i - 1);
        for (unsigned k = 1; k < times; k++)
            fprintf(file, ", {nest: a%u}", i - 1);
        fprintf(file, "]}\n");
    }
    fprintf(file, LOOPS_OF("1"));
    fclose(file);
    assert_text_refused(text, 0, message);
    free(text);
}

/* Nests in nests come to more than there is room for. */
static void test_bomb(void **state)
{
    (void)state;
    assert_chain_refused(40, 2, "has more than 1048576 items");
    assert_chain_refused(40, 1, "comes to 40");
    assert_chain_refused(100, 1, "too many nests in each other");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_written),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_bomb),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
