/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The schedule of a profile with walks (FORMAT.md, "Walks") as nests. A value there has
 * steps for all loops around it; in a pattern each loop has the steps of what is in it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"
#include "profile/yaml/read_nests.h"

enum {
    NESTS_OPEN_MAX = 64, /* nests in each other */
    ITEMS_MAX = 1 << 20  /* of a schedule, which nests may bring to any number */
};

/* A term that was read, `depth` loops around it. */
struct built {
    const struct nest_pattern *pattern;
    uint64_t *firsts; /* of its values */
    uint64_t *steps;  /* `depth` of each of its values, the outermost first */
};

static void release(struct built *built)
{
    free(built->firsts);
    free(built->steps);
}

static enum psnap_status make_room(const struct nest_reading *n, struct built *built, size_t values,
                                   uint32_t depth)
{
    built->firsts = calloc(values + 1, sizeof *built->firsts);
    built->steps = calloc(values * depth + 1, sizeof *built->steps);
    return built->firsts && built->steps ? PSNAP_OK : read_out_of_memory(n->r);
}

enum psnap_status read_steps(const struct nest_reading *n, const struct psnap_yaml_node *list,
                             uint32_t count, const char *what, uint64_t *steps)
{
    const struct reading *r = n->r;
    enum psnap_status status = psnap_yaml_expect(r->doc, list, PSNAP_YAML_SEQUENCE, what, r->error);

    if (!status && list->count != count)
        return psnap_yaml_fail(r->doc, list, r->error, PSNAP_ERROR_VALUE,
                               "'%s' has %zu numbers, but there must be %" PRIu32
                               ", from the outermost 'repeat' to the innermost",
                               what, list->count, count);
    for (const struct psnap_yaml_node *node = list->first; node && !status; node = node->next) {
        int64_t step;
        status = psnap_yaml_i64(r->doc, node, INT64_MIN, INT64_MAX, &step, r->error);
        *steps++ = (uint64_t)step;
    }
    return status;
}

/* A number, or {first: ..., steps: [...]}. */
static enum psnap_status read_affine(const struct nest_reading *n,
                                     const struct psnap_yaml_node *node, uint32_t depth,
                                     uint64_t *first, uint64_t *steps)
{
    static const char *const keys[] = {"first", "steps", NULL};
    const int64_t most = (int64_t)PSNAP_COUNT_MAX;
    const struct reading *r = n->r;
    const struct psnap_yaml_node *list = NULL, *number = node;
    enum psnap_status status = PSNAP_OK;
    int64_t value = 0;

    if (node->kind == PSNAP_YAML_MAP) {
        status = psnap_yaml_known_keys(r->doc, node, keys, r->error);
        number = status ? NULL : psnap_yaml_require(r->doc, node, "first", r->error);
        list = number ? psnap_yaml_require(r->doc, node, "steps", r->error) : NULL;
        if (!list)
            return status ? status : PSNAP_ERROR_VALUE;
    }
    status = psnap_yaml_i64(r->doc, number, -most, most, &value, r->error);
    *first = (uint64_t)value;
    return status || !list ? status : read_steps(n, list, depth, "steps", steps);
}

enum psnap_status read_loop_name(const struct nest_reading *n, const struct psnap_yaml_node *map,
                                 uint32_t *loop)
{
    const struct reading *r = n->r;
    const struct psnap_yaml_node *node = psnap_yaml_require(r->doc, map, "loop", r->error);
    const struct named_node *name;
    const char *id;

    if (!node || psnap_yaml_text(r->doc, node, &id, r->error))
        return PSNAP_ERROR_VALUE;
    name = find_name(n->names, id);
    if (!name)
        return psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                               "there is no loop '%.100s'", id);
    *loop = name->index;
    return PSNAP_OK;
}

