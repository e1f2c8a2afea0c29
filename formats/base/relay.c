/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A source that is read in a thread of its own: what it delivers is copied into
 * batches, which the reader takes in order. So decoding a stream and doing
 * something with it go on side by side. The stream is the same, access for access
 * and run for run.
 *
 * The tables of the program travel with the stream: the reader's are as they were
 * when the source delivered what is read, whatever the other thread has learned
 * since. What the reader does with them thus depends on the stream alone, not on how
 * far ahead the other thread is. When the stream has ended they are all as the source
 * has them.
 *
 * A batch is words: records, each a head and what it says:
 *
 *   rows       0: the tables get the next of the batch's rows
 *   accesses   n * 2, then n accesses
 *   a run      width * 2 + 1, count, shape and turns, block words (0: no columns), then the first
 *              accesses, the strides; with columns two words each (place in the block plus 1 or
 *              0, offset), their pitch, and the block that their addresses lie in
 *   rounds     ROUNDS_HEAD, nodes, accesses, then the nodes, the first accesses, the strides
 */
#include "formats/base/room.h"
#include "formats/base/stream.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    DIRECT_LEAST = 1024, /* accesses that there is room for in a batch that a source writes into */
    BATCHES = 8,
    BATCHES_LOW = 4,       /* who had to wait goes on when so many are full, or left */
    BATCH_WORDS = 1 << 16, /* 512 KiB: fewer, and the threads wake each other all the time */
    RUN_HEAD = 4,
    ROUNDS_HEAD = 3,
    ACCESS_WORDS = sizeof(struct psnap_access) / sizeof(uint64_t),
    NODE_WORDS = sizeof(struct psnap_round) / sizeof(uint64_t),
    COLUMN_WORDS = 2
};

#define IS_ROUNDS UINT64_MAX

/* Rows that the program's tables have got. */
struct rows {
    struct psnap_provenance provenance; /* its texts are the source's */
    struct psnap_sampling sampling;
    struct psnap_loop *loops;
    struct psnap_block *blocks;
    struct psnap_ref *refs;
    struct psnap_object *objects;
    uint32_t loop_count, block_count, ref_count, object_count;
    uint32_t first_object; /* place of the first: one that was there may have grown */
};

struct batch {
    size_t used;
    struct rows *rows;
    size_t rows_count, rows_room;
    uint64_t *words;
};

struct relay {
    struct psnap_source base;
    struct psnap_source *inner;
    struct batch batches[BATCHES];
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t filled_more, freed_more;
    uint64_t filled, freed; /* batches, under the lock as the next three */
    bool is_over;           /* the source has ended */
    enum psnap_status status;
    struct psnap_error error;
    bool stops; /* atomic: the reader wants no more */
    /* The source's thread: */
    bool is_short; /* of memory */
    struct batch *open;
    uint32_t loop_count, block_count, ref_count, object_count; /* sent */
    struct psnap_object last_object;
    /* The reader: */
    struct batch *reading;
    size_t at, rows_at;
    bool has_ended;
    struct psnap_access *accesses; /* left of a record */
    size_t access_count;
    struct psnap_run run; /* being written out for a reader that takes none */
    uint64_t done;        /* accesses of it */
    struct psnap_column *columns;
    size_t column_room;
    struct psnap_rounds rounds; /* being made runs, for a reader that takes none */
    struct psnap_rounds_walk walk;
    struct psnap_access round_first[PSNAP_ROUNDS_WIDTH];
    int64_t round_strides[PSNAP_ROUNDS_WIDTH];
};

static void rows_free(struct rows *rows)
{
    free(rows->loops);
    free(rows->blocks);
    free(rows->refs);
    free(rows->objects);
    memset(rows, 0, sizeof *rows);
}

/* A copy of the rows of `table` from `from` on; false when out of memory. */
static bool copy_rows(void *copy, uint32_t *copied, const void *table, uint32_t from,
                      uint32_t count, size_t row_bytes)
{
    void *rows = NULL;

    *copied = count - from;
    if (*copied) {
        rows = malloc(*copied * row_bytes);
        if (!rows)
            return false;
        memcpy(rows, (const char *)table + from * row_bytes, *copied * row_bytes);
    }
    memcpy(copy, &rows, sizeof rows);
    return true;
}

static bool stops(const struct relay *relay)
{
    return __atomic_load_n(&relay->stops, __ATOMIC_RELAXED);
}

