/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Observations from CSV: which column is what, and that a row makes sense, cpi = cpi_pipeline +
 * cpi_memory above all, none below 0, cpi above 0.
 */
#include "predict/hybrid/observations.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/arena.h"
#include "formats/base/room.h"
#include "formats/base/text.h"
#include "predict/csv.h"

#define LARGEST 1e30    /* of a number whose square is summed */
#define AGREEMENT 0.005 /* of cpi: by which it may differ from the sum of its parts, as printed */
#define LEVELS OBSERVED_LEVELS_MAX

enum column {
    CODE,
    MACHINE,
    REPLICATE,
    SIZE, /* the first one that is read as a number */
    CPI,
    CPI_PIPELINE,
    CPI_MEMORY,
    HITS, /* from level 2 on */
    LATENCIES = HITS + LEVELS,
    COLUMNS = LATENCIES + LEVELS
};

/* A CSV file that is being read. */
struct table {
    struct observations *observations;
    struct csv_reader csv;
    size_t fields[COLUMNS]; /* which field of a record a column is, plus 1; 0: none */
    size_t count;           /* of fields */
    uint32_t hits;          /* columns of them */
};

/* ---------------------------------------------------------------------------- rows */

void observations_release(struct observations *observations)
{
    free(observations->rows);
}

/* Finds the index of a name, or gives it a new one. */
static enum psnap_status index_of(struct observations *observations, struct names *names,
                                  const char *name, uint32_t *index, struct psnap_error *error)
{
    for (*index = 0; *index < names->count; ++*index)
        if (!strcmp(names->names[*index], name))
            return PSNAP_OK;
    if (names->count == OBSERVED_NAMES_MAX)
        return psnap_error_set(error, PSNAP_ERROR_UNSUPPORTED,
                               "more than %d codes or machines: is this the right column?",
                               OBSERVED_NAMES_MAX);
    names->names[*index] = psnap_arena_strndup(observations->arena, name, strlen(name));
    if (!names->names[*index])
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for observations");
    names->count++;
    return PSNAP_OK;
}

static int compare_numbers(double a, double b)
{
    return (a > b) - (a < b);
}

/* Orders rows by code, machine, size and replicate. */
static int compare_rows(const struct observation *a, const struct observation *b)
{
    int order = compare_numbers(a->code, b->code);

    if (!order)
        order = compare_numbers(a->machine, b->machine);
    if (!order)
        order = compare_numbers(a->size, b->size);
    return order ? order : strcmp(a->replicate, b->replicate);
}

static int compare_for_sorting(const void *left, const void *right)
{
    const struct observation *const a = left, *const b = right;
    const int order = compare_rows(a, b);

    return order ? order : compare_numbers(a->src_line, b->src_line);
}

enum psnap_status observations_sort(struct observations *observations, struct psnap_error *error)
{
    const struct observation *row = observations->rows;
    char size[32];

    if (observations->count)
        qsort(observations->rows, observations->count, sizeof *row, compare_for_sorting);
    for (size_t i = 1; i < observations->count; i++, row++)
        if (*row->replicate && !compare_rows(row, row + 1)) {
            psnap_error_set(error, PSNAP_ERROR_VALUE,
                            "replicate '%.60s' of code '%.60s' on machine '%.60s' at size %.30s is "
                            "in '%.120s' already, on line %" PRIu32
                            ": number replicates, or leave one out",
                            row->replicate, observations->codes.names[row->code],
                            observations->machines.names[row->machine],
                            psnap_text_from_real(row->size, size), row->path, row->src_line);
            psnap_error_at(error, row[1].path, row[1].src_line, 0);
            return PSNAP_ERROR_VALUE;
        }
    return PSNAP_OK;
}

/* ------------------------------------------------------------------------- columns */

static const char *column_name(size_t column, char buffer[32])
{
    static const char *const plain[HITS] = {"code", "machine",      "replicate", "size",
                                            "cpi",  "cpi_pipeline", "cpi_memory"};

    if (column < HITS)
        return plain[column];
    snprintf(buffer, 32, "%s%zu", column < LATENCIES ? "hits" : "latency",
             (column - HITS) % LEVELS + 2);
    return buffer;
}

static void warn(struct table *table, size_t field, const char *message)
{
    struct observations *const observations = table->observations;

    if (observations->warning_count < OBSERVED_WARNINGS_MAX)
        csv_error(&table->csv, field, &observations->warnings[observations->warning_count++],
                  "'%.60s' %s", csv_text(&table->csv, field), message);
}

/* Refuses a table without a column that the analysis cannot do without. */
static enum psnap_status check_columns(struct table *table, struct psnap_error *error)
{
    const size_t *const fields = table->fields;
    char lacks[32];

    if (!fields[CODE] || !fields[MACHINE] || !fields[SIZE])
        return csv_error(&table->csv, 0, error,
                         "there are no columns 'code', 'machine' and 'size': the first line names "
                         "the columns, separated by commas: code,machine,size,replicate,cpi");
    if (!fields[CPI] && !(fields[CPI_PIPELINE] && fields[CPI_MEMORY]))
        return csv_error(&table->csv, 0, error,
                         "no column 'cpi', nor 'cpi_pipeline' and 'cpi_memory', whose sum it is");
    while (table->hits < LEVELS && fields[HITS + table->hits])
        table->hits++;
    for (uint32_t l = table->hits; l < LEVELS; l++)
        if (fields[HITS + l])
            return csv_error(&table->csv, fields[HITS + l] - 1, error,
                             "there is no column '%s': all levels are needed",
                             column_name(HITS + table->hits, lacks));
    return PSNAP_OK;
}

static enum psnap_status read_columns(struct table *table, struct psnap_error *error)
{
    char name[32];

