/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Points as YAML. BANDWIDTH.md documents the form.
 */
#include <math.h>
#include <string.h>

#include "formats/base/reals.h"
#include "formats/base/yaml.h"
#include "predict/bandwidth/maps.h"

enum { MAPS_VERSION = 1, DIGITS = 4 /* of what was measured */ };

#define SHARE_UNITS 1e6 /* shares are written in parts of 1 */
#define SUM_OFF_MAX 1e-3
#define MAP_STRIDE_READ_MAX (1U << 30)

static const char *const step_keys[MAP_PROBES] = {"stride_words", "stride_words", "block_words",
                                                  "chain_words"};

/* --------------------------------------------------------------------- writing */

static void add_share(struct psnap_yaml_doc *doc, struct psnap_yaml_node *list, double share)
{
    psnap_yaml_add_real(doc, list, NULL, round(share * SHARE_UNITS) / SHARE_UNITS);
}

static void add_supply(struct psnap_yaml_doc *doc, struct psnap_yaml_node *map,
                       const struct maps *maps, const struct supply *supply)
{
    struct psnap_yaml_node *list = psnap_yaml_add_sequence(doc, map, "hit_rates", PSNAP_YAML_FLOW);

    for (uint32_t i = 0; i < maps->machine.level_count; i++)
        add_share(doc, list, supply_hit_rate(supply, i));
    if (!maps->has_kinds)
        return;
    list = psnap_yaml_add_sequence(doc, map, "kinds", PSNAP_YAML_FLOW);
    for (uint32_t i = 1; i <= maps->machine.level_count; i++) {
        struct psnap_yaml_node *kinds = psnap_yaml_add_sequence(doc, list, NULL, PSNAP_YAML_FLOW);

        for (int k = 0; k < SUPPLY_KINDS; k++)
            add_share(doc, kinds, supply->accesses[i][k]);
    }
}

static void add_point(struct psnap_yaml_doc *doc, struct psnap_yaml_node *points,
                      const struct maps *maps, const struct map_point *point)
{
    struct psnap_yaml_node *map = psnap_yaml_add_map(doc, points, NULL, PSNAP_YAML_FLOW);

    if (point->size_bytes)
        psnap_yaml_add_u64(doc, map, "size_bytes", point->size_bytes);
    if (point->step)
        psnap_yaml_add_u64(doc, map, step_keys[point->probe], point->step);
    if (point->probe == MAP_STREAMS)
        psnap_yaml_add_u64(doc, map, "streams", point->streams);
    if (point->probe == MAP_APEX)
        psnap_yaml_add_real(doc, map, "alpha", point->alpha);
    psnap_yaml_add_real(doc, map, "bandwidth_bytes_per_s",
                        psnap_reals_round(map_point_bandwidth(point), DIGITS));
    if (point->runs > 1)
        psnap_yaml_add_real(doc, map, "spread", psnap_reals_round(point->spread, DIGITS));
    if (point->runs > 0)
        psnap_yaml_add_u64(doc, map, "runs", point->runs);
    add_supply(doc, map, maps, &point->supply);
}

static void add_origin(struct psnap_yaml_doc *doc, struct psnap_yaml_node *root,
                       const struct map_origin *origin)
{
    struct psnap_yaml_node *map;

    if (!origin->date[0])
        return;
    map = psnap_yaml_add_map(doc, root, "measured", PSNAP_YAML_BLOCK);
    psnap_yaml_add_text(doc, map, "psnap", origin->psnap);
    psnap_yaml_add_text(doc, map, "date", origin->date);
    psnap_yaml_add_text(doc, map, "processor", origin->processor);
    if (origin->cpu >= 0)
        psnap_yaml_add_u64(doc, map, "cpu", (uint64_t)origin->cpu);
    psnap_yaml_add_u64(doc, map, "rounds", origin->rounds);
    psnap_yaml_add_real(doc, map, "seconds", psnap_reals_round(origin->seconds, DIGITS));
}

enum psnap_status maps_write(const struct maps *maps, FILE *file, struct psnap_error *error)
{
    struct psnap_yaml_doc *doc = psnap_yaml_doc_new("points");
    struct psnap_yaml_node *root, *list;
    enum psnap_status status;

