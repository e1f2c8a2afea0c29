/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model of a stream to YAML (write_model.h): the schedule, chains and objects, and bodies and
 * references. Nests are written by write_numbers.c.
 */
#include "profile/yaml/write_model.h"

#include <inttypes.h>
#include <stdio.h>

#include "formats/base/layout.h"
#include "profile/yaml/yaml_keys.h"

/* ---- the schedule ---- */

static void write_chain(const struct psnap_stream_model *model, uint32_t index,
                        struct psnap_yaml_doc *doc, struct psnap_yaml_node *list)
{
    const struct chain *chain = &model->chains[index];
    struct psnap_yaml_node *map = psnap_yaml_add_map(doc, list, NULL, PSNAP_YAML_BLOCK);

    psnap_yaml_add_text(doc, map, "id", model->chain_ids[index]);
    map = psnap_yaml_add_map(doc, map, "after", PSNAP_YAML_BLOCK);
    for (uint32_t i = 0; i < chain->count; i++) {
        const struct chain_state *state = &chain->states[i];
        struct psnap_yaml_node *row =
            psnap_yaml_add_map(doc, map, model_state_id(model, chain, i), PSNAP_YAML_FLOW);
        for (uint32_t k = 0; k < state->edge_count; k++)
            psnap_yaml_add_u64(doc, row, model_state_id(model, chain, state->edges[k].to),
                               state->edges[k].count);
    }
}

static void write_object(const struct model_object *object, struct psnap_yaml_doc *doc,
                         struct psnap_yaml_node *list)
{
    struct psnap_yaml_node *map = psnap_yaml_add_map(doc, list, NULL, PSNAP_YAML_FLOW),
                           *inner = NULL;
    const struct psnap_place place = psnap_layout_split(object->low);
    uint64_t elsewhere = object->firsts;
    char label[32];

    psnap_yaml_add_text(doc, map, "id", object->id);
    if (object->name)
        psnap_yaml_add_text(doc, map, psnap_object_keys[object->kind], object->name);
    if (object->is_pool)
        psnap_yaml_add_text(doc, map, "pool", "true");
    psnap_yaml_add_text(doc, map, "group", psnap_group_name(place.group));
    if (place.index)
        psnap_yaml_add_u64(doc, map, "index", place.index);
    psnap_yaml_add_i64(doc, map, "offset", place.offset);
    psnap_yaml_add_u64(doc, map, "bytes", object->bytes);
    if (object->range_count)
        inner = psnap_yaml_add_sequence(doc, map, "ranges", PSNAP_YAML_FLOW);
    for (uint32_t i = 0; i < object->range_count; i++) {
        struct psnap_yaml_node *pair = psnap_yaml_add_sequence(doc, inner, NULL, PSNAP_YAML_FLOW);
        psnap_yaml_add_u64(doc, pair, NULL, object->ranges[i].offset);
        psnap_yaml_add_u64(doc, pair, NULL, object->ranges[i].bytes);
    }
    if (!object->firsts)
        return;
    map = psnap_yaml_add_map(doc, map, "first_touches", PSNAP_YAML_FLOW);
    inner = psnap_yaml_add_map(doc, map, "strides_lines", PSNAP_YAML_FLOW);
    for (uint32_t i = 0; i < object->stride_count; i++) {
        snprintf(label, sizeof label, "%" PRId64, object->strides[i].lines);
        psnap_yaml_add_u64(doc, inner, label, object->strides[i].count);
        elsewhere -= object->strides[i].count;
    }
    psnap_yaml_add_u64(doc, map, "elsewhere", elsewhere);
}

void write_schedule(const struct psnap_profile *profile, struct psnap_yaml_doc *doc,
                    struct psnap_yaml_node *root, struct psnap_yaml_node *schedule)
{
    const struct psnap_stream_model *model = profile->stream;
    struct psnap_yaml_node *list;

