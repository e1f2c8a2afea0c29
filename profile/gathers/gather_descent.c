/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A binary search looks at an element of a stretch that is n elements long, and goes on in one half
 * of what is left: by about n/4, n/8 and so on, down or up. So do its variants, to a few elements,
 * which depend on how each half is rounded. What is at a level is thus told by which steps were
 * taken above it, and there are 2^level of it. Where the search ends is not asked: where the root
 * is seen again, another one begins.
 *
 * The root is what is used most among the first accesses. Steps of a level that are as long as the
 * first one of it but for a few elements, GATHER_DESCENT_NEAR, are told by that which most are.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/divisor.h"
#include "profile/gathers/gather_fit.h"

enum {
    LONG = 16,         /* elements of a step that is told by its level and by nothing else */
    LONG_LEAST = 4,    /* levels of long steps, down and up */
    ROOT_LEAST = 64,   /* of the first accesses one in so many is of the root at least, */
    ROOT_MOST = 3,     /* and one in so many at most */
    ROOT_RIVAL = 16,   /* others that are used as much but for one in so many are below it */
    DOWN_SHARE = 20,   /* of steps one in so many is down, and up */
    STRAYS = 1000,     /* searches of which one, or fewer, come to what is no level */
    CHECK_EVERY = 4096 /* accesses */
};

#define TOLD_LEAST 0.95 /* share of the accesses that levels tell */
#define HITS_APART 0.05 /* share of the accesses by which others may differ */

/* ---- the root ---- */

/* How often the first accesses were of an address: sorted. */
static uint32_t times_of(const uint64_t *sorted, uint64_t address)
{
    uint32_t low = 0, high = GATHER_DESCENT_FIRST, at;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (sorted[middle] < address)
            low = middle + 1;
        else
            high = middle;
    }
    for (at = low; at < GATHER_DESCENT_FIRST && sorted[at] == address;)
        at++;
    return at - low;
}

/* Finds the root, the first of those that are used most; false: none is as a root is. */
static bool find_root(struct gather_descents *d)
{
    uint64_t sorted[GATHER_DESCENT_FIRST];
    uint32_t most = 0, at = 0;

    memcpy(sorted, d->first, sizeof sorted);
    qsort(sorted, GATHER_DESCENT_FIRST, sizeof *sorted, gather_ascending);
    for (uint32_t i = 0, from = 0; i < GATHER_DESCENT_FIRST; i++) {
        from = sorted[i] == sorted[from] ? from : i;
        most = i + 1 - from > most ? i + 1 - from : most;
    }
    if (most < GATHER_DESCENT_FIRST / ROOT_LEAST || most > GATHER_DESCENT_FIRST / ROOT_MOST)
        return false;
    while (times_of(sorted, d->first[at]) < most - most / ROOT_RIVAL)
        at++;
    d->root = d->first[at];
    d->element = 0;
    for (uint32_t i = 0; i < GATHER_DESCENT_FIRST; i++)
        d->element = psnap_common_divisor(sorted[i] - sorted[0], d->element);
    d->level = GATHER_LEVELS; /* not known before the root comes */
    return d->element;
}

/* ---- as accesses come ---- */

/* In direct-mapped caches of a few lines and of many. */
static inline void look_up(struct gather_descents *d, uint64_t address)
{
    const uint64_t line = address >> 6;
    const uint32_t tag = (uint32_t)line + 1,
                   place = (uint32_t)(line * UINT64_C(0x9e3779b97f4a7c15) >> 53); /* below many */

    d->hits[0] += d->few[place % GATHER_DESCENT_FEW] == tag;
    d->hits[1] += d->many[place] == tag;
    d->few[place % GATHER_DESCENT_FEW] = d->many[place] = tag;
}

static inline void put(struct gather_descents *d, uint64_t address)
{
    const uint64_t step = address - d->last, near = GATHER_DESCENT_NEAR * d->element;
    struct gather_descended *level = &d->levels[d->level];
    const unsigned is_up = !(step >> 63);
    uint64_t from;

    look_up(d, address);
    d->last = address;
    if (address == d->root) {
        level->ends++;
        d->near++;
        d->level = 0;
        return;
    }
    if (d->level == GATHER_LEVELS) /* or it is too deep, which the share of what is told shows */
        return;
    level->first[is_up] = level->taken[is_up] ? level->first[is_up] : step;
    level->taken[is_up]++;
    from = step - level->first[is_up] + near;
    if (from <= 2 * near) {
        level->near[is_up][from / d->element]++;
        d->near++;
    }
    d->level++;
    d->used = d->level > d->used ? d->level : d->used;
}

static bool are_told(const struct gather_descents *d)
{
    return (double)d->near >= TOLD_LEAST * (double)d->count;
}

static bool begin(struct gather_descents *d)
{
    if (!find_root(d))
        return false;
    for (uint32_t i = 0; i < GATHER_DESCENT_FIRST; i++)
        put(d, d->first[i]);
    return true;
}

