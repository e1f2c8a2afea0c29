/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compressed output: a FILE of stdio whose bytes go through a compressor into another one, and a
 * sink that writes a trace of any format to such a FILE and closes it when it is finished.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/compressed.h"
#include "formats/formats.h"
#include "formats/trace.h"

#define OUT_BYTES ((size_t)64 << 10)

/* It is the cookie of its own FILE. */
struct compressed_sink {
    struct psnap_sink base;
    struct psnap_sink *inner;
    const struct psnap_compression *with;
    void *state;
    FILE *compressed; /* NULL: closed */
    FILE *file;       /* not owned */
    bool is_whole;    /* what was written, when it is closed; else a reader is to notice */
    bool has_failed;
    unsigned char out[OUT_BYTES];
};

/* Compresses all of it, and with is_last ends the file; false with errno set. */
static bool push(struct compressed_sink *sink, const void *data, size_t n, bool is_last)
{
    const unsigned char *in = data;
    bool is_done = sink->has_failed || (n == 0 && !is_last);

    while (!is_done) {
        struct psnap_compress_step step = {
            .in = in, .in_size = n, .is_last = is_last, .out = sink->out, .out_size = OUT_BYTES};

        if (sink->with->write(sink->state, &step, NULL)) {
            errno = ENOMEM;
            sink->has_failed = true;
        }
        in += step.in_used;
        n -= step.in_used;
        if (!sink->has_failed && fwrite(sink->out, 1, step.out_made, sink->file) != step.out_made)
            sink->has_failed = true;
        is_done = sink->has_failed || (is_last ? step.may_end : n == 0);
    }
    return !sink->has_failed;
}

static ssize_t write_compressed(void *cookie, const char *data, size_t n)
{
    return push(cookie, data, n, false) ? (ssize_t)n : 0;
}

static int close_compressed(void *cookie)
{
    struct compressed_sink *sink = cookie;
    const bool is_good = sink->is_whole && push(sink, "", 0, true);
    const int reason = errno;

    sink->with->end_write(sink->state);
    errno = reason;
    return is_good ? 0 : EOF;
}

static enum psnap_status compressed_put(struct psnap_sink *self, const struct psnap_access *block,
                                        size_t n, struct psnap_error *error)
{
    return psnap_sink_put(((struct compressed_sink *)self)->inner, block, n, error);
}

static enum psnap_status compressed_put_nest(struct psnap_sink *self, const struct psnap_nest *nest,
                                             struct psnap_error *error)
{
    return psnap_sink_put_nest(((struct compressed_sink *)self)->inner, nest, error);
}

static enum psnap_status compressed_finish(struct psnap_sink *self, struct psnap_error *error)
{
    struct compressed_sink *sink = (struct compressed_sink *)self;
    FILE *compressed = sink->compressed;
    const enum psnap_status status = psnap_sink_finish(sink->inner, error);

    if (status)
        return status;
    sink->compressed = NULL;
    sink->is_whole = true;
    if (fclose(compressed) != 0 || fflush(sink->file) != 0)
        return psnap_error_system(error, errno, "cannot write");
    return PSNAP_OK;
}

static uint64_t compressed_left_out(const struct psnap_sink *self)
{
    return psnap_sink_left_out(((const struct compressed_sink *)self)->inner);
}

static bool compressed_place(struct psnap_sink *self, struct psnap_compact *compact)
{
    return psnap_sink_place(((struct compressed_sink *)self)->inner, compact);
}

static void compressed_free(struct psnap_sink *self)
{
    struct compressed_sink *sink = (struct compressed_sink *)self;

    psnap_sink_free(sink->inner);
    if (sink->compressed)
        fclose(sink->compressed);
    free(sink);
}

static const struct psnap_compression *find(const char *suffix)
{
    const struct psnap_compression *const *with = psnap_compressions;

    while (*with && strcmp((*with)->suffix, suffix) != 0)
        with++;
    return *with;
}

const char *psnap_compression_of_path(const char *path)
{
    const char *dot = strrchr(path, '.');
    const struct psnap_compression *with = dot ? find(dot) : NULL;

    return with ? with->suffix : NULL;
}

struct psnap_sink *psnap_trace_writer_new_compressed(const char *format, const char *compression,
                                                     const uint64_t *clock, FILE *file,
                                                     struct psnap_program *program,
                                                     struct psnap_error *error)
{
    static const struct psnap_sink_ops ops = {
        .put = compressed_put,
        .finish = compressed_finish,
        .free = compressed_free,
        .put_nest = compressed_put_nest,
        .left_out = compressed_left_out,
        .place = compressed_place,
    };
    static const cookie_io_functions_t functions = {.write = write_compressed,
                                                    .close = close_compressed};
    const struct psnap_compression *with = compression ? find(compression) : NULL;
    struct compressed_sink *sink;

    if (!compression)
        return psnap_trace_writer_new_plain(format, clock, file, program, error);
    if (!with) {
        psnap_error_set(error, PSNAP_ERROR_USAGE, "no compression '%s'", compression);
        return NULL;
    }
    sink = calloc(1, sizeof *sink);
    if (sink) {
        sink->base.ops = &ops;
        sink->with = with;
        sink->file = file;
        sink->state = with->begin_write();
    }
    if (sink && sink->state)
        sink->compressed = fopencookie(sink, "w", functions);
    if (!sink || !sink->compressed) {
        if (sink && sink->state)
            with->end_write(sink->state);
        free(sink);
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    sink->inner = psnap_trace_writer_new_plain(format, clock, sink->compressed, program, error);
    if (sink->inner)
        return &sink->base;
    compressed_free(&sink->base);
    return NULL;
}
