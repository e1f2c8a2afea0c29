/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Observations from CSV: which column is what, and that a row makes sense. What has to be:
 *
 *     cpi = cpi_pipeline + cpi_memory, none below 0, cpi above 0;
 *     h_i = accesses per instruction x (H_i - H_(i-1)) of cumulative hit rates H_i, which cannot
 *     fall with the level, and 1 - H_n of memory.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "formats/base/arena.h"
#include "formats/base/text.h"
#include "predict/csv.h"
#include "predict/hybrid/observations.h"

#define NAMES_MAX 4096  /* of codes, of machines, and of sizes */
#define LARGEST 1e30    /* of a number whose square is summed */
#define AGREEMENT 0.005 /* of cpi: by which it may differ from the sum of its parts, as printed */

enum column {
    COLUMN_CODE,
    COLUMN_MACHINE,
    COLUMN_SIZE,
    COLUMN_REPLICATE,
    COLUMN_CPI,
    COLUMN_CPI_PIPELINE,
    COLUMN_CPI_MEMORY,
    COLUMN_ACCESSES,
    COLUMN_M0,
    COLUMN_M0_FITTED,
    COLUMN_PLAIN,               /* so many have one name */
    COLUMN_HITS = COLUMN_PLAIN, /* of level 1, 2 ... */
    COLUMN_HIT_RATES = COLUMN_HITS + OBSERVED_LEVELS_MAX + 1,
    COLUMN_LATENCIES = COLUMN_HIT_RATES + OBSERVED_LEVELS_MAX + 1,
    COLUMNS = COLUMN_LATENCIES + OBSERVED_LEVELS_MAX + 1
};

static const char *const plain_names[COLUMN_PLAIN] = {
    "code", "machine",      "size",       "replicate",
    "cpi",  "cpi_pipeline", "cpi_memory", "accesses_per_instruction",
    "m0",   "m0_fitted"};
/* The last two are one. */
static const char *const level_names[] = {"hits", "hit_rate", "latency", "cumulative_hit_rate"};
static const int level_columns[] = {COLUMN_HITS, COLUMN_HIT_RATES, COLUMN_LATENCIES,
                                    COLUMN_HIT_RATES};

struct layout {
    size_t fields[COLUMNS];          /* which field of a record, plus 1; 0: none */
    size_t count;                    /* of fields of a record */
    uint32_t hits, rates, latencies; /* the highest level that there is a column of; 0: none */
};

/* ---------------------------------------------------------------------- columns */

/* COLUMNS: nobody knows it. */
static int column_of(const char *name)
{
    for (int i = 0; i < COLUMN_PLAIN; i++)
        if (!strcmp(name, plain_names[i]))
            return i;
    for (size_t i = 0; i < sizeof level_names / sizeof level_names[0]; i++) {
        const size_t length = strlen(level_names[i]);
        const char *rest = name + length;
        uint64_t level;
        if (strncmp(name, level_names[i], length) != 0)
            continue;
        rest += *rest == '_';
        rest += *rest == 'l' || *rest == 'L';
        if (psnap_text_u64(rest, &level) && level >= 1 &&
            level <= OBSERVED_LEVELS_MAX + (level_columns[i] != COLUMN_HIT_RATES)) /* and memory */
            return level_columns[i] + (int)level - 1;
    }
    return COLUMNS;
}

static void warn_of_column(struct observations *observations, const struct csv_reader *reader,
                           size_t field)
{
    const char *names[COLUMN_PLAIN];
    const char *nearest;
    char hint[80] = "";

    if (observations->warning_count == OBSERVED_WARNINGS_MAX)
        return;
    memcpy(names, plain_names, sizeof names);
    nearest = psnap_text_nearest(csv_text(reader, field), names, COLUMN_PLAIN);
    if (nearest)
        snprintf(hint, sizeof hint, "; did you mean '%s'?", nearest);
    csv_error(reader, field, &observations->warnings[observations->warning_count++],
              "the column '%.60s' is not read%s", csv_text(reader, field), hint);
}

/* The highest level of a kind of columns, which has to have all from `first` on. */
static enum psnap_status count_levels(const struct layout *layout, int kind, uint32_t first,
                                      uint32_t *highest, const struct csv_reader *reader,
                                      struct psnap_error *error)
{
    const int from = level_columns[kind];

