/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What loops and their regions say of themselves after an edit of iterations or entries: all in
 * them is done K times as often.
 */
#include "profile/edit/edit.h"

bool edit_is_within(const struct psnap_profile *profile, uint32_t loop, uint32_t other)
{
    for (; loop != PSNAP_NONE; loop = profile->loops[loop].parent)
        if (loop == other)
            return true;
    return false;
}

static enum psnap_status scale_known(const struct editing *e, uint64_t *count)
{
    return *count == UINT64_MAX ? PSNAP_OK : edit_scale_count(e, e->edit->times, 1, count);
}

enum psnap_status edit_scale_loops(struct editing *e)
{
    enum psnap_status status = PSNAP_OK;

    for (uint32_t i = 0; i < e->profile->loop_count && !status; i++) {
        struct psnap_profile_loop *loop = &e->profile->loops[i];
        if (!e->is_inside[i])
            continue;
        status = scale_known(e, &loop->iterations);
        if (!status && (e->edit->what == PSNAP_EDIT_ENTRIES || !e->is_selected[i]))
            status = scale_known(e, &loop->entries);
        for (unsigned op = 0; op < PSNAP_OPERATION_COUNT && !status; op++)
            status = edit_scale_count(e, e->edit->times, 1, &loop->operations[op]);
        status = edit_in_loop(e, i, status);
    }
    return status;
}

static enum psnap_status scale_region(const struct editing *e, struct psnap_profile_region *region)
{
    const uint64_t times = e->edit->times;
    enum psnap_status status = edit_scale_count(e, times, 1, &region->accesses);

    for (unsigned kind = 0; kind < 3 && !status; kind++)
        status = edit_scale_count(e, times, 1, &region->kinds[kind]);
    for (unsigned i = 0; i < region->size_count && !status; i++)
        status = edit_scale_count(e, times, 1, &region->sizes[i].count);
    return status;
}

enum psnap_status edit_scale_regions(struct editing *e)
{
    enum psnap_status status = PSNAP_OK;

    for (uint32_t i = 0; i < e->profile->loop_count && !status; i++) {
        struct psnap_profile_loop *loop = &e->profile->loops[i];
        if (!e->is_inside[i])
            continue;
        status = edit_scale_count(e, e->edit->times, 1, &loop->accesses);
        for (uint32_t k = 0; k < loop->region_count && !status; k++)
            status = scale_region(e, &loop->regions[k]);
        status = edit_in_loop(e, i, status);
    }
    return status;
}
