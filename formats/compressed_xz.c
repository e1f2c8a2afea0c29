/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xz, through liblzma, and the only file that knows it. Memory is bounded, so that a hostile header
 * cannot ask for four gigabytes: xz -9 needs 65 MiB, and a dictionary may have up to some 256.
 */
#include "formats/compressed.h"

#include <lzma.h>
#include <stdlib.h>
#include <string.h>

static bool is_xz(const unsigned char *start, size_t n)
{
    return n >= 6 && memcmp(start, "\xfd\x37\x7a\x58\x5a\x00", 6) == 0;
}

#define MEMORY_BYTES ((uint64_t)272 << 20)

static void *xz_begin_read(void)
{
    lzma_stream *stream = calloc(1, sizeof *stream);

    if (stream && lzma_stream_decoder(stream, MEMORY_BYTES, LZMA_CONCATENATED) == LZMA_OK)
        return stream;
    free(stream);
    return NULL;
}

static void xz_end_read(void *state)
{
    lzma_end(state);
    free(state);
}

static enum psnap_status xz_failed(lzma_ret result, struct psnap_error *error)
{
    if (result == LZMA_MEM_ERROR)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    if (result == LZMA_MEMLIMIT_ERROR)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY,
                               "the xz data need more memory than the 272 MiB that they may have; "
                               "decompress them into a pipe and read '-'");
    if (result == LZMA_OPTIONS_ERROR)
        return psnap_error_set(error, PSNAP_ERROR_UNSUPPORTED,
                               "the xz data have options that this liblzma does not know");
    return psnap_error_set(error, PSNAP_ERROR_CORRUPT, "damaged xz data: %s",
                           result == LZMA_FORMAT_ERROR ? "something follows them that is no xz"
                                                       : "they cannot be decompressed");
}

/* Only liblzma knows whether a stream is whole, and it says so only when asked to finish. */
static enum psnap_status xz_read(void *state, struct psnap_compress_step *step,
                                 struct psnap_error *error)
{
    lzma_stream *stream = state;
    lzma_ret result;

    stream->next_in = step->in;
    stream->avail_in = step->in_size;
    stream->next_out = step->out;
    stream->avail_out = step->out_size;
    result = lzma_code(stream, step->is_last ? LZMA_FINISH : LZMA_RUN);
    step->in_used = step->in_size - stream->avail_in;
    step->out_made = step->out_size - stream->avail_out;
    step->may_end = result == LZMA_STREAM_END;
    if (result == LZMA_OK || result == LZMA_STREAM_END || result == LZMA_BUF_ERROR)
        return PSNAP_OK;
    return xz_failed(result, error);
}

#define PRESET 1 /* of 0 to 9; text comes out 2 % larger than by 3, in half the time */

static void *xz_begin_write(void)
{
    lzma_stream *stream = calloc(1, sizeof *stream);

    if (stream && lzma_easy_encoder(stream, PRESET, LZMA_CHECK_CRC64) == LZMA_OK)
        return stream;
    free(stream);
    return NULL;
}

static enum psnap_status xz_write(void *state, struct psnap_compress_step *step,
                                  struct psnap_error *error)
{
    const enum psnap_status status = xz_read(state, step, error);

    return status == PSNAP_OK || status == PSNAP_ERROR_MEMORY
               ? status
               : psnap_error_set(error, PSNAP_ERROR_IO, "cannot compress with xz");
}

const struct psnap_compression psnap_compression_xz = {
    .name = "xz",
    .suffix = ".xz",
    .is_mine = is_xz,
    .begin_read = xz_begin_read,
    .begin_write = xz_begin_write,
    .read = xz_read,
    .write = xz_write,
    .end_read = xz_end_read,
    .end_write = xz_end_read,
};