enum psnap_status read_place(const struct nest_reading *n, const struct psnap_yaml_node *map,
                             const struct psnap_profile_loop *loop, uint64_t *address)
{
    const struct reading *r = n->r;
    const struct psnap_yaml_node *node = psnap_yaml_require(r->doc, map, "region", r->error);
    const char *id;
    uint32_t i = 0;
    int64_t start;

    if (!node || psnap_yaml_text(r->doc, node, &id, r->error))
        return PSNAP_ERROR_VALUE;
    while (i < loop->region_count && strcmp(loop->regions[i].id, id) != 0)
        i++;
    if (i == loop->region_count)
        return psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                               "loop '%.100s' has no region '%.100s'", loop->id, id);
    node = psnap_yaml_require(r->doc, map, "start", r->error);
    if (!node || psnap_yaml_i64(r->doc, node, INT64_MIN, INT64_MAX, &start, r->error))
        return PSNAP_ERROR_VALUE;
    *address = loop->regions[i].low + (uint64_t)start;
    return PSNAP_OK;
}

/* The number of a reference in its loop. */
static enum psnap_status read_number(const struct nest_reading *n,
                                     const struct psnap_yaml_node *map, uint32_t *number)
{
    const struct reading *r = n->r;
    const struct psnap_yaml_node *node = psnap_yaml_require(r->doc, map, "ref", r->error);
    struct nest_numbers *numbers = n->numbers;
    uint32_t *of_loop = &numbers->of_loop[n->scratch->loop];
    uint64_t value;

    if (!node || psnap_yaml_u64(r->doc, node, 0, NEST_REF_MAX, &value, r->error))
        return PSNAP_ERROR_VALUE;
    *number = (uint32_t)value;
    if (value >= *of_loop) {
        numbers->all += *number + 1 - *of_loop;
        *of_loop = *number + 1;
    }
    if (numbers->all > NEST_REFS_MAX)
        return psnap_yaml_fail(
            r->doc, node, r->error, PSNAP_ERROR_VALUE,
            "with this the numbers of all loops' references are more than %" PRIu32, NEST_REFS_MAX);
    return PSNAP_OK;
}

enum psnap_status read_access(const struct nest_reading *n, const struct psnap_yaml_node *map,
                              struct nest_ref *ref)
{
    static const char *const kinds[3] = {"load", "store", "atomic"};
    const struct reading *r = n->r;
    const struct psnap_yaml_node *node, *size = NULL;
    uint64_t thread = 0, bytes;
    enum psnap_status status;

    *ref = (struct nest_ref){0};
    for (uint8_t kind = 0; kind < 3; kind++)
        if ((node = psnap_yaml_get(map, kinds[kind]))) {
            if (size)
                return psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                                       "a reference is one of load, store and atomic");
            size = node;
            ref->kind = kind;
        }
    if (!size)
        return psnap_yaml_fail(r->doc, map, r->error, PSNAP_ERROR_VALUE,
                               "a reference is a load, a store or an atomic of so many bytes");
    status = psnap_yaml_u64(r->doc, size, 1, PSNAP_ACCESS_SIZE_MAX, &bytes, r->error);
    if (status || (status = read_number(n, map, &ref->ref)))
        return status;
    node = psnap_yaml_get(map, "thread");
    if (node && psnap_yaml_u64(r->doc, node, 0, UINT16_MAX, &thread, r->error))
        return PSNAP_ERROR_VALUE;
    ref->size = (uint8_t)bytes;
    ref->thread = (uint16_t)thread;
    return PSNAP_OK;
}

/* Where a reference of a leaf begins: {region: a, start: 16}, {walk: w1, skip: 0}, {draw: d1}. */
static enum psnap_status read_beginning(const struct nest_reading *n,
                                        const struct psnap_yaml_node *map,
                                        const struct psnap_profile_loop *loop, struct nest_ref *ref,
                                        uint64_t *first)
{
    const struct reading *r = n->r;
    const struct psnap_yaml_node *region = psnap_yaml_get(map, "region");
    const struct psnap_yaml_node *walk = psnap_yaml_get(map, "walk");
    const struct psnap_yaml_node *draw = psnap_yaml_get(map, "draw"), *node;
    int64_t skip;

    if ((region != NULL) + (walk != NULL) + (draw != NULL) != 1)
        return psnap_yaml_fail(r->doc, map, r->error, PSNAP_ERROR_VALUE,
                               "a reference has one of region, walk and draw");
    if (region)
        return read_place(n, map, loop, first);
    *first = 0;
    if (draw) {
        ref->mode = psnap_yaml_get(map, "strides") ? NEST_DRAWN_FIRST : NEST_DRAWN;
        return read_draw_name(n, draw, &ref->draw);
    }
    ref->mode = NEST_CONTINUING;
    node = psnap_yaml_require(r->doc, map, "skip", r->error);
    if (!node || psnap_yaml_i64(r->doc, node, INT64_MIN, INT64_MAX, &skip, r->error))
        return PSNAP_ERROR_VALUE;
    *first = (uint64_t)skip;
    return read_walk_name(n, walk, &ref->draw);
}

