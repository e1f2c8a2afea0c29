/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is done with a run: put off while a phrase is followed, looked up, or simulated. A run is
 * recorded when it comes for the second time, in whatever state.
 */
#include "simcore/memo.h"

#include <stdlib.h>
#include <string.h>

#include "simcore/memo_phrase.h"

enum {
    RUN_ACCESSES_MAX = 1 << 24, /* of a longer one, counts might not fit */
    /* Looking up a run that is shorter costs more than it saves. So does one that has more words of
     * state to copy and compare, for each access that a first level would simulate. */
    RUN_ACCESSES_MIN = 256,
    WORDS_PER_ACCESS = 2
};

/* A larger state is not worth phrases. */
#define PHRASE_WORDS_MAX ((size_t)1 << 17)

struct memo {
    struct hierarchy *hierarchy;
    struct memo_host host;
    struct tier of_runs;
    uint64_t accesses_min;  /* of a run that is looked up alone */
    struct phrases phrases; /* if a tier of them is outside of_runs */
    struct noted noted;     /* the run in hand, or another one */
};

bool memo_block(struct memo *memo, const struct psnap_access *block, size_t n)
{
    enum { STEP = sizeof *block / sizeof block->ref };
    const struct memo_refs refs = {&block->ref, STEP};

    for (struct tier *tier = &memo->of_runs; tier; tier = tier->outer)
        tier->refs = refs;
    if (!hierarchy_run(memo->hierarchy, block, n))
        return false;
    for (struct tier *tier = &memo->of_runs; tier; tier = tier->outer)
        if (tier->is_recording)
            tier_note(tier);
    memo->host.count(memo->host.context, block[0].thread, refs.at, refs.step, n);
    return true;
}

/* --------------------------------------------------------------- single runs */

/* A run that was noted, when the tier does not pause. */
static bool look_up(struct memo *memo, const struct psnap_run *run)
{
    struct tier *tier = &memo->of_runs;
    const size_t bytes = memo_run_bytes(run->width);
    const uint64_t hash = noted_hash(&memo->noted);
    const bool is_new = !room_has_seen(&tier->room, hash);
    const struct outcome *outcome;
    bool fits;

    if (is_new)
        tier_charge(tier, TIER_LOOK);
    if (is_new || !tier_begin(tier, memo->noted.base, run->first[0].thread, hash))
        return memo->host.simulate(memo->host.context, run);
    outcome = tier_find(tier, memo->noted.run, bytes);
    if (outcome) {
        tier_tell(tier, outcome, &memo->host);
        return true;
    }
    tier_record(tier);
    fits = memo->host.simulate(memo->host.context, run);
    tier_end(tier, fits ? memo->noted.run : NULL, bytes);
    return fits;
}

static bool put_alone(struct memo *memo, const struct psnap_run *run, bool is_noted)
{
    const uint64_t accesses = run->count * run->width;

    if (run->count == 1 || accesses < memo->accesses_min || accesses > RUN_ACCESSES_MAX ||
        tier_pauses(&memo->of_runs) || (!is_noted && !noted_set(&memo->noted, run)))
        return memo->host.simulate(memo->host.context, run);
    return look_up(memo, run);
}

/* ------------------------------------------------------------------ phrases */

bool memo_settle(struct memo *memo)
{
    struct phrases *phrases = &memo->phrases;
    const struct outcome *outcome = phrases->outcome;
    bool fits = true;

    if (phrases->state != PHRASE_FOLLOW)
        return true;
    phrases->state = PHRASE_NONE;
    for (const struct memo_run *noted = outcome->runs; fits && noted != phrases->next;
         noted = memo_run_next(noted)) {
        const struct psnap_run run = phrases_rebuild(phrases, noted);
        fits = put_alone(memo, &run, false);
    }
    room_forget(&phrases->tier.room, outcome);
    tier_charge(&phrases->tier, TIER_RECORD); /* it was recorded in vain */
    return fits;
}

bool memo_interrupt(struct memo *memo)
{
    phrases_drop(&memo->phrases);
    return memo_settle(memo);
}

static bool put_in_phrase(struct memo *memo, const struct psnap_run *run, bool is_begin)
{
    struct phrases *phrases = &memo->phrases;
    bool is_noted;

    if (is_begin) {
        phrases_end(phrases);
        if (!memo_settle(memo))
            return false;
    }
    is_noted = run->count * run->width <= RUN_ACCESSES_MAX && noted_set(&memo->noted, run);
    if (is_begin && is_noted)
        phrases_begin(phrases, &memo->noted);
    if (is_noted && phrases_follow(phrases, &memo->noted)) {
        phrases_tell(phrases, &memo->host);
        return true;
    }
    if (phrases->state == PHRASE_FOLLOW) {
        if (!memo_settle(memo))
            return false;
        is_noted = false; /* others were */
    } else if (!is_noted || !phrases_record(phrases, &memo->noted)) {
        phrases_drop(phrases);
    }
    return put_alone(memo, run, is_noted);
}

bool memo_put(struct memo *memo, const struct psnap_run *run)
{
    const bool is_begin = memo->of_runs.outer && phrases_advance(&memo->phrases, run);

    return is_begin || memo_is_in_phrase(memo) ? put_in_phrase(memo, run, is_begin)
                                               : put_alone(memo, run, false);
}

bool memo_is_in_phrase(const struct memo *memo)
{
    return memo->phrases.state != PHRASE_NONE;
}

/* ------------------------------------------------------------------- making */

static bool suits(const struct hierarchy *hierarchy)
{
    return hierarchy->packs && !hierarchy->cores && tier_words(hierarchy, 1);
}

/* The depth of the levels whose states have at most so many words, at least 1. */
static uint32_t depth_within(const struct hierarchy *hierarchy, size_t most)
{
    uint32_t depth = 1;

    for (size_t words = tier_words(hierarchy, 1), next;; words = next, depth++) {
        next = tier_words(hierarchy, depth + 1);
        if (next == words || next == 0 || next > most)
            return depth;
    }
}

/* False: out of memory. */
static bool make_tiers(struct memo *memo)
{
    const uint32_t depth = depth_within(memo->hierarchy, PHRASE_WORDS_MAX);

    if (!noted_init(&memo->noted, memo->hierarchy) ||
        !tier_init(&memo->of_runs, memo->hierarchy, 1))
        return false;
    memo->accesses_min = memo->of_runs.words / (WORDS_PER_ACCESS * memo->of_runs.level_count);
    if (memo->accesses_min < RUN_ACCESSES_MIN)
        memo->accesses_min = RUN_ACCESSES_MIN;
    if (tier_words(memo->hierarchy, depth) > PHRASE_WORDS_MAX)
        return true;
    memo->of_runs.outer = &memo->phrases.tier;
    return phrases_init(&memo->phrases, memo->hierarchy, depth);
}

struct memo *memo_new(struct hierarchy *hierarchy, const struct memo_host *host)
{
    struct memo *memo = suits(hierarchy) ? calloc(1, sizeof *memo) : NULL;

    if (!memo)
        return NULL;
    memo->hierarchy = hierarchy;
    memo->host = *host;
    if (make_tiers(memo))
        return memo;
    memo_free(memo);
    return NULL;
}

void memo_free(struct memo *memo)
{
    if (!memo)
        return;
    tier_release(&memo->of_runs);
    phrases_release(&memo->phrases);
    noted_release(&memo->noted);
    free(memo);
}
