/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lanes and tokens of a chunk back to accesses: the predictions of
 * pst_encode.c run again, corrected by the tokens read.
 *
 * What is left to check here, after pst_payload_read.c, is that tokens name lanes there are and, at
 * the end, that none is left over.
 *
 * Tokens are unfolded when they are asked for, as a literal's value may only be known when the
 * prediction it corrects is. Level m unfolds to the sequence that it was made of: what comes from
 * the level above goes down as it is, unless it is a copy of level m, in place of which come items
 * of the window of level m. The highest level is what was written. A token goes to the windows of
 * all levels that it came through when it is done with. A copy that cannot be, as it reaches back
 * further than there are items, ends the track, which is then bad. Every copy gives at least one
 * item, so no step is made that is not paid for by a token.
 *
 * Runs: where the lanes predicted next come round in a circle and no token is due for some rounds,
 * all rounds until then follow from the first one, by a stride for each lane.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/pst_decode.h"

/* Looks at lanes for a run, after each access, as a loop's next round begins with some that
 * were not predicted: it is found where its first iteration begins that is like those that follow,
 * the same one each round. Then it is looked for less and less often. */
#define TRIES 160u

/* ---- tokens ---- */

void psnap_pst_unfold_start(struct psnap_pst_unfolder *track)
{
    if (track->level_count == 0) {
        track->left = track->literals;
        track->literals = 0;
    }
    for (uint32_t i = 0; i < track->level_count; i++) {
        struct psnap_pst_unfold_level *level = &track->levels[i];

        level->left = level->copy_count ? level->copies->literals : UINT32_MAX;
    }
}

/* The next item as written: a copy, or the literals up to the next one, the first of which it
 * gives. Returns the level it comes from, 0: there is none. */
static uint32_t written(struct psnap_pst_unfolder *track, struct psnap_pst_token *item)
{
    uint32_t n = track->literals;

    for (uint32_t m = track->level_count; m > 0; m--) {
        struct psnap_pst_unfold_level *level = &track->levels[m - 1];

        if (level->left == 0) {
            const struct psnap_pst_copy *copy = level->copies++;

            *item = (struct psnap_pst_token){copy->from, copy->length, (uint16_t)m, 0};
            level->left = --level->copy_count ? level->copies->literals : UINT32_MAX;
            for (uint32_t above = m; above < track->level_count; above++)
                track->levels[above].left -= track->levels[above].copy_count > 0;
            return track->level_count;
        }
        n = level->left < n ? level->left : n;
    }
    for (uint32_t i = 0; i < track->level_count; i++) {
        track->levels[i].left -= track->levels[i].copy_count ? n : 0;
        track->bad |= n == 0 && track->levels[i].copy_count > 0;
    }
    if (n == 0)
        return 0;
    track->literals -= n;
    track->left = n;
    psnap_pst_unfold(track, item);
    item->level = 0;
    return track->level_count;
}

/* Starts a copy of level m that comes from level `from`. */
static bool start_copy(struct psnap_pst_unfolder *track, uint32_t m, uint32_t from,
                       const struct psnap_pst_token *copy)
{
    struct psnap_pst_unfold_level *level = &track->levels[m - 1];
    const uint64_t reach = copy->value >> 1 << (copy->value & 1);

    if (copy->value > UINT32_MAX || reach == 0 || reach > level->count ||
        reach > level->window_room || copy->run == 0)
        return false;
    level->length = copy->run;
    level->distance = (uint32_t)(copy->value >> 1);
    level->straight = copy->value & 1;
    for (uint32_t i = m; i < from; i++)
        psnap_pst_unfold_note(&track->levels[i], *copy);
    return true;
}

/* The next item of the sequence that level m unfolds to. Returns the level it comes from, 0: there
 * is none. */
static uint32_t next_item(struct psnap_pst_unfolder *track, uint32_t m,
                          struct psnap_pst_token *item)
{
    struct psnap_pst_unfold_level *level = &track->levels[m - 1];

    while (level->length == 0) {
        const uint32_t from =
            m < track->level_count ? next_item(track, m + 1, item) : written(track, item);

        if (from == 0 || item->level < m)
            return from;
        if (!start_copy(track, m, from, item)) {
            track->bad = true;
            return 0;
        }
    }
    psnap_pst_unfold_copied(level, item);
    track->literal = false;
    return m;
}

bool psnap_pst_unfold_item(struct psnap_pst_unfolder *track, struct psnap_pst_token *token)
{
    if (track->bad || track->level_count == 0)
        return false;
    track->from = next_item(track, 1, token);
    return track->from > 0;
}

/* ---- lanes ---- */

void psnap_pst_decoder_release(struct psnap_pst_decoder *decoder)
{
    free(decoder->lanes);
    free(decoder->tracks);
    free(decoder->values);
    free(decoder->runs);
    free(decoder->copies);
    free(decoder->windows);
    free(decoder->levels);
}

/* The value of the track's token is known. Goes on to the next one, given the run until then and
 * the prediction that was wrong; `run` gets that of the next one. False: it cannot be had. */
