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
#include "formats/base/json.h"
#include "formats/base/output.h"
#include "predict/cmd_gnuplot.h"
#include "predict/reuse/cmd_reuse_curves.h"
#include "predict/reuse/cmd_reuse_rows.h"
#include "replay/cmd_input.h"

enum { JOBS_USUAL = 8 }; /* as many as one that reads can feed */

struct settings {
    const char *path; /* of the input */
    struct psnap_input_options input;
    struct psnap_reuse_options reuse;
    bool wanted[PSNAP_SCOPE_COUNT];
    const char *csv, *svg; /* files to write, NULL: none */
    bool json, bins, force;
};

struct report {
    struct reuse_rows rows;
    uint64_t accesses, lines;
    uint32_t threads;
    double seconds;
};

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ------------------------------------------------------------------- the work */

static enum psnap_status measure(struct report *report, const struct settings *settings,
                                 struct psnap_source *source, struct psnap_error *error)
{
    struct psnap_reuse_options options = settings->reuse;
    struct psnap_touched *touched = NULL; /* of regions, if they are wanted */
    struct psnap_sink *sink = NULL;
    const double start = now();
    enum psnap_status status = PSNAP_OK;

    if (settings->wanted[PSNAP_SCOPE_REGION]) {
        touched = psnap_touched_new(source->program);
        if (!touched)
            status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for regions");
        options.tagger = psnap_touched_tag;
        options.tagger_context = touched;
    }
    if (!status) {
        sink = psnap_reuse_new(source->program, &options, error);
        status = sink ? psnap_pump(source, sink, &report->accesses, error) : error->code;
    }
    report->seconds = now() - start;
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

/* ------------------------------------------------------------------ the table */

/* Caches whose hit rates the table has, in bytes. */
static const uint64_t caches[] = {1 << 10, 8 << 10, 32 << 10, 256 << 10,
                                  1 << 20, 8 << 20, 32 << 20};
static const char *const cache_headings[] = {"1K %", "8K %", "32K %", "256K %",
                                             "1M %", "8M %", "32M %"};
enum { CACHES = sizeof caches / sizeof caches[0], FIXED = 6 };

static double rate(const struct report *report)
{
    return report->seconds > 0 ? (double)report->accesses / report->seconds : 0;
}

static void percent_cell(struct psnap_table *table, double share)
{
    if (isnan(share))
        psnap_table_cell(table, "-");
    else
        psnap_table_cell(table, "%.2f", 100 * share);
}

static void print_table(const struct report *report, const struct settings *settings)
{
    static const char *const fixed[FIXED] = {"scope",    "id",      "name",
                                             "accesses", "share %", "cold %"};
    const char *headings[FIXED + CACHES];
    struct psnap_table *table;
    char digits[32];

    memcpy(headings, fixed, sizeof fixed);
    memcpy(headings + FIXED, cache_headings, sizeof cache_headings);
    table = psnap_table_new(FIXED + CACHES, headings);
    psnap_table_shorten(table, 1);
    psnap_table_shorten(table, 2);
    for (size_t i = 3; i < FIXED + CACHES; i++)
        psnap_table_align_right(table, i);
    for (size_t i = 0; i < report->rows.count; i++) {
        const struct reuse_row *row = &report->rows.rows[i];
        const double accesses = (double)psnap_distances_accesses(row->distances);
        psnap_table_cell(table, "%s", psnap_scope_name(row->scope));
        psnap_table_cell(table, "%s", row->id);
        psnap_table_cell(table, "%s", row->name);
        psnap_table_cell(table, "%s",
                         psnap_group_digits(psnap_distances_accesses(row->distances), digits));
        percent_cell(table, report->accesses ? accesses / (double)report->accesses : 1);
        percent_cell(table, (double)psnap_distances_cold(row->distances) / accesses);
        for (size_t k = 0; k < CACHES; k++)
            percent_cell(table, psnap_distances_hit_rate(row->distances,
                                                         caches[k] / settings->reuse.line_bytes));
    }
    psnap_print(stdout,
                "hit rates of fully associative LRU caches, lines of %" PRIu64
                " byte%s, cold at the "
                "start:\n\n",
                settings->reuse.line_bytes, psnap_plural(settings->reuse.line_bytes));
    psnap_table_print(table, stdout);
    psnap_table_free(table);
    psnap_print(stdout, "\n%s%s lines%s\n", settings->reuse.sample > 0 ? "about " : "",
                psnap_group_digits(report->lines, digits),
                report->threads > 1 ? ", threads each for itself" : "");
    if (settings->reuse.sample > 0)
        printf("estimated from a sample of the lines, %g %% of them where there are many\n",
               100 * settings->reuse.sample);
    fflush(stdout);
    psnap_print(stderr, "%s accesses in %.2f s, %.1f M/s\n",
                psnap_group_digits(report->accesses, digits), report->seconds, 1e-6 * rate(report));
}

/* ----------------------------------------------------------------------- JSON */

static void json_row(struct psnap_json *json, const struct reuse_row *row, bool bins)
{
    struct psnap_distance_count each = {0};
    uint64_t distance = 0, count = 0;

    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "scope", psnap_scope_name(row->scope));
    psnap_json_text(json, "id", row->id);
    psnap_json_text(json, "name", row->name);
    psnap_json_u64(json, "accesses", psnap_distances_accesses(row->distances));
    psnap_json_u64(json, "cold", psnap_distances_cold(row->distances));
    psnap_json_begin_array(json, "histogram");
    while (reuse_next_entry(row->distances, bins, &each, &distance, &count)) {
        psnap_json_begin_array(json, NULL);
        psnap_json_u64(json, NULL, distance);
        psnap_json_u64(json, NULL, count);
        psnap_json_end_array(json);
    }
    psnap_json_end_array(json);
    psnap_json_end_object(json);
}

