/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The models of what was drawn: a leader where one is trusted, else what it comes after, else the
 * gather of what was collected, by itself or around another draw.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"
#include "profile/gathers/gather_yaml.h"
#include "profile/walks/nest_draws_seen.h"

enum {
    RUN_MOST = 256, /* addresses that go on from each other, in the mean */
    TIMES = 1 << 20 /* of two ways together */
};

/* Whether a draw's addresses come from another one's, as far as that is known. */
static bool depends(const struct nest_draws *draws, uint32_t on, uint32_t index, unsigned depth)
{
    const struct draw *draw = &draws->draws[index = draws->draws[index].into];

    if (index == on || depth == DRAW_DEPTH)
        return true;
    for (unsigned k = 0; k < 3; k++)
        if ((k == DRAW_ALL) != draw->is_split && draw_follows(&draw->followers[k]) &&
            depends(draws, on, draw->followers[k].leader, depth + 1))
            return true;
    for (unsigned k = 0; k < 2; k++)
        if (draw->around[k] && depends(draws, on, draw->around[k] - 1, depth + 1))
            return true;
    for (unsigned k = 0; k < 2; k++)
        for (uint32_t i = 0; i < draw->leader_counts[k]; i++)
            if (draw->leaders[k][i] != index && depends(draws, on, draw->leaders[k][i], depth + 1))
                return true;
    return false;
}

/* Whether a draw begins anew often enough to go on from its own addresses meanwhile: one that
 * seldom does so comes back within its memory in other ways, which a gather has. */
static bool begins_often(const struct draw *draw)
{
    const uint64_t counted = gather_areas_count(draw->areas[DRAW_REST]);
    const uint64_t looked_at = draw->followers[DRAW_REST].all;

    return (counted > looked_at ? counted : looked_at) <=
           RUN_MOST * draw->followers[DRAW_ENTRY].all;
}

static bool may_lead(void *context, uint32_t draw, enum nest_lead lead)
{
    const struct leading *l = context;

    if (l->draws->draws[draw].is_gone || !draw_is_another(context, draw, lead) ||
        (lead == NEST_LEAD_LEFT && !l->draws->draws[draw].comes_back))
        return false;
    return lead == NEST_LEAD_OWN ? begins_often(&l->draws->draws[draw])
                                 : !depends(l->draws, l->index, draw, 0);
}

/* What a draw is by now, if jumps may lie around its addresses. */
static uint32_t leader_of(void *context, uint32_t draw)
{
    const struct leading *l = context;
    const uint32_t into = l->draws->draws[draw].into;

    return into == l->index || l->draws->draws[into].is_gone || depends(l->draws, l->index, into, 0)
               ? PSNAP_NONE
               : into;
}

/* Bytes of an access; those of a pool are not all the same. */
static uint32_t size_of(const struct draw *draw)
{
    return draw->key.size ? draw->key.size : 1;
}

/* Where addresses are, to all that were collected: rows have only some. */
static void widen(const struct gather_areas *areas, uint32_t size, struct nest_source *source)
{
    uint64_t low = source->low, high = source->low + source->span_bytes - size;

    if (!source->span_bytes)
        return;
    gather_areas_range(areas, &low, &high);
    source->low = low;
    source->span_bytes = high + size - low;
}

/* Of one that goes on by either of two steps the mean step is known, of all addresses and not only
 * of those that were looked at: a merge reads no further than there is to be merged. */
static void set_shares(const struct draw *draw, struct nest_source *source)
{
    const uint64_t steps = gather_areas_count(draw->areas[DRAW_REST]);
    const int64_t moved = (int64_t)(draw->moved + draw->last - draw->begun);
    struct nest_after *a = &source->after[0], *b = &source->after[1];
    const double far = (double)(int64_t)(a->offset - b->offset);
    double share;

    if (!draw->is_split || !draw->begun || source->after_count != 2 || !steps)
        return;
    for (uint32_t i = 0; i < 2; i++)
        if (source->after[i].back || source->after[i].draw || source->after[i].earlier ||
            source->after[i].scale > 1)
            return;
    share = ((double)moved / (double)steps - (double)(int64_t)b->offset) / far;
    if (!(share > 0 && share < 1))
        return;
    a->times = (uint32_t)fmin(fmax(1, share * (double)TIMES + 0.5), (double)(TIMES - 1));
    b->times = TIMES - a->times;
}

