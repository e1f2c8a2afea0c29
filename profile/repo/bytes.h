/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bytes that grow, numbers in them (little-endian), and ids: the XXH3 of bytes, 128 bits, as 32
 * hexadecimal digits in canonical order, as `xxh128sum` prints it.
 */
#ifndef PSNAP_PROFILE_REPO_BYTES_H
#define PSNAP_PROFILE_REPO_BYTES_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "formats/base/status.h"

enum { REPO_ID_BYTES = 16, REPO_ID_DIGITS = 32 };

struct repo_id {
    uint8_t bytes[REPO_ID_BYTES];
};

struct repo_bytes {
    uint8_t *data; /* owned */
    size_t size, room;
    bool is_short; /* an append found no memory: what is there is not all */
};

void repo_id_of(const void *bytes, size_t size, struct repo_id *id);
uint64_t repo_sum_of(const void *bytes, size_t size); /* XXH3, 64 bits */
char *repo_id_text(const struct repo_id *id, char text[REPO_ID_DIGITS + 1]);
/* Exactly 32 digits, lower case, and nothing behind them. */
bool repo_id_parse(const char *text, struct repo_id *id);

static inline bool repo_id_is_same(const struct repo_id *a, const struct repo_id *b)
{
    return !memcmp(a->bytes, b->bytes, REPO_ID_BYTES);
}

static inline bool repo_id_is_none(const struct repo_id *id)
{
    const struct repo_id none = {{0}};

    return repo_id_is_same(id, &none);
}

/* Room for so many bytes more; NULL: out of memory. They count once they are in `size`. */
uint8_t *repo_bytes_room(struct repo_bytes *bytes, size_t more);
void repo_bytes_add(struct repo_bytes *bytes, const void *data, size_t size);
void repo_bytes_print(struct repo_bytes *bytes, const char *format, ...) PSNAP_PRINTF(2, 3);
void repo_bytes_release(struct repo_bytes *bytes);

static inline void repo_put_u32(uint8_t *at, uint32_t value)
{
    value = htole32(value);
    memcpy(at, &value, sizeof value);
}

static inline void repo_put_u64(uint8_t *at, uint64_t value)
{
    value = htole64(value);
    memcpy(at, &value, sizeof value);
}

static inline uint32_t repo_get_u32(const uint8_t *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof value);
    return le32toh(value);
}

static inline uint64_t repo_get_u64(const uint8_t *at)
{
    uint64_t value;

    memcpy(&value, at, sizeof value);
    return le64toh(value);
}

#endif
