/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gzip (RFC 1952), through zlib, and the only file that knows it. Zero bytes may follow the last
 * member, as tapes and block devices leave them; anything else that is no member is damage.
 */
#include "formats/compressed.h"

#include <stdlib.h>
#include <string.h>

/* Magic, method 8, and no flag that the format does not have. */
static bool is_gzip(const unsigned char *start, size_t n)
{
    return n >= 4 && start[0] == 0x1f && start[1] == 0x8b && start[2] == 8 && start[3] < 0x20;
}

#ifdef PSNAP_HAVE_ZLIB

#    include <limits.h>
#    define ZLIB_CONST /* of what is read */
#    include <zlib.h>

struct gzip {
    z_stream stream;
    bool is_padding; /* behind the last member */
};

static void *gzip_begin(void)
{
    struct gzip *gzip = calloc(1, sizeof *gzip);

    if (gzip && inflateInit2(&gzip->stream, 15 + 16) == Z_OK) /* 16: a gzip header */
        return gzip;
    free(gzip);
    return NULL;
}

static void gzip_end(void *state)
{
    inflateEnd(&((struct gzip *)state)->stream);
    free(state);
}

static uInt at_most(size_t n)
{
    return n < UINT_MAX ? (uInt)n : UINT_MAX;
}

/* Between members: zeros are the end, else another one begins. */
static enum psnap_status begin_member(struct gzip *gzip, struct psnap_decompress_step *step,
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

static enum psnap_status gzip_step(void *state, struct psnap_decompress_step *step,
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
    stream->next_in = step->in + step->in_used;
    stream->avail_in = at_most(step->in_size - step->in_used);
    stream->next_out = step->out;
    stream->avail_out = at_most(step->out_size);
    result = inflate(stream, Z_NO_FLUSH);
    step->in_used = (size_t)(stream->next_in - step->in);
    step->out_made = (size_t)(stream->next_out - step->out);
    step->may_end = result == Z_STREAM_END;
    if (result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR)
        return PSNAP_OK;
    if (result == Z_MEM_ERROR)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return psnap_error_set(error, PSNAP_ERROR_CORRUPT, "damaged gzip data: %s",
                           stream->msg ? stream->msg : "cannot be decompressed");
}

const struct psnap_decompressor psnap_decompress_gzip = {"gzip", is_gzip, gzip_begin, gzip_step,
                                                         gzip_end};

#else

const struct psnap_decompressor psnap_decompress_gzip = {"gzip (zlib)", is_gzip, NULL, NULL, NULL};

#endif
