/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Strides by bin: tables while they are changed, lists of what is there in a profile.
 */
#include "profile/build/bins.h"

#include <string.h>

void bins_open(const struct psnap_profile_region *region, struct stride_bins *bins)
{
    memset(bins, 0, sizeof *bins);
    for (unsigned i = 0; i < region->stride_count; i++)
        bins->strides[region->strides[i].bin] = region->strides[i].count;
    for (unsigned i = 0; i < region->edge_count; i++)
        bins->edges[region->edges[i].from][region->edges[i].to] = region->edges[i].count;
}

bool bins_close(const struct stride_bins *bins, struct psnap_arena *arena,
                struct psnap_profile_region *region)
{
    size_t edges = 0;

    for (unsigned i = 0; i < PSNAP_STRIDE_BINS * PSNAP_STRIDE_BINS; i++)
        edges += bins->edges[i / PSNAP_STRIDE_BINS][i % PSNAP_STRIDE_BINS] != 0;
    region->strides = psnap_arena_alloc(arena, PSNAP_STRIDE_BINS * sizeof *region->strides);
    region->edges = psnap_arena_alloc(arena, (edges + 1) * sizeof *region->edges);
    region->stride_count = region->edge_count = 0;
    if (!region->strides || !region->edges)
        return false;
    for (unsigned from = 0; from < PSNAP_STRIDE_BINS; from++) {
        if (bins->strides[from])
            region->strides[region->stride_count++] =
                (struct psnap_stride_count){bins->strides[from], (uint8_t)from};
        for (unsigned to = 0; to < PSNAP_STRIDE_BINS; to++)
            if (bins->edges[from][to])
                region->edges[region->edge_count++] =
                    (struct psnap_stride_edge){bins->edges[from][to], (uint8_t)from, (uint8_t)to};
    }
    return true;
}
