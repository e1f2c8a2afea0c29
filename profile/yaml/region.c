/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Regions, and what their fields must agree on: kinds, sizes and strides all count the same
 * accesses; the stride graph is one path through all strides; the working set has room for the
 * sizes and strides, and lies in its group. A contradiction names both lines. In nests-3 all but
 * the place is derived, and must be what the references do.
 */
#include "profile/yaml/fields.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/text.h"

/* ---- the table ---- */

static const struct psnap_field working_set_fields[] = {
    FIELD_BYTES(struct spot, bytes),
    FIELD_GROUP(struct spot, place.group),
    FIELD_INDEX(struct spot, place.index),
    FIELD_OFFSET(struct spot, place.offset),
};
static const struct psnap_record working_set_record =
    PSNAP_RECORD("working_set", working_set_fields, FLOW);

static void read_working_set(struct psnap_reading *r, const struct psnap_yaml_node *map,
                             void *record)
{
    struct psnap_profile_region *region = record;
    struct spot spot = {0};
    struct psnap_place back;

    psnap_record_read(r, map, &working_set_record, &spot);
    if (r->status)
        return;
    region->bytes = spot.bytes;
    region->low = psnap_layout_join(spot.place);
    back = psnap_layout_split(region->low);
    if (back.group != spot.place.group || back.index != spot.place.index ||
        back.offset != spot.place.offset)
        psnap_read_fail(r, psnap_yaml_get(map, "offset"),
                        "the offset %" PRId64 " is outside of the group '%s'", spot.place.offset,
                        psnap_group_name(spot.place.group));
    if (region->bytes - 1 > UINT64_MAX - region->low)
        psnap_read_fail(r, psnap_yaml_get(map, "bytes"),
                        "a working set of %" PRIu64
                        " bytes does not fit between its offset and 2^64",
                        region->bytes);
}

static void write_working_set(const struct psnap_writing *w, const void *record)
{
    const struct psnap_profile_region *region = record;
    const struct spot spot = {psnap_layout_split(region->low), region->bytes};

    psnap_record_write(w, w->map, w->field->key, &working_set_record, &spot);
}

static void write_sizes(const struct psnap_writing *w, const void *record)
{
    const struct psnap_profile_region *region = record;
    struct psnap_yaml_node *map = psnap_write_map(w);

    for (unsigned i = 0; i < region->size_count; i++)
        write_bin(w, map, region->sizes[i].size, region->sizes[i].count);
}

/* The graph of a single bin follows from it. */
static void write_strides(const struct psnap_writing *w, const void *record)
{
    struct psnap_yaml_node *map = w->map;
    const struct psnap_profile_region *region = record;
    struct psnap_yaml_node *row = NULL, *strides = map;

    if (!region->stride_count)
        return;
    if (region->is_derived)
        strides = psnap_yaml_add_map(w->doc, map, "derived", PSNAP_YAML_FLOW);
    strides = psnap_yaml_add_map(w->doc, strides, w->field->key, PSNAP_YAML_FLOW);
    for (unsigned i = 0; i < region->stride_count; i++)
        psnap_yaml_add_u64(w->doc, strides, psnap_stride_label(region->strides[i].bin),
                           region->strides[i].count);
    if (region->stride_count == 1 || region->is_derived)
        return;
    map = psnap_yaml_add_map(w->doc, map, "stride_graph", PSNAP_YAML_FLOW);
    for (unsigned i = 0; i < region->edge_count; i++) {
        const struct psnap_stride_edge *edge = &region->edges[i];
        if (i == 0 || edge[-1].from != edge->from)
            row = psnap_yaml_add_map(w->doc, map, psnap_stride_label(edge->from), PSNAP_YAML_FLOW);
        psnap_yaml_add_u64(w->doc, row, psnap_stride_label(edge->to), edge->count);
    }
}

#define REGION_COUNT(member)                                                                       \
    FIELD_COUNT(struct psnap_profile_region, member), .rules = PSNAP_FIELD_LATER

