/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The models of a profile with walks (FORMAT.md, "Models"). Their names are a letter and a number;
 * numbers may be left out.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profile/gathers/gather_yaml.h"
#include "profile/yaml/read_nests.h"

enum {
    MODELS_MAX = 1 << 16, /* number of a model */
    GAPS_MAX = 64,        /* numbers more than twice as many as there are models */
    DEPTH_MAX = 1000      /* draws that go with each other */
};

static enum psnap_status fail(const struct nest_reading *n, const struct psnap_yaml_node *node,
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
        return fail(n, node, "there is no draw of this name in 'models'");
    return !nest_draw_is_lead(&models->draws[*index])
               ? PSNAP_OK
               : fail(n, node, "it has an address for others to go with, and draws nothing");
}

enum psnap_status read_walk_name(const struct nest_reading *n, const struct psnap_yaml_node *node,
                                 uint32_t *index)
{
    const struct nest_models *models = n->nests->models;
    const enum psnap_status status = read_model_name(n, node, 'w', models->walk_count, index);

    if (status || models->walks[*index].loop != PSNAP_NONE)
        return status;
    return fail(n, node, "there is no walk of this name in 'models'");
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
            status = fail(n, name, "the number is far higher than there are such models");
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
            status = fail(n, name, "there are two of this name");
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

struct placing {
    const struct nest_reading *n;
    const struct psnap_profile_loop *loop;
};

static enum psnap_status read_gather_place(void *context, const struct psnap_yaml_node *map,
                                           uint64_t *address)
{
    const struct placing *placing = context;

    return read_place(placing->n, map, placing->loop, address);
}

/* within: {region, start, bytes} */
static enum psnap_status read_within(struct placing *placing, const struct psnap_yaml_node *map,
                                     struct nest_source *source)
{
    static const char *const keys[] = {"region", "start", "bytes", NULL};
    const struct nest_reading *n = placing->n;
    const struct psnap_yaml_node *node;
    enum psnap_status status =
        psnap_yaml_expect_keys(n->r->doc, map, "'within'", keys, n->r->error);

    if (!status)
        status = read_gather_place(placing, map, &source->low);
    node = status ? NULL : psnap_yaml_require(n->r->doc, map, "bytes", n->r->error);
    if (!node ||
        psnap_yaml_u64(n->r->doc, node, 1, PSNAP_COUNT_MAX, &source->span_bytes, n->r->error))
        return PSNAP_ERROR_VALUE;
    return PSNAP_OK;
}

/* {earlier, times} */
static enum psnap_status read_earlier(const struct nest_reading *n,
                                      const struct psnap_yaml_node *item, struct nest_after *after)
{
    static const char *const keys[] = {"earlier", "times", NULL};
    uint64_t earlier = 0, times = 1;
    enum psnap_status status = psnap_yaml_expect_keys(
        n->r->doc, item, "an item of 'after' with 'earlier'", keys, n->r->error);
    const struct psnap_yaml_node *node = psnap_yaml_get(item, "times");

    if (!status)
        status = psnap_yaml_u64(n->r->doc, psnap_yaml_get(item, "earlier"), 1, NEST_EARLIER_MAX,
                                &earlier, n->r->error);
    if (!status && node)
        status = psnap_yaml_u64(n->r->doc, node, 1, 1 << 20, &times, n->r->error);
    *after =
        (struct nest_after){.earlier = (uint32_t)earlier, .times = (uint32_t)times, .scale = 1};
    return status;
}

/* {back, offset, times}, or {with, offset, times}, and {scale}; defaults are set */
static enum psnap_status read_way(const struct nest_reading *n, const struct psnap_yaml_node *item,
                                  struct nest_source *source, struct nest_after *after)
{
    static const char *const keys[] = {"back",  "by",     "with",  "left",
                                       "scale", "offset", "times", NULL};
    uint64_t back = 0, times = 1, scale = 1;
    int64_t offset = 0;
    uint32_t leader = 0, drawer = 0;
    enum psnap_status status =
        psnap_yaml_expect_keys(n->r->doc, item, "an item of 'after'", keys, n->r->error);
    const struct psnap_yaml_node *left = status ? NULL : psnap_yaml_get(item, "left"), *node, *by;
    const struct psnap_yaml_node *with = status ? NULL : psnap_yaml_get(item, "with");

    if (left && with)
        return fail(n, left, "an item of 'after' has 'left' or 'with', not both");
    with = left ? left : with;
    if (with)
        status = read_model_name(n, with, 'd', n->nests->models->draw_count, &leader);
    node = status ? NULL : psnap_yaml_get(item, "back");
    if (!status && with && node)
        return fail(n, node, "an item of 'after' has 'back' or 'with', not both");
    node = status || with ? NULL : psnap_yaml_require(n->r->doc, item, "back", n->r->error);
    if (status ||
        (!with &&
         (!node || psnap_yaml_u64(n->r->doc, node, 0, NEST_BACK_MAX, &back, n->r->error))) ||
        !(node = psnap_yaml_require(n->r->doc, item, "offset", n->r->error)) ||
        psnap_yaml_i64(n->r->doc, node, INT64_MIN, INT64_MAX, &offset, n->r->error))
        return PSNAP_ERROR_VALUE;
    by = psnap_yaml_get(item, "by");
    if (by && read_model_name(n, by, 'd', n->nests->models->draw_count, &drawer))
        return PSNAP_ERROR_VALUE;
    if (by && !back)
        return fail(n, by, "'by' says of which draw the address so many 'back' must be");
    if (by && source->after_count > 1 && !after[-1].by)
        return fail(n, by, "items with 'by' come before those without");
    node = psnap_yaml_get(item, "times");
    if (node && psnap_yaml_u64(n->r->doc, node, 1, 1 << 20, &times, n->r->error))
        return PSNAP_ERROR_VALUE;
    node = psnap_yaml_get(item, "scale");
    if (node && psnap_yaml_u64(n->r->doc, node, 1, NEST_SCALE_MAX, &scale, n->r->error))
        return PSNAP_ERROR_VALUE;
    if (scale > 1 && !source->span_bytes)
        return fail(n, node, "'scale' needs 'within': what it is counted from, and must not leave");
    *after = (struct nest_after){.back = (uint32_t)back,
                                 .times = (uint32_t)times,
                                 .offset = (uint64_t)offset,
                                 .draw = with ? 1 + leader : 0,
                                 .by = by ? 1 + drawer : 0,
                                 .is_left = left != NULL,
                                 .scale = (uint32_t)scale};
    after->offset -= nest_after_origin(source, after);
    return PSNAP_OK;
}

/* after: [...], and within */
static enum psnap_status read_after(struct placing *placing, const struct psnap_yaml_node *map,
                                    const struct psnap_yaml_node *list, struct nest_source *source)
{
    const struct nest_reading *n = placing->n;
    const struct psnap_yaml_node *within = psnap_yaml_get(map, "within");
    enum psnap_status status =
        psnap_yaml_expect(n->r->doc, list, PSNAP_YAML_SEQUENCE, "after", n->r->error);

    if (!status && (!list->count || list->count > NEST_AFTER_MAX))
        status = fail(n, list, "'after' has 1 to 4 items");
    if (!status && within)
        status = read_within(placing, within, source);
    for (const struct psnap_yaml_node *item = status ? NULL : list->first; item && !status;
         item = item->next) {
        struct nest_after *after = &source->after[source->after_count++];
        status = item->kind == PSNAP_YAML_MAP && psnap_yaml_get(item, "earlier")
                     ? read_earlier(n, item, after)
                     : read_way(n, item, source, after);
        if (!status && (after->earlier || after->is_left) && !within)
            status = fail(n, item, "'earlier' and 'left' need 'within': at first there is neither");
    }
    return status;
}

/* The other draw, and how far from its last address. */
static enum psnap_status read_leader(const struct nest_reading *n,
                                     const struct psnap_yaml_node *map,
                                     const struct psnap_yaml_node *name, struct nest_source *source,
                                     uint32_t *leader)
{
    const struct psnap_yaml_node *node;
    int64_t offset;
    enum psnap_status status = read_model_name(n, name, 'd', n->nests->models->draw_count, leader);

    node = status ? NULL : psnap_yaml_require(n->r->doc, map, "offset", n->r->error);
    if (!node || psnap_yaml_i64(n->r->doc, node, INT64_MIN, INT64_MAX, &offset, n->r->error))
        return PSNAP_ERROR_VALUE;
    source->offset = (uint64_t)offset;
    return PSNAP_OK;
}

/* How much further for each iteration that comes, and of what is left over then. */
static enum psnap_status read_slopes(const struct nest_reading *n,
                                     const struct psnap_yaml_node *map,
                                     const struct psnap_yaml_node *around,
                                     struct nest_source *source)
{
    const struct psnap_yaml_node *each = psnap_yaml_get(map, "each");
    const struct psnap_yaml_node *rest = psnap_yaml_get(map, "each_rest");
    enum psnap_status status = PSNAP_OK;

    if (each && !around)
        return fail(n, each, "'each' says how much further from what is 'around'");
    if (each)
        status = psnap_yaml_i64(n->r->doc, each, -NEST_SLOPE_MAX, NEST_SLOPE_MAX, &source->slope,
                                n->r->error);
    if (!status && rest && !source->slope)
        return fail(n, rest, "'each_rest' is more of 'each', which is not there");
    if (!status && rest)
        status = psnap_yaml_i64(n->r->doc, rest, -NEST_SLOPE_MAX, NEST_SLOPE_MAX,
                                &source->rest_slope, n->r->error);
    return status;
}

/* {...} of a gather, {with: d2, offset: 8}, or {after: [...]}, beside the draw's own keys. */
static enum psnap_status read_source(const struct nest_reading *n,
                                     const struct psnap_yaml_node *map, struct placing *placing,
                                     struct nest_source *source)
{
    static const char *const keys[] = {"draw", "loop", "entry", "with", "offset", NULL};
    static const char *const behind[] = {"draw", "loop", "entry", "after", "within", NULL};
    static const char *const own[] = {"draw",  "loop",      "entry",  "areas",
                                      "turns", "next_area", "around", "offset",
                                      "each",  "each_rest", NULL};
    const struct psnap_yaml_node *with = psnap_yaml_get(map, "with");
    const struct psnap_yaml_node *after = psnap_yaml_get(map, "after");
    const struct psnap_yaml_node *around = psnap_yaml_get(map, "around");
    enum psnap_status status;

    source->with = source->around = PSNAP_NONE;
    status = psnap_yaml_known_keys(n->r->doc, map, with ? keys : after ? behind : own, n->r->error);
    if (!status && with)
        return read_leader(n, map, with, source, &source->with);
    if (!status && after)
        return read_after(placing, map, after, source);
    if (!status && around)
        status = read_leader(n, map, around, source, &source->around);
    if (!status)
        status = read_slopes(n, map, around, source);
    if (!status)
        status =
            gather_read(n->r->doc, map, read_gather_place, placing, &source->gather, n->r->error);
    for (uint32_t i = 0; i < source->gather.area_count && !status; i++)
        if ((source->gather.areas[i].places == GATHER_AROUND) != (around != NULL))
            status = fail(n, map, "'around' says around what the places 'around' are");
    return status;
}

/* {draw: d1, loop: f, start_of: d2}: where another draw began when its loop was come to last */
static enum psnap_status read_start(const struct nest_reading *n, const struct psnap_yaml_node *map,
                                    struct nest_draw *draw)
{
    static const char *const keys[] = {"draw", "loop", "start_of", NULL};
    uint32_t of = 0;
    enum psnap_status status = psnap_yaml_known_keys(n->r->doc, map, keys, n->r->error);

    draw->rest.with = draw->rest.around = PSNAP_NONE;
    if (!status)
        status = read_model_name(n, psnap_yaml_get(map, "start_of"), 'd',
                                 n->nests->models->draw_count, &of);
    for (uint32_t i = 0; i < n->nests->models->draw_count && !status; i++)
        if (n->nests->models->draws[i].start == 1 + of)
            status =
                fail(n, psnap_yaml_get(map, "start_of"), "another draw has this start already");
    draw->start = status ? 0 : 1 + of;
    return status;
}

/* {draw: d1, loop: f, ref: 2}: the last address of a reference that is not drawn; or
 * {..., refs: [0, 2]}: of whichever of them came last */
static enum psnap_status read_lead(const struct nest_reading *n, const struct psnap_yaml_node *map,
                                   struct nest_draw *draw)
{
    static const char *const keys[] = {"draw", "loop", "ref", "refs", NULL};
    const struct psnap_yaml_node *refs = psnap_yaml_get(map, "refs");
    const struct psnap_yaml_node *node = refs ? refs : psnap_yaml_get(map, "ref");
    uint64_t ref;
    enum psnap_status status = psnap_yaml_known_keys(n->r->doc, map, keys, n->r->error);

    draw->rest.with = draw->rest.around = PSNAP_NONE;
    if (!status && refs && psnap_yaml_get(map, "ref"))
        return fail(n, refs, "there is a 'ref' already");
    if (!status && refs)
        status = psnap_yaml_expect(n->r->doc, refs, PSNAP_YAML_SEQUENCE, "'refs'", n->r->error);
    if (!status && refs && (refs->count < 2 || refs->count > NEST_MARKS))
        return fail(n, refs, "'refs' are 2 to 4 references, of which the last one counts");
    node = refs && !status ? refs->first : node;
    for (uint32_t k = 0; !status && node; k++) {
        status = psnap_yaml_u64(n->r->doc, node, 0, NEST_REF_MAX, &ref, n->r->error);
        for (uint32_t i = 0; !status && i < k; i++)
            if (draw->leads[i] == 1 + (uint32_t)ref)
                return fail(n, node, "it is there twice");
        draw->leads[k] = status ? 0 : 1 + (uint32_t)ref;
        node = refs ? node->next : NULL;
    }
    return status;
}

/* {draw: d1, loop: f, ...}, and of what is drawn when the loop is come to: entry: {...} */
static enum psnap_status read_draw(const struct nest_reading *n, const struct psnap_yaml_node *map,
                                   uint32_t i)
{
    struct nest_draw *draw = &n->nests->models->draws[i];
    const struct psnap_yaml_node *entry = psnap_yaml_get(map, "entry");
    struct placing placing = {n, NULL};
    uint32_t loop = 0;
    enum psnap_status status = read_loop_name(n, map, &loop);

    if (status)
        return status;
    placing.loop = &n->r->profile->loops[loop];
    if (psnap_yaml_get(map, "ref") || psnap_yaml_get(map, "refs") ||
        psnap_yaml_get(map, "start_of")) {
        status =
            psnap_yaml_get(map, "start_of") ? read_start(n, map, draw) : read_lead(n, map, draw);
        draw->loop = status ? PSNAP_NONE : loop;
        return status;
    }
    draw->has_entry = entry != NULL;
    status = read_source(n, map, &placing, &draw->rest);
    if (!status && entry)
        status = psnap_yaml_expect(n->r->doc, entry, PSNAP_YAML_MAP, "entry", n->r->error);
    if (!status && entry)
        status = read_source(n, entry, &placing, &draw->entry);
    draw->loop = status ? PSNAP_NONE : loop;
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
               : fail(n, node, "a walk is repeated at least once");
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
            status = fail(n, graph, "a state has a count of at least one");
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

static bool has_gathers(const struct nest_models *models, uint32_t i, char *known, uint32_t depth);

static bool source_has_gathers(const struct nest_models *models, const struct nest_source *source,
                               char *known, uint32_t depth)
{
    bool has = (source->with == PSNAP_NONE || has_gathers(models, source->with, known, depth)) &&
               (source->around == PSNAP_NONE || has_gathers(models, source->around, known, depth));

    for (uint32_t i = 0; i < source->after_count; i++)
        has = has && (!source->after[i].draw ||
                      has_gathers(models, source->after[i].draw - 1, known, depth));
    return has;
}

/* Whether there is such a start; the rest of its draw may go on from it. */
static bool has_start(const struct nest_models *models, uint32_t of, char *known, uint32_t depth)
{
    const struct nest_draw *draw = &models->draws[of];

    return draw->loop != PSNAP_NONE && !nest_draw_is_lead(draw) &&
           source_has_gathers(models, nest_source_of(draw, true), known, depth);
}

/* Whether a draw leads, over those that it goes with, to gathers; `known` by draw, 0: not yet,
 * 1: it is being looked at, 2: it does. */
static bool has_gathers(const struct nest_models *models, uint32_t i, char *known, uint32_t depth)
{
    const struct nest_draw *draw = &models->draws[i];

    if (known[i])
        return known[i] == 2;
    if (draw->loop == PSNAP_NONE || depth > DEPTH_MAX)
        return false;
    known[i] = 1;
    if (draw->start && !has_start(models, draw->start - 1, known, depth + 1))
        return false;
    if (!source_has_gathers(models, &draw->rest, known, depth + 1) ||
        (draw->has_entry && !source_has_gathers(models, &draw->entry, known, depth + 1)))
        return false;
    known[i] = 2;
    return true;
}

/* Whether all draws are there `by` which addresses are. */
static bool has_drawers(const struct nest_models *models, const struct nest_source *source)
{
    bool has = true;

    for (uint32_t i = 0; i < source->after_count; i++)
        has = has &&
              (!source->after[i].by || models->draws[source->after[i].by - 1].loop != PSNAP_NONE);
    return has;
}

/* Whether all do come back whose `left` a source goes from. */
static bool has_left(const struct nest_models *models, const struct nest_source *source)
{
    bool has = true;

    for (uint32_t i = 0; i < source->after_count; i++)
        has = has && (!source->after[i].is_left ||
                      nest_comes_back(&models->draws[source->after[i].draw - 1].rest));
    return has;
}

static enum psnap_status check_draws(const struct nest_reading *n,
                                     const struct psnap_yaml_node *map)
{
    const struct psnap_yaml_node *items = psnap_yaml_get(map, "draws");
    char *known = calloc(n->nests->models->draw_count + (size_t)1, 1);
    enum psnap_status status = known ? PSNAP_OK : read_out_of_memory(n->r);
    uint32_t index;

    for (const struct psnap_yaml_node *item = items ? items->first : NULL; item && !status;
         item = item->next) {
        status = read_model_name(n, psnap_yaml_get(item, "draw"), 'd', MODELS_MAX, &index);
        if (!status && !has_gathers(n->nests->models, index, known, 0))
            status = fail(n, item, "it goes with a draw that is not there, or with itself");
        if (!status && (!has_left(n->nests->models, &n->nests->models->draws[index].rest) ||
                        !has_left(n->nests->models, &n->nests->models->draws[index].entry)))
            status = fail(n, item, "'left' is of a draw that comes back to 'earlier' addresses");
        if (!status && (!has_drawers(n->nests->models, &n->nests->models->draws[index].rest) ||
                        !has_drawers(n->nests->models, &n->nests->models->draws[index].entry)))
            status = fail(n, item, "'by' is of a draw that is not there");
    }
    free(known);
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
