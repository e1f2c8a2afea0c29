/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of the pages of psnap report: names as text, and working sets of loops.
 */
#include "tests/unit/test.h"

#include "formats/base/html.h"
#include "predict/report/touched.h"

static void assert_text(const char *text, const char *expected)
{
    char *written = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&written, &size);

    assert_non_null(file);
    psnap_html_text(file, text);
    fclose(file);
    assert_string_equal(written, expected);
    free(written);
}

TEST(names)
{
    assert_text("", "");
    assert_text("std::vector<int>::at:7", "std::vector&lt;int&gt;::at:7");
    assert_text("</td><script>alert('x')</script>",
                "&lt;/td&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;");
    assert_text("a\" onload=\"b & c", "a&quot; onload=&quot;b &amp; c");
    assert_text("\xC3\xBC\xE2\x82\xAC\xF0\x9F\x98\x80", "\xC3\xBC\xE2\x82\xAC\xF0\x9F\x98\x80");
}

TEST(replaced)
{
    assert_text("a\x01\n\x7F", "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    assert_text("\xFFz\xC3", "\xEF\xBF\xBDz\xEF\xBF\xBD"); /* no UTF-8 */
    assert_text("a\xE2\x80\xAE"
                "b",
                "a\xEF\xBF\xBD"
                "b");                                                /* text from right to left */
    assert_text("\xC2\x85\xE2\x81\xA6", "\xEF\xBF\xBD\xEF\xBF\xBD"); /* a control, an isolate */
}

TEST(shortened)
{
    char room[PSNAP_HTML_SHORT], long_name[3000];

    assert_string_equal(psnap_html_shorten("multiply:75", 11, room), "multiply:75");
    assert_string_equal(psnap_html_shorten("multiply:75", 10, room), "mult\xE2\x80\xA6ly:75");
    assert_string_equal(
        psnap_html_shorten("\xC3\xA4\xC3\xB6\xC3\xBC\xC3\xA4\xC3\xB6\xC3\xBC", 5, room),
        "\xC3\xA4\xC3\xB6\xE2\x80\xA6\xC3\xB6\xC3\xBC");
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    assert_int_equal(strlen(psnap_html_shorten(long_name, 24, room)), 23 + 3);
    psnap_html_shorten(long_name, 2000, room); /* no more than there is room for */
    assert_int_equal(strlen(room), PSNAP_HTML_SHORT - 1);
}

/* Two parts of a loop, and another one, in lines of 64 bytes. */
TEST(working_sets)
{
    struct psnap_program *program = psnap_program_new();
    const struct psnap_loop loops[] = {{.id = "f:1.1", .src_id = "f:1"},
                                       {.id = "g:2", .src_id = "g:2"},
                                       {.id = "f:1.2", .src_id = "f:1"}};
    struct psnap_access accesses[2000];
    struct psnap_error error;
    struct psnap_sink *sink;

    assert_non_null(program);
    sink = touched_new(program, 64);
    assert_non_null(sink);
    for (uint32_t i = 0; i < 3; i++) { /* the program grows while the stream runs */
        const uint32_t loop = psnap_program_add_loop(program, &loops[i]);
        const uint32_t block =
            psnap_program_add_block(program, &(struct psnap_block){.loop = loop});
        assert_int_equal(psnap_program_add_ref(
                             program, &(struct psnap_ref){.block = block, .loop = loop, .size = 8}),
                         i);
        for (uint32_t k = 0; k < 2000; k++) /* by 8 bytes, then the same again; or far apart */
            accesses[k] = (struct psnap_access){
                .address = i == 1 ? k * (UINT64_C(1) << 40) : 4096 + 8 * (k % 1000) + 4096 * i,
                .ref = i,
                .size = 8};
        assert_int_equal(sink->ops->put(sink, accesses, 2000, &error), PSNAP_OK);
    }
    /* one that ends in the next line, and the last bytes that there are */
    accesses[0] = (struct psnap_access){.address = 8 * 1000 + 4096 * 3 - 4, .ref = 2, .size = 8};
    accesses[1] = (struct psnap_access){.address = UINT64_MAX - 3, .ref = 1, .size = 8};
    assert_int_equal(sink->ops->put(sink, accesses, 2, &error), PSNAP_OK);
    assert_int_equal(touched_lines(sink, "f:1"), 2 * 8000 / 64 + 1);
    assert_int_equal(touched_lines(sink, "g:2"), 2001);
    assert_int_equal(touched_lines(sink, "f:1.1"), 0);
    psnap_sink_free(sink);
    psnap_program_free(program);
}
