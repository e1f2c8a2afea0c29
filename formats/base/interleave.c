/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads of a stream taken apart, and put together in turn: access by access,
 * round-robin, a thread that has ended being left out. A stream is read once
 * for each of its threads, as one that comes late may have everything at its
 * end; so memory stays a block per thread, however the threads lie.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/stream.h"

/* ------------------------------------------------------------- one thread */

struct thread_source {
    struct psnap_source base;
    struct psnap_source *inner;
    uint16_t thread;
};

static ssize_t thread_source_next(struct psnap_source *self, struct psnap_access *block,
                                  size_t capacity, struct psnap_error *error)
{
    struct thread_source *source = (struct thread_source *)self;

    for (;;) {
        ssize_t n = psnap_source_next(source->inner, block, capacity, error);
        size_t kept = 0;
        if (n <= 0)
            return n;
        for (size_t i = 0; i < (size_t)n; i++) {
            block[kept] = block[i];
            kept += block[i].thread == source->thread;
        }
        if (kept)
            return (ssize_t)kept;
    }
}

static void thread_source_free(struct psnap_source *self)
{
    psnap_source_free(((struct thread_source *)self)->inner);
    free(self);
}

struct psnap_source *psnap_thread_source_new(struct psnap_source *inner, uint16_t thread)
{
    static const struct psnap_source_ops ops = {thread_source_next, thread_source_free, NULL};
    struct thread_source *source = malloc(sizeof *source);

    if (!source) {
        psnap_source_free(inner);
        return NULL;
    }
    *source = (struct thread_source){{&ops, inner->program}, inner, thread};
    return &source->base;
}

/* ------------------------------------------------------------- all in turn */

struct lane {
    struct psnap_source *source;
    size_t at, count; /* in the block */
    struct psnap_access block[PSNAP_BLOCK_ACCESSES];
};

struct interleave_source {
    struct psnap_source base;
    struct lane **lanes; /* of threads that have not ended, in order */
    size_t count, turn;  /* turn < count, whose access is next */
};

static void lane_free(struct lane *lane)
{
    if (lane)
        psnap_source_free(lane->source);
    free(lane);
}

/* Makes sure that the lane whose turn it is has an access; drops those that have ended. */
static enum psnap_status fill(struct interleave_source *self, struct psnap_error *error)
{
    while (self->count) {
        struct lane *lane = self->lanes[self->turn];
        ssize_t n;
        if (lane->at < lane->count)
            return PSNAP_OK;
        n = psnap_source_next(lane->source, lane->block, PSNAP_BLOCK_ACCESSES, error);
        if (n < 0)
            return (enum psnap_status)n;
        lane->at = 0;
        lane->count = (size_t)n;
        if (n > 0)
            return PSNAP_OK;
        lane_free(lane);
        self->count--;
        memmove(self->lanes + self->turn, self->lanes + self->turn + 1,
                (self->count - self->turn) * sizeof(struct lane *));
        if (self->turn == self->count)
            self->turn = 0;
    }
    return PSNAP_OK;
}

static ssize_t interleave_next(struct psnap_source *source, struct psnap_access *block,
                               size_t capacity, struct psnap_error *error)
{
    struct interleave_source *self = (struct interleave_source *)source;
    size_t n = 0;

    while (n < capacity) {
        enum psnap_status status = fill(self, error);
        struct lane *lane;
        if (status)
            return status;
        if (!self->count)
            break;
        lane = self->lanes[self->turn];
        block[n++] = lane->block[lane->at++];
        self->turn = self->turn + 1 == self->count ? 0 : self->turn + 1;
    }
    return (ssize_t)n;
}

static void interleave_free(struct psnap_source *source)
{
    struct interleave_source *self = (struct interleave_source *)source;

    for (size_t i = 0; i < self->count; i++)
        lane_free(self->lanes[i]);
    free(self->lanes);
    free(self);
}

struct psnap_source *psnap_interleave_source_new(struct psnap_source *const *sources, size_t n,
                                                 struct psnap_program *program)
{
    static const struct psnap_source_ops ops = {interleave_next, interleave_free, NULL};
    struct interleave_source *self = calloc(1, sizeof *self);
    bool is_made = self && (self->lanes = calloc(n ? n : 1, sizeof(struct lane *))) != NULL;

    for (size_t i = 0; i < n; i++) {
        struct lane *lane = is_made ? malloc(sizeof *lane) : NULL;
        if (!lane) {
            is_made = false;
            psnap_source_free(sources[i]);
            continue;
        }
        lane->source = sources[i];
        lane->at = lane->count = 0;
        self->lanes[self->count++] = lane;
    }
    if (!is_made) {
        if (self)
            interleave_free(&self->base);
        return NULL;
    }
    self->base = (struct psnap_source){&ops, program};
    return &self->base;
}
