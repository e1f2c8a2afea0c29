/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model of a profile of model nests for programs, --json. Names and meanings are those of the
 * file (profile/FORMAT.md); what is optional there is always there, and counts that follow from
 * others are added:
 *
 *   schedule    [{thread, of: [ITEM]}], ITEM {body} or {visit} or {repeat: COUNT, of: [ITEM]}
 *   chains      [{id, visits, states: [{body or visit, next: [{body or visit, count}]}]}];
 *               body null: the outside
 *   objects     [{id, symbol or allocation or stack, pool, group, index, offset, bytes,
 *                first_touches: {strides_lines: {LINES: count}, elsewhere}}]
 *   loop        bodies: [{id, thread, refs, executions, iterations, trips: NUMBERS, or drawn:
 *                        [{from, to, times, sum}]}]
 *               references: [{ref, kind, size, thread, accesses, rule, and by rule
 *                        nest:      addresses: NUMBERS
 *                        dependent: bases: [{loop, ref}], offsets: {BYTES: count}
 *                        reuse:     reuse: [{object, phases: [{TIME: count}], places}]}]
 *   NUMBERS     [TERM], TERM {region, start, counts: [COUNT], strides} or {repeat: COUNT, of:
 * [TERM]} COUNT       a number, or {first, steps} where it changes in the loops around
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/base/json.h"
#include "formats/base/layout.h"
#include "profile/cmd_show.h"
#include "profile/cmd_model_words.h"
#include "profile/yaml/yaml_keys.h"

struct writing {
    struct psnap_json *json;
    const struct psnap_profile *profile;
    const struct psnap_profile_loop *loop; /* whose regions starts are counted from; NULL: none */
    const uint64_t *steps[NEST_DEPTH_MAX]; /* by loop around: of the term's first value */
    uint32_t depth;
};

static void enter(struct writing *w, const struct nest_pattern *loop, size_t offset)
{
    for (uint32_t l = 0; l < w->depth; l++)
        w->steps[l] += 1 + offset;
    w->steps[w->depth++] = loop->steps + offset;
}

static void json_count(const struct writing *w, const char *key, uint64_t value)
{
    bool is_steady = true;

    for (uint32_t l = 0; l < w->depth; l++)
        is_steady &= !w->steps[l][0];
    if (is_steady) {
        psnap_json_i64(w->json, key, (int64_t)value);
        return;
    }
    psnap_json_begin_object(w->json, key);
    psnap_json_i64(w->json, "first", (int64_t)value);
    psnap_json_begin_array(w->json, "steps");
    for (uint32_t l = 0; l < w->depth; l++)
        psnap_json_i64(w->json, NULL, (int64_t)w->steps[l][0]);
    psnap_json_end_array(w->json);
    psnap_json_end_object(w->json);
}

/* ---- numbers ---- */

static void json_run(struct writing *w, const struct nest_pattern *pattern, const uint64_t *values)
{
    const struct psnap_profile_region *region = NULL;
    const struct nest_pattern *leaf = pattern;
    const uint64_t *first = values;

    for (; leaf->body_count; leaf = leaf->body[0])
        first++;
    if (w->loop)
        region = model_region_at(w->loop, first[1]);
    if (region)
        psnap_json_text(w->json, "region", region->id);
    psnap_json_i64(w->json, "start", (int64_t)(first[1] - (region ? region->low : 0)));
    psnap_json_begin_array(w->json, "counts");
    for (; pattern->body_count; pattern = pattern->body[0], values++) {
        json_count(w, NULL, values[0]);
        enter(w, pattern, 0);
    }
    json_count(w, NULL, values[0]);
    psnap_json_end_array(w->json);
    psnap_json_begin_array(w->json, "strides");
    for (uint32_t l = 0; l < w->depth; l++)
        psnap_json_i64(w->json, NULL, (int64_t)w->steps[l][1]);
    psnap_json_i64(w->json, NULL, (int64_t)pattern->steps[0]);
    psnap_json_end_array(w->json);
}

static bool is_single(const struct nest_pattern *pattern)
{
    while (pattern->body_count == 1)
        pattern = pattern->body[0];
    return !pattern->body_count;
}