/* Hands the open batch over, and waits for an empty one; false when the reader wants no more. */
static bool pass_on(struct relay *relay)
{
    pthread_mutex_lock(&relay->lock);
    relay->filled++;
    if (relay->filled - relay->freed >= BATCHES_LOW)
        pthread_cond_signal(&relay->filled_more);
    if (relay->filled - relay->freed == BATCHES)
        while (relay->filled - relay->freed > BATCHES_LOW && !stops(relay))
            pthread_cond_wait(&relay->freed_more, &relay->lock);
    relay->open = &relay->batches[relay->filled % BATCHES];
    pthread_mutex_unlock(&relay->lock);
    relay->open->used = 0;
    return !stops(relay);
}

static uint64_t *room_for(struct relay *relay, size_t words)
{
    uint64_t *at = relay->open->words + relay->open->used;

    relay->open->used += words;
    return at;
}

/* Whether the tables are not as they were sent. */
static bool has_rows(const struct relay *relay)
{
    const struct psnap_program *program = relay->inner->program;
    const struct psnap_object *last = &relay->last_object;

    if (program->ref_count != relay->ref_count || program->object_count != relay->object_count ||
        program->loop_count != relay->loop_count || program->block_count != relay->block_count)
        return true;
    if (!program->object_count)
        return false;
    return program->objects[program->object_count - 1].address != last->address ||
           program->objects[program->object_count - 1].size_bytes != last->size_bytes;
}

static bool copy_tables(const struct relay *relay, struct rows *rows)
{
    const struct psnap_program *program = relay->inner->program;

    rows->provenance = program->provenance;
    rows->sampling = program->sampling;
    /* The last object may have grown. */
    rows->first_object = relay->object_count ? relay->object_count - 1 : 0;
    return copy_rows(&rows->loops, &rows->loop_count, program->loops, relay->loop_count,
                     program->loop_count, sizeof *rows->loops) &&
           copy_rows(&rows->blocks, &rows->block_count, program->blocks, relay->block_count,
                     program->block_count, sizeof *rows->blocks) &&
           copy_rows(&rows->refs, &rows->ref_count, program->refs, relay->ref_count,
                     program->ref_count, sizeof *rows->refs) &&
           copy_rows(&rows->objects, &rows->object_count, program->objects, rows->first_object,
                     program->object_count, sizeof *rows->objects);
}

/* What the tables have got since the last time, in front of what comes next. */
static bool send_rows(struct relay *relay)
{
    const struct psnap_program *program = relay->inner->program;
    struct batch *open;
    struct rows *rows;

    if (relay->open->used == BATCH_WORDS && !pass_on(relay))
        return false;
    open = relay->open;
    rows = psnap_with_room(open->rows, &open->rows_room, open->rows_count + 1, sizeof *rows);
    if (!rows) {
        relay->is_short = true;
        return false;
    }
    open->rows = rows;
    rows[open->rows_count] = (struct rows){0};
    *room_for(relay, 1) = 0;
    if (!copy_tables(relay, &open->rows[open->rows_count++])) {
        relay->is_short = true;
        return false;
    }
    relay->loop_count = program->loop_count;
    relay->block_count = program->block_count;
    relay->ref_count = program->ref_count;
    relay->object_count = program->object_count;
    if (relay->object_count)
        relay->last_object = program->objects[relay->object_count - 1];
    return true;
}

static bool send_accesses(struct relay *relay, const struct psnap_access *accesses, size_t n)
{
    while (n) {
        const size_t left = BATCH_WORDS - relay->open->used;
        size_t part = left > 1 ? (left - 1) / ACCESS_WORDS : 0;
        uint64_t *at;
        if (!part) {
            if (!pass_on(relay))
                return false;
            continue;
        }
        part = part < n ? part : n;
        at = room_for(relay, 1 + part * ACCESS_WORDS);
        *at = part * 2;
        memcpy(at + 1, accesses, part * sizeof *accesses);
        accesses += part;
        n -= part;
    }
    return true;
}

/* The block of memory that the columns' words lie in, row by row. */
struct block {
    const uint64_t *words;
    size_t count, pitch;
};

