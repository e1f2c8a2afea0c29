/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames of the native trace: a header of 40 bytes and a payload, which
 * pst_zstd.c stores. Each checksum is an XXH3-64 seeded with the checksum of the
 * frame before (the first with that of the file header): a frame that is
 * damaged, missing, doubled or out of place is found where it stands. A header
 * is checked by itself before its lengths are believed. The only file of
 * formats/ that knows xxhash.
 *
 * A chunk that is a part of a stream needs those before it, decompressed. Who
 * passes over chunks does not want that: so parts that were passed over are only
 * marked as missing, and read again, from the beginning of their stream, when a
 * later one is asked for. An input that cannot be read again, such as a pipe, has
 * its parts decompressed as they are passed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "formats/formats.h"
#include "formats/pst.h"

enum { HEADER_SEALED = 28 }; /* bytes of a frame header that its own check covers */

void psnap_pst_file_header_make(unsigned char *header, uint32_t version, uint64_t *chain)
{
    memcpy(header, PSNAP_PST_MAGIC, 8);
    psnap_record_put_u32(header + 8, version);
    *chain = XXH3_64bits(header, 12);
    psnap_record_put_u32(header + 12, (uint32_t)*chain);
}

void psnap_pst_frame_seal(unsigned char *header, const unsigned char *stored, size_t stored_size,
                          uint64_t *chain)
{
    const uint64_t sealed = XXH3_64bits_withSeed(header, HEADER_SEALED, *chain);

    *chain = XXH3_64bits_withSeed(stored, stored_size, sealed);
    psnap_record_put_u32(header + HEADER_SEALED, (uint32_t)sealed);
    psnap_record_put_u64(header + 32, *chain);
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

enum psnap_status psnap_pst_pack(struct psnap_pst_packer *packer,
                                 const struct psnap_pst_frame *frame,
                                 const struct psnap_bytes *payload, struct psnap_error *error)
{
    const unsigned char *stored;
    size_t stored_size;
    unsigned char header[PSNAP_PST_FRAME_HEADER] = {0};
    enum psnap_status status;

    if (payload->size > PSNAP_PST_PAYLOAD_MAX)
        return psnap_error_set(error, PSNAP_ERROR_VALUE, "the program is too large for a .pst");
    header[4] =
        psnap_pst_squeeze(packer->squeezer, frame->accesses, payload, &stored, &stored_size);
    if (packer->max_bytes && packer->written + sizeof header + stored_size > packer->max_bytes)
        return psnap_error_set(error, PSNAP_ERROR_LIMIT, "trace has its full size");
    psnap_record_put_u32(header, frame->type);
    psnap_record_put_u64(header + 8, frame->first);
    psnap_record_put_u32(header + 16, frame->accesses);
    psnap_record_put_u32(header + 20, (uint32_t)payload->size);
    psnap_record_put_u32(header + 24, (uint32_t)stored_size);
    psnap_pst_frame_seal(header, stored, stored_size, &packer->chain);
    status = write_bytes(packer, header, sizeof header, error);
    return status != PSNAP_OK ? status : write_bytes(packer, stored, stored_size, error);
}

uint64_t psnap_pst_count(int fd)
{
    unsigned char header[PSNAP_PST_FRAME_HEADER];
    uint64_t chain, accesses = 0;
    off_t offset = PSNAP_PST_FILE_HEADER;

    if (pread(fd, header, PSNAP_PST_FILE_HEADER, 0) != (ssize_t)PSNAP_PST_FILE_HEADER ||
        memcmp(header, PSNAP_PST_MAGIC, 8) != 0)
        return 0;
    chain = XXH3_64bits(header, 12);
    while (pread(fd, header, sizeof header, offset) == (ssize_t)sizeof header) {
        if (psnap_record_u32(header + HEADER_SEALED) !=
            (uint32_t)XXH3_64bits_withSeed(header, HEADER_SEALED, chain))
            break;
        accesses += psnap_record_u32(header + 16);
        chain = psnap_record_u64(header + 32);
        offset += PSNAP_PST_FRAME_HEADER + (off_t)psnap_record_u32(header + 24);
    }
    return accesses;
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
                                               struct psnap_reader *reader,
                                               struct psnap_error *error)
{
    const size_t have = psnap_reader_ahead(reader, PSNAP_PST_FILE_HEADER);
    const unsigned char *header = reader->data + reader->at;
    const size_t magic = have < 8 ? have : 8;
    uint32_t version;

    if (memcmp(header, PSNAP_PST_MAGIC, magic) != 0)
        return fail(reader, 0, PSNAP_ERROR_CORRUPT, "not a psnap trace", error);
    if (have < PSNAP_PST_FILE_HEADER)
        return cut_off(reader, "input ends in the file header", error);
    unpacker->chain = XXH3_64bits(header, 12);
    if (psnap_record_u32(header + 12) != (uint32_t)unpacker->chain)
        return fail(reader, 8, PSNAP_ERROR_CORRUPT, "file header is damaged", error);
    version = psnap_record_u32(header + 8);
    if (version != PSNAP_PST_VERSION) {
        psnap_error_set(error, PSNAP_ERROR_VERSION,
                        "written by %s psnap: trace version %" PRIu32 ", this one reads version %u",
                        version < PSNAP_PST_VERSION ? "an older" : "a newer", version,
                        PSNAP_PST_VERSION);
        psnap_error_at_offset(error, reader->name, 8);
        return PSNAP_ERROR_VERSION;
    }
    reader->at += PSNAP_PST_FILE_HEADER;
    return PSNAP_OK;
}

/* Whether the method is known, and allowed with the other fields. */
static bool method_fits(const struct psnap_pst_frame *frame)
{
    switch (frame->method) {
    case PSNAP_PST_STORED:
        return frame->stored_size == frame->raw_size;
    case PSNAP_PST_ZSTD:
        return frame->stored_size <= frame->raw_size;
    case PSNAP_PST_BEGUN:
    case PSNAP_PST_CONTINUED:
        return frame->type == PSNAP_PST_ACCESSES &&
               frame->stored_size <= psnap_pst_stored_max(frame->raw_size);
    default:
        return false;
    }
}

/* Checks what a header says; true when it may be believed. */
static bool parse_header(const unsigned char *header, uint64_t chain, struct psnap_pst_frame *frame)
{
    frame->type = psnap_record_u32(header);
    frame->method = header[4];
    frame->first = psnap_record_u64(header + 8);
    frame->accesses = psnap_record_u32(header + 16);
    frame->raw_size = psnap_record_u32(header + 20);
    frame->stored_size = psnap_record_u32(header + 24);
    return psnap_record_u32(header + HEADER_SEALED) ==
               (uint32_t)XXH3_64bits_withSeed(header, HEADER_SEALED, chain) &&
           frame->raw_size <= PSNAP_PST_PAYLOAD_MAX && method_fits(frame) &&
           frame->accesses <= PSNAP_PST_CHUNK_MAX;
}

static bool is_part(const struct psnap_pst_frame *frame)
{
    return frame->method == PSNAP_PST_BEGUN || frame->method == PSNAP_PST_CONTINUED;
}

/* Reads the frame at the reader's place. */
static enum psnap_status read_frame(struct psnap_pst_unpacker *unpacker,
                                    struct psnap_reader *reader, struct psnap_pst_frame *frame,
                                    struct psnap_error *error)
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
    if (frame->method == PSNAP_PST_BEGUN) {
        unpacker->origin = frame->offset;
        unpacker->origin_chain = unpacker->chain;
        unpacker->is_behind = false;
    }
    unpacker->chain = XXH3_64bits_withSeed(frame->stored, frame->stored_size, sealed);
    if (psnap_record_u64(header + 32) != unpacker->chain)
        return fail(reader, frame->offset, PSNAP_ERROR_CORRUPT,
                    "damaged chunk: its checksum does not match", error);
    if (frame->method == PSNAP_PST_CONTINUED && !unpacker->origin)
        return fail(reader, frame->offset, PSNAP_ERROR_CORRUPT,
                    "chunk goes on from one that is not there", error);
    unpacker->consume = want;
    return PSNAP_OK;
}

