/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers and names as text, JSON, and errors written out. */
#include <float.h>
#include <locale.h>
#include <math.h>

#include "formats/base/json.h"
#include "formats/base/rng.h"
#include "formats/base/status.h"
#include "formats/base/text.h"
#include "tests/unit/test.h"

TEST(whole_numbers)
{
    static const char *const bad[] = {"",
                                      " 1",
                                      "1 ",
                                      "+1",
                                      "-1",
                                      "0x",
                                      "1.0",
                                      "1e3",
                                      "x",
                                      "0xfg",
                                      "18446744073709551616",
                                      "0x10000000000000000",
                                      "99999999999999999999999"};
    uint64_t value = 77;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(psnap_text_u64(bad[i], &value));
    assert_int_equal(value, 77);
    assert_true(psnap_text_u64("0", &value) && value == 0);
    assert_true(psnap_text_u64("007", &value) && value == 7);
    assert_true(psnap_text_u64("0xfF", &value) && value == 255);
    assert_true(psnap_text_u64("18446744073709551615", &value) && value == UINT64_MAX);
    assert_true(psnap_text_u64("0xffffffffffffffff", &value) && value == UINT64_MAX);
}

TEST(signed_numbers)
{
    int64_t value = 77;

    assert_false(psnap_text_i64("--1", &value));
    assert_false(psnap_text_i64("-", &value));
    assert_false(psnap_text_i64("9223372036854775808", &value));
    assert_false(psnap_text_i64("-9223372036854775809", &value));
    assert_int_equal(value, 77);
    assert_true(psnap_text_i64("-9223372036854775808", &value) && value == INT64_MIN);
    assert_true(psnap_text_i64("9223372036854775807", &value) && value == INT64_MAX);
    assert_true(psnap_text_i64("+0x10", &value) && value == 16);
    assert_true(psnap_text_i64("-8", &value) && value == -8);
}

TEST(sizes)
{
    static const char *const bad[] = {
        "", "K", "1KB", "1.5K", "-1K", "32 K", "18014398509481984K", "16777216T"};
    uint64_t value = 77;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(psnap_text_size(bad[i], &value));
    assert_int_equal(value, 77);
    assert_true(psnap_text_size("4096", &value) && value == 4096);
    assert_true(psnap_text_size("32K", &value) && value == 32768);
    assert_true(psnap_text_size("1m", &value) && value == 1048576);
    assert_true(psnap_text_size("3G", &value) && value == UINT64_C(3) << 30);
    assert_true(psnap_text_size("16777215T", &value) && value == UINT64_C(16777215) << 40);
}

TEST(reals)
{
    static const char *const bad[] = {"",    ".",   "e5", "nan", "inf", "1e999", "-1e999",
                                      "0x1", "1,5", "1 ", " 1",  "1e",  "1.2.3", "infinity"};
    double value = 77;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(psnap_text_real(bad[i], &value));
    assert_true(value == 77);
    assert_true(psnap_text_real("-.5", &value) && value == -0.5);
    assert_true(psnap_text_real("1e-3", &value) && value == 0.001);
    assert_true(psnap_text_real("12", &value) && value == 12);
}

/* Significant digits, without an exponent. */
static size_t count_digits(const char *text)
{
    size_t digits = 0;

    for (; *text && *text != 'e'; text++)
        digits += *text >= '0' && *text <= '9' && (digits || *text != '0');
    return digits;
}

static void check_real(double value)
{
    char text[32], other[64];
    double back;
    int least = 1;

    psnap_text_from_real(value, text);
    assert_true(psnap_text_real(text, &back));
    assert_memory_equal(&back, &value, sizeof value); /* also the sign of zero */
    do
        snprintf(other, sizeof other, "%.*e", least - 1, value);
    while (strtod(other, NULL) != value && ++least < 17);
    /* no more digits than it takes, but for "1.0e+20" and the zeros of "100" */
    if (count_digits(text) > (size_t)least && strchr(text, '.'))
        assert_true(least == 1 && strchr(text, 'e'));
}

