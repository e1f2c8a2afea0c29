/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each line owns one slot of a time line, at its last access: the lines above it are the slots
 * taken behind it. There is a bit for each slot, and a Fenwick tree over the words of bits (P. M.
 * Fenwick, "A new data structure for cumulative frequency tables", Software: Practice and
 * Experience 24(3), 1994) that is added up for a depth and walked down for a place: O(log n),
 * and next to nothing near the top, where words are counted one by one. When the time line has
 * come to its end the slots taken are closed up, which costs O(1) an access: it has at least twice
 * as many slots as lines.
 *
 * Memory: 25 to 60 bytes a line.
 */
#include "profile/distances/lru_stack.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"

enum { WORD = 64, SLOTS_FIRST = 1024, NEAR = 8 /* words from the top that are counted singly */ };

struct lru_stack {
    uint32_t count, room; /* lines; room is half of the slots, and of the buckets */
    uint32_t head;        /* the next slot */
    uint64_t *lines;      /* by number, */
    uint32_t *slots;      /* where they are; */
    uint32_t *owners;     /* by slot that is taken: a number */
    uint64_t *taken;      /* a bit for each slot */
    uint32_t *sums;       /* the tree, from 1 on: of the slots taken in words */
    uint32_t *buckets;    /* numbers by line, open addressing; LRU_NONE: free */
};

static uint32_t words_of(const struct lru_stack *stack)
{
    return 2 * stack->room / WORD;
}

static void add_sum(struct lru_stack *stack, uint32_t word, uint32_t more)
{
    for (uint32_t i = word + 1; i <= words_of(stack); i += i & -i)
        stack->sums[i] += more;
}

static void take_slot(struct lru_stack *stack, uint32_t number)
{
    const uint32_t slot = stack->head++;

    stack->slots[number] = slot;
    stack->owners[slot] = number;
    stack->taken[slot / WORD] |= UINT64_C(1) << slot % WORD;
    add_sum(stack, slot / WORD, 1);
}

static void leave_slot(struct lru_stack *stack, uint32_t slot)
{
    stack->taken[slot / WORD] &= ~(UINT64_C(1) << slot % WORD);
    add_sum(stack, slot / WORD, UINT32_MAX); /* one less */
}

/* The lines to the first slots, in their order. */
static void close_up(struct lru_stack *stack)
{
    const uint32_t end = stack->head;
    uint32_t n = 0;

    for (uint32_t word = 0; word < (end + WORD - 1) / WORD; word++)
        for (uint64_t bits = stack->taken[word]; bits; bits &= bits - 1) {
            const uint32_t number = stack->owners[word * WORD + (uint32_t)__builtin_ctzll(bits)];
            stack->owners[n] = number;
            stack->slots[number] = n++;
        }
    stack->head = n;
    for (uint32_t word = 0; word < words_of(stack); word++) {
        const uint32_t left = n > word * WORD ? n - word * WORD : 0;
        stack->taken[word] = left >= WORD ? UINT64_MAX : (UINT64_C(1) << left) - 1;
        stack->sums[word + 1] = left >= WORD ? WORD : left;
    }
    for (uint32_t i = 1; i <= words_of(stack); i++)
        if (i + (i & -i) <= words_of(stack))
            stack->sums[i + (i & -i)] += stack->sums[i];
}

