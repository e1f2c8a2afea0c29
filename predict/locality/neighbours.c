/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A locality surface (LOCALITY.md) pairs an access i with those after it until
 * its address recurs. Seen from the later access j of a pair, i is the last one
 * before j to the address x_j - stride: so for every byte within 256 of x_j we
 * need the time of its last access, and count each of these bytes once.
 *
 * Bytes are taken in units, as large as the alignment of all addresses allows.
 * Units live in chunks, found by a hash table and linked to the chunks beside
 * them: three chunks hold all that an access can see. A chunk has a bit for each
 * unit that was accessed within reach, and the low 16 bits of when: enough, since
 * every access first takes out what fell out of reach, from a ring of the last
 * `reach` accesses. A chunk without bits is given back, so memory is bounded by
 * reach (37 MB), which formats/base/map.h, of which nothing is taken out, could not do. Chunk 0
 * stands for all that are not there.
 *
 * Units are counted by eights, without a branch: the classes of eight distances are
 * found at once, and each unit adds to a count, those that are not there to one of
 * which nobody wants to know.
 */
#include "predict/locality/neighbours.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BITS = 8, CHUNK_UNITS = 1 << CHUNK_BITS, WORDS = CHUNK_UNITS / 64, GROUP = 8 };
enum { BUCKETS = 2 * PSNAP_SURFACE_DISTANCE_MAX, PREFETCH = 16, USED = 64 };
/* Chunks that a second-level cache holds: with no more of them nothing is fetched ahead. */
enum { NEAR_CHUNKS = 1024 };

static_assert(CHUNK_UNITS >= PSNAP_SURFACE_STRIDE_MAX, "an access sees its chunk and two more");

struct chunk {
    uint64_t key;          /* its first unit / CHUNK_UNITS */
    uint64_t bits[WORDS];  /* units accessed within reach */
    uint32_t below, above; /* the chunks beside it, 0: not there */
    uint32_t chained;      /* next of its bucket, or of those that are free; 0: none */
    uint32_t live;         /* bits set */
    uint16_t times[CHUNK_UNITS];
};

typedef void count_chunk(const struct chunk *chunk, int from, int to, uint16_t last,
                         uint16_t *counts, int origin);

static count_chunk *best_count(void);

struct neighbours {
    count_chunk *count_chunk;
    uint64_t now;        /* accesses so far */
    uint32_t reach;      /* a power of two */
    unsigned unit;       /* 2^unit bytes */
    uint32_t live;       /* chunks with bits */
    uint32_t free;       /* chunks given back, chained */
    uint32_t count;      /* chunks that were ever taken, chunk 0 among them */
    uint32_t room;       /* chunks that there is memory for */
    uint32_t *ring;      /* chunk << CHUNK_BITS | unit of each of the last `reach` accesses; or 0 */
    uint32_t *bucket;    /* first chunk of each, 0: none */
    uint32_t used[USED]; /* the chunk that a key of each remainder was found in last */
    struct chunk *chunks;
};

struct neighbours *neighbours_new(uint32_t reach, unsigned unit)
{
    struct neighbours *neighbours = calloc(1, sizeof *neighbours);

    if (!neighbours)
        return NULL;
    neighbours->count_chunk = best_count();
    neighbours->reach = reach;
    neighbours->unit = unit;
    neighbours->room = 64;
    neighbours->count = 1;
    neighbours->ring = calloc(reach, sizeof *neighbours->ring);
    neighbours->bucket = calloc(BUCKETS, sizeof *neighbours->bucket);
    neighbours->chunks = calloc(neighbours->room, sizeof *neighbours->chunks);
    if (neighbours->ring && neighbours->bucket && neighbours->chunks)
        return neighbours;
    neighbours_free(neighbours);
    return NULL;
}

void neighbours_free(struct neighbours *neighbours)
{
    if (!neighbours)
        return;
    free(neighbours->ring);
    free(neighbours->bucket);
    free(neighbours->chunks);
    free(neighbours);
}

/* ------------------------------------------------------------------- chunks */

/* Chunks beside each other mostly have buckets that are. */
static uint32_t *bucket_of(const struct neighbours *neighbours, uint64_t key)
{
    const uint64_t spread = (key / 8 * UINT64_C(0x9e3779b97f4a7c15)) >> 32;

    return &neighbours->bucket[(spread * 8 + key % 8) & (BUCKETS - 1)];
}