    for (uint32_t i = 0; i < model->order_count; i++) {
        list = schedule;
        if (model->order_count > 1 || model->orders[i].thread) {
            struct psnap_yaml_node *map = psnap_yaml_add_map(doc, schedule, NULL, PSNAP_YAML_BLOCK);
            psnap_yaml_add_u64(doc, map, "thread", model->orders[i].thread);
            if (model->orders[i].after != MODEL_NO_PLACE)
                psnap_yaml_add_u64(doc, map, "after", model->orders[i].after);
            if (model->orders[i].turn != UINT32_MAX) {
                psnap_yaml_add_u64(doc, map, "with", model->orders[i].with);
                psnap_yaml_add_u64(doc, map, "turn", model->orders[i].turn);
            }
            list = psnap_yaml_add_sequence(doc, map, "of", PSNAP_YAML_BLOCK);
        }
        write_order(profile, doc, list, &model->orders[i].terms);
    }
    if (model->chain_count) {
        list = psnap_yaml_add_sequence(doc, root, "chains", PSNAP_YAML_BLOCK);
        for (uint32_t i = 0; i < model->chain_count; i++)
            write_chain(model, i, doc, list);
    }
    if (model->object_count) {
        list = psnap_yaml_add_sequence(doc, root, "objects", PSNAP_YAML_BLOCK);
        for (uint32_t i = 0; i < model->object_count; i++)
            write_object(&model->objects[i], doc, list);
    }
}

/* ---- bodies and references ---- */

static void write_trips(const struct trips *trips, struct psnap_yaml_doc *doc,
                        struct psnap_yaml_node *parent)
{
    struct psnap_yaml_node *list = psnap_yaml_add_sequence(doc, parent, "drawn", PSNAP_YAML_FLOW);

    for (uint32_t i = 0; i < trips->count; i++) {
        const struct trips_bin *bin = &trips->bins[i];
        struct psnap_yaml_node *map = psnap_yaml_add_map(doc, list, NULL, PSNAP_YAML_FLOW);
        if (bin->low == bin->high) {
            psnap_yaml_add_u64(doc, map, "is", bin->low);
        } else {
            psnap_yaml_add_u64(doc, map, "from", bin->low);
            psnap_yaml_add_u64(doc, map, "to", bin->high);
        }
        psnap_yaml_add_u64(doc, map, "times", bin->times);
        if (bin->low != bin->high)
            psnap_yaml_add_u64(doc, map, "sum", bin->sum);
    }
}

/* A part of a body: how many iterations of the source one of it is, where these are counted. */
static void write_part(const struct psnap_stream_model *model, const struct expand_part *part,
                       bool is_counted, struct psnap_yaml_doc *doc, struct psnap_yaml_node *list)
{
    const char *id = model->bodies[part->body].id;
    struct psnap_yaml_node *map;

    if (!is_counted || part->width == 1) {
        psnap_yaml_add_text(doc, list, NULL, id);
        return;
    }
    map = psnap_yaml_add_map(doc, list, NULL, PSNAP_YAML_FLOW);
    psnap_yaml_add_text(doc, map, "body", id);
    psnap_yaml_add_u64(doc, map, "width", part->width);
    if (part->leaves)
        psnap_yaml_add_u64(doc, map, "leaves", part->leaves);
    if (part->from != part->width + part->leaves)
        psnap_yaml_add_u64(doc, map, "from", part->from);
}

static void write_body(const struct psnap_profile *profile, const struct model_body *body,
                       struct psnap_yaml_doc *doc, struct psnap_yaml_node *list)
{
    struct psnap_yaml_node *map = psnap_yaml_add_map(doc, list, NULL, PSNAP_YAML_FLOW), *inner;
    const struct nest_terms *trips = &body->trips;

    psnap_yaml_add_text(doc, map, "id", body->id);
    if (body->thread)
        psnap_yaml_add_u64(doc, map, "thread", body->thread);
    inner = psnap_yaml_add_sequence(doc, map, body->part_count ? "of" : "refs", PSNAP_YAML_FLOW);
    for (uint32_t k = 0; k < body->width; k++)
        psnap_yaml_add_u64(doc, inner, NULL, profile->stream->refs[body->refs[k]].number);
    for (uint32_t k = 0; k < body->part_count; k++)
        write_part(profile->stream, &body->parts[k], body->is_counted, doc, inner);
    if (body->is_part || (body->part_count && !body->is_counted))
        return;
    if (!body->is_drawn && trips->count == 1 && !trips->terms[0].pattern->body_count &&
        nest_term_values(trips, 0)[0] == 1) {
        if (nest_term_values(trips, 0)[1] != 1)
            psnap_yaml_add_u64(doc, map, "iterations", nest_term_values(trips, 0)[1]);
        return;
    }
    inner = psnap_yaml_add_map(doc, map, "iterations", PSNAP_YAML_FLOW);
    if (body->is_drawn)
        write_trips(&body->histogram, doc, inner);
    else
        write_numbers(profile, NULL, doc, inner, trips);
}

