/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is left over after a state's counts (mix.h) in profiles:
 *
 *   - state: 4
 *     times: [{is: 3, times: 20, rest: {1: 5, 2: 9}}, {is: 7, times: 10}]
 *     ...
 *   - state: 5
 *     rest_of: 4                    1 after five of the 3, 2 after nine, and else it does not come
 *     ...
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "formats/base/text.h"
#include "profile/mixes/mix_yaml.h"
#include "profile/profile.h"

bool mix_write_rest_of(const struct psnap_mix *mix, uint32_t state, struct psnap_yaml_doc *doc,
                       struct psnap_yaml_node *map)
{
    for (uint32_t i = 0; i < mix->rest_count; i++)
        if (mix->rests[i].to == state) {
            psnap_yaml_add_u64(doc, map, "rest_of", mix->states[mix->rests[i].state].id);
            return true;
        }
    return false;
}

void mix_write_rests(const struct psnap_mix *mix, uint32_t state, struct psnap_yaml_node *times,
                     struct psnap_yaml_doc *doc)
{
    char name[24];

    for (uint32_t i = 0; i < mix->rest_count; i++) {
        const struct mix_rest *rest = &mix->rests[i];
        struct psnap_yaml_node *bin = times ? times->first : NULL, *map;
        if (rest->state != state)
            continue;
        for (uint32_t k = 0; bin && k < rest->bin; k++)
            bin = bin->next;
        if (!bin) /* out of memory, which the document knows */
            return;
        map = psnap_yaml_get(bin, "rest");
        if (!map)
            map = psnap_yaml_add_map(doc, bin, "rest", PSNAP_YAML_FLOW);
        snprintf(name, sizeof name, "%" PRIu64, rest->count);
        psnap_yaml_add_u64(doc, map, name, rest->times);
    }
}

/* ---- reading ---- */

uint32_t mix_count_rests(const struct psnap_yaml_node *list)
{
    uint32_t count = 0;

    for (const struct psnap_yaml_node *state = list->first; state; state = state->next) {
        const struct psnap_yaml_node *times = psnap_yaml_get(state, "times");
        const struct psnap_yaml_node *bin =
            times && times->kind == PSNAP_YAML_SEQUENCE ? times->first : NULL;
        for (; bin; bin = bin->next) {
            const struct psnap_yaml_node *rest =
                bin->kind == PSNAP_YAML_MAP ? psnap_yaml_get(bin, "rest") : NULL;
            count += rest ? (uint32_t)rest->count : 0;
        }
    }
    return count;
}

/* Counts that are left over; false: they are too many kinds, or too many. */
static bool add_count(struct psnap_counts *counts, uint64_t count, uint64_t times)
{
    uint64_t sum;
    uint32_t i = 0;

    if (__builtin_mul_overflow(count, times, &sum) || sum > PSNAP_COUNT_MAX - counts->sum)
        return false;
    while (i < counts->bin_count && counts->bins[i].low < count)
        i++;
    if (i == counts->bin_count || counts->bins[i].low != count) {
        if (counts->bin_count == COUNTS_BINS)
            return false;
        for (uint32_t k = counts->bin_count++; k > i; k--)
            counts->bins[k] = counts->bins[k - 1];
        counts->bins[i] = (struct psnap_counts_bin){.low = count, .high = count};
    }
    counts->bins[i].times += times;
    counts->bins[i].sum += sum;
    counts->times += times;
    counts->sum += sum;
    return true;
}

