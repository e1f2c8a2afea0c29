/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Iterations that are as what came just before: most of a long stream. They are taken from where
 * they lie, with the same effect as putting them (nest_leaves.c, nest_leaves_mix.c): what has been
 * found out of their references is not asked anew.
 */
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
    for (uint32_t k = 0; k < shape->width; k++)
        if (shape->refs[k].mode == NEST_DRAWN)
            nest_draws_put(l->collected->draws, shape->refs[k].draw, is_entry, accesses[k].address);
}

/* One more iteration of the leaf under way. */
static int put_leaf(struct nest_leaves *l, const struct psnap_access *accesses, uint32_t width)
{
    const struct nest_shape *shape = l->shape;
    const uint64_t count = l->values[0];

    if (!is_of(shape, accesses, width) || count < 2 || (l->has_told && l->is_count_told))
        return 0;
    for (uint32_t k = 0; k < width; k++)
        if (shape->refs[k].mode != NEST_DRAWN &&
            accesses[k].address != l->values[1 + k] + count * l->strides[k])
            return 0;
    l->values[0]++;
    draw(l, shape, accesses);
    return 1;
}

/* One of a state that came before. */
static int put_state(struct nest_leaves *l, uint32_t loop, const struct psnap_access *accesses,
                     uint32_t width)
{
    const size_t at = nest_known_index(loop, width, accesses[width - 1].ref);
    const struct nest_pattern *state = at < l->known_room ? l->known[at].state : NULL;

    if (!state || !l->known[at].is_drawn || !is_of(state->shape, accesses, width) ||
        l->states.loops[loop].mix != 1 + l->visited ||
        l->states.loops[loop].states >= NEST_STATES_MANY)
        return 0;
    if (l->state != state) {
        if (!nest_leaves_end_state(l))
            return -1;
        l->state = state;
        l->state_count = 0;
        l->is_state_known = l->is_state_drawn = true;
    }
    l->state_count++;
    draw(l, state->shape, accesses);
    return 1;
}

int nest_leaves_put_again(struct nest_leaves *leaves, uint32_t loop,
                          const struct psnap_access *accesses, uint32_t width)
{
    if (!leaves->collected)
        return 0;
    return leaves->visited == PSNAP_NONE ? put_leaf(leaves, accesses, width)
                                         : put_state(leaves, loop, accesses, width);
}
