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

#define CSV_LINE_MAX (1u << 20) /* bytes */
#define CSV_FIELDS_MAX 4096u    /* of a record */

/* Zero-initialise, with `file`, which it does not own, and its path for messages. */
struct csv_reader {
    FILE *file;
    const char *path;
    char *line; /* its fields, each terminated */
    size_t room, count;
    uint32_t src_line;               /* of the record, from 1 */
    uint32_t fields[CSV_FIELDS_MAX]; /* where each begins in the line */
};

void csv_release(struct csv_reader *reader);

/* Reads the next record; *has_one is false at the end of the file. */
enum psnap_status csv_next(struct csv_reader *reader, bool *has_one, struct psnap_error *error);

/* A field of the record, valid until the next one is read. */
const char *csv_text(const struct csv_reader *reader, size_t field);

/* Sets an error with a field's place; returns its code. */
enum psnap_status csv_error(const struct csv_reader *reader, size_t field,
                            struct psnap_error *error, const char *format, ...) PSNAP_PRINTF(4, 5);

#endif
