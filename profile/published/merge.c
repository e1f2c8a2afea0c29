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
 *   References have gone from region to region very often (PUBLISHED_RESTLESS_FIRST
 *   such visits, and again as many as the merge before synthesised accesses, or
 *   twice as many when there was nothing to merge): rare is a region most of
 *   whose accesses were visits, such as the rows of a matrix that is walked by
 *   columns, if there are RESTLESS_GROUP of them side by side with at
 *   most that share of the accesses each. Neighbours of which one is visited
 *   for GROWN_STAY accesses or fewer and whose ranges have grown
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
 * MERGE_SAMPLE accesses: beyond that it is taken to repeat, which keeps
 * all counts exact and strides and edges one path.
 */
#include "profile/published/published.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/layout.h"
#include "formats/base/rng.h"

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static bool is_same_place(const struct region *a, const struct region *b)
{
    struct psnap_place p = psnap_layout_split(a->low), q = psnap_layout_split(b->low);

    return p.group == q.group && p.index == q.index && same_text(a->object, b->object);
}

enum {
    RESTLESS_GROUP = 16, /* regions, each with at most that share of the accesses, make a group */
    GROWN_STAY = 256,    /* accesses a visit: more, and regions that touch are left apart */
    GROWN_HOLE = 8,      /* a hole of that part of both beside it does not keep them apart */
    MERGE_SAMPLE = 16384 /* accesses synthesised for a merge; longer ones are periodic */
};

/* The rule by which regions may be merged. */
struct rule {
    const uint64_t *accesses; /* of the loop's regions, by address */
    uint64_t rare;            /* at most so many are rare */
    bool all;                 /* objects and mapping groups do not matter */
    enum merge_reason reason;
};

/* Tells whether references stay for at most `stay` accesses in the mean. */
static bool is_restless(const struct loop *loop, const struct rule *rule, uint32_t i, uint64_t stay)
{
    return rule->accesses[i] <= stay * loop->order[i]->visits;
}

static bool may_join(const struct loop *loop, const struct rule *rule, uint32_t i)
{
    const struct region *region = loop->order[i];

    if (rule->reason == MERGE_RESTLESS)
        return is_restless(loop, rule, i, 2) && rule->accesses[i] <= rule->rare;
    return rule->accesses[i] <= rule->rare || (rule->reason == MERGE_LAST && region->is_merged);
}

/* Tells whether the ranges of two neighbours have come within the gap of each other. */
static bool touch(const struct loop *loop, uint32_t lower)
{
    return loop->order[lower + 1]->low - loop->order[lower]->high <= loop->gap;
}

/* Tells whether the distance of two neighbours is small beside their sizes. */
static bool nearly_touch(const struct loop *loop, uint32_t lower)
{
    const struct region *a = loop->order[lower], *b = loop->order[lower + 1];
    const uint64_t hole = b->low - a->high;

    return hole <= (a->high - a->low) / GROWN_HOLE && hole <= (b->high - b->low) / GROWN_HOLE;
}

/* Regions from `begin` on whose ranges have grown together, or nearly so, each next to a restless
 * one: that one's visits are visits from its neighbours. */
static uint32_t grown_length(const struct loop *loop, const struct rule *rule, uint32_t begin)
{
    uint32_t end = begin + 1;

    if (rule->reason == MERGE_RESTLESS)
        while (end < loop->count &&
               (is_restless(loop, rule, end - 1, GROWN_STAY) ||
                is_restless(loop, rule, end, GROWN_STAY)) &&
               (touch(loop, end - 1) || nearly_touch(loop, end - 1)) &&
               is_same_place(loop->order[end - 1], loop->order[end]))
            end++;
    return end - begin;
}

/* How many of the regions from `begin` on form a group: 1 when none. */
static uint32_t group_length(const struct loop *loop, const struct rule *rule, uint32_t begin)
{
    uint32_t end = begin + 1, touching = 1;
    bool merged = loop->order[begin]->is_merged;

    if (!may_join(loop, rule, begin))
        return grown_length(loop, rule, begin);
    while (end < loop->count && may_join(loop, rule, end) &&
           (rule->all || is_same_place(loop->order[end - 1], loop->order[end]))) {
        touching += touching == end - begin && touch(loop, end - 1);
        merged |= loop->order[end++]->is_merged;
    }
    if (rule->reason == MERGE_RESTLESS && end - begin < RESTLESS_GROUP)
        return grown_length(loop, rule, begin);
    return rule->reason == MERGE_LAST && !merged ? touching : end - begin;
}

