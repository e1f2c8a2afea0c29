/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tokens that repeat are folded as they come (PST.md, "Tokens").
 *
 * A loop nest gives each of its tracks a token for each time that an inner
 * loop ends: tokens that repeat, or, in a triangle, that change by the same
 * from one to the next. A matrix that is gone through again gives a million
 * tokens that came before. So a token is either a literal or one more of a
 * copy: the token `distance` before it in its track, or, where the copy is
 * straight, as far from that one as that one is from the one again `distance`
 * before. Runs and values alike; a copy may reach into itself.
 *
 * A copy begins only after a literal, and only where the tokens before would
 * have been in it too: short distances are tried one by one, long ones are
 * found by the hash of the last four tokens. Two tables hold where a hash was
 * last seen: a small one all of them, a large one each sixteenth. Tracks in
 * which nothing was found for long are searched less often. All of it depends
 * on the tokens alone, so that the same accesses always make the same file.
 *
 * Memory: literals and copies of a chunk are bounded by its end, the windows
 * by CHUNK_WINDOWS: when that is used up, windows grow no more.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/pst.h"

#define RECENT_BITS 12 /* of the tables' lengths */
#define SAMPLED_BITS 17
#define SAMPLE_MASK 15u  /* one hash in 16 is sampled */
#define SELDOM_MASK 127u /* one in 128 in tracks that are searched less often */
#define NEAR 16u         /* distances that are tried */
#define PROOF 16u        /* tokens that must agree before a copy from far */
#define PRICE 2u         /* tokens that copies must save for a literal to be searched */
#define BEARABLE 256u    /* tokens that searches may have cost in vain */
#define FIRST_WINDOW 16u /* tokens */

#define EPOCH_STEP (UINT32_C(1) << 18) /* more than there are tracks */

struct place {
    uint32_t owner; /* the track, in this chunk; 0: none */
    uint32_t position;
};

struct psnap_pst_folder {
    struct place recent[1 << RECENT_BITS], sampled[1 << SAMPLED_BITS];
    uint32_t epoch;   /* plus a track's number it is the owner of its places */
    uint32_t tokens;  /* literals and copies */
    uint32_t windows; /* room of all windows */
};

struct psnap_pst_folder *psnap_pst_folder_new(void)
{
    struct psnap_pst_folder *folder = calloc(1, sizeof *folder);

    if (folder)
        folder->epoch = EPOCH_STEP;
    return folder;
}

void psnap_pst_folder_free(struct psnap_pst_folder *folder)
{
    free(folder);
}

void psnap_pst_folder_start(struct psnap_pst_folder *folder)
{
    folder->epoch += EPOCH_STEP;
    if (folder->epoch == 0) { /* owners of long ago would be taken for ours */
        memset(folder, 0, sizeof *folder);
        folder->epoch = EPOCH_STEP;
    }
    folder->tokens = folder->windows = 0;
}

uint32_t psnap_pst_folder_tokens(const struct psnap_pst_folder *folder)
{
    return folder->tokens;
}

void psnap_pst_track_reset(struct psnap_pst_track *track, size_t *bytes)
{
    *bytes +=
        track->literal_room * sizeof *track->literals + track->copy_room * sizeof *track->copies +
        track->window_have * sizeof *track->window + track->address_room * sizeof *track->addresses;
    *track = (struct psnap_pst_track){.literals = track->literals,
                                      .copies = track->copies,
                                      .addresses = track->addresses,
                                      .window = track->window,
                                      .address_room = track->address_room,
                                      .literal_room = track->literal_room,
                                      .copy_room = track->copy_room,
                                      .window_have = track->window_have};
}

void psnap_pst_track_release(struct psnap_pst_track *track)
{
    free(track->literals);
    free(track->copies);
    free(track->addresses);
    free(track->window);
    *track = (struct psnap_pst_track){0};
}

/* Room for one more of `count` items of `size` bytes. */
static bool grow(void *array, uint32_t count, uint32_t *room, size_t size)
{
    void **items = array, *larger;
    const uint32_t more = *room ? *room * 2 : 4;

    if (count < *room)
        return true;
    larger = realloc(*items, more * size);
    if (!larger)
        return false;
    *items = larger;
    *room = more;
    return true;
}

/* The tokens that can be looked back at: before the first copy they are the literals. */
static inline uint32_t history(const struct psnap_pst_track *track)
{
    return track->window_room && track->count > track->window_room ? track->window_room
                                                                   : track->count;
}

