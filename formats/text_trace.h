/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the text formats share: a source that reads lines, the scanning of
 * numbers in them, and a sink that formats into a buffer. Private to formats/.
 */
#ifndef PSNAP_FORMATS_TEXT_TRACE_H
#define PSNAP_FORMATS_TEXT_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/base/access.h"
#include "formats/trace.h"

#define PSNAP_TEXT_LINE_MAX 4096u /* bytes of a line, without its end */
#define PSNAP_TEXT_SIZE_MAX 4096u /* bytes of an access as text gives it, before it is split */
/* Accesses that a line can turn into: a load and a store of the largest size. */
#define PSNAP_TEXT_LINE_ACCESSES (2 * PSNAP_TEXT_SIZE_MAX / PSNAP_ACCESS_SIZE_MAX)

/* A line being scanned: at <= end, *end is '\n' or 0, which no number or blank is. */
struct psnap_scan {
    const unsigned char *start, *at, *end;
};

static inline void psnap_scan_blanks(struct psnap_scan *scan)
{
    while (*scan->at == ' ' || *scan->at == '\t')
        scan->at++;
}

/* True at the end of the line, blanks and a carriage return before it aside. */
static inline bool psnap_scan_done(struct psnap_scan *scan)
{
    psnap_scan_blanks(scan);
    if (scan->at < scan->end && *scan->at == '\r' && scan->at + 1 == scan->end)
        scan->at++;
    return scan->at == scan->end;
}

/* Unsigned numbers without sign or blanks before: false when there is none, or it needs more
 * than 64 bits; then `at` stays at its first character. Hexadecimal may start with 0x. */
bool psnap_scan_hex(struct psnap_scan *scan, uint64_t *value);
bool psnap_scan_decimal(struct psnap_scan *scan, uint64_t *value);

/* PSNAP_ERROR_SYNTAX, "`wanted` expected". */
enum psnap_status psnap_scan_expected(const char *wanted, struct psnap_error *error);

/*
 * A text format's way to read a line. It may keep state behind `trace`, which
 * is the first member of the format's own struct.
 */
struct psnap_text_trace {
    struct psnap_trace trace;
    /* Turns a line into *n accesses at `out`, which has room for PSNAP_TEXT_LINE_ACCESSES. On
     * failure the column of the error is that of scan->at. */
    enum psnap_status (*line)(struct psnap_text_trace *trace, struct psnap_scan *scan,
                              struct psnap_access *out, size_t *n, struct psnap_error *error);
    void (*release)(struct psnap_text_trace *trace); /* what the format keeps; may be NULL */
    uint64_t src_line;                               /* of the line scanned last */
    struct psnap_access *pending;
    size_t pending_at, pending_end;
    bool ended;
    enum psnap_status failed; /* an error not yet told: */
    struct psnap_error error;
};

/*
 * Makes a source of `trace`, allocated by malloc with `line` and `release` set
 * and the rest zero. Owns `reader` and `trace`, also when it fails. With
 * `loop_id` the program is an anonymous one (refs 0 and 1), else an empty one.
 */
struct psnap_trace *psnap_text_trace_open(struct psnap_text_trace *trace,
                                          struct psnap_reader *reader, const char *loop_id,
                                          struct psnap_error *error);

/*
 * Appends the access of `size` bytes, in pieces of at most 64, to out[*n...).
 * Fails when it is empty, larger than PSNAP_TEXT_SIZE_MAX or reaches beyond
 * the end of the address space.
 */
enum psnap_status psnap_text_access(uint64_t address, uint64_t size, enum psnap_access_kind kind,
                                    uint32_t ref, struct psnap_access *out, size_t *n,
                                    struct psnap_error *error);

/* The same, in line for one that is not split. */
static inline enum psnap_status psnap_access_add(uint64_t address, uint64_t size,
                                                 enum psnap_access_kind kind, uint32_t ref,
                                                 struct psnap_access *out, size_t *n,
                                                 struct psnap_error *error)
{
    if (size - 1 >= PSNAP_ACCESS_SIZE_MAX || address + (size - 1) < address)
        return psnap_text_access(address, size, kind, ref, out, n, error);
    out[(*n)++] = (struct psnap_access){address, ref, (uint8_t)size, (uint8_t)kind, 0};
    return PSNAP_OK;
}

/*
 * For `bid`: the next whole line of an input's start that is not blank, from
 * *at on; false when there is none. A last line without an end counts when
 * the start is `whole`.
 */
bool psnap_text_bid_line(const unsigned char *start, size_t n, bool whole, size_t *at,
                         struct psnap_scan *scan);

/*
 * A sink that writes a line per access: `format` appends at most
 * PSNAP_TEXT_OUT_MAX bytes at `to` and returns the place after them.
 */
#define PSNAP_TEXT_OUT_MAX 512u
#define PSNAP_TEXT_OUT_BYTES ((size_t)64 << 10) /* that are written together */
struct psnap_sink *psnap_text_sink_new(FILE *file, const char *heading,
                                       char *(*format)(char *to, const struct psnap_access *access),
                                       struct psnap_error *error);

/*
 * The same for a format that keeps state from access to access: the first member of its own
 * struct, allocated by malloc, in which `access`, `end` and `clock` are set and the rest is zero
 * but for `text`.
 */
struct psnap_text_sink {
    struct psnap_sink base;
    /* Appends as `format` above; NULL on failure, with `error` filled. */
    char *(*access)(struct psnap_text_sink *sink, char *to, const struct psnap_access *access,
                    struct psnap_error *error);
    /* What the end of the stream adds, PSNAP_TEXT_OUT_MAX bytes at a time: called until it appends
     * nothing. May be NULL. */
    char *(*end)(struct psnap_text_sink *sink, char *to);
    /* Accesses of the program before the one in hand, where that is not `count`; may be NULL. */
    const uint64_t *clock;
    uint64_t count; /* accesses before the one in hand */
    FILE *file;
    size_t used;
    char text[PSNAP_TEXT_OUT_BYTES + PSNAP_TEXT_OUT_MAX];
};

/* The time of the access in hand: how many accesses the program made before it. */
static inline uint64_t psnap_text_sink_time(const struct psnap_text_sink *sink)
{
    return sink->clock ? *sink->clock : sink->count;
}

/* Makes a sink of `sink`, and owns it; NULL, with `error` filled, where that is NULL: no memory. */
struct psnap_sink *psnap_text_sink_start(struct psnap_text_sink *sink, FILE *file,
                                         struct psnap_error *error);

/* PSNAP_ERROR_VALUE, "access 7, a load of 8 bytes at 0x10, cannot be written: WHY". */
char *psnap_text_sink_refuse(const struct psnap_text_sink *sink, const struct psnap_access *access,
                             const char *why, struct psnap_error *error);

/* Number to text without a terminator; return the place after it. Hexadecimal is lower case and
 * has at least `digits` digits, of 16. */
char *psnap_text_put_hex(char *to, uint64_t value, unsigned digits);
char *psnap_text_put_decimal(char *to, uint64_t value);

#endif