    if (!doc)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for points");
    root = psnap_yaml_add_map(doc, NULL, NULL, PSNAP_YAML_BLOCK);
    psnap_yaml_add_u64(doc, root, "psnap_maps", MAPS_VERSION);
    add_origin(doc, root, &maps->origin);
    if (maps->has_machine)
        psnap_machine_add(&maps->machine, doc, root);
    list = psnap_yaml_add_sequence(doc, root, "points", PSNAP_YAML_BLOCK);
    for (size_t i = 0; i < maps->count; i++)
        add_point(doc, list, maps, &maps->points[i]);
    status = psnap_yaml_write(doc, file, error);
    psnap_yaml_doc_free(doc);
    return status;
}

/* --------------------------------------------------------------------- reading */

struct reader {
    const struct psnap_yaml_doc *doc;
    struct psnap_error *error;
    struct maps *maps;
};

static enum psnap_status fail(const struct reader *reader, const struct psnap_yaml_node *node,
                              const char *what)
{
    return psnap_yaml_fail(reader->doc, node, reader->error, PSNAP_ERROR_VALUE, "%s", what);
}

/* Cumulative hit rates, one for each level, to shares that are all near. The first point says how
 * many levels there are, unless the machine has. */
static enum psnap_status read_rates(const struct reader *reader, const struct psnap_yaml_node *list,
                                    struct supply *supply)
{
    struct psnap_machine *machine = &reader->maps->machine;
    double before = 0, rate = 0;
    uint32_t level = 0;
    enum psnap_status status =
        psnap_yaml_expect(reader->doc, list, PSNAP_YAML_SEQUENCE, "hit_rates", reader->error);

    if (status)
        return status;
    if (!machine->level_count && list->count <= PSNAP_LEVELS_MAX)
        machine->level_count = (uint32_t)list->count;
    if (!list->count || list->count != machine->level_count)
        return psnap_yaml_fail(reader->doc, list, reader->error, PSNAP_ERROR_VALUE,
                               "hit_rates has %zu numbers, and there are %u levels", list->count,
                               machine->level_count);
    for (const struct psnap_yaml_node *each = list->first; each; each = each->next, level++) {
        status = psnap_yaml_real(reader->doc, each, 0, 1, &rate, reader->error);
        if (status)
            return status;
        if (rate < before)
            return psnap_yaml_fail(reader->doc, each, reader->error, PSNAP_ERROR_VALUE,
                                   "the hit rate of level %u is below that of level %u: they are "
                                   "cumulative, of all accesses",
                                   level + 1, level);
        supply->accesses[level][SUPPLY_NEAR] = rate - before;
        before = rate;
    }
    supply->accesses[level][SUPPLY_NEAR] = 1 - before;
    return PSNAP_OK;
}

/* The shares of each level behind the first, and of memory, by kind; their sums are those of the
 * hit rates. */
static enum psnap_status read_kinds(const struct reader *reader, const struct psnap_yaml_node *list,
                                    struct supply *supply)
{
    enum psnap_status status =
        psnap_yaml_expect(reader->doc, list, PSNAP_YAML_SEQUENCE, "kinds", reader->error);
    uint32_t level = 1;

    if (!status && list->count != reader->maps->machine.level_count)
        return fail(reader, list, "kinds has a list for each level behind the first, and memory");
    for (const struct psnap_yaml_node *each = list ? list->first : NULL; each && !status;
         each = each->next, level++) {
        double left = supply->accesses[level][SUPPLY_NEAR];
        int k = 0;

        status = psnap_yaml_expect(reader->doc, each, PSNAP_YAML_SEQUENCE, "kinds", reader->error);
        if (!status && each->count != SUPPLY_KINDS)
            return fail(reader, each,
                        "shares of five kinds of streams: near, beside, skip, far, lost");
        for (const struct psnap_yaml_node *share = status ? NULL : each->first; share && !status;
             share = share->next, k++) {
            status = psnap_yaml_real(reader->doc, share, 0, 1, &supply->accesses[level][k],
                                     reader->error);
            left -= supply->accesses[level][k];
        }
        if (!status && fabs(left) > SUM_OFF_MAX)
            return fail(reader, each,
                        "the kinds do not add up to what hit_rates has of this level");
    }
    return status;
}

