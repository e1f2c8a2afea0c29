/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lanes and tokens of a chunk back to accesses: the predictions of
 * pst_encode.c run again, corrected by the tokens read.
 *
 * What is left to check here, after pst_payload_read.c, is that tokens name
 * lanes there are and, at the end, that none is left over.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/pst_decode.h"

/* Accesses that come one by one before a run is looked for: after one, and where there is none. */
#define PATIENCE 8u
#define PATIENCE_MAX 256u
/* Looks at lanes for a run, after each access, as a loop's next round begins with some that
 * were not predicted: it is found where its first iteration begins that is like those that follow,
 * the same one each round. Then it is looked for less and less often. */
#define TRIES 160u

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
    decoder->patience = PATIENCE;
    if (lane->run != UINT32_MAX)
        lane->run--;
    decoder->address = lane->last;
    decoder->left--;
    psnap_pst_set_access(access, lane->last, lane->key);
}

/* The next `n` accesses of a chunk that was started; false: they make no sense. */
static bool next_many(struct psnap_pst_decoder *decoder, struct psnap_access *block, size_t n)
{
    struct psnap_pst_run run;

    for (size_t i = 0; i < n;) {
        const size_t singly = n - i < decoder->patience ? n - i : decoder->patience;

        if (!next_singly(decoder, block + i, singly))
            return false;
        i += singly;
        if (n - i < PSNAP_PST_RUN_ACCESSES)
            continue;
        psnap_pst_run_find(decoder, n - i, &run);
        if (run.count == 0) {
            decoder->patience *= decoder->patience < PATIENCE_MAX ? 2 : 1;
            continue;
        }
        psnap_pst_run_expand(&run, block + i);
        psnap_pst_run_take(decoder, &run);
        i += run.count * run.width;
        decoder->patience = PATIENCE;
    }
    return true;
}

/* Whether the lane that is predicted next is in the middle of something: a run needs all to be. */
static bool may_begin(const struct psnap_pst_decoder *decoder)
{
    const struct psnap_pst_read_lane *lane = &decoder->lanes[decoder->current];

    return lane->next_run && decoder->lanes[lane->next].run >= PSNAP_PST_RUN_COUNT &&
           decoder->lanes[lane->next].next_run >= PSNAP_PST_RUN_COUNT;
}

enum psnap_status psnap_pst_decoder_next_run(struct psnap_pst_decoder *decoder,
                                             const struct psnap_program *program, uint64_t limit,
                                             struct psnap_access *block, size_t room, size_t *n,
                                             struct psnap_pst_run *run, struct psnap_error *error)
{
    const size_t end = room < limit ? room : (size_t)limit;
    size_t step = 1, tries = 0;

    *n = run->count = 0;
    run->width = 0;
    if (!decoder->started && end)
        start(decoder, &block[(*n)++]);
    while (true) {
        tries++;
        if (may_begin(decoder)) {
            psnap_pst_run_begin(decoder, program, limit - *n, run);
            tries += run->width; /* lanes that were looked at */
        }
        if (run->count || *n == end)
            return PSNAP_OK;
        if (step > end - *n)
            step = end - *n;
        if (!(step > 1 ? next_many : next_singly)(decoder, block + *n, step))
            return psnap_pst_makes_no_sense(error);
        *n += step;
        if (tries >= TRIES)
            step = step > 1 ? 2 * step : PSNAP_PST_RUN_ACCESSES;
    }
}

enum psnap_status psnap_pst_decoder_next(struct psnap_pst_decoder *decoder,
                                         struct psnap_access *block, size_t n,
                                         struct psnap_error *error)
{
    const bool starts = !decoder->started && n > 0;

    if (starts)
        start(decoder, block);
    return next_many(decoder, block + starts, n - starts) && psnap_pst_decoder_is_whole(decoder)
               ? PSNAP_OK
               : psnap_pst_makes_no_sense(error);
}
