/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap locality: surface and scores of a stream, by loop, perhaps beside those
 * of another. LOCALITY.md defines them and documents JSON and CSV.
 *
 * A loop is a loop of the source: the parts that the optimiser made of it have one src_id and are
 * one row, and so are those of both sides. Figures have strides to the right, distances to the back
 * by powers of two, upwards the share of accesses. Strides are those that occur at all, multiples
 * of what the alignment of addresses leaves, so the grid is as fine as it must be.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/cmd_csv.h"
#include "formats/base/json.h"
#include "formats/base/output.h"
#include "formats/base/reals.h"
#include "formats/base/room.h"
#include "formats/base/text.h"
#include "predict/cmd_gnuplot.h"
#include "predict/locality/cmd_surface.h"
#include "predict/predict.h"
#include "replay/cmd_input.h"

#define RELEVANT 0.005    /* of a side's accesses */
#define STRIDE_SHARE 0.05 /* of the accesses, for a stride to be named */
#define STRIDES_NAMED 3

enum {
    LOCALITY_HERE,
    LOCALITY_THERE,
    LOCALITY_SIDES
}; /* INPUT, and the one that it is held against */

struct row {
    bool is_loop;                                 /* else the whole stream */
    char *id;                                     /* "total", or a loop's src_id */
    char *name;                                   /* for people */
    struct psnap_locality *sides[LOCALITY_SIDES]; /* NULL: it has no accesses on this side */
};

struct side {
    const char *path; /* NULL: there is no such side */
    uint64_t accesses;
    uint32_t threads;
    double seconds;
};

struct report {
    struct side sides[LOCALITY_SIDES];
    uint64_t word_bytes;
    bool has_total, has_loops; /* what rows are wanted */
    const char *loop;          /* the only loop wanted, or NULL */
    struct row *rows;          /* the total first, then loops, those with most accesses first */
    size_t count, room;
};

struct settings {
    struct psnap_input_options input, against;
    const char *surface, *csv; /* files to write, NULL: none */
    double max_distance;       /* NaN: no limit */
    bool json, force;
};

/* --------------------------------------------------------------------- rows */

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the report");
}

/* "f f.c:12", owned by the caller; NULL: out of memory. */
static char *loop_name(const struct psnap_loop *loop)
{
    const bool has_file = loop->file && loop->file[0];
    char place[32] = "", *name = NULL;

    if (has_file && loop->src_line)
        snprintf(place, sizeof place, ":%" PRIu32, loop->src_line);
    if (asprintf(&name, "%s%s%s%s", loop->function ? loop->function : "", has_file ? " " : "",
                 has_file ? loop->file : "", place) < 0)
        return NULL;
    return name;
}

/* The row of an id, a new one when there is none; NULL: out of memory. Owns `name`. */
static struct row *row_of(struct report *report, bool is_loop, const char *id, char *name)
{
    struct row *row;

    for (size_t i = 0; i < report->count; i++)
        if (report->rows[i].is_loop == is_loop && !strcmp(report->rows[i].id, id)) {
            free(name);
            return &report->rows[i];
        }
    row =
        name ? psnap_with_room(report->rows, &report->room, report->count + 1, sizeof *row) : NULL;
    if (!row) {
        free(name);
        return NULL;
    }
    report->rows = row;
    row = &report->rows[report->count];
    *row = (struct row){.is_loop = is_loop, .id = strdup(id), .name = name};
    report->count += row->id != NULL;
    if (row->id)
        return row;
    free(name);
    return NULL;
}

/* Adds what was measured to a side of a row. */
static bool add(struct row *row, int side, const struct psnap_sink *sink, bool is_total,
                uint32_t loop)
{
    if (row && !row->sides[side])
        row->sides[side] = calloc(1, sizeof *row->sides[side]);
    if (!row || !row->sides[side])
        return false;
    if (is_total)
        psnap_locality_add_total(sink, row->sides[side]);
    else
        psnap_locality_add_loop(sink, loop, row->sides[side]);
    return true;
}

static bool add_loops(struct report *report, int side, const struct psnap_sink *sink,
                      const struct psnap_program *program)
{
    for (uint32_t i = 0; i < program->loop_count; i++) {
        const struct psnap_loop *loop = &program->loops[i];
        if (!psnap_locality_loop_accesses(sink, i) ||
            (report->loop && strcmp(report->loop, loop->src_id) != 0))
            continue;
        if (!add(row_of(report, true, loop->src_id, loop_name(loop)), side, sink, false, i))
            return false;
    }
    if (!psnap_locality_loop_accesses(sink, PSNAP_NONE) || report->loop)
        return true;
    return add(row_of(report, true, "?", strdup("unknown")), side, sink, false, PSNAP_NONE);
}

