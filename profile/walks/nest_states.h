/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the references and loops of a stream are told (nests.h): what their modes are.
 */
#ifndef PSNAP_PROFILE_NEST_STATES_H
#define PSNAP_PROFILE_NEST_STATES_H

#include "profile/walks/nests.h"

struct nest_ref_state {
    uint32_t mode;     /* enum nest_mode */
    uint32_t draw;     /* 1 + that of the reference, or 0 */
    uint32_t walk;     /* likewise; NEST_CONTINUING: */
    uint64_t position; /* where it goes on, */
    bool has_position; /* once it has begun */
    uint64_t stride;   /* of its last leaf with more than one iteration */
    uint32_t next_mix; /* 1 + that which is visited behind each leaf that ends with it, or 0 */
    /* In a mix, NEST_DRAWN_FIRST: */
    uint64_t tokens, iterations;
};

struct nest_loop_state {
    uint32_t mix;    /* 1 + that of the loop, or 0 */
    uint32_t states; /* of it in a mix; when they are many, each block of an iteration is one */
    bool has_drawn_counts; /* its leaves */
};

struct nest_states {
    struct nest_ref_state *refs;
    struct nest_loop_state *loops;
    size_t ref_count, loop_count; /* that there is room for */
    bool in_pairs;                /* terms fold in pairs */
};

/* 1 + the mix that is visited behind a leaf, or 0. */
static inline uint32_t nest_states_next_mix(const struct nest_states *states,
                                            const struct nest_shape *shape)
{
    const uint32_t last = shape->width ? shape->refs[shape->width - 1].ref : UINT32_MAX;

    return last < states->ref_count ? states->refs[last].next_mix : 0;
}

/* Makes room for a shape's references, in rising order, and loop, which are told affinely at first;
 * false: out of memory. */
bool nest_states_grow(struct nest_states *states, const struct nest_shape *shape);

static inline bool nest_states_cover(struct nest_states *states, const struct nest_shape *shape)
{
    return (shape->loop < states->loop_count && shape->width &&
            shape->refs[shape->width - 1].ref < states->ref_count) ||
           nest_states_grow(states, shape);
}

/* `to` is not initialised; false: out of memory, it has nothing. */
bool nest_states_copy(struct nest_states *to, const struct nest_states *from);
void nest_states_free(struct nest_states *states);

#endif
