/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Models of irregular references (gather.h) in profiles. What is 0, or of no use to the model's
 * places, is left out.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/gathers/gather_yaml.h"
#include "profile/profile.h"

static const char *const places[] = {"anywhere", "once", "band", "cursors", "sweep", NULL};

/* Numbers of an area that are written by themselves. */
enum kind { U64, U32, I64, REAL, BOOL };

struct field {
    const char *key;
    enum kind kind;
    size_t at;
    uint64_t low; /* U64, U32: at least */
};

#define FIELD(key, kind, member, low) {key, kind, offsetof(struct gather_area, member), low}

static const struct field fields[] = {FIELD("accesses", U64, accesses, 1),
                                      FIELD("bytes", U64, span_bytes, 1),
                                      FIELD("element", U32, element_bytes, 1),
                                      FIELD("fixed", REAL, fixed, 0),
                                      FIELD("lap", U64, lap, 0),
                                      FIELD("same_order", BOOL, same_order, 0),
                                      FIELD("place_bytes", U64, place_bytes, 0),
                                      FIELD("downwards", BOOL, downwards, 0),
                                      FIELD("inside", REAL, inside, 0),
                                      FIELD("cursor_step", I64, cursor_step, 0),
                                      FIELD("sweep_bytes", I64, sweep_bytes, 0),
                                      {NULL, U64, 0, 0}};

static const char *const area_keys[] = {
    "region",      "start",      "accesses",    "bytes",     "element", "fixed",
    "lap",         "same_order", "place_bytes", "downwards", "inside",  "cursor_step",
    "sweep_bytes", "steps",      "next",        "places",    "parts",   "classes",
    "cursors",     "reach",      "offsets",     "echoes",    NULL};

static double rounded(double value)
{
    char text[32];

    snprintf(text, sizeof text, "%.5g", value);
    return strtod(text, NULL);
}

static void round_all(double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = rounded(values[i]);
}

static void round_area(struct gather_area *area)
{
    round_all(&area->next[0][0], sizeof area->next / sizeof(double));
    round_all(area->parts, GATHER_PARTS);
    round_all(area->echoes, GATHER_ECHOES);
    area->fixed = rounded(area->fixed);
    area->inside = rounded(area->inside);
    for (uint32_t i = 0; i < area->class_count; i++) {
        area->classes[i].lines = rounded(area->classes[i].lines);
        area->classes[i].jumps = rounded(area->classes[i].jumps);
    }
    for (uint32_t i = 0; i < area->cursor_classes; i++)
        area->cursors[i].share = rounded(area->cursors[i].share);
    for (uint32_t i = 0; i < area->knot_count; i++) {
        area->knots[i].low = rounded(area->knots[i].low);
        area->knots[i].high = rounded(area->knots[i].high);
    }
}

void gather_round(struct psnap_gather *gather)
{
    for (uint32_t i = 0; i < gather->area_count; i++)
        round_area(&gather->areas[i]);
    round_all(&gather->next_area[0][0], sizeof gather->next_area / sizeof(double));
}

/* ---- writing ---- */

static void add_reals(struct psnap_yaml_doc *doc, struct psnap_yaml_node *map, const char *key,
                      const double *values, uint32_t count, bool is_cut)
{
    struct psnap_yaml_node *list;

    while (is_cut && count && values[count - 1] == 0)
        count--;
    if (!count)
        return;
    list = psnap_yaml_add_sequence(doc, map, key, PSNAP_YAML_FLOW);
    for (uint32_t i = 0; i < count; i++)
        psnap_yaml_add_real(doc, list, NULL, rounded(values[i]));
}

