/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nests of several streams one after the other: what they draw from is behind what those before do.
 */
#include <stdlib.h>

#include "profile/walks/nest_models.h"

/* Models of those before. */
struct joining {
    uint32_t draws, walks, counts, mixes;
    const uint32_t *numbers; /* of draws of these, or NULL */
};

static void renumber(void *context, struct nest_shape *shape)
{
    const struct joining *before = context;

    if (!shape->width) {
        shape->loop += before->mixes;
        return;
    }
    if (shape->counts)
        shape->counts += before->counts;
    for (uint32_t k = 0; k < shape->width; k++) {
        struct nest_ref *ref = &shape->refs[k];
        if (ref->mode == NEST_CONTINUING)
            ref->draw += before->walks;
        else if (ref->mode != NEST_AFFINE)
            ref->draw = before->draws + (before->numbers ? before->numbers[ref->draw] : ref->draw);
    }
}

bool nests_join(struct psnap_nests *to, const struct psnap_nests *from)
{
    struct joining before = {0};

    if (from->models && !to->models) {
        to->models = calloc(1, sizeof *to->models);
        if (!to->models || !(to->models->shapes = nest_patterns_new()))
            return false;
    }
    if (to->models)
        before = (struct joining){to->models->draw_count, to->models->walk_count,
                                  to->models->count_count, to->models->mix_count,
                                  from->models ? from->models->draw_numbers : NULL};
    for (size_t i = 0; i < from->count; i++) {
        const struct nest_pattern *pattern =
            nest_pattern_copy(to->patterns, from->terms[i].pattern, renumber, &before);
        if (!pattern || !nests_push(to, pattern, nests_values(from, i)))
            return false;
    }
    return !from->models || nest_models_append(to->models, from->models, renumber, &before);
}
