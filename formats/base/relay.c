/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stream from one thread to another (relay_send.c): what is sent is put into
 * batches, which the reader takes in order. So reading a source in a thread of its own
 * and doing something with it go on side by side. The stream is the same, access for access
 * and nest for nest.
 *
 * The tables of the program travel with the stream: the reader's are as they were
 * when what is read was sent, whatever the other thread has learned
 * since. What the reader does with them thus depends on the stream alone, not on how
 * far ahead the other thread is. When the stream has ended they are all as the sender
 * has them.
 */
#include "formats/base/relay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

void relay_rows_free(struct relay_rows *rows)
{
    free(rows->loops);
    free(rows->blocks);
    free(rows->refs);
    free(rows->objects);
    memset(rows, 0, sizeof *rows);
}

/* The reader's tables get the rows that came with a batch; false when out of memory. */
static bool take_rows(struct psnap_program *program, struct relay_rows *rows)
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
    relay_rows_free(rows);
    return is_done;
}

/* The batch after the one that was read, NULL at the end. */
static struct relay_batch *next_batch(struct relay *relay)
{
    bool is_there;

    pthread_mutex_lock(&relay->lock);
    if (relay->reading) {
        relay->reading->rows_count = 0; /* they were taken */
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
static enum psnap_status end(struct relay *relay, struct psnap_error *error)
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
    uint64_t *block = column + width * RELAY_COLUMN_WORDS + 1;

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
    relay->at += width * RELAY_COLUMN_WORDS + 1 + at[2];
    if (!psnap_make_room(&relay->columns, &relay->column_room, width, sizeof *relay->columns))
        return false;
    for (size_t k = 0; k < width; k++, column += RELAY_COLUMN_WORDS)
        relay->columns[k] = (struct psnap_column){column[0] ? block + column[0] - 1 : NULL,
                                                  (size_t)block[-1], column[1]};
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
        is_done = take_rows(relay->base.program, &relay->reading->rows[relay->rows_at++]);
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
            return end(relay, error);
    }
    *block = relay->accesses;
    n = relay->access_count;
    relay->access_count = 0;
    if (!status && is_at_nest(relay))
        status = next_record(relay, nest, error);
    return status ? status : (ssize_t)n;
}

void relay_stop(struct relay *relay)
{
    __atomic_store_n(&relay->stops, true, __ATOMIC_RELAXED);
    pthread_mutex_lock(&relay->lock);
    pthread_cond_signal(&relay->freed_more);
    pthread_mutex_unlock(&relay->lock);
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
        for (size_t r = 0; r < relay->batches[i].rows_count; r++)
            relay_rows_free(&relay->batches[i].rows[r]);
        free(relay->batches[i].rows);
        free(relay->batches[i].words);
    }
    free(relay->columns);
    psnap_program_free(relay->base.program);
    free(relay);
}

struct relay *relay_new(const struct psnap_program *program)
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
