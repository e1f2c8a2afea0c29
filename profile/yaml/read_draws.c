/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Addresses that are drawn, of the models of a profile (FORMAT.md, "Models"): gathers of their own,
 * behind what was drawn just before, with another draw; and what these go from, which draws
 * nothing: where a reference was that is not drawn, and where another draw began.
 */
#include "profile/gathers/gather_yaml.h"
#include "profile/yaml/read_nests.h"

struct placing {
    const struct nest_reading *n;
    const struct psnap_profile_loop *loop;
};

static enum psnap_status read_gather_place(void *context, const struct psnap_yaml_node *map,
                                           uint64_t *address)
{
    const struct placing *placing = context;

    return read_place(placing->n, map, placing->loop, address);
}

/* within: {region, start, bytes} */
static enum psnap_status read_within(struct placing *placing, const struct psnap_yaml_node *map,
                                     struct nest_source *source)
{
    static const char *const keys[] = {"region", "start", "bytes", NULL};
    const struct nest_reading *n = placing->n;
    const struct psnap_yaml_node *node;
    enum psnap_status status =
        psnap_yaml_expect_keys(n->r->doc, map, "'within'", keys, n->r->error);

    if (!status)
        status = read_gather_place(placing, map, &source->low);
    node = status ? NULL : psnap_yaml_require(n->r->doc, map, "bytes", n->r->error);
    if (!node ||
        psnap_yaml_u64(n->r->doc, node, 1, PSNAP_COUNT_MAX, &source->span_bytes, n->r->error))
        return PSNAP_ERROR_VALUE;
    return PSNAP_OK;
}

/* {earlier, times} */
static enum psnap_status read_earlier(const struct nest_reading *n,
                                      const struct psnap_yaml_node *item, struct nest_after *after)
{
    static const char *const keys[] = {"earlier", "times", NULL};
    uint64_t earlier = 0, times = 1;
    enum psnap_status status = psnap_yaml_expect_keys(
        n->r->doc, item, "an item of 'after' with 'earlier'", keys, n->r->error);
    const struct psnap_yaml_node *node = psnap_yaml_get(item, "times");

    if (!status)
        status = psnap_yaml_u64(n->r->doc, psnap_yaml_get(item, "earlier"), 1, NEST_EARLIER_MAX,
                                &earlier, n->r->error);
    if (!status && node)
        status = psnap_yaml_u64(n->r->doc, node, 1, 1 << 20, &times, n->r->error);
    *after =
        (struct nest_after){.earlier = (uint32_t)earlier, .times = (uint32_t)times, .scale = 1};
    return status;
}

/* {back, offset, times}, or {with, offset, times}, and {scale}; defaults are set */
static enum psnap_status read_way(const struct nest_reading *n, const struct psnap_yaml_node *item,
                                  struct nest_source *source, struct nest_after *after)
{
    static const char *const keys[] = {"back",  "by",     "with",  "left",
                                       "scale", "offset", "times", NULL};
    uint64_t back = 0, times = 1, scale = 1;
    int64_t offset = 0;
    uint32_t leader = 0, drawer = 0;
    enum psnap_status status =
        psnap_yaml_expect_keys(n->r->doc, item, "an item of 'after'", keys, n->r->error);
    const struct psnap_yaml_node *left = status ? NULL : psnap_yaml_get(item, "left"), *node, *by;
    const struct psnap_yaml_node *with = status ? NULL : psnap_yaml_get(item, "with");

    if (left && with)
        return nest_fail(n, left, "an item of 'after' has 'left' or 'with', not both");
    with = left ? left : with;
    if (with)
        status = read_model_name(n, with, 'd', n->nests->models->draw_count, &leader);
    node = status ? NULL : psnap_yaml_get(item, "back");
    if (!status && with && node)
        return nest_fail(n, node, "an item of 'after' has 'back' or 'with', not both");
    node = status || with ? NULL : psnap_yaml_require(n->r->doc, item, "back", n->r->error);
    if (status ||
        (!with &&
         (!node || psnap_yaml_u64(n->r->doc, node, 0, NEST_BACK_MAX, &back, n->r->error))) ||
        !(node = psnap_yaml_require(n->r->doc, item, "offset", n->r->error)) ||
        psnap_yaml_i64(n->r->doc, node, INT64_MIN, INT64_MAX, &offset, n->r->error))
        return PSNAP_ERROR_VALUE;
    by = psnap_yaml_get(item, "by");
    if (by && read_model_name(n, by, 'd', n->nests->models->draw_count, &drawer))
        return PSNAP_ERROR_VALUE;
    if (by && !back)
        return nest_fail(n, by, "'by' says of which draw the address so many 'back' must be");
    if (by && source->after_count > 1 && !after[-1].by)
        return nest_fail(n, by, "items with 'by' come before those without");
    node = psnap_yaml_get(item, "times");
    if (node && psnap_yaml_u64(n->r->doc, node, 1, 1 << 20, &times, n->r->error))
        return PSNAP_ERROR_VALUE;
    node = psnap_yaml_get(item, "scale");
    if (node && psnap_yaml_u64(n->r->doc, node, 1, NEST_SCALE_MAX, &scale, n->r->error))
        return PSNAP_ERROR_VALUE;
    if (scale > 1 && !source->span_bytes)
        return nest_fail(n, node,
                         "'scale' needs 'within': what it is counted from, and must not leave");
    *after = (struct nest_after){.back = (uint32_t)back,
                                 .times = (uint32_t)times,
                                 .offset = (uint64_t)offset,
                                 .draw = with ? 1 + leader : 0,
                                 .by = by ? 1 + drawer : 0,
                                 .is_left = left != NULL,
                                 .scale = (uint32_t)scale};
    after->offset -= nest_after_origin(source, after);
    return PSNAP_OK;
}