/* {ref: 0, load: 8, region: a, start: 16, strides: [800, 8]}; a reference of which all addresses
 * are drawn has no strides, one of which the first is, has one; others may have those of the walk,
 * which are in `steps`. */
static enum psnap_status read_reference(const struct nest_reading *n,
                                        const struct psnap_yaml_node *map,
                                        const struct psnap_profile_loop *loop, uint32_t depth,
                                        struct nest_ref *ref, uint64_t *first, uint64_t *steps)
{
    static const char *const keys[] = {"ref",   "load", "store", "atomic", "thread",  "region",
                                       "start", "walk", "skip",  "draw",   "strides", NULL};
    const struct reading *r = n->r;
    const struct psnap_yaml_node *node;
    enum psnap_status status = psnap_yaml_expect_keys(r->doc, map, "a reference", keys, r->error);

    if (!status)
        status = read_access(n, map, ref);
    if (!status)
        status = read_beginning(n, map, loop, ref, first);
    if (status)
        return status;
    node = psnap_yaml_get(map, "strides");
    if (ref->mode == NEST_DRAWN || ref->mode == NEST_DRAWN_FIRST)
        memset(steps, 0, (depth + 1) * sizeof *steps);
    if (ref->mode == NEST_DRAWN_FIRST)
        return read_steps(n, node, 1, "strides", steps + depth);
    return node ? read_steps(n, node, depth + 1, "strides", steps) : PSNAP_OK;
}

/* References of the leaf: a reference has a step more than values, its stride. `common` are the
 * strides of the walk, or NULL: there are none. */
static enum psnap_status read_references(const struct nest_reading *n,
                                         const struct psnap_yaml_node *list,
                                         const struct psnap_yaml_node *common, uint32_t depth,
                                         struct built *built, uint64_t *strides)
{
    const struct psnap_profile_loop *loop = &n->r->profile->loops[n->scratch->loop];
    uint64_t steps[NEST_DEPTH_MAX + 1], of_walk[NEST_DEPTH_MAX + 1] = {0};
    enum psnap_status status =
        common ? read_steps(n, common, depth + 1, "strides", of_walk) : PSNAP_OK;
    uint32_t k = 0;

    for (const struct psnap_yaml_node *map = list->first; map && !status; map = map->next, k++) {
        memcpy(steps, of_walk, sizeof steps);
        status =
            read_reference(n, map, loop, depth, &n->scratch->refs[k], &built->firsts[1 + k], steps);
        if (depth && !status)
            memcpy(&built->steps[(1 + k) * depth], steps, depth * sizeof *steps);
        strides[k] = status ? 0 : steps[depth];
    }
    return status;
}

/* How often a leaf is repeated: as read_affine, or c1. */
static enum psnap_status read_times(const struct nest_reading *n,
                                    const struct psnap_yaml_node *node, uint32_t depth,
                                    struct built *built)
{
    const struct nest_models *models = n->nests->models;
    const char *text;
    enum psnap_status status;
    uint32_t index;

    n->scratch->counts = 0;
    if (node->kind != PSNAP_YAML_SCALAR || psnap_yaml_text(n->r->doc, node, &text, NULL) ||
        text[0] != 'c')
        return read_affine(n, node, depth, built->firsts, built->steps);
    status = read_model_name(n, node, 'c', models->count_count, &index);
    n->scratch->counts = status ? 0 : index + 1;
    built->firsts[0] = 1;
    return status;
}