static void json_term(struct writing *w, const struct nest_pattern *pattern, const uint64_t *values)
{
    const struct writing before = *w;
    size_t at = 0;

    psnap_json_begin_object(w->json, NULL);
    if (is_single(pattern)) {
        json_run(w, pattern, values);
    } else {
        json_count(w, "repeat", values[0]);
        psnap_json_begin_array(w->json, "of");
        for (uint32_t i = 0; i < pattern->body_count; at += pattern->body[i++]->values) {
            enter(w, pattern, at);
            json_term(w, pattern->body[i], values + 1 + at);
            *w = before;
        }
        psnap_json_end_array(w->json);
    }
    psnap_json_end_object(w->json);
    *w = before;
}

static void json_numbers(struct psnap_json *json, const char *key,
                         const struct psnap_profile *profile, const struct psnap_profile_loop *loop,
                         const struct nest_terms *terms)
{
    struct writing w = {.json = json, .profile = profile, .loop = loop};

    psnap_json_begin_array(json, key);
    for (size_t i = 0; i < terms->count; i++)
        json_term(&w, terms->terms[i].pattern, nest_term_values(terms, i));
    psnap_json_end_array(json);
}

/* ---- the schedule, chains, objects ---- */

static void json_item(struct writing *w, const struct nest_pattern *pattern, const uint64_t *values)
{
    const struct writing before = *w;
    size_t at = 0;

    psnap_json_begin_object(w->json, NULL);
    if (pattern->body_count) {
        json_count(w, "repeat", values[0]);
        psnap_json_begin_array(w->json, "of");
        for (uint32_t i = 0; i < pattern->body_count; at += pattern->body[i++]->values) {
            enter(w, pattern, at);
            json_item(w, pattern->body[i], values + 1 + at);
            *w = before;
        }
        psnap_json_end_array(w->json);
    } else if (pattern->symbol & MODEL_CHAIN) {
        psnap_json_text(w->json, "visit", model_symbol_id(w->profile->stream, pattern->symbol));
    } else {
        psnap_json_text(w->json, "body", w->profile->stream->bodies[pattern->symbol].id);
    }
    psnap_json_end_object(w->json);
}

static void json_state(struct psnap_json *json, const struct psnap_stream_model *model,
                       const struct chain *chain, uint32_t state)
{
    const bool is_visit = state && chain->states[state].symbol & MODEL_CHAIN;

    if (state)
        psnap_json_text(json, is_visit ? "visit" : "body", model_state_id(model, chain, state));
    else
        psnap_json_real(json, "body", NAN); /* null */
}

static void json_chain(struct psnap_json *json, const struct psnap_stream_model *model,
                       uint32_t index)
{
    const struct chain *chain = &model->chains[index];

    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "id", model->chain_ids[index]);
    psnap_json_u64(json, "visits", chain_circuits(chain));
    psnap_json_begin_array(json, "states");
    for (uint32_t s = 0; s < chain->count; s++) {
        psnap_json_begin_object(json, NULL);
        json_state(json, model, chain, s);
        psnap_json_begin_array(json, "next");
        for (uint32_t k = 0; k < chain->states[s].edge_count; k++) {
            psnap_json_begin_object(json, NULL);
            json_state(json, model, chain, chain->states[s].edges[k].to);
            psnap_json_u64(json, "count", chain->states[s].edges[k].count);
            psnap_json_end_object(json);
        }
        psnap_json_end_array(json);
        psnap_json_end_object(json);
    }
    psnap_json_end_array(json);
    psnap_json_end_object(json);
}

static void json_object(struct psnap_json *json, const struct model_object *object)
{
    const struct psnap_place place = psnap_layout_split(object->low);
    uint64_t elsewhere = object->firsts;
    char label[32];

    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "id", object->id);
    if (object->name)
        psnap_json_text(json, psnap_object_keys[object->kind], object->name);
    psnap_json_bool(json, "pool", object->is_pool);
    psnap_json_text(json, "group", psnap_group_name(place.group));
    psnap_json_u64(json, "index", place.index);
    psnap_json_i64(json, "offset", place.offset);
    psnap_json_u64(json, "bytes", object->bytes);
    psnap_json_begin_object(json, "first_touches");
    psnap_json_begin_object(json, "strides_lines");
    for (uint32_t i = 0; i < object->stride_count; i++) {
        snprintf(label, sizeof label, "%" PRId64, object->strides[i].lines);
        psnap_json_u64(json, label, object->strides[i].count);
        elsewhere -= object->strides[i].count;
    }
    psnap_json_end_object(json);
    psnap_json_u64(json, "elsewhere", elsewhere);
    psnap_json_end_object(json);
    psnap_json_end_object(json);
}

