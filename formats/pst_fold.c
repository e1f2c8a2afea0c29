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
 * which nothing was found for long are searched less often: in between, tokens
 * are only put down (psnap_pst_fold), which is what the rate of irregular
 * streams depends on. All of it depends on the tokens alone, so that the same
 * accesses always make the same file.
 *
 * What comes of that, literals and copies, is folded again by the next level,
 * whose items they are: a nest's inner loop is a copy, of which the loop around
 * it has one each round, after as many literals. If their lengths are affine in
 * the outer counter they are in a straight line; if they are quotients or
 * remainders by p, as in vectorised and unrolled triangles, they are so over p
 * rounds. So the levels above the first look further for what is in line, but
 * only after a copy, where a round of the outer loop may have ended. A level is
 * there from the first copy of the one below on, unless it found nothing for
 * long: then it is given up until the next such copy, and begins anew. What none
 * folds is written.
 *
 * Memory: literals and copies of a chunk are bounded by its end, the windows
 * by CHUNK_WINDOWS: when that is used up, windows grow no more.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/pst.h"

#define RECENT_BITS 12 /* of the tables' lengths */
#define SAMPLED_BITS 17
#define NEAR 16u         /* distances that are tried */
#define PROOF 16u        /* tokens that must agree before a copy from far */
#define PRICE 2u         /* tokens that copies must save for a literal to be searched */
#define BEARABLE 256u    /* tokens that searches may have cost in vain */
#define FIRST_WINDOW 16u /* items */

/* The same of levels above the first. */
#define UPPER_NEAR 1024u
#define UPPER_BEARABLE 4096u
#define UPPER_WINDOW 4096u

#define EPOCH_STEP (UINT32_C(1) << 18) /* more than there are tracks */

struct place {
    uint32_t owner; /* the track, in this chunk; 0: none */
    uint32_t position;
};

struct psnap_pst_places {
    struct place recent[1 << RECENT_BITS], sampled[1 << SAMPLED_BITS];
};

bool psnap_pst_folder_init(struct psnap_pst_folder *folder)
{
    *folder =
        (struct psnap_pst_folder){.epoch = EPOCH_STEP, .places = calloc(1, sizeof *folder->places)};
    return folder->places;
}

void psnap_pst_folder_start(struct psnap_pst_folder *folder)
{
    folder->epoch += EPOCH_STEP;
    if (folder->epoch == 0) { /* owners of long ago would be taken for ours */
        memset(folder->places, 0, sizeof *folder->places);
        folder->epoch = EPOCH_STEP;
    }
    folder->tokens = folder->windows = 0;
}

/* Empties a level, but keeps its memory. */
static void reset_level(struct psnap_pst_level *level, size_t *bytes)
{
    *bytes += level->copy_room * sizeof *level->copies + level->window_have * sizeof *level->window;
    *level = (struct psnap_pst_level){.copies = level->copies,
                                      .window = level->window,
                                      .copy_room = level->copy_room,
                                      .window_have = level->window_have};
}

void psnap_pst_track_reset(struct psnap_pst_track *track, size_t *bytes)
{
    *bytes += track->value_room * sizeof *track->values + track->run_room * sizeof *track->runs +
              track->address_room * sizeof *track->addresses;
    reset_level(&track->first, bytes);
    for (uint32_t i = 0; track->upper && i < PSNAP_PST_LEVELS - 1; i++)
        reset_level(&track->upper[i], bytes);
    *track = (struct psnap_pst_track){.values = track->values,
                                      .runs = track->runs,
                                      .addresses = track->addresses,
                                      .first = track->first,
                                      .upper = track->upper,
                                      .address_room = track->address_room,
                                      .value_room = track->value_room,
                                      .run_room = track->run_room};
}

