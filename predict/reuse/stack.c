/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exact LRU stack distances of a stream, in memory that grows with the lines.
 *
 * The lines touched last, STACK_TOP of them, are an array in their order; a line found there has
 * its place as distance. All others have a slot each on a time line (timeline.h), in the order in
 * which they left the array: the distance of such a line is the lines in the array, and the slots
 * taken behind its own. A line that is touched leaves its slot, the one it pushes out of the array
 * gets the slot at the head. Lines are found by a table (table.h).
 *
 * A sample of the lines by a hash of their numbers (Waldspurger and others, "Efficient MRC
 * construction with SHARDS", FAST 2015) has slots for these alone, and distances there are scaled
 * by its rate. The array has all lines, so that short distances, which are most, are exact.
 *
 * Chunks follow PARDA (Niu and others, "PARDA: a fast parallel reuse distance analysis algorithm",
 * IPDPS 2012): between a line's last touch before a chunk and its first one in it there are those
 * that were behind it before the chunk and those that the chunk has touched meanwhile. Lines that
 * are asked for leave, so that the former, without the latter, are those behind it that have not
 * left, and the latter those that have.
 */
#include "predict/reuse/stack.h"

#include <stdlib.h>

#include "predict/reuse/stack_parts.h"

enum { TOP = STACK_TOP };
/*
 * Below FAR_LINES the table is taken to be in near caches: of neighbouring lines it has some 200 KB
 * then, of lines far apart 3 MB. Fetching ahead looks each line up twice more: a smaller number
 * pays for that where nothing is far, a larger one waits for memory where much is. It is a choice
 * that was not varied in a measurement, and so are the touches that are looked ahead.
 */
enum { AHEAD_ENTRY = 24, AHEAD_CELL = 12, FAR_LINES = 1 << 15 };

/* -------------------------------------------------------------------- touch */

/* The distance of a line of the sample that is not in the array, by its cell; it has no slot from
 * now on. */
static inline uint64_t raise(struct stack *stack, uint32_t cell)
{
    const uint32_t slot = stack->table.cells[cell] - TIMELINE_FIRST;
    const bool is_cold = stack->table.cells[cell] == EMPTY;
    uint64_t distance;

    stack->table.cells[cell] = ON_TOP;
    if (is_cold)
        return STACK_COLD;
    distance = stack_distance(stack, stack->top_count, timeline_behind(&stack->below, slot));
    timeline_leave(&stack->below, slot);
    return distance;
}

/* A line that has just come to the front of the array, where it was not before: its distance. The
 * line that it has pushed out had the cell `pushed`. */
static uint64_t touch_below(struct stack *stack, uint64_t line, uint32_t pushed)
{
    const bool sampled = stack_samples(stack, line);
    const uint32_t cell = sampled ? table_add(&stack->table, line) : 0;
    uint64_t distance = STACK_OUTSIDE;

    if (sampled) {
        if (!cell)
            return STACK_FAILED;
        distance = raise(stack, cell);
    }
    stack->top_cells[0] = cell;
    if (stack->top_count < TOP)
        stack->top_count++;
    else if (!stack_lower(stack, pushed))
        return STACK_FAILED;
    return distance;
}

/* Each line passed moves back by one place. */
static inline uint64_t touch(struct stack *stack, uint64_t line)
{
    const uint32_t count = stack->top_count;
    uint64_t passed = line;
    uint32_t passed_cell = 0;

    for (uint32_t i = 0; i < count; i++) {
        const uint64_t other = stack->top[i];
        const uint32_t other_cell = stack->top_cells[i];
        stack->top[i] = passed;
        stack->top_cells[i] = passed_cell;
        if (other == line) {
            stack->top_cells[0] = other_cell;
            return i;
        }
        passed = other;
        passed_cell = other_cell;
    }
    if (count < TOP) {
        stack->top[count] = passed;
        stack->top_cells[count] = passed_cell;
    }
    return touch_below(stack, line, passed_cell);
}

/* Lines that are not known to be near are fetched from memory before their turn, in two steps. */
static bool touch_far(struct stack *stack, const uint64_t *lines, size_t n, uint64_t *distances)
{
    struct table *table = &stack->table;

    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD_ENTRY < n)
            __builtin_prefetch(
                &table->entries[table_entry_of(table, lines[i + AHEAD_ENTRY] / TABLE_PAGE)]);
        if (i + AHEAD_CELL < n)
            __builtin_prefetch(&table->cells[table_find(table, lines[i + AHEAD_CELL])], 1);
        distances[i] = touch(stack, lines[i]);
        if (distances[i] == STACK_FAILED)
            return false;
    }
    return true;
}