static uint32_t count_groups(const struct loop *loop, const struct rule *rule)
{
    uint32_t groups = 0;

    for (uint32_t i = 0; i < loop->count; i += group_length(loop, rule, i))
        groups++;
    return groups;
}

/* A region on its way to one with others. */
struct member {
    struct psnap_generator *generator;
    uint64_t left, burst; /* accesses of the sample still to come, and at a time */
};

/* A group on its way to one region: accesses, and the sample of them that is synthesised. */
struct merge {
    uint64_t accesses, count;
    struct psnap_access *sample;
};

/* Each member's generator, share of the sample and burst length; the number of all bursts, 0 when
 * out of memory. */
static uint64_t start_members(struct region *const *regions, const uint64_t *accesses,
                              uint32_t count, struct merge *merge, struct psnap_arena *arena,
                              struct member *members)
{
    static const uint32_t refs[3] = {0, 0, 0};
    uint64_t bursts = 0;

    for (uint32_t i = 0; i < count; i++)
        merge->accesses += accesses[i];
    for (uint32_t i = 0; i < count; i++) {
        struct psnap_profile_region metrics;
        uint64_t share = accesses[i], burst = accesses[i];
        if (merge->accesses > MERGE_SAMPLE)
            share = share * MERGE_SAMPLE / merge->accesses;
        if (regions[i]->visits)
            burst /= regions[i]->visits;
        members[i].left = share ? share : 1;
        members[i].burst = burst ? burst : 1;
        merge->count += members[i].left;
        bursts += (members[i].left + members[i].burst - 1) / members[i].burst;
        if (region_export(regions[i], arena, &metrics))
            return 0;
        members[i].generator = psnap_generator_new(&metrics, metrics.low, regions[i]->serial, refs);
        if (!members[i].generator)
            return 0;
    }
    return bursts;
}

/* The bursts of all members in random order; false: out of memory. */
static bool synthesise(struct region *const *regions, const uint64_t *accesses, uint32_t count,
                       struct merge *merge, struct psnap_arena *arena)
{
    struct member *members = psnap_arena_alloc(arena, count * sizeof *members);
    const uint64_t bursts =
        members ? start_members(regions, accesses, count, merge, arena, members) : 0;
    struct member **order = psnap_arena_alloc(arena, (bursts + 1) * sizeof(struct member *));
    uint64_t n = 0, done = 0;
    struct psnap_rng rng;

    merge->sample = psnap_arena_alloc(arena, (merge->count + 1) * sizeof *merge->sample);
    psnap_rng_init(&rng, regions[0]->low);
    for (uint32_t i = 0; i < count && bursts && order && merge->sample; i++)
        for (uint64_t k = 0; k < members[i].left; k += members[i].burst)
            order[n++] = &members[i];
    for (uint64_t i = n; i > 1; i--) { /* Fisher and Yates */
        const uint64_t k = psnap_rng_below(&rng, i);
        struct member *swapped = order[i - 1];
        order[i - 1] = order[k];
        order[k] = swapped;
    }
    for (uint64_t i = 0; i < n; i++) {
        struct member *member = order[i];
        const uint64_t length = member->burst < member->left ? member->burst : member->left;
        psnap_generator_fill(member->generator, merge->sample + done, length);
        member->left -= length;
        done += length;
    }
    for (uint32_t i = 0; members && i < count; i++)
        psnap_generator_free(members[i].generator);
    return n > 0;
}

/* Counts so many strides of bin `to` after ones of bin `from`; false: out of memory. */
static bool add_edges(struct region *region, unsigned from, unsigned to, uint64_t times)
{
    if (!region_make_row(region, from) || !region_make_row(region, to))
        return false;
    region->rows[from][to] += times;
    return true;
}

/* The bin of the stride behind access i of the sample, which repeats. */
static unsigned bin_after(const struct merge *merge, uint64_t i)
{
    return psnap_stride_bin((int64_t)(merge->sample[(i + 1) % merge->count].address -
                                      merge->sample[i % merge->count].address));
}

/* Profiles the sample, repeated to all accesses, into `into`; false: out of memory. */
static bool profile_sample(const struct merge *merge, struct region *into)
{
    const uint64_t edges = merge->accesses - 2; /* a group has two regions at least */
    const uint64_t whole = edges / merge->count, rest = edges % merge->count;

    for (unsigned row = 0; row < PUBLISHED_ROWS; row++)
        if (into->rows[row])
            memset(into->rows[row], 0, PSNAP_STRIDE_BINS * sizeof *into->rows[row]);
    if (!add_edges(into, PUBLISHED_FIRST_STRIDE, bin_after(merge, 0), 1))
        return false;
    for (uint64_t i = 0; i < merge->count; i++)
        if (!add_edges(into, bin_after(merge, i), bin_after(merge, i + 1), whole + (i < rest)))
            return false;
    into->row = into->rows[bin_after(merge, rest)];
    into->previous = merge->sample[(merge->accesses - 1) % merge->count].address;
    return true;
}

