/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An edit from its beginning to its end: which loops and arrays it is about, the change,
 * loops that are not there any more. It changes addresses as trees
 * (edit_tree.h), orders, trip counts and histograms; counts follow from orders and trip counts, and
 * regions and patterns are derived anew: objects have their names from the regions that there were,
 * and lie where arrays are now.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/divisor.h"
#include "formats/base/program.h"
#include "profile/edit/edit.h"
#include "profile/edit/edit_tree.h"
#include "profile/model.h"

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

/* Tells whether the array becomes fields of another one. */
static bool is_elsewhere(const struct editing *e, const struct edit_array *array)
{
    return array->field_count && &e->arrays[array->fields[0].in] != array;
}

static enum psnap_status describe(struct editing *e)
{
    struct psnap_program *program = psnap_program_new();
    bool is_done = program != NULL;
    enum psnap_status status = PSNAP_OK;

    for (uint32_t i = 0; is_done && i < e->array_count; i++) {
        const struct edit_array *array = &e->arrays[i];
        if (array->object && array->mixed == PSNAP_NONE && !is_elsewhere(e, array))
            is_done = add_object(program, array);
    }
    if (!is_done || model_derive(e->profile, program))
        status = edit_no_memory(e);
    psnap_program_free(program);
    return status;
}

/* The change itself, where it is not what arrays say. */
static enum psnap_status change(struct editing *e)
{
    switch (e->edit->what) {
    case PSNAP_EDIT_STRIDE:
        return edit_nest_strides(e);
    case PSNAP_EDIT_ITERATIONS:
    case PSNAP_EDIT_ENTRIES:
        return edit_order(e);
    default:
        return PSNAP_OK;
    }
}

static enum psnap_status change_addresses(struct editing *e)
{
    enum psnap_status status = edit_find_addresses(e);

    if (!status)
        status = change(e);
    if (!status)
        status = edit_move_addresses(e);
    for (uint32_t i = 0; e->trees && i < e->profile->stream->ref_count; i++)
        edit_tree_free(e->trees[i]);
    free(e->trees);
    e->trees = NULL;
    return status;
}

static uint64_t accesses_of_main(const struct psnap_stream_model *model)
{
    uint64_t accesses = 0;

    for (uint32_t i = 0; i < model->ref_count; i++)
        accesses += model->refs[i].thread ? 0 : model->refs[i].executions;
    return accesses;
}

/* Moves the places at which threads begin to the share of thread 0's accesses that they had before
 * the edit, when thread 0 made `before` accesses. */
static void move_begins(struct psnap_stream_model *model, uint64_t before)
{
    __extension__ typedef unsigned __int128 wide;
    const uint64_t now = accesses_of_main(model);

    for (uint32_t i = 0; now != before && before && i < model->order_count; i++)
        if (model->orders[i].after != MODEL_NO_PLACE && model->orders[i].after <= before)
            model->orders[i].after = (uint64_t)((wide)model->orders[i].after * now / before);
}

static enum psnap_status edit_model(struct editing *e)
{
    const uint64_t before = accesses_of_main(e->profile->stream);
    enum psnap_status status;

    if (e->edit->what == PSNAP_EDIT_REUSE)
        status = edit_reuse(e);
    else if (e->edit->what == PSNAP_EDIT_REMOVE)
        status = edit_remove(e);
    else
        status = change_addresses(e);
    if (!status)
        status = model_count(e->profile->stream, e->error);
    if (!status)
        move_begins(e->profile->stream, before);
    return status ? status : describe(e);
}

/* ---- which loops ---- */

static bool is_named(const struct psnap_profile *profile, uint32_t i, const char *id)
{
    const struct psnap_profile_loop *loop = &profile->loops[i];

    return !strcmp(loop->id, id) || !strcmp(loop->src_id, id);
}

static bool is_within_any(const struct editing *e, uint32_t loop)
{
    for (; loop != PSNAP_NONE; loop = e->profile->loops[loop].parent)
        if (e->is_selected[loop])
            return true;
    return false;
}

static enum psnap_status no_such_loop(const struct editing *e)
{
    const char *nearest = psnap_profile_nearest_loop(e->profile, e->edit->loop);

