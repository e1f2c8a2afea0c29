/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines and records become accesses where they are wanted; where there is too little room for what
 * one of them may turn into, what they turn into waits in `pending`. An error waits until what came
 * before it is delivered.
 */
#include "formats/foreign.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"
#include "formats/text_trace.h"

#define REFS_MAX (1u << 20)

uint32_t pc_refs_add(struct pc_refs *refs, struct psnap_program *program, uint64_t pc,
                     enum psnap_access_kind kind, uint64_t size)
{
    const struct psnap_ref row = {.kind = (uint8_t)kind,
                                  .size = size <= PSNAP_ACCESS_SIZE_MAX ? (uint8_t)size : 0};
    uint64_t *latest;
    uint32_t ref;

    if (size > PSNAP_FOREIGN_SIZE_MAX || refs->count >= REFS_MAX)
        return kind != PSNAP_LOAD;
    latest = psnap_map_put(&refs->latest, pc);
    if (!latest || !psnap_make_room(&refs->all, &refs->room, refs->count + 1, sizeof *refs->all))
        return PSNAP_NONE;
    ref = psnap_program_add_ref(program, &row);
    if (ref == PSNAP_NONE)
        return PSNAP_NONE;
    refs->all[refs->count++] =
        (struct pc_ref){(uint32_t)*latest, ref, (uint16_t)size, (uint8_t)kind};
    *latest = refs->count;
    return ref;
}

enum psnap_status psnap_access_split(uint64_t address, uint64_t size, enum psnap_access_kind kind,
                                     uint32_t ref, struct psnap_access *out, size_t *n,
                                     struct psnap_error *error)
{
    if (size < 1 || size > PSNAP_FOREIGN_SIZE_MAX)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "an access of %" PRIu64 " bytes; 1 to %u are possible", size,
                               PSNAP_FOREIGN_SIZE_MAX);
    if (address + (size - 1) < address)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "the access reaches beyond the end of the address space");
    while (size > 0) {
        const uint64_t piece = size < PSNAP_ACCESS_SIZE_MAX ? size : PSNAP_ACCESS_SIZE_MAX;

        out[(*n)++] = (struct psnap_access){address, ref, (uint8_t)piece, (uint8_t)kind, 0};
        address += piece;
        size -= piece;
    }
    return PSNAP_OK;
}

/* Nothing but less than a record is left. */
static enum psnap_status end_records(struct psnap_foreign *trace, size_t there, size_t wanted,
                                     struct psnap_error *error)
{
    const struct psnap_reader *reader = trace->trace.reader;
    enum psnap_status status = psnap_reader_failed(reader, error);

    trace->has_ended = true;
    if (status)
        return status;
    if (there)
        status = psnap_error_set(error, PSNAP_ERROR_TRUNCATED,
                                 "the last record has %zu of %zu bytes: the trace was cut off",
                                 there, wanted);
    else if (trace->trace.format->ops->ended)
        status = trace->trace.format->ops->ended(trace, error);
    if (status)
        psnap_error_at_offset(error, reader->name, psnap_reader_offset(reader));
    return status;
}

static enum psnap_status read_records(struct psnap_foreign *trace, struct psnap_access *out,
                                      size_t room, size_t *n, struct psnap_error *error)
{
    const struct psnap_format_ops *ops = trace->trace.format->ops;
    struct psnap_reader *reader = trace->trace.reader;
    const size_t wanted = trace->wanted > ops->record_bytes ? trace->wanted : ops->record_bytes;
    const size_t there = psnap_reader_ahead(reader, wanted);
    struct psnap_records work = {.records = reader->data + reader->at,
                                 .count = there / ops->record_bytes,
                                 .out = out,
                                 .room = room};
    enum psnap_status status;

    if (there < wanted)
        return end_records(trace, there, wanted, error);
    status = ops->records(trace, &work, error);
    reader->at += work.used * ops->record_bytes;
    *n = work.made;
    if (status)
        psnap_error_at_offset(error, reader->name, psnap_reader_offset(reader));
    return status;
}

static size_t take_pending(struct psnap_foreign *trace, struct psnap_access *block, size_t capacity)
{
    const size_t left = trace->pending_end - trace->pending_at;
    const size_t n = left < capacity ? left : capacity;

    memcpy(block, trace->pending + trace->pending_at, n * sizeof *block);
    trace->pending_at += n;
    return n;
}

/* Reads up to `room` accesses; returns how many. */
static size_t read_some(struct psnap_foreign *trace, struct psnap_access *out, size_t room)
{
    const bool direct = room >= PSNAP_LINE_ACCESSES;
    size_t made = 0;

    trace->failed = (trace->trace.format->ops->line ? psnap_text_read : read_records)(
        trace, direct ? out : trace->pending, direct ? room : PSNAP_LINE_ACCESSES, &made,
        &trace->error);
    if (direct)
        return made;
    trace->pending_at = 0;
    trace->pending_end = made;
    return take_pending(trace, out, room);
}

static ssize_t foreign_next(struct psnap_source *self, struct psnap_access *block, size_t capacity,
                            struct psnap_error *error)
{
    struct psnap_foreign *trace = (struct psnap_foreign *)self;
    size_t n = take_pending(trace, block, capacity);

    while (n < capacity && !trace->has_ended && !trace->failed)
        n += read_some(trace, block + n, capacity - n);
    if (n == 0 && trace->failed) {
        if (error)
            *error = trace->error;
        return trace->failed;
    }
    return (ssize_t)n;
}

static void foreign_free(struct psnap_source *self)
{
    struct psnap_foreign *trace = (struct psnap_foreign *)self;

    free(trace->refs.latest.slots);
    free(trace->refs.all);
    psnap_reader_free(trace->trace.reader);
    psnap_program_free(trace->trace.base.program);
    free(trace);
}

struct psnap_trace *psnap_foreign_open(const struct psnap_format *format,
                                       struct psnap_reader *reader, struct psnap_error *error)
{
    static const struct psnap_source_ops ops = {.next = foreign_next, .free = foreign_free};
    const size_t own = format->ops->trace_bytes;
    struct psnap_foreign *trace = calloc(1, own ? own : sizeof *trace);

    if (!trace) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        psnap_reader_free(reader);
        return NULL;
    }
    trace->trace = (struct psnap_trace){
        .base = {.ops = &ops, .program = psnap_program_new()}, .format = format, .reader = reader};
    if (!trace->trace.base.program ||
        psnap_program_add_anonymous(trace->trace.base.program, format->name))
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    else if (!format->ops->begin || !format->ops->begin(trace, error))
        return &trace->trace;
    foreign_free(&trace->trace.base);
    return NULL;
}
