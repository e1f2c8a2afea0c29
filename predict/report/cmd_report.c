/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap report: inputs, measured once each, as one page for people. A trace is called "observed"; a
 * profile is replayed, the first one "synthetic", others "what if": edited ones, or those of other
 * inputs, compilers, machines. All are held against the first, traces coming before profiles.
 * REPORT.md says what the page has.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/base/cmd.h"
#include "formats/base/output.h"
#include "predict/cmd_gnuplot.h"
#include "predict/report/cmd_report.h"
#include "profile/repo/cmd_repo_read.h"

static const char default_machine[] = "i7-5960x";

/* "observed", "synthetic", "what if": the n-th of its kind. */
static void label(struct report_input *input, size_t n)
{
    const size_t m = input->is_profile ? n - (n > 0) : n; /* of what-ifs, from 0 */
    const char *kind = !input->is_profile ? "observed" : n ? "what if" : "synthetic";

    if (m)
        snprintf(input->label, sizeof input->label, "%s %zu", kind, m + 1);
    else
        snprintf(input->label, sizeof input->label, "%s", kind);
}

/* Traces first, and all with names. */
static void arrange(struct report *report)
{
    struct report_input ordered[RANK_INPUTS];
    size_t count = 0;

    for (int is_profile = 0; is_profile < 2; is_profile++)
        for (size_t i = 0, n = 0; i < report->input_count; i++)
            if (report->inputs[i].is_profile == is_profile) {
                label(&report->inputs[i], n++);
                ordered[count++] = report->inputs[i];
            }
    memcpy(report->inputs, ordered, count * sizeof ordered[0]);
}

static enum psnap_status rank(struct report *report, struct psnap_error *error)
{
    for (size_t i = 0; i < report->input_count; i++) {
        const struct compare_side *side = &report->inputs[i].side;
        for (size_t row = 0; row < side->loops.count; row++)
            if (!rank_add(&report->rank, i, side->loops.rows[row].id, side->loops.rows[row].name,
                          row, side->loops.rows[row].tallies[0].accesses, side->accesses))
                return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the report");
    }
    rank_sort(&report->rank);
    return PSNAP_OK;
}

enum psnap_status report_make(struct report *report, const struct report_settings *settings,
                              struct psnap_error *error)
{
    struct psnap_output *output = psnap_output_open(settings->output, settings->force, error);
    struct report_page page = {.report = report, .place = settings->place};
    enum psnap_status status = output ? PSNAP_OK : error->code;

    for (size_t i = 0; i < report->input_count && !status; i++)
        status = report_measure(report, &report->inputs[i], error);
    if (!status) {
        arrange(report);
        status = rank(report, error);
    }
    if (!status) {
        page.file = psnap_output_file(output);
        page.can_draw = !gnuplot_find("", &page.no_figure);
        status = report_write(&page, error);
    }
    if (output)
        status = psnap_output_finish(output, status, error);
    if (!status && !page.can_draw && !page.place)
        psnap_cmd_warn(&page.no_figure);
    return status;
}

void report_release(struct report *report)
{
    for (size_t i = 0; i < report->input_count; i++)
        report_input_release(&report->inputs[i]);
    rank_release(&report->rank);
}

/* What is no input of a page. */
static enum psnap_status refuse_directories(char *const *paths, size_t count,
                                            struct psnap_error *error)
{
    struct stat about;

    for (size_t i = 0; i < count; i++) {
        if (!strcmp(paths[i], "-") || stat(paths[i], &about) != 0 || !S_ISDIR(about.st_mode))
            continue;
        if (repo_is_there(paths[i]))
            return psnap_error_set(error, PSNAP_ERROR_VALUE,
                                   "'%.200s' is a repository, whose site is made without other "
                                   "inputs: psnap report REPO -o DIR",
                                   paths[i]);
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "'%.200s' is a directory and no repository: a report is of traces "
                               "and profiles, which are files, or of a repository of profiles "
                               "('psnap repo init')",
                               paths[i]);
    }
    return PSNAP_OK;
}

