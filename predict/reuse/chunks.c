/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stream's caller fills chunks, each thread takes the next one, measures it for itself, and
 * when it is the chunk's turn merges it into the whole (stack.h). A chunk of runs is long, as these
 * take no room: the fewer the chunks, the fewer lines are merged, one by one, for each access.
 *
 * Where more than a quarter of a chunk is first touches, which are looked up in the whole anyway,
 * the next chunks are measured on the whole at once, one thread after the other, but for one of
 * eight.
 *
 * Chunks are a ring: `filled` of them were handed over, `taken` were taken by threads, `merged`
 * have been merged, all in the stream's order; the next one is filled once there is one that is
 * merged.
 */
#include "predict/reuse/chunks.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

enum { ROOM = 1 << 20, CHUNK_ACCESSES = 1 << 22, SPARE = 2 };
/*
 * The share of first touches, one in SCATTERED, from which merging is taken to be as much work as
 * measuring on the whole: a first touch is looked up in both tables, and leaves the time line to be
 * put there again. Larger shares would do the work twice, smaller ones give up threads where they
 * still help. One chunk in TRY_AGAIN then finds out whether that is over: more would waste work on
 * streams that stay so, fewer leave threads idle longer on one that changes. Both are choices that
 * were not varied in a measurement.
 */
enum { SCATTERED = 4, TRY_AGAIN = 8 };

struct item { /* accesses, and a run unless its count is 0 */
    size_t accesses, width;
    uint64_t count;
};

struct chunk {
    struct psnap_access *accesses; /* those of the items, and of runs the first ones */
    int64_t *strides;              /* of the runs */
    uint32_t *tags;                /* of the accesses; NULL: none */
    size_t access_count, stride_count;
    struct item *items;
    size_t item_count, item_room;
    uint64_t length; /* accesses in all */
};

struct worker {
    struct chunks *chunks;
    struct measure *measure;
    pthread_t thread;
};

struct chunks {
    const struct psnap_reuse_options *options;
    struct measure *whole;
    struct worker *workers;
    struct chunk *ring;
    uint32_t worker_count, ring_count;
    uint64_t chunk_accesses;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Under the lock: */
    uint64_t filled, taken, merged;
    bool is_over, has_failed;
    bool is_scattered; /* the last chunk that was measured by itself had many first touches */
};

/* ------------------------------------------------------------------- threads */

static bool measure_chunk(struct measure *measure, const struct chunk *chunk)
{
    const struct psnap_access *access = chunk->accesses;
    const int64_t *strides = chunk->strides;
    const uint32_t *tags = chunk->tags;
    bool fits = true;

    for (size_t i = 0; i < chunk->item_count && fits; i++) {
        const struct item *item = &chunk->items[i];
        const struct psnap_run run = {.first = access + item->accesses,
                                      .strides = strides,
                                      .width = item->width,
                                      .count = item->count};
        fits = measure_accesses(measure, access, tags, item->accesses) &&
               (!item->count || measure_run(measure, &run));
        access += item->accesses + item->width;
        strides += item->width;
        tags = tags ? tags + item->accesses : NULL; /* there are no runs where there are tags */
    }
    return fits;
}

/* The number of a chunk that the thread has taken, and whether it is to be measured by itself;
 * false: there are none left. */
static bool take(struct chunks *chunks, uint64_t *number, bool *is_apart)
{
    bool is_there;

    pthread_mutex_lock(&chunks->lock);
    while (chunks->taken == chunks->filled && !chunks->is_over)
        pthread_cond_wait(&chunks->changed, &chunks->lock);
    is_there = chunks->taken < chunks->filled;
    if (is_there)
        *number = chunks->taken++;
    *is_apart = is_there && (!chunks->is_scattered || *number % TRY_AGAIN == 0);
    pthread_mutex_unlock(&chunks->lock);
    return is_there;
}