    *highest = 0;
    for (uint32_t level = OBSERVED_LEVELS_MAX + 1; level >= first; level--) {
        const bool has = layout->fields[from + (int)level - 1] != 0;
        if (has && !*highest)
            *highest = level;
        else if (!has && *highest)
            return csv_error(reader, layout->fields[from + (int)*highest - 1] - 1, error,
                             "there is a column '%s%" PRIu32 "', but no '%s%" PRIu32
                             "': all levels are needed, from %" PRIu32 " on",
                             level_names[kind], *highest, level_names[kind], level, first);
    }
    return PSNAP_OK;
}

/* The columns that an analysis cannot do without. */
static enum psnap_status check_columns(const struct layout *layout, const struct csv_reader *reader,
                                       struct psnap_error *error)
{
    const size_t *const fields = layout->fields;

    for (int i = COLUMN_CODE; i <= COLUMN_SIZE; i++)
        if (!fields[i])
            return csv_error(reader, 0, error,
                             "no column '%s': the first line names the columns, separated by "
                             "commas: code,machine,size,replicate,cpi",
                             plain_names[i]);
    if (!fields[COLUMN_CPI] && !(fields[COLUMN_CPI_PIPELINE] && fields[COLUMN_CPI_MEMORY]))
        return csv_error(reader, 0, error,
                         "no column 'cpi', nor 'cpi_pipeline' and 'cpi_memory', which it is the "
                         "sum of");
    if (layout->hits && layout->rates)
        return csv_error(reader, fields[COLUMN_HIT_RATES] - 1, error,
                         "there are columns 'hits' and 'hit_rate', which say the same: leave one "
                         "kind out");
    return PSNAP_OK;
}

static enum psnap_status read_columns(struct layout *layout, struct observations *observations,
                                      const struct csv_reader *reader, struct psnap_error *error)
{
    enum psnap_status status;

    *layout = (struct layout){.count = reader->count};
    for (size_t i = 0; i < reader->count; i++) {
        const int column = column_of(csv_text(reader, i));
        if (column == COLUMNS)
            warn_of_column(observations, reader, i);
        else if (layout->fields[column])
            return csv_error(reader, i, error, "two columns are called '%.60s'",
                             csv_text(reader, i));
        else
            layout->fields[column] = i + 1;
    }
    status = count_levels(layout, 0, 2, &layout->hits, reader, error);
    if (!status)
        status = count_levels(layout, 1, 1, &layout->rates, reader, error);
    if (!status)
        status = count_levels(layout, 2, 2, &layout->latencies, reader, error);
    return status ? status : check_columns(layout, reader, error);
}

/* ------------------------------------------------------------------------- rows */

/* A record that is read. */
struct record {
    const struct csv_reader *reader;
    const struct layout *layout;
    struct psnap_error *error;
};

static const char *text_of(const struct record *record, int column)
{
    const size_t field = record->layout->fields[column];

    return field ? csv_text(record->reader, field - 1) : "";
}

/* Of a column, as it is written. */
static const char *name_of(int column, char buffer[32])
{
    const int kind = (column - COLUMN_PLAIN) / (OBSERVED_LEVELS_MAX + 1);
    const int level = (column - COLUMN_PLAIN) % (OBSERVED_LEVELS_MAX + 1) + 1;

    if (column < COLUMN_PLAIN)
        return plain_names[column];
    snprintf(buffer, 32, "%s%d", level_names[kind], level);
    return buffer;
}

/* A number that is at least 0, or above it; NAN where there is nothing. */
static enum psnap_status take_number(const struct record *record, int column, bool above,
                                     double *value)
{
    const char *text = text_of(record, column);
    const size_t field = record->layout->fields[column] - 1;
    char name[32];

    *value = NAN;
    if (!*text)
        return PSNAP_OK;
    if (!psnap_text_real(text, value))
        return csv_error(record->reader, field, record->error,
                         "%s is '%.60s': a finite number is needed; leave out what could not be "
                         "measured",
                         name_of(column, name), text);
    if (*value < 0 || (above && *value <= 0))
        return csv_error(record->reader, field, record->error,
                         "%s is %.60s, and cannot be %s: is it the difference of two measurements "
                         "that are not of the same run?",
                         name_of(column, name), text, *value < 0 ? "below 0" : "0");
    if (*value > LARGEST)
        return csv_error(record->reader, field, record->error,
                         "%s is %.60s, which is too large: is it of this column?",
                         name_of(column, name), text);
    return PSNAP_OK;
}

