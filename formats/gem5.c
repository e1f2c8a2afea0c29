/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gem5's packet trace (its protoio.cc and packet.proto): "gem5", then messages, each behind its
 * length as a varint of at most 32 bits: first the header, then packets,
 *
 *     header:  1 name of the object    2 version    3 ticks per second    4 names of numbers
 *     packet:  1 tick    2 command    3 address    4 size    5 flags    6 number
 *              7 program counter
 *
 * The commands that ask for data to be read or written, also between caches, are accesses, as
 * packet.hh of gem5 20 and later numbers them, unless flag 0x100 says that they fetch instructions;
 * other ones are passed over.
 *
 * Written, an access comes each nanosecond at 10^12 ticks per second, gem5's own frequency: the
 * ticks are not the program's time.
 *
 * Of protobuf's encoding (Google, Protocol Buffers: Encoding) this is a key, number of the field *
 * 8 + its type, before each value: a varint (type 0), 8 or 4 bytes (1, 5), or a length and bytes
 * (2). Fields of other numbers are passed over, of a field that comes twice the last one counts.
 */
#include <inttypes.h>
#include <string.h>

#include "formats/bytes.h"
#include "formats/foreign.h"
#include "formats/trace_sink.h"

#define MAGIC "gem5"
enum { MAGIC_BYTES = 4 };

static int gem5_bid(const unsigned char *start, size_t n, bool whole)
{
    (void)whole;
    return n >= MAGIC_BYTES && !memcmp(start, MAGIC, MAGIC_BYTES) ? 90 : 0;
}

#define TICKS_PER_S UINT64_C(1000000000000)
#define TICKS_PER_ACCESS 1000u
#define PACKET_MAX (64u << 10) /* bytes of a message that is no damage */
#define HEADER_MAX (16u << 20) /* it may name thousands of objects */
#define LINE_BYTES 64u
enum { LENGTH_MAX = 5, READ_REQUEST = 1, WRITE_REQUEST = 4, FETCH = 0x100 };
enum { FETCHES, COMMANDS };                                           /* as `omits` */
enum { TICK = 1, COMMAND, ADDRESS, SIZE, FLAGS, NUMBER, PC, FIELDS }; /* of a packet */
enum { NAME = 1, VERSION, FREQUENCY };                                /* of a header */

/* Requests: ReadReq, SoftPFReq, SoftPFExReq, HardPFReq, ReadExReq, ReadCleanReq, ReadSharedReq,
 * LoadLockedReq, LockedRMWReadReq; WriteReq, WritebackDirty, WritebackClean, WriteClean,
 * WriteLineReq, StoreCondReq, LockedRMWWriteReq; SwapReq does both. */
#define BIT(n) (UINT64_C(1) << (n))
#define READS                                                                                      \
    (BIT(1) | BIT(11) | BIT(12) | BIT(13) | BIT(22) | BIT(24) | BIT(25) | BIT(26) | BIT(30))
#define WRITES (BIT(4) | BIT(7) | BIT(8) | BIT(9) | BIT(16) | BIT(27) | BIT(32))
#define SWAPS BIT(34)

/* The numbers among a message's fields, 0 where there is none, and as bits which are there. False:
 * it is none. */
static bool get_fields(const unsigned char *message, size_t n, uint64_t numbers[FIELDS],
                       uint32_t *there)
{
    struct psnap_cursor cursor = {message, message + n, false};

    memset(numbers, 0, FIELDS * sizeof *numbers);
    *there = 0;
    while (cursor.at < cursor.end && !cursor.failed) {
        const uint64_t key = psnap_cursor_varint(&cursor), field = key >> 3, type = key & 7;
        const uint64_t value = type == 0 || type == 2 ? psnap_cursor_varint(&cursor) : 0;

        if (type != 0)
            psnap_cursor_take(&cursor, type == 2   ? (size_t)value
                                       : type == 1 ? sizeof(uint64_t)
                                       : type == 5 ? sizeof(uint32_t)
                                                   : SIZE_MAX);
        if (field > 0 && field < FIELDS) {
            numbers[field] = value;
            *there |= 1u << field;
        }
    }
    return !cursor.failed;
}

