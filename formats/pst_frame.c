/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames of the native trace: a header of 40 bytes and a payload. Each checksum is an XXH3-64
 * seeded with the checksum of the frame before (the first with that of the file header): a frame
 * that is damaged, missing, doubled or out of place is found where it stands. A header is checked
 * by itself before its lengths are believed. The only file of formats/ that knows xxhash and zstd.
 *
 * Payloads are compressed (PST.md, "Methods"). What folded, and tables, is small and a zstd frame
 * by itself. What did not fold is a part of a stream, one zstd frame over many chunks: programs
 * iterate, and gather the same addresses in the same order again, further apart than a chunk is
 * long. A window of 32 MiB and zstd's long distance matching find that; each part is flushed, so
 * that it can be read as soon as it is written. A part needs those before it: all of them are
 * decompressed, also of chunks that are passed over. Memory: the window once in the writer and once
 * in the reader, from the first chunk on that did not fold.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "formats/formats.h"
#include "formats/pst.h"

enum { HEADER_SEALED = 28 }; /* bytes of a frame header that its own check covers */

/* What folded, a small payload for its accesses, is worth more time than what did not: level 15
 * takes some 64 ns a byte, so 4 ns an access at most. */
#define LEVEL 1
#define LEVEL_FOLDED 15
#define FOLDED_BYTES(accesses) ((size_t)(16 << 10) + (accesses) / 16)
#define FOLDED_BYTES_MAX ((size_t)256 << 10)

/* Matches of less than this are noise in planes of addresses. */
#define STREAM_MATCH 7

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

/* ---- written ---- */

void psnap_pst_packer_release(struct psnap_pst_packer *packer)
{
    ZSTD_freeCCtx(packer->single);
    ZSTD_freeCCtx(packer->stream);
    free(packer->packed);
}

/* Bytes of the payload by itself in packer->packed; 0 when that is no gain. */
static size_t squeeze_single(struct psnap_pst_packer *packer, const struct psnap_bytes *payload,
                             int level)
{
    size_t size;

    if (!packer->single && !(packer->single = ZSTD_createCCtx()))
        return 0;
    size = ZSTD_compressCCtx(packer->single, packer->packed, packer->packed_room, payload->data,
                             payload->size, level);
    return ZSTD_isError(size) || size >= payload->size ? 0 : size;
}

/* A stream may begin; false: out of memory. */
static bool begin_stream(struct psnap_pst_packer *packer)
{
    static const struct {
        ZSTD_cParameter parameter;
        int value;
    } settings[] = {{ZSTD_c_compressionLevel, LEVEL},
                    {ZSTD_c_minMatch, STREAM_MATCH},
                    {ZSTD_c_windowLog, PSNAP_PST_STREAM_WINDOW_BITS},
                    {ZSTD_c_enableLongDistanceMatching, 1}};
    bool is_set = packer->stream || (packer->stream = ZSTD_createCCtx());

    is_set =
        is_set && !ZSTD_isError(ZSTD_CCtx_reset(packer->stream, ZSTD_reset_session_and_parameters));
    for (size_t i = 0; is_set && i < sizeof settings / sizeof *settings; i++)
        is_set = !ZSTD_isError(
            ZSTD_CCtx_setParameter(packer->stream, settings[i].parameter, settings[i].value));
    return is_set;
}

/* Bytes of the stream's next part in packer->packed; 0: it failed, and the stream with it. */
static size_t squeeze_part(struct psnap_pst_packer *packer, const struct psnap_bytes *payload)
{
    ZSTD_inBuffer in = {payload->data, payload->size, 0};
    ZSTD_outBuffer out = {packer->packed, packer->packed_room, 0};
    size_t left;

    if (packer->streamed == 0 && !begin_stream(packer))
        return 0;
    do {
        left = ZSTD_compressStream2(packer->stream, &out, &in, ZSTD_e_flush);
    } while (!ZSTD_isError(left) && left > 0 && out.pos < out.size);
    if (ZSTD_isError(left) || left > 0 || out.pos > psnap_pst_stored_max(payload->size)) {
        packer->streamed = 0;
        return 0;
    }
    packer->streamed += payload->size;
    return out.pos;
}

/* How the payload of a frame with `accesses` of them is stored, and its bytes, which are valid
 * until the next call. Without memory it is stored as it is. */
