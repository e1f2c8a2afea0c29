/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap reuse: the reuse distances of a stream by loop, block, region and thread, as shares of
 * accesses that hit in fully associative LRU caches, as miss-ratio curves and as histograms.
 * REUSE.md has the definitions and documents JSON and CSV.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "formats/base/cmd.h"
#include "formats/base/output.h"
#include "predict/cmd_gnuplot.h"
#include "predict/reuse/cmd_reuse.h"
#include "predict/reuse/cmd_reuse_curves.h"
#include "predict/reuse/cmd_reuse_part.h"

enum { LINE_USUAL = 64, JOBS_USUAL = 8 }; /* as many as one that reads can feed */

double reuse_now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ------------------------------------------------------------------- the work */

enum psnap_status reuse_tag(const struct reuse_settings *settings, struct psnap_source *source,
                            struct psnap_reuse_options *options, struct psnap_touched **touched,
                            struct psnap_error *error)
{
    *touched = NULL;
    if (!settings->wanted[PSNAP_SCOPE_REGION])
        return PSNAP_OK;
    *touched = psnap_touched_new(source->program);
    if (!*touched)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for regions");
    options->tagger = psnap_touched_tag;
    options->tagger_context = *touched;
    return PSNAP_OK;
}

static enum psnap_status measure(struct reuse_report *report, const struct reuse_settings *settings,
                                 struct psnap_source *source, struct psnap_error *error)
{
    struct psnap_reuse_options options = settings->reuse;
    struct psnap_touched *touched;
    struct psnap_sink *sink = NULL;
    const double start = reuse_now();
    enum psnap_status status = reuse_tag(settings, source, &options, &touched, error);

    if (!status) {
        sink = psnap_reuse_new(source->program, &options, error);
        status = sink ? psnap_pump(source, sink, &report->accesses, error) : error->code;
    }
    report->seconds = reuse_now() - start;
    for (int i = 0; i < PSNAP_SCOPE_COUNT && !status; i++)
        if (settings->wanted[i])
            status = reuse_rows_add(&report->rows, (enum psnap_scope)i, sink, source->program,
                                    touched, error);
    if (!status) {
        report->threads = psnap_reuse_threads(sink);
        report->lines = psnap_reuse_lines(sink);
    }
    psnap_sink_free(sink);
    psnap_touched_free(touched);
    return status;
}

struct files {
    struct psnap_output *csv, *svg; /* NULL: none */
};

static enum psnap_status open_files(struct files *files, const struct reuse_settings *settings,
                                    struct psnap_error *error)
{
    if (settings->svg && gnuplot_find("; --csv writes the numbers without it", error))
        return error->code;
    if (settings->svg) {
        files->svg = psnap_output_open(settings->svg, settings->force, error);
        if (!files->svg)
            return error->code;
    }
    if (settings->csv) {
        files->csv = psnap_output_open(settings->csv, settings->force, error);
        if (!files->csv)
            return error->code;
    }
    return PSNAP_OK;
}

static enum psnap_status write_files(struct files *files, const struct reuse_report *report,
                                     const struct reuse_settings *settings,
                                     struct psnap_error *error)
{
    const uint64_t line = report->line_bytes;
    enum psnap_status status = PSNAP_OK;

    if (files->svg)
        status = reuse_curves_draw(&report->rows, line, report->input, settings->svg,
                                   psnap_output_file(files->svg), error);
    if (!status && files->csv) {
        reuse_curves_write(&report->rows, line, settings->bins, psnap_output_file(files->csv));
        status = psnap_output_commit(files->csv, error);
        files->csv = NULL;
    }
    if (!status && files->svg) {
        status = psnap_output_commit(files->svg, error);
        files->svg = NULL;
    }
    return status;
}

/* Measures the input. */
static enum psnap_status read_input(struct reuse_report *report,
                                    const struct reuse_settings *settings,
                                    struct psnap_error *error)
{
    struct psnap_source *source = psnap_input_open(settings->path, &settings->input, error);
    const enum psnap_status status =
        source ? measure(report, settings, source, error) : error->code;

    psnap_source_free(source);
    report->line_bytes = settings->reuse.line_bytes;
    report->input = strdup(settings->path);
    if (!status && !report->input)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return status;
}

