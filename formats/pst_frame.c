/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames of the native trace: a header of 40 bytes and a payload, stored as it
 * is or as one zstd frame, whichever is smaller. Each checksum is an XXH3-64
 * seeded with the checksum of the frame before (the first with that of the
 * file header): a frame that is damaged, missing, doubled or out of place is
 * found where it stands. A header is checked by itself before its lengths are
 * believed. The only file of formats/ that knows zstd and xxhash.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

#include "formats/pst.h"

enum { STORED = 0, ZSTD = 1 };
enum { HEADER_SEALED = 28 }; /* bytes of a frame header that its own check covers */

/* What folded, a small payload for its accesses, is worth more time than what did not: level 15
 * takes some 64 ns a byte, so 4 ns an access at most. */
#define ZSTD_LEVEL 1
#define ZSTD_LEVEL_FOLDED 15
#define FOLDED_BYTES(accesses) ((size_t)(16 << 10) + (accesses) / 16)
#define FOLDED_BYTES_MAX ((size_t)256 << 10)

struct psnap_pst_packer {
    FILE *file;
    ZSTD_CCtx *zstd;
    unsigned char *packed;
    size_t packed_room;
    uint64_t chain; /* checksum of what was written last */
    uint64_t written, max_bytes;
};

struct psnap_pst_unpacker {
    ZSTD_DCtx *zstd;
    unsigned char *raw;
    size_t raw_room;
    uint64_t chain;
    size_t consume; /* bytes of the reader's buffer that the frame given out last still needs */
};

void psnap_pst_file_header_make(unsigned char *header, uint32_t version, uint64_t *chain)
{
    memcpy(header, PSNAP_PST_MAGIC, 8);
    psnap_store_u32(header + 8, version);
    *chain = XXH3_64bits(header, 12);
    psnap_store_u32(header + 12, (uint32_t)*chain);
}

void psnap_pst_frame_seal(unsigned char *header, const unsigned char *stored, size_t stored_size,
                          uint64_t *chain)
{
    const uint64_t sealed = XXH3_64bits_withSeed(header, HEADER_SEALED, *chain);

    *chain = XXH3_64bits_withSeed(stored, stored_size, sealed);
    psnap_store_u32(header + HEADER_SEALED, (uint32_t)sealed);
    psnap_store_u64(header + 32, *chain);
}

struct psnap_pst_packer *psnap_pst_packer_new(FILE *file)
{
    struct psnap_pst_packer *packer = calloc(1, sizeof *packer);

    if (!packer)
        return NULL;
    packer->file = file;
    packer->zstd = ZSTD_createCCtx();
    if (!packer->zstd) {
        psnap_pst_packer_free(packer);
        return NULL;
    }
    return packer;
}

void psnap_pst_packer_free(struct psnap_pst_packer *packer)
{
    if (!packer)
        return;
    ZSTD_freeCCtx(packer->zstd);
    free(packer->packed);
    free(packer);
}

void psnap_pst_packer_limit(struct psnap_pst_packer *packer, uint64_t max_bytes)
{
    packer->max_bytes = max_bytes;
}

static enum psnap_status write_bytes(struct psnap_pst_packer *packer, const void *data, size_t n,
                                     struct psnap_error *error)
{
    if (n > 0 && fwrite(data, 1, n, packer->file) != n)
        return psnap_error_system(error, errno, "cannot write");
    packer->written += n;
    return PSNAP_OK;
}

enum psnap_status psnap_pst_pack_file_header(struct psnap_pst_packer *packer,
                                             struct psnap_error *error)
{
    unsigned char header[PSNAP_PST_FILE_HEADER];

    psnap_pst_file_header_make(header, PSNAP_PST_VERSION, &packer->chain);
    return write_bytes(packer, header, sizeof header, error);
}

