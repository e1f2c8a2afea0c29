/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DynamoRIO's drmemtrace (trace_entry_t in its trace_entry.h; raw2trace's order of entries): 12
 * bytes for each entry, lowest bytes first,
 *
 *     0  u16 type     2  u16 size     4  u64 address
 *
 * The types of version 7 and before that are more than passed over:
 *
 *      0  read, 1 write         of `size` bytes at `address`
 *     10  instruction           at `address`; 11 to 16, 29 to 31, 48 and 49 are kinds of it
 *     17  bundle                `size` instructions behind the one before, of so many bytes as the
 *                               bytes of `address` say
 *     22  thread                that the entries after it are of, by its number
 *     25  header, 26 footer     first and last; `address` of the header is the version
 *
 * Prefetches, flushes, markers, encodings, processes and exits are passed over. An access's program
 * counter is that of the last instruction before it. Threads get numbers in the order in which they
 * come.
 */
#include <inttypes.h>

#include "formats/foreign.h"
#include "formats/trace_sink.h"

enum { RECORD = 12, SIZE_AT = 2, ADDRESS_AT = 4, VERSION = 7, THREADS_MAX = 4096 };
enum { READ = 0, WRITE = 1, INSTRUCTION = 10, BUNDLE = 17, THREAD = 22, EXIT, PROCESS, HEADER };
enum { FOOTER = 26, MARKER = 28 };

/* Markers, as their sizes say, and values of them. */
enum { TIMESTAMP = 2, CPU = 3, FILE_TYPE = 9, LINE_SIZE = 10, VERSION_MARKER = 12, CHUNK = 20 };
enum { X86_64 = 0x40, LINE_BYTES = 64 };
#define CHUNK_INSTRUCTIONS (UINT64_C(1) << 48) /* all of the trace is one */

/* Types of a sort, as bits. */
#define TYPES(from, to) (UINT64_MAX >> (63 - ((to) - (from))) << (from))
#define COUNTERS (TYPES(INSTRUCTION, 16) | TYPES(29, 31) | TYPES(48, 49))
#define HINTS (TYPES(2, 9) | TYPES(18, 21) | TYPES(27, 27) | TYPES(32, 46))
#define PASSED (HINTS | TYPES(EXIT, PROCESS) | TYPES(MARKER, MARKER) | TYPES(47, 47))
#define OTHERS (TYPES(BUNDLE, BUNDLE) | TYPES(THREAD, THREAD) | TYPES(HEADER, FOOTER))
/* Of a core's trace, whose threads have a header and a footer each: what may be behind one's
 * footer. */
#define BETWEEN (TYPES(THREAD, FOOTER) | TYPES(MARKER, MARKER))
#define ALL (TYPES(READ, WRITE) | COUNTERS | PASSED | OTHERS)

static inline bool is_in(uint64_t types, unsigned type)
{
    return type < 64 && (types >> type & 1);
}

enum { OF_NO_BYTES, PREFETCHES }; /* as `omits` */

struct drmemtrace {
    struct psnap_foreign foreign;
    uint64_t next_pc;
    bool has_header, has_footer;
    uint16_t thread;
    uint32_t thread_count;
    uint64_t threads[THREADS_MAX]; /* their numbers in the trace */
};

static enum psnap_status set_thread(struct drmemtrace *trace, uint64_t number,
                                    struct psnap_error *error)
{
    uint32_t i = 0;

    while (i < trace->thread_count && trace->threads[i] != number)
        i++;
    if (i == THREADS_MAX)
        return psnap_error_set(error, PSNAP_ERROR_UNSUPPORTED, "more than %d threads", THREADS_MAX);
    if (i == trace->thread_count)
        trace->threads[trace->thread_count++] = number;
    trace->thread = (uint16_t)i;
    return PSNAP_OK;
}

static enum psnap_status step_through_bundle(struct drmemtrace *trace, const unsigned char *record,
                                             struct psnap_error *error)
{
    const unsigned count = psnap_record_u16(record + SIZE_AT);

    if (count > 8 || !trace->foreign.has_pc)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               count > 8 ? "a bundle of more than 8 instructions"
                                         : "a bundle without an instruction before it");
    for (unsigned i = 0; i < count; i++) {
        trace->foreign.pc = trace->next_pc;
        trace->next_pc += record[ADDRESS_AT + i];
    }
    return PSNAP_OK;
}

/* An entry that is neither an access nor an instruction, nor one that is passed over. */
static enum psnap_status read_other(struct drmemtrace *trace, const unsigned char *record,
                                    struct psnap_error *error)
{
    const unsigned type = psnap_record_u16(record);
    const uint64_t value = psnap_record_u64(record + ADDRESS_AT);

    switch (type) {
    case BUNDLE:
        return step_through_bundle(trace, record, error);
    case THREAD:
        trace->has_footer = false; /* it goes on behind another one's */
        return set_thread(trace, value, error);
    case HEADER:
        if (value < 1 || value > VERSION)
            return psnap_error_set(error, PSNAP_ERROR_VERSION,
                                   "version %" PRIu64 " of drmemtrace; 1 to %d can be read", value,
                                   VERSION);
        trace->has_header = true;
        trace->has_footer = false;
        trace->foreign.has_pc = false;
        return PSNAP_OK;
    case FOOTER:
        trace->has_footer = true;
        return PSNAP_OK;
    default:
        return psnap_error_set(error, PSNAP_ERROR_SYNTAX, "no drmemtrace has an entry of type %u",
                               type);
    }
}