/* Waits for a chunk's turn; whether all has gone well so far. */
static bool wait_for_turn(struct chunks *chunks, uint64_t number)
{
    bool is_well;

    pthread_mutex_lock(&chunks->lock);
    while (chunks->merged != number)
        pthread_cond_wait(&chunks->changed, &chunks->lock);
    is_well = !chunks->has_failed;
    pthread_mutex_unlock(&chunks->lock);
    return is_well;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct chunks *chunks = worker->chunks;
    uint64_t number;
    bool is_apart, fits = true; /* once it is not, nothing of the stream is measured any more */

    while (take(chunks, &number, &is_apart)) {
        const struct chunk *chunk = &chunks->ring[number % chunks->ring_count];

        if (is_apart)
            fits = fits && measure_chunk(worker->measure, chunk);
        fits = wait_for_turn(chunks, number) && fits;
        if (fits)
            fits = is_apart ? measure_merge(chunks->whole, worker->measure)
                            : measure_chunk(chunks->whole, chunk);
        pthread_mutex_lock(&chunks->lock);
        chunks->has_failed = chunks->has_failed || !fits;
        if (is_apart)
            chunks->is_scattered =
                measure_first_touches(worker->measure) > chunk->length / SCATTERED;
        chunks->merged++;
        pthread_cond_broadcast(&chunks->changed);
        pthread_mutex_unlock(&chunks->lock);
        measure_clear(worker->measure);
    }
    return NULL;
}

/* -------------------------------------------------------------------- filling */

/* Hands the chunk that is being filled over, and waits for room for another. */
static bool hand_over(struct chunks *chunks)
{
    struct chunk *chunk;
    bool is_well;

    pthread_mutex_lock(&chunks->lock);
    chunks->filled++;
    pthread_cond_broadcast(&chunks->changed);
    while (chunks->filled - chunks->merged == chunks->ring_count)
        pthread_cond_wait(&chunks->changed, &chunks->lock);
    is_well = !chunks->has_failed;
    pthread_mutex_unlock(&chunks->lock);
    chunk = &chunks->ring[chunks->filled % chunks->ring_count];
    chunk->access_count = chunk->stride_count = chunk->item_count = 0;
    chunk->length = 0;
    return is_well;
}

/* The chunk to fill, which has room for `width` accesses and a last item without a run; NULL: out
 * of memory, or something has failed. */
static struct chunk *chunk_with_room(struct chunks *chunks, size_t width)
{
    struct chunk *chunk = &chunks->ring[chunks->filled % chunks->ring_count];
    struct item *room;

    if (chunk->length >= chunks->chunk_accesses || ROOM - chunk->access_count < width) {
        if (!hand_over(chunks))
            return NULL;
        chunk = &chunks->ring[chunks->filled % chunks->ring_count];
    }
    if (chunk->item_count && !chunk->items[chunk->item_count - 1].count)
        return chunk;
    room = psnap_with_room(chunk->items, &chunk->item_room, chunk->item_count + 1, sizeof *room);
    if (!room)
        return NULL;
    chunk->items = room;
    room[chunk->item_count++] = (struct item){0};
    return chunk;
}

bool chunks_put(struct chunks *chunks, const struct psnap_access *accesses, const uint32_t *tags,
                size_t n)
{
    for (size_t some; n; accesses += some, n -= some) {
        struct chunk *chunk = chunk_with_room(chunks, 1);
        if (!chunk)
            return false;
        some = ROOM - chunk->access_count < n ? ROOM - chunk->access_count : n;
        if (chunks->chunk_accesses - chunk->length < some)
            some = (size_t)(chunks->chunk_accesses - chunk->length);
        memcpy(chunk->accesses + chunk->access_count, accesses, some * sizeof *accesses);
        if (tags) {
            memcpy(chunk->tags + chunk->access_count, tags, some * sizeof *tags);
            tags += some;
        }
        chunk->access_count += some;
        chunk->items[chunk->item_count - 1].accesses += some;
        chunk->length += some;
    }
    return true;
}

