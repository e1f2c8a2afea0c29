/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Strides and patterns from walks. The builder makes regions as accesses come, and merges those
 * that are rarely used, so not all that it says of a loop follows from the loop's walks; what does
 * is found here by going through them with the regions that there are, and is marked `derived`.
 *
 * A leaf in which references of one region all go on by the same has the same strides in each
 * iteration from the third one in the same regions on, so it takes three iterations of time; else
 * it takes all.
 */
#include "profile/walks/nest_derive.h"

#include <stdlib.h>
#include <string.h>

enum { NO_BIN = PSNAP_STRIDE_BINS };
#define STEPS_MAX (UINT64_C(1) << 23) /* accesses and leaves that are gone through */

/* What a region's next stride is told from. */
struct last {
    uint64_t address;
    unsigned bin; /* of the stride before, NO_BIN: there was none */
};

struct deriving {
    const struct psnap_profile *profile;
    struct nest_derived *to;
    struct last *last; /* by region of all loops */
    uint64_t steps;    /* that may still be gone through */
};

/* The region of the loop that an access lies in, or PSNAP_NONE; the one before is tried first. */
static uint32_t region_of(const struct psnap_profile_loop *loop, uint64_t address, unsigned size,
                          uint32_t before)
{
    for (uint32_t n = 0; n <= loop->region_count; n++) {
        const uint32_t i = n ? n - 1 : before;
        const struct psnap_profile_region *region = &loop->regions[i];
        if (address >= region->low && address - region->low < region->bytes)
            return address - region->low + size <= region->bytes ? i : PSNAP_NONE;
    }
    return PSNAP_NONE;
}

/* One more access of a region, `times` times. */
static void put(struct deriving *d, const struct nest_derived_loop *loop, uint32_t region,
                uint64_t address, uint64_t times)
{
    struct nest_derived_region *to = &d->to->regions[loop->first + region];
    struct last *last = &d->last[loop->first + region];

    if (to->accesses) {
        const unsigned bin = psnap_stride_bin((int64_t)(address - last->address));
        to->bins.strides[bin] += times;
        if (last->bin != NO_BIN)
            to->bins.edges[last->bin][bin] += times;
        last->bin = bin;
    }
    to->accesses += times;
    last->address = address;
}

/* Whether references of one region all go on by the same, within it. */
static bool is_even(const struct psnap_profile_loop *loop, const struct nest_leaf *leaf,
                    const uint32_t *regions, uint64_t count)
{
    const struct nest_pattern *pattern = leaf->pattern;

    for (uint32_t k = 0; k < pattern->shape->width; k++) {
        const uint64_t last = leaf->values[1 + k] + (count - 1) * pattern->steps[k];
        if (region_of(loop, last, pattern->shape->refs[k].size, regions[k]) != regions[k])
            return false;
        for (uint32_t i = 0; i < k; i++)
            if (regions[i] == regions[k] && pattern->steps[i] != pattern->steps[k])
                return false;
    }
    return true;
}

/* Iteration i of a leaf, `times` times the same; false: an access is in no region. */
static bool put_iteration(struct deriving *d, const struct nest_leaf *leaf, uint32_t *regions,
                          uint64_t i, uint64_t times)
{
    const struct nest_shape *shape = leaf->pattern->shape;
    const struct psnap_profile_loop *loop = &d->profile->loops[shape->loop];
    struct nest_derived_loop *to = &d->to->loops[shape->loop];

    for (uint32_t k = 0; k < shape->width; k++) {
        const uint64_t address = leaf->values[1 + k] + i * leaf->pattern->steps[k];
        regions[k] = region_of(loop, address, shape->refs[k].size, regions[k]);
        if (regions[k] == PSNAP_NONE) {
            to->is_outside = true;
            to->outside_low = address;
            to->outside_high = address + shape->refs[k].size;
            return false;
        }
        put(d, to, regions[k], address, times);
        if (to->ordered < NEST_DERIVED_PATTERN) /* then `times` is 1 */
            to->order[to->ordered++] = regions[k];
    }
    return true;
}

static bool put_leaf(struct deriving *d, const struct nest_leaf *leaf)
{
    const struct nest_shape *shape = leaf->pattern->shape;
    const struct psnap_profile_loop *loop = &d->profile->loops[shape->loop];
    struct nest_derived_loop *to = &d->to->loops[shape->loop];
    const uint64_t count = leaf->values[0];
    uint32_t regions[NEST_WIDTH_MAX] = {0}, before[NEST_WIDTH_MAX];
    uint64_t settled = 0; /* iterations in a row that were in the regions of the one before */

    for (uint64_t i = 0; i < count; i++) {
        if (d->steps < shape->width)
            return false;
        d->steps -= shape->width;
        if (settled == 1 && count - i > 1 && to->ordered == NEST_DERIVED_PATTERN &&
            is_even(loop, leaf, regions, count)) {
            /* all from here on are as this one; then where the last one has led */
            if (!put_iteration(d, leaf, regions, i, count - i))
                return false;
            for (uint32_t k = 0; k < shape->width; k++)
                d->last[to->first + regions[k]].address =
                    leaf->values[1 + k] + (count - 1) * leaf->pattern->steps[k];
            return true;
        }
        memcpy(before, regions, shape->width * sizeof *regions);
        if (!put_iteration(d, leaf, regions, i, 1))
            return false;
        settled = i && !memcmp(before, regions, shape->width * sizeof *regions) ? settled + 1 : 0;
    }
    return true;
}

