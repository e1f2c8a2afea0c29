/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nests as the schedule of a profile (FORMAT.md, "Walks"): what is affine in the iterations
 * around is written as its first value and its steps from the outermost on.
 */
#include <string.h>

#include "formats/base/yaml.h"
#include "profile/nest_profile.h"

/* The loops around a term, and where in their iteration's values it is. */
struct path {
    const struct path *outer;
    const struct nest_pattern *loop;
    size_t at; /* of the term's values; path of `outer` likewise gives the loop's own */
    uint32_t depth;
};

struct writing {
    const struct psnap_profile *profile;
    struct psnap_yaml_doc *doc;
};

/* The step of value `k` of a term in the loop `path`, of one around it when `up` is not 0. */
static uint64_t step_of(const struct path *path, size_t k, uint32_t up)
{
    for (; up; up--) {
        k += 1 + path->at;
        path = path->outer;
    }
    return path->loop->steps[path->at + k];
}

static bool has_steps(const struct path *path, size_t k)
{
    for (uint32_t up = 0; path && up < path->depth; up++)
        if (step_of(path, k, up))
            return true;
    return false;
}

static void add_steps(const struct writing *w, struct psnap_yaml_node *list,
                      const struct path *path, size_t k)
{
    for (uint32_t up = path ? path->depth : 0; up-- > 0;)
        psnap_yaml_add_i64(w->doc, list, NULL, (int64_t)step_of(path, k, up));
}

static void add_count(const struct writing *w, struct psnap_yaml_node *map, const char *key,
                      const struct path *path, const uint64_t *values)
{
    if (!has_steps(path, 0)) {
        psnap_yaml_add_i64(w->doc, map, key, (int64_t)values[0]);
        return;
    }
    map = psnap_yaml_add_map(w->doc, map, key, PSNAP_YAML_FLOW);
    psnap_yaml_add_i64(w->doc, map, "first", (int64_t)values[0]);
    add_steps(w, psnap_yaml_add_sequence(w->doc, map, "steps", PSNAP_YAML_FLOW), path, 0);
}

static void write_reference(const struct writing *w, struct psnap_yaml_node *list,
                            const struct nest_pattern *leaf, const uint64_t *values,
                            const struct path *path, uint32_t k)
{
    static const char *const kinds[3] = {"load", "store", "atomic"};
    const struct psnap_access *ref = &leaf->shape->refs[k];
    const struct psnap_profile_loop *loop = &w->profile->loops[leaf->shape->loop];
    const struct psnap_profile_region *region = &loop->regions[nest_region(loop, values[1 + k])];
    struct psnap_yaml_node *map = psnap_yaml_add_map(w->doc, list, NULL, PSNAP_YAML_FLOW);

    psnap_yaml_add_u64(w->doc, map, "ref", ref->ref);
    psnap_yaml_add_u64(w->doc, map, kinds[ref->kind], ref->size);
    if (ref->thread)
        psnap_yaml_add_u64(w->doc, map, "thread", ref->thread);
    psnap_yaml_add_text(w->doc, map, "region", region->id);
    psnap_yaml_add_i64(w->doc, map, "start", (int64_t)(values[1 + k] - region->low));
    map = psnap_yaml_add_sequence(w->doc, map, "strides", PSNAP_YAML_FLOW);
    add_steps(w, map, path, 1 + k);
    psnap_yaml_add_i64(w->doc, map, NULL, (int64_t)leaf->steps[k]);
}

static void write_term(const struct writing *w, struct psnap_yaml_node *list,
                       const struct nest_pattern *pattern, const uint64_t *values,
                       const struct path *path)
{
    const struct nest_shape *shape = pattern->shape;
    struct psnap_yaml_node *map;

    if (!pattern->body_count && !shape->width) {
        psnap_yaml_add_text(w->doc, list, NULL, w->profile->loops[shape->loop].id);
        return;
    }
    map = psnap_yaml_add_map(w->doc, list, NULL, PSNAP_YAML_BLOCK);
    if (pattern->body_count) {
        struct path inner = {path, pattern, 0, path ? path->depth + 1 : 1};
        add_count(w, map, "repeat", path, values);
        list = psnap_yaml_add_sequence(w->doc, map, "of", PSNAP_YAML_BLOCK);
        for (uint32_t i = 0; i < pattern->body_count; inner.at += pattern->body[i++]->values)
            write_term(w, list, pattern->body[i], values + 1 + inner.at, &inner);
        return;
    }
    psnap_yaml_add_text(w->doc, map, "loop", w->profile->loops[shape->loop].id);
    add_count(w, map, "times", path, values);
    list = psnap_yaml_add_sequence(w->doc, map, "references", PSNAP_YAML_BLOCK);
    for (uint32_t k = 0; k < shape->width; k++)
        write_reference(w, list, pattern, values, path, k);
}

void write_nests(const struct psnap_profile *profile, struct psnap_yaml_doc *doc,
                 struct psnap_yaml_node *list)
{
    const struct writing w = {profile, doc};
    const struct psnap_nests *nests = profile->nests;

    for (size_t i = 0; i < nests->count; i++)
        write_term(&w, list, nests->terms[i].pattern, nests_values(nests, i), NULL);
}
