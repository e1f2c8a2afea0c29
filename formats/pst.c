/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The native trace as a source, and its descriptor. Frames are read in order:
 * tables grow the program, a chunk of accesses goes through the decoder, the
 * end frame must agree with what came before and be the last thing in the
 * input. Blocks never straddle the position of an object's announcement.
 *
 * A trace that ends too early delivers its whole chunks, then fails with
 * PSNAP_ERROR_TRUNCATED. Opening reads up to the first chunk, so that the
 * program is known before the first access is asked for.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/pst_decode.h"
#include "formats/trace.h"

struct pst_source {
    struct psnap_trace trace;
    struct psnap_pst_unpacker unpacker;
    struct psnap_pst_decoder decoder;
    struct psnap_pst_tables tables;
    struct psnap_pst_frame chunk; /* the chunk of accesses that is next or under way */
    struct psnap_cursor payload;  /* and what is in it, */
    bool has_chunk;               /* chunk is read, its accesses are not all delivered */
    bool decoding;                /* and that the decoder has */
    bool ended;                   /* the end frame was good */
    uint64_t position;            /* number of the next access */
    uint64_t chunk_end;           /* number of the first access after the chunk */
    uint64_t next_object;         /* position of the next announcement */
    struct psnap_pst_run run;     /* delivered last, */
    struct psnap_nest_loop loop;  /* as a nest of this loop */
};

/* Adds the place to an error of the parts that do not know it. */
static enum psnap_status at_frame(const struct pst_source *source,
                                  const struct psnap_pst_frame *frame, enum psnap_status status,
                                  struct psnap_error *error)
{
    if (status != PSNAP_OK)
        psnap_error_at_offset(error, source->trace.reader->name, frame->offset);
    return status;
}

/* The end must agree with what was read and be the last thing in the input. */
static enum psnap_status read_end(struct pst_source *source, const struct psnap_pst_frame *frame,
                                  struct psnap_cursor *payload, struct psnap_error *error)
{
    const size_t size = PSNAP_PST_FRAME_HEADER + (size_t)frame->stored_size;
    enum psnap_status status = psnap_pst_tables_check(&source->tables, error);

    if (status != PSNAP_OK)
        return status;
    if (psnap_cursor_varint(payload) != source->position)
        return psnap_error_set(error, PSNAP_ERROR_CORRUPT,
                               "the end counts other accesses than the %" PRIu64 " there are",
                               source->position);
    status = psnap_pst_tables_read_executions(&source->tables, payload, error);
    if (status != PSNAP_OK)
        return status;
    source->trace.is_limited =
        payload->at < payload->end && (psnap_cursor_varint(payload) & PSNAP_PST_LIMITED);
    if (source->trace.is_limited)
        psnap_sampling_end(&source->trace.base.program->sampling, source->position);
    if (psnap_reader_ahead(source->trace.reader, size + 1) > size)
        return psnap_error_set(error, PSNAP_ERROR_CORRUPT,
                               "something follows the end of the trace");
    source->ended = true;
    return psnap_reader_failed(source->trace.reader, error);
}

/* A frame that is not a chunk of accesses. */
static enum psnap_status read_other(struct pst_source *source, const struct psnap_pst_frame *frame,
                                    struct psnap_error *error)
{
    if (frame->type == PSNAP_PST_TABLES)
        return psnap_pst_tables_read(&source->tables, &source->payload, error);
    if (frame->type == PSNAP_PST_END)
        return read_end(source, frame, &source->payload, error);
    if (frame->type & 0x20)
        return PSNAP_OK; /* first letter is lower case */
    return psnap_error_set(error, PSNAP_ERROR_VERSION,
                           "has a kind of chunk that only a newer psnap can read");
}

/* Says how much of a trace that ends too early is good. */
static enum psnap_status truncated(struct pst_source *source, struct psnap_error *error)
{
    const uint64_t offset = source->trace.reader->offset + source->trace.reader->end;

