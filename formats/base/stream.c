/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving blocks from sources to sinks, and one stream to several sinks.
 *
 * Invariant: a source that has answered 0 or an error is not asked again, so
 * wrappers keep a `done` of their own.
 */
#include "formats/base/stream.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

enum {
    RUN_MIN = 16, /* accesses of a run of a nest; fewer are put one by one */
    GATHER_MAX = 256
};

/* What a source has given to a reader that takes accesses alone, and only so many: accesses that
 * lie in the source, and a nest behind them. */
struct psnap_expansion {
    const struct psnap_access *accesses;
    size_t count;
    struct psnap_nest nest;
    struct psnap_nest_walk walk;
    struct psnap_run run;
    uint64_t at; /* the next access of the run */
    bool has_run;
};

static bool is_expanding(const struct psnap_source *source)
{
    return source->expansion && (source->expansion->count || source->expansion->has_run);
}

/* Goes on with the run, and with those behind it, as far as there is room. */
static size_t expand_nest(struct psnap_expansion *expansion, struct psnap_access *block,
                          size_t capacity)
{
    struct psnap_run *run = &expansion->run;
    size_t n = 0;

    while (n < capacity && expansion->has_run) {
        const uint64_t left = run->count * run->width - expansion->at;
        const size_t part = left < capacity - n ? (size_t)left : capacity - n;

        psnap_run_accesses(run, expansion->at, part, block + n);
        n += part;
        expansion->at += part;
        if (part == left) {
            expansion->at = 0;
            expansion->has_run = psnap_nest_walk_next(&expansion->walk, run);
        }
    }
    return n;
}

static ssize_t expand(struct psnap_expansion *expansion, struct psnap_access *block,
                      size_t capacity)
{
    const size_t n = expansion->count < capacity ? expansion->count : capacity;

    if (n && block != expansion->accesses)
        memmove(block, expansion->accesses, n * sizeof *block);
    if (n)
        expansion->accesses += n; /* there may be none, and no place of theirs */
    expansion->count -= n;
    return (ssize_t)(n + expand_nest(expansion, block + n, capacity - n));
}

ssize_t psnap_source_next(struct psnap_source *source, struct psnap_access *block, size_t capacity,
                          struct psnap_error *error)
{
    struct psnap_expansion *expansion = source->expansion;

    if (is_expanding(source))
        return expand(expansion, block, capacity);
    if (source->ops->next)
        return source->ops->next(source, block, capacity, error);
    if (!expansion && !(expansion = source->expansion = calloc(1, sizeof *expansion)))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    do {
        const ssize_t n = psnap_source_next_nest(source, block, capacity, &expansion->accesses,
                                                 &expansion->nest, error);
        if (n < 0 || (!n && !expansion->nest.loop_count))
            return n;
        expansion->count = (size_t)n;
        expansion->at = 0;
        psnap_nest_walk_init(&expansion->walk, &expansion->nest);
        expansion->has_run = psnap_nest_walk_next(&expansion->walk, &expansion->run);
    } while (!is_expanding(source));
    return expand(expansion, block, capacity);
}

ssize_t psnap_source_next_nest(struct psnap_source *source, struct psnap_access *room,
                               size_t capacity, const struct psnap_access **block,
                               struct psnap_nest *nest, struct psnap_error *error)
{
    *block = room;
    nest->loop_count = 0;
    if (is_expanding(source))
        return expand(source->expansion, room, capacity);
    return source->ops->next_nest
               ? source->ops->next_nest(source, room, capacity, block, nest, error)
               : source->ops->next(source, room, capacity, error);
}

void psnap_source_free(struct psnap_source *source)
{
    if (!source)
        return;
    free(source->expansion);
    if (source->ops->free)
        source->ops->free(source);
    else
        free(source);
}

enum psnap_status psnap_sink_put(struct psnap_sink *sink, const struct psnap_access *block,
                                 size_t n, struct psnap_error *error)
{
    return sink->ops->put(sink, block, n, error);
}

enum psnap_status psnap_sink_put_repetitions(struct psnap_sink *sink, const struct psnap_run *run,
                                             uint64_t from, uint64_t to, struct psnap_error *error)
{
    struct psnap_access block[512];
    const uint64_t end = to * run->width;
    enum psnap_status status = PSNAP_OK;

    for (uint64_t at = from * run->width; at < end && !status;) {
        const size_t n = end - at < 512 ? (size_t)(end - at) : 512;

        psnap_run_accesses(run, at, n, block);
        status = psnap_sink_put(sink, block, n, error);
        at += n;
    }
    return status;
}

enum psnap_status psnap_sink_put_run(struct psnap_sink *sink, const struct psnap_run *run,
                                     struct psnap_error *error)
{
    struct psnap_nest_loop loop;
    struct psnap_nest nest;

    if (sink->ops->put_run)
        return sink->ops->put_run(sink, run, error);
    if (!sink->ops->put_nest)
        return psnap_sink_put_repetitions(sink, run, 0, run->count, error);
    nest = psnap_nest_of_run(&loop, run);
    return sink->ops->put_nest(sink, &nest, error);
}

/* Accesses on their way to a sink: short runs are not worth being one. */
struct gathered {
    struct psnap_access block[GATHER_MAX];
    size_t n;
};

static enum psnap_status pass_on(struct psnap_sink *sink, struct gathered *gathered,
                                 struct psnap_error *error)
{
    const size_t n = gathered->n;

