/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Entries of a loop in a sequence of numbers: where in the nest of a reference's addresses, or of a
 * body's trip counts, an entry begins and ends, so that it can be repeated or go on.
 */
#ifndef PSNAP_PROFILE_EDIT_ALIGN_H
#define PSNAP_PROFILE_EDIT_ALIGN_H

#include "profile/edit/edit.h"
#include "profile/edit/edit_tree.h"

/* What becomes of the entries of a loop. */
struct edit_extension {
    const struct editing *e; /* K is e->edit->times */
    struct edit_tree *tree;
    uint64_t entries; /* in the whole sequence; UINT64_MAX: not known */
    bool repeats;     /* each is repeated K times, else has K times the iterations */
    bool is_rows;     /* the loop has no loops in it: a run of numbers is an entry, or several */
    bool is_trips;    /* numbers are trip counts, which do not go on beyond those that there are */
};

/*
 * Changes the tree, measured before, of a sequence with `executions` numbers; it is then K times as
 * long, or as it was when entries are not found: then the sequence begins again.
 */
enum psnap_status edit_extend(const struct edit_extension *x, uint64_t executions);

#endif