static uint32_t find(const struct neighbours *neighbours, uint64_t key)
{
    uint32_t chunk = *bucket_of(neighbours, key);

    while (chunk && neighbours->chunks[chunk].key != key)
        chunk = neighbours->chunks[chunk].chained;
    return chunk;
}

/* A chunk to write to; 0: out of memory. */
static uint32_t take(struct neighbours *neighbours)
{
    uint32_t chunk = neighbours->free;

    if (chunk) {
        neighbours->free = neighbours->chunks[chunk].chained;
        return chunk;
    }
    if (neighbours->count == neighbours->room) {
        struct chunk *chunks =
            realloc(neighbours->chunks, 2 * (size_t)neighbours->room * sizeof *chunks);

        if (!chunks)
            return 0;
        neighbours->chunks = chunks;
        neighbours->room *= 2;
    }
    return neighbours->count++;
}

/* The number of the chunk beside one; chunks come round as addresses do. */
static uint64_t key_beside(const struct neighbours *neighbours, uint64_t key, uint64_t step)
{
    return (key + step) & (UINT64_MAX >> (CHUNK_BITS + neighbours->unit));
}

/* A new chunk in its place, without bits; 0: out of memory. */
static uint32_t put_in(struct neighbours *neighbours, uint64_t key)
{
    uint32_t *bucket = bucket_of(neighbours, key);
    const uint32_t chunk = take(neighbours);
    struct chunk *chunks = neighbours->chunks, *new = &chunks[chunk];

    if (!chunk)
        return 0;
    neighbours->live++;
    memset(new->bits, 0, sizeof new->bits);
    new->key = key;
    new->live = 0;
    new->chained = *bucket;
    *bucket = chunk;
    new->below = find(neighbours, key_beside(neighbours, key, UINT64_MAX));
    new->above = find(neighbours, key_beside(neighbours, key, 1));
    chunks[new->below].above = chunk; /* chunk 0 too: nobody looks */
    chunks[new->above].below = chunk;
    return chunk;
}

static void give_back(struct neighbours *neighbours, uint32_t chunk)
{
    struct chunk *chunks = neighbours->chunks, *old = &chunks[chunk];
    uint32_t *at = bucket_of(neighbours, old->key);

    while (*at != chunk)
        at = &chunks[*at].chained;
    neighbours->live--;
    *at = old->chained;
    chunks[old->below].above = 0;
    chunks[old->above].below = 0;
    old->chained = neighbours->free;
    neighbours->free = chunk;
}

/* The chunk of a key, made if there is none; 0: out of memory. */
static uint32_t place_of(struct neighbours *neighbours, uint64_t key)
{
    uint32_t *used = &neighbours->used[key % USED];

    if (!*used || neighbours->chunks[*used].key != key || !neighbours->chunks[*used].live) {
        *used = find(neighbours, key);
        if (!*used)
            *used = put_in(neighbours, key);
    }
    return *used;
}

/* Whether the access at `time` to a place is the last to it, and within reach. */
static bool is_live(const struct chunk *chunk, uint32_t unit, uint64_t time)
{
    return (chunk->bits[unit / 64] >> unit % 64 & 1) && chunk->times[unit] == (uint16_t)time;
}

/* The access of a ring's place will be taken out soon. */
static void expect_forget(const struct neighbours *neighbours)
{
    const uint32_t mask = neighbours->reach - 1;
    const uint32_t soon = neighbours->ring[(neighbours->now + PREFETCH / 2) & mask];
    const uint32_t ahead = neighbours->ring[(neighbours->now + PREFETCH) & mask];

    __builtin_prefetch(&neighbours->chunks[ahead >> CHUNK_BITS]);
    __builtin_prefetch(bucket_of(neighbours, neighbours->chunks[soon >> CHUNK_BITS].key));
    __builtin_prefetch(&neighbours->chunks[soon >> CHUNK_BITS].times[soon & (CHUNK_UNITS - 1)]);
}

/* Takes out the access `reach` ago, if it was the last to its unit; not the chunk in use. */
static void forget(struct neighbours *neighbours, uint32_t in_use)
{
    const uint32_t place = neighbours->ring[neighbours->now & (neighbours->reach - 1)];
    const uint32_t unit = place & (CHUNK_UNITS - 1);
    struct chunk *chunk = &neighbours->chunks[place >> CHUNK_BITS];
    bool is_last;

    if (neighbours->live > NEAR_CHUNKS)
        expect_forget(neighbours);
    is_last = is_live(chunk, unit, neighbours->now - neighbours->reach);
    chunk->bits[unit / 64] &= ~((uint64_t)is_last << unit % 64); /* no branch: nobody foresees it */
    chunk->live -= is_last;
    if (is_last && !chunk->live && place >> CHUNK_BITS != in_use)
        give_back(neighbours, place >> CHUNK_BITS);
}