/* Of the input, or of parts. */
static int run(const struct reuse_settings *settings, char *const *parts, size_t part_count)
{
    struct reuse_report report = {0};
    struct files files = {0};
    struct psnap_error error;
    enum psnap_status status = open_files(&files, settings, &error);

    if (!status)
        status = settings->path ? read_input(&report, settings, &error)
                                : reuse_merge(parts, part_count, &report, &error);
    if (!status)
        status = reuse_need_accesses(report.accesses, report.input, &error);
    if (!status)
        status = write_files(&files, &report, settings, &error);
    psnap_output_abandon(files.csv);
    psnap_output_abandon(files.svg);
    if (!status && settings->json)
        reuse_print_json(&report, settings);
    else if (!status && !psnap_output_is_stdout(settings->csv) &&
             !psnap_output_is_stdout(settings->svg))
        reuse_print_table(&report, settings);
    reuse_rows_release(&report.rows);
    free(report.input);
    if (status)
        return psnap_cmd_fail("reuse", &error);
    return psnap_cmd_close_stdout("reuse", PSNAP_EXIT_DONE);
}

/* Rates and jobs that were given make sense. 0, or an exit status. */
static int check_numbers(const struct reuse_settings *settings, uint64_t jobs, bool has_sample)
{
    const double sample = settings->reuse.sample;

    if (has_sample && !(sample > 0 && sample <= 1))
        return psnap_cmd_usage("reuse", "--sample takes a share of the lines, above 0 and up to 1");
    if (!jobs || jobs > PSNAP_REUSE_JOBS_MAX)
        return psnap_cmd_usage("reuse", "--jobs takes a number from 1 to %d", PSNAP_REUSE_JOBS_MAX);
    if (settings->json + psnap_output_is_stdout(settings->csv) +
            psnap_output_is_stdout(settings->svg) >
        1)
        return psnap_cmd_usage("reuse", "only one of JSON, CSV and SVG can go to standard output");
    if (psnap_output_is_same(settings->csv, settings->svg))
        return psnap_cmd_usage("reuse", "--csv and --svg are both '%.200s'", settings->csv);
    return 0;
}

/* The part that is asked for, if one is: what it cannot have is not asked for as well. */
static int check_part(struct reuse_settings *settings, const char *part)
{
    int end = 0;

    if (!part)
        return settings->output ? psnap_cmd_usage("reuse", "-o is of a part: --part K/N") : 0;
    if (strspn(part, "0123456789/") != strlen(part) ||
        sscanf(part, "%7" SCNu64 "/%7" SCNu64 "%n", &settings->part, &settings->parts, &end) != 2 ||
        part[end] || !settings->part || settings->part > settings->parts ||
        settings->parts > PARTS_MAX)
        return psnap_cmd_usage("reuse", "--part takes K/N, part K of N from 1 to %d, not '%.100s'",
                               PARTS_MAX, part);
    if (!settings->output)
        return psnap_cmd_usage("reuse", "--part needs a file: -o PART");
    if (settings->reuse.sample > 0)
        return psnap_cmd_usage("reuse", "a sample cannot be measured in parts: a part does not "
                                        "know when the whole made its sample smaller");
    if (settings->json || settings->csv || settings->svg || settings->bins)
        return psnap_cmd_usage("reuse", "--json, --csv, --svg and --bins are of the whole: give "
                                        "them to 'psnap reuse --merge PART...'");
    if (!strcmp(settings->path, "-"))
        return psnap_cmd_usage("reuse", "standard input cannot be read in parts: each reads the "
                                        "input by itself");
    return 0;
}

/* What is asked for is not what parts have already. */
static int check_merge(const struct reuse_settings *settings, const char *part, bool has_more)
{
    const struct psnap_input_options *input = &settings->input;

    if (part || settings->output)
        return psnap_cmd_usage("reuse", "--merge and --part are two steps: parts are made first");
    if (has_more || settings->reuse.line_bytes != UINT64_MAX || settings->reuse.sample > 0 ||
        input->from || input->seed || input->skip || input->count != UINT64_MAX)
        return psnap_cmd_usage("reuse", "--line, --by, --sample, --jobs, --from, --seed, --skip "
                                        "and --count are of the parts, not of --merge");
    return 0;
}

