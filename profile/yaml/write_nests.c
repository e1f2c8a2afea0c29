/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nests as the schedule of a profile (FORMAT.md, "Walks"): what is affine in the iterations
 * around is written as its first value and its steps from the outermost on. Strides that nearly all
 * references of a walk have are the walk's, and are not written when they are 0.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "formats/base/yaml.h"
#include "profile/gathers/gather_yaml.h"
#include "profile/yaml/write_once.h"

struct writing {
    const struct psnap_profile *profile;
    struct psnap_yaml_doc *doc;
};

static bool has_steps(const struct nest_path *path, size_t k)
{
    for (uint32_t up = 0; path && up < path->depth; up++)
        if (nest_step(path, k, up))
            return true;
    return false;
}

static void add_steps(const struct writing *w, struct psnap_yaml_node *list,
                      const struct nest_path *path, size_t k)
{
    for (uint32_t up = path ? path->depth : 0; up-- > 0;)
        psnap_yaml_add_i64(w->doc, list, NULL, (int64_t)nest_step(path, k, up));
}

static void add_count(const struct writing *w, struct psnap_yaml_node *map, const char *key,
                      const struct nest_path *path, const uint64_t *values)
{
    if (!has_steps(path, 0)) {
        psnap_yaml_add_i64(w->doc, map, key, (int64_t)values[0]);
        return;
    }
    map = psnap_yaml_add_map(w->doc, map, key, PSNAP_YAML_FLOW);
    psnap_yaml_add_i64(w->doc, map, "first", (int64_t)values[0]);
    add_steps(w, psnap_yaml_add_sequence(w->doc, map, "steps", PSNAP_YAML_FLOW), path, 0);
}

/* A model's name: what it is and its number, from 1 on. */
static void add_name(struct psnap_yaml_doc *doc, struct psnap_yaml_node *map, const char *key,
                     char what, uint32_t number)
{
    char name[16];

    snprintf(name, sizeof name, "%c%" PRIu32, what, number + 1);
    psnap_yaml_add_text(doc, map, key, name);
}

static void write_access(struct psnap_yaml_doc *doc, struct psnap_yaml_node *map,
                         const struct nest_ref *ref)
{
    static const char *const kinds[3] = {"load", "store", "atomic"};

    psnap_yaml_add_u64(doc, map, "ref", ref->ref);
    psnap_yaml_add_u64(doc, map, kinds[ref->kind], ref->size);
    if (ref->thread)
        psnap_yaml_add_u64(doc, map, "thread", ref->thread);
}

/* An address, from where the nearest region of the loop begins. */
static void write_place(const struct psnap_profile *profile, struct psnap_yaml_doc *doc,
                        struct psnap_yaml_node *map, uint32_t loop, uint64_t address)
{
    const struct psnap_profile_loop *of = &profile->loops[loop];
    const struct psnap_profile_region *region = &of->regions[nest_region(of, address)];

    psnap_yaml_add_text(doc, map, "region", region->id);
    psnap_yaml_add_i64(doc, map, "start", (int64_t)(address - region->low));
}

/* Strides of a reference that is not drawn, or of a walk. */
static void write_strides(const struct writing *w, struct psnap_yaml_node *map,
                          const struct nest_pattern *leaf, const struct nest_path *path, uint32_t k)
{
    struct psnap_yaml_node *list = psnap_yaml_add_sequence(w->doc, map, "strides", PSNAP_YAML_FLOW);

    add_steps(w, list, path, 1 + k);
    psnap_yaml_add_i64(w->doc, list, NULL, (int64_t)leaf->steps[k]);
}

static bool has_strides(const struct nest_pattern *leaf, uint32_t k)
{
    return leaf->shape->refs[k].mode == NEST_AFFINE || leaf->shape->refs[k].mode == NEST_CONTINUING;
}

static bool are_same_strides(const struct nest_pattern *leaf, const struct nest_path *path,
                             uint32_t a, uint32_t b)
{
    if (leaf->steps[a] != leaf->steps[b])
        return false;
    for (uint32_t up = 0; path && up < path->depth; up++)
        if (nest_step(path, 1 + a, up) != nest_step(path, 1 + b, up))
            return false;
    return true;
}

static bool are_zero_strides(const struct nest_pattern *leaf, const struct nest_path *path,
                             uint32_t k)
{
    return !leaf->steps[k] && !has_steps(path, 1 + k);
}

/* The reference whose strides are the walk's, those of three of four, or PSNAP_NONE: then they are
 * none. */