void show_json_model(struct psnap_json *json, const struct psnap_profile *profile)
{
    const struct psnap_stream_model *model = profile->stream;
    struct writing w = {.json = json, .profile = profile};

    if (!model)
        return;
    psnap_json_begin_array(json, "schedule");
    for (uint32_t i = 0; i < model->order_count; i++) {
        const struct nest_terms *terms = &model->orders[i].terms;
        psnap_json_begin_object(json, NULL);
        psnap_json_u64(json, "thread", model->orders[i].thread);
        if (model->orders[i].after != MODEL_NO_PLACE)
            psnap_json_u64(json, "after", model->orders[i].after);
        if (model->orders[i].turn != UINT32_MAX) {
            psnap_json_u64(json, "with", model->orders[i].with);
            psnap_json_u64(json, "turn", model->orders[i].turn);
        }
        psnap_json_begin_array(json, "of");
        for (size_t k = 0; k < terms->count; k++)
            json_item(&w, terms->terms[k].pattern, nest_term_values(terms, k));
        psnap_json_end_array(json);
        psnap_json_end_object(json);
    }
    psnap_json_end_array(json);
    psnap_json_begin_array(json, "chains");
    for (uint32_t i = 0; i < model->chain_count; i++)
        json_chain(json, model, i);
    psnap_json_end_array(json);
    psnap_json_begin_array(json, "objects");
    for (uint32_t i = 0; i < model->object_count; i++)
        json_object(json, &model->objects[i]);
    psnap_json_end_array(json);
}

/* ---- bodies, references ---- */

static void json_drawn(struct psnap_json *json, const struct trips *trips)
{
    psnap_json_begin_array(json, "drawn");
    for (uint32_t i = 0; i < trips->count; i++) {
        psnap_json_begin_object(json, NULL);
        psnap_json_u64(json, "from", trips->bins[i].low);
        psnap_json_u64(json, "to", trips->bins[i].high);
        psnap_json_u64(json, "times", trips->bins[i].times);
        psnap_json_u64(json, "sum", trips->bins[i].sum);
        psnap_json_end_object(json);
    }
    psnap_json_end_array(json);
}

static void json_parts(struct psnap_json *json, const struct psnap_stream_model *model,
                       const struct model_body *body)
{
    psnap_json_begin_array(json, "of");
    for (uint32_t i = 0; i < body->part_count; i++) {
        const struct expand_part *part = &body->parts[i];
        psnap_json_begin_object(json, NULL);
        psnap_json_text(json, "body", model->bodies[part->body].id);
        if (body->is_counted) {
            psnap_json_u64(json, "width", part->width);
            psnap_json_u64(json, "leaves", part->leaves);
            psnap_json_u64(json, "from", part->from);
        }
        psnap_json_end_object(json);
    }
    psnap_json_end_array(json);
}

static void json_body(struct psnap_json *json, const struct psnap_profile *profile,
                      const struct model_body *body)
{
    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "id", body->id);
    psnap_json_u64(json, "thread", body->thread);
    psnap_json_begin_array(json, "refs");
    for (uint32_t k = 0; k < body->width; k++)
        psnap_json_u64(json, NULL, profile->stream->refs[body->refs[k]].number);
    psnap_json_end_array(json);
    if (body->part_count)
        json_parts(json, profile->stream, body);
    psnap_json_u64(json, "executions", body->executions);
    psnap_json_u64(json, "iterations", body->iterations);
    if (body->is_drawn)
        json_drawn(json, &body->histogram);
    else if (body->trips.count)
        json_numbers(json, "trips", profile, NULL, &body->trips);
    psnap_json_end_object(json);
}

static void json_bases(struct psnap_json *json, const struct psnap_profile *profile,
                       const struct model_ref *ref)
{
    char label[32];

    psnap_json_begin_array(json, "bases");
    for (uint32_t i = 0; i < ref->base_count; i++) {
        const struct model_ref *base = &profile->stream->refs[ref->bases[i]];
        psnap_json_begin_object(json, NULL);
        psnap_json_text(json, "loop", profile->loops[base->loop].id);
        psnap_json_u64(json, "ref", base->number);
        psnap_json_end_object(json);
    }
    psnap_json_end_array(json);
    psnap_json_begin_object(json, "offsets");
    for (uint32_t i = 0; i < ref->offset_count; i++) {
        snprintf(label, sizeof label, "%" PRId64, ref->offsets[i].bytes);
        psnap_json_u64(json, label, ref->offsets[i].count);
    }
    psnap_json_end_object(json);
}

