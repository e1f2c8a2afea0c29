/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Regions and patterns of loops that do something else than before: what they do goes through the
 * builder (builder.h), which makes them as it would of a recording. Objects have their names from
 * the regions that there were.
 *
 * Affine executions of a loop are put as they are, however long; what is drawn is drawn, about 1e7
 * accesses a second. Edits after which that would take hours are refused before it begins.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/arena.h"
#include "profile/edit/edit.h"

#define STEPS_MAX (UINT64_C(1) << 32) /* executions of loops, and accesses that are drawn */

static bool add_object(struct psnap_program *program, uint64_t low, uint64_t bytes,
                       const char *name, uint8_t kind)
{
    const struct psnap_object object = {.address = low,
                                        .size_bytes = bytes,
                                        .name = psnap_program_string(program, name),
                                        .kind = kind};

    return object.name && psnap_program_add_object(program, &object) != PSNAP_NONE;
}

/* What lies where now: arrays, and of those that several are in the regions. */
static bool add_objects(const struct editing *e, struct psnap_program *program)
{
    for (uint32_t i = 0; i < e->profile->loop_count; i++)
        for (uint32_t k = 0; k < e->profile->loops[i].region_count; k++) {
            const struct psnap_profile_region *region = &e->profile->loops[i].regions[k];
            if (region->object && !add_object(program, region->low, region->bytes, region->object,
                                              region->object_kind))
                return false;
        }
    for (uint32_t i = 0; i < e->array_count; i++) {
        const struct edit_array *array = &e->arrays[i];
        const uint64_t bytes = (array->high - array->low) / array->over * array->times;
        if (array->object && array->mixed == PSNAP_NONE &&
            !add_object(program, array->low + (uint64_t)array->shift - array->pad,
                        array->pad + bytes + array->grown, array->object, array->object_kind))
            return false;
    }
    return true;
}

/* The profile's loops, with `refs` references each; then where these begin. */
static bool add_loops(const struct psnap_profile *profile, struct psnap_program *program,
                      uint32_t *refs)
{
    for (uint32_t i = 0; i < profile->loop_count; i++) {
        const struct psnap_profile_loop *from = &profile->loops[i];
        const struct psnap_loop loop = {.id = from->id,
                                        .src_id = from->src_id,
                                        .function = from->function,
                                        .file = from->file,
                                        .src_line = from->src_line,
                                        .depth = 0,
                                        .parent = PSNAP_NONE,
                                        .header = PSNAP_NONE,
                                        .entry = PSNAP_NONE};
        const struct psnap_block block = {.loop = i};
        const struct psnap_ref ref = {.block = i, .loop = i};
        uint32_t n = refs[i];
        refs[i] = program->ref_count;
        if (psnap_program_add_loop(program, &loop) == PSNAP_NONE ||
            psnap_program_add_block(program, &block) == PSNAP_NONE)
            return false;
        while (n--)
            if (psnap_program_add_ref(program, &ref) == PSNAP_NONE)
                return false;
    }
    return true;
}

/* ---- what was made, into the profile ---- */

static void *copy(struct psnap_arena *arena, const void *from, size_t bytes)
{
    void *to = psnap_arena_alloc(arena, bytes + 1);

    if (to && bytes)
        memcpy(to, from, bytes);
    return to;
}

static const char *copy_text(struct psnap_arena *arena, const char *text)
{
    return psnap_arena_strndup(arena, text, strlen(text));
}

static bool take_region(struct psnap_arena *arena, struct psnap_profile_region *region)
{
    region->id = copy_text(arena, region->id);
    region->object = region->object ? copy_text(arena, region->object) : NULL;
    region->sizes = copy(arena, region->sizes, region->size_count * sizeof *region->sizes);
    region->strides = copy(arena, region->strides, region->stride_count * sizeof *region->strides);
    region->edges = copy(arena, region->edges, region->edge_count * sizeof *region->edges);
    return region->id && region->sizes && region->strides && region->edges;
}

static bool take_loop(struct psnap_arena *arena, const struct psnap_profile_loop *from,
                      struct psnap_profile_loop *to)
{
    to->accesses = from ? from->accesses : 0;
    to->region_count = from ? from->region_count : 0;
    to->pattern = (struct psnap_sequence){NULL, from ? from->pattern.count : 0};
    if (!from)
        return true;
    to->regions = copy(arena, from->regions, from->region_count * sizeof *from->regions);
    to->pattern.items =
        copy(arena, from->pattern.items, from->pattern.count * sizeof *from->pattern.items);
    for (uint32_t i = 0; to->regions && i < to->region_count; i++)
        if (!take_region(arena, &to->regions[i]))
            return false;
    return to->regions && to->pattern.items;
}

