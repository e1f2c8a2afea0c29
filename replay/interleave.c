/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pattern buffers interleave regions. The pattern is a ring of slots, each of
 * one region, that is walked until the loop has delivered all its accesses.
 * Readings of what the paper leaves open (replay/MODELS.md):
 *
 *   A region with N of the loop's accesses and c of its slots delivers N / c
 *   per slot, relative to the mean over all slots, so that every region lasts
 *   to the loop's end. Where the pattern is the whole truth this is one access
 *   per slot. Fractions are kept as credit (error diffusion).
 *
 *   A round that the end of the buffer cuts short is left out.
 *
 *   Regions that the pattern buffer has not seen get slots in proportion to
 *   their accesses, evenly spread over the ring.
 *
 * Rates are rounded up, so every region has delivered all its accesses when
 * the loop has walked as many slots as it has accesses; what is rounded up too
 * much is cut off by `left`. Accesses per region are exact.
 */
#include "replay/interleave.h"

#include <stdlib.h>
#include <string.h>

enum {
    RING_DEFAULT = 1024,    /* slots of a loop without a pattern */
    SLOTS_MAX = 1024,       /* of a region that the pattern lacks */
    EXTRA_SLOTS_MAX = 65536 /* of all of them */
};

#define ONE (UINT64_C(1) << 32)

/* A slot on its way to the ring; `key` in [0, 2^32) is its place there. */
struct place {
    uint64_t key;
    uint32_t region;
    uint32_t order; /* breaks ties */
};

static int compare_places(const void *a, const void *b)
{
    const struct place *p = a, *q = b;

    if (p->key != q->key)
        return p->key < q->key ? -1 : 1;
    return p->order < q->order ? -1 : p->order > q->order;
}

static uint64_t scale(uint64_t value, uint64_t by, uint64_t divisor, bool up)
{
    __extension__ typedef unsigned __int128 wide;

    return (uint64_t)(((wide)value * by + (up ? divisor - 1 : 0)) / divisor);
}

/* The regions of an unfolded pattern; `out` has room for PSNAP_PATTERN_MAX. */
static uint32_t unfold(const struct psnap_sequence *pattern, uint32_t begin, uint32_t end,
                       uint32_t *out, uint32_t count)
{
    for (uint32_t i = begin; i < end; i += 1 + pattern->items[i].span) {
        const struct psnap_sequence_item *item = &pattern->items[i];
        uint32_t start = count, length;
        if (item->what != PSNAP_NONE) {
            out[count++] = item->what;
            continue;
        }
        count = unfold(pattern, i + 1, i + 1 + item->span, out, count);
        length = count - start;
        for (uint64_t round = 1; round < item->repeat; round++, count += length)
            memcpy(&out[count], &out[start], length * sizeof *out);
    }
    return count;
}

/*
 * The pattern buffer ends where it is full, mostly in the middle of a round of
 * its last group. Walked round and round, that piece would be out of step with
 * what follows: it is left out if it is the beginning of such a round.
 */
static uint32_t whole_rounds(const struct psnap_sequence *pattern, const uint32_t *unfolded,
                             uint32_t length, uint32_t *scratch)
{
    uint32_t last = PSNAP_NONE, piece, round, before;

    for (uint32_t i = 0; i < pattern->count; i += 1 + pattern->items[i].span)
        if (pattern->items[i].what == PSNAP_NONE)
            last = i;
    if (last == PSNAP_NONE)
        return length;
    before = unfold(pattern, 0, last, scratch, 0);
    round = unfold(pattern, last + 1, last + 1 + pattern->items[last].span, scratch, 0);
    piece = length - before - round * (uint32_t)pattern->items[last].repeat;
    if (piece < round && !memcmp(unfolded + length - piece, scratch, piece * sizeof *scratch))
        length -= piece;
    return length;
}

/* How many slots a region gets that the pattern lacks. */
static uint64_t extra_slots(uint64_t accesses, uint64_t ring, uint64_t seen, uint32_t lacking)
{
    uint64_t most = EXTRA_SLOTS_MAX / lacking < SLOTS_MAX ? EXTRA_SLOTS_MAX / lacking : SLOTS_MAX;
    uint64_t slots = seen ? scale(accesses, ring, seen, true) : most;

    if (slots > most)
        slots = most;
    return slots ? slots : 1;
}

/* Makes the ring of `pattern` and of slots for regions that it lacks; counts slots by region. */
static enum psnap_status make_ring(struct replay_loop *loop,
                                   const struct psnap_profile_loop *profile,
                                   const uint32_t *pattern, uint32_t length, uint64_t *slot_counts)
{
    uint64_t seen = 0, ring = length, extra = 0, count = 0;
    uint32_t lacking = 0;
    struct place *places;

    for (uint32_t i = 0; i < length; i++)
        slot_counts[pattern[i]]++;
    for (uint32_t i = 0; i < profile->region_count; i++) {
        seen += slot_counts[i] ? profile->regions[i].accesses : 0;
        lacking += !slot_counts[i];
    }
    if (!seen) { /* no pattern: a ring of all regions by share */
        seen = profile->accesses;
        ring = RING_DEFAULT;
    }
    for (uint32_t i = 0; i < profile->region_count; i++)
        if (!slot_counts[i])
            extra += extra_slots(profile->regions[i].accesses, ring, seen, lacking);
    places = malloc((length + extra) * sizeof *places);
    loop->slots = malloc((length + extra) * sizeof *loop->slots);
    if (!places || !loop->slots) {
        free(places);
        return PSNAP_ERROR_MEMORY;
    }
    for (uint32_t i = 0; i < length; i++, count++)
        places[count] = (struct place){scale(i, ONE, length, false), pattern[i], (uint32_t)count};
    for (uint32_t i = 0; i < profile->region_count; i++) {
        uint64_t slots;
        if (slot_counts[i])
            continue;
        slots = extra_slots(profile->regions[i].accesses, ring, seen, lacking);
        slot_counts[i] = slots;
        for (uint64_t j = 0; j < slots; j++, count++)
            places[count] =
                (struct place){scale(2 * j + 1, ONE, 2 * slots, false), i, (uint32_t)count};
    }
    qsort(places, count, sizeof *places, compare_places);
    for (uint64_t i = 0; i < count; i++)
        loop->slots[i] = places[i].region;
    loop->slot_count = (uint32_t)count;
    free(places);
    return PSNAP_OK;
}