#define REGION_OBJECT(kind)                                                                        \
    PSNAP_FIELD_TEXT, PSNAP_AT(struct psnap_profile_region, object),                               \
        FIELD_TAG(struct psnap_profile_region, object_kind, kind)

static const struct psnap_field region_fields[] = {
    {"id", PSNAP_FIELD_TEXT, PSNAP_AT(struct psnap_profile_region, id),
     .rules = PSNAP_FIELD_NEEDED},
    {"symbol", REGION_OBJECT(PSNAP_OBJECT_GLOBAL)},
    {"allocation", REGION_OBJECT(PSNAP_OBJECT_ALLOCATION)},
    {"stack", REGION_OBJECT(PSNAP_OBJECT_STACK)},
    {"working_set", FIELD_FORM(read_working_set, write_working_set), .rules = PSNAP_FIELD_NEEDED},
    {"accesses", FIELD_COUNT(struct psnap_profile_region, accesses),
     .rules = PSNAP_FIELD_ALWAYS | PSNAP_FIELD_LATER},
    {"loads", REGION_COUNT(kinds[PSNAP_LOAD])},
    {"stores", REGION_COUNT(kinds[PSNAP_STORE])},
    {"atomics", REGION_COUNT(kinds[PSNAP_ATOMIC])},
    {"sizes", FIELD_FORM(NULL, write_sizes)},
    {"strides", FIELD_FORM(NULL, write_strides)},
    {"stride_graph", PSNAP_FIELD_FORM},
    {"derived", PSNAP_FIELD_FORM},
};

static void check_object(struct psnap_reading *r, const struct psnap_yaml_node *map, void *record)
{
    const struct psnap_yaml_node *two[2];

    (void)record;
    find_two(map, psnap_object_keys, two);
    if (two[1])
        psnap_read_fail(r, two[1],
                        "a region is in one object, but line %" PRIu32
                        " has its '%s' and this line its '%s'",
                        two[0]->src_line, two[0]->key, two[1]->key);
}

static const struct psnap_record region_record = {"a region", PSNAP_FIELDS(region_fields),
                                                  PSNAP_YAML_BLOCK, .check = check_object};
/* The same in short: without what is derived. */
static const struct psnap_record place_record = {"a region", region_fields, 5, PSNAP_YAML_FLOW};

void write_region(const struct psnap_writing *w, struct psnap_yaml_node *list,
                  const struct psnap_profile_region *region)
{
    psnap_record_write(w, list, NULL,
                       region->accesses < profile_to(w)->few ? &place_record : &region_record,
                       region);
}

/* ---- histograms ---- */

static unsigned size_of(const char *key)
{
    uint64_t size;

    return psnap_text_u64(key, &size) && size <= PSNAP_ACCESS_SIZE_MAX ? (unsigned)size : 0;
}

/* The bin that a key names; PSNAP_STRIDE_BINS: none. */
static unsigned bin_of(const char *key)
{
    unsigned bin = 0;

    while (bin < PSNAP_STRIDE_BINS && strcmp(psnap_stride_label(bin), key) != 0)
        bin++;
    return bin;
}

/* Reads counts by what their keys stand for, each once; `none` is what a wrong one does. */
static void read_counts(struct psnap_reading *r, const struct psnap_yaml_node *map,
                        const char *what, unsigned (*index_of)(const char *key), unsigned none,
                        uint64_t *counts, uint64_t *sum)
{
    const struct psnap_yaml_node *node = psnap_read_map(r, map, what);

    for (; node; node = psnap_read_next(r, node)) {
        const unsigned index = index_of(node->key);
        if (index == none || counts[index]) {
            psnap_read_fail(r, node, "'%.60s' is no %s", node->key,
                            none ? "stride: they are 0, the powers of two from -256 to 256, and "
                                   "random"
                                 : "size: they are 1 to 64 bytes, each once");
            return;
        }
        counts[index] = read_positive(r, node);
        read_sum(r, node, counts[index], sum);
    }
}

static void read_sizes(struct psnap_reading *r, const struct psnap_yaml_node *map,
                       uint64_t counts[PSNAP_ACCESS_SIZE_MAX + 1], uint64_t *sum)
{
    read_counts(r, map, "sizes", size_of, 0, counts, sum);
}