static uint32_t *bucket_of(const struct lru_stack *stack, uint64_t line)
{
    const uint32_t mask = 2 * stack->room - 1;
    uint32_t at = (uint32_t)((line * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & mask;

    while (stack->buckets[at] != LRU_NONE && stack->lines[stack->buckets[at]] != line)
        at = (at + 1) & mask;
    return &stack->buckets[at];
}

/* For so many lines, a power of two. */
static bool make_room(struct lru_stack *stack, uint32_t room)
{
    if (room > UINT32_MAX / 4 || !psnap_resize(&stack->lines, room, sizeof *stack->lines) ||
        !psnap_resize(&stack->slots, room, sizeof *stack->slots) ||
        !psnap_resize(&stack->owners, 2 * (size_t)room, sizeof *stack->owners) ||
        !psnap_resize(&stack->taken, 2 * (size_t)room / WORD, sizeof *stack->taken) ||
        !psnap_resize(&stack->sums, 2 * (size_t)room / WORD + 1, sizeof *stack->sums) ||
        !psnap_resize(&stack->buckets, 2 * (size_t)room, sizeof *stack->buckets))
        return false;
    stack->room = room;
    close_up(stack);
    memset(stack->buckets, 0xff, 2 * (size_t)room * sizeof *stack->buckets);
    for (uint32_t i = 0; i < stack->count; i++)
        *bucket_of(stack, stack->lines[i]) = i;
    return true;
}

struct lru_stack *lru_stack_new(void)
{
    struct lru_stack *stack = calloc(1, sizeof *stack);

    if (stack && make_room(stack, SLOTS_FIRST / 2))
        return stack;
    lru_stack_free(stack);
    return NULL;
}

void lru_stack_free(struct lru_stack *stack)
{
    if (!stack)
        return;
    free(stack->lines);
    free(stack->slots);
    free(stack->owners);
    free(stack->taken);
    free(stack->sums);
    free(stack->buckets);
    free(stack);
}

size_t lru_stack_bytes(const struct lru_stack *stack)
{
    return stack ? sizeof *stack + (size_t)stack->room * 29 : 0;
}

uint32_t lru_stack_count(const struct lru_stack *stack)
{
    return stack->count;
}

uint32_t lru_stack_find(const struct lru_stack *stack, uint64_t line)
{
    return *bucket_of(stack, line);
}

uint64_t lru_stack_line(const struct lru_stack *stack, uint32_t number)
{
    return stack->lines[number];
}

uint32_t lru_stack_add(struct lru_stack *stack, uint64_t line)
{
    if (stack->count == stack->room && !make_room(stack, 2 * stack->room))
        return LRU_NONE;
    if (stack->head == 2 * stack->room)
        close_up(stack);
    stack->lines[stack->count] = line;
    *bucket_of(stack, line) = stack->count;
    take_slot(stack, stack->count);
    return stack->count++;
}

static uint32_t ones(uint64_t bits)
{
    return (uint32_t)__builtin_popcountll(bits);
}

uint32_t lru_stack_depth(const struct lru_stack *stack, uint32_t number)
{
    const uint32_t slot = stack->slots[number], word = slot / WORD;
    const uint32_t top = (stack->head - 1) / WORD;
    uint32_t above = ones(stack->taken[word] >> slot % WORD >> 1), up_to = 0;

    if (top - word <= NEAR) {
        for (uint32_t i = word + 1; i <= top; i++)
            above += ones(stack->taken[i]);
        return above;
    }
    for (uint32_t i = word + 1; i; i &= i - 1)
        up_to += stack->sums[i];
    return above + stack->count - up_to;
}

/* The slot of the n-th bit, from 0, of a word. */
static uint32_t slot_in(const struct lru_stack *stack, uint32_t word, uint32_t n)
{
    uint64_t bits = stack->taken[word];

    while (n--)
        bits &= bits - 1;
    return word * WORD + (uint32_t)__builtin_ctzll(bits);
}

uint32_t lru_stack_at(const struct lru_stack *stack, uint32_t depth)
{
    const uint32_t top = (stack->head - 1) / WORD;
    uint32_t rank = stack->count - 1 - depth; /* from the bottom */
    uint32_t above = depth, word = 0;

    for (uint32_t i = 0; i <= NEAR && i <= top; i++) {
        const uint32_t here = ones(stack->taken[top - i]);
        if (above < here)
            return stack->owners[slot_in(stack, top - i, here - 1 - above)];
        above -= here;
    }
    for (uint32_t step = words_of(stack); step; step /= 2)
        if (word + step <= words_of(stack) && stack->sums[word + step] <= rank) {
            word += step;
            rank -= stack->sums[word];
        }
    return stack->owners[slot_in(stack, word, rank)];
}

void lru_stack_raise(struct lru_stack *stack, uint32_t number)
{
    if (stack->slots[number] + 1 == stack->head)
        return;
    if (stack->head == 2 * stack->room)
        close_up(stack);
    leave_slot(stack, stack->slots[number]);
    take_slot(stack, number);
}
