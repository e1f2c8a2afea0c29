/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Regions from YAML, and what their fields must agree on: kinds, sizes and
 * strides all count the same accesses; the stride graph is one path through
 * all strides; the working set has room for the sizes and strides, and lies in
 * its group. A contradiction names both lines.
 */
#include "profile/yaml/read.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/layout.h"
#include "formats/base/text.h"
#include "profile/yaml/yaml_keys.h"

static enum psnap_status read_object(const struct reading *r, const struct psnap_yaml_node *map,
                                     struct psnap_profile_region *region)
{
    const struct psnap_yaml_node *before = NULL;

    for (uint8_t kind = 0; kind < 3; kind++) {
        const struct psnap_yaml_node *node = psnap_yaml_get(map, psnap_object_keys[kind]);
        enum psnap_status status;
        if (!node)
            continue;
        if (before)
            return psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                                   "a region is in one object, but line %" PRIu32
                                   " has its '%s' and this line its '%s'",
                                   before->src_line, before->key, node->key);
        status = read_text(r, map, psnap_object_keys[kind], NULL, &region->object);
        if (status)
            return status;
        region->object_kind = kind;
        before = node;
    }
    return PSNAP_OK;
}

enum psnap_status read_place(const struct reading *r, const struct psnap_yaml_node *map,
                             struct psnap_place *place)
{
    const struct psnap_yaml_node *node = psnap_yaml_require(r->doc, map, "group", r->error);
    const char *name;
    uint64_t index = 0;
    enum psnap_status status;

    if (!node)
        return PSNAP_ERROR_VALUE;
    status = psnap_yaml_text(r->doc, node, &name, r->error);
    if (status)
        return status;
    for (place->group = PSNAP_GROUP_RAW; place->group < PSNAP_GROUP_COUNT; place->group++)
        if (!strcmp(psnap_group_name(place->group), name))
            break;
    if (place->group == PSNAP_GROUP_COUNT)
        return psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                               "'group' must be image, heap, mmap, stack or raw, not '%.60s'",
                               name);
    node = psnap_yaml_get(map, "index");
    if (node && (status = psnap_yaml_u64(r->doc, node, 0, UINT16_MAX, &index, r->error)))
        return status;
    place->index = (uint32_t)index;
    node = psnap_yaml_require(r->doc, map, "offset", r->error);
    if (!node)
        return PSNAP_ERROR_VALUE;
    return psnap_yaml_i64(r->doc, node, INT64_MIN, INT64_MAX, &place->offset, r->error);
}

static enum psnap_status read_working_set(const struct reading *r,
                                          const struct psnap_yaml_node *region_map,
                                          struct psnap_profile_region *region)
{
    static const char *const keys[] = {"bytes", "group", "index", "offset", NULL};
    const struct psnap_yaml_node *map =
        psnap_yaml_require(r->doc, region_map, "working_set", r->error);
    const struct psnap_yaml_node *bytes;
    struct psnap_place place, back;
    enum psnap_status status;

    if (!map)
        return PSNAP_ERROR_VALUE;
    status = psnap_yaml_expect_keys(r->doc, map, "working_set", keys, r->error);
    if (status)
        return status;
    bytes = psnap_yaml_require(r->doc, map, "bytes", r->error);
    if (!bytes)
        return PSNAP_ERROR_VALUE;
    status = psnap_yaml_size(r->doc, bytes, 1, UINT64_MAX, &region->bytes, r->error);
    if (!status)
        status = read_place(r, map, &place);
    if (status)
        return status;
    region->low = psnap_layout_join(place);
    back = psnap_layout_split(region->low);
    if (back.group != place.group || back.index != place.index || back.offset != place.offset)
        return psnap_yaml_fail(r->doc, psnap_yaml_get(map, "offset"), r->error, PSNAP_ERROR_VALUE,
                               "the offset %" PRId64 " is outside of the group '%s'", place.offset,
                               psnap_group_name(place.group));
    if (region->bytes - 1 > UINT64_MAX - region->low)
        return psnap_yaml_fail(r->doc, bytes, r->error, PSNAP_ERROR_VALUE,
                               "a working set of %" PRIu64
                               " bytes does not fit between its offset and 2^64",
                               region->bytes);
    return PSNAP_OK;
}

