/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data objects that irregular references access: name, place, the parts of it that they are, and
 * the strides of first touches.
 */
#include <inttypes.h>
#include <string.h>

#include "profile/yaml/fields.h"

/* An object as the file has it. */
struct object {
    struct model_object object;
    struct psnap_place place;
};

static void read_pool(struct psnap_reading *r, const struct psnap_yaml_node *node, void *record)
{
    if (node->kind != PSNAP_YAML_SCALAR || strcmp(node->text, "true") != 0)
        psnap_read_fail(r, node, "'pool' is true or not there");
    ((struct model_object *)record)->is_pool = true;
}

static void write_pool(const struct psnap_writing *w, const void *record)
{
    if (((const struct model_object *)record)->is_pool)
        psnap_yaml_add_text(w->doc, w->map, w->field->key, "true");
}

/* Pairs of offset and bytes, within the object and one behind the other. */
static void read_ranges(struct psnap_reading *r, const struct psnap_yaml_node *list, void *record)
{
    struct model_object *object = record;
    const struct psnap_yaml_node *pair = psnap_read_list(r, list, r->field->key);
    uint64_t end = 0;

    if (!list->count || list->count > MODEL_RANGES)
        psnap_read_fail(r, list, "an object has 1 to %d ranges", MODEL_RANGES);
    psnap_read_heap(r, &object->ranges, list->count, sizeof *object->ranges);
    for (; pair && !r->status; pair = pair->next) {
        struct model_range *range = &object->ranges[object->range_count++];
        if (psnap_read_is(r, pair, PSNAP_YAML_SEQUENCE, "a range") && pair->count != 2)
            psnap_read_fail(r, pair, "a range is an offset and bytes");
        if (r->status)
            return;
        range->offset = psnap_read_size(r, pair->first, 0, UINT64_MAX);
        range->bytes = psnap_read_size(r, pair->last, 1, UINT64_MAX);
        if (range->offset < end || range->offset >= object->bytes ||
            range->bytes > object->bytes - range->offset)
            psnap_read_fail(r, pair, "ranges lie within the object, one behind the other");
        end = range->offset + range->bytes;
    }
}

static void write_ranges(const struct psnap_writing *w, const void *record)
{
    struct psnap_yaml_node *map = w->map;
    const struct model_object *object = record;

    if (object->range_count)
        map = psnap_write_list(w);
    for (uint32_t i = 0; i < object->range_count; i++) {
        struct psnap_yaml_node *pair = psnap_yaml_add_sequence(w->doc, map, NULL, PSNAP_YAML_FLOW);
        psnap_yaml_add_u64(w->doc, pair, NULL, object->ranges[i].offset);
        psnap_yaml_add_u64(w->doc, pair, NULL, object->ranges[i].bytes);
    }
}

static void read_first_touches(struct psnap_reading *r, const struct psnap_yaml_node *map,
                               void *record)
{
    struct model_object *object = record;
    const struct psnap_yaml_node *strides = psnap_yaml_get(map, "strides_lines"), *node;

    psnap_read_keys(r, map, r->field->key, "strides_lines", "elsewhere");
    object->firsts = read_count(r, map, "elsewhere", 0);
    node = psnap_read_map(r, strides, "strides_lines");
    if (strides && strides->count > REUSE_STRIDES)
        psnap_read_fail(r, strides, "more than %d strides of first touches", REUSE_STRIDES);
    for (; node && !r->status; node = node->next) {
        struct reuse_stride *stride = &object->strides[object->stride_count++];
        stride->lines = read_key(r, node);
        stride->count = read_positive(r, node);
        read_sum(r, node, stride->count, &object->firsts);
    }
}

static void write_first_touches(const struct psnap_writing *w, const void *record)
{
    struct psnap_yaml_node *map;
    const struct model_object *object = record;
    uint64_t elsewhere = object->firsts;
    struct psnap_yaml_node *strides;

    if (!object->firsts)
        return;
    map = psnap_write_map(w);
    strides = psnap_yaml_add_map(w->doc, map, "strides_lines", PSNAP_YAML_FLOW);
    for (uint32_t i = 0; i < object->stride_count; i++) {
        write_bin(w, strides, object->strides[i].lines, object->strides[i].count);
        elsewhere -= object->strides[i].count;
    }
    psnap_yaml_add_u64(w->doc, map, "elsewhere", elsewhere);
}

#define OBJECT_NAME(the_kind)                                                                      \
    PSNAP_FIELD_TEXT, PSNAP_AT(struct object, object.name),                                        \
        .rules = PSNAP_FIELD_TAGGED | PSNAP_FIELD_HEAP,                                            \
        .tag_at = offsetof(struct object, object.kind), .tag = the_kind

static const struct psnap_field object_fields[] = {
    {"id", PSNAP_FIELD_TEXT, PSNAP_AT(struct object, object.id),
     .rules = PSNAP_FIELD_NEEDED | PSNAP_FIELD_HEAP},
    {"symbol", OBJECT_NAME(PSNAP_OBJECT_GLOBAL)},
    {"allocation", OBJECT_NAME(PSNAP_OBJECT_ALLOCATION)},
    {"stack", OBJECT_NAME(PSNAP_OBJECT_STACK)},
    {"pool", FIELD_FORM(read_pool, write_pool)},
    FIELD_GROUP(struct object, place.group),
    FIELD_INDEX(struct object, place.index),
    FIELD_OFFSET(struct object, place.offset),
    FIELD_BYTES(struct object, object.bytes),
    {"ranges", FIELD_FORM(read_ranges, write_ranges)},
    {"first_touches", FIELD_FORM(read_first_touches, write_first_touches)},
};
static const struct psnap_record object_record = PSNAP_RECORD("an object", object_fields, FLOW);

static void read_object(struct psnap_reading *r, const struct psnap_yaml_node *map, uint32_t index)
{
    struct psnap_stream_model *model = profile_of(r)->model;
    struct model_object *to = &model->objects[index];
    struct object read = {.place = {0}};
    const struct psnap_yaml_node *names[2];

    find_two(map, psnap_object_keys, names);
    if (names[1])
        psnap_read_fail(r, names[1], "an object has one name");
    psnap_record_read(r, map, &object_record, &read);
    read.object.low = psnap_layout_join(read.place);
    if (read.object.bytes > UINT64_MAX - read.object.low)
        psnap_read_fail(r, psnap_yaml_get(map, "bytes"),
                        "there are not so many addresses from there on");
    *to = read.object;
    model->object_count++;
}

void read_objects(struct psnap_reading *r, const struct psnap_yaml_node *list)
{
    struct profile_reading *p = profile_of(r);

    make_items(r, list ? list->count : 0, &p->objects, &p->model->objects,
               sizeof *p->model->objects);
    read_items(r, list, "objects", &p->objects, read_object);
    name_items(r, &p->objects, NULL);
}

void write_object(const struct psnap_writing *w, struct psnap_yaml_node *list,
                  const struct model_object *object)
{
    const struct object from = {*object, psnap_layout_split(object->low)};

    psnap_record_write(w, list, NULL, &object_record, &from);
}