/* The part that is not of entries. */
static unsigned rest_of(const struct draw *draw)
{
    return !draw->is_split ? DRAW_ALL : draw->followers[DRAW_REST].all ? DRAW_REST : DRAW_ENTRY;
}

/* What was collected of a part, and around what it lies. */
static void take_gather(struct nest_draws *draws, uint32_t index, unsigned part,
                        struct nest_source *taken)
{
    struct draw *draw = &draws->draws[index];
    struct gather_areas *areas = draw->areas[part == DRAW_ENTRY];
    struct leading leading = {draws, index, part};

    *taken = (struct nest_source){.with = PSNAP_NONE, .around = PSNAP_NONE};
    if (!areas)
        return;
    gather_areas_fit(areas, &taken->gather);
    taken->gather.accesses = gather_areas_count(areas);
    draws->is_out_of_memory |= !gather_areas_are_whole(areas);
    nest_jumps_fit(draw->jumps[part], leader_of, &leading, part == DRAW_ENTRY, taken);
}

/* Whatever goes on from there goes on in turn with what it goes on from. */
static bool may_lead_in_turn(void *context, uint32_t draw, enum nest_lead lead)
{
    const struct leading *l = context;

    return lead == NEST_LEAD && !l->draws->draws[draw].is_gone;
}

static void take_source(struct nest_draws *draws, uint32_t index, unsigned part,
                        struct nest_source *taken)
{
    struct draw *draw = &draws->draws[index];
    const struct follower *follower = &draw->followers[part];
    const unsigned k = part == DRAW_ENTRY;
    struct leading leading = {draws, index, part};
    uint32_t leaders[NEST_BACK_MAX], count;
    struct nest_source after = {.with = PSNAP_NONE, .around = PSNAP_NONE}, behind = after;

    if (draw_follows(follower)) {
        after.with = draws->draws[follower->leader].into;
        after.offset = follower->offset;
        *taken = after;
        return;
    }
    if (nest_rows_fit(draw->rows[part], may_lead, &leading, size_of(draw), &after, leaders,
                      &count)) {
        widen(draw->areas[k], size_of(draw), &after);
        if (part == DRAW_REST)
            set_shares(draw, &after);
    }
    if (after.after_count != 1 && part == DRAW_ENTRY &&
        nest_rows_go_on(draw->rows[part], may_lead_in_turn, &leading, size_of(draw), &behind)) {
        widen(draw->areas[k], size_of(draw), &behind);
        *taken = behind;
        return;
    }
    if (after.after_count != 1)
        take_gather(draws, index, part, taken);
    if (after.after_count == 1 || (after.after_count && !taken->slope)) {
        *taken = after;
        memcpy(draw->leaders[k], leaders, count * sizeof *leaders);
        draw->leader_counts[k] = count;
        draw->comes_back |= part == rest_of(draw) && nest_comes_back(taken);
        return;
    }
    draw->around[k] = taken->around == PSNAP_NONE || taken->is_around_ref ? 0 : taken->around + 1;
    gather_round(&taken->gather);
}

/* All that is not decided yet. */
static void decide_all(struct nest_draws *draws)
{
    for (uint32_t i = 0; i < draws->count; i++)
        if (draws->draws[i].is_pool && !draws->draws[i].is_decided)
            draw_decide_pool(draws, i);
    for (uint32_t i = 0; i < draws->count; i++)
        if (draws->draws[i].into == i && !draws->draws[i].is_decided)
            draw_decide(draws, i);
    for (uint32_t i = 0; i < draws->count; i++)
        if (draws->draws[i].is_pool && !draws->draws[i].is_gone)
            draw_part_pool(draws, i);
}

