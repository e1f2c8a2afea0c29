/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Errors as values: filling them in and writing them out. A place is only ever
 * added after the message, so a message set deep down gets its file and line
 * from the caller that knows them.
 */
#include "formats/base/status.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void fill(struct psnap_error *error, enum psnap_status code, const char *format,
                 va_list arguments)
{
    error->code = code;
    error->src_line = 0;
    error->column = 0;
    error->offset = UINT64_MAX;
    error->file[0] = '\0';
    error->is_file_said = false;
    vsnprintf(error->message, sizeof error->message, format, arguments);
}

enum psnap_status psnap_error_set(struct psnap_error *error, enum psnap_status code,
                                  const char *format, ...)
{
    if (error) {
        va_list arguments;
        va_start(arguments, format);
        fill(error, code, format, arguments);
        va_end(arguments);
    }
    return code;
}

enum psnap_status psnap_error_system(struct psnap_error *error, int reason, const char *format, ...)
{
    const enum psnap_status code = reason == ENOMEM   ? PSNAP_ERROR_MEMORY
                                   : reason == EEXIST ? PSNAP_ERROR_EXISTS
                                   : reason == EPIPE  ? PSNAP_ERROR_CLOSED
                                                      : PSNAP_ERROR_IO;

    if (error) {
        const char *words = strerror(reason);
        va_list arguments;
        size_t length;
        va_start(arguments, format);
        fill(error, code, format, arguments);
        va_end(arguments);
        length = strlen(error->message);
        snprintf(error->message + length, sizeof error->message - length, ": %c%s",
                 tolower((unsigned char)words[0]), words[0] ? words + 1 : "");
    }
    return code;
}

static void set_file(struct psnap_error *error, const char *file)
{
    if (error && file)
        snprintf(error->file, sizeof error->file, "%s", file);
}

enum psnap_status psnap_error_file(struct psnap_error *error, int reason, const char *verb,
                                   const char *path)
{
    const enum psnap_status code =
        psnap_error_system(error, reason, "cannot %s '%.300s'", verb, path);

    set_file(error, path);
    if (error)
        error->is_file_said = true;
    return code;
}

void psnap_error_at(struct psnap_error *error, const char *file, uint32_t src_line, uint32_t column)
{
    if (!error)
        return;
    set_file(error, file);
    error->src_line = src_line;
    error->column = column;
}

void psnap_error_at_offset(struct psnap_error *error, const char *file, uint64_t offset)
{
    if (!error)
        return;
    set_file(error, file);
    error->offset = offset;
}

char *psnap_error_format(const struct psnap_error *error, char *text, size_t size)
{
    const char *file = error->file[0] ? error->file : "input";

    if (error->src_line && error->column)
        snprintf(text, size, "%s:%" PRIu32 ":%" PRIu32 ": %s", file, error->src_line, error->column,
                 error->message);
    else if (error->src_line)
        snprintf(text, size, "%s:%" PRIu32 ": %s", file, error->src_line, error->message);
    else if (error->offset != UINT64_MAX)
        snprintf(text, size, "%s: offset %" PRIu64 ": %s", file, error->offset, error->message);
    else if (error->file[0] && !error->is_file_said)
        snprintf(text, size, "%s: %s", file, error->message);
    else
        snprintf(text, size, "%s", error->message);
    return text;
}
