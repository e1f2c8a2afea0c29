/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a profile with walks says of its regions and loops, against its walks (nest_derive.h). What
 * is marked derived has to follow from them; what is left out is made of them.
 */
#include <inttypes.h>
#include <string.h>

#include "profile/walks/nest_derive.h"
#include "profile/yaml/read.h"

enum psnap_status read_derived(const struct reading *r, const struct psnap_yaml_node *map,
                               const char *const *keys, const struct psnap_yaml_node **derived)
{
    enum psnap_status status;

    *derived = psnap_yaml_get(map, "derived");
    if (!*derived)
        return PSNAP_OK;
    if (strcmp(r->profile->model, PSNAP_MODEL_WALKS) != 0)
        return psnap_yaml_fail(r->doc, *derived, r->error, PSNAP_ERROR_VALUE,
                               "with model '%s' there is nothing that it is derived from",
                               r->profile->model);
    status = psnap_yaml_expect_keys(r->doc, *derived, "derived", keys, r->error);
    for (; *keys && !status; keys++) {
        const struct psnap_yaml_node *here = psnap_yaml_get(*derived, *keys);
        const struct psnap_yaml_node *there = psnap_yaml_get(map, *keys);
        if (there)
            return psnap_yaml_fail(r->doc, there, r->error, PSNAP_ERROR_VALUE,
                                   "'%s' is derived (line %" PRIu32 "), and cannot stand here too",
                                   *keys, (here ? here : *derived)->src_line);
    }
    return status;
}

static enum psnap_status check_strides(const struct reading *r, const struct psnap_yaml_node *map,
                                       uint32_t line, const struct psnap_profile_loop *loop,
                                       const struct psnap_profile_region *region,
                                       const struct nest_derived_region *derived)
{
    const struct psnap_yaml_node *strides =
        psnap_yaml_get(psnap_yaml_get(map, "derived"), "strides");
    uint64_t count = 0;
    unsigned bin;

    if (nest_derived_is(derived, region, &bin))
        return PSNAP_OK;
    for (unsigned i = 0; i < region->stride_count; i++)
        if (region->strides[i].bin == bin)
            count = region->strides[i].count;
    return psnap_yaml_fail(
        r->doc, strides ? strides : map, r->error, PSNAP_ERROR_VALUE,
        "strides of bin %s are %" PRIu64 " here, but the walks of '%.60s' "
        "(schedule, line %" PRIu32 ") have %" PRIu64
        "%s; delete 'derived', or change walks: psnap edit --loop %.60s "
        "--region %.60s --stride OLD=NEW",
        psnap_stride_label(bin), count, loop->id, line, derived->bins.strides[bin],
        count == derived->bins.strides[bin] ? " in another order" : "", loop->id, region->id);
}

/* What is left out: of one that does not follow from walks it is missing. */
static enum psnap_status make_strides(const struct reading *r, const struct psnap_yaml_node *map,
                                      uint32_t line, const struct psnap_profile_loop *loop,
                                      struct psnap_profile_region *region,
                                      const struct nest_derived_region *derived)
{
    const struct psnap_yaml_node *accesses = psnap_yaml_get(map, "accesses");

    if (derived && derived->accesses != region->accesses)
        return psnap_yaml_fail(r->doc, accesses, r->error, PSNAP_ERROR_VALUE,
                               "'accesses' is %" PRIu64 ", but the walks of '%.100s' (schedule, "
                               "line %" PRIu32 ") have %" PRIu64 " in this region",
                               region->accesses, loop->id, line, derived->accesses);
    if (!derived)
        return psnap_yaml_fail(r->doc, accesses, r->error, PSNAP_ERROR_VALUE,
                               "'strides' is missing: %" PRIu64 " accesses have %" PRIu64
                               " strides",
                               region->accesses, region->accesses - 1);
    if (!bins_close(&derived->bins, r->profile->arena, region))
        return read_out_of_memory(r);
    region->is_derived = true;
    return PSNAP_OK;
}