TEST(reals_are_written_to_read_back)
{
    char text[32];
    struct psnap_rng rng;

    assert_string_equal(psnap_text_from_real(0.1, text), "0.1");
    assert_string_equal(psnap_text_from_real(100, text), "100");
    assert_string_equal(psnap_text_from_real(-2.5e6, text), "-2500000");
    assert_string_equal(psnap_text_from_real(0.00001, text), "0.00001");
    assert_string_equal(psnap_text_from_real(1e-6, text), "1.0e-06");
    assert_string_equal(psnap_text_from_real(1.5e300, text), "1.5e+300");
    assert_string_equal(psnap_text_from_real(1e15, text), "1000000000000000");
    assert_string_equal(psnap_text_from_real(1e16, text), "1.0e+16");
    assert_string_equal(psnap_text_from_real(NAN, text), "nan");
    assert_string_equal(psnap_text_from_real(-INFINITY, text), "-inf");
    check_real(0.0);
    check_real(-0.0);
    check_real(DBL_MIN / 4);
    check_real(DBL_MAX);
    check_real(0.1 + 0.2);
    psnap_rng_init(&rng, 9);
    for (int i = 0; i < 20000; i++) {
        const uint64_t bits = psnap_rng_next(&rng);
        double value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value))
            check_real(value);
        check_real((double)(bits % 100000) / 1000);
    }
}

TEST(locale_does_not_matter)
{
    char text[32];
    double value;

    if (!setlocale(LC_ALL, "de_DE.UTF-8") && !setlocale(LC_ALL, "fr_FR.UTF-8"))
        skip();
    assert_string_equal(psnap_text_from_real(0.5, text), "0.5");
    assert_true(psnap_text_real("0.25", &value) && value == 0.25);
    assert_false(psnap_text_real("0,25", &value));
    setlocale(LC_ALL, "C");
}

/* A length, and whether it is shown. */
static void check_character(const char *text, size_t length, bool is_shown)
{
    uint32_t code;

    assert_int_equal(psnap_text_utf8(text, &code), length);
    assert_int_equal(psnap_text_shown(text), is_shown ? length : 0);
    assert_ptr_equal(psnap_text_next(text), text + length + !length);
}

TEST(utf8_is_checked)
{
    static const char *const malformed[] = {"\x80",
                                            "\xc3",
                                            "\xc0\x80" /* overlong */,
                                            "\xe0\x80\x80" /* overlong */,
                                            "\xed\xa0\x80" /* surrogate */,
                                            "\xf4\x90\x80\x80" /* beyond U+10FFFF */,
                                            "\xf8\x88\x80\x80\x80" /* five bytes */,
                                            "\xff",
                                            "\x9b"};
    static const char *const hidden[] = {"\n",
                                         "\t",
                                         "\033",
                                         "\177",
                                         "\xc2\x80",
                                         "\xc2\x9b",
                                         "\xc2\x9f",
                                         "\xd8\x9c" /* U+061C */,
                                         "\xe2\x80\x8e" /* U+200E */,
                                         "\xe2\x80\x8f",
                                         "\xe2\x80\xa8" /* U+2028 */,
                                         "\xe2\x80\xa9",
                                         "\xe2\x80\xaa",
                                         "\xe2\x80\xae",
                                         "\xe2\x81\xa6" /* U+2066 */,
                                         "\xe2\x81\xa9",
                                         "\xef\xbb\xbf"};
    uint32_t code;

    check_character("a", 1, true);
    check_character("", 1, false);
    check_character("\xc2\xa0", 2, true);
    check_character("\xc3\xa4", 2, true);
    check_character("\xe2\x82\xac", 3, true);
    check_character("\xf0\x9f\x98\x80", 4, true);
    check_character("\xf4\x8f\xbf\xbd", 4, true);
    assert_int_equal(psnap_text_utf8("\xf0\x9f\x98\x80", &code), 4);
    assert_int_equal(code, 0x1f600);
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++)
        check_character(malformed[i], 0, false);
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++)
        check_character(hidden[i], strlen(hidden[i]), false);
}

TEST(nearest_name_is_suggested)
{
    static const char *const names[] = {"machine", "json", NULL, "by", "sample"};

    assert_string_equal(psnap_text_nearest("machin", names, 5), "machine");
    assert_string_equal(psnap_text_nearest("mcahine", names, 5), "machine");
    assert_string_equal(psnap_text_nearest("jsno", names, 5), "json");
    assert_null(psnap_text_nearest("jsnx", names, 5));                    /* half of it is wrong */
    assert_string_equal(psnap_text_nearest("mach", names, 5), "machine"); /* a beginning */
    assert_null(psnap_text_nearest("sample-rate", names, 5));
    assert_string_equal(psnap_text_nearest("samples", names, 5), "sample");
    assert_null(psnap_text_nearest("xyz", names, 5));
    assert_null(psnap_text_nearest("", names, 5));
    assert_null(psnap_text_nearest("x", NULL, 0));
}

