/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectors of what is drawn, numbered from 0 on as shapes have them, and the models made of them
 * when the stream has ended.
 */
#include "profile/walks/nest_collect.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

enum {
    MIX_EDGES = 256, /* kinds of transitions that are kept of a mix */
    MIX_BINS = 8,    /* bins of the counts of a state, */
    BINS = 16        /* and of other leaves */
};

struct nest_collected *nest_collected_new(const struct psnap_program *program)
{
    struct nest_collected *collected = calloc(1, sizeof *collected);

    if (!collected)
        return NULL;
    collected->program = program;
    collected->draws = nest_draws_new(program);
    collected->shapes = nest_patterns_new();
    collected->counted = nest_patterns_new();
    if (collected->draws && collected->shapes && collected->counted)
        return collected;
    nest_collected_free(collected);
    return NULL;
}

void nest_collected_free(struct nest_collected *collected)
{
    if (!collected)
        return;
    nest_draws_free(collected->draws);
    nest_patterns_free(collected->shapes);
    nest_patterns_free(collected->counted);
    for (size_t i = 0; i < collected->count_count; i++)
        counts_release(&collected->counts[i]);
    for (size_t i = 0; i < collected->mix_count; i++)
        mix_collector_free(collected->mixes[i]);
    free(collected->walks);
    free(collected->counts);
    free(collected->mixes);
    free(collected);
}

uint32_t nest_collected_add_walk(struct nest_collected *collected)
{
    uint64_t *larger = psnap_with_room(collected->walks, &collected->walk_room,
                                       collected->walk_count + 1, sizeof *larger);

    if (!larger)
        return PSNAP_NONE;
    collected->walks = larger;
    larger[collected->walk_count] = 0;
    return (uint32_t)collected->walk_count++;
}

/* Counts have the numbers of the shapes. */
uint32_t nest_collected_counts_of(struct nest_collected *collected, struct nest_shape *shape)
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
    untold = nest_shape_of(collected->counted, wanted);
    free(wanted);
    if (!untold)
        return PSNAP_NONE;
    if (untold->number < collected->count_count)
        return untold->number;
    larger = psnap_with_room(collected->counts, &collected->count_room, collected->count_count + 1,
                             sizeof *larger);
    if (!larger)
        return PSNAP_NONE;
    collected->counts = larger;
    larger[collected->count_count] = (struct counts_collector){0};
    return (uint32_t)collected->count_count++;
}

uint32_t nest_collected_add_mix(struct nest_collected *collected)
{
    struct mix_collector **larger = psnap_with_room(collected->mixes, &collected->mix_room,
                                                    collected->mix_count + 1, sizeof *larger);
    struct mix_collector *made = larger ? mix_collector_new() : NULL;

    collected->mixes = larger ? larger : collected->mixes;
    if (!made)
        return PSNAP_NONE;
    collected->mixes[collected->mix_count] = made;
    return (uint32_t)collected->mix_count++;
}

bool nest_collected_merge_mixes(struct nest_collected *collected, uint32_t into, uint32_t from,
                                bool *has_too_many)
{
    const enum psnap_status status = mix_merge(collected->mixes[into], collected->mixes[from]);

    mix_collector_free(collected->mixes[from]);
    collected->mixes[from] = NULL;
    *has_too_many |= status == PSNAP_ERROR_LIMIT;
    return status == PSNAP_OK || status == PSNAP_ERROR_LIMIT;
}

/* ---- models ---- */

/* Shapes of the chain's states, in their order. */
static bool take_states(const struct nest_collected *collected, struct nest_models *models,
                        struct nest_mix *mix)
{
    bool is_done = nest_mix_init(mix, mix->chain->state_count);

    for (uint32_t i = 0; is_done && i < mix->chain->state_count; i++) {
        const struct nest_pattern *state =
            nest_pattern_numbered(collected->shapes, mix->chain->states[i].id);
        is_done = nest_mix_set(models, mix, i, state->shape, state->steps);
    }
    return is_done;
}

static bool take_mix(const struct nest_collected *collected, struct nest_models *models, uint32_t i)
{
    struct nest_mix *mix = &models->mixes[i];

    if (!collected->mixes[i] || !mix_collector_visits(collected->mixes[i]))
        return true;
    mix->chain = mix_take(collected->mixes[i], MIX_EDGES, MIX_BINS);
    return mix->chain && take_states(collected, models, mix);
}

/* What a state draws cannot go by its rest where the mix does not know that. */
static void forget_rests(struct nest_models *models, const struct nest_mix *mix)
{
    for (uint32_t i = 0; i < mix->chain->state_count; i++)
        for (uint32_t k = 0; !mix_has_rest(mix->chain, i) && k < mix->states[i]->width; k++) {
            const struct nest_ref *ref = &mix->states[i]->refs[k];
            if (ref->mode < NEST_DRAWN_FIRST)
                continue;
            models->draws[models->draw_numbers[ref->draw]].rest.rest_slope = 0;
            models->draws[models->draw_numbers[ref->draw]].entry.rest_slope = 0;
        }
}

struct nest_models *nest_collected_take(struct nest_collected *collected)
{
    struct nest_models *models = calloc(1, sizeof *models);
    bool is_done = models != NULL;

    if (!models)
        return NULL;
    models->shapes = nest_patterns_new();
    models->draws = nest_draws_take(collected->draws, &models->draw_count);
    models->draw_numbers = nest_draws_number(collected->draws);
    models->walks = calloc(collected->walk_count + 1, sizeof *models->walks);
    models->counts = calloc(collected->count_count + 1, sizeof *models->counts);
    models->mixes = calloc(collected->mix_count + 1, sizeof *models->mixes);
    is_done = models->shapes && models->draws && models->draw_numbers && models->walks &&
              models->counts && models->mixes;
    for (size_t i = 0; is_done && i < collected->walk_count; i++)
        models->walks[models->walk_count++] = (struct nest_walk){.address = collected->walks[i]};
    for (size_t i = 0; is_done && i < collected->count_count; i++) {
        /* The list has no holes: of counts that all went to a mix, which nobody draws, one stays.
         */
        is_done = collected->counts[i].times || counts_add(&collected->counts[i], 1);
        counts_take(&collected->counts[i], BINS, &models->counts[models->count_count++]);
    }
    for (size_t i = 0; is_done && i < collected->mix_count; i++)
        is_done = take_mix(collected, models, models->mix_count++);
    for (uint32_t i = 0; is_done && i < models->mix_count; i++)
        if (models->mixes[i].chain)
            forget_rests(models, &models->mixes[i]);
    if (is_done)
        return models;
    nest_models_free(models);
    return NULL;
}