    psnap_error_set(error, PSNAP_ERROR_TRUNCATED,
                    "trace was cut off; its first %" PRIu64 " accesses are whole",
                    source->position);
    psnap_error_at_offset(error, source->trace.reader->name, offset);
    psnap_pst_tables_cut(&source->tables);
    psnap_sampling_end(&source->trace.base.program->sampling, source->position);
    return PSNAP_ERROR_TRUNCATED;
}

/* Reads up to the next chunk of accesses, or to the end, unless it is in a chunk. */
static enum psnap_status find_chunk(struct pst_source *source, struct psnap_error *error)
{
    struct psnap_pst_frame *frame = &source->chunk;

    while (!source->has_chunk && !source->ended) {
        enum psnap_status status = psnap_pst_unpack(&source->unpacker, source->trace.reader, frame,
                                                    &source->payload, error);

        if (status == PSNAP_ERROR_TRUNCATED)
            return truncated(source, error);
        if (status != PSNAP_OK)
            return status;
        if (frame->first != source->position)
            status =
                psnap_error_set(error, PSNAP_ERROR_CORRUPT,
                                "chunk starts at access %" PRIu64 " where %" PRIu64 " comes next",
                                frame->first, source->position);
        if (status == PSNAP_OK && frame->type != PSNAP_PST_ACCESSES)
            status = read_other(source, frame, error);
        else if (status == PSNAP_OK)
            status = psnap_pst_tables_check(&source->tables, error);
        if (status != PSNAP_OK)
            return at_frame(source, frame, status, error);
        source->has_chunk = frame->type == PSNAP_PST_ACCESSES;
        source->chunk_end = source->position + frame->accesses;
    }
    return psnap_pst_tables_announce(&source->tables, source->position, &source->next_object,
                                     error);
}

static void advance(struct pst_source *source, uint64_t n)
{
    source->position += n;
    if (source->position == source->chunk_end)
        source->has_chunk = source->decoding = false;
}

/* How many accesses may be delivered now: those before the chunk's end and the next object; 0 at
 * the end of the stream. */
static enum psnap_status find_accesses(struct pst_source *source, uint64_t *n,
                                       struct psnap_error *error)
{
    enum psnap_status status = find_chunk(source, error);

    *n = 0;
    if (status != PSNAP_OK || source->ended)
        return status;
    if (!source->decoding)
        status = psnap_pst_decoder_start(&source->decoder, &source->payload, source->chunk.accesses,
                                         source->trace.base.program->ref_count, error);
    source->decoding = status == PSNAP_OK;
    *n = source->chunk_end - source->position;
    if (*n > source->next_object - source->position)
        *n = source->next_object - source->position;
    return at_frame(source, &source->chunk, status, error);
}

static ssize_t pst_next(struct psnap_source *self, struct psnap_access *block, size_t capacity,
                        struct psnap_error *error)
{
    struct pst_source *source = (struct pst_source *)self;
    uint64_t n;
    enum psnap_status status = find_accesses(source, &n, error);

    n = n < capacity ? n : capacity;
    if (status != PSNAP_OK || n == 0)
        return status;
    status = psnap_pst_decoder_next(&source->decoder, block, (size_t)n, error);
    if (status != PSNAP_OK)
        return at_frame(source, &source->chunk, status, error);
    advance(source, n);
    return (ssize_t)n;
}

static ssize_t pst_next_nest(struct psnap_source *self, struct psnap_access *room, size_t capacity,
                             const struct psnap_access **block, struct psnap_nest *nest,
                             struct psnap_error *error)
{
    struct pst_source *source = (struct pst_source *)self;
    struct psnap_pst_run *run = &source->run;
    uint64_t left;
    enum psnap_status status = find_accesses(source, &left, error);
    size_t n = 0;

    (void)block;
    run->count = 0;
    if (status == PSNAP_OK && left > 0) {
        status = psnap_pst_decoder_next_run(&source->decoder, self->program, left, room, capacity,
                                            &n, run, error);
        if (status == PSNAP_OK && !psnap_pst_decoder_is_whole(&source->decoder))
            status = psnap_pst_makes_no_sense(error);
        status = at_frame(source, &source->chunk, status, error);
    }
    if (status != PSNAP_OK)
        return status;
    advance(source, n + run->count * run->width);
    if (run->count)
        *nest = psnap_nest_of_run(&source->loop, &(struct psnap_run){.first = run->first,
                                                                     .strides = run->strides,
                                                                     .width = run->width,
                                                                     .count = run->count});
    return (ssize_t)n;
}

