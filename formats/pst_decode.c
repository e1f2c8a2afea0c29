/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lanes and tokens of a chunk back to accesses: the predictions of
 * pst_encode.c run again, corrected by the tokens read.
 *
 * Starting a chunk, whose payload pst_encode.c has written, checks everything that the hot loop
 * relies on: lanes are valid accesses of known refs, and tokens can be had. The loop checks that
 * tokens name lanes there are and, at the end, that none is left over.
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

/* Accesses that come one by one before a run is looked for: after one, and where there is none. */
#define PATIENCE 8u
#define PATIENCE_MAX 256u
/* Looks at lanes for a run, after each access, as a loop's next round begins with some that
 * were not predicted: it is found where its first iteration begins that is like those that follow,
 * the same one each round. Then it is looked for less and less often. */
#define TRIES 160u

/* Tokens: nine lines of 64 bytes, behind windows of at least a page. */
#define GAP 36u
#define GAP_FROM 256u

#define COPY_NUMBERS (sizeof(struct psnap_pst_copy) / sizeof(uint32_t))

/* ---- tokens ---- */

static inline const struct psnap_pst_token *
unfold_before(const struct psnap_pst_unfold_level *level, uint32_t back)
{
    return &level->window[(level->count - back) & (level->window_room - 1)];
}

/* The next item of the copy under way. */
static inline void unfold_copied(struct psnap_pst_unfold_level *level, struct psnap_pst_token *item)
{
    const struct psnap_pst_token *first = unfold_before(level, level->distance);

    item->value = first->value;
    item->run = first->run;
    item->level = first->level;
    if (level->straight) {
        const struct psnap_pst_token *second = unfold_before(level, level->distance * 2);
        item->value = 2 * item->value - second->value;
        item->run = 2 * item->run - second->run;
    }
    level->length--;
}

/* The next token when it is neither a literal that has come already nor of a copy of tokens. */
static bool unfold_item(struct psnap_pst_unfolder *track, struct psnap_pst_token *token);

/* The next token; false when there is none. */
static inline bool unfold(struct psnap_pst_unfolder *track, struct psnap_pst_token *token)
{
    if (track->left > 0) {
        token->value = *track->values++;
        token->run = *track->runs >> 1;
        track->expected = *track->runs++ & 1;
        track->left--;
        track->literal = true;
        track->from = track->level_count;
        return true;
    }
    if (track->level_count == 0 || track->levels->length == 0)
        return unfold_item(track, token);
    unfold_copied(track->levels, token);
    track->literal = false;
    track->from = 1;
    return true;
}

static inline void unfold_note(struct psnap_pst_unfold_level *level, struct psnap_pst_token item)
{
    level->window[level->count++ & (level->window_room - 1)] = item;
}

/* Notes a decoded token in all levels that copy from it, before the next token is decoded. */
static inline void unfold_done(struct psnap_pst_unfolder *track, uint64_t value, uint32_t run)
{
    for (uint32_t i = 0; i < track->from; i++)
        unfold_note(&track->levels[i], (struct psnap_pst_token){.value = value, .run = run});
}

/* To be called before the first token. */
static void unfold_start(struct psnap_pst_unfolder *track)
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
    unfold(track, item);
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
        unfold_note(&track->levels[i], *copy);
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
    unfold_copied(level, item);
    track->literal = false;
    return m;
}

static bool unfold_item(struct psnap_pst_unfolder *track, struct psnap_pst_token *token)
{
    if (track->bad || track->level_count == 0)
        return false;
    track->from = next_item(track, 1, token);
    return track->from > 0;
}

/* The next token; false: there may be more, but they cannot be had. */
static inline bool fetch(struct psnap_pst_read_track *track, uint32_t *run)
{
    track->ended = !unfold(&track->unfolder, &track->token);
    *run = track->ended ? UINT32_MAX : track->token.run;
    return !track->unfolder.bad;
}

/* An access of the lane with this key. */
static inline void set_access(struct psnap_access *access, uint64_t address, uint64_t key)
{
    access->address = address;
    memcpy((char *)access + sizeof access->address, &key, sizeof key);
}

/* ---- the payload ---- */

/* How much of everything the tracks of the chunk have. */
struct totals {
    uint64_t literals, copies, window, levels;
    uint64_t places; /* for windows, and between them */
};

/*
 * Places that a window takes. The heads of windows of some powers of two, which go on in step,
 * would be in the same set of a cache: a gap of an odd number of lines puts them apart.
 */
