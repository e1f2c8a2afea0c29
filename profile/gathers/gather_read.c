/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Models of irregular references (gather.h), read from profiles: what is left out is 0, ranges and
 * what the model's places need are checked.
 */
#include <inttypes.h>
#include <string.h>

#include "profile/gathers/gather_fields.h"
#include "profile/profile.h"

const char *const gather_place_names[] = {"anywhere", "once",   "band",    "cursors", "sweep",
                                          "around",   "passes", "descent", NULL};

#define FIELD(key, kind, member, low) {key, kind, offsetof(struct gather_area, member), low}

const struct gather_field gather_fields[] = {FIELD("accesses", U64, accesses, 1),
                                             FIELD("bytes", U64, span_bytes, 1),
                                             FIELD("element", U32, element_bytes, 1),
                                             FIELD("grid", U32, grid_bytes, 0),
                                             FIELD("grid_start", U32, grid_start, 0),
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
    "region",     "start",       "accesses",    "bytes",      "element",     "grid",
    "grid_start", "fixed",       "lap",         "same_order", "place_bytes", "downwards",
    "inside",     "cursor_step", "sweep_bytes", "steps",      "next",        "places",
    "parts",      "classes",     "cursors",     "reach",      "offsets",     "echoes",
    "runs",       "passes",      "root",        "levels",     NULL};

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
                                    const struct psnap_yaml_node *map,
                                    const struct gather_field *field, struct gather_area *area)
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

