/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The payload of a chunk back to accesses: the predictions of pst_encode.c
 * run again, corrected by the tokens read.
 *
 * Starting a chunk checks everything that the hot loop relies on: lanes are
 * valid accesses of known refs, and tokens can be had. What is left to check
 * there is that tokens name lanes there are and, at the end, that none is
 * left over.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/pst.h"

#define COPY_NUMBERS (sizeof(struct psnap_pst_copy) / sizeof(uint32_t))

struct lane {
    uint64_t key; /* the second half of the access record */
    uint64_t last, step;
    uint32_t next;     /* lane predicted after this one */
    uint32_t next_run; /* right predictions to come before the next token */
    uint32_t run;      /* the same of addresses */
    uint32_t follows;  /* the base is the access before, else the lane's last one */
};

/* The token that ends the run under way, and those after it. */
struct track {
    struct psnap_pst_unfolder unfolder;
    struct psnap_pst_token token;
    uint64_t expected; /* value of the next token, if it is a literal that says so */
    bool ended;        /* there is none */
};

struct lane_tracks {
    struct track next, address;
    uint64_t other;                       /* step from the other base at the last token */
    uint32_t score;                       /* tokens in a row at which it would have been right */
    uint32_t wins;                        /* a lane that does not follow does when so many were */
    struct psnap_pst_favourite favourite; /* of them */
    bool absolute;                        /* values of literals are addresses, else steps */
};

struct psnap_pst_decoder {
    struct lane *lanes;
    struct lane_tracks *tracks;
    uint64_t *values; /* of literals, track after track */
    uint32_t *runs;
    struct psnap_pst_copy *copies;
    struct psnap_pst_token *windows;
    struct psnap_pst_unfold_level *levels;
    uint32_t lane_room, track_room, value_room, run_room, copy_room, window_room, level_room;
    uint32_t lane_count;
    uint32_t current; /* lane of the last access */
    uint32_t left;    /* accesses to come */
    uint64_t address; /* of the last access */
    uint32_t version; /* of the format */
    bool started;
};

struct psnap_pst_decoder *psnap_pst_decoder_new(void)
{
    return calloc(1, sizeof(struct psnap_pst_decoder));
}

void psnap_pst_decoder_free(struct psnap_pst_decoder *decoder)
{
    if (!decoder)
        return;
    free(decoder->lanes);
    free(decoder->tracks);
    free(decoder->values);
    free(decoder->runs);
    free(decoder->copies);
    free(decoder->windows);
    free(decoder->levels);
    free(decoder);
}

void psnap_pst_decoder_version(struct psnap_pst_decoder *decoder, uint32_t version)
{
    decoder->version = version;
}

/* Room for `count` items, one at least; what was in it may be lost. */
static bool reserve(void *array, uint32_t *room, uint64_t count, size_t size)
{
    void **items = array;

    if (*room > count)
        return true;
    free(*items);
    *room = 0;
    *items = malloc((count + 1) * size);
    if (*items)
        *room = (uint32_t)count + 1;
    return *items != NULL;
}

/* How much of everything the tracks of the chunk have. */
struct totals {
    uint64_t literals, copies, window, levels;
};

