/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the text formats share: reading lines, the scanning of numbers in them, and how numbers
 * are written. Private to formats/.
 */
#ifndef PSNAP_FORMATS_TEXT_TRACE_H
#define PSNAP_FORMATS_TEXT_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "formats/foreign.h"

#define PSNAP_TEXT_LINE_MAX 4096u /* bytes of a line, without its end */

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

/* Reads lines into *n accesses at `out`, as long as there is room for those of one more. */
enum psnap_status psnap_text_read(struct psnap_foreign *trace, struct psnap_access *out,
                                  size_t room, size_t *n, struct psnap_error *error);

/*
 * For `bid`: the next whole line of an input's start that is not blank, from
 * *at on; false when there is none. A last line without an end counts when
 * the start is `whole`.
 */
bool psnap_text_bid_line(const unsigned char *start, size_t n, bool whole, size_t *at,
                         struct psnap_scan *scan);

/*
 * The bid of a format whose lines `scan_line` scans, *type being 0 for one that is passed over:
 * 60 when the first other line is good, `passed_over` when there are none but such.
 */
int psnap_text_bid(const unsigned char *start, size_t n, bool whole,
                   enum psnap_status (*scan_line)(struct psnap_scan *scan, unsigned char *type,
                                                  uint64_t *a, uint64_t *b,
                                                  struct psnap_error *error),
                   int passed_over);

/* Text, without its terminator; returns the place after it. */
static inline char *psnap_text_put(char *to, const char *text)
{
    const size_t n = strlen(text);

    memcpy(to, text, n);
    return to + n;
}

/* The digits of a byte. */
extern const unsigned char psnap_text_hex_pairs[256][2];

static inline uint64_t psnap_text_hex_pair(uint32_t byte)
{
    const unsigned char *pair = psnap_text_hex_pairs[byte & 255];

    return pair[0] | (uint64_t)pair[1] << 8;
}

/* Eight hexadecimal digits, the first one in the lowest byte. */
static inline uint64_t psnap_text_hex_8(uint32_t value)
{
    return psnap_text_hex_pair(value >> 24) | psnap_text_hex_pair(value >> 16) << 16 |
           psnap_text_hex_pair(value >> 8) << 32 | psnap_text_hex_pair(value) << 48;
}

/* Number to text without a terminator; return the place after it. Hexadecimal is lower case and
 * has at least `digits` digits, of 16; up to 7 bytes behind it are written, too. */
char *psnap_text_put_hex(char *to, uint64_t value, unsigned digits);
char *psnap_text_put_decimal(char *to, uint64_t value);

#endif
