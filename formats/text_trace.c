/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text traces: lines in, lines out. A line is scanned where it lies in the
 * reader's buffer; its end ('\n', or the reader's 0 at the end of the input)
 * stops every scan, so no scan asks for bounds. Lines have at most 4096
 * bytes. A last line without an end that cannot be read is that of a trace that was cut off, unless
 * it is the only one. A line may turn into several accesses; when the caller's block is nearly full
 * they wait in `pending`.
 */
#include "formats/text_trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/record_numbers.h"

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

enum psnap_status psnap_text_access(uint64_t address, uint64_t size, enum psnap_access_kind kind,
                                    uint32_t ref, struct psnap_access *out, size_t *n,
                                    struct psnap_error *error)
{
    if (size < 1 || size > PSNAP_TEXT_SIZE_MAX)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "an access of %" PRIu64 " bytes; 1 to %u are possible", size,
                               PSNAP_TEXT_SIZE_MAX);
    if (address + (size - 1) < address)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "the access reaches beyond the end of the address space");
    while (size > 0) {
        const uint64_t piece = size < PSNAP_ACCESS_SIZE_MAX ? size : PSNAP_ACCESS_SIZE_MAX;

        out[(*n)++] = (struct psnap_access){address, ref, (uint8_t)piece, (uint8_t)kind, 0};
        address += piece;
        size -= piece;
    }
    return PSNAP_OK;
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

static enum psnap_status at_line(const struct psnap_text_trace *trace, size_t column,
                                 enum psnap_status status, struct psnap_error *error)
{
    psnap_error_at(error, trace->trace.reader->name,
                   trace->src_line > UINT32_MAX ? UINT32_MAX : (uint32_t)trace->src_line,
                   (uint32_t)column);
    return status;
}

/* Finds the next line and consumes it; scan->start is NULL at the end of the input. */
static enum psnap_status next_line(struct psnap_text_trace *trace, struct psnap_scan *scan,
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

static size_t take_pending(struct psnap_text_trace *trace, struct psnap_access *block,
                           size_t capacity)
{
    const size_t left = trace->pending_end - trace->pending_at;
    const size_t n = left < capacity ? left : capacity;

    memcpy(block, trace->pending + trace->pending_at, n * sizeof *block);
    trace->pending_at += n;
    return n;
}

/* Whether the line is the last, without its end, and some are before it. */
static bool is_without_end(const struct psnap_text_trace *trace, const struct psnap_scan *scan)
{
    const struct psnap_reader *reader = trace->trace.reader;

    return trace->src_line > 1 && reader->ended && !reader->failure &&
           scan->end == reader->data + reader->end;
}

/* A line that cannot be read; one without an end was cut off, and what is before it counts. */
static enum psnap_status bad_line(const struct psnap_text_trace *trace,
                                  const struct psnap_scan *scan, enum psnap_status status,
                                  struct psnap_error *error)
{
    char why[sizeof error->message];

    if (status != PSNAP_ERROR_MEMORY && is_without_end(trace, scan)) {
        memcpy(why, error->message, sizeof why);
        status = psnap_error_set(error, PSNAP_ERROR_TRUNCATED,
                                 "the trace was cut off within the line: %.150s", why);
    }
    return at_line(trace, (size_t)(scan->at - scan->start) + 1, status, error);
}

/* Scans one line to up to `room` accesses, or more into `pending`. */
static enum psnap_status read_line(struct psnap_text_trace *trace, struct psnap_access *out,
                                   size_t room, size_t *n, struct psnap_error *error)
{
    const bool direct = room >= PSNAP_TEXT_LINE_ACCESSES;
    struct psnap_scan scan;
    size_t made = 0;
    enum psnap_status status = next_line(trace, &scan, error);

    if (status != PSNAP_OK)
        return status;
    if (!scan.start) {
        trace->ended = true;
        return PSNAP_OK;
    }
    status = trace->line(trace, &scan, direct ? out : trace->pending, &made, error);
    if (status != PSNAP_OK)
        return bad_line(trace, &scan, status, error);
    if (direct) {
        *n += made;
    } else {
        trace->pending_at = 0;
        trace->pending_end = made;
        *n += take_pending(trace, out, room);
    }
    return PSNAP_OK;
}

/* An error waits until what came before it is delivered. */
static ssize_t text_next(struct psnap_source *self, struct psnap_access *block, size_t capacity,
                         struct psnap_error *error)
{
    struct psnap_text_trace *trace = (struct psnap_text_trace *)self;
    size_t n = take_pending(trace, block, capacity);

    while (n < capacity && !trace->ended && trace->failed == PSNAP_OK)
        trace->failed = read_line(trace, block + n, capacity - n, &n, &trace->error);
    if (n == 0 && trace->failed != PSNAP_OK) {
        if (error)
            *error = trace->error;
        return trace->failed;
    }
    return (ssize_t)n;
}

static void text_free(struct psnap_source *self)
{
    struct psnap_text_trace *trace = (struct psnap_text_trace *)self;

    if (trace->release)
        trace->release(trace);
    psnap_reader_free(trace->trace.reader);
    psnap_program_free(trace->trace.base.program);
    free(trace->pending);
    free(trace);
}

struct psnap_trace *psnap_text_trace_open(struct psnap_text_trace *trace,
                                          struct psnap_reader *reader, const char *loop_id,
                                          struct psnap_error *error)
{
    static const struct psnap_source_ops ops = {.next = text_next, .free = text_free};
    struct psnap_program *program;

    if (!trace) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        psnap_reader_free(reader);
        return NULL;
    }
    program = psnap_program_new();
    trace->trace.base = (struct psnap_source){&ops, program};
    trace->trace.reader = reader;
    trace->pending = malloc(PSNAP_TEXT_LINE_ACCESSES * sizeof *trace->pending);
    if (program && trace->pending &&
        (!loop_id || psnap_program_add_anonymous(program, loop_id) == PSNAP_OK))
        return &trace->trace;
    psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    text_free(&trace->trace.base);
    return NULL;
}

