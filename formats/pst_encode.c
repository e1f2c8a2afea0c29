/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accesses to the payload of a chunk (PST.md, "The accesses of a chunk", "The payload").
 *
 * A lane is a distinct (ref, size, kind, thread) of the chunk: everything of
 * an access but its address. Two predictions are made for every access: that
 * its lane is the one that followed the lane before the last time, and that
 * its address is a step from a base, which is the lane's last address or that
 * of the access before. What is predicted is only counted. What is not is a
 * token of one of the lane's two tracks, which pst_fold.c takes.
 *
 * Invariants, the same in pst_decode.c: a prediction changes at the second
 * token of its track in a row. A loop exit so costs one token, and so does the
 * return of an array walk to its start. The base changes when the other one
 * would have been right at OTHER_WINS tokens in a row: a[i + 1] after a[i]
 * needs no tokens of its own, nor has a store to where was just loaded from.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "formats/pst_encode.h"

#define KEPT_BYTES ((size_t)128 << 20)
#define NO_KEY UINT64_MAX /* of no access */

static bool grow_lanes(struct psnap_pst_encoder *encoder)
{
    const uint32_t room = encoder->lane_room ? encoder->lane_room * 2 : 64;

    if (!psnap_resize(&encoder->lanes, (size_t)room + 1, sizeof *encoder->lanes) ||
        !psnap_resize(&encoder->tracks, room, sizeof *encoder->tracks))
        return false;
    memset(encoder->tracks + encoder->lane_room, 0,
           (room - encoder->lane_room) * sizeof *encoder->tracks);
    encoder->lane_room = room;
    return true;
}

bool psnap_pst_encoder_init(struct psnap_pst_encoder *encoder)
{
    encoder->token_limit = PSNAP_PST_CHUNK_TOKENS;
    if (!psnap_pst_folder_init(&encoder->folder) || !grow_lanes(encoder))
        return false;
    encoder->lanes[0].key = NO_KEY;
    return true;
}

static void release_tracks(struct psnap_pst_encoder *encoder)
{
    for (uint32_t i = 0; i < encoder->lane_room; i++) {
        psnap_pst_track_release(&encoder->tracks[i].next);
        psnap_pst_track_release(&encoder->tracks[i].address);
    }
}

/* The memory of tracks is used again, unless it would become too much. */
static void start_chunk(struct psnap_pst_encoder *encoder)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < encoder->lane_room; i++) {
        psnap_pst_track_reset(&encoder->tracks[i].next, &bytes);
        psnap_pst_track_reset(&encoder->tracks[i].address, &bytes);
    }
    if (bytes > KEPT_BYTES)
        release_tracks(encoder);
    psnap_map_clear(&encoder->numbers);
    psnap_pst_folder_start(&encoder->folder);
    psnap_pst_log_clear(&encoder->log);
    encoder->lanes[0].key = NO_KEY;
    encoder->lane_count = encoder->previous = encoder->accesses = 0;
    encoder->address = 0;
}

void psnap_pst_encoder_release(struct psnap_pst_encoder *encoder)
{
    release_tracks(encoder);
    free(encoder->lanes);
    free(encoder->tracks);
    free(encoder->numbers.slots);
    free(encoder->log.events);
    free(encoder->folder.places);
}

bool psnap_pst_encoder_full(const struct psnap_pst_encoder *encoder)
{
    return encoder->lane_count >= PSNAP_PST_CHUNK_LANES ||
           encoder->folder.tokens >= encoder->token_limit ||
           encoder->accesses >= PSNAP_PST_CHUNK_MAX;
}

static enum psnap_status check_access(const struct psnap_access *access, uint32_t ref_count,
                                      struct psnap_error *error)
{
    if (access->ref >= ref_count)
        return psnap_error_set(error, PSNAP_ERROR_VALUE,
                               "access names reference %" PRIu32 ", the program has %" PRIu32,
                               access->ref, ref_count);
    if (access->size < 1 || access->size > PSNAP_ACCESS_SIZE_MAX || access->kind > PSNAP_ATOMIC)
        return psnap_error_set(error, PSNAP_ERROR_VALUE, "access of %u bytes and kind %u",
                               access->size, access->kind);
    return PSNAP_OK;
}

