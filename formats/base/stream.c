/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving blocks from sources to sinks, and the sources and sinks that need
 * nothing but memory: a vector, a window on another source, a tee, a null.
 *
 * Invariant: a source that has answered 0 or an error is not asked again, so
 * wrappers keep a `done` of their own.
 */
#include "formats/base/stream.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

ssize_t psnap_source_next(struct psnap_source *source, struct psnap_access *block, size_t capacity,
                          struct psnap_error *error)
{
    return source->ops->next(source, block, capacity, error);
}

ssize_t psnap_source_next_run(struct psnap_source *source, struct psnap_access *block,
                              size_t capacity, struct psnap_run *run, struct psnap_error *error)
{
    run->count = 0;
    return source->ops->next_run ? source->ops->next_run(source, block, capacity, run, error)
                                 : source->ops->next(source, block, capacity, error);
}

ssize_t psnap_source_next_rounds(struct psnap_source *source, struct psnap_access *block,
                                 size_t capacity, struct psnap_run *run,
                                 struct psnap_rounds *rounds, struct psnap_error *error)
{
    rounds->node_count = 0;
    run->count = 0;
    return source->ops->next_rounds
               ? source->ops->next_rounds(source, block, capacity, run, rounds, error)
               : psnap_source_next_run(source, block, capacity, run, error);
}

ssize_t psnap_source_view_rounds(struct psnap_source *source, struct psnap_access *room,
                                 size_t capacity, const struct psnap_access **block,
                                 struct psnap_run *run, struct psnap_rounds *rounds,
                                 struct psnap_error *error)
{
    *block = room;
    rounds->node_count = 0;
    run->count = 0;
    return source->ops->view_rounds
               ? source->ops->view_rounds(source, block, run, rounds, error)
               : psnap_source_next_rounds(source, room, capacity, run, rounds, error);
}

void psnap_source_free(struct psnap_source *source)
{
    if (source)
        source->ops->free(source);
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
    enum psnap_status status = PSNAP_OK;
    size_t n = 0;

    for (uint64_t i = from; i < to && !status; i++)
        for (size_t k = 0; k < run->width && !status; k++) {
            block[n] = run->first[k];
            block[n++].address = psnap_run_address(run, i, k);
            if (n == sizeof block / sizeof *block) {
                status = psnap_sink_put(sink, block, n, error);
                n = 0;
            }
        }
    return status || !n ? status : psnap_sink_put(sink, block, n, error);
}

enum psnap_status psnap_sink_put_run(struct psnap_sink *sink, const struct psnap_run *run,
                                     struct psnap_error *error)
{
    return sink->ops->put_run ? sink->ops->put_run(sink, run, error)
                              : psnap_sink_put_repetitions(sink, run, 0, run->count, error);
}

enum psnap_status psnap_sink_finish(struct psnap_sink *sink, struct psnap_error *error)
{
    return sink->ops->finish ? sink->ops->finish(sink, error) : PSNAP_OK;
}

uint64_t psnap_sink_left_out(const struct psnap_sink *sink)
{
    return sink->ops->left_out ? sink->ops->left_out(sink) : 0;
}

void psnap_sink_free(struct psnap_sink *sink)
{
    if (sink)
        sink->ops->free(sink);
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
        struct psnap_run run;
        struct psnap_rounds rounds;
        const ssize_t n = psnap_source_view_rounds(source, room, PSNAP_BLOCK_ACCESSES, &block, &run,
                                                   &rounds, error);
        if (n < 0) {
            status = (enum psnap_status)n;
            goto out;
        }
        if (n == 0 && run.count == 0 && rounds.node_count == 0)
            break;
        if (n)
            status = psnap_sink_put(sink, block, (size_t)n, error);
        if (!status && run.count)
            status = psnap_sink_put_run(sink, &run, error);
        if (!status && rounds.node_count)
            status = psnap_sink_put_rounds(sink, &rounds, error);
        if (status != PSNAP_OK)
            goto out;
        moved +=
            (uint64_t)n + (run.count ? run.count * run.width : 0) + psnap_rounds_accesses(&rounds);
    }
    status = psnap_sink_finish(sink, error);
out:
    free(room);
    if (count)
        *count = moved;
    return status;
}

struct vector_source {
    struct psnap_source base;
    const struct psnap_access *accesses;
    size_t left;
    struct psnap_program *own_program; /* the empty one, when none was given */
};

static ssize_t vector_source_next(struct psnap_source *self, struct psnap_access *block,
                                  size_t capacity, struct psnap_error *error)
{
    struct vector_source *source = (struct vector_source *)self;
    const size_t n = capacity < source->left ? capacity : source->left;

    (void)error;
    if (n) {
        memcpy(block, source->accesses, n * sizeof *block);
        source->accesses += n;
        source->left -= n;
    }
    return (ssize_t)n;
}

