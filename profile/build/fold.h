/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Folding a sequence of indices into repeated groups as it arrives: the order
 * of a loop's regions (exactly) and of the loops (with counts averaged).
 */
#ifndef PSNAP_PROFILE_FOLD_H
#define PSNAP_PROFILE_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/base/arena.h"
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
    uint32_t *starts; /* where the outermost items begin */
    uint32_t *lasts;  /* what the last leaf in each of them is */
    uint32_t *places; /* by `what`: where in the mix it is, if it is */
    uint32_t place_room;
    uint32_t count, room;
    uint32_t start_count;
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
    bool exact;       /* groups are equal only if their counts are */
    uint64_t changes; /* appends that were no part of a round that was followed */
};

/* A fold as it was, for fold_repeat. All zero to begin with. */
struct fold_mark {
    uint64_t *counts; /* totals and amounts of the items */
    size_t room;
    uint64_t changes;
    uint32_t group, length, pending; /* of the round that was followed */
    uint64_t pending_amounts[FOLD_OPEN_MAX];
};

void fold_init(struct fold *fold, bool exact, uint32_t period, uint32_t limit);
void fold_release(struct fold *fold);

/* What it has allocated. */
static inline size_t fold_bytes(const struct fold *fold)
{
    return fold->room * (sizeof *fold->items + sizeof *fold->starts + sizeof *fold->lasts) +
           fold->place_room * sizeof *fold->places;
}

/* One more of the sequence; `amount` is summed up beside the times, and plays no part in folding.
 */
enum psnap_status fold_append(struct fold *fold, uint32_t what, uint64_t amount);

/* Remembers the fold as it is; false when out of memory. */
bool fold_mark(const struct fold *fold, struct fold_mark *mark);
void fold_mark_release(struct fold_mark *mark);

/* All that was appended since the mark was made, `times` more, if nothing but counts changes by
 * that; else false, and the fold is as it was. */
bool fold_repeat(struct fold *fold, const struct fold_mark *mark, uint64_t times);

/* The sequence so far, in `arena`; the fold takes no more after this. */
enum psnap_status fold_finish(struct fold *fold, struct psnap_arena *arena,
                              struct psnap_sequence *sequence);

#endif
