/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What accesses turn into is made in a buffer that has room for one access more than it is meant to
 * hold, so that no encoder asks for room.
 */
#include "formats/trace_sink.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "formats/text_trace.h"

enum {
    LINE_MAX = 64, /* bytes */
    LINE_SHORT = 16,
    LINES_MAX = 64, /* accesses of a run's repetition, at most */
    RUN_MIN = 8     /* repetitions, at least */
};

/* What is in the buffer up to `to`. */
static enum psnap_status write_out(struct psnap_trace_sink *sink, const char *to,
                                   struct psnap_error *error)
{
    const size_t n = (size_t)(to - sink->text);

    sink->used = 0;
    if (n > 0 && fwrite(sink->text, 1, n, sink->file) != n)
        return psnap_error_system(error, errno, "cannot write");
    return PSNAP_OK;
}

static enum psnap_status sink_put(struct psnap_sink *self, const struct psnap_access *block,
                                  size_t n, struct psnap_error *error)
{
    struct psnap_trace_sink *sink = (struct psnap_trace_sink *)self;
    char *to = sink->text + sink->used;
    enum psnap_status status;

    for (size_t i = 0; i < n; i++) {
        to = sink->ops->access(sink, to, &block[i], error);
        if (!to)
            return error ? error->code : PSNAP_ERROR_VALUE;
        sink->count++;
        sink->used = (size_t)(to - sink->text);
        if (sink->used >= PSNAP_SINK_BYTES) {
            status = write_out(sink, to, error);
            if (status)
                return status;
            to = sink->text;
        }
    }
    return PSNAP_OK;
}

/* A line of a run, whose next one differs in the last eight digits of the address. */
struct line {
    char text[LINE_MAX];
    size_t bytes, digits_at; /* of the eight */
    uint64_t high;           /* the other bits of the address; UINT64_MAX: it has fewer digits */
    uint64_t address;        /* of the next repetition */
};

/* Makes a line anew, where more digits differ or there are fewer; returns as ops->access. */
static char *put_line(struct psnap_trace_sink *sink, struct line *line, char *to,
                      const struct psnap_access *access, struct psnap_error *error)
{
    char *end = sink->ops->access(sink, to, access, error);

    if (!end)
        return NULL;
    line->bytes = (size_t)(end - to);
    line->high = access->address >> 28 ? access->address >> 32 : UINT64_MAX;
    line->digits_at = sink->ops->hex_at;
    if (access->address >> 32)
        line->digits_at += (67 - (size_t)__builtin_clzll(line->high)) / 4;
    memcpy(line->text, to, LINE_MAX);
    return end;
}

/* A run of a format that is not lines of hexadecimal addresses. */
static enum psnap_status put_plain_run(struct psnap_trace_sink *sink, const struct psnap_run *run,
                                       struct psnap_error *error)
{
    struct psnap_access next[LINES_MAX];
    char *to = sink->text + sink->used, *const end = sink->text + PSNAP_SINK_BYTES;

    memcpy(next, run->first, run->width * sizeof *next);
    for (uint64_t i = 0; i < run->count; i++)
        for (size_t k = 0; k < run->width; k++) {
            to = sink->ops->access(sink, to, &next[k], error);
            if (!to)
                return error ? error->code : PSNAP_ERROR_VALUE;
            next[k].address += (uint64_t)run->strides[k];
            sink->count++;
            if (to >= end) {
                enum psnap_status status = write_out(sink, to, error);
                if (status)
                    return status;
                to = sink->text;
            }
        }
    sink->used = (size_t)(to - sink->text);
    return PSNAP_OK;
}

static enum psnap_status sink_put_run(struct psnap_sink *self, const struct psnap_run *run,
                                      struct psnap_error *error)
{
    struct psnap_trace_sink *sink = (struct psnap_trace_sink *)self;
    const uint64_t before = sink->count;
    struct line lines[LINES_MAX];
    char *to = sink->text + sink->used, *const end = sink->text + PSNAP_SINK_BYTES;
    enum psnap_status status;

    if (run->width > LINES_MAX || run->count < RUN_MIN)
        return psnap_sink_put_repetitions(self, run, 0, run->count, error);
    if (!sink->ops->hex_at)
        return put_plain_run(sink, run, error);
    for (size_t k = 0; k < run->width; k++) {
        lines[k].high = UINT64_MAX;
        lines[k].address = run->first[k].address;
    }
    for (uint64_t i = 0; i < run->count; i++)
        for (size_t k = 0; k < run->width; k++) {
            struct line *line = &lines[k];
            const uint64_t address = line->address;
            line->address += (uint64_t)run->strides[k];
            if (address >> 32 == line->high && address >> 28) {
                memcpy(to, line->text, LINE_SHORT);
                if (line->bytes > LINE_SHORT)
                    memcpy(to + LINE_SHORT, line->text + LINE_SHORT, LINE_MAX - LINE_SHORT);
                psnap_record_put_u64(to + line->digits_at, psnap_text_hex_8((uint32_t)address));
                to += line->bytes;
            } else {
                struct psnap_access access = run->first[k];
                access.address = address;
                sink->count = before + i * run->width + k;
                to = put_line(sink, line, to, &access, error);
                if (!to)
                    return error ? error->code : PSNAP_ERROR_VALUE;
            }
            if (to >= end) {
                status = write_out(sink, to, error);
                if (status)
                    return status;
                to = sink->text;
            }
        }
    sink->count = before + run->count * run->width;
    sink->used = (size_t)(to - sink->text);
    return PSNAP_OK;
}

static enum psnap_status sink_finish(struct psnap_sink *self, struct psnap_error *error)
{
    struct psnap_trace_sink *sink = (struct psnap_trace_sink *)self;
    enum psnap_status status = write_out(sink, sink->text + sink->used, error);

    if (!status && sink->ops->end)
        status = write_out(sink, sink->ops->end(sink, sink->text), error);
    if (!status && fflush(sink->file) != 0)
        return psnap_error_system(error, errno, "cannot write");
    return status;
}

struct psnap_sink *psnap_trace_sink_new(const struct psnap_format *format, FILE *file,
                                        struct psnap_program *program, const uint64_t *clock,
                                        struct psnap_error *error)
{
    static const struct psnap_sink_ops ops = {
        .put = sink_put, .finish = sink_finish, .put_run = sink_put_run};
    const size_t own = format->ops->sink_bytes;
    struct psnap_trace_sink *sink = calloc(1, own ? own : sizeof *sink);

    (void)program;
    if (!sink) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    sink->base.ops = &ops;
    sink->ops = format->ops;
    sink->clock = clock;
    sink->file = file;
    if (format->ops->heading)
        sink->used = (size_t)(format->ops->heading(sink->text) - sink->text);
    return &sink->base;
}

char *psnap_trace_sink_refuse(const struct psnap_trace_sink *sink,
                              const struct psnap_access *access, const char *why,
                              struct psnap_error *error)
{
    static const char *const kinds[] = {"a load", "a store", "an atomic"};

    psnap_error_set(error, PSNAP_ERROR_VALUE,
                    "access %" PRIu64 ", %s of %u byte%s at 0x%" PRIx64 ", cannot be written: %s",
                    sink->count + 1, kinds[access->kind], access->size,
                    access->size == 1 ? "" : "s", access->address, why);
    return NULL;
}
