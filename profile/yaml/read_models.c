/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The models of a profile with walks (FORMAT.md, "Models"): their names are a letter and a number;
 * numbers may be left out.
 */
#include <stdlib.h>

#include "profile/yaml/read_nests.h"

enum { GAPS_MAX = 64 /* numbers more than twice as many as there are models */ };

enum psnap_status nest_fail(const struct nest_reading *n, const struct psnap_yaml_node *node,
                            const char *message)
{
    return psnap_yaml_fail(n->r->doc, node, n->r->error, PSNAP_ERROR_VALUE, "%s", message);
}

enum psnap_status read_model_name(const struct nest_reading *n, const struct psnap_yaml_node *node,
                                  char what, uint32_t count, uint32_t *index)
{
    const char *name;
    char *end;
    unsigned long number;

    if (psnap_yaml_text(n->r->doc, node, &name, n->r->error))
        return PSNAP_ERROR_VALUE;
    number = name[0] == what && name[1] >= '1' && name[1] <= '9' ? strtoul(name + 1, &end, 10) : 0;
    if (!number || *end || number > MODELS_MAX)
        return psnap_yaml_fail(n->r->doc, node, n->r->error, PSNAP_ERROR_VALUE,
                               "'%.100s' is no name such as %c1", name, what);
    if (number > count)
        return psnap_yaml_fail(n->r->doc, node, n->r->error, PSNAP_ERROR_VALUE,
                               "there is no '%.100s' in 'models'", name);
    *index = (uint32_t)number - 1;
    return PSNAP_OK;
}

enum psnap_status read_draw_name(const struct nest_reading *n, const struct psnap_yaml_node *node,
                                 uint32_t *index)
{
    const struct nest_models *models = n->nests->models;
    const enum psnap_status status = read_model_name(n, node, 'd', models->draw_count, index);

    if (status)
        return status;
    if (models->draws[*index].loop == PSNAP_NONE)
        return nest_fail(n, node, "there is no draw of this name in 'models'");
    return !nest_draw_is_lead(&models->draws[*index])
               ? PSNAP_OK
               : nest_fail(n, node, "it has an address for others to go with, and draws nothing");
}

enum psnap_status read_walk_name(const struct nest_reading *n, const struct psnap_yaml_node *node,
                                 uint32_t *index)
{
    const struct nest_models *models = n->nests->models;
    const enum psnap_status status = read_model_name(n, node, 'w', models->walk_count, index);

    if (status || models->walks[*index].loop != PSNAP_NONE)
        return status;
    return nest_fail(n, node, "there is no walk of this name in 'models'");
}

/* ---- how many there are ---- */

/* The highest number of the items map[list]; each has its name in `key`, none two. */
static enum psnap_status count_models(const struct nest_reading *n,
                                      const struct psnap_yaml_node *map, const char *list,
                                      const char *key, uint32_t *count)
{
    const struct psnap_yaml_node *items = psnap_yaml_get(map, list), *name;
    enum psnap_status status = PSNAP_OK;
    uint32_t index;
    char *is_there;

    *count = 0;
    if (!items)
        return PSNAP_OK;
    status = psnap_yaml_expect(n->r->doc, items, PSNAP_YAML_SEQUENCE, list, n->r->error);
    for (const struct psnap_yaml_node *item = items->first; item && !status; item = item->next) {
        status = psnap_yaml_expect(n->r->doc, item, PSNAP_YAML_MAP, list, n->r->error);
        name = status ? NULL : psnap_yaml_require(n->r->doc, item, key, n->r->error);
        status = name ? read_model_name(n, name, key[0], MODELS_MAX, &index) : PSNAP_ERROR_VALUE;
        if (!status && index >= 2 * items->count + GAPS_MAX)
            status = nest_fail(n, name, "the number is far higher than there are such models");
        if (!status && index >= *count)
            *count = index + 1;
    }
    is_there = status ? NULL : calloc(*count + (size_t)1, 1);
    if (!status && !is_there)
        return read_out_of_memory(n->r);
    for (const struct psnap_yaml_node *item = items->first; item && !status; item = item->next) {
        name = psnap_yaml_get(item, key);
        read_model_name(n, name, key[0], MODELS_MAX, &index);
        if (is_there[index]++)
            status = nest_fail(n, name, "there are two of this name");
    }
    free(is_there);
    return status;
}

/* ---- each of them ---- */