/* {loop: f, times: 10, strides: [800, 8], references: [...]} */
static enum psnap_status read_walk(const struct nest_reading *n, const struct psnap_yaml_node *map,
                                   uint32_t depth, struct built *built)
{
    static const char *const keys[] = {"loop", "times", "strides", "references", NULL};
    const struct reading *r = n->r;
    const struct psnap_yaml_node *node, *list;
    uint64_t strides[NEST_WIDTH_MAX];
    const struct nest_shape *shape;
    enum psnap_status status = psnap_yaml_known_keys(r->doc, map, keys, r->error);
    uint32_t loop = 0;

    if (status || (status = read_loop_name(n, map, &loop)))
        return status;
    n->lines[loop] = n->lines[loop] ? n->lines[loop] : map->src_line;
    list = psnap_yaml_require(r->doc, map, "references", r->error);
    node = list ? psnap_yaml_require(r->doc, map, "times", r->error) : NULL;
    if (!node)
        return PSNAP_ERROR_VALUE;
    status = psnap_yaml_expect(r->doc, list, PSNAP_YAML_SEQUENCE, "references", r->error);
    if (!status && (!list->count || list->count > NEST_WIDTH_MAX))
        return psnap_yaml_fail(r->doc, list, r->error, PSNAP_ERROR_VALUE,
                               "a walk has 1 to %d references", NEST_WIDTH_MAX);
    if (!status)
        status = make_room(n, built, 1 + list->count, depth);
    n->scratch->loop = loop;
    n->scratch->width = (uint32_t)list->count;
    if (!status)
        status = read_times(n, node, depth, built);
    if (!status)
        status = read_references(n, list, psnap_yaml_get(map, "strides"), depth, built, strides);
    if (status)
        return status;
    shape = nest_shape_of(n->nests->patterns, n->scratch);
    built->pattern = shape ? nest_pattern_leaf(n->nests->patterns, shape, strides) : NULL;
    return built->pattern ? PSNAP_OK : read_out_of_memory(r);
}

static enum psnap_status read_visited(const struct nest_reading *n,
                                      const struct psnap_yaml_node *node, uint32_t depth,
                                      struct built *built)
{
    static const uint64_t none;
    const struct nest_models *models = n->nests->models;
    const struct nest_shape *shape;
    uint32_t mix = 0;
    enum psnap_status status = read_model_name(n, node, 'm', models->mix_count, &mix);

    if (!status && !models->mixes[mix].chain)
        status = psnap_yaml_fail(n->r->doc, node, n->r->error, PSNAP_ERROR_VALUE,
                                 "there is no mix of this name in 'models'");
    if (!status)
        status = make_room(n, built, 1, depth);
    if (status)
        return status;
    built->firsts[0] = 1;
    n->scratch->loop = mix;
    n->scratch->width = n->scratch->counts = 0;
    shape = nest_shape_of(n->nests->patterns, n->scratch);
    built->pattern = shape ? nest_pattern_leaf(n->nests->patterns, shape, &none) : NULL;
    return built->pattern ? PSNAP_OK : read_out_of_memory(n->r);
}

/* Terms that were read, of a list. */
struct built_list {
    struct built *terms;
    size_t count, room;
};

static void release_list(struct built_list *list)
{
    while (list->count)
        release(&list->terms[--list->count]);
    free(list->terms);
}

static enum psnap_status read_terms(const struct nest_reading *n, const struct psnap_yaml_node *of,
                                    uint32_t depth, struct built_list *built);

/* A loop of terms that were read one level deeper. */
static enum psnap_status join(const struct nest_reading *n, const struct built *children,
                              uint32_t count, uint32_t depth, struct built *built)
{
    const struct nest_pattern **body = malloc((count + 1) * sizeof(struct nest_pattern *));
    uint64_t *steps, *first, *outer;
    size_t values = 1;

    for (uint32_t i = 0; i < count; i++)
        values += children[i].pattern->values;
    steps = malloc(values * sizeof *steps);
    if (!body || !steps || make_room(n, built, values, depth)) {
        free(body);
        free(steps);
        return read_out_of_memory(n->r);
    }
    first = built->firsts + 1;
    outer = built->steps + depth;
    values = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct built *child = &children[i];
        body[i] = child->pattern;
        for (size_t k = 0; k < child->pattern->values; k++, outer += depth) {
            const uint64_t *of_child = &child->steps[k * (depth + 1)];
            *first++ = child->firsts[k];
            memcpy(outer, of_child, depth * sizeof *outer);
            steps[values++] = of_child[depth];
        }
    }
    built->pattern = nest_pattern_loop(n->nests->patterns, body, count, steps);
    free(body);
    free(steps);
    return built->pattern ? PSNAP_OK : read_out_of_memory(n->r);
}

