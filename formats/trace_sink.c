/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What accesses turn into is made in a buffer that has room for one access more than it is meant to
 * hold, so that no encoder asks for room.
 */
#include "formats/trace_sink.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

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
    static const struct psnap_sink_ops ops = {.put = sink_put, .finish = sink_finish};
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