    gathered->n = 0;
    return n ? psnap_sink_put(sink, gathered->block, n, error) : PSNAP_OK;
}

static enum psnap_status gather(struct psnap_sink *sink, const struct psnap_run *run,
                                struct gathered *gathered, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    if (run->count >= RUN_MIN || run->count * run->width >= RUN_MIN) {
        status = pass_on(sink, gathered, error);
        return status ? status : psnap_sink_put_run(sink, run, error);
    }
    if (GATHER_MAX - gathered->n < run->count * run->width)
        status = pass_on(sink, gathered, error);
    psnap_run_accesses(run, 0, run->count * run->width, gathered->block + gathered->n);
    gathered->n += run->count * run->width;
    return status;
}

enum psnap_status psnap_sink_put_nest(struct psnap_sink *sink, const struct psnap_nest *nest,
                                      struct psnap_error *error)
{
    struct gathered gathered;
    struct psnap_nest_walk walk;
    struct psnap_run run;
    enum psnap_status status = PSNAP_OK;

    if (sink->ops->put_nest && (nest->loop_count > 1 || !sink->ops->put_run))
        return sink->ops->put_nest(sink, nest, error);
    gathered.n = 0;
    psnap_nest_walk_init(&walk, nest);
    if (nest->loop_count == 1)
        return psnap_nest_walk_next(&walk, &run) ? psnap_sink_put_run(sink, &run, error) : PSNAP_OK;
    while (!status && psnap_nest_walk_next(&walk, &run))
        status = gather(sink, &run, &gathered, error);
    return status ? status : pass_on(sink, &gathered, error);
}

enum psnap_status psnap_sink_finish(struct psnap_sink *sink, struct psnap_error *error)
{
    return sink->ops->finish ? sink->ops->finish(sink, error) : PSNAP_OK;
}

uint64_t psnap_sink_left_out(const struct psnap_sink *sink)
{
    return sink->ops->left_out ? sink->ops->left_out(sink) : 0;
}

bool psnap_sink_place(struct psnap_sink *sink, struct psnap_compact *compact)
{
    return sink->ops->place && sink->ops->place(sink, compact);
}

void psnap_sink_free(struct psnap_sink *sink)
{
    if (sink && sink->ops->free)
        sink->ops->free(sink);
    else
        free(sink);
}

enum psnap_status psnap_pump(struct psnap_source *source, struct psnap_sink *sink, uint64_t *count,
                             struct psnap_error *error)
{
    struct psnap_access *room = malloc(PSNAP_BLOCK_ACCESSES * sizeof *room);
    enum psnap_status status = PSNAP_OK;
    uint64_t moved = 0;

    if (!room) {
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        goto out;
    }
    for (;;) {
        const struct psnap_access *block;
        struct psnap_nest nest;
        const ssize_t n =
            psnap_source_next_nest(source, room, PSNAP_BLOCK_ACCESSES, &block, &nest, error);
        if (n < 0) {
            status = (enum psnap_status)n;
            goto out;
        }
        if (n == 0 && !nest.loop_count)
            break;
        if (n)
            status = psnap_sink_put(sink, block, (size_t)n, error);
        if (!status && nest.loop_count)
            status = psnap_sink_put_nest(sink, &nest, error);
        if (status != PSNAP_OK)
            goto out;
        moved += (uint64_t)n + psnap_nest_accesses(&nest);
    }
    status = psnap_sink_finish(sink, error);
out:
    free(room);
    if (count)
        *count = moved;
    return status;
}

struct tee_sink {
    struct psnap_sink base;
    size_t count;
    struct psnap_sink *sinks[];
};

static enum psnap_status tee_sink_put(struct psnap_sink *self, const struct psnap_access *block,
                                      size_t n, struct psnap_error *error)
{
    struct tee_sink *tee = (struct tee_sink *)self;

    for (size_t i = 0; i < tee->count; i++) {
        const enum psnap_status status = psnap_sink_put(tee->sinks[i], block, n, error);
        if (status != PSNAP_OK)
            return status;
    }
    return PSNAP_OK;
}

static enum psnap_status tee_sink_put_nest(struct psnap_sink *self, const struct psnap_nest *nest,
                                           struct psnap_error *error)
{
    struct tee_sink *tee = (struct tee_sink *)self;
    enum psnap_status status = PSNAP_OK;

    for (size_t i = 0; i < tee->count && !status; i++)
        status = psnap_sink_put_nest(tee->sinks[i], nest, error);
    return status;
}

static enum psnap_status tee_sink_finish(struct psnap_sink *self, struct psnap_error *error)
{
    struct tee_sink *tee = (struct tee_sink *)self;

    for (size_t i = 0; i < tee->count; i++) {
        const enum psnap_status status = psnap_sink_finish(tee->sinks[i], error);
        if (status != PSNAP_OK)
            return status;
    }
    return PSNAP_OK;
}

struct psnap_sink *psnap_tee_sink_new(struct psnap_sink *const *sinks, size_t n)
{
    static const struct psnap_sink_ops ops = {
        .put = tee_sink_put, .finish = tee_sink_finish, .put_nest = tee_sink_put_nest};
    struct tee_sink *tee = malloc(sizeof *tee + n * sizeof *sinks);

    if (!tee)
        return NULL;
    tee->base.ops = &ops;
    tee->count = n;
    if (n)
        memcpy(tee->sinks, sinks, n * sizeof *sinks);
    return &tee->base;
}
