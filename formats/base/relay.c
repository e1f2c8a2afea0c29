/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stream from one thread to another. Accesses and nests are copied into batches, and rows of the
 * program's tables go in front of what needs them; the reader takes the batches in order. So
 * reading a source in a thread of its own and doing something with it go on side by side; two sinks
 * that are both slow do, when one takes its stream aside. The stream is the same, access for access
 * and nest for nest.
 *
 * The tables of the program travel with the stream: the reader's are as they were when what is read
 * was sent, whatever the other thread has learned since. When the stream has ended they are all as
 * the sender has them.
 *
 * A batch is words: records, each a head and what it says:
 *
 *   rows       0: the tables get the next of the batch's rows
 *   accesses   n * 2, then n accesses
 *   a nest     loops * 2 + 1, width and levels, words of columns (0: it has none), then the loops,
 *              the first accesses, the strides; with columns two words for each access (1: it has
 *              one, 0; offset), then the words of each column
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"
#include "formats/base/stream.h"

enum {
    RELAY_BATCHES = 8,
    RELAY_BATCHES_LOW = 4,       /* who had to wait goes on when so many are full, or left */
    RELAY_BATCH_WORDS = 1 << 16, /* 512 KiB: fewer, and the threads wake each other all the time */
    RELAY_NEST_HEAD = 3,
    RELAY_ACCESS_WORDS = sizeof(struct psnap_access) / sizeof(uint64_t),
    RELAY_LOOP_WORDS = sizeof(struct psnap_nest_loop) / sizeof(uint64_t),
    RELAY_COLUMN_WORDS = 2
};

#define RELAY_IN_NESTS (UINT64_C(1) << 26)

_Static_assert(RELAY_NEST_HEAD + PSNAP_NEST_LOOPS * RELAY_LOOP_WORDS +
                       PSNAP_NEST_WIDTH * (RELAY_ACCESS_WORDS + PSNAP_NEST_LEVELS - 1) <=
                   RELAY_BATCH_WORDS,
               "a nest has room in a batch, but for the widest of all levels");

struct relay_batch {
    size_t used;
    uint64_t in_nests; /* accesses: RELAY_IN_NESTS are enough, or the sender is far ahead */
    struct psnap_program **rows; /* that the tables have got, each time, with the last object */
    size_t rows_count, rows_room;
    uint64_t *words;
};

struct relay {
    struct psnap_source base;
    const struct psnap_program *program; /* the sender's */
    struct psnap_source *inner;          /* read by `thread`, or NULL: others send */
    struct relay_batch batches[RELAY_BATCHES];
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t filled_more, freed_more;
    uint64_t filled, freed; /* batches, under the lock as the next three */
    bool is_over;           /* nothing more is sent */
    enum psnap_status status;
    struct psnap_error error;
    bool stops; /* atomic: the reader wants no more */
    /* The sender: */
    bool is_short; /* of memory */
    struct relay_batch *open;
    uint32_t loop_count, block_count, ref_count, object_count; /* sent */
    struct psnap_object last_object;
    /* The reader: */
    struct relay_batch *reading;
    size_t at, rows_at;
    bool has_ended;
    struct psnap_access *accesses; /* left of a record */
    size_t access_count;
    struct psnap_column *columns;
    size_t column_room;
};

/* ---- what both threads do ---- */

/* Appends to `to` the loops, blocks, references and objects of `from` behind those numbers, and
 * copies provenance and sampling. The last object may have grown: it is sent anew. False: out of
 * memory. */
