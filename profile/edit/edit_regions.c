/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Regions of loops after an edit of a model. They are where arrays are then, and as far as the
 * references lead that are nests; those in which others go cover at least what they did. Strides
 * that were seen are left out where addresses change otherwise than by being moved. Regions of
 * arrays that are interleaved become one; those of records that are split become one for each
 * field.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/arena.h"
#include "profile/edit/edit.h"
#include "profile/edit/edit_tree.h"
#include "profile/model.h"

/* Where runs of a loop's references go, by region. */
struct extent {
    uint64_t low, end; /* end 0: nothing */
};

struct fitting {
    struct extent *extents;
    uint8_t size;
};

static bool see_run(void *context, struct edit_node *leaf)
{
    const struct fitting *f = context;
    struct extent *extent;

    if (leaf->region == PSNAP_NONE || leaf->low > leaf->high)
        return true;
    extent = &f->extents[leaf->region];
    extent->low = !extent->end || leaf->low < extent->low ? leaf->low : extent->low;
    extent->end = leaf->high + f->size > extent->end ? leaf->high + f->size : extent->end;
    return true;
}

/* Regions as far as runs lead; `is_all`: nothing else goes there. */
static void fit(struct psnap_profile_loop *loop, const struct extent *extents, bool is_all)
{
    for (uint32_t k = 0; k < loop->region_count; k++) {
        struct psnap_profile_region *region = &loop->regions[k];
        uint64_t low = extents[k].low, end = extents[k].end;
        if (!end)
            continue;
        if (!is_all && region->low < low)
            low = region->low;
        if (!is_all && region->low + region->bytes > end)
            end = region->low + region->bytes;
        region->low = low;
        region->bytes = end - low;
    }
}

static enum psnap_status fit_loop(struct editing *e, uint32_t index)
{
    struct psnap_stream_model *model = e->profile->stream;
    struct psnap_profile_loop *loop = &e->profile->loops[index];
    struct fitting f = {.extents = calloc(loop->region_count + (size_t)1, sizeof *f.extents)};
    bool is_all = true;

    if (!f.extents)
        return edit_no_memory(e);
    for (uint32_t i = 0; i < model->ref_count; i++) {
        if (model->refs[i].loop != index)
            continue;
        is_all &= e->trees[i] != NULL;
        f.size = model->refs[i].size;
        if (e->trees[i] && edit_tree_measure(e->trees[i]))
            edit_tree_leaves(&e->trees[i]->root, see_run, &f);
    }
    fit(loop, f.extents, is_all);
    free(f.extents);
    for (uint32_t k = 0; k < loop->region_count; k++) {
        loop->regions[k].stride_count = loop->regions[k].edge_count = 0;
        loop->regions[k].is_derived = false;
    }
    return PSNAP_OK;
}

enum psnap_status edit_fit_regions(struct editing *e)
{
    enum psnap_status status = PSNAP_OK;

    for (uint32_t i = 0; i < e->profile->loop_count && !status; i++)
        if (e->is_touched[i])
            status = fit_loop(e, i);
    return status;
}
