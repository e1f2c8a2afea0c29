/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data objects from YAML, and the reuse histograms that irregular references have of them: times by
 * bins, in phases; when first touches come; places in a line and steps between these.
 */
#include <inttypes.h>
#include <string.h>

#include "formats/base/layout.h"
#include "formats/base/room.h"
#include "profile/yaml/read_model.h"
#include "profile/yaml/yaml_keys.h"

/* ---- objects ---- */

static enum psnap_status read_first_touches(const struct model_reading *m,
                                            const struct psnap_yaml_node *map,
                                            struct model_object *object)
{
    static const char *const keys[] = {"strides_lines", "elsewhere", NULL};
    const struct reading *r = m->r;
    enum psnap_status status = psnap_yaml_expect_keys(r->doc, map, "first_touches", keys, r->error);
    const struct psnap_yaml_node *strides = psnap_yaml_get(map, "strides_lines"), *node;

    if (!status)
        status = read_count(r, map, "elsewhere", 0, &object->firsts);
    if (!status && strides)
        status = psnap_yaml_expect(r->doc, strides, PSNAP_YAML_MAP, "strides_lines", r->error);
    for (node = !status && strides ? strides->first : NULL; node && !status; node = node->next) {
        struct reuse_stride *stride = &object->strides[object->stride_count];
        if (object->stride_count++ == REUSE_STRIDES)
            return psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                                   "more than %d strides of first touches", REUSE_STRIDES);
        status = model_read_key(m, node, &stride->lines);
        if (!status)
            status = model_read_positive(m, node, &stride->count);
        if (!status)
            status = read_sum(r, node, stride->count, &object->firsts);
    }
    return status;
}

static enum psnap_status read_object_place(const struct model_reading *m,
                                           const struct psnap_yaml_node *map,
                                           struct model_object *object)
{
    const struct psnap_yaml_node *bytes = psnap_yaml_require(m->r->doc, map, "bytes", m->r->error);
    struct psnap_place place;
    enum psnap_status status;

    if (!bytes)
        return PSNAP_ERROR_VALUE;
    status = psnap_yaml_size(m->r->doc, bytes, 1, UINT64_MAX, &object->bytes, m->r->error);
    if (!status)
        status = read_place(m->r, map, &place);
    if (!status)
        object->low = psnap_layout_join(place);
    if (!status && object->bytes > UINT64_MAX - object->low)
        status = psnap_yaml_fail(m->r->doc, bytes, m->r->error, PSNAP_ERROR_VALUE,
                                 "there are not so many addresses from there on");
    return status;
}

/* Pairs of offset and bytes, within the object and one behind the other. */
static enum psnap_status read_ranges(const struct model_reading *m,
                                     const struct psnap_yaml_node *list,
                                     struct model_object *object)
{
    const struct psnap_yaml_doc *doc = m->r->doc;
    enum psnap_status status =
        psnap_yaml_expect(doc, list, PSNAP_YAML_SEQUENCE, "ranges", m->r->error);
    uint64_t end = 0;

    if (!status && (!list->count || list->count > MODEL_RANGES))
        status = psnap_yaml_fail(doc, list, m->r->error, PSNAP_ERROR_VALUE,
                                 "an object has 1 to %d ranges", MODEL_RANGES);
    if (!status && !model_make_items(&object->ranges, list->count, sizeof *object->ranges))
        status = read_out_of_memory(m->r);
    for (const struct psnap_yaml_node *pair = list->first; pair && !status; pair = pair->next) {
        struct model_range *range = &object->ranges[object->range_count++];
        status = psnap_yaml_expect(doc, pair, PSNAP_YAML_SEQUENCE, "a range", m->r->error);
        if (!status && pair->count != 2)
            status = psnap_yaml_fail(doc, pair, m->r->error, PSNAP_ERROR_VALUE,
                                     "a range is an offset and bytes");
        if (!status)
            status = psnap_yaml_size(doc, pair->first, 0, UINT64_MAX, &range->offset, m->r->error);
        if (!status)
            status =
                psnap_yaml_size(doc, pair->first->next, 1, UINT64_MAX, &range->bytes, m->r->error);
        if (!status && (range->offset < end || range->offset >= object->bytes ||
                        range->bytes > object->bytes - range->offset))
            status = psnap_yaml_fail(doc, pair, m->r->error, PSNAP_ERROR_VALUE,
                                     "ranges lie within the object, one behind the other");
        end = range->offset + range->bytes;
    }
    return status;
}

