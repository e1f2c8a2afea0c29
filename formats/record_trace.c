/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records become accesses where they are wanted; what does not fit into a block waits for the next.
 */
#include "formats/record_trace.h"

#include <inttypes.h>
#include <stdlib.h>

static enum psnap_status next_record(struct psnap_record_trace *trace, struct psnap_access *out,
                                     size_t *n, bool *has_ended, struct psnap_error *error)
{
    struct psnap_reader *reader = trace->trace.reader;
    const size_t there = psnap_reader_ahead(reader, trace->record_bytes);
    const uint64_t offset = psnap_reader_offset(reader);
    enum psnap_status status = PSNAP_OK;

    *n = 0;
    *has_ended = there < trace->record_bytes;
    if (*has_ended)
        status = psnap_reader_failed(reader, error);
    if (!status && *has_ended && there)
        status = psnap_error_set(error, PSNAP_ERROR_TRUNCATED,
                                 "the last record has %zu of %zu bytes: the trace was cut off",
                                 there, trace->record_bytes);
    if (!status && !*has_ended)
        status = trace->record(trace, reader->data + reader->at, out, n, error);
    if (!status && !*has_ended)
        reader->at += trace->record_bytes;
    if (status)
        psnap_error_at_offset(error, reader->name, offset);
    return status;
}

static ssize_t record_next(struct psnap_source *self, struct psnap_access *block, size_t capacity,
                           struct psnap_error *error)
{
    struct psnap_record_trace *trace = (struct psnap_record_trace *)self;
    size_t made = 0;

    while (made < capacity) {
        bool has_ended;

        if (trace->pending_at < trace->pending_end) {
            block[made++] = trace->pending[trace->pending_at++];
            continue;
        }
        trace->pending_at = 0;
        if (next_record(trace, trace->pending, &trace->pending_end, &has_ended, error)) {
            trace->pending_end = 0;
            return made ? (ssize_t)made : error->code; /* it is found again by the next call */
        }
        if (has_ended)
            break;
    }
    return (ssize_t)made;
}

static void record_free(struct psnap_source *self)
{
    struct psnap_record_trace *trace = (struct psnap_record_trace *)self;

    if (trace->release)
        trace->release(trace);
    psnap_reader_free(trace->trace.reader);
    psnap_program_free(trace->trace.base.program);
    free(trace);
}

struct psnap_trace *psnap_record_trace_open(struct psnap_record_trace *trace,
                                            struct psnap_reader *reader, const char *loop_id,
                                            struct psnap_error *error)
{
    static const struct psnap_source_ops ops = {.next = record_next, .free = record_free};

    if (!trace) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        psnap_reader_free(reader);
        return NULL;
    }
    trace->trace.base = (struct psnap_source){&ops, psnap_program_new()};
    trace->trace.reader = reader;
    if (trace->trace.base.program &&
        psnap_program_add_anonymous(trace->trace.base.program, loop_id) == PSNAP_OK)
        return &trace->trace;
    psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    record_free(&trace->trace.base);
    return NULL;
}