/* A reference: by its number in the same loop, or {loop, ref}. */
static void write_one_base(const struct psnap_profile *profile, const struct model_ref *ref,
                           const struct model_ref *base, struct psnap_yaml_doc *doc,
                           struct psnap_yaml_node *parent, const char *key)
{
    struct psnap_yaml_node *map;

    if (base->loop == ref->loop) {
        psnap_yaml_add_u64(doc, parent, key, base->number);
        return;
    }
    map = psnap_yaml_add_map(doc, parent, key, PSNAP_YAML_FLOW);
    psnap_yaml_add_text(doc, map, "loop", profile->loops[base->loop].id);
    psnap_yaml_add_u64(doc, map, "ref", base->number);
}

static void write_base(const struct psnap_profile *profile, const struct model_ref *ref,
                       struct psnap_yaml_doc *doc, struct psnap_yaml_node *map)
{
    const struct model_ref *refs = profile->stream->refs;
    struct psnap_yaml_node *inner;
    char label[32];

    if (ref->base_count == 1) {
        write_one_base(profile, ref, &refs[ref->bases[0]], doc, map, "base");
    } else {
        inner = psnap_yaml_add_sequence(doc, map, "bases", PSNAP_YAML_FLOW);
        for (uint32_t i = 0; i < ref->base_count; i++)
            write_one_base(profile, ref, &refs[ref->bases[i]], doc, inner, NULL);
    }
    if (ref->offset_count == 1) {
        psnap_yaml_add_i64(doc, map, "offset", ref->offsets[0].bytes);
        return;
    }
    inner = psnap_yaml_add_map(doc, map, "offsets", PSNAP_YAML_FLOW);
    for (uint32_t i = 0; i < ref->offset_count; i++) {
        snprintf(label, sizeof label, "%" PRId64, ref->offsets[i].bytes);
        psnap_yaml_add_u64(doc, inner, label, ref->offsets[i].count);
    }
}

/* What place i of a line begins with, its byte, and octave i of executions, the number of one. */
static uint64_t place_of(uint32_t i)
{
    return i * UINT64_C(8);
}

static uint64_t octave_of(uint32_t i)
{
    return UINT64_C(1) << i;
}

/* Weights by what they begin with; nothing when all are 0. */
static void write_weights(const char *key, const uint64_t *weights, uint32_t count,
                          uint64_t (*begin_of)(uint32_t i), struct psnap_yaml_doc *doc,
                          struct psnap_yaml_node *parent)
{
    struct psnap_yaml_node *map = NULL;
    char label[32];

    for (uint32_t i = 0; i < count; i++) {
        if (!weights[i])
            continue;
        if (!map)
            map = psnap_yaml_add_map(doc, parent, key, PSNAP_YAML_FLOW);
        snprintf(label, sizeof label, "%" PRIu64, begin_of(i));
        psnap_yaml_add_u64(doc, map, label, weights[i]);
    }
}

static void write_steps(const struct reuse_steps *steps, struct psnap_yaml_doc *doc,
                        struct psnap_yaml_node *parent)
{
    struct psnap_yaml_node *map;
    char label[16];

    if (!steps->count && !steps->elsewhere)
        return;
    map = psnap_yaml_add_map(doc, parent, "steps", PSNAP_YAML_FLOW);
    for (uint32_t i = 0; i < steps->count; i++) {
        snprintf(label, sizeof label, "%" PRId32, steps->steps[i].bytes);
        psnap_yaml_add_u64(doc, map, label, steps->steps[i].count);
    }
    if (steps->elsewhere)
        psnap_yaml_add_u64(doc, map, "elsewhere", steps->elsewhere);
}

