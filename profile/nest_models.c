/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Models of what leaves of nests draw: copies, which others may have in the place of a profile's.
 */
#include "profile/nest_models.h"

#include <stdlib.h>
#include <string.h>

void nest_models_free(struct nest_models *models)
{
    if (!models)
        return;
    for (uint32_t i = 0; i < models->mix_count; i++) {
        mix_free(models->mixes[i].chain);
        free(models->mixes[i].states);
        free(models->mixes[i].strides);
    }
    nest_patterns_free(models->shapes);
    free(models->draws);
    free(models->walks);
    free(models->counts);
    free(models->mixes);
    free(models);
}

bool nest_mix_init(struct nest_mix *mix, uint32_t states)
{
    mix->states = calloc(states + (size_t)1, sizeof(struct nest_shape *));
    mix->strides = calloc(states + (size_t)1, sizeof(uint64_t *));
    return mix->states && mix->strides;
}

bool nest_mix_set(struct nest_models *models, struct nest_mix *mix, uint32_t state,
                  const struct nest_shape *shape, const uint64_t *strides)
{
    const struct nest_shape *own = nest_shape_of(models->shapes, shape);
    const struct nest_pattern *leaf = own ? nest_pattern_leaf(models->shapes, own, strides) : NULL;

    if (!leaf)
        return false;
    mix->states[state] = leaf->shape;
    mix->strides[state] = leaf->steps;
    return true;
}

/* A copy of `count` items of `size` bytes; NULL: out of memory. */
static void *copy(const void *from, size_t count, size_t size)
{
    void *made = malloc((count + 1) * size);

    if (made && count)
        memcpy(made, from, count * size);
    return made;
}

static bool copy_mix(struct nest_models *to, struct nest_mix *mix, const struct nest_mix *from,
                     void (*change)(void *context, struct nest_shape *shape), void *context)
{
    if (!from->chain)
        return true;
    mix->chain = mix_copy(from->chain);
    if (!mix->chain || !nest_mix_init(mix, from->chain->state_count))
        return false;
    for (uint32_t i = 0; i < from->chain->state_count; i++) {
        const struct nest_shape *shape =
            nest_shape_copy(to->shapes, from->states[i], change, context);
        if (!shape || !nest_mix_set(to, mix, i, shape, from->strides[i]))
            return false;
    }
    return true;
}

struct nest_models *nest_models_copy(const struct nest_models *models,
                                     void (*change)(void *context, struct nest_shape *shape),
                                     void *context)
{
    struct nest_models *made = calloc(1, sizeof *made);
    bool is_done;

    if (!made)
        return NULL;
    made->shapes = nest_patterns_new();
    made->draw_count = models->draw_count;
    made->walk_count = models->walk_count;
    made->count_count = models->count_count;
    made->draws = copy(models->draws, models->draw_count, sizeof *models->draws);
    made->walks = copy(models->walks, models->walk_count, sizeof *models->walks);
    made->counts = copy(models->counts, models->count_count, sizeof *models->counts);
    made->mixes = calloc(models->mix_count + (size_t)1, sizeof *models->mixes);
    is_done = made->shapes && made->draws && made->walks && made->counts && made->mixes;
    for (uint32_t i = 0; is_done && i < models->mix_count; i++)
        is_done =
            copy_mix(made, &made->mixes[made->mix_count++], &models->mixes[i], change, context);
    if (is_done)
        return made;
    nest_models_free(made);
    return NULL;
}