    if (!nearest)
        return edit_fail(e, PSNAP_NONE, PSNAP_NONE,
                         "there is no loop '%.100s'; 'psnap show' lists them", e->edit->loop);
    return edit_fail(e, PSNAP_NONE, PSNAP_NONE, "there is no loop '%.100s'; did you mean '%.100s'?",
                     e->edit->loop, nearest);
}

/* The edit's loop, or the parts that the optimiser made of it, a loop of the source. */
static enum psnap_status select_loops(struct editing *e)
{
    const struct psnap_profile *profile = e->profile;
    bool is_any = false;

    for (uint32_t i = 0; i < profile->loop_count; i++) {
        e->is_selected[i] = !e->edit->loop || is_named(profile, i, e->edit->loop);
        is_any |= e->is_selected[i];
    }
    for (uint32_t i = 0; i < profile->loop_count; i++)
        e->is_inside[i] = is_within_any(e, i);
    return is_any ? PSNAP_OK : no_such_loop(e);
}

/* ---- loops that are gone ---- */

static enum psnap_status drop_loops(struct editing *e)
{
    struct psnap_profile *profile = e->profile;
    uint32_t *kept = calloc(profile->loop_count + (size_t)1, sizeof *kept), count = 0;

    if (!kept)
        return edit_no_memory(e);
    for (uint32_t i = 0; i < profile->loop_count; i++)
        kept[i] = e->is_inside[i] ? PSNAP_NONE : count++;
    for (uint32_t i = 0; i < profile->loop_count; i++) {
        struct psnap_profile_loop *loop = &profile->loops[i];
        if (kept[i] == PSNAP_NONE)
            continue;
        loop->parent = loop->parent == PSNAP_NONE ? PSNAP_NONE : kept[loop->parent];
        profile->loops[kept[i]] = *loop;
    }
    edit_renumber(e, kept);
    profile->loop_count = count;
    free(kept);
    return PSNAP_OK;
}

enum psnap_status psnap_profile_edit(struct psnap_profile *profile, const struct psnap_edit *edit,
                                     uint32_t *loop, uint32_t *region, struct psnap_error *error)
{
    const size_t loops = profile->loop_count + (size_t)1;
    struct editing e = {.profile = profile,
                        .edit = edit,
                        .is_selected = calloc(loops, sizeof(bool)),
                        .is_inside = calloc(loops, sizeof(bool)),
                        .loop = loop,
                        .region = region,
                        .error = error};
    enum psnap_status status = e.is_selected && e.is_inside ? PSNAP_OK : edit_no_memory(&e);

    *loop = *region = PSNAP_NONE;
    *error->message = '\0';
    profile->certificate = NULL;
    if (!status && !profile->stream)
        status = edit_fail(&e, PSNAP_NONE, PSNAP_NONE,
                           "the published model is edited by its fields (PATH = VALUE)");
    if (!status)
        status = select_loops(&e);
    if (!status)
        status = edit_find_arrays(&e);
    if (!status && edit->what != PSNAP_EDIT_REUSE)
        status = edit_want_arrays(&e);
    for (uint32_t i = 0; i < e.array_count && !status; i++) {
        struct edit_array *array = &e.arrays[i];
        if (!array->is_wanted)
            continue;
        if (edit->what == PSNAP_EDIT_SPAN) {
            const uint64_t parts = psnap_common_divisor(edit->times, edit->over);
            array->times = edit->times / parts;
            array->over = edit->over / parts;
        }
        array->pad = edit->what == PSNAP_EDIT_PAD ? (uint64_t)edit->bytes : 0;
        array->moved = edit->what == PSNAP_EDIT_MOVE ? edit->bytes : 0;
    }
    if (!status && (edit->what == PSNAP_EDIT_INTERLEAVE || edit->what == PSNAP_EDIT_SPLIT))
        status = edit_lay_fields(&e);
    if (!status)
        status = edit_model(&e);
    if (!status && edit->what == PSNAP_EDIT_REMOVE)
        status = drop_loops(&e);
    for (uint32_t i = 0; i < e.array_count; i++)
        free(e.arrays[i].fields);
    free(e.arrays);
    free(e.is_selected);
    free(e.is_inside);
    return status;
}
