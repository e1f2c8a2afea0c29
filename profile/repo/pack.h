/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packs: the body of an object file, records one after the other. A record has a head of 64 bytes,
 * little-endian, and then its bytes as they are stored:
 *
 *   0  "PSRC"      4  u8 type, u8 codec, u16 0      8  u32 bytes stored, u32 bytes
 *   16 id          32 id of the dictionary that is needed, or zeros
 *   48 u64 XXH3 of the stored bytes                56 u64 XXH3 of the 56 bytes before
 *
 * Each record can be found and checked without any other: where something is damaged, the search
 * for the next head goes on behind it.
 */
#ifndef PSNAP_PROFILE_REPO_PACK_H
#define PSNAP_PROFILE_REPO_PACK_H

#include "profile/repo/bytes.h"

enum { RECORD_HEAD_BYTES = 64 };
#define REPO_RAW_MAX (UINT32_C(256) << 20) /* bytes of a record once they are decompressed */

#define REPO_SAYS_MAX (UINT32_C(1) << 20) /* of facts and notes */

enum record_type {
    RECORD_PROFILE = 'P', /* the YAML; its id is the hash of it */
    RECORD_FACTS = 'F',   /* what the index says of the profile with this id (facts.h): derived */
    RECORD_NOTE = 'N'     /* what people say of it (note.h); its id is the hash of itself */
};

enum record_codec { CODEC_PLAIN = 0, CODEC_ZSTD = 1 };

struct record {
    uint8_t type, codec;
    uint32_t stored_bytes, raw_bytes;
    struct repo_id id, dictionary;
    uint64_t sum;
    /* Where it was found: */
    const uint8_t *stored;
    size_t offset;  /* of its head, in the body */
    size_t skipped; /* bytes before it that are no record */
    bool is_whole;  /* the sum of the stored bytes holds */
};

/* Appends a record; sum is computed. */
void pack_add(struct repo_bytes *body, const struct record *record);
/* The head of a record; false: it is none. */
bool pack_read_head(const uint8_t head[RECORD_HEAD_BYTES], struct record *record);
/* The record at *offset or behind it, and moves on. False at the end, where `skipped` counts too.
 */
bool pack_next(const uint8_t *body, size_t size, size_t *offset, struct record *record);

#endif