bool stack_touch_all(struct stack *stack, const uint64_t *lines, size_t n, uint64_t *distances)
{
    if (stack->below.taken_count > FAR_LINES && stack->threshold == UINT64_MAX)
        return touch_far(stack, lines, n, distances);
    for (size_t i = 0; i < n; i++) {
        distances[i] = touch(stack, lines[i]);
        if (distances[i] == STACK_FAILED)
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------- chunks */

bool stack_settle(struct stack *stack)
{
    bool fits = true;

    for (; stack->top_count > 0 && fits; stack->top_count--)
        fits = stack_lower(stack, stack->top_cells[stack->top_count - 1]);
    return fits;
}

void stack_expect(const struct stack *stack, uint64_t line)
{
    __builtin_prefetch(&stack->table.entries[table_entry_of(&stack->table, line / TABLE_PAGE)]);
}

uint64_t stack_leave(struct stack *stack, uint64_t line)
{
    const uint32_t cell = table_find(&stack->table, line);
    const uint64_t before = stack->left++;
    uint32_t slot;

    if (!cell || stack->table.cells[cell] == EMPTY)
        return STACK_COLD;
    slot = stack->table.cells[cell] - TIMELINE_FIRST;
    stack->table.cells[cell] = EMPTY;
    timeline_leave(&stack->below, slot);
    return before + timeline_behind(&stack->below, slot);
}

static bool join_line(struct stack *stack, uint64_t line)
{
    const uint32_t joined = table_add(&stack->table, line);

    return joined && stack_lower(stack, joined);
}

bool stack_join(struct stack *stack, const struct stack *chunk)
{
    const struct timeline *line = &chunk->below;
    uint64_t *pages = malloc((chunk->table.page_count + (size_t)1) * sizeof *pages);
    bool fits = pages != NULL;

    stack->left = 0;
    if (fits)
        table_list_pages(&chunk->table, pages);
    for (uint32_t run = 0; fits && run * TIMELINE_RUN < line->head; run++)
        for (uint64_t bits = line->taken[run]; fits && bits; bits &= bits - 1) {
            const uint32_t slot = run * TIMELINE_RUN + (uint32_t)__builtin_ctzll(bits);
            const uint32_t cell = line->owners[slot];
            const uint64_t page = pages[cell / TABLE_PAGE];
            fits = join_line(stack, page * TABLE_PAGE + cell % TABLE_PAGE);
        }
    for (uint32_t i = chunk->top_count; fits && i > 0; i--)
        fits = join_line(stack, chunk->top[i - 1]);
    free(pages);
    return fits;
}

/* ------------------------------------------------------------------- sample */

void stack_sample(struct stack *stack, double rate)
{
    struct table *table = &stack->table;

    stack->threshold = rate < 1 ? (uint64_t)(rate * 0x1p64) : UINT64_MAX;
    stack->scale = rate < 1 ? 1 / rate : 1;
    for (uint32_t i = 0; i < stack->top_count; i++)
        if (!stack_samples(stack, stack->top[i])) {
            table->cells[stack->top_cells[i]] = EMPTY;
            stack->top_cells[i] = 0;
        }
    for (uint32_t i = 0; i < table->entry_room; i++)
        for (uint32_t k = 0; k < TABLE_PAGE && table->entries[i].cells; k++) {
            uint32_t *cell = &table->cells[table->entries[i].cells + k];
            if (*cell == EMPTY || *cell == ON_TOP ||
                stack_samples(stack, table->entries[i].page * TABLE_PAGE + k))
                continue;
            timeline_leave(&stack->below, *cell - TIMELINE_FIRST);
            *cell = EMPTY;
        }
}

/* ---------------------------------------------------------------------- all */

struct stack *stack_new(void)
{
    struct stack *stack = calloc(1, sizeof *stack);

    if (!stack)
        return NULL;
    stack->threshold = UINT64_MAX;
    stack->scale = 1;
    if (table_init(&stack->table) && timeline_init(&stack->below))
        return stack;
    stack_free(stack);
    return NULL;
}

void stack_free(struct stack *stack)
{
    if (!stack)
        return;
    table_release(&stack->table);
    timeline_release(&stack->below);
    free(stack);
}

void stack_clear(struct stack *stack)
{
    table_clear(&stack->table);
    timeline_clear(&stack->below);
    stack->top_count = 0;
}

bool stack_is_full(const struct stack *stack)
{
    return table_is_full(&stack->table);
}

uint64_t stack_lines(const struct stack *stack)
{
    uint64_t lines = stack->below.taken_count;

    for (uint32_t i = 0; i < stack->top_count; i++)
        lines += stack->top_cells[i] != 0;
    return lines;
}
