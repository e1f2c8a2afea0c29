/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Payloads compressed (PST.md, "Methods"). What folded, and tables, is small
 * and a zstd frame by itself. What did not fold is a part of a stream, one zstd
 * frame over many chunks: programs iterate, and gather the same addresses in
 * the same order again, further apart than a chunk is long. A window of 32 MiB
 * and zstd's long distance matching find that; each part is flushed, so that it
 * can be read as soon as it is written.
 *
 * Memory: the window once here and once in the reader, from the first chunk on
 * that did not fold. The only file of formats/ that knows zstd, but
 * for compressed_zstd.c, which knows nothing of .pst.
 */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "formats/pst.h"

/* What folded, a small payload for its accesses, is worth more time than what did not: level 15
 * takes some 64 ns a byte, so 4 ns an access at most. */
#define LEVEL 1
#define LEVEL_FOLDED 15
#define FOLDED_BYTES(accesses) ((size_t)(16 << 10) + (accesses) / 16)
#define FOLDED_BYTES_MAX ((size_t)256 << 10)

/* Matches of less than this are noise in planes of addresses. */
#define STREAM_MATCH 7

struct psnap_pst_squeezer {
    ZSTD_CCtx *single, *stream; /* stream: from its first use on */
    unsigned char *packed;
    size_t packed_room;
    uint64_t streamed; /* payload bytes of the stream under way; 0: none is */
};

struct psnap_pst_expander {
    ZSTD_DCtx *single, *stream;
    unsigned char *raw;
    size_t raw_room;
    bool streaming; /* a stream was begun, and all of it seen */
};

struct psnap_pst_squeezer *psnap_pst_squeezer_new(void)
{
    struct psnap_pst_squeezer *squeezer = calloc(1, sizeof *squeezer);

    if (!squeezer)
        return NULL;
    squeezer->single = ZSTD_createCCtx();
    if (squeezer->single)
        return squeezer;
    free(squeezer);
    return NULL;
}

void psnap_pst_squeezer_free(struct psnap_pst_squeezer *squeezer)
{
    if (!squeezer)
        return;
    ZSTD_freeCCtx(squeezer->single);
    ZSTD_freeCCtx(squeezer->stream);
    free(squeezer->packed);
    free(squeezer);
}

/* Bytes of the payload by itself in squeezer->packed; 0 when that is no gain. */
static size_t squeeze_single(struct psnap_pst_squeezer *squeezer, const struct psnap_bytes *payload,
                             int level)
{
    const size_t size = ZSTD_compressCCtx(squeezer->single, squeezer->packed, squeezer->packed_room,
                                          payload->data, payload->size, level);

    return ZSTD_isError(size) || size >= payload->size ? 0 : size;
}

/* A stream may begin; false: out of memory. */
static bool begin_stream(struct psnap_pst_squeezer *squeezer)
{
    if (!squeezer->stream)
        squeezer->stream = ZSTD_createCCtx();
    return squeezer->stream &&
           !ZSTD_isError(ZSTD_CCtx_reset(squeezer->stream, ZSTD_reset_session_and_parameters)) &&
           !ZSTD_isError(
               ZSTD_CCtx_setParameter(squeezer->stream, ZSTD_c_compressionLevel, LEVEL)) &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(squeezer->stream, ZSTD_c_minMatch, STREAM_MATCH)) &&
           !ZSTD_isError(ZSTD_CCtx_setParameter(squeezer->stream, ZSTD_c_windowLog,
                                                PSNAP_PST_STREAM_WINDOW_BITS)) &&
           !ZSTD_isError(
               ZSTD_CCtx_setParameter(squeezer->stream, ZSTD_c_enableLongDistanceMatching, 1));
}

/* Bytes of the stream's next part in squeezer->packed; 0: it failed, and the stream with it. */
static size_t squeeze_part(struct psnap_pst_squeezer *squeezer, const struct psnap_bytes *payload)
{
    ZSTD_inBuffer in = {payload->data, payload->size, 0};
    ZSTD_outBuffer out = {squeezer->packed, squeezer->packed_room, 0};
    size_t left;

    if (squeezer->streamed == 0 && !begin_stream(squeezer))
        return 0;
    do {
        left = ZSTD_compressStream2(squeezer->stream, &out, &in, ZSTD_e_flush);
    } while (!ZSTD_isError(left) && left > 0 && out.pos < out.size);
    if (ZSTD_isError(left) || left > 0 || out.pos > psnap_pst_stored_max(payload->size)) {
        squeezer->streamed = 0;
        return 0;
    }
    squeezer->streamed += payload->size;
    return out.pos;
}