/* after: [...], and within */
static enum psnap_status read_after(struct placing *placing, const struct psnap_yaml_node *map,
                                    const struct psnap_yaml_node *list, struct nest_source *source)
{
    const struct nest_reading *n = placing->n;
    const struct psnap_yaml_node *within = psnap_yaml_get(map, "within");
    enum psnap_status status =
        psnap_yaml_expect(n->r->doc, list, PSNAP_YAML_SEQUENCE, "after", n->r->error);

    if (!status && (!list->count || list->count > NEST_AFTER_MAX))
        status = nest_fail(n, list, "'after' has 1 to 4 items");
    if (!status && within)
        status = read_within(placing, within, source);
    for (const struct psnap_yaml_node *item = status ? NULL : list->first; item && !status;
         item = item->next) {
        struct nest_after *after = &source->after[source->after_count++];
        status = item->kind == PSNAP_YAML_MAP && psnap_yaml_get(item, "earlier")
                     ? read_earlier(n, item, after)
                     : read_way(n, item, source, after);
        if (!status && (after->earlier || after->is_left) && !within)
            status =
                nest_fail(n, item, "'earlier' and 'left' need 'within': at first there is neither");
    }
    return status;
}

/* The other draw, and how far from its last address. */
static enum psnap_status read_leader(const struct nest_reading *n,
                                     const struct psnap_yaml_node *map,
                                     const struct psnap_yaml_node *name, struct nest_source *source,
                                     uint32_t *leader)
{
    const struct psnap_yaml_node *node;
    int64_t offset;
    enum psnap_status status = read_model_name(n, name, 'd', n->nests->models->draw_count, leader);

    node = status ? NULL : psnap_yaml_require(n->r->doc, map, "offset", n->r->error);
    if (!node || psnap_yaml_i64(n->r->doc, node, INT64_MIN, INT64_MAX, &offset, n->r->error))
        return PSNAP_ERROR_VALUE;
    source->offset = (uint64_t)offset;
    return PSNAP_OK;
}

/* How much further for each iteration that comes, and of what is left over then. */
static enum psnap_status read_slopes(const struct nest_reading *n,
                                     const struct psnap_yaml_node *map,
                                     const struct psnap_yaml_node *around,
                                     struct nest_source *source)
{
    const struct psnap_yaml_node *each = psnap_yaml_get(map, "each");
    const struct psnap_yaml_node *rest = psnap_yaml_get(map, "each_rest");
    enum psnap_status status = PSNAP_OK;

    if (each && !around)
        return nest_fail(n, each, "'each' says how much further from what is 'around'");
    if (each)
        status = psnap_yaml_i64(n->r->doc, each, -NEST_SLOPE_MAX, NEST_SLOPE_MAX, &source->slope,
                                n->r->error);
    if (!status && rest && !source->slope)
        return nest_fail(n, rest, "'each_rest' is more of 'each', which is not there");
    if (!status && rest)
        status = psnap_yaml_i64(n->r->doc, rest, -NEST_SLOPE_MAX, NEST_SLOPE_MAX,
                                &source->rest_slope, n->r->error);
    return status;
}

/* {...} of a gather, {with: d2, offset: 8}, or {after: [...]}, beside the draw's own keys. */
static enum psnap_status read_source(const struct nest_reading *n,
                                     const struct psnap_yaml_node *map, struct placing *placing,
                                     struct nest_source *source)
{
    static const char *const keys[] = {"draw", "loop", "entry", "with", "offset", NULL};
    static const char *const behind[] = {"draw", "loop", "entry", "after", "within", NULL};
    static const char *const own[] = {"draw",  "loop",      "entry",  "areas",
                                      "turns", "next_area", "around", "offset",
                                      "each",  "each_rest", NULL};
    const struct psnap_yaml_node *with = psnap_yaml_get(map, "with");
    const struct psnap_yaml_node *after = psnap_yaml_get(map, "after");
    const struct psnap_yaml_node *around = psnap_yaml_get(map, "around");
    enum psnap_status status;

