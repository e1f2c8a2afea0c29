/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers in binary records, of which the lowest byte comes first, wherever they lie. Private to
 * formats/.
 */
#ifndef PSNAP_FORMATS_RECORD_NUMBERS_H
#define PSNAP_FORMATS_RECORD_NUMBERS_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t psnap_record_u16(const void *at)
{
    uint16_t value;

    memcpy(&value, at, sizeof value);
    return le16toh(value);
}

static inline uint32_t psnap_record_u32(const void *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof value);
    return le32toh(value);
}

static inline uint64_t psnap_record_u64(const void *at)
{
    uint64_t value;

    memcpy(&value, at, sizeof value);
    return le64toh(value);
}

static inline void psnap_record_put_u16(void *at, uint16_t value)
{
    value = htole16(value);
    memcpy(at, &value, sizeof value);
}

static inline void psnap_record_put_u32(void *at, uint32_t value)
{
    value = htole32(value);
    memcpy(at, &value, sizeof value);
}

static inline void psnap_record_put_u64(void *at, uint64_t value)
{
    value = htole64(value);
    memcpy(at, &value, sizeof value);
}

#endif