static bool append_rows(struct psnap_program *to, const struct psnap_program *from, uint32_t loops,
                        uint32_t blocks, uint32_t refs, uint32_t objects)
{
    bool is_done = true;

    to->provenance = from->provenance; /* its texts are the source's */
    to->sampling = from->sampling;
    for (uint32_t i = loops; i < from->loop_count && is_done; i++)
        is_done = psnap_program_add_loop(to, &from->loops[i]) != PSNAP_NONE;
    for (uint32_t i = blocks; i < from->block_count && is_done; i++)
        is_done = psnap_program_add_block(to, &from->blocks[i]) != PSNAP_NONE;
    for (uint32_t i = refs; i < from->ref_count && is_done; i++)
        is_done = psnap_program_add_ref(to, &from->refs[i]) != PSNAP_NONE;
    for (uint32_t i = objects; i < from->object_count && is_done; i++)
        is_done = psnap_program_add_object(to, &from->objects[i]) != PSNAP_NONE;
    return is_done;
}

static void free_rows(struct relay_batch *batch)
{
    while (batch->rows_count)
        psnap_program_free(batch->rows[--batch->rows_count]);
}

/* The reader wants no more; any thread may say so. */
static void relay_stop(struct relay *relay)
{
    __atomic_store_n(&relay->stops, true, __ATOMIC_RELAXED);
    pthread_mutex_lock(&relay->lock);
    pthread_cond_signal(&relay->freed_more);
    pthread_mutex_unlock(&relay->lock);
}

/* ---- the sender; functions return false when the reader wants no more, or memory is short ---- */

static bool stops(const struct relay *relay)
{
    return __atomic_load_n(&relay->stops, __ATOMIC_RELAXED);
}

/* Hands the open batch over, and waits for an empty one; false when the reader wants no more. */
static bool pass_on(struct relay *relay)
{
    pthread_mutex_lock(&relay->lock);
    relay->filled++;
    if (relay->filled - relay->freed >= RELAY_BATCHES_LOW)
        pthread_cond_signal(&relay->filled_more);
    if (relay->filled - relay->freed == RELAY_BATCHES)
        while (relay->filled - relay->freed > RELAY_BATCHES_LOW && !stops(relay))
            pthread_cond_wait(&relay->freed_more, &relay->lock);
    relay->open = &relay->batches[relay->filled % RELAY_BATCHES];
    pthread_mutex_unlock(&relay->lock);
    relay->open->used = 0;
    relay->open->in_nests = 0;
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
    const struct psnap_program *program = relay->program;
    const struct psnap_object *last = &relay->last_object;

    if (program->ref_count != relay->ref_count || program->object_count != relay->object_count ||
        program->loop_count != relay->loop_count || program->block_count != relay->block_count)
        return true;
    if (!program->object_count)
        return false;
    return program->objects[program->object_count - 1].address != last->address ||
           program->objects[program->object_count - 1].size_bytes != last->size_bytes;
}

static bool send_rows(struct relay *relay)
{
    const struct psnap_program *program = relay->program;
    struct psnap_program *rows;
    struct relay_batch *open;

    if (relay->open->used == RELAY_BATCH_WORDS && !pass_on(relay))
        return false;
    open = relay->open;
    rows = psnap_program_new();
    if (!rows ||
        !append_rows(rows, program, relay->loop_count, relay->block_count, relay->ref_count,
                     relay->object_count - (relay->object_count > 0)) ||
        !psnap_make_room(&open->rows, &open->rows_room, open->rows_count + 1, sizeof *open->rows)) {
        psnap_program_free(rows);
        relay->is_short = true;
        return false;
    }
    open->rows[open->rows_count++] = rows;
    *room_for(relay, 1) = 0;
    relay->loop_count = program->loop_count;
    relay->block_count = program->block_count;
    relay->ref_count = program->ref_count;
    relay->object_count = program->object_count;
    if (relay->object_count)
        relay->last_object = program->objects[relay->object_count - 1];
    return true;
}

static bool relay_send_rows(struct relay *relay)
{
    return !has_rows(relay) || send_rows(relay);
}

