/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Regions to where arrays are after an edit (edit_space.c).
 */
#include "profile/edit/edit.h"

enum psnap_status edit_move_regions(struct editing *e)
{
    enum psnap_status status = PSNAP_OK;

    for (uint32_t i = 0; i < e->profile->loop_count; i++)
        for (uint32_t k = 0; k < e->profile->loops[i].region_count && !status; k++) {
            struct psnap_profile_region *region = &e->profile->loops[i].regions[k];
            const struct edit_array *array = &e->arrays[edit_array_of(e, region->low)];
            if (array->times != array->over) {
                region->bytes = (region->bytes + array->over - 1) / array->over * array->over;
                status = edit_scale_count(e, array->times, array->over, &region->bytes);
            }
            if (!status)
                status = edit_place(e, &region->low);
        }
    return status;
}