/* {walk: w1, loop: f, region: a, start: 0} */
static enum psnap_status read_walk_model(const struct nest_reading *n,
                                         const struct psnap_yaml_node *map, uint32_t i)
{
    static const char *const keys[] = {"walk", "loop", "region", "start", NULL};
    struct nest_walk *walk = &n->nests->models->walks[i];
    enum psnap_status status = psnap_yaml_known_keys(n->r->doc, map, keys, n->r->error);
    uint32_t loop = 0;

    if (!status)
        status = read_loop_name(n, map, &loop);
    if (!status)
        status = read_place(n, map, &n->r->profile->loops[loop], &walk->address);
    walk->loop = status ? PSNAP_NONE : loop;
    return status;
}

static enum psnap_status read_counts(const struct nest_reading *n,
                                     const struct psnap_yaml_node *map, uint32_t i)
{
    static const char *const keys[] = {"counts", "times", "evenly", NULL};
    const struct psnap_yaml_node *node;
    enum psnap_status status = psnap_yaml_known_keys(n->r->doc, map, keys, n->r->error);

    struct psnap_counts *counts = &n->nests->models->counts[i];

    node = status ? NULL : psnap_yaml_require(n->r->doc, map, "times", n->r->error);
    if (!node || counts_read(n->r->doc, node, 0, NULL, counts, n->r->error) ||
        counts_read_evenly(n->r->doc, map, counts, n->r->error))
        return PSNAP_ERROR_VALUE;
    return !counts->bin_count || counts->bins[0].low
               ? PSNAP_OK
               : nest_fail(n, node, "a walk is repeated at least once");
}

/* ---- mixes ---- */

struct mix_states {
    const struct nest_reading *n;
    const struct nest_pattern *leaves[MIX_STATES_MAX]; /* by place in the list, */
    uint32_t ids[MIX_STATES_MAX], count;               /* with the states' numbers */
};

/* {ref: 0, load: 8, draw: d1}, or with strides: [8]. */
static enum psnap_status read_drawn_ref(const struct nest_reading *n,
                                        const struct psnap_yaml_node *map, struct nest_ref *ref,
                                        uint64_t *stride)
{
    static const char *const keys[] = {"ref",    "load", "store",   "atomic",
                                       "thread", "draw", "strides", NULL};
    const struct psnap_yaml_node *node;
    enum psnap_status status =
        psnap_yaml_expect_keys(n->r->doc, map, "a reference", keys, n->r->error);

    if (!status)
        status = read_access(n, map, ref);
    node = status ? NULL : psnap_yaml_require(n->r->doc, map, "draw", n->r->error);
    if (!node || read_draw_name(n, node, &ref->draw))
        return PSNAP_ERROR_VALUE;
    node = psnap_yaml_get(map, "strides");
    ref->mode = node ? NEST_DRAWN_FIRST : NEST_DRAWN;
    *stride = 0;
    return node ? read_steps(n, node, 1, "strides", stride) : PSNAP_OK;
}

static enum psnap_status read_state(void *context, const struct psnap_yaml_node *map, uint32_t id,
                                    struct psnap_error *error)
{
    static const char *const keys[] = {"loop", "references", MIX_STATE_KEYS, NULL};
    struct mix_states *states = context;
    const struct nest_reading *n = states->n;
    const struct psnap_yaml_node *list;
    const struct nest_shape *shape;
    uint64_t strides[NEST_WIDTH_MAX];
    enum psnap_status status = psnap_yaml_known_keys(n->r->doc, map, keys, error);

    if (!status)
        status = read_loop_name(n, map, &n->scratch->loop);
    list = status ? NULL : psnap_yaml_require(n->r->doc, map, "references", error);
    if (!list || psnap_yaml_expect(n->r->doc, list, PSNAP_YAML_SEQUENCE, "references", error))
        return PSNAP_ERROR_VALUE;
    if (!list->count || list->count > NEST_WIDTH_MAX)
        return psnap_yaml_fail(n->r->doc, list, error, PSNAP_ERROR_VALUE,
                               "a state has 1 to %d references", NEST_WIDTH_MAX);
    n->scratch->width = 0;
    for (const struct psnap_yaml_node *item = list->first; item && !status; item = item->next) {
        const uint32_t k = n->scratch->width++;
        status = read_drawn_ref(n, item, &n->scratch->refs[k], &strides[k]);
    }
    if (status)
        return status;
    shape = nest_shape_of(n->nests->models->shapes, n->scratch);
    states->ids[states->count] = id;
    states->leaves[states->count] =
        shape ? nest_pattern_leaf(n->nests->models->shapes, shape, strides) : NULL;
    return states->leaves[states->count++] ? PSNAP_OK : read_out_of_memory(n->r);
}