static uint32_t find_common(const struct nest_pattern *leaf, const struct nest_path *path)
{
    uint32_t candidate = PSNAP_NONE, votes = 0, same = 0, all = 0;

    for (uint32_t k = 0; k < leaf->shape->width; k++) { /* only one can have more than half */
        if (!has_strides(leaf, k))
            continue;
        if (!votes)
            candidate = k;
        votes += are_same_strides(leaf, path, candidate, k) ? 1 : -1u;
    }
    for (uint32_t k = 0; candidate != PSNAP_NONE && k < leaf->shape->width; k++) {
        all += has_strides(leaf, k);
        same += has_strides(leaf, k) && are_same_strides(leaf, path, candidate, k);
    }
    return same >= 2 && same * 4 >= all * 3 && !are_zero_strides(leaf, path, candidate)
               ? candidate
               : PSNAP_NONE;
}

static void write_reference(const struct writing *w, struct psnap_yaml_node *list,
                            const struct nest_pattern *leaf, const uint64_t *values,
                            const struct nest_path *path, uint32_t k, uint32_t common)
{
    const struct nest_ref *ref = &leaf->shape->refs[k];
    struct psnap_yaml_node *map = psnap_yaml_add_map(w->doc, list, NULL, PSNAP_YAML_FLOW);

    write_access(w->doc, map, ref);
    if (ref->mode == NEST_AFFINE)
        write_place(w->profile, w->doc, map, leaf->shape->loop, values[1 + k]);
    else if (ref->mode == NEST_CONTINUING) {
        add_name(w->doc, map, "walk", 'w', ref->draw);
        psnap_yaml_add_i64(w->doc, map, "skip", (int64_t)values[1 + k]);
    } else
        add_name(w->doc, map, "draw", 'd', ref->draw);
    if (ref->mode == NEST_DRAWN_FIRST) {
        map = psnap_yaml_add_sequence(w->doc, map, "strides", PSNAP_YAML_FLOW);
        psnap_yaml_add_i64(w->doc, map, NULL, (int64_t)leaf->steps[k]);
    } else if (has_strides(leaf, k) &&
               (common == PSNAP_NONE ? !are_zero_strides(leaf, path, k)
                                     : !are_same_strides(leaf, path, common, k)))
        write_strides(w, map, leaf, path, k);
}

static void write_walk(const struct writing *w, struct psnap_yaml_node *map,
                       const struct nest_pattern *leaf, const uint64_t *values,
                       const struct nest_path *path)
{
    const struct nest_shape *shape = leaf->shape;
    const uint32_t common = find_common(leaf, path);
    struct psnap_yaml_node *list;

    psnap_yaml_add_text(w->doc, map, "loop", w->profile->loops[shape->loop].id);
    if (shape->counts)
        add_name(w->doc, map, "times", 'c', shape->counts - 1);
    else
        add_count(w, map, "times", path, values);
    if (common != PSNAP_NONE)
        write_strides(w, map, leaf, path, common);
    list = psnap_yaml_add_sequence(w->doc, map, "references", PSNAP_YAML_BLOCK);
    for (uint32_t k = 0; k < shape->width; k++)
        write_reference(w, list, leaf, values, path, k, common);
}

/* The schedule as a list of lists. */
struct scheduling {
    const struct writing *w;
    struct psnap_yaml_node *lists[NEST_DEPTH_MAX + ONCE_NESTS_MAX + 1];
    uint32_t depth;
};

static struct psnap_yaml_node *add_item(const struct scheduling *s, enum psnap_yaml_style style)
{
    return psnap_yaml_add_map(s->w->doc, s->lists[s->depth], NULL, style);
}

static void add_list(struct scheduling *s, struct psnap_yaml_node *map)
{
    s->lists[++s->depth] = psnap_yaml_add_sequence(s->w->doc, map, "of", PSNAP_YAML_BLOCK);
}

static void add_repeat(void *context, const struct nest_pattern *loop, const uint64_t *values,
                       const struct nest_path *path)
{
    struct scheduling *s = context;
    struct psnap_yaml_node *map = add_item(s, PSNAP_YAML_BLOCK);

    (void)loop;
    add_count(s->w, map, "repeat", path, values);
    add_list(s, map);
}

static void add_nest(void *context, const char *name)
{
    struct scheduling *s = context;
    struct psnap_yaml_node *map = add_item(s, PSNAP_YAML_BLOCK);

    psnap_yaml_add_text(s->w->doc, map, "nest", name);
    add_list(s, map);
}

static void add_again(void *context, const char *name)
{
    struct scheduling *s = context;

    psnap_yaml_add_text(s->w->doc, add_item(s, PSNAP_YAML_FLOW), "nest", name);
}

static void end_list(void *context)
{
    ((struct scheduling *)context)->depth--;
}

