/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An edit from its beginning to its end: which loops it is about, then the passes that it is made
 * of. They change addresses, orders and trip counts as trees (edit_tree.h), and histograms; counts
 * follow from orders and trip counts, and regions and patterns are derived anew: objects have
 * their names from the regions that there were, and lie where arrays are now.
 */
#include "profile/edit/edit.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/program.h"

/* ---- which loops ---- */

static bool is_within_any(const struct editing *e, uint32_t loop)
{
    for (; loop != PSNAP_NONE; loop = e->profile->loops[loop].parent)
        if (e->is_selected[loop])
            return true;
    return false;
}

/* Finds the edit's loop, or the parts that the optimiser made of it, a loop of the source. */
static void select_loops(struct editing *e)
{
    const struct psnap_profile *profile = e->profile;
    const char *id = e->edit->loop, *nearest;
    bool is_any = false;

    e->is_selected = edit_alloc(e, profile->loop_count, sizeof(bool));
    e->is_inside = edit_alloc(e, profile->loop_count, sizeof(bool));
    if (e->status)
        return;
    for (uint32_t i = 0; i < profile->loop_count; i++) {
        const struct psnap_profile_loop *loop = &profile->loops[i];
        e->is_selected[i] = !id || !strcmp(loop->id, id) || !strcmp(loop->src_id, id);
        is_any |= e->is_selected[i];
        if (e->is_selected[i] && !loop->depth && e->edit->what == PSNAP_EDIT_ITERATIONS)
            edit_fail(e, i, "'%.100s' is the body of a function, which has no iterations",
                      loop->id);
    }
    for (uint32_t i = 0; i < profile->loop_count; i++)
        e->is_inside[i] = is_within_any(e, i);
    if (is_any)
        return;
    nearest = psnap_profile_nearest_loop(profile, id);
    edit_fail(e, PSNAP_NONE, "there is no loop '%.100s'; %s%.100s%s", id,
              nearest ? "did you mean '" : "'psnap show' lists them", nearest ? nearest : "",
              nearest ? "'?" : "");
}

/* ---- afterwards ---- */

static uint64_t accesses_of_main(const struct psnap_stream_model *model)
{
    uint64_t accesses = 0;

    for (uint32_t i = 0; i < model->ref_count; i++)
        accesses += model->refs[i].thread ? 0 : model->refs[i].executions;
    return accesses;
}

/* Counts what there is now. Places at which threads begin are moved to the share of thread 0's
 * accesses that they had before the edit. */
static void count(struct editing *e)
{
    __extension__ typedef unsigned __int128 wide;
    const uint64_t before = e->accesses;
    uint64_t now;

    e->status = model_count(e->model, e->error);
    now = accesses_of_main(e->model);
    for (uint32_t i = 0; now != before && before && i < e->model->order_count; i++) {
        uint64_t *after = &e->model->orders[i].after;
        if (*after != MODEL_NO_PLACE && *after <= before)
            *after = (uint64_t)((wide)*after * now / before);
    }
}

static bool add_object(struct psnap_program *program, const struct edit_array *array)
{
    __extension__ typedef unsigned __int128 wide;
    const wide bytes =
        (wide)(array->high - array->low + array->over - 1) / array->over * array->times;
    const struct psnap_object object = {.address = array->low + (uint64_t)array->shift - array->pad,
                                        .size_bytes = array->pad + (uint64_t)bytes + array->grown,
                                        .name = psnap_program_string(program, array->object),
                                        .kind = array->object_kind};

    return object.name && psnap_program_add_object(program, &object) != PSNAP_NONE;
}

/* Derives regions and patterns. */
static void describe(struct editing *e)
{
    struct psnap_program *program = psnap_program_new();
    bool is_done = program != NULL;

    for (uint32_t i = 0; is_done && i < e->array_count; i++) {
        const struct edit_array *array = &e->arrays[i];
        const bool is_elsewhere = array->field_count && &e->arrays[array->fields[0].in] != array;
        if (array->object && !array->mixed && !is_elsewhere)
            is_done = add_object(program, array);
    }
    edit_need(e, is_done && !model_derive(e->profile, program));
    psnap_program_free(program);
}

