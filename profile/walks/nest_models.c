/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Models of what leaves of nests draw: copies, which others may have in the place of a profile's.
 */
#include "profile/walks/nest_models.h"

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
    free(models->draw_numbers);
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

/* Adds `count` items of `size` bytes to a list of *have; false: out of memory. */
static bool append(void **list, uint32_t *have, const void *from, uint32_t count, size_t size)
{
    void *larger = realloc(*list, ((size_t)*have + count + 1) * size);

    if (!larger)
        return false;
    *list = larger;
    if (count)
        memcpy((char *)larger + *have * size, from, count * size);
    *have += count;
    return true;
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

static void move_source(struct nest_source *source, uint32_t draws)
{
    if (source->with != PSNAP_NONE)
        source->with += draws;
    if (source->around != PSNAP_NONE)
        source->around += draws;
    for (uint32_t i = 0; i < source->after_count; i++) {
        source->after[i].draw += source->after[i].draw ? draws : 0;
        source->after[i].by += source->after[i].by ? draws : 0;
    }
}

bool nest_models_append(struct nest_models *to, const struct nest_models *from,
                        void (*change)(void *context, struct nest_shape *shape), void *context)
{
    const uint32_t draws = to->draw_count;
    struct nest_mix *mixes =
        realloc(to->mixes, (to->mix_count + (size_t)from->mix_count + 1) * sizeof *mixes);

    to->mixes = mixes ? mixes : to->mixes;
    if (!mixes ||
        !append((void **)&to->draws, &to->draw_count, from->draws, from->draw_count,
                sizeof *to->draws) ||
        !append((void **)&to->walks, &to->walk_count, from->walks, from->walk_count,
                sizeof *to->walks) ||
        !append((void **)&to->counts, &to->count_count, from->counts, from->count_count,
                sizeof *to->counts))
        return false;
    for (uint32_t i = draws; i < to->draw_count; i++) {
        move_source(&to->draws[i].rest, draws);
        move_source(&to->draws[i].entry, draws);
        to->draws[i].start += to->draws[i].start ? draws : 0;
    }
    for (uint32_t i = 0; i < from->mix_count; i++) {
        mixes[to->mix_count] = (struct nest_mix){0};
        if (!copy_mix(to, &mixes[to->mix_count++], &from->mixes[i], change, context))
            return false;
    }
    return true;
}

struct nest_models *nest_models_copy(const struct nest_models *models,
                                     void (*change)(void *context, struct nest_shape *shape),
                                     void *context)
{
    struct nest_models *made = calloc(1, sizeof *made);

    if (made && (made->shapes = nest_patterns_new()) &&
        nest_models_append(made, models, change, context))
        return made;
    nest_models_free(made);
    return NULL;
}
