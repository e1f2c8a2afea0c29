/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loops: what describes them, their place in the nest, their pattern buffer, and their regions
 * (region.c). The accesses of a loop derive from its regions; the pattern cannot have more of a
 * region than there is. In nests-3 both follow from the bodies, and are only checked.
 */
#include "profile/yaml/fields.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "formats/base/text.h"

#define PATTERNS_MAX (1u << 26) /* accesses that the patterns of all loops unfold to */

/* ---- the table ---- */

struct operations {
    uint64_t counts[PSNAP_OPERATION_COUNT];
};

static const struct psnap_field operation_fields[] = {
#define PSNAP_OPERATION(NAME, text) {text, FIELD_COUNT(struct operations, counts[PSNAP_OP_##NAME])},
#include "formats/base/capture_abi.inc"
};
const struct psnap_record operations_record = PSNAP_RECORD("operations", operation_fields, FLOW);

/* "cg.c:468": the line is what follows the last colon, if that is a number. */
static void read_source(struct psnap_reading *r, const struct psnap_yaml_node *node, void *record)
{
    struct psnap_profile_loop *loop = record;
    const char *text = psnap_read_copy(r, node), *colon = strrchr(text, ':');
    uint64_t line;

    loop->file = text;
    if (!colon || !psnap_text_u64(colon + 1, &line) || line > UINT32_MAX)
        return;
    loop->src_line = (uint32_t)line;
    loop->file = psnap_arena_strndup(r->arena, text, (size_t)(colon - text));
    psnap_read_has(r, loop->file);
}

static void write_source(const struct psnap_writing *w, const void *record)
{
    const struct psnap_profile_loop *loop = record;
    char text[4096];

    snprintf(text, sizeof text, "%s:%" PRIu32, loop->file, loop->src_line);
    if (*loop->file)
        psnap_yaml_add_text(w->doc, w->map, w->field->key, loop->src_line ? text : loop->file);
}

static void read_parent(struct psnap_reading *r, const struct psnap_yaml_node *node, void *record)
{
    struct psnap_profile_loop *loop = record;

    if (node->kind == PSNAP_YAML_SCALAR)
        loop->parent = find_id(&profile_of(r)->loops, node->text);
    if (loop->parent == PSNAP_NONE)
        psnap_read_fail(r, node, "there is no loop '%.100s'", node->text ? node->text : "");
}

static void write_parent(const struct psnap_writing *w, const void *record)
{
    const struct psnap_profile_loop *loop = record;

    if (loop->parent != PSNAP_NONE)
        psnap_yaml_add_text(w->doc, w->map, w->field->key,
                            profile_to(w)->profile->loops[loop->parent].id);
}

static const char *region_id(const void *loop, uint32_t index)
{
    return ((const struct psnap_profile_loop *)loop)->regions[index].id;
}

static void write_pattern(const struct psnap_writing *w, const void *record)
{
    struct psnap_yaml_node *map = w->map;
    const struct psnap_profile_loop *loop = record;

    if (!loop->pattern.count || loop->accesses < profile_to(w)->few)
        return;
    if (loop->is_pattern_derived)
        map = psnap_yaml_add_map(w->doc, map, "derived", PSNAP_YAML_FLOW);
    map = psnap_yaml_add_sequence(w->doc, map, w->field->key, PSNAP_YAML_FLOW);
    write_sequence(w, map, &loop->pattern, region_id, loop);
}

static void write_regions(const struct psnap_writing *w, const void *record)
{
    struct psnap_yaml_node *map = w->map;
    const struct psnap_profile_loop *loop = record;

    if (loop->region_count)
        map = psnap_yaml_add_sequence(w->doc, map, w->field->key, PSNAP_YAML_BLOCK);
    for (uint32_t i = 0; i < loop->region_count; i++)
        write_region(w, map, &loop->regions[i]);
}

#define LOOP_COUNT(member) FIELD_COUNT(struct psnap_profile_loop, member), .missing = UINT64_MAX

static const struct psnap_field nest_fields[] = {
    {"depth", FIELD_UINT(struct psnap_profile_loop, depth), .high = UINT16_MAX,
     .rules = PSNAP_FIELD_NEEDED},
    {"parent", FIELD_FORM(read_parent, write_parent)},
};
static const struct psnap_field iterations_fields[] = {{"total", LOOP_COUNT(iterations)}};
static const struct psnap_field estimate_fields[] = {
    {"accesses", LOOP_COUNT(estimate_accesses)},
    {"standard_error", LOOP_COUNT(estimate_error)},
};
static const struct psnap_record nest_record = PSNAP_RECORD("nest", nest_fields, FLOW);
static const struct psnap_record iterations_record =
    PSNAP_RECORD("iterations", iterations_fields, FLOW);
static const struct psnap_record estimate_record = PSNAP_RECORD("estimate", estimate_fields, FLOW);