static void add_field(struct psnap_yaml_doc *doc, struct psnap_yaml_node *map,
                      const struct field *field, const struct gather_area *area)
{
    const char *at = (const char *)area + field->at;
    uint64_t number = 0;
    uint32_t word;
    int64_t step = 0;
    double real = 0;
    bool is_so = false;

    switch (field->kind) {
    case U64:
        memcpy(&number, at, sizeof number);
        break;
    case U32:
        memcpy(&word, at, sizeof word);
        number = word;
        break;
    case BOOL:
        memcpy(&is_so, at, sizeof is_so);
        number = is_so;
        break;
    case I64:
        memcpy(&step, at, sizeof step);
        break;
    case REAL:
        memcpy(&real, at, sizeof real);
        break;
    }
    if (number)
        psnap_yaml_add_u64(doc, map, field->key, number);
    if (step)
        psnap_yaml_add_i64(doc, map, field->key, step);
    if (real != 0)
        psnap_yaml_add_real(doc, map, field->key, rounded(real));
}

static void write_steps(const struct gather_area *area, struct psnap_yaml_doc *doc,
                        struct psnap_yaml_node *map)
{
    struct psnap_yaml_node *list;

    if (!area->step_count)
        return;
    list = psnap_yaml_add_sequence(doc, map, "steps", PSNAP_YAML_FLOW);
    for (uint32_t i = 0; i < area->step_count; i++)
        psnap_yaml_add_i64(doc, list, NULL, area->steps[i]);
    list = psnap_yaml_add_sequence(doc, map, "next", PSNAP_YAML_FLOW);
    for (uint32_t i = 0; i <= area->step_count; i++) {
        struct psnap_yaml_node *row = psnap_yaml_add_sequence(doc, list, NULL, PSNAP_YAML_FLOW);
        for (uint32_t j = 0; j <= area->step_count; j++)
            psnap_yaml_add_real(doc, row, NULL, rounded(area->next[i][j]));
    }
}

static void write_classes(const struct gather_area *area, struct psnap_yaml_doc *doc,
                          struct psnap_yaml_node *map)
{
    struct psnap_yaml_node *list, *item;

    if (area->class_count > 1) {
        list = psnap_yaml_add_sequence(doc, map, "classes", PSNAP_YAML_BLOCK);
        for (uint32_t i = 0; i < area->class_count; i++) {
            item = psnap_yaml_add_map(doc, list, NULL, PSNAP_YAML_FLOW);
            psnap_yaml_add_real(doc, item, "lines", rounded(area->classes[i].lines));
            psnap_yaml_add_real(doc, item, "jumps", rounded(area->classes[i].jumps));
            psnap_yaml_add_u64(doc, item, "spacing", area->classes[i].spacing);
        }
    }
    if (area->cursor_classes) {
        list = psnap_yaml_add_sequence(doc, map, "cursors", PSNAP_YAML_FLOW);
        for (uint32_t i = 0; i < area->cursor_classes; i++) {
            item = psnap_yaml_add_map(doc, list, NULL, PSNAP_YAML_FLOW);
            psnap_yaml_add_u64(doc, item, "count", area->cursors[i].count);
            psnap_yaml_add_real(doc, item, "share", rounded(area->cursors[i].share));
        }
    }
    if (area->knot_count) {
        list = psnap_yaml_add_sequence(doc, map, "reach", PSNAP_YAML_FLOW);
        for (uint32_t i = 0; i < area->knot_count; i++) {
            item = psnap_yaml_add_sequence(doc, list, NULL, PSNAP_YAML_FLOW);
            psnap_yaml_add_real(doc, item, NULL, rounded(area->knots[i].low));
            psnap_yaml_add_real(doc, item, NULL, rounded(area->knots[i].high));
        }
    }
}

static void write_area(const struct gather_area *area, struct psnap_yaml_doc *doc,
                       struct psnap_yaml_node *map)
{
    bool has_offsets = false;

