/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A table of run times: a row for each case, which grows by cells as machines come; cases and
 * machines are in the order in which they came. A case is searched for from the one that was found
 * last, as tables have the machines of a case beside each other, or the cases of a machine in the
 * same order for all machines.
 */
#include "predict/rank/times.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

void times_release(struct times *times)
{
    for (size_t i = 0; i < times->case_count; i++) {
        free(times->cases[i].application);
        free(times->cases[i].input);
        free(times->cases[i].cells);
    }
    for (size_t i = 0; i < times->machine_count; i++)
        free(times->machines[i]);
    free(times->cases);
    free(times->machines);
    free(times->warnings);
    *times = (struct times){0};
}

size_t times_machine(const struct times *times, const char *name)
{
    for (size_t i = 0; i < times->machine_count; i++)
        if (!strcmp(times->machines[i], name))
            return i;
    return SIZE_MAX;
}

double times_get(const struct times *times, size_t index, size_t machine, enum times_kind kind)
{
    const struct times_case *one = &times->cases[index];

    return machine < one->count ? one->cells[machine].seconds[kind] : NAN;
}

char *times_case_name(const struct times_case *one, char *text, size_t size)
{
    char cores[40] = "";

    if (one->cores)
        snprintf(cores, sizeof cores, ", %" PRIu64 " cores", one->cores);
    snprintf(text, size, "%s%s%s%s", one->application, *one->input ? ", " : "", one->input, cores);
    return text;
}

static enum psnap_status fail(const struct times_record *record, enum psnap_status code,
                              const char *message, struct psnap_error *error)
{
    psnap_error_set(error, code, "%s", message);
    psnap_error_at(error, record->place.path, record->place.src_line, record->place.column);
    return code;
}

static enum psnap_status out_of_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the run times");
}

static enum psnap_status find_machine(struct times *times, const struct times_record *record,
                                      size_t *index, struct psnap_error *error)
{
    char **machines, *name;

    *index = times_machine(times, record->machine);
    if (*index != SIZE_MAX)
        return PSNAP_OK;
    if (times->machine_count == TIMES_MACHINES_MAX)
        return fail(record, PSNAP_ERROR_MEMORY,
                    "more than 256 machines: are machine and application confused?", error);
    machines = psnap_with_room(times->machines, &times->machine_room, times->machine_count + 1,
                               sizeof *machines);
    if (!machines)
        return out_of_memory(error);
    times->machines = machines;
    name = strdup(record->machine);
    if (!name)
        return out_of_memory(error);
    *index = times->machine_count;
    machines[times->machine_count++] = name;
    return PSNAP_OK;
}

static bool is_case(const struct times_case *one, const struct times_record *record, uint64_t cores)
{
    return one->cores == cores && !strcmp(one->application, record->application) &&
           !strcmp(one->input, record->input ? record->input : "");
}

static enum psnap_status find_case(struct times *times, const struct times_record *record,
                                   struct times_case **found, struct psnap_error *error)
{
    const uint64_t cores = record->cores > 1 ? record->cores : 0;
    struct times_case *cases, one = {.cores = cores};

    for (size_t n = 0; n < times->case_count; n++) {
        const size_t i = (times->recent + n) % times->case_count;

        if (is_case(&times->cases[i], record, cores)) {
            *found = &times->cases[i];
            times->recent = i;
            return PSNAP_OK;
        }
    }
    if (times->case_count == TIMES_CASES_MAX)
        return fail(record, PSNAP_ERROR_MEMORY, "more than 4096 cases", error);
    cases = psnap_with_room(times->cases, &times->case_room, times->case_count + 1, sizeof *cases);
    if (!cases)
        return out_of_memory(error);
    times->cases = cases;
    one.application = strdup(record->application);
    one.input = strdup(record->input ? record->input : "");
    if (!one.application || !one.input) {
        free(one.application);
        free(one.input);
        return out_of_memory(error);
    }
    times->recent = times->case_count;
    *found = &cases[times->case_count++];
    **found = one;
    return PSNAP_OK;
}

static enum psnap_status find_cell(struct times_case *one, size_t machine, struct times_cell **cell,
                                   struct psnap_error *error)
{
    struct times_cell *cells =
        psnap_with_room(one->cells, &one->room, machine + 1, sizeof *one->cells);

    if (!cells)
        return out_of_memory(error);
    one->cells = cells;
    for (; one->count <= machine; one->count++)
        cells[one->count] = (struct times_cell){.seconds = {NAN, NAN}};
    *cell = &cells[machine];
    return PSNAP_OK;
}

