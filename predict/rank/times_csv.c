/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Run times as CSV: a record for each case and machine. Columns, in any order: application,
 * machine; seconds (measured), predicted, one of them at least; input, cores where cases have
 * them. Empty run times are missing ones. What this command adds when it writes such a file
 * (error, speed, predicted_speed) follows from these and is passed over; other columns are, with a
 * warning.
 */
#include <math.h>
#include <string.h>

#include "formats/base/room.h"
#include "formats/base/text.h"
#include "predict/csv.h"
#include "predict/rank/times.h"

enum {
    COLUMN_APPLICATION,
    COLUMN_MACHINE,
    COLUMN_SECONDS,
    COLUMN_PREDICTED,
    COLUMN_INPUT,
    COLUMN_CORES,
    COLUMNS,
    COLUMN_DERIVED = COLUMNS, /* these and what follows are passed over */
    KNOWN = COLUMNS + 3,
    NONE = 999
};

static const char *const names[KNOWN] = {"application", "machine", "seconds",
                                         "predicted",   "input",   "cores",
                                         "error",       "speed",   "predicted_speed"};

struct head {
    size_t at[KNOWN]; /* which field; SIZE_MAX: there is none */
    size_t count;     /* of fields */
};

static size_t known(const char *name)
{
    for (size_t i = 0; i < KNOWN; i++)
        if (!strcmp(name, names[i]))
            return i;
    return NONE;
}

static enum psnap_status warn(struct times *times, const struct csv_reader *reader, size_t field,
                              struct psnap_error *error)
{
    const char *name = csv_text(reader, field), *nearest = psnap_text_nearest(name, names, COLUMNS);
    struct psnap_error *warnings = psnap_with_room(times->warnings, &times->warning_room,
                                                   times->warning_count + 1, sizeof *warnings);

    if (!warnings)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the run times");
    times->warnings = warnings;
    if (nearest)
        csv_error(reader, field, &warnings[times->warning_count++],
                  "the column '%.100s' is not read; did you mean '%s'?", name, nearest);
    else
        csv_error(reader, field, &warnings[times->warning_count++],
                  "the column '%.100s' is not read", name);
    return PSNAP_OK;
}

static enum psnap_status need(const struct csv_reader *reader, const struct head *head, int column,
                              struct psnap_error *error)
{
    return head->at[column] != SIZE_MAX
               ? PSNAP_OK
               : csv_error(reader, 0, error,
                           "no column '%s': the first line names the columns, application, "
                           "machine and seconds or predicted at least",
                           names[column]);
}

static enum psnap_status read_head(struct times *times, const struct csv_reader *reader,
                                   struct head *head, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    for (size_t i = 0; i < KNOWN; i++)
        head->at[i] = SIZE_MAX;
    head->count = reader->count;
    for (size_t i = 0; i < reader->count && !status; i++) {
        const size_t column = known(csv_text(reader, i));

        if (column == NONE)
            status = warn(times, reader, i, error);
        else if (head->at[column] != SIZE_MAX)
            status = csv_error(reader, i, error, "the column '%s' is there twice", names[column]);
        else
            head->at[column] = i;
    }
    if (!status)
        status = need(reader, head, COLUMN_APPLICATION, error);
    if (!status)
        status = need(reader, head, COLUMN_MACHINE, error);
    if (!status && head->at[COLUMN_PREDICTED] == SIZE_MAX)
        status = need(reader, head, COLUMN_SECONDS, error);
    return status;
}

/* NULL: there is no such column. */
static const char *text_of(const struct csv_reader *reader, const struct head *head, int column)
{
    return head->at[column] == SIZE_MAX ? NULL : csv_text(reader, head->at[column]);
}

static enum psnap_status read_name(const struct csv_reader *reader, const struct head *head,
                                   int column, const char **text, struct psnap_error *error)
{
    *text = text_of(reader, head, column);
    return **text ? PSNAP_OK
                  : csv_error(reader, head->at[column], error, "the %s has no name", names[column]);
}

static enum psnap_status read_cores(const struct csv_reader *reader, const struct head *head,
                                    uint64_t *cores, struct psnap_error *error)
{
    const char *text = text_of(reader, head, COLUMN_CORES);

    *cores = 0;
    if (!text || !*text)
        return PSNAP_OK;
    return psnap_text_u64(text, cores) && *cores
               ? PSNAP_OK
               : csv_error(reader, head->at[COLUMN_CORES], error,
                           "cores is '%.100s': a number from 1 on is needed", text);
}

static enum psnap_status put(struct times *times, const struct csv_reader *reader,
                             const struct head *head, struct times_record *record,
                             enum times_kind kind, struct psnap_error *error)
{
    const int column = kind == TIMES_MEASURED ? COLUMN_SECONDS : COLUMN_PREDICTED;
    const char *text = text_of(reader, head, column);
    double seconds = NAN;

    if (!text)
        return PSNAP_OK;
    if (*text && (!psnap_text_real(text, &seconds) || !(seconds > 0)))
        return csv_error(reader, head->at[column], error,
                         "%s is '%.100s': a run time above 0 is needed; where there was no run the "
                         "field stays empty",
                         names[column], text);
    record->place.column = reader->fields[head->at[column]].column;
    return times_put(times, record, kind, seconds, error);
}

static enum psnap_status read_record(struct times *times, const struct csv_reader *reader,
                                     const struct head *head, struct psnap_error *error)
{
    struct times_record record = {.place = {reader->path, reader->fields[0].src_line, 1}};
    enum psnap_status status;

    if (reader->count != head->count)
        return csv_error(reader, 0, error, "%zu field%s where the first line has %zu",
                         reader->count, reader->count == 1 ? "" : "s", head->count);
    status = read_name(reader, head, COLUMN_APPLICATION, &record.application, error);
    if (!status)
        status = read_name(reader, head, COLUMN_MACHINE, &record.machine, error);
    if (!status)
        status = read_cores(reader, head, &record.cores, error);
    record.input = text_of(reader, head, COLUMN_INPUT);
    if (!status)
        status = put(times, reader, head, &record, TIMES_MEASURED, error);
    if (!status)
        status = put(times, reader, head, &record, TIMES_PREDICTED, error);
    return status;
}

enum psnap_status times_read_csv(struct times *times, FILE *file, const char *path,
                                 struct psnap_error *error)
{
    struct csv_reader reader;
    struct head head;
    bool has_one = false;
    enum psnap_status status;

    csv_init(&reader, file, path);
    status = csv_next(&reader, &has_one, error);
    if (!status && !has_one) {
        status = psnap_error_set(error, PSNAP_ERROR_SYNTAX, "the file is empty");
        psnap_error_at(error, path, 0, 0);
    }
    if (!status)
        status = read_head(times, &reader, &head, error);
    while (!status && has_one) {
        status = csv_next(&reader, &has_one, error);
        if (!status && has_one)
            status = read_record(times, &reader, &head, error);
    }
    csv_release(&reader);
    return status;
}
