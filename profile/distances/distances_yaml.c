/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Histograms of stack distances, to the file and back.
 *
 *     reuse: {new: 4096, distances: {0: 28672, 2: 8, 3711: 4000}}
 *
 * What is new and what is reused add up to the region's accesses.
 */
#include "profile/distances/distances_yaml.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/text.h"
#include "profile/distances/distances.h"

static int compare_lines(const void *a, const void *b)
{
    const struct psnap_distance_count *p = a, *q = b;

    return p->lines < q->lines ? -1 : p->lines > q->lines;
}

/* {distance: count, ...} into the region; *sum += counts. */
static enum psnap_status read_counts(const struct reading *r, const struct psnap_yaml_node *map,
                                     struct psnap_profile_region *region, uint64_t *sum)
{
    enum psnap_status status =
        psnap_yaml_expect(r->doc, map, PSNAP_YAML_MAP, "distances", r->error);

    if (!status && map->count > DISTANCES_MAX)
        status = psnap_yaml_fail(r->doc, map, r->error, PSNAP_ERROR_VALUE, "more than %d distances",
                                 DISTANCES_MAX);
    for (const struct psnap_yaml_node *node = status ? NULL : map->first; node && !status;
         node = node->next) {
        struct psnap_distance_count *to = &region->distances[region->distance_count++];
        uint64_t lines;
        if (!psnap_text_u64(node->key, &lines) || lines > UINT32_MAX)
            return psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                                   "'%.60s' is no distance: they are 0 to 2^32 - 1 lines",
                                   node->key);
        to->lines = (uint32_t)lines;
        status = psnap_yaml_u64(r->doc, node, 1, PSNAP_COUNT_MAX, &to->count, r->error);
        if (!status)
            status = read_sum(r, node, to->count, sum);
    }
    if (status)
        return status;
    qsort(region->distances, region->distance_count, sizeof *region->distances, compare_lines);
    for (uint32_t i = 1; i < region->distance_count; i++)
        if (region->distances[i].lines == region->distances[i - 1].lines)
            return psnap_yaml_fail(r->doc, map, r->error, PSNAP_ERROR_VALUE,
                                   "distance %" PRIu32 " is there twice",
                                   region->distances[i].lines);
    return PSNAP_OK;
}

enum psnap_status read_distances(const struct reading *r, const struct psnap_yaml_node *region_map,
                                 struct psnap_profile_region *region)
{
    static const char *const keys[] = {"new", "distances", NULL};
    const struct psnap_yaml_node *map = psnap_yaml_get(region_map, "reuse"), *list;
    const bool is_wanted = !strcmp(r->profile->model, PSNAP_MODEL_STACKDIST);
    uint64_t sum = 0;
    enum psnap_status status;

    if (!map && !is_wanted)
        return PSNAP_OK;
    if (!is_wanted)
        return psnap_yaml_fail(r->doc, map, r->error, PSNAP_ERROR_VALUE,
                               "'reuse' is of the model '%s', and this profile's is '%s'",
                               PSNAP_MODEL_STACKDIST, r->profile->model);
    if (!map && !psnap_yaml_require(r->doc, region_map, "reuse", r->error))
        return PSNAP_ERROR_VALUE;
    status = psnap_yaml_expect_keys(r->doc, map, "reuse", keys, r->error);
    if (!status)
        status = read_count(r, map, "new", 0, &region->new_lines);
    if (status)
        return status;
    list = psnap_yaml_get(map, "distances");
    region->distances = psnap_arena_alloc(
        r->profile->arena, ((list ? list->count : 0) + (size_t)1) * sizeof *region->distances);
    if (!region->distances)
        return read_out_of_memory(r);
    if (list && (status = read_counts(r, list, region, &sum)))
        return status;
    sum += region->new_lines; /* each is at most 2^56 */
    if (sum != region->accesses)
        return psnap_yaml_fail(
            r->doc, psnap_yaml_get(region_map, "accesses"), r->error, PSNAP_ERROR_VALUE,
            "'accesses' is %" PRIu64 ", but 'reuse' (line %" PRIu32 ") comes to %" PRIu64,
            region->accesses, map->src_line, sum);
    return PSNAP_OK;
}

void write_distances(const struct psnap_profile_region *region, struct psnap_yaml_doc *doc,
                     struct psnap_yaml_node *map)
{
    struct psnap_yaml_node *reuse, *list;

    if (!region->distances)
        return;
    reuse = psnap_yaml_add_map(doc, map, "reuse", PSNAP_YAML_FLOW);
    psnap_yaml_add_u64(doc, reuse, "new", region->new_lines);
    if (!region->distance_count)
        return;
    list = psnap_yaml_add_map(doc, reuse, "distances", PSNAP_YAML_FLOW);
    for (unsigned i = 0; i < region->distance_count; i++) {
        char label[16];
        snprintf(label, sizeof label, "%" PRIu32, region->distances[i].lines);
        psnap_yaml_add_u64(doc, list, label, region->distances[i].count);
    }
}
