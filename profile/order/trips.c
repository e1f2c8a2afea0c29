/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Histograms of trip counts: collected, and drawn from without replacement (trips.h).
 */
#include "profile/order/trips.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

enum { EXACT = 16, PER_OCTAVE_BITS = 2 };

void trips_release(struct trips *trips)
{
    free(trips->bins);
    *trips = (struct trips){0};
}

/* The bounds of the bin that a count belongs to. */
static void bounds_of(uint64_t trips, uint64_t *low, uint64_t *high)
{
    *low = *high = trips;
    if (trips > EXACT) {
        const unsigned shift = 63u - (unsigned)__builtin_clzll(trips) - PER_OCTAVE_BITS;
        *low = trips >> shift << shift;
        *high = *low + (UINT64_C(1) << shift) - 1;
        if (*low <= EXACT)
            *low = EXACT + 1;
    }
}

bool trips_add(struct trips *to, uint64_t trips, uint64_t times)
{
    uint64_t low, high;
    uint32_t at = 0;

    bounds_of(trips, &low, &high);
    while (at < to->count && to->bins[at].low < low)
        at++;
    if (at == to->count || to->bins[at].low != low) {
        if (!(to->count & (to->count - 1)) &&
            !psnap_resize(&to->bins, to->count ? 2 * (size_t)to->count : 1, sizeof *to->bins))
            return false;
        memmove(&to->bins[at + 1], &to->bins[at], (to->count - at) * sizeof *to->bins);
        to->bins[at] = (struct trips_bin){.low = low, .high = high};
        to->count++;
    }
    to->bins[at].times += times;
    to->bins[at].sum += times * trips;
    to->times += times;
    to->sum += times * trips;
    return true;
}

void trips_coarsen(struct trips *trips, uint32_t most)
{
    struct trips_bin *bins = trips->bins;

    while (trips->count > most && trips->count > 1) {
        uint32_t best = 0;
        for (uint32_t i = 1; i + 1 < trips->count; i++)
            if (bins[i].times + bins[i + 1].times < bins[best].times + bins[best + 1].times)
                best = i;
        bins[best].high = bins[best + 1].high;
        bins[best].times += bins[best + 1].times;
        bins[best].sum += bins[best + 1].sum;
        trips->count--;
        memmove(&bins[best + 1], &bins[best + 2], (trips->count - best - 1) * sizeof *bins);
    }
}

bool trips_copy(struct trips *to, const struct trips *from)
{
    *to = *from;
    to->bins = malloc((from->count + (size_t)1) * sizeof *to->bins);
    if (to->bins && from->count)
        memcpy(to->bins, from->bins, from->count * sizeof *to->bins);
    return to->bins != NULL;
}

bool trips_draw_init(struct trips_draw *draw, const struct trips *trips)
{
    draw->trips = trips;
    return trips_copy(&draw->left, trips);
}

void trips_draw_release(struct trips_draw *draw)
{
    trips_release(&draw->left);
}

uint64_t trips_draw_next(struct trips_draw *draw, struct psnap_rng *rng)
{
    struct trips *left = &draw->left;
    struct trips_bin *bin = left->bins;
    uint64_t ticket, trips;

    if (!left->times) {
        memcpy(left->bins, draw->trips->bins, left->count * sizeof *left->bins);
        left->times = draw->trips->times;
        left->sum = draw->trips->sum;
    }
    for (ticket = psnap_rng_below(rng, left->times); ticket >= bin->times; bin++)
        ticket -= bin->times;
    trips = bin->sum / bin->times;
    bin->times--;
    bin->sum -= trips;
    left->times--;
    left->sum -= trips;
    return trips;
}
