/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pattern buffers interleave regions: the buffer is a ring that is walked round
 * and round, one access of its region per slot, until the loop has delivered
 * all its accesses. Readings of what the paper leaves open (replay/MODELS.md):
 *
 *   A round that the end of the buffer cuts short is left out (whole_rounds).
 *
 *   A region that has delivered all its accesses leaves its slots to the next
 *   region that the buffer has not seen, in the order of first accesses
 *   (leave_seat): a loop that walks through one array after the other, or
 *   through the planes of one, keeps as many in use at a time as at its start.
 *   When none is waiting the slots are passed over.
 *
 * Accesses per region are exact, whatever the pattern.
 */
#include "replay/interleave.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { RING_DEFAULT = 1024 /* slots of a loop without a pattern, at most */ };

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

/* Slots and seats of the pattern (of the first regions, if there is none); the rest waits. */
static void take_seats(struct replay_loop *loop, const uint32_t *pattern, uint32_t length,
                       uint32_t *seat_of)
{
    uint32_t seats = 0;

    for (uint32_t i = 0; i < loop->region_count; i++)
        seat_of[i] = PSNAP_NONE;
    for (uint32_t i = 0; i < length; i++) {
        uint32_t region = pattern[i];
        if (seat_of[region] == PSNAP_NONE) {
            seat_of[region] = seats;
            loop->seats[seats++] = &loop->regions[region];
        }
        loop->slots[loop->slot_count++] = seat_of[region];
    }
    for (uint32_t i = 0; i < loop->region_count; i++) {
        if (seat_of[i] != PSNAP_NONE)
            continue;
        if (length == 0 && seats < RING_DEFAULT) {
            loop->slots[loop->slot_count++] = seats;
            loop->seats[seats++] = &loop->regions[i];
        } else {
            loop->waiting[loop->waiting_count++] = i;
        }
    }
}

static enum psnap_status make_slots(struct replay_loop *loop,
                                    const struct psnap_profile_loop *profile)
{
    const uint32_t regions = profile->region_count;
    uint32_t *pattern = malloc(2 * PSNAP_PATTERN_MAX * sizeof *pattern); /* and for scratch */
    uint32_t *seat_of = malloc(regions * sizeof *seat_of);
    enum psnap_status status = PSNAP_ERROR_MEMORY;

    loop->seats = malloc(regions * sizeof(struct replay_region *));
    loop->waiting = malloc(regions * sizeof *loop->waiting);
    if (pattern && seat_of && loop->seats && loop->waiting) {
        uint32_t length = unfold(&profile->pattern, 0, profile->pattern.count, pattern, 0);
        length = whole_rounds(&profile->pattern, pattern, length, pattern + PSNAP_PATTERN_MAX);
        loop->slots = malloc((length ? length : RING_DEFAULT) * sizeof *loop->slots);
        if (loop->slots) {
            take_seats(loop, pattern, length, seat_of);
            status = PSNAP_OK;
        }
    }
    free(pattern);
    free(seat_of);
    return status;
}

static uint64_t replay_name_hash(const char *loop, const char *region)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

    for (const char *c = loop; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    hash *= UINT64_C(0x100000001b3); /* a NUL between the names */
    for (const char *c = region; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    return hash;
}

/* Generates what comes next; false when all of the region is delivered. */
static bool refill(struct replay_region *region)
{
    const size_t n = region->left < REPLAY_BUFFER ? (size_t)region->left : REPLAY_BUFFER;

    psnap_generator_fill(region->generator, region->buffer, n);
    region->left -= n;
    region->next = region->buffer;
    region->end = region->buffer + n;
    return n > 0;
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
        const uint64_t n = from->accesses < REPLAY_BUFFER ? from->accesses : REPLAY_BUFFER;
        region->left = from->accesses;
        region->generator =
            psnap_generator_new(from, seed, replay_name_hash(profile->id, from->id), refs[i]);
        region->buffer = malloc((size_t)n * sizeof *region->buffer);
        if (!region->generator || !region->buffer)
            return PSNAP_ERROR_MEMORY;
        refill(region);
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
    free(loop->seats);
    free(loop->waiting);
    free(loop->slots);
}

/* The region on a seat is done: the next one takes it. */
static void leave_seat(struct replay_loop *loop, uint32_t seat)
{
    loop->seats[seat] = loop->waiting_at < loop->waiting_count
                            ? &loop->regions[loop->waiting[loop->waiting_at++]]
                            : NULL;
}

/* Takes slots of empty seats out of the ring; the slot `next` is now where it says. */
static uint32_t close_ranks(struct replay_loop *loop, uint32_t next)
{
    uint32_t kept = 0, at = 0;

    for (uint32_t i = 0; i < loop->slot_count; i++) {
        if (i == next)
            at = kept;
        if (loop->seats[loop->slots[i]])
            loop->slots[kept++] = loop->slots[i];
    }
    loop->slot_count = kept;
    loop->empty = 0;
    return at < kept ? at : 0;
}

void replay_loop_fill(struct replay_loop *loop, struct psnap_access *block, size_t n)
{
    struct psnap_access *const end = block + n;
    uint32_t at = loop->at;

    while (block < end) {
        const uint32_t seat = loop->slots[at];
        struct replay_region *region = loop->seats[seat];

        at = at + 1 < loop->slot_count ? at + 1 : 0;
        if (!region) {
            /* Each empty slot is passed a few times at most, then all are taken out. */
            if (++loop->empty > loop->slot_count)
                at = close_ranks(loop, at);
            continue;
        }
        *block++ = *region->next++;
        if (region->next == region->end && !refill(region))
            leave_seat(loop, seat);
    }
    loop->at = at;
}