static uint8_t squeeze(struct psnap_pst_packer *packer, uint32_t accesses,
                       const struct psnap_bytes *payload, const unsigned char **stored,
                       size_t *stored_size)
{
    const bool has_folded =
        payload->size <= FOLDED_BYTES_MAX && payload->size <= FOLDED_BYTES(accesses);
    uint8_t method = PSNAP_PST_ZSTD;
    size_t size = 0;

    if (payload->size > 0 && psnap_reserve(&packer->packed, &packer->packed_room,
                                           ZSTD_compressBound(payload->size) + 64, 1)) {
        if (accesses == 0 || has_folded) {
            size = squeeze_single(packer, payload, has_folded ? LEVEL_FOLDED : LEVEL);
        } else {
            if (packer->streamed + payload->size > PSNAP_PST_STREAM_BYTES)
                packer->streamed = 0;
            method = packer->streamed ? PSNAP_PST_CONTINUED : PSNAP_PST_BEGUN;
            size = squeeze_part(packer, payload);
        }
    }
    *stored = size ? packer->packed : payload->data;
    *stored_size = size ? size : payload->size;
    return size ? method : PSNAP_PST_STORED;
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
    header[4] = squeeze(packer, frame->accesses, payload, &stored, &stored_size);
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

/* ---- read ---- */

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

static enum psnap_status cannot_expand(size_t code, struct psnap_error *error)
{
    if (ZSTD_isError(code) && ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return psnap_error_set(error, PSNAP_ERROR_CORRUPT, "damaged chunk: cannot decompress it");
}

/* All of the part must be used, give as much as it says, and leave the stream open. */
static enum psnap_status expand_part(struct psnap_pst_unpacker *unpacker,
                                     const struct psnap_pst_frame *frame, struct psnap_error *error)
{
    ZSTD_inBuffer in = {frame->stored, frame->stored_size, 0};
    ZSTD_outBuffer out = {unpacker->raw, (size_t)frame->raw_size + 1, 0};
    size_t read = 0, made = 0, hint;

    if (frame->method == PSNAP_PST_BEGUN)
        ZSTD_DCtx_reset(unpacker->stream, ZSTD_reset_session_only);
    else if (!unpacker->is_streaming)
        return psnap_error_set(error, PSNAP_ERROR_CORRUPT,
                               "chunk goes on from one that is not there");
    unpacker->is_streaming = false;
    do {
        read = in.pos;
        made = out.pos;
        hint = ZSTD_decompressStream(unpacker->stream, &out, &in);
    } while (!ZSTD_isError(hint) && hint > 0 && (in.pos > read || out.pos > made));
    if (ZSTD_isError(hint) || hint == 0 || in.pos < in.size || out.pos != frame->raw_size)
        return cannot_expand(hint, error);
    unpacker->is_streaming = true;
    return PSNAP_OK;
}

/* The payload of the frame. Parts of a stream come in their order and all of them. */
static enum psnap_status expand(struct psnap_pst_unpacker *unpacker,
                                const struct psnap_pst_frame *frame, struct psnap_cursor *payload,
                                struct psnap_error *error)
{
    size_t size;

    *payload = (struct psnap_cursor){frame->stored, frame->stored + frame->stored_size, false};
    if (frame->method == PSNAP_PST_STORED)
        return PSNAP_OK;
    if (!unpacker->stream && (unpacker->stream = ZSTD_createDCtx()))
        ZSTD_DCtx_setParameter(unpacker->stream, ZSTD_d_windowLogMax, PSNAP_PST_STREAM_WINDOW_BITS);
    if (!unpacker->single)
        unpacker->single = ZSTD_createDCtx();
    if (!unpacker->stream || !unpacker->single ||
        !psnap_reserve(&unpacker->raw, &unpacker->raw_room, (size_t)frame->raw_size + 1, 1))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    *payload = (struct psnap_cursor){unpacker->raw, unpacker->raw + frame->raw_size, false};
    if (frame->method != PSNAP_PST_ZSTD)
        return expand_part(unpacker, frame, error);
    size = ZSTD_decompressDCtx(unpacker->single, unpacker->raw, frame->raw_size, frame->stored,
                               frame->stored_size);
    return size == frame->raw_size ? PSNAP_OK : cannot_expand(size, error);
}

enum psnap_status psnap_pst_unpack(struct psnap_pst_unpacker *unpacker, struct psnap_reader *reader,
                                   struct psnap_pst_frame *frame, struct psnap_cursor *payload,
                                   struct psnap_error *error)
{
    const unsigned char *header;
    uint64_t sealed;
    size_t want = PSNAP_PST_FRAME_HEADER;
    enum psnap_status status;

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
    if (psnap_record_u64(header + 32) != unpacker->chain)
        return fail(reader, frame->offset, PSNAP_ERROR_CORRUPT,
                    "damaged chunk: its checksum does not match", error);
    unpacker->consume = want;
    status = expand(unpacker, frame, payload, error);
    if (status != PSNAP_OK)
        psnap_error_at_offset(error, reader->name, frame->offset);
    return status;
}

void psnap_pst_unpacker_release(struct psnap_pst_unpacker *unpacker)
{
    ZSTD_freeDCtx(unpacker->single);
    ZSTD_freeDCtx(unpacker->stream);
    free(unpacker->raw);
}
