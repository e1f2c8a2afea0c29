/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model of a stream to YAML (write_model.h). A nest is a list of terms. A term that is a single
 * run within loops has its counts and strides in two lists, the outermost loop first; other loops
 * are `repeat` and `of`. A value that changes in the loops around it has `first` and `steps`, one
 * for each of them.
 */
#include "profile/yaml/write_model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/layout.h"
#include "profile/yaml/yaml_keys.h"

struct writing {
    const struct psnap_profile *profile;
    struct psnap_yaml_doc *doc;
    const struct psnap_profile_loop *loop; /* whose regions starts are counted from; NULL: none */
    const struct psnap_profile_region *usual; /* where terms do not say another one; NULL: none */
    const uint64_t *steps[NEST_DEPTH_MAX];    /* by loop around: of the term's first value */
    uint32_t depth;
};

/* Whether a value of the term does not change in the loops around. */
static bool is_steady(const struct writing *w, size_t offset)
{
    bool is_steady = true;

    for (uint32_t i = 0; i < w->depth; i++)
        is_steady &= !w->steps[i][offset];
    return is_steady;
}

/* A count, which may change in the loops around; `key` NULL in a list. */
static void write_count(const struct writing *w, struct psnap_yaml_node *parent, const char *key,
                        const uint64_t *value, size_t offset)
{
    struct psnap_yaml_node *map, *list;

    if (is_steady(w, offset)) {
        psnap_yaml_add_i64(w->doc, parent, key, (int64_t)*value);
        return;
    }
    map = psnap_yaml_add_map(w->doc, parent, key, PSNAP_YAML_FLOW);
    psnap_yaml_add_i64(w->doc, map, "first", (int64_t)*value);
    list = psnap_yaml_add_sequence(w->doc, map, "steps", PSNAP_YAML_FLOW);
    for (uint32_t i = 0; i < w->depth; i++)
        psnap_yaml_add_i64(w->doc, list, NULL, (int64_t)w->steps[i][offset]);
}

/* The region of the loop that an address is in, or the nearest one below it. */
static const struct psnap_profile_region *region_at(const struct psnap_profile_loop *loop,
                                                    uint64_t address)
{
    const struct psnap_profile_region *best = NULL;

    for (uint32_t i = 0; i < loop->region_count; i++) {
        const struct psnap_profile_region *region = &loop->regions[i];
        if (address - region->low < region->bytes)
            return region;
        if (!best || (region->low <= address && (best->low > address || region->low > best->low)))
            best = region;
    }
    return best;
}

static void write_start(const struct writing *w, struct psnap_yaml_node *map, uint64_t first)
{
    const struct psnap_profile_region *region = w->loop ? region_at(w->loop, first) : NULL;

    if (region && region != w->usual)
        psnap_yaml_add_text(w->doc, map, "region", region->id);
    psnap_yaml_add_i64(w->doc, map, "start", (int64_t)(first - (region ? region->low : 0)));
}

/* Goes into a loop: the steps of its child at `offset` of its body's values. */
static void enter(struct writing *w, const struct nest_pattern *loop, size_t offset)
{
    for (uint32_t i = 0; i < w->depth; i++)
        w->steps[i] += 1 + offset;
    w->steps[w->depth++] = loop->steps + offset;
}

/* A run and the loops that have nothing else in them. Counts of 1 and strides of 0 are not written.
 */
static void write_run(struct writing *w, struct psnap_yaml_node *map,
                      const struct nest_pattern *pattern, const uint64_t *values)
{
    const struct writing before = *w;
    struct psnap_yaml_node *list;
    const struct nest_pattern *leaf = pattern;
    const uint64_t *first = values;
    const bool is_one = !pattern->body_count && values[0] == 1 && is_steady(w, 0);

    while (leaf->body_count) {
        leaf = leaf->body[0];
        first++;
    }
    write_start(w, map, first[1]);
    list = is_one ? NULL : psnap_yaml_add_sequence(w->doc, map, "counts", PSNAP_YAML_FLOW);
    while (pattern->body_count) {
        write_count(w, list, NULL, values, 0);
        enter(w, pattern, 0);
        pattern = pattern->body[0];
        values++;
    }
    if (!is_one)
        write_count(w, list, NULL, values, 0);
    if (!is_steady(w, 1) || (!is_one && pattern->steps[0])) {
        list = psnap_yaml_add_sequence(w->doc, map, "strides", PSNAP_YAML_FLOW);
        for (uint32_t i = 0; i < w->depth; i++)
            psnap_yaml_add_i64(w->doc, list, NULL, (int64_t)w->steps[i][1]);
        if (!is_one)
            psnap_yaml_add_i64(w->doc, list, NULL, (int64_t)pattern->steps[0]);
    }
    *w = before;
}

static bool is_single(const struct nest_pattern *pattern)
{
    while (pattern->body_count == 1)
        pattern = pattern->body[0];
    return !pattern->body_count;
}

/* A single number that does not change in the loops around and counts from the usual region. */
static bool is_plain(const struct writing *w, const struct nest_pattern *pattern,
                     const uint64_t *values)
{
    return !pattern->body_count && values[0] == 1 && is_steady(w, 0) && is_steady(w, 1) &&
           (!w->loop || region_at(w->loop, values[1]) == w->usual);
}

