/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays as sources and sinks, and a sink that swallows everything. */
#include "tests/unit/vectors.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

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

struct psnap_source *vector_source_new(const struct psnap_access *accesses, size_t n,
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

    if (!psnap_make_room(&sink->accesses, &sink->room, sink->count + n, sizeof *sink->accesses))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
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

struct psnap_sink *vector_sink_new(void)
{
    static const struct psnap_sink_ops ops = {vector_sink_put, NULL, vector_sink_free};
    struct vector_sink *sink = malloc(sizeof *sink);

    if (!sink)
        return NULL;
    *sink = (struct vector_sink){{&ops}, NULL, 0, 0};
    return &sink->base;
}

const struct psnap_access *vector_sink_data(const struct psnap_sink *sink, size_t *n)
{
    const struct vector_sink *vector = (const struct vector_sink *)sink;

    *n = vector->count;
    return vector->accesses;
}

static enum psnap_status null_sink_put(struct psnap_sink *self, const struct psnap_access *block,
                                       size_t n, struct psnap_error *error)
{
    (void)self, (void)block, (void)n, (void)error;
    return PSNAP_OK;
}

struct psnap_sink *null_sink_new(void)
{
    static const struct psnap_sink_ops ops = {.put = null_sink_put};
    struct psnap_sink *sink = malloc(sizeof *sink);

    if (sink)
        sink->ops = &ops;
    return sink;
}
