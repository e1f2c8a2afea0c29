/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A model's stream as a source: a reader that asks for runs gets runs, any other one their
 * accesses.
 */
#include <stdlib.h>

#include "profile/walk/walk.h"

struct model_source {
    struct psnap_source base;
    struct psnap_stream_model *model; /* held */
    struct walk *walk;
    struct psnap_run run; /* the run whose accesses are being given; count 0: none */
    uint64_t done;        /* repetitions of it that were given, */
    size_t at;            /* and accesses of the next one */
};

/* Puts accesses of the run into the block, as far as it has room; returns how many. */
static size_t fill(struct model_source *source, struct psnap_access *block, size_t capacity)
{
    const struct psnap_run *run = &source->run;
    size_t n = 0;

    while (n < capacity && source->done < run->count) {
        for (; n < capacity && source->at < run->width; n++, source->at++) {
            block[n] = run->first[source->at];
            block[n].address += source->done * (uint64_t)run->strides[source->at];
        }
        if (source->at == run->width) {
            source->at = 0;
            source->done++;
        }
    }
    if (source->done == run->count)
        source->run.count = 0;
    return n;
}

static ssize_t next_run(struct psnap_source *self, struct psnap_access *block, size_t capacity,
                        struct psnap_run *run, struct psnap_error *error)
{
    struct model_source *source = (struct model_source *)self;
    size_t n = 0;

    if (run)
        run->count = 0;
    while (n < capacity) {
        size_t more;
        int made;
        if (source->run.count) {
            n += fill(source, block + n, capacity - n);
            continue;
        }
        source->done = source->at = 0;
        made = walk_next(source->walk, &source->run, block + n, capacity - n, &more);
        if (made < 0)
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a replay");
        n += more;
        if (!made)
            break;
        if (made == 2) {
            source->run.count = 0;
            if (run)
                continue;
        }
        if (made == 1 && run) {
            *run = source->run;
            source->run.count = 0;
            break;
        }
    }
    return (ssize_t)n;
}

static ssize_t next(struct psnap_source *self, struct psnap_access *block, size_t capacity,
                    struct psnap_error *error)
{
    return next_run(self, block, capacity, NULL, error);
}

static void source_free(struct psnap_source *self)
{
    struct model_source *source = (struct model_source *)self;

    walk_free(source->walk);
    model_free(source->model);
    free(source);
}

struct psnap_source *model_source_new(struct psnap_stream_model *model, const uint32_t *first_ref,
                                      struct psnap_program *program, uint64_t seed)
{
    static const struct psnap_source_ops ops = {
        .next = next, .free = source_free, .next_run = next_run};
    struct model_source *source = calloc(1, sizeof *source);

    if (!source)
        return NULL;
    source->base = (struct psnap_source){&ops, program};
    source->walk = walk_new(model, first_ref, seed);
    if (!source->walk) {
        free(source);
        return NULL;
    }
    source->model = model;
    model->holders++;
    return &source->base;
}