void psnap_pst_track_release(struct psnap_pst_track *track)
{
    for (uint32_t m = 1; m <= (track->upper ? PSNAP_PST_LEVELS : 1); m++) {
        free(psnap_pst_track_level(track, m)->copies);
        free(psnap_pst_track_level(track, m)->window);
    }
    free(track->upper);
    free(track->values);
    free(track->runs);
    free(track->addresses);
    *track = (struct psnap_pst_track){0};
}

/* Room for one more of `count` items of `size` bytes. */
static bool grow(void *array, uint32_t count, uint32_t *room, size_t size)
{
    const uint32_t more = *room ? *room * 2 : 4;

    if (count < *room)
        return true;
    if (!psnap_resize(array, more, size))
        return false;
    *room = more;
    return true;
}

/* The items that can be looked back at: of level 1, before the first copy, the literals. */
static inline uint32_t history(const struct psnap_pst_level *level)
{
    return level->window_room && level->count > level->window_room ? level->window_room
                                                                   : level->count;
}

/* The item `back` before the next one; back is at most their history. */
static inline struct psnap_pst_token before(const struct psnap_pst_track *track,
                                            const struct psnap_pst_level *level, uint32_t back)
{
    const uint32_t i = level->count - back;

    if (level->window_room)
        return level->window[i & (level->window_room - 1)];
    return (struct psnap_pst_token){track->values[i], track->runs[i] >> 1, 0, 0};
}

static inline bool same(struct psnap_pst_token a, struct psnap_pst_token b)
{
    return a.value == b.value && a.run == b.run;
}

/* Whether a is as far from b as b is from c. */
static inline bool straight(struct psnap_pst_token a, struct psnap_pst_token b,
                            struct psnap_pst_token c)
{
    return a.value == 2 * b.value - c.value && a.run == 2 * b.run - c.run && a.level == b.level &&
           b.level == c.level;
}

/* Whether the last `n` items are in line with those `distance` and twice `distance` before. */
static bool in_line(const struct psnap_pst_track *track, const struct psnap_pst_level *level,
                    uint32_t n, uint32_t distance)
{
    uint32_t back = 1;

    while (back <= n && straight(before(track, level, back), before(track, level, back + distance),
                                 before(track, level, back + 2 * distance)))
        back++;
    return back > n;
}

/* Makes the window this long, if the memory of all windows, `limit` items, allows it. */
static bool set_window(struct psnap_pst_folder *folder, struct psnap_pst_level *level,
                       uint32_t room, uint32_t limit)
{
    if (room > PSNAP_PST_WINDOW || folder->windows + (room - level->window_room) > limit)
        return false;
    if (level->window_have < room) {
        if (!psnap_resize(&level->window, room, sizeof *level->window))
            return false;
        level->window_have = room;
    }
    folder->windows += room - level->window_room;
    level->window_room = room;
    return true;
}

/* The first copy of a track begins: from here on not all tokens are literals. False: there is no
 * memory for it to reach back. */
static bool open_window(struct psnap_pst_folder *folder, struct psnap_pst_track *track)
{
    struct psnap_pst_level *level = &track->first;
    uint32_t room = FIRST_WINDOW, from;

    while (room <= level->count && room < PSNAP_PST_WINDOW)
        room *= 2;
    if (!set_window(folder, level, room, PSNAP_PST_CHUNK_WINDOWS))
        return false;
    from = level->count > room ? level->count - room : 0;
    for (uint32_t i = from; i < level->count; i++)
        level->window[i & (room - 1)] =
            (struct psnap_pst_token){track->values[i], track->runs[i] >> 1, 0, 0};
    return true;
}

/* Adds an item to the window, which is first made larger, up to `most`, if that leaves enough for
 * others. */
static void remember(struct psnap_pst_folder *folder, struct psnap_pst_level *level,
                     struct psnap_pst_token item, uint32_t most)
{
    if (level->count == level->window_room && level->window_room < most)
        set_window(folder, level, 2 * level->window_room, PSNAP_PST_CHUNK_WINDOWS / 2);
    level->window[level->count++ & (level->window_room - 1)] = item;
}

