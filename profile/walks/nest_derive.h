/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What follows from walks: strides of regions, and patterns of loops, that are affine alone.
 */
#ifndef PSNAP_PROFILE_NEST_DERIVE_H
#define PSNAP_PROFILE_NEST_DERIVE_H

#include "profile/build/bins.h"
#include "profile/walks/nest_profile.h"

enum { NEST_DERIVED_PATTERN = 1024 }; /* accesses of a loop whose regions are known in order */

struct nest_derived_region {
    uint64_t accesses;
    struct stride_bins bins;
};

struct nest_derived_loop {
    bool is_known;
    uint32_t first;  /* of its regions in those of all loops */
    uint32_t *order; /* regions of its first accesses */
    uint32_t ordered;
    bool is_outside; /* not known, for an access is in no region: */
    uint64_t outside_low, outside_high;
};

struct nest_derived {
    struct nest_derived_loop *loops;
    struct nest_derived_region *regions;
    uint32_t loop_count;
};

/*
 * Goes through the walks of a profile with nests; takes a bounded time, and loops that it does not
 * get to the end of are not known. Not known are those, too, of which anything is drawn or goes on
 * where it was, that several threads share, and whose regions overlap. NULL: out of memory.
 */
struct nest_derived *nest_derive(const struct psnap_profile *profile);
void nest_derived_free(struct nest_derived *derived);

/* Whether a region's strides and graph are the derived ones; a bin in which they are not goes to
 * *bin (of the histogram, if it differs there), unless that is NULL. */
bool nest_derived_is(const struct nest_derived_region *derived,
                     const struct psnap_profile_region *region, unsigned *bin);
/* Whether a loop's pattern begins as its accesses do. */
bool nest_derived_has_pattern(const struct nest_derived_loop *derived,
                              const struct psnap_profile_loop *loop);

/* Gives regions the strides that follow from the walks, where that is known; false: out of memory.
 */
bool nest_derive_strides(struct psnap_profile *profile);

/* Says of all regions and loops of a profile whether their strides and pattern follow from its
 * walks; false: out of memory. */
bool nest_derive_mark(struct psnap_profile *profile);
/* The same, when regions have the strides that follow, where that is known. */
bool nest_derive_take(struct psnap_profile *profile);

#endif
