/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exact LRU stack distances of a stream, in memory that grows with the lines.
 *
 * The lines touched last, STACK_TOP of them, are an array in their order; a line found there has
 * its place as distance. All others have a slot each on a time line, in the order in which they
 * left the array: the distance of such a line is STACK_TOP, and the slots taken behind its own.
 * Slots are bits; how many are taken is kept for each run of 2^6 slots, block of 2^12 and part of
 * 2^17, so that a distance is a sum of 64 numbers, one of 32 and one of lines / 2^16 or fewer. A
 * line that is touched leaves its slot, the one it pushes out of the array gets the slot at the
 * head. At the end of the time line the slots taken are closed up, in their order: the time line
 * has at least twice the lines, so that this is one step a touch.
 *
 * (Bennett and Kruskal, "LRU stack processing", 1975, have the time line and counts of parts of it;
 * Olken, 1981, closes up.)
 *
 * A sample of the lines by a hash of their numbers (Waldspurger and others, "Efficient MRC
 * construction with SHARDS", FAST 2015) has slots for these alone; the array has all lines, so that
 * short distances, which are most, are exact.
 *
 * Lines are found by pages of 16, as neighbours are touched together: a table of pages, open
 * addressing, and a cell for each line of a page, which has its slot. A page takes 64 bytes, its
 * entry 16.
 *
 * Invariants: lines in the array that are not of the sample have cell 0 there. A cell is EMPTY
 * (never touched, or forgotten), ON_TOP, or FIRST_SLOT and its slot; owners[slot] is the cell of a
 * slot that is taken. Bits at and behind the head are 0.
 */
#include "predict/reuse/stack.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

enum { TOP = STACK_TOP, PAGE = 16, RUN = 64, BLOCKS = 32, PART = RUN * RUN * BLOCKS };
enum { EMPTY = 0, ON_TOP = 1, FIRST_SLOT = 2 };
enum { AHEAD_ENTRY = 24, AHEAD_CELL = 12, FAR_LINES = 1 << 15 };

struct entry {
    uint64_t page;  /* line / PAGE */
    uint32_t cells; /* first of its cells; 0: the entry is free */
};

struct stack {
    uint64_t top[TOP];       /* the lines touched last, the last one first */
    uint32_t top_cells[TOP]; /* theirs */
    uint32_t top_count;
    uint32_t head, slot_count; /* the next slot; a multiple of PART */
    uint32_t taken_count;
    uint64_t *taken;     /* a bit for each slot */
    uint8_t *in_runs;    /* slots taken of each 2^6 */
    uint16_t *in_blocks; /* of each 2^12 */
    uint32_t *in_parts;  /* of each 2^17 */
    uint32_t *owners;
    struct entry *entries;
    uint32_t entry_room, page_count; /* a power of two, at least twice the pages */
    uint32_t *cells;                 /* PAGE for each page; those of page 0 are nobody's */
    uint64_t threshold;              /* of the sample */
    size_t cell_room;
};

/* -------------------------------------------------------------------- lines */

/* Of SplitMix64 (Steele, Lea and Flood, 2014), whose bits are all as good as random. */
static inline uint64_t hash(uint64_t line)
{
    line += UINT64_C(0x9e3779b97f4a7c15);
    line = (line ^ line >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    line = (line ^ line >> 27) * UINT64_C(0x94d049bb133111eb);
    return line ^ line >> 31;
}

static inline bool is_sampled(const struct stack *stack, uint64_t line)
{
    return stack->threshold == UINT64_MAX || hash(line) <= stack->threshold;
}

static uint32_t entry_of(const struct stack *stack, uint64_t page)
{
    const uint64_t spread = page * UINT64_C(0x9e3779b97f4a7c15);

    return (uint32_t)(spread >> 32) & (stack->entry_room - 1);
}

/* The entry that has a page, or a free one. */
static struct entry *find_entry(const struct stack *stack, uint64_t page)
{
    uint32_t at = entry_of(stack, page);

    while (stack->entries[at].cells && stack->entries[at].page != page)
        at = (at + 1) & (stack->entry_room - 1);
    return &stack->entries[at];
}

static bool grow_entries(struct stack *stack)
{
    struct entry *old = stack->entries;
    const uint32_t room = stack->entry_room;

    if (room > UINT32_MAX / 2)
        return false;
    stack->entries = calloc((size_t)2 * room, sizeof *old);
    if (!stack->entries) {
        stack->entries = old;
        return false;
    }
    stack->entry_room = 2 * room;
    for (uint32_t i = 0; i < room; i++)
        if (old[i].cells)
            *find_entry(stack, old[i].page) = old[i];
    free(old);
    return true;
}

/* The first cell of a new page; 0: out of memory. */
static uint32_t add_page(struct stack *stack, uint64_t page)
{
    const size_t cells = ((size_t)stack->page_count + 1) * PAGE;
    uint32_t *room =
        cells + PAGE <= STACK_LINES_MAX
            ? psnap_with_room(stack->cells, &stack->cell_room, cells + PAGE, sizeof *room)
            : NULL;

    if (!room)
        return 0;
    stack->cells = room;
    if (2 * (stack->page_count + 1) > stack->entry_room && !grow_entries(stack))
        return 0;
    memset(&stack->cells[cells], 0, PAGE * sizeof stack->cells[0]);
    *find_entry(stack, page) = (struct entry){page, (uint32_t)cells};
    stack->page_count++;
    return (uint32_t)cells;
}

/* The cell of a line, 0: it has none. */
static uint32_t find_cell(const struct stack *stack, uint64_t line)
{
    const uint32_t cells = find_entry(stack, line / PAGE)->cells;

    return cells ? cells + (uint32_t)(line % PAGE) : 0;
}

/* ---------------------------------------------------------------- time line */

typedef uint16_t eight __attribute__((vector_size(16)));

static uint32_t ones(uint64_t bits)
{
    bits -= bits >> 1 & UINT64_C(0x5555555555555555);
    bits = (bits & UINT64_C(0x3333333333333333)) + (bits >> 2 & UINT64_C(0x3333333333333333));
    bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (uint32_t)(bits * UINT64_C(0x0101010101010101) >> 56);
}

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

/* Slots taken behind one. */
static uint32_t taken_behind(const struct stack *stack, uint32_t slot)
{
    const uint32_t run = slot / RUN, block = run / RUN, part = block / BLOCKS;
    const uint32_t last = (stack->head - 1) / RUN / RUN;
    uint32_t sum = ones(stack->taken[run] >> slot % RUN >> 1);

    sum += runs_behind(stack->in_runs + block * RUN, run % RUN);
    if (last != block)
        sum += blocks_behind(stack->in_blocks + part * BLOCKS, block % BLOCKS);
    for (uint32_t i = part + 1; i <= last / BLOCKS; i++)
        sum += stack->in_parts[i];
    return sum;
}

static void take_slot(struct stack *stack, uint32_t cell)
{
    const uint32_t slot = stack->head++;

    stack->cells[cell] = FIRST_SLOT + slot;
    stack->owners[slot] = cell;
    stack->taken[slot / RUN] |= UINT64_C(1) << slot % RUN;
    stack->in_runs[slot / RUN]++;
    stack->in_blocks[slot / RUN / RUN]++;
    stack->in_parts[slot / PART]++;
    stack->taken_count++;
}

static void leave_slot(struct stack *stack, uint32_t slot)
{
    stack->taken[slot / RUN] &= ~(UINT64_C(1) << slot % RUN);
    stack->in_runs[slot / RUN]--;
    stack->in_blocks[slot / RUN / RUN]--;
    stack->in_parts[slot / PART]--;
    stack->taken_count--;
}

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

static bool stretch_slots(struct stack *stack, uint32_t slots)
{
    const uint32_t had = stack->slot_count;

    if (slots > 2 * STACK_LINES_MAX || !psnap_resize(&stack->owners, slots, sizeof(uint32_t)) ||
        !stretch(&stack->taken, sizeof(uint64_t), RUN, had, slots) ||
        !stretch(&stack->in_runs, sizeof(uint8_t), RUN, had, slots) ||
        !stretch(&stack->in_blocks, sizeof(uint16_t), RUN * RUN, had, slots) ||
        !stretch(&stack->in_parts, sizeof(uint32_t), PART, had, slots))
        return false;
    stack->slot_count = slots;
    return true;
}

/* Moves what is taken to the first slots, in its order. */
static void close_up(struct stack *stack)
{
    const uint32_t runs = stack->head / RUN + (stack->head % RUN != 0);

    stack->head = 0;
    for (uint32_t run = 0; run < runs; run++)
        for (uint64_t bits = stack->taken[run]; bits; bits &= bits - 1) {
            const uint32_t slot = run * RUN + (uint32_t)__builtin_ctzll(bits);
            __builtin_prefetch(
                &stack->cells[stack->owners[(slot + AHEAD_ENTRY) % stack->slot_count]], 1);
            leave_slot(stack, slot);
            take_slot(stack, stack->owners[slot]); /* at or below its own */
        }
}

/* Whether there is a slot at the head. */
static bool has_slot(struct stack *stack)
{
    if (stack->head < stack->slot_count)
        return true;
    if (stack->taken_count > stack->slot_count / 4 && !stretch_slots(stack, 2 * stack->slot_count))
        return false;
    close_up(stack);
    return true;
}

/* -------------------------------------------------------------------- touch */

/* A line that is not in the array: its distance; it comes to the front of the array. */
static uint64_t touch_below(struct stack *stack, uint64_t line)
{
    const bool sampled = is_sampled(stack, line);
    uint32_t cell = sampled ? find_cell(stack, line) : 0;
    uint64_t distance = sampled ? STACK_COLD : STACK_OUTSIDE;

    if (sampled && !cell) {
        cell = add_page(stack, line / PAGE);
        if (!cell)
            return STACK_FAILED;
        cell += (uint32_t)(line % PAGE);
    }
    if (stack->top_count == TOP && stack->top_cells[TOP - 1] && !has_slot(stack))
        return STACK_FAILED;
    if (stack->cells[cell] != EMPTY) {
        const uint32_t slot = stack->cells[cell] - FIRST_SLOT;
        distance = TOP + taken_behind(stack, slot);
        leave_slot(stack, slot);
    }
    if (stack->top_count < TOP)
        stack->top_count++;
    else if (stack->top_cells[TOP - 1])
        take_slot(stack, stack->top_cells[TOP - 1]);
    memmove(stack->top + 1, stack->top, (TOP - 1) * sizeof stack->top[0]);
    memmove(stack->top_cells + 1, stack->top_cells, (TOP - 1) * sizeof stack->top_cells[0]);
    stack->top[0] = line;
    stack->top_cells[0] = cell;
    if (cell)
        stack->cells[cell] = ON_TOP;
    return distance;
}

static inline uint64_t touch(struct stack *stack, uint64_t line)
{
    const uint32_t count = stack->top_count;

    for (uint32_t i = 0; i < count; i++)
        if (stack->top[i] == line) {
            const uint32_t cell = stack->top_cells[i];
            for (uint32_t k = i; k > 0; k--) {
                stack->top[k] = stack->top[k - 1];
                stack->top_cells[k] = stack->top_cells[k - 1];
            }
            stack->top[0] = line;
            stack->top_cells[0] = cell;
            return i;
        }
    return touch_below(stack, line);
}

uint64_t stack_touch(struct stack *stack, uint64_t line)
{
    return touch(stack, line);
}

static bool touch_far(struct stack *stack, const uint64_t *lines, size_t n, uint64_t *distances)
{
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD_ENTRY < n)
            __builtin_prefetch(&stack->entries[entry_of(stack, lines[i + AHEAD_ENTRY] / PAGE)]);
        if (i + AHEAD_CELL < n)
            __builtin_prefetch(&stack->cells[find_cell(stack, lines[i + AHEAD_CELL])], 1);
        distances[i] = touch(stack, lines[i]);
        if (distances[i] == STACK_FAILED)
            return false;
    }
    return true;
}