/* The token `back` before the next one; back is at most their history. */
static inline const struct psnap_pst_token *before(const struct psnap_pst_track *track,
                                                   uint32_t back)
{
    return track->window_room ? &track->window[(track->count - back) & (track->window_room - 1)]
                              : &track->literals[track->count - back];
}

static inline bool same(const struct psnap_pst_token *a, const struct psnap_pst_token *b)
{
    return a->value == b->value && a->run == b->run;
}

/* Whether the token `back` before the next one is in line with those `distance` and twice
 * `distance` before it. */
static inline bool in_line(const struct psnap_pst_track *track, uint32_t back, uint32_t distance)
{
    const struct psnap_pst_token *a = before(track, back), *b = before(track, back + distance),
                                 *c = before(track, back + 2 * distance);

    return a->value == 2 * b->value - c->value && a->run == 2 * b->run - c->run;
}

/* Makes the window this long, if the memory of all windows, `limit` tokens, allows it. */
static bool set_window(struct psnap_pst_folder *folder, struct psnap_pst_track *track,
                       uint32_t room, uint32_t limit)
{
    struct psnap_pst_token *larger;

    if (room > PSNAP_PST_WINDOW || folder->windows + (room - track->window_room) > limit)
        return false;
    if (track->window_have < room) {
        larger = realloc(track->window, room * sizeof *larger);
        if (!larger)
            return false;
        track->window = larger;
        track->window_have = room;
    }
    folder->windows += room - track->window_room;
    track->window_room = room;
    return true;
}

/* The first copy of a track begins: from here on not all tokens are literals. False: there is no
 * memory for it to reach back. */
static bool open_window(struct psnap_pst_folder *folder, struct psnap_pst_track *track)
{
    uint32_t room = FIRST_WINDOW, from;

    while (room <= track->count && room < PSNAP_PST_WINDOW)
        room *= 2;
    if (!set_window(folder, track, room, PSNAP_PST_CHUNK_WINDOWS))
        return false;
    from = track->count > room ? track->count - room : 0;
    for (uint32_t i = from; i < track->count; i++)
        track->window[i & (room - 1)] = track->literals[i];
    return true;
}

/* Adds a token to the window, which is first made larger if that leaves enough for others. */
static void remember(struct psnap_pst_folder *folder, struct psnap_pst_track *track,
                     struct psnap_pst_token token)
{
    if (track->count == track->window_room)
        set_window(folder, track, 2 * track->window_room, PSNAP_PST_CHUNK_WINDOWS / 2);
    track->window[track->count++ & (track->window_room - 1)] = token;
}

/* A distance at which the last tokens, a whole period at least, are in line. */
static void find_near(struct psnap_pst_track *track)
{
    const uint32_t have = history(track);

    for (uint32_t d = 1; d <= NEAR; d++) {
        const uint32_t proof = d < 2 ? 2 : d;
        uint32_t back = 1;

        if (proof + 2 * d > have)
            return;
        while (back <= proof && in_line(track, back, d))
            back++;
        if (back > proof) {
            track->distance = d;
            track->straight = true;
            return;
        }
    }
}

/* Whether the tokens before the `position`-th are those before the next one. */
static bool proved(const struct psnap_pst_track *track, uint32_t position)
{
    const uint32_t distance = track->count - position;

    if (distance == 0 || position < PROOF || distance + PROOF > history(track) ||
        distance > PSNAP_PST_WINDOW)
        return false;
    for (uint32_t back = 1; back <= PROOF; back++)
        if (!same(before(track, back), before(track, back + distance)))
            return false;
    return true;
}

static void find_far(struct psnap_pst_track *track, uint32_t owner, struct place *place)
{
    if (track->distance == 0 && place->owner == owner && proved(track, place->position)) {
        track->distance = track->count - place->position;
        track->straight = false;
    }
    *place = (struct place){owner, track->count};
}

static inline uint64_t mixed_hash(const struct psnap_pst_track *track, uint32_t number)
{
    return (track->hash + number) * UINT64_C(0x9e3779b97f4a7c15);
}

static inline bool is_sampled(uint64_t mixed, uint64_t mask)
{
    return ((mixed >> 20) & mask) == 0;
}

/* A copied token is only put down, so that what comes after the copy finds its last round. */
static inline void note_copied(struct psnap_pst_folder *folder, const struct psnap_pst_track *track,
                               uint32_t number)
{
    const uint64_t mixed = mixed_hash(track, number);

    if (is_sampled(mixed, SAMPLE_MASK))
        folder->sampled[mixed >> (64 - SAMPLED_BITS)] =
            (struct place){folder->epoch + number, track->count};
}

