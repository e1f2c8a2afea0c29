/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of psnap locality. A loop is a loop of the source: the parts that the
 * optimiser made of it have one src_id and are one row, and so are those of both
 * sides.
 */
#include "predict/locality/cmd_locality_rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/reals.h"
#include "formats/base/room.h"
#include "formats/base/text.h"

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
static struct locality_row *row_of(struct locality_report *report, bool is_loop, const char *id,
                                   char *name)
{
    struct locality_row *row;

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
    *row = (struct locality_row){.is_loop = is_loop, .id = strdup(id), .name = name};
    report->count += row->id != NULL;
    if (row->id)
        return row;
    free(name);
    return NULL;
}

/* Adds what was measured to a side of a row. */
static bool add(struct locality_row *row, int side, const struct psnap_sink *sink, bool is_total,
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

static bool add_loops(struct locality_report *report, int side, const struct psnap_sink *sink,
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

static bool add_rows(struct locality_report *report, int side, const struct psnap_sink *sink,
                     const struct psnap_program *program)
{
    const char *name = program->provenance.name;

    if (report->has_total &&
        !add(row_of(report, false, "total", strdup(name && *name ? name : "all")), side, sink, true,
             0))
        return false;
    return !report->has_loops || add_loops(report, side, sink, program);
}

enum psnap_status locality_add_side(struct locality_report *report, int side,
                                    const struct psnap_input_options *input,
                                    struct psnap_error *error)
{
    struct locality_side *to = &report->sides[side];
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

static uint64_t accesses_of(const struct locality_row *row, int side)
{
    return row->sides[side] ? row->sides[side]->accesses : 0;
}

static int by_accesses(const void *left, const void *right)
{
    const struct locality_row *a = left, *b = right;

    if (a->is_loop != b->is_loop)
        return a->is_loop - b->is_loop;
    for (int side = 0; side < LOCALITY_SIDES; side++) {
        const uint64_t x = accesses_of(a, side), y = accesses_of(b, side);
        if (x != y)
            return (x < y) - (x > y);
    }
    return strcmp(a->id, b->id);
}

enum psnap_status locality_finish(struct locality_report *report, struct psnap_error *error)
{
    if (!report->count && report->loop)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "no loop '%.200s' has accesses; --by loop lists those that have",
                               report->loop);
    if (report->count)
        qsort(report->rows, report->count, sizeof *report->rows, by_accesses);
    return PSNAP_OK;
}

void locality_release(struct locality_report *report)
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

double locality_row_distance(const struct locality_row *row)
{
    const struct psnap_locality *here = row->sides[LOCALITY_HERE];
    const struct psnap_locality *there = row->sides[LOCALITY_THERE];
    const double distance = here && there ? psnap_locality_distance(here, there) : NAN;

    if (!isnan(distance))
        return distance;
    return accesses_of(row, LOCALITY_HERE) || accesses_of(row, LOCALITY_THERE) ? 1 : 0;
}

double locality_row_share(const struct locality_report *report, const struct locality_row *row,
                          int side)
{
    const uint64_t all = report->sides[side].accesses;

    if (!row->is_loop && row->sides[side])
        return 1;
    return all ? (double)accesses_of(row, side) / (double)all : 0;
}
