/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A window of a stream. A nest that is not all in the window, or has more than NEST_MAX accesses,
 * comes run by run; a run that begins before the window, or ends behind it, has its whole
 * iterations inside as runs, of up to PART_MAX accesses or one iteration, and the accesses before
 * and behind these one by one.
 *
 * A nest lies in the inner source until that is read again, which is when all of it was delivered.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"
#include "formats/base/stream.h"

#define NEST_MAX (UINT64_C(1) << 30)
#define PART_MAX (UINT64_C(1) << 22)

struct limit_source {
    struct psnap_source base;
    struct psnap_source *inner;
    uint64_t skip, count;   /* still to drop, then still to deliver */
    struct psnap_nest nest; /* of the inner source, that is gone through, */
    struct psnap_nest_walk walk;
    struct psnap_run run;       /* and a run of it; its accesses [at, end) are to be delivered, */
    uint64_t at, end;           /* access by access of iteration by iteration */
    struct psnap_access *first; /* of a run that begins later */
    size_t room;
    struct psnap_nest_loop loop; /* of a part of a run */
};

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* How many of `there` accesses are in the window, of which the first ones are dropped. */
static uint64_t pass(struct limit_source *source, uint64_t there, uint64_t *dropped)
{
    uint64_t kept;

    *dropped = smaller(there, source->skip);
    source->skip -= *dropped;
    kept = smaller(there - *dropped, source->count);
    if (source->count != UINT64_MAX)
        source->count -= kept;
    return kept;
}

/* Accesses of the run under way, one by one, up to its next whole iteration. */
static size_t put_accesses(struct limit_source *source, struct psnap_access *block, size_t capacity)
{
    const struct psnap_run *run = &source->run;
    const uint64_t left = source->end - source->at, part = run->width - source->at % run->width;
    const uint64_t n = smaller(run->columns || left < run->width ? left : part, capacity);

    psnap_run_accesses(run, source->at, (size_t)n, block);
    source->at += n;
    return (size_t)n;
}

/* The whole iterations of the run under way, unless it is within one; false: out of memory. */
static bool put_run(struct limit_source *source, struct psnap_run *run)
{
    const struct psnap_run *of = &source->run;
    const uint64_t from = source->at < source->end ? source->at / of->width : 0;

    if (source->at == source->end || source->at % of->width || (of->columns && from) ||
        source->end - source->at < of->width)
        return true;
    *run = *of;
    run->count = (source->end - source->at) / of->width;
    if (!of->columns)
        run->count = smaller(run->count, PART_MAX / of->width + 1);
    source->at += run->count * of->width;
    if (!from)
        return true;
    if (!psnap_make_room(&source->first, &source->room, of->width, sizeof *source->first))
        return false;
    for (size_t k = 0; k < of->width; k++) {
        source->first[k] = of->first[k];
        source->first[k].address = psnap_run_address(of, from, k);
    }
    run->first = source->first;
    return true;
}

/* The next run of the nest under way that has accesses in the window; false: there is none. */
static bool next_run(struct limit_source *source)
{
    while (source->at == source->end) {
        if (!source->count || !psnap_nest_walk_next(&source->walk, &source->run))
            return false;
        source->end = pass(source, source->run.count * source->run.width, &source->at);
        source->end += source->at;
    }
    return true;
}

/* A nest of the inner source: as a whole, if all of it is in the window, or run by run. */
static void begin_nest(struct limit_source *source, struct psnap_nest *nest)
{
    const uint64_t accesses = psnap_nest_accesses(nest);

    source->nest = *nest;
    nest->loop_count = 0;
    psnap_nest_walk_init(&source->walk, &source->nest);
    if (source->nest.loop_count < 2 || source->skip || accesses > source->count ||
        accesses > NEST_MAX)
        return;
    if (source->count != UINT64_MAX)
        source->count -= accesses;
    *nest = source->nest;
    source->nest.loop_count = 0;
}

static ssize_t limit_next_nest(struct psnap_source *self, struct psnap_access *room,
                               size_t capacity, const struct psnap_access **block,
                               struct psnap_nest *nest, struct psnap_error *error)
{
    struct limit_source *source = (struct limit_source *)self;
    struct psnap_run run = {.count = 0};
    uint64_t dropped, kept = 0;

    while (!next_run(source) && !kept && !nest->loop_count) {
        ssize_t n;
        if (!source->count)
            return 0;
        n = psnap_source_next_nest(source->inner, room, capacity, block, nest, error);
        if (n < 0 || (!n && !nest->loop_count))
            return n;
        kept = pass(source, (uint64_t)n, &dropped);
        *block += dropped;
        begin_nest(source, nest);
    }
    if (source->at == source->end)
        return (ssize_t)kept;
    if (!put_run(source, &run))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a part of a stream");
    if (run.count)
        *nest = psnap_nest_of_run(&source->loop, &run);
    else if (!kept) {
        *block = room;
        kept = put_accesses(source, room, capacity);
    }
    return (ssize_t)kept;
}

static void limit_free(struct psnap_source *self)
{
    struct limit_source *source = (struct limit_source *)self;

    psnap_source_free(source->inner);
    free(source->first);
    free(source);
}

struct psnap_source *psnap_limit_source_new(struct psnap_source *inner, uint64_t skip,
                                            uint64_t count)
{
    static const struct psnap_source_ops ops = {.free = limit_free, .next_nest = limit_next_nest};
    struct limit_source *source = calloc(1, sizeof *source);

    if (!source) {
        psnap_source_free(inner);
        return NULL;
    }
    source->base = (struct psnap_source){.ops = &ops, .program = inner->program};
    source->inner = inner;
    source->skip = skip;
    source->count = count;
    psnap_nest_walk_init(&source->walk, &source->nest);
    return &source->base;
}

/* ---- until somebody wants an end (deadline.h) ---- */

struct until {
    struct psnap_source base;
    struct psnap_source *inner; /* not owned */
    const struct psnap_deadline *deadline;
};

static ssize_t until_next_nest(struct psnap_source *source, struct psnap_access *room,
                               size_t capacity, const struct psnap_access **block,
                               struct psnap_nest *nest, struct psnap_error *error)
{
    const struct until *self = (const struct until *)source;

    if (psnap_deadline_is_set(self->deadline))
        return psnap_error_set(error, PSNAP_ERROR_LIMIT, "psnap was told to end");
    return psnap_source_next_nest(self->inner, room, capacity, block, nest, error);
}

struct psnap_source *psnap_until_source_new(struct psnap_source *inner,
                                            const struct psnap_deadline *deadline)
{
    static const struct psnap_source_ops ops = {.next_nest = until_next_nest};
    struct until *self = calloc(1, sizeof *self);

    if (!self)
        return NULL;
    *self = (struct until){{&ops, inner->program, NULL}, inner, deadline};
    return &self->base;
}