static int run(char *const *paths, size_t count, const struct psnap_text_list *machines,
               const struct psnap_input_options *input, const struct report_settings *settings)
{
    const char *const usual[] = {default_machine};
    struct report *report = calloc(1, sizeof *report);
    struct psnap_error error;
    int status = PSNAP_EXIT_DONE;

    if (!report) {
        psnap_error_set(&error, PSNAP_ERROR_MEMORY, "out of memory");
        return psnap_cmd_fail("report", &error);
    }
    report->options = *input;
    report->machine_count = machines->count ? machines->count : 1;
    report->machines =
        scope_machines(machines->count ? machines->items : usual, report->machine_count, &error);
    if (report->machines)
        side_warn_of_sizes(report->machines, report->machine_count);
    if (report->machines && strcmp(paths[0], "-") != 0 && repo_is_there(paths[0])) {
        status = report_site(paths[0], paths + 1, count - 1, report, settings);
    } else {
        report->input_count = count;
        for (size_t i = 0; i < count; i++)
            report->inputs[i].path = paths[i];
        if (!report->machines || refuse_directories(paths, count, &error) ||
            report_make(report, settings, &error))
            status = psnap_cmd_fail("report", &error);
    }
    report_release(report);
    free(report->machines);
    free(report);
    return status == PSNAP_EXIT_DONE ? psnap_cmd_close_stdout("report", status) : status;
}

/* What is wrong with the words of the command line; 0 when nothing is. */
static int check(char *const *paths, int count, size_t machines,
                 const struct report_settings *settings)
{
    int from_stdin = 0;

    if (machines > REPORT_MACHINES)
        return psnap_cmd_usage("report", "at most %d machines", REPORT_MACHINES);
    if (count && strcmp(paths[0], "-") != 0 && repo_is_there(paths[0]))
        return settings->output && !psnap_output_is_stdout(settings->output)
                   ? 0
                   : psnap_cmd_usage("report", "no directory for the site: give -o DIR");
    if (count < 1 || count > RANK_INPUTS)
        return psnap_cmd_usage("report", "one to %d inputs are needed, not %d", RANK_INPUTS, count);
    for (int i = 0; i < count; i++)
        from_stdin += !strcmp(paths[i], "-");
    if (from_stdin > 1)
        return psnap_cmd_usage("report", "only one input can be standard input");
    if (!settings->output)
        return psnap_cmd_usage("report", "no output: give -o REPORT.html");
    for (int i = 0; i < count; i++)
        if (strcmp(paths[i], "-") != 0 && psnap_output_is_same(paths[i], settings->output))
            return psnap_cmd_usage("report", "'%.200s' is input and output", paths[i]);
    return 0;
}

int psnap_cmd_report(int argc, char **argv)
{
    struct psnap_input_options input = PSNAP_INPUT_DEFAULTS;
    struct psnap_text_list machines = {0};
    struct report_settings settings = {0};
    const struct psnap_option options[] = {
        {PSNAP_OPTION_TEXT, 'o', "output", &settings.output, "FILE",
         "the page, such as R.html, or of a repository\nthe directory of the site"},
        {PSNAP_OPTION_LIST, 'm', "machine", &machines, "MACHINE",
         "a bundled name, a machine file, or size:line:ways,...; may be repeated (i7-5960x)"},
        {PSNAP_OPTION_TEXT, 0, "from", &input.from, "FORMAT", "the inputs' format (recognised)"},
        {PSNAP_OPTION_U64, 0, "seed", &input.seed, "N", "of profiles' replay (0)"},
        {PSNAP_OPTION_COUNT, 0, "skip", &input.skip, "N", "leave out the first N accesses"},
        {PSNAP_OPTION_COUNT, 0, "count", &input.count, "N",
         "stop after N accesses of an input (100000000)"},
        {PSNAP_OPTION_FLAG, 0, "force", &settings.force, NULL,
         "overwrite the page; make all pages of a site anew"},
        {PSNAP_OPTION_END, 0, NULL, NULL, NULL, NULL},
    };
    const struct psnap_usage usage = {
        "psnap report INPUT... -o R.html | REPO [QUERY...] -o DIR [-m MACHINE ...]",
        "Makes one HTML page, that needs nothing else, of up to four inputs (traces,\n"
        "profiles, which are replayed, or - for standard input): loops ranked, hit rates\n"
        "on each MACHINE (observed, synthetic, predicted), miss-ratio curves, working sets,\n"
        "strides, locality surfaces and certificate. A trace and its profile stand beside\n"
        "each other; two profiles are a what-if comparison. gnuplot draws the figures;\n"
        "without it the page has their tables.\n\n"
        "Of a repository of profiles ('psnap repo'), or those that a query finds ('psnap\n"
        "repo search -h'), it makes a site: DIR/index.html, a table of all, a page of each\n"
        "and the profiles. When DIR is a site already, pages that are there and would be\n"
        "the same stay; those that the query does not find go.",
        options};
    int status, operands;

    input.count = REPORT_ACCESSES;
    operands = psnap_options_parse(argc, argv, &usage, false, &status);
    if (operands >= 0)
        status = check(argv + 1, operands, machines.count, &settings);
    if (operands >= 0 && !status)
        status = run(argv + 1, (size_t)operands, &machines, &input, &settings);
    psnap_text_list_release(&machines);
    return status;
}
