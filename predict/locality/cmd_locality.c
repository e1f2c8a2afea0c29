/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap locality: surface and scores of a stream, by loop, perhaps beside those
 * of another. LOCALITY.md defines them and documents JSON and CSV.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/json.h"
#include "formats/base/output.h"
#include "predict/locality/cmd_locality_rows.h"
#include "predict/cmd_gnuplot.h"
#include "predict/locality/cmd_surface.h"

#define RELEVANT 0.005    /* of a side's accesses */
#define STRIDE_SHARE 0.05 /* of the accesses, for a stride to be named */
#define STRIDES_NAMED 3

struct settings {
    struct psnap_input_options input, against;
    const char *surface, *csv; /* files to write, NULL: none */
    double max_distance;       /* NaN: no limit */
    bool json, force;
};

/* ------------------------------------------------------------------ the table */

static void score_cell(struct psnap_table *table, double score)
{
    if (isnan(score))
        psnap_table_cell(table, "-");
    else
        psnap_table_cell(table, "%.3f", score);
}

/* How near accesses at a stride are, over all classes; what strides are ranked by. */
static double weight_of(const struct psnap_locality *locality, int stride)
{
    double sum = 0;

    for (int k = 0; k < PSNAP_SURFACE_DISTANCES; k++)
        sum += psnap_locality_share(locality, stride, k);
    return sum;
}

/* The stride of most weight that is no multiple of one in `named`; 0: there is none. */
static int next_stride(const struct psnap_locality *locality, const int *named, int count)
{
    double best = 0;
    int found = 0;

    for (int stride = -PSNAP_SURFACE_STRIDE_MAX; stride <= PSNAP_SURFACE_STRIDE_MAX; stride++) {
        const double weight = weight_of(locality, stride);
        bool fresh = stride != 0;
        for (int i = 0; i < count; i++)
            fresh = fresh && (stride % named[i] || stride / named[i] < 0);
        if (fresh && weight > best &&
            psnap_locality_share(locality, stride, PSNAP_SURFACE_DISTANCES - 1) >= STRIDE_SHARE) {
            best = weight;
            found = stride;
        }
    }
    return found;
}

/* "8 100 % (2), -8 ...": strides, how many accesses find one, and how far back half of these do. */
static void strides_cell(struct psnap_table *table, const struct psnap_locality *locality)
{
    char text[STRIDES_NAMED * 64] = "-";
    int named[STRIDES_NAMED];
    size_t used = 0;

    for (int count = 0; count < STRIDES_NAMED; count++) {
        const int stride = next_stride(locality, named, count);
        const double share = psnap_locality_share(locality, stride, PSNAP_SURFACE_DISTANCES - 1);
        int k = 0;

        if (!stride)
            break;
        while (psnap_locality_share(locality, stride, k) < share / 2)
            k++;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%d %.0f %% (%d)",
                                 count ? ", " : "", stride, 100 * share, 1 << k);
        named[count] = stride;
    }
    psnap_table_cell(table, "%s", text);
}

static void print_rows(const struct locality_report *report)
{
    static const char *const headings[] = {"scope",   "id",       "name",     "accesses", "share %",
                                           "spatial", "temporal", "reused %", "strides"};
    struct psnap_table *table = psnap_table_new(9, headings);
    char digits[32];

    psnap_table_shorten(table, 1);
    psnap_table_shorten(table, 2);
    for (size_t i = 3; i < 8; i++)
        psnap_table_align_right(table, i);
    for (size_t i = 0; i < report->count; i++) {
        const struct locality_row *row = &report->rows[i];
        const struct psnap_locality *here = row->sides[LOCALITY_HERE];
        psnap_table_cell(table, "%s", row->is_loop ? "loop" : "total");
        psnap_table_cell(table, "%s", row->id);
        psnap_table_cell(table, "%s", row->name);
        psnap_table_cell(table, "%s", psnap_group_digits(here->accesses, digits));
        psnap_table_cell(table, "%.2f", 100 * locality_row_share(report, row, LOCALITY_HERE));
        score_cell(table, psnap_locality_spatial(here));
        score_cell(table, psnap_locality_temporal(here));
        if (here->accesses)
            psnap_table_cell(table, "%.2f", 100 * psnap_locality_share(here, 0, 16));
        else
            psnap_table_cell(table, "-");
        strides_cell(table, here);
    }
    psnap_table_print(table, stdout);
    psnap_table_free(table);
}

