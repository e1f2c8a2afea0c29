/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gem5's packet trace (its protoio.cc and packet.proto): "gem5", then messages, each behind its
 * length as a varint of at most 32 bits: first the header, then packets,
 *
 *     header:  1 name of the object    2 version    3 ticks per second    4 names of numbers
 *     packet:  1 tick    2 command    3 address    4 size    5 flags    6 number
 *              7 program counter
 *
 * Of the commands, reads (1) and writes (4) are accesses, unless flag 0x100 says that they fetch
 * instructions; other ones are passed over. libprotobuf-c does the messages (gem5_packet.c).
 *
 * Written, an access comes each nanosecond at 10^12 ticks per second, gem5's own frequency: the
 * ticks are not the program's time.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/gem5_packet.h"
#include "formats/pc_refs.h"
#include "formats/record_sink.h"
#include "formats/record_trace.h"
#include "formats/text_trace.h"

#define MAGIC "gem5"
#define TICKS_PER_S UINT64_C(1000000000000)
#define TICKS_PER_ACCESS 1000u
#define PACKET_MAX (64u << 10) /* bytes of a message that is no damage */
#define HEADER_MAX (16u << 20) /* it may name thousands of objects */
enum { MAGIC_BYTES = 4, LENGTH_MAX = 5, READ_REQUEST = 1, WRITE_REQUEST = 4, FETCH = 0x100 };

struct gem5 {
    struct psnap_record_trace records;
    struct pc_refs refs;
    struct psnap_gem5_room *room;
};

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

static size_t put_length(unsigned char *to, size_t length)
{
    size_t n = 0;

    for (; length >= 0x80; length >>= 7)
        to[n++] = (unsigned char)(length | 0x80);
    to[n++] = (unsigned char)length;
    return n;
}

static enum psnap_status too_long(uint32_t length, struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_CORRUPT,
                           "a message of %" PRIu32 " bytes or more is damage", length);
}

static enum psnap_status read_packet(struct gem5 *trace, const unsigned char *message, size_t n,
                                     struct psnap_access *out, size_t *made,
                                     struct psnap_error *error)
{
    struct psnap_gem5_packet packet;
    enum psnap_access_kind kind;
    uint32_t ref;
    const enum psnap_status status = psnap_gem5_unpack(trace->room, message, n, &packet, error);

    if (status)
        return status;
    if ((packet.command != READ_REQUEST && packet.command != WRITE_REQUEST) || packet.flags & FETCH)
        return PSNAP_OK;
    ref = kind = packet.command == READ_REQUEST ? PSNAP_LOAD : PSNAP_STORE;
    if (packet.has_pc)
        ref = pc_refs_find(&trace->refs, trace->records.trace.base.program, packet.pc, kind,
                           packet.size);
    if (ref == PSNAP_NONE)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return psnap_access_add(packet.address, packet.size, kind, ref, out, made, error);
}

/* As many packets as are whole; what the one after them needs goes to trace->wanted. */
static size_t gem5_records(struct psnap_record_trace *records, const unsigned char *data, size_t n,
                           struct psnap_access *out, size_t room, size_t *made,
                           enum psnap_status *status, struct psnap_error *error)
{
    struct gem5 *trace = (struct gem5 *)records;
    size_t at = 0;

    records->wanted = 1;
    while (at < n && room - *made >= PSNAP_RECORD_ACCESSES && !*status) {
        uint32_t length;
        const size_t behind = get_length(data + at, n - at, &length);

        if (length > PACKET_MAX) {
            *status = too_long(PACKET_MAX, error);
            break;
        }
        records->wanted = behind ? behind + length : n - at + 1;
        if (records->wanted > n - at)
            break;
        *status = read_packet(trace, data + at + behind, length, out, made, error);
        if (!*status)
            at += records->wanted;
        records->wanted = 1;
    }
    return at;
}

static int gem5_bid(const unsigned char *start, size_t n, bool whole)
{
    (void)whole;
    return n >= MAGIC_BYTES && !memcmp(start, MAGIC, MAGIC_BYTES) ? 90 : 0;
}

static enum psnap_status read_header(struct gem5 *trace, struct psnap_reader *reader,
                                     struct psnap_error *error)
{
    size_t there = psnap_reader_ahead(reader, MAGIC_BYTES + LENGTH_MAX), behind = MAGIC_BYTES;
    enum psnap_status status = psnap_reader_failed(reader, error);
    uint32_t length;

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
    if (!status)
        status =
            psnap_gem5_check_header(trace->room, reader->data + reader->at + behind, length, error);
    if (!status)
        reader->at += behind + length;
    return status;
}