static void json_reuse(struct psnap_json *json, const struct psnap_profile *profile,
                       const struct model_ref *ref, const struct reuse *reuse)
{
    uint32_t at = 0;
    char label[32];

    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "object", profile->stream->objects[reuse->object].id);
    psnap_json_begin_array(json, "phases");
    for (uint32_t p = 0; p < ref->phases; p++) {
        psnap_json_begin_object(json, NULL);
        for (; at < reuse->bin_count && reuse->bins[at].phase == p; at++) {
            snprintf(label, sizeof label, "%" PRIu64, reuse_bin_low(reuse->bins[at].bin));
            psnap_json_u64(json, reuse->bins[at].bin == REUSE_FIRST ? "first" : label,
                           reuse->bins[at].count);
        }
        psnap_json_end_object(json);
    }
    psnap_json_end_array(json);
    psnap_json_begin_object(json, "places");
    for (uint32_t i = 0; i < REUSE_SLOTS; i++) {
        snprintf(label, sizeof label, "%" PRIu32, 8 * i);
        if (reuse->slots[i])
            psnap_json_u64(json, label, reuse->slots[i]);
    }
    psnap_json_end_object(json);
    psnap_json_begin_object(json, "steps");
    for (uint32_t i = 0; i < reuse->steps.count; i++) {
        snprintf(label, sizeof label, "%" PRId32, reuse->steps.steps[i].bytes);
        psnap_json_u64(json, label, reuse->steps.steps[i].count);
    }
    if (reuse->steps.elsewhere)
        psnap_json_u64(json, "elsewhere", reuse->steps.elsewhere);
    psnap_json_end_object(json);
    psnap_json_end_object(json);
}

static void json_ref(struct psnap_json *json, const struct psnap_profile *profile,
                     const struct model_ref *ref)
{
    static const char *const rules[] = {"nest", "dependent", "reuse", "shared"};

    psnap_json_begin_object(json, NULL);
    psnap_json_u64(json, "ref", ref->number);
    psnap_json_text(json, "kind", model_kinds[ref->kind]);
    psnap_json_u64(json, "size", ref->size);
    psnap_json_u64(json, "thread", ref->thread);
    psnap_json_u64(json, "accesses", ref->executions);
    if (ref->mark[0])
        psnap_json_text(json, "mark", ref->mark);
    psnap_json_text(json, "rule", rules[ref->rule]);
    if (ref->rule == MODEL_NEST && ref->element)
        psnap_json_u64(json, "element", ref->element);
    if (ref->rule == MODEL_SHARED) {
        const struct model_ref *of = &profile->stream->refs[ref->sweep];
        psnap_json_begin_object(json, "sweep");
        psnap_json_text(json, "loop", profile->loops[of->loop].id);
        psnap_json_u64(json, "ref", of->number);
        psnap_json_end_object(json);
    } else if (ref->rule == MODEL_NEST) {
        json_numbers(json, "addresses", profile, &profile->loops[ref->loop], &ref->addresses);
    } else if (ref->rule == MODEL_DEPENDENT) {
        json_bases(json, profile, ref);
    } else {
        psnap_json_begin_array(json, "reuse");
        for (uint32_t i = 0; i < ref->reuse_count; i++)
            json_reuse(json, profile, ref, &ref->reuses[i]);
        psnap_json_end_array(json);
    }
    psnap_json_end_object(json);
}

void show_json_references(struct psnap_json *json, const struct psnap_profile *profile,
                          uint32_t loop)
{
    const struct psnap_stream_model *model = profile->stream;

    if (!model)
        return;
    psnap_json_begin_array(json, "bodies");
    for (uint32_t i = 0; i < model->body_count; i++)
        if (model->bodies[i].loop == loop)
            json_body(json, profile, &model->bodies[i]);
    psnap_json_end_array(json);
    psnap_json_begin_array(json, "references");
    for (uint32_t i = 0; i < model->ref_count; i++)
        if (model->refs[i].loop == loop)
            json_ref(json, profile, &model->refs[i]);
    psnap_json_end_array(json);
}
