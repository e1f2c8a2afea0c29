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
    double hot = 0, sampled = c->lines.count; /* first visits */

    for (int i = 0; i < 64; i++) {
        hot += (double)c->hot_gaps[i] * gather_unwatched(c);
        sampled += (double)c->gaps[i];
    }
    return c->lines.shift && (double)c->visits > hot ? ((double)c->visits - hot) / sampled : 1;
}

/* The share of the accesses that were watched which had `gap` others before them, of the same
 * window. */
static double share_of_late(const struct gather_collector *c, double gap)
{
    const uint64_t first = c->watched < WATCHED_FIRST ? c->watched : WATCHED_FIRST;
    const double windows = (double)(c->watched - first) / (double)WATCHED_WINDOW;
    const double late =
        fmax(0, (double)first - gap) + windows * fmax(0, (double)WATCHED_WINDOW - gap);

    return late / (double)c->watched;
}

void gather_collector_gaps(const struct gather_collector *c, double shares[64])
{
    const double weight = weight_of_sample(c);

    for (int i = 0; i < 64; i++) {
        /* the first accesses have no others that far back */
        const double gap = ldexp(1.44, i);
        const double late = 1 - gap / (double)c->count, late_hot = share_of_late(c, gap);

        shares[i] = (double)c->gaps[i] * weight / (double)c->count / fmax(late, 0.25) +
                    (double)c->hot_gaps[i] / (double)c->watched / fmax(late_hot, 0.25);
    }
}