/* False: they are none. */
static bool put_all(struct gather_descents *d, const uint64_t *addresses, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (d->count < GATHER_DESCENT_FIRST)
            d->first[d->count] = addresses[i];
        else
            put(d, addresses[i]);
        d->count++;
        if ((d->count == GATHER_DESCENT_FIRST && !begin(d)) ||
            (d->count % CHECK_EVERY == 0 && !are_told(d)))
            return false;
    }
    return true;
}

struct gather_descents *gather_descents_new(void)
{
    return calloc(1, sizeof(struct gather_descents));
}

void gather_descents_put(struct gather_descents **descents, const uint64_t *addresses, size_t n)
{
    if (!*descents || put_all(*descents, addresses, n))
        return;
    free(*descents);
    *descents = NULL;
}

void gather_descents_put_run(struct gather_descents **descents, uint64_t first, uint64_t step,
                             uint64_t n)
{
    for (; n && *descents; n--, first += step)
        gather_descents_put(descents, &first, 1);
}

/* ---- the model ---- */

/* The step that was taken most, in bytes; 0: none. */
static int64_t step_of(const struct gather_descents *d, const struct gather_descended *level,
                       unsigned is_up)
{
    int64_t most = 0;

    for (int i = 1; i <= 2 * GATHER_DESCENT_NEAR; i++)
        most = level->near[is_up][i] > level->near[is_up][most] ? i : most;
    return level->taken[is_up]
               ? (int64_t)level->first[is_up] + (most - GATHER_DESCENT_NEAR) * (int64_t)d->element
               : 0;
}

/* Whether a level is one of a tree that is larger than a few elements, and both ways are gone. */
static bool is_long(const struct gather_descents *d, const struct gather_descended *level)
{
    const uint64_t both = level->taken[0] + level->taken[1];

    return 0 - level->first[0] >= LONG * d->element && level->first[1] >= LONG * d->element &&
           level->taken[0] >= both / DOWN_SHARE && level->taken[1] >= both / DOWN_SHARE &&
           level->taken[0] && level->taken[1];
}

/* Levels that are come to more than by the way: below are strays, and what is by them. */
static uint32_t count_levels(const struct gather_descents *d)
{
    const uint64_t searches = d->levels[0].taken[0] + d->levels[0].taken[1];
    uint32_t n = 0;

    while (n < d->used && (d->levels[n].taken[0] + d->levels[n].taken[1]) * STRAYS > searches)
        n++;
    return n;
}

/* Whether levels tell the accesses, and enough of them are long. */
static bool are_descents(const struct gather_descents *d)
{
    uint32_t of_long = 0;

    if (!d || d->count < GATHER_DESCENT_FIRST || !are_told(d))
        return false;
    for (uint32_t i = 0; i < count_levels(d); i++)
        of_long += is_long(d, &d->levels[i]);
    return of_long >= LONG_LEAST;
}

bool gather_is_descent(const uint64_t *addresses, size_t n)
{
    struct gather_descents *d = gather_descents_new();
    bool is_one;

    gather_descents_put(&d, addresses, n);
    is_one = are_descents(d);
    free(d);
    return is_one;
}

bool gather_descents_are_alike(const struct gather_descents *descents, const uint64_t *others,
                               size_t n)
{
    struct gather_descents *d = gather_descents_new();
    bool are_alike;

    gather_descents_put(&d, others, n);
    are_alike = d;
    for (unsigned i = 0; i < 2 && are_alike; i++)
        are_alike = fabs((double)d->hits[i] / (double)d->count -
                         (double)descents->hits[i] / (double)descents->count) < HITS_APART;
    free(d);
    return are_alike;
}

/* Sets the levels; false: they lead to what are no elements of the area, as strays may. */
static bool set_levels(const struct gather_descents *d, struct gather_area *m)
{
    const int64_t element = m->element_bytes;

    m->root = d->root - m->base;
    m->level_count = count_levels(d);
    for (uint32_t i = 0; i < m->level_count; i++) {
        const struct gather_descended *level = &d->levels[i];
        const double both = (double)(level->taken[0] + level->taken[1]);
        m->levels[i] = (struct gather_level){.down = step_of(d, level, 0),
                                             .up = step_of(d, level, 1),
                                             .down_share = (double)level->taken[0] / both,
                                             .goes_on = both / (both + (double)level->ends)};
        if (m->levels[i].down % element || m->levels[i].up % element)
            return false;
    }
    return m->root % m->element_bytes == 0 && m->root + m->element_bytes <= m->span_bytes;
}

bool gather_fit_descent(const struct gather_collector *c, struct gather_area *m)
{
    if (!are_descents(c->descents) || !set_levels(c->descents, m))
        return false;
    m->places = GATHER_DESCENT;
    m->step_count = m->grid_bytes = m->grid_start = 0;
    m->part_count = 1;
    m->parts[0] = (struct gather_part){1, 1};
    m->fixed = 0;
    return true;
}
