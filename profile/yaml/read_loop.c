/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loops from YAML: what describes them, their place in the nest, their pattern
 * buffer, and their regions (read_region.c). The accesses of a loop derive
 * from its regions; the pattern cannot have more of a region than there is.
 */
#include "profile/yaml/read.h"
#include "profile/yaml/sampling.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/text.h"

#define PATTERNS_MAX (1u << 26) /* accesses that the patterns of all loops unfold to */

enum psnap_status read_operations(const struct reading *r, const struct psnap_yaml_node *parent,
                                  uint64_t operations[PSNAP_OPERATION_COUNT])
{
    const char *keys[PSNAP_OPERATION_COUNT + 1] = {NULL};
    const struct psnap_yaml_node *map = psnap_yaml_get(parent, "operations");
    enum psnap_status status;

    if (!map)
        return PSNAP_OK;
    for (unsigned op = 0; op < PSNAP_OPERATION_COUNT; op++)
        keys[op] = psnap_operation_name(op);
    status = psnap_yaml_expect_keys(r->doc, map, "operations", keys, r->error);
    for (unsigned op = 0; op < PSNAP_OPERATION_COUNT && !status; op++)
        status = read_count(r, map, keys[op], 0, &operations[op]);
    return status;
}

/* "cg.c:468": the line is what follows the last colon, if that is a number. */
static void split_source(const struct reading *r, struct psnap_profile_loop *loop)
{
    const char *colon = strrchr(loop->file, ':');
    uint64_t line;

    if (!colon || !psnap_text_u64(colon + 1, &line) || line > UINT32_MAX)
        return;
    loop->src_line = (uint32_t)line;
    loop->file = psnap_arena_strndup(r->profile->arena, loop->file, (size_t)(colon - loop->file));
}

static enum psnap_status read_nest(const struct reading *r, const struct psnap_yaml_node *map,
                                   const struct name_index *loops, struct psnap_profile_loop *loop)
{
    static const char *const keys[] = {"depth", "parent", NULL};
    const struct psnap_yaml_node *nest = psnap_yaml_get(map, "nest"), *node;
    const struct named_node *parent;
    uint64_t depth = 0;
    enum psnap_status status;

    loop->parent = PSNAP_NONE;
    if (!nest)
        return PSNAP_OK;
    status = psnap_yaml_expect_keys(r->doc, nest, "nest", keys, r->error);
    if (status)
        return status;
    node = psnap_yaml_require(r->doc, nest, "depth", r->error);
    if (!node)
        return PSNAP_ERROR_VALUE;
    status = psnap_yaml_u64(r->doc, node, 0, UINT16_MAX, &depth, r->error);
    if (status)
        return status;
    loop->depth = (uint32_t)depth;
    node = psnap_yaml_get(nest, "parent");
    if (!node)
        return PSNAP_OK;
    if (node->kind != PSNAP_YAML_SCALAR || !(parent = find_name(loops, node->text)))
        return psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                               "there is no loop '%.100s'", node->text ? node->text : "");
    loop->parent = parent->index;
    return PSNAP_OK;
}

static enum psnap_status read_iterations(const struct reading *r, const struct psnap_yaml_node *map,
                                         struct psnap_profile_loop *loop)
{
    static const char *const keys[] = {"total", NULL};
    const struct psnap_yaml_node *node = psnap_yaml_get(map, "iterations");
    enum psnap_status status;

    loop->iterations = UINT64_MAX;
    if (!node)
        return PSNAP_OK;
    status = psnap_yaml_expect_keys(r->doc, node, "iterations", keys, r->error);
    if (status)
        return status;
    return read_count(r, node, "total", UINT64_MAX, &loop->iterations);
}

/* The pattern buffer: its regions exist, and it has no more of one than the region itself. */
static enum psnap_status read_pattern(struct reading *r, const struct psnap_yaml_node *map,
                                      const struct psnap_yaml_node *regions,
                                      const struct name_index *names,
                                      struct psnap_profile_loop *loop)
{
    static const char *const keys[] = {"pattern", NULL};
    const struct psnap_yaml_node *derived, *pattern = psnap_yaml_get(map, "pattern");
    const struct psnap_yaml_node *region = regions ? regions->first : NULL;
    uint64_t *counts;
    enum psnap_status status = read_derived(r, map, keys, &derived); /* there is none */

