/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bodies of loops: the references that an iteration has, and how many iterations executions have, a
 * nest of numbers or a histogram (`drawn`). A body may be `of` several others, one after the other:
 * the parts that the compiler made of a loop of the source. When such a body has iterations these
 * tell those of its parts.
 */
#include <inttypes.h>
#include <string.h>

#include "profile/yaml/fields.h"

/* ---- trip counts ---- */

static void read_bin(struct psnap_reading *r, const struct psnap_yaml_node *map,
                     struct trips *trips)
{
    struct trips_bin *bin = &trips->bins[trips->count++];
    const struct psnap_yaml_node *is = psnap_yaml_get(map, "is"), *to, *times;

    psnap_read_keys(r, map, "a bin", "is", "from", "to", "times", "sum");
    bin->low = psnap_read_u64(r, is ? is : psnap_read_require(r, map, "from"), 0, PSNAP_COUNT_MAX);
    to = is ? is : psnap_read_require(r, map, "to");
    bin->high = psnap_read_u64(r, to, 0, PSNAP_COUNT_MAX);
    times = psnap_read_require(r, map, "times");
    bin->times = read_positive(r, times);
    if (bin->high < bin->low)
        psnap_read_fail(r, to, "'to' is less than 'from'");
    if (!r->status && bin->high > PSNAP_COUNT_MAX / bin->times)
        psnap_read_fail(r, times, "too much");
    bin->sum = read_count(r, map, "sum", (bin->low + bin->high) * bin->times / 2);
    if (bin->sum < bin->low * bin->times || bin->sum > bin->high * bin->times)
        psnap_read_fail(r, psnap_yaml_get(map, "sum"),
                        "the sum of %" PRIu64 " counts of %" PRIu64 " to %" PRIu64
                        " cannot be %" PRIu64,
                        bin->times, bin->low, bin->high, bin->sum);
    read_sum(r, times, bin->times, &trips->times);
    read_sum(r, times, bin->sum, &trips->sum);
}

static void read_drawn(struct psnap_reading *r, const struct psnap_yaml_node *list,
                       struct trips *trips)
{
    const struct psnap_yaml_node *map = psnap_read_list(r, list, "drawn");

    if (!list->count || list->count > TRIPS_BINS)
        psnap_read_fail(r, list, "1 to %d bins are possible", TRIPS_BINS);
    psnap_read_heap(r, &trips->bins, list->count, sizeof *trips->bins);
    for (; map && !r->status; map = map->next)
        read_bin(r, map, trips);
}

static void write_drawn(const struct psnap_writing *w, struct psnap_yaml_node *parent,
                        const struct trips *trips)
{
    struct psnap_yaml_node *list =
        psnap_yaml_add_sequence(w->doc, parent, "drawn", PSNAP_YAML_FLOW);

    for (uint32_t i = 0; i < trips->count; i++) {
        const struct trips_bin *bin = &trips->bins[i];
        const bool is_one = bin->low == bin->high;
        struct psnap_yaml_node *map = psnap_yaml_add_map(w->doc, list, NULL, PSNAP_YAML_FLOW);
        psnap_yaml_add_u64(w->doc, map, is_one ? "is" : "from", bin->low);
        if (!is_one)
            psnap_yaml_add_u64(w->doc, map, "to", bin->high);
        psnap_yaml_add_u64(w->doc, map, "times", bin->times);
        if (!is_one)
            psnap_yaml_add_u64(w->doc, map, "sum", bin->sum);
    }
}

/* A single run of `count` executions' worth: `iterations: 16`, or one when nothing is said. */
static void set_iterations(struct psnap_reading *r, struct model_body *body, uint64_t iterations)
{
    const uint64_t values[2] = {1, iterations};
    const struct nest_pattern *run = nest_pattern_run(body->trips.patterns, 0);

    psnap_read_has(r, run && nest_terms_push(&body->trips, run, values) ? run : NULL);
}

static void read_iterations(struct psnap_reading *r, const struct psnap_yaml_node *node,
                            void *record)
{
    const struct psnap_yaml_node *drawn = psnap_yaml_get(node, "drawn");
    struct model_body *body = record;

    if (node->kind == PSNAP_YAML_SCALAR) {
        const uint64_t iterations = read_positive(r, node);
        if (!r->status)
            set_iterations(r, body, iterations);
        return;
    }
    psnap_read_keys(r, node, r->field->key, "drawn", "start", "nest", "counts", "strides");
    body->is_drawn = drawn != NULL;
    if (drawn)
        read_drawn(r, drawn, &body->histogram);
    else
        read_numbers(r, node, NULL, &body->trips);
}