/* Notes the access of a unit, now. */
static void note(struct neighbours *neighbours, uint32_t place, uint32_t unit)
{
    struct chunk *chunk = &neighbours->chunks[place];
    const uint64_t bit = UINT64_C(1) << unit % 64;

    chunk->live += !(chunk->bits[unit / 64] & bit);
    chunk->bits[unit / 64] |= bit;
    chunk->times[unit] = (uint16_t)neighbours->now;
    neighbours->ring[neighbours->now++ & (neighbours->reach - 1)] = place << CHUNK_BITS | unit;
}

enum psnap_status neighbours_refine(struct neighbours *neighbours, unsigned unit)
{
    struct neighbours *finer = neighbours_new(neighbours->reach, unit);
    const unsigned digits = neighbours->unit - unit;
    const uint64_t mask = neighbours->reach - 1, end = neighbours->now;
    struct neighbours swap;

    if (!finer)
        return PSNAP_ERROR_MEMORY;
    finer->count_chunk = neighbours->count_chunk;
    for (finer->now = end > mask ? end - mask - 1 : 0; finer->now < end;) {
        const uint32_t place = neighbours->ring[finer->now & mask];
        const struct chunk *chunk = &neighbours->chunks[place >> CHUNK_BITS];
        const uint64_t units = (chunk->key << CHUNK_BITS | (place & (CHUNK_UNITS - 1))) << digits;
        const uint64_t key = units >> CHUNK_BITS;
        uint32_t put;

        if (!is_live(chunk, place & (CHUNK_UNITS - 1), finer->now)) {
            finer->now++;
            continue;
        }
        put = place_of(finer, key);
        if (!put) {
            neighbours_free(finer);
            return PSNAP_ERROR_MEMORY;
        }
        note(finer, put, (uint32_t)(units & (CHUNK_UNITS - 1)));
    }
    swap = *neighbours;
    *neighbours = *finer;
    *finer = swap;
    neighbours_free(finer);
    return PSNAP_OK;
}

/* ----------------------------------------------------------------- counting */

#define ALL 0xffff
#define ODD 0xaaaa

enum { NOT_THERE = PSNAP_SURFACE_DISTANCES, OUT_OF_REACH = 1 << (NOT_THERE - 1) };
enum { EXPONENT = 23, CLASS_0 = 126 /* exponent of a half */ };
typedef uint16_t narrow __attribute__((vector_size(2 * GROUP)));
typedef int32_t wide __attribute__((vector_size(4 * GROUP)));
typedef float real __attribute__((vector_size(4 * GROUP)));

/* Eight distances less 1, of units so far apart, of which these bits say which are there. For k > 0
 * class k is those of k binary digits: the exponent of the number and a half. */
static inline __attribute__((always_inline)) void
count_classes(const wide *less_one, const wide *each, int32_t bits, size_t apart, uint16_t *counts)
{
    const wide some = {bits, bits, bits, bits, bits, bits, bits, bits};
    const wide is_missing = (some & *each) == 0;
    const real number =
        __builtin_convertvector(*less_one | (is_missing & OUT_OF_REACH), real) + 0.5F;
    uint32_t classes[GROUP];
    wide digits;

    memcpy(&digits, &number, sizeof digits);
    digits >>= EXPONENT;
    memcpy(classes, &digits, sizeof classes);
    for (size_t i = 0; i < GROUP; i++)
        counts[i * apart * NEIGHBOURS_CLASSES + classes[i]]++;
}

/* Eight units. */
static inline __attribute__((always_inline)) void count_eight(const uint16_t *times, int32_t bits,
                                                              uint16_t last, uint16_t *counts)
{
    const wide each = {1, 2, 4, 8, 16, 32, 64, 128};
    narrow distances;
    wide less_one;

    memcpy(&distances, times, sizeof distances);
    distances = last - distances;
    less_one = __builtin_convertvector(distances, wide);
    count_classes(&less_one, &each, bits, 1, counts);
}

/* Of sixteen units only the first, third and so on: elements are twice as large as units. */
static inline __attribute__((always_inline)) void count_even(const uint16_t *times, int32_t bits,
                                                             uint16_t last, uint16_t *counts)
{
    const int even = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 0 : 16;
    const wide each = {1, 4, 16, 64, 256, 1024, 4096, 16384};
    wide pairs;

    memcpy(&pairs, times, sizeof pairs);
    pairs = (last - (pairs >> even)) & UINT16_MAX;
    count_classes(&pairs, &each, bits, 2, counts);
}

