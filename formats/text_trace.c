/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text traces: lines in, numbers out. A line is scanned where it lies in the
 * reader's buffer; its end ('\n', or the reader's 0 at the end of the input)
 * stops every scan, so no scan asks for bounds. Lines have at most 4096
 * bytes. A last line without an end that cannot be read is that of a trace that was cut off, unless
 * it is the only one.
 */
#include "formats/text_trace.h"

static inline unsigned hex_digit(unsigned c)
{
    if (c - '0' < 10)
        return c - '0';
    c |= 0x20;
    return c - 'a' < 6 ? c - 'a' + 10 : 16;
}

bool psnap_scan_hex(struct psnap_scan *scan, uint64_t *value)
{
    const unsigned char *at = scan->at;
    uint64_t sum = 0;
    unsigned digit;

    if (at[0] == '0' && (at[1] | 0x20) == 'x' && hex_digit(at[2]) < 16)
        at += 2;
    if (hex_digit(*at) > 15)
        return false;
    for (; (digit = hex_digit(*at)) < 16; at++) {
        if (sum >> 60)
            return false;
        sum = sum << 4 | digit;
    }
    scan->at = at;
    *value = sum;
    return true;
}

bool psnap_scan_decimal(struct psnap_scan *scan, uint64_t *value)
{
    const unsigned char *at = scan->at;
    uint64_t sum = 0;
    unsigned digit;

    for (; (digit = *at - (unsigned)'0') < 10; at++) {
        if (sum > (UINT64_MAX - digit) / 10)
            return false;
        sum = sum * 10 + digit;
    }
    if (at == scan->at)
        return false;
    scan->at = at;
    *value = sum;
    return true;
}

enum psnap_status psnap_scan_expected(const char *wanted, struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_SYNTAX, "%s expected", wanted);
}

bool psnap_text_bid_line(const unsigned char *start, size_t n, bool whole, size_t *at,
                         struct psnap_scan *scan)
{
    while (*at < n) {
        const unsigned char *line = start + *at;
        const unsigned char *end = memchr(line, '\n', n - *at);

        if (!end && !whole)
            return false;
        if (!end)
            end = start + n;
        *at = (size_t)(end - start) + 1;
        *scan = (struct psnap_scan){line, line, end};
        if (!psnap_scan_done(scan)) {
            scan->at = line;
            return true;
        }
    }
    return false;
}

int psnap_text_bid(const unsigned char *start, size_t n, bool whole,
                   enum psnap_status (*scan_line)(struct psnap_scan *scan, unsigned char *type,
                                                  uint64_t *a, uint64_t *b,
                                                  struct psnap_error *error),
                   int passed_over)
{
    struct psnap_scan scan;
    size_t at = 0;
    int bid = 0;

    while (psnap_text_bid_line(start, n, whole, &at, &scan)) {
        uint64_t a, b;
        unsigned char type;

        if (scan_line(&scan, &type, &a, &b, NULL))
            return 0;
        if (type)
            return 60;
        bid = passed_over;
    }
    return bid;
}

static enum psnap_status at_line(const struct psnap_foreign *trace, size_t column,
                                 enum psnap_status status, struct psnap_error *error)
{
    psnap_error_at(error, trace->trace.reader->name,
                   trace->src_line > UINT32_MAX ? UINT32_MAX : (uint32_t)trace->src_line,
                   (uint32_t)column);
    return status;
}

/* Finds the next line and consumes it; scan->start is NULL at the end of the input. */
static enum psnap_status next_line(struct psnap_foreign *trace, struct psnap_scan *scan,
                                   struct psnap_error *error)
{
    struct psnap_reader *reader = trace->trace.reader;
    const unsigned char *start = reader->data + reader->at;
    const unsigned char *end = memchr(start, '\n', reader->end - reader->at);

    if (!end) {
        const size_t have = psnap_reader_ahead(reader, PSNAP_TEXT_LINE_MAX + 1);

        start = reader->data + reader->at;
        end = memchr(start, '\n', have);
        *scan = (struct psnap_scan){0};
        if (!end && reader->failure) /* whole lines before it count */
            return psnap_reader_failed(reader, error);
        if (!end && reader->ended) {
            if (have == 0)
                return PSNAP_OK;
            end = start + have; /* the last line has no end; the reader's 0 is there */
        }
    }
    trace->src_line++;
    if (!end || (size_t)(end - start) > PSNAP_TEXT_LINE_MAX) {
        psnap_error_set(error, PSNAP_ERROR_SYNTAX, "line of more than %u bytes",
                        PSNAP_TEXT_LINE_MAX);
        return at_line(trace, PSNAP_TEXT_LINE_MAX + 1, PSNAP_ERROR_SYNTAX, error);
    }
    *scan = (struct psnap_scan){start, start, end};
    reader->at = (size_t)(end - reader->data) + (end < reader->data + reader->end);
    return PSNAP_OK;
}