/* Reads and drops `n` accesses of the chunk under way. */
static enum psnap_status drop(struct pst_source *source, uint64_t n, struct psnap_error *error)
{
    struct psnap_access block[256];

    while (n > 0) {
        const ssize_t got =
            psnap_source_next(&source->trace.base, block, n < 256 ? (size_t)n : 256, error);
        if (got < 0)
            return (enum psnap_status)got;
        n -= (uint64_t)got;
    }
    return PSNAP_OK;
}

static enum psnap_status pst_skip(struct psnap_source *self, uint64_t count, uint64_t *skipped,
                                  struct psnap_error *error)
{
    struct pst_source *source = (struct pst_source *)self;

    *skipped = 0;
    while (*skipped < count) {
        enum psnap_status status = find_chunk(source, error);
        const uint64_t left = source->chunk_end - source->position, want = count - *skipped;

        if (status == PSNAP_OK && source->ended)
            break;
        if (status == PSNAP_OK && left <= want)
            advance(source, left);
        else if (status == PSNAP_OK)
            status = drop(source, want, error);
        if (status != PSNAP_OK)
            return status;
        *skipped += left <= want ? left : want;
    }
    return PSNAP_OK;
}

static void pst_free(struct psnap_source *self)
{
    struct pst_source *source = (struct pst_source *)self;

    psnap_reader_free(source->trace.reader);
    psnap_pst_unpacker_release(&source->unpacker);
    psnap_pst_decoder_release(&source->decoder);
    psnap_pst_tables_release(&source->tables);
    psnap_program_free(source->trace.base.program);
    free(source);
}

static struct psnap_trace *pst_open(const struct psnap_format *format, struct psnap_reader *reader,
                                    struct psnap_error *error)
{
    static const struct psnap_source_ops ops = {
        .next = pst_next, .free = pst_free, .next_nest = pst_next_nest};
    struct pst_source *source = calloc(1, sizeof *source);
    struct psnap_program *program = psnap_program_new();
    enum psnap_status status;

    if (!source || !program) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        psnap_reader_free(reader);
        psnap_program_free(program);
        free(source);
        return NULL;
    }
    source->trace.base = (struct psnap_source){.ops = &ops, .program = program};
    source->trace.format = format;
    source->trace.reader = reader;
    source->tables.program = program;
    status = psnap_pst_unpack_file_header(&source->unpacker, reader, error);
    if (status == PSNAP_OK) {
        status = find_chunk(source, error);
        if (status == PSNAP_ERROR_TRUNCATED)
            status = PSNAP_OK; /* next will say so, with what came before */
    }
    if (status == PSNAP_OK)
        return &source->trace;
    pst_free(&source->trace.base);
    return NULL;
}

static int pst_bid(const unsigned char *start, size_t n, bool whole)
{
    const size_t magic = n < 8 ? n : 8;

    return magic > 0 && (magic == 8 || whole) && !memcmp(start, PSNAP_PST_MAGIC, magic) ? 100 : 0;
}

static struct psnap_sink *pst_create(const struct psnap_format *format, FILE *file,
                                     struct psnap_program *program, const uint64_t *clock,
                                     struct psnap_error *error)
{
    (void)format, (void)clock;
    return psnap_pst_writer_new(file, program, 0, NULL, error);
}

struct psnap_sink *psnap_trace_writer_new_limited(FILE *file, struct psnap_program *program,
                                                  struct psnap_trace_limit *limit,
                                                  struct psnap_error *error)
{
    return psnap_pst_writer_new(file, program, 0, limit, error);
}

static const struct psnap_format_ops pst_ops = {pst_bid, pst_open, pst_skip, pst_create};

const struct psnap_format psnap_format_pst = {
    .name = "pst",
    .summary = "psnap's own trace: everything, checksummed, small",
    .loses = "",
    .readable = true,
    .writable = true,
    .ops = &pst_ops,
};