static void print_pairs(const struct locality_report *report)
{
    static const char *const headings[] = {"scope",   "id",    "name",     "share %", "other %",
                                           "spatial", "other", "temporal", "other",   "distance"};
    struct psnap_table *table = psnap_table_new(10, headings);

    psnap_table_shorten(table, 1);
    psnap_table_shorten(table, 2);
    for (size_t i = 3; i < 10; i++)
        psnap_table_align_right(table, i);
    for (size_t i = 0; i < report->count; i++) {
        const struct locality_row *row = &report->rows[i];
        psnap_table_cell(table, "%s", row->is_loop ? "loop" : "total");
        psnap_table_cell(table, "%s", row->id);
        psnap_table_cell(table, "%s", row->name);
        for (int side = 0; side < LOCALITY_SIDES; side++)
            psnap_table_cell(table, "%.2f", 100 * locality_row_share(report, row, side));
        for (int side = 0; side < LOCALITY_SIDES; side++)
            score_cell(table, row->sides[side] ? psnap_locality_spatial(row->sides[side]) : NAN);
        for (int side = 0; side < LOCALITY_SIDES; side++)
            score_cell(table, row->sides[side] ? psnap_locality_temporal(row->sides[side]) : NAN);
        psnap_table_cell(table, "%.4f", locality_row_distance(row));
    }
    psnap_table_print(table, stdout);
    psnap_table_free(table);
}

static double rate(const struct locality_side *side)
{
    return side->seconds > 0 ? (double)side->accesses / side->seconds : 0;
}

static void print_table(const struct locality_report *report)
{
    const bool both = report->sides[LOCALITY_THERE].path != NULL;
    char digits[32];

    for (int side = 0; side < LOCALITY_SIDES && both; side++)
        psnap_print(stdout, "%s  %s: %s accesses\n", side ? "other" : "input",
                    report->sides[side].path,
                    psnap_group_digits(report->sides[side].accesses, digits));
    if (both) {
        putchar('\n');
        print_pairs(report);
    } else {
        print_rows(report);
    }
    if (report->sides[LOCALITY_HERE].threads > 1)
        printf("\n%" PRIu32 " threads, each for itself\n", report->sides[LOCALITY_HERE].threads);
    fflush(stdout);
    for (int side = 0; side < LOCALITY_SIDES; side++)
        if (report->sides[side].path)
            psnap_print(stderr, "%s accesses in %.2f s, %.1f M/s\n",
                        psnap_group_digits(report->sides[side].accesses, digits),
                        report->sides[side].seconds, 1e-6 * rate(&report->sides[side]));
}

/* ---------------------------------------------------------------------- JSON */

static void json_measured(struct psnap_json *json, const struct psnap_locality *locality)
{
    psnap_json_u64(json, "accesses", locality ? locality->accesses : 0);
    psnap_json_real(json, "spatial", locality ? psnap_locality_spatial(locality) : NAN);
    psnap_json_real(json, "temporal", locality ? psnap_locality_temporal(locality) : NAN);
    psnap_json_begin_array(json, "reuse");
    for (int c = 0; locality && c < PSNAP_LOCALITY_REUSES; c++)
        psnap_json_real(json, NULL, psnap_locality_reuse(locality, c));
    psnap_json_end_array(json);
    psnap_json_begin_array(json, "surface");
    for (int s = 0; locality && s < PSNAP_SURFACE_STRIDES; s++) {
        uint64_t any = 0;
        for (int k = 0; k < PSNAP_SURFACE_DISTANCES; k++)
            any |= locality->surface[s][k];
        if (!any)
            continue;
        psnap_json_begin_array(json, NULL);
        psnap_json_i64(json, NULL, s - PSNAP_SURFACE_STRIDE_MAX);
        psnap_json_begin_array(json, NULL);
        for (int k = 0; k < PSNAP_SURFACE_DISTANCES; k++)
            psnap_json_u64(json, NULL, locality->surface[s][k]);
        psnap_json_end_array(json);
        psnap_json_end_array(json);
    }
    psnap_json_end_array(json);
}

static void json_side(struct psnap_json *json, const struct locality_side *side)
{
    psnap_json_text(json, "input", side->path);
    psnap_json_u64(json, "accesses", side->accesses);
    psnap_json_u64(json, "threads", side->threads);
    psnap_json_real(json, "accesses_per_second", rate(side));
}