/* Pairs of where a part ends and its share; or shares alone, of equal parts. */
static enum psnap_status read_parts(const struct gather_reading *r,
                                    const struct psnap_yaml_node *map, struct gather_area *area)
{
    const struct psnap_yaml_node *list = psnap_yaml_get(map, "parts"), *item;
    enum psnap_status status = read_items(r, list, "parts", GATHER_PARTS, &area->part_count);
    double last = 0;
    uint32_t i = 0, count = 0;

    for (item = list && !status ? list->first : NULL; item && !status; item = item->next, i++) {
        double pair[2] = {(i + 1.0) / area->part_count, 0};
        if (item->kind == PSNAP_YAML_SEQUENCE)
            status = read_reals(r, item, "parts", pair, 2, &count);
        else
            status = psnap_yaml_real(r->doc, item, 0, 1, &pair[1], r->error);
        if (!status && item->kind == PSNAP_YAML_SEQUENCE && count != 2)
            status = psnap_yaml_fail(r->doc, item, r->error, PSNAP_ERROR_VALUE,
                                     "a part is where it ends, and its share");
        if (!status && pair[0] < last)
            status = psnap_yaml_fail(r->doc, item, r->error, PSNAP_ERROR_VALUE,
                                     "it ends before it begins");
        area->parts[i] = (struct gather_part){last = pair[0], pair[1]};
    }
    if (!status && list && last < 1)
        status = psnap_yaml_fail(r->doc, list, r->error, PSNAP_ERROR_VALUE,
                                 "the last of the 'parts' ends at 1");
    if (!list) {
        area->part_count = 1;
        area->parts[0] = (struct gather_part){1, 1};
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

/* Whether it stays in the area, and arrives. */
static bool is_pass(const struct gather_area *area, const struct gather_pass *pass)
{
    const uint64_t last = area->span_bytes - area->element_bytes;

    return pass->stride && pass->from <= last && pass->to <= last &&
           (pass->stride < 0 ? pass->to <= pass->from : pass->from <= pass->to);
}

static enum psnap_status read_stretch(const struct gather_reading *r,
                                      const struct psnap_yaml_node *row,
                                      const struct gather_area *area,
                                      struct gather_stretch *stretch)
{
    enum { SAME = 4, FIELDS = 7 };
    const int64_t most = (int64_t)PSNAP_COUNT_MAX;
    enum psnap_status status =
        psnap_yaml_expect(r->doc, row, PSNAP_YAML_SEQUENCE, "passes", r->error);
    int64_t n[FIELDS] = {0};
    uint32_t count = 0;

    for (const struct psnap_yaml_node *node = status ? NULL : row->first;
         node && count < FIELDS && !status; node = node->next)
        status = psnap_yaml_i64(r->doc, node, -most, most, &n[count++], r->error);
    if (status)
        return status;
    if (row->count != SAME && row->count != FIELDS)
        return psnap_yaml_fail(r->doc, row, r->error, PSNAP_ERROR_VALUE,
                               "a row of 'passes' has 4 or 7 numbers");
    stretch->passes = (uint64_t)n[0];
    stretch->first = (struct gather_pass){(uint64_t)n[1], (uint64_t)n[2], n[3]};
    stretch->last = (struct gather_pass){(uint64_t)n[4], (uint64_t)n[5], n[6]};
    if (count == SAME)
        stretch->last = stretch->first;
    if (n[0] < 1 || !is_pass(area, &stretch->first) || !is_pass(area, &stretch->last) ||
        (stretch->first.stride < 0) != (stretch->last.stride < 0))
        return psnap_yaml_fail(r->doc, row, r->error, PSNAP_ERROR_VALUE,
                               "passes go from one element to another by a stride");
    return PSNAP_OK;
}

/* Rows of how many passes, and from where, to where and by what the first goes, and the last unless
 * it is the same. */
static enum psnap_status read_passes(const struct gather_reading *r,
                                     const struct psnap_yaml_node *map, struct gather_area *area)
{
    const struct psnap_yaml_node *list = psnap_yaml_get(map, "passes");
    enum psnap_status status =
        read_items(r, list, "passes", GATHER_STRETCHES, &area->stretch_count);
    struct gather_stretch *stretch = area->stretches;

    for (const struct psnap_yaml_node *row = list && !status ? list->first : NULL; row && !status;
         row = row->next)
        status = read_stretch(r, row, area, stretch++);
    return status;
}

/* The steps down and up, the share of the first, and of what goes on. */
static enum psnap_status read_level(const struct gather_reading *r,
                                    const struct psnap_yaml_node *row,
                                    const struct gather_area *area, struct gather_level *level)
{
    const int64_t most = (int64_t)PSNAP_COUNT_MAX, element = area->element_bytes;
    enum psnap_status status =
        psnap_yaml_expect(r->doc, row, PSNAP_YAML_SEQUENCE, "levels", r->error);
    const struct psnap_yaml_node *node = row->first;

    if (status)
        return status;
    if (row->count != 4)
        return psnap_yaml_fail(r->doc, row, r->error, PSNAP_ERROR_VALUE,
                               "a row of 'levels' has 4 numbers");
    status = psnap_yaml_i64(r->doc, node, -most, most, &level->down, r->error);
    node = node->next;
    if (!status)
        status = psnap_yaml_i64(r->doc, node, -most, most, &level->up, r->error);
    if (status)
        return status;
    if (level->down % element || level->up % element)
        return psnap_yaml_fail(r->doc, row, r->error, PSNAP_ERROR_VALUE,
                               "levels lead from one element to another");
    node = node->next;
    status = psnap_yaml_real(r->doc, node, 0, 1, &level->down_share, r->error);
    return status ? status : psnap_yaml_real(r->doc, node->next, 0, 1, &level->goes_on, r->error);
}

static enum psnap_status read_levels(const struct gather_reading *r,
                                     const struct psnap_yaml_node *map, struct gather_area *area)
{
    const struct psnap_yaml_node *list = psnap_yaml_get(map, "levels");
    enum psnap_status status = read_items(r, list, "levels", GATHER_LEVELS, &area->level_count);
    struct gather_level *level = area->levels;

    if (!status && !list && psnap_yaml_get(map, "root"))
        status = psnap_yaml_fail(r->doc, psnap_yaml_get(map, "root"), r->error, PSNAP_ERROR_VALUE,
                                 "a 'root' needs 'levels'");
    if (!status && list)
        status =
            require_u64(r, map, "root", 0, area->span_bytes - area->element_bytes, &area->root);
    if (!status && area->root % area->element_bytes)
        status = psnap_yaml_fail(r->doc, psnap_yaml_get(map, "root"), r->error, PSNAP_ERROR_VALUE,
                                 "'root' is an element: a multiple of 'element'");
    for (const struct psnap_yaml_node *row = list && !status ? list->first : NULL; row && !status;
         row = row->next)
        status = read_level(r, row, area, level++);
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
    else if (area->grid_start && area->grid_start >= area->grid_bytes)
        message = "'grid_start' is below 'grid'";
    else if (area->places == GATHER_CURSORS && !area->cursor_classes)
        message = "these places need 'cursors'";
    else if (area->places == GATHER_PASSES && (!area->stretch_count || area->step_count))
        message = "these places need 'passes', and no 'steps'";
    else if (area->places == GATHER_DESCENT && (!area->level_count || area->step_count))
        message = "these places need 'levels', and no 'steps'";
    else if (area->places == GATHER_AROUND && !psnap_yaml_get(map, "offsets"))
        message = "these places need 'offsets'";
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

    for (const struct gather_field *field = gather_fields; field->key && !status; field++)
        status = read_field(r, map, field, area);
    if (!status && area->element_bytes > area->span_bytes)
        status = psnap_yaml_fail(r->doc, map, r->error, PSNAP_ERROR_VALUE,
                                 "an element has more bytes than there are");
    if (!status)
        status = read_steps(r, map, area);
    if (!status && node && !(status = psnap_yaml_text(r->doc, node, &name, r->error))) {
        while (gather_place_names[i] && strcmp(gather_place_names[i], name) != 0)
            i++;
        if (!gather_place_names[i])
            status = psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                                     "no places '%.100s'", name);
        area->places = (enum gather_places)i;
        area->inside = i == GATHER_AROUND && !psnap_yaml_get(map, "inside") ? 1 : area->inside;
    }
    if (!status)
        status = read_parts(r, map, area);
    if (!status)
        status = read_classes(r, map, area);
    if (!status)
        status = read_passes(r, map, area);
    if (!status)
        status = read_levels(r, map, area);
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
    if (!status)
        status =
            read_reals(r, psnap_yaml_get(map, "runs"), "runs", area->runs, GATHER_RUNS, &count);
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

static bool is_area_readable(const struct gather_area *area)
{
    const int64_t most = (int64_t)PSNAP_COUNT_MAX;

    for (const struct gather_field *field = gather_fields; field->key; field++) {
        const char *at = (const char *)area + field->at;
        uint64_t number = 0;
        int64_t step = 0;
        if (field->kind == U64)
            memcpy(&number, at, sizeof number);
        else if (field->kind == I64)
            memcpy(&step, at, sizeof step);
        if (number > PSNAP_COUNT_MAX || step > most || step < -most)
            return false;
    }
    for (uint32_t i = 0; i < GATHER_QUANTILES; i++)
        if (area->offsets[i] > most || area->offsets[i] < -most)
            return false;
    return true;
}

bool gather_is_readable(const struct psnap_gather *gather)
{
    for (uint32_t i = 0; i < gather->area_count; i++)
        if (!is_area_readable(&gather->areas[i]))
            return false;
    return true;
}
