/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What loops say of themselves after an edit of their iterations or entries.
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