static void add_lane(struct psnap_pst_encoder *encoder, const struct psnap_access *access)
{
    const uint32_t lane = encoder->lane_count++;

    /* run starts one below 0: the access that makes the lane is "predicted" but not counted */
    encoder->lanes[lane] = (struct psnap_pst_write_lane){.key = psnap_pst_key(access),
                                                         .last = access->address,
                                                         .next = lane + 1,
                                                         .run = UINT32_MAX,
                                                         .wins = PSNAP_PST_OTHER_WINS};
    encoder->lanes[lane + 1].key = NO_KEY;
    encoder->tracks[lane].first = *access;
}

/* Finds or makes the access's lane. */
static enum psnap_status find_lane(struct psnap_pst_encoder *encoder,
                                   const struct psnap_access *access, uint32_t ref_count,
                                   uint32_t *index, struct psnap_error *error)
{
    uint64_t *number = psnap_map_put(&encoder->numbers, psnap_pst_key(access));
    enum psnap_status status;

    if (number && *number) {
        *index = (uint32_t)*number - 1;
        return PSNAP_OK;
    }
    status = check_access(access, ref_count, error);
    if (status != PSNAP_OK)
        return status;
    *index = encoder->lane_count;
    if (!number || (*index == encoder->lane_room && !grow_lanes(encoder)))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    add_lane(encoder, access);
    *number = encoder->lane_count;
    return PSNAP_OK;
}

/* The lane after lane `index` is not the predicted one. */
static bool take_next(struct psnap_pst_encoder *encoder, uint32_t index, uint32_t value,
                      uint32_t run)
{
    struct psnap_pst_write_lane *lane = &encoder->lanes[index];
    const uint32_t expected = run ? value : lane->next;

    if (run == 0)
        lane->next = value;
    return psnap_pst_fold(&encoder->folder, &encoder->tracks[index].next, 2 * index, value, run,
                          expected, NULL);
}

/* The address of lane `index` is not the predicted one, but a step from the base and another one
 * from that not in use. */
static bool take_address(struct psnap_pst_encoder *encoder, uint32_t index, uint64_t address,
                         uint64_t step, uint64_t other, uint32_t run)
{
    struct psnap_pst_write_lane *lane = &encoder->lanes[index];
    const uint64_t expected = run ? step : lane->step;

    if (lane->favourite.trust >= PSNAP_PST_TRUSTED)
        encoder->tracks[index].address.expected = step - other + lane->favourite.other;
    psnap_pst_favourite_note(&lane->favourite, other);
    lane->score = other == lane->other ? lane->score + 1 : 0;
    lane->other = other;
    if (run == 0)
        lane->step = step;
    if (lane->score == (lane->follows ? PSNAP_PST_OTHER_WINS : lane->wins)) {
        if (!lane->follows && lane->wins <= PSNAP_PST_OTHER_WINS_MAX)
            lane->wins *= 2;
        lane->other = lane->step;
        lane->favourite = (struct psnap_pst_favourite){lane->step, 0};
        lane->step = other;
        lane->follows ^= 1;
        lane->score = 0;
    }
    return psnap_pst_fold(&encoder->folder, &encoder->tracks[index].address, 2 * index + 1, step,
                          run, expected, &address);
}

bool psnap_pst_take_event(struct psnap_pst_encoder *encoder, const struct psnap_pst_event *event)
{
    const uint32_t index = event->track >> 1;

    return event->track & 1 ? take_address(encoder, index, event->address, event->value,
                                           event->other, event->run)
                            : take_next(encoder, index, (uint32_t)event->value, event->run);
}

/* Lane `index` does not come after `previous` as predicted. */
static bool next_token(struct psnap_pst_encoder *encoder, uint32_t previous, uint32_t index)
{
    struct psnap_pst_write_lane *lane = &encoder->lanes[previous];
    const uint32_t run = lane->next_run;

    if (encoder->log.is_on)
        psnap_pst_log_add(encoder, &(struct psnap_pst_event){.track = 2 * previous,
                                                             .at = encoder->accesses,
                                                             .run = run,
                                                             .value = index,
                                                             .predicted = lane->next});
    lane->next_run = 0;
    return take_next(encoder, previous, index, run);
}