/* A number, or where the first one was none, a name. */
static enum psnap_status take_size(const struct record *record, struct observations *observations,
                                   double *size)
{
    const char *text = text_of(record, COLUMN_SIZE);
    const size_t field = record->layout->fields[COLUMN_SIZE] - 1;
    bool is_number = psnap_text_real(text, size);
    uint64_t whole;
    uint32_t index;

    if (!is_number && psnap_text_size(text, &whole)) {
        *size = (double)whole;
        is_number = true;
    }
    if (!*text || !strcasecmp(text, "nan") || !strcasecmp(text, "inf") ||
        (is_number && !(*size > 0)))
        return csv_error(record->reader, field, record->error,
                         "size is '%.60s': a number above 0 is needed, or a name", text);
    if (observations->count && is_number == (observations->sizes.count > 0))
        return csv_error(record->reader, field, record->error,
                         "size is '%.60s', but others are %s: all numbers, or all names", text,
                         is_number ? "names" : "numbers");
    if (is_number)
        return PSNAP_OK;
    index = observations_name(observations, &observations->sizes, text);
    if (index == UINT32_MAX)
        return psnap_error_set(record->error, PSNAP_ERROR_MEMORY, "out of memory for observations");
    *size = index + 1.0;
    return PSNAP_OK;
}

/* The parts of cpi: one that is not there is the difference of the others. */
static enum psnap_status take_parts(const struct record *record, struct observation *row)
{
    const size_t *const fields = record->layout->fields;
    const int column = fields[COLUMN_CPI] ? COLUMN_CPI : COLUMN_CPI_PIPELINE;
    enum psnap_status status = take_number(record, COLUMN_CPI, true, &row->cpi);

    if (!status)
        status = take_number(record, COLUMN_CPI_PIPELINE, false, &row->cpi_pipeline);
    if (!status)
        status = take_number(record, COLUMN_CPI_MEMORY, false, &row->cpi_memory);
    if (status)
        return status;
    if (isnan(row->cpi))
        row->cpi = row->cpi_pipeline + row->cpi_memory;
    if (!(row->cpi > 0))
        return csv_error(record->reader, fields[column] - 1, record->error,
                         "there is no cpi: a number above 0 is needed; leave out runs that failed");
    if (isnan(row->cpi_memory))
        row->cpi_memory = row->cpi - row->cpi_pipeline;
    if (row->cpi_memory < 0)
        return csv_error(record->reader, fields[COLUMN_CPI_PIPELINE] - 1, record->error,
                         "cpi_pipeline is %g, more than cpi, %g: nothing is left for memory",
                         row->cpi_pipeline, row->cpi);
    if (isnan(row->cpi_pipeline))
        row->cpi_pipeline = row->cpi - row->cpi_memory;
    if (row->cpi_pipeline < 0)
        return csv_error(record->reader, fields[COLUMN_CPI_MEMORY] - 1, record->error,
                         "cpi_memory is %g, more than cpi, %g: nothing is left for the pipeline",
                         row->cpi_memory, row->cpi);
    if (fabs(row->cpi_pipeline + row->cpi_memory - row->cpi) > AGREEMENT * row->cpi)
        return csv_error(record->reader, fields[column] - 1, record->error,
                         "cpi is %g, but cpi_pipeline and cpi_memory add up to %g", row->cpi,
                         row->cpi_pipeline + row->cpi_memory);
    return PSNAP_OK;
}

/* h_i as they are. */
static enum psnap_status take_hits(const struct record *record, struct observation *row)
{
    enum psnap_status status = PSNAP_OK;
    bool has_all = record->layout->hits > 0;

    for (uint32_t level = 2; level <= record->layout->hits && !status; level++) {
        status = take_number(record, COLUMN_HITS + (int)level - 1, false, &row->hits[level - 2]);
        has_all &= !isnan(row->hits[level - 2]);
    }
    if (has_all)
        row->levels = record->layout->hits - 1;
    return status;
}

/* h_i from cumulative rates. */
static enum psnap_status take_rates(const struct record *record, struct observation *row)
{
    const uint32_t caches = record->layout->rates;
    double rates[OBSERVED_LEVELS_MAX + 1], accesses;
    enum psnap_status status = take_number(record, COLUMN_ACCESSES, false, &accesses);
    bool has_all = !isnan(accesses);

