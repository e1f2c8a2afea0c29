/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A profile as YAML (profile/FORMAT.md). Small maps and lists are written in
 * flow style so that a region is a handful of lines. Left out is what is
 * unknown, what is zero where zero is the default, and the stride graph where
 * it follows from the histogram (one bin).
 */
#include "profile/profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "formats/base/layout.h"
#include "formats/base/yaml.h"
#include "profile/yaml/certificate.h"
#include "profile/yaml/write_model.h"
#include "profile/yaml/sampling.h"
#include "profile/yaml/yaml_keys.h"

static void add_text(struct psnap_yaml_doc *doc, struct psnap_yaml_node *map, const char *key,
                     const char *text)
{
    if (text && *text)
        psnap_yaml_add_text(doc, map, key, text);
}

static void write_program(const struct psnap_profile *profile, struct psnap_yaml_doc *doc,
                          struct psnap_yaml_node *root)
{
    const struct psnap_provenance *from = &profile->provenance;
    struct psnap_yaml_node *map = psnap_yaml_add_map(doc, root, "program", PSNAP_YAML_FLOW);

    add_text(doc, map, "name", from->name);
    if (from->command) {
        struct psnap_yaml_node *command =
            psnap_yaml_add_sequence(doc, map, "command", PSNAP_YAML_FLOW);
        for (const char *const *word = from->command; *word; word++)
            psnap_yaml_add_text(doc, command, NULL, *word);
    }
    add_text(doc, map, "build_id", from->build_id);
    add_text(doc, map, "source_language", from->source_language);
    add_text(doc, map, "compiler", from->compiler);
    add_text(doc, map, "host", from->host);
    add_text(doc, map, "recorded", from->recorded);
    add_text(doc, map, "content", profile->content);
    if (from->has_rank)
        psnap_yaml_add_u64(doc, map, "rank", from->rank);
    if (from->ranks)
        psnap_yaml_add_u64(doc, map, "ranks", from->ranks);
    add_text(doc, map, "same_ranks", profile->same_ranks);
    psnap_yaml_add_text(doc, map, "thread", "all");
}

static void write_capture(const struct psnap_profile *profile, struct psnap_yaml_doc *doc,
                          struct psnap_yaml_node *root)
{
    struct psnap_yaml_node *map = psnap_yaml_add_map(doc, root, "capture", PSNAP_YAML_FLOW);

    psnap_yaml_add_text(doc, map, "model", profile->model);
    add_text(doc, map, "stage", profile->provenance.stage);
    psnap_yaml_add_u64(doc, map, "region_gap_bytes", profile->region_gap_bytes);
    psnap_yaml_add_u64(doc, map, "region_limit", profile->region_limit);
    write_sampling(profile, doc, map);
}

static void write_operations(const uint64_t operations[PSNAP_OPERATION_COUNT],
                             struct psnap_yaml_doc *doc, struct psnap_yaml_node *parent)
{
    struct psnap_yaml_node *map = NULL;

    for (unsigned op = 0; op < PSNAP_OPERATION_COUNT; op++) {
        if (!operations[op])
            continue;
        if (!map)
            map = psnap_yaml_add_map(doc, parent, "operations", PSNAP_YAML_FLOW);
        psnap_yaml_add_u64(doc, map, psnap_operation_name(op), operations[op]);
    }
}

static void write_totals(const struct psnap_profile *profile, struct psnap_yaml_doc *doc,
                         struct psnap_yaml_node *root)
{
    struct psnap_yaml_node *map = psnap_yaml_add_map(doc, root, "totals", PSNAP_YAML_FLOW);
    struct psnap_profile_totals totals;

    psnap_profile_totals(profile, &totals);
    psnap_yaml_add_u64(doc, map, "accesses", totals.accesses);
    psnap_yaml_add_u64(doc, map, "loads", totals.loads);
    psnap_yaml_add_u64(doc, map, "stores", totals.stores);
    if (totals.atomics)
        psnap_yaml_add_u64(doc, map, "atomics", totals.atomics);
    psnap_yaml_add_u64(doc, map, "bytes", totals.bytes);
    write_operations(totals.operations, doc, map);
}

enum {
    MANY = 256, /* regions: then */
    FEW = 1000  /* what has less than one in so many accesses is written in short */
};