static void print_json(const struct report *report, const struct settings *settings)
{
    struct psnap_json json;

    psnap_cmd_begin_json(&json, stdout, "reuse");
    psnap_json_text(&json, "input", settings->path);
    psnap_json_u64(&json, "accesses", report->accesses);
    psnap_json_u64(&json, "threads", report->threads);
    psnap_json_u64(&json, "line_bytes", settings->reuse.line_bytes);
    psnap_json_u64(&json, "lines", report->lines);
    psnap_json_real(&json, "sample", settings->reuse.sample > 0 ? settings->reuse.sample : 1);
    psnap_json_real(&json, "accesses_per_second", rate(report));
    psnap_json_begin_array(&json, "scopes");
    for (size_t i = 0; i < report->rows.count; i++)
        json_row(&json, &report->rows.rows[i], settings->bins);
    psnap_json_end_array(&json);
    psnap_json_end_object(&json);
    putchar('\n');
}

/* ---------------------------------------------------------------------- files */

struct files {
    struct psnap_output *csv, *svg; /* NULL: none */
};

static enum psnap_status open_files(struct files *files, const struct settings *settings,
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

static enum psnap_status write_files(struct files *files, const struct report *report,
                                     const struct settings *settings, struct psnap_error *error)
{
    const uint64_t line = settings->reuse.line_bytes;
    enum psnap_status status = PSNAP_OK;

    if (files->svg)
        status = reuse_curves_draw(&report->rows, line, settings->path, settings->svg,
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

static int run(const struct settings *settings)
{
    struct report report = {0};
    struct files files = {0};
    struct psnap_error error;
    struct psnap_source *source = NULL;
    enum psnap_status status = open_files(&files, settings, &error);

    if (!status) {
        source = psnap_input_open(settings->path, &settings->input, &error);
        status = source ? measure(&report, settings, source, &error) : error.code;
        psnap_source_free(source);
    }
    if (!status)
        status = reuse_need_accesses(report.accesses, settings->path, &error);
    if (!status)
        status = write_files(&files, &report, settings, &error);
    psnap_output_abandon(files.csv);
    psnap_output_abandon(files.svg);
    if (!status && settings->json)
        print_json(&report, settings);
    else if (!status && !psnap_output_is_stdout(settings->csv) &&
             !psnap_output_is_stdout(settings->svg))
        print_table(&report, settings);
    reuse_rows_release(&report.rows);
    if (status)
        return psnap_cmd_fail("reuse", &error);
    return psnap_cmd_close_stdout("reuse", PSNAP_EXIT_DONE);
}

/* Rates and jobs that were given make sense. 0, or an exit status. */
static int check_numbers(const struct settings *settings, uint64_t jobs, bool has_sample)
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

int psnap_cmd_reuse(int argc, char **argv)
{
    struct settings settings = {.input = PSNAP_INPUT_DEFAULTS, .reuse = {.line_bytes = 64}};
    struct psnap_error error;
    const char *by = "total,loop";
    double sample = NAN;
    uint64_t jobs = psnap_processors() < JOBS_USUAL ? psnap_processors() : JOBS_USUAL;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_SIZE, 0, "line", &settings.reuse.line_bytes, "BYTES",
         "of a line (64); 1: addresses as they are"},
        {PSNAP_OPTION_TEXT, 0, "by", &by, "SCOPES",
         "rows: any of total,loop,block,region,thread (total,loop)"},
        {PSNAP_OPTION_REAL, 0, "sample", &sample, "RATE",
         "measure this share of the lines, such as 0.01, and estimate the rest"},
        {PSNAP_OPTION_TEXT, 0, "csv", &settings.csv, "FILE", "write the miss-ratio curves"},
        {PSNAP_OPTION_TEXT, 0, "svg", &settings.svg, "FILE",
         "draw those of the first rows of the table"},
        {PSNAP_OPTION_FLAG, 0, "bins", &settings.bins, NULL,
         "distances by powers of two, in JSON and CSV"},
        {PSNAP_OPTION_FLAG, 0, "json", &settings.json, NULL, "print JSON, with all histograms"},
        {PSNAP_OPTION_U64, 0, "jobs", &jobs, "N",
         "threads that measure (processors, up to 8); results are the same"},
        PSNAP_INPUT_OPTIONS(settings.input),
        {PSNAP_OPTION_FLAG, 0, "force", &settings.force, NULL, "overwrite files"},
        {PSNAP_OPTION_END, 0, NULL, NULL, NULL, NULL},
    };
    const struct psnap_usage usage = {
        "psnap reuse INPUT [--line BYTES] [--by total,loop,block,region,thread] [--sample RATE] "
        "[--json]",
        "Measures the reuse distances of INPUT (a trace, a profile, or - for standard\n"
        "input), each thread for itself: how many distinct lines were touched\n"
        "since the line of an access last was. An access hits in a fully associative LRU\n"
        "cache if it is of more lines than its distance; the table has the hit rates of\n"
        "some, the CSV the miss ratios of all sizes, the JSON all distances and counts.\n"
        "First touches are cold, and hit nowhere. REUSE.md has the definitions.",
        options};
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    if (operands != 1)
        return psnap_cmd_usage("reuse", "one input is needed, not %d", operands);
    settings.path = argv[1];
    settings.reuse.sample = isnan(sample) ? 0 : sample;
    status = check_numbers(&settings, jobs, !isnan(sample));
    if (status)
        return status;
    if (!psnap_scope_parse_list(by, settings.wanted, &error))
        return psnap_cmd_fail("reuse", &error);
    settings.reuse.jobs = (uint32_t)jobs;
    settings.reuse.by_thread = settings.wanted[PSNAP_SCOPE_THREAD];
    return run(&settings);
}