static enum psnap_status make_slots(struct replay_loop *loop,
                                    const struct psnap_profile_loop *profile)
{
    uint32_t *pattern = malloc(2 * PSNAP_PATTERN_MAX * sizeof *pattern); /* and for scratch */
    uint64_t *slot_counts = calloc(profile->region_count, sizeof *slot_counts);
    enum psnap_status status = pattern && slot_counts ? PSNAP_OK : PSNAP_ERROR_MEMORY;

    if (!status) {
        uint32_t length = unfold(&profile->pattern, 0, profile->pattern.count, pattern, 0);
        length = whole_rounds(&profile->pattern, pattern, length, pattern + PSNAP_PATTERN_MAX);
        status = make_ring(loop, profile, pattern, length, slot_counts);
    }
    for (uint32_t i = 0; i < profile->region_count && !status; i++) {
        struct replay_region *region = &loop->regions[i];
        /* (N / c) / (accesses of the loop / slots of the ring) */
        region->rate = scale(region->left, loop->slot_count * ONE / slot_counts[i] + 1,
                             profile->accesses, true);
        region->credit = ONE / 2;
    }
    free(pattern);
    free(slot_counts);
    return status;
}

/* Names, not positions, seed a region: loops and regions may be added and reordered. */
static uint64_t name_hash(const char *loop, const char *region)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

    for (const char *c = loop; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    hash *= UINT64_C(0x100000001b3); /* a NUL between the names */
    for (const char *c = region; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    return hash;
}

enum psnap_status replay_loop_init(struct replay_loop *loop,
                                   const struct psnap_profile_loop *profile, uint64_t seed,
                                   const uint32_t (*refs)[3])
{
    memset(loop, 0, sizeof *loop);
    if (!profile->region_count)
        return PSNAP_OK;
    loop->regions = calloc(profile->region_count, sizeof *loop->regions);
    if (!loop->regions)
        return PSNAP_ERROR_MEMORY;
    loop->region_count = profile->region_count;
    for (uint32_t i = 0; i < profile->region_count; i++) {
        const struct psnap_profile_region *from = &profile->regions[i];
        struct replay_region *region = &loop->regions[i];
        region->left = from->accesses;
        region->generator =
            psnap_generator_new(from, seed, name_hash(profile->id, from->id), refs[i]);
        region->buffer = malloc(REPLAY_BUFFER * sizeof *region->buffer);
        if (!region->generator || !region->buffer)
            return PSNAP_ERROR_MEMORY;
    }
    return make_slots(loop, profile);
}

void replay_loop_release(struct replay_loop *loop)
{
    for (uint32_t i = 0; i < loop->region_count; i++) {
        psnap_generator_free(loop->regions[i].generator);
        free(loop->regions[i].buffer);
    }
    free(loop->regions);
    free(loop->slots);
}

/* Up to n accesses of the current burst; returns how many. */
static size_t deliver_burst(struct replay_loop *loop, struct psnap_access *block, size_t n)
{
    struct replay_region *region = loop->burst_region;

    if (region->at == region->end) {
        psnap_generator_fill(region->generator, region->buffer, REPLAY_BUFFER);
        region->at = 0;
        region->end = REPLAY_BUFFER;
    }
    if (n > loop->burst)
        n = (size_t)loop->burst;
    if (n > region->end - region->at)
        n = region->end - region->at;
    memcpy(block, region->buffer + region->at, n * sizeof *block);
    region->at += (uint32_t)n;
    region->left -= n;
    loop->burst -= n;
    return n;
}

/* Goes on to the next slot that delivers something. */
static void next_burst(struct replay_loop *loop)
{
    do {
        struct replay_region *region = &loop->regions[loop->slots[loop->at]];
        loop->at = loop->at + 1 < loop->slot_count ? loop->at + 1 : 0;
        region->credit += region->rate;
        loop->burst_region = region;
        loop->burst = region->credit >> 32;
        region->credit &= ONE - 1;
        if (loop->burst > region->left)
            loop->burst = region->left;
    } while (!loop->burst);
}

void replay_loop_fill(struct replay_loop *loop, struct psnap_access *block, size_t n)
{
    while (n) {
        size_t done;
        if (!loop->burst)
            next_burst(loop);
        if (loop->burst == 1 && loop->burst_region->at < loop->burst_region->end) {
            /* Nearly always: one access that is there. */
            struct replay_region *region = loop->burst_region;
            *block++ = region->buffer[region->at++];
            region->left--;
            loop->burst = 0;
            n--;
            continue;
        }
        done = deliver_burst(loop, block, n);
        block += done;
        n -= done;
    }
}
