/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A region's accesses are collected until there is a window full of them. The shortest pattern
 * that repeats itself at a constant step, a multiple of 8 bytes, over the most of the window is
 * taken if it does so for at least half of it: then further accesses are only compared, until one
 * is another. What has no such pattern is irregular. Two runs are the same pattern when their
 * offsets from the lowest address and their steps are; runs of a ninth pattern, and what remains of
 * a run behind its last whole repetition, are left out, and counted.
 */
#include "formats/spatter_runs.h"

#include <string.h>

#define ELEMENT 8u

/* How many of the window's first accesses repeat a pattern of `length`. */
static uint32_t repeated(const struct spatter_region *region, uint32_t length)
{
    const uint64_t *window = region->window;
    const uint64_t step = window[length] - window[0];
    uint32_t n = length;

    if (step % ELEMENT)
        return 0;
    while (n < region->used && window[n] - window[n - length] == step)
        n++;
    return n;
}

static struct spatter_piece *piece_of(struct spatter_region *region,
                                      const struct spatter_piece *wanted)
{
    for (uint32_t i = 0; i < region->piece_count; i++) {
        struct spatter_piece *piece = &region->pieces[i];
        if (piece->length == wanted->length && piece->step == wanted->step &&
            !memcmp(piece->offsets, wanted->offsets, sizeof piece->offsets))
            return piece;
    }
    if (region->piece_count == SPATTER_PIECES)
        return NULL;
    region->pieces[region->piece_count] = *wanted;
    return &region->pieces[region->piece_count++];
}

/* Puts down a run of `count` accesses that began with the pattern `begin`. */
static void put_down(struct spatter_region *region, const uint64_t *begin, uint32_t length,
                     uint64_t step, uint64_t count)
{
    struct spatter_piece wanted = {.length = length, .step = step}, *piece;
    const uint64_t repetitions = count / length;
    uint64_t low = UINT64_MAX;

    for (uint32_t i = 0; i < length; i++)
        low = begin[i] < low ? begin[i] : low;
    low -= low % ELEMENT;
    for (uint32_t i = 0; i < length; i++)
        wanted.offsets[i] = (begin[i] - low) / ELEMENT;
    piece = piece_of(region, &wanted);
    if (!piece) {
        region->left_out += count;
        return;
    }
    region->left_out += count % length;
    piece->runs++;
    piece->accesses += repetitions * length;
    piece->longest = repetitions > piece->longest ? repetitions : piece->longest;
}

static void put_irregular(struct spatter_region *region)
{
    if (!region->irregular_used) {
        memcpy(region->irregular, region->window, sizeof region->window);
        region->irregular_used = region->used;
        region->low = region->high = region->window[0];
    }
    for (uint32_t i = 0; i < region->used; i++) {
        const uint64_t address = region->window[i];
        region->low = address < region->low ? address : region->low;
        region->high = address > region->high ? address : region->high;
    }
    region->irregular_accesses += region->used;
    region->used = 0;
}

/* Looks at a window, and takes at least one access from it. */
static void look(struct spatter_region *region)
{
    uint64_t last[SPATTER_PATTERN];
    uint32_t most = 0, length = 0;

    for (uint32_t p = 1; p <= SPATTER_PATTERN && 2 * p <= region->used; p++) {
        const uint32_t n = repeated(region, p);
        if (n > most) {
            most = n;
            length = p;
        }
        if (most == region->used)
            break;
    }
    if (most < 2 * length || 2 * most < region->used || !length) {
        put_irregular(region);
        return;
    }
    memcpy(region->begin, region->window, length * sizeof region->begin[0]);
    region->step = region->window[length] - region->window[0];
    if (most < region->used) {
        put_down(region, region->begin, length, region->step, most);
        region->used -= most;
        memmove(region->window, region->window + most, region->used * sizeof region->window[0]);
        return;
    }
    region->length = length;
    region->count = most;
    for (uint32_t i = most - length; i < most; i++) /* access i of the run is in place i % length */
        last[i % length] = region->window[i];
    memcpy(region->window, last, length * sizeof last[0]);
    region->used = 0;
}

void spatter_add(struct spatter_region *region, uint64_t address)
{
    region->accesses++;
    if (region->length) {
        uint64_t *before = &region->window[region->count % region->length];
        if (address - *before == region->step) {
            *before = address;
            region->count++;
            return;
        }
        put_down(region, region->begin, region->length, region->step, region->count);
        region->length = 0;
    }
    region->window[region->used++] = address;
    if (region->used == SPATTER_WINDOW)
        look(region);
}

void spatter_end(struct spatter_region *region)
{
    if (region->length)
        put_down(region, region->begin, region->length, region->step, region->count);
    region->length = 0;
    while (region->used) {
        look(region);
        if (region->length)
            put_down(region, region->begin, region->length, region->step, region->count);
        region->length = 0;
    }
}