static bool relay_send_accesses(struct relay *relay, const struct psnap_access *accesses, size_t n)
{
    while (n) {
        const size_t left = RELAY_BATCH_WORDS - relay->open->used;
        size_t part = left > 1 ? (left - 1) / RELAY_ACCESS_WORDS : 0;
        uint64_t *at;
        if (!part) {
            if (!pass_on(relay))
                return false;
            continue;
        }
        part = part < n ? part : n;
        at = room_for(relay, 1 + part * RELAY_ACCESS_WORDS);
        *at = part * 2;
        memcpy(at + 1, accesses, part * sizeof *accesses);
        accesses += part;
        n -= part;
    }
    return true;
}

/* Words of the columns of a nest of one loop. */
static uint64_t column_words(const struct psnap_nest *nest)
{
    const size_t width = nest->loops->width;
    uint64_t words = width * RELAY_COLUMN_WORDS;

    for (size_t k = 0; k < width; k++)
        words += nest->columns[k].words ? (uint64_t)nest->loops->count : 0;
    return words;
}

static void write_columns(uint64_t *at, const struct psnap_nest *nest)
{
    uint64_t *to = at + nest->loops->width * (size_t)RELAY_COLUMN_WORDS;

    for (size_t k = 0; k < nest->loops->width; k++, at += RELAY_COLUMN_WORDS) {
        const struct psnap_column *column = &nest->columns[k];
        at[0] = column->words != NULL;
        at[1] = column->offset;
        for (int64_t i = 0; column->words && i < nest->loops->count; i++)
            *to++ = column->words[(size_t)i * column->pitch];
    }
}

/* A nest that has no place in a batch is sent access by access. */
static bool send_expanded(struct relay *relay, const struct psnap_nest *nest)
{
    struct psnap_access block[256];
    struct psnap_nest_walk walk;
    struct psnap_run run;
    size_t n;

    psnap_nest_walk_init(&walk, nest);
    while (psnap_nest_walk_next(&walk, &run))
        for (uint64_t at = 0, end = run.count * run.width; at < end; at += n) {
            n = end - at < 256 ? (size_t)(end - at) : 256;
            psnap_run_accesses(&run, at, n, block);
            if (!relay_send_accesses(relay, block, n))
                return false;
        }
    return true;
}

static bool relay_send_nest(struct relay *relay, const struct psnap_nest *nest)
{
    const size_t loops = nest->loop_count, width = nest->loops->width;
    const size_t levels = psnap_nest_depth(nest);
    const uint64_t columns = nest->columns ? column_words(nest) : 0;
    const uint64_t words = RELAY_NEST_HEAD + loops * RELAY_LOOP_WORDS +
                           width * (RELAY_ACCESS_WORDS + levels) + columns;
    uint64_t *at;

    if (words > RELAY_BATCH_WORDS)
        return send_expanded(relay, nest);
    if ((words > RELAY_BATCH_WORDS - relay->open->used ||
         relay->open->in_nests >= RELAY_IN_NESTS) &&
        !pass_on(relay))
        return false;
    relay->open->in_nests += psnap_nest_accesses(nest);
    at = room_for(relay, words);
    at[0] = loops * 2 + 1;
    at[1] = width | (uint64_t)levels << 32;
    at[2] = columns;
    at += RELAY_NEST_HEAD;
    memcpy(at, nest->loops, loops * sizeof *nest->loops);
    at += loops * RELAY_LOOP_WORDS;
    memcpy(at, nest->first, width * sizeof *nest->first);
    at += width * RELAY_ACCESS_WORDS;
    for (size_t k = 0; k < width; k++)
        memcpy(at + k * levels, nest->strides + k * nest->levels, levels * sizeof *nest->strides);
    if (columns)
        write_columns(at + width * levels, nest);
    return true;
}

static void relay_send_end(struct relay *relay, enum psnap_status status,
                           const struct psnap_error *error)
{
    struct psnap_error own = {0};

    if (!stops(relay))
        send_rows(relay); /* what came with the end */
    if (relay->is_short) {
        status = psnap_error_set(&own, PSNAP_ERROR_MEMORY, "out of memory");
        error = &own;
    }
    pthread_mutex_lock(&relay->lock);
    relay->filled++;
    relay->is_over = true;
    relay->status = status;
    relay->error = *error;
    pthread_cond_signal(&relay->filled_more);
    pthread_mutex_unlock(&relay->lock);
}

