/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Certificates in profiles: what is written reads back the same, an error for each thing that can
 * be wrong in one, with its place, and what counts as an edit.
 */
#include <math.h>

#include "tests/unit/test_profile_support.h"

static const char profile_text[] =
    "psnap: 1\n"
    "program: {name: t, recorded: 2026-11-20T10:11:12Z, thread: all}\n"
    "capture: {model: psnap, stage: optimized, region_gap_bytes: 256, region_limit: 128}\n"
    "totals: {accesses: 8, loads: 0, stores: 8, bytes: 64}\n"
    "schedule: [init]\n"
    "loops:\n"
    "- id: init\n"
    "  function: main\n"
    "  source: t.c:7\n"
    "  nest: {depth: 1}\n"
    "  accesses: 8\n"
    "  pattern: [{repeat: 8, of: [a]}]\n"
    "  regions:\n"
    "  - id: a\n"
    "    symbol: table\n"
    "    working_set: {bytes: 64, group: image, offset: 32}\n"
    "    accesses: 8\n"
    "    stores: 8\n"
    "    sizes: {8: 8}\n"
    "    strides: {8: 7}\n";

static const char certificate_text[] =
    "certificate:\n"                                                               /* 21 */
    "  psnap: '0.1.0'\n"                                                           /* 22 */
    "  seed: 18446744073709551615\n"                                               /* 23 */
    "  content: 0123456789abcdef\n"                                                /* 24 */
    "  relevant_loops: 1\n"                                                        /* 25 */
    "  levels:\n"                                                                  /* 26 */
    "  - {level: 1, mean_points: 0.0001, max_points: 100, total_points: 12.5}\n"   /* 27 */
    "  - {tlb: 2, total_points: 0}\n"                                              /* 28 */
    "  rows:\n"                                                                    /* 29 */
    "  - {machine: m, level: 1, mean_points: 0, max_points: 0, total_points: 0}\n" /* 30 */
    "  worst_loop: {id: init, machine: m, tlb: 1, points: 3.25}\n";                /* 31 */

/* The profile's text with the certificate's, in which the first `from` has become `to`. */
static char *text_with(const char *from, const char *to)
{
    const char *at = strstr(certificate_text, from);
    char *text = NULL;

    assert_non_null(at);
    assert_true(asprintf(&text, "%s%.*s%s%s", profile_text, (int)(at - certificate_text),
                         certificate_text, to, at + strlen(from)) > 0);
    return text;
}

static void test_round_trip(void **state)
{
    char *text = text_with("relevant_loops: 1\n",
                           "relevant_loops: 1\n  machines: {host: '32K:64:8,1M:64:16'}\n"),
         *again;
    struct psnap_profile *profile = read_text(text);
    const struct psnap_certificate *certificate = profile->certificate;

    (void)state;
    assert_non_null(certificate);
    assert_string_equal(certificate->version, "0.1.0");
    assert_true(certificate->seed == UINT64_MAX);
    assert_true(certificate->content == UINT64_C(0x0123456789abcdef));
    assert_int_equal(certificate->relevant_loops, 1);
    assert_int_equal(certificate->level_count, 2);
    assert_null(certificate->levels[0].machine);
    assert_true(certificate->levels[0].mean_points == 0.0001);
    assert_true(certificate->levels[0].max_points == 100);
    assert_true(certificate->levels[1].is_tlb && certificate->levels[1].level == 2);
    assert_true(isnan(certificate->levels[1].mean_points));
    assert_int_equal(certificate->row_count, 1);
    assert_string_equal(certificate->rows[0].machine, "m");
    assert_string_equal(certificate->worst_loop, "init");
    assert_true(certificate->worst.is_tlb && certificate->worst.max_points == 3.25);
    assert_int_equal(certificate->machine_count, 1);
    assert_string_equal(certificate->machines[0].name, "host");
    assert_string_equal(certificate->machines[0].caches, "32K:64:8,1M:64:16");
    again = write_text(profile);
    /* a checksum that would be a number to others is quoted */
    assert_non_null(strstr(again, "  seed: 18446744073709551615\n  content: "));
    psnap_profile_free(profile);
    profile = read_text(again);
    free(text);
    text = write_text(profile);
    assert_string_equal(text, again);
    psnap_profile_free(profile);
    free(text);
    free(again);
}

static void expect_error(const char *from, const char *to, unsigned src_line, unsigned column,
                         const char *message)
{
    char *text = text_with(from, to);
    struct psnap_error error;
    struct psnap_profile *profile = try_text(text, &error);

    if (profile)
        fail_msg("'%s' for '%s' was taken", to, from);
    if (error.src_line != src_line || error.column != column || !strstr(error.message, message))
        fail_msg("'%s' for '%s': %u:%u: %s", to, from, (unsigned)error.src_line,
                 (unsigned)error.column, error.message);
    free(text);
}