/* {repeat: 3, of: [...]} */
static enum psnap_status read_loop_of(const struct nest_reading *n,
                                      const struct psnap_yaml_node *map, uint32_t depth,
                                      struct built *built)
{
    static const char *const keys[] = {"repeat", "of", NULL};
    const struct reading *r = n->r;
    const struct psnap_yaml_node *of, *repeat = NULL;
    static const char nothing[] = "there is nothing to repeat";
    struct built_list children = {0};
    enum psnap_status status =
        psnap_yaml_expect_keys(r->doc, map, "an item of the schedule", keys, r->error);

    if (status)
        return status;
    of = psnap_yaml_require(r->doc, map, "of", r->error);
    repeat = of ? psnap_yaml_require(r->doc, map, "repeat", r->error) : NULL;
    if (!repeat)
        return PSNAP_ERROR_VALUE;
    status = psnap_yaml_expect(r->doc, of, PSNAP_YAML_SEQUENCE, "of", r->error);
    if (!status && (!of->count || depth + 1 >= NEST_DEPTH_MAX))
        status = psnap_yaml_fail(r->doc, of, r->error, PSNAP_ERROR_VALUE, "%s",
                                 of->count ? "too many repeats in each other" : nothing);
    if (status)
        return status;
    status = read_terms(n, of, depth + 1, &children);
    if (!status && !children.count)
        status = psnap_yaml_fail(r->doc, of, r->error, PSNAP_ERROR_VALUE, "%s", nothing);
    if (!status)
        status = join(n, children.terms, (uint32_t)children.count, depth, built);
    if (!status)
        status = read_affine(n, repeat, depth, built->firsts, built->steps);
    release_list(&children);
    return status;
}

/* The nest of a name; NULL: there is none. */
static struct named_nest *find_nest(const struct nest_reading *n, const char *name)
{
    for (size_t i = 0; i < n->named->count; i++)
        if (!strcmp(n->named->nests[i].name, name))
            return &n->named->nests[i];
    return NULL;
}

/* A name for items, which are a list. */
static enum psnap_status name_nest(const struct nest_reading *n, const struct psnap_yaml_node *map,
                                   const struct psnap_yaml_node *of, const char *name,
                                   uint32_t depth)
{
    const struct reading *r = n->r;
    const struct named_nest *same = find_nest(n, name);
    struct named_nest *nests;

    if (same && same->map != map)
        return psnap_yaml_fail(r->doc, map, r->error, PSNAP_ERROR_VALUE,
                               "there is a nest '%.100s' already, in line %" PRIu32, name,
                               same->map->src_line);
    if (psnap_yaml_expect(r->doc, of, PSNAP_YAML_SEQUENCE, "of", r->error))
        return PSNAP_ERROR_VALUE;
    if (same)
        return PSNAP_OK;
    nests = psnap_with_room(n->named->nests, &n->named->room, n->named->count + 1, sizeof *nests);
    if (!nests)
        return read_out_of_memory(r);
    n->named->nests = nests;
    nests[n->named->count++] = (struct named_nest){name, map, depth, false};
    return PSNAP_OK;
}