/* Sizes are 1 to 64; each key is one. */
static enum psnap_status read_sizes(const struct reading *r, const struct psnap_yaml_node *map,
                                    struct psnap_profile_region *region, uint64_t *sum)
{
    uint64_t counts[PSNAP_ACCESS_SIZE_MAX + 1] = {0}, size;
    enum psnap_status status = psnap_yaml_expect(r->doc, map, PSNAP_YAML_MAP, "sizes", r->error);

    if (status)
        return status;
    for (const struct psnap_yaml_node *node = map->first; node; node = node->next) {
        uint64_t count;
        if (!psnap_text_u64(node->key, &size) || size < 1 || size > PSNAP_ACCESS_SIZE_MAX ||
            counts[size])
            return psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                                   "'%.60s' is no size: they are 1 to %d bytes, each once",
                                   node->key, PSNAP_ACCESS_SIZE_MAX);
        status = psnap_yaml_u64(r->doc, node, 1, PSNAP_COUNT_MAX, &count, r->error);
        if (!status)
            status = read_sum(r, node, count, sum);
        if (status)
            return status;
        counts[size] = count;
    }
    region->sizes = psnap_arena_alloc(r->profile->arena, (map->count + 1) * sizeof *region->sizes);
    if (!region->sizes)
        return read_out_of_memory(r);
    for (size = 1; size <= PSNAP_ACCESS_SIZE_MAX; size++)
        if (counts[size])
            region->sizes[region->size_count++] =
                (struct psnap_size_count){counts[size], (uint8_t)size};
    return PSNAP_OK;
}

/* {bin: count, ...} to counts by bin. */
static enum psnap_status read_bins(const struct reading *r, const struct psnap_yaml_node *map,
                                   const char *what, uint64_t counts[PSNAP_STRIDE_BINS],
                                   uint64_t *sum)
{
    enum psnap_status status = psnap_yaml_expect(r->doc, map, PSNAP_YAML_MAP, what, r->error);

    if (status)
        return status;
    memset(counts, 0, PSNAP_STRIDE_BINS * sizeof *counts);
    for (const struct psnap_yaml_node *node = map->first; node; node = node->next) {
        unsigned bin = 0;
        while (bin < PSNAP_STRIDE_BINS && strcmp(psnap_stride_label(bin), node->key) != 0)
            bin++;
        if (bin == PSNAP_STRIDE_BINS)
            return psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                                   "'%.60s' is no stride: they are 0, the powers of two from "
                                   "-256 to 256, and random",
                                   node->key);
        status = psnap_yaml_u64(r->doc, node, 1, PSNAP_COUNT_MAX, &counts[bin], r->error);
        if (!status)
            status = read_sum(r, node, counts[bin], sum);
        if (status)
            return status;
    }
    return PSNAP_OK;
}

static enum psnap_status read_strides(const struct reading *r, const struct psnap_yaml_node *map,
                                      struct psnap_profile_region *region, uint64_t *sum)
{
    uint64_t counts[PSNAP_STRIDE_BINS];
    enum psnap_status status = read_bins(r, map, "strides", counts, sum);

    if (status)
        return status;
    region->strides =
        psnap_arena_alloc(r->profile->arena, (map->count + 1) * sizeof *region->strides);
    if (!region->strides)
        return read_out_of_memory(r);
    for (unsigned bin = 0; bin < PSNAP_STRIDE_BINS; bin++)
        if (counts[bin])
            region->strides[region->stride_count++] =
                (struct psnap_stride_count){counts[bin], (uint8_t)bin};
    return PSNAP_OK;
}