static bool add_rows(struct report *report, int side, const struct psnap_sink *sink,
                     const struct psnap_program *program)
{
    const char *name = program->provenance.name;

    if (report->has_total &&
        !add(row_of(report, false, "total", strdup(name && *name ? name : "all")), side, sink, true,
             0))
        return false;
    return !report->has_loops || add_loops(report, side, sink, program);
}

static enum psnap_status add_side(struct report *report, int side,
                                  const struct psnap_input_options *input,
                                  struct psnap_error *error)
{
    struct side *to = &report->sides[side];
    struct psnap_source *source = psnap_input_open(to->path, input, error);
    struct psnap_sink *sink =
        source ? psnap_locality_new(source->program, report->word_bytes, error) : NULL;
    const double start = psnap_reals_now();
    enum psnap_status status = sink ? psnap_pump(source, sink, &to->accesses, error) : error->code;

    to->seconds = psnap_reals_now() - start;
    if (!status) {
        to->threads = psnap_locality_threads(sink);
        status = add_rows(report, side, sink, source->program) ? PSNAP_OK : no_memory(error);
    }
    psnap_sink_free(sink);
    psnap_source_free(source);
    return status;
}

static uint64_t accesses_of(const struct row *row, int side)
{
    return row->sides[side] ? row->sides[side]->accesses : 0;
}

static int by_accesses(const void *left, const void *right)
{
    const struct row *a = left, *b = right;

    if (a->is_loop != b->is_loop)
        return a->is_loop - b->is_loop;
    for (int side = 0; side < LOCALITY_SIDES; side++) {
        const uint64_t x = accesses_of(a, side), y = accesses_of(b, side);
        if (x != y)
            return (x < y) - (x > y);
    }
    return strcmp(a->id, b->id);
}

static enum psnap_status finish(struct report *report, struct psnap_error *error)
{
    if (!report->count && report->loop)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "no loop '%.200s' has accesses; --by loop lists those that have",
                               report->loop);
    if (report->count)
        qsort(report->rows, report->count, sizeof *report->rows, by_accesses);
    return PSNAP_OK;
}

static void release(struct report *report)
{
    for (size_t i = 0; i < report->count; i++) {
        for (int side = 0; side < LOCALITY_SIDES; side++)
            free(report->rows[i].sides[side]);
        free(report->rows[i].id);
        free(report->rows[i].name);
    }
    free(report->rows);
    report->rows = NULL;
    report->count = report->room = 0;
}

static double row_distance(const struct row *row)
{
    const struct psnap_locality *here = row->sides[LOCALITY_HERE];
    const struct psnap_locality *there = row->sides[LOCALITY_THERE];
    const double distance = here && there ? psnap_locality_distance(here, there) : NAN;

    if (!isnan(distance))
        return distance;
    return accesses_of(row, LOCALITY_HERE) || accesses_of(row, LOCALITY_THERE) ? 1 : 0;
}

static double row_share(const struct report *report, const struct row *row, int side)
{
    const uint64_t all = report->sides[side].accesses;

    if (!row->is_loop && row->sides[side])
        return 1;
    return all ? (double)accesses_of(row, side) / (double)all : 0;
}

/* -------------------------------------------------------------------- figures */

static bool can_draw(const char *path)
{
    return psnap_text_ends_in(path, ".svg") || psnap_text_ends_in(path, ".png");
}

static double share_of(const struct psnap_locality *locality, int s, int k)
{
    return locality->accesses ? (double)locality->surface[s][k] / (double)locality->accesses : 0;
}

/* The largest power of two, up to 8, of which all strides of both sides are multiples. */
static int step_of(const struct row *row)
{
    int step = 8;

    for (int side = 0; side < LOCALITY_SIDES; side++)
        for (int s = 0; row->sides[side] && s < PSNAP_SURFACE_STRIDES; s++)
            for (int k = 0; k < PSNAP_SURFACE_DISTANCES; k++)
                while (row->sides[side]->surface[s][k] && (s - PSNAP_SURFACE_STRIDE_MAX) % step)
                    step /= 2;
    return step;
}

static void write_plot(FILE *script, const struct report *report, int side)
{
    const struct row *row = &report->rows[0];
    char title[1024];

    snprintf(title, sizeof title, "%s%s%s", report->sides[side].path, row->is_loop ? ": " : "",
             row->is_loop ? row->id : "");
    fputs("set title ", script);
    gnuplot_quoted(script, title);
    fprintf(script, " noenhanced\nsplot $side%d using 1:2:3 with pm3d\n", side);
}