int psnap_cmd_reuse(int argc, char **argv)
{
    struct reuse_settings settings = {.input = PSNAP_INPUT_DEFAULTS,
                                      .reuse = {.line_bytes = UINT64_MAX}}; /* not given */
    struct psnap_error error;
    const char *by = NULL, *part = NULL;
    double sample = NAN;
    uint64_t jobs = UINT64_MAX;
    bool merge = false;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_SIZE, 0, "line", &settings.reuse.line_bytes, "BYTES",
         "of a line (64); 1: addresses as they are"},
        {PSNAP_OPTION_TEXT, 0, "by", &by, "SCOPES",
         "rows: any of total,loop,block,region,thread (total,loop)"},
        {PSNAP_OPTION_REAL, 0, "sample", &sample, "RATE",
         "measure this share of the lines, such as 0.01, and estimate the rest"},
        {PSNAP_OPTION_TEXT, 0, "part", &part, "K/N",
         "measure part K of N of the stream alone, to a file (-o)"},
        {PSNAP_OPTION_TEXT, 'o', "output", &settings.output, "PART", "that file"},
        {PSNAP_OPTION_FLAG, 0, "merge", &merge, NULL, "report of the whole that all PARTs are of"},
        {PSNAP_OPTION_TEXT, 0, "csv", &settings.csv, "FILE", "write the miss-ratio curves"},
        {PSNAP_OPTION_TEXT, 0, "svg", &settings.svg, "FILE",
         "draw those of the first rows of the table"},
        {PSNAP_OPTION_FLAG, 0, "bins", &settings.bins, NULL,
         "distances by powers of two, in JSON and CSV"},
        {PSNAP_OPTION_FLAG, 0, "json", &settings.json, NULL, "print JSON, with all histograms"},
        {PSNAP_OPTION_U64, 0, "jobs", &jobs, "N",
         "threads that measure (processors, up to 8); results are the same"},
        {PSNAP_OPTION_TEXT, 0, "from", &settings.input.from, "FORMAT",
         "the input's format (recognised)"},
        {PSNAP_OPTION_U64, 0, "seed", &settings.input.seed, "N", "of a profile's replay (0)"},
        {PSNAP_OPTION_COUNT, 0, "skip", &settings.input.skip, "N",
         "leave out the first N accesses"},
        {PSNAP_OPTION_COUNT, 0, "count", &settings.input.count, "N", "stop after N accesses"},
        {PSNAP_OPTION_FLAG, 0, "force", &settings.force, NULL, "overwrite files"},
        {PSNAP_OPTION_END, 0, NULL, NULL, NULL, NULL},
    };
    const struct psnap_usage usage = {
        "psnap reuse INPUT [--line BYTES] [--by total,loop,block,region,thread] [--sample RATE] "
        "[--part K/N -o PART] [--json] | --merge PART... [--json]",
        "Measures the reuse distances of INPUT (a trace, a profile, or - for standard\n"
        "input), each thread for itself: how many distinct lines were touched\n"
        "since the line of an access last was. An access hits in a fully associative LRU\n"
        "cache if it is of more lines than its distance; the table has the hit rates of\n"
        "some, the CSV the miss ratios of all sizes, the JSON all distances and counts.\n"
        "First touches are cold, and hit nowhere. A long input may be measured in N parts,\n"
        "by processes of any machine and at any time; what --merge says of them is what\n"
        "there is without parts. REUSE.md has the definitions.",
        options};
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    if (operands != 1 && !merge)
        return psnap_cmd_usage("reuse", "one input is needed, not %d", operands);
    if (!operands)
        return psnap_cmd_usage("reuse", "--merge needs the parts");
    settings.reuse.sample = isnan(sample) ? 0 : sample;
    if (merge)
        status = check_merge(&settings, part, by || jobs != UINT64_MAX);
    if (merge && status)
        return status;
    settings.path = merge ? NULL : argv[1];
    if (jobs == UINT64_MAX)
        jobs = psnap_processors() < JOBS_USUAL ? psnap_processors() : JOBS_USUAL;
    if (settings.reuse.line_bytes == UINT64_MAX)
        settings.reuse.line_bytes = LINE_USUAL;
    status = check_numbers(&settings, jobs, !isnan(sample));
    if (!status && !merge)
        status = check_part(&settings, part);
    if (status)
        return status;
    if (!psnap_scope_parse_list(by ? by : "total,loop", settings.wanted, &error))
        return psnap_cmd_fail("reuse", &error);
    settings.reuse.jobs = (uint32_t)jobs;
    settings.reuse.by_thread = settings.wanted[PSNAP_SCOPE_THREAD];
    return part ? reuse_make_part(&settings) : run(&settings, argv + 1, (size_t)operands);
}