static void write_iterations(const struct psnap_writing *w, const void *record)
{
    struct psnap_yaml_node *map;
    const struct model_body *body = record;
    const struct nest_terms *trips = &body->trips;
    const uint64_t *values = trips->count == 1 ? nest_term_values(trips, 0) : NULL;

    if (body->is_part || (body->part_count && !body->is_counted))
        return;
    if (!body->is_drawn && values && !trips->terms[0].pattern->body_count && values[0] == 1) {
        if (values[1] != 1)
            psnap_yaml_add_u64(w->doc, w->map, w->field->key, values[1]);
        return;
    }
    map = psnap_write_map(w);
    if (body->is_drawn)
        write_drawn(w, map, &body->histogram);
    else
        write_numbers(w, map, NULL, trips);
}

/* ---- references, or parts ---- */

static void read_refs(struct psnap_reading *r, const struct psnap_yaml_node *list, void *record)
{
    const struct profile_reading *p = profile_of(r);
    struct model_body *body = record;
    const struct psnap_yaml_node *node = psnap_read_list(r, list, r->field->key);

    if (!list->count)
        psnap_read_fail(r, list, "a body has references");
    psnap_read_heap(r, &body->refs, list->count, sizeof *body->refs);
    for (; node && !r->status; node = node->next) {
        const uint64_t number = psnap_read_u64(r, node, 0, UINT32_MAX / 2);
        const uint32_t ref = find_ref(&p->refs, body->loop, (uint32_t)number);
        if (ref == PSNAP_NONE)
            psnap_read_fail(r, node, "the loop has no reference %" PRIu64, number);
        else if (p->model->refs[ref].thread != body->thread)
            psnap_read_fail(r, node, "reference %" PRIu64 " is another thread's", number);
        for (uint32_t k = 0; k < body->width; k++)
            if (body->refs[k] == ref)
                psnap_read_fail(r, node, "reference %" PRIu64 " is in the body twice", number);
        body->refs[body->width++] = ref;
    }
}

/* Parts are looked up when all bodies are there. */
static void read_of(struct psnap_reading *r, const struct psnap_yaml_node *list, void *record)
{
    struct model_body *body = record;

    psnap_read_is(r, list, PSNAP_YAML_SEQUENCE, r->field->key);
    if (!list->count || list->count > EXPAND_PARTS || body->width)
        psnap_read_fail(r, list, "a body has references, or is of 1 to %d parts", EXPAND_PARTS);
    if (psnap_read_heap(r, &body->parts, list->count, sizeof *body->parts))
        body->part_count = (uint32_t)list->count;
}

static void write_part_body(const struct psnap_writing *w, const void *record)
{
    const struct expand_part *part = record;

    psnap_yaml_add_text(w->doc, w->map, w->field->key,
                        profile_to(w)->profile->stream->bodies[part->body].id);
}

#define PART_COUNT(member) FIELD_COUNT(struct expand_part, member)

static const struct psnap_field part_fields[] = {
    {"body", FIELD_FORM(NULL, write_part_body), .rules = PSNAP_FIELD_NEEDED},
    {"width", PART_COUNT(width), .missing = 1, .rules = PSNAP_FIELD_ALWAYS},
    {"leaves", PART_COUNT(leaves)},
    {"from", PART_COUNT(from), .missing = UINT64_MAX}, /* width + leaves */
};
static const struct psnap_record part_record = PSNAP_RECORD("a part", part_fields, FLOW);

/* A part of a body: how many iterations of the source one of it is, where these are counted. */
static void write_ref_list(const struct psnap_writing *w, const void *record)
{
    struct psnap_yaml_node *map;
    const struct model_body *body = record;
    const struct psnap_stream_model *model = profile_to(w)->profile->stream;

    if ((body->part_count > 0) != (w->field->tag > 0))
        return;
    map = psnap_write_list(w);
    for (uint32_t k = 0; k < body->width; k++)
        psnap_yaml_add_u64(w->doc, map, NULL, model->refs[body->refs[k]].number);
    for (uint32_t k = 0; k < body->part_count; k++) {
        struct expand_part part = body->parts[k];
        if (part.from == part.width + part.leaves)
            part.from = UINT64_MAX;
        if (body->is_counted && part.width != 1)
            psnap_record_write(w, map, NULL, &part_record, &part);
        else
            psnap_yaml_add_text(w->doc, map, NULL, model->bodies[part.body].id);
    }
}