/* The payload compressed into packer->packed; 0 when that is no gain. */
static size_t compressed(struct psnap_pst_packer *packer, uint32_t accesses,
                         const struct psnap_bytes *payload)
{
    const size_t room = ZSTD_compressBound(payload->size);
    const bool has_folded =
        payload->size <= FOLDED_BYTES_MAX && payload->size <= FOLDED_BYTES(accesses);
    size_t size;

    if (packer->packed_room < room) {
        unsigned char *larger = realloc(packer->packed, room);
        if (!larger)
            return 0; /* storing it is as good */
        packer->packed = larger;
        packer->packed_room = room;
    }
    size = ZSTD_compressCCtx(packer->zstd, packer->packed, room, payload->data, payload->size,
                             has_folded ? ZSTD_LEVEL_FOLDED : ZSTD_LEVEL);
    return ZSTD_isError(size) || size >= payload->size ? 0 : size;
}

enum psnap_status psnap_pst_pack(struct psnap_pst_packer *packer,
                                 const struct psnap_pst_frame *frame,
                                 const struct psnap_bytes *payload, struct psnap_error *error)
{
    const size_t packed_size = payload->size ? compressed(packer, frame->accesses, payload) : 0;
    const unsigned char *stored = packed_size ? packer->packed : payload->data;
    const size_t stored_size = packed_size ? packed_size : payload->size;
    unsigned char header[PSNAP_PST_FRAME_HEADER] = {0};
    enum psnap_status status;

    if (packer->max_bytes && packer->written + sizeof header + stored_size > packer->max_bytes)
        return psnap_error_set(error, PSNAP_ERROR_LIMIT, "trace has its full size");
    psnap_store_u32(header, frame->type);
    header[4] = packed_size ? ZSTD : STORED;
    psnap_store_u64(header + 8, frame->first);
    psnap_store_u32(header + 16, frame->accesses);
    psnap_store_u32(header + 20, (uint32_t)payload->size);
    psnap_store_u32(header + 24, (uint32_t)stored_size);
    psnap_pst_frame_seal(header, stored, stored_size, &packer->chain);
    status = write_bytes(packer, header, sizeof header, error);
    return status != PSNAP_OK ? status : write_bytes(packer, stored, stored_size, error);
}

struct psnap_pst_unpacker *psnap_pst_unpacker_new(void)
{
    struct psnap_pst_unpacker *unpacker = calloc(1, sizeof *unpacker);

    if (!unpacker)
        return NULL;
    unpacker->zstd = ZSTD_createDCtx();
    if (!unpacker->zstd) {
        free(unpacker);
        return NULL;
    }
    return unpacker;
}

void psnap_pst_unpacker_free(struct psnap_pst_unpacker *unpacker)
{
    if (!unpacker)
        return;
    ZSTD_freeDCtx(unpacker->zstd);
    free(unpacker->raw);
    free(unpacker);
}

static enum psnap_status fail(const struct psnap_reader *reader, uint64_t offset,
                              enum psnap_status code, const char *message,
                              struct psnap_error *error)
{
    psnap_error_set(error, code, "%s", message);
    psnap_error_at_offset(error, reader->name, offset);
    return code;
}

/* The input ends, or cannot be read, where a frame or header should go on. */
static enum psnap_status cut_off(const struct psnap_reader *reader, const char *message,
                                 struct psnap_error *error)
{
    const enum psnap_status status = psnap_reader_failed(reader, error);

    if (status != PSNAP_OK)
        return status;
    return fail(reader, reader->offset + reader->end, PSNAP_ERROR_TRUNCATED, message, error);
}

enum psnap_status psnap_pst_unpack_file_header(struct psnap_pst_unpacker *unpacker,
                                               struct psnap_reader *reader, uint32_t *version,
                                               struct psnap_error *error)
{
    const size_t have = psnap_reader_ahead(reader, PSNAP_PST_FILE_HEADER);
    const unsigned char *header = reader->data + reader->at;
    const size_t magic = have < 8 ? have : 8;

    if (memcmp(header, PSNAP_PST_MAGIC, magic) != 0)
        return fail(reader, 0, PSNAP_ERROR_CORRUPT, "not a psnap trace", error);
    if (have < PSNAP_PST_FILE_HEADER)
        return cut_off(reader, "input ends in the file header", error);
    unpacker->chain = XXH3_64bits(header, 12);
    if (psnap_load_u32(header + 12) != (uint32_t)unpacker->chain)
        return fail(reader, 8, PSNAP_ERROR_CORRUPT, "file header is damaged", error);
    *version = psnap_load_u32(header + 8);
    if (*version < PSNAP_PST_VERSION_READ || *version > PSNAP_PST_VERSION) {
        psnap_error_set(error, PSNAP_ERROR_VERSION,
                        "written by %s psnap: trace version %" PRIu32
                        ", this one reads versions %u to %u",
                        *version < PSNAP_PST_VERSION ? "an older" : "a newer", *version,
                        PSNAP_PST_VERSION_READ, PSNAP_PST_VERSION);
        psnap_error_at_offset(error, reader->name, 8);
        return PSNAP_ERROR_VERSION;
    }
    reader->at += PSNAP_PST_FILE_HEADER;
    return PSNAP_OK;
}

