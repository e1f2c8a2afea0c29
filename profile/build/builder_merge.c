/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Merging rarely used regions (PSnAP): large strides and pointer chases would
 * make a region of every access, so "groups of rarely accessed regions are
 * merged by generating a synthetic stream of them and profiling that into a
 * single region".
 *
 * When and which, of a loop:
 *   Its regions have reached the limit: rare is a region with at most 1/limit
 *   of the loop's accesses. That threshold doubles until at most three quarters
 *   of the limit are left, in the end without regard for objects, so memory per
 *   loop is bounded.
 *   References have gone from region to region very often (BUILD_RESTLESS_FIRST
 *   such visits, and again as many as the merge before synthesised accesses, or
 *   twice as many when there was nothing to merge): rare is a region most of
 *   whose accesses were visits, such as the rows of a matrix that is walked by
 *   columns, if there are BUILD_RESTLESS_GROUP of them side by side with at
 *   most that share of the accesses each. Neighbours of which one is visited
 *   for BUILD_GROWN_STAY accesses or fewer and whose ranges have grown
 *   together, but for a hole that is small beside both, are one structure that
 *   is walked across their border.
 * What is merged is a run of rare regions that are neighbours by address, in
 * one mapping group and of one object.
 *
 * At the end what is rare joins the merged region beside it, and rare regions
 * whose ranges have grown together become one, so that a gather is one region
 * whatever its size, and not many or one with a fringe.
 *
 * The synthetic stream: each region generates its accesses in bursts as long
 * as a reference's mean stay in it, in random order. It is never longer than
 * BUILD_MERGE_SAMPLE accesses: beyond that it is taken to repeat, which keeps
 * all counts exact and strides and edges one path.
 */
#include "profile/build/builder.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/layout.h"
#include "formats/base/rng.h"

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

bool build_region_same_place(const struct build_region *a, const struct build_region *b)
{
    struct psnap_place p = psnap_layout_split(a->low), q = psnap_layout_split(b->low);

    return p.group == q.group && p.index == q.index && same_text(a->object, b->object);
}

/* What may go into a group. */
struct rule {
    const uint64_t *accesses; /* of the loop's regions, by address */
    uint64_t rare;            /* at most so many are rare */
    bool all;                 /* objects and mapping groups do not matter */
    enum build_merge_reason reason;
};

/* Whether references come for `stay` accesses or fewer in the mean. */
static bool is_restless(const struct build_loop *loop, const struct rule *rule, uint32_t i,
                        uint64_t stay)
{
    return rule->accesses[i] <= stay * loop->order[i]->visits;
}

static bool may_join(const struct build_loop *loop, const struct rule *rule, uint32_t i)
{
    const struct build_region *region = loop->order[i];

    if (rule->reason == BUILD_MERGE_RESTLESS)
        return is_restless(loop, rule, i, 2) && rule->accesses[i] <= rule->rare;
    return rule->accesses[i] <= rule->rare || (rule->reason == BUILD_MERGE_LAST && region->merged);
}

/* Whether the ranges of two neighbours ended up within the gap of each other. */
static bool touch(const struct build_loop *loop, uint32_t lower)
{
    return loop->order[lower + 1]->low - loop->order[lower]->high <= loop->gap;
}

/* Whether what is between two neighbours is small beside both. */
static bool nearly_touch(const struct build_loop *loop, uint32_t lower)
{
    const struct build_region *a = loop->order[lower], *b = loop->order[lower + 1];
    const uint64_t hole = b->low - a->high;

    return hole <= (a->high - a->low) / BUILD_GROWN_HOLE &&
           hole <= (b->high - b->low) / BUILD_GROWN_HOLE;
}

/* Regions from `begin` on whose ranges have grown together, or nearly so, each next to a restless
 * one: that one's visits are visits from its neighbours. */