/* {nest: f, of: [...]}, and {nest: f} wherever it comes again. */
static enum psnap_status read_nest(const struct nest_reading *n, const struct psnap_yaml_node *map,
                                   uint32_t depth, struct built_list *built)
{
    static const char *const keys[] = {"nest", "of", NULL};
    const struct reading *r = n->r;
    const struct psnap_yaml_node *of = psnap_yaml_get(map, "of");
    const struct named_nest *nest;
    const char *name;
    enum psnap_status status = psnap_yaml_known_keys(r->doc, map, keys, r->error);
    size_t i;

    if (status || (status = psnap_yaml_text(r->doc, psnap_yaml_get(map, "nest"), &name, r->error)))
        return status;
    if (of && (status = name_nest(n, map, of, name, depth)))
        return status;
    nest = find_nest(n, name);
    if (!nest || nest->is_open)
        return psnap_yaml_fail(r->doc, map, r->error, PSNAP_ERROR_VALUE,
                               nest ? "the nest '%.100s' is in itself"
                                    : "there is no nest '%.100s' before this",
                               name);
    if (nest->depth != depth)
        return psnap_yaml_fail(r->doc, map, r->error, PSNAP_ERROR_VALUE,
                               "the nest '%.100s' (line %" PRIu32 ") is in %" PRIu32
                               " repeats, here there are %" PRIu32,
                               name, nest->map->src_line, nest->depth, depth);
    if (n->named->open == NESTS_OPEN_MAX)
        return psnap_yaml_fail(r->doc, map, r->error, PSNAP_ERROR_VALUE,
                               "too many nests in each other");
    i = (size_t)(nest - n->named->nests);
    n->named->open++;
    n->named->nests[i].is_open = true;
    status = read_terms(n, psnap_yaml_get(nest->map, "of"), depth, built);
    n->named->nests[i].is_open = false;
    n->named->open--;
    return status;
}

static enum psnap_status read_term(const struct nest_reading *n, const struct psnap_yaml_node *node,
                                   uint32_t depth, struct built_list *list)
{
    const struct reading *r = n->r;
    struct built *terms, *built;

    if (++n->named->items > ITEMS_MAX)
        return psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                               "the schedule has more than %d items, those of nests included",
                               ITEMS_MAX);
    if (node->kind == PSNAP_YAML_MAP && psnap_yaml_get(node, "nest"))
        return read_nest(n, node, depth, list);
    terms = psnap_with_room(list->terms, &list->room, list->count + 1, sizeof *terms);
    if (!terms)
        return read_out_of_memory(r);
    list->terms = terms;
    built = &terms[list->count++];
    *built = (struct built){0};
    if (node->kind == PSNAP_YAML_SCALAR)
        return read_visited(n, node, depth, built);
    return psnap_yaml_get(node, "loop") ? read_walk(n, node, depth, built)
                                        : read_loop_of(n, node, depth, built);
}

/* Items of a list. */
static enum psnap_status read_terms(const struct nest_reading *n, const struct psnap_yaml_node *of,
                                    uint32_t depth, struct built_list *built)
{
    enum psnap_status status = PSNAP_OK;

    for (const struct psnap_yaml_node *node = of->first; node && !status; node = node->next)
        status = read_term(n, node, depth, built);
    return status;
}

enum psnap_status read_nests(const struct reading *r, const struct psnap_yaml_node *list,
                             const struct psnap_yaml_node *models,
                             const struct psnap_yaml_node *loops, const struct name_index *names)
{
    struct nest_numbers numbers = {
        calloc(r->profile->loop_count + (size_t)1, sizeof *numbers.of_loop), 0};
    struct named_nests named = {0};
    struct built_list built = {0};
    struct nest_reading n = {.named = &named,
                             .r = r,
                             .names = names,
                             .nests = nests_new(),
                             .scratch = calloc(1, nest_shape_bytes(NEST_WIDTH_MAX)),
                             .numbers = &numbers,
                             .models = models,
                             .lines = calloc(r->profile->loop_count + (size_t)1, sizeof *n.lines)};
    enum psnap_status status =
        psnap_yaml_expect(r->doc, list, PSNAP_YAML_SEQUENCE, "schedule", r->error);

    if (!n.nests || !n.scratch || !numbers.of_loop || !n.lines)
        status = read_out_of_memory(r);
    r->profile->nests = n.nests; /* the profile frees them */
    if (!status)
        status = read_models(&n, models);
    if (!status)
        status = read_terms(&n, list, 0, &built);
    for (size_t i = 0; i < built.count && !status; i++)
        if (!nests_push(n.nests, built.terms[i].pattern, built.terms[i].firsts))
            status = read_out_of_memory(r);
    release_list(&built);
    free(named.nests);
    for (uint32_t i = 0; i < r->profile->loop_count && !status; i++)
        n.lines[i] = n.lines[i] ? n.lines[i] : list->src_line;
    if (!status)
        status = check_nests(&n, list, loops);
    if (!status)
        status = check_derived(r, n.lines, loops);
    free(n.lines);
    free(n.scratch);
    free(numbers.of_loop);
    return status;
}
