/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The native trace as a sink. Accesses go into the encoder; when its chunk is
 * full, the tables' new rows are written and then the chunk, so that a reader
 * knows every row before it meets an access that needs it. The end frame
 * carries what is only known at the end: the total and how often each block
 * was executed. Writes in order only, so a pipe will do.
 *
 * Under a limit of the size there is always room for the end frame of what is
 * written: what it would say is kept after every chunk, and the first chunk that
 * does not fit ends the trace with it. What comes then is swallowed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/pst_encode.h"

struct pst_writer {
    struct psnap_sink base;
    struct psnap_program *program;
    struct psnap_pst_packer packer;
    struct psnap_pst_encoder encoder;
    struct psnap_pst_tables tables;
    struct psnap_bytes payload;
    struct psnap_bytes end;          /* under a limit: the end frame of what is written */
    struct psnap_trace_limit *limit; /* NULL: none */
    uint64_t accesses;               /* in chunks that are written */
    uint32_t chunk_accesses;         /* of every chunk; 0: it depends on those before */
    uint32_t chunk_limit;            /* of the chunk under way */
};

static enum psnap_status write_frame(struct pst_writer *writer, uint32_t type, uint32_t accesses,
                                     struct psnap_error *error)
{
    const struct psnap_pst_frame frame = {
        .type = type, .first = writer->accesses, .accesses = accesses};

    if (writer->payload.failed)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return psnap_pst_pack(&writer->packer, &frame, &writer->payload, error);
}

static enum psnap_status write_tables(struct pst_writer *writer, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    while (status == PSNAP_OK) {
        status = psnap_pst_tables_flush(&writer->tables, &writer->payload, error);
        if (status != PSNAP_OK || writer->payload.size == 0)
            break;
        status = write_frame(writer, PSNAP_PST_TABLES, 0, error);
    }
    return status;
}

static bool is_over(const struct pst_writer *writer)
{
    return writer->limit && writer->limit->is_reached;
}

/* Leaves room for an end frame with this payload and a byte of flags. */
static void reserve_end(struct pst_writer *writer, const struct psnap_bytes *end)
{
    const uint64_t reserved = PSNAP_PST_FRAME_HEADER + end->size + 1;

    if (writer->limit)
        writer->packer.max_bytes =
            writer->limit->max_bytes > reserved ? writer->limit->max_bytes - reserved : 1;
}

static void make_end(const struct pst_writer *writer, uint64_t accesses, struct psnap_bytes *end)
{
    end->size = 0;
    psnap_bytes_varint(end, accesses);
    psnap_pst_tables_executions(&writer->tables, end);
}

/* The chunk that does not fit is dropped, and the trace ends here. */
static enum psnap_status end_at_limit(struct pst_writer *writer, struct psnap_error *error)
{
    writer->packer.max_bytes = 0;
    writer->limit->is_reached = true;
    writer->payload.size = 0;
    psnap_bytes_put(&writer->payload, writer->end.data, writer->end.size);
    psnap_bytes_varint(&writer->payload, PSNAP_PST_LIMITED);
    return write_frame(writer, PSNAP_PST_END, 0, error);
}

static enum psnap_status write_accesses(struct pst_writer *writer, uint32_t accesses,
                                        struct psnap_error *error)
{
    struct psnap_bytes end = {0};
    enum psnap_status status = psnap_pst_encoder_flush(&writer->encoder, &writer->payload, error);

    if (writer->limit)
        make_end(writer, writer->accesses + accesses, &end);
    writer->payload.failed |= end.failed;
    reserve_end(writer, &end);
    if (status == PSNAP_OK)
        status = write_frame(writer, PSNAP_PST_ACCESSES, accesses, error);
    if (status == PSNAP_OK) {
        writer->accesses += accesses;
        psnap_bytes_release(&writer->end);
        writer->end = end;
        return status;
    }
    psnap_bytes_release(&end);
    return status;
}

static enum psnap_status write_chunk(struct pst_writer *writer, struct psnap_error *error)
{
    const uint32_t accesses = writer->encoder.accesses;
    enum psnap_status status;

