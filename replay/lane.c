/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The way through the schedule: at each visit of a loop the lane delivers
 * its share of the loop's accesses. A place of the schedule that is visited v
 * times and has N accesses delivers floor((i + 1) N / v) - floor(i N / v) at
 * visit i: shares differ by one at most and add up to N. N is what the schedule
 * says; where it says nothing, the loop's accesses go evenly to all its visits.
 *
 * A cursor with a stack of rounds walks the schedule; it is never unfolded.
 */
#include "replay/lane.h"

#include <stdlib.h>
#include <string.h>

/* The way through the visits of one place of the schedule. */
struct visits {
    uint64_t share, rest; /* accesses / visits, accesses % visits */
    uint64_t count;
    uint64_t error; /* of the shares so far, in 1 / count; below count */
};

struct cursor {
    uint32_t at;
    unsigned depth;
    struct {
        uint32_t begin, end; /* of the body */
        uint64_t rounds;     /* still to go, this one included */
    } groups[PSNAP_SEQUENCE_DEPTH];
};

struct lane {
    struct psnap_source base;
    struct replay_loop *loops; /* of the profile, not owned */
    struct visits *visits;     /* by item of the schedule */
    struct psnap_sequence schedule;
    struct cursor cursor;
    uint32_t current; /* loop that is visited */
    uint64_t left;    /* accesses left in this visit */
};

/* The next place of the schedule, PSNAP_NONE at its end. */
static uint32_t next_leaf(struct cursor *cursor, const struct psnap_sequence *schedule)
{
    for (;;) {
        const struct psnap_sequence_item *item;
        if (cursor->depth && cursor->at == cursor->groups[cursor->depth - 1].end) {
            if (--cursor->groups[cursor->depth - 1].rounds)
                cursor->at = cursor->groups[cursor->depth - 1].begin;
            else
                cursor->depth--;
            continue;
        }
        if (cursor->at == schedule->count)
            return PSNAP_NONE;
        item = &schedule->items[cursor->at++];
        if (item->what != PSNAP_NONE)
            return cursor->at - 1;
        cursor->groups[cursor->depth].begin = cursor->at;
        cursor->groups[cursor->depth].end = cursor->at + item->span;
        cursor->groups[cursor->depth++].rounds = item->repeat;
    }
}

static uint64_t next_share(struct visits *visits)
{
    visits->error += visits->rest;
    if (visits->error < visits->count)
        return visits->share;
    visits->error -= visits->count;
    return visits->share + 1;
}

static ssize_t lane_next(struct psnap_source *self, struct psnap_access *block, size_t capacity,
                         struct psnap_error *error)
{
    struct lane *lane = (struct lane *)self;
    size_t done = 0;

    (void)error;
    while (done < capacity) {
        size_t n = capacity - done;
        if (!lane->left) {
            uint32_t leaf = next_leaf(&lane->cursor, &lane->schedule);
            if (leaf == PSNAP_NONE)
                break;
            lane->current = lane->schedule.items[leaf].what;
            lane->left = next_share(&lane->visits[leaf]);
            continue;
        }
        if (n > lane->left)
            n = (size_t)lane->left;
        replay_loop_fill(&lane->loops[lane->current], block + done, n);
        lane->left -= n;
        done += n;
    }
    return (ssize_t)done;
}

static void lane_free(struct psnap_source *self)
{
    struct lane *lane = (struct lane *)self;

    free(lane->visits);
    free(lane->schedule.items);
    free(lane);
}

/* floor(value * by / divisor) */
static uint64_t scale(uint64_t value, uint64_t by, uint64_t divisor)
{
    __extension__ typedef unsigned __int128 wide;

    return (uint64_t)((wide)value * by / divisor);
}

/* Every place's visits and accesses. */
static enum psnap_status init_visits(struct lane *lane, const struct psnap_profile *profile)
{
    const struct psnap_sequence *schedule = &lane->schedule;
    uint64_t *counts = calloc(schedule->count + 1, sizeof *counts);
    struct {
        uint64_t all, passed; /* visits of a loop: at all places, at those before */
    } *of_loop = calloc(profile->loop_count + 1, sizeof *of_loop);

    if (!counts || !of_loop) {
        free(counts);
        free(of_loop);
        return PSNAP_ERROR_MEMORY;
    }
    psnap_sequence_visits(schedule, counts);
    for (uint32_t i = 0; i < schedule->count; i++)
        if (schedule->items[i].what != PSNAP_NONE)
            of_loop[schedule->items[i].what].all += counts[i];
    for (uint32_t i = 0; i < schedule->count; i++) {
        const uint32_t loop = schedule->items[i].what;
        uint64_t accesses = schedule->items[i].accesses, before, all;
        if (loop == PSNAP_NONE)
            continue;
        if (accesses == PSNAP_EVENLY) {
            all = profile->loops[loop].accesses;
            before = of_loop[loop].passed;
            accesses = scale(before + counts[i], all, of_loop[loop].all) -
                       scale(before, all, of_loop[loop].all);
            of_loop[loop].passed += counts[i];
        }
        lane->visits[i] = (struct visits){
            .share = accesses / counts[i], .rest = accesses % counts[i], .count = counts[i]};
    }
    free(counts);
    free(of_loop);
    return PSNAP_OK;
}

struct psnap_source *replay_lane_new(const struct psnap_profile *profile, struct replay_loop *loops,
                                     struct psnap_program *program)
{
    static const struct psnap_source_ops ops = {.next = lane_next, .free = lane_free};
    const uint32_t count = profile->schedule.count;
    struct lane *lane = calloc(1, sizeof *lane);

    if (!lane)
        return NULL;
    lane->base = (struct psnap_source){&ops, program};
    lane->loops = loops;
    lane->schedule.items = malloc((count + (size_t)1) * sizeof *lane->schedule.items);
    if (lane->schedule.items && count) {
        memcpy(lane->schedule.items, profile->schedule.items, count * sizeof *lane->schedule.items);
        lane->schedule.count = count;
    }
    lane->visits = calloc(lane->schedule.count + (size_t)1, sizeof *lane->visits);
    if (lane->schedule.items && lane->visits && !init_visits(lane, profile))
        return &lane->base;
    lane_free(&lane->base);
    return NULL;
}