static uint32_t grown_length(const struct build_loop *loop, const struct rule *rule, uint32_t begin)
{
    uint32_t end = begin + 1;

    if (rule->reason == BUILD_MERGE_RESTLESS)
        while (end < loop->count &&
               (is_restless(loop, rule, end - 1, BUILD_GROWN_STAY) ||
                is_restless(loop, rule, end, BUILD_GROWN_STAY)) &&
               (touch(loop, end - 1) || nearly_touch(loop, end - 1)) &&
               build_region_same_place(loop->order[end - 1], loop->order[end]))
            end++;
    return end - begin;
}

/* How many of the regions from `begin` on form a group: 1 when none. */
static uint32_t group_length(const struct build_loop *loop, const struct rule *rule, uint32_t begin)
{
    uint32_t end = begin + 1, touching = 1;
    bool merged = loop->order[begin]->merged;

    if (!may_join(loop, rule, begin))
        return grown_length(loop, rule, begin);
    while (end < loop->count && may_join(loop, rule, end) &&
           (rule->all || build_region_same_place(loop->order[end - 1], loop->order[end]))) {
        touching += touching == end - begin && touch(loop, end - 1);
        merged |= loop->order[end++]->merged;
    }
    if (rule->reason == BUILD_MERGE_RESTLESS && end - begin < BUILD_RESTLESS_GROUP)
        return grown_length(loop, rule, begin);
    return rule->reason == BUILD_MERGE_LAST && !merged ? touching : end - begin;
}

static uint32_t count_groups(const struct build_loop *loop, const struct rule *rule)
{
    uint32_t groups = 0;

    for (uint32_t i = 0; i < loop->count; i += group_length(loop, rule, i))
        groups++;
    return groups;
}

/* A group on its way to one region. */
struct merge {
    struct build_region **regions; /* of the group, by address */
    const uint64_t *accesses;      /* of each */
    uint32_t count;
    uint64_t total;        /* accesses */
    uint32_t sample_count; /* accesses synthesised */
    struct psnap_access *sample;
    uint32_t *bursts; /* regions, one entry per burst */
    struct psnap_generator **generators;
    uint64_t *shares, *burst_lengths; /* of the sample, by region */
};

static void merge_release(struct merge *merge)
{
    if (merge->generators)
        for (uint32_t i = 0; i < merge->count; i++)
            psnap_generator_free(merge->generators[i]);
    free(merge->generators);
    free(merge->sample);
    free(merge->bursts);
    free(merge->shares);
    free(merge->burst_lengths);
}

/* Each region's share of the sample and its burst length; then room for both. */
static enum psnap_status merge_plan(struct merge *merge)
{
    merge->generators = calloc(merge->count, sizeof(struct psnap_generator *));
    merge->shares = calloc(merge->count, sizeof *merge->shares);
    merge->burst_lengths = calloc(merge->count, sizeof *merge->burst_lengths);
    if (!merge->generators || !merge->shares || !merge->burst_lengths)
        return PSNAP_ERROR_MEMORY;
    for (uint32_t i = 0; i < merge->count; i++)
        merge->total += merge->accesses[i];
    for (uint32_t i = 0; i < merge->count; i++) {
        uint64_t share = merge->accesses[i], visits = merge->regions[i]->visits;
        if (merge->total > BUILD_MERGE_SAMPLE)
            share = share * BUILD_MERGE_SAMPLE / merge->total;
        merge->shares[i] = share ? share : 1;
        merge->burst_lengths[i] = merge->accesses[i] / (visits ? visits : 1);
        if (!merge->burst_lengths[i])
            merge->burst_lengths[i] = 1;
        merge->sample_count += (uint32_t)merge->shares[i];
    }
    merge->sample = malloc(merge->sample_count * sizeof *merge->sample);
    merge->bursts = malloc(merge->sample_count * sizeof *merge->bursts);
    return merge->sample && merge->bursts ? PSNAP_OK : PSNAP_ERROR_MEMORY;
}