/* A distance up to `most` at which the last items, up to `proof` of a period, are in line. */
static void find_near(const struct psnap_pst_track *track, struct psnap_pst_level *level,
                      uint32_t most, uint32_t proof)
{
    const uint32_t have = history(level);

    for (uint32_t d = 1; d <= most; d++) {
        const uint32_t n = d < 2 ? 2 : d < proof ? d : proof;

        if (n + 2 * d > have)
            return;
        if (in_line(track, level, n, d)) {
            level->distance = d;
            level->straight = true;
            return;
        }
    }
}

/* Whether the tokens before the `position`-th are those before the next one. */
static bool proved(const struct psnap_pst_track *track, uint32_t position)
{
    const struct psnap_pst_level *level = &track->first;
    const uint32_t distance = level->count - position;

    if (distance == 0 || position < PROOF || distance + PROOF > history(level) ||
        distance > PSNAP_PST_WINDOW)
        return false;
    for (uint32_t back = 1; back <= PROOF; back++)
        if (!same(before(track, level, back), before(track, level, back + distance)))
            return false;
    return true;
}

static void find_far(struct psnap_pst_track *track, uint32_t owner, struct place *place)
{
    struct psnap_pst_level *level = &track->first;

    if (level->distance == 0 && place->owner == owner && proved(track, place->position)) {
        level->distance = level->count - place->position;
        level->straight = false;
    }
    *place = (struct place){owner, level->count};
}

/* A copied token is only put down, so that what comes after the copy finds its last round. */
static inline void note_copied(struct psnap_pst_folder *folder, const struct psnap_pst_track *track,
                               uint32_t number)
{
    const uint64_t hash = psnap_pst_track_hash(track, number);

    if (psnap_pst_is_sampled(hash, PSNAP_PST_SAMPLE_MASK))
        folder->places->sampled[hash >> (64 - SAMPLED_BITS)] =
            (struct place){folder->epoch + number, track->first.count};
}

/* Looks for a copy that the next token may begin. */
static void search(struct psnap_pst_folder *folder, struct psnap_pst_track *track, uint32_t number)
{
    const uint64_t hash = psnap_pst_track_hash(track, number);
    const bool is_worth = track->first.spent < BEARABLE;
    const bool often = is_worth || (track->first.count & PSNAP_PST_SELDOM_MASK) == 0;

    if (psnap_pst_is_sampled(hash, is_worth ? PSNAP_PST_SAMPLE_MASK : PSNAP_PST_SELDOM_MASK))
        find_far(track, folder->epoch + number,
                 &folder->places->sampled[hash >> (64 - SAMPLED_BITS)]);
    if (often)
        find_far(track, folder->epoch + number,
                 &folder->places->recent[hash >> (64 - RECENT_BITS)]);
    if (often && track->first.distance == 0)
        find_near(track, &track->first, NEAR, NEAR);
    track->first.length = 0;
}

/* The same for a level above the first, after a copy: there a round of an outer loop ends. */
static void search_upper(struct psnap_pst_track *track, struct psnap_pst_level *level)
{
    if (level->spent < UPPER_BEARABLE || (level->count & PSNAP_PST_SELDOM_MASK) == 0)
        find_near(track, level, UPPER_NEAR, PROOF);
    level->length = 0;
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
        if (track->runs[i] & 1)
            continue;
        n++;
        low = track->addresses[i] < low ? track->addresses[i] : low;
        high = track->addresses[i] > high ? track->addresses[i] : high;
        bits += 66 - (uint64_t)__builtin_clzll(psnap_zigzag(track->values[i]) | 1);
    }
    track->absolute = n > 0 && n * (64 - (uint64_t)__builtin_clzll((high - low) | 1)) < bits;
    if (!track->absolute) {
        free(track->addresses);
        track->addresses = NULL;
        track->address_room = 0;
    }
}

