/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The payload of a chunk to lanes and the tokens of their tracks (PST.md, "The
 * payload"): what pst_payload.c writes.
 *
 * Starting a chunk checks everything that the hot loop of pst_decode.c relies
 * on: lanes are valid accesses of known refs, and tokens can be had.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/pst_decode.h"

/* Tokens: nine lines of 64 bytes, behind windows of at least a page. */
#define GAP 36u
#define GAP_FROM 256u

#define COPY_NUMBERS (sizeof(struct psnap_pst_copy) / sizeof(uint32_t))

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
    psnap_pst_unfold_start(&track->unfolder);
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
    if (!psnap_pst_read_fetch(&tracks->next, &lane->next_run) ||
        !psnap_pst_read_fetch(&tracks->address, &lane->run))
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