static void read_bins(struct psnap_reading *r, const struct psnap_yaml_node *map, const char *what,
                      uint64_t counts[PSNAP_STRIDE_BINS], uint64_t *sum)
{
    read_counts(r, map, what, bin_of, PSNAP_STRIDE_BINS, counts, sum);
}

static void read_graph(struct psnap_reading *r, const struct psnap_yaml_node *map,
                       uint64_t rows[PSNAP_STRIDE_BINS][PSNAP_STRIDE_BINS])
{
    const struct psnap_yaml_node *node = psnap_read_map(r, map, "stride_graph");
    uint64_t sum = 0;

    for (; node; node = psnap_read_next(r, node)) {
        const unsigned from = bin_of(node->key);
        if (from == PSNAP_STRIDE_BINS)
            psnap_read_fail(r, node, "'%.60s' is no stride", node->key);
        else
            read_bins(r, node, "a row of stride_graph", rows[from], &sum);
    }
}

static size_t count_used(const uint64_t *counts, size_t n)
{
    size_t used = 0;

    for (size_t i = 0; i < n; i++)
        used += counts[i] != 0;
    return used;
}

static void keep_sizes(struct psnap_reading *r, const uint64_t *counts,
                       struct psnap_profile_region *region)
{
    region->sizes =
        psnap_read_alloc(r, count_used(counts, PSNAP_ACCESS_SIZE_MAX + 1), sizeof *region->sizes);
    for (unsigned size = 1; size <= PSNAP_ACCESS_SIZE_MAX && region->sizes; size++)
        if (counts[size])
            region->sizes[region->size_count++] =
                (struct psnap_size_count){counts[size], (uint8_t)size};
}

static void keep_strides(struct psnap_reading *r, const uint64_t *counts,
                         struct psnap_profile_region *region)
{
    region->strides =
        psnap_read_alloc(r, count_used(counts, PSNAP_STRIDE_BINS), sizeof *region->strides);
    for (unsigned bin = 0; bin < PSNAP_STRIDE_BINS && region->strides; bin++)
        if (counts[bin])
            region->strides[region->stride_count++] =
                (struct psnap_stride_count){counts[bin], (uint8_t)bin};
}

static void keep_graph(struct psnap_reading *r, uint64_t rows[PSNAP_STRIDE_BINS][PSNAP_STRIDE_BINS],
                       struct psnap_profile_region *region)
{
    enum { CELLS = PSNAP_STRIDE_BINS * PSNAP_STRIDE_BINS };
    const uint64_t *cells = rows[0];

    region->edges = psnap_read_alloc(r, count_used(cells, CELLS), sizeof *region->edges);
    for (unsigned i = 0; i < CELLS && region->edges; i++)
        if (cells[i])
            region->edges[region->edge_count++] = (struct psnap_stride_edge){
                cells[i], (uint8_t)(i / PSNAP_STRIDE_BINS), (uint8_t)(i % PSNAP_STRIDE_BINS)};
}

/* ---- model psnap ---- */

/* That the graph is one path through the strides; says which bin it leaves or enters too often or
 * not often enough by most, and by more than the one time that the ends may lack. */