static void *relay_send(void *argument)
{
    struct relay *relay = argument;
    struct psnap_access room[PSNAP_BLOCK_ACCESSES];
    struct psnap_error error = {0};
    ssize_t n = 0;

    while (!stops(relay)) {
        const struct psnap_access *block;
        struct psnap_nest nest;

        n = psnap_source_next_nest(relay->inner, room, PSNAP_BLOCK_ACCESSES, &block, &nest, &error);
        if (n < 0 || (n == 0 && !nest.loop_count) || !relay_send_rows(relay) ||
            !relay_send_accesses(relay, block, (size_t)n) ||
            (nest.loop_count && !relay_send_nest(relay, &nest)))
            break;
    }
    relay_send_end(relay, n < 0 ? (enum psnap_status)n : PSNAP_OK, &error);
    return NULL;
}

/* ---- the reader ---- */

/* The reader's tables get the rows that came with a batch; false when out of memory. */
static bool take_rows(struct psnap_program *program, const struct psnap_program *rows)
{
    program->object_count -= program->object_count > 0;
    return append_rows(program, rows, 0, 0, 0, 0);
}

/* The batch after the one that was read, NULL at the end. */
static struct relay_batch *next_batch(struct relay *relay)
{
    bool is_there;

    pthread_mutex_lock(&relay->lock);
    if (relay->reading) {
        free_rows(relay->reading);
        relay->freed++;
        if (relay->filled - relay->freed <= RELAY_BATCHES_LOW)
            pthread_cond_signal(&relay->freed_more);
    }
    if (relay->filled == relay->freed)
        while (relay->filled - relay->freed < RELAY_BATCHES_LOW && !relay->is_over)
            pthread_cond_wait(&relay->filled_more, &relay->lock);
    is_there = relay->filled != relay->freed;
    relay->reading = is_there ? &relay->batches[relay->freed % RELAY_BATCHES] : NULL;
    relay->at = relay->rows_at = 0;
    pthread_mutex_unlock(&relay->lock);
    return relay->reading;
}

/* Nothing more is sent: what was counted all along is known now. */
static enum psnap_status end_reading(struct relay *relay, struct psnap_error *error)
{
    const struct psnap_program *from = relay->program;
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

/* The nest at `at`, as it was; false: out of memory. */
static bool take_nest(struct relay *relay, uint64_t *at, struct psnap_nest *nest)
{
    const size_t loops = (size_t)(at[0] / 2), width = (uint32_t)at[1], levels = at[1] >> 32;
    uint64_t *first = at + RELAY_NEST_HEAD + loops * RELAY_LOOP_WORDS;
    uint64_t *strides = first + width * RELAY_ACCESS_WORDS, *column = strides + width * levels;
    uint64_t *words = column + width * RELAY_COLUMN_WORDS;

    *nest = (struct psnap_nest){
        .loops = (const struct psnap_nest_loop *)(at + RELAY_NEST_HEAD),
        .first = (const struct psnap_access *)first,
        .strides = (const int64_t *)strides,
        .loop_count = (uint32_t)loops,
        .levels = (uint32_t)levels,
    };
    relay->at += (size_t)(column - at);
    if (!at[2])
        return true;
    relay->at += at[2];
    if (!psnap_make_room(&relay->columns, &relay->column_room, width, sizeof *relay->columns))
        return false;
    for (size_t k = 0; k < width; k++, column += RELAY_COLUMN_WORDS) {
        relay->columns[k] = (struct psnap_column){column[0] ? words : NULL, 1, column[1]};
        words += column[0] ? nest->loops->count : 0;
    }
    nest->columns = relay->columns;
    return true;
}

/* Takes the next record of the batch that is read, which is not at its end: rows, accesses, which
 * go to relay->accesses, or a nest. */
static enum psnap_status next_record(struct relay *relay, struct psnap_nest *nest,
                                     struct psnap_error *error)
{
    uint64_t *at = relay->reading->words + relay->at;
    bool is_done = true;

