/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A model's stream as a source.
 */
#include <stdlib.h>

#include "profile/walk/walk.h"

struct model_source {
    struct psnap_source base;
    struct psnap_stream_model *model; /* held */
    struct walk *walk;
    struct psnap_nest_loop loop; /* of the run that was given last */
};

static ssize_t next_nest(struct psnap_source *self, struct psnap_access *room, size_t capacity,
                         const struct psnap_access **block, struct psnap_nest *nest,
                         struct psnap_error *error)
{
    struct model_source *source = (struct model_source *)self;
    size_t n = 0;

    (void)block;
    while (n < capacity && !nest->loop_count) {
        struct psnap_run run;
        size_t more;
        const int made = walk_next(source->walk, &run, room + n, capacity - n, &more);
        if (made < 0)
            return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a replay");
        n += more;
        if (!made)
            break;
        if (made == 1)
            *nest = psnap_nest_of_run(&source->loop, &run);
    }
    return (ssize_t)n;
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
    static const struct psnap_source_ops ops = {.free = source_free, .next_nest = next_nest};
    struct model_source *source = calloc(1, sizeof *source);

    if (!source)
        return NULL;
    source->base = (struct psnap_source){.ops = &ops, .program = program};
    source->walk = walk_new(model, first_ref, seed);
    if (!source->walk) {
        free(source);
        return NULL;
    }
    source->model = model;
    model->holders++;
    return &source->base;
}