/* The units `from` to `to` of a chunk, of which the first would have the place `origin`. */
static inline __attribute__((always_inline)) void count_units(const struct chunk *chunk, int from,
                                                              int to, uint16_t last,
                                                              uint16_t *counts, int origin)
{
    for (int word = from / 64; word <= to / 64; word++) {
        uint64_t bits = chunk->bits[word];

        if (word == from / 64)
            bits &= UINT64_MAX << from % 64;
        if (word == to / 64)
            bits &= UINT64_MAX >> (63 - to % 64);
        for (int unit = word * 64; bits; unit += 2 * GROUP, bits >>= 2 * GROUP) {
            const int32_t some = (int32_t)(bits & ALL);
            const uint16_t *times = chunk->times + unit;
            uint16_t *rows =
                counts + (NEIGHBOURS_LEAD + origin + unit) * NEIGHBOURS_CLASSES - CLASS_0;

            if (!(some & ODD)) {
                if (some)
                    count_even(times, some, last, rows);
                continue;
            }
            if (some & ALL >> GROUP)
                count_eight(times, some, last, rows);
            if (some >> GROUP)
                count_eight(times + GROUP, some >> GROUP, last, rows + GROUP * NEIGHBOURS_CLASSES);
        }
    }
}

static void count_narrow(const struct chunk *chunk, int from, int to, uint16_t last,
                         uint16_t *counts, int origin)
{
    count_units(chunk, from, to, last, counts, origin);
}

#ifdef __x86_64__
/* The same where a register holds eight classes. */
__attribute__((target("avx2"))) static void count_wide(const struct chunk *chunk, int from, int to,
                                                       uint16_t last, uint16_t *counts, int origin)
{
    count_units(chunk, from, to, last, counts, origin);
}
#endif

static count_chunk *best_count(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2"))
        return count_wide;
#endif
    return count_narrow;
}

enum psnap_status neighbours_access(struct neighbours *neighbours, uint64_t address,
                                    uint16_t *counts, unsigned *time)
{
    const int span = PSNAP_SURFACE_STRIDE_MAX >> neighbours->unit;
    const uint64_t units = address >> neighbours->unit;
    const int unit = (int)(units & (CHUNK_UNITS - 1));
    const int origin = span - unit;
    const int from = unit - span, to = unit + span;
    const uint16_t last = (uint16_t)(neighbours->now - 1);
    const uint32_t place = place_of(neighbours, units >> CHUNK_BITS);
    const struct chunk *chunks, *chunk;

    if (!place)
        return PSNAP_ERROR_MEMORY;
    chunks = neighbours->chunks;
    chunk = &chunks[place];
    if (time) {
        const uint16_t less_one = (uint16_t)(last - chunk->times[unit]);
        *time = !(chunk->bits[unit / 64] >> unit % 64 & 1) ? PSNAP_SURFACE_DISTANCES
                : less_one                                 ? 32 - (unsigned)__builtin_clz(less_one)
                                                           : 0;
    }
    if (counts && from < 0 && chunk->below)
        neighbours->count_chunk(&chunks[chunk->below], from + CHUNK_UNITS, CHUNK_UNITS - 1, last,
                                counts, origin - CHUNK_UNITS);
    if (counts)
        neighbours->count_chunk(chunk, from < 0 ? 0 : from, to < CHUNK_UNITS ? to : CHUNK_UNITS - 1,
                                last, counts, origin);
    if (counts && to >= CHUNK_UNITS && chunk->above)
        neighbours->count_chunk(&chunks[chunk->above], 0, to - CHUNK_UNITS, last, counts,
                                origin + CHUNK_UNITS);
    forget(neighbours, place);
    note(neighbours, place, (uint32_t)unit);
    return PSNAP_OK;
}

void neighbours_expect(const struct neighbours *neighbours, uint64_t address, bool soon)
{
    const uint64_t units = address >> neighbours->unit;
    const uint32_t *bucket = bucket_of(neighbours, units >> CHUNK_BITS);

    if (neighbours->live <= NEAR_CHUNKS)
        return;
    __builtin_prefetch(soon ? (const void *)&neighbours->chunks[*bucket] : bucket);
    if (soon)
        __builtin_prefetch(&neighbours->chunks[*bucket].times[units & (CHUNK_UNITS - 1)]);
}
