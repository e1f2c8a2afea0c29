/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A region's strides and graph as counts by bin, and back.
 */
#ifndef PSNAP_PROFILE_BINS_H
#define PSNAP_PROFILE_BINS_H

#include "profile/profile.h"

struct stride_bins {
    uint64_t strides[PSNAP_STRIDE_BINS];
    uint64_t edges[PSNAP_STRIDE_BINS][PSNAP_STRIDE_BINS]; /* from, to */
};

void bins_open(const struct psnap_profile_region *region, struct stride_bins *bins);
/* Into the region, with memory of the arena; false: out of memory. */
bool bins_close(const struct stride_bins *bins, struct psnap_arena *arena,
                struct psnap_profile_region *region);

#endif
