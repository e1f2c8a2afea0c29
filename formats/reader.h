/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Read-ahead over anything that can be read in order: a file, a pipe, memory
 * in a test. Formats look at reader->data + reader->at, ask psnap_reader_ahead
 * for more, and consume by moving `at`. The byte after the last one is always
 * 0. Private to formats/.
 */
#ifndef PSNAP_FORMATS_READER_H
#define PSNAP_FORMATS_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "formats/base/status.h"

struct psnap_reader {
    /* Like read(2): bytes read, 0 at the end, -1 with errno set. */
    ssize_t (*read)(void *context, void *buffer, size_t n);
    void (*close)(void *context); /* may be NULL */
    /* Why a read failed, in place of errno; NULL: errno tells. */
    enum psnap_status (*explain)(const void *context, struct psnap_error *error);
    uint64_t (*bytes)(const void *context); /* as psnap_reader_bytes; NULL: of what is here */
    void *context;
    char name[256];
    unsigned char *data;
    size_t at, end; /* data[at..end) is read and not consumed */
    size_t room;
    uint64_t offset; /* of data[0] in the input */
    bool ended;      /* nothing comes after data[end) */
    int failure;     /* errno of the read that failed, or 0; implies ended */
};

/* A reader of `path` ("-": stdin). NULL on failure, with `error` filled. */
struct psnap_reader *psnap_reader_open(const char *path, struct psnap_error *error);

/* The same of an open file from where it stands, which the reader closes unless it is stdin. */
struct psnap_reader *psnap_reader_of_file(FILE *file, const char *name, struct psnap_error *error);

/* A reader with the given `read` and `close`; takes `context` over, also when it fails. */
struct psnap_reader *psnap_reader_new(ssize_t (*read)(void *, void *, size_t),
                                      void (*close)(void *), void *context, const char *name,
                                      struct psnap_error *error);

/*
 * A reader of what `inner` reads, decompressed when it begins as compressed data do (compressed.c),
 * else `inner` itself. Owns `inner`, also when it fails with NULL.
 */
struct psnap_reader *psnap_decompress(struct psnap_reader *inner, struct psnap_error *error);

void psnap_reader_free(struct psnap_reader *reader);

/*
 * Tries to have `want` bytes after `at` and returns how many there are: fewer
 * only when the input has ended or cannot be read (psnap_reader_failed tells).
 * Memory grows with the bytes that arrive, not with `want`. Moves `data`.
 */
size_t psnap_reader_ahead(struct psnap_reader *reader, size_t want);

/* The failure of reading as an error, PSNAP_OK when the input just ended. */
enum psnap_status psnap_reader_failed(const struct psnap_reader *reader, struct psnap_error *error);

/* Where the next byte to consume is in the input. */
static inline uint64_t psnap_reader_offset(const struct psnap_reader *reader)
{
    return reader->offset + reader->at;
}

/* Bytes of the file that were read so far; of a compressed one those that are compressed. */
static inline uint64_t psnap_reader_bytes(const struct psnap_reader *reader)
{
    return reader->bytes ? reader->bytes(reader->context) : reader->offset + reader->end;
}

#endif