static void check_graph(struct psnap_reading *r, const struct psnap_yaml_node *strides,
                        const struct psnap_yaml_node *graph,
                        const struct psnap_profile_region *region)
{
    unsigned first, last, odd = 0;

    if (psnap_region_ends(region, &first, &last))
        return;
    for (unsigned entered = 0; entered < 2; entered++) {
        uint64_t should[PSNAP_STRIDE_BINS] = {0}, has[PSNAP_STRIDE_BINS] = {0}, most = 0;
        for (unsigned i = 0; i < region->stride_count; i++)
            should[region->strides[i].bin] = region->strides[i].count;
        for (unsigned i = 0; i < region->edge_count; i++)
            has[entered ? region->edges[i].to : region->edges[i].from] += region->edges[i].count;
        for (unsigned bin = 0; bin < PSNAP_STRIDE_BINS; bin++) {
            const uint64_t off =
                has[bin] > should[bin] ? has[bin] - should[bin] + 1 : should[bin] - has[bin];
            odd = off > most ? bin : odd;
            most = off > most ? off : most;
        }
        if (most > 1)
            psnap_read_fail(r, graph,
                            "'stride_graph' %s bin %s %" PRIu64
                            " times, but 'strides' (line %" PRIu32 ") has it %" PRIu64
                            " times: as often, but for the %s stride of all",
                            entered ? "enters" : "leaves", psnap_stride_label(odd), has[odd],
                            strides->src_line, should[odd], entered ? "first" : "last");
    }
    psnap_read_fail(r, graph,
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
        const int bin = region->strides[i].bin, power = abs(bin - PSNAP_STRIDE_ZERO) - 1;
        uint64_t stride = PSNAP_STRIDE_MAX + 1;
        if (bin == PSNAP_STRIDE_ZERO)
            continue;
        if (bin != PSNAP_STRIDE_RANDOM)
            stride = ((UINT64_C(1) << power) >> 1) + 1; /* the shortest of the bin */
        longest = stride > longest ? stride : longest;
    }
    return longest + smallest > largest ? longest + smallest : largest;
}

/* That what counts accesses under `node` comes to as many as the region has. */
static void check_counts(struct psnap_reading *r, const struct psnap_yaml_node *map,
                         const struct psnap_yaml_node *node, const char *what, uint64_t counted,
                         uint64_t accesses)
{
    if (counted != accesses)
        psnap_read_fail(r, psnap_yaml_get(map, "accesses"),
                        "'accesses' is %" PRIu64 ", but %s (line %" PRIu32 ") come to %" PRIu64,
                        accesses, what, (node ? node : map)->src_line, counted);
}

static void read_kinds(struct psnap_reading *r, const struct psnap_yaml_node *map,
                       struct psnap_profile_region *region)
{
    const struct psnap_yaml_node *first = NULL;
    uint64_t sum = 0;

    for (unsigned kind = 0; kind < 3; kind++) {
        const struct psnap_yaml_node *node = psnap_yaml_get(map, psnap_kind_keys[kind]);
        region->kinds[kind] = read_count(r, map, psnap_kind_keys[kind], 0);
        read_sum(r, node, region->kinds[kind], &sum);
        first = first ? first : node;
    }
    check_counts(r, map, first, "loads, stores and atomics", sum, region->accesses);
}

static void read_strides(struct psnap_reading *r, const struct psnap_yaml_node *map,
                         struct psnap_profile_region *region)
{
    const struct psnap_yaml_node *strides = psnap_yaml_get(map, "strides");
    const struct psnap_yaml_node *graph = psnap_yaml_get(map, "stride_graph");
    const struct psnap_yaml_node *accesses = psnap_yaml_get(map, "accesses");
    uint64_t counts[PSNAP_STRIDE_BINS] = {0}, sum = 0;
    uint64_t rows[PSNAP_STRIDE_BINS][PSNAP_STRIDE_BINS] = {{0}};

    if (!strides && region->accesses > 1)
        psnap_read_fail(r, accesses,
                        "'strides' is missing: %" PRIu64 " accesses have %" PRIu64 " strides",
                        region->accesses, region->accesses - 1);
    read_bins(r, strides, "strides", counts, &sum);
    keep_strides(r, counts, region);
    if (sum + 1 != region->accesses)
        psnap_read_fail(r, accesses,
                        "'accesses' is %" PRIu64 ", but the strides (line %" PRIu32
                        ") come to %" PRIu64 ", not to one less",
                        region->accesses, (strides ? strides : map)->src_line, sum);
    if (!graph && region->stride_count > 1)
        psnap_read_fail(r, strides, "strides of several bins need a 'stride_graph'");
    if (graph)
        read_graph(r, graph, rows);
    else if (region->stride_count) /* a single bin follows itself */
        rows[region->strides->bin][region->strides->bin] = region->strides->count - 1;
    keep_graph(r, rows, region);
    if (r->status)
        return;
    if (region->stride_count)
        check_graph(r, strides, graph ? graph : strides, region);
    else if (region->edge_count)
        psnap_read_fail(r, graph, "a 'stride_graph' without strides");
}

