/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap show of a profile of walks, for programs: the schedule with all references, as it stands
 * in the profile (FORMAT.md, Walks), and the models that it draws from in short.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/base/json.h"
#include "profile/cmd_show.h"
#include "profile/gathers/gather_yaml.h"
#include "profile/yaml/write_once.h"

struct showing {
    const struct psnap_profile *profile;
    struct psnap_json *json;
};

/* A model's name, "d1". */
static void json_name(struct psnap_json *json, const char *key, char what, uint32_t i)
{
    char name[16];

    snprintf(name, sizeof name, "%c%" PRIu32, what, i + 1);
    psnap_json_text(json, key, name);
}

/* The numbers of value k from the outermost repeat on, and one more. */
static void json_steps(struct psnap_json *json, const char *key, const struct nest_path *path,
                       size_t k, const uint64_t *last)
{
    psnap_json_begin_array(json, key);
    for (uint32_t up = path ? path->depth : 0; up-- > 0;)
        psnap_json_i64(json, NULL, (int64_t)nest_step(path, k, up));
    if (last)
        psnap_json_i64(json, NULL, (int64_t)*last);
    psnap_json_end_array(json);
}

/* "repeat": 10, with "repeat_steps" when it changes. */
static void json_count(struct psnap_json *json, const char *key, const char *steps,
                       const uint64_t *values, const struct nest_path *path)
{
    bool is_any = false;

    psnap_json_i64(json, key, (int64_t)values[0]);
    for (uint32_t up = 0; path && up < path->depth; up++)
        is_any |= nest_step(path, 0, up) != 0;
    if (is_any)
        json_steps(json, steps, path, 0, NULL);
}

static void show_repeat(void *context, const struct nest_pattern *loop, const uint64_t *values,
                        const struct nest_path *path)
{
    const struct showing *s = context;

    (void)loop;
    psnap_json_begin_object(s->json, NULL);
    json_count(s->json, "repeat", "repeat_steps", values, path);
    psnap_json_begin_array(s->json, "of");
}

static void show_nest(void *context, const char *name)
{
    const struct showing *s = context;

    psnap_json_begin_object(s->json, NULL);
    psnap_json_text(s->json, "nest", name);
    psnap_json_begin_array(s->json, "of");
}

static void show_again(void *context, const char *name)
{
    const struct showing *s = context;

    psnap_json_begin_object(s->json, NULL);
    psnap_json_text(s->json, "nest", name);
    psnap_json_end_object(s->json);
}

static void end_items(void *context)
{
    const struct showing *s = context;

    psnap_json_end_array(s->json);
    psnap_json_end_object(s->json);
}

static void json_reference(const struct showing *s, const struct nest_pattern *leaf,
                           const uint64_t *values, const struct nest_path *path, uint32_t k)
{
    const struct nest_ref *ref = &leaf->shape->refs[k];
    static const char *const kinds[3] = {"load", "store", "atomic"};
    const struct psnap_profile_loop *loop = &s->profile->loops[leaf->shape->loop];

    psnap_json_begin_object(s->json, NULL);
    psnap_json_u64(s->json, "ref", ref->ref);
    psnap_json_text(s->json, "kind", kinds[ref->kind]);
    psnap_json_u64(s->json, "size_bytes", ref->size);
    psnap_json_u64(s->json, "thread", ref->thread);
    if (ref->mode == NEST_AFFINE) {
        const struct psnap_profile_region *region =
            &loop->regions[nest_region(loop, values[1 + k])];
        psnap_json_text(s->json, "region", region->id);
        psnap_json_i64(s->json, "start", (int64_t)(values[1 + k] - region->low));
    } else if (ref->mode == NEST_CONTINUING) {
        json_name(s->json, "walk", 'w', ref->draw);
        psnap_json_i64(s->json, "skip", (int64_t)values[1 + k]);
    } else
        json_name(s->json, "draw", 'd', ref->draw);
    if (ref->mode == NEST_AFFINE || ref->mode == NEST_CONTINUING)
        json_steps(s->json, "strides", path, 1 + k, &leaf->steps[k]);
    else if (ref->mode == NEST_DRAWN_FIRST)
        json_steps(s->json, "strides", NULL, 0, &leaf->steps[k]);
    psnap_json_end_object(s->json);
}

