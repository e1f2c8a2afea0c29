/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Folding a sequence of indices into repeated groups as it arrives: the order
 * of a loop's regions (exactly) and of the loops (with counts averaged).
 */
#ifndef PSNAP_PROFILE_PUBLISHED_FOLD_H
#define PSNAP_PROFILE_PUBLISHED_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/arena.h"
#include "formats/base/map.h"
#include "formats/base/status.h"
#include "profile/profile.h"

enum {
    FOLD_DEPTH = 16,   /* groups in groups; readers take more */
    FOLD_OPEN_MAX = 64 /* items in a group that is followed leaf by leaf, and leaves in its round */
};

/* As psnap_sequence_item, but with the number of times in all, not per round of its group. */
struct fold_item {
    uint64_t total;
    uint64_t amount; /* of a leaf, what its times came to in all */
    uint32_t what;   /* index, or PSNAP_NONE for a group of the next `span` items */
    uint32_t span;
    uint32_t depth; /* of the groups in it and itself; 0: a leaf */
};

/* The shortest round of a group that folds into it: every group within goes round twice. */
struct fold_round {
    uint32_t group; /* an item */
    uint32_t length;
    uint32_t leaves[FOLD_OPEN_MAX]; /* items, in the order in which they come */
    uint16_t times[FOLD_OPEN_MAX];  /* of each item of the group */
};

struct fold {
    struct fold_item *items;
    uint32_t *starts;        /* where the outermost items begin */
    struct psnap_map places; /* by `what`: its item in the mix, and 1 more */
    size_t item_room, start_room;
    uint32_t count, start_count;
    uint32_t period;     /* longest group that is looked for, in outermost items */
    uint32_t limit;      /* items kept before order is given up for a mix; UINT32_MAX: never */
    uint32_t most;       /* items that are kept just now */
    uint32_t mixing;     /* leaves that go into the last group before order is looked for again */
    uint32_t mix_length; /* how many the next time */
    uint32_t mix_rest;   /* leaves of the mix beyond its whole rounds */
    uint32_t open_count; /* groups that end with the last outermost item, if it is one */
    uint32_t open[FOLD_DEPTH]; /* these, the outermost first */
    struct fold_round round;   /* of the open group that is followed; of length 0: none */
    uint32_t pending;          /* leading leaves of that round seen again */
    uint64_t pending_amounts[FOLD_OPEN_MAX];
    bool exact; /* groups are equal only if their counts are */
};

void fold_init(struct fold *fold, bool exact, uint32_t period, uint32_t limit);
void fold_release(struct fold *fold);

/* One more of the sequence; `amount` is summed up beside the times, and plays no part in folding.
 */
enum psnap_status fold_append(struct fold *fold, uint32_t what, uint64_t amount);

/* The sequence so far, in `arena`; the fold takes no more after this. */
enum psnap_status fold_finish(struct fold *fold, struct psnap_arena *arena,
                              struct psnap_sequence *sequence);

#endif
