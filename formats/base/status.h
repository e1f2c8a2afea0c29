/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Status codes and errors. A function that can fail returns enum psnap_status
 * (0 or negative) and fills the caller's struct psnap_error, if one was given.
 * Messages start in lower case and have no full stop; the place is kept apart
 * from the message so that reports can print "file:line:column: message".
 */
#ifndef PSNAP_BASE_STATUS_H
#define PSNAP_BASE_STATUS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/api.h"

enum psnap_status {
    PSNAP_OK = 0,
    PSNAP_ERROR_USAGE = -1,       /* the caller asked for something that makes no sense */
    PSNAP_ERROR_IO = -2,          /* the system refused: open, read, write, disk full */
    PSNAP_ERROR_MEMORY = -3,      /* an allocation failed, or a documented limit was met */
    PSNAP_ERROR_SYNTAX = -4,      /* input that is not well formed (YAML, text) */
    PSNAP_ERROR_VALUE = -5,       /* well formed, but the value cannot be */
    PSNAP_ERROR_CORRUPT = -6,     /* binary input with a wrong magic, checksum or length */
    PSNAP_ERROR_TRUNCATED = -7,   /* input that ends too early */
    PSNAP_ERROR_VERSION = -8,     /* written by a newer psnap, or another ABI */
    PSNAP_ERROR_UNSUPPORTED = -9, /* understood, but not something this build can do */
    PSNAP_ERROR_EXISTS = -10,     /* an output file is there already */
    PSNAP_ERROR_CLOSED = -11,     /* who read our output, through a pipe, has gone */
    PSNAP_ERROR_LIMIT = -12       /* a size that the user set is reached */
};

/* Where and why. A value: no part is owned, copying is fine. */
struct psnap_error {
    enum psnap_status code;
    uint32_t src_line; /* 1-based line of a text input, 0 when unknown */
    uint32_t column;   /* 1-based byte column, 0 when unknown */
    uint64_t offset;   /* byte offset of a binary input, UINT64_MAX when unknown */
    char file[256];    /* input or output the error is about, "" when none */
    bool is_file_said; /* in the message */
    char message[512];
};

/*
 * Fills `error` (may be NULL) with code and message, clearing any place.
 * Returns `code`, so that `return psnap_error_set(...)` reads well.
 */
PSNAP_API enum psnap_status psnap_error_set(struct psnap_error *error, enum psnap_status code,
                                            const char *format, ...) PSNAP_PRINTF(3, 4);

/*
 * The same for what the system refused: the message, ": " and the words for
 * `reason` (an errno), in lower case. PSNAP_ERROR_MEMORY for ENOMEM,
 * PSNAP_ERROR_EXISTS for EEXIST, PSNAP_ERROR_CLOSED for EPIPE, else PSNAP_ERROR_IO.
 */
PSNAP_API enum psnap_status psnap_error_system(struct psnap_error *error, int reason,
                                               const char *format, ...) PSNAP_PRINTF(3, 4);

/* The same for a file that cannot be opened, created, ...: "cannot VERB 'path': reason". */
PSNAP_API enum psnap_status psnap_error_file(struct psnap_error *error, int reason,
                                             const char *verb, const char *path);

/* Adds the place in a text: file (may be NULL to leave it), line and column (0: unknown). */
PSNAP_API void psnap_error_at(struct psnap_error *error, const char *file, uint32_t src_line,
                              uint32_t column);

/* Adds the place in a binary file: file (may be NULL to leave it) and byte offset. */
PSNAP_API void psnap_error_at_offset(struct psnap_error *error, const char *file, uint64_t offset);

/*
 * Writes "file:line:column: message", "file: offset 123: message", "file:
 * message" or "message", whichever the error knows, into `text`, always
 * terminated. Returns `text`.
 */
PSNAP_API char *psnap_error_format(const struct psnap_error *error, char *text, size_t size);

#endif