bool stack_touch_all(struct stack *stack, const uint64_t *lines, size_t n, uint64_t *distances)
{
    if (stack->taken_count > FAR_LINES)
        return touch_far(stack, lines, n, distances);
    for (size_t i = 0; i < n; i++) {
        distances[i] = touch(stack, lines[i]);
        if (distances[i] == STACK_FAILED)
            return false;
    }
    return true;
}

void stack_sample(struct stack *stack, uint64_t threshold)
{
    stack->threshold = threshold;
    for (uint32_t i = 0; i < stack->top_count; i++)
        if (!is_sampled(stack, stack->top[i])) {
            stack->cells[stack->top_cells[i]] = EMPTY;
            stack->top_cells[i] = 0;
        }
    for (uint32_t i = 0; i < stack->entry_room; i++)
        for (uint32_t k = 0; k < PAGE && stack->entries[i].cells; k++) {
            uint32_t *cell = &stack->cells[stack->entries[i].cells + k];
            if (*cell == EMPTY || *cell == ON_TOP ||
                is_sampled(stack, stack->entries[i].page * PAGE + k))
                continue;
            leave_slot(stack, *cell - FIRST_SLOT);
            *cell = EMPTY;
        }
}

/* ---------------------------------------------------------------------- all */

struct stack *stack_new(void)
{
    struct stack *stack = calloc(1, sizeof *stack);

    if (!stack)
        return NULL;
    stack->entry_room = RUN;
    stack->threshold = UINT64_MAX;
    stack->entries = calloc(stack->entry_room, sizeof *stack->entries);
    stack->cells = psnap_with_room(NULL, &stack->cell_room, PAGE, sizeof *stack->cells);
    if (stack->cells)
        memset(stack->cells, EMPTY, PAGE * sizeof *stack->cells);
    if (!stack->entries || !stack->cells || !stretch_slots(stack, PART)) {
        stack_free(stack);
        return NULL;
    }
    return stack;
}

void stack_free(struct stack *stack)
{
    if (!stack)
        return;
    free(stack->taken);
    free(stack->in_runs);
    free(stack->in_blocks);
    free(stack->in_parts);
    free(stack->owners);
    free(stack->entries);
    free(stack->cells);
    free(stack);
}

uint64_t stack_lines(const struct stack *stack)
{
    uint64_t lines = stack->taken_count;

    for (uint32_t i = 0; i < stack->top_count; i++)
        lines += stack->top_cells[i] != 0;
    return lines;
}
