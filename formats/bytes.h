/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bytes out and in: a buffer that grows, and a cursor that never leaves its
 * bytes. Both remember a failure, so that a run of puts or gets is checked
 * once, at its end. Integers are little-endian or LEB128 varints (7 bits a
 * byte, low bits first, at most 10 bytes). Private to formats/.
 */
#ifndef PSNAP_FORMATS_BYTES_H
#define PSNAP_FORMATS_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"
#include "formats/record_numbers.h"

struct psnap_bytes {
    unsigned char *data;
    size_t size, room;
    bool failed; /* out of memory; nothing is written after */
};

/* Room for `count` items of `size` bytes, one at least, at *array, a pointer. False: out of memory.
 */
static inline bool psnap_reserve(void *array, size_t *room, size_t count, size_t size)
{
    if (*room > count)
        return true;
    if (!psnap_resize(array, count + 1, size))
        return false;
    *room = count + 1;
    return true;
}

/* Room for `n` more bytes at the returned place, which count as written; NULL: out of memory. */
static inline unsigned char *psnap_bytes_extend(struct psnap_bytes *bytes, size_t n)
{
    unsigned char *at;

    bytes->failed =
        bytes->failed || !psnap_make_room(&bytes->data, &bytes->room, bytes->size + n + 1, 1);
    if (bytes->failed)
        return NULL;
    at = bytes->data + bytes->size;
    bytes->size += n;
    return at;
}

static inline void psnap_bytes_put(struct psnap_bytes *bytes, const void *data, size_t n)
{
    unsigned char *at = psnap_bytes_extend(bytes, n);

    if (at && n)
        memcpy(at, data, n);
}

static inline void psnap_bytes_u8(struct psnap_bytes *bytes, uint8_t value)
{
    psnap_bytes_put(bytes, &value, 1);
}

static inline void psnap_bytes_varint(struct psnap_bytes *bytes, uint64_t value)
{
    unsigned char text[10];
    size_t n = 0;

    while (value >= 0x80) {
        text[n++] = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    text[n++] = (unsigned char)value;
    psnap_bytes_put(bytes, text, n);
}

static inline void psnap_bytes_release(struct psnap_bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct psnap_bytes){0};
}

struct psnap_cursor {
    const unsigned char *at, *end;
    bool failed; /* something was asked for that is not there; every get after gives 0 */
};

/* The next `n` bytes, or NULL. */
static inline const unsigned char *psnap_cursor_take(struct psnap_cursor *cursor, size_t n)
{
    const unsigned char *at = cursor->at;

    if (cursor->failed || (size_t)(cursor->end - at) < n) {
        cursor->failed = true;
        return NULL;
    }
    cursor->at += n;
    return at;
}

static inline uint8_t psnap_cursor_u8(struct psnap_cursor *cursor)
{
    const unsigned char *at = psnap_cursor_take(cursor, 1);

    return at ? *at : 0;
}

static inline uint64_t psnap_cursor_varint(struct psnap_cursor *cursor)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        const uint64_t byte = psnap_cursor_u8(cursor);
        if (cursor->failed || (shift == 63 && byte > 1))
            break;
        value |= (byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    cursor->failed = true;
    return 0;
}

/* A varint that must be at most `limit`. */
static inline uint64_t psnap_cursor_below(struct psnap_cursor *cursor, uint64_t limit)
{
    const uint64_t value = psnap_cursor_varint(cursor);

    if (value > limit)
        cursor->failed = true;
    return cursor->failed ? 0 : value;
}

/* Small magnitudes of either sign as small unsigned numbers: 0, -1, 1, -2 are 0, 1, 2, 3. */
static inline uint64_t psnap_zigzag(uint64_t difference)
{
    return (difference << 1) ^ (0 - (difference >> 63));
}

static inline uint64_t psnap_unzigzag(uint64_t value)
{
    return (value >> 1) ^ (0 - (value & 1));
}

#endif