static const struct psnap_field loop_fields[] = {
    {"id", PSNAP_FIELD_TEXT, PSNAP_AT(struct psnap_profile_loop, id), .rules = PSNAP_FIELD_NEEDED},
    {"part_of", PSNAP_FIELD_TEXT, PSNAP_AT(struct psnap_profile_loop, src_id)},
    {"function", PSNAP_FIELD_TEXT, PSNAP_AT(struct psnap_profile_loop, function)},
    {"source", FIELD_FORM(read_source, write_source)},
    {"nest", PSNAP_FIELD_RECORD, .record = &nest_record},
    {"entries", LOOP_COUNT(entries)},
    {"iterations", PSNAP_FIELD_RECORD, .record = &iterations_record},
    {"operations", PSNAP_FIELD_RECORD, PSNAP_AT(struct psnap_profile_loop, operations),
     .record = &operations_record},
    {"accesses", FIELD_COUNT(struct psnap_profile_loop, accesses),
     .rules = PSNAP_FIELD_ALWAYS | PSNAP_FIELD_LATER},
    {"estimate", PSNAP_FIELD_RECORD, .record = &estimate_record},
    {"expected_off_points", PSNAP_FIELD_REAL, PSNAP_AT(struct psnap_profile_loop, expected_off),
     .high = 100},
    {"pattern", FIELD_FORM(NULL, write_pattern)},
    {"regions", FIELD_FORM(NULL, write_regions)},
    {"derived", PSNAP_FIELD_FORM},
    {"bodies", FIELD_FORM(NULL, write_loop_model)},
    {"references", PSNAP_FIELD_FORM},
};
static const struct psnap_record loop_record = PSNAP_RECORD("a loop", loop_fields, BLOCK);

void write_loop(const struct psnap_writing *w, const struct psnap_profile_loop *loop)
{
    struct psnap_profile_loop written = *loop;

    if (!strcmp(loop->id, loop->src_id))
        written.src_id = "";
    psnap_record_write(w, NULL, NULL, &loop_record, &written);
}

/* ---- reading ---- */

/* The pattern buffer of model psnap: its regions exist, and it has no more of one than there is. */
static void read_pattern(struct psnap_reading *r, const struct psnap_yaml_node *map,
                         const struct names *names, struct psnap_profile_loop *loop)
{
    const struct psnap_yaml_node *pattern = psnap_yaml_get(map, "pattern");
    const struct psnap_yaml_node *regions = psnap_yaml_get(map, "regions");
    const struct psnap_yaml_node *region = regions ? regions->first : NULL;
    struct profile_reading *p = profile_of(r);
    uint64_t *counts;

    read_derived(r, map, "pattern"); /* there is none */
    if (!pattern)
        return;
    read_sequence(r, pattern, names, "region", NULL, &loop->pattern);
    counts = psnap_read_scratch(r, loop->region_count, sizeof *counts);
    if (!counts)
        return;
    if (!sequence_counts(&loop->pattern, PSNAP_PATTERN_MAX, counts))
        psnap_read_fail(r, pattern, "the pattern unfolds to more than %u accesses",
                        PSNAP_PATTERN_MAX);
    for (uint32_t i = 0; i < loop->region_count; i++, region = region->next) {
        p->pattern_slots += counts[i];
        if (counts[i] > loop->regions[i].accesses)
            psnap_read_fail(r, pattern,
                            "the pattern has region '%.100s' %" PRIu64
                            " times, but its 'accesses' in line %" PRIu32 " is %" PRIu64,
                            loop->regions[i].id, counts[i],
                            psnap_yaml_get(region, "accesses")->src_line,
                            loop->regions[i].accesses);
    }
    if (p->pattern_slots > PATTERNS_MAX) /* all are in memory at a time */
        psnap_read_fail(r, pattern, "the patterns up to here unfold to more than %u accesses",
                        PATTERNS_MAX);
}

static void read_regions(struct psnap_reading *r, const struct psnap_yaml_node *map,
                         struct psnap_profile_loop *loop)
{
    const struct psnap_yaml_node *list = psnap_yaml_get(map, "regions");
    const struct psnap_yaml_node *node = psnap_read_list(r, list, "regions");
    struct profile_reading *p = profile_of(r);
    struct names names;
    uint64_t stated;

    if (list && list->count > PSNAP_PROFILE_REGIONS_MAX - p->region_count)
        psnap_read_fail_as(r, list, PSNAP_ERROR_MEMORY, "more than %u regions",
                           PSNAP_PROFILE_REGIONS_MAX);
    read_names(r, list, &names);
    loop->regions = psnap_read_alloc(r, list ? list->count : 0, sizeof *loop->regions);
    for (; node && !r->status; node = node->next) {
        struct psnap_profile_region *region = &loop->regions[loop->region_count++];
        read_region(r, node, region);
        read_sum(r, node, region->accesses, &loop->accesses);
    }
    p->region_count += loop->region_count;
    if (p->model || r->status)
        return;
    read_pattern(r, map, &names, loop);
    stated = read_count(r, map, "accesses", loop->accesses);
    if (stated != loop->accesses)
        psnap_read_fail(r, psnap_yaml_get(map, "accesses"),
                        "'accesses' is %" PRIu64 ", but the regions (line %" PRIu32
                        ") have %" PRIu64,
                        stated, list ? list->src_line : map->src_line, loop->accesses);
}

