/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stream's model as it is kept (model.h).
 */
#include "profile/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/layout.h"

struct psnap_stream_model *model_new(void)
{
    struct psnap_stream_model *model = calloc(1, sizeof *model);

    if (model && !(model->patterns = nest_patterns_new())) {
        free(model);
        return NULL;
    }
    return model;
}

void model_object_release(struct model_object *object)
{
    free(object->id);
    free(object->name);
    free(object->ranges);
}

void model_free(struct psnap_stream_model *model)
{
    if (!model || model->holders--)
        return;
    for (uint32_t i = 0; i < model->ref_count; i++) {
        nest_terms_release(&model->refs[i].addresses);
        reuse_release(model->refs[i].reuses, model->refs[i].reuse_count);
    }
    for (uint32_t i = 0; i < model->body_count; i++) {
        free(model->bodies[i].id);
        free(model->bodies[i].refs);
        free(model->bodies[i].parts);
        nest_terms_release(&model->bodies[i].trips);
        trips_release(&model->bodies[i].histogram);
    }
    for (uint32_t i = 0; i < model->chain_count; i++) {
        chain_release(&model->chains[i]);
        if (model->chain_ids)
            free(model->chain_ids[i]);
    }
    free(model->chain_ids);
    for (uint32_t i = 0; i < model->object_count; i++) {
        model_object_release(&model->objects[i]);
    }
    for (uint32_t i = 0; i < model->order_count; i++)
        nest_terms_release(&model->orders[i].terms);
    free(model->refs);
    free(model->bodies);
    free(model->chains);
    free(model->objects);
    free(model->orders);
    nest_patterns_free(model->patterns);
    free(model);
}

void model_order_life(const struct model_order *order, char text[MODEL_LIFE_TEXT])
{
    int at = 0;

    *text = 0;
    if (order->after != MODEL_NO_PLACE)
        at =
            snprintf(text, MODEL_LIFE_TEXT, "after %" PRIu64 " accesses of thread 0", order->after);
    if (order->turn != UINT32_MAX)
        snprintf(text + at, MODEL_LIFE_TEXT - (size_t)at,
                 "%sin turns of %" PRIu32 " with thread %u", at ? ", " : "", order->turn,
                 order->with);
}

/* ---- as a profile's ---- */

/* "NAME" of the first, "NAME/2" and so on of others; NULL: out of memory. */
static char *numbered(const char *name, char separator, uint32_t number)
{
    const size_t size = strlen(name) + 16;
    char *text = malloc(size);

    if (text && number == 1)
        snprintf(text, size, "%s", name);
    else if (text)
        snprintf(text, size, "%s%c%" PRIu32, name, separator, number);
    return text;
}

/* A body of parts is called as the loop of the source. */
static bool name_whole(struct psnap_stream_model *model, const struct psnap_profile *profile,
                       uint32_t index)
{
    struct model_body *body = &model->bodies[index];
    uint32_t number = 1, i;

    do {
        free(body->id);
        body->id = numbered(profile->loops[body->loop].src_id, '/', number++);
        for (i = 0; body->id && i < model->body_count; i++)
            if (i != index && model->bodies[i].id && !strcmp(model->bodies[i].id, body->id))
                break;
    } while (body->id && i < model->body_count);
    return body->id != NULL;
}

static bool name_bodies(struct psnap_stream_model *model, const struct psnap_profile *profile)
{
    uint32_t *counts = calloc(profile->loop_count + (size_t)1, sizeof *counts);
    bool is_done = counts != NULL;

    for (uint32_t i = 0; is_done && i < model->body_count; i++) {
        struct model_body *body = &model->bodies[i];
        if (body->part_count)
            continue;
        body->id = numbered(profile->loops[body->loop].id, '/', ++counts[body->loop]);
        is_done = body->id != NULL;
    }
    for (uint32_t i = 0; is_done && i < model->body_count; i++)
        if (model->bodies[i].part_count)
            is_done = name_whole(model, profile, i);
    free(counts);
    return is_done;
}