/* False when they lie otherwise. */
static bool find_block(const struct psnap_run *run, struct block *block)
{
    const uint64_t *low = NULL, *high = NULL;

    for (size_t k = 0; k < run->width; k++) {
        const struct psnap_column *column = &run->columns[k];
        if (!column->words)
            continue;
        if (!low)
            block->pitch = column->pitch;
        if (column->pitch != block->pitch)
            return false;
        low = !low || (uintptr_t)column->words < (uintptr_t)low ? column->words : low;
        high = !high || (uintptr_t)column->words > (uintptr_t)high ? column->words : high;
    }
    if (!low) {
        block->count = 0;
        return true;
    }
    if (((uintptr_t)high - (uintptr_t)low) / sizeof *low >= block->pitch ||
        run->count > BATCH_WORDS || block->pitch > BATCH_WORDS)
        return false;
    block->words = low;
    block->count = (size_t)(run->count - 1) * block->pitch + (size_t)(high - low) + 1;
    return true;
}

static void write_columns(uint64_t *at, const struct psnap_run *run, const struct block *block)
{
    for (size_t k = 0; k < run->width; k++, at += COLUMN_WORDS) {
        const struct psnap_column *column = &run->columns[k];
        at[0] = column->words ? (uint64_t)(column->words - block->words) + 1 : 0;
        at[1] = column->offset;
    }
    *at++ = block->pitch;
    memcpy(at, block->words, block->count * sizeof *at);
}

/* A run that has no place in a batch is sent access by access. */
static bool send_expanded(struct relay *relay, const struct psnap_run *run)
{
    for (uint64_t i = 0; i < run->count; i++)
        for (size_t k = 0; k < run->width; k++) {
            struct psnap_access access = run->first[k];
            access.address = psnap_run_address(run, i, k);
            if (!send_accesses(relay, &access, 1))
                return false;
        }
    return true;
}

static bool send_run(struct relay *relay, const struct psnap_run *run)
{
    struct block block = {NULL, 0, 0};
    size_t words = RUN_HEAD + run->width * (ACCESS_WORDS + 1);
    uint64_t *at;

    if (run->columns && !find_block(run, &block))
        return send_expanded(relay, run);
    if (block.count)
        words += run->width * COLUMN_WORDS + 1 + block.count;
    if (words > BATCH_WORDS)
        return send_expanded(relay, run);
    if (words > BATCH_WORDS - relay->open->used && !pass_on(relay))
        return false;
    at = room_for(relay, words);
    at[0] = run->width * 2 + 1;
    at[1] = run->count;
    at[2] = run->shape | (uint64_t)run->turns << 32;
    at[3] = block.count;
    at += RUN_HEAD;
    memcpy(at, run->first, run->width * sizeof *run->first);
    at += run->width * ACCESS_WORDS;
    memcpy(at, run->strides, run->width * sizeof *run->strides);
    if (block.count)
        write_columns(at + run->width, run, &block);
    return true;
}

/* What was written into the open batch becomes a record of it; rows that came with it go in front
 * of it. `aside` is room for so many accesses. */
static bool keep_direct(struct relay *relay, size_t n, struct psnap_access *aside)
{
    uint64_t *at = relay->open->words + relay->open->used;

    if (has_rows(relay)) {
        memcpy(aside, at + 1, n * sizeof *aside);
        return send_rows(relay) && send_accesses(relay, aside, n);
    }
    if (n) {
        *at = n * 2;
        relay->open->used += 1 + n * ACCESS_WORDS;
    }
    return true;
}

static bool send_rounds(struct relay *relay, const struct psnap_rounds *rounds)
{
    const size_t nodes = rounds->node_count, width = rounds->nodes->width;
    const size_t words =
        ROUNDS_HEAD + nodes * NODE_WORDS + width * (ACCESS_WORDS + PSNAP_ROUNDS_LEVELS);
    uint64_t *at;

    if (words > BATCH_WORDS - relay->open->used && !pass_on(relay))
        return false;
    at = room_for(relay, words);
    at[0] = IS_ROUNDS;
    at[1] = nodes;
    at[2] = width;
    at += ROUNDS_HEAD;
    memcpy(at, rounds->nodes, nodes * sizeof *rounds->nodes);
    at += nodes * NODE_WORDS;
    memcpy(at, rounds->first, width * sizeof *rounds->first);
    at += width * ACCESS_WORDS;
    memcpy(at, rounds->strides, width * PSNAP_ROUNDS_LEVELS * sizeof *rounds->strides);
    return true;
}