static void vector_source_free(struct psnap_source *self)
{
    struct vector_source *source = (struct vector_source *)self;

    psnap_program_free(source->own_program);
    free(source);
}

struct psnap_source *psnap_vector_source_new(const struct psnap_access *accesses, size_t n,
                                             struct psnap_program *program)
{
    static const struct psnap_source_ops ops = {vector_source_next, vector_source_free};
    struct vector_source *source = malloc(sizeof *source);

    if (!source)
        return NULL;
    *source = (struct vector_source){{&ops, program}, accesses, n, NULL};
    if (!program) {
        source->base.program = source->own_program = psnap_program_new();
        if (!source->own_program) {
            free(source);
            return NULL;
        }
    }
    return &source->base;
}

struct vector_sink {
    struct psnap_sink base;
    struct psnap_access *accesses;
    size_t count, room;
};

static enum psnap_status vector_sink_put(struct psnap_sink *self, const struct psnap_access *block,
                                         size_t n, struct psnap_error *error)
{
    struct vector_sink *sink = (struct vector_sink *)self;

    if (sink->room - sink->count < n) {
        size_t room = sink->room ? sink->room : PSNAP_BLOCK_ACCESSES;
        struct psnap_access *larger = NULL;
        while (room - sink->count < n && room <= SIZE_MAX / 2 / sizeof *larger)
            room *= 2;
        if (room - sink->count >= n)
            larger = realloc(sink->accesses, room * sizeof *larger);
        if (!larger)
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        sink->accesses = larger;
        sink->room = room;
    }
    if (n)
        memcpy(sink->accesses + sink->count, block, n * sizeof *block);
    sink->count += n;
    return PSNAP_OK;
}

static void vector_sink_free(struct psnap_sink *self)
{
    free(((struct vector_sink *)self)->accesses);
    free(self);
}

struct psnap_sink *psnap_vector_sink_new(void)
{
    static const struct psnap_sink_ops ops = {vector_sink_put, NULL, vector_sink_free};
    struct vector_sink *sink = malloc(sizeof *sink);

    if (!sink)
        return NULL;
    *sink = (struct vector_sink){{&ops}, NULL, 0, 0};
    return &sink->base;
}

const struct psnap_access *psnap_vector_sink_data(const struct psnap_sink *sink, size_t *n)
{
    const struct vector_sink *vector = (const struct vector_sink *)sink;

    *n = vector->count;
    return vector->accesses;
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

static enum psnap_status tee_sink_put_run(struct psnap_sink *self, const struct psnap_run *run,
                                          struct psnap_error *error)
{
    struct tee_sink *tee = (struct tee_sink *)self;
    enum psnap_status status = PSNAP_OK;

    for (size_t i = 0; i < tee->count && !status; i++)
        status = psnap_sink_put_run(tee->sinks[i], run, error);
    return status;
}

static enum psnap_status tee_sink_put_rounds(struct psnap_sink *self,
                                             const struct psnap_rounds *rounds,
                                             struct psnap_error *error)
{
    struct tee_sink *tee = (struct tee_sink *)self;
    enum psnap_status status = PSNAP_OK;

    for (size_t i = 0; i < tee->count && !status; i++)
        status = psnap_sink_put_rounds(tee->sinks[i], rounds, error);
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

static void plain_sink_free(struct psnap_sink *self)
{
    free(self);
}

struct psnap_sink *psnap_tee_sink_new(struct psnap_sink *const *sinks, size_t n)
{
    static const struct psnap_sink_ops ops = {tee_sink_put, tee_sink_finish, plain_sink_free,
                                              tee_sink_put_run, tee_sink_put_rounds};
    struct tee_sink *tee = malloc(sizeof *tee + n * sizeof *sinks);

    if (!tee)
        return NULL;
    tee->base.ops = &ops;
    tee->count = n;
    if (n)
        memcpy(tee->sinks, sinks, n * sizeof *sinks);
    return &tee->base;
}

static enum psnap_status null_sink_put(struct psnap_sink *self, const struct psnap_access *block,
                                       size_t n, struct psnap_error *error)
{
    (void)self, (void)block, (void)n, (void)error;
    return PSNAP_OK;
}

struct psnap_sink *psnap_null_sink_new(void)
{
    static const struct psnap_sink_ops ops = {null_sink_put, NULL, plain_sink_free};
    struct psnap_sink *sink = malloc(sizeof *sink);

    if (sink)
        sink->ops = &ops;
    return sink;
}