/* rest: {2: 8000, 3: 8384}, of a bin of state `of`, after which `to` comes. */
static enum psnap_status read_bin(const struct mix_place *p, const struct psnap_yaml_node *map,
                                  uint32_t bin, struct psnap_mix *mix)
{
    struct psnap_counts *counts = &mix->states[p->to].counts;
    const uint64_t times = mix->states[p->of].counts.bins[bin].times;
    const uint32_t first = mix->rest_count;
    uint64_t sum = 0;
    enum psnap_status status = psnap_yaml_expect(p->doc, map, PSNAP_YAML_MAP, "'rest'", p->error);

    for (const struct psnap_yaml_node *entry = map->first; entry && !status; entry = entry->next) {
        struct mix_rest *rest = &mix->rests[mix->rest_count++];
        *rest = (struct mix_rest){.state = p->of, .to = p->to, .bin = bin};
        if (!psnap_text_u64(entry->key, &rest->count) || !rest->count)
            return psnap_yaml_fail(p->doc, entry, p->error, PSNAP_ERROR_VALUE,
                                   "'%.100s' is no count of what is left over", entry->key);
        for (uint32_t i = first; i + 1 < mix->rest_count; i++) /* 1 and 0x1 are two keys */
            if (mix->rests[i].count == rest->count)
                return psnap_yaml_fail(p->doc, entry, p->error, PSNAP_ERROR_VALUE,
                                       "there is a rest of %" PRIu64 " already", rest->count);
        status = psnap_yaml_u64(p->doc, entry, 1, PSNAP_COUNT_MAX, &rest->times, p->error);
        if (!status && rest->times > times - sum)
            return psnap_yaml_fail(p->doc, entry, p->error, PSNAP_ERROR_VALUE,
                                   "there is a rest more often than the count, %" PRIu64 " times",
                                   times);
        sum += rest->times;
        if (!status && !add_count(counts, rest->count, rest->times))
            return psnap_yaml_fail(p->doc, entry, p->error, PSNAP_ERROR_VALUE,
                                   "what is left over has more than %d different counts, or comes "
                                   "to more than %" PRIu64,
                                   COUNTS_BINS, PSNAP_COUNT_MAX);
    }
    return status;
}

static uint64_t sum_edges(const struct psnap_mix *mix, uint32_t from, uint32_t to)
{
    uint64_t times = 0;

    for (uint32_t i = mix->first[from]; i < mix->first[from + 1]; i++)
        times += mix->edges[i].to == to ? mix->edges[i].times : 0;
    return times;
}

/* That the rest comes where it says, and nowhere else. */
static enum psnap_status check_edges(const struct mix_place *p, const struct psnap_mix *mix)
{
    const uint64_t times = sum_edges(mix, MIX_STATE + p->of, MIX_STATE + p->to);

    if (mix->states[p->to].counts.times != times)
        return psnap_yaml_fail(p->doc, p->node, p->error, PSNAP_ERROR_VALUE,
                               "state %" PRIu32 " comes %" PRIu64 " times after state %" PRIu32
                               " (line %" PRIu32 "), but as its rest %" PRIu64 " times",
                               mix->states[p->to].id, times, mix->states[p->of].id,
                               p->map->src_line, mix->states[p->to].counts.times);
    for (uint32_t node = 0; node < MIX_STATE + mix->state_count; node++)
        if (node != MIX_STATE + p->of && sum_edges(mix, node, MIX_STATE + p->to))
            return psnap_yaml_fail(p->doc, p->node, p->error, PSNAP_ERROR_VALUE,
                                   "state %" PRIu32
                                   " comes elsewhere, too, than after state %" PRIu32
                                   " (line %" PRIu32 ")",
                                   mix->states[p->to].id, mix->states[p->of].id, p->map->src_line);
    return PSNAP_OK;
}

enum psnap_status mix_read_rest(const struct mix_place *p, struct psnap_mix *mix)
{
    const struct psnap_yaml_node *times = psnap_yaml_get(p->map, "times"), *bin;
    const uint32_t id = mix->states[p->of].id;
    enum psnap_status status = PSNAP_OK;
    uint32_t i = 0;

    if (!times || times->kind != PSNAP_YAML_SEQUENCE)
        return psnap_yaml_fail(p->doc, p->node, p->error, PSNAP_ERROR_VALUE,
                               "'times' of state %" PRIu32 " (line %" PRIu32 ") say no 'rest'", id,
                               p->map->src_line);
    if (mix_has_rest(mix, p->of))
        return psnap_yaml_fail(p->doc, p->node, p->error, PSNAP_ERROR_VALUE,
                               "another state is the rest of state %" PRIu32 " already", id);
    for (bin = times->first; bin && !status; bin = bin->next, i++) {
        const struct psnap_yaml_node *rest = psnap_yaml_get(bin, "rest");
        status = rest ? read_bin(p, rest, i, mix) : PSNAP_OK;
    }
    return status ? status : check_edges(p, mix);
}

static int compare_rests(const void *a, const void *b)
{
    const struct mix_rest *x = a, *y = b;

    if (x->state != y->state)
        return x->state < y->state ? -1 : 1;
    if (x->bin != y->bin)
        return x->bin < y->bin ? -1 : 1;
    return x->count < y->count ? -1 : x->count > y->count;
}

void mix_sort_rests(struct psnap_mix *mix)
{
    qsort(mix->rests, mix->rest_count, sizeof *mix->rests, compare_rests);
}