/* Whether the line is the last, without its end, and some are before it. */
static bool is_without_end(const struct psnap_foreign *trace, const struct psnap_scan *scan)
{
    const struct psnap_reader *reader = trace->trace.reader;

    return trace->src_line > 1 && reader->ended && !reader->failure &&
           scan->end == reader->data + reader->end;
}

/* A line that cannot be read; one without an end was cut off, and what is before it counts. */
static enum psnap_status bad_line(const struct psnap_foreign *trace, const struct psnap_scan *scan,
                                  enum psnap_status status, struct psnap_error *error)
{
    char why[sizeof error->message];

    if (status != PSNAP_ERROR_MEMORY && is_without_end(trace, scan)) {
        memcpy(why, error->message, sizeof why);
        status = psnap_error_set(error, PSNAP_ERROR_TRUNCATED,
                                 "the trace was cut off within the line: %.150s", why);
    }
    return at_line(trace, (size_t)(scan->at - scan->start) + 1, status, error);
}

enum psnap_status psnap_text_read(struct psnap_foreign *trace, struct psnap_access *out,
                                  size_t room, size_t *n, struct psnap_error *error)
{
    const struct psnap_format_ops *ops = trace->trace.format->ops;

    while (room - *n >= PSNAP_LINE_ACCESSES) {
        struct psnap_scan scan;
        size_t made = 0;
        enum psnap_status status = next_line(trace, &scan, error);

        if (status)
            return status;
        if (!scan.start) {
            trace->has_ended = true;
            break;
        }
        status = ops->line(trace, &scan, out + *n, &made, error);
        if (status)
            return bad_line(trace, &scan, status, error);
        *n += made;
    }
    return PSNAP_OK;
}

#define PAIRS(high)                                                                                \
    {high, '0'}, {high, '1'}, {high, '2'}, {high, '3'}, {high, '4'}, {high, '5'}, {high, '6'},     \
        {high, '7'}, {high, '8'}, {high, '9'}, {high, 'a'}, {high, 'b'}, {high, 'c'}, {high, 'd'}, \
        {high, 'e'}, {high, 'f'}

const unsigned char psnap_text_hex_pairs[256][2] = {
    PAIRS('0'), PAIRS('1'), PAIRS('2'), PAIRS('3'), PAIRS('4'), PAIRS('5'), PAIRS('6'), PAIRS('7'),
    PAIRS('8'), PAIRS('9'), PAIRS('a'), PAIRS('b'), PAIRS('c'), PAIRS('d'), PAIRS('e'), PAIRS('f')};

char *psnap_text_put_hex(char *to, uint64_t value, unsigned digits)
{
    const unsigned needed = (67 - (unsigned)__builtin_clzll(value | 1)) / 4;

    if (digits < needed)
        digits = needed;
    if (digits > 8) {
        psnap_record_put_u64(to, psnap_text_hex_8((uint32_t)(value >> 32)) >> (128 - 8 * digits));
        to += digits - 8;
        digits = 8;
    }
    psnap_record_put_u64(to, psnap_text_hex_8((uint32_t)value) >> (64 - 8 * digits));
    return to + digits;
}

static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233"
                            "34353637383940414243444546474849505152535455565758596061626364656667"
                            "6869707172737475767778798081828384858687888990919293949596979899";

/* Eight decimal digits, in pairs that do not wait for each other. */
static char *put_decimal_8(char *to, uint32_t value)
{
    const uint32_t high = value / 10000, low = value % 10000;

    memcpy(to, pairs + (size_t)2 * (high / 100), 2);
    memcpy(to + 2, pairs + (size_t)2 * (high % 100), 2);
    memcpy(to + 4, pairs + (size_t)2 * (low / 100), 2);
    memcpy(to + 6, pairs + (size_t)2 * (low % 100), 2);
    return to + 8;
}

char *psnap_text_put_decimal(char *to, uint64_t value)
{
    char digits[8];
    unsigned zeros = 0;

    if (value < 10) {
        *to++ = (char)('0' + value);
        return to;
    }
    if (value >= 100000000)
        return put_decimal_8(psnap_text_put_decimal(to, value / 100000000),
                             (uint32_t)(value % 100000000));
    put_decimal_8(digits, (uint32_t)value);
    while (digits[zeros] == '0')
        zeros++;
    memcpy(to, digits + zeros, sizeof digits - zeros);
    return to + (sizeof digits - zeros);
}
