/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cells of a table (table.h) in the order in which they were put, each in a slot of a line of
 * slots.
 *
 * Slots are bits; how many are taken is kept for each run of 2^6 slots, block of 2^12 and part of
 * 2^17, so that those behind one are a sum of 64 numbers, one of 32 and one of taken / 2^16 or
 * fewer. At the end of the line the slots taken are closed up, in their order: there are at least
 * twice as many slots, so that this is one step a cell that is put. The line doubles up to slot_max
 * slots, twice the cells of a table, so that this holds to the last.
 *
 * (Bennett and Kruskal, "LRU stack processing", 1975, have the time line and counts of parts of it;
 * Olken, 1981, closes up.)
 *
 * Invariants: a cell that has a slot is TIMELINE_FIRST and its slot; owners[slot] is the cell of a
 * slot that is taken. Bits at and behind the head are 0.
 */
#ifndef PSNAP_PREDICT_REUSE_TIMELINE_H
#define PSNAP_PREDICT_REUSE_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#define TIMELINE_FIRST 2 /* smaller numbers of a cell are its user's */

enum { TIMELINE_RUN = 64, TIMELINE_BLOCK = 64 * 64, TIMELINE_PART = 64 * 64 * 32 };

struct timeline {
    uint32_t head, slot_count; /* the next slot; a multiple of TIMELINE_PART */
    uint32_t slot_max; /* slot_count times a power of two; a cell holds TIMELINE_FIRST + any slot */
    uint32_t taken_count;
    uint64_t *taken;     /* a bit for each slot */
    uint8_t *in_runs;    /* slots taken of each run */
    uint16_t *in_blocks; /* of each block */
    uint32_t *in_parts;  /* of each part */
    uint32_t *owners;
};

bool timeline_init(struct timeline *line); /* false: out of memory */
void timeline_release(struct timeline *line);
void timeline_clear(struct timeline *line);

/* Makes a slot at the head; false: out of memory, or all of slot_max are taken. */
bool timeline_make_room(struct timeline *line, uint32_t *cells);

/* Slots taken behind one. */
uint32_t timeline_behind(const struct timeline *line, uint32_t slot);

static inline uint32_t timeline_ones(uint64_t bits)
{
    bits -= bits >> 1 & UINT64_C(0x5555555555555555);
    bits = (bits & UINT64_C(0x3333333333333333)) + (bits >> 2 & UINT64_C(0x3333333333333333));
    bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (uint32_t)(bits * UINT64_C(0x0101010101010101) >> 56);
}

static inline void timeline_put(struct timeline *line, uint32_t *cells, uint32_t cell)
{
    const uint32_t slot = line->head++;

    cells[cell] = TIMELINE_FIRST + slot;
    line->owners[slot] = cell;
    line->taken[slot / TIMELINE_RUN] |= UINT64_C(1) << slot % TIMELINE_RUN;
    line->in_runs[slot / TIMELINE_RUN]++;
    line->in_blocks[slot / TIMELINE_BLOCK]++;
    line->in_parts[slot / TIMELINE_PART]++;
    line->taken_count++;
}

static inline void timeline_leave(struct timeline *line, uint32_t slot)
{
    line->taken[slot / TIMELINE_RUN] &= ~(UINT64_C(1) << slot % TIMELINE_RUN);
    line->in_runs[slot / TIMELINE_RUN]--;
    line->in_blocks[slot / TIMELINE_BLOCK]--;
    line->in_parts[slot / TIMELINE_PART]--;
    line->taken_count--;
}

#endif
