/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sums over the time line (timeline.h), and how it grows. Sums are of eight numbers at a time, in
 * vectors that every processor of 64 bits has.
 */
#include "predict/reuse/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"
#include "predict/reuse/table.h"

enum { RUN = TIMELINE_RUN, PART = TIMELINE_PART, BLOCKS = TIMELINE_PART / TIMELINE_BLOCK };
enum { AHEAD = 24 };

typedef uint16_t eight __attribute__((vector_size(16)));

/* Of eight numbers. */
static uint32_t sum_of(eight numbers)
{
    uint64_t two[2], pairs;

    memcpy(two, &numbers, sizeof two);
    pairs = (two[0] & UINT64_C(0x0000ffff0000ffff)) +
            (two[0] >> 16 & UINT64_C(0x0000ffff0000ffff)) +
            (two[1] & UINT64_C(0x0000ffff0000ffff)) + (two[1] >> 16 & UINT64_C(0x0000ffff0000ffff));
    return (uint32_t)(pairs + (pairs >> 32));
}

/* masks + GROUP - 1 - i: GROUP bytes, those behind the i-th are set. */
#define SET8 255, 255, 255, 255, 255, 255, 255, 255
static const uint8_t masks[2 * RUN] = {[RUN] = SET8, SET8, SET8, SET8, SET8, SET8, SET8, SET8};

/* The counts of runs behind one, of a block. */
static uint32_t runs_behind(const uint8_t *counts, uint32_t index)
{
    const uint8_t *mask = masks + RUN - 1 - index;
    eight low = {0}, high = {0};

    for (size_t i = 0; i < RUN; i += sizeof(eight)) {
        eight some, wanted;
        memcpy(&some, counts + i, sizeof some);
        memcpy(&wanted, mask + i, sizeof wanted);
        some &= wanted;
        low += some & 0xff;
        high += some >> 8;
    }
    return sum_of(low + high);
}

/* The counts of blocks behind one, of a part; of four no sum exceeds 2^14. */
static uint32_t blocks_behind(const uint16_t *counts, uint32_t index)
{
    const uint8_t *mask = masks + RUN - 2 - 2 * index;
    eight sums = {0};

    for (size_t i = 0; i < BLOCKS; i += 8) {
        eight some, wanted;
        memcpy(&some, counts + i, sizeof some);
        memcpy(&wanted, mask + 2 * i, sizeof wanted);
        sums += some & wanted;
    }
    return sum_of(sums);
}

uint32_t timeline_behind(const struct timeline *line, uint32_t slot)
{
    const uint32_t run = slot / RUN, block = run / RUN, part = block / BLOCKS;
    const uint32_t last = (line->head - 1) / RUN / RUN;
    uint32_t sum = timeline_ones(line->taken[run] >> slot % RUN >> 1);

    sum += runs_behind(line->in_runs + block * RUN, run % RUN);
    if (last != block)
        sum += blocks_behind(line->in_blocks + part * BLOCKS, block % BLOCKS);
    for (uint32_t i = part + 1; i <= last / BLOCKS; i++)
        sum += line->in_parts[i];
    return sum;
}

/* ------------------------------------------------------------------- growing */

/* `array`, of one item for each `slots` slots, with what is new set to 0. */
static bool stretch(void *array, size_t size, uint32_t slots, uint32_t from, uint32_t to)
{
    char *items;

    if (!psnap_resize(array, to / slots, size))
        return false;
    memcpy(&items, array, sizeof items);
    memset(items + from / slots * size, 0, (to - from) / slots * size);
    return true;
}

static bool stretch_all(struct timeline *line, uint32_t slots)
{
    const uint32_t had = line->slot_count;

    if (!psnap_resize(&line->owners, slots, sizeof(uint32_t)) ||
        !stretch(&line->taken, sizeof(uint64_t), RUN, had, slots) ||
        !stretch(&line->in_runs, sizeof(uint8_t), RUN, had, slots) ||
        !stretch(&line->in_blocks, sizeof(uint16_t), TIMELINE_BLOCK, had, slots) ||
        !stretch(&line->in_parts, sizeof(uint32_t), PART, had, slots))
        return false;
    line->slot_count = slots;
    return true;
}

/* Moves what is taken to the first slots, in its order. */
static void close_up(struct timeline *line, uint32_t *cells)
{
    const uint32_t runs = line->head / RUN + (line->head % RUN != 0);

    line->head = 0;
    for (uint32_t run = 0; run < runs; run++)
        for (uint64_t bits = line->taken[run]; bits; bits &= bits - 1) {
            const uint32_t slot = run * RUN + (uint32_t)__builtin_ctzll(bits);
            __builtin_prefetch(&cells[line->owners[(slot + AHEAD) % line->slot_count]], 1);
            timeline_leave(line, slot);
            timeline_put(line, cells, line->owners[slot]); /* at or below its own */
        }
}

bool timeline_make_room(struct timeline *line, uint32_t *cells)
{
    if (line->head < line->slot_count)
        return true;
    if (line->taken_count > line->slot_count / 4 && line->slot_count < line->slot_max &&
        !stretch_all(line, 2 * line->slot_count))
        return false;
    close_up(line, cells);
    return line->head < line->slot_count;
}

bool timeline_init(struct timeline *line)
{
    *line = (struct timeline){.slot_max = 2 * TABLE_CELLS_MAX};
    return stretch_all(line, PART);
}

void timeline_clear(struct timeline *line)
{
    const size_t used = line->head;

    memset(line->taken, 0, (used / RUN + (used % RUN != 0)) * sizeof *line->taken);
    memset(line->in_runs, 0, (used / RUN + (used % RUN != 0)) * sizeof *line->in_runs);
    memset(line->in_blocks, 0, line->slot_count / TIMELINE_BLOCK * sizeof *line->in_blocks);
    memset(line->in_parts, 0, line->slot_count / PART * sizeof *line->in_parts);
    line->head = line->taken_count = 0;
}

void timeline_release(struct timeline *line)
{
    free(line->taken);
    free(line->in_runs);
    free(line->in_blocks);
    free(line->in_parts);
    free(line->owners);
}
