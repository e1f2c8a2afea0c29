/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CSV as RFC 4180 (Shafranovich, 2005) has it: fields between commas; in quotes, where a quote is
 * written twice, they may have commas and ends of lines. Lines end with LF or CR LF. Beyond it:
 * a byte order mark is skipped, and so are lines that are empty or begin with '#'; blanks around a
 * field without quotes are not part of it, nor is an apostrophe before = + - or @, by which
 * spreadsheets are kept from taking it for a formula.
 */
#include "predict/csv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

void csv_init(struct csv_reader *reader, FILE *file, const char *path)
{
    *reader = (struct csv_reader){.file = file, .path = path, .src_line = 1, .column = 1};
}

void csv_release(struct csv_reader *reader)
{
    free(reader->bytes);
    free(reader->fields);
}

const char *csv_text(const struct csv_reader *reader, size_t field)
{
    const char *text = reader->bytes + reader->fields[field].at;

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
    psnap_error_at(error, reader->path, reader->fields[field].src_line,
                   reader->fields[field].column);
    return PSNAP_ERROR_VALUE;
}

/* A record is not well formed: an error at the byte that was read last. */
static enum psnap_status malformed(const struct csv_reader *reader, const char *what,
                                   struct psnap_error *error)
{
    psnap_error_set(error, PSNAP_ERROR_SYNTAX, "%s", what);
    psnap_error_at(error, reader->path, reader->src_line,
                   reader->column > 1 ? reader->column - 1 : 1);
    return PSNAP_ERROR_SYNTAX;
}

static int next_byte(struct csv_reader *reader)
{
    const int byte = getc(reader->file);

    reader->column += byte != EOF;
    return byte;
}

static void begin_line(struct csv_reader *reader)
{
    reader->src_line++;
    reader->column = 1;
}

/* The end of a line after its CR, which alone is none. */
static int after_return(struct csv_reader *reader, int byte)
{
    if (byte != '\r')
        return byte;
    byte = next_byte(reader);
    if (byte == '\n' || byte == EOF)
        return byte;
    ungetc(byte, reader->file);
    reader->column--;
    return '\r';
}

static enum psnap_status keep(struct csv_reader *reader, int byte, struct psnap_error *error)
{
    char *bytes;

    if (reader->used >= CSV_RECORD_MAX)
        return malformed(reader, "a record of more than 1 MiB: is a quote not closed?", error);
    bytes = psnap_with_room(reader->bytes, &reader->room, reader->used + 1, 1);
    if (!bytes)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a record");
    reader->bytes = bytes;
    bytes[reader->used++] = (char)byte;
    return PSNAP_OK;
}

static enum psnap_status begin_field(struct csv_reader *reader, struct psnap_error *error)
{
    struct csv_field *fields;

    if (reader->count >= CSV_FIELDS_MAX)
        return malformed(reader, "a record of more than 4096 fields", error);
    fields =
        psnap_with_room(reader->fields, &reader->field_room, reader->count + 1, sizeof *fields);
    if (!fields)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a record");
    reader->fields = fields;
    fields[reader->count++] = (struct csv_field){reader->used, reader->src_line,
                                                 reader->column > 1 ? reader->column - 1 : 1};
    return PSNAP_OK;
}

static enum psnap_status keep_text(struct csv_reader *reader, int byte, struct psnap_error *error)
{
    return byte ? keep(reader, byte, error)
                : malformed(reader, "a zero byte: this is no text", error);
}

static bool ends_field(int byte)
{
    return byte == ',' || byte == '\n' || byte == EOF;
}

static bool is_blank(int byte)
{
    return byte == ' ' || byte == '\t';
}

/* The rest of a field in quotes, behind the opening one. *byte becomes the byte behind the closing
 * quote and its blanks. */
static enum psnap_status quoted(struct csv_reader *reader, int *byte, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    reader->fields[reader->count - 1].column = reader->column;
    while (!status) {
        int next = next_byte(reader);
        if (next == EOF)
            return malformed(reader, "the file ends within quotes", error);
        if (next == '"') {
            next = next_byte(reader);
            if (next != '"') {
                *byte = next;
                break;
            }
        }
        status = keep_text(reader, next, error);
        if (next == '\n')
            begin_line(reader);
    }
    while (is_blank(*byte))
        *byte = next_byte(reader);
    *byte = after_return(reader, *byte);
    if (!status && !ends_field(*byte))
        return malformed(reader, "a comma is missing after the closing quote", error);
    return status;
}

static enum psnap_status unquoted(struct csv_reader *reader, int *byte, struct psnap_error *error)
{
    const size_t from = reader->used;
    enum psnap_status status = PSNAP_OK;

    while (!status && !ends_field(*byte)) {
        if (*byte == '"')
            return malformed(reader, "a quote within a field: the whole field goes into quotes",
                             error);
        status = keep_text(reader, *byte, error);
        *byte = after_return(reader, next_byte(reader));
    }
    while (reader->used > from && is_blank((unsigned char)reader->bytes[reader->used - 1]))
        reader->used--;
    return status;
}

/* The field that begins with *byte; *byte becomes the comma or end of line behind it. */
static enum psnap_status read_field(struct csv_reader *reader, int *byte, struct psnap_error *error)
{
    enum psnap_status status;

    while (is_blank(*byte))
        *byte = next_byte(reader);
    *byte = after_return(reader, *byte);
    status = begin_field(reader, error);
    if (!status)
        status = *byte == '"' ? quoted(reader, byte, error) : unquoted(reader, byte, error);
    return status ? status : keep(reader, '\0', error); /* the field ends */
}

/* The first byte of a record: after a mark, comments and empty lines. */
static int first_byte(struct csv_reader *reader)
{
    static const int mark[] = {0xef, 0xbb, 0xbf};
    int byte = next_byte(reader);

    for (int i = 0; i < 3 && reader->src_line == 1 && byte == mark[i]; i++)
        byte = next_byte(reader);
    for (;;) {
        byte = after_return(reader, byte);
        while (byte == '#') {
            do
                byte = next_byte(reader);
            while (byte != '\n' && byte != EOF);
        }
        if (byte != '\n')
            return byte;
        begin_line(reader);
        byte = next_byte(reader);
    }
}

enum psnap_status csv_next(struct csv_reader *reader, bool *has_one, struct psnap_error *error)
{
    int byte = first_byte(reader);
    enum psnap_status status = PSNAP_OK;

    reader->used = reader->count = 0;
    *has_one = byte != EOF;
    while (*has_one && !status) {
        status = read_field(reader, &byte, error);
        if (byte != ',')
            break;
        byte = next_byte(reader);
    }
    if (byte == '\n')
        begin_line(reader);
    if (!status && ferror(reader->file)) {
        status = psnap_error_system(error, errno ? errno : EIO, "cannot read");
        psnap_error_at(error, reader->path, 0, 0);
    }
    return status;
}