/* The address is not the predicted one; `before` is that of the access before. */
static bool address_token(struct psnap_pst_encoder *encoder, uint32_t index, uint64_t address,
                          uint64_t before)
{
    struct psnap_pst_write_lane *lane = &encoder->lanes[index];
    const uint64_t step = address - (lane->follows ? before : lane->last);
    const uint64_t other = address - (lane->follows ? lane->last : before);
    const uint32_t run = lane->run;

    if (encoder->log.is_on)
        psnap_pst_log_add(encoder, &(struct psnap_pst_event){.track = 2 * index + 1,
                                                             .at = encoder->accesses,
                                                             .run = run,
                                                             .follows = lane->follows,
                                                             .value = step,
                                                             .address = address,
                                                             .other = other,
                                                             .predicted = lane->step});
    lane->run = 0;
    return take_address(encoder, index, address, step, other, run);
}

/* The next lane is not the predicted one, or a new one, which is predicted when its number is. */
static enum psnap_status find_next(struct psnap_pst_encoder *encoder,
                                   const struct psnap_access *access, uint32_t ref_count,
                                   uint32_t *index, struct psnap_error *error)
{
    const uint32_t previous = *index;
    const enum psnap_status status = find_lane(encoder, access, ref_count, index, error);

    if (status != PSNAP_OK || encoder->accesses == 0)
        return status; /* the first access of a chunk is in lane 0 */
    if (encoder->lanes[previous].next == *index)
        encoder->lanes[previous].next_run++;
    else if (!next_token(encoder, previous, *index))
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return PSNAP_OK;
}

enum psnap_status psnap_pst_encoder_put(struct psnap_pst_encoder *encoder,
                                        const struct psnap_access *block, size_t n,
                                        uint32_t ref_count, size_t *taken,
                                        struct psnap_error *error)
{
    uint32_t index = encoder->previous;
    uint64_t before = encoder->address;
    enum psnap_status status = PSNAP_OK;
    bool slow = false; /* something was added that may have filled the chunk */
    size_t i = 0;

    if (encoder->accesses == 0 && n > 0) {
        status = find_next(encoder, block, ref_count, &index, error);
        if (status != PSNAP_OK)
            return status;
        before = block->address;
        encoder->lanes[index].run = 0;
        encoder->accesses = 1;
        i = 1;
    }
    for (; i < n; i++) {
        struct psnap_pst_write_lane *lane = &encoder->lanes[index];
        const uint64_t address = block[i].address;

        if (slow && psnap_pst_encoder_full(encoder))
            break;
        slow = false;
        if (encoder->lanes[lane->next].key == psnap_pst_key(&block[i])) {
            lane->next_run++;
            index = lane->next;
        } else {
            status = find_next(encoder, &block[i], ref_count, &index, error);
            if (status != PSNAP_OK)
                return status;
            slow = true;
        }
        lane = &encoder->lanes[index];
        if (address - (lane->follows ? before : lane->last) == lane->step) {
            lane->run++;
        } else {
            if (!address_token(encoder, index, address, before))
                return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
            slow = true;
        }
        encoder->lanes[index].last = before = address;
        encoder->accesses++;
    }
    encoder->previous = index;
    encoder->address = before;
    *taken = i;
    return PSNAP_OK;
}

/* Whether the predictions from here on are the run's repetition i, which is not its first, and
 * with it all that come after. */
static bool predicts(const struct psnap_pst_encoder *encoder, const struct psnap_run *run,
                     uint64_t i)
{
    uint32_t index = encoder->previous;
    uint64_t before = encoder->address;
    int64_t stride_before = run->strides[run->width - 1];

    for (size_t k = 0; k < run->width; k++) {
        const uint64_t address = psnap_run_address(run, i, k);
        const struct psnap_pst_write_lane *lane;

        index = encoder->lanes[index].next;
        lane = &encoder->lanes[index];
        if (lane->key != psnap_pst_key(&run->first[k]) ||
            lane->step != address - (lane->follows ? before : lane->last) ||
            run->strides[k] != (lane->follows ? stride_before : (int64_t)lane->step))
            return false;
        before = address;
        stride_before = run->strides[k];
    }
    return index == encoder->previous;
}