    for (const struct field *field = fields; field->key; field++)
        add_field(doc, map, field, area);
    write_steps(area, doc, map);
    if (area->places)
        psnap_yaml_add_text(doc, map, "places", places[area->places]);
    if (area->part_count > 1)
        add_reals(doc, map, "parts", area->parts, area->part_count, false);
    write_classes(area, doc, map);
    for (uint32_t i = 0; i < GATHER_QUANTILES; i++)
        has_offsets |= area->offsets[i] != 0;
    if (has_offsets) {
        struct psnap_yaml_node *list =
            psnap_yaml_add_sequence(doc, map, "offsets", PSNAP_YAML_FLOW);
        for (uint32_t i = 0; i < GATHER_QUANTILES; i++)
            psnap_yaml_add_i64(doc, list, NULL, area->offsets[i]);
    }
    add_reals(doc, map, "echoes", area->echoes, GATHER_ECHOES, true);
}

void gather_write(const struct psnap_gather *gather, struct psnap_yaml_doc *doc,
                  struct psnap_yaml_node *map, gather_write_place *place, void *context)
{
    struct psnap_yaml_node *list, *item;

    list = psnap_yaml_add_sequence(doc, map, "areas", PSNAP_YAML_BLOCK);
    for (uint32_t i = 0; i < gather->area_count; i++) {
        item = psnap_yaml_add_map(doc, list, NULL, PSNAP_YAML_BLOCK);
        place(context, doc, item, gather->areas[i].base);
        write_area(&gather->areas[i], doc, item);
    }
    if (gather->turn_count) {
        list = psnap_yaml_add_sequence(doc, map, "turns", PSNAP_YAML_FLOW);
        for (uint32_t i = 0; i < gather->turn_count; i++) {
            item = psnap_yaml_add_map(doc, list, NULL, PSNAP_YAML_FLOW);
            psnap_yaml_add_u64(doc, item, "area", gather->turns[i].area);
            psnap_yaml_add_u64(doc, item, "accesses", gather->turns[i].accesses);
        }
    } else if (gather->area_count > 1) {
        list = psnap_yaml_add_sequence(doc, map, "next_area", PSNAP_YAML_FLOW);
        for (uint32_t i = 0; i < gather->area_count; i++) {
            item = psnap_yaml_add_sequence(doc, list, NULL, PSNAP_YAML_FLOW);
            for (uint32_t j = 0; j < gather->area_count; j++)
                psnap_yaml_add_real(doc, item, NULL, rounded(gather->next_area[i][j]));
        }
    }
}

/* ---- reading ---- */

struct gather_reading {
    const struct psnap_yaml_doc *doc;
    struct psnap_error *error;
};

/* Up to `most` numbers from `low` to `high`; what is not there stays 0. */
static enum psnap_status read_reals(const struct gather_reading *r,
                                    const struct psnap_yaml_node *list, const char *what,
                                    double *values, uint32_t most, uint32_t *count)
{
    enum psnap_status status;

    *count = 0;
    if (!list)
        return PSNAP_OK;
    status = psnap_yaml_expect(r->doc, list, PSNAP_YAML_SEQUENCE, what, r->error);
    if (!status && list->count > most)
        status = psnap_yaml_fail(r->doc, list, r->error, PSNAP_ERROR_VALUE,
                                 "'%s' has more than %" PRIu32 " numbers", what, most);
    for (const struct psnap_yaml_node *node = status ? NULL : list->first; node && !status;
         node = node->next)
        status = psnap_yaml_real(r->doc, node, 0, 1, &values[(*count)++], r->error);
    return status;
}

/* A list of at most `most` maps, or of lists. */
static enum psnap_status read_items(const struct gather_reading *r,
                                    const struct psnap_yaml_node *list, const char *what,
                                    size_t most, uint32_t *count)
{
    enum psnap_status status;

    *count = 0;
    if (!list)
        return PSNAP_OK;
    status = psnap_yaml_expect(r->doc, list, PSNAP_YAML_SEQUENCE, what, r->error);
    if (!status && (!list->count || list->count > most))
        status = psnap_yaml_fail(r->doc, list, r->error, PSNAP_ERROR_VALUE,
                                 "'%s' has 1 to %zu items", what, most);
    *count = status ? 0 : (uint32_t)list->count;
    return status;
}

