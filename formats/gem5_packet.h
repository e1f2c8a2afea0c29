/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages of gem5's packet trace, between C and protobuf, through libprotobuf-c. A build
 * without it has none of them, and says so. Private to formats/.
 */
#ifndef PSNAP_FORMATS_GEM5_PACKET_H
#define PSNAP_FORMATS_GEM5_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/status.h"

#define PSNAP_GEM5_PACKET_BYTES 128u /* of a message that psnap_gem5_pack makes, at most */

struct psnap_gem5_packet {
    uint64_t tick, address, pc;
    uint32_t command, size, flags;
    bool has_pc;
};

/* Room that messages are unpacked in. */
struct psnap_gem5_room;

/* NULL with `error` filled: out of memory, or not in this build. */
struct psnap_gem5_room *psnap_gem5_room_new(struct psnap_error *error);
void psnap_gem5_room_free(struct psnap_gem5_room *room);

/* A message of n bytes. CORRUPT: it is none. */
enum psnap_status psnap_gem5_unpack(struct psnap_gem5_room *room, const unsigned char *message,
                                    size_t n, struct psnap_gem5_packet *packet,
                                    struct psnap_error *error);
/* Whether the message is a header, no more: a stream has no times that its ticks would be of. */
enum psnap_status psnap_gem5_check_header(struct psnap_gem5_room *room,
                                          const unsigned char *message, size_t n,
                                          struct psnap_error *error);

/* Write the message to `to`, which has room for PSNAP_GEM5_PACKET_BYTES; return its bytes. */
size_t psnap_gem5_pack(const struct psnap_gem5_packet *packet, unsigned char *to);
size_t psnap_gem5_pack_header(uint64_t ticks_per_s, unsigned char *to);

#endif