static enum psnap_status read_one_object(const struct model_reading *m,
                                         const struct psnap_yaml_node *map,
                                         struct model_object *object, struct model_name *name)
{
    static const char *const keys[] = {"id",     "symbol", "allocation", "stack",         "group",
                                       "index",  "offset", "bytes",      "first_touches", "pool",
                                       "ranges", NULL};
    const struct psnap_yaml_node *firsts, *node;
    enum psnap_status status =
        psnap_yaml_expect_keys(m->r->doc, map, "an object", keys, m->r->error);

    if (!status)
        status = model_read_name(m, map, name, &object->id);
    for (uint8_t kind = 0; kind < 3 && !status; kind++) {
        const char *text;
        node = psnap_yaml_get(map, psnap_object_keys[kind]);
        if (!node)
            continue;
        status = psnap_yaml_text(m->r->doc, node, &text, m->r->error);
        if (!status && object->name)
            status = psnap_yaml_fail(m->r->doc, node, m->r->error, PSNAP_ERROR_VALUE,
                                     "an object has one name");
        if (!status && !(object->name = strdup(text)))
            status = read_out_of_memory(m->r);
        object->kind = kind;
    }
    node = psnap_yaml_get(map, "pool");
    if (!status && node && (node->kind != PSNAP_YAML_SCALAR || strcmp(node->text, "true") != 0))
        status = psnap_yaml_fail(m->r->doc, node, m->r->error, PSNAP_ERROR_VALUE,
                                 "'pool' is true or not there");
    object->is_pool = node != NULL;
    if (!status)
        status = read_object_place(m, map, object);
    node = psnap_yaml_get(map, "ranges");
    if (!status && node)
        status = read_ranges(m, node, object);
    firsts = psnap_yaml_get(map, "first_touches");
    return !status && firsts ? read_first_touches(m, firsts, object) : status;
}

enum psnap_status model_read_objects(struct model_reading *m, const struct psnap_yaml_node *list)
{
    struct psnap_stream_model *model = m->model;
    enum psnap_status status = PSNAP_OK;

    if (list)
        status = psnap_yaml_expect(m->r->doc, list, PSNAP_YAML_SEQUENCE, "objects", m->r->error);
    if (status || !list)
        return status;
    if (!model_make_items(&model->objects, list->count, sizeof *model->objects) ||
        !model_make_items(&m->objects, list->count, sizeof *m->objects))
        return read_out_of_memory(m->r);
    for (const struct psnap_yaml_node *map = list->first; map && !status; map = map->next) {
        m->objects[model->object_count].index = model->object_count;
        status = read_one_object(m, map, &model->objects[model->object_count],
                                 &m->objects[model->object_count]);
        model->object_count++;
    }
    return status ? status : model_sort_names(m, m->objects, model->object_count);
}

/* ---- histograms ---- */

static enum psnap_status read_times(const struct model_reading *m,
                                    const struct psnap_yaml_node *map, uint32_t phase,
                                    struct reuse *reuse)
{
    enum psnap_status status =
        psnap_yaml_expect(m->r->doc, map, PSNAP_YAML_MAP, "reuse times", m->r->error);

