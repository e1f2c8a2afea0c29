/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the iterations of a parallel section's loops are dealt to cores (Barai et al.,
 * PPT-Multicore, Algorithm 1).
 *
 * By marks, which are exact: an iteration of a worksharing loop is one core's, by the schedule of
 * OpenMP's run time library (LLVM's: contiguous parts that differ by one at most, or chunks in
 * turn; a dynamic schedule is taken for chunks in turn). What a single or master construct does is
 * core 0's, everything else is every core's: each begins its loop for itself.
 *
 * By counts, as published and in loops of which the optimiser left no iterations, or where it took
 * something out of them and put it before the first (a memset): a block that is executed fewer
 * times than there are cores is every core's, others are dealt out evenly; here by reference, for a
 * block's references come once for each of its executions. As Algorithm 1 is printed, counts below
 * twice the cores are copies too, and of n executions each core has n / cores, rounded down: the
 * remainder would run past the last core, which gets it here.
 */
#include "predict/multicore/deal.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

void deal_release(struct deal *deal)
{
    free(deal->loops);
    free(deal->counts);
    free(deal->seen);
    *deal = (struct deal){0};
}

/* ------------------------------------------------------------------ taking it */

static bool open_loop(struct deal *deal, uint64_t chunk)
{
    struct deal_loop *loops =
        psnap_with_room(deal->loops, &deal->loop_room, deal->loop_count + 1, sizeof *loops);

    if (!loops)
        return false;
    deal->loops = loops;
    loops[deal->loop_count++] =
        (struct deal_loop){.chunk = deal->chunk ? deal->chunk : chunk, .first = deal->count_count};
    deal->is_open = true;
    return true;
}

static int by_ref(const void *left, const void *right)
{
    const struct deal_count *a = left, *b = right;

    return (a->ref > b->ref) - (a->ref < b->ref);
}

/* Ends the loop that is open: its counts are of what came before the first iteration. */
static void close_loop(struct deal *deal)
{
    struct deal_loop *loop;

    if (!deal->is_open)
        return;
    loop = &deal->loops[deal->loop_count - 1];
    deal->is_open = false;
    for (size_t i = loop->first; i < deal->count_count; i++) {
        struct deal_count *count = &deal->counts[i];
        count->count = deal->seen[count->ref];
        deal->seen[count->ref] = 0;
    }
    loop->count = deal->count_count - loop->first;
    if (loop->count)
        qsort(deal->counts + loop->first, loop->count, sizeof *deal->counts, by_ref);
}

static bool count_ref(struct deal *deal, uint32_t ref, uint32_t refs)
{
    const size_t room = deal->seen_room;
    uint64_t *seen = psnap_with_room(deal->seen, &deal->seen_room, refs, sizeof *seen);

    if (!seen)
        return false;
    memset(seen + room, 0, (deal->seen_room - room) * sizeof *seen);
    deal->seen = seen;
    if (!seen[ref]++) {
        struct deal_count *counts =
            psnap_with_room(deal->counts, &deal->count_room, deal->count_count + 1, sizeof *counts);
        if (!counts)
            return false;
        deal->counts = counts;
        counts[deal->count_count++].ref = ref;
    }
    return true;
}

bool deal_begin(struct deal *deal)
{
    deal->loop_count = deal->count_count = 0;
    deal->is_open = false;
    return !deal->as_published || open_loop(deal, 0);
}

bool deal_take(struct deal *deal, const struct mark *mark, uint32_t ref, uint32_t refs)
{
    struct deal_loop *loop = deal->is_open ? &deal->loops[deal->loop_count - 1] : NULL;

    if (mark->kind == MARK_NONE)
        return !loop || loop->iterations || count_ref(deal, ref, refs);
    if (deal->as_published)
        return true;
    if (mark->kind == MARK_ITERATION && loop)
        loop->iterations += mark->count;
    if (mark->kind == MARK_LOOP || mark->kind == MARK_LOOP_END)
        close_loop(deal);
    return mark->kind != MARK_LOOP || open_loop(deal, mark->count);
}

void deal_end(struct deal *deal)
{
    close_loop(deal);
}

/* ------------------------------------------------------------------ a core's way */

