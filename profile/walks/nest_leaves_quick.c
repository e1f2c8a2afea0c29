/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Iterations that are as what came just before: most of a long stream. They are taken from where
 * they lie, with the same effect as putting them (nest_leaves.c, nest_leaves_mix.c): what has been
 * found out of their references is not asked anew.
 */
#include <string.h>

#include "profile/walks/nest_leaves.h"

/* Whether these are an iteration's references. */
static inline bool is_of(const struct nest_shape *shape, const struct psnap_access *accesses,
                         uint32_t width)
{
    const struct nest_ref *refs = shape->refs;

    if (shape->width != width)
        return false;
    for (uint32_t k = 0; k < width; k++)
        if (refs[k].ref != accesses[k].ref || refs[k].thread != accesses[k].thread ||
            refs[k].size != accesses[k].size || refs[k].kind != accesses[k].kind)
            return false;
    return true;
}

static void draw(struct nest_leaves *l, const struct nest_shape *shape,
                 const struct psnap_access *accesses)
{
    const bool is_entry = l->loop != shape->loop;

    l->loop = shape->loop;
    nest_draws_put_iteration(l->collected->draws, shape, accesses, is_entry);
}

/* One more iteration of the leaf under way, which it is of. */
static enum nest_taken go_on(struct nest_leaves *l, const struct psnap_access *accesses)
{
    const struct nest_shape *shape = l->shape;
    const uint64_t count = l->values[0];

    if (l->has_told && l->is_count_told)
        return NEST_OTHER;
    for (uint32_t k = 0; k < shape->width; k++) {
        if (shape->refs[k].mode == NEST_DRAWN)
            continue;
        if (count == 1)
            l->strides[k] = accesses[k].address - l->values[1 + k];
        else if (accesses[k].address != l->values[1 + k] + count * l->strides[k])
            return NEST_OTHER;
    }
    l->values[0]++;
    draw(l, shape, accesses);
    return NEST_TAKEN;
}

/* The first iteration of a leaf of a shape that came before. */
static enum nest_taken begin(struct nest_leaves *l, const struct nest_shape *shape,
                             const struct psnap_access *accesses)
{
    if ((l->visited != PSNAP_NONE && !nest_leaves_end_visit(l)) || !nest_leaves_end_due(l))
        return NEST_NO_MEMORY;
    memcpy(l->shape, shape, nest_shape_bytes(shape->width));
    l->has_told = l->is_count_told = false;
    l->values[0] = 1;
    for (uint32_t k = 0; k < shape->width; k++) {
        l->values[1 + k] = accesses[k].address;
        l->strides[k] = 0;
        if (shape->refs[k].mode == NEST_DRAWN_FIRST)
            nest_draws_put_first(l->collected->draws, shape->refs[k].draw, l->loop != shape->loop,
                                 accesses[k].address);
    }
    draw(l, shape, accesses);
    return NEST_TAKEN;
}

static enum nest_taken put_leaf(struct nest_leaves *l, const struct nest_known *known,
                                const struct psnap_access *accesses, uint32_t width)
{
    if (is_of(l->shape, accesses, width))
        return go_on(l, accesses);
    if (!known->leaf || !is_of(known->leaf->shape, accesses, width))
        return NEST_OTHER;
    if (l->shape->width)
        return nest_leaves_end_leaf(l) ? NEST_ENDED : NEST_NO_MEMORY;
    return begin(l, known->leaf->shape, accesses);
}

/* One of a state that came before. */
static enum nest_taken put_state(struct nest_leaves *l, const struct nest_known *known,
                                 const struct nest_loop_state *loop,
                                 const struct psnap_access *accesses, uint32_t width)
{
    const struct nest_pattern *state = known->state;

    if (!state || !known->is_drawn || !is_of(state->shape, accesses, width) ||
        loop->states >= NEST_STATES_MANY)
        return NEST_OTHER;
    if (l->visited != loop->mix - 1 && !nest_leaves_visit(l, loop->mix - 1))
        return NEST_NO_MEMORY;
    if (l->state != state) {
        if (!nest_leaves_end_state(l))
            return NEST_NO_MEMORY;
        l->state = state;
        l->state_count = 0;
        l->is_state_known = l->is_state_drawn = true;
    }
    l->state_count++;
    draw(l, state->shape, accesses);
    return NEST_TAKEN;
}

enum nest_taken nest_leaves_put_again(struct nest_leaves *leaves, uint32_t loop,
                                      const struct psnap_access *accesses, uint32_t width)
{
    const size_t at = nest_known_index(loop, width, accesses[width - 1].ref);

    if (!leaves->collected || at >= leaves->known_room || loop >= leaves->states.loop_count)
        return NEST_OTHER;
    if (leaves->states.loops[loop].mix)
        return put_state(leaves, &leaves->known[at], &leaves->states.loops[loop], accesses, width);
    return put_leaf(leaves, &leaves->known[at], accesses, width);
}