void read_region(struct psnap_reading *r, const struct psnap_yaml_node *map,
                 struct psnap_profile_region *region)
{
    const struct psnap_yaml_node *sizes, *node;
    uint64_t counts[PSNAP_ACCESS_SIZE_MAX + 1] = {0}, sum = 0;

    psnap_record_read(r, map, &region_record, region);
    if (profile_of(r)->model)
        return;
    node = psnap_read_require(r, map, "accesses");
    read_derived(r, map, "strides"); /* there is none */
    region->accesses = read_positive(r, node);
    read_kinds(r, map, region);
    sizes = psnap_read_require(r, map, "sizes");
    read_sizes(r, sizes, counts, &sum);
    check_counts(r, map, sizes, "the sizes", sum, region->accesses);
    keep_sizes(r, counts, region);
    read_strides(r, map, region);
    if (r->status || region->bytes >= bytes_needed(region))
        return;
    node = psnap_yaml_get(map, region->stride_count ? "strides" : "sizes");
    psnap_read_fail(r, psnap_yaml_get(psnap_yaml_get(map, "working_set"), "bytes"),
                    "region '%.100s': a working set of %" PRIu64
                    " bytes is too small: '%s' in line %" PRIu32 " needs %" PRIu64,
                    region->id, region->bytes, node->key, node->src_line, bytes_needed(region));
}

/* ---- what is derived ---- */

static void check_bins(struct psnap_reading *r, const struct psnap_yaml_node *node,
                       const struct psnap_profile_region *region, bool is_same)
{
    if (!is_same)
        psnap_read_fail(r, node,
                        "'%s' of region '%.100s' is not what its references do; correct or delete "
                        "it",
                        node->key, region->id);
}

void check_region(struct psnap_reading *r, const struct psnap_yaml_node *map,
                  const struct psnap_profile_region *region)
{
    const struct psnap_yaml_node *derived = read_derived(r, map, "strides"), *node;
    uint64_t sizes[PSNAP_ACCESS_SIZE_MAX + 1] = {0}, of_sizes[PSNAP_ACCESS_SIZE_MAX + 1] = {0};
    uint64_t strides[PSNAP_STRIDE_BINS] = {0}, of_strides[PSNAP_STRIDE_BINS] = {0};
    uint64_t stated, has, sum = 0;

    if (!region->accesses)
        psnap_read_fail(r, map, "no reference accesses region '%.100s'; delete it", region->id);
    node = psnap_record_differs(r, map, &region_record, region, &stated, &has);
    if (node)
        psnap_read_fail(r, node,
                        "'%s' of region '%.100s' is %" PRIu64 ", but its references have %" PRIu64
                        "; correct or delete it",
                        node->key, region->id, stated, has);
    for (unsigned i = 0; i < region->size_count; i++)
        of_sizes[region->sizes[i].size] = region->sizes[i].count;
    for (unsigned i = 0; i < region->stride_count; i++)
        of_strides[region->strides[i].bin] = region->strides[i].count;
    node = psnap_yaml_get(map, "sizes");
    read_sizes(r, node, sizes, &sum);
    check_bins(r, node, region, !node || !memcmp(sizes, of_sizes, sizeof sizes));
    for (unsigned i = 0; i < 2; i++) { /* those of psnap are nothing here */
        node = psnap_yaml_get(map, i ? "stride_graph" : "strides");
        if (node)
            psnap_read_fail(r, node,
                            "in model %s '%s' follows from the references; it stands in "
                            "'derived', or nowhere",
                            profile_of(r)->profile->model, node->key);
    }
    node = psnap_yaml_get(derived, "strides");
    sum = 0;
    read_bins(r, node, "strides", strides, &sum);
    check_bins(r, node, region, !node || !memcmp(strides, of_strides, sizeof strides));
}