uint32_t psnap_pst_encoder_repeat(struct psnap_pst_encoder *encoder, const struct psnap_run *run,
                                  uint64_t i, uint64_t limit)
{
    const uint64_t room = (PSNAP_PST_CHUNK_MAX - encoder->accesses) / run->width;
    const uint32_t n = (uint32_t)(limit < room ? limit : room);
    uint32_t index = encoder->previous;

    if (n == 0 || encoder->accesses == 0 || psnap_pst_encoder_full(encoder) ||
        !predicts(encoder, run, i))
        return 0;
    for (size_t k = 0; k < run->width; k++) {
        struct psnap_pst_write_lane *lane = &encoder->lanes[index];

        lane->next_run += n;
        index = lane->next;
        lane = &encoder->lanes[index];
        lane->run += n;
        lane->last = encoder->address = psnap_run_address(run, i + n - 1, k);
    }
    encoder->accesses += n * (uint32_t)run->width;
    return n;
}

/* ---- the payload: a row per lane and track, then the numbers of all tracks, each kind by itself
 * and in planes of a byte, which is what zstd's entropy coder does best with ---- */

#define COPY_NUMBERS (sizeof(struct psnap_pst_copy) / sizeof(uint32_t))

/* How the copies of one level are written. */
struct copies_coding {
    uint8_t literals_width, from_width, length_width;
};

/* How the literals and copies of one track are written. */
struct coding {
    uint64_t base; /* lowest address, for absolute */
    uint8_t shift, value_width, run_width;
    struct copies_coding copies[PSNAP_PST_LEVELS];
};

/* Bytes that hold every value up to `largest`. */
static uint8_t width_of(uint64_t largest)
{
    uint8_t width = 0;

    for (; largest; largest >>= 8)
        width++;
    return width;
}

/* Numbers that are split into planes at a time: they stay in a cache of the first level. */
#define TILE 1024u

/* Writes `n` words as `width` planes: all lowest bytes, then all second ones, ... */
static void put_words(struct psnap_bytes *payload, const uint64_t *restrict words, size_t n,
                      unsigned width)
{
    unsigned char *restrict at = psnap_bytes_extend(payload, n * width);

    for (size_t from = 0; at && from < n; from += TILE) {
        const size_t to = n - from < TILE ? n : from + TILE;

        for (unsigned p = 0; p < width; p++)
            for (size_t i = from; i < to; i++)
                at[p * n + i] = (unsigned char)(words[i] >> (8 * p));
    }
}

/* The same of numbers of 4 bytes, `step` of which are from one to the next. */
static inline void put_numbers(struct psnap_bytes *payload, const uint32_t *restrict numbers,
                               size_t n, size_t step, unsigned width)
{
    unsigned char *restrict at = psnap_bytes_extend(payload, n * width);

    for (size_t from = 0; at && from < n; from += TILE) {
        const size_t to = n - from < TILE ? n : from + TILE;

        for (unsigned p = 0; p < width; p++)
            for (size_t i = from; i < to; i++)
                at[p * n + i] = (unsigned char)(numbers[i * step] >> (8 * p));
    }
}

/*
 * What the values of an absolute track are counted from. The lowest address of a
 * chunk is chance; so where the lane had a base in a chunk before, a bit below
 * the lowest address of this one, it is kept: a gather that comes again in a later
 * chunk makes the same bytes there, which zstd finds. Returns how far it is below.
 */
static uint64_t steady_base(struct psnap_pst_bases *bases, uint64_t key, uint64_t largest,
                            struct coding *coding)
{
    struct psnap_pst_base *before =
        &bases->at[key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PSNAP_PST_BASE_BITS)];
    const uint64_t below = coding->base - before->base;
    uint64_t more = below >> coding->shift;

    if (before->key != key || before->base > coding->base || more << coding->shift != below ||
        more > largest / 4 || width_of(largest + more) != width_of(largest))
        more = 0;
    coding->base -= more << coding->shift;
    *before = (struct psnap_pst_base){key, coding->base};
    return more;
}