    if (*at == 0) {
        relay->at++;
        is_done = take_rows(relay->base.program, relay->reading->rows[relay->rows_at++]);
    } else if (*at % 2 == 0) {
        relay->accesses = (struct psnap_access *)(at + 1);
        relay->access_count = (size_t)(*at / 2);
        relay->at += 1 + relay->access_count * RELAY_ACCESS_WORDS;
    } else
        is_done = take_nest(relay, at, nest);
    return is_done ? PSNAP_OK : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
}

static bool is_at_end(const struct relay *relay)
{
    return !relay->reading || relay->at == relay->reading->used;
}

static bool is_at_nest(const struct relay *relay)
{
    return !is_at_end(relay) && relay->reading->words[relay->at] % 2;
}

/* The accesses of a record, and the nest behind them. */
static ssize_t relay_next_nest(struct psnap_source *source, struct psnap_access *room,
                               size_t capacity, const struct psnap_access **block,
                               struct psnap_nest *nest, struct psnap_error *error)
{
    struct relay *relay = (struct relay *)source;
    enum psnap_status status = PSNAP_OK;
    size_t n;

    (void)room, (void)capacity;
    while (!relay->access_count && !is_at_nest(relay) && !status) {
        if (!is_at_end(relay))
            status = next_record(relay, nest, error);
        else if (relay->has_ended)
            return 0;
        else if (!next_batch(relay))
            return end_reading(relay, error);
    }
    *block = relay->accesses;
    n = relay->access_count;
    relay->access_count = 0;
    if (!status && is_at_nest(relay))
        status = next_record(relay, nest, error);
    return status ? status : (ssize_t)n;
}

static void relay_free(struct psnap_source *source)
{
    struct relay *relay = (struct relay *)source;

    relay_stop(relay);
    if (relay->inner)
        pthread_join(relay->thread, NULL);
    pthread_mutex_destroy(&relay->lock);
    pthread_cond_destroy(&relay->filled_more);
    pthread_cond_destroy(&relay->freed_more);
    for (unsigned i = 0; i < RELAY_BATCHES; i++) {
        free_rows(&relay->batches[i]);
        free(relay->batches[i].rows);
        free(relay->batches[i].words);
    }
    free(relay->columns);
    psnap_program_free(relay->base.program);
    free(relay);
}

static struct relay *relay_new(const struct psnap_program *program)
{
    static const struct psnap_source_ops ops = {.free = relay_free, .next_nest = relay_next_nest};
    struct relay *relay = calloc(1, sizeof *relay);
    bool is_done = relay != NULL;

    if (!relay)
        return NULL;
    relay->base.ops = &ops;
    relay->base.program = psnap_program_new();
    relay->program = program;
    relay->open = &relay->batches[0];
    for (unsigned i = 0; i < RELAY_BATCHES; i++) {
        relay->batches[i].words = malloc(RELAY_BATCH_WORDS * sizeof *relay->batches[i].words);
        is_done = is_done && relay->batches[i].words;
    }
    pthread_mutex_init(&relay->lock, NULL);
    pthread_cond_init(&relay->filled_more, NULL);
    pthread_cond_init(&relay->freed_more, NULL);
    if (!is_done || !relay->base.program) {
        relay_free(&relay->base);
        return NULL;
    }
    relay->base.program->provenance = program->provenance;
    relay->base.program->sampling = program->sampling;
    return relay;
}

struct psnap_source *psnap_relay_source_new(struct psnap_source *inner, struct psnap_error *error)
{
    struct relay *relay = relay_new(inner->program);
    int failure = ENOMEM;