static void print_json(const struct locality_report *report)
{
    const bool both = report->sides[LOCALITY_THERE].path != NULL;
    struct psnap_json json;

    psnap_cmd_begin_json(&json, stdout, "locality");
    json_side(&json, &report->sides[LOCALITY_HERE]);
    psnap_json_u64(&json, "word_bytes", report->word_bytes);
    psnap_json_begin_array(&json, "distances");
    for (int k = 0; k < PSNAP_SURFACE_DISTANCES; k++)
        psnap_json_u64(&json, NULL, UINT64_C(1) << k);
    psnap_json_end_array(&json);
    if (both) {
        psnap_json_begin_object(&json, "against");
        json_side(&json, &report->sides[LOCALITY_THERE]);
        psnap_json_end_object(&json);
    }
    psnap_json_begin_array(&json, "rows");
    for (size_t i = 0; i < report->count; i++) {
        const struct locality_row *row = &report->rows[i];
        psnap_json_begin_object(&json, NULL);
        psnap_json_text(&json, "scope", row->is_loop ? "loop" : "total");
        psnap_json_text(&json, "id", row->id);
        psnap_json_text(&json, "name", row->name);
        json_measured(&json, row->sides[LOCALITY_HERE]);
        if (both) {
            psnap_json_begin_object(&json, "against");
            json_measured(&json, row->sides[LOCALITY_THERE]);
            psnap_json_end_object(&json);
            psnap_json_real(&json, "distance", locality_row_distance(row));
        }
        psnap_json_end_object(&json);
    }
    psnap_json_end_array(&json);
    psnap_json_end_object(&json);
    putchar('\n');
}

/* ------------------------------------------------------------------- the work */

/* Whether all rows that matter are near enough; says so when one is not. */
static bool within_limit(const struct locality_report *report, const struct settings *settings)
{
    for (size_t i = 0; i < report->count && !isnan(settings->max_distance); i++) {
        const struct locality_row *row = &report->rows[i];
        const double here = locality_row_share(report, row, LOCALITY_HERE);
        const double there = locality_row_share(report, row, LOCALITY_THERE);
        if ((here < RELEVANT && there < RELEVANT) ||
            locality_row_distance(row) <= settings->max_distance)
            continue;
        psnap_print(stderr, "psnap locality: %s %s is %.4f apart, more than %g\n",
                    row->is_loop ? "loop" : "total", row->id, locality_row_distance(row),
                    settings->max_distance);
        return false;
    }
    return true;
}

struct files {
    struct psnap_output *surface, *csv;
};

/* Opens what is to be written, before the work starts. */
static enum psnap_status open_files(struct files *files, const struct settings *settings,
                                    struct psnap_error *error)
{
    if (settings->surface && gnuplot_find("; --csv writes the numbers without it", error))
        return error->code;
    if (settings->surface)
        files->surface = psnap_output_open(settings->surface, settings->force, error);
    if (settings->surface && !files->surface)
        return error->code;
    if (settings->csv)
        files->csv = psnap_output_open(settings->csv, settings->force, error);
    return settings->csv && !files->csv ? error->code : PSNAP_OK;
}

static enum psnap_status write_files(struct files *files, const struct locality_report *report,
                                     const struct settings *settings, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    if (files->surface)
        status = surface_draw(report, settings->surface, psnap_output_file(files->surface), error);
    if (files->csv && !status) {
        surface_write_csv(report, psnap_output_file(files->csv));
        status = psnap_output_commit(files->csv, error);
        files->csv = NULL;
    }
    if (files->surface && !status) {
        status = psnap_output_commit(files->surface, error);
        files->surface = NULL;
    }
    return status;
}

static enum psnap_status measure(struct locality_report *report, const struct settings *settings,
                                 struct psnap_error *error)
{
    enum psnap_status status = locality_add_side(report, LOCALITY_HERE, &settings->input, error);

    if (!status && report->sides[LOCALITY_THERE].path)
        status = locality_add_side(report, LOCALITY_THERE, &settings->against, error);
    return status ? status : locality_finish(report, error);
}

static int run(struct locality_report *report, const struct settings *settings)
{
    struct files files = {NULL, NULL};
    struct psnap_error error;
    enum psnap_status status = open_files(&files, settings, &error);
    bool near = true;

    if (!status)
        status = measure(report, settings, &error);
    if (!status)
        status = write_files(&files, report, settings, &error);
    psnap_output_abandon(files.surface);
    psnap_output_abandon(files.csv);
    if (!status) {
        if (settings->json)
            print_json(report);
        else if (!psnap_output_is_stdout(settings->csv))
            print_table(report);
        fflush(stdout);
        near = within_limit(report, settings);
    }
    locality_release(report);
    if (status)
        return psnap_cmd_fail("locality", &error);
    return psnap_cmd_close_stdout("locality", near ? PSNAP_EXIT_DONE : PSNAP_EXIT_FAILED);
}