/* The source writes into the batches. */
static void *read_inner(void *argument)
{
    struct relay *relay = argument;
    struct psnap_access *aside = malloc(PSNAP_BLOCK_ACCESSES * sizeof *aside);
    struct psnap_error error = {0};
    ssize_t n = 0;

    relay->is_short = !aside;
    while (aside && !stops(relay)) {
        struct psnap_run run;
        struct psnap_rounds rounds;
        size_t room = BATCH_WORDS - relay->open->used;
        if (room < 1 + DIRECT_LEAST * ACCESS_WORDS) {
            if (!pass_on(relay))
                break;
            room = BATCH_WORDS;
        }
        room = (room - 1) / ACCESS_WORDS;
        n = psnap_source_next_rounds(
            relay->inner, (struct psnap_access *)(relay->open->words + relay->open->used + 1),
            room < PSNAP_BLOCK_ACCESSES ? room : PSNAP_BLOCK_ACCESSES, &run, &rounds, &error);
        if (n < 0 || (n == 0 && run.count == 0 && rounds.node_count == 0) ||
            !keep_direct(relay, (size_t)n, aside) || (run.count && !send_run(relay, &run)) ||
            (rounds.node_count && !send_rounds(relay, &rounds)))
            break;
    }
    free(aside);
    if (!stops(relay))
        send_rows(relay); /* what came with the end */
    if (relay->is_short)
        n = psnap_error_set(&error, PSNAP_ERROR_MEMORY, "out of memory");
    pthread_mutex_lock(&relay->lock);
    relay->filled++;
    relay->is_over = true;
    relay->status = n < 0 ? (enum psnap_status)n : PSNAP_OK;
    relay->error = error;
    pthread_cond_signal(&relay->filled_more);
    pthread_mutex_unlock(&relay->lock);
    return NULL;
}

/* The reader's tables get the rows that came with a batch; false when out of memory. */
static bool take_rows(struct psnap_program *program, struct rows *rows)
{
    bool is_done = true;

    program->provenance = rows->provenance;
    program->sampling = rows->sampling;
    for (uint32_t i = 0; i < rows->loop_count && is_done; i++)
        is_done = psnap_program_add_loop(program, &rows->loops[i]) != PSNAP_NONE;
    for (uint32_t i = 0; i < rows->block_count && is_done; i++)
        is_done = psnap_program_add_block(program, &rows->blocks[i]) != PSNAP_NONE;
    for (uint32_t i = 0; i < rows->ref_count && is_done; i++)
        is_done = psnap_program_add_ref(program, &rows->refs[i]) != PSNAP_NONE;
    program->object_count = rows->first_object;
    for (uint32_t i = 0; i < rows->object_count && is_done; i++)
        is_done = psnap_program_add_object(program, &rows->objects[i]) != PSNAP_NONE;
    rows_free(rows);
    return is_done;
}

/* The batch after the one that was read, NULL at the end. */
static struct batch *next_batch(struct relay *relay)
{
    bool is_there;

    pthread_mutex_lock(&relay->lock);
    if (relay->reading) {
        relay->reading->rows_count = 0; /* they were taken */
        relay->freed++;
        if (relay->filled - relay->freed <= BATCHES_LOW)
            pthread_cond_signal(&relay->freed_more);
    }
    if (relay->filled == relay->freed)
        while (relay->filled - relay->freed < BATCHES_LOW && !relay->is_over)
            pthread_cond_wait(&relay->filled_more, &relay->lock);
    is_there = relay->filled != relay->freed;
    relay->reading = is_there ? &relay->batches[relay->freed % BATCHES] : NULL;
    relay->at = relay->rows_at = 0;
    pthread_mutex_unlock(&relay->lock);
    return relay->reading;
}

/* The source has ended, and its thread with it: what was counted all along is known now. */
static enum psnap_status end(struct relay *relay, struct psnap_error *error)
{
    const struct psnap_program *from = relay->inner->program;
    struct psnap_program *to = relay->base.program;

    relay->has_ended = true;
    to->provenance = from->provenance;
    to->sampling = from->sampling;
    if (to->loop_count)
        memcpy(to->loops, from->loops, to->loop_count * sizeof *to->loops);
    if (to->block_count)
        memcpy(to->blocks, from->blocks, to->block_count * sizeof *to->blocks);
    if (to->ref_count)
        memcpy(to->refs, from->refs, to->ref_count * sizeof *to->refs);
    if (relay->status && error)
        *error = relay->error;
    return relay->status;
}