/* Takes away the loops that are not there any more. */
static void drop_loops(struct editing *e)
{
    struct psnap_profile *profile = e->profile;
    uint32_t *kept = edit_alloc(e, profile->loop_count, sizeof *kept), count = 0;

    if (!kept)
        return;
    for (uint32_t i = 0; i < profile->loop_count; i++)
        kept[i] = e->is_inside[i] ? PSNAP_NONE : count++;
    for (uint32_t i = 0; i < profile->loop_count; i++) {
        struct psnap_profile_loop *loop = &profile->loops[i];
        if (kept[i] == PSNAP_NONE)
            continue;
        loop->parent = loop->parent == PSNAP_NONE ? PSNAP_NONE : kept[loop->parent];
        profile->loops[kept[i]] = *loop;
    }
    for (uint32_t i = 0; i < e->model->ref_count; i++)
        e->model->refs[i].loop = kept[e->model->refs[i].loop];
    for (uint32_t i = 0; i < e->model->body_count; i++)
        e->model->bodies[i].loop = kept[e->model->bodies[i].loop];
    profile->loop_count = count;
}

/* ---- all of it ---- */

enum { PASSES = 9 };

/* What each edit is made of. */
#define PLACES                                                                                     \
    {select_loops, edit_find_arrays, edit_want_arrays, edit_find_addresses, edit_move_addresses,   \
     count,        describe}
#define REPEAT                                                                                     \
    {select_loops,                                                                                 \
     edit_find_arrays,                                                                             \
     edit_want_arrays,                                                                             \
     edit_find_addresses,                                                                          \
     edit_repeat,                                                                                  \
     edit_move_addresses,                                                                          \
     count,                                                                                        \
     describe}
static void (*const passes[][PASSES])(struct editing *e) = {
    [PSNAP_EDIT_SPAN] = PLACES,
    [PSNAP_EDIT_PAD] = PLACES,
    [PSNAP_EDIT_MOVE] = PLACES,
    [PSNAP_EDIT_INTERLEAVE] = PLACES,
    [PSNAP_EDIT_SPLIT] = PLACES,
    [PSNAP_EDIT_STRIDE] = {select_loops, edit_find_arrays, edit_want_arrays, edit_find_addresses,
                           edit_strides, edit_move_addresses, count, describe},
    [PSNAP_EDIT_ITERATIONS] = REPEAT,
    [PSNAP_EDIT_ENTRIES] = REPEAT,
    [PSNAP_EDIT_REMOVE] = {select_loops, edit_find_arrays, edit_want_arrays, edit_remove, count,
                           describe, drop_loops},
    [PSNAP_EDIT_REUSE] = {select_loops, edit_find_arrays, edit_reuse, count, describe},
};

enum psnap_status psnap_profile_edit(struct psnap_profile *profile, const struct psnap_edit *edit,
                                     uint32_t *loop, uint32_t *region, struct psnap_error *error)
{
    struct editing e = {.profile = profile,
                        .model = profile->stream,
                        .edit = edit,
                        .arena = psnap_arena_new(),
                        .in_loop = PSNAP_NONE,
                        .loop = loop,
                        .region = region,
                        .error = error};

    *loop = *region = PSNAP_NONE;
    *error->message = '\0';
    profile->certificate = NULL;
    edit_need(&e, e.arena != NULL);
    if (e.model)
        e.accesses = accesses_of_main(e.model);
    else
        edit_fail(&e, PSNAP_NONE, "the published model is edited by its fields (PATH = VALUE)");
    for (size_t i = 0; i < PASSES && passes[edit->what][i] && !e.status; i++)
        passes[edit->what][i](&e);
    free(e.arrays);
    psnap_arena_free(e.arena);
    return e.status;
}
