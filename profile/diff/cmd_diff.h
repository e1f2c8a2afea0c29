/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two forms of psnap diff: cmd_diff_text.c for people, cmd_diff_json.c for programs. Private to
 * cmd_diff*.c.
 */
#ifndef PSNAP_PROFILE_CMD_DIFF_H
#define PSNAP_PROFILE_CMD_DIFF_H

#include "profile/diff/diff.h"

struct diff_request {
    const char *a, *b; /* paths */
    uint64_t top;      /* loops that differ, at most */
};

static inline bool diff_pair_differs(const struct diff_pair *pair)
{
    return !pair->a || !pair->b || pair->changes;
}

void diff_print_text(const struct profile_diff *diff, const struct diff_request *request);
void diff_print_json(const struct profile_diff *diff, const struct diff_request *request);

#endif
