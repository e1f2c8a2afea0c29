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

struct compression {
    const struct psnap_compression *with;
    void *state;
    FILE *file;           /* not owned */
    const bool *is_whole; /* what was written, when it is closed */
    bool has_failed;
    unsigned char out[OUT_BYTES];
};

/* Compresses all of it, and with is_last ends the file; false with errno set. */
static bool push(struct compression *it, const void *data, size_t n, bool is_last)
{
    const unsigned char *in = data;
    bool is_done = it->has_failed || (n == 0 && !is_last);

    while (!is_done) {
        struct psnap_compress_step step = {
            .in = in, .in_size = n, .is_last = is_last, .out = it->out, .out_size = OUT_BYTES};

        if (it->with->write(it->state, &step, NULL)) {
            errno = ENOMEM;
            it->has_failed = true;
        }
        in += step.in_used;
        n -= step.in_used;
        if (!it->has_failed && fwrite(it->out, 1, step.out_made, it->file) != step.out_made)
            it->has_failed = true;
        is_done = it->has_failed || (is_last ? step.may_end : n == 0);
    }
    return !it->has_failed;
}

static ssize_t write_compressed(void *cookie, const char *data, size_t n)
{
    return push(cookie, data, n, false) ? (ssize_t)n : 0;
}

static int close_compressed(void *cookie)
{
    struct compression *it = cookie;
    const bool is_good = *it->is_whole && push(it, "", 0, true);
    const int reason = errno;

    it->with->end_write(it->state);
    free(it);
    errno = reason;
    return is_good ? 0 : EOF;
}

FILE *psnap_compress(const struct psnap_compression *with, FILE *file, const bool *is_whole,
                     struct psnap_error *error)
{
    static const cookie_io_functions_t functions = {.write = write_compressed,
                                                    .close = close_compressed};
    struct compression *it;
    FILE *made = NULL;

    if (!with->begin_write) {
        psnap_error_set(error, PSNAP_ERROR_UNSUPPORTED,
                        "this psnap was built without %s; write to a pipe that compresses",
                        with->name);
        return NULL;
    }
    it = calloc(1, sizeof *it);
    if (it) {
        *it = (struct compression){
            .with = with, .state = with->begin_write(), .file = file, .is_whole = is_whole};
        if (it->state)
            made = fopencookie(it, "w", functions);
        if (!made && it->state)
            with->end_write(it->state);
        if (!made)
            free(it);
    }
    if (!made)
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return made;
}

struct compressed_sink {
    struct psnap_sink base;
    struct psnap_sink *inner;
    FILE *compressed; /* NULL: closed */
    FILE *file;       /* not owned */
    bool is_whole;
};

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
    const struct psnap_compression *with;
    size_t i = 0;

    while ((with = psnap_compression_at(i)) && strcmp(with->suffix, suffix) != 0)
        i++;
    return with;
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
    };
    const struct psnap_compression *with = compression ? find(compression) : NULL;
    struct compressed_sink *sink;

    if (!compression)
        return psnap_trace_writer_new_plain(format, clock, file, program, error);
    if (!with) {
        psnap_error_set(error, PSNAP_ERROR_USAGE, "no compression '%s'", compression);
        return NULL;
    }
    sink = calloc(1, sizeof *sink);
    if (!sink) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    *sink = (struct compressed_sink){.base = {&ops}, .file = file};
    sink->compressed = psnap_compress(with, file, &sink->is_whole, error);
    if (sink->compressed)
        sink->inner = psnap_trace_writer_new_plain(format, clock, sink->compressed, program, error);
    if (sink->inner)
        return &sink->base;
    compressed_free(&sink->base);
    return NULL;
}