/* The graph of a single bin needs no telling: it follows itself. */
static enum psnap_status imply_graph(const struct reading *r, struct psnap_profile_region *region)
{
    const struct psnap_stride_count *only = region->strides;

    if (!region->stride_count || only->count == 1)
        return PSNAP_OK;
    region->edges = psnap_arena_alloc(r->profile->arena, sizeof *region->edges);
    if (!region->edges)
        return read_out_of_memory(r);
    region->edges[region->edge_count++] =
        (struct psnap_stride_edge){only->count - 1, only->bin, only->bin};
    return PSNAP_OK;
}

static enum psnap_status read_graph(const struct reading *r, const struct psnap_yaml_node *map,
                                    struct psnap_profile_region *region)
{
    uint64_t rows[PSNAP_STRIDE_BINS][PSNAP_STRIDE_BINS] = {{0}}, sum = 0;
    size_t edges = 0;
    enum psnap_status status =
        psnap_yaml_expect(r->doc, map, PSNAP_YAML_MAP, "stride_graph", r->error);

    if (status)
        return status;
    for (const struct psnap_yaml_node *node = map->first; node; node = node->next) {
        unsigned from = 0;
        while (from < PSNAP_STRIDE_BINS && strcmp(psnap_stride_label(from), node->key) != 0)
            from++;
        if (from == PSNAP_STRIDE_BINS)
            return psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                                   "'%.60s' is no stride", node->key);
        status = read_bins(r, node, "a row of stride_graph", rows[from], &sum);
        if (status)
            return status;
    }
    for (unsigned i = 0; i < PSNAP_STRIDE_BINS * PSNAP_STRIDE_BINS; i++)
        edges += rows[i / PSNAP_STRIDE_BINS][i % PSNAP_STRIDE_BINS] != 0;
    region->edges = psnap_arena_alloc(r->profile->arena, (edges + 1) * sizeof *region->edges);
    if (!region->edges)
        return read_out_of_memory(r);
    for (unsigned from = 0; from < PSNAP_STRIDE_BINS; from++)
        for (unsigned to = 0; to < PSNAP_STRIDE_BINS; to++)
            if (rows[from][to])
                region->edges[region->edge_count++] =
                    (struct psnap_stride_edge){rows[from][to], (uint8_t)from, (uint8_t)to};
    return PSNAP_OK;
}

/* The bin whose number in the graph, left or entered, is furthest from that in the strides, and
 * whether that is more than the one that the ends may lack; the numbers go to *has and *should. */
static bool odd_bin(const struct psnap_profile_region *region, bool entered, unsigned *odd,
                    uint64_t *has, uint64_t *should)
{
    uint64_t strides[PSNAP_STRIDE_BINS] = {0}, graph[PSNAP_STRIDE_BINS] = {0}, most = 0;

    for (unsigned i = 0; i < region->stride_count; i++)
        strides[region->strides[i].bin] = region->strides[i].count;
    for (unsigned i = 0; i < region->edge_count; i++)
        graph[entered ? region->edges[i].to : region->edges[i].from] += region->edges[i].count;
    for (unsigned bin = 0; bin < PSNAP_STRIDE_BINS; bin++) {
        const bool more = graph[bin] > strides[bin];
        const uint64_t off = more ? graph[bin] - strides[bin] + 1 : strides[bin] - graph[bin];
        if (off > most) {
            most = off;
            *odd = bin;
            *has = graph[bin];
            *should = strides[bin];
        }
    }
    return most > 1;
}