/* The run at `at`, as it was. */
static bool take_run(struct relay *relay, uint64_t *at, struct psnap_run *run)
{
    const size_t width = (size_t)(at[0] / 2);
    uint64_t *first = at + RUN_HEAD, *strides = first + width * ACCESS_WORDS;
    uint64_t *column = strides + width, *block = column + width * COLUMN_WORDS + 1;

    *run = (struct psnap_run){.first = (const struct psnap_access *)first,
                              .strides = (const int64_t *)strides,
                              .width = width,
                              .count = at[1],
                              .shape = (uint32_t)at[2],
                              .turns = (uint32_t)(at[2] >> 32)};
    relay->at += RUN_HEAD + width * (ACCESS_WORDS + 1);
    if (!at[3])
        return true;
    relay->at += width * COLUMN_WORDS + 1 + at[3];
    if (width > relay->column_room) {
        struct psnap_column *columns = realloc(relay->columns, width * sizeof *columns);
        if (!columns)
            return false;
        relay->columns = columns;
        relay->column_room = width;
    }
    for (size_t k = 0; k < width; k++, column += COLUMN_WORDS)
        relay->columns[k] = (struct psnap_column){column[0] ? block + column[0] - 1 : NULL,
                                                  (size_t)block[-1], column[1]};
    run->columns = relay->columns;
    return true;
}

/* The rounds at `at`. */
static void take_rounds(struct relay *relay, const uint64_t *at, struct psnap_rounds *rounds)
{
    const size_t nodes = (size_t)at[1], width = (size_t)at[2];
    const uint64_t *first = at + ROUNDS_HEAD + nodes * NODE_WORDS;

    *rounds = (struct psnap_rounds){
        .nodes = (const struct psnap_round *)(at + ROUNDS_HEAD),
        .first = (const struct psnap_access *)first,
        .strides = (const int64_t *)(first + width * ACCESS_WORDS),
        .node_count = (uint32_t)nodes,
    };
    relay->at += ROUNDS_HEAD + nodes * NODE_WORDS + width * (ACCESS_WORDS + PSNAP_ROUNDS_LEVELS);
}

/* The next record of the batch that is read, which is not at its end; 0: of none, and after the
 * last one *is_over. What it is is taken: rows, or accesses to relay->accesses, or a run, or
 * rounds. */
static enum psnap_status next_record(struct relay *relay, struct psnap_run *run,
                                     struct psnap_rounds *rounds, struct psnap_error *error)
{
    uint64_t *at = relay->reading->words + relay->at;
    bool is_done = true;

    if (*at == 0) {
        relay->at++;
        is_done = take_rows(relay->base.program, &relay->reading->rows[relay->rows_at++]);
    } else if (*at == IS_ROUNDS) {
        take_rounds(relay, at, rounds);
    } else if (*at % 2 == 0) {
        relay->accesses = (struct psnap_access *)(at + 1);
        relay->access_count = (size_t)(*at / 2);
        relay->at += 1 + relay->access_count * ACCESS_WORDS;
    } else
        is_done = take_run(relay, at, run);
    return is_done ? PSNAP_OK : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
}

static bool is_at_end(const struct relay *relay)
{
    return !relay->reading || relay->at == relay->reading->used;
}

/* Whether the next record is a run, or rounds. */
static bool is_at_run(const struct relay *relay)
{
    return !is_at_end(relay) && relay->reading->words[relay->at] % 2;
}

/* What is left of a record of accesses, and the run or the rounds behind it. */
static ssize_t relay_view_rounds(struct psnap_source *source, const struct psnap_access **block,
                                 struct psnap_run *run, struct psnap_rounds *rounds,
                                 struct psnap_error *error)
{
    struct relay *relay = (struct relay *)source;
    enum psnap_status status = PSNAP_OK;
    size_t n;

    while (!relay->access_count && !is_at_run(relay) && !status) {
        if (!is_at_end(relay))
            status = next_record(relay, run, rounds, error);
        else if (relay->has_ended)
            return 0;
        else if (!next_batch(relay))
            return end(relay, error);
    }
    *block = relay->accesses;
    n = relay->access_count;
    relay->access_count = 0;
    if (!status && is_at_run(relay))
        status = next_record(relay, run, rounds, error);
    return status ? status : (ssize_t)n;
}

static ssize_t relay_next_rounds(struct psnap_source *source, struct psnap_access *block,
                                 size_t capacity, struct psnap_run *run,
                                 struct psnap_rounds *rounds, struct psnap_error *error)
{
    struct relay *relay = (struct relay *)source;
    size_t n = 0;

