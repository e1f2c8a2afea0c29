/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How soon lines come back, from what a collector has counted of some of them: the sampled ones
 * stand for all that are not hot, windows for what was not watched, and accesses that have enough
 * others before them for those that have not.
 */
#include <math.h>

#include "profile/gathers/gather_collect.h"

/* What a visit of a sampled line that is not hot stands for: of all visits how many there were is
 * known, so that a sample of lines that are used more than others does not count for more (SHARDS
 * has a correction like it). */
static double weight_of_sample(const struct gather_collector *c)
{
    const double hot = (double)c->hot_visits * gather_unwatched(c);
    double sampled = (double)c->gapless;

    for (int i = 0; i < 64; i++)
        sampled += (double)c->gaps[i];
    return (c->lines.shift || c->watched < c->count) && (double)c->visits > hot
               ? ((double)c->visits - hot) / sampled
               : 1;
}

/* The share of the accesses that were watched which had `gap` others before them, of the same
 * window. */
static double late_of_watched(const struct gather_collector *c, double gap)
{
    const uint64_t first = c->watched < WATCHED_FIRST ? c->watched : WATCHED_FIRST;
    const double later = (double)(c->watched - first), window = WATCHED_WINDOW;

    return (fmax(0, (double)first - gap) + later * fmax(0, 1 - gap / window)) / (double)c->watched;
}

void gather_collector_gaps(const struct gather_collector *c, double shares[64])
{
    const double weight = weight_of_sample(c);

    for (int i = 0; i < 64; i++) {
        /* the first accesses have no others that far back */
        const double gap = ldexp(1.44, i), late_hot = fmax(0.25, late_of_watched(c, gap));
        const double late = c->lines.from ? late_hot : fmax(0.25, 1 - gap / (double)c->count);

        shares[i] = (double)c->gaps[i] * weight / (double)c->count / late +
                    (double)c->hot_gaps[i] / (double)c->watched / late_hot;
    }
}