/* {mix: m1, graph: {...}} as mix.h has it; a state has its loop and references. */
static enum psnap_status read_mix(const struct nest_reading *n, const struct psnap_yaml_node *map,
                                  uint32_t i)
{
    static const char *const keys[] = {"mix", "graph", NULL};
    struct nest_mix *mix = &n->nests->models->mixes[i];
    struct mix_states states = {.n = n};
    const struct psnap_yaml_node *graph = psnap_yaml_require(n->r->doc, map, "graph", n->r->error);
    enum psnap_status status;

    if (!graph || psnap_yaml_known_keys(n->r->doc, map, keys, n->r->error))
        return PSNAP_ERROR_VALUE;
    if (!nest_mix_init(mix, MIX_STATES_MAX))
        return read_out_of_memory(n->r);
    status = mix_read(n->r->doc, graph, read_state, &states, &mix->chain, n->r->error);
    for (uint32_t k = 0; !status && k < mix->chain->state_count; k++)
        if (!mix->chain->states[k].counts.bins[0].low)
            status = nest_fail(n, graph, "a state has a count of at least one");
    for (uint32_t k = 0; k < states.count && !status; k++) {
        const uint32_t state = mix_find(mix->chain, states.ids[k]);
        mix->states[state] = states.leaves[k]->shape;
        mix->strides[state] = states.leaves[k]->steps;
    }
    return status;
}

static enum psnap_status read_list(const struct nest_reading *n, const struct psnap_yaml_node *map,
                                   const char *list, const char *key,
                                   enum psnap_status (*read_one)(const struct nest_reading *n,
                                                                 const struct psnap_yaml_node *map,
                                                                 uint32_t i))
{
    const struct psnap_yaml_node *items = psnap_yaml_get(map, list);
    enum psnap_status status = PSNAP_OK;
    uint32_t index = 0;

    for (const struct psnap_yaml_node *item = items ? items->first : NULL; item && !status;
         item = item->next) {
        status = read_model_name(n, psnap_yaml_get(item, key), key[0], MODELS_MAX, &index);
        if (!status)
            status = read_one(n, item, index);
    }
    return status;
}

enum psnap_status read_models(const struct nest_reading *n, const struct psnap_yaml_node *map)
{
    static const char *const keys[] = {"walks", "draws", "counts", "mixes", NULL};
    struct nest_models *models = calloc(1, sizeof *models);
    enum psnap_status status;

    n->nests->models = models;
    if (!models || !(models->shapes = nest_patterns_new()))
        return read_out_of_memory(n->r);
    if (map && (status = psnap_yaml_expect_keys(n->r->doc, map, "models", keys, n->r->error)))
        return status;
    if (map && ((status = count_models(n, map, "walks", "walk", &models->walk_count)) ||
                (status = count_models(n, map, "draws", "draw", &models->draw_count)) ||
                (status = count_models(n, map, "counts", "counts", &models->count_count)) ||
                (status = count_models(n, map, "mixes", "mix", &models->mix_count)))) {
        models->mix_count = 0;
        return status;
    }
    models->walks = calloc(models->walk_count + (size_t)1, sizeof *models->walks);
    models->draws = calloc(models->draw_count + (size_t)1, sizeof *models->draws);
    models->counts = calloc(models->count_count + (size_t)1, sizeof *models->counts);
    models->mixes = calloc(models->mix_count + (size_t)1, sizeof *models->mixes);
    if (!models->walks || !models->draws || !models->counts || !models->mixes) {
        models->mix_count = models->mixes ? models->mix_count : 0;
        return read_out_of_memory(n->r);
    }
    for (uint32_t i = 0; i < models->draw_count; i++)
        models->draws[i].loop = PSNAP_NONE;
    for (uint32_t i = 0; i < models->walk_count; i++)
        models->walks[i].loop = PSNAP_NONE;
    if (!map)
        return PSNAP_OK;
    if ((status = read_list(n, map, "walks", "walk", read_walk_model)) ||
        (status = read_list(n, map, "draws", "draw", read_draw)) ||
        (status = check_draws(n, map)) ||
        (status = read_list(n, map, "counts", "counts", read_counts)))
        return status;
    return read_list(n, map, "mixes", "mix", read_mix);
}