static enum psnap_status take(struct editing *e, const struct psnap_profile *made)
{
    for (uint32_t i = 0; i < e->profile->loop_count; i++) {
        struct psnap_profile_loop *loop = &e->profile->loops[i];
        const struct psnap_profile_loop *from = NULL;
        if (!e->is_touched[i])
            continue;
        for (uint32_t k = 0; k < made->loop_count && !from; k++)
            if (!strcmp(made->loops[k].id, loop->id))
                from = &made->loops[k];
        if (!take_loop(e->profile->arena, from, loop))
            return edit_no_memory(e);
    }
    return PSNAP_OK;
}

/* ---- how much that is ---- */

struct load {
    const struct nest_models *models;
    double steps; /* too many for 64 bits, perhaps */
};

/* Nests are walked from end to end, whatever is touched in them. */
static void add_leaf(void *context, struct edit_node *leaf)
{
    struct load *load = context;
    const uint64_t all = leaf->counts ? load->models->counts[leaf->counts - 1].sum : leaf->all;
    uint32_t drawn = 0;

    for (uint32_t k = 0; k < leaf->width; k++)
        drawn += leaf->refs[k].ref.mode == NEST_DRAWN;
    load->steps += (double)leaf->visits + (double)all * drawn;
}

static void add_mix(struct load *load, const struct nest_mix *mix)
{
    for (uint32_t i = 0; mix->chain && i < mix->chain->state_count; i++) {
        const struct psnap_counts *counts = &mix->chain->states[i].counts;
        load->steps += (double)counts->times + (double)counts->sum * mix->states[i]->width;
    }
}

static enum psnap_status check_load(const struct editing *e)
{
    struct load load = {e->profile->nests->models, 0};

    edit_tree_leaves(&e->tree->root, add_leaf, &load);
    for (uint32_t i = 0; load.models && i < load.models->mix_count; i++)
        add_mix(&load, &load.models->mixes[i]);
    return load.steps <= (double)STEPS_MAX
               ? PSNAP_OK
               : edit_fail(e, PSNAP_NONE, PSNAP_NONE,
                           "regions of what is edited are described by going through it once, and "
                           "that would be %.3g executions of loops and drawn accesses, more than "
                           "%" PRIu64,
                           load.steps, STEPS_MAX);
}

/* All that touched loops do, into the builder. */
static enum psnap_status feed(const struct editing *e, const uint32_t *refs,
                              struct psnap_sink *builder)
{
    struct psnap_walker *walker = psnap_walker_new(e->profile, refs, 0);
    enum psnap_status status = walker ? PSNAP_OK : edit_no_memory(e);
    struct psnap_walk walk;
    int more = 0;

    while (!status && (more = psnap_walker_next(walker, &walk)) > 0)
        if (e->is_touched[walk.loop])
            status = psnap_sink_put_run(builder, &walk.run, e->error);
    psnap_walker_free(walker);
    if (!status && more < 0)
        return edit_no_memory(e);
    return status ? status : psnap_sink_finish(builder, e->error);
}

enum psnap_status edit_describe(struct editing *e)
{
    const struct psnap_builder_options options = {.region_gap_bytes = e->profile->region_gap_bytes,
                                                  .region_limit = e->profile->region_limit,
                                                  .schedule = PSNAP_SCHEDULE_FIRST};
    const size_t loops = e->profile->loop_count + (size_t)1;
    uint32_t *refs = calloc(loops, sizeof *refs);
    bool *is_drawn = calloc(loops, sizeof *is_drawn), is_any = false;
    struct psnap_program *program = psnap_program_new();
    struct psnap_sink *builder = NULL;
    struct psnap_profile *made = NULL;
    enum psnap_status status = refs && is_drawn && program ? PSNAP_OK : edit_no_memory(e);

    for (uint32_t i = 0; i < e->profile->loop_count; i++)
        is_any |= e->is_touched[i];
    if (!status && is_any)
        status = check_load(e);
    if (!status && is_any) {
        psnap_profile_walks(e->profile, refs, is_drawn);
        if (add_objects(e, program) && add_loops(e->profile, program, refs)) {
            builder = psnap_profile_builder_new(program, &options, e->error);
            status = builder ? feed(e, refs, builder) : PSNAP_ERROR_MEMORY;
            made = status ? NULL : psnap_profile_builder_take(builder, e->error);
            status = status || made ? status : PSNAP_ERROR_MEMORY;
        } else
            status = edit_no_memory(e);
        if (!status)
            status = take(e, made);
    }
    psnap_profile_free(made);
    psnap_sink_free(builder);
    psnap_program_free(program);
    free(refs);
    free(is_drawn);
    return status;
}
