/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Certificates on a page of psnap report: what profiles say of themselves (profile/FORMAT.md),
 * whether they were edited since, and what of it the page can check.
 *
 * A certificate states errors against the recorded stream, which a profile does not have: they are
 * checked only where the first input is a trace, on machines that both the page and the certificate
 * have, as psnap compare does it. Of the profile alone there are its checksum, the accesses of the
 * replay against its totals, and the number of relevant loops.
 */
#include <inttypes.h>
#include <math.h>

#include "predict/report/cmd_report.h"
#include "simcore/cmd_certificate.h"
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

/* ---------------------------------------------------------------------- checking */

static uint64_t relevant_loops(const struct report_input *input)
{
    const struct scope_rows *loops = &input->side.loops;
    uint64_t count = 0;

    for (size_t i = 0; i < loops->count; i++)
        count += (double)loops->rows[i].tallies[0].accesses >=
                 COMPARE_RELEVANT * (double)input->side.accesses;
    return count;
}

/* What the replay itself shows. */
static void check_replay(struct report_page *page, const struct report_input *input)
{
    const struct psnap_certificate *certificate = input->profile->certificate;
    const uint64_t relevant = relevant_loops(input);
    struct psnap_profile_totals totals;
    char digits[32];

    psnap_profile_totals(input->profile, &totals);
    fprintf(page->file, "The replay on this page has %s accesses, ",
            psnap_group_digits(input->side.accesses, digits));
    if (totals.accesses == input->side.accesses)
        fputs("as the profile states", page->file);
    else
        fprintf(page->file, "<strong class=\"bad\">and the profile states %s</strong>",
                psnap_group_digits(totals.accesses, digits));
    fprintf(page->file, ", and %" PRIu64 " loops with at least 0.5&#8239;%% of them, ", relevant);
    if (relevant == certificate->relevant_loops)
        fputs("as the certificate states. ", page->file);
    else
        fprintf(page->file,
                "<strong class=\"bad\">and the certificate states %" PRIu64 "</strong>. ",
                certificate->relevant_loops);
}

static void write_check(struct report_page *page, const struct psnap_certificate *claimed,
                        const struct certificate_check *check)
{
    FILE *file = page->file;
    char level[16];

    if (check->has_other_seed) {
        fputs("Its errors are of a replay with another seed, and were not compared.", file);
    } else if (check->other_machine || !check->compared) {
        fputs("Its errors were not compared: they are on other machines (<code>", file);
        psnap_html_text(file, check->other_machine ? check->other_machine->name
                              : claimed->row_count ? claimed->rows[0].machine
                                                   : "none");
        fputs("</code>) than this page has.", file);
    } else if (!check->different) {
        fprintf(
            file,
            "<strong class=\"good\">Its errors against the first input are confirmed</strong> in "
            "%" PRIu32 " of its %" PRIu32 " rows, those of this page's machines.",
            check->compared, claimed->row_count);
    } else {
        fprintf(
            file,
            "<strong class=\"bad\">Its errors are not those against the first input</strong> in "
            "%" PRIu32 " of %" PRIu32 " rows: at %s of <code>",
            check->different, check->compared, psnap_certificate_level(check->claimed, level));
        psnap_html_text(file, check->claimed->machine);
        fprintf(file, "</code> it states a mean of %.4f points", check->claimed->mean_points);
        if (check->found)
            fprintf(file, ", and %.4f were found here", check->found->mean_points);
        fputs(".", file);
    }
}

/* Against the trace, if the first input is one. */
static enum psnap_status check_errors(struct report_page *page, const struct report_input *input,
                                      struct psnap_error *error)
{
    const struct report *report = page->report;
    const struct report_input *first = &report->inputs[0];
    struct psnap_certificate *found = NULL;
    struct compare compare = {0};
    enum psnap_status status;

    if (first->is_profile) {
        fputs(
            "Its errors are against the recorded stream, which no profile has, and are not checked "
            "here: <code>psnap compare TRACE PROFILE</code> does, or this page with the trace as "
            "another input.",
            page->file);
        return PSNAP_OK;
    }
    status = compare_init(&compare, report->machines, report->machine_count, &first->side,
                          &input->side, error);
    if (!status)
        status = certificate_of(&compare, input->profile, report->options.seed, &found, error);
    if (!status) {
        const struct certificate_check check =
            certificate_check(input->profile->certificate, found);
        write_check(page, input->profile->certificate, &check);
    }
    compare_release(&compare);
    return status;
}

static enum psnap_status write_checks(struct report_page *page, const struct report_input *input,
                                      struct psnap_error *error)
{
    const struct report *report = page->report;
    enum psnap_status status;

    if (report->options.skip || report_is_cut(report, input) ||
        report_is_cut(report, &report->inputs[0])) {
        fputs("<p>It was not checked: the page is of a part of its inputs.</p>\n", page->file);
        return PSNAP_OK;
    }
    fputs("<p>", page->file);
    check_replay(page, input);
    status = check_errors(page, input, error);
    fputs("</p>\n", page->file);
    return status;
}

enum psnap_status report_certificate(struct report_page *page, struct psnap_error *error)
{
    const struct report *report = page->report;
    enum psnap_status status = PSNAP_OK;

    if (!report_has_certificate(report))
        return status;
    report_section(page, "certificate", "Certificate");
    for (size_t i = 0; i < report->input_count && !status; i++) {
        const struct report_input *input = &report->inputs[i];
        const struct psnap_certificate *certificate;
        if (!input->is_profile)
            continue;
        certificate = input->profile->certificate;
        report_heading(page, input->path);
        if (certificate) {
            write_verdict(page, certificate, psnap_certificate_holds(input->profile, NULL) == 1);
            if (psnap_certificate_holds(input->profile, NULL) == 1)
                status = write_checks(page, input, error);
            write_tables(page, certificate);
        } else {
            fputs("<p>The profile has no certificate: how far its replay is from the program is "
                  "not written in it. <code>psnap record --certify</code> and <code>psnap profile "
                  "--certify</code> make one.</p>\n",
                  page->file);
        }
    }
    report_section_end(page);
    return status;
}
