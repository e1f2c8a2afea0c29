/* SPDX-License-Identifier: BSD-3-Clause */
/* Rates from the counts of a tally (MACHINES.md has their definitions). */
#include <math.h>

#include "simcore/simcore.h"

/* `hits` are those of the levels of the caches or of the TLB. */
static uint64_t satisfied(const uint64_t *hits, size_t level)
{
    uint64_t sum = 0;

    for (size_t i = 0; i <= level; i++)
        sum += hits[i];
    return sum;
}

static uint64_t reached(uint64_t accesses, const uint64_t *hits, size_t level)
{
    return level ? accesses - satisfied(hits, level - 1) : accesses;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : NAN;
}

uint64_t psnap_tally_satisfied(const struct psnap_tally *tally, size_t level)
{
    return satisfied(tally->hits, level);
}

uint64_t psnap_tally_reached(const struct psnap_tally *tally, size_t level)
{
    return reached(tally->accesses, tally->hits, level);
}

double psnap_tally_hit_rate(const struct psnap_tally *tally, size_t level)
{
    return share(tally->hits[level], psnap_tally_reached(tally, level));
}

double psnap_tally_cumulative(const struct psnap_tally *tally, size_t level)
{
    return share(psnap_tally_satisfied(tally, level), tally->accesses);
}

uint64_t psnap_tally_tlb_reached(const struct psnap_tally *tally, size_t level)
{
    return reached(tally->accesses, tally->tlb_hits, level);
}

double psnap_tally_tlb_hit_rate(const struct psnap_tally *tally, size_t level)
{
    return share(tally->tlb_hits[level], psnap_tally_tlb_reached(tally, level));
}

double psnap_tally_tlb_cumulative(const struct psnap_tally *tally, size_t level)
{
    return share(satisfied(tally->tlb_hits, level), tally->accesses);
}
