/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gzip (RFC 1952), through zlib, and the only file that knows it. Zero bytes may follow the last
 * member, as tapes and block devices leave them; anything else that is no member is damage.
 */
#include "formats/compressed.h"

#include <limits.h>
#include <stdlib.h>

#define ZLIB_CONST /* zlib's input pointer is to const */
#include <zlib.h>

/* Magic, method 8, and no flag that the format does not have. */
static bool is_gzip(const unsigned char *start, size_t n)
{
    return n >= 4 && start[0] == 0x1f && start[1] == 0x8b && start[2] == 8 && start[3] < 0x20;
}

struct gzip {
    z_stream stream;
    bool is_padding; /* behind the last member */
};

static void *gzip_begin_read(void)
{
    struct gzip *gzip = calloc(1, sizeof *gzip);

    if (gzip && inflateInit2(&gzip->stream, 15 + 16) == Z_OK) /* 16: a gzip header */
        return gzip;
    free(gzip);
    return NULL;
}

static void gzip_end_read(void *state)
{
    inflateEnd(&((struct gzip *)state)->stream);
    free(state);
}

static uInt at_most(size_t n)
{
    return n < UINT_MAX ? (uInt)n : UINT_MAX;
}

/* Between members: zeros are the end, else another one begins. */
static enum psnap_status begin_member(struct gzip *gzip, struct psnap_compress_step *step,
                                      struct psnap_error *error)
{
    while (step->in_used < step->in_size && !step->in[step->in_used])
        step->in_used++;
    gzip->is_padding = gzip->is_padding || step->in_used;
    if (step->in_used == step->in_size)
        return PSNAP_OK;
    if (gzip->is_padding || step->in[step->in_used] != 0x1f)
        return psnap_error_set(error, PSNAP_ERROR_CORRUPT,
                               "something that is no gzip data follows the gzip data");
    step->may_end = false;
    return inflateReset(&gzip->stream) == Z_OK
               ? PSNAP_OK
               : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
}

/* A step of `code`, zlib's inflate or deflate, in what is left of the input. */
static int run(z_stream *stream, int (*code)(z_stream *, int), int flush,
               struct psnap_compress_step *step)
{
    int result;

    stream->next_in = step->in + step->in_used;
    stream->avail_in = at_most(step->in_size - step->in_used);
    stream->next_out = step->out;
    stream->avail_out = at_most(step->out_size);
    result = code(stream, flush);
    step->in_used = (size_t)(stream->next_in - step->in);
    step->out_made = (size_t)(stream->next_out - step->out);
    step->may_end = result == Z_STREAM_END;
    return result == Z_STREAM_END || result == Z_BUF_ERROR ? Z_OK : result;
}

static enum psnap_status gzip_read(void *state, struct psnap_compress_step *step,
                                   struct psnap_error *error)
{
    struct gzip *gzip = state;
    z_stream *stream = &gzip->stream;
    int result;

    if (step->may_end) {
        const enum psnap_status status = begin_member(gzip, step, error);
        if (status || step->may_end)
            return status;
    }
    result = run(stream, inflate, Z_NO_FLUSH, step);
    if (result == Z_OK)
        return PSNAP_OK;
    if (result == Z_MEM_ERROR)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return psnap_error_set(error, PSNAP_ERROR_CORRUPT, "damaged gzip data: %s",
                           stream->msg ? stream->msg : "cannot be decompressed");
}

#define LEVEL 6 /* gzip's own */

static void *gzip_begin_write(void)
{
    z_stream *stream = calloc(1, sizeof *stream);

    if (stream && deflateInit2(stream, LEVEL, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK)
        return stream;
    free(stream);
    return NULL;
}

static void gzip_end_write(void *state)
{
    deflateEnd(state);
    free(state);
}

static enum psnap_status gzip_write(void *state, struct psnap_compress_step *step,
                                    struct psnap_error *error)
{
    if (run(state, deflate, step->is_last ? Z_FINISH : Z_NO_FLUSH, step) == Z_OK)
        return PSNAP_OK;
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
}

const struct psnap_compression psnap_compression_gzip = {
    .name = "gzip",
    .suffix = ".gz",
    .is_mine = is_gzip,
    .begin_read = gzip_begin_read,
    .begin_write = gzip_begin_write,
    .read = gzip_read,
    .write = gzip_write,
    .end_read = gzip_end_read,
    .end_write = gzip_end_write,
};