    if (!status &&
        !psnap_resize(&reuse->bins, reuse->bin_count + map->count + 1, sizeof *reuse->bins))
        status = read_out_of_memory(m->r);
    for (const struct psnap_yaml_node *node = status ? NULL : map->first; node && !status;
         node = node->next) {
        struct reuse_bin_count *bin = &reuse->bins[reuse->bin_count];
        int64_t time = 0;
        *bin = (struct reuse_bin_count){.phase = phase, .bin = REUSE_FIRST};
        if (strcmp(node->key, "first") != 0) {
            status = model_read_key(m, node, &time);
            bin->bin = reuse_bin((uint64_t)time);
            if (!status && (time < 0 || reuse_bin_low(bin->bin) != (uint64_t)time))
                status = psnap_yaml_fail(m->r->doc, node, m->r->error, PSNAP_ERROR_VALUE,
                                         "reuse times are 0 to 16, 32, 64 and so on, or 'first'");
        }
        if (!status && reuse->bin_count && bin[-1].phase == phase && bin[-1].bin >= bin->bin)
            status = psnap_yaml_fail(m->r->doc, node, m->r->error, PSNAP_ERROR_VALUE,
                                     "reuse times must rise, 'first' the last");
        if (!status)
            status = model_read_positive(m, node, &bin->count);
        reuse->bin_count++;
    }
    return status;
}

static enum psnap_status read_places(const struct model_reading *m,
                                     const struct psnap_yaml_node *map,
                                     uint64_t places[REUSE_SLOTS])
{
    enum psnap_status status =
        psnap_yaml_expect(m->r->doc, map, PSNAP_YAML_MAP, "places", m->r->error);

    for (const struct psnap_yaml_node *node = status ? NULL : map->first; node && !status;
         node = node->next) {
        int64_t place;
        status = model_read_key(m, node, &place);
        if (!status && (place < 0 || place % 8 || place >= 8 * REUSE_SLOTS))
            status = psnap_yaml_fail(m->r->doc, node, m->r->error, PSNAP_ERROR_VALUE,
                                     "places in a line are 0, 8, 16 to 56");
        if (!status)
            status =
                psnap_yaml_u64(m->r->doc, node, 1, UINT32_MAX, &places[place / 8], m->r->error);
    }
    return status;
}

static enum psnap_status read_steps(const struct model_reading *m,
                                    const struct psnap_yaml_node *map, struct reuse_steps *steps)
{
    const struct psnap_yaml_doc *doc = m->r->doc;
    enum psnap_status status = psnap_yaml_expect(doc, map, PSNAP_YAML_MAP, "steps", m->r->error);

    for (const struct psnap_yaml_node *node = status ? NULL : map->first; node && !status;
         node = node->next) {
        int64_t bytes = 0;
        uint64_t *count = &steps->elsewhere;
        if (strcmp(node->key, "elsewhere") != 0) {
            status = model_read_key(m, node, &bytes);
            if (!status && (bytes <= -REUSE_LINE || bytes >= REUSE_LINE))
                status = psnap_yaml_fail(doc, node, m->r->error, PSNAP_ERROR_VALUE,
                                         "steps within a line are -%d to %d bytes long",
                                         REUSE_LINE - 1, REUSE_LINE - 1);
            if (!status && steps->count == REUSE_STEPS)
                status = psnap_yaml_fail(doc, node, m->r->error, PSNAP_ERROR_VALUE,
                                         "at most %d steps, others are 'elsewhere'", REUSE_STEPS);
            if (status)
                return status;
            steps->steps[steps->count].bytes = (int32_t)bytes;
            count = &steps->steps[steps->count++].count;
        }
        status = psnap_yaml_u64(doc, node, 1, UINT32_MAX, count, m->r->error);
    }
    return status;
}

/* Weights of octaves of executions; there are first touches in the first phase. */
static enum psnap_status read_when(const struct model_reading *m, const struct psnap_yaml_node *map,
                                   struct reuse *reuse)
{
    const struct psnap_yaml_doc *doc = m->r->doc;
    enum psnap_status status = psnap_yaml_expect(doc, map, PSNAP_YAML_MAP, "first_at", m->r->error);
    bool has_firsts = false;