static enum psnap_status require_u64(const struct gather_reading *r,
                                     const struct psnap_yaml_node *map, const char *key,
                                     uint64_t low, uint64_t high, uint64_t *value)
{
    const struct psnap_yaml_node *node = psnap_yaml_require(r->doc, map, key, r->error);

    return node ? psnap_yaml_u64(r->doc, node, low, high, value, r->error) : PSNAP_ERROR_VALUE;
}

static enum psnap_status require_real(const struct gather_reading *r,
                                      const struct psnap_yaml_node *map, const char *key,
                                      double *value)
{
    const struct psnap_yaml_node *node = psnap_yaml_require(r->doc, map, key, r->error);

    return node ? psnap_yaml_real(r->doc, node, 0, 1, value, r->error) : PSNAP_ERROR_VALUE;
}

static enum psnap_status read_field(const struct gather_reading *r,
                                    const struct psnap_yaml_node *map, const struct field *field,
                                    struct gather_area *area)
{
    const int64_t most = (int64_t)PSNAP_COUNT_MAX;
    const struct psnap_yaml_node *node = psnap_yaml_get(map, field->key);
    char *at = (char *)area + field->at;
    enum psnap_status status = PSNAP_OK;
    uint64_t number;
    uint32_t word;
    int64_t step;
    double real;
    bool is_so;

    if (!node && field->low)
        return psnap_yaml_require(r->doc, map, field->key, r->error) ? PSNAP_OK : PSNAP_ERROR_VALUE;
    if (!node)
        return PSNAP_OK;
    switch (field->kind) {
    case U64:
        status = psnap_yaml_u64(r->doc, node, field->low, PSNAP_COUNT_MAX, &number, r->error);
        if (!status)
            memcpy(at, &number, sizeof number);
        break;
    case U32:
        status = psnap_yaml_u64(r->doc, node, field->low, 1 << 20, &number, r->error);
        word = status ? 0 : (uint32_t)number;
        if (!status)
            memcpy(at, &word, sizeof word);
        break;
    case BOOL:
        status = psnap_yaml_u64(r->doc, node, 0, 1, &number, r->error);
        is_so = !status && number;
        memcpy(at, &is_so, sizeof is_so);
        break;
    case I64:
        status = psnap_yaml_i64(r->doc, node, -most, most, &step, r->error);
        if (!status)
            memcpy(at, &step, sizeof step);
        break;
    case REAL:
        status = psnap_yaml_real(r->doc, node, 0, 1, &real, r->error);
        if (!status)
            memcpy(at, &real, sizeof real);
        break;
    }
    return status;
}

static enum psnap_status read_steps(const struct gather_reading *r,
                                    const struct psnap_yaml_node *map, struct gather_area *area)
{
    const struct psnap_yaml_node *list = psnap_yaml_get(map, "steps"), *row, *node;
    enum psnap_status status = read_items(r, list, "steps", GATHER_STEPS, &area->step_count);
    uint32_t i = 0, count;

    for (node = list && !status ? list->first : NULL; node && !status; node = node->next)
        status = psnap_yaml_i64(r->doc, node, -GATHER_STEP_MAX, GATHER_STEP_MAX, &area->steps[i++],
                                r->error);
    if (status || !list)
        return status;
    list = psnap_yaml_require(r->doc, map, "next", r->error);
    if (!list)
        return PSNAP_ERROR_VALUE;
    status = read_items(r, list, "next", GATHER_STEPS + 1, &count);
    if (!status && count != area->step_count + 1)
        return psnap_yaml_fail(r->doc, list, r->error, PSNAP_ERROR_VALUE,
                               "'next' has a row for a jump, and one for each step");
    i = 0;
    for (row = status ? NULL : list->first; row && !status; row = row->next, i++) {
        status = read_reals(r, row, "next", area->next[i], area->step_count + 1, &count);
        if (!status && count != area->step_count + 1)
            status = psnap_yaml_fail(r->doc, row, r->error, PSNAP_ERROR_VALUE,
                                     "a row of 'next' is as long as there are rows");
    }
    return status;
}