/* The core, of so many, that has an iteration of so many: in chunks in turn or, with a chunk of 0,
 * one part each that differ by one iteration at most, the larger ones first. */
static uint32_t owner_of(uint64_t iteration, uint64_t iterations, uint64_t chunk, uint32_t cores)
{
    const uint64_t part = iterations / cores, larger = iterations % cores;

    if (chunk)
        return (uint32_t)(iteration / chunk % cores);
    if (iteration < larger * (part + 1))
        return (uint32_t)(iteration / (part + 1));
    return (uint32_t)(larger + (iteration - larger * (part + 1)) / part);
}

static bool enter_loop(struct deal_cursor *cursor)
{
    const struct deal_loop *loop = &cursor->deal->loops[cursor->next++];
    uint64_t *seen;

    cursor->iteration = 0;
    cursor->iterations = loop->iterations;
    cursor->chunk = loop->chunk;
    cursor->where = DEAL_COUNTED;
    cursor->counts = loop->count ? cursor->deal->counts + loop->first : NULL;
    cursor->count_count = loop->count;
    seen = psnap_with_room(cursor->seen, &cursor->seen_room, loop->count + 1, sizeof *seen);
    if (!seen)
        return false;
    cursor->seen = seen;
    memset(seen, 0, loop->count * sizeof *seen);
    return true;
}

bool deal_cursor_begin(struct deal_cursor *cursor, const struct deal *deal, uint32_t core)
{
    cursor->deal = deal;
    cursor->core = core;
    cursor->next = 0;
    cursor->where = DEAL_ALL;
    return !deal->as_published || enter_loop(cursor);
}

void deal_cursor_release(struct deal_cursor *cursor)
{
    free(cursor->seen);
    *cursor = (struct deal_cursor){0};
}

static void next_iteration(struct deal_cursor *cursor, uint32_t count)
{
    const uint64_t middle = cursor->iteration + count / 2; /* of several the most are there */
    /* a vector of more iterations than a chunk has is one */
    const uint64_t chunk = cursor->chunk && cursor->chunk < count ? count : cursor->chunk;

    cursor->where = DEAL_LOOP;
    cursor->is_mine = owner_of(middle < cursor->iterations ? middle : cursor->iterations - 1,
                               cursor->iterations, chunk, cursor->deal->cores) == cursor->core;
    cursor->iteration += count;
}

bool deal_cursor_mark(struct deal_cursor *cursor, const struct mark *mark)
{
    if (cursor->deal->as_published)
        return true;
    switch (mark->kind) {
    case MARK_LOOP:
        return enter_loop(cursor);
    case MARK_ITERATION:
        if (cursor->iterations && (cursor->where == DEAL_LOOP || cursor->where == DEAL_COUNTED))
            next_iteration(cursor, mark->count);
        return true;
    case MARK_SINGLE:
        cursor->where = DEAL_SINGLE;
        return true;
    default:
        cursor->where = DEAL_ALL;
        return true;
    }
}

/* The next access of this reference, which is dealt by its count. */
static bool is_dealt(struct deal_cursor *cursor, uint32_t ref)
{
    const struct deal_count key = {.ref = ref};
    const struct deal_count *count =
        bsearch(&key, cursor->counts, cursor->count_count, sizeof key, by_ref);
    const uint32_t cores = cursor->deal->cores;
    uint64_t number, owner;

    if (!count)
        return true;
    number = cursor->seen[count - cursor->counts]++;
    if (count->count < (cursor->deal->as_published ? 2 * (uint64_t)cores : cores))
        return true;
    if (cursor->chunk)
        owner = number / cursor->chunk % cores;
    else if (cursor->deal->as_published)
        owner = number / (count->count / cores);
    else
        owner = owner_of(number, count->count, 0, cores);
    return (owner < cores ? owner : cores - 1) == cursor->core;
}

bool deal_cursor_access(struct deal_cursor *cursor, uint32_t ref)
{
    switch (cursor->where) {
    case DEAL_LOOP:
        return cursor->is_mine;
    case DEAL_COUNTED:
        return is_dealt(cursor, ref);
    case DEAL_SINGLE:
        return cursor->core == 0;
    default:
        return true;
    }
}
