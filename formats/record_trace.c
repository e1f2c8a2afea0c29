/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records become accesses where they are wanted; what does not fit into a block waits for the next.
 */
#include "formats/record_trace.h"

#include <inttypes.h>
#include <stdlib.h>

/* Nothing but less than a record is left. */
static enum psnap_status end_of_input(struct psnap_record_trace *trace, size_t there, size_t wanted,
                                      struct psnap_error *error)
{
    enum psnap_status status = psnap_reader_failed(trace->trace.reader, error);

    if (status)
        return status;
    if (there)
        status = psnap_error_set(error, PSNAP_ERROR_TRUNCATED,
                                 "the last record has %zu of %zu bytes: the trace was cut off",
                                 there, wanted);
    else if (trace->ended)
        status = trace->ended(trace, error);
    if (status)
        psnap_error_at_offset(error, trace->trace.reader->name,
                              psnap_reader_offset(trace->trace.reader));
    return status;
}

/* Turns what is read into accesses at `out`, or those of one record into pending ones. */
static enum psnap_status read_records(struct psnap_record_trace *trace, struct psnap_access *out,
                                      size_t room, size_t *n, bool *has_ended,
                                      struct psnap_error *error)
{
    struct psnap_reader *reader = trace->trace.reader;
    const size_t wanted = trace->wanted > trace->record_bytes ? trace->wanted : trace->record_bytes;
    const size_t there = psnap_reader_ahead(reader, wanted);
    const unsigned char *records = reader->data + reader->at;
    const bool direct = room >= trace->accesses_max;
    enum psnap_status status = PSNAP_OK;
    size_t used;

    *n = 0;
    *has_ended = there < wanted;
    if (*has_ended)
        return end_of_input(trace, there, wanted, error);
    if (direct)
        used = trace->records(trace, records, there / trace->record_bytes, out, room, n, &status,
                              error);
    else
        used = trace->records(trace, records, wanted / trace->record_bytes, trace->pending,
                              PSNAP_RECORD_ACCESSES, &trace->pending_end, &status, error);
    reader->at += used * trace->record_bytes;
    if (status)
        psnap_error_at_offset(error, reader->name, psnap_reader_offset(reader));
    return status;
}

static ssize_t record_next(struct psnap_source *self, struct psnap_access *block, size_t capacity,
                           struct psnap_error *error)
{
    struct psnap_record_trace *trace = (struct psnap_record_trace *)self;
    size_t made = 0;

    while (made < capacity) {
        enum psnap_status status;
        bool has_ended;
        size_t n;

        while (made < capacity && trace->pending_at < trace->pending_end)
            block[made++] = trace->pending[trace->pending_at++];
        if (made == capacity)
            break;
        trace->pending_at = trace->pending_end = 0;
        status = read_records(trace, block + made, capacity - made, &n, &has_ended, error);
        made += n;
        if (status) /* it is found again by the next call */
            return made ? (ssize_t)made : (ssize_t)status;
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