static void gem5_release(struct psnap_record_trace *records)
{
    struct gem5 *trace = (struct gem5 *)records;

    psnap_gem5_room_free(trace->room);
    pc_refs_release(&trace->refs);
}

static struct psnap_trace *gem5_open(struct psnap_reader *reader, struct psnap_error *error)
{
    struct gem5 *trace = calloc(1, sizeof *trace);

    if (trace && !pc_refs_init(&trace->refs)) {
        free(trace);
        trace = NULL;
    }
    if (trace) {
        trace->records.record_bytes = 1;
        trace->records.wanted = 1;
        trace->records.accesses_max = PSNAP_RECORD_ACCESSES;
        trace->records.records = gem5_records;
        trace->records.release = gem5_release;
        trace->room = psnap_gem5_room_new(error);
        if (!trace->room || read_header(trace, reader, error)) {
            psnap_error_at_offset(error, reader->name, psnap_reader_offset(reader));
            gem5_release(&trace->records);
            free(trace);
            psnap_reader_free(reader);
            return NULL;
        }
    }
    return psnap_record_trace_open(trace ? &trace->records : NULL, reader, "gem5", error);
}

static enum psnap_status gem5_access(struct psnap_record_sink *sink,
                                     const struct psnap_access *access, unsigned char **to,
                                     struct psnap_error *error)
{
    unsigned char message[PSNAP_GEM5_PACKET_BYTES];
    const struct psnap_gem5_packet packet = {
        .tick = sink->accesses * TICKS_PER_ACCESS,
        .address = access->address,
        .pc = pc_refs_counter(access->ref),
        .command = access->kind == PSNAP_LOAD ? READ_REQUEST : WRITE_REQUEST,
        .size = access->size,
        .has_pc = true,
    };
    const size_t n = psnap_gem5_pack(&packet, message);

    (void)error;
    *to += put_length(*to, n);
    memcpy(*to, message, n);
    *to += n;
    return PSNAP_OK;
}

static struct psnap_sink *gem5_create(FILE *file, struct psnap_program *program,
                                      struct psnap_error *error)
{
    unsigned char heading[PSNAP_RECORD_OUT_MAX] = MAGIC, message[PSNAP_GEM5_PACKET_BYTES];
    struct psnap_gem5_room *room = psnap_gem5_room_new(error); /* is it in this build? */
    struct psnap_record_sink *sink;
    size_t n, behind = MAGIC_BYTES;

    (void)program;
    if (!room)
        return NULL;
    psnap_gem5_room_free(room);
    sink = calloc(1, sizeof *sink);
    if (sink)
        sink->access = gem5_access;
    n = psnap_gem5_pack_header(TICKS_PER_S, message);
    behind += put_length(heading + behind, n);
    memcpy(heading + behind, message, n);
    return psnap_record_sink_new(sink, file, heading, behind + n, error);
}

static const struct psnap_format_ops gem5_ops = {gem5_bid, gem5_open, NULL, gem5_create};

const struct psnap_format psnap_format_gem5 = {
    .name = "gem5",
    .summary = "gem5's packet trace (protobuf)",
    .description =
        "'gem5', then protobuf messages, each behind its length as a varint: a header\n"
        "and packets. Read, commands 1 (ReadReq) and 4 (WriteReq) are accesses, those\n"
        "that fetch instructions (flag 0x100) and other commands are passed over,\n"
        "packets of more than 64 bytes are split, and every program counter's loads and\n"
        "stores become references. Ticks, and with them the header's tick_freq, are\n"
        "passed over: a stream has no times. Written, an access comes each nanosecond\n"
        "at 10^12 ticks per second, which must be gem5's frequency too (it is by\n"
        "default), its counter made of the reference's number. An atomic is written as\n"
        "a write. gem5 takes such files as they are or compressed by gzip (-o\n"
        "NAME.gem5.gz).\n\n"
        "    header   1 obj_id    2 ver    3 tick_freq    4 id_strings\n"
        "    packet   1 tick      2 cmd    3 addr    4 size    5 flags    7 pc\n\n"
        "    67 65 6d 35                     gem5\n"
        "    10 0a 05 70 73 6e 61 70 ...     a header of 16 bytes, of object psnap\n"
        "    12 08 e8 07 10 01 18 c0 a0 ...  a packet of 18 bytes: tick 1000, cmd 1\n",
    .loses = "atomic, thread, program; the ticks are not times",
    .readable = true,
    .writable = true,
    .is_text = false,
    .ops = &gem5_ops,
};