static void show_walk(void *context, const struct nest_pattern *leaf, const uint64_t *values,
                      const struct nest_path *path)
{
    const struct showing *s = context;

    psnap_json_begin_object(s->json, NULL);
    psnap_json_text(s->json, "loop", s->profile->loops[leaf->shape->loop].id);
    if (leaf->shape->counts)
        json_name(s->json, "counts", 'c', leaf->shape->counts - 1);
    else
        json_count(s->json, "times", "times_steps", values, path);
    psnap_json_begin_array(s->json, "references");
    for (uint32_t k = 0; k < leaf->shape->width; k++)
        json_reference(s, leaf, values, path, k);
    psnap_json_end_array(s->json);
    psnap_json_end_object(s->json);
}

static void show_mix(void *context, uint32_t mix)
{
    const struct showing *s = context;

    psnap_json_begin_object(s->json, NULL);
    json_name(s->json, "mix", 'm', mix);
    psnap_json_end_object(s->json);
}

/* ---- models ---- */

static void json_source(const struct showing *s, uint32_t loop, const struct nest_source *source)
{
    const struct psnap_profile_loop *of = &s->profile->loops[loop];

    if (source->with != PSNAP_NONE) {
        json_name(s->json, "with", 'd', source->with);
        psnap_json_i64(s->json, "offset", (int64_t)source->offset);
        return;
    }
    if (source->after_count) {
        psnap_json_begin_array(s->json, "after");
        for (uint32_t i = 0; i < source->after_count; i++) {
            psnap_json_begin_object(s->json, NULL);
            if (source->after[i].draw)
                json_name(s->json, source->after[i].is_left ? "left" : "with", 'd',
                          source->after[i].draw - 1);
            else if (source->after[i].earlier)
                psnap_json_u64(s->json, "earlier", source->after[i].earlier);
            else
                psnap_json_u64(s->json, "back", source->after[i].back);
            if (source->after[i].by)
                json_name(s->json, "by", 'd', source->after[i].by - 1);
            if (source->after[i].scale > 1)
                psnap_json_u64(s->json, "scale", source->after[i].scale);
            if (!source->after[i].earlier)
                psnap_json_i64(s->json, "offset",
                               (int64_t)(source->after[i].offset +
                                         nest_after_origin(source, &source->after[i])));
            psnap_json_u64(s->json, "times", source->after[i].times);
            psnap_json_end_object(s->json);
        }
        psnap_json_end_array(s->json);
        if (source->span_bytes) { /* what scaled offsets are counted from */
            const uint32_t region = nest_region(of, source->low);
            psnap_json_begin_object(s->json, "within");
            if (of->region_count) {
                psnap_json_text(s->json, "region", of->regions[region].id);
                psnap_json_u64(s->json, "start", source->low - of->regions[region].low);
            }
            psnap_json_u64(s->json, "bytes", source->span_bytes);
            psnap_json_end_object(s->json);
        }
        return;
    }
    if (source->around != PSNAP_NONE) {
        json_name(s->json, "around", 'd', source->around);
        psnap_json_i64(s->json, "offset", (int64_t)source->offset);
        if (source->slope)
            psnap_json_i64(s->json, "each", source->slope);
        if (source->rest_slope)
            psnap_json_i64(s->json, "each_rest", source->rest_slope);
    }
    psnap_json_u64(s->json, "accesses", source->gather.accesses);
    psnap_json_begin_array(s->json, "areas");
    for (uint32_t i = 0; i < source->gather.area_count; i++) {
        const struct gather_area *area = &source->gather.areas[i];
        psnap_json_begin_object(s->json, NULL);
        if (of->region_count)
            psnap_json_text(s->json, "region", of->regions[nest_region(of, area->base)].id);
        psnap_json_u64(s->json, "accesses", area->accesses);
        psnap_json_u64(s->json, "bytes", area->span_bytes);
        psnap_json_text(s->json, "places", gather_place_names[area->places]);
        psnap_json_end_object(s->json);
    }
    psnap_json_end_array(s->json);
}

