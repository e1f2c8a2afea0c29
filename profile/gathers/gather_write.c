/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Models of irregular references (gather.h), written into profiles: numbers have five digits, and
 * what is 0, or of no use to the model's places, is left out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/gathers/gather_fields.h"

static double rounded(double value)
{
    char text[32];

    snprintf(text, sizeof text, "%.5g", value);
    return strtod(text, NULL);
}

/* Where something is in an area, which may be large. */
static double rounded_place(double share)
{
    char text[32];

    snprintf(text, sizeof text, "%.9g", share);
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
    for (uint32_t i = 0; i < area->part_count; i++) {
        area->parts[i].end = rounded_place(area->parts[i].end);
        area->parts[i].share = rounded(area->parts[i].share);
    }
    round_all(area->echoes, GATHER_ECHOES);
    round_all(area->runs, GATHER_RUNS);
    area->fixed = rounded(area->fixed);
    area->inside = rounded(area->inside);
    for (uint32_t i = 0; i < area->class_count; i++) {
        area->classes[i].lines = rounded(area->classes[i].lines);
        area->classes[i].jumps = rounded(area->classes[i].jumps);
    }
    for (uint32_t i = 0; i < area->cursor_classes; i++)
        area->cursors[i].share = rounded(area->cursors[i].share);
    for (uint32_t i = 0; i < area->level_count; i++) {
        area->levels[i].down_share = rounded(area->levels[i].down_share);
        area->levels[i].goes_on = rounded(area->levels[i].goes_on);
    }
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
                      const struct gather_field *field, const struct gather_area *area)
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
    add_reals(doc, map, "runs", area->runs, GATHER_RUNS, true);
}

static void write_parts(const struct gather_area *area, struct psnap_yaml_doc *doc,
                        struct psnap_yaml_node *map)
{
    struct psnap_yaml_node *list = psnap_yaml_add_sequence(doc, map, "parts", PSNAP_YAML_FLOW);

    for (uint32_t i = 0; i < area->part_count; i++) {
        struct psnap_yaml_node *part = psnap_yaml_add_sequence(doc, list, NULL, PSNAP_YAML_FLOW);
        psnap_yaml_add_real(doc, part, NULL, rounded_place(area->parts[i].end));
        psnap_yaml_add_real(doc, part, NULL, rounded(area->parts[i].share));
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

/* From where to where and by what. */
static void add_pass(struct psnap_yaml_doc *doc, struct psnap_yaml_node *row,
                     const struct gather_pass *pass)
{
    psnap_yaml_add_u64(doc, row, NULL, pass->from);
    psnap_yaml_add_u64(doc, row, NULL, pass->to);
    psnap_yaml_add_i64(doc, row, NULL, pass->stride);
}

static void write_passes(const struct gather_area *area, struct psnap_yaml_doc *doc,
                         struct psnap_yaml_node *map)
{
    struct psnap_yaml_node *list;

    if (!area->stretch_count)
        return;
    list = psnap_yaml_add_sequence(doc, map, "passes", PSNAP_YAML_FLOW);
    for (uint32_t i = 0; i < area->stretch_count; i++) {
        const struct gather_stretch *s = &area->stretches[i];
        struct psnap_yaml_node *row = psnap_yaml_add_sequence(doc, list, NULL, PSNAP_YAML_FLOW);
        psnap_yaml_add_u64(doc, row, NULL, s->passes);
        add_pass(doc, row, &s->first);
        if (memcmp(&s->first, &s->last, sizeof s->first) != 0)
            add_pass(doc, row, &s->last);
    }
}

static void write_levels(const struct gather_area *area, struct psnap_yaml_doc *doc,
                         struct psnap_yaml_node *map)
{
    struct psnap_yaml_node *list;

    if (!area->level_count)
        return;
    psnap_yaml_add_u64(doc, map, "root", area->root);
    list = psnap_yaml_add_sequence(doc, map, "levels", PSNAP_YAML_FLOW);
    for (uint32_t i = 0; i < area->level_count; i++) {
        const struct gather_level *level = &area->levels[i];
        struct psnap_yaml_node *row = psnap_yaml_add_sequence(doc, list, NULL, PSNAP_YAML_FLOW);
        psnap_yaml_add_i64(doc, row, NULL, level->down);
        psnap_yaml_add_i64(doc, row, NULL, level->up);
        psnap_yaml_add_real(doc, row, NULL, rounded(level->down_share));
        psnap_yaml_add_real(doc, row, NULL, rounded(level->goes_on));
    }
}

static void write_area(const struct gather_area *area, struct psnap_yaml_doc *doc,
                       struct psnap_yaml_node *map)
{
    bool has_offsets = area->places == GATHER_AROUND;

    for (const struct gather_field *field = gather_fields; field->key; field++)
        add_field(doc, map, field, area);
    write_steps(area, doc, map);
    if (area->places)
        psnap_yaml_add_text(doc, map, "places", gather_place_names[area->places]);
    if (area->part_count > 1)
        write_parts(area, doc, map);
    write_classes(area, doc, map);
    write_passes(area, doc, map);
    write_levels(area, doc, map);
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