    if (status)
        return status;
    if (!pattern)
        return PSNAP_OK;
    status = read_sequence(r, pattern, names, "region", NULL, &loop->pattern);
    if (status)
        return status;
    counts = calloc(loop->region_count + 1, sizeof *counts);
    if (!counts)
        return read_out_of_memory(r);
    if (!sequence_counts(&loop->pattern, PSNAP_PATTERN_MAX, counts))
        status = psnap_yaml_fail(r->doc, pattern, r->error, PSNAP_ERROR_VALUE,
                                 "the pattern unfolds to more than %u accesses", PSNAP_PATTERN_MAX);
    for (uint32_t i = 0; i < loop->region_count && !status; i++, region = region->next) {
        r->pattern_slots += counts[i];
        if (counts[i] > loop->regions[i].accesses)
            status = psnap_yaml_fail(r->doc, pattern, r->error, PSNAP_ERROR_VALUE,
                                     "the pattern has region '%.100s' %" PRIu64
                                     " times, but its 'accesses' in line %" PRIu32 " is %" PRIu64,
                                     loop->regions[i].id, counts[i],
                                     psnap_yaml_get(region, "accesses")->src_line,
                                     loop->regions[i].accesses);
    }
    if (!status && r->pattern_slots > PATTERNS_MAX) /* all are in memory at a time */
        status = psnap_yaml_fail(r->doc, pattern, r->error, PSNAP_ERROR_VALUE,
                                 "the patterns up to here unfold to more than %u accesses",
                                 PATTERNS_MAX);
    free(counts);
    return status;
}

/* In model psnap: the pattern, and accesses against those of the regions. */
static enum psnap_status read_psnap_rest(struct reading *r, const struct psnap_yaml_node *map,
                                         const struct psnap_yaml_node *list,
                                         const struct name_index *names,
                                         struct psnap_profile_loop *loop)
{
    uint64_t stated;
    enum psnap_status status = read_pattern(r, map, list, names, loop);

    if (!status)
        status = read_count(r, map, "accesses", loop->accesses, &stated);
    if (!status && stated != loop->accesses)
        return psnap_yaml_fail(r->doc, psnap_yaml_get(map, "accesses"), r->error, PSNAP_ERROR_VALUE,
                               "'accesses' is %" PRIu64 ", but the regions (line %" PRIu32
                               ") have %" PRIu64,
                               stated, list ? list->src_line : map->src_line, loop->accesses);
    return status;
}

static enum psnap_status read_regions(struct reading *r, const struct psnap_yaml_node *map,
                                      struct psnap_profile_loop *loop)
{
    const struct psnap_yaml_node *list = psnap_yaml_get(map, "regions");
    struct name_index names = {NULL, 0};
    enum psnap_status status = PSNAP_OK;

    if (list) {
        status = psnap_yaml_expect(r->doc, list, PSNAP_YAML_SEQUENCE, "regions", r->error);
        if (!status && list->count > PSNAP_PROFILE_REGIONS_MAX - r->region_count)
            status = psnap_yaml_fail(r->doc, list, r->error, PSNAP_ERROR_MEMORY,
                                     "more than %u regions", PSNAP_PROFILE_REGIONS_MAX);
        if (!status)
            status = read_names(r, list, &names);
        if (!status) {
            loop->regions =
                psnap_arena_alloc(r->profile->arena, (list->count + 1) * sizeof *loop->regions);
            status = loop->regions ? PSNAP_OK : read_out_of_memory(r);
        }
        for (const struct psnap_yaml_node *node = list->first; node && !status; node = node->next) {
            struct psnap_profile_region *region = &loop->regions[loop->region_count++];
            status = read_region(r, node, region);
            if (!status)
                status = read_sum(r, node, region->accesses, &loop->accesses);
        }
        r->region_count += loop->region_count;
    }
    if (!status && strcmp(r->profile->model, PSNAP_MODEL_NESTS) != 0)
        status = read_psnap_rest(r, map, list, &names, loop);
    free(names.entries);
    return status;
}

/* ---- what is derived ---- */

