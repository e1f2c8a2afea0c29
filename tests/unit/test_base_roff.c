/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts as roff: every character stands for itself, lines that are indented are kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/base/cmd_roff.h"

enum kind { TEXT, PARAGRAPHS, SYNOPSIS };

static void expect(enum kind kind, const char *text, const char *wanted)
{
    char *got = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&got, &size);

    assert_non_null(file);
    if (kind == TEXT)
        psnap_roff_text(file, text, strlen(text));
    else if (kind == PARAGRAPHS)
        psnap_roff_paragraphs(file, text);
    else
        psnap_roff_synopsis(file, text);
    fclose(file);
    assert_string_equal(got, wanted);
    free(got);
}

static void test_characters(void **state)
{
    (void)state;
    expect(TEXT, "plain", "plain");
    expect(TEXT, "", "");
    expect(TEXT, "--max-error", "\\-\\-max\\-error");
    expect(TEXT, ".gz", "\\&.gz");
    expect(TEXT, "'a'", "\\&\\(aqa\\(aq");
    expect(TEXT, "a\\b ^ ~ `", "a\\(rsb \\(ha \\(ti \\(ga");
}

static void test_paragraphs(void **state)
{
    (void)state;
    expect(PARAGRAPHS, "a\nb", "a\nb\n");
    expect(PARAGRAPHS, "a\n\nb\n", "a\n.PP\nb\n");
    expect(PARAGRAPHS, "a\n\n    x\n    y\n\nb", "a\n.PP\n.nf\n    x\n    y\n.fi\n.PP\nb\n");
    expect(PARAGRAPHS, "a\n  x\nb", "a\n.nf\n  x\n.fi\nb\n");
    expect(PARAGRAPHS, " x\n\n .y", ".nf\n x\n\n .y\n.fi\n");
}

static void test_synopsis(void **state)
{
    (void)state;
    expect(SYNOPSIS, "psnap sim INPUT [-m A|B ...]",
           "\\fBpsnap\\fR \\fBsim\\fR \\fIINPUT\\fR [\\fB\\-m\\fR \\fIA\\fR|\\fIB\\fR "
           "\\fI\\&...\\fR]\n");
    expect(SYNOPSIS, "psnap a\n      psnap b",
           "\\fBpsnap\\fR \\fBa\\fR\n.br\n\\fBpsnap\\fR \\fBb\\fR\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_characters),
        cmocka_unit_test(test_paragraphs),
        cmocka_unit_test(test_synopsis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