static bool name_chains(struct psnap_stream_model *model)
{
    model->chain_ids = calloc(model->chain_count + (size_t)1, sizeof(char *));
    for (uint32_t i = 0; model->chain_ids && i < model->chain_count; i++) {
        char id[24];
        snprintf(id, sizeof id, "chain-%" PRIu32, i + 1);
        if (!(model->chain_ids[i] = strdup(id)))
            return false;
    }
    return model->chain_ids != NULL;
}

const char *model_symbol_id(const struct psnap_stream_model *model, uint32_t symbol)
{
    return symbol & MODEL_CHAIN ? model->chain_ids[symbol & ~MODEL_CHAIN]
                                : model->bodies[symbol].id;
}

const char *model_state_id(const struct psnap_stream_model *model, const struct chain *chain,
                           uint32_t state)
{
    return state ? model_symbol_id(model, chain->states[state].symbol) : MODEL_OUTSIDE;
}

uint64_t model_body_accesses(const struct psnap_stream_model *model, const struct model_body *body)
{
    uint64_t accesses = body->iterations * body->width;

    for (uint32_t i = 0; i < body->part_count; i++)
        accesses += model_body_accesses(model, &model->bodies[body->parts[i].body]);
    return accesses;
}

static bool name_objects(struct psnap_stream_model *model)
{
    for (uint32_t i = 0; i < model->object_count; i++) {
        struct model_object *object = &model->objects[i];
        const char *name = object->name && object->kind == PSNAP_OBJECT_GLOBAL
                               ? object->name
                               : psnap_group_name(psnap_layout_split(object->low).group);
        uint32_t number = 1, before;
        do {
            free(object->id);
            object->id = numbered(name, '.', number++);
            if (!object->id)
                return false;
            for (before = 0; before < i && strcmp(model->objects[before].id, object->id); before++)
                continue;
        } while (before < i);
    }
    return true;
}

bool model_adopt(struct psnap_stream_model *model, const uint32_t *kept,
                 const struct psnap_profile *profile)
{
    uint32_t *counts = calloc(profile->loop_count + (size_t)1, sizeof *counts);

    for (uint32_t i = 0; counts && i < model->ref_count; i++) {
        model->refs[i].loop = kept[model->refs[i].loop];
        model->refs[i].number = counts[model->refs[i].loop]++;
    }
    for (uint32_t i = 0; counts && i < model->body_count; i++)
        model->bodies[i].loop = kept[model->bodies[i].loop];
    free(counts);
    return counts && name_bodies(model, profile) && name_chains(model) && name_objects(model);
}

/* ---- by loop ---- */

static bool list_by_loop(uint32_t loops, uint32_t count, const uint32_t *loop_of,
                         struct model_list *list)
{
    list->first = calloc(loops + (size_t)2, sizeof *list->first);
    list->items = calloc(count + (size_t)1, sizeof *list->items);
    if (!list->first || !list->items)
        return false;
    for (uint32_t i = 0; i < count; i++)
        list->first[loop_of[i] + 2]++;
    for (uint32_t l = 0; l < loops; l++)
        list->first[l + 2] += list->first[l + 1];
    for (uint32_t i = 0; i < count; i++) /* first[l + 1] moves on to where the next loop begins */
        list->items[list->first[loop_of[i] + 1]++] = i;
    return true;
}

bool model_index_init(struct model_index *index, const struct psnap_stream_model *model,
                      uint32_t loops)
{
    uint32_t *loop_of =
        malloc((model->ref_count + (size_t)model->body_count + 1) * sizeof *loop_of);
    bool is_done;

    *index = (struct model_index){0};
    if (!loop_of)
        return false;
    for (uint32_t i = 0; i < model->ref_count; i++)
        loop_of[i] = model->refs[i].loop;
    is_done = list_by_loop(loops, model->ref_count, loop_of, &index->refs);
    for (uint32_t i = 0; i < model->body_count; i++)
        loop_of[i] = model->bodies[i].loop;
    is_done = is_done && list_by_loop(loops, model->body_count, loop_of, &index->bodies);
    free(loop_of);
    return is_done;
}

void model_index_release(struct model_index *index)
{
    free(index->refs.first);
    free(index->refs.items);
    free(index->bodies.first);
    free(index->bodies.items);
}
