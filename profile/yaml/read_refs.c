/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data objects and references of a stream's model from YAML: where each reference goes, by a nest
 * of addresses, by bases and offsets, or by reuse histograms of objects.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/layout.h"
#include "formats/base/room.h"
#include "profile/yaml/read_model.h"
#include "profile/yaml/yaml_keys.h"

static const char *const ref_kinds[3] = {"load", "store", "atomic"};

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

/* ---- references ---- */

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

static enum psnap_status read_reuse(const struct model_reading *m,
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

/* Offsets from a base, which is looked up when all references are there. */
static enum psnap_status read_offsets(const struct model_reading *m,
                                      const struct psnap_yaml_node *map, struct model_ref *ref)
{
    const struct reading *r = m->r;
    const struct psnap_yaml_node *offset = psnap_yaml_get(map, "offset"), *node;
    const struct psnap_yaml_node *offsets = psnap_yaml_get(map, "offsets");
    enum psnap_status status = PSNAP_OK;

    ref->rule = MODEL_DEPENDENT;
    if (!offset == !offsets)
        return psnap_yaml_fail(r->doc, map, r->error, PSNAP_ERROR_VALUE,
                               "a dependent reference has 'offset' or 'offsets'");
    if (offset) {
        ref->offset_count = 1;
        ref->offsets[0].count = 1;
        return psnap_yaml_i64(r->doc, offset, INT64_MIN, INT64_MAX, &ref->offsets[0].bytes,
                              r->error);
    }
    status = psnap_yaml_expect(r->doc, offsets, PSNAP_YAML_MAP, "offsets", r->error);
    if (!status && (!offsets->count || offsets->count > DEPEND_OFFSETS))
        status = psnap_yaml_fail(r->doc, offsets, r->error, PSNAP_ERROR_VALUE,
                                 "1 to %d offsets are possible", DEPEND_OFFSETS);
    for (node = status ? NULL : offsets->first; node && !status; node = node->next) {
        status = model_read_key(m, node, &ref->offsets[ref->offset_count].bytes);
        if (!status)
            status = model_read_positive(m, node, &ref->offsets[ref->offset_count++].count);
    }
    return status;
}

enum psnap_status model_read_ref(const struct model_reading *m, const struct psnap_yaml_node *map,
                                 uint32_t loop, struct model_ref *ref, struct model_name *name)
{
    static const char *const keys[] = {
        "ref",     "load", "store", "atomic", "thread",  "region", "start", "nest",    "counts",
        "strides", "base", "bases", "offset", "offsets", "reuse",  "sweep", "element", NULL};
    static const char *const of_runs[] = {"region", "counts", "strides"};
    const struct reading *r = m->r;
    const struct psnap_yaml_node *node, *base, *reuse, *sweep;
    uint64_t number = 0, size = 0, kinds = 0, thread = 0, element = 0;
    enum psnap_status status = psnap_yaml_expect_keys(r->doc, map, "a reference", keys, r->error);

    node = status ? NULL : psnap_yaml_require(r->doc, map, "ref", r->error);
    if (!node)
        return PSNAP_ERROR_VALUE;
    status = psnap_yaml_u64(r->doc, node, 0, UINT32_MAX / 2, &number, r->error);
    *name = (struct model_name){.loop = loop, .number = (uint32_t)number, .node = node};
    for (uint8_t kind = 0; kind < 3 && !status; kind++) {
        node = psnap_yaml_get(map, ref_kinds[kind]);
        if (!node)
            continue;
        ref->kind = kind;
        kinds++;
        status = psnap_yaml_u64(r->doc, node, 1, PSNAP_ACCESS_SIZE_MAX, &size, r->error);
    }
    if (!status && kinds != 1)
        status = psnap_yaml_fail(r->doc, map, r->error, PSNAP_ERROR_VALUE,
                                 "a reference has one of 'load', 'store' and 'atomic'");
    node = psnap_yaml_get(map, "thread");
    if (!status && node)
        status = psnap_yaml_u64(r->doc, node, 0, PSNAP_THREADS_MAX - 1, &thread, r->error);
    ref->loop = loop;
    ref->number = (uint32_t)number;
    ref->size = (uint8_t)size;
    ref->thread = (uint16_t)thread;
    ref->addresses.patterns = m->model->patterns;
    base = psnap_yaml_get(map, "base");
    base = base ? base : psnap_yaml_get(map, "bases");
    reuse = psnap_yaml_get(map, "reuse");
    sweep = psnap_yaml_get(map, "sweep");
    if (!status && (base != NULL) + (reuse != NULL) + (sweep != NULL) +
                           (psnap_yaml_get(map, "start") || psnap_yaml_get(map, "nest")) !=
                       1)
        status = psnap_yaml_fail(r->doc, map, r->error, PSNAP_ERROR_VALUE,
                                 "a reference has addresses ('start' or 'nest'), a 'base', a "
                                 "'sweep', or 'reuse' times");
    node = psnap_yaml_get(map, "element");
    if (!status && node && (base || reuse || sweep))
        status = psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                                 "only addresses are of elements");
    if (!status && node)
        status = psnap_yaml_u64(r->doc, node, 1, size, &element, r->error);
    if (!status && element && size % element)
        status =
            psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                            "an access of %" PRIu64 " bytes has no whole number of elements", size);
    ref->element = (uint8_t)element;
    for (size_t i = 0; i < sizeof of_runs / sizeof *of_runs && !status; i++) {
        node = psnap_yaml_get(map, of_runs[i]);
        if (node && !psnap_yaml_get(map, "start") && (i || !psnap_yaml_get(map, "nest")))
            status = psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                                     "'%s' is of a reference with 'start'", of_runs[i]);
    }
    if (status)
        return status;
    if (sweep) {
        ref->rule = MODEL_SHARED;
        return PSNAP_OK; /* whose it is is looked up when all references are there */
    }
    if (base)
        return read_offsets(m, map, ref);
    if (reuse)
        return read_reuse(m, reuse, ref);
    return read_numbers(r, map, &r->profile->loops[loop], &ref->addresses);
}

