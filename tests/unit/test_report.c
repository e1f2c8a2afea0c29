/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What pages of psnap report are written with: names as text, figures as copies of what is listed,
 * and the ranking of loops.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/html.h"
#include "predict/report/rank.h"
#include "predict/report/svg.h"
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

static void names(void **state)
{
    (void)state;
    assert_text("", "");
    assert_text("std::vector<int>::at:7", "std::vector&lt;int&gt;::at:7");
    assert_text("</td><script>alert('x')</script>",
                "&lt;/td&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;");
    assert_text("a\" onload=\"b & c", "a&quot; onload=&quot;b &amp; c");
    assert_text("\xC3\xBC\xE2\x82\xAC\xF0\x9F\x98\x80", "\xC3\xBC\xE2\x82\xAC\xF0\x9F\x98\x80");
}

static void replaced(void **state)
{
    (void)state;
    assert_text("a\x01\n\x7F", "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    assert_text("\xFFz\xC3", "\xEF\xBF\xBDz\xEF\xBF\xBD"); /* no UTF-8 */
    assert_text("a\xE2\x80\xAE"
                "b",
                "a\xEF\xBF\xBD"
                "b");                                                /* text from right to left */
    assert_text("\xC2\x85\xE2\x81\xA6", "\xEF\xBF\xBD\xEF\xBF\xBD"); /* a control, an isolate */
}

static void shortened(void **state)
{
    char room[PSNAP_HTML_SHORT], long_name[3000];

    (void)state;
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

/* What becomes of a figure; NULL: it is refused. The caller frees it. */
static char *inlined(const char *text)
{
    char *written = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&written, &size);
    bool fits;

    assert_non_null(file);
    fits = svg_inline(text, strlen(text), 3, "t<", "d", file);
    fclose(file);
    if (fits)
        return written;
    free(written);
    return NULL;
}

#define ROOT                                                                                       \
    "<svg class=\"plot\" viewBox=\"0 0 6 3\" role=\"img\" aria-labelledby=\"f3-title f3-desc\">"   \
    "<title id=\"f3-title\">t&lt;</title><desc id=\"f3-desc\">d</desc>"

static void assert_figure(const char *body, const char *expected)
{
    char text[4096], whole[4096], *got;

    snprintf(text, sizeof text,
             "<?xml version=\"1.0\"?>\n<!DOCTYPE x>\n<svg \n viewBox=\"0 0 6 3\"\n "
             "xmlns=\"http://www.w3.org/2000/svg\"\n>\n<title>Gnuplot</title>\n%s\n</svg>\n",
             body);
    snprintf(whole, sizeof whole, ROOT "%s</svg>", expected);
    got = inlined(text);
    assert_non_null(got);
    assert_string_equal(got, whole);
    free(got);
}

static void figures(void **state)
{
    (void)state;
    assert_figure("", "");
    assert_figure("<g stroke=\"black\" color=\"white\">\n<g>\n</g>\n</g>", "");
    assert_figure("<g id=\"plot_1\" stroke='rgb(  1,  32,   0)'><title>a</title>\n"
                  "<path d='M1.239,2 L3.999,4.0 ' stroke='gray'/></g>",
                  "<g id=\"f3-plot_1\" stroke=\"var(--s2)\">"
                  "<path d=\"M1.2,2 L3.9,4.0 \" stroke=\"var(--grid)\"/></g>");
    assert_figure("<polygon fill = 'rgb(  2,  16,   0)' points = '1,2 3,4 '/>",
                  "<polygon fill=\"var(--p1)\" points=\"1,2 3,4 \"/>");
    assert_figure("<g fill=\"black\" font-family=\"Arial\"><text>a&lt;b></text></g>",
                  "<g fill=\"currentColor\"><text>a&lt;b&gt;</text></g>");
    assert_figure("<g><text> \xFF"
                  "a\xE2\x80\xAE</text></g>",
                  "<g><text>\xEF\xBF\xBD"
                  "a\xEF\xBF\xBD</text></g>");
    /* marks, where they are used */
    assert_figure("<defs><circle id='gpPt5' r='0.222'/></defs>", "");
    assert_figure("<defs><circle id='gpPt5' r='0.222'/></defs>"
                  "<use xlink:href='#gpPt5' color='rgb(  1,  16,   0)'/>",
                  "<defs><circle id=\"f3-gpPt5\" r=\"0.222\"/></defs>"
                  "<use href=\"#f3-gpPt5\" color=\"var(--s1)\"/>");
}

/* Whatever a figure had in it that figures do not need is not on the page. */
static void hostile_figures(void **state)
{
    (void)state;
    assert_figure("<script>alert(1)</script><path d=\"M0,0\" onclick=\"alert(1)\"/>",
                  "<path d=\"M0,0\"/>");
    assert_figure("<use xlink:href='http://example.org/x#y'/>", "<use/>");
    assert_figure("<a href=\"javascript:alert(1)\"><text>x</text></a>", "");
    assert_figure("<image href=\"x.png\"/><foreignObject><p>x</p></foreignObject>", "");
    assert_figure("<path fill=\"url(javascript:x)\" stroke=\"url(http://x)\"/>", "<path/>");
    assert_null(inlined(""));
    assert_null(inlined("no figure"));
    assert_null(inlined("<svg><path d='\"><script>'/></svg>"));
    assert_null(inlined("<svg viewBox='0 0 1 1'><g>"));
    assert_null(inlined("<svg viewBox='0 0 1 1'><path d='M0,0"));
    assert_null(inlined("<svg></g></svg>"));
    assert_null(inlined("<svg><svg></svg></svg>"));
}

static void ranking(void **state)
{
    struct rank rank = {0};

    (void)state;
    assert_true(rank_add(&rank, 0, "cold", "f a.c:1", 2, 1, 100));
    assert_true(rank_add(&rank, 0, "warm", "f a.c:2", 1, 30, 100));
    assert_true(rank_add(&rank, 0, "hot", "f a.c:3", 0, 69, 100));
    /* after a change the cold one is hottest, and one is new */
    assert_true(rank_add(&rank, 1, "cold", "f a.c:1", 0, 800, 1000));
    assert_true(rank_add(&rank, 1, "new", "g a.c:9", 1, 200, 1000));
    assert_true(rank_add(&rank, 1, "also", "g a.c:9", 1, 200, 1000));
    rank_sort(&rank);
    assert_int_equal(rank.count, 5);
    assert_string_equal(rank.loops[0].id, "cold");
    assert_true(rank.loops[0].is_in[0] && rank.loops[0].is_in[1] && !rank.loops[0].is_in[2]);
    assert_true(rank.loops[0].row[0] == 2 && rank.loops[0].row[1] == 0);
    assert_true(rank.loops[0].accesses[0] == 1 && rank.loops[0].accesses[1] == 800);
    assert_true(rank_share(&rank.loops[0]) == 0.8);
    assert_string_equal(rank.loops[1].id, "hot");
    assert_string_equal(rank.loops[2].id, "warm");
    assert_string_equal(rank.loops[3].id, "also"); /* by id where shares are the same */
    assert_string_equal(rank.loops[4].id, "new");
    assert_false(rank.loops[4].is_in[0]);
    rank_release(&rank);
    assert_true(rank.count == 0 && !rank.loops);
    assert_true(rank_add(&rank, 3, "none", "", 0, 0, 0)); /* of no accesses: no share */
    assert_true(rank_share(&rank.loops[0]) == 0);
    rank_release(&rank);
}

/* Two parts of a loop, and another one, in lines of 64 bytes. */
static void working_sets(void **state)
{
    struct psnap_program *program = psnap_program_new();
    const struct psnap_loop loops[] = {{.id = "f:1.1", .src_id = "f:1"},
                                       {.id = "g:2", .src_id = "g:2"},
                                       {.id = "f:1.2", .src_id = "f:1"}};
    struct psnap_access accesses[2000];
    struct psnap_error error;
    struct psnap_sink *sink;

    (void)state;
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
    assert_int_equal(sink->ops->finish(sink, &error), PSNAP_OK);
    assert_int_equal(touched_lines(sink, "f:1"), 2 * 8000 / 64 + 1);
    assert_int_equal(touched_lines(sink, "g:2"), 2001);
    assert_int_equal(touched_lines(sink, "f:1.1"), 0);
    psnap_sink_free(sink);
    psnap_program_free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),           cmocka_unit_test(replaced),
        cmocka_unit_test(shortened),       cmocka_unit_test(figures),
        cmocka_unit_test(hostile_figures), cmocka_unit_test(ranking),
        cmocka_unit_test(working_sets),
    };

    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