/* That the graph is one path through the strides; says which bin is off, and by how much. */
static enum psnap_status check_graph(const struct reading *r, const struct psnap_yaml_node *strides,
                                     const struct psnap_yaml_node *graph,
                                     const struct psnap_profile_region *region)
{
    unsigned first, last, bin;
    uint64_t has, should;
    bool entered = false;

    if (psnap_region_ends(region, &first, &last))
        return PSNAP_OK;
    if (odd_bin(region, false, &bin, &has, &should) ||
        (entered = odd_bin(region, true, &bin, &has, &should)))
        return psnap_yaml_fail(r->doc, graph, r->error, PSNAP_ERROR_VALUE,
                               "'stride_graph' %s bin %s %" PRIu64
                               " times, but 'strides' (line %" PRIu32 ") has it %" PRIu64
                               " times: as often, but for the %s stride of all",
                               entered ? "enters" : "leaves", psnap_stride_label(bin), has,
                               strides->src_line, should, entered ? "first" : "last");
    return psnap_yaml_fail(r->doc, graph, r->error, PSNAP_ERROR_VALUE,
                           "'stride_graph' is not one path through the strides in line %" PRIu32
                           ": only one may be left once less than it occurs, the last, and only "
                           "one entered once less, the first",
                           strides->src_line);
}

/* The shortest working set that the strides and sizes need. */
static uint64_t bytes_needed(const struct psnap_profile_region *region)
{
    uint64_t longest = 0;
    unsigned largest = region->sizes[region->size_count - 1].size;
    unsigned smallest = region->sizes[0].size;

    for (unsigned i = 0; i < region->stride_count; i++) {
        unsigned bin = region->strides[i].bin, power;
        uint64_t stride;
        if (bin == PSNAP_STRIDE_ZERO)
            continue;
        if (bin == PSNAP_STRIDE_RANDOM) {
            stride = PSNAP_STRIDE_MAX + 1;
        } else {
            power =
                bin > PSNAP_STRIDE_ZERO ? bin - PSNAP_STRIDE_ZERO - 1 : PSNAP_STRIDE_ZERO - 1 - bin;
            stride = ((UINT64_C(1) << power) >> 1) + 1; /* the shortest of the bin */
        }
        longest = stride > longest ? stride : longest;
    }
    return longest + smallest > largest ? longest + smallest : largest;
}

/* That `counted` accesses under `node` are the region's. */
static enum psnap_status check_counts(const struct reading *r, const struct psnap_yaml_node *map,
                                      const struct psnap_yaml_node *node, const char *what,
                                      uint64_t counted, uint64_t accesses)
{
    const struct psnap_yaml_node *there = psnap_yaml_get(map, "accesses");

    if (counted == accesses)
        return PSNAP_OK;
    return psnap_yaml_fail(r->doc, there, r->error, PSNAP_ERROR_VALUE,
                           "'accesses' is %" PRIu64 ", but %s (line %" PRIu32 ") come to %" PRIu64,
                           accesses, what, node->src_line, counted);
}

static enum psnap_status read_kinds(const struct reading *r, const struct psnap_yaml_node *map,
                                    struct psnap_profile_region *region)
{
    const struct psnap_yaml_node *first = NULL;
    uint64_t sum = 0;

    for (unsigned kind = 0; kind < 3; kind++) {
        const struct psnap_yaml_node *node = psnap_yaml_get(map, psnap_kind_keys[kind]);
        enum psnap_status status =
            read_count(r, map, psnap_kind_keys[kind], 0, &region->kinds[kind]);
        if (!status && node)
            status = read_sum(r, node, region->kinds[kind], &sum);
        if (status)
            return status;
        if (!first)
            first = node;
    }
    return check_counts(r, map, first ? first : map, "loads, stores and atomics", sum,
                        region->accesses);
}

/* Sizes and strides, against the number of accesses. */
static enum psnap_status read_histograms(const struct reading *r, const struct psnap_yaml_node *map,
                                         struct psnap_profile_region *region)
{
    const struct psnap_yaml_node *sizes = psnap_yaml_require(r->doc, map, "sizes", r->error);
    const struct psnap_yaml_node *strides = psnap_yaml_get(map, "strides");
    const struct psnap_yaml_node *graph = psnap_yaml_get(map, "stride_graph");
    uint64_t size_sum = 0, stride_sum = 0;
    enum psnap_status status = sizes ? PSNAP_OK : PSNAP_ERROR_VALUE;

