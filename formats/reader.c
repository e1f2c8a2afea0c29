/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Read-ahead. One buffer holds what is read and not consumed; when a format
 * wants more than is left, the rest moves to the front and the buffer is
 * filled behind it. The buffer starts at 256 KiB and doubles only when full,
 * so a length in a hostile input cannot make it larger than twice the input.
 */
#include "formats/reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM ((size_t)256 << 10)

static ssize_t read_file(void *context, void *buffer, size_t n)
{
    const size_t got = fread(buffer, 1, n, context);

    return got == 0 && ferror(context) ? -1 : (ssize_t)got;
}

static void close_file(void *context)
{
    if (context != stdin)
        fclose(context);
}

struct psnap_reader *psnap_reader_open(const char *path, struct psnap_error *error)
{
    FILE *file = strcmp(path, "-") != 0 ? fopen(path, "rbe") : stdin;

    if (!file) {
        psnap_error_file(error, errno, "open", path);
        return NULL;
    }
    return psnap_reader_of_file(file, file == stdin ? "stdin" : path, error);
}

struct psnap_reader *psnap_reader_of_file(FILE *file, const char *name, struct psnap_error *error)
{
    return psnap_reader_new(read_file, close_file, file, name, error);
}

struct psnap_reader *psnap_reader_new(ssize_t (*read_some)(void *, void *, size_t),
                                      void (*close_it)(void *), void *context, const char *name,
                                      struct psnap_error *error)
{
    struct psnap_reader *reader = calloc(1, sizeof *reader);
    unsigned char *data = malloc(FIRST_ROOM + 1);

    if (!reader || !data) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        free(reader);
        free(data);
        if (close_it)
            close_it(context);
        return NULL;
    }
    reader->read = read_some;
    reader->close = close_it;
    reader->context = context;
    snprintf(reader->name, sizeof reader->name, "%s", name);
    reader->data = data;
    reader->data[0] = 0;
    reader->room = FIRST_ROOM;
    return reader;
}

void psnap_reader_free(struct psnap_reader *reader)
{
    if (!reader)
        return;
    if (reader->close)
        reader->close(reader->context);
    free(reader->data);
    free(reader);
}

/* Moves the unconsumed bytes to the front, or doubles the room when there are only such. */
static bool make_room(struct psnap_reader *reader)
{
    const size_t left = reader->end - reader->at;
    unsigned char *larger;

    if (reader->at > 0) {
        memmove(reader->data, reader->data + reader->at, left);
        reader->offset += reader->at;
        reader->at = 0;
        reader->end = left;
    }
    if (reader->end < reader->room)
        return true;
    larger = realloc(reader->data, 2 * reader->room + 1);
    if (!larger)
        return false;
    reader->data = larger;
    reader->room *= 2;
    return true;
}

size_t psnap_reader_ahead(struct psnap_reader *reader, size_t want)
{
    while (reader->end - reader->at < want && !reader->ended) {
        ssize_t got;

        if (!make_room(reader)) {
            reader->failure = ENOMEM;
            reader->ended = true;
            break;
        }
        got = reader->read(reader->context, reader->data + reader->end, reader->room - reader->end);
        if (got < 0)
            reader->failure = errno;
        if (got <= 0)
            reader->ended = true;
        else
            reader->end += (size_t)got;
        reader->data[reader->end] = 0;
    }
    return reader->end - reader->at;
}

enum psnap_status psnap_reader_failed(const struct psnap_reader *reader, struct psnap_error *error)
{
    enum psnap_status status;

    if (!reader->failure)
        return PSNAP_OK;
    if (reader->explain && reader->failure == EIO)
        return reader->explain(reader->context, error);
    status = psnap_error_system(error, reader->failure, "cannot read");
    psnap_error_at_offset(error, reader->name, reader->offset + reader->end);
    return status;
}