/* ---- which loops ---- */

static void doubt_shape(struct nest_derived_loop *loops, const struct nest_shape *shape)
{
    if (shape->counts)
        loops[shape->loop].is_known = false;
    for (uint32_t k = 0; k < shape->width; k++)
        if (shape->refs[k].mode != NEST_AFFINE || shape->refs[k].thread != shape->refs[0].thread)
            loops[shape->loop].is_known = false;
}

static void doubt_pattern(struct nest_derived_loop *loops, const struct nest_pattern *pattern)
{
    for (uint32_t i = 0; i < pattern->body_count; i++)
        doubt_pattern(loops, pattern->body[i]);
    if (!pattern->body_count && pattern->shape->width)
        doubt_shape(loops, pattern->shape);
}

static bool has_overlaps(const struct psnap_profile_loop *loop)
{
    for (uint32_t i = 0; i < loop->region_count; i++)
        for (uint32_t k = 0; k < i; k++) {
            const struct psnap_profile_region *a = &loop->regions[i], *b = &loop->regions[k];
            if (a->low < b->low ? b->low - a->low < a->bytes : a->low - b->low < b->bytes)
                return true;
        }
    return false;
}

/* Loops that are affine alone. */
static void choose_loops(const struct psnap_profile *profile, struct nest_derived_loop *loops)
{
    const struct psnap_nests *nests = profile->nests;
    const struct nest_models *models = nests->models;

    for (uint32_t i = 0; i < profile->loop_count; i++)
        loops[i].is_known = profile->loops[i].accesses && profile->loops[i].region_count <= 4096 &&
                            !has_overlaps(&profile->loops[i]);
    for (size_t i = 0; i < nests->count; i++)
        doubt_pattern(loops, nests->terms[i].pattern);
    for (uint32_t i = 0; models && i < models->mix_count; i++)
        for (uint32_t k = 0; models->mixes[i].chain && k < models->mixes[i].chain->state_count; k++)
            loops[models->mixes[i].states[k]->loop].is_known = false;
}

static bool has_known(const struct nest_derived_loop *loops, const struct nest_pattern *pattern)
{
    if (!pattern->body_count)
        return pattern->shape->width && loops[pattern->shape->loop].is_known;
    for (uint32_t i = 0; i < pattern->body_count; i++)
        if (has_known(loops, pattern->body[i]))
            return true;
    return false;
}

/* ---- all of it ---- */

/* 1: the term has been gone through; 0: it takes too long; negative: out of memory. */
static int put_term(struct deriving *d, const struct nest_pattern *pattern, const uint64_t *values)
{
    struct nest_derived_loop *loops = d->to->loops;
    struct nest_cursor cursor = {0};
    struct nest_leaf leaf = {pattern, values};
    int more = 1;

    if ((int64_t)values[0] <= 0 || !has_known(loops, pattern))
        return 1;
    if (pattern->body_count) {
        if (!nest_cursor_start(&cursor, pattern, values, 0, values[0]))
            return -1;
        more = nest_cursor_next(&cursor, &leaf);
    }
    while (more > 0 && d->steps) {
        struct nest_derived_loop *loop =
            leaf.pattern->shape->width ? &loops[leaf.pattern->shape->loop] : NULL;
        d->steps--;
        if (loop && loop->is_known && !put_leaf(d, &leaf))
            loop->is_known = false;
        more = pattern->body_count ? nest_cursor_next(&cursor, &leaf) : 0;
    }
    nest_cursor_free(&cursor);
    return more < 0 ? -1 : more == 0;
}

static bool go_through(struct deriving *d)
{
    const struct psnap_nests *nests = d->profile->nests;
    int more = 1;

    for (size_t i = 0; i < nests->count && more > 0; i++)
        more = put_term(d, nests->terms[i].pattern, nests_values(nests, i));
    for (uint32_t i = 0; i < d->profile->loop_count && !more; i++)
        d->to->loops[i].is_known = false;
    return more >= 0;
}