static enum psnap_status read_probe(const struct reader *reader, const struct psnap_yaml_node *map,
                                    struct map_point *point)
{
    const struct psnap_yaml_node *size = psnap_yaml_get(map, "size_bytes");
    const struct psnap_yaml_node *stride = psnap_yaml_get(map, "stride_words");
    const struct psnap_yaml_node *block = psnap_yaml_get(map, "block_words");
    const struct psnap_yaml_node *chain = psnap_yaml_get(map, "chain_words");
    const struct psnap_yaml_node *streams = psnap_yaml_get(map, "streams");
    const struct psnap_yaml_node *alpha = psnap_yaml_get(map, "alpha");
    const struct psnap_yaml_node *const step = block ? block : chain ? chain : stride;
    uint64_t words = 0, count = 1;
    enum psnap_status status = PSNAP_OK;

    if ((block != NULL) + (chain != NULL) + (stride != NULL) > 1)
        return fail(reader, step, "a point has one of stride_words, block_words and chain_words");
    if (!alpha != !block)
        return fail(reader, alpha ? alpha : block, "block_words and alpha come together");
    if (streams && !stride)
        return fail(reader, streams, "streams come with stride_words");
    point->probe = block ? MAP_APEX : chain ? MAP_CHAIN : streams ? MAP_STREAMS : MAP_STRIDED;
    if (size)
        status = psnap_yaml_size(reader->doc, size, MAP_WORD_BYTES, MAP_SIZE_MAX,
                                 &point->size_bytes, reader->error);
    if (!status && step)
        status = psnap_yaml_u64(reader->doc, step, 1,
                                point->probe == MAP_APEX ? MAP_STEP_MAX : MAP_STRIDE_READ_MAX,
                                &words, reader->error);
    if (!status && streams)
        status = psnap_yaml_u64(reader->doc, streams, 2, MAP_STREAMS_MAX, &count, reader->error);
    if (!status && alpha)
        status = psnap_yaml_real(reader->doc, alpha, 1e-6, 1, &point->alpha, reader->error);
    point->step = (uint32_t)words;
    point->streams = (uint32_t)count;
    return status;
}

static enum psnap_status read_point(const struct reader *reader, const struct psnap_yaml_node *map)
{
    static const char *const keys[] = {"size_bytes",
                                       "stride_words",
                                       "block_words",
                                       "chain_words",
                                       "streams",
                                       "alpha",
                                       "bandwidth_bytes_per_s",
                                       "spread",
                                       "runs",
                                       "hit_rates",
                                       "kinds",
                                       NULL};
    struct map_point point = {.src_line = map->src_line};
    const struct psnap_yaml_node *node;
    double bandwidth = 0;
    uint64_t runs = 0;
    enum psnap_status status =
        psnap_yaml_expect_keys(reader->doc, map, "a point", keys, reader->error);

    if (!status)
        status = read_probe(reader, map, &point);
    if (!status) {
        node = psnap_yaml_require(reader->doc, map, "bandwidth_bytes_per_s", reader->error);
        status = node ? psnap_yaml_real(reader->doc, node, 1, 1e18, &bandwidth, reader->error)
                      : reader->error->code;
        point.seconds = MAP_WORD_BYTES / bandwidth;
    }
    node = psnap_yaml_get(map, "spread");
    if (!status && node)
        status = psnap_yaml_real(reader->doc, node, 0, 1e9, &point.spread, reader->error);
    node = psnap_yaml_get(map, "runs");
    if (!status && node)
        status = psnap_yaml_u64(reader->doc, node, 0, UINT32_MAX, &runs, reader->error);
    point.runs = (uint32_t)runs;
    if (!status) {
        node = psnap_yaml_require(reader->doc, map, "hit_rates", reader->error);
        status = node ? read_rates(reader, node, &point.supply) : reader->error->code;
    }
    node = psnap_yaml_get(map, "kinds");
    if (!status && node)
        status = read_kinds(reader, node, &point.supply);
    if (!status && reader->maps->count && reader->maps->has_kinds != (node != NULL))
        return fail(reader, node ? node : map,
                    node ? "points before this one have no kinds: all have them, or none"
                         : "points before this one have kinds: all have them, or none");
    reader->maps->has_kinds = node != NULL;
    supply_normalise(&point.supply);
    if (!status && !maps_add(reader->maps, &point))
        status = psnap_error_set(reader->error, PSNAP_ERROR_MEMORY, "out of memory for points");
    return status;
}