static void add_walk(void *context, const struct nest_pattern *leaf, const uint64_t *values,
                     const struct nest_path *path)
{
    struct scheduling *s = context;

    write_walk(s->w, add_item(s, PSNAP_YAML_BLOCK), leaf, values, path);
}

static void add_mix(void *context, uint32_t mix)
{
    const struct scheduling *s = context;

    add_name(s->w->doc, s->lists[s->depth], NULL, 'm', mix);
}

bool write_nests(const struct psnap_profile *profile, struct psnap_yaml_doc *doc,
                 struct psnap_yaml_node *list)
{
    static const struct once_visitor visitor = {add_repeat, add_nest, add_again,
                                                end_list,   add_walk, add_mix};
    const struct writing w = {profile, doc};
    struct scheduling s = {.w = &w, .lists = {list}};
    struct once *once = once_new(profile);

    if (once)
        once_visit(once, profile->nests, &visitor, &s);
    once_free(once);
    return once;
}

/* ---- models ---- */

struct placing {
    const struct psnap_profile *profile;
    uint32_t loop;
};

static void place(void *context, struct psnap_yaml_doc *doc, struct psnap_yaml_node *map,
                  uint64_t address)
{
    const struct placing *placing = context;

    write_place(placing->profile, doc, map, placing->loop, address);
}

static void write_after(const struct nest_source *source, struct placing *placing,
                        struct psnap_yaml_doc *doc, struct psnap_yaml_node *map)
{
    struct psnap_yaml_node *list;

    if (source->span_bytes) {
        struct psnap_yaml_node *within = psnap_yaml_add_map(doc, map, "within", PSNAP_YAML_FLOW);
        place(placing, doc, within, source->low);
        psnap_yaml_add_u64(doc, within, "bytes", source->span_bytes);
    }
    list = psnap_yaml_add_sequence(doc, map, "after", PSNAP_YAML_FLOW);

    for (uint32_t i = 0; i < source->after_count; i++) {
        const struct nest_after *after = &source->after[i];
        struct psnap_yaml_node *item = psnap_yaml_add_map(doc, list, NULL, PSNAP_YAML_FLOW);
        if (after->draw)
            add_name(doc, item, after->is_left ? "left" : "with", 'd', after->draw - 1);
        else if (after->earlier)
            psnap_yaml_add_u64(doc, item, "earlier", after->earlier);
        else
            psnap_yaml_add_u64(doc, item, "back", after->back);
        if (after->by)
            add_name(doc, item, "by", 'd', after->by - 1);
        if (after->scale > 1)
            psnap_yaml_add_u64(doc, item, "scale", after->scale);
        if (!after->earlier)
            psnap_yaml_add_i64(doc, item, "offset",
                               (int64_t)(after->offset + nest_after_origin(source, after)));
        psnap_yaml_add_u64(doc, item, "times", after->times);
    }
}

static void write_source(const struct nest_source *source, struct placing *placing,
                         struct psnap_yaml_doc *doc, struct psnap_yaml_node *map)
{
    if (source->after_count) {
        write_after(source, placing, doc, map);
        return;
    }
    if (source->with == PSNAP_NONE) {
        if (source->around != PSNAP_NONE) {
            add_name(doc, map, "around", 'd', source->around);
            psnap_yaml_add_i64(doc, map, "offset", (int64_t)source->offset);
            if (source->slope)
                psnap_yaml_add_i64(doc, map, "each", source->slope);
            if (source->rest_slope)
                psnap_yaml_add_i64(doc, map, "each_rest", source->rest_slope);
        }
        gather_write(&source->gather, doc, map, place, placing);
        return;
    }
    add_name(doc, map, "with", 'd', source->with);
    psnap_yaml_add_i64(doc, map, "offset", (int64_t)source->offset);
}

static enum psnap_yaml_style style_of(const struct nest_source *source)
{
    const bool is_short = source->with != PSNAP_NONE || source->after_count;

    return is_short && !source->span_bytes ? PSNAP_YAML_FLOW : PSNAP_YAML_BLOCK;
}

/* ref: 0, or refs: [0, 2] */
static void write_leads(const struct nest_draw *draw, struct psnap_yaml_doc *doc,
                        struct psnap_yaml_node *map)
{
    struct psnap_yaml_node *list = NULL;

    if (draw->leads[1])
        list = psnap_yaml_add_sequence(doc, map, "refs", PSNAP_YAML_FLOW);
    for (uint32_t k = 0; k < NEST_MARKS && draw->leads[k]; k++)
        psnap_yaml_add_u64(doc, list ? list : map, list ? NULL : "ref", draw->leads[k] - 1);
}