static uint64_t window_places(uint32_t window)
{
    return window >= GAP_FROM ? window + (uint64_t)GAP : window;
}

static bool reserve_all(struct psnap_pst_decoder *decoder, const struct totals *totals)
{
    const uint32_t lanes = decoder->lane_count;

    return psnap_reserve(&decoder->lanes, &decoder->lane_room, lanes, sizeof *decoder->lanes) &&
           psnap_reserve(&decoder->tracks, &decoder->track_room, lanes, sizeof *decoder->tracks) &&
           psnap_reserve(&decoder->values, &decoder->value_room, totals->literals,
                         sizeof *decoder->values) &&
           psnap_reserve(&decoder->runs, &decoder->run_room, totals->literals,
                         sizeof *decoder->runs) &&
           psnap_reserve(&decoder->copies, &decoder->copy_room, totals->copies,
                         sizeof *decoder->copies) &&
           psnap_reserve(&decoder->windows, &decoder->window_room, totals->places,
                         sizeof *decoder->windows) &&
           psnap_reserve(&decoder->levels, &decoder->level_room, totals->levels,
                         sizeof *decoder->levels);
}

/* The planes of `n` numbers, lowest bytes first, to words. */
static void get_words(struct psnap_cursor *payload, uint64_t *words, size_t n, unsigned width)
{
    const unsigned char *at = psnap_cursor_take(payload, n * width);

    if (!at || width == 0)
        memset(words, 0, n * sizeof *words);
    else
        for (size_t i = 0; i < n; i++)
            words[i] = at[i];
    for (unsigned p = 1; at && p < width; p++)
        for (size_t i = 0; i < n; i++)
            words[i] |= (uint64_t)at[p * n + i] << (8 * p);
}

/* To numbers of 4 bytes, `step` of which are from one to the next. */
static void get_numbers(struct psnap_cursor *payload, uint32_t *numbers, size_t n, size_t step,
                        unsigned width)
{
    const unsigned char *at = psnap_cursor_take(payload, n * width);

    for (size_t i = 0; i < n; i++)
        numbers[i * step] = at && width ? at[i] : 0;
    for (unsigned p = 1; at && p < width; p++)
        for (size_t i = 0; i < n; i++)
            numbers[i * step] |= (uint32_t)at[p * n + i] << (8 * p);
}

/* The coding of copies at one level, as a lane's row has it. */
struct copies_coding {
    uint32_t copies, window;
    uint8_t literals_width, from_width, length_width;
};

/* The coding of one track of a lane. */
struct coding {
    uint64_t base;
    uint32_t literals;
    uint32_t level_count;
    struct copies_coding levels[PSNAP_PST_LEVELS];
    uint8_t shift, value_width, run_width;
    bool absolute;
};

/* The row's rest on a level of copies; whether another level follows. */
static bool get_level_row(struct psnap_cursor *payload, struct copies_coding *level)
{
    const uint8_t window = psnap_cursor_u8(payload);

    level->from_width = psnap_cursor_u8(payload);
    level->literals_width = level->from_width & 15;
    level->from_width >>= 4;
    level->length_width = psnap_cursor_u8(payload);
    if ((window & ~PSNAP_PST_MORE_LEVELS) > 31 || level->literals_width > 4 ||
        level->from_width > 4 || level->length_width > 4)
        payload->failed = true;
    else
        level->window = UINT32_C(1) << (window & ~PSNAP_PST_MORE_LEVELS);
    return window & PSNAP_PST_MORE_LEVELS;
}

static void get_track_row(struct psnap_cursor *payload, bool addresses, uint64_t first,
                          struct coding *coding)
{
    uint32_t copies;
    bool more;

    *coding = (struct coding){0};
    coding->literals = (uint32_t)psnap_cursor_below(payload, PSNAP_PST_LITERALS_MAX);
    if (coding->literals == 0)
        return;
    copies = (uint32_t)psnap_cursor_below(payload, PSNAP_PST_COPIES_MAX);
    coding->run_width = psnap_cursor_u8(payload);
    coding->value_width = coding->run_width & 15;
    coding->run_width >>= 4;
    if (addresses) {
        coding->shift = psnap_cursor_u8(payload);
        coding->absolute = coding->shift >> 7;
        coding->shift &= 0x7f;
    }
    if (coding->absolute)
        coding->base = first + psnap_unzigzag(psnap_cursor_varint(payload));
    for (more = copies > 0; more && !payload->failed; coding->level_count++) {
        if (coding->level_count == PSNAP_PST_LEVELS) {
            payload->failed = true;
            return;
        }
        if (coding->level_count > 0)
            copies = (uint32_t)psnap_cursor_below(payload, PSNAP_PST_COPIES_MAX);
        coding->levels[coding->level_count].copies = copies;
        more = get_level_row(payload, &coding->levels[coding->level_count]);
    }
    if (coding->shift > 63 || coding->value_width > 8 || coding->run_width > 4)
        payload->failed = true;
}

