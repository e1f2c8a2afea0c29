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
 * The only file that knows libprotobuf-c, which parses and makes the messages. It asks for memory
 * for each one: that comes from a room that is used anew for each, and from malloc for a message
 * that needs more than there is.
 *
 * Of the 56 ns that a packet takes to read, 44 are the library's, some 7 for each field and 1 for
 * memory. 64 packets at once, as one message whose fields are repeated, took it 39, and it could
 * not have said which of them lacks a field.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/foreign.h"
#include "formats/trace_sink.h"

#define MAGIC "gem5"
enum { MAGIC_BYTES = 4 };

static int gem5_bid(const unsigned char *start, size_t n, bool whole)
{
    (void)whole;
    return n >= MAGIC_BYTES && !memcmp(start, MAGIC, MAGIC_BYTES) ? 90 : 0;
}

#ifdef PSNAP_HAVE_PROTOBUF_C

#    include <gem5_packet.pb-c.h>

#    define TICKS_PER_S UINT64_C(1000000000000)
#    define TICKS_PER_ACCESS 1000u
#    define PACKET_MAX (64u << 10) /* bytes of a message that is no damage */
#    define HEADER_MAX (16u << 20) /* it may name thousands of objects */
#    define MESSAGE_MAX 128u       /* of one that is written */
#    define ROOM_BYTES 4096u
#    define LINE_BYTES 64u
enum { LENGTH_MAX = 5, READ_REQUEST = 1, WRITE_REQUEST = 4, FETCH = 0x100 };
enum { FETCHES, COMMANDS }; /* as `omits` */

/* Requests: ReadReq, SoftPFReq, SoftPFExReq, HardPFReq, ReadExReq, ReadCleanReq, ReadSharedReq,
 * LoadLockedReq, LockedRMWReadReq; WriteReq, WritebackDirty, WritebackClean, WriteClean,
 * WriteLineReq, StoreCondReq, LockedRMWWriteReq; SwapReq does both. */
#    define BIT(n) (UINT64_C(1) << (n))
#    define READS                                                                                  \
        (BIT(1) | BIT(11) | BIT(12) | BIT(13) | BIT(22) | BIT(24) | BIT(25) | BIT(26) | BIT(30))
#    define WRITES (BIT(4) | BIT(7) | BIT(8) | BIT(9) | BIT(16) | BIT(27) | BIT(32))
#    define SWAPS BIT(34)

/* Room that messages are unpacked in. */
struct room {
    ProtobufCAllocator allocator;
    size_t used;
    bool is_out; /* of memory */
    max_align_t bytes[ROOM_BYTES / sizeof(max_align_t)];
};

struct gem5 {
    struct psnap_foreign foreign;
    struct room room;
};

static void *room_alloc(void *data, size_t size)
{
    struct room *room = data;
    const size_t rounded = (size + sizeof(max_align_t) - 1) & ~(sizeof(max_align_t) - 1);
    unsigned char *at = (unsigned char *)room->bytes + room->used;

    if (rounded < size || rounded > sizeof room->bytes - room->used) {
        void *other = malloc(size);
        room->is_out = room->is_out || !other;
        return other;
    }
    room->used += rounded;
    return at;
}

static void room_free(void *data, void *pointer)
{
    const struct room *room = data;
    const uintptr_t at = (uintptr_t)pointer - (uintptr_t)room->bytes;

    if (at >= sizeof room->bytes)
        free(pointer);
}

static enum psnap_status no_message(const struct room *room, const char *wanted,
                                    struct psnap_error *error)
{
    if (room->is_out)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
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

static enum psnap_status read_packet(struct gem5 *trace, const unsigned char *message, size_t n,
                                     struct psnap_access *out, size_t *made,
                                     struct psnap_error *error)
{
    Psnap__Gem5__Packet *packet;
    enum psnap_status status = PSNAP_OK;
    uint64_t command;

