/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The only file that knows libprotobuf-c, which parses and makes the messages. It asks for memory
 * for each one: that comes from a room that is used anew for each, and from malloc for a message
 * that needs more than there is.
 *
 * Of the 56 ns that a packet takes to read, 44 are the library's, some 7 for each field and 1 for
 * memory. 64 packets at once, as one message whose fields are repeated, took it 39, and it could
 * not have said which of them lacks a field.
 */
#include "formats/gem5_packet.h"

#include <stdlib.h>

#ifdef PSNAP_HAVE_PROTOBUF_C

#    include <gem5_packet.pb-c.h>

#    define ROOM_BYTES 4096u

struct psnap_gem5_room {
    ProtobufCAllocator allocator;
    size_t used;
    bool is_out; /* of memory */
    max_align_t bytes[ROOM_BYTES / sizeof(max_align_t)];
};

static void *room_alloc(void *data, size_t size)
{
    struct psnap_gem5_room *room = data;
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
    const struct psnap_gem5_room *room = data;
    const uintptr_t at = (uintptr_t)pointer - (uintptr_t)room->bytes;

    if (at >= sizeof room->bytes)
        free(pointer);
}

struct psnap_gem5_room *psnap_gem5_room_new(struct psnap_error *error)
{
    struct psnap_gem5_room *room = malloc(sizeof *room);

    if (!room) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    room->allocator = (ProtobufCAllocator){room_alloc, room_free, room};
    room->is_out = false;
    return room;
}

void psnap_gem5_room_free(struct psnap_gem5_room *room)
{
    free(room);
}

static enum psnap_status no_message(const struct psnap_gem5_room *room, const char *wanted,
                                    struct psnap_error *error)
{
    if (room->is_out)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return psnap_error_set(error, PSNAP_ERROR_CORRUPT,
                           "this is no %s of gem5: it cannot be parsed, or lacks a field", wanted);
}

enum psnap_status psnap_gem5_unpack(struct psnap_gem5_room *room, const unsigned char *message,
                                    size_t n, struct psnap_gem5_packet *packet,
                                    struct psnap_error *error)
{
    Psnap__Gem5__Packet *it;

    room->used = 0;
    it = psnap__gem5__packet__unpack(&room->allocator, n, message);
    if (!it)
        return no_message(room, "packet", error);
    *packet = (struct psnap_gem5_packet){.tick = it->tick,
                                         .address = it->addr,
                                         .pc = it->pc,
                                         .command = it->cmd,
                                         .size = it->size,
                                         .flags = it->flags,
                                         .has_pc = it->has_pc};
    if (it->base.n_unknown_fields) /* else all of it is in the room */
        psnap__gem5__packet__free_unpacked(it, &room->allocator);
    return PSNAP_OK;
}

enum psnap_status psnap_gem5_check_header(struct psnap_gem5_room *room,
                                          const unsigned char *message, size_t n,
                                          struct psnap_error *error)
{
    Psnap__Gem5__Header *it;

    room->used = 0;
    it = psnap__gem5__header__unpack(&room->allocator, n, message);
    if (!it)
        return no_message(room, "header", error);
    psnap__gem5__header__free_unpacked(it, &room->allocator);
    return PSNAP_OK;
}

size_t psnap_gem5_pack(const struct psnap_gem5_packet *packet, unsigned char *to)
{
    Psnap__Gem5__Packet it = PSNAP__GEM5__PACKET__INIT;

    it.tick = packet->tick;
    it.cmd = packet->command;
    it.addr = packet->address;
    it.size = packet->size;
    it.has_flags = packet->flags != 0;
    it.flags = packet->flags;
    it.has_pc = packet->has_pc;
    it.pc = packet->pc;
    return psnap__gem5__packet__pack(&it, to);
}

size_t psnap_gem5_pack_header(uint64_t ticks_per_s, unsigned char *to)
{
    static char name[] = "psnap";
    Psnap__Gem5__Header it = PSNAP__GEM5__HEADER__INIT;

    it.obj_id = name;
    it.has_ver = true;
    it.tick_freq = ticks_per_s;
    return psnap__gem5__header__pack(&it, to);
}

#else

struct psnap_gem5_room *psnap_gem5_room_new(struct psnap_error *error)
{
    psnap_error_set(error, PSNAP_ERROR_UNSUPPORTED,
                    "gem5's packets need libprotobuf-c, which this psnap was built without");
    return NULL;
}

void psnap_gem5_room_free(struct psnap_gem5_room *room)
{
    (void)room;
}

enum psnap_status psnap_gem5_unpack(struct psnap_gem5_room *room, const unsigned char *message,
                                    size_t n, struct psnap_gem5_packet *packet,
                                    struct psnap_error *error)
{
    (void)room;
    (void)message;
    (void)n;
    (void)packet;
    (void)error;
    return PSNAP_ERROR_UNSUPPORTED;
}

enum psnap_status psnap_gem5_check_header(struct psnap_gem5_room *room,
                                          const unsigned char *message, size_t n,
                                          struct psnap_error *error)
{
    (void)room;
    (void)message;
    (void)n;
    (void)error;
    return PSNAP_ERROR_UNSUPPORTED;
}

size_t psnap_gem5_pack(const struct psnap_gem5_packet *packet, unsigned char *to)
{
    (void)packet;
    (void)to;
    return 0;
}

size_t psnap_gem5_pack_header(uint64_t ticks_per_s, unsigned char *to)
{
    (void)ticks_per_s;
    (void)to;
    return 0;
}

#endif
