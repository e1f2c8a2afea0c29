/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Certificates on a page of psnap report: what profiles say of themselves (profile/FORMAT.md), and
 * whether they were edited since.
 */
#include <inttypes.h>
#include <math.h>

#include "predict/report/cmd_report.h"
#include "formats/base/html.h"

bool report_has_certificate(const struct report *report)
{
    for (size_t i = 0; i < report->input_count; i++)
        if (report->inputs[i].is_profile)
            return true;
    return false;
}

static void write_rows(struct report_page *page, const char *caption,
                       const struct psnap_certificate_row *rows, uint32_t count)
{
    static const char *const headings[] = {"Machine", "Level", "Mean, points", "Largest, points",
                                           "Whole program, points"};

    report_table(page, caption, headings, 5, 2, 0);
    for (uint32_t i = 0; i < count; i++) {
        char level[16];
        report_row_name(page, rows[i].machine ? rows[i].machine : "all machines");
        report_cell(page, "%s", psnap_certificate_level(&rows[i], level));
        report_cell_number(page, 3, rows[i].mean_points);
        report_cell_number(page, 3, rows[i].max_points);
        report_cell_number(page, 3, rows[i].total_points);
        report_row_end(page);
    }
    report_table_end(page);
}

static void write_tables(struct report_page *page, const struct psnap_certificate *certificate)
{
    write_rows(page, "Errors of cumulative hit rates", certificate->levels,
               certificate->level_count);
    report_details(page, "Errors on each machine");
    write_rows(page, "Errors of cumulative hit rates by machine", certificate->rows,
               certificate->row_count);
    report_details_end(page);
}

static void write_verdict(struct report_page *page, const struct psnap_certificate *certificate,
                          bool holds)
{
    char level[16];

    fprintf(page->file, "<p class=\"lead\"><strong class=\"%s\">%s</strong> ",
            holds ? "good" : "bad",
            holds ? "The certificate holds." : "The certificate no longer holds:");
    fputs(holds ? "The profile is as it was when psnap " : "the profile was edited since psnap ",
          page->file);
    psnap_html_text(page->file, certificate->version);
    fputs(" compared its replay with the stream that it was made of.</p>\n", page->file);
    if (!certificate->worst_loop)
        return;
    fputs("<p>Of the ", page->file);
    fprintf(page->file, "%" PRIu64 " loops with at least 0.5&#8239;%% of the accesses ",
            certificate->relevant_loops);
    fputs("<code>", page->file);
    psnap_html_name(page->file, certificate->worst_loop, 60);
    fprintf(page->file, "</code> is furthest off, by %.3f points at %s",
            certificate->worst.max_points, psnap_certificate_level(&certificate->worst, level));
    fputs(" of <code>", page->file);
    psnap_html_text(page->file, certificate->worst.machine ? certificate->worst.machine : "all");
    fputs("</code>.</p>\n", page->file);
}

void report_certificate(struct report_page *page)
{
    const struct report *report = page->report;

    if (!report_has_certificate(report))
        return;
    report_section(page, "certificate", "Certificate");
    for (size_t i = 0; i < report->input_count; i++) {
        const struct report_input *input = &report->inputs[i];
        const struct psnap_certificate *certificate;
        if (!input->is_profile)
            continue;
        certificate = input->profile->certificate;
        fputs("<h3>", page->file);
        psnap_html_text(page->file, input->path);
        fputs("</h3>\n", page->file);
        if (certificate) {
            write_verdict(page, certificate, psnap_certificate_holds(input->profile, NULL) == 1);
            write_tables(page, certificate);
        } else {
            fputs("<p>The profile has no certificate: how far its replay is from the program is "
                  "not written in it. <code>psnap record --certify</code> and <code>psnap profile "
                  "--certify</code> make one.</p>\n",
                  page->file);
        }
    }
    report_section_end(page);
}