static void json_leads(const struct showing *s, const struct nest_draw *draw)
{
    if (draw->leads[1])
        psnap_json_begin_array(s->json, "refs");
    for (uint32_t k = 0; k < NEST_MARKS && draw->leads[k]; k++)
        psnap_json_u64(s->json, draw->leads[1] ? NULL : "ref", draw->leads[k] - 1);
    if (draw->leads[1])
        psnap_json_end_array(s->json);
}

static void json_draw(const struct showing *s, uint32_t i)
{
    const struct nest_draw *draw = &s->profile->nests->models->draws[i];

    if (draw->loop == PSNAP_NONE)
        return;
    psnap_json_begin_object(s->json, NULL);
    json_name(s->json, "draw", 'd', i);
    psnap_json_text(s->json, "loop", s->profile->loops[draw->loop].id);
    if (draw->start)
        json_name(s->json, "start_of", 'd', draw->start - 1);
    else if (draw->leads[0])
        json_leads(s, draw);
    else
        json_source(s, draw->loop, &draw->rest);
    if (draw->has_entry) {
        psnap_json_begin_object(s->json, "entry");
        json_source(s, draw->loop, &draw->entry);
        psnap_json_end_object(s->json);
    }
    psnap_json_end_object(s->json);
}

static void json_counts(const struct showing *s, uint32_t i)
{
    const struct psnap_counts *counts = &s->profile->nests->models->counts[i];

    if (!counts->bin_count)
        return;
    psnap_json_begin_object(s->json, NULL);
    json_name(s->json, "counts", 'c', i);
    psnap_json_u64(s->json, "times", counts->times);
    psnap_json_u64(s->json, "sum", counts->sum);
    psnap_json_u64(s->json, "least", counts->bins[0].low);
    psnap_json_u64(s->json, "most", counts->bins[counts->bin_count - 1].high);
    psnap_json_bool(s->json, "evenly", counts->is_even);
    psnap_json_end_object(s->json);
}

static void json_mix(const struct showing *s, uint32_t i)
{
    const struct nest_mix *mix = &s->profile->nests->models->mixes[i];

    if (!mix->chain)
        return;
    psnap_json_begin_object(s->json, NULL);
    json_name(s->json, "mix", 'm', i);
    psnap_json_u64(s->json, "visits", mix->chain->visits);
    psnap_json_begin_array(s->json, "states");
    for (uint32_t k = 0; k < mix->chain->state_count; k++) {
        psnap_json_begin_object(s->json, NULL);
        psnap_json_u64(s->json, "state", mix->chain->states[k].id);
        psnap_json_text(s->json, "loop", s->profile->loops[mix->states[k]->loop].id);
        psnap_json_u64(s->json, "visits", mix->chain->states[k].counts.times);
        psnap_json_u64(s->json, "times", mix->chain->states[k].counts.sum);
        psnap_json_bool(s->json, "evenly", mix->chain->states[k].counts.is_even);
        psnap_json_end_object(s->json);
    }
    psnap_json_end_array(s->json);
    psnap_json_end_object(s->json);
}

static void json_models(const struct showing *s)
{
    const struct nest_models *models = s->profile->nests->models;

    psnap_json_begin_object(s->json, "models");
    psnap_json_begin_array(s->json, "draws");
    for (uint32_t i = 0; i < models->draw_count; i++)
        json_draw(s, i);
    psnap_json_end_array(s->json);
    psnap_json_begin_array(s->json, "counts");
    for (uint32_t i = 0; i < models->count_count; i++)
        json_counts(s, i);
    psnap_json_end_array(s->json);
    psnap_json_begin_array(s->json, "mixes");
    for (uint32_t i = 0; i < models->mix_count; i++)
        json_mix(s, i);
    psnap_json_end_array(s->json);
    psnap_json_end_object(s->json);
}

bool show_json_schedule(struct psnap_json *json, const struct psnap_profile *profile)
{
    static const struct once_visitor visitor = {show_repeat, show_nest, show_again,
                                                end_items,   show_walk, show_mix};
    struct showing s = {profile, json};
    struct once *once = profile->nests ? once_new(profile) : NULL;

    if (once) {
        psnap_json_begin_array(json, "schedule");
        once_visit(once, profile->nests, &visitor, &s);
        psnap_json_end_array(json);
        if (nests_have_models(profile->nests))
            json_models(&s);
    }
    once_free(once);
    return once || !profile->nests;
}