static void write_script(FILE *script, const struct report *report, const char *path)
{
    const struct row *row = &report->rows[0];
    const bool is_svg = psnap_text_ends_in(path, ".svg");
    double highest = 0;
    int figures = 0;

    for (int side = 0; side < LOCALITY_SIDES; side++)
        if (row->sides[side]) {
            surface_data(script, row->sides[side], side, step_of(row), true);
            highest = fmax(highest, surface_highest(row->sides[side]));
            figures++;
        }
    fprintf(script, "set terminal %s size %d,%d\n",
            is_svg ? "svg dynamic enhanced" : "pngcairo enhanced", 900 * (figures > 1 ? 2 : 1),
            700);
    surface_axes(script);
    surface_heights(script, highest);
    if (figures > 1)
        fputs("set multiplot layout 1,2\n", script);
    for (int side = 0; side < LOCALITY_SIDES; side++)
        if (row->sides[side])
            write_plot(script, report, side);
    if (figures > 1)
        fputs("unset multiplot\n", script);
}

static enum psnap_status draw(const struct report *report, const char *path, FILE *file,
                              struct psnap_error *error)
{
    FILE *script = gnuplot_script(error);

    if (!script)
        return error->code;
    write_script(script, report, path);
    return gnuplot_draw(script, path, file, error);
}

/* ------------------------------------------------------------------------ CSV */

static void write_row(struct psnap_csv *csv, const struct report *report, const struct row *row,
                      int side)
{
    const struct psnap_locality *locality = row->sides[side];

    for (int s = 0; locality && s < PSNAP_SURFACE_STRIDES; s++)
        for (int k = 0; k < PSNAP_SURFACE_DISTANCES; k++) {
            if (!locality->surface[s][k])
                continue;
            if (report->sides[LOCALITY_THERE].path)
                psnap_csv_text(csv, report->sides[side].path);
            psnap_csv_text(csv, row->is_loop ? "loop" : "total");
            psnap_csv_text(csv, row->id);
            psnap_csv_real(csv, s - PSNAP_SURFACE_STRIDE_MAX);
            psnap_csv_u64(csv, UINT64_C(1) << k);
            psnap_csv_u64(csv, locality->surface[s][k]);
            psnap_csv_real(csv, share_of(locality, s, k));
            psnap_csv_end(csv);
        }
}

static void write_csv(const struct report *report, FILE *file)
{
    struct psnap_csv csv;

    psnap_csv_init(&csv, file);
    if (report->sides[LOCALITY_THERE].path)
        fputs("input,", file);
    fputs("scope,id,stride_bytes,distance_accesses,count,share\n", file);
    for (size_t i = 0; i < report->count; i++)
        for (int side = 0; side < LOCALITY_SIDES; side++)
            write_row(&csv, report, &report->rows[i], side);
}

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

static void print_rows(const struct report *report)
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
        const struct row *row = &report->rows[i];
        const struct psnap_locality *here = row->sides[LOCALITY_HERE];
        psnap_table_cell(table, "%s", row->is_loop ? "loop" : "total");
        psnap_table_cell(table, "%s", row->id);
        psnap_table_cell(table, "%s", row->name);
        psnap_table_cell(table, "%s", psnap_group_digits(here->accesses, digits));
        psnap_table_cell(table, "%.2f", 100 * row_share(report, row, LOCALITY_HERE));
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

static void print_pairs(const struct report *report)
{
    static const char *const headings[] = {"scope",   "id",    "name",     "share %", "other %",
                                           "spatial", "other", "temporal", "other",   "distance"};
    struct psnap_table *table = psnap_table_new(10, headings);

    psnap_table_shorten(table, 1);
    psnap_table_shorten(table, 2);
    for (size_t i = 3; i < 10; i++)
        psnap_table_align_right(table, i);
    for (size_t i = 0; i < report->count; i++) {
        const struct row *row = &report->rows[i];
        psnap_table_cell(table, "%s", row->is_loop ? "loop" : "total");
        psnap_table_cell(table, "%s", row->id);
        psnap_table_cell(table, "%s", row->name);
        for (int side = 0; side < LOCALITY_SIDES; side++)
            psnap_table_cell(table, "%.2f", 100 * row_share(report, row, side));
        for (int side = 0; side < LOCALITY_SIDES; side++)
            score_cell(table, row->sides[side] ? psnap_locality_spatial(row->sides[side]) : NAN);
        for (int side = 0; side < LOCALITY_SIDES; side++)
            score_cell(table, row->sides[side] ? psnap_locality_temporal(row->sides[side]) : NAN);
        psnap_table_cell(table, "%.4f", row_distance(row));
    }
    psnap_table_print(table, stdout);
    psnap_table_free(table);
}

