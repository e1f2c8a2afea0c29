/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * States that grow with the numbers of references and loops.
 */
#include "profile/walks/nest_states.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

bool nest_states_grow(struct nest_states *states, const struct nest_shape *shape)
{
    const uint32_t ref = shape->width ? shape->refs[shape->width - 1].ref : 0;

    if (ref >= states->ref_count) {
        const size_t before = states->ref_count;
        struct nest_ref_state *refs =
            psnap_with_room(states->refs, &states->ref_count, ref + (size_t)1, sizeof *refs);
        if (!refs)
            return false;
        memset(refs + before, 0, (states->ref_count - before) * sizeof *refs);
        states->refs = refs;
    }
    if (shape->loop >= states->loop_count) {
        const size_t before = states->loop_count;
        struct nest_loop_state *loops = psnap_with_room(states->loops, &states->loop_count,
                                                        shape->loop + (size_t)1, sizeof *loops);
        if (!loops)
            return false;
        memset(loops + before, 0, (states->loop_count - before) * sizeof *loops);
        states->loops = loops;
    }
    return true;
}

bool nest_states_copy(struct nest_states *to, const struct nest_states *from)
{
    *to = *from;
    to->refs = malloc((from->ref_count + 1) * sizeof *to->refs);
    to->loops = malloc((from->loop_count + 1) * sizeof *to->loops);
    if (!to->refs || !to->loops) {
        nest_states_free(to);
        return false;
    }
    if (from->ref_count)
        memcpy(to->refs, from->refs, from->ref_count * sizeof *to->refs);
    if (from->loop_count)
        memcpy(to->loops, from->loops, from->loop_count * sizeof *to->loops);
    return true;
}

void nest_states_free(struct nest_states *states)
{
    free(states->refs);
    free(states->loops);
    *states = (struct nest_states){0};
}