/* All ones, unless the value of a literal with this run is the one expected. */
static inline uint64_t if_written(uint32_t run)
{
    return (uint64_t)(run & 1) - 1;
}

/* Values of an absolute track are counted from the lowest address. */
static void make_absolute(struct psnap_pst_track *track, struct coding *coding)
{
    uint64_t low = UINT64_MAX;

    for (uint32_t i = 0; i < track->literal_count; i++) {
        const uint64_t address = track->addresses[i] | ~if_written(track->runs[i]);
        low = address < low ? address : low;
    }
    coding->base = low;
    for (uint32_t i = 0; i < track->literal_count; i++)
        track->values[i] = track->addresses[i] - low;
}

/* Replaces the values of literals by what will be written; `bases` is NULL for a track of lanes. */
static void code_literals(struct psnap_pst_track *track, struct psnap_pst_bases *bases,
                          uint64_t key, struct coding *coding)
{
    const uint32_t n = track->literal_count, *const runs = track->runs;
    uint64_t *const values = track->values, ones = 0, largest = 0, more = 0;
    uint32_t longest = 0;
    unsigned shift = 0;

    if (track->absolute)
        make_absolute(track, coding);
    for (uint32_t i = 0; i < n; i++) {
        values[i] &= if_written(runs[i]);
        ones |= values[i];
        longest |= runs[i];
    }
    if (ones && bases)
        shift = (unsigned)__builtin_ctzll(ones);
    if (!bases || track->absolute)
        for (uint32_t i = 0; i < n; i++)
            largest |= values[i] >>= shift;
    else
        for (uint32_t i = 0; i < n; i++)
            largest |= values[i] = psnap_zigzag(values[i]) >> shift; /* of the value >> shift */
    coding->shift = (uint8_t)shift;
    if (track->absolute)
        more = steady_base(bases, key, largest, coding);
    for (uint32_t i = 0; more && i < n; i++)
        values[i] += more & if_written(runs[i]);
    coding->value_width = width_of(largest + more);
    coding->run_width = width_of(longest);
}

static void code_copies(const struct psnap_pst_level *level, struct copies_coding *coding)
{
    uint32_t literals = 0, from = 0, length = 0;

    for (uint32_t i = 0; i < level->copy_count; i++) {
        literals |= level->copies[i].literals;
        from |= level->copies[i].from;
        length |= level->copies[i].length;
    }
    coding->literals_width = width_of(literals);
    coding->from_width = width_of(from);
    coding->length_width = width_of(length);
}

/* What the row of a track says of its copies, after their number. */
static void put_level(struct psnap_bytes *payload, const struct psnap_pst_level *level, bool more,
                      struct copies_coding *coding)
{
    uint8_t window = 0;

    code_copies(level, coding);
    while (UINT32_C(1) << window < level->needed)
        window++;
    psnap_bytes_u8(payload, (uint8_t)(window | (more ? PSNAP_PST_MORE_LEVELS : 0)));
    psnap_bytes_u8(payload, (uint8_t)(coding->literals_width | coding->from_width << 4));
    psnap_bytes_u8(payload, coding->length_width);
}

/* The highest level with copies, 0: there are none. */
static uint32_t level_count(struct psnap_pst_track *track)
{
    uint32_t m = 1 + track->upper_count;

    while (m > 0 && psnap_pst_track_level(track, m)->copy_count == 0)
        m--;
    return m;
}

/* The row of a track; `bases` is NULL for one of lanes. */
static void put_track(struct psnap_bytes *payload, struct psnap_pst_track *track,
                      struct psnap_pst_bases *bases, const struct psnap_access *first,
                      struct coding *coding)
{
    const uint32_t levels = level_count(track);
    uint64_t key;

