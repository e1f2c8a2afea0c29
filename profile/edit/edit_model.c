/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The edits of a profile of model nests (edit.h).
 */
#include "profile/edit/edit.h"

enum psnap_status edit_model(struct editing *e)
{
    return edit_fail(e, PSNAP_NONE, PSNAP_NONE, "not for profiles of model nests yet");
}