static void read_text(const struct psnap_yaml_node *node, char *text, size_t size)
{
    if (node && node->kind == PSNAP_YAML_SCALAR)
        snprintf(text, size, "%s", node->text);
}

static enum psnap_status read_origin(const struct reader *reader, const struct psnap_yaml_node *map)
{
    static const char *const keys[] = {"psnap",  "date",    "processor", "cpu",
                                       "rounds", "seconds", NULL};
    struct map_origin *origin = &reader->maps->origin;
    uint64_t number = 0;
    enum psnap_status status =
        psnap_yaml_expect_keys(reader->doc, map, "measured", keys, reader->error);

    read_text(psnap_yaml_get(map, "psnap"), origin->psnap, sizeof origin->psnap);
    read_text(psnap_yaml_get(map, "date"), origin->date, sizeof origin->date);
    read_text(psnap_yaml_get(map, "processor"), origin->processor, sizeof origin->processor);
    if (!status && psnap_yaml_get(map, "cpu")) {
        status = psnap_yaml_u64(reader->doc, psnap_yaml_get(map, "cpu"), 0, INT32_MAX, &number,
                                reader->error);
        origin->cpu = (int)number;
    }
    if (!status && psnap_yaml_get(map, "rounds")) {
        status = psnap_yaml_u64(reader->doc, psnap_yaml_get(map, "rounds"), 0, UINT32_MAX, &number,
                                reader->error);
        origin->rounds = (uint32_t)number;
    }
    if (!status && psnap_yaml_get(map, "seconds"))
        status = psnap_yaml_real(reader->doc, psnap_yaml_get(map, "seconds"), 0, 1e9,
                                 &origin->seconds, reader->error);
    return status;
}

static enum psnap_status read_root(const struct reader *reader)
{
    static const char *const keys[] = {"psnap_maps", "measured", "machine", "points", NULL};
    const struct psnap_yaml_node *root = psnap_yaml_root(reader->doc), *list = NULL, *node;
    uint64_t version;
    enum psnap_status status =
        psnap_yaml_expect(reader->doc, root, PSNAP_YAML_MAP, "a file of points", reader->error);

    if (!status && psnap_yaml_get(root, "psnap_fit"))
        return fail(reader, root, "this is a fit, not points of 'psnap multimaps'");
    if (!status && psnap_yaml_get(root, "psnap"))
        return fail(reader, root, "this is a profile, not points of 'psnap multimaps'");
    if (!status) {
        node = psnap_yaml_require(reader->doc, root, "psnap_maps", reader->error);
        status = node ? psnap_yaml_u64(reader->doc, node, 1, MAPS_VERSION, &version, reader->error)
                      : reader->error->code;
    }
    if (!status)
        status = psnap_yaml_known_keys(reader->doc, root, keys, reader->error);
    node = psnap_yaml_get(root, "measured");
    if (!status && node)
        status = read_origin(reader, node);
    node = psnap_yaml_get(root, "machine");
    if (!status && node) {
        status = psnap_machine_take(reader->doc, node, &reader->maps->machine, reader->error);
        reader->maps->has_machine = true;
    }
    if (!status) {
        list = psnap_yaml_require(reader->doc, root, "points", reader->error);
        status = list ? psnap_yaml_expect(reader->doc, list, PSNAP_YAML_SEQUENCE, "points",
                                          reader->error)
                      : reader->error->code;
    }
    if (!status && (!list->count || list->count > MAP_POINTS_MAX))
        return psnap_yaml_fail(reader->doc, list, reader->error, PSNAP_ERROR_VALUE,
                               "points are 1 to %d, not %zu", MAP_POINTS_MAX, list->count);
    for (node = status ? NULL : list->first; node && !status; node = node->next)
        status = read_point(reader, node);
    return status;
}

enum psnap_status maps_read(FILE *file, const char *name, struct maps *maps,
                            struct psnap_error *error)
{
    struct psnap_yaml_doc *doc = psnap_yaml_read(file, name, error);
    const struct reader reader = {doc, error, maps};
    enum psnap_status status;

    *maps = (struct maps){.origin.cpu = -1};
    if (!doc)
        return error->code;
    status = read_root(&reader);
    psnap_yaml_doc_free(doc);
    return status;
}