static enum psnap_status write_text(struct psnap_text_sink *sink, struct psnap_error *error)
{
    const size_t n = sink->used;

    sink->used = 0;
    if (n > 0 && fwrite(sink->text, 1, n, sink->file) != n)
        return psnap_error_system(error, errno, "cannot write");
    return PSNAP_OK;
}

static enum psnap_status text_put(struct psnap_sink *self, const struct psnap_access *block,
                                  size_t n, struct psnap_error *error)
{
    struct psnap_text_sink *sink = (struct psnap_text_sink *)self;
    char *to = sink->text + sink->used;
    enum psnap_status status;

    for (size_t i = 0; i < n; i++) {
        to = sink->access(sink, to, &block[i], error);
        if (!to)
            return error ? error->code : PSNAP_ERROR_VALUE;
        sink->count++;
        sink->used = (size_t)(to - sink->text);
        if (sink->used >= PSNAP_TEXT_OUT_BYTES) {
            status = write_text(sink, error);
            if (status != PSNAP_OK)
                return status;
            to = sink->text;
        }
    }
    return PSNAP_OK;
}

static enum psnap_status text_finish(struct psnap_sink *self, struct psnap_error *error)
{
    struct psnap_text_sink *sink = (struct psnap_text_sink *)self;
    enum psnap_status status = write_text(sink, error);

    while (sink->end && status == PSNAP_OK) {
        sink->used = (size_t)(sink->end(sink, sink->text) - sink->text);
        if (!sink->used)
            break;
        status = write_text(sink, error);
    }
    if (status == PSNAP_OK && fflush(sink->file) != 0)
        return psnap_error_system(error, errno, "cannot write");
    return status;
}

static void text_sink_free(struct psnap_sink *self)
{
    free(self);
}

struct psnap_sink *psnap_text_sink_start(struct psnap_text_sink *sink, FILE *file,
                                         struct psnap_error *error)
{
    static const struct psnap_sink_ops ops = {
        .put = text_put, .finish = text_finish, .free = text_sink_free};

    if (!sink) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    sink->base.ops = &ops;
    sink->file = file;
    return &sink->base;
}

char *psnap_text_sink_refuse(const struct psnap_text_sink *sink, const struct psnap_access *access,
                             const char *why, struct psnap_error *error)
{
    static const char *const kinds[] = {"a load", "a store", "an atomic"};

    psnap_error_set(error, PSNAP_ERROR_VALUE,
                    "access %" PRIu64 ", %s of %u byte%s at 0x%" PRIx64 ", cannot be written: %s",
                    sink->count + 1, kinds[access->kind], access->size,
                    access->size == 1 ? "" : "s", access->address, why);
    return NULL;
}

/* A format without state. */
struct plain_sink {
    struct psnap_text_sink text;
    char *(*format)(char *to, const struct psnap_access *access);
};

static enum psnap_status plain_put(struct psnap_sink *self, const struct psnap_access *block,
                                   size_t n, struct psnap_error *error)
{
    struct plain_sink *plain = (struct plain_sink *)self;
    struct psnap_text_sink *sink = &plain->text;
    char *to = sink->text + sink->used;
    enum psnap_status status;

    for (size_t i = 0; i < n; i++) {
        to = plain->format(to, &block[i]);
        if ((size_t)(to - sink->text) >= PSNAP_TEXT_OUT_BYTES) {
            sink->used = (size_t)(to - sink->text);
            status = write_text(sink, error);
            if (status != PSNAP_OK)
                return status;
            to = sink->text;
        }
    }
    sink->used = (size_t)(to - sink->text);
    return PSNAP_OK;
}

struct psnap_sink *psnap_text_sink_new(FILE *file, const char *heading,
                                       char *(*format)(char *to, const struct psnap_access *access),
                                       struct psnap_error *error)
{
    static const struct psnap_sink_ops ops = {
        .put = plain_put, .finish = text_finish, .free = text_sink_free};
    struct plain_sink *plain = calloc(1, sizeof *plain);

    if (!psnap_text_sink_start(plain ? &plain->text : NULL, file, error))
        return NULL;
    plain->text.base.ops = &ops;
    plain->format = format;
    plain->text.used = strlen(heading);
    memcpy(plain->text.text, heading, plain->text.used);
    return &plain->text.base;
}

/* Eight hexadecimal digits at `to`: nibbles are spread to bytes, and all become digits at once. */
static void put_hex_8(char *to, uint32_t value)
{
    uint64_t bytes = value, letters;

    bytes = (bytes | bytes << 16) & UINT64_C(0x0000ffff0000ffff);
    bytes = (bytes | bytes << 8) & UINT64_C(0x00ff00ff00ff00ff);
    bytes = (bytes | bytes << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    letters = (bytes + UINT64_C(0x0606060606060606)) >> 4 & UINT64_C(0x0101010101010101);
    bytes += UINT64_C(0x3030303030303030) + letters * ('a' - '0' - 10);
    psnap_record_put_u64((unsigned char *)to, __builtin_bswap64(bytes));
}

char *psnap_text_put_hex(char *to, uint64_t value, unsigned digits)
{
    const unsigned needed = (67 - (unsigned)__builtin_clzll(value | 1)) / 4;
    char all[16];

    if (digits < needed)
        digits = needed;
    put_hex_8(all, (uint32_t)(value >> 32));
    put_hex_8(all + 8, (uint32_t)value);
    memcpy(to, all + sizeof all - digits, digits);
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