static void write_draw(const struct psnap_profile *profile, struct psnap_yaml_doc *doc,
                       struct psnap_yaml_node *list, uint32_t i)
{
    const struct nest_draw *draw = &profile->nests->models->draws[i];
    struct placing placing = {profile, draw->loop};
    struct psnap_yaml_node *map;

    if (draw->loop == PSNAP_NONE)
        return;
    map = psnap_yaml_add_map(doc, list, NULL,
                             draw->has_entry           ? PSNAP_YAML_BLOCK
                             : nest_draw_is_lead(draw) ? PSNAP_YAML_FLOW
                                                       : style_of(&draw->rest));
    add_name(doc, map, "draw", 'd', i);
    psnap_yaml_add_text(doc, map, "loop", profile->loops[draw->loop].id);
    if (draw->start)
        add_name(doc, map, "start_of", 'd', draw->start - 1);
    write_leads(draw, doc, map);
    if (nest_draw_is_lead(draw))
        return;
    if (draw->has_entry)
        write_source(&draw->entry, &placing, doc,
                     psnap_yaml_add_map(doc, map, "entry", style_of(&draw->entry)));
    write_source(&draw->rest, &placing, doc, map);
}

struct mixing {
    const struct psnap_profile *profile;
    const struct nest_mix *mix;
};

static void write_state(void *context, struct psnap_yaml_doc *doc, struct psnap_yaml_node *map,
                        uint32_t id)
{
    const struct mixing *mixing = context;
    const uint32_t state = mix_find(mixing->mix->chain, id);
    const struct nest_shape *shape = mixing->mix->states[state];
    struct psnap_yaml_node *list;

    psnap_yaml_add_text(doc, map, "loop", mixing->profile->loops[shape->loop].id);
    list = psnap_yaml_add_sequence(doc, map, "references", PSNAP_YAML_BLOCK);
    for (uint32_t k = 0; k < shape->width; k++) {
        map = psnap_yaml_add_map(doc, list, NULL, PSNAP_YAML_FLOW);
        write_access(doc, map, &shape->refs[k]);
        add_name(doc, map, "draw", 'd', shape->refs[k].draw);
        if (shape->refs[k].mode == NEST_DRAWN_FIRST)
            psnap_yaml_add_i64(doc, psnap_yaml_add_sequence(doc, map, "strides", PSNAP_YAML_FLOW),
                               NULL, (int64_t)mixing->mix->strides[state][k]);
    }
}

void write_models(const struct psnap_profile *profile, struct psnap_yaml_doc *doc,
                  struct psnap_yaml_node *map)
{
    const struct nest_models *models = profile->nests->models;
    struct psnap_yaml_node *list, *item;

    if (models->walk_count) {
        list = psnap_yaml_add_sequence(doc, map, "walks", PSNAP_YAML_BLOCK);
        for (uint32_t i = 0; i < models->walk_count; i++) {
            const struct nest_walk *walk = &models->walks[i];
            if (walk->loop == PSNAP_NONE)
                continue;
            item = psnap_yaml_add_map(doc, list, NULL, PSNAP_YAML_FLOW);
            add_name(doc, item, "walk", 'w', i);
            psnap_yaml_add_text(doc, item, "loop", profile->loops[walk->loop].id);
            write_place(profile, doc, item, walk->loop, walk->address);
        }
    }
    if (models->draw_count) {
        list = psnap_yaml_add_sequence(doc, map, "draws", PSNAP_YAML_BLOCK);
        for (uint32_t i = 0; i < models->draw_count; i++)
            write_draw(profile, doc, list, i);
    }
    if (models->count_count) {
        list = psnap_yaml_add_sequence(doc, map, "counts", PSNAP_YAML_BLOCK);
        for (uint32_t i = 0; i < models->count_count; i++) {
            if (!models->counts[i].times)
                continue;
            item = psnap_yaml_add_map(doc, list, NULL, PSNAP_YAML_FLOW);
            add_name(doc, item, "counts", 'c', i);
            counts_write(&models->counts[i], false, doc, item, "times");
        }
    }
    if (models->mix_count) {
        list = psnap_yaml_add_sequence(doc, map, "mixes", PSNAP_YAML_BLOCK);
        for (uint32_t i = 0; i < models->mix_count; i++) {
            struct mixing mixing = {profile, &models->mixes[i]};
            if (!mixing.mix->chain)
                continue;
            item = psnap_yaml_add_map(doc, list, NULL, PSNAP_YAML_BLOCK);
            add_name(doc, item, "mix", 'm', i);
            mix_write(mixing.mix->chain, doc,
                      psnap_yaml_add_map(doc, item, "graph", PSNAP_YAML_BLOCK), write_state,
                      &mixing);
        }
    }
}