static enum psnap_status is_there(const struct times_case *one, const struct times_record *record,
                                  const struct times_place *first, struct psnap_error *error)
{
    const bool is_other_file = strcmp(first->path, record->place.path) != 0;
    char name[160];

    psnap_error_set(
        error, PSNAP_ERROR_VALUE,
        "a run time of '%s' on '%.80s' is there already, from line %" PRIu32 " of '%.80s': %s",
        times_case_name(one, name, sizeof name), record->machine, first->src_line, first->path,
        is_other_file ? "where the files are of two machines of this name, NAME=FILE "
                        "gives one another name; else another run needs another input "
                        "or number of cores"
                      : "runs that differ need another input or number of cores");
    psnap_error_at(error, record->place.path, record->place.src_line, record->place.column);
    return PSNAP_ERROR_VALUE;
}

/* Gives the machine of a file its new name. */
static enum psnap_status rename_machine(struct times *times, struct times_record *record,
                                        struct psnap_error *error)
{
    if (!times->old_name) {
        times->old_name = strdup(record->machine);
        if (!times->old_name)
            return out_of_memory(error);
    }
    if (strcmp(times->old_name, record->machine) != 0) {
        psnap_error_set(error, PSNAP_ERROR_VALUE,
                        "'%.80s' was to name the machine of a file that has two, '%.80s' and "
                        "'%.80s'",
                        times->new_name, times->old_name, record->machine);
        psnap_error_at(error, record->place.path, record->place.src_line, record->place.column);
        return PSNAP_ERROR_VALUE;
    }
    record->machine = times->new_name;
    return PSNAP_OK;
}

/* times_put with the name that the table has for the machine. */
static enum psnap_status put(struct times *times, const struct times_record *record,
                             enum times_kind kind, double seconds, struct psnap_error *error)
{
    struct times_case *one = NULL;
    struct times_cell *cell = NULL;
    size_t machine = 0;
    enum psnap_status status;

    if (seconds <= 0 || isinf(seconds))
        return fail(record, PSNAP_ERROR_VALUE,
                    "a run time has to be above 0 seconds; where there was no run it is left empty",
                    error);
    status = find_machine(times, record, &machine, error);
    if (!status)
        status = find_case(times, record, &one, error);
    if (!status)
        status = find_cell(one, machine, &cell, error);
    if (status)
        return status;
    if (cell->places[kind].path)
        return is_there(one, record, &cell->places[kind], error);
    cell->seconds[kind] = seconds;
    cell->places[kind] = record->place;
    times->has[kind] |= !isnan(seconds);
    return PSNAP_OK;
}

enum psnap_status times_put(struct times *times, const struct times_record *record,
                            enum times_kind kind, double seconds, struct psnap_error *error)
{
    struct times_record renamed = *record;
    const enum psnap_status status =
        times->new_name ? rename_machine(times, &renamed, error) : PSNAP_OK;

    return status ? status : put(times, &renamed, kind, seconds, error);
}

enum psnap_status times_read(struct times *times, FILE *file, const struct times_file *how,
                             struct psnap_error *error)
{
    const int first = getc(file);
    enum psnap_status status;

    if (first != EOF)
        ungetc(first, file);
    times->new_name = how->machine;
    status = first == '{' ? times_read_json(times, file, how->path, how->method, error)
                          : times_read_csv(times, file, how->path, error);
    free(times->old_name);
    times->new_name = times->old_name = NULL;
    return status;
}

/* How many machines have a time of this case. */
static size_t machines_of(const struct times *times, size_t index, enum times_kind kind)
{
    size_t count = 0;

    for (size_t m = 0; m < times->machine_count; m++)
        count += isnan(times_get(times, index, m, kind)) ? 0 : 1;
    return count;
}

enum psnap_status times_check(const struct times *times, enum times_kind kind,
                              struct psnap_error *error)
{
    if (!times->machine_count || !times->has[kind])
        return psnap_error_set(error, PSNAP_ERROR_VALUE, "there are no run times");
    if (times->machine_count == 1)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "all run times are of one machine, '%.200s': a ranking needs two",
                               times->machines[0]);
    for (size_t i = 0; i < times->case_count; i++)
        if (machines_of(times, i, kind) > 1)
            return PSNAP_OK;
    return psnap_error_set(error, PSNAP_ERROR_VALUE,
                           "no case has %s run times of two machines: are application, input and "
                           "cores written alike for all machines?",
                           kind == TIMES_PREDICTED ? "predicted" : "measured");
}