    reserve_end(writer, &writer->end);
    status = write_tables(writer, error);
    if (status == PSNAP_OK && accesses > 0)
        status = write_accesses(writer, accesses, error);
    return status == PSNAP_ERROR_LIMIT ? end_at_limit(writer, error) : status;
}

static uint32_t next_limit(const struct pst_writer *writer)
{
    const uint64_t quarter = writer->accesses / 4;

    if (writer->chunk_accesses)
        return writer->chunk_accesses;
    if (quarter < PSNAP_PST_CHUNK_FIRST)
        return PSNAP_PST_CHUNK_FIRST;
    return quarter < PSNAP_PST_CHUNK_MAX ? (uint32_t)quarter : PSNAP_PST_CHUNK_MAX;
}

/* What is written is the reader's even if the next moment kills us. */
static enum psnap_status flush(struct pst_writer *writer, struct psnap_error *error)
{
    return fflush(writer->packer.file) == 0 ? PSNAP_OK
                                            : psnap_error_system(error, errno, "cannot write");
}

static enum psnap_status write_full_chunk(struct pst_writer *writer, struct psnap_error *error)
{
    enum psnap_status status;

    if (writer->encoder.accesses < writer->chunk_limit && !psnap_pst_encoder_full(&writer->encoder))
        return PSNAP_OK;
    status = write_chunk(writer, error);
    if (status == PSNAP_OK)
        status = flush(writer, error);
    writer->chunk_limit = next_limit(writer);
    return status;
}

static enum psnap_status put_accesses(struct pst_writer *writer, const struct psnap_access *block,
                                      size_t n, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    while (n > 0 && status == PSNAP_OK && !is_over(writer)) {
        const uint32_t room = writer->chunk_limit - writer->encoder.accesses;
        size_t taken = 0;

        status = psnap_pst_encoder_put(&writer->encoder, block, n < room ? n : room,
                                       writer->program->ref_count, &taken, error);
        if (status == PSNAP_OK)
            status = write_full_chunk(writer, error);
        block += taken;
        n -= taken;
    }
    return status;
}

static enum psnap_status note_objects(struct pst_writer *writer, struct psnap_error *error)
{
    return psnap_pst_tables_note(&writer->tables, writer->accesses + writer->encoder.accesses,
                                 error);
}

static enum psnap_status writer_put(struct psnap_sink *self, const struct psnap_access *block,
                                    size_t n, struct psnap_error *error)
{
    struct pst_writer *writer = (struct pst_writer *)self;
    const enum psnap_status status = is_over(writer) ? PSNAP_OK : note_objects(writer, error);

    return status != PSNAP_OK ? status : put_accesses(writer, block, n, error);
}

/* Until the encoder has learnt the run, and at the ends of chunks, its accesses are put singly; so
 * are those of runs in which refs occur several times. */
static enum psnap_status put_run(struct pst_writer *writer, const struct psnap_run *run,
                                 struct psnap_error *error)
{
    struct psnap_sink *self = &writer->base;
    enum psnap_status status = PSNAP_OK;
    uint64_t i = 0;

    if (run->columns || run->turns > 1)
        return psnap_sink_put_repetitions(self, run, 0, run->count, error);
    while (run->width > 0 && i < run->count && status == PSNAP_OK && !is_over(writer)) {
        status = psnap_sink_put_repetitions(self, run, i, i + 1, error);
        i++;
        if (status == PSNAP_OK && i < run->count && !is_over(writer)) {
            const uint32_t held = writer->encoder.accesses;
            const uint64_t room = (writer->chunk_limit - held) / run->width;
            const uint64_t left = run->count - i;

            i += psnap_pst_encoder_repeat(&writer->encoder, run, i, left < room ? left : room);
            status = write_full_chunk(writer, error);
        }
    }
    return status;
}

/* After a run: goes on with the loops that end an iteration with it, from the inner ones on. */
static enum psnap_status forward(struct pst_writer *writer, struct psnap_nest_walk *walk,
                                 struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    for (uint32_t d = walk->depth; d-- > 0 && status == PSNAP_OK;) {
        if (walk->at <= walk->open[d] + walk->nest->loops[walk->open[d]].inside)
            break;
        if (!psnap_pst_encoder_forward(&writer->encoder, walk, d, writer->chunk_limit))
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        status = write_full_chunk(writer, error);
        if (walk->iteration[d] + 1 < walk->count[d])
            break;
    }
    return status;
}