/* Whether a region or the pattern is said to follow from the walks, or is left out. */
static bool is_loop_derived(const struct psnap_profile_loop *loop)
{
    for (uint32_t i = 0; i < loop->region_count; i++)
        if (loop->regions[i].is_derived ||
            (!loop->regions[i].stride_count && loop->regions[i].accesses > 1))
            return true;
    return loop->is_pattern_derived;
}

/* An access of the walks that is in no region. */
static enum psnap_status fail_outside(const struct reading *r, const struct psnap_yaml_node *map,
                                      uint32_t line, const struct psnap_profile_loop *loop,
                                      const struct nest_derived_loop *derived)
{
    const struct psnap_profile_region *region =
        &loop->regions[nest_region(loop, derived->outside_low)];
    const struct psnap_yaml_node *node = psnap_yaml_get(map, "regions")->first;
    const uint64_t end = region->low + region->bytes;
    const bool is_below = derived->outside_low < region->low;

    for (ptrdiff_t i = region - loop->regions; i > 0; i--)
        node = node->next;
    return psnap_yaml_fail(
        r->doc, node, r->error, PSNAP_ERROR_VALUE,
        "walks of loop '%.100s' (schedule, line %" PRIu32 ") lead %" PRIu64
        " bytes out of the working set of region '%.100s'",
        loop->id, line, is_below ? region->low - derived->outside_low : derived->outside_high - end,
        region->id);
}

static enum psnap_status check_loop(const struct reading *r, const struct psnap_yaml_node *map,
                                    uint32_t line, struct psnap_profile_loop *loop,
                                    const struct nest_derived_loop *derived,
                                    const struct nest_derived_region *regions)
{
    const struct psnap_yaml_node *list = psnap_yaml_get(map, "regions");
    const struct psnap_yaml_node *region_map = list ? list->first : NULL;
    enum psnap_status status = PSNAP_OK;

    if (derived->is_outside && is_loop_derived(loop))
        return fail_outside(r, map, line, loop, derived);
    for (uint32_t i = 0; i < loop->region_count && !status; i++, region_map = region_map->next) {
        struct psnap_profile_region *region = &loop->regions[i];
        const struct nest_derived_region *of = derived->is_known ? &regions[i] : NULL;
        if (!region->stride_count && region->accesses > 1)
            status = make_strides(r, region_map, line, loop, region, of);
        else if (of && region->is_derived)
            status = check_strides(r, region_map, line, loop, region, of);
    }
    if (!status && derived->is_known && loop->is_pattern_derived &&
        !nest_derived_has_pattern(derived, loop))
        return psnap_yaml_fail(
            r->doc, psnap_yaml_get(map, "derived"), r->error, PSNAP_ERROR_VALUE,
            "'pattern' is not the order in which the walks of '%.100s' (schedule, "
            "line %" PRIu32 ") access its regions; delete it, or change walks",
            loop->id, line);
    return status;
}

/* Whether there is something to be checked, or made. */
static bool is_needed(const struct psnap_profile *profile)
{
    for (uint32_t i = 0; i < profile->loop_count; i++)
        if (is_loop_derived(&profile->loops[i]))
            return true;
    return false;
}

enum psnap_status check_derived(const struct reading *r, const uint32_t *lines,
                                const struct psnap_yaml_node *loops)
{
    struct psnap_profile *profile = r->profile;
    const struct psnap_yaml_node *map = loops->first;
    struct nest_derived *derived;
    enum psnap_status status;

    if (!is_needed(profile))
        return PSNAP_OK;
    derived = nest_derive(profile);
    status = derived ? PSNAP_OK : read_out_of_memory(r);

    for (uint32_t i = 0; i < profile->loop_count && !status; i++, map = map->next)
        status = check_loop(r, map, lines[i], &profile->loops[i], &derived->loops[i],
                            derived->regions + derived->loops[i].first);
    nest_derived_free(derived);
    return status;
}
