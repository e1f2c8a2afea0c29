/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Outcomes of the first levels of a hierarchy, as many as a tier covers: kept by the state that
 * they began in, and told again (memo.h).
 *
 * An outcome is recorded while it comes: misses and write-backs after each block, and requests to
 * levels beyond by taps, which are levels beside these that keep what they are asked for. Where
 * nothing that was recorded comes again, a tier pauses, each time for longer.
 */
#ifndef PSNAP_SIMCORE_MEMO_TIER_H
#define PSNAP_SIMCORE_MEMO_TIER_H

#include "simcore/memo.h"
#include "simcore/memo_room.h"
#include "simcore/memo_state.h"

enum {
    TIER_LEVELS_MAX = OUTCOME_TAPS_MAX,
    TIER_CREDIT = 256, /* prices that may be paid in vain, before a pause, */
    TIER_FIRST = 96,   /* and by a tier of which nothing is told yet */
    TIER_LOOK = 1,     /* prices, for tier_charge(): of a look at a run, */
    TIER_RECORD = 4    /* of an outcome */
};

struct tap;

/* References of the accesses that levels have in hand. */
struct memo_refs {
    const uint32_t *at;
    size_t step;
};

struct tier {
    struct hierarchy *hierarchy;
    struct tier *outer; /* one of more levels, which notes what this one tells; or NULL */
    size_t level_count, tap_count;
    struct level *levels[TIER_LEVELS_MAX]; /* the first ones, then those below, */
    struct tap *taps[TIER_LEVELS_MAX];     /* beyond the last ones that others follow */
    size_t words;                          /* of the state of all levels */
    struct room room;
    int32_t credit;
    uint32_t pause, next_pause;
    /* what is recorded, or looked for: */
    bool is_recording, is_too_long;
    uint64_t base, hash;
    uint16_t thread;
    struct memo_refs refs;
    uint32_t *before, *after;
    struct memo_count *counts; /* by level and reference; those in use are listed */
    uint32_t *counted, counted_count, counted_room;
};

/* A tier of the levels of a depth, and all above. False: out of memory; release is still legal. */
bool tier_init(struct tier *tier, struct hierarchy *hierarchy, uint32_t depth);
void tier_release(struct tier *tier);
/* Words of the state of such a tier; 0: not all levels are packed, or there are too many. */
size_t tier_words(const struct hierarchy *hierarchy, uint32_t depth);

/* What was in vain, as a look at a run or an outcome that was recorded, until something is told. */
void tier_charge(struct tier *tier, int32_t price);
/* Whether it pauses; then it is one step nearer to the end of that. */
bool tier_pauses(struct tier *tier);
/* Takes up the state as it is, counted from the line of `base`, before accesses of a thread; false:
 * that cannot be. */
bool tier_begin(struct tier *tier, uint64_t base, uint16_t thread, uint64_t seed);
/* The outcome that began in this state, with this seed; `runs` NULL: any, else of these. NULL:
 * there is none. */
const struct outcome *tier_find(const struct tier *tier, const struct memo_run *runs, size_t bytes);
/* Records what comes after tier_begin(). */
void tier_record(struct tier *tier);
/* After each block, whose references are tier->refs. */
void tier_note(struct tier *tier);
/* Ends recording; keeps the outcome of these runs, or drops it if runs is NULL. */
void tier_end(struct tier *tier, const struct memo_run *runs, size_t bytes);

/* Puts an outcome in place of what comes after tier_begin(), and has it counted; outer tiers that
 * record note it. */
void tier_tell(struct tier *tier, const struct outcome *outcome, const struct memo_host *host);

#endif