static inline enum psnap_status drmemtrace_one(struct psnap_foreign *foreign,
                                               const unsigned char *record,
                                               struct psnap_access *out, size_t *n,
                                               struct psnap_error *error)
{
    struct drmemtrace *trace = (struct drmemtrace *)foreign;
    const unsigned type = psnap_record_u16(record);
    const unsigned size = psnap_record_u16(record + SIZE_AT);
    const uint64_t address = psnap_record_u64(record + ADDRESS_AT);
    enum psnap_status status;
    size_t from = *n;

    if (__builtin_expect(trace->has_footer, 0) && !is_in(BETWEEN, type))
        return psnap_error_set(error, PSNAP_ERROR_CORRUPT, "something follows the footer");
    if (is_in(COUNTERS, type)) {
        foreign->pc = address;
        foreign->has_pc = true;
        trace->next_pc = address + size;
        return PSNAP_OK;
    }
    if (is_in(PASSED, type)) {
        if (is_in(HINTS, type))
            psnap_foreign_omit(foreign, PREFETCHES);
        return PSNAP_OK;
    }
    if (type > WRITE)
        return read_other(trace, record, error);
    if (!size) { /* xsave of no state */
        psnap_foreign_omit(foreign, OF_NO_BYTES);
        return PSNAP_OK;
    }
    status = psnap_foreign_add(foreign, address, size, type == WRITE ? PSNAP_STORE : PSNAP_LOAD,
                               out, n, error);
    for (; from < *n; from++)
        out[from].thread = trace->thread;
    return status;
}

static enum psnap_status drmemtrace_records(struct psnap_foreign *trace, struct psnap_records *work,
                                            struct psnap_error *error)
{
    return psnap_records_each(trace, work, error, RECORD, PSNAP_RECORD_ACCESSES, drmemtrace_one);
}

static enum psnap_status drmemtrace_ended(struct psnap_foreign *foreign, struct psnap_error *error)
{
    const struct drmemtrace *trace = (const struct drmemtrace *)foreign;

    if (trace->has_footer || !trace->has_header) /* a pipe has neither */
        return PSNAP_OK;
    return psnap_error_set(error, PSNAP_ERROR_TRUNCATED, "the trace has no footer: it was cut off");
}

/* A header of a version there may be, and nothing unknown after it. */
static int drmemtrace_bid(const unsigned char *start, size_t n, bool whole)
{
    (void)whole;
    if (n < RECORD || psnap_record_u16(start) != HEADER || psnap_record_u16(start + SIZE_AT) ||
        psnap_record_u64(start + ADDRESS_AT) - 1 > UINT16_MAX)
        return 0;
    for (size_t at = RECORD; at + RECORD <= n; at += RECORD) {
        if (!is_in(ALL, psnap_record_u16(start + at)))
            return 0;
    }
    return 70;
}

/* ---- written ---- */

enum { PC_BYTES = 4, NUMBER = 1, NUMBER_BYTES = 4 };

static char *put_entry(char *to, unsigned type, unsigned size, uint64_t address)
{
    psnap_record_put_u16(to, (uint16_t)type);
    psnap_record_put_u16(to + SIZE_AT, (uint16_t)size);
    psnap_record_put_u64(to + ADDRESS_AT, address);
    return to + RECORD;
}

static char *drmemtrace_heading(char *to)
{
    to = put_entry(to, HEADER, 0, VERSION);
    to = put_entry(to, MARKER, VERSION_MARKER, VERSION);
    to = put_entry(to, MARKER, FILE_TYPE, X86_64);
    to = put_entry(to, THREAD, NUMBER_BYTES, NUMBER);
    to = put_entry(to, PROCESS, NUMBER_BYTES, NUMBER);
    to = put_entry(to, MARKER, LINE_SIZE, LINE_BYTES);
    to = put_entry(to, MARKER, CHUNK, CHUNK_INSTRUCTIONS);
    to = put_entry(to, MARKER, TIMESTAMP, 1);
    return put_entry(to, MARKER, CPU, 0);
}

static char *drmemtrace_access(struct psnap_trace_sink *sink, char *to,
                               const struct psnap_access *access, struct psnap_error *error)
{
    (void)sink, (void)error;
    to = put_entry(to, INSTRUCTION, PC_BYTES, pc_refs_counter(access->ref));
    return put_entry(to, access->kind == PSNAP_LOAD ? READ : WRITE, access->size, access->address);
}

static char *drmemtrace_end(struct psnap_trace_sink *sink, char *to)
{
    (void)sink;
    return put_entry(put_entry(to, EXIT, NUMBER_BYTES, NUMBER), FOOTER, 0, 0);
}

const struct psnap_format psnap_format_drmemtrace = {
    .name = "drmemtrace",
    .summary = "DynamoRIO's drmemtrace (trace entries of a thread)",
    .loses = "atomic, thread, program",
    .readable = true,
    .writable = true,
    .ops =
        &(const struct psnap_format_ops){
            .bid = drmemtrace_bid,
            .trace_bytes = sizeof(struct drmemtrace),
            .record_bytes = RECORD,
            .records = drmemtrace_records,
            .ended = drmemtrace_ended,
            .omits = {"accesses of no bytes", "prefetches and flushes"},
            .heading = drmemtrace_heading,
            .access = drmemtrace_access,
            .end = drmemtrace_end,
        },
};