/* Items [begin, end) of a folded sequence; as deep as its groups. `id_of` names an index. */
static void write_items(const struct psnap_sequence *sequence, uint32_t begin, uint32_t end,
                        const char *(*id_of)(const void *from, uint32_t index), const void *from,
                        struct psnap_yaml_doc *doc, struct psnap_yaml_node *list)
{
    for (uint32_t i = begin; i < end; i += 1 + sequence->items[i].span) {
        const struct psnap_sequence_item *item = &sequence->items[i];
        struct psnap_yaml_node *group, *body;
        if (item->what != PSNAP_NONE && item->accesses == PSNAP_EVENLY) {
            psnap_yaml_add_text(doc, list, NULL, id_of(from, item->what));
            continue;
        }
        if (item->what != PSNAP_NONE) {
            group = psnap_yaml_add_map(doc, list, NULL, PSNAP_YAML_FLOW);
            psnap_yaml_add_text(doc, group, "loop", id_of(from, item->what));
            psnap_yaml_add_u64(doc, group, "accesses", item->accesses);
            continue;
        }
        group = psnap_yaml_add_map(doc, list, NULL, PSNAP_YAML_FLOW);
        psnap_yaml_add_u64(doc, group, "repeat", item->repeat);
        body = psnap_yaml_add_sequence(doc, group, "of", PSNAP_YAML_FLOW);
        write_items(sequence, i + 1, i + 1 + item->span, id_of, from, doc, body);
    }
}

static const char *loop_id(const void *profile, uint32_t index)
{
    return ((const struct psnap_profile *)profile)->loops[index].id;
}

static const char *region_id(const void *loop, uint32_t index)
{
    return ((const struct psnap_profile_loop *)loop)->regions[index].id;
}

static void write_strides(const struct psnap_profile_region *region, struct psnap_yaml_doc *doc,
                          struct psnap_yaml_node *parent)
{
    struct psnap_yaml_node *map, *row = NULL;

    if (!region->stride_count)
        return;
    if (region->is_derived)
        parent = psnap_yaml_add_map(doc, parent, "derived", PSNAP_YAML_FLOW);
    map = psnap_yaml_add_map(doc, parent, "strides", PSNAP_YAML_FLOW);
    for (unsigned i = 0; i < region->stride_count; i++)
        psnap_yaml_add_u64(doc, map, psnap_stride_label(region->strides[i].bin),
                           region->strides[i].count);
    if (region->stride_count == 1 || region->is_derived)
        return;
    map = psnap_yaml_add_map(doc, parent, "stride_graph", PSNAP_YAML_FLOW);
    for (unsigned i = 0; i < region->edge_count; i++) {
        const struct psnap_stride_edge *edge = &region->edges[i];
        if (i == 0 || edge[-1].from != edge->from)
            row = psnap_yaml_add_map(doc, map, psnap_stride_label(edge->from), PSNAP_YAML_FLOW);
        psnap_yaml_add_u64(doc, row, psnap_stride_label(edge->to), edge->count);
    }
}

/* One with fewer accesses than `few` in short: without what is derived. */
static void write_region(const struct psnap_profile_region *region, uint64_t few,
                         struct psnap_yaml_doc *doc, struct psnap_yaml_node *list)
{
    const bool is_short = region->accesses < few;
    struct psnap_yaml_node *map = psnap_yaml_add_map(doc, list, NULL,
                                                     is_short ? PSNAP_YAML_FLOW : PSNAP_YAML_BLOCK),
                           *inner;
    const struct psnap_place place = psnap_layout_split(region->low);
    char label[16];

    psnap_yaml_add_text(doc, map, "id", region->id);
    if (region->object)
        psnap_yaml_add_text(doc, map, psnap_object_keys[region->object_kind], region->object);
    inner = psnap_yaml_add_map(doc, map, "working_set", PSNAP_YAML_FLOW);
    psnap_yaml_add_u64(doc, inner, "bytes", region->bytes);
    psnap_yaml_add_text(doc, inner, "group", psnap_group_name(place.group));
    if (place.index)
        psnap_yaml_add_u64(doc, inner, "index", place.index);
    psnap_yaml_add_i64(doc, inner, "offset", place.offset);
    if (is_short)
        return;
    psnap_yaml_add_u64(doc, map, "accesses", region->accesses);
    for (unsigned kind = 0; kind < 3; kind++)
        if (region->kinds[kind])
            psnap_yaml_add_u64(doc, map, psnap_kind_keys[kind], region->kinds[kind]);
    inner = psnap_yaml_add_map(doc, map, "sizes", PSNAP_YAML_FLOW);
    for (unsigned i = 0; i < region->size_count; i++) {
        snprintf(label, sizeof label, "%u", region->sizes[i].size);
        psnap_yaml_add_u64(doc, inner, label, region->sizes[i].count);
    }
    write_strides(region, doc, map);
}

/* "cg.c:468" */
static void write_source(const struct psnap_profile_loop *loop, struct psnap_yaml_doc *doc,
                         struct psnap_yaml_node *map)
{
    char text[4096];

    if (!*loop->file)
        return;
    snprintf(text, sizeof text, "%s:%" PRIu32, loop->file, loop->src_line);
    psnap_yaml_add_text(doc, map, "source", loop->src_line ? text : loop->file);
}