static bool reserve_all(struct psnap_pst_decoder *decoder, const struct totals *totals)
{
    const uint32_t lanes = decoder->lane_count;

    return reserve(&decoder->lanes, &decoder->lane_room, lanes, sizeof *decoder->lanes) &&
           reserve(&decoder->tracks, &decoder->track_room, lanes, sizeof *decoder->tracks) &&
           reserve(&decoder->values, &decoder->value_room, totals->literals,
                   sizeof *decoder->values) &&
           reserve(&decoder->runs, &decoder->run_room, totals->literals, sizeof *decoder->runs) &&
           reserve(&decoder->copies, &decoder->copy_room, totals->copies,
                   sizeof *decoder->copies) &&
           reserve(&decoder->windows, &decoder->window_room, totals->window,
                   sizeof *decoder->windows) &&
           reserve(&decoder->levels, &decoder->level_room, totals->levels, sizeof *decoder->levels);
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

/* What a lane's row says of the copies of one level. */
struct copies_coding {
    uint32_t copies, window;
    uint8_t literals_width, from_width, length_width;
};

/* What it says of one of its tracks. */
struct coding {
    uint64_t base;
    uint32_t literals;
    uint32_t level_count;
    struct copies_coding levels[PSNAP_PST_LEVELS];
    uint8_t shift, value_width, run_width;
    bool absolute;
};

/* What rows may say. */
struct row_rules {
    uint32_t ref_count, levels;
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

static void get_track_row(struct psnap_cursor *payload, const struct row_rules *rules,
                          bool addresses, uint64_t first, struct coding *coding)
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
        if (coding->level_count == rules->levels) {
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
static void get_row(struct psnap_cursor *payload, const struct row_rules *rules,
                    struct psnap_access *access, struct coding *next, struct coding *address)
{
    access->ref += (uint32_t)psnap_unzigzag(psnap_cursor_varint(payload));
    access->thread = (uint16_t)psnap_cursor_below(payload, UINT16_MAX);
    access->size = psnap_cursor_u8(payload);
    access->kind = psnap_cursor_u8(payload);
    access->address += psnap_unzigzag(psnap_cursor_varint(payload));
    if (access->ref >= rules->ref_count || access->size < 1 ||
        access->size > PSNAP_ACCESS_SIZE_MAX || access->kind > PSNAP_ATOMIC)
        payload->failed = true;
    get_track_row(payload, rules, false, 0, next);
    get_track_row(payload, rules, true, access->address, address);
}

static void add_totals(struct totals *totals, const struct coding *coding)
{
    totals->literals += coding->literals;
    totals->levels += coding->level_count;
    for (uint32_t i = 0; i < coding->level_count; i++) {
        totals->copies += coding->levels[i].copies;
        totals->window += coding->levels[i].window;
    }
}

/* The next token; false: there may be more, but they cannot be had. */
static inline bool fetch(struct track *track, uint32_t *run)
{
    track->ended = !psnap_pst_unfold(&track->unfolder, &track->token);
    *run = track->ended ? UINT32_MAX : track->token.run;
    return !track->unfolder.bad;
}

/* The copies of a track; `at` says where those of the tracks before end. */
static struct psnap_pst_unfold_level *get_levels(struct psnap_pst_decoder *decoder,
                                                 struct psnap_cursor *payload,
                                                 const struct coding *coding,
                                                 const struct totals *at)
{
    struct psnap_pst_unfold_level *levels = decoder->levels + at->levels;
    struct psnap_pst_copy *copies = decoder->copies + at->copies;
    struct psnap_pst_token *window = decoder->windows + at->window;

    for (uint32_t i = 0; i < coding->level_count; i++) {
        const struct copies_coding *level = &coding->levels[i];
        const uint32_t n = level->copies;

        get_numbers(payload, &copies->literals, n, COPY_NUMBERS, level->literals_width);
        get_numbers(payload, &copies->from, n, COPY_NUMBERS, level->from_width);
        get_numbers(payload, &copies->length, n, COPY_NUMBERS, level->length_width);
        levels[i] = (struct psnap_pst_unfold_level){
            .copies = copies, .copy_count = n, .window = window, .window_room = level->window};
        copies += n;
        window += level->window;
    }
    return levels;
}

/* The numbers of one track; `at` says where those of the tracks before end. */
static void get_track(struct psnap_pst_decoder *decoder, struct psnap_cursor *payload,
                      const struct coding *coding, bool addresses, struct totals *at,
                      struct track *track)
{
    uint64_t *values = decoder->values + at->literals;

    get_words(payload, values, coding->literals, coding->value_width);
    get_numbers(payload, decoder->runs + at->literals, coding->literals, 1, coding->run_width);
    for (uint32_t i = 0; addresses && i < coding->literals; i++)
        if (coding->absolute)
            values[i] = (values[i] << coding->shift) + coding->base;
        else
            values[i] = psnap_unzigzag(values[i]) << coding->shift;
    *track = (struct track){.unfolder = {.values = values,
                                         .runs = decoder->runs + at->literals,
                                         .levels = get_levels(decoder, payload, coding, at),
                                         .level_count = coding->level_count,
                                         .literals = coding->literals}};
    add_totals(at, coding);
    psnap_pst_unfold_start(&track->unfolder);
}

static bool get_lane(struct psnap_pst_decoder *decoder, struct psnap_cursor *rows,
                     struct psnap_cursor *planes, const struct row_rules *rules, uint32_t index,
                     struct psnap_access *access, struct totals *at)
{
    struct lane *lane = &decoder->lanes[index];
    struct lane_tracks *tracks = &decoder->tracks[index];
    struct coding next, address;

    get_row(rows, rules, access, &next, &address);
    get_track(decoder, planes, &next, false, at, &tracks->next);
    get_track(decoder, planes, &address, true, at, &tracks->address);
    if (planes->failed)
        return false;
    tracks->other = 0;
    tracks->score = 0;
    tracks->wins = PSNAP_PST_OTHER_WINS;
    tracks->favourite = (struct psnap_pst_favourite){0};
    tracks->absolute = address.absolute;
    *lane = (struct lane){.last = access->address,
                          .next = index + 1 < decoder->lane_count ? index + 1 : index};
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
    const struct row_rules rules = {
        ref_count, decoder->version < PSNAP_PST_VERSION_FOLDED ? 1 : PSNAP_PST_LEVELS};
    struct psnap_cursor rows = *payload;
    struct psnap_access access = {0};
    struct totals totals = {0}, at = {0};
    struct coding next, address;

    for (uint32_t i = 0; i < decoder->lane_count && !payload->failed; i++) {
        get_row(payload, &rules, &access, &next, &address);
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
        *good = get_lane(decoder, &rows, payload, &rules, i, &access, &at);
    *good = *good && !payload->failed && payload->at == payload->end;
    return PSNAP_OK;
}

static enum psnap_status makes_no_sense(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_CORRUPT, "chunk of accesses makes no sense");
}

enum psnap_status psnap_pst_decoder_start(struct psnap_pst_decoder *decoder,
                                          struct psnap_cursor *payload, uint32_t accesses,
                                          uint32_t ref_count, struct psnap_error *error)
{
    enum psnap_status status;
    bool good;

    decoder->lane_count = (uint32_t)psnap_cursor_below(payload, PSNAP_PST_LANES_MAX);
    if (payload->failed || decoder->lane_count == 0 || accesses == 0)
        return makes_no_sense(error);
    status = get_lanes(decoder, payload, ref_count, &good, error);
    if (status != PSNAP_OK)
        return status;
    decoder->current = 0;
    decoder->address = 0;
    decoder->left = accesses;
    decoder->started = false;
    return good ? PSNAP_OK : makes_no_sense(error);
}

/* The value of the track's token is known. Goes on to the next one, given the run until then and
 * the prediction that was wrong; `run` gets that of the next one. False: it cannot be had. */
static inline bool finish_token(struct track *track, uint64_t prediction, uint32_t *run)
{
    track->expected = track->token.run ? track->token.value : prediction;
    psnap_pst_unfold_done(&track->unfolder, track->token.value, track->token.run);
    return fetch(track, run);
}

/* The lane after `index`, not as predicted; false when there is no such lane. */
static bool take_next(struct psnap_pst_decoder *decoder, uint32_t *index)
{
    struct lane *lane = &decoder->lanes[*index];
    struct track *track = &decoder->tracks[*index].next;
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
static uint64_t step_of(const struct psnap_pst_decoder *decoder, const struct lane_tracks *tracks,
                        uint64_t base, uint64_t other_base)
{
    const struct track *track = &tracks->address;

    if (!track->unfolder.literal || !(track->unfolder.expected || tracks->absolute))
        return track->token.value;
    if (!track->unfolder.expected)
        return track->token.value - base;
    if (tracks->favourite.trust >= PSNAP_PST_TRUSTED &&
        decoder->version >= PSNAP_PST_VERSION_FOLDED)
        return other_base + tracks->favourite.other - base;
    return track->expected;
}

/* The next address of a lane, not as predicted, after an access at `before`. */
static bool take_address(struct psnap_pst_decoder *decoder, uint32_t index, uint64_t before,
                         uint64_t *address)
{
    struct lane *lane = &decoder->lanes[index];
    struct lane_tracks *tracks = &decoder->tracks[index];
    struct psnap_pst_token *token = &tracks->address.token;
    const uint64_t base = lane->follows ? before : lane->last, predicted = lane->step;
    const uint64_t other_base = lane->follows ? lane->last : before;
    uint64_t other;

    if (tracks->address.ended)
        return false;
    token->value = step_of(decoder, tracks, base, other_base);
    *address = base + token->value;
    other = *address - other_base;
    tracks->score = other == tracks->other ? tracks->score + 1 : 0;
    tracks->other = other;
    psnap_pst_favourite_note(&tracks->favourite, other);
    if (token->run == 0)
        lane->step = token->value;
    if (tracks->score == (lane->follows ? PSNAP_PST_OTHER_WINS : tracks->wins)) {
        if (!lane->follows && tracks->wins <= PSNAP_PST_OTHER_WINS_MAX &&
            decoder->version >= PSNAP_PST_VERSION_FOLDED)
            tracks->wins *= 2;
        tracks->other = lane->step;
        tracks->favourite = (struct psnap_pst_favourite){lane->step, 0};
        lane->step = other;
        lane->follows ^= 1;
        tracks->score = 0;
    }
    return finish_token(&tracks->address, predicted, &lane->run);
}

static inline void set_access(struct psnap_access *access, uint64_t address, uint64_t key)
{
    access->address = address;
    memcpy((char *)access + sizeof access->address, &key, sizeof key);
}

/* No token may be left when the chunk has ended. */
static bool all_taken(const struct psnap_pst_decoder *decoder)
{
    for (uint32_t i = 0; i < decoder->lane_count; i++)
        if (!decoder->tracks[i].next.ended || !decoder->tracks[i].address.ended)
            return false;
    return true;
}

enum psnap_status psnap_pst_decoder_next(struct psnap_pst_decoder *decoder,
                                         struct psnap_access *block, size_t n,
                                         struct psnap_error *error)
{
    struct lane *const lanes = decoder->lanes;
    uint32_t index = decoder->current;
    uint64_t address = decoder->address;
    size_t i = 0;

    if (!decoder->started && n > 0) {
        decoder->started = true;
        if (lanes->run != UINT32_MAX)
            lanes->run--;
        address = lanes->last;
        set_access(&block[i++], address, lanes->key);
    }
    for (; i < n; i++) {
        struct lane *lane = &lanes[index];

        if (lane->next_run) {
            lane->next_run--;
            index = lane->next;
        } else if (!take_next(decoder, &index)) {
            return makes_no_sense(error);
        }
        lane = &lanes[index];
        if (lane->run) {
            lane->run--;
            address = (lane->follows ? address : lane->last) + lane->step;
        } else if (!take_address(decoder, index, address, &address)) {
            return makes_no_sense(error);
        }
        lane->last = address;
        set_access(&block[i], address, lane->key);
    }
    decoder->current = index;
    decoder->address = address;
    decoder->left -= (uint32_t)n;
    return decoder->left || all_taken(decoder) ? PSNAP_OK : makes_no_sense(error);
}

/* How often the lanes that are predicted next come round again, all addresses as predicted; their
 * number goes to *width. */
static uint64_t find_cycle(const struct psnap_pst_decoder *decoder, uint32_t first, size_t *width)
{
    uint64_t count = UINT32_MAX;
    uint32_t index = first;

    *width = 0;
    do {
        const struct lane *lane = &decoder->lanes[index];
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

/*
 * What the cycle's lanes advance by: a lane that follows another as much as
 * that one, lane after lane, from one that has a step of its own.
 */
static bool set_strides(const struct psnap_pst_decoder *decoder, uint32_t first,
                        struct psnap_pst_run *run)
{
    const struct lane *lane = &decoder->lanes[first];
    int64_t stride = 0;
    bool known = false;

    for (size_t k = 0; k < 2 * run->width; k++, lane = &decoder->lanes[lane->next]) {
        known |= !lane->follows;
        if (!lane->follows)
            stride = (int64_t)lane->step;
        run->strides[k % run->width] = stride;
    }
    return known;
}

void psnap_pst_decoder_run(struct psnap_pst_decoder *decoder, const struct psnap_program *program,
                           uint64_t limit, struct psnap_pst_run *run)
{
    const uint32_t first = decoder->lanes[decoder->current].next;
    uint64_t count, address = decoder->address;
    uint32_t index = first;

    run->count = 0;
    if (!decoder->started || decoder->lanes[decoder->current].next_run == 0)
        return;
    count = find_cycle(decoder, first, &run->width);
    if (count == 0)
        return;
    if (count > limit / run->width)
        count = limit / run->width;
    if (count < PSNAP_PST_RUN_COUNT || count * run->width < PSNAP_PST_RUN_ACCESSES ||
        !set_strides(decoder, first, run))
        return;
    for (size_t k = 0; k < run->width; k++, index = decoder->lanes[index].next) {
        const struct lane *lane = &decoder->lanes[index];

        address = (lane->follows ? address : lane->last) + lane->step;
        set_access(&run->first[k], address, lane->key);
    }
    if (decoder->lanes[first].follows &&
        decoder->address != address - (uint64_t)run->strides[run->width - 1])
        return; /* its first address is not in line with those that follow */
    if (!may_be_run(run, program))
        return;
    decoder->lanes[decoder->current].next_run--;
    for (size_t k = 0; k < run->width; k++) {
        struct lane *lane = &decoder->lanes[index];

        decoder->current = index;
        lane->next_run -= (uint32_t)count;
        lane->run -= (uint32_t)count;
        lane->last = run->first[k].address + (count - 1) * (uint64_t)run->strides[k];
        index = lane->next;
    }
    decoder->lanes[decoder->current].next_run++; /* it is not left yet */
    decoder->address = decoder->lanes[decoder->current].last;
    decoder->left -= (uint32_t)(count * run->width);
    run->count = (uint32_t)count;
}
