/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What has been drawn while a stream went on, and the models of it.
 */
#include "profile/nest_models.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"
#include "profile/nest_leaves.h"

enum {
    MIX_EDGES = 256, /* kinds of transitions that are kept of a mix */
    MIX_BINS = 8,    /* bins of the counts of a state, */
    BINS = 16        /* and of other leaves */
};

void nest_models_free(struct nest_models *models)
{
    if (!models)
        return;
    for (uint32_t i = 0; i < models->mix_count; i++) {
        mix_free(models->mixes[i].chain);
        free(models->mixes[i].states);
    }
    nest_patterns_free(models->shapes);
    free(models->draws);
    free(models->walks);
    free(models->counts);
    free(models->mixes);
    free(models);
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
    mix->states = calloc(from->chain->state_count + (size_t)1, sizeof(struct nest_shape *));
    for (uint32_t i = 0; mix->states && i < from->chain->state_count; i++)
        if (!(mix->states[i] = nest_shape_copy(to->shapes, from->states[i], change, context)))
            return false;
    return mix->chain && mix->states;
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

/* ---- while a stream goes on ---- */

struct nest_drawn *nest_drawn_new(const struct psnap_program *program)
{
    struct nest_drawn *drawn = calloc(1, sizeof *drawn);

    if (!drawn)
        return NULL;
    drawn->draws = nest_draws_new(program);
    drawn->shapes = nest_patterns_new();
    drawn->counted = nest_patterns_new();
    if (drawn->draws && drawn->shapes && drawn->counted)
        return drawn;
    nest_drawn_free(drawn);
    return NULL;
}

void nest_drawn_free(struct nest_drawn *drawn)
{
    if (!drawn)
        return;
    nest_draws_free(drawn->draws);
    nest_patterns_free(drawn->shapes);
    nest_patterns_free(drawn->counted);
    for (size_t i = 0; i < drawn->count_count; i++)
        counts_release(&drawn->counts[i]);
    for (size_t i = 0; i < drawn->mix_count; i++)
        mix_collector_free(drawn->mixes[i]);
    free(drawn->walks);
    free(drawn->counts);
    free(drawn->mixes);
    free(drawn);
}

uint32_t nest_drawn_add_walk(struct nest_drawn *drawn)
{
    uint64_t *larger =
        psnap_with_room(drawn->walks, &drawn->walk_room, drawn->walk_count + 1, sizeof *larger);

    if (!larger)
        return PSNAP_NONE;
    drawn->walks = larger;
    larger[drawn->walk_count] = 0;
    return (uint32_t)drawn->walk_count++;
}

/* Counts have the numbers of the shapes. */
uint32_t nest_drawn_counts_of(struct nest_drawn *drawn, struct nest_shape *shape)
{
    const struct nest_shape *untold;
    struct counts_collector *larger;
    struct nest_shape *wanted = malloc(nest_shape_bytes(shape->width));

    if (!wanted)
        return PSNAP_NONE;
    memcpy(wanted, shape, nest_shape_bytes(shape->width));
    wanted->counts = 0;
    for (uint32_t k = 0; k < shape->width; k++)
        wanted->refs[k].mode = wanted->refs[k].draw = 0;
    untold = nest_shape_of(drawn->counted, wanted);
    free(wanted);
    if (!untold)
        return PSNAP_NONE;
    if (untold->number < drawn->count_count)
        return untold->number;
    larger =
        psnap_with_room(drawn->counts, &drawn->count_room, drawn->count_count + 1, sizeof *larger);
    if (!larger)
        return PSNAP_NONE;
    drawn->counts = larger;
    larger[drawn->count_count] = (struct counts_collector){0};
    return (uint32_t)drawn->count_count++;
}

uint32_t nest_drawn_add_mix(struct nest_drawn *drawn)
{
    struct mix_collector **larger =
        psnap_with_room(drawn->mixes, &drawn->mix_room, drawn->mix_count + 1, sizeof *larger);
    struct mix_collector *made = larger ? mix_collector_new() : NULL;

    drawn->mixes = larger ? larger : drawn->mixes;
    if (!made)
        return PSNAP_NONE;
    drawn->mixes[drawn->mix_count] = made;
    return (uint32_t)drawn->mix_count++;
}

bool nest_drawn_merge_mixes(struct nest_drawn *drawn, uint32_t into, uint32_t from,
                            bool *has_too_many)
{
    const enum psnap_status status = mix_merge(drawn->mixes[into], drawn->mixes[from]);

    mix_collector_free(drawn->mixes[from]);
    drawn->mixes[from] = NULL;
    *has_too_many |= status == PSNAP_ERROR_LIMIT;
    return status == PSNAP_OK || status == PSNAP_ERROR_LIMIT;
}

/* ---- models ---- */

/* Shapes of the chain's states, in their order. */
static bool take_states(const struct nest_drawn *drawn, struct nest_models *models,
                        struct nest_mix *mix)
{
    mix->states = calloc(mix->chain->state_count + (size_t)1, sizeof(struct nest_shape *));
    for (uint32_t i = 0; mix->states && i < mix->chain->state_count; i++) {
        mix->states[i] = nest_shape_of(
            models->shapes, nest_shape_numbered(drawn->shapes, mix->chain->states[i].id));
        if (!mix->states[i])
            return false;
    }
    return mix->states != NULL;
}

static bool take_mix(const struct nest_drawn *drawn, struct nest_models *models, uint32_t i)
{
    struct nest_mix *mix = &models->mixes[i];

    if (!drawn->mixes[i] || !mix_collector_visits(drawn->mixes[i]))
        return true;
    mix->chain = mix_take(drawn->mixes[i], MIX_EDGES, MIX_BINS);
    return mix->chain && take_states(drawn, models, mix);
}

struct nest_models *nest_drawn_take(struct nest_drawn *drawn)
{
    struct nest_models *models = calloc(1, sizeof *models);
    bool is_done = models != NULL;

    if (!models)
        return NULL;
    models->shapes = nest_patterns_new();
    models->draws = nest_draws_take(drawn->draws, &models->draw_count);
    models->walks = calloc(drawn->walk_count + 1, sizeof *models->walks);
    models->counts = calloc(drawn->count_count + 1, sizeof *models->counts);
    models->mixes = calloc(drawn->mix_count + 1, sizeof *models->mixes);
    is_done = models->shapes && models->draws && models->walks && models->counts && models->mixes;
    for (size_t i = 0; is_done && i < drawn->walk_count; i++)
        models->walks[models->walk_count++] = (struct nest_walk){.address = drawn->walks[i]};
    for (size_t i = 0; is_done && i < drawn->count_count; i++)
        counts_take(&drawn->counts[i], BINS, &models->counts[models->count_count++]);
    for (size_t i = 0; is_done && i < drawn->mix_count; i++)
        is_done = take_mix(drawn, models, models->mix_count++);
    if (is_done)
        return models;
    nest_models_free(models);
    return NULL;
}

/* ---- how references are told ---- */

bool nest_states_cover(struct nest_states *states, const struct nest_shape *shape)
{
    uint32_t ref = 0;

    for (uint32_t k = 0; k < shape->width; k++)
        ref = shape->refs[k].ref > ref ? shape->refs[k].ref : ref;
    if (ref >= states->ref_count) {
        const size_t before = states->ref_count;
        struct nest_ref_state *refs =
            psnap_with_room(states->refs, &states->ref_count, ref + (size_t)1, sizeof *refs);
        if (!refs)
            return false;
        memset(refs + before, 0, (states->ref_count - before) * sizeof *refs);
        states->refs = refs;
    }
    if (shape->loop >= states->loop_count) {
        const size_t before = states->loop_count;
        struct nest_loop_state *loops = psnap_with_room(states->loops, &states->loop_count,
                                                        shape->loop + (size_t)1, sizeof *loops);
        if (!loops)
            return false;
        memset(loops + before, 0, (states->loop_count - before) * sizeof *loops);
        states->loops = loops;
    }
    return true;
}

bool nest_states_copy(struct nest_states *to, const struct nest_states *from)
{
    *to = *from;
    to->refs = malloc((from->ref_count + 1) * sizeof *to->refs);
    to->loops = malloc((from->loop_count + 1) * sizeof *to->loops);
    if (!to->refs || !to->loops) {
        nest_states_free(to);
        return false;
    }
    if (from->ref_count)
        memcpy(to->refs, from->refs, from->ref_count * sizeof *to->refs);
    if (from->loop_count)
        memcpy(to->loops, from->loops, from->loop_count * sizeof *to->loops);
    return true;
}

void nest_states_free(struct nest_states *states)
{
    free(states->refs);
    free(states->loops);
    *states = (struct nest_states){0};
}