/* Whether all of these fields are there. */
static enum psnap_status check_fields(bool is_message, uint32_t there, uint32_t needed,
                                      const char *wanted, struct psnap_error *error)
{
    if (is_message && (there & needed) == needed)
        return PSNAP_OK;
    return psnap_error_set(error, PSNAP_ERROR_CORRUPT,
                           "this is no %s of gem5: it cannot be parsed, or lacks a field", wanted);
}

/* The length at data[0..n): its bytes, and *length; 0: there is no whole one, or it is too large,
 * and then *length is UINT32_MAX. */
static inline size_t get_length(const unsigned char *data, size_t n, uint32_t *length)
{
    uint64_t value = 0;

    *length = 0;
    for (size_t i = 0; i < n && i < LENGTH_MAX; i++) {
        value |= (uint64_t)(data[i] & 0x7f) << (7 * i);
        if (data[i] < 0x80) {
            *length = value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
            return *length < UINT32_MAX ? i + 1 : 0;
        }
    }
    if (n >= LENGTH_MAX)
        *length = UINT32_MAX;
    return 0;
}

static enum psnap_status too_long(uint32_t length, struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_CORRUPT,
                           "a message of %" PRIu32 " bytes or more is damage", length);
}

static enum psnap_status read_packet(struct psnap_foreign *trace, const unsigned char *message,
                                     size_t n, struct psnap_access *out, size_t *made,
                                     struct psnap_error *error)
{
    uint64_t packet[FIELDS], command;
    uint32_t there;
    const bool is_message = get_fields(message, n, packet, &there);
    const enum psnap_status status = check_fields(
        is_message, there, BIT(TICK) | BIT(COMMAND) | BIT(ADDRESS) | BIT(SIZE), "packet", error);

    if (status)
        return status;
    trace->pc = packet[PC];
    trace->has_pc = there & BIT(PC);
    command = packet[COMMAND] < 64 ? BIT(packet[COMMAND]) : 0;
    if ((command & (READS | WRITES | SWAPS)) && !(packet[FLAGS] & FETCH))
        return psnap_foreign_add(trace, packet[ADDRESS], (uint32_t)packet[SIZE],
                                 command & READS    ? PSNAP_LOAD
                                 : command & WRITES ? PSNAP_STORE
                                                    : PSNAP_ATOMIC,
                                 out, made, error);
    psnap_foreign_omit(trace, packet[FLAGS] & FETCH ? FETCHES : COMMANDS);
    return PSNAP_OK;
}

/* As many packets as are whole; what the one after them needs goes to foreign->wanted. */
static enum psnap_status gem5_records(struct psnap_foreign *foreign, struct psnap_records *work,
                                      struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    foreign->wanted = 1;
    while (work->used < work->count && work->room - work->made >= PSNAP_RECORD_ACCESSES) {
        const unsigned char *at = work->records + work->used;
        const size_t left = work->count - work->used;
        uint32_t length;
        const size_t behind = get_length(at, left, &length);

        if (length > PACKET_MAX)
            return too_long(PACKET_MAX, error);
        foreign->wanted = behind ? behind + length : left + 1;
        if (foreign->wanted > left)
            break;
        status = read_packet(foreign, at + behind, length, work->out, &work->made, error);
        if (status)
            break;
        work->used += foreign->wanted;
        foreign->wanted = 1;
    }
    return status;
}

/* Of the header nothing is of use: a stream has no times that its ticks would be of. */
static enum psnap_status read_header(struct psnap_reader *reader, struct psnap_error *error)
{
    size_t there = psnap_reader_ahead(reader, MAGIC_BYTES + LENGTH_MAX), behind = MAGIC_BYTES;
    enum psnap_status status = psnap_reader_failed(reader, error);
    uint64_t header[FIELDS];
    uint32_t length, fields = 0;
    bool is_message;