TEST(base_name_follows_the_last_slash)
{
    assert_string_equal(psnap_text_base_name("/a/b.c"), "b.c");
    assert_string_equal(psnap_text_base_name("b.c"), "b.c");
    assert_string_equal(psnap_text_base_name("a/"), "");
    assert_string_equal(psnap_text_base_name(""), "");
}

TEST(ends_of_text)
{
    assert_true(psnap_text_ends_in("a/b.svg", ".svg"));
    assert_true(psnap_text_ends_in(".svg", ".svg"));
    assert_true(psnap_text_ends_in("b", "") && psnap_text_ends_in("", ""));
    assert_false(psnap_text_ends_in("svg", ".svg"));
    assert_false(psnap_text_ends_in("a.svg.gz", ".svg"));
    assert_false(psnap_text_ends_in("a.SVG", ".svg"));
    assert_false(psnap_text_ends_in("", ".svg"));
}

TEST(json_escapes_and_nests)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    struct psnap_json json;

    psnap_json_init(&json, file);
    psnap_json_begin_object(&json, NULL);
    psnap_json_text(&json, "q\"k", "a\"b\\c\n\t\x01\x7f\xc3\xa4\xff!\xc2\x9b\xe2\x80\xae");
    psnap_json_begin_array(&json, "rows");
    psnap_json_begin_object(&json, NULL);
    psnap_json_u64(&json, "u", UINT64_MAX);
    psnap_json_i64(&json, "i", INT64_MIN);
    psnap_json_end_object(&json);
    psnap_json_begin_array(&json, NULL);
    psnap_json_real(&json, NULL, 0.25);
    psnap_json_real(&json, NULL, NAN);
    psnap_json_real(&json, NULL, INFINITY);
    psnap_json_end_array(&json);
    psnap_json_end_array(&json);
    psnap_json_begin_array(&json, "none");
    psnap_json_end_array(&json);
    psnap_json_bool(&json, "yes", true);
    psnap_json_text(&json, "null", NULL);
    psnap_json_end_object(&json);
    fclose(file);
    assert_string_equal(
        text,
        "{\n"
        "  \"q\\\"k\": \"a\\\"b\\\\c\\n\\t\\u0001\\u007f\xc3\xa4\xef\xbf\xbd!\\u009b\\u202e\",\n"
        "  \"rows\": [\n"
        "    {\"u\": 18446744073709551615, \"i\": -9223372036854775808},\n"
        "    [0.25, null, null]\n"
        "  ],\n"
        "  \"none\": [],\n"
        "  \"yes\": true,\n"
        "  \"null\": null\n"
        "}\n");
    free(text);
}

TEST(errors_are_written_with_their_place)
{
    struct psnap_error error;
    char text[64];

    assert_int_equal(psnap_error_set(&error, PSNAP_ERROR_VALUE, "bad %d", 7), PSNAP_ERROR_VALUE);
    assert_string_equal(psnap_error_format(&error, text, sizeof text), "bad 7");
    psnap_error_at(&error, "x.yaml", 0, 0);
    assert_string_equal(psnap_error_format(&error, text, sizeof text), "x.yaml: bad 7");
    psnap_error_at(&error, NULL, 3, 0);
    assert_string_equal(psnap_error_format(&error, text, sizeof text), "x.yaml:3: bad 7");
    psnap_error_at(&error, NULL, 3, 9);
    assert_string_equal(psnap_error_format(&error, text, sizeof text), "x.yaml:3:9: bad 7");
    psnap_error_set(&error, PSNAP_ERROR_CORRUPT, "bad");
    psnap_error_at_offset(&error, "t.pst", 12);
    assert_string_equal(psnap_error_format(&error, text, sizeof text), "t.pst: offset 12: bad");
    assert_string_equal(psnap_error_format(&error, text, 6), "t.pst");
    assert_int_equal(psnap_error_system(&error, 2 /* ENOENT */, "cannot open '%s'", "x"),
                     PSNAP_ERROR_IO);
    assert_string_equal(error.message, "cannot open 'x': no such file or directory");
    assert_int_equal(psnap_error_set(NULL, PSNAP_ERROR_IO, "x"), PSNAP_ERROR_IO);
    psnap_error_at(NULL, "x", 1, 1);
    psnap_error_at_offset(NULL, "x", 1);
}