    if (relay) {
        relay->inner = inner;
        failure = pthread_create(&relay->thread, NULL, relay_send, relay);
    }
    if (!failure)
        return &relay->base;
    psnap_error_system(error, failure, "cannot read in a thread of its own");
    if (relay) {
        relay->inner = NULL; /* no thread */
        relay_free(&relay->base);
    }
    return NULL;
}

/* ---- a sink in a thread of its own ---- */

struct aside {
    struct psnap_sink base;
    struct relay *relay;
    struct psnap_sink *inner;
    pthread_t thread;
    bool has_thread;
    /* The thread's, until it has been joined: */
    enum psnap_status status;
    struct psnap_error error;
};

static void *take(void *argument)
{
    struct aside *aside = argument;

    aside->status = psnap_pump(&aside->relay->base, aside->inner, NULL, &aside->error);
    if (aside->status)
        relay_stop(aside->relay); /* who sends need not wait for room */
    return NULL;
}

/* Ends the stream, once, and waits for the thread. */
static enum psnap_status end(struct aside *aside, enum psnap_status status,
                             struct psnap_error *error)
{
    const struct psnap_error none = {0};

    if (aside->has_thread) {
        relay_send_end(aside->relay, status, &none);
        pthread_join(aside->thread, NULL);
    }
    aside->has_thread = false;
    if (aside->status && error)
        *error = aside->error;
    return aside->status;
}

/* What was sent, or not: then the thread has failed, or there is no memory to send it. */
static enum psnap_status sent(struct aside *aside, bool is_sent, struct psnap_error *error)
{
    return is_sent ? PSNAP_OK : end(aside, PSNAP_OK, error);
}

static enum psnap_status aside_put(struct psnap_sink *self, const struct psnap_access *block,
                                   size_t n, struct psnap_error *error)
{
    struct aside *aside = (struct aside *)self;

    return sent(aside, relay_send_rows(aside->relay) && relay_send_accesses(aside->relay, block, n),
                error);
}

static enum psnap_status aside_put_nest(struct psnap_sink *self, const struct psnap_nest *nest,
                                        struct psnap_error *error)
{
    struct aside *aside = (struct aside *)self;

    return sent(aside, relay_send_rows(aside->relay) && relay_send_nest(aside->relay, nest), error);
}

static enum psnap_status aside_finish(struct psnap_sink *self, struct psnap_error *error)
{
    return end((struct aside *)self, PSNAP_OK, error);
}

static void aside_free(struct psnap_sink *self)
{
    struct aside *aside = (struct aside *)self;

    end(aside, PSNAP_ERROR_USAGE, NULL); /* unless it is finished: the stream is given up */
    psnap_sink_free(aside->inner);
    psnap_source_free(&aside->relay->base);
    free(aside);
}

uint32_t psnap_processors(void)
{
    cpu_set_t processors;

    if (sched_getaffinity(0, sizeof processors, &processors) != 0)
        return 1;
    return (uint32_t)CPU_COUNT(&processors);
}

struct psnap_sink *psnap_aside_sink_new(const struct psnap_program *program,
                                        struct psnap_sink *(*make)(const struct psnap_program *),
                                        struct psnap_sink **inner)
{
    static const struct psnap_sink_ops ops = {
        .put = aside_put, .finish = aside_finish, .free = aside_free, .put_nest = aside_put_nest};
    struct aside *aside = psnap_processors() > 1 ? calloc(1, sizeof *aside) : NULL;

    if (aside) {
        aside->base.ops = &ops;
        aside->relay = relay_new(program);
        aside->inner = aside->relay ? make(aside->relay->base.program) : NULL;
        aside->has_thread = aside->inner && pthread_create(&aside->thread, NULL, take, aside) == 0;
        if (aside->has_thread) {
            *inner = aside->inner;
            return &aside->base;
        }
        psnap_sink_free(aside->inner);
        psnap_source_free(aside->relay ? &aside->relay->base : NULL);
        free(aside);
    }
    return *inner = make(program);
}