static void write_reuse(const struct psnap_profile *profile, const struct model_ref *ref,
                        const struct reuse *reuse, struct psnap_yaml_doc *doc,
                        struct psnap_yaml_node *list)
{
    struct psnap_yaml_node *map = psnap_yaml_add_map(doc, list, NULL, PSNAP_YAML_FLOW), *inner;
    struct psnap_yaml_node *phases = NULL;
    uint32_t at = 0;
    char label[32];

    psnap_yaml_add_text(doc, map, "object", profile->stream->objects[reuse->object].id);
    if (ref->phases > 1)
        phases = psnap_yaml_add_sequence(doc, map, "phases", PSNAP_YAML_FLOW);
    for (uint32_t p = 0; p < ref->phases; p++) {
        inner = psnap_yaml_add_map(doc, phases ? phases : map, phases ? NULL : "times",
                                   PSNAP_YAML_FLOW);
        for (; at < reuse->bin_count && reuse->bins[at].phase == p; at++) {
            const uint32_t bin = reuse->bins[at].bin;
            if (bin == REUSE_FIRST)
                snprintf(label, sizeof label, "first");
            else
                snprintf(label, sizeof label, "%" PRIu64, reuse_bin_low(bin));
            psnap_yaml_add_u64(doc, inner, label, reuse->bins[at].count);
        }
    }
    if (reuse_timed_firsts(reuse))
        write_weights("first_at", reuse->when, REUSE_WHEN, octave_of, doc, map);
    write_weights("places", reuse->slots, REUSE_SLOTS, place_of, doc, map);
    write_steps(&reuse->steps, doc, map);
}

static void write_ref(const struct psnap_profile *profile, const struct model_ref *ref,
                      struct psnap_yaml_doc *doc, struct psnap_yaml_node *list)
{
    static const char *const kinds[3] = {"load", "store", "atomic"};
    struct psnap_yaml_node *map = psnap_yaml_add_map(doc, list, NULL, PSNAP_YAML_FLOW), *inner;

    psnap_yaml_add_u64(doc, map, "ref", ref->number);
    psnap_yaml_add_u64(doc, map, kinds[ref->kind], ref->size);
    if (ref->thread)
        psnap_yaml_add_u64(doc, map, "thread", ref->thread);
    if (ref->mark[0])
        psnap_yaml_add_text(doc, map, "mark", ref->mark);
    if (ref->rule == MODEL_NEST) {
        if (ref->element)
            psnap_yaml_add_u64(doc, map, "element", ref->element);
        write_numbers(profile, &profile->loops[ref->loop], doc, map, &ref->addresses);
    } else if (ref->rule == MODEL_SHARED)
        write_one_base(profile, ref, &profile->stream->refs[ref->sweep], doc, map, "sweep");
    else if (ref->rule == MODEL_DEPENDENT)
        write_base(profile, ref, doc, map);
    else {
        inner = psnap_yaml_add_sequence(doc, map, "reuse", PSNAP_YAML_FLOW);
        for (uint32_t i = 0; i < ref->reuse_count; i++)
            write_reuse(profile, ref, &ref->reuses[i], doc, inner);
    }
}

void write_loop_model(const struct psnap_profile *profile, const struct model_index *by_loop,
                      uint32_t loop, struct psnap_yaml_doc *doc, struct psnap_yaml_node *map)
{
    const struct psnap_stream_model *model = profile->stream;
    const struct model_list *bodies = &by_loop->bodies, *refs = &by_loop->refs;
    struct psnap_yaml_node *list = NULL;

    if (bodies->first[loop] < bodies->first[loop + 1])
        list = psnap_yaml_add_sequence(doc, map, "bodies", PSNAP_YAML_BLOCK);
    for (uint32_t i = bodies->first[loop]; i < bodies->first[loop + 1]; i++)
        write_body(profile, &model->bodies[bodies->items[i]], doc, list);
    if (refs->first[loop] < refs->first[loop + 1])
        list = psnap_yaml_add_sequence(doc, map, "references", PSNAP_YAML_BLOCK);
    for (uint32_t i = refs->first[loop]; i < refs->first[loop + 1]; i++)
        write_ref(profile, &model->refs[refs->items[i]], doc, list);
}