static void write_term(struct writing *w, struct psnap_yaml_node *list,
                       const struct nest_pattern *pattern, const uint64_t *values)
{
    struct psnap_yaml_node *map, *of;
    size_t offset = 0;

    if (is_plain(w, pattern, values)) {
        psnap_yaml_add_i64(w->doc, list, NULL,
                           (int64_t)(values[1] - (w->usual ? w->usual->low : 0)));
        return;
    }
    map = psnap_yaml_add_map(w->doc, list, NULL, PSNAP_YAML_FLOW);
    if (is_single(pattern)) {
        write_run(w, map, pattern, values);
        return;
    }
    write_count(w, map, "repeat", values, 0);
    of = psnap_yaml_add_sequence(w->doc, map, "of", PSNAP_YAML_FLOW);
    for (uint32_t i = 0; i < pattern->body_count; offset += pattern->body[i++]->values) {
        const struct writing before = *w;
        enter(w, pattern, offset);
        write_term(w, of, pattern->body[i], values + 1 + offset);
        *w = before;
    }
}

/* Counts by region the runs of a term that begin there. */
static void count_starts(const struct psnap_profile_loop *loop, const struct nest_pattern *pattern,
                         const uint64_t *values, uint32_t *counts)
{
    if (!pattern->body_count) {
        counts[region_at(loop, values[1]) - loop->regions]++;
        return;
    }
    values++;
    for (uint32_t i = 0; i < pattern->body_count; values += pattern->body[i++]->values)
        count_starts(loop, pattern->body[i], values, counts);
}

/* The region that most runs begin in; NULL: there is none. */
static const struct psnap_profile_region *usual_region(const struct psnap_profile_loop *loop,
                                                       const struct nest_terms *terms)
{
    uint32_t *counts = loop ? calloc(loop->region_count + (size_t)1, sizeof *counts) : NULL;
    uint32_t best = 0;

    for (size_t i = 0; counts && loop->region_count && i < terms->count; i++)
        count_starts(loop, terms->terms[i].pattern, nest_term_values(terms, i), counts);
    for (uint32_t i = 1; counts && i < loop->region_count; i++)
        best = counts[i] > counts[best] ? i : best;
    free(counts);
    return counts && loop->region_count ? &loop->regions[best] : NULL;
}

/* A nest of numbers: into `map` itself when it is one run, else as its `nest`. */
static void write_numbers(const struct psnap_profile *profile,
                          const struct psnap_profile_loop *loop, struct psnap_yaml_doc *doc,
                          struct psnap_yaml_node *map, const struct nest_terms *terms)
{
    struct writing w = {.profile = profile, .doc = doc, .loop = loop};
    struct psnap_yaml_node *list;

    if (terms->count == 1 && is_single(terms->terms[0].pattern)) {
        write_run(&w, map, terms->terms[0].pattern, nest_term_values(terms, 0));
        return;
    }
    w.usual = usual_region(loop, terms);
    if (w.usual)
        psnap_yaml_add_text(doc, map, "region", w.usual->id);
    list = psnap_yaml_add_sequence(doc, map, "nest", PSNAP_YAML_FLOW);
    for (size_t i = 0; i < terms->count; i++)
        write_term(&w, list, terms->terms[i].pattern, nest_term_values(terms, i));
}

/* ---- the schedule ---- */

static void write_symbols(struct writing *w, struct psnap_yaml_node *list,
                          const struct nest_pattern *pattern, const uint64_t *values)
{
    const struct psnap_stream_model *model = w->profile->stream;
    struct psnap_yaml_node *map, *of;
    size_t offset = 0;

    if (!pattern->body_count && !(pattern->symbol & MODEL_CHAIN)) {
        psnap_yaml_add_text(w->doc, list, NULL, model->bodies[pattern->symbol].id);
        return;
    }
    map = psnap_yaml_add_map(w->doc, list, NULL, PSNAP_YAML_FLOW);
    if (!pattern->body_count) {
        psnap_yaml_add_text(w->doc, map, "visit", model_symbol_id(model, pattern->symbol));
        return;
    }
    write_count(w, map, "repeat", values, 0);
    of = psnap_yaml_add_sequence(w->doc, map, "of", PSNAP_YAML_FLOW);
    for (uint32_t i = 0; i < pattern->body_count; offset += pattern->body[i++]->values) {
        const struct writing before = *w;
        enter(w, pattern, offset);
        write_symbols(w, of, pattern->body[i], values + 1 + offset);
        *w = before;
    }
}

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
    struct writing w = {.profile = profile, .doc = doc};
    struct psnap_yaml_node *list;

    for (uint32_t i = 0; i < model->order_count; i++) {
        const struct nest_terms *terms = &model->orders[i].terms;
        list = schedule;
        if (model->order_count > 1 || model->orders[i].thread) {
            struct psnap_yaml_node *map = psnap_yaml_add_map(doc, schedule, NULL, PSNAP_YAML_BLOCK);
            psnap_yaml_add_u64(doc, map, "thread", model->orders[i].thread);
            list = psnap_yaml_add_sequence(doc, map, "of", PSNAP_YAML_BLOCK);
        }
        for (size_t k = 0; k < terms->count; k++)
            write_symbols(&w, list, terms->terms[k].pattern, nest_term_values(terms, k));
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

void write_loop_model(const struct psnap_profile *profile, uint32_t loop,
                      struct psnap_yaml_doc *doc, struct psnap_yaml_node *map)
{
    const struct psnap_stream_model *model = profile->stream;
    struct psnap_yaml_node *list = NULL;

    for (uint32_t i = 0; i < model->body_count; i++) {
        if (model->bodies[i].loop != loop)
            continue;
        if (!list)
            list = psnap_yaml_add_sequence(doc, map, "bodies", PSNAP_YAML_BLOCK);
        write_body(profile, &model->bodies[i], doc, list);
    }
    list = NULL;
    for (uint32_t i = 0; i < model->ref_count; i++) {
        if (model->refs[i].loop != loop)
            continue;
        if (!list)
            list = psnap_yaml_add_sequence(doc, map, "references", PSNAP_YAML_BLOCK);
        write_ref(profile, &model->refs[i], doc, list);
    }
}