uint32_t *nest_draws_number(const struct nest_draws *draws)
{
    uint32_t *numbers = malloc((draws->count + 1) * sizeof *numbers), count = 0;

    for (uint32_t i = 0; numbers && i < draws->count; i++)
        numbers[i] = draws->draws[i].into == i && !draws->draws[i].is_gone ? count++ : PSNAP_NONE;
    for (uint32_t i = 0; numbers && i < draws->count; i++)
        numbers[i] = numbers[draws->draws[i].into];
    return numbers;
}

static void number_source(struct nest_source *source, const uint32_t *numbers)
{
    source->with = source->with == PSNAP_NONE ? PSNAP_NONE : numbers[source->with];
    if (source->around != PSNAP_NONE && !source->is_around_ref)
        source->around = numbers[source->around];
    for (uint32_t i = 0; i < source->after_count; i++) {
        if (source->after[i].is_start || source->after[i].is_left)
            source->after[i].draw = 1 + numbers[source->after[i].draw - 1];
        if (source->after[i].by)
            source->after[i].by = 1 + numbers[source->after[i].by - 1];
    }
}

/* Models, and room for more of them. */
struct taken {
    struct nest_draw *draws;
    size_t room;
    uint32_t count;
    bool is_short; /* of memory */
};

static bool has_leads(const struct nest_draw *draw, const struct nest_draw *wanted)
{
    for (uint32_t k = 0; k < NEST_MARKS; k++)
        if (draw->leads[k] != wanted->leads[k])
            return false;
    return draw->start == wanted->start;
}

/* The draw that has the last address of a reference which is not drawn, or where a draw began. */
static uint32_t lead_of(struct taken *taken, const struct nest_after *after)
{
    struct nest_draw made = {.start = after->is_start ? after->draw : 0,
                             .leads = {after->is_start ? 0 : after->draw},
                             .rest = {.with = PSNAP_NONE, .around = PSNAP_NONE},
                             .entry = {.with = PSNAP_NONE, .around = PSNAP_NONE}};
    struct nest_draw *larger;

    for (uint32_t k = 1; k < NEST_MARKS; k++)
        made.leads[k] = after->also[k - 1];
    for (uint32_t i = 0; i < taken->count; i++)
        if (has_leads(&taken->draws[i], &made))
            return i;
    larger = psnap_with_room(taken->draws, &taken->room, taken->count + 1, sizeof *larger);
    if (!larger) {
        taken->is_short = true;
        return 0;
    }
    taken->draws = larger;
    taken->draws[taken->count] = made;
    return taken->count++;
}

/* The draws may have moved since the last time. */
static struct nest_source *source_of(const struct taken *taken, uint32_t index, bool is_entry)
{
    return is_entry ? &taken->draws[index].entry : &taken->draws[index].rest;
}

/* What comes after references that are not drawn, or where a draw began, goes with draws that have
 * these addresses. */
static void take_leads(struct taken *taken, uint32_t index, bool is_entry)
{
    struct nest_source *source = source_of(taken, index, is_entry);
    const struct nest_source before = *source;

    for (uint32_t i = 0; i < before.after_count; i++)
        if (before.after[i].draw && !before.after[i].is_left) {
            const uint32_t lead = lead_of(taken, &before.after[i]);
            source = source_of(taken, index, is_entry);
            source->after[i].draw = 1 + lead;
            source->after[i].is_start = false;
        }
    if (source->is_around_ref) {
        const struct nest_after after = {.draw = 1 + source->around};
        const uint32_t lead = lead_of(taken, &after);
        source = source_of(taken, index, is_entry);
        source->around = lead;
        source->is_around_ref = false;
    }
    if (source->after_count != 1 || !source->after[0].draw || source->after[0].is_left ||
        source->after[0].scale > 1)
        return;
    source->with = source->after[0].draw - 1;
    source->offset = source->after[0].offset;
    source->after_count = 0;
}

static void take_draw(struct nest_draws *draws, uint32_t i, const uint32_t *numbers,
                      struct nest_draw *taken)
{
    const struct draw *draw = &draws->draws[i];

    taken->has_entry = rest_of(draw) == DRAW_REST;
    if (taken->has_entry)
        take_source(draws, i, DRAW_ENTRY, &taken->entry);
    take_source(draws, i, rest_of(draw), &taken->rest);
    number_source(&taken->entry, numbers);
    number_source(&taken->rest, numbers);
}

