/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is different in two profiles, on a page of psnap report: loop by loop the fields that psnap
 * diff has words for, and in which regions. Loops may have moved or have other names there.
 */
#include <stdio.h>
#include <string.h>

#include "predict/report/cmd_report.h"
#include "formats/base/html.h"
#include "profile/diff/cmd_diff.h"

enum { LOOPS = 20, TEXT = 400 };

/* The names of changes: "working set, strides". */
static void human_changes(unsigned changes, char text[TEXT])
{
    size_t used = 0;

    text[0] = '\0';
    for (unsigned bit = 0; bit < DIFF_CHANGES; bit++)
        if (changes >> bit & 1 && used < TEXT)
            used += (size_t)snprintf(text + used, TEXT - used, "%s%s", used ? ", " : "",
                                     diff_change_name(bit));
    for (char *at = text; *at; at++)
        if (*at == '_')
            *at = ' ';
}

static void write_regions(struct report_page *page, const struct diff_pair *pair)
{
    const char *separator = "";

    fputs("<td>", page->file);
    for (uint32_t i = 0; i < pair->region_count; i++) {
        const struct diff_region_pair *region = &pair->regions[i];
        if (region->a && region->b && !region->notable)
            continue;
        fputs(separator, page->file);
        psnap_html_name(page->file, region->a ? region->a->name : region->b->name, 32);
        if (!region->a || !region->b)
            fputs(region->a ? " (gone)" : " (new)", page->file);
        separator = ", ";
    }
    fputs("</td>", page->file);
}

static void write_pair(struct report_page *page, const struct diff_pair *pair)
{
    const struct diff_loop *loop = pair->a ? pair->a : pair->b;
    char text[TEXT];

    report_row_name(page, loop->id);
    if (!pair->a || !pair->b)
        report_cell(page, "%s", pair->a ? "is gone" : "is new");
    else if (pair->match == DIFF_SAME_ID)
        report_cell(page, "is there");
    else
        report_cell(page, "%s: %s", pair->match == DIFF_MOVED ? "moved" : "renamed", pair->b->id);
    human_changes(pair->notable, text);
    report_cell(page, "%s", pair->a && pair->b ? text : "");
    write_regions(page, pair);
    report_row_end(page);
}

enum psnap_status report_diff(struct report_page *page, const struct report_input *a,
                              const struct report_input *b, struct psnap_error *error)
{
    static const char *const headings[] = {"Loop", "In the other", "What is different", "In"};
    struct profile_diff diff;
    char caption[160];
    uint32_t shown = 0;

    if (profile_diff_init(&diff, a->profile, b->profile, error))
        return error->code;
    if (diff.is_same)
        fprintf(page->file, "<p>The profiles %s and %s are alike.</p>\n", a->label, b->label);
    snprintf(
        caption, sizeof caption,
        "What the profiles say, %s and %s, the most important first; psnap diff has the values",
        a->label, b->label);
    if (!diff.is_same)
        report_table(page, caption, headings, 4, 4, 0);
    for (uint32_t i = 0; i < diff.pair_count && shown < LOOPS; i++)
        if (diff_pair_differs(&diff.pairs[i])) {
            write_pair(page, &diff.pairs[i]);
            shown++;
        }
    if (!diff.is_same)
        report_table_end(page);
    profile_diff_release(&diff);
    return PSNAP_OK;
}