uint8_t psnap_pst_squeeze(struct psnap_pst_squeezer *squeezer, uint32_t accesses,
                          const struct psnap_bytes *payload, const unsigned char **stored,
                          size_t *stored_size)
{
    const bool has_folded =
        payload->size <= FOLDED_BYTES_MAX && payload->size <= FOLDED_BYTES(accesses);
    uint8_t method = PSNAP_PST_STORED;

    *stored = payload->data;
    *stored_size = payload->size;
    if (payload->size == 0 || !psnap_reserve(&squeezer->packed, &squeezer->packed_room,
                                             ZSTD_compressBound(payload->size) + 64, 1))
        return method; /* storing it is as good */
    if (accesses > 0 && !has_folded) {
        if (squeezer->streamed + payload->size > PSNAP_PST_STREAM_BYTES)
            squeezer->streamed = 0;
        method = squeezer->streamed ? PSNAP_PST_CONTINUED : PSNAP_PST_BEGUN;
        *stored_size = squeeze_part(squeezer, payload);
    } else {
        method = PSNAP_PST_ZSTD;
        *stored_size = squeeze_single(squeezer, payload, has_folded ? LEVEL_FOLDED : LEVEL);
    }
    if (*stored_size > 0) {
        *stored = squeezer->packed;
        return method;
    }
    *stored_size = payload->size;
    return PSNAP_PST_STORED;
}

struct psnap_pst_expander *psnap_pst_expander_new(void)
{
    struct psnap_pst_expander *expander = calloc(1, sizeof *expander);

    if (!expander)
        return NULL;
    expander->single = ZSTD_createDCtx();
    expander->stream = ZSTD_createDCtx();
    if (expander->single && expander->stream &&
        !ZSTD_isError(ZSTD_DCtx_setParameter(expander->stream, ZSTD_d_windowLogMax,
                                             PSNAP_PST_STREAM_WINDOW_BITS)))
        return expander;
    psnap_pst_expander_free(expander);
    return NULL;
}

void psnap_pst_expander_free(struct psnap_pst_expander *expander)
{
    if (!expander)
        return;
    ZSTD_freeDCtx(expander->single);
    ZSTD_freeDCtx(expander->stream);
    free(expander->raw);
    free(expander);
}

static enum psnap_status failed(size_t code, struct psnap_error *error)
{
    if (ZSTD_getErrorCode(code) == ZSTD_error_memory_allocation)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return psnap_error_set(error, PSNAP_ERROR_CORRUPT, "damaged chunk: cannot decompress it");
}

static enum psnap_status expand_single(struct psnap_pst_expander *expander,
                                       const struct psnap_pst_frame *frame,
                                       struct psnap_error *error)
{
    const size_t size = ZSTD_decompressDCtx(expander->single, expander->raw, frame->raw_size,
                                            frame->stored, frame->stored_size);

    return size == frame->raw_size ? PSNAP_OK : failed(size, error);
}

/* All of the part must be used, give as much as it says, and leave the stream open. */
static enum psnap_status expand_part(struct psnap_pst_expander *expander,
                                     const struct psnap_pst_frame *frame, struct psnap_error *error)
{
    ZSTD_inBuffer in = {frame->stored, frame->stored_size, 0};
    ZSTD_outBuffer out = {expander->raw, (size_t)frame->raw_size + 1, 0};
    size_t read = 0, made = 0, hint;

    if (frame->method == PSNAP_PST_BEGUN)
        ZSTD_DCtx_reset(expander->stream, ZSTD_reset_session_only);
    else if (!expander->streaming)
        return psnap_error_set(error, PSNAP_ERROR_CORRUPT,
                               "chunk goes on from one that is not there");
    expander->streaming = false;
    do {
        read = in.pos;
        made = out.pos;
        hint = ZSTD_decompressStream(expander->stream, &out, &in);
    } while (!ZSTD_isError(hint) && hint > 0 && (in.pos > read || out.pos > made));
    if (ZSTD_isError(hint))
        return failed(hint, error);
    if (hint == 0 || in.pos < in.size || out.pos != frame->raw_size)
        return psnap_error_set(error, PSNAP_ERROR_CORRUPT, "damaged chunk: cannot decompress it");
    expander->streaming = true;
    return PSNAP_OK;
}

enum psnap_status psnap_pst_expand(struct psnap_pst_expander *expander,
                                   const struct psnap_pst_frame *frame,
                                   struct psnap_cursor *payload, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    *payload = (struct psnap_cursor){frame->stored, frame->stored + frame->stored_size, false};
    if (frame->method == PSNAP_PST_STORED)
        return PSNAP_OK;
    if (!psnap_reserve(&expander->raw, &expander->raw_room, (size_t)frame->raw_size + 1, 1))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    status = frame->method == PSNAP_PST_ZSTD ? expand_single(expander, frame, error)
                                             : expand_part(expander, frame, error);
    *payload = (struct psnap_cursor){expander->raw, expander->raw + frame->raw_size, false};
    return status;
}