static inline bool finish_token(struct psnap_pst_read_track *track, uint64_t prediction,
                                uint32_t *run)
{
    track->expected = track->token.run ? track->token.value : prediction;
    psnap_pst_unfold_done(&track->unfolder, track->token.value, track->token.run);
    return psnap_pst_read_fetch(track, run);
}

/* The lane after `index`, not as predicted; false when there is no such lane. */
static bool take_next(struct psnap_pst_decoder *decoder, uint32_t *index)
{
    struct psnap_pst_read_lane *lane = &decoder->lanes[*index];
    struct psnap_pst_read_track *track = &decoder->tracks[*index].next;
    const uint32_t predicted = lane->next;

    track->token.value =
        (track->unfolder.literal & track->unfolder.expected) ? track->expected : track->token.value;
    if (track->ended || track->token.value >= decoder->lane_count)
        return false;
    *index = (uint32_t)track->token.value;
    if (track->token.run == 0)
        lane->next = *index;
    return finish_token(track, predicted, &lane->next_run);
}

/* The step of an address token from `base`, given the base that is not in use. */
static uint64_t step_of(const struct psnap_pst_read_tracks *tracks, uint64_t base,
                        uint64_t other_base)
{
    const struct psnap_pst_read_track *track = &tracks->address;

    if (!track->unfolder.literal || !(track->unfolder.expected || tracks->absolute))
        return track->token.value;
    if (!track->unfolder.expected)
        return track->token.value - base;
    if (tracks->favourite.trust >= PSNAP_PST_TRUSTED)
        return other_base + tracks->favourite.other - base;
    return track->expected;
}

/* The next address of a lane, not as predicted, after an access at `before`. */
static bool take_address(struct psnap_pst_decoder *decoder, uint32_t index, uint64_t before,
                         uint64_t *address)
{
    struct psnap_pst_read_lane *lane = &decoder->lanes[index];
    struct psnap_pst_read_tracks *tracks = &decoder->tracks[index];
    struct psnap_pst_token *token = &tracks->address.token;
    const uint64_t base = lane->follows ? before : lane->last, predicted = lane->step;
    const uint64_t other_base = lane->follows ? lane->last : before;
    uint64_t other;

    if (tracks->address.ended)
        return false;
    token->value = step_of(tracks, base, other_base);
    *address = base + token->value;
    other = *address - other_base;
    tracks->score = other == tracks->other ? tracks->score + 1 : 0;
    tracks->other = other;
    psnap_pst_favourite_note(&tracks->favourite, other);
    if (token->run == 0)
        lane->step = token->value;
    if (tracks->score == (lane->follows ? PSNAP_PST_OTHER_WINS : tracks->wins)) {
        if (!lane->follows && tracks->wins <= PSNAP_PST_OTHER_WINS_MAX)
            tracks->wins *= 2;
        tracks->other = lane->step;
        tracks->favourite = (struct psnap_pst_favourite){lane->step, 0};
        lane->step = other;
        lane->follows ^= 1;
        tracks->score = 0;
    }
    return finish_token(&tracks->address, predicted, &lane->run);
}

bool psnap_pst_decoder_is_whole(const struct psnap_pst_decoder *decoder)
{
    for (uint32_t i = 0; decoder->left == 0 && i < decoder->lane_count; i++)
        if (!decoder->tracks[i].next.ended || !decoder->tracks[i].address.ended)
            return false;
    return true;
}

/* ---- runs ---- */

/* How often the lanes that are predicted next come round again, all addresses as predicted; their
 * number goes to *width. */
static uint64_t find_cycle(const struct psnap_pst_decoder *decoder, uint32_t first, size_t *width)
{
    uint64_t count = UINT32_MAX;
    uint32_t index = first;

    *width = 0;
    do {
        const struct psnap_pst_read_lane *lane = &decoder->lanes[index];
        const uint32_t run = lane->run < lane->next_run ? lane->run : lane->next_run;

        if (*width == PSNAP_PST_RUN_WIDTH || run < PSNAP_PST_RUN_COUNT)
            return 0;
        if (run < count)
            count = run;
        ++*width;
        index = lane->next;
    } while (index != first);
    return count;
}

/*
 * What the cycle's lanes advance by: a lane that follows another as much as that one, lane after
 * lane, from one that has a step of its own. If none has, each is all steps of the round further
 * than a round before.
 */
static void set_strides(const struct psnap_pst_decoder *decoder, uint32_t first,
                        struct psnap_pst_run *run)
{
    const struct psnap_pst_read_lane *lane = &decoder->lanes[first];
    uint64_t stride = 0, round = 0;
    bool all_follow = true;

    for (size_t k = 0; k < run->width; k++, lane = &decoder->lanes[lane->next]) {
        all_follow &= lane->follows;
        stride = lane->follows ? stride : lane->step;
        round += lane->step;
    }
    if (all_follow)
        stride = round;
    for (size_t k = 0; k < run->width; k++, lane = &decoder->lanes[lane->next]) {
        stride = lane->follows ? stride : lane->step;
        run->strides[k] = (int64_t)stride;
    }
}