    for (uint32_t i = 0; i < reuse->bin_count; i++)
        has_firsts |= reuse->bins[i].bin == REUSE_FIRST && !reuse->bins[i].phase;
    if (!status && !has_firsts)
        status = psnap_yaml_fail(doc, map, m->r->error, PSNAP_ERROR_VALUE,
                                 "there is no 'first' in the times of the first phase");
    for (const struct psnap_yaml_node *node = status ? NULL : map->first; node && !status;
         node = node->next) {
        int64_t from = 0;
        status = model_read_key(m, node, &from);
        if (!status &&
            (from < 1 || (from & (from - 1)) || reuse_when((uint64_t)from - 1) == REUSE_WHEN - 1))
            status = psnap_yaml_fail(doc, node, m->r->error, PSNAP_ERROR_VALUE,
                                     "executions are counted from powers of two on: 1, 2, 4 ...");
        if (!status)
            status = psnap_yaml_u64(doc, node, 1, PSNAP_COUNT_MAX,
                                    &reuse->when[reuse_when((uint64_t)from - 1)], m->r->error);
    }
    return status;
}

static enum psnap_status read_one_reuse(const struct model_reading *m,
                                        const struct psnap_yaml_node *map, struct model_ref *ref,
                                        struct reuse *reuse)
{
    static const char *const keys[] = {"object", "times", "phases", "first_at",
                                       "places", "steps", NULL};
    const struct reading *r = m->r;
    const struct psnap_yaml_node *object, *times, *phases, *node;
    struct model_name wanted = {0};
    uint32_t count = 1;
    enum psnap_status status = psnap_yaml_expect_keys(r->doc, map, "reuse", keys, r->error);

    object = status ? NULL : psnap_yaml_require(r->doc, map, "object", r->error);
    if (!object || psnap_yaml_text(r->doc, object, &wanted.id, r->error))
        return PSNAP_ERROR_VALUE;
    reuse->object = model_find(m->objects, m->model->object_count, &wanted);
    if (reuse->object == PSNAP_NONE)
        return psnap_yaml_fail(r->doc, object, r->error, PSNAP_ERROR_VALUE,
                               "there is no object '%.100s'", wanted.id);
    phases = psnap_yaml_get(map, "phases");
    times = phases ? NULL : psnap_yaml_require(r->doc, map, "times", r->error);
    if (!phases && !times)
        return PSNAP_ERROR_VALUE;
    if (phases) {
        status = psnap_yaml_expect(r->doc, phases, PSNAP_YAML_SEQUENCE, "phases", r->error);
        count = status ? 1 : (uint32_t)phases->count;
        if (!status && (!count || count > REUSE_PHASES))
            status = psnap_yaml_fail(r->doc, phases, r->error, PSNAP_ERROR_VALUE,
                                     "1 to %d phases are possible", REUSE_PHASES);
    }
    if (!status && ref->phases && ref->phases != count)
        status = psnap_yaml_fail(r->doc, phases ? phases : times, r->error, PSNAP_ERROR_VALUE,
                                 "%" PRIu32 " phases, but another object has %" PRIu32, count,
                                 ref->phases);
    ref->phases = count;
    if (!status && times)
        status = read_times(m, times, 0, reuse);
    count = 0;
    for (node = phases && !status ? phases->first : NULL; node && !status; node = node->next)
        status = read_times(m, node, count++, reuse);
    node = psnap_yaml_get(map, "first_at");
    if (!status && node)
        status = read_when(m, node, reuse);
    node = psnap_yaml_get(map, "places");
    if (!status && node)
        status = read_places(m, node, reuse->slots);
    node = psnap_yaml_get(map, "steps");
    return !status && node ? read_steps(m, node, &reuse->steps) : status;
}

enum psnap_status model_read_reuse(const struct model_reading *m,
                                   const struct psnap_yaml_node *list, struct model_ref *ref)
{
    enum psnap_status status =
        psnap_yaml_expect(m->r->doc, list, PSNAP_YAML_SEQUENCE, "reuse", m->r->error);

    ref->rule = MODEL_REUSE;
    if (!status && !list->count)
        status = psnap_yaml_fail(m->r->doc, list, m->r->error, PSNAP_ERROR_VALUE,
                                 "a reuse histogram is of an object");
    if (!status && !model_make_items(&ref->reuses, list->count, sizeof *ref->reuses))
        status = read_out_of_memory(m->r);
    for (const struct psnap_yaml_node *map = status ? NULL : list->first; map && !status;
         map = map->next)
        status = read_one_reuse(m, map, ref, &ref->reuses[ref->reuse_count++]);
    return status;
}