bool chunks_put_run(struct chunks *chunks, const struct psnap_run *run)
{
    for (uint64_t done = 0, some; done < run->count; done += some) {
        struct chunk *chunk = chunk_with_room(chunks, run->width);
        struct psnap_access *first;
        struct item *item;
        if (!chunk)
            return false;
        item = &chunk->items[chunk->item_count - 1];
        first = chunk->accesses + chunk->access_count;
        some = (chunks->chunk_accesses - chunk->length) / run->width + 1;
        some = run->count - done < some ? run->count - done : some;
        for (size_t k = 0; k < run->width; k++) {
            first[k] = run->first[k];
            first[k].address = psnap_run_address(run, done, k);
        }
        memcpy(chunk->strides + chunk->stride_count, run->strides,
               run->width * sizeof *run->strides);
        item->width = run->width;
        item->count = some;
        chunk->access_count += run->width;
        chunk->stride_count += run->width;
        chunk->length += some * run->width;
    }
    return true;
}

/* ------------------------------------------------------------------------ all */

/* Lets the threads finish what was handed over, and waits for them. */
static void join(struct chunks *chunks)
{
    pthread_mutex_lock(&chunks->lock);
    chunks->is_over = true;
    pthread_cond_broadcast(&chunks->changed);
    pthread_mutex_unlock(&chunks->lock);
    for (uint32_t i = 0; i < chunks->worker_count; i++)
        pthread_join(chunks->workers[i].thread, NULL);
}

bool chunks_finish(struct chunks *chunks)
{
    bool fits = hand_over(chunks);

    join(chunks);
    fits = fits && !chunks->has_failed;
    for (uint32_t i = 0; i < chunks->worker_count; i++) {
        fits = fits && measure_add_counts(chunks->whole, chunks->workers[i].measure);
        measure_free(chunks->workers[i].measure);
    }
    chunks->worker_count = 0;
    return fits;
}

static bool chunk_init(struct chunk *chunk, bool has_tags)
{
    chunk->accesses = malloc(ROOM * sizeof *chunk->accesses);
    chunk->strides = malloc(ROOM * sizeof *chunk->strides);
    chunk->tags = has_tags ? malloc(ROOM * sizeof *chunk->tags) : NULL;
    return chunk->accesses && chunk->strides && (chunk->tags || !has_tags);
}

/* Starts a thread with what it has. */
static bool start(struct chunks *chunks)
{
    struct worker *worker = &chunks->workers[chunks->worker_count];

    worker->chunks = chunks;
    worker->measure = measure_new(chunks->options, true);
    if (worker->measure && !pthread_create(&worker->thread, NULL, work, worker)) {
        chunks->worker_count++;
        return true;
    }
    measure_free(worker->measure);
    return false;
}

struct chunks *chunks_new(const struct psnap_reuse_options *options, struct measure *whole)
{
    struct chunks *chunks = calloc(1, sizeof *chunks);
    bool fits = chunks != NULL;

    if (!fits)
        return NULL;
    chunks->options = options;
    chunks->whole = whole;
    chunks->chunk_accesses = options->chunk_accesses ? options->chunk_accesses : CHUNK_ACCESSES;
    pthread_mutex_init(&chunks->lock, NULL);
    pthread_cond_init(&chunks->changed, NULL);
    chunks->ring_count = options->jobs + SPARE;
    chunks->ring = calloc(chunks->ring_count, sizeof *chunks->ring);
    chunks->workers = calloc(options->jobs, sizeof *chunks->workers);
    fits = chunks->ring && chunks->workers;
    for (uint32_t i = 0; i < chunks->ring_count && fits; i++)
        fits = chunk_init(&chunks->ring[i], options->tagger != NULL);
    for (uint32_t i = 0; i < options->jobs && fits; i++)
        fits = start(chunks);
    if (fits)
        return chunks;
    chunks_free(chunks);
    return NULL;
}

void chunks_free(struct chunks *chunks)
{
    if (!chunks)
        return;
    join(chunks);
    for (uint32_t i = 0; i < chunks->worker_count; i++)
        measure_free(chunks->workers[i].measure);
    for (uint32_t i = 0; chunks->ring && i < chunks->ring_count; i++) {
        free(chunks->ring[i].accesses);
        free(chunks->ring[i].strides);
        free(chunks->ring[i].tags);
        free(chunks->ring[i].items);
    }
    pthread_cond_destroy(&chunks->changed);
    pthread_mutex_destroy(&chunks->lock);
    free(chunks->workers);
    free(chunks->ring);
    free(chunks);
}