static enum psnap_status merge_start_generators(struct merge *merge, struct psnap_arena *arena)
{
    static const uint32_t refs[3] = {0, 0, 0};

    for (uint32_t i = 0; i < merge->count; i++) {
        struct psnap_profile_region metrics;
        if (build_region_export(merge->regions[i], arena, &metrics))
            return PSNAP_ERROR_MEMORY;
        merge->generators[i] =
            psnap_generator_new(&metrics, metrics.low, merge->regions[i]->serial, refs);
        if (!merge->generators[i])
            return PSNAP_ERROR_MEMORY;
    }
    return PSNAP_OK;
}

static void merge_synthesise(struct merge *merge)
{
    struct psnap_rng rng;
    uint32_t bursts = 0, done = 0;

    for (uint32_t i = 0; i < merge->count; i++)
        for (uint64_t n = 0; n < merge->shares[i]; n += merge->burst_lengths[i])
            merge->bursts[bursts++] = i;
    psnap_rng_init(&rng, merge->regions[0]->low);
    for (uint32_t i = bursts; i > 1; i--) { /* Fisher and Yates */
        uint32_t j = (uint32_t)psnap_rng_below(&rng, i), swapped = merge->bursts[i - 1];
        merge->bursts[i - 1] = merge->bursts[j];
        merge->bursts[j] = swapped;
    }
    for (uint32_t b = 0; b < bursts; b++) {
        uint32_t i = merge->bursts[b];
        uint64_t length = merge->burst_lengths[i];
        if (length > merge->shares[i])
            length = merge->shares[i];
        psnap_generator_fill(merge->generators[i], merge->sample + done, length);
        merge->shares[i] -= length;
        done += (uint32_t)length;
    }
}

/* Profiles the sample, repeated to the total, into `into`. */
static void merge_profile(struct build_loop *loop, const struct merge *merge,
                          struct build_region *into)
{
    const struct psnap_access *sample = merge->sample;
    const uint64_t m = merge->sample_count, strides = merge->total - 1;
    uint64_t whole, rest; /* of the strides but the first: how often all of the sample, and on */
    uint64_t from = 1 % m, to = 2 % m;
    unsigned first, bin;

    build_edges_clear(into);
    if (!strides) /* cannot be: a group has two regions */
        return;
    whole = (strides - 1) / m;
    rest = (strides - 1) % m;
    first = bin = psnap_stride_bin((int64_t)(sample[1 % m].address - sample[0].address));
    build_edge_add(loop, into, BUILD_START, first, 1);
    build_previous_set(loop, into, first);
    for (uint64_t i = 0; i < m; i++) {
        /* Stride i leads from i to i + 1, modulo m; the edge after it to stride i + 1. */
        const unsigned next =
            psnap_stride_bin((int64_t)(sample[to].address - sample[from].address));
        build_edge_add(loop, into, bin, next, whole + (i < rest));
        if (i == rest)
            build_previous_set(loop, into, bin);
        bin = next;
        from = to;
        to = to + 1 == m ? 0 : to + 1;
    }
    into->previous = sample[strides % m].address;
}

static void merge_sums(struct build_loop *loop, const struct merge *merge,
                       struct build_region *into)
{
    for (uint32_t i = 0; i < merge->count; i++) {
        const struct build_region *region = merge->regions[i];
        if (region == into)
            continue;
        if (!same_text(region->object, into->object))
            into->object = NULL;
        build_region_add(loop, into, region);
    }
}