struct nest_derived *nest_derive(const struct psnap_profile *profile)
{
    struct nest_derived *derived = calloc(1, sizeof *derived);
    struct deriving d = {.profile = profile, .to = derived, .steps = STEPS_MAX};
    size_t count = 0;
    bool is_done = derived != NULL;

    if (is_done)
        derived->loops = calloc(profile->loop_count + (size_t)1, sizeof *derived->loops);
    is_done = is_done && derived->loops;
    if (is_done)
        derived->loop_count = profile->loop_count;
    if (is_done)
        choose_loops(profile, derived->loops);
    for (uint32_t i = 0; is_done && i < profile->loop_count; i++) {
        if (!derived->loops[i].is_known)
            continue;
        derived->loops[i].first = (uint32_t)count;
        count += profile->loops[i].region_count;
        derived->loops[i].order = calloc(NEST_DERIVED_PATTERN, sizeof(uint32_t));
        is_done = derived->loops[i].order != NULL;
    }
    if (is_done) {
        derived->regions = calloc(count + 1, sizeof *derived->regions);
        d.last = calloc(count + 1, sizeof *d.last);
        is_done = derived->regions && d.last;
    }
    for (size_t i = 0; is_done && i < count; i++)
        d.last[i].bin = NO_BIN;
    is_done = is_done && go_through(&d);
    free(d.last);
    if (is_done)
        return derived;
    nest_derived_free(derived);
    return NULL;
}

void nest_derived_free(struct nest_derived *derived)
{
    if (!derived)
        return;
    for (uint32_t i = 0; derived->loops && i < derived->loop_count; i++)
        free(derived->loops[i].order);
    free(derived->loops);
    free(derived->regions);
    free(derived);
}

bool nest_derived_is(const struct nest_derived_region *derived,
                     const struct psnap_profile_region *region, unsigned *bin)
{
    struct stride_bins bins;
    unsigned odd = PSNAP_STRIDE_BINS;

    bins_open(region, &bins);
    for (unsigned i = PSNAP_STRIDE_BINS; i-- > 0;)
        if (memcmp(bins.edges[i], derived->bins.edges[i], sizeof bins.edges[i]) != 0)
            odd = i;
    for (unsigned i = PSNAP_STRIDE_BINS; i-- > 0;)
        if (bins.strides[i] != derived->bins.strides[i])
            odd = i;
    if (bin)
        *bin = odd;
    return odd == PSNAP_STRIDE_BINS;
}

/* Whether items [from, to) of a pattern, unfolded, are the order from *at on, which they move. */
static bool goes_on(const struct nest_derived_loop *derived, const struct psnap_sequence *pattern,
                    uint32_t from, uint32_t to, uint32_t *at)
{
    for (uint32_t i = from; i < to; i += pattern->items[i].span + 1) {
        const struct psnap_sequence_item *item = &pattern->items[i];
        for (uint64_t n = 0; n < item->repeat; n++) {
            if (item->what != PSNAP_NONE) {
                if (*at < derived->ordered && derived->order[*at] != item->what)
                    return false;
                ++*at;
            } else if (!goes_on(derived, pattern, i + 1, i + 1 + item->span, at))
                return false;
        }
    }
    return true;
}

bool nest_derived_has_pattern(const struct nest_derived_loop *derived,
                              const struct psnap_profile_loop *loop)
{
    uint32_t at = 0;

    return loop->pattern.count && goes_on(derived, &loop->pattern, 0, loop->pattern.count, &at) &&
           at <= derived->ordered;
}

/* A region has the strides that follow from the walks; false: out of memory. */
static bool take_region(struct psnap_arena *arena, const struct nest_derived_region *from,
                        struct psnap_profile_region *to)
{
    return from->accesses != to->accesses || bins_close(&from->bins, arena, to);
}

static bool mark(struct psnap_profile *profile, bool is_taken)
{
    struct nest_derived *derived = nest_derive(profile);
    bool is_done = derived != NULL;

    for (uint32_t i = 0; is_done && i < profile->loop_count; i++) {
        struct psnap_profile_loop *loop = &profile->loops[i];
        const struct nest_derived_loop *from = &derived->loops[i];
        loop->is_pattern_derived = from->is_known && nest_derived_has_pattern(from, loop);
        for (uint32_t k = 0; is_done && k < loop->region_count; k++) {
            const struct nest_derived_region *of = &derived->regions[from->first + k];
            struct psnap_profile_region *region = &loop->regions[k];
            if (from->is_known && is_taken)
                is_done = take_region(profile->arena, of, region);
            region->is_derived = is_done && from->is_known && nest_derived_is(of, region, NULL);
        }
    }
    nest_derived_free(derived);
    return is_done;
}

bool nest_derive_mark(struct psnap_profile *profile)
{
    return mark(profile, false);
}

bool nest_derive_take(struct psnap_profile *profile)
{
    return mark(profile, true);
}