/* Goes on to where the run that was found here ends. */
static void take_run(struct psnap_pst_decoder *decoder, const struct psnap_pst_run *run)
{
    struct psnap_pst_read_lane *lane = &decoder->lanes[decoder->current];

    lane->next_run--;
    for (size_t k = 0; k < run->width; k++) {
        decoder->current = lane->next;
        lane = &decoder->lanes[decoder->current];
        lane->next_run -= run->count;
        lane->run -= run->count;
        lane->last = run->first[k].address + (run->count - 1) * (uint64_t)run->strides[k];
    }
    lane->next_run++; /* it is not left yet */
    decoder->address = lane->last;
    decoder->left -= (uint32_t)(run->count * run->width);
}

/* A run is of one thread and one block, and no ref occurs twice. */
static bool may_be_run(const struct psnap_pst_run *run, const struct psnap_program *program)
{
    for (size_t k = 1; k < run->width; k++) {
        if (run->first[k].thread != run->first[0].thread ||
            program->refs[run->first[k].ref].block != program->refs[run->first[0].ref].block)
            return false;
        for (size_t j = 0; j < k; j++)
            if (run->first[j].ref == run->first[k].ref)
                return false;
    }
    return true;
}

/* Takes a run of the next `limit` accesses, if one begins there that is worth it and may be one;
 * its count is 0 if not. */
static void begin_run(struct psnap_pst_decoder *decoder, const struct psnap_program *program,
                      uint64_t limit, struct psnap_pst_run *run)
{
    const uint32_t first = decoder->lanes[decoder->current].next;
    uint64_t count, address = decoder->address;
    uint32_t index = first;

    run->count = 0;
    run->width = 0;
    if (decoder->lanes[decoder->current].next_run == 0)
        return;
    count = find_cycle(decoder, first, &run->width);
    if (count == 0)
        return;
    if (count > limit / run->width)
        count = limit / run->width;
    if (count < PSNAP_PST_RUN_COUNT || count * run->width < PSNAP_PST_RUN_ACCESSES)
        return;
    set_strides(decoder, first, run);
    for (size_t k = 0; k < run->width; k++, index = decoder->lanes[index].next) {
        const struct psnap_pst_read_lane *lane = &decoder->lanes[index];

        address = (lane->follows ? address : lane->last) + lane->step;
        psnap_pst_set_access(&run->first[k], address, lane->key);
    }
    if (decoder->lanes[first].follows &&
        decoder->address != address - (uint64_t)run->strides[run->width - 1])
        return; /* its first address is not in line with those that follow */
    if (!may_be_run(run, program))
        return;
    run->count = (uint32_t)count;
    take_run(decoder, run);
}

/* ---- accesses ---- */

/* The next `n` accesses, one by one; false: they make no sense. */
static bool next_singly(struct psnap_pst_decoder *decoder, struct psnap_access *block, size_t n)
{
    struct psnap_pst_read_lane *const lanes = decoder->lanes;
    uint32_t index = decoder->current;
    uint64_t address = decoder->address;

    for (size_t i = 0; i < n; i++) {
        struct psnap_pst_read_lane *lane = &lanes[index];

        if (lane->next_run) {
            lane->next_run--;
            index = lane->next;
        } else if (!take_next(decoder, &index)) {
            return false;
        }
        lane = &lanes[index];
        if (lane->run) {
            lane->run--;
            address = (lane->follows ? address : lane->last) + lane->step;
        } else if (!take_address(decoder, index, address, &address)) {
            return false;
        }
        lane->last = address;
        psnap_pst_set_access(&block[i], address, lane->key);
    }
    decoder->current = index;
    decoder->address = address;
    decoder->left -= (uint32_t)n;
    return true;
}

/* The first access of the chunk. */
static void start(struct psnap_pst_decoder *decoder, struct psnap_access *access)
{
    struct psnap_pst_read_lane *lane = decoder->lanes;

    decoder->started = true;
    if (lane->run != UINT32_MAX)
        lane->run--;
    decoder->address = lane->last;
    decoder->left--;
    psnap_pst_set_access(access, lane->last, lane->key);
}

enum psnap_status psnap_pst_decoder_next_run(struct psnap_pst_decoder *decoder,
                                             const struct psnap_program *program, uint64_t limit,
                                             struct psnap_access *block, size_t room, size_t *n,
                                             struct psnap_pst_run *run, struct psnap_error *error)
{
    const size_t end = room < limit ? room : (size_t)limit;
    size_t step = 1, tries = 0;

    *n = run->count = 0;
    if (!decoder->started && end)
        start(decoder, &block[(*n)++]);
    while (true) {
        begin_run(decoder, program, limit - *n, run);
        tries += 1 + run->width; /* lanes that were looked at */
        if (run->count || *n == end)
            return PSNAP_OK;
        if (step > end - *n)
            step = end - *n;
        if (!next_singly(decoder, block + *n, step))
            return psnap_pst_makes_no_sense(error);
        *n += step;
        if (tries >= TRIES)
            step = step > 1 ? 2 * step : PSNAP_PST_RUN_ACCESSES;
    }
}