static enum psnap_status writer_put_nest(struct psnap_sink *self, const struct psnap_nest *nest,
                                         struct psnap_error *error)
{
    struct pst_writer *writer = (struct pst_writer *)self;
    enum psnap_status status = PSNAP_OK;
    struct psnap_nest_walk walk;
    struct psnap_run run;

    psnap_nest_walk_init(&walk, nest);
    psnap_pst_encoder_log(&writer->encoder, nest->loop_count > 1);
    while (status == PSNAP_OK && !is_over(writer) && psnap_nest_walk_next(&walk, &run)) {
        status = put_run(writer, &run, error);
        if (status == PSNAP_OK)
            status = forward(writer, &walk, error);
    }
    psnap_pst_encoder_log(&writer->encoder, false);
    return status;
}

static enum psnap_status finish(struct pst_writer *writer, struct psnap_error *error)
{
    enum psnap_status status = note_objects(writer, error);

    if (status == PSNAP_OK)
        status = write_chunk(writer, error);
    if (status != PSNAP_OK || is_over(writer))
        return status;
    writer->packer.max_bytes = writer->limit ? writer->limit->max_bytes : 0;
    make_end(writer, writer->accesses, &writer->payload);
    status = write_frame(writer, PSNAP_PST_END, 0, error);
    return status == PSNAP_ERROR_LIMIT ? end_at_limit(writer, error) : status;
}

static enum psnap_status writer_finish(struct psnap_sink *self, struct psnap_error *error)
{
    struct pst_writer *writer = (struct pst_writer *)self;
    enum psnap_status status = is_over(writer) ? PSNAP_OK : finish(writer, error);

    if (writer->limit)
        writer->limit->accesses = writer->accesses;
    return status == PSNAP_OK ? flush(writer, error) : status;
}

static void writer_free(struct psnap_sink *self)
{
    struct pst_writer *writer = (struct pst_writer *)self;

    psnap_pst_packer_release(&writer->packer);
    psnap_pst_encoder_release(&writer->encoder);
    psnap_pst_tables_release(&writer->tables);
    psnap_bytes_release(&writer->payload);
    psnap_bytes_release(&writer->end);
    free(writer);
}

/* Chunks are small enough that one which does not fit leaves little unused. */
static void set_limit(struct pst_writer *writer, struct psnap_trace_limit *limit)
{
    const uint64_t tokens = limit->max_bytes / 64;

    writer->limit = limit;
    psnap_bytes_varint(&writer->end, 0); /* accesses */
    psnap_bytes_varint(&writer->end, 0); /* blocks */
    if (tokens < PSNAP_PST_CHUNK_TOKENS)
        writer->encoder.token_limit = tokens < 1024 ? 1024 : (uint32_t)tokens;
}

struct psnap_sink *psnap_pst_writer_new(FILE *file, struct psnap_program *program,
                                        uint32_t chunk_accesses, struct psnap_trace_limit *limit,
                                        struct psnap_error *error)
{
    static const struct psnap_sink_ops ops = {.put = writer_put,
                                              .finish = writer_finish,
                                              .free = writer_free,
                                              .put_nest = writer_put_nest};
    struct pst_writer *writer = calloc(1, sizeof *writer);

    if (!writer) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    writer->base.ops = &ops;
    writer->packer.file = file;
    writer->program = program;
    writer->chunk_accesses = chunk_accesses;
    writer->chunk_limit = next_limit(writer);
    writer->tables.program = program;
    if (!psnap_pst_encoder_init(&writer->encoder)) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        writer_free(&writer->base);
        return NULL;
    }
    if (limit && limit->max_bytes > 0)
        set_limit(writer, limit);
    if (psnap_pst_pack_file_header(&writer->packer, error) != PSNAP_OK) {
        writer_free(&writer->base);
        return NULL;
    }
    fflush(file); /* a trace can be read from now on; if that fails, the next flush says so */
    return &writer->base;
}
