/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a sink keeps for every reference that comes, in the order in which they come. Private to
 * formats/.
 */
#ifndef PSNAP_FORMATS_REF_STATES_H
#define PSNAP_FORMATS_REF_STATES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

struct ref_states {
    size_t bytes;    /* of a state; the rest is zero at first */
    void **by_ref;   /* NULL: did not come */
    uint32_t *order; /* references in the order in which they came */
    size_t ref_room, order_room, count;
};

/* The state of a reference that comes for the first time, all zero; NULL: out of memory. */
static inline void *ref_states_add(struct ref_states *states, uint32_t ref)
{
    const size_t before = states->ref_room;
    void **grown =
        psnap_with_room(states->by_ref, &states->ref_room, (size_t)ref + 1, sizeof *states->by_ref);
    uint32_t *order;
    void *state;

    if (!grown)
        return NULL;
    states->by_ref = grown;
    for (size_t i = before; i < states->ref_room; i++)
        grown[i] = NULL;
    order = psnap_with_room(states->order, &states->order_room, states->count + 1, sizeof *order);
    if (!order)
        return NULL;
    states->order = order;
    state = calloc(1, states->bytes);
    if (state) {
        order[states->count++] = ref;
        grown[ref] = state;
    }
    return state;
}

/* The state of a reference; NULL: out of memory. */
static inline void *ref_states_get(struct ref_states *states, uint32_t ref)
{
    if (ref < states->ref_room && states->by_ref[ref])
        return states->by_ref[ref];
    return ref_states_add(states, ref);
}

static inline void ref_states_release(struct ref_states *states)
{
    for (size_t i = 0; i < states->count; i++)
        free(states->by_ref[states->order[i]]);
    free(states->by_ref);
    free(states->order);
}

#endif
