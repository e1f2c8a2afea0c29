/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nests without some of their loops: what of a stream folds when the rest of it is not there.
 */
#ifndef PSNAP_PROFILE_NEST_PROJECT_H
#define PSNAP_PROFILE_NEST_PROJECT_H

#include "profile/walks/nests.h"

enum {
    NEST_EXPANDED_MAX = 128,  /* leaves of a term that are looked at one by one */
    NEST_HEIGHT_MAX = 1 << 18 /* of a projection: no more is put */
};

/* What is kept: the leaves of loops, and visits of mixes; or of all leaves one reference, alone. */
struct nest_kept {
    const bool *loops; /* by loop, then by mix; NULL: */
    size_t loop_count; /* of loops */
    uint32_t ref;      /* the reference */
    bool in_pairs;     /* terms fold in pairs */
};

struct nest_projection;

/* `from` must outlive it, and what `kept` points to. NULL: out of memory. */
struct nest_projection *nest_projection_new(const struct psnap_nests *from,
                                            const struct nest_kept *kept);
void nest_projection_free(struct nest_projection *projection);
/* Folds what is kept of a term of `from`; false: out of memory. */
bool nest_projection_put(struct nest_projection *projection, const struct nest_pattern *pattern,
                         const uint64_t *values);
/* Folds a leaf, of any width, that is not of `from`. */
bool nest_projection_leaf(struct nest_projection *projection, const struct nest_shape *shape,
                          const uint64_t *strides, const uint64_t *values);
/* How many values the terms have that it has come to. */
size_t nest_projection_height(const struct nest_projection *projection);

/* heights[i]: how high the first 1 + i terms of `from` get. False: out of memory. */
bool nest_project(const struct psnap_nests *from, const struct nest_kept *kept, size_t *heights);

#endif