/* The loops that are yet to be written: there may be very many. */
struct loops {
    const struct psnap_profile *profile;
    struct model_index by_loop;
    uint32_t next;
    uint64_t few; /* accesses: what has fewer is written in short, without derived fields */
};

static void write_loop(const struct loops *loops, uint32_t index, struct psnap_yaml_doc *doc)
{
    const struct psnap_profile *profile = loops->profile;
    const struct psnap_profile_loop *loop = &profile->loops[index];
    struct psnap_yaml_node *map = psnap_yaml_add_map(doc, NULL, NULL, PSNAP_YAML_BLOCK), *inner;

    psnap_yaml_add_text(doc, map, "id", loop->id);
    if (strcmp(loop->id, loop->src_id) != 0)
        add_text(doc, map, "part_of", loop->src_id);
    add_text(doc, map, "function", loop->function);
    write_source(loop, doc, map);
    inner = psnap_yaml_add_map(doc, map, "nest", PSNAP_YAML_FLOW);
    psnap_yaml_add_u64(doc, inner, "depth", loop->depth);
    if (loop->parent != PSNAP_NONE)
        psnap_yaml_add_text(doc, inner, "parent", profile->loops[loop->parent].id);
    if (loop->entries != UINT64_MAX)
        psnap_yaml_add_u64(doc, map, "entries", loop->entries);
    if (loop->iterations != UINT64_MAX) {
        inner = psnap_yaml_add_map(doc, map, "iterations", PSNAP_YAML_FLOW);
        psnap_yaml_add_u64(doc, inner, "total", loop->iterations);
    }
    write_operations(loop->operations, doc, map);
    psnap_yaml_add_u64(doc, map, "accesses", loop->accesses);
    write_estimate(loop, doc, map);
    if (loop->expected_off > 0)
        psnap_yaml_add_real(doc, map, "expected_off_points", loop->expected_off);
    if (loop->pattern.count && loop->accesses >= loops->few) {
        inner = loop->is_pattern_derived ? psnap_yaml_add_map(doc, map, "derived", PSNAP_YAML_FLOW)
                                         : map;
        inner = psnap_yaml_add_sequence(doc, inner, "pattern", PSNAP_YAML_FLOW);
        write_items(&loop->pattern, 0, loop->pattern.count, region_id, loop, doc, inner);
    }
    if (loop->region_count)
        inner = psnap_yaml_add_sequence(doc, map, "regions", PSNAP_YAML_BLOCK);
    for (uint32_t i = 0; i < loop->region_count; i++)
        write_region(&loop->regions[i], loops->few, doc, inner);
    if (profile->stream)
        write_loop_model(profile, &loops->by_loop, index, doc, map);
}

static void write_next_loop(void *context, struct psnap_yaml_doc *doc)
{
    struct loops *loops = context;

    write_loop(loops, loops->next++, doc);
}

enum psnap_status psnap_profile_write(const struct psnap_profile *profile, FILE *file,
                                      struct psnap_error *error)
{
    struct psnap_yaml_doc *doc = psnap_yaml_doc_new("profile");
    struct psnap_yaml_node *root, *list;
    struct loops loops = {.profile = profile};
    struct psnap_profile_totals totals;
    uint64_t regions = 0;
    enum psnap_status status;

    if (!doc || (profile->stream &&
                 !model_index_init(&loops.by_loop, profile->stream, profile->loop_count))) {
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
        goto out;
    }
    root = psnap_yaml_add_map(doc, NULL, NULL, PSNAP_YAML_BLOCK);
    psnap_yaml_add_u64(doc, root, "psnap", PSNAP_PROFILE_VERSION);
    write_program(profile, doc, root);
    write_capture(profile, doc, root);
    write_totals(profile, doc, root);
    list = psnap_yaml_add_sequence(doc, root, "schedule",
                                   profile->stream ? PSNAP_YAML_BLOCK : PSNAP_YAML_FLOW);
    if (profile->stream)
        write_schedule(profile, doc, root, list);
    else
        write_items(&profile->schedule, 0, profile->schedule.count, loop_id, profile, doc, list);
    if (profile->certificate)
        write_certificate(profile->certificate, doc, root);
    list = psnap_yaml_add_sequence(doc, root, "loops", PSNAP_YAML_BLOCK);
    psnap_profile_totals(profile, &totals);
    for (uint32_t i = 0; i < profile->loop_count; i++)
        regions += profile->loops[i].region_count;
    loops.few = profile->stream && regions > MANY ? totals.accesses / FEW : 0;
    status =
        psnap_yaml_write_list(doc, list, write_next_loop, &loops, profile->loop_count, file, error);
out:
    model_index_release(&loops.by_loop);
    psnap_yaml_doc_free(doc);
    return status;
}
