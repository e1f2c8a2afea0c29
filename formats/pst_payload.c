/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the encoder has of a chunk as bytes (PST.md, "The payload"): a row per
 * lane and track, then the numbers of all tracks, each kind by itself and in
 * planes of a byte, which is what zstd's entropy coder does best with.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/pst.h"

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

bool psnap_pst_payload_put(struct psnap_bytes *payload, struct psnap_pst_lane *lanes,
                           uint32_t lane_count, struct psnap_pst_bases *bases)
{
    static const struct psnap_access zero = {0};
    struct coding *codings = malloc(2 * (size_t)lane_count * sizeof *codings);

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
