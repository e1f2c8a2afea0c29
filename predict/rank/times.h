/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Run times of cases (an application, an input, a number of cores) on machines, measured and
 * predicted, and reading them. RANK.md has the files.
 */
#ifndef PSNAP_PREDICT_RANK_TIMES_H
#define PSNAP_PREDICT_RANK_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/base/status.h"

#define TIMES_CASES_MAX 4096u
#define TIMES_MACHINES_MAX 256u

enum times_kind { TIMES_MEASURED, TIMES_PREDICTED, TIMES_KINDS };

struct times_place {
    const char *path; /* not owned */
    uint32_t src_line, column;
};

struct times_cell {
    double seconds[TIMES_KINDS]; /* NaN: missing */
    struct times_place places[TIMES_KINDS];
};

struct times_case {
    char *application, *input; /* owned; "" for no input */
    uint64_t cores;            /* 0: not said, or 1 */
    struct times_cell *cells;  /* of the first machines */
    size_t count, room;
};

struct times {
    struct times_case *cases;
    size_t case_count, case_room, recent; /* recent: the case that was found last */
    char **machines;                      /* owned, in the order in which they came */
    size_t machine_count, machine_room;
    struct psnap_error *warnings; /* of columns that are not read */
    size_t warning_count, warning_room;
    bool has[TIMES_KINDS]; /* some time of this kind */
    /* While a file is read: the name that its machine gets, NULL for its own; and its own one, once
     * it is known (owned). */
    const char *new_name;
    char *old_name;
};

void times_release(struct times *times);

struct times_record {
    const char *application, *input, *machine; /* input may be NULL or "" */
    uint64_t cores;                            /* 0 and 1 are the same */
    struct times_place place;
};

/* Puts a run time in its place; NaN makes case and machine known. An error, with the record's
 * place, when it is there already, when it is not above 0, at the limits above, or when the machine
 * is a second one of a file whose machine has been given a name. */
enum psnap_status times_put(struct times *times, const struct times_record *record,
                            enum times_kind kind, double seconds, struct psnap_error *error);

/* NaN when it is missing. */
double times_get(const struct times *times, size_t index, size_t machine, enum times_kind kind);

/* SIZE_MAX: there is none of this name. */
size_t times_machine(const struct times *times, const char *name);

/* "hycom, large, 59 cores" into `text`, cut off where it is too long; returns it. */
char *times_case_name(const struct times_case *one, char *text, size_t size);

/* How a file is read. */
struct times_file {
    const char *path; /* kept, not copied */
    /* Which rows of predictions by several methods; NULL: those of the least error that the file
     * has, or else of "overlap". */
    const char *method;
    const char *machine; /* a name for the one machine of the file; NULL: its own */
};

/* Adds the times of a file: CSV, or the JSON of predictions when it begins with '{'. */
enum psnap_status times_read(struct times *times, FILE *file, const struct times_file *how,
                             struct psnap_error *error);

/* The same of one kind. */
enum psnap_status times_read_csv(struct times *times, FILE *file, const char *path,
                                 struct psnap_error *error);
enum psnap_status times_read_json(struct times *times, FILE *file, const char *path,
                                  const char *method, struct psnap_error *error);

/* Whether there is something to rank: two machines, and a case that two of them have in times of
 * `kind`. */
enum psnap_status times_check(const struct times *times, enum times_kind kind,
                              struct psnap_error *error);

#endif
