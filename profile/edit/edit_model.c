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

enum psnap_status edit_model(struct editing *e)
{
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
    return status || e->edit->what == PSNAP_EDIT_MERGE ? status : edit_describe(e);
}