    if (!status)
        status = read_sizes(r, sizes, region, &size_sum);
    if (!status)
        status = check_counts(r, map, sizes, "the sizes", size_sum, region->accesses);
    if (!status && !strides && region->accesses > 1)
        status =
            psnap_yaml_fail(r->doc, psnap_yaml_get(map, "accesses"), r->error, PSNAP_ERROR_VALUE,
                            "'strides' is missing: %" PRIu64 " accesses have %" PRIu64 " strides",
                            region->accesses, region->accesses - 1);
    if (!status && strides)
        status = read_strides(r, strides, region, &stride_sum);
    if (!status && stride_sum + 1 != region->accesses)
        status =
            psnap_yaml_fail(r->doc, psnap_yaml_get(map, "accesses"), r->error, PSNAP_ERROR_VALUE,
                            "'accesses' is %" PRIu64 ", but the strides (line %" PRIu32
                            ") come to %" PRIu64 ", not to one less",
                            region->accesses, (strides ? strides : map)->src_line, stride_sum);
    if (status)
        return status;
    if (!graph && region->stride_count > 1)
        return psnap_yaml_fail(r->doc, strides, r->error, PSNAP_ERROR_VALUE,
                               "strides of several bins need a 'stride_graph'");
    status = graph ? read_graph(r, graph, region) : imply_graph(r, region);
    if (!status && region->stride_count)
        status = check_graph(r, strides, graph ? graph : strides, region);
    if (!status && graph && !region->stride_count && region->edge_count)
        status = psnap_yaml_fail(r->doc, graph, r->error, PSNAP_ERROR_VALUE,
                                 "a 'stride_graph' without strides");
    return status;
}

static enum psnap_status read_psnap_region(const struct reading *r,
                                           const struct psnap_yaml_node *map,
                                           struct psnap_profile_region *region)
{
    const struct psnap_yaml_node *node = psnap_yaml_require(r->doc, map, "accesses", r->error);
    const struct psnap_yaml_node *set = psnap_yaml_get(map, "working_set");
    enum psnap_status status;

    if (!node)
        return PSNAP_ERROR_VALUE;
    if (psnap_yaml_get(map, "derived"))
        return psnap_yaml_fail(r->doc, psnap_yaml_get(map, "derived"), r->error, PSNAP_ERROR_VALUE,
                               "in model %s nothing is derived", r->profile->model);
    status = psnap_yaml_u64(r->doc, node, 1, PSNAP_COUNT_MAX, &region->accesses, r->error);
    if (!status)
        status = read_kinds(r, map, region);
    if (!status)
        status = read_histograms(r, map, region);
    if (status || region->bytes >= bytes_needed(region))
        return status;
    node = psnap_yaml_get(map, region->stride_count ? "strides" : "sizes");
    return psnap_yaml_fail(r->doc, psnap_yaml_get(set, "bytes"), r->error, PSNAP_ERROR_VALUE,
                           "region '%.100s': a working set of %" PRIu64
                           " bytes is too small: '%s' in line %" PRIu32 " needs %" PRIu64,
                           region->id, region->bytes, node->key, node->src_line,
                           bytes_needed(region));
}

enum psnap_status read_region(struct reading *r, const struct psnap_yaml_node *map,
                              struct psnap_profile_region *region)
{
    static const char *const keys[] = {
        "id",      "symbol", "allocation", "stack",        "accesses",    "loads",   "stores",
        "atomics", "sizes",  "strides",    "stride_graph", "working_set", "derived", NULL};
    enum psnap_status status = psnap_yaml_known_keys(r->doc, map, keys, r->error);

