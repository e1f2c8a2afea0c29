/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether draws go, one with another, from what is there, and none from itself.
 */
#include <stdlib.h>

#include "profile/yaml/read_nests.h"

enum { DEPTH_MAX = 1000 /* draws that go with each other */ };

static bool has_gathers(const struct nest_models *models, uint32_t i, char *known, uint32_t depth);

static bool source_has_gathers(const struct nest_models *models, const struct nest_source *source,
                               char *known, uint32_t depth)
{
    bool has = (source->with == PSNAP_NONE || has_gathers(models, source->with, known, depth)) &&
               (source->around == PSNAP_NONE || has_gathers(models, source->around, known, depth));

    for (uint32_t i = 0; i < source->after_count; i++)
        has = has && (!source->after[i].draw ||
                      has_gathers(models, source->after[i].draw - 1, known, depth));
    return has;
}

/* Whether there is such a start; the rest of its draw may go on from it. */
static bool has_start(const struct nest_models *models, uint32_t of, char *known, uint32_t depth)
{
    const struct nest_draw *draw = &models->draws[of];

    return draw->loop != PSNAP_NONE && !nest_draw_is_lead(draw) &&
           source_has_gathers(models, nest_source_of(draw, true), known, depth);
}

/* Whether a draw leads, over those that it goes with, to gathers; `known` by draw, 0: not yet,
 * 1: it is being looked at, 2: it does. */
static bool has_gathers(const struct nest_models *models, uint32_t i, char *known, uint32_t depth)
{
    const struct nest_draw *draw = &models->draws[i];

    if (known[i])
        return known[i] == 2;
    if (draw->loop == PSNAP_NONE || depth > DEPTH_MAX)
        return false;
    known[i] = 1;
    if (draw->start && !has_start(models, draw->start - 1, known, depth + 1))
        return false;
    if (!source_has_gathers(models, &draw->rest, known, depth + 1) ||
        (draw->has_entry && !source_has_gathers(models, &draw->entry, known, depth + 1)))
        return false;
    known[i] = 2;
    return true;
}

/* Whether all draws are there `by` which addresses are. */
static bool has_drawers(const struct nest_models *models, const struct nest_source *source)
{
    bool has = true;

    for (uint32_t i = 0; i < source->after_count; i++)
        has = has &&
              (!source->after[i].by || models->draws[source->after[i].by - 1].loop != PSNAP_NONE);
    return has;
}

/* Whether all do come back whose `left` a source goes from. */
static bool has_left(const struct nest_models *models, const struct nest_source *source)
{
    bool has = true;

    for (uint32_t i = 0; i < source->after_count; i++)
        has = has && (!source->after[i].is_left ||
                      nest_comes_back(&models->draws[source->after[i].draw - 1].rest));
    return has;
}

enum psnap_status check_draws(const struct nest_reading *n, const struct psnap_yaml_node *map)
{
    const struct psnap_yaml_node *items = psnap_yaml_get(map, "draws");
    char *known = calloc(n->nests->models->draw_count + (size_t)1, 1);
    enum psnap_status status = known ? PSNAP_OK : read_out_of_memory(n->r);
    uint32_t index;

    for (const struct psnap_yaml_node *item = items ? items->first : NULL; item && !status;
         item = item->next) {
        status = read_model_name(n, psnap_yaml_get(item, "draw"), 'd', MODELS_MAX, &index);
        if (!status && !has_gathers(n->nests->models, index, known, 0))
            status = nest_fail(n, item, "it goes with a draw that is not there, or with itself");
        if (!status && (!has_left(n->nests->models, &n->nests->models->draws[index].rest) ||
                        !has_left(n->nests->models, &n->nests->models->draws[index].entry)))
            status =
                nest_fail(n, item, "'left' is of a draw that comes back to 'earlier' addresses");
        if (!status && (!has_drawers(n->nests->models, &n->nests->models->draws[index].rest) ||
                        !has_drawers(n->nests->models, &n->nests->models->draws[index].entry)))
            status = nest_fail(n, item, "'by' is of a draw that is not there");
    }
    free(known);
    return status;
}
