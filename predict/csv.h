/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of comma-separated fields, read one after the other.
 */
#ifndef PSNAP_PREDICT_CSV_H
#define PSNAP_PREDICT_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/base/status.h"

struct csv_reader {
    FILE *file;
    const char *path; /* for messages */
    char *bytes;      /* fields of the record, each terminated */
    size_t used, room;
    struct csv_field {
        size_t at;                 /* in bytes */
        uint32_t src_line, column; /* where it begins, its quote left out */
    } *fields;
    size_t count, field_room;
    uint32_t src_line, column; /* of what is read next */
};

#define CSV_RECORD_MAX (1u << 20) /* bytes of a record's fields, each with its end */
#define CSV_FIELDS_MAX 4096u      /* of a record */

/* Does not own `file`. */
void csv_init(struct csv_reader *reader, FILE *file, const char *path);
void csv_release(struct csv_reader *reader);

/* The next record; *has_one is false at the end of the file. */
enum psnap_status csv_next(struct csv_reader *reader, bool *has_one, struct psnap_error *error);

/* A field of the record, valid until the next one is read. */
const char *csv_text(const struct csv_reader *reader, size_t field);

/* An error with a field's place; returns its code. */
enum psnap_status csv_error(const struct csv_reader *reader, size_t field,
                            struct psnap_error *error, const char *format, ...) PSNAP_PRINTF(4, 5);

#endif