    if (!status)
        status = read_text(r, map, "id", NULL, &region->id);
    if (!status)
        status = read_object(r, map, region);
    if (!status)
        status = read_working_set(r, map, region);
    if (status || !strcmp(r->profile->model, PSNAP_MODEL_NESTS)) /* all else is derived */
        return status;
    return read_psnap_region(r, map, region);
}

/* ---- what is derived ---- */

static enum psnap_status disagrees(const struct reading *r, const struct psnap_yaml_node *node,
                                   const struct psnap_profile_region *region)
{
    return psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                           "'%s' of region '%.100s' is not what its references do; correct or "
                           "delete it",
                           node->key, region->id);
}

static enum psnap_status check_count(const struct reading *r, const struct psnap_yaml_node *map,
                                     const char *key, uint64_t count,
                                     const struct psnap_profile_region *region)
{
    const struct psnap_yaml_node *node = psnap_yaml_get(map, key);
    uint64_t stated;
    enum psnap_status status = read_count(r, map, key, count, &stated);

    if (status || stated == count)
        return status;
    return psnap_yaml_fail(r->doc, node, r->error, PSNAP_ERROR_VALUE,
                           "'%s' of region '%.100s' is %" PRIu64
                           ", but its references have %" PRIu64 "; correct or delete it",
                           key, region->id, stated, count);
}

static bool are_sizes(const struct psnap_profile_region *a, const struct psnap_profile_region *b)
{
    bool are_same = a->size_count == b->size_count;

    for (uint16_t i = 0; are_same && i < a->size_count; i++)
        are_same = a->sizes[i].size == b->sizes[i].size && a->sizes[i].count == b->sizes[i].count;
    return are_same;
}

static bool are_strides(const struct psnap_profile_region *a, const struct psnap_profile_region *b)
{
    bool are_same = a->stride_count == b->stride_count;

    for (uint16_t i = 0; are_same && i < a->stride_count; i++)
        are_same =
            a->strides[i].bin == b->strides[i].bin && a->strides[i].count == b->strides[i].count;
    return are_same;
}

enum psnap_status check_region(const struct reading *r, const struct psnap_yaml_node *map,
                               const struct psnap_profile_region *region)
{
    static const char *const keys[] = {"strides", NULL};
    const struct psnap_yaml_node *sizes = psnap_yaml_get(map, "sizes"), *derived, *strides;
    struct psnap_profile_region stated = {0};
    uint64_t sum = 0;
    enum psnap_status status = read_derived(r, map, keys, &derived);

    if (!status && !region->accesses)
        return psnap_yaml_fail(r->doc, map, r->error, PSNAP_ERROR_VALUE,
                               "no reference accesses region '%.100s'; delete it", region->id);
    if (!status)
        status = check_count(r, map, "accesses", region->accesses, region);
    for (unsigned kind = 0; kind < 3 && !status; kind++)
        status = check_count(r, map, psnap_kind_keys[kind], region->kinds[kind], region);
    if (!status && sizes)
        status = read_sizes(r, sizes, &stated, &sum);
    if (!status && sizes && !are_sizes(&stated, region))
        status = disagrees(r, sizes, region);
    for (unsigned i = 0; i < 2 && !status; i++) { /* those of psnap are nothing here */
        strides = psnap_yaml_get(map, i ? "stride_graph" : "strides");
        if (strides)
            status = psnap_yaml_fail(r->doc, strides, r->error, PSNAP_ERROR_VALUE,
                                     "in model %s '%s' follows from the references; it stands in "
                                     "'derived', or nowhere",
                                     r->profile->model, strides->key);
    }
    strides = status ? NULL : psnap_yaml_get(derived, "strides");
    sum = 0;
    if (strides)
        status = read_strides(r, strides, &stated, &sum);
    if (!status && strides && !are_strides(&stated, region))
        status = disagrees(r, strides, region);
    return status;
}
