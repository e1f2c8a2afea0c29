/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A nest while it is put into a profile in closed form: the box of iterations, the regions that its
 * accesses touch, and the edges that they add to the regions' graphs of strides. builder_nest.c
 * puts it, builder_nest_edges.c finds the edges. Private to these.
 */
#ifndef PSNAP_PROFILE_BUILDER_NEST_H
#define PSNAP_PROFILE_BUILDER_NEST_H

#include "profile/build/builder.h"

enum {
    BUILD_PLACES_MAX = 64, /* regions of one put */
    BUILD_EDGES_MAX = 2048
};

/* Where the last access to a region was, in the first iteration of all loops that are boxes. */
struct build_place {
    struct build_region *region;
    struct build_loop *loop;
    uint64_t address;
    uint32_t last; /* that access; PSNAP_NONE: one before the iterations */
    uint8_t bin;   /* of its stride, or BUILD_START */
};

struct build_edge_count {
    uint64_t times;
    uint8_t place, from, to;
};

struct build_nest {
    struct builder *b;
    const struct psnap_nest *nest;
    /* The box: by level, the first iteration and how many. */
    uint64_t from[PSNAP_NEST_LEVELS], size[PSNAP_NEST_LEVELS];
    uint64_t counts[PSNAP_NEST_LEVELS]; /* of what is put in closed form */
    uint32_t place_count, edge_count;
    uint32_t steps;  /* left */
    uint32_t failed; /* levels, as bits, along which a stride has left its bin */
    struct build_place places[BUILD_PLACES_MAX];
    uint8_t place_of[PSNAP_NEST_WIDTH]; /* by access */
    struct build_edge_count edges[BUILD_EDGES_MAX];
    struct fold_mark marks[PSNAP_NEST_LEVELS];
};

/* Iterations of a loop at `depth`, in the iterations that those around it are in. */
static inline uint64_t build_nest_count(const struct build_nest *put, uint32_t at, unsigned depth)
{
    const struct psnap_nest_loop *loop = &put->nest->loops[at];
    uint64_t count = (uint64_t)loop->count;

    for (unsigned l = 0; l < depth && l < PSNAP_NEST_LEVELS; l++)
        count += put->from[l] * (uint64_t)loop->count_steps[l];
    return (int64_t)count > 0 ? count : 0;
}

static inline const int64_t *build_nest_strides(const struct build_nest *put, uint32_t a)
{
    return &put->nest->strides[(size_t)a * put->nest->levels];
}

/* Iterations [from, end) of a loop, in all iterations of the box, of which there are `times`: edges
 * go to the list, places go on. False: no box of them has the same bins, or there are too many. */
bool build_nest_pass(struct build_nest *put, uint32_t at, unsigned depth, uint64_t from,
                     uint64_t end, uint64_t times);
/* Counts the edges of the list, and moves the regions on; false: out of memory. */
bool build_nest_commit(struct build_nest *put);

#endif