/* Reads the row of a lane, given the access of the row before. */
static void get_row(struct psnap_cursor *payload, uint32_t ref_count, struct psnap_access *access,
                    struct coding *next, struct coding *address)
{
    access->ref += (uint32_t)psnap_unzigzag(psnap_cursor_varint(payload));
    access->thread = (uint16_t)psnap_cursor_below(payload, UINT16_MAX);
    access->size = psnap_cursor_u8(payload);
    access->kind = psnap_cursor_u8(payload);
    access->address += psnap_unzigzag(psnap_cursor_varint(payload));
    if (access->ref >= ref_count || access->size < 1 || access->size > PSNAP_ACCESS_SIZE_MAX ||
        access->kind > PSNAP_ATOMIC)
        payload->failed = true;
    get_track_row(payload, false, 0, next);
    get_track_row(payload, true, access->address, address);
}

static void add_totals(struct totals *totals, const struct coding *coding)
{
    totals->literals += coding->literals;
    totals->levels += coding->level_count;
    for (uint32_t i = 0; i < coding->level_count; i++) {
        totals->copies += coding->levels[i].copies;
        totals->window += coding->levels[i].window;
        totals->places += window_places(coding->levels[i].window);
    }
}

/* The copies of a track; `at` says where those of the tracks before end. */
static struct psnap_pst_unfold_level *get_levels(struct psnap_pst_decoder *decoder,
                                                 struct psnap_cursor *payload,
                                                 const struct coding *coding,
                                                 const struct totals *at)
{
    struct psnap_pst_unfold_level *levels = decoder->levels + at->levels;
    struct psnap_pst_copy *copies = decoder->copies + at->copies;
    struct psnap_pst_token *window = decoder->windows + at->places;

    for (uint32_t i = 0; i < coding->level_count; i++) {
        const struct copies_coding *level = &coding->levels[i];
        const uint32_t n = level->copies;

        get_numbers(payload, &copies->literals, n, COPY_NUMBERS, level->literals_width);
        get_numbers(payload, &copies->from, n, COPY_NUMBERS, level->from_width);
        get_numbers(payload, &copies->length, n, COPY_NUMBERS, level->length_width);
        levels[i] = (struct psnap_pst_unfold_level){
            .copies = copies, .copy_count = n, .window = window, .window_room = level->window};
        copies += n;
        window += window_places(level->window);
    }
    return levels;
}

/* The numbers of one track; `at` says where those of the tracks before end. */
static void get_track(struct psnap_pst_decoder *decoder, struct psnap_cursor *payload,
                      const struct coding *coding, bool addresses, struct totals *at,
                      struct psnap_pst_read_track *track)
{
    uint64_t *values = decoder->values + at->literals;

    get_words(payload, values, coding->literals, coding->value_width);
    get_numbers(payload, decoder->runs + at->literals, coding->literals, 1, coding->run_width);
    for (uint32_t i = 0; addresses && i < coding->literals; i++)
        if (coding->absolute)
            values[i] = (values[i] << coding->shift) + coding->base;
        else
            values[i] = psnap_unzigzag(values[i]) << coding->shift;
    *track = (struct psnap_pst_read_track){
        .unfolder = {.values = values,
                     .runs = decoder->runs + at->literals,
                     .levels = get_levels(decoder, payload, coding, at),
                     .level_count = coding->level_count,
                     .literals = coding->literals}};
    add_totals(at, coding);
    unfold_start(&track->unfolder);
}

static bool get_lane(struct psnap_pst_decoder *decoder, struct psnap_cursor *rows,
                     struct psnap_cursor *planes, uint32_t ref_count, uint32_t index,
                     struct psnap_access *access, struct totals *at)
{
    struct psnap_pst_read_lane *lane = &decoder->lanes[index];
    struct psnap_pst_read_tracks *tracks = &decoder->tracks[index];
    struct coding next, address;