/* "total,loop" into the report; false when a word is neither. */
static bool parse_scopes(const char *text, struct locality_report *report)
{
    for (;; text++) {
        const size_t length = strcspn(text, ",");
        if (length == 5 && !strncmp(text, "total", length))
            report->has_total = true;
        else if (length == 4 && !strncmp(text, "loop", length))
            report->has_loops = true;
        else
            return false;
        text += length;
        if (!*text)
            return true;
    }
}

/* What is wrong with the words of the command line; 0 when nothing is. */
static int check(const struct locality_report *report, const struct settings *settings,
                 const char *by)
{
    const char *against = report->sides[LOCALITY_THERE].path;

    if (!report->has_total && !report->has_loops)
        return psnap_cmd_usage("locality", "--by takes total and loop, not '%.100s'", by);
    if (against && !strcmp(against, "-") && !strcmp(report->sides[LOCALITY_HERE].path, "-"))
        return psnap_cmd_usage("locality", "only one side can be standard input");
    if (settings->surface && !surface_can_draw(settings->surface))
        return psnap_cmd_usage("locality", "--surface draws FILE.svg or FILE.png, not '%.200s'",
                               settings->surface);
    if (settings->json && psnap_output_is_stdout(settings->csv))
        return psnap_cmd_usage("locality", "JSON and CSV cannot both go to standard output");
    if (psnap_output_is_same(settings->csv, settings->surface))
        return psnap_cmd_usage("locality", "--csv and --surface are both '%.200s'", settings->csv);
    if (!against && !isnan(settings->max_distance))
        return psnap_cmd_usage("locality", "--max-distance wants something to compare --against");
    if (settings->max_distance < 0)
        return psnap_cmd_usage("locality", "--max-distance: distances are not negative");
    return 0;
}

int psnap_cmd_locality(int argc, char **argv)
{
    struct settings settings = {PSNAP_INPUT_DEFAULTS, PSNAP_INPUT_DEFAULTS, .max_distance = NAN};
    struct locality_report report = {.word_bytes = PSNAP_LOCALITY_WORD_BYTES};
    const char *by = "total,loop";
    const struct psnap_option options[] = {
        {PSNAP_OPTION_TEXT, 0, "surface", &settings.surface, "FILE",
         "draw the surface of the total (or --loop) with gnuplot: FILE.svg, FILE.png"},
        {PSNAP_OPTION_TEXT, 0, "against", &report.sides[LOCALITY_THERE].path, "OTHER",
         "another input: its scores too, and the distance between the surfaces"},
        {PSNAP_OPTION_REAL, 0, "max-distance", &settings.max_distance, "X",
         "exit 1 when the total or a loop of 0.5 % is further apart (0 to 1)"},
        {PSNAP_OPTION_TEXT, 0, "by", &by, "SCOPES", "rows: total,loop (both)"},
        {PSNAP_OPTION_TEXT, 0, "loop", &report.loop, "ID", "only this loop, in figure and CSV too"},
        {PSNAP_OPTION_TEXT, 0, "csv", &settings.csv, "FILE", "write the counts of all surfaces"},
        {PSNAP_OPTION_FLAG, 0, "json", &settings.json, NULL, "print JSON"},
        {PSNAP_OPTION_SIZE, 0, "word", &report.word_bytes, "BYTES", "of a word of the scores (8)"},
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
        "psnap locality INPUT [--surface FILE.svg] [--against OTHER] [--json]",
        "Measures the locality of INPUT (a trace, a profile, or - for standard input),\n"
        "each thread for itself: scores from 0 to 1, spatial (how near to the accesses\n"
        "just before) and temporal (how recently used), the accesses whose address\n"
        "was accessed within the last 64K accesses (reused %), and the strongest strides:\n"
        "'8 90 % (2)' says that 90 % of the accesses find the address 8 bytes below their\n"
        "own accessed, half of them within the last 2. The surface has all strides up to\n"
        "256 bytes and distances up to 64K accesses. LOCALITY.md has the definitions.",
        options};
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    if (operands != 1)
        return psnap_cmd_usage("locality", "one input is needed, not %d", operands);
    report.sides[LOCALITY_HERE].path = argv[1];
    settings.against = settings.input;
    settings.against.from = NULL;
    if (!parse_scopes(by, &report))
        report.has_total = report.has_loops = false;
    status = check(&report, &settings, by);
    if (status)
        return status;
    report.has_total = !report.loop && (report.has_total || settings.surface);
    report.has_loops = report.loop || report.has_loops;
    return run(&report, &settings);
}