static enum psnap_status read_classes(const struct gather_reading *r,
                                      const struct psnap_yaml_node *map, struct gather_area *area)
{
    const struct psnap_yaml_node *list = psnap_yaml_get(map, "classes"), *item;
    enum psnap_status status = read_items(r, list, "classes", GATHER_CLASSES, &area->class_count);
    uint32_t i = 0, count;

    for (item = list && !status ? list->first : NULL; item && !status; item = item->next, i++) {
        struct gather_class *class = &area->classes[i];
        uint64_t spacing = 1;
        status = psnap_yaml_expect(r->doc, item, PSNAP_YAML_MAP, "a class", r->error);
        if (!status && !(status = require_real(r, item, "lines", &class->lines)) &&
            !(status = require_real(r, item, "jumps", &class->jumps)))
            status = require_u64(r, item, "spacing", 0, 1 << 20, &spacing);
        if (!status && (spacing & (spacing - 1)))
            status = psnap_yaml_fail(r->doc, item, r->error, PSNAP_ERROR_VALUE,
                                     "'spacing' is a power of two");
        class->spacing = (uint32_t)spacing;
    }
    if (!status && !list) {
        area->class_count = 1;
        area->classes[0] = (struct gather_class){1, 1, 1};
    }
    list = psnap_yaml_get(map, "cursors");
    if (!status)
        status = read_items(r, list, "cursors", GATHER_CLASSES, &area->cursor_classes);
    i = 0;
    for (item = list && !status ? list->first : NULL; item && !status; item = item->next, i++) {
        status = psnap_yaml_expect(r->doc, item, PSNAP_YAML_MAP, "cursors", r->error);
        if (!status)
            status = require_u64(r, item, "count", 1, GATHER_CURSORS_MAX, &area->cursors[i].count);
        if (!status)
            status = require_real(r, item, "share", &area->cursors[i].share);
    }
    list = psnap_yaml_get(map, "reach");
    if (!status)
        status = read_items(r, list, "reach", GATHER_KNOTS, &area->knot_count);
    i = 0;
    for (item = list && !status ? list->first : NULL; item && !status; item = item->next, i++) {
        double ends[2] = {0, 0};
        status = read_reals(r, item, "reach", ends, 2, &count);
        area->knots[i] = (struct gather_reach){ends[0], ends[1]};
        if (!status && ends[0] > ends[1])
            status = psnap_yaml_fail(r->doc, item, r->error, PSNAP_ERROR_VALUE,
                                     "it ends before it begins");
    }
    return status;
}

/* What the places of an area need. */
static enum psnap_status check_area(const struct gather_reading *r,
                                    const struct psnap_yaml_node *map,
                                    const struct gather_area *area)
{
    const char *message = NULL;

    if ((area->places == GATHER_ONCE || area->places == GATHER_BAND) && !area->lap)
        message = "these places need 'lap'";
    else if (area->places == GATHER_ONCE &&
             (!area->place_bytes || area->lap > area->span_bytes / area->place_bytes))
        message = "the places of a lap, each of 'place_bytes', are more than 'bytes'";
    else if (area->places == GATHER_CURSORS && !area->cursor_classes)
        message = "these places need 'cursors'";
    else if (area->knot_count && area->knot_count != GATHER_KNOTS)
        message = "'reach' has 8 items";
    if (!message)
        return PSNAP_OK;
    return psnap_yaml_fail(r->doc, map, r->error, PSNAP_ERROR_VALUE, "%s", message);
}

