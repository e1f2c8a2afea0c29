/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sealed files: bytes with checksums and parity around them, so that any damage to the file is
 * found, and a flipped byte, or a few that lie together, is undone on reading. Layout (numbers are
 * little-endian):
 *
 *   head    32 bytes: "psnapobj", u32 version (1), u32 bytes of a block, u64 bytes of the body,
 *           u64 XXH3 of these 24
 *   body    in blocks; the last one may be shorter
 *   parity  P = ceil(blocks / 32) blocks, at least one: parity block p is the XOR of the body's
 *           blocks p, p + P, p + 2P, ... (a short one as if zeros followed)
 *   sums    u32 for each block of the body, then of the parity: the low half of its XXH3
 *   tail    u64 XXH3 of the sums, and the head again
 *
 * Neighbours are in different parity groups, so that P blocks in a row that are damaged come back.
 */
#ifndef PSNAP_PROFILE_REPO_SEAL_H
#define PSNAP_PROFILE_REPO_SEAL_H

#include "profile/repo/bytes.h"

enum { SEAL_HEAD_BYTES = 32 };

enum seal_state {
    SEAL_WHOLE,
    SEAL_MENDED, /* damaged, and the body is as it was */
    SEAL_DAMAGED /* of the body something is missing, or nothing can be said of it */
};

struct sealed {
    uint8_t *body; /* within the file's bytes */
    size_t size;
    enum seal_state state;
    char damage[160]; /* what is wrong and where; "" when whole */
};

/* Appends the sealed form of a body. */
void seal_add(struct repo_bytes *file, const void *body, size_t size);
/* Looks at the bytes of a file, which are mended where that can be. */
void seal_open(uint8_t *file, size_t size, struct sealed *sealed);

#endif