    table->count = table->csv.count;
    for (size_t i = 0; i < table->count; i++) {
        size_t column = 0;
        while (column < COLUMNS && strcmp(csv_text(&table->csv, i), column_name(column, name)) != 0)
            column++;
        if (column == COLUMNS)
            warn(table, i, "is no column that is read");
        else if (table->fields[column])
            return csv_error(&table->csv, i, error, "two columns are called '%s'",
                             column_name(column, name));
        else
            table->fields[column] = i + 1;
    }
    return check_columns(table, error);
}

/* ------------------------------------------------------------------------- records */

static const char *text_of(const struct table *table, size_t column)
{
    return table->fields[column] ? csv_text(&table->csv, table->fields[column] - 1) : "";
}

/* Takes the numbers of a record by column; NAN where there is none. */
static enum psnap_status take_numbers(const struct table *table, double values[COLUMNS],
                                      struct psnap_error *error)
{
    char name[32];

    for (size_t c = SIZE; c < COLUMNS; c++) {
        const char *const text = text_of(table, c);
        const bool is_above = c <= CPI || c >= LATENCIES;
        uint64_t whole;
        values[c] = NAN;
        if (c == SIZE && psnap_text_size(text, &whole))
            values[c] = (double)whole;
        else if (*text && !psnap_text_real(text, &values[c]))
            values[c] = INFINITY;
        if (values[c] < 0 || values[c] > LARGEST || (is_above && values[c] == 0))
            return csv_error(&table->csv, table->fields[c] - 1, error,
                             "%s is '%.60s': a number %s is needed; leave out what could not be "
                             "measured",
                             column_name(c, name), text, is_above ? "above 0" : "from 0 on");
    }
    if (isnan(values[SIZE]))
        return csv_error(&table->csv, table->fields[SIZE] - 1, error, "there is no size");
    return PSNAP_OK;
}

/* Takes cpi and its parts: one that is not there follows from the others. */
static enum psnap_status take_cpi(const struct table *table, const double values[COLUMNS],
                                  struct observation *row, struct psnap_error *error)
{
    const size_t field = table->fields[table->fields[CPI] ? CPI : CPI_PIPELINE] - 1;
    double cpi = values[CPI], pipeline = values[CPI_PIPELINE], memory = values[CPI_MEMORY];

    if (isnan(cpi))
        cpi = pipeline + memory;
    if (isnan(memory))
        memory = cpi - pipeline;
    if (isnan(pipeline))
        pipeline = cpi - memory;
    if (!(cpi > 0))
        return csv_error(&table->csv, field, error,
                         "there is no cpi: a number above 0 is needed; leave out runs that failed");
    if (pipeline < 0 || memory < 0 || fabs(pipeline + memory - cpi) > AGREEMENT * cpi)
        return csv_error(&table->csv, field, error,
                         "cpi is %g, cpi_pipeline %g and cpi_memory %g: parts have to add up, none "
                         "below 0",
                         cpi, pipeline, memory);
    row->cpi = cpi;
    row->cpi_pipeline = pipeline;
    row->cpi_memory = memory;
    return PSNAP_OK;
}

static enum psnap_status read_record(struct table *table, struct psnap_error *error)
{
    struct observations *const observations = table->observations;
    const char *const code = text_of(table, CODE), *const machine = text_of(table, MACHINE);
    const char *const replicate = text_of(table, REPLICATE);
    struct observation row = {.path = table->csv.path, .src_line = table->csv.src_line};
    double values[COLUMNS], hits = 0;
    enum psnap_status status;

    if (table->csv.count != table->count)
        return csv_error(&table->csv, table->csv.count > table->count ? table->count : 0, error,
                         "%zu fields, but there are %zu columns", table->csv.count, table->count);
    if (!*code || !*machine)
        return csv_error(&table->csv, 0, error, "the code or the machine has no name");
    status = index_of(observations, &observations->codes, code, &row.code, error);
    if (!status)
        status = index_of(observations, &observations->machines, machine, &row.machine, error);
    if (!status)
        status = take_numbers(table, values, error);
    if (!status)
        status = take_cpi(table, values, &row, error);
    if (status)
        return status;
    row.size = values[SIZE];
    memcpy(row.hits, &values[HITS], sizeof row.hits);
    memcpy(row.latencies, &values[LATENCIES], sizeof row.latencies);
    for (uint32_t l = 0; l < table->hits; l++)
        hits += row.hits[l];
    row.levels = isnan(hits) ? 0 : table->hits;
    if (hits > 1)
        warn(table, 0, "has more than one hit per instruction: are they counts or percent?");
    row.replicate = psnap_arena_strndup(observations->arena, replicate, strlen(replicate));
    if (!row.replicate || !psnap_make_room(&observations->rows, &observations->room,
                                           observations->count + 1, sizeof row))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for observations");
    observations->rows[observations->count++] = row;
    return PSNAP_OK;
}

enum psnap_status observations_read(struct observations *observations, FILE *file, const char *path,
                                    struct psnap_error *error)
{
    struct table table = {.observations = observations, .csv = {.file = file, .path = path}};
    const size_t before = observations->count;
    bool has_one;
    enum psnap_status status = csv_next(&table.csv, &has_one, error);

    if (!status && has_one)
        status = read_columns(&table, error);
    while (!status && has_one) {
        status = csv_next(&table.csv, &has_one, error);
        if (!status && has_one)
            status = read_record(&table, error);
    }
    if (!status && observations->count == before) {
        status = psnap_error_set(error, PSNAP_ERROR_VALUE,
                                 "there are no observations in it: the first line names the "
                                 "columns, the others have values");
        psnap_error_at(error, path, 0, 0);
    }
    csv_release(&table.csv);
    return status;
}