/* Nests are trees: a loop is deeper than the one around it. */
static void check_nest(struct psnap_reading *r, const struct psnap_yaml_node *map,
                       const struct psnap_profile_loop *loop)
{
    const struct profile_reading *p = profile_of(r);
    const struct psnap_profile_loop *parent = &p->profile->loops[loop->parent];
    const struct psnap_yaml_node *of_parent, *there;

    if (loop->parent == PSNAP_NONE || parent->depth < loop->depth)
        return;
    of_parent = p->loops.maps[loop->parent];
    there = psnap_yaml_get(of_parent, "nest");
    psnap_read_fail(r, psnap_yaml_get(psnap_yaml_get(map, "nest"), "depth"),
                    "'depth' is %" PRIu32 ", but its parent '%.100s' (line %" PRIu32
                    ") has %" PRIu32,
                    loop->depth, parent->id, (there ? there : of_parent)->src_line, parent->depth);
}

void read_loops(struct psnap_reading *r, const struct psnap_yaml_node *list)
{
    struct psnap_profile *profile = profile_of(r)->profile;
    uint64_t sum = 0, operations[PSNAP_OPERATION_COUNT] = {0};

    profile->loops = psnap_read_alloc(r, list->count, sizeof *profile->loops);
    for (const struct psnap_yaml_node *map = profile->loops ? list->first : NULL; map;
         map = psnap_read_next(r, map)) {
        struct psnap_profile_loop *loop = &profile->loops[profile->loop_count++];
        loop->parent = PSNAP_NONE;
        loop->file = "";
        psnap_record_read(r, map, &loop_record, loop);
        if (!psnap_yaml_get(map, "part_of"))
            loop->src_id = loop->id;
        if (loop->estimate_accesses == UINT64_MAX)
            loop->estimate_error = UINT64_MAX;
        read_regions(r, map, loop);
        read_sum(r, map, loop->accesses, &sum);
        for (unsigned op = 0; op < PSNAP_OPERATION_COUNT; op++)
            read_sum(r, map, loop->operations[op], &operations[op]);
    }
    for (uint32_t i = 0; i < profile->loop_count && !r->status; i++)
        check_nest(r, profile_of(r)->loops.maps[i], &profile->loops[i]);
}

/* ---- what is derived ---- */

static void check_pattern(struct psnap_reading *r, const struct psnap_yaml_node *map,
                          const struct psnap_profile_loop *loop)
{
    const struct psnap_yaml_node *derived = read_derived(r, map, "pattern");
    const struct psnap_yaml_node *pattern = psnap_yaml_get(derived ? derived : map, "pattern");
    struct psnap_sequence stated = {0};
    struct names names;
    bool is_same;

    if (!pattern)
        return;
    if (!derived)
        psnap_read_fail(r, pattern,
                        "in model %s 'pattern' follows from the bodies; it stands in 'derived', "
                        "or nowhere",
                        profile_of(r)->profile->model);
    read_names(r, psnap_yaml_get(map, "regions"), &names);
    read_sequence(r, pattern, &names, "region", NULL, &stated);
    is_same = stated.count == loop->pattern.count;
    for (uint32_t i = 0; i < stated.count && is_same; i++)
        is_same = stated.items[i].what == loop->pattern.items[i].what;
    if (!is_same)
        psnap_read_fail(r, pattern,
                        "the pattern is not the regions of loop '%.100s' in the order in which "
                        "its body that iterates most accesses them; correct or delete it",
                        loop->id);
}

void check_loops(struct psnap_reading *r, const struct psnap_yaml_node *loops)
{
    const struct psnap_profile *profile = profile_of(r)->profile;
    const struct psnap_yaml_node *map = loops->first;

    for (uint32_t i = 0; i < profile->loop_count && !r->status; i++, map = map->next) {
        const struct psnap_profile_loop *loop = &profile->loops[i];
        const struct psnap_yaml_node *regions = psnap_yaml_get(map, "regions"), *node;
        uint64_t stated, has;
        uint32_t k = 0;
        node = psnap_record_differs(r, map, &loop_record, loop, &stated, &has);
        if (node)
            psnap_read_fail(r, node,
                            "loop '%.100s' has %" PRIu64 " accesses, but its bodies make %" PRIu64,
                            loop->id, stated, has);
        for (node = regions ? regions->first : NULL; node; node = psnap_read_next(r, node))
            check_region(r, node, &loop->regions[k++]);
        check_pattern(r, map, loop);
    }
}