/* What no level folds is written: a literal ... */
static bool add_literal(struct psnap_pst_folder *folder, struct psnap_pst_track *track,
                        struct psnap_pst_token token, const uint64_t *address)
{
    const uint32_t n = track->literal_count;

    if (!grow(&track->values, n, &track->value_room, sizeof *track->values) ||
        !grow(&track->runs, n, &track->run_room, sizeof *track->runs))
        return false;
    if (address && n == PSNAP_PST_SETTLED)
        settle(track);
    if (address && (n < PSNAP_PST_SETTLED || track->absolute)) {
        if (!grow(&track->addresses, n, &track->address_room, sizeof *track->addresses))
            return false;
        track->addresses[n] = *address;
    }
    track->values[n] = token.value;
    track->runs[n] = 2 * token.run + token.expected;
    track->literal_count++;
    folder->tokens++;
    return true;
}

/* ... or a copy, after so many items of lower levels. */
static bool add_copy(struct psnap_pst_folder *folder, struct psnap_pst_track *track,
                     struct psnap_pst_token copy)
{
    struct psnap_pst_level *level = psnap_pst_track_level(track, copy.level);
    uint32_t items = track->literal_count;

    for (uint32_t m = 1; m < copy.level; m++)
        items += psnap_pst_track_level(track, m)->copy_count;
    if (!grow(&level->copies, level->copy_count, &level->copy_room, sizeof *level->copies))
        return false;
    level->copies[level->copy_count++] =
        (struct psnap_pst_copy){items - level->mark, (uint32_t)copy.value, copy.run};
    level->mark = items;
    folder->tokens++;
    return true;
}

/* Whether the copy under way goes on with this item. */
static inline bool goes_on(const struct psnap_pst_track *track, const struct psnap_pst_level *level,
                           struct psnap_pst_token item)
{
    const struct psnap_pst_token a = before(track, level, level->distance);

    if (!level->straight)
        return same(item, a);
    return straight(item, a, before(track, level, level->distance * 2));
}

static bool end_copy(struct psnap_pst_folder *folder, struct psnap_pst_track *track, uint32_t m);

/* Takes the next item of what level m - 1 made. The highest level is given up when it has found
 * nothing for long, until there is a copy for it again. */
static bool fold_upper(struct psnap_pst_folder *folder, struct psnap_pst_track *track, uint32_t m,
                       struct psnap_pst_token item, const uint64_t *address)
{
    struct psnap_pst_level *level;

    if (m > 1 + track->upper_count)
        return item.level ? add_copy(folder, track, item)
                          : add_literal(folder, track, item, address);
    level = psnap_pst_track_level(track, m);
    if (level->distance) {
        if (goes_on(track, level, item)) {
            level->length++;
            remember(folder, level, item, UPPER_WINDOW);
            return true;
        }
        if (!end_copy(folder, track, m))
            return false;
    }
    if (!fold_upper(folder, track, m + 1, item, address))
        return false;
    remember(folder, level, item, UPPER_WINDOW);
    if (level->spent < UPPER_BEARABLE)
        level->spent += PRICE;
    else if (level->copy_count == 0 && m == 1 + track->upper_count)
        track->upper_count--;
    if (item.level)
        search_upper(track, level);
    return true;
}

/* Level m has a copy, so there is something for the next one to fold, which begins anew if it was
 * given up. Without memory for a window there is none. */
static bool open_upper(struct psnap_pst_folder *folder, struct psnap_pst_track *track, uint32_t m)
{
    struct psnap_pst_level *level;

    if (m == PSNAP_PST_LEVELS || m <= track->upper_count)
        return true;
    if (!track->upper)
        track->upper = calloc(PSNAP_PST_LEVELS - 1, sizeof *track->upper);
    if (!track->upper)
        return false;
    level = psnap_pst_track_level(track, m + 1);
    if (level->window_room == 0 &&
        !set_window(folder, level, FIRST_WINDOW, PSNAP_PST_CHUNK_WINDOWS))
        return true;
    level->count = 0;
    level->distance = 0;
    level->spent = level->spent < UPPER_BEARABLE / 2 ? level->spent : UPPER_BEARABLE / 2;
    track->upper_count = m;
    return true;
}