    trace->room.used = 0;
    packet = psnap__gem5__packet__unpack(&trace->room.allocator, n, message);
    if (!packet)
        return no_message(&trace->room, "packet", error);
    trace->foreign.pc = packet->pc;
    trace->foreign.has_pc = packet->has_pc;
    command = packet->cmd < 64 ? BIT(packet->cmd) : 0;
    if (!(command & (READS | WRITES | SWAPS)) || (packet->flags & FETCH))
        psnap_foreign_omit(&trace->foreign, packet->flags & FETCH ? FETCHES : COMMANDS);
    else
        status = psnap_foreign_add(&trace->foreign, packet->addr, packet->size,
                                   command & READS    ? PSNAP_LOAD
                                   : command & WRITES ? PSNAP_STORE
                                                      : PSNAP_ATOMIC,
                                   out, made, error);
    if (packet->base.n_unknown_fields) /* else all of it is in the room */
        psnap__gem5__packet__free_unpacked(packet, &trace->room.allocator);
    return status;
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
        status =
            read_packet((struct gem5 *)foreign, at + behind, length, work->out, &work->made, error);
        if (status)
            break;
        work->used += foreign->wanted;
        foreign->wanted = 1;
    }
    return status;
}

/* Whether the message is a header, no more: a stream has no times that its ticks would be of. */
static enum psnap_status check_header(struct room *room, const unsigned char *message, size_t n,
                                      struct psnap_error *error)
{
    Psnap__Gem5__Header *header;

    room->used = 0;
    header = psnap__gem5__header__unpack(&room->allocator, n, message);
    if (!header)
        return no_message(room, "header", error);
    psnap__gem5__header__free_unpacked(header, &room->allocator);
    return PSNAP_OK;
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
        status = check_header(&trace->room, reader->data + reader->at + behind, length, error);
    if (!status)
        reader->at += behind + length;
    return status;
}

static enum psnap_status gem5_begin(struct psnap_foreign *foreign, struct psnap_error *error)
{
    struct gem5 *trace = (struct gem5 *)foreign;
    struct psnap_reader *reader = foreign->trace.reader;
    enum psnap_status status;

    trace->room.allocator = (ProtobufCAllocator){room_alloc, room_free, &trace->room};
    status = read_header(trace, reader, error);
    if (status)
        psnap_error_at_offset(error, reader->name, psnap_reader_offset(reader));
    return status;
}

/* ---- written ---- */

static char *put_message(char *to, const unsigned char *message, size_t n)
{
    size_t length = n;

    for (; length >= 0x80; length >>= 7)
        *to++ = (char)(length | 0x80);
    *to++ = (char)length;
    memcpy(to, message, n);
    return to + n;
}

static char *gem5_heading(char *to)
{
    static char name[] = "psnap";
    Psnap__Gem5__Header header = PSNAP__GEM5__HEADER__INIT;
    unsigned char message[MESSAGE_MAX];

    header.obj_id = name;
    header.has_ver = true;
    header.tick_freq = TICKS_PER_S;
    memcpy(to, MAGIC, MAGIC_BYTES);
    return put_message(to + MAGIC_BYTES, message, psnap__gem5__header__pack(&header, message));
}

static char *gem5_access(struct psnap_trace_sink *sink, char *to, const struct psnap_access *access,
                         struct psnap_error *error)
{
    Psnap__Gem5__Packet packet = PSNAP__GEM5__PACKET__INIT;
    const uint32_t left = LINE_BYTES - (uint32_t)(access->address % LINE_BYTES);
    unsigned char message[MESSAGE_MAX];

    (void)error;
    packet.tick = sink->count * TICKS_PER_ACCESS;
    packet.cmd = access->kind == PSNAP_LOAD ? READ_REQUEST : WRITE_REQUEST;
    packet.addr = access->address;
    packet.size = access->size < left ? access->size : left;
    packet.has_pc = true;
    packet.pc = pc_refs_counter(access->ref);
    to = put_message(to, message, psnap__gem5__packet__pack(&packet, message));
    if (access->size <= left)
        return to;
    packet.tick++;
    packet.addr += left;
    packet.size = access->size - left;
    return put_message(to, message, psnap__gem5__packet__pack(&packet, message));
}

static const struct psnap_format_ops gem5_ops = {
    .bid = gem5_bid,
    .trace_bytes = sizeof(struct gem5),
    .begin = gem5_begin,
    .record_bytes = 1,
    .records = gem5_records,
    .omits = {"instruction fetches", "packets that read and write nothing"},
    .heading = gem5_heading,
    .access = gem5_access,
};

#else

static const struct psnap_format_ops gem5_ops = {
    .bid = gem5_bid,
    .lacks = "gem5's packets need libprotobuf-c, which this psnap was built without",
};

#endif

const struct psnap_format psnap_format_gem5 = {
    .name = "gem5",
    .summary = "gem5's packet trace (protobuf)",
    .loses = "atomic, thread, program; the ticks are not times",
    .readable = true,
    .writable = true,
    .is_physical = true,
    .ops = &gem5_ops,
};
