/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A window of a stream. Runs stay runs: one that begins before the window, or ends behind it, has
 * its whole repetitions inside as a run, and the accesses before and behind these one by one.
 *
 * A run lies in the inner source until that is read again, which is when all of it was delivered.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"
#include "formats/base/stream.h"

struct limit_source {
    struct psnap_source base;
    struct psnap_source *inner;
    uint64_t skip, count; /* still to drop, then still to deliver */
    struct psnap_run run; /* of the inner source; its accesses [at, end) are to be delivered, */
    uint64_t at, end;     /* access by access of repetition by repetition */
    struct psnap_access *first; /* of a run that begins later */
    size_t room;
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

/* Accesses of the run under way, one by one, up to its next whole repetition. */
static size_t put_accesses(struct limit_source *source, struct psnap_access *block, size_t capacity)
{
    const struct psnap_run *run = &source->run;
    size_t n = 0;

    do {
        const size_t k = (size_t)(source->at % run->width);
        block[n] = run->first[k];
        block[n++].address = psnap_run_address(run, source->at / run->width, k);
        source->at++;
    } while (n < capacity && source->at < source->end &&
             (source->at % run->width || run->columns || source->end - source->at < run->width));
    return n;
}

/* The whole repetitions of the run under way, unless it is within one; false: out of memory. */
static bool put_run(struct limit_source *source, struct psnap_run *run)
{
    const struct psnap_run *of = &source->run;
    const uint64_t from = source->at < source->end ? source->at / of->width : 0;
    struct psnap_access *first;

    if (source->at == source->end || source->at % of->width || (of->columns && from) ||
        source->end - source->at < of->width)
        return true;
    *run = *of;
    run->count = (source->end - source->at) / of->width;
    source->at += run->count * of->width;
    if (!from)
        return true;
    first = psnap_with_room(source->first, &source->room, of->width, sizeof *first);
    if (!first)
        return false;
    source->first = first;
    for (size_t k = 0; k < of->width; k++) {
        first[k] = of->first[k];
        first[k].address = psnap_run_address(of, from, k);
    }
    run->first = first;
    return true;
}

static ssize_t limit_next_run(struct psnap_source *self, struct psnap_access *block,
                              size_t capacity, struct psnap_run *run, struct psnap_error *error)
{
    struct limit_source *source = (struct limit_source *)self;
    uint64_t dropped, kept = 0;
    ssize_t n;

    run->count = 0;
    while (source->at == source->end && !kept) {
        if (!source->count)
            return 0;
        n = psnap_source_next_run(source->inner, block, capacity, &source->run, error);
        if (n < 0 || (!n && !source->run.count))
            return n;
        kept = pass(source, (uint64_t)n, &dropped);
        if (dropped && kept)
            memmove(block, block + dropped, kept * sizeof *block);
        source->end = pass(source, source->run.count * source->run.width, &source->at);
        source->end += source->at;
    }
    if (!put_run(source, run))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a part of a stream");
    if (!kept && !run->count)
        kept = put_accesses(source, block, capacity);
    return (ssize_t)kept;
}

static ssize_t limit_next(struct psnap_source *self, struct psnap_access *block, size_t capacity,
                          struct psnap_error *error)
{
    struct limit_source *source = (struct limit_source *)self;
    uint64_t dropped, kept;
    ssize_t n;

    if (source->at < source->end)
        return (ssize_t)put_accesses(source, block, capacity);
    if (!source->count)
        return 0;
    do {
        const uint64_t wanted = source->skip ? source->skip : source->count;
        n = psnap_source_next(source->inner, block, (size_t)smaller(wanted, capacity), error);
        if (n <= 0)
            return n;
        kept = pass(source, (uint64_t)n, &dropped);
    } while (!kept);
    return n; /* all of them: what is dropped is read for itself */
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
    static const struct psnap_source_ops ops = {limit_next, limit_free, limit_next_run};
    struct limit_source *source = malloc(sizeof *source);

    if (!source) {
        psnap_source_free(inner);
        return NULL;
    }
    *source = (struct limit_source){{&ops, inner->program}, inner, skip, count, .room = 0};
    return &source->base;
}