    for (uint32_t i = 0; i < caches && !status; i++) {
        const int column = COLUMN_HIT_RATES + (int)i;
        const size_t field = record->layout->fields[column] - 1;
        status = take_number(record, column, false, &rates[i]);
        has_all &= !isnan(rates[i]);
        if (!status && rates[i] > 1)
            return csv_error(record->reader, field, record->error,
                             "hit_rate%" PRIu32 " is %g: rates are shares, from 0 to 1", i + 1,
                             rates[i]);
        if (!status && i && rates[i] < rates[i - 1])
            return csv_error(record->reader, field, record->error,
                             "hit_rate%" PRIu32 " is %g, below hit_rate%" PRIu32
                             ", %g: rates are cumulative, of all accesses those satisfied at this "
                             "level or nearer, and cannot fall with the level; make them of local "
                             "rates r by H_i = H_(i-1) + (1 - H_(i-1)) r_i",
                             i + 1, rates[i], i, rates[i - 1]);
    }
    if (status || !has_all)
        return status;
    for (uint32_t i = 1; i <= caches; i++)
        row->hits[i - 1] = accesses * ((i < caches ? rates[i] : 1) - rates[i - 1]);
    row->levels = caches;
    return PSNAP_OK;
}

static enum psnap_status take_latencies(const struct record *record, struct observation *row)
{
    enum psnap_status status = PSNAP_OK;

    for (uint32_t level = 2; level <= record->layout->latencies && !status; level++)
        status = take_number(record, COLUMN_LATENCIES + (int)level - 1, true,
                             &row->latencies[level - 2]);
    return status;
}

static enum psnap_status take_names(const struct record *record, struct observations *observations,
                                    struct observation *row)
{
    const char *replicate = text_of(record, COLUMN_REPLICATE);

    for (int column = COLUMN_CODE; column <= COLUMN_MACHINE; column++)
        if (!*text_of(record, column))
            return csv_error(record->reader, record->layout->fields[column] - 1, record->error,
                             "the %s has no name", plain_names[column]);
    row->code = observations_name(observations, &observations->codes, text_of(record, COLUMN_CODE));
    row->machine =
        observations_name(observations, &observations->machines, text_of(record, COLUMN_MACHINE));
    if (*replicate)
        row->replicate = psnap_arena_strndup(observations->arena, replicate, strlen(replicate));
    if (row->code == UINT32_MAX || row->machine == UINT32_MAX || (*replicate && !row->replicate))
        return psnap_error_set(record->error, PSNAP_ERROR_MEMORY, "out of memory for observations");
    if (observations->codes.count > NAMES_MAX || observations->machines.count > NAMES_MAX ||
        observations->sizes.count > NAMES_MAX)
        return csv_error(
            record->reader, 0, record->error,
            "more than %d codes, machines or names of sizes: is this the right column?", NAMES_MAX);
    return PSNAP_OK;
}

static enum psnap_status read_row(struct observations *observations, const struct record *record)
{
    struct observation row = {.path = record->reader->path,
                              .src_line = record->reader->fields[0].src_line};
    enum psnap_status status;

    for (int i = 0; i < OBSERVED_LEVELS_MAX; i++)
        row.hits[i] = row.latencies[i] = NAN;
    if (record->reader->count != record->layout->count)
        return csv_error(record->reader,
                         record->reader->count > record->layout->count ? record->layout->count : 0,
                         record->error, "%zu fields, but there are %zu columns",
                         record->reader->count, record->layout->count);
    status = take_names(record, observations, &row);
    if (!status)
        status = take_size(record, observations, &row.size);
    if (!status)
        status = take_parts(record, &row);
    if (!status)
        status = record->layout->rates ? take_rates(record, &row) : take_hits(record, &row);
    if (!status)
        status = take_latencies(record, &row);
    return status ? status : observations_add(observations, &row, record->error);
}

enum psnap_status observations_read(struct observations *observations, FILE *file, const char *path,
                                    struct psnap_error *error)
{
    struct csv_reader reader;
    struct layout layout;
    bool has_one = false;
    const size_t before = observations->count;
    enum psnap_status status;

    csv_init(&reader, file, path);
    status = csv_next(&reader, &has_one, error);
    if (!status && has_one)
        status = read_columns(&layout, observations, &reader, error);
    while (!status && has_one) {
        const struct record record = {&reader, &layout, error};
        status = csv_next(&reader, &has_one, error);
        if (!status && has_one)
            status = read_row(observations, &record);
    }
    if (!status && observations->count == before) {
        status = psnap_error_set(error, PSNAP_ERROR_VALUE,
                                 "there are no observations in it: the first line names the "
                                 "columns, the others have values");
        psnap_error_at(error, path, 0, 0);
    }
    csv_release(&reader);
    return status;
}