/* Joins a group into its first region. */
static enum psnap_status merge_group(struct build_loop *loop, struct build_region **regions,
                                     const uint64_t *accesses, uint32_t count)
{
    struct merge merge = {.regions = regions, .accesses = accesses, .count = count};
    struct psnap_arena *arena = psnap_arena_new();
    enum psnap_status status = arena ? merge_plan(&merge) : PSNAP_ERROR_MEMORY;

    if (!status)
        status = merge_start_generators(&merge, arena);
    if (!status) {
        merge_synthesise(&merge);
        merge_profile(loop, &merge, regions[0]);
        merge_sums(loop, &merge, regions[0]);
        regions[0]->merged = true;
        loop->synthesised += merge.sample_count;
        status = regions[0]->is_short ? PSNAP_ERROR_MEMORY : PSNAP_OK;
    }
    merge_release(&merge);
    psnap_arena_free(arena);
    return status;
}

/* Gives back the group's slots but the first, which stands in for them. */
static void forget_others(struct build_loop *loop, uint32_t begin, uint32_t length,
                          uint16_t *stand_ins)
{
    uint16_t kept = loop->order[begin]->slot;

    for (uint32_t i = begin + 1; i < begin + length; i++) {
        uint16_t slot = loop->order[i]->slot;
        stand_ins[slot] = kept;
        /* What still points here must not match any address. */
        loop->slots[slot]->reach_bytes = 0;
        loop->slots[slot]->low = UINT64_MAX;
        loop->slots[slot]->high = 0;
        loop->free_slots[loop->free_count++] = slot;
    }
}

enum psnap_status build_loop_merge(struct build_loop *loop, const struct psnap_program *program,
                                   enum build_merge_reason reason)
{
    uint64_t *accesses = malloc(loop->count * sizeof *accesses);
    uint16_t *stand_ins = malloc(loop->slot_count * sizeof *stand_ins); /* by slot: often itself */
    struct rule rule = {.accesses = accesses, .reason = reason};
    uint64_t total = 0;
    uint32_t kept = 0;
    enum psnap_status status = accesses && stand_ins ? PSNAP_OK : PSNAP_ERROR_MEMORY;

    if (status)
        goto done;
    for (uint32_t i = 0; i < loop->slot_count; i++)
        stand_ins[i] = (uint16_t)i;
    for (uint32_t i = 0; i < loop->count; i++) {
        build_region_name(loop, loop->order[i], program);
        accesses[i] = build_region_accesses(loop->order[i]);
        total += accesses[i];
    }
    rule.rare =
        reason == BUILD_MERGE_RESTLESS ? total / BUILD_RESTLESS_GROUP : total / loop->limit + 1;
    while (reason == BUILD_MERGE_FULL && !rule.all &&
           count_groups(loop, &rule) > loop->limit * 3 / 4) {
        rule.all = rule.rare > total;
        rule.rare *= 2;
    }
    for (uint32_t i = 0; i < loop->count && !status;) {
        uint32_t length = group_length(loop, &rule, i);
        if (length > 1) {
            status = merge_group(loop, &loop->order[i], &accesses[i], length);
            forget_others(loop, i, length, stand_ins);
        }
        loop->order[kept++] = loop->order[i];
        i += length;
    }
    if (status)
        goto done;
    for (uint32_t i = 0; i < loop->pattern_kept && kept < loop->count; i++)
        loop->pattern[i] = stand_ins[loop->pattern[i]];
    loop->count = kept;
    loop->entered = NULL;
    build_loop_reorder(loop);
done:
    free(accesses);
    free(stand_ins);
    return status;
}

/* Going to another region costs about what synthesising an access does: merging is no more work
 * than what it is to save. */
enum psnap_status build_loop_settle(struct build_loop *loop, const struct psnap_program *program)
{
    const uint64_t before = loop->synthesised;
    enum psnap_status status = build_loop_merge(loop, program, BUILD_MERGE_RESTLESS);
    const uint64_t cost = loop->synthesised - before;

    if (!cost)
        loop->restless_after *= 2;
    else
        loop->restless_after = cost < BUILD_RESTLESS_FIRST ? BUILD_RESTLESS_FIRST : cost;
    loop->restless_at = loop->visits + loop->restless_after;
    return status;
}