static const struct psnap_field body_fields[] = {
    {"id", PSNAP_FIELD_TEXT, PSNAP_AT(struct model_body, id),
     .rules = PSNAP_FIELD_NEEDED | PSNAP_FIELD_HEAP},
    {"thread", FIELD_THREAD(struct model_body, thread)},
    {"refs", FIELD_FORM(read_refs, write_ref_list), .tag = false},
    {"of", FIELD_FORM(read_of, write_ref_list), .tag = true},
    {"iterations", FIELD_FORM(read_iterations, write_iterations)},
};
const struct psnap_record body_record = PSNAP_RECORD("a body", body_fields, FLOW);

void read_body(struct psnap_reading *r, const struct psnap_yaml_node *map, uint32_t index)
{
    struct psnap_stream_model *model = profile_of(r)->model;
    struct model_body *body = &model->bodies[index];

    model->body_count++;
    body->loop = profile_of(r)->loop;
    body->trips.patterns = model->patterns;
    psnap_record_read(r, map, &body_record, body);
    if (r->status)
        return;
    if (!strcmp(body->id, MODEL_OUTSIDE))
        psnap_read_fail(r, psnap_yaml_get(map, "id"), "'%s' is no name of a body", MODEL_OUTSIDE);
    if (!body->part_count && !body->width)
        psnap_read_require(r, map, "refs");
    body->is_counted = body->part_count && body->trips.count > 0;
    if (body->part_count && body->is_drawn)
        psnap_read_fail(r, psnap_yaml_get(map, "iterations"),
                        "drawn iterations do not tell those of parts, which must have their own");
}

/* ---- parts, when all bodies are there ---- */

static void read_part(struct psnap_reading *r, const struct psnap_yaml_node *node,
                      const struct model_body *whole, struct expand_part *part)
{
    const struct profile_reading *p = profile_of(r);
    const bool is_map = node->kind == PSNAP_YAML_MAP;
    const struct psnap_yaml_node *id = node;
    const struct model_body *body;
    const char *text;

    *part = (struct expand_part){.width = 1, .from = UINT64_MAX};
    if (is_map) {
        psnap_record_read(r, node, &part_record, part);
        id = psnap_read_require(r, node, "body");
    }
    text = psnap_read_text(r, id);
    part->body = find_id(&p->bodies, text);
    body = part->body == PSNAP_NONE ? NULL : &p->model->bodies[part->body];
    if (!body || body->part_count || body->thread != whole->thread)
        psnap_read_fail(r, id, "there is no body '%.100s' that could be a part", text);
    if (is_map && !whole->is_counted)
        psnap_read_fail(r, node, "without 'iterations' parts are ids");
    if (part->from == UINT64_MAX)
        part->from = part->width + part->leaves;
    if (!part->width)
        psnap_read_fail(r, node, "'width' is 0");
    if (part->from < part->leaves)
        psnap_read_fail(r, node, "'from' is less than 'leaves'");
}

/* Whether widths differ and one part, of width 1, takes all that is left. */
static bool are_widths(const struct model_body *whole)
{
    uint32_t ones = 0;

    for (uint32_t i = 0; i < whole->part_count; i++) {
        const struct expand_part *part = &whole->parts[i];
        ones += part->width == 1;
        if (part->width == 1 && (part->leaves || part->from > 1))
            return false;
        for (uint32_t k = 0; k < i; k++)
            if (whole->parts[k].width == part->width || whole->parts[k].body == part->body)
                return false;
    }
    return ones == 1;
}

static void read_parts_of(struct psnap_reading *r, const struct psnap_yaml_node *list,
                          struct model_body *whole)
{
    const struct psnap_yaml_node *node = list->first;

    for (uint32_t i = 0; node && !r->status; node = node->next)
        read_part(r, node, whole, &whole->parts[i++]);
    if (!whole->is_counted)
        return;
    if (!are_widths(whole))
        psnap_read_fail(r, list, "widths of parts must differ, and one of them must be 1");
    for (uint32_t i = 0; i < whole->part_count && !r->status; i++) {
        struct model_body *part = &profile_of(r)->model->bodies[whole->parts[i].body];
        if (part->is_part || part->trips.count || part->is_drawn)
            psnap_read_fail(r, list, "part '%.100s' has iterations by another rule", part->id);
        part->is_part = true;
    }
}

void read_parts(struct psnap_reading *r)
{
    const struct profile_reading *p = profile_of(r);

    for (uint32_t i = 0; i < p->model->body_count && !r->status; i++)
        if (p->model->bodies[i].part_count)
            read_parts_of(r, psnap_yaml_get(p->bodies.maps[i], "of"), &p->model->bodies[i]);
    for (uint32_t i = 0; i < p->model->body_count && !r->status; i++) {
        struct model_body *body = &p->model->bodies[i];
        if (!body->part_count && !body->is_part && !body->trips.count && !body->is_drawn)
            set_iterations(r, body, 1);
    }
}
