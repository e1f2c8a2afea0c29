/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sender's side of a relay (relay.h). Accesses and nests are copied into batches, and
 * rows of the program's tables go in front of what needs them. A source that is read in a thread of
 * its own puts its accesses there by itself.
 */
#include "formats/base/relay.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

/* Accesses that there is room for in a batch that a source writes into. */
enum { DIRECT_LEAST = 1024 };

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

static bool copy_tables(const struct relay *relay, struct relay_rows *rows)
{
    const struct psnap_program *program = relay->program;

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

static bool send_rows(struct relay *relay)
{
    const struct psnap_program *program = relay->program;
    struct relay_batch *open;
    struct relay_rows *rows;

    if (relay->open->used == RELAY_BATCH_WORDS && !pass_on(relay))
        return false;
    open = relay->open;
    if (!psnap_make_room(&open->rows, &open->rows_room, open->rows_count + 1, sizeof *rows)) {
        relay->is_short = true;
        return false;
    }
    rows = &open->rows[open->rows_count];
    *rows = (struct relay_rows){0};
    if (!copy_tables(relay, rows)) {
        relay_rows_free(rows);
        relay->is_short = true;
        return false;
    }
    open->rows_count++;
    *room_for(relay, 1) = 0;
    relay->loop_count = program->loop_count;
    relay->block_count = program->block_count;
    relay->ref_count = program->ref_count;
    relay->object_count = program->object_count;
    if (relay->object_count)
        relay->last_object = program->objects[relay->object_count - 1];
    return true;
}

bool relay_send_rows(struct relay *relay)
{
    return !has_rows(relay) || send_rows(relay);
}

bool relay_send_accesses(struct relay *relay, const struct psnap_access *accesses, size_t n)
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

/* The block of memory that the columns' words lie in, row by row. */
struct block {
    const uint64_t *words;
    size_t count, pitch;
};

/* Those of a nest of one loop; false when they lie otherwise. */
static bool find_block(const struct psnap_nest *nest, struct block *block)
{
    const uint64_t count = (uint64_t)nest->loops->count;
    const uint64_t *low = NULL, *high = NULL;

    for (size_t k = 0; k < nest->loops->width; k++) {
        const struct psnap_column *column = &nest->columns[k];
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
        count > RELAY_BATCH_WORDS || block->pitch > RELAY_BATCH_WORDS)
        return false;
    block->words = low;
    block->count = (size_t)(count - 1) * block->pitch + (size_t)(high - low) + 1;
    return true;
}

static void write_columns(uint64_t *at, const struct psnap_nest *nest, const struct block *block)
{
    for (size_t k = 0; k < nest->loops->width; k++, at += RELAY_COLUMN_WORDS) {
        const struct psnap_column *column = &nest->columns[k];
        at[0] = column->words ? (uint64_t)(column->words - block->words) + 1 : 0;
        at[1] = column->offset;
    }
    *at++ = block->pitch;
    memcpy(at, block->words, block->count * sizeof *at);
}

/* A nest that has no place in a batch is sent access by access. */
static bool send_expanded(struct relay *relay, const struct psnap_nest *nest)
{
    struct psnap_nest_walk walk;
    struct psnap_run run;

    psnap_nest_walk_init(&walk, nest);
    while (psnap_nest_walk_next(&walk, &run))
        for (uint64_t i = 0; i < run.count; i++)
            for (size_t k = 0; k < run.width; k++) {
                struct psnap_access access = run.first[k];
                access.address = psnap_run_address(&run, i, k);
                if (!relay_send_accesses(relay, &access, 1))
                    return false;
            }
    return true;
}

bool relay_send_nest(struct relay *relay, const struct psnap_nest *nest)
{
    const size_t loops = nest->loop_count, width = nest->loops->width;
    const size_t levels = psnap_nest_depth(nest);
    struct block block = {NULL, 0, 0};
    size_t words =
        RELAY_NEST_HEAD + loops * RELAY_LOOP_WORDS + width * (RELAY_ACCESS_WORDS + levels);
    uint64_t *at;

    if (nest->columns && !find_block(nest, &block))
        return send_expanded(relay, nest);
    if (block.count)
        words += width * RELAY_COLUMN_WORDS + 1 + block.count;
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
    at[2] = block.count;
    at += RELAY_NEST_HEAD;
    memcpy(at, nest->loops, loops * sizeof *nest->loops);
    at += loops * RELAY_LOOP_WORDS;
    memcpy(at, nest->first, width * sizeof *nest->first);
    at += width * RELAY_ACCESS_WORDS;
    for (size_t k = 0; k < width; k++)
        memcpy(at + k * levels, nest->strides + k * nest->levels, levels * sizeof *nest->strides);
    if (block.count)
        write_columns(at + width * levels, nest, &block);
    return true;
}

/* What was written into the open batch becomes a record of it; rows that came with it go in front
 * of it. `aside` is room for so many accesses. */
static bool keep_direct(struct relay *relay, size_t n, struct psnap_access *aside)
{
    uint64_t *at = relay->open->words + relay->open->used;

    if (has_rows(relay)) {
        memcpy(aside, at + 1, n * sizeof *aside);
        return send_rows(relay) && relay_send_accesses(relay, aside, n);
    }
    if (n) {
        *at = n * 2;
        relay->open->used += 1 + n * RELAY_ACCESS_WORDS;
    }
    return true;
}

void relay_send_end(struct relay *relay, enum psnap_status status, const struct psnap_error *error)
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

void *relay_send(void *argument)
{
    struct relay *relay = argument;
    struct psnap_access *aside = malloc(PSNAP_BLOCK_ACCESSES * sizeof *aside);
    struct psnap_error error = {0};
    ssize_t n = 0;

    relay->is_short = !aside;
    while (aside && !stops(relay)) {
        const struct psnap_access *block;
        struct psnap_nest nest;
        struct psnap_access *to;
        size_t room = RELAY_BATCH_WORDS - relay->open->used;
        if (room < 1 + DIRECT_LEAST * RELAY_ACCESS_WORDS) {
            if (!pass_on(relay))
                break;
            room = RELAY_BATCH_WORDS;
        }
        room = (room - 1) / RELAY_ACCESS_WORDS;
        to = (struct psnap_access *)(relay->open->words + relay->open->used + 1);
        n = psnap_source_next_nest(relay->inner, to,
                                   room < PSNAP_BLOCK_ACCESSES ? room : PSNAP_BLOCK_ACCESSES,
                                   &block, &nest, &error);
        if (n < 0 || (n == 0 && !nest.loop_count) ||
            !(block == to
                  ? keep_direct(relay, (size_t)n, aside)
                  : relay_send_rows(relay) && relay_send_accesses(relay, block, (size_t)n)) ||
            (nest.loop_count && !relay_send_nest(relay, &nest)))
            break;
    }
    free(aside);
    relay_send_end(relay, n < 0 ? (enum psnap_status)n : PSNAP_OK, &error);
    return NULL;
}