static enum psnap_status check_pattern(const struct reading *r, const struct psnap_yaml_node *map,
                                       const struct psnap_profile_loop *loop)
{
    static const char *const keys[] = {"pattern", NULL};
    const struct psnap_yaml_node *regions = psnap_yaml_get(map, "regions"), *derived, *pattern;
    struct psnap_sequence stated = {0};
    struct name_index names = {NULL, 0};
    enum psnap_status status = read_derived(r, map, keys, &derived);

    pattern = psnap_yaml_get(derived ? derived : map, "pattern");
    if (status || !pattern)
        return status;
    if (!derived)
        return psnap_yaml_fail(r->doc, pattern, r->error, PSNAP_ERROR_VALUE,
                               "in model %s 'pattern' follows from the bodies; it stands in "
                               "'derived', or nowhere",
                               r->profile->model);
    if (regions)
        status = read_names(r, regions, &names);
    if (!status)
        status = read_sequence(r, pattern, &names, "region", NULL, &stated);
    free(names.entries);
    if (status)
        return status;
    for (uint32_t i = 0; i < stated.count && stated.count == loop->pattern.count; i++)
        if (stated.items[i].what != loop->pattern.items[i].what)
            stated.count = 0;
    if (stated.count == loop->pattern.count)
        return PSNAP_OK;
    return psnap_yaml_fail(r->doc, pattern, r->error, PSNAP_ERROR_VALUE,
                           "the pattern is not the regions of loop '%.100s' in the order in which "
                           "its body that iterates most accesses them; correct or delete it",
                           loop->id);
}

enum psnap_status check_loops(const struct reading *r, const struct psnap_yaml_node *loops)
{
    const struct psnap_yaml_node *map = loops->first, *node;
    enum psnap_status status = PSNAP_OK;

    for (uint32_t i = 0; i < r->profile->loop_count && !status; i++, map = map->next) {
        const struct psnap_profile_loop *loop = &r->profile->loops[i];
        const struct psnap_yaml_node *regions = psnap_yaml_get(map, "regions");
        uint64_t stated;
        uint32_t k = 0;
        status = read_count(r, map, "accesses", loop->accesses, &stated);
        if (!status && stated != loop->accesses)
            status = psnap_yaml_fail(
                r->doc, psnap_yaml_get(map, "accesses"), r->error, PSNAP_ERROR_VALUE,
                "loop '%.100s' has %" PRIu64 " accesses, but its bodies make %" PRIu64, loop->id,
                stated, loop->accesses);
        for (node = regions ? regions->first : NULL; node && !status; node = node->next)
            status = check_region(r, node, &loop->regions[k++]);
        if (!status)
            status = check_pattern(r, map, loop);
    }
    return status;
}

enum psnap_status read_loop(struct reading *r, const struct psnap_yaml_node *map,
                            const struct name_index *names, struct psnap_profile_loop *loop)
{
    static const char *const keys[] = {"id",       "part_of",  "function",   "source",
                                       "nest",     "entries",  "iterations", "operations",
                                       "accesses", "estimate", "pattern",    "regions",
                                       "derived",  "bodies",   "references", "expected_off_points",
                                       NULL};
    const struct psnap_yaml_node *off;
    enum psnap_status status = psnap_yaml_known_keys(r->doc, map, keys, r->error);

    if (status || (status = read_text(r, map, "id", NULL, &loop->id)) ||
        (status = read_text(r, map, "part_of", loop->id, &loop->src_id)) ||
        (status = read_text(r, map, "function", "", &loop->function)) ||
        (status = read_text(r, map, "source", "", &loop->file)))
        return status;
    split_source(r, loop);
    if (!loop->file)
        return read_out_of_memory(r);
    if ((status = read_nest(r, map, names, loop)) ||
        (status = read_count(r, map, "entries", UINT64_MAX, &loop->entries)) ||
        (status = read_iterations(r, map, loop)) ||
        (status = read_operations(r, map, loop->operations)) ||
        (status = read_estimate(r, map, loop)))
        return status;
    if ((off = psnap_yaml_get(map, "expected_off_points")) &&
        (status = psnap_yaml_real(r->doc, off, 0, 100, &loop->expected_off, r->error)))
        return status;
    return read_regions(r, map, loop);
}
