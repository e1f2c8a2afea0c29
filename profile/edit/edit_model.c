/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The edits of a profile of model nests (edit.h): nests of addresses as trees (edit_tree.h), the
 * change in them and in orders, trip counts and histograms, then where all of it lies. Counts
 * follow from orders and trip counts.
 */
#include <stdlib.h>

#include "profile/edit/edit.h"
#include "profile/edit/edit_tree.h"
#include "profile/model.h"

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

enum psnap_status edit_model(struct editing *e)
{
    const uint64_t before = accesses_of_main(e->profile->stream);
    enum psnap_status status;

    if (e->edit->what == PSNAP_EDIT_MERGE)
        status = edit_merge(e);
    else if (e->edit->what == PSNAP_EDIT_REUSE)
        status = edit_reuse(e);
    else if (e->edit->what == PSNAP_EDIT_REMOVE)
        status = edit_remove(e);
    else
        status = change_addresses(e);
    if (!status)
        status = model_count(e->profile->stream, e->error);
    if (!status)
        move_begins(e->profile->stream, before);
    return status || e->edit->what == PSNAP_EDIT_MERGE ? status : edit_describe(e);
}
