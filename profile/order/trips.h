/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Histograms of trip counts, for loops whose numbers of iterations do not fold: how many executions
 * had so many iterations, exact up to 16, then four bins an octave. Counts are drawn without
 * replacement: after as many draws as there were executions each bin has given as many as it has,
 * and they add up to its sum.
 */
#ifndef PSNAP_PROFILE_TRIPS_H
#define PSNAP_PROFILE_TRIPS_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/base/rng.h"

enum { TRIPS_BINS = 16 + 4 * 60 };

/* Executions with `low` to `high` iterations: how many there are, and their iterations in all. */
struct trips_bin {
    uint64_t low, high, times, sum;
};

struct trips {
    struct trips_bin *bins; /* ascending, none of them empty; owned */
    uint32_t count;
    uint64_t times, sum; /* of all bins */
};

void trips_release(struct trips *trips);
/* One more execution, or `times` of them, of `trips` iterations each; false: out of memory. */
bool trips_add(struct trips *to, uint64_t trips, uint64_t times);
/* Joins neighbours, the rarest first, until there are no more than `most` bins. */
void trips_coarsen(struct trips *trips, uint32_t most);
/* The same histogram; false: out of memory. */
bool trips_copy(struct trips *to, const struct trips *from);

/* What is left to draw. */
struct trips_draw {
    const struct trips *trips;
    struct trips left;
};

/* `trips` outlives it. False: out of memory. */
bool trips_draw_init(struct trips_draw *draw, const struct trips *trips);
void trips_draw_release(struct trips_draw *draw);
/* Draws the trip count of the next execution. When all are drawn the histogram begins anew. */
uint64_t trips_draw_next(struct trips_draw *draw, struct psnap_rng *rng);

#endif