/* Checks what a header says; true when it may be believed. */
static bool parse_header(const unsigned char *header, uint64_t chain, struct psnap_pst_frame *frame)
{
    frame->type = psnap_load_u32(header);
    frame->method = header[4];
    frame->first = psnap_load_u64(header + 8);
    frame->accesses = psnap_load_u32(header + 16);
    frame->raw_size = psnap_load_u32(header + 20);
    frame->stored_size = psnap_load_u32(header + 24);
    return psnap_load_u32(header + HEADER_SEALED) ==
               (uint32_t)XXH3_64bits_withSeed(header, HEADER_SEALED, chain) &&
           frame->method <= ZSTD && frame->raw_size <= PSNAP_PST_PAYLOAD_MAX &&
           frame->stored_size <= frame->raw_size &&
           (frame->method != STORED || frame->stored_size == frame->raw_size) &&
           frame->accesses <= PSNAP_PST_CHUNK_MAX;
}

enum psnap_status psnap_pst_unpack(struct psnap_pst_unpacker *unpacker, struct psnap_reader *reader,
                                   struct psnap_pst_frame *frame, struct psnap_error *error)
{
    const unsigned char *header;
    uint64_t sealed;
    size_t want = PSNAP_PST_FRAME_HEADER;

    reader->at += unpacker->consume;
    unpacker->consume = 0;
    frame->offset = psnap_reader_offset(reader);
    if (psnap_reader_ahead(reader, want) < want)
        return cut_off(reader, "input ends before the end of the trace", error);
    if (!parse_header(reader->data + reader->at, unpacker->chain, frame))
        return fail(reader, frame->offset, PSNAP_ERROR_CORRUPT, "damaged chunk header", error);
    want += frame->stored_size;
    if (psnap_reader_ahead(reader, want) < want)
        return cut_off(reader, "input ends in the middle of a chunk", error);
    header = reader->data + reader->at;
    frame->stored = header + PSNAP_PST_FRAME_HEADER;
    sealed = XXH3_64bits_withSeed(header, HEADER_SEALED, unpacker->chain);
    unpacker->chain = XXH3_64bits_withSeed(frame->stored, frame->stored_size, sealed);
    if (psnap_load_u64(header + 32) != unpacker->chain)
        return fail(reader, frame->offset, PSNAP_ERROR_CORRUPT,
                    "damaged chunk: its checksum does not match", error);
    unpacker->consume = want;
    return PSNAP_OK;
}

enum psnap_status psnap_pst_unpack_payload(struct psnap_pst_unpacker *unpacker,
                                           struct psnap_reader *reader,
                                           const struct psnap_pst_frame *frame,
                                           struct psnap_cursor *payload, struct psnap_error *error)
{
    *payload = (struct psnap_cursor){frame->stored, frame->stored + frame->stored_size, false};
    if (frame->method == STORED)
        return PSNAP_OK;
    if (unpacker->raw_room < frame->raw_size) {
        free(unpacker->raw);
        unpacker->raw_room = 0;
        unpacker->raw = malloc(frame->raw_size);
        if (!unpacker->raw)
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        unpacker->raw_room = frame->raw_size;
    }
    if (ZSTD_decompressDCtx(unpacker->zstd, unpacker->raw, frame->raw_size, frame->stored,
                            frame->stored_size) != frame->raw_size)
        return fail(reader, frame->offset, PSNAP_ERROR_CORRUPT,
                    "damaged chunk: cannot decompress it", error);
    *payload = (struct psnap_cursor){unpacker->raw, unpacker->raw + frame->raw_size, false};
    return PSNAP_OK;
}
