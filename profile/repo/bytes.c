/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bytes that grow, and ids of bytes (bytes.h).
 */
#include "profile/repo/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

void repo_id_of(const void *bytes, size_t size, struct repo_id *id)
{
    XXH128_canonical_t canonical;

    XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes, size));
    memcpy(id->bytes, canonical.digest, REPO_ID_BYTES);
}

uint64_t repo_sum_of(const void *bytes, size_t size)
{
    return XXH3_64bits(bytes, size);
}

char *repo_id_text(const struct repo_id *id, char text[REPO_ID_DIGITS + 1])
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < REPO_ID_BYTES; i++) {
        text[2 * i] = digits[id->bytes[i] >> 4];
        text[2 * i + 1] = digits[id->bytes[i] & 15];
    }
    text[REPO_ID_DIGITS] = '\0';
    return text;
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool repo_id_parse(const char *text, struct repo_id *id)
{
    for (size_t i = 0; i < REPO_ID_DIGITS; i++) {
        const int digit = digit_of(text[i]);
        if (digit < 0)
            return false;
        id->bytes[i / 2] = (uint8_t)(i % 2 ? id->bytes[i / 2] | digit : digit << 4);
    }
    return !text[REPO_ID_DIGITS];
}

uint8_t *repo_bytes_room(struct repo_bytes *bytes, size_t more)
{
    if (bytes->is_short || more > SIZE_MAX / 4 - bytes->size) {
        bytes->is_short = true;
        return NULL;
    }
    if (bytes->room - bytes->size < more || !bytes->data) {
        const size_t room = bytes->size + more + bytes->size / 2 + 64;
        uint8_t *larger = realloc(bytes->data, room);
        if (!larger) {
            bytes->is_short = true;
            return NULL;
        }
        bytes->data = larger;
        bytes->room = room;
    }
    return bytes->data + bytes->size;
}

void repo_bytes_add(struct repo_bytes *bytes, const void *data, size_t size)
{
    uint8_t *at = repo_bytes_room(bytes, size);

    if (!at)
        return;
    if (size)
        memcpy(at, data, size);
    bytes->size += size;
}

void repo_bytes_print(struct repo_bytes *bytes, const char *format, ...)
{
    va_list arguments, again;
    int size;
    uint8_t *at;

    va_start(arguments, format);
    va_copy(again, arguments);
    size = vsnprintf(NULL, 0, format, arguments);
    at = size < 0 ? NULL : repo_bytes_room(bytes, (size_t)size + 1);
    if (at) {
        vsnprintf((char *)at, (size_t)size + 1, format, again);
        bytes->size += (size_t)size;
    }
    va_end(again);
    va_end(arguments);
}

void repo_bytes_release(struct repo_bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct repo_bytes){0};
}