    *coding = (struct coding){0};
    psnap_bytes_varint(payload, track->literal_count);
    if (track->literal_count == 0)
        return;
    memcpy(&key, (const char *)first + sizeof first->address, sizeof key);
    code_literals(track, bases, key, coding);
    psnap_bytes_varint(payload, track->first.copy_count);
    psnap_bytes_u8(payload, (uint8_t)(coding->value_width | coding->run_width << 4));
    if (bases)
        psnap_bytes_u8(payload, (uint8_t)(coding->shift | (track->absolute ? 0x80u : 0)));
    if (track->absolute)
        psnap_bytes_varint(payload, psnap_zigzag(coding->base - first->address));
    for (uint32_t m = 1; m <= levels; m++) {
        if (m > 1)
            psnap_bytes_varint(payload, psnap_pst_track_level(track, m)->copy_count);
        put_level(payload, psnap_pst_track_level(track, m), m < levels, &coding->copies[m - 1]);
    }
}

static void put_copies(struct psnap_bytes *payload, const struct psnap_pst_level *level,
                       const struct copies_coding *coding)
{
    const struct psnap_pst_copy *copies = level->copies;
    const uint32_t n = level->copy_count;

    if (n == 0)
        return;
    put_numbers(payload, &copies->literals, n, COPY_NUMBERS, coding->literals_width);
    put_numbers(payload, &copies->from, n, COPY_NUMBERS, coding->from_width);
    put_numbers(payload, &copies->length, n, COPY_NUMBERS, coding->length_width);
}

static void put_tokens(struct psnap_bytes *payload, struct psnap_pst_track *track,
                       const struct coding *coding)
{
    if (track->literal_count > 0) {
        put_words(payload, track->values, track->literal_count, coding->value_width);
        put_numbers(payload, track->runs, track->literal_count, 1, coding->run_width);
    }
    for (uint32_t m = 1; m <= 1 + track->upper_count; m++)
        put_copies(payload, psnap_pst_track_level(track, m), &coding->copies[m - 1]);
}

/* Appends the payload of a chunk, its tracks ended; they are good for nothing but a reset. False:
 * out of memory. */
static bool put_payload(struct psnap_bytes *payload, struct psnap_pst_lane *lanes,
                        uint32_t lane_count, struct psnap_pst_bases *bases)
{
    static const struct psnap_access zero = {0};
    struct coding *codings = malloc((2 * (size_t)lane_count + 1) * sizeof *codings);

    if (!codings)
        return false;
    psnap_bytes_varint(payload, lane_count);
    for (uint32_t i = 0; i < lane_count; i++) {
        const struct psnap_access *access = &lanes[i].first;
        const struct psnap_access *above = i ? &lanes[i - 1].first : &zero;

        psnap_bytes_varint(payload, psnap_zigzag((uint64_t)access->ref - above->ref));
        psnap_bytes_varint(payload, access->thread);
        psnap_bytes_u8(payload, access->size);
        psnap_bytes_u8(payload, access->kind);
        psnap_bytes_varint(payload, psnap_zigzag(access->address - above->address));
        put_track(payload, &lanes[i].next, NULL, access, &codings[2 * i]);
        put_track(payload, &lanes[i].address, bases, access, &codings[2 * i + 1]);
    }
    for (uint32_t i = 0; i < lane_count; i++) {
        put_tokens(payload, &lanes[i].next, &codings[2 * i]);
        put_tokens(payload, &lanes[i].address, &codings[2 * i + 1]);
    }
    free(codings);
    return !payload->failed;
}

enum psnap_status psnap_pst_encoder_flush(struct psnap_pst_encoder *encoder,
                                          struct psnap_bytes *payload, struct psnap_error *error)
{
    bool good = true;

    payload->size = 0;
    for (uint32_t i = 0; i < encoder->lane_count; i++)
        good &= psnap_pst_fold_end(&encoder->folder, &encoder->tracks[i].next) &&
                psnap_pst_fold_end(&encoder->folder, &encoder->tracks[i].address);
    good = good && put_payload(payload, encoder->tracks, encoder->lane_count, &encoder->bases);
    start_chunk(encoder);
    if (!good)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    return PSNAP_OK;
}