static enum psnap_status expand(struct psnap_pst_unpacker *unpacker,
                                const struct psnap_reader *reader,
                                const struct psnap_pst_frame *frame, struct psnap_cursor *payload,
                                struct psnap_error *error)
{
    const enum psnap_status status = psnap_pst_expand(unpacker->expander, frame, payload, error);

    if (status != PSNAP_OK)
        psnap_error_at_offset(error, reader->name, frame->offset);
    return status;
}

/* The frame given out last will not be asked for any more. */
static enum psnap_status pass(struct psnap_pst_unpacker *unpacker,
                              const struct psnap_reader *reader, struct psnap_error *error)
{
    struct psnap_cursor payload;

    if (!unpacker->has_passed)
        return PSNAP_OK;
    unpacker->has_passed = false;
    if (!psnap_reader_can_rewind(reader))
        return expand(unpacker, reader, &unpacker->passed, &payload, error);
    unpacker->is_behind = true;
    return PSNAP_OK;
}

enum psnap_status psnap_pst_unpack(struct psnap_pst_unpacker *unpacker, struct psnap_reader *reader,
                                   struct psnap_pst_frame *frame, struct psnap_error *error)
{
    enum psnap_status status = pass(unpacker, reader, error);

    if (status == PSNAP_OK)
        status = read_frame(unpacker, reader, frame, error);
    if (status != PSNAP_OK)
        return status;
    unpacker->passed = *frame;
    unpacker->has_passed = is_part(frame);
    return PSNAP_OK;
}

/* Decompresses what was passed over of the stream, up to before `frame`, which is read again. */
static enum psnap_status catch_up(struct psnap_pst_unpacker *unpacker, struct psnap_reader *reader,
                                  struct psnap_pst_frame *frame, struct psnap_error *error)
{
    const uint64_t target = frame->offset;
    struct psnap_cursor payload;
    enum psnap_status status = psnap_reader_rewind(reader, unpacker->origin, error);

    unpacker->consume = 0;
    unpacker->chain = unpacker->origin_chain;
    while (status == PSNAP_OK) {
        status = read_frame(unpacker, reader, frame, error);
        if (status != PSNAP_OK || frame->offset == target)
            break;
        if (is_part(frame))
            status = expand(unpacker, reader, frame, &payload, error);
    }
    return status;
}

enum psnap_status psnap_pst_unpack_payload(struct psnap_pst_unpacker *unpacker,
                                           struct psnap_reader *reader,
                                           struct psnap_pst_frame *frame,
                                           struct psnap_cursor *payload, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    if (is_part(frame)) {
        unpacker->has_passed = false;
        if (unpacker->is_behind)
            status = catch_up(unpacker, reader, frame, error);
        unpacker->is_behind = false;
    }
    return status == PSNAP_OK ? expand(unpacker, reader, frame, payload, error) : status;
}
