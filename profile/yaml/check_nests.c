/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether a schedule of walks and the loops of its profile say the same: so many accesses of each
 * loop, of each kind and in bytes, within the working sets of its regions; mixes that are visited,
 * and counts that are drawn as often as they say.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "profile/yaml/read_nests.h"

/* The walks of a loop are what its regions say: so many accesses of a kind, bytes, and where. */
static enum psnap_status check_walks(const struct nest_reading *n, uint32_t line,
                                     const struct psnap_yaml_node *map,
                                     const struct psnap_profile_loop *loop,
                                     const struct nest_count *walks)
{
    static const char *const names[] = {"loads", "stores", "atomics", "bytes"};
    uint64_t here[4] = {0}, out;
    const uint64_t there[4] = {walks->kinds[0], walks->kinds[1], walks->kinds[2], walks->bytes};
    const struct reading *r = n->r;

    for (uint32_t i = 0; i < loop->region_count; i++) {
        const struct psnap_profile_region *region = &loop->regions[i];
        for (unsigned kind = 0; kind < 3; kind++)
            here[kind] += region->kinds[kind];
        for (unsigned k = 0; k < region->size_count; k++)
            here[3] += region->sizes[k].count * region->sizes[k].size;
    }
    for (unsigned k = 0; k < 4; k++)
        if (here[k] != there[k])
            return psnap_yaml_fail(r->doc, map, r->error, PSNAP_ERROR_VALUE,
                                   "loop '%.100s' has %" PRIu64
                                   " %s in its regions, but its walks (schedule, line %" PRIu32
                                   ") come to %" PRIu64,
                                   loop->id, here[k], names[k], line, there[k]);
    out = nest_count_beyond(walks, loop);
    if (out)
        return psnap_yaml_fail(r->doc, map, r->error, PSNAP_ERROR_VALUE,
                               "walks of loop '%.100s' (schedule, line %" PRIu32 ") lead %" PRIu64
                               " bytes out of the working sets of its regions",
                               loop->id, line, out);
    return PSNAP_OK;
}

/* The item of n->models that has a name: of the list "counts", "c1". */
static const struct psnap_yaml_node *find_model(const struct nest_reading *n, const char *list,
                                                const char *key, uint32_t index)
{
    const struct psnap_yaml_node *items = psnap_yaml_get(n->models, list);
    const struct psnap_yaml_node *item = items ? items->first : NULL;
    uint32_t of_item;

    for (; item; item = item->next)
        if (!read_model_name(n, psnap_yaml_get(item, key), key[0], index + 1, &of_item) &&
            of_item == index)
            break;
    return item ? item : items;
}

static enum psnap_status fail_counts(const struct nest_reading *n, const struct nest_odd *odd)
{
    const struct reading *r = n->r;
    const struct psnap_yaml_node *item = find_model(n, "counts", "counts", odd->counts);
    const char *loop = r->profile->loops[odd->loop].id;

    if (!odd->times)
        return psnap_yaml_fail(r->doc, item, r->error, PSNAP_ERROR_VALUE,
                               "c%" PRIu32
                               " is drawn by walks of different references, one of loop "
                               "'%.100s' (schedule, line %" PRIu32 ")",
                               odd->counts + 1, loop, n->lines[odd->loop]);
    return psnap_yaml_fail(r->doc, item, r->error, PSNAP_ERROR_VALUE,
                           "c%" PRIu32 " has %" PRIu64 " counts, but the walks of loop '%.100s' "
                           "(schedule, line %" PRIu32 ") draw %" PRIu64
                           ": it must be as many, or a multiple",
                           odd->counts + 1, n->nests->models->counts[odd->counts].times, loop,
                           n->lines[odd->loop], odd->times);
}

/* That a draw which has the last address of references has one. */
static enum psnap_status check_lead(const struct nest_reading *n,
                                    const struct psnap_yaml_node *list, uint32_t i)
{
    const struct nest_draw *draw = &n->nests->models->draws[i];
    uint64_t address;

    for (uint32_t k = 0; draw->loop != PSNAP_NONE && k < NEST_MARKS && draw->leads[k]; k++)
        if (!nests_first_of(n->nests, draw->loop, draw->leads[k] - 1, &address))
            return psnap_yaml_fail(
                n->r->doc, find_model(n, "draws", "draw", i), n->r->error, PSNAP_ERROR_VALUE,
                "loop '%.100s' has no reference %" PRIu32 " in the schedule (line %" PRIu32
                ") that is not drawn",
                n->r->profile->loops[draw->loop].id, draw->leads[k] - 1, list->src_line);
    return PSNAP_OK;
}

enum psnap_status check_nests(const struct nest_reading *n, const struct psnap_yaml_node *list,
                              const struct psnap_yaml_node *loops)
{
    const struct reading *r = n->r;
    const struct psnap_profile *profile = r->profile;
    const struct psnap_yaml_node *map = loops->first;
    struct nest_count *counts = calloc(profile->loop_count + 1, sizeof *counts);
    struct nest_odd odd = {0};
    uint64_t *visits = calloc(n->nests->models->mix_count + (size_t)1, sizeof *visits);
    enum psnap_status status = counts && visits ? PSNAP_OK : read_out_of_memory(r);

    if (!status)
        status = nests_count(n->nests, counts, visits, &odd);
    if (status == PSNAP_ERROR_MEMORY)
        read_out_of_memory(r);
    else if (status == PSNAP_ERROR_VALUE)
        status = psnap_yaml_fail(r->doc, list, r->error, PSNAP_ERROR_VALUE,
                                 "the schedule comes to more than can be counted");
    else if (status == PSNAP_ERROR_UNSUPPORTED)
        status = fail_counts(n, &odd);
    for (uint32_t i = 0; i < n->nests->models->mix_count && !status; i++)
        if (n->nests->models->mixes[i].chain && !visits[i])
            status = psnap_yaml_fail(
                r->doc, find_model(n, "mixes", "mix", i), r->error, PSNAP_ERROR_VALUE,
                "the schedule (line %" PRIu32 ") does not come to the mix m%" PRIu32,
                list->src_line, i + 1);
    for (uint32_t i = 0; i < n->nests->models->draw_count && !status; i++)
        status = check_lead(n, list, i);
    for (uint32_t i = 0; i < profile->loop_count && !status; i++, map = map->next) {
        const struct psnap_profile_loop *loop = &profile->loops[i];
        const struct psnap_yaml_node *node = psnap_yaml_get(map, "accesses");
        if (counts[i].accesses != loop->accesses)
            status = psnap_yaml_fail(r->doc, node ? node : map, r->error, PSNAP_ERROR_VALUE,
                                     "loop '%.100s' has %" PRIu64
                                     " accesses here, but the schedule (line %" PRIu32
                                     ") comes to %" PRIu64,
                                     loop->id, loop->accesses, n->lines[i], counts[i].accesses);
        else if (counts[i].accesses)
            status = check_walks(n, n->lines[i], map, loop, &counts[i]);
    }
    free(counts);
    free(visits);
    return status;
}
