/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap report: inputs, measured once each, as one page for people. A trace is called "observed"; a
 * profile is replayed, the first one "synthetic", others "what if": edited ones, or those of other
 * inputs, compilers, machines. All are held against the first, traces coming before profiles.
 * REPORT.md says what the page has.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/output.h"
#include "predict/report/cmd_report.h"
#include "profile/repo/cmd_repo_read.h"

static int run(char *const *paths, size_t count, const struct psnap_text_list *machines,
               const struct psnap_input_options *input, const char *output, bool force)
{
    const char *const usual[] = {"i7-5960x"};
    struct report *report = calloc(1, sizeof *report);
    struct report_page page = {0};
    struct psnap_error error;
    int status = PSNAP_EXIT_DONE;

    if (!report)
        psnap_cmd_out_of_memory();
    report->options = *input;
    report->machine_count = machines->count ? machines->count : 1;
    report->machines =
        scope_machines(machines->count ? machines->items : usual, report->machine_count, &error);
    if (report->machines)
        side_warn_of_sizes(report->machines, report->machine_count);
    if (report->machines && strcmp(paths[0], "-") != 0 && repo_is_there(paths[0])) {
        status = report_site(paths[0], paths + 1, count - 1, report, output, force);
    } else {
        report->input_count = count;
        for (size_t i = 0; i < count; i++)
            report->inputs[i].path = paths[i];
        if (!report->machines || report_make(report, output, force, &page, &error))
            status = psnap_cmd_fail("report", &error);
        else if (!page.can_draw)
            psnap_cmd_warn(&page.no_figure);
        for (size_t i = 0; i < count; i++)
            report_input_release(&report->inputs[i]);
    }
    free(report->loops);
    free(report->machines);
    free(report);
    return psnap_cmd_close_stdout("report", status);
}

/* What is wrong with the words of the command line; 0 when nothing is. */
static int check(char *const *paths, int count, size_t machines, const char *output)
{
    if (machines > REPORT_MACHINES)
        return psnap_cmd_usage("report", "at most %d machines", REPORT_MACHINES);
    if (count && strcmp(paths[0], "-") != 0 && repo_is_there(paths[0]))
        return output && !psnap_output_is_stdout(output)
                   ? 0
                   : psnap_cmd_usage("report", "no directory for the site: give -o DIR");
    if (count < 1 || count > REPORT_INPUTS)
        return psnap_cmd_usage("report", "one to %d inputs are needed, not %d", REPORT_INPUTS,
                               count);
    if (!output)
        return psnap_cmd_usage("report", "no output: give -o REPORT.html");
    for (int i = 0; i < count; i++)
        if (strcmp(paths[i], "-") != 0 && psnap_output_is_same(paths[i], output))
            return psnap_cmd_usage("report", "'%.200s' is input and output", paths[i]);
    return 0;
}

int psnap_cmd_report(int argc, char **argv)
{
    struct psnap_input_options input = PSNAP_INPUT_DEFAULTS;
    struct psnap_text_list machines = {0};
    const char *output = NULL;
    bool force = false;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_TEXT, 'o', "output", &output, "FILE",
         "the page, or the directory of the site"},
        {PSNAP_OPTION_LIST, 'm', "machine", &machines, "MACHINE",
         "a bundled name, a machine file, or size:line:ways,...; may be repeated (i7-5960x)"},
        {PSNAP_OPTION_TEXT, 0, "from", &input.from, "FORMAT", "the inputs' format (recognised)"},
        {PSNAP_OPTION_U64, 0, "seed", &input.seed, "N", "of profiles' replay (0)"},
        {PSNAP_OPTION_COUNT, 0, "skip", &input.skip, "N", "leave out the first N accesses"},
        {PSNAP_OPTION_COUNT, 0, "count", &input.count, "N",
         "stop after N accesses of an input (100000000)"},
        {PSNAP_OPTION_FLAG, 0, "force", &force, NULL,
         "overwrite the page; make all pages of a site anew"},
        {PSNAP_OPTION_END, 0, NULL, NULL, NULL, NULL},
    };
    const struct psnap_usage usage = {
        "psnap report INPUT... -o R.html | ARCHIVE [QUERY...] -o DIR [-m MACHINE ...]",
        "Makes one HTML page, that needs nothing else, of up to four inputs (traces,\n"
        "profiles, which are replayed, or - for standard input): a trace and its profile\n"
        "beside each other, say, or two profiles. gnuplot draws the figures; without it\n"
        "the page has their tables. Of an archive ('psnap repo'), or what a query finds in\n"
        "it ('psnap repo search -h'), it makes a site: DIR/index.html and a page of each\n"
        "profile. Pages that are there and would be the same stay.",
        options};
    int status, operands;

    input.count = REPORT_ACCESSES;
    operands = psnap_options_parse(argc, argv, &usage, false, &status);
    if (operands >= 0)
        status = check(argv + 1, operands, machines.count, output);
    if (operands >= 0 && !status)
        status = run(argv + 1, (size_t)operands, &machines, &input, output, force);
    psnap_text_list_release(&machines);
    return status;
}