/* A base of a dependent reference, or the one whose sweep another one shares. */
static enum psnap_status read_base(const struct model_reading *m,
                                   const struct psnap_yaml_node *node,
                                   const struct name_index *names, const struct model_ref *ref,
                                   uint32_t *base)
{
    static const char *const keys[] = {"loop", "ref", NULL};
    const struct reading *r = m->r;
    const struct psnap_yaml_node *number = node, *loop;
    struct model_name wanted = {.loop = ref->loop};
    uint64_t value;
    enum psnap_status status = PSNAP_OK;

    if (node->kind == PSNAP_YAML_MAP) {
        const struct named_node *named = NULL;
        status = psnap_yaml_known_keys(r->doc, node, keys, r->error);
        loop = status ? NULL : psnap_yaml_require(r->doc, node, "loop", r->error);
        number = loop ? psnap_yaml_require(r->doc, node, "ref", r->error) : NULL;
        if (!number)
            return PSNAP_ERROR_VALUE;
        if (loop->text)
            named = find_name(names, loop->text);
        if (!named)
            return psnap_yaml_fail(r->doc, loop, r->error, PSNAP_ERROR_VALUE, "no such loop");
        wanted.loop = named->index;
    }
    status = psnap_yaml_u64(r->doc, number, 0, UINT32_MAX / 2, &value, r->error);
    if (status)
        return status;
    wanted.number = (uint32_t)value;
    *base = model_find(m->refs, m->model->ref_count, &wanted);
    if (*base == PSNAP_NONE)
        return psnap_yaml_fail(r->doc, number, r->error, PSNAP_ERROR_VALUE,
                               "there is no such reference");
    return PSNAP_OK;
}

enum psnap_status model_read_bases(const struct model_reading *m, const struct psnap_yaml_node *map,
                                   const struct name_index *names, struct model_ref *ref)
{
    const struct psnap_yaml_node *base = psnap_yaml_get(map, "base"), *node;
    const struct psnap_yaml_node *bases = psnap_yaml_get(map, "bases");
    enum psnap_status status;

    if (base && bases)
        return psnap_yaml_fail(m->r->doc, bases, m->r->error, PSNAP_ERROR_VALUE,
                               "'base' (line %" PRIu32 ") stands there as well", base->src_line);
    if (base)
        return read_base(m, base, names, ref, &ref->bases[ref->base_count++]);
    status = psnap_yaml_expect(m->r->doc, bases, PSNAP_YAML_SEQUENCE, "bases", m->r->error);
    if (!status && (!bases->count || bases->count > DEPEND_BASES))
        status = psnap_yaml_fail(m->r->doc, bases, m->r->error, PSNAP_ERROR_VALUE,
                                 "1 to %d bases are possible", DEPEND_BASES);
    for (node = status ? NULL : bases->first; node && !status; node = node->next)
        status = read_base(m, node, names, ref, &ref->bases[ref->base_count++]);
    return status;
}

enum psnap_status model_read_sweep(const struct model_reading *m, const struct psnap_yaml_node *map,
                                   const struct name_index *names, struct model_ref *ref)
{
    const struct psnap_yaml_node *node = psnap_yaml_get(map, "sweep");
    const struct model_ref *of;
    enum psnap_status status = read_base(m, node, names, ref, &ref->sweep);

    if (status)
        return status;
    of = &m->model->refs[ref->sweep];
    if (!of->element)
        return psnap_yaml_fail(m->r->doc, node, m->r->error, PSNAP_ERROR_VALUE,
                               "that reference has no addresses with 'element'");
    if (ref->size % of->element)
        return psnap_yaml_fail(m->r->doc, node, m->r->error, PSNAP_ERROR_VALUE,
                               "an access of %u bytes has no whole number of elements of %u",
                               (unsigned)ref->size, (unsigned)of->element);
    if (ref->thread != of->thread)
        return psnap_yaml_fail(m->r->doc, node, m->r->error, PSNAP_ERROR_VALUE,
                               "that reference is another thread's");
    return PSNAP_OK;
}

/* No reference depends on itself by way of others: each is settled when all of its bases are. */
enum psnap_status model_check_bases(const struct model_reading *m)
{
    const struct psnap_stream_model *model = m->model;
    bool *is_settled = calloc(model->ref_count + (size_t)1, sizeof *is_settled);
    bool has_changed = is_settled != NULL;
    enum psnap_status status = is_settled ? PSNAP_OK : read_out_of_memory(m->r);

    while (has_changed) {
        has_changed = false;
        for (uint32_t i = 0; i < model->ref_count; i++) {
            const struct model_ref *ref = &model->refs[i];
            bool are_bases = !is_settled[i];
            for (uint32_t k = 0; ref->rule == MODEL_DEPENDENT && k < ref->base_count; k++)
                are_bases &= is_settled[ref->bases[k]];
            is_settled[i] |= are_bases;
            has_changed |= are_bases;
        }
    }
    for (uint32_t i = 0; i < model->ref_count && !status; i++)
        if (!is_settled[i])
            status = psnap_yaml_fail(m->r->doc, m->ref_nodes[i], m->r->error, PSNAP_ERROR_VALUE,
                                     "this reference depends on itself");
    free(is_settled);
    return status;
}