    if (status)
        return status;
    if (there < MAGIC_BYTES || memcmp(reader->data + reader->at, MAGIC, MAGIC_BYTES) != 0)
        return psnap_error_set(error, PSNAP_ERROR_SYNTAX, "gem5's trace begins with '" MAGIC "'");
    behind += get_length(reader->data + reader->at + behind, there - behind, &length);
    if (length > HEADER_MAX)
        return too_long(HEADER_MAX, error);
    there = psnap_reader_ahead(reader, behind + length);
    status = psnap_reader_failed(reader, error);
    if (!status && (behind == MAGIC_BYTES || there < behind + length))
        status = psnap_error_set(error, PSNAP_ERROR_TRUNCATED, "the input ends in the header");
    if (status)
        return status;
    is_message = get_fields(reader->data + reader->at + behind, length, header, &fields);
    reader->at += behind + length;
    return check_fields(is_message, fields, BIT(NAME) | BIT(FREQUENCY), "header", error);
}

static enum psnap_status gem5_begin(struct psnap_foreign *trace, struct psnap_error *error)
{
    struct psnap_reader *reader = trace->trace.reader;
    const enum psnap_status status = read_header(reader, error);

    if (status)
        psnap_error_at_offset(error, reader->name, psnap_reader_offset(reader));
    return status;
}

/* ---- written ---- */

static char *put_varint(char *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *to++ = (char)(value | 0x80);
    *to++ = (char)value;
    return to;
}

static char *put_field(char *to, unsigned field, uint64_t value)
{
    return put_varint(put_varint(to, field << 3), value);
}

static char *gem5_heading(char *to)
{
    static const char name[] = "psnap";
    enum { NAME_BYTES = sizeof name - 1 };
    char message[64], *end = put_varint(put_varint(message, NAME << 3 | 2), NAME_BYTES);

    memcpy(end, name, NAME_BYTES);
    end = put_field(put_field(end + NAME_BYTES, VERSION, 0), FREQUENCY, TICKS_PER_S);
    memcpy(to, MAGIC, MAGIC_BYTES);
    to = put_varint(to + MAGIC_BYTES, (uint64_t)(end - message));
    return (char *)mempcpy(to, message, (size_t)(end - message));
}

/* A packet, of at most 127 bytes: its length is one. */
static char *put_packet(char *to, const struct psnap_access *access, uint64_t tick,
                        uint64_t address, uint32_t size)
{
    char *end = put_field(to + 1, TICK, tick);

    end = put_field(end, COMMAND, access->kind == PSNAP_LOAD ? READ_REQUEST : WRITE_REQUEST);
    end = put_field(put_field(end, ADDRESS, address), SIZE, size);
    end = put_field(end, PC, pc_refs_counter(access->ref));
    *to = (char)(end - to - 1);
    return end;
}

static char *gem5_access(struct psnap_trace_sink *sink, char *to, const struct psnap_access *access,
                         struct psnap_error *error)
{
    const uint32_t left = LINE_BYTES - (uint32_t)(access->address % LINE_BYTES);
    const uint64_t tick = sink->count * TICKS_PER_ACCESS;

    (void)error;
    if (access->size <= left)
        return put_packet(to, access, tick, access->address, access->size);
    to = put_packet(to, access, tick, access->address, left);
    return put_packet(to, access, tick + 1, access->address + left, access->size - left);
}

static const struct psnap_format_ops gem5_ops = {
    .bid = gem5_bid,
    .begin = gem5_begin,
    .record_bytes = 1,
    .records = gem5_records,
    .omits = {"instruction fetches", "packets that read and write nothing"},
    .heading = gem5_heading,
    .access = gem5_access,
};

const struct psnap_format psnap_format_gem5 = {
    .name = "gem5",
    .summary = "gem5's packet trace (protobuf)",
    .loses = "atomic, thread, program; the ticks are not times",
    .readable = true,
    .writable = true,
    .is_physical = true,
    .ops = &gem5_ops,
};