static enum psnap_status read_area(const struct gather_reading *r,
                                   const struct psnap_yaml_node *map, struct gather_area *area)
{
    const struct psnap_yaml_node *node = psnap_yaml_get(map, "places"), *list;
    enum psnap_status status = psnap_yaml_known_keys(r->doc, map, area_keys, r->error);
    const char *name;
    uint32_t count, i = 0;

    for (const struct field *field = fields; field->key && !status; field++)
        status = read_field(r, map, field, area);
    if (!status && area->element_bytes > area->span_bytes)
        status = psnap_yaml_fail(r->doc, map, r->error, PSNAP_ERROR_VALUE,
                                 "an element has more bytes than there are");
    if (!status)
        status = read_steps(r, map, area);
    if (!status && node && !(status = psnap_yaml_text(r->doc, node, &name, r->error))) {
        while (places[i] && strcmp(places[i], name) != 0)
            i++;
        if (!places[i])
            status = psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                                     "no places '%.100s'", name);
        area->places = (enum gather_places)i;
    }
    if (!status)
        status = read_reals(r, psnap_yaml_get(map, "parts"), "parts", area->parts, GATHER_PARTS,
                            &area->part_count);
    if (!status && !area->part_count) {
        area->part_count = 1;
        area->parts[0] = 1;
    }
    if (!status)
        status = read_classes(r, map, area);
    list = psnap_yaml_get(map, "offsets");
    if (!status)
        status = read_items(r, list, "offsets", GATHER_QUANTILES, &count);
    i = 0;
    for (node = list && !status ? list->first : NULL; node && !status; node = node->next)
        status = psnap_yaml_i64(r->doc, node, -(int64_t)PSNAP_COUNT_MAX, (int64_t)PSNAP_COUNT_MAX,
                                &area->offsets[i++], r->error);
    if (!status)
        status = read_reals(r, psnap_yaml_get(map, "echoes"), "echoes", area->echoes, GATHER_ECHOES,
                            &count);
    return status ? status : check_area(r, map, area);
}

static enum psnap_status read_turns(const struct gather_reading *r,
                                    const struct psnap_yaml_node *map, struct psnap_gather *gather)
{
    const struct psnap_yaml_node *list = psnap_yaml_get(map, "turns"), *item;
    enum psnap_status status = read_items(r, list, "turns", GATHER_TURNS, &gather->turn_count);
    uint32_t i = 0, count;

    for (item = list && !status ? list->first : NULL; item && !status; item = item->next, i++) {
        uint64_t area = 0;
        status = psnap_yaml_expect(r->doc, item, PSNAP_YAML_MAP, "a turn", r->error);
        if (!status)
            status = require_u64(r, item, "area", 0, gather->area_count - 1, &area);
        if (!status)
            status =
                require_u64(r, item, "accesses", 1, PSNAP_COUNT_MAX, &gather->turns[i].accesses);
        gather->turns[i].area = (uint32_t)area;
    }
    list = psnap_yaml_get(map, "next_area");
    if (!status && gather->area_count > 1 && !list && !gather->turn_count)
        status = psnap_yaml_fail(r->doc, map, r->error, PSNAP_ERROR_VALUE,
                                 "of several areas 'turns' or 'next_area' say which is next");
    if (!status)
        status = read_items(r, list, "next_area", gather->area_count, &count);
    i = 0;
    for (item = list && !status ? list->first : NULL; item && !status; item = item->next)
        status =
            read_reals(r, item, "next_area", gather->next_area[i++], gather->area_count, &count);
    return status;
}

enum psnap_status gather_read(const struct psnap_yaml_doc *doc, const struct psnap_yaml_node *map,
                              gather_read_place *place, void *context, struct psnap_gather *gather,
                              struct psnap_error *error)
{
    const struct gather_reading r = {doc, error};
    const struct psnap_yaml_node *list = psnap_yaml_require(doc, map, "areas", error), *item;
    enum psnap_status status =
        list ? read_items(&r, list, "areas", GATHER_AREAS, &gather->area_count) : PSNAP_ERROR_VALUE;
    uint32_t i = 0;

    for (item = status ? NULL : list->first; item && !status; item = item->next, i++) {
        struct gather_area *area = &gather->areas[i];
        status = psnap_yaml_expect(doc, item, PSNAP_YAML_MAP, "an area", error);
        if (!status)
            status = place(context, item, &area->base);
        if (!status)
            status = read_area(&r, item, area);
        gather->accesses += status ? 0 : area->accesses;
    }
    return status ? status : read_turns(&r, map, gather);
}