static void test_errors(void **state)
{
    (void)state;
    expect_error("  psnap: '0.1.0'\n", "", 22, 3, "psnap");
    expect_error("seed: 18446744073709551615", "seed: -1", 23, 9, "seed");
    expect_error("  content: 0123456789abcdef\n", "", 22, 3, "content");
    expect_error("0123456789abcdef", "0123456789abcde", 24, 12, "16 hexadecimal digits");
    expect_error("0123456789abcdef", "0123456789abcdeg", 24, 12, "16 hexadecimal digits");
    expect_error("0123456789abcdef", "{}", 24, 12, "one value");
    expect_error("  rows:", "  raws:", 29, 3, "rows");
    expect_error("mean_points: 0.0001", "mean_points: 100.1", 27, 29, "mean_points");
    expect_error("total_points: 0}", "total_points: -1}", 28, 28, "total_points");
    expect_error("max_points: 0,", "max_point: 0,", 30, 44, "max_points");
    expect_error("{level: 1,", "{level: 1, machine: m,", 27, 16, "machine");
    expect_error("{level: 1,", "{level: 0,", 27, 13, "level");
    expect_error("{level: 1,", "{level: 65,", 27, 13, "level");
    expect_error("{tlb: 2,", "{", 28, 5, "level");
    expect_error("{tlb: 2,", "{level: 3, tlb: 2,", 28, 21, "(line 28)");
    expect_error("machine: m, level: 1, mean", "level: 1, mean", 30, 5, "machine");
    expect_error(", points: 3.25", "", 31, 15, "points");
    expect_error("id: init, ", "", 31, 15, "id");
    expect_error("tlb: 1, points", "points", 31, 15, "level");
    expect_error("  - {tlb: 2, total_points: 0}\n", "  - 7\n", 28, 5, "levels");
    expect_error("relevant_loops: 1\n", "machines: []\n", 25, 13, "machines");
    expect_error("relevant_loops: 1\n", "machines: {host: []}\n", 25, 20, "one value");
    expect_error("{id: init, machine: m, tlb: 1, points: 3.25}", "init", 31, 15, "worst_loop");
}

static uint64_t content_of(const struct psnap_profile *profile)
{
    uint64_t content = 0;

    assert_int_equal(psnap_profile_content(profile, &content, NULL), PSNAP_OK);
    return content;
}

/* The content of the profile's text with the first `from` become `to`. */
static uint64_t content_with(const char *from, const char *to)
{
    const char *at = strstr(profile_text, from);
    char *text = NULL;
    struct psnap_profile *profile;
    uint64_t content;

    assert_non_null(at);
    assert_true(asprintf(&text, "%.*s%s%s", (int)(at - profile_text), profile_text, to,
                         at + strlen(from)) > 0);
    profile = read_text(text);
    content = content_of(profile);
    psnap_profile_free(profile);
    free(text);
    return content;
}

static void test_content(void **state)
{
    const uint64_t content = content_with("", "");

    (void)state;
    /* written another way, or recorded another time */
    assert_true(content == content_with("totals: {accesses: 8, loads: 0, stores: 8, bytes: 64}\n",
                                        "# derived\n"));
    assert_true(content == content_with("  accesses: 8\n  pattern", "  pattern"));
    assert_true(content == content_with("name: t, recorded: 2026-11-20T10:11:12Z", "name: u"));
    assert_true(content ==
                content_with("accesses: 8\n    stores: 8", "stores: 8\n    accesses: 8"));
    /* edits, of what replays and of what does not */
    assert_true(content != content_with("offset: 32", "offset: 33"));
    assert_true(content != content_with("strides: {8: 7}", "strides: {4: 7}"));
    assert_true(content != content_with("t.c:7", "t.c:8"));
    assert_true(content != content_with("stage: optimized", "stage: vectorizer-start"));
    assert_true(content != content_with("nest: {depth: 1}", "nest: {depth: 1}\n  entries: 1"));
}

static void test_holds(void **state)
{
    struct psnap_profile *profile = read_text(profile_text);
    struct psnap_certificate certificate = {.version = "0.1.0"};
    char *text;

    (void)state;
    assert_int_equal(psnap_certificate_holds(profile, NULL), 0);
    certificate.content = content_of(profile);
    profile->certificate = &certificate;
    assert_true(certificate.content == content_of(profile)); /* of itself it says nothing */
    assert_int_equal(psnap_certificate_holds(profile, NULL), 1);
    text = write_text(profile);
    profile->certificate = NULL;
    psnap_profile_free(profile);
    profile = read_text(text);
    assert_int_equal(psnap_certificate_holds(profile, NULL), 1);
    profile->loops[0].regions[0].low++;
    assert_int_equal(psnap_certificate_holds(profile, NULL), 0);
    psnap_profile_free(profile);
    free(text);
}

static void test_points(void **state)
{
    const double least = 1e-4;

    (void)state;
    assert_true(psnap_certificate_points(0) == 0);
    assert_true(psnap_certificate_points(1e-9) == least);
    assert_true(psnap_certificate_points(0.00014) == least);
    assert_true(psnap_certificate_points(12.34567) == 12.3457);
    assert_true(psnap_certificate_points(100) == 100);
    assert_true(isnan(psnap_certificate_points(NAN)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_errors),
        cmocka_unit_test(test_content),    cmocka_unit_test(test_holds),
        cmocka_unit_test(test_points),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