/* Whether a draw is always where one or another of the last ones is: what a merge moves is either
 * of what it has compared. */
static bool is_chosen(const struct draw *draw, struct leading *leading)
{
    struct nest_source source = {.with = PSNAP_NONE, .around = PSNAP_NONE};
    uint32_t leaders[NEST_BACK_MAX], count;

    if (draw_follows(&draw->followers[leading->part]) ||
        !nest_rows_fit(draw->rows[leading->part], may_lead, leading, size_of(draw), &source,
                       leaders, &count) ||
        source.after_count < 2)
        return false;
    for (uint32_t i = 0; i < source.after_count; i++)
        if (!source.after[i].back || source.after[i].offset || source.after[i].scale != 1)
            return false;
    return true;
}

/* Whether a loop always begins as far from one place: where what it copies began. */
static bool begins_as_far(const struct draw *draw, struct leading *leading)
{
    struct nest_source source = {.with = PSNAP_NONE, .around = PSNAP_NONE};
    uint32_t leaders[NEST_BACK_MAX], count;

    return draw->is_split && !draw_follows(&draw->followers[DRAW_ENTRY]) &&
           nest_rows_fit(draw->rows[DRAW_ENTRY], may_lead, leading, size_of(draw), &source, leaders,
                         &count) &&
           source.after_count == 1 && source.after[0].scale == 1;
}

/* In which turn a draw is taken: first those that are chosen, and then those that begin where
 * another one began, or whose jumps lead to where one is, as what begins behind them, or lies
 * around them only somehow, must not keep them from that; then those that come back to earlier
 * addresses, as others are where they came back from. */
static int turn_of(struct nest_draws *draws, uint32_t i)
{
    const struct draw *draw = &draws->draws[i];
    struct leading leading = {draws, i, rest_of(draw)}, entry = {draws, i, DRAW_ENTRY};
    double any;

    if (is_chosen(draw, &leading))
        return 0;
    if (begins_as_far(draw, &entry))
        return 1;
    if (nest_jumps_are_tight(draw->jumps[leading.part], leader_of, &leading))
        return 1;
    return nest_rows_come_back(draw->rows[leading.part], &any) >= DRAW_COMES_BACK ? 2 : 3;
}

/* All, in their turns; returns how many. */
static uint32_t take_draws(struct nest_draws *draws, const uint32_t *numbers,
                           struct nest_draw *taken)
{
    bool *is_taken = calloc(draws->count + 1, sizeof *is_taken);
    uint32_t count = 0;

    draws->is_out_of_memory |= !is_taken;
    for (int turn = 0; turn < 4 && is_taken; turn++)
        for (uint32_t i = 0; i < draws->count; i++) {
            const struct draw *draw = &draws->draws[i];
            if (draw->into != i || draw->is_gone || is_taken[i] ||
                (turn < 3 && turn_of(draws, i) != turn))
                continue;
            take_draw(draws, i, numbers, &taken[numbers[i]]);
            is_taken[i] = true;
            count++;
        }
    free(is_taken);
    return count;
}

struct nest_draw *nest_draws_take(struct nest_draws *draws, uint32_t *count)
{
    struct taken taken = {calloc(draws->count + 1, sizeof *taken.draws), draws->count + 1, 0,
                          false};
    uint32_t *numbers = NULL;

    *count = 0;
    if (taken.draws && nest_draws_are_whole(draws))
        decide_all(draws);
    numbers = nest_draws_number(draws);
    if (taken.draws && numbers && nest_draws_are_whole(draws))
        taken.count = take_draws(draws, numbers, taken.draws);
    if (taken.draws && numbers && nest_draws_are_whole(draws)) {
        const uint32_t drawn = taken.count;
        for (uint32_t i = 0; i < drawn && !taken.is_short; i++) {
            if (taken.draws[i].has_entry)
                take_leads(&taken, i, true);
            take_leads(&taken, i, false);
        }
    } else {
        taken.is_short = true;
    }
    free(numbers);
    *count = taken.is_short ? 0 : taken.count;
    if (!taken.is_short)
        return taken.draws;
    free(taken.draws);
    return NULL;
}