    get_row(rows, ref_count, access, &next, &address);
    get_track(decoder, planes, &next, false, at, &tracks->next);
    get_track(decoder, planes, &address, true, at, &tracks->address);
    if (planes->failed)
        return false;
    tracks->other = 0;
    tracks->score = 0;
    tracks->wins = PSNAP_PST_OTHER_WINS;
    tracks->favourite = (struct psnap_pst_favourite){0};
    tracks->absolute = address.absolute;
    *lane = (struct psnap_pst_read_lane){
        .last = access->address, .next = index + 1 < decoder->lane_count ? index + 1 : index};
    memcpy(&lane->key, (const char *)access + sizeof access->address, sizeof lane->key);
    if (!fetch(&tracks->next, &lane->next_run) || !fetch(&tracks->address, &lane->run))
        return false;
    lane->run += !tracks->address.ended; /* the lane's first access is not among the predictions */
    return true;
}

/*
 * The rows are read twice, as the planes come after all of them: once to find
 * the planes and what room is needed, once while they are read.
 */
static enum psnap_status get_lanes(struct psnap_pst_decoder *decoder, struct psnap_cursor *payload,
                                   uint32_t ref_count, bool *good, struct psnap_error *error)
{
    struct psnap_cursor rows = *payload;
    struct psnap_access access = {0};
    struct totals totals = {0}, at = {0};
    struct coding next, address;

    for (uint32_t i = 0; i < decoder->lane_count && !payload->failed; i++) {
        get_row(payload, ref_count, &access, &next, &address);
        add_totals(&totals, &next);
        add_totals(&totals, &address);
    }
    *good = !payload->failed && totals.literals <= PSNAP_PST_LITERALS_MAX &&
            totals.copies <= PSNAP_PST_COPIES_MAX && totals.window <= PSNAP_PST_WINDOWS_MAX;
    if (!*good)
        return PSNAP_OK;
    if (!reserve_all(decoder, &totals))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    access = (struct psnap_access){0};
    for (uint32_t i = 0; i < decoder->lane_count && *good; i++)
        *good = get_lane(decoder, &rows, payload, ref_count, i, &access, &at);
    *good = *good && !payload->failed && payload->at == payload->end;
    return PSNAP_OK;
}

enum psnap_status psnap_pst_decoder_start(struct psnap_pst_decoder *decoder,
                                          struct psnap_cursor *payload, uint32_t accesses,
                                          uint32_t ref_count, struct psnap_error *error)
{
    enum psnap_status status;
    bool good;

    decoder->lane_count = (uint32_t)psnap_cursor_below(payload, PSNAP_PST_LANES_MAX);
    if (payload->failed || decoder->lane_count == 0 || accesses == 0)
        return psnap_pst_makes_no_sense(error);
    status = get_lanes(decoder, payload, ref_count, &good, error);
    if (status != PSNAP_OK)
        return status;
    decoder->current = 0;
    decoder->address = 0;
    decoder->left = accesses;
    decoder->started = false;
    return good ? PSNAP_OK : psnap_pst_makes_no_sense(error);
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
    unfold_done(&track->unfolder, track->token.value, track->token.run);
    return fetch(track, run);
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

/* Finds a run among the next `limit` accesses, if one begins there that is worth it, of any blocks
 * and threads; its count is 0 if not. */
static void find_run(const struct psnap_pst_decoder *decoder, uint64_t limit,
                     struct psnap_pst_run *run)
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
        set_access(&run->first[k], address, lane->key);
    }
    if (decoder->lanes[first].follows &&
        decoder->address != address - (uint64_t)run->strides[run->width - 1])
        return; /* its first address is not in line with those that follow */
    run->count = (uint32_t)count;
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
        set_access(&block[i], address, lane->key);
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
    set_access(access, lane->last, lane->key);
}

/* The next `n` accesses of a chunk that was started, and of runs that may not be delivered as such;
 * false: they make no sense. */
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
        find_run(decoder, n - i, &run);
        if (run.count) {
            const struct psnap_run all = {
                .first = run.first, .strides = run.strides, .width = run.width};
            psnap_run_accesses(&all, 0, run.count * run.width, block + i);
            take_run(decoder, &run);
        }
        i += run.count * run.width;
        decoder->patience = run.count                          ? PATIENCE
                            : decoder->patience < PATIENCE_MAX ? 2 * decoder->patience
                                                               : PATIENCE_MAX;
    }
    return true;
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
        find_run(decoder, limit - *n, run);
        tries += 1 + run->width; /* lanes that were looked at */
        if (run->count && !may_be_run(run, program))
            run->count = 0;
        if (run->count)
            take_run(decoder, run);
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