    source->with = source->around = PSNAP_NONE;
    status = psnap_yaml_known_keys(n->r->doc, map, with ? keys : after ? behind : own, n->r->error);
    if (!status && with)
        return read_leader(n, map, with, source, &source->with);
    if (!status && after)
        return read_after(placing, map, after, source);
    if (!status && around)
        status = read_leader(n, map, around, source, &source->around);
    if (!status)
        status = read_slopes(n, map, around, source);
    if (!status)
        status =
            gather_read(n->r->doc, map, read_gather_place, placing, &source->gather, n->r->error);
    for (uint32_t i = 0; i < source->gather.area_count && !status; i++)
        if ((source->gather.areas[i].places == GATHER_AROUND) != (around != NULL))
            status = nest_fail(n, map, "'around' says around what the places 'around' are");
    return status;
}

/* {draw: d1, loop: f, start_of: d2}: where another draw began when its loop was come to last */
static enum psnap_status read_start(const struct nest_reading *n, const struct psnap_yaml_node *map,
                                    struct nest_draw *draw)
{
    static const char *const keys[] = {"draw", "loop", "start_of", NULL};
    uint32_t of = 0;
    enum psnap_status status = psnap_yaml_known_keys(n->r->doc, map, keys, n->r->error);

    draw->rest.with = draw->rest.around = PSNAP_NONE;
    if (!status)
        status = read_model_name(n, psnap_yaml_get(map, "start_of"), 'd',
                                 n->nests->models->draw_count, &of);
    for (uint32_t i = 0; i < n->nests->models->draw_count && !status; i++)
        if (n->nests->models->draws[i].start == 1 + of)
            status = nest_fail(n, psnap_yaml_get(map, "start_of"),
                               "another draw has this start already");
    draw->start = status ? 0 : 1 + of;
    return status;
}

/* {draw: d1, loop: f, ref: 2}: the last address of a reference that is not drawn; or
 * {..., refs: [0, 2]}: of whichever of them came last */
static enum psnap_status read_lead(const struct nest_reading *n, const struct psnap_yaml_node *map,
                                   struct nest_draw *draw)
{
    static const char *const keys[] = {"draw", "loop", "ref", "refs", NULL};
    const struct psnap_yaml_node *refs = psnap_yaml_get(map, "refs");
    const struct psnap_yaml_node *node = refs ? refs : psnap_yaml_get(map, "ref");
    uint64_t ref;
    enum psnap_status status = psnap_yaml_known_keys(n->r->doc, map, keys, n->r->error);

    draw->rest.with = draw->rest.around = PSNAP_NONE;
    if (!status && refs && psnap_yaml_get(map, "ref"))
        return nest_fail(n, refs, "there is a 'ref' already");
    if (!status && refs)
        status = psnap_yaml_expect(n->r->doc, refs, PSNAP_YAML_SEQUENCE, "'refs'", n->r->error);
    if (!status && refs && (refs->count < 2 || refs->count > NEST_MARKS))
        return nest_fail(n, refs, "'refs' are 2 to 4 references, of which the last one counts");
    node = refs && !status ? refs->first : node;
    for (uint32_t k = 0; !status && node; k++) {
        status = psnap_yaml_u64(n->r->doc, node, 0, NEST_REF_MAX, &ref, n->r->error);
        for (uint32_t i = 0; !status && i < k; i++)
            if (draw->leads[i] == 1 + (uint32_t)ref)
                return nest_fail(n, node, "it is there twice");
        draw->leads[k] = status ? 0 : 1 + (uint32_t)ref;
        node = refs ? node->next : NULL;
    }
    return status;
}

enum psnap_status read_draw(const struct nest_reading *n, const struct psnap_yaml_node *map,
                            uint32_t i)
{
    struct nest_draw *draw = &n->nests->models->draws[i];
    const struct psnap_yaml_node *entry = psnap_yaml_get(map, "entry");
    struct placing placing = {n, NULL};
    uint32_t loop = 0;
    enum psnap_status status = read_loop_name(n, map, &loop);

    if (status)
        return status;
    placing.loop = &n->r->profile->loops[loop];
    if (psnap_yaml_get(map, "ref") || psnap_yaml_get(map, "refs") ||
        psnap_yaml_get(map, "start_of")) {
        status =
            psnap_yaml_get(map, "start_of") ? read_start(n, map, draw) : read_lead(n, map, draw);
        draw->loop = status ? PSNAP_NONE : loop;
        return status;
    }
    draw->has_entry = entry != NULL;
    status = read_source(n, map, &placing, &draw->rest);
    if (!status && entry)
        status = psnap_yaml_expect(n->r->doc, entry, PSNAP_YAML_MAP, "entry", n->r->error);
    if (!status && entry)
        status = read_source(n, entry, &placing, &draw->entry);
    draw->loop = status ? PSNAP_NONE : loop;
    return status;
}