/* The copy under way at level m, if there is one, is an item for the next. */
static bool end_copy(struct psnap_pst_folder *folder, struct psnap_pst_track *track, uint32_t m)
{
    struct psnap_pst_level *level = psnap_pst_track_level(track, m);
    const struct psnap_pst_token copy = {level->distance * 2 + level->straight, level->length,
                                         (uint16_t)m, 0};
    const uint32_t reach = level->distance * (level->straight ? 2 : 1);

    level->distance = 0;
    if (reach == 0 || copy.run == 0)
        return true;
    if (level->needed < reach)
        level->needed = reach;
    level->spent -= copy.run < level->spent ? copy.run : level->spent;
    return open_upper(folder, track, m) && fold_upper(folder, track, m + 1, copy, NULL);
}

bool psnap_pst_fold_end(struct psnap_pst_folder *folder, struct psnap_pst_track *track)
{
    for (uint32_t m = 1; m <= 1 + track->upper_count; m++)
        if (!end_copy(folder, track, m))
            return false;
    if (track->addresses && !track->absolute)
        settle(track);
    return true;
}

/* The token goes on with the copy under way, and is no literal. False: out of memory. */
static bool take_copied(struct psnap_pst_folder *folder, struct psnap_pst_track *track,
                        uint32_t number, struct psnap_pst_token token, bool *is_copied)
{
    struct psnap_pst_level *level = &track->first;

    *is_copied = goes_on(track, level, token) && (level->window_room || open_window(folder, track));
    if (!*is_copied)
        return end_copy(folder, track, 1);
    level->length++;
    remember(folder, level, token, PSNAP_PST_WINDOW);
    note_copied(folder, track, number);
    return true;
}

/* How many tokens of the track may be taken as literals without a look at what comes before them:
 * it is searched less often, and there is room for them. */
static uint32_t quiet_tokens(const struct psnap_pst_track *track, bool addresses)
{
    const struct psnap_pst_level *level = &track->first;
    const uint32_t room = track->value_room < track->run_room ? track->value_room : track->run_room;
    uint32_t n = PSNAP_PST_SELDOM_MASK - (level->count & PSNAP_PST_SELDOM_MASK);

    if (level->distance || track->upper_count || level->spent < BEARABLE ||
        (addresses && track->literal_count <= PSNAP_PST_SETTLED))
        return 0;
    if (n > room - track->literal_count)
        n = room - track->literal_count;
    if (addresses && track->absolute && n > track->address_room - track->literal_count)
        n = track->address_room - track->literal_count;
    if (level->count <= level->window_room && n > level->window_room - level->count)
        n = level->window_room ? level->window_room - level->count : n;
    return n;
}

bool psnap_pst_fold_search(struct psnap_pst_folder *folder, struct psnap_pst_track *track,
                           uint32_t number, struct psnap_pst_token token, const uint64_t *address)
{
    struct psnap_pst_level *level = &track->first;
    bool is_copied = false;

    if (level->distance && !take_copied(folder, track, number, token, &is_copied))
        return false;
    if (is_copied)
        return true;
    if (!(track->upper_count ? fold_upper(folder, track, 2, token, address)
                             : add_literal(folder, track, token, address)))
        return false;
    if (level->window_room)
        remember(folder, level, token, PSNAP_PST_WINDOW);
    else
        level->count++;
    if (level->spent < BEARABLE)
        level->spent += PRICE;
    search(folder, track, number);
    track->quiet = quiet_tokens(track, address != NULL);
    return true;
}