/* Adds the accesses and the extent of a region, but not its strides; false: out of memory. */
static bool add_region(struct region *into, const struct region *from)
{
    if (!same_text(from->object, into->object))
        into->object = NULL;
    into->serial = from->serial < into->serial ? from->serial : into->serial;
    into->low = from->low < into->low ? from->low : into->low;
    into->high = from->high > into->high ? from->high : into->high;
    into->last_byte = from->last_byte > into->last_byte ? from->last_byte : into->last_byte;
    into->visits += from->visits;
    for (unsigned kind = 0; kind < 3; kind++) {
        if (from->sizes[kind] && !region_make_sizes(into, kind))
            return false;
        for (unsigned i = 0; from->sizes[kind] && i < PSNAP_ACCESS_SIZE_MAX; i++)
            into->sizes[kind][i] += from->sizes[kind][i];
    }
    return true;
}

/* Joins a group into its first region. */
static enum psnap_status merge_group(struct loop *loop, struct region **regions,
                                     const uint64_t *accesses, uint32_t count)
{
    struct psnap_arena *arena = psnap_arena_new();
    struct merge merge = {0};
    bool is_done = arena && synthesise(regions, accesses, count, &merge, arena) &&
                   profile_sample(&merge, regions[0]);

    for (uint32_t i = 1; i < count && is_done; i++)
        is_done = add_region(regions[0], regions[i]);
    regions[0]->is_merged = true;
    loop->synthesised += merge.count;
    psnap_arena_free(arena);
    return is_done ? PSNAP_OK : PSNAP_ERROR_MEMORY;
}

/* At most what is rare of `total` accesses: it is doubled until groups leave room for regions that
 * are not there yet. */
static struct rule make_rule(const struct loop *loop, enum merge_reason reason,
                             const uint64_t *accesses)
{
    struct rule rule = {.accesses = accesses, .reason = reason};
    uint64_t total = 0;

    for (uint32_t i = 0; i < loop->count; i++)
        total += accesses[i];
    rule.rare = reason == MERGE_RESTLESS ? total / RESTLESS_GROUP : total / loop->limit + 1;
    while (reason == MERGE_FULL && !rule.all && count_groups(loop, &rule) > loop->limit * 3 / 4) {
        rule.all = rule.rare > total;
        rule.rare *= 2;
    }
    return rule;
}

enum psnap_status loop_merge(struct loop *loop, enum merge_reason reason)
{
    uint64_t *accesses = malloc(loop->count * sizeof *accesses);
    enum psnap_status status = PSNAP_OK;
    uint32_t kept = 0;
    struct rule rule;

    if (!accesses)
        return PSNAP_ERROR_MEMORY;
    for (uint32_t i = 0; i < loop->count; i++) {
        region_name(loop, loop->order[i]);
        accesses[i] = region_accesses(loop->order[i]);
    }
    rule = make_rule(loop, reason, accesses);
    for (uint32_t i = 0, length; i < loop->count; i += length) {
        struct region **group = &loop->order[i];
        length = status ? 1 : group_length(loop, &rule, i);
        if (length > 1)
            status = merge_group(loop, group, &accesses[i], length);
        for (uint32_t k = 1; k < length; k++) {
            region_retire(loop, group[k]);
            group[k]->merged_into = group[0];
        }
        loop->order[kept++] = group[0];
    }
    free(accesses);
    for (uint32_t i = 0; i < loop->pattern_kept && kept < loop->count; i++)
        if (loop->pattern[i]->merged_into)
            loop->pattern[i] = loop->pattern[i]->merged_into;
    loop->count = kept;
    loop->entered = NULL;
    loop_reorder(loop);
    return status;
}

/* Going to another region costs about what synthesising an access does: merging is no more work
 * than it saves. */
enum psnap_status loop_settle(struct loop *loop)
{
    const uint64_t before = loop->synthesised;
    enum psnap_status status = PSNAP_OK;
    uint64_t cost;

    if (loop->visits < loop->restless_at)
        return PSNAP_OK;
    status = loop_merge(loop, MERGE_RESTLESS);
    cost = loop->synthesised - before;
    if (!cost)
        loop->restless_after *= 2;
    else
        loop->restless_after = cost < PUBLISHED_RESTLESS_FIRST ? PUBLISHED_RESTLESS_FIRST : cost;
    loop->restless_at = loop->visits + loop->restless_after;
    return status;
}
