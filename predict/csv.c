/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CSV as RFC 4180 (Shafranovich, 2005) has it, a record a line: fields between commas; in quotes,
 * where a quote is written twice, they may have commas. Lines end with LF or CR LF. Beyond it: a
 * byte order mark is skipped, and so are lines that are empty or begin with '#'; blanks around a
 * field are not part of it, nor is an apostrophe before = + - or @, by which spreadsheets are kept
 * from taking it for a formula. A field that goes on on the next line is an error.
 */
#include "predict/csv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

void csv_release(struct csv_reader *reader)
{
    free(reader->line);
}

const char *csv_text(const struct csv_reader *reader, size_t field)
{
    const char *text = reader->line + reader->fields[field];

    return text + (text[0] == '\'' && text[1] && strchr("=+-@", text[1]));
}

enum psnap_status csv_error(const struct csv_reader *reader, size_t field,
                            struct psnap_error *error, const char *format, ...)
{
    char message[sizeof error->message];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    psnap_error_set(error, PSNAP_ERROR_VALUE, "%s", message);
    psnap_error_at(error, reader->path, reader->src_line, reader->fields[field] + 1);
    return PSNAP_ERROR_VALUE;
}

/* Sets an error about the line, at a byte of it. */
static enum psnap_status malformed(const struct csv_reader *reader, const char *at,
                                   const char *message, struct psnap_error *error)
{
    psnap_error_set(error, PSNAP_ERROR_SYNTAX, "%s", message);
    psnap_error_at(error, reader->path, reader->src_line, (uint32_t)(at - reader->line) + 1);
    return PSNAP_ERROR_SYNTAX;
}

/* Reads a line without its end; *has_one is false when there is none. */
static enum psnap_status read_line(struct csv_reader *reader, bool *has_one,
                                   struct psnap_error *error)
{
    size_t length = 0;
    int byte;

    reader->src_line++;
    while ((byte = getc(reader->file)) != EOF && byte != '\n') {
        char *line = psnap_with_room(reader->line, &reader->room, length + 2, 1);
        if (!line)
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a record");
        reader->line = line;
        if (!byte)
            return malformed(reader, line + length, "a zero byte: this is no text", error);
        if (length >= CSV_LINE_MAX)
            return malformed(reader, line + length, "a line of more than 1 MiB", error);
        line[length++] = (char)byte;
    }
    if (ferror(reader->file)) {
        psnap_error_system(error, errno ? errno : EIO, "cannot read");
        psnap_error_at(error, reader->path, 0, 0);
        return error ? error->code : PSNAP_ERROR_IO;
    }
    *has_one = byte != EOF || length;
    if (length && reader->line[length - 1] == '\r')
        length--;
    if (reader->line)
        reader->line[length] = '\0';
    return PSNAP_OK;
}

static char *after_blanks(char *at)
{
    return at + strspn(at, " \t");
}

/* Terminates the field in quotes at *at, which becomes the comma or end behind it. */
static enum psnap_status end_quoted(const struct csv_reader *reader, char **at,
                                    struct psnap_error *error)
{
    char *from = *at, *to = *at;

    for (; *from != '"' || from[1] == '"'; from++) {
        if (!*from)
            return malformed(reader, *at, "the line ends within quotes", error);
        from += *from == '"';
        *to++ = *from;
    }
    *at = after_blanks(from + 1);
    if (**at && **at != ',')
        return malformed(reader, *at, "a comma is missing after the closing quote", error);
    *to = '\0';
    return PSNAP_OK;
}

static enum psnap_status end_plain(const struct csv_reader *reader, char **at,
                                   struct psnap_error *error)
{
    char *end = *at + strcspn(*at, ",\""), *last = end;

    if (*end == '"')
        return malformed(reader, end, "a quote within a field: the whole field goes into quotes",
                         error);
    while (last > *at && (last[-1] == ' ' || last[-1] == '\t'))
        last--;
    *at = end;
    if (last < end)
        *last = '\0';
    return PSNAP_OK;
}

/* Takes the line apart, from `at` on. */
static enum psnap_status split(struct csv_reader *reader, char *at, struct psnap_error *error)
{
    enum psnap_status status;
    bool has_more;

    reader->count = 0;
    do {
        bool is_quoted;
        at = after_blanks(at);
        is_quoted = *at == '"';
        at += is_quoted;
        if (reader->count == CSV_FIELDS_MAX)
            return malformed(reader, at, "a record of more than 4096 fields", error);
        reader->fields[reader->count++] = (uint32_t)(at - reader->line);
        status = is_quoted ? end_quoted(reader, &at, error) : end_plain(reader, &at, error);
        if (status)
            return status;
        has_more = *at == ',';
        *at++ = '\0';
    } while (has_more);
    return PSNAP_OK;
}

enum psnap_status csv_next(struct csv_reader *reader, bool *has_one, struct psnap_error *error)
{
    char *line;

    do {
        enum psnap_status status = read_line(reader, has_one, error);
        if (status || !*has_one)
            return status;
        line = reader->line;
        if (line && reader->src_line == 1 && !strncmp(line, "\xef\xbb\xbf", 3))
            line += 3;
    } while (!line || !*line || *line == '#');
    return split(reader, line, error);
}