    for (;;) {
        const size_t room = capacity - n,
                     part = relay->access_count < room ? relay->access_count : room;
        enum psnap_status status;
        if (part) {
            memcpy(block + n, relay->accesses, part * sizeof *block);
            relay->accesses += part;
            relay->access_count -= part;
            n += part;
        }
        if (relay->access_count)
            return (ssize_t)n;
        if (is_at_end(relay)) {
            if (n || relay->has_ended)
                return (ssize_t)n;
            if (!next_batch(relay))
                return end(relay, error);
            continue;
        }
        if (n && relay->reading->words[relay->at] == 0) /* rows: the accesses came before them */
            return (ssize_t)n;
        status = next_record(relay, run, rounds, error);
        if (status)
            return status;
        if (run->count || rounds->node_count)
            return (ssize_t)n;
    }
}

/* Rounds become runs. */
static ssize_t relay_next_run(struct psnap_source *source, struct psnap_access *block,
                              size_t capacity, struct psnap_run *run, struct psnap_error *error)
{
    struct relay *relay = (struct relay *)source;
    ssize_t n = 0;

    run->count = 0;
    for (;;) {
        if (relay->rounds.node_count && psnap_rounds_walk_next(&relay->walk, run))
            return n;
        relay->rounds.node_count = 0;
        if (n)
            return n;
        n = relay_next_rounds(source, block, capacity, run, &relay->rounds, error);
        if (n < 0 || run->count || !relay->rounds.node_count)
            return n;
        psnap_rounds_walk_init(&relay->walk, &relay->rounds, relay->round_first,
                               relay->round_strides);
    }
}

/* Runs are written out. */
static ssize_t relay_next(struct psnap_source *source, struct psnap_access *block, size_t capacity,
                          struct psnap_error *error)
{
    struct relay *relay = (struct relay *)source;
    ssize_t n = 0;

    if (relay->done == relay->run.count * relay->run.width) {
        relay->done = relay->run.count = 0;
        n = relay_next_run(source, block, capacity, &relay->run, error);
    }
    for (; n >= 0 && (size_t)n < capacity && relay->done < relay->run.count * relay->run.width;
         n++, relay->done++) {
        const size_t k = (size_t)(relay->done % relay->run.width);
        block[n] = relay->run.first[k];
        block[n].address = psnap_run_address(&relay->run, relay->done / relay->run.width, k);
    }
    return n;
}

static void relay_free(struct psnap_source *source)
{
    struct relay *relay = (struct relay *)source;

    __atomic_store_n(&relay->stops, true, __ATOMIC_RELAXED);
    pthread_mutex_lock(&relay->lock);
    pthread_cond_signal(&relay->freed_more);
    pthread_mutex_unlock(&relay->lock);
    pthread_join(relay->thread, NULL);
    pthread_mutex_destroy(&relay->lock);
    pthread_cond_destroy(&relay->filled_more);
    pthread_cond_destroy(&relay->freed_more);
    for (unsigned i = 0; i < BATCHES; i++) {
        for (size_t r = 0; r < relay->batches[i].rows_count; r++)
            rows_free(&relay->batches[i].rows[r]);
        free(relay->batches[i].rows);
        free(relay->batches[i].words);
    }
    free(relay->columns);
    psnap_program_free(relay->base.program);
    free(relay);
}

struct psnap_source *psnap_relay_source_new(struct psnap_source *inner, struct psnap_error *error)
{
    static const struct psnap_source_ops ops = {relay_next, relay_free, relay_next_run,
                                                relay_next_rounds, relay_view_rounds};
    struct relay *relay = calloc(1, sizeof *relay);
    bool is_done = relay != NULL;
    int failure;

    if (!relay) {
        psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        return NULL;
    }
    relay->base.ops = &ops;
    relay->base.program = psnap_program_new();
    relay->inner = inner;
    relay->open = &relay->batches[0];
    for (unsigned i = 0; i < BATCHES; i++) {
        relay->batches[i].words = malloc(BATCH_WORDS * sizeof *relay->batches[i].words);
        is_done = is_done && relay->batches[i].words;
    }
    pthread_mutex_init(&relay->lock, NULL);
    pthread_cond_init(&relay->filled_more, NULL);
    pthread_cond_init(&relay->freed_more, NULL);
    if (relay->base.program) {
        relay->base.program->provenance = inner->program->provenance;
        relay->base.program->sampling = inner->program->sampling;
    }
    failure = is_done && relay->base.program
                  ? pthread_create(&relay->thread, NULL, read_inner, relay)
                  : ENOMEM;
    if (!failure)
        return &relay->base;
    psnap_error_system(error, failure, "cannot read in a thread of its own");
    for (unsigned i = 0; i < BATCHES; i++)
        free(relay->batches[i].words);
    psnap_program_free(relay->base.program);
    free(relay);
    return NULL;
}