/* Looks for a copy that the next token may begin. */
static void search(struct psnap_pst_folder *folder, struct psnap_pst_track *track, uint32_t number)
{
    const uint64_t mixed = mixed_hash(track, number);
    const bool is_worth = track->spent < BEARABLE;
    const bool often = is_worth || (track->count & SELDOM_MASK) == 0;

    if (is_sampled(mixed, is_worth ? SAMPLE_MASK : SELDOM_MASK))
        find_far(track, folder->epoch + number, &folder->sampled[mixed >> (64 - SAMPLED_BITS)]);
    if (often)
        find_far(track, folder->epoch + number, &folder->recent[mixed >> (64 - RECENT_BITS)]);
    if (often && track->distance == 0)
        find_near(track);
    track->length = 0;
}

static bool end_copy(struct psnap_pst_folder *folder, struct psnap_pst_track *track)
{
    if (track->distance && track->length) {
        const uint32_t reach = track->distance * (track->straight ? 2 : 1);

        if (!grow(&track->copies, track->copy_count, &track->copy_room, sizeof *track->copies))
            return false;
        track->copies[track->copy_count++] = (struct psnap_pst_copy){
            track->since, track->distance * 2 + track->straight, track->length};
        track->since = 0;
        folder->tokens++;
        if (track->needed < reach)
            track->needed = reach;
        track->spent -= track->length < track->spent ? track->length : track->spent;
    }
    track->distance = 0;
    return true;
}

/*
 * Steps or addresses? A step's cost is taken as its bits and two more for how
 * many there are, an address' as the bits of the range: uniformly random
 * addresses are a bit cheaper as addresses, everything with locality as steps.
 */
static void settle(struct psnap_pst_track *track)
{
    uint64_t low = UINT64_MAX, high = 0, bits = 0, n = 0;

    for (uint32_t i = 0; i < track->literal_count; i++) {
        if (track->literals[i].expected)
            continue;
        n++;
        low = track->addresses[i] < low ? track->addresses[i] : low;
        high = track->addresses[i] > high ? track->addresses[i] : high;
        bits += 66 - (uint64_t)__builtin_clzll(psnap_zigzag(track->literals[i].value) | 1);
    }
    track->absolute = n > 0 && n * (64 - (uint64_t)__builtin_clzll((high - low) | 1)) < bits;
    if (!track->absolute) {
        free(track->addresses);
        track->addresses = NULL;
        track->address_room = 0;
    }
}

bool psnap_pst_fold_end(struct psnap_pst_folder *folder, struct psnap_pst_track *track)
{
    if (track->addresses && !track->absolute)
        settle(track);
    return end_copy(folder, track);
}

static bool add_literal(struct psnap_pst_track *track, struct psnap_pst_token token,
                        const uint64_t *address)
{
    const uint32_t n = track->literal_count;

    if (!grow(&track->literals, n, &track->literal_room, sizeof *track->literals))
        return false;
    if (address && n == PSNAP_PST_SETTLED)
        settle(track);
    if (address && (n < PSNAP_PST_SETTLED || track->absolute)) {
        if (!grow(&track->addresses, n, &track->address_room, sizeof *track->addresses))
            return false;
        track->addresses[n] = *address;
    }
    track->literals[track->literal_count++] = token;
    track->since++;
    if (track->spent < BEARABLE)
        track->spent += PRICE;
    return true;
}

/* Whether the copy under way goes on with this token. */
static inline bool goes_on(const struct psnap_pst_track *track, struct psnap_pst_token token)
{
    const struct psnap_pst_token *a = before(track, track->distance);

    if (!track->straight)
        return a->value == token.value && a->run == token.run;
    const struct psnap_pst_token *b = before(track, track->distance * 2);
    return token.value == 2 * a->value - b->value && token.run == 2 * a->run - b->run;
}

bool psnap_pst_fold(struct psnap_pst_folder *folder, struct psnap_pst_track *track, uint32_t number,
                    struct psnap_pst_token token, uint64_t expected, const uint64_t *address)
{
    token.expected = token.value == track->expected;
    track->expected = expected;
    track->hash = (track->hash << 16) +
                  ((token.value + ((uint64_t)token.run << 40)) * UINT64_C(0xd6e8feb86659fd93) >> 7);
    if (track->distance) {
        if (goes_on(track, token) && (track->window_room || open_window(folder, track))) {
            track->length++;
            remember(folder, track, token);
            note_copied(folder, track, number);
            return true;
        }
        if (!end_copy(folder, track))
            return false;
    }
    if (!add_literal(track, token, address))
        return false;
    if (track->window_room)
        remember(folder, track, token);
    else
        track->count++;
    folder->tokens++;
    search(folder, track, number);
    return true;
}
