/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Profiles of model stackdist as text: what an edit of 'reuse', by hand or by psnap edit, makes of
 * the stream, and what is refused.
 */
#include "profile/edit/edit.h"
#include "tests/unit/test_distances_support.h"

#define HEAD                                                                                       \
    "psnap: 1\n"                                                                                   \
    "capture: {model: stackdist-1}\n"                                                              \
    "schedule: [f]\n"                                                                              \
    "loops:\n"                                                                                     \
    "- id: f\n"                                                                                    \
    "  accesses: 64\n"                                                                             \
    "  pattern: [a]\n"                                                                             \
    "  regions:\n"                                                                                 \
    "  - id: a\n"                                                                                  \
    "    working_set: {bytes: 512, group: heap, offset: 0}\n"                                      \
    "    accesses: 64\n"                                                                           \
    "    loads: 64\n"                                                                              \
    "    sizes: {8: 64}\n"                                                                         \
    "    strides: {8: 63}\n"

static void test_text_and_back(void **state)
{
    struct psnap_profile *profile =
        read_text(HEAD "    reuse: {new: 8, distances: {7: 16, 0: 40}}\n");
    char *text = write_text(profile), *again;

    (void)state;
    assert_non_null(strstr(text, "    reuse: {new: 8, distances: {0: 40, 7: 16}}\n"));
    psnap_profile_free(profile);
    profile = read_text(text);
    again = write_text(profile);
    assert_string_equal(text, again);
    free(text);
    free(again);
    psnap_profile_free(profile);
}

/* Eight lines, walked through once, then always the one touched longest ago, or the last one. */
static void test_edit_moves_the_stream(void **state)
{
    static const struct {
        const char *reuse;
        uint64_t lines[12]; /* of the first accesses */
    } cases[] = {
        {"    reuse: {new: 8, distances: {7: 56}}\n", {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3}},
        {"    reuse: {new: 1, distances: {0: 63}}\n", {0}},
        {"    reuse: {new: 2, distances: {1: 62}}\n", {0, 4, 0, 4, 0, 4, 0, 4, 0, 4, 0, 4}},
    };

    (void)state;
    for (unsigned c = 0; c < sizeof cases / sizeof *cases; c++) {
        char text[1024];
        struct psnap_source *source;
        struct psnap_profile *profile;
        struct psnap_access *accesses;
        size_t n;
        snprintf(text, sizeof text, "%s%s", HEAD, cases[c].reuse);
        profile = read_text(text);
        accesses = replay(profile, 1, 64, &n, &source);
        for (unsigned i = 0; i < 12; i++)
            assert_int_equal((accesses[i].address - HEAP) / 64, cases[c].lines[i]);
        assert_int_equal(accesses[1].address - accesses[0].address, c == 1 ? 8 : c == 0 ? 64 : 256);
        free(accesses);
        psnap_source_free(source);
        psnap_profile_free(profile);
    }
}

/* New lines are spread over the working set, past those that another loop has touched and round its
 * end; when there is none left it is the line touched longest ago. */
static void test_new_lines(void **state)
{
    static const uint64_t lines[] = {4, 5, 6, 7, 0, 1, 2, 3, 4, 5};
    struct psnap_source *source;
    struct psnap_profile *profile =
        read_text("psnap: 1\n"
                  "capture: {model: stackdist-1}\n"
                  "schedule: [f, g]\n"
                  "loops:\n"
                  "- {id: f, accesses: 4, pattern: [a], regions: [\n"
                  "  {id: a, working_set: {bytes: 256, group: heap, offset: 256}, accesses: 4,\n"
                  "   loads: 4, sizes: {64: 4}, strides: {64: 3}, reuse: {new: 4}}]}\n"
                  "- {id: g, accesses: 6, pattern: [a], regions: [\n"
                  "  {id: a, working_set: {bytes: 512, group: heap, offset: 0}, accesses: 6,\n"
                  "   loads: 6, sizes: {64: 6}, strides: {64: 5}, reuse: {new: 6}}]}\n");
    size_t n;
    struct psnap_access *accesses = replay(profile, 1, 3, &n, &source);

    (void)state;
    assert_int_equal(n, sizeof lines / sizeof *lines);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(accesses[i].address, HEAP + 64 * lines[i]);
    free(accesses);
    psnap_source_free(source);
    psnap_profile_free(profile);
}

/* More entries have as many more of all; what would need strides is refused. */
static void test_psnap_edit(void **state)
{
    const struct psnap_edit entries = {
        .what = PSNAP_EDIT_ENTRIES, .loop = "f", .times = 3, .over = 1};
    const char *const region = "a";
    const struct psnap_edit span = {.what = PSNAP_EDIT_SPAN,
                                    .loop = "f",
                                    .regions = &region,
                                    .region_count = 1,
                                    .times = 2,
                                    .over = 1};
    const struct psnap_edit merge = {
        .what = PSNAP_EDIT_MERGE, .loop = "f", .regions = &region, .region_count = 1};
    struct psnap_profile *profile =
        read_text(HEAD "    reuse: {new: 8, distances: {7: 16, 0: 40}}\n");
    struct psnap_error error;
    uint32_t loop, index;
    char *text;

    (void)state;
    assert_int_equal(psnap_profile_edit(profile, &entries, &loop, &index, &error), PSNAP_OK);
    text = write_text(profile);
    psnap_profile_free(profile);
    assert_non_null(strstr(text, "    reuse: {new: 24, distances: {0: 120, 7: 48}}\n"));
    profile = read_text(text);
    free(text);
    assert_int_equal(psnap_profile_edit(profile, &span, &loop, &index, &error), PSNAP_ERROR_VALUE);
    assert_non_null(strstr(error.message, "has no strides"));
    assert_int_equal(psnap_profile_edit(profile, &merge, &loop, &index, &error), PSNAP_ERROR_VALUE);
    assert_non_null(strstr(error.message, "has no strides"));
    psnap_profile_free(profile);
}

static void test_errors_have_places(void **state)
{
    (void)state;
    assert_text_refused(HEAD, 9, "the key 'reuse' is missing");
    assert_text_refused(HEAD "    reuse: {new: 8, distances: {0: 40}}\n", 11,
                        "'accesses' is 64, but 'reuse' (line 15) comes to 48");
    assert_text_refused(HEAD "    reuse: {new: 8, distances: {far: 56}}\n", 15,
                        "'far' is no distance: they are 0 to 2^32 - 1 lines");
    assert_text_refused(HEAD "    reuse: {new: 8, distances: {4294967296: 56}}\n", 15,
                        "'4294967296' is no distance: they are 0 to 2^32 - 1 lines");
    assert_text_refused(HEAD "    reuse: {new: 8, distances: {3: 50, 0x3: 6}}\n", 15,
                        "distance 3 is there twice");
    assert_text_refused("psnap: 1\n"
                        "capture: {model: psnap}\n"
                        "schedule: [f]\n"
                        "loops:\n"
                        "- id: f\n"
                        "  accesses: 1\n"
                        "  pattern: [a]\n"
                        "  regions:\n"
                        "  - id: a\n"
                        "    working_set: {bytes: 8, group: heap, offset: 0}\n"
                        "    accesses: 1\n"
                        "    loads: 1\n"
                        "    sizes: {8: 1}\n"
                        "    reuse: {new: 1}\n",
                        14, "'reuse' is of the model 'stackdist-1', and this profile's is 'psnap'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_and_back),      cmocka_unit_test(test_edit_moves_the_stream),
        cmocka_unit_test(test_new_lines),          cmocka_unit_test(test_psnap_edit),
        cmocka_unit_test(test_errors_have_places),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