static double rate(const struct side *side)
{
    return side->seconds > 0 ? (double)side->accesses / side->seconds : 0;
}

static void print_table(const struct report *report)
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

static void json_side(struct psnap_json *json, const struct side *side)
{
    psnap_json_text(json, "input", side->path);
    psnap_json_u64(json, "accesses", side->accesses);
    psnap_json_u64(json, "threads", side->threads);
    psnap_json_real(json, "accesses_per_second", rate(side));
}

static void print_json(const struct report *report)
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
        const struct row *row = &report->rows[i];
        psnap_json_begin_object(&json, NULL);
        psnap_json_text(&json, "scope", row->is_loop ? "loop" : "total");
        psnap_json_text(&json, "id", row->id);
        psnap_json_text(&json, "name", row->name);
        json_measured(&json, row->sides[LOCALITY_HERE]);
        if (both) {
            psnap_json_begin_object(&json, "against");
            json_measured(&json, row->sides[LOCALITY_THERE]);
            psnap_json_end_object(&json);
            psnap_json_real(&json, "distance", row_distance(row));
        }
        psnap_json_end_object(&json);
    }
    psnap_json_end_array(&json);
    psnap_json_end_object(&json);
    putchar('\n');
}

/* ------------------------------------------------------------------- the work */

/* Whether all rows that matter are near enough; says so when one is not. */
static bool within_limit(const struct report *report, const struct settings *settings)
{
    for (size_t i = 0; i < report->count && !isnan(settings->max_distance); i++) {
        const struct row *row = &report->rows[i];
        const double here = row_share(report, row, LOCALITY_HERE);
        const double there = row_share(report, row, LOCALITY_THERE);
        if ((here < RELEVANT && there < RELEVANT) || row_distance(row) <= settings->max_distance)
            continue;
        psnap_print(stderr, "psnap locality: %s %s is %.4f apart, more than %g\n",
                    row->is_loop ? "loop" : "total", row->id, row_distance(row),
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

static enum psnap_status write_files(struct files *files, const struct report *report,
                                     const struct settings *settings, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    if (files->surface)
        status = draw(report, settings->surface, psnap_output_file(files->surface), error);
    if (files->csv && !status) {
        write_csv(report, psnap_output_file(files->csv));
        status = psnap_output_commit(files->csv, error);
        files->csv = NULL;
    }
    if (files->surface && !status) {
        status = psnap_output_commit(files->surface, error);
        files->surface = NULL;
    }
    return status;
}

static enum psnap_status measure(struct report *report, const struct settings *settings,
                                 struct psnap_error *error)
{
    enum psnap_status status = add_side(report, LOCALITY_HERE, &settings->input, error);

    if (!status && report->sides[LOCALITY_THERE].path)
        status = add_side(report, LOCALITY_THERE, &settings->against, error);
    return status ? status : finish(report, error);
}

static int run(struct report *report, const struct settings *settings)
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
    release(report);
    if (status)
        return psnap_cmd_fail("locality", &error);
    return psnap_cmd_close_stdout("locality", near ? PSNAP_EXIT_DONE : PSNAP_EXIT_FAILED);
}

/* What is wrong with the words of the command line; 0 when nothing is. */
static int check(const struct report *report, const struct settings *settings)
{
    const char *against = report->sides[LOCALITY_THERE].path;

    if (against && !strcmp(against, "-") && !strcmp(report->sides[LOCALITY_HERE].path, "-"))
        return psnap_cmd_usage("locality", "only one side can be standard input");
    if (settings->surface && !can_draw(settings->surface))
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
    struct report report = {.word_bytes = PSNAP_LOCALITY_WORD_BYTES};
    bool wanted[PSNAP_SCOPE_COUNT] = {false};
    const char *by = "total,loop";
    struct psnap_error error;
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
        PSNAP_INPUT_OPTIONS(settings.input),
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
    status = check(&report, &settings);
    if (status)
        return status;
    if (!psnap_scope_parse_list(by, wanted, &error))
        return psnap_cmd_fail("locality", &error);
    for (int i = 0; i < PSNAP_SCOPE_COUNT; i++)
        if (wanted[i] && i != PSNAP_SCOPE_TOTAL && i != PSNAP_SCOPE_LOOP)
            return psnap_cmd_usage("locality", "--by takes total and loop, not '%.100s'", by);
    report.has_total = !report.loop && (wanted[PSNAP_SCOPE_TOTAL] || settings.surface);
    report.has_loops = report.loop || wanted[PSNAP_SCOPE_LOOP];
    return run(&report, &settings);
}
