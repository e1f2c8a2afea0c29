/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A run on an LRU stack: the same touches over and over, at addresses that advance by strides.
 *
 * Of a run the top of the stack is what the last `width` touches touched. Each has its place, 0 to
 * width - 1, and is the oldest when its turn comes again; the bit of a place in `last` is set if
 * its line was touched at no later place. So the lines touched since place p was are bits, those
 * from the present place back to p, around the end. A touch takes the line that its place had out
 * of the top, unless a later place has it too; the line's last touch then was at this place, a
 * repetition ago. Lines leave in the order of these, as the time line wants it.
 *
 * A touch is searched for at places that may have its line: those whose ranges of addresses overlap
 * its own, which for most are none.
 *
 * A place whose line stays the same, and which has its bit, has all lines of the top but its own as
 * distance: no search. Where no place has changed its line, the repetitions up to the next change
 * have the same distances: they are one step.
 *
 * The lines that were on top before the run have the places behind those of the run, from the last
 * one down, so that they are older than all of these; what is left of them goes below after the
 * first repetition, before a line of the run can.
 */
#include <assert.h>
#include <string.h>

#include "predict/reuse/stack_parts.h"

enum { TOP = STACK_TOP, PLACES = STACK_RUN_MAX + STACK_TOP };
enum { AHEAD_ENTRY = 8, AHEAD_CELL = 4, WORDS_NEAR = 4 };

static_assert(PLACES == 64, "a bit each");

static inline uint64_t bit(size_t place)
{
    return UINT64_C(1) << place;
}

/* The place that has a line as its last touch, of those that may share lines with `place`, searched
 * from this one back; PLACES: none has it. */
static inline size_t find_back(const struct stack_run *run, size_t place, uint64_t line)
{
    const uint64_t some = run->last & (run->near[place] | ~(bit(STACK_RUN_MAX) - 1));
    const uint64_t before = some & (bit(place) - 1);

    for (uint64_t bits = before; bits;) {
        const size_t at = 63 - (size_t)__builtin_clzll(bits);
        if (run->lines[at] == line)
            return at;
        bits ^= bit(at);
    }
    for (uint64_t bits = some ^ before; bits;) {
        const size_t at = 63 - (size_t)__builtin_clzll(bits);
        if (run->lines[at] == line)
            return at;
        bits ^= bit(at);
    }
    return PLACES;
}

/* Lines of the top that were touched after the line of place `at` and before the turn of `place`:
 * around the end unless `at` is before it. */
static inline uint32_t passed(const struct stack_run *run, size_t at, size_t place)
{
    const uint64_t before = bit(place) - 1, behind = ~(bit(at) | (bit(at) - 1));

    return timeline_ones(run->last & (at < place ? before & behind : before | behind));
}

/* The lines that a cursor comes to are fetched from memory, their entries of the table first. */
static inline void fetch_ahead(const struct table *table, uint64_t entry_line, uint64_t cell_line)
{
    __builtin_prefetch(&table->entries[table_entry_of(table, entry_line / TABLE_PAGE)]);
    __builtin_prefetch(&table->cells[table_find(table, cell_line)], 1);
}

/* The cell of a line, by the page that its place had last; 0: out of memory. */
static inline uint32_t cell_of(struct stack_run *run, size_t place, uint64_t line)
{
    const uint32_t within = (uint32_t)(line % TABLE_PAGE);
    uint32_t cell = run->page_cells[place] + within;

    if (run->page_cells[place] && run->pages[place] == line / TABLE_PAGE)
        return cell;
    if (!run->is_far[place]) {
        const uint64_t page =
            run->cursors[place].stride < 0 ? 0 - (uint64_t)TABLE_PAGE : TABLE_PAGE;
        fetch_ahead(&run->stack->table, line + 2 * page, line + page);
    }
    cell = table_add(&run->stack->table, line);
    run->pages[place] = line / TABLE_PAGE;
    run->page_cells[place] = cell - within;
    return cell;
}

/* --------------------------------------------------------------- time line */

typedef int32_t four __attribute__((vector_size(16)));

static_assert(STACK_RUN_MAX % 4 == 0, "places in fours");

/*
 * Each place keeps how many slots were taken behind the 64 that it came to last: the next time it
 * comes to the same ones or those behind them, as lines are touched again in the order in which
 * they were, most often.
 */

static inline uint32_t behind(struct stack_run *run, size_t place, uint32_t slot)
{
    const struct timeline *line = &run->stack->below;
    const int32_t word = (int32_t)(slot / TIMELINE_RUN), had = run->words[place];
    const uint32_t in_word = timeline_ones(line->taken[word] >> slot % TIMELINE_RUN >> 1);

    if (word < had || word - had > WORDS_NEAR)
        run->behind_words[place] = (int32_t)(timeline_behind(line, slot) - in_word);
    else
        for (int32_t i = had + 1; i <= word; i++)
            run->behind_words[place] -= line->in_runs[i];
    run->words[place] = word;
    return (uint32_t)run->behind_words[place] + in_word;
}

static void forget_words(struct stack_run *run)
{
    for (size_t k = 0; k < STACK_RUN_MAX; k++) {
        run->words[k] = INT32_MAX;
        run->behind_words[k] = 0;
    }
}

/* A slot of a word was taken, or left with `by` -1: four places at a time, as there are few. */
static inline void change_word(struct stack_run *run, uint32_t word, int32_t by)
{
    const int32_t changed = (int32_t)word;

    for (size_t k = 0; k < run->width; k += 4) {
        four words, sums;
        memcpy(&words, run->words + k, sizeof words);
        memcpy(&sums, run->behind_words + k, sizeof sums);
        sums += (words < changed) & by;
        memcpy(run->behind_words + k, &sums, sizeof sums);
    }
}

/* The distance of a line of the sample that is not on top, by its cell; it is from now on. */
static inline uint64_t raise(struct stack_run *run, size_t place, uint32_t cell)
{
    uint32_t *at = &run->stack->table.cells[cell];
    const uint32_t slot = *at - TIMELINE_FIRST;
    const bool is_cold = *at == EMPTY;
    uint64_t distance;

    *at = ON_TOP;
    if (is_cold)
        return STACK_COLD;
    distance = stack_distance(run->stack, run->known_count, behind(run, place, slot));
    timeline_leave(&run->stack->below, slot);
    change_word(run, slot / TIMELINE_RUN, -1);
    return distance;
}

/* The line of a cell, 0: none, goes below all others there; false: out of memory. */
static inline bool lower(struct stack_run *run, uint32_t cell)
{
    const uint32_t head = run->stack->below.head;

    if (!cell)
        return true;
    if (!stack_lower(run->stack, cell))
        return false;
    if (run->stack->below.head < head) /* it has been closed up */
        forget_words(run);
    else
        change_word(run, head / TIMELINE_RUN, 1);
    return true;
}

/* ------------------------------------------------------------------- the run */

/* The line of a place is touched: its distance. */
static inline uint64_t touch(struct stack_run *run, size_t place, uint64_t line)
{
    const size_t at = find_back(run, place, line);
    uint64_t distance;
    uint32_t cell;

    if (at < PLACES) {
        distance = passed(run, at, place);
        cell = run->cells[at];
        run->last ^= bit(at);
        run->known_count--;
    } else {
        const bool sampled = stack_samples(run->stack, line);
        cell = sampled ? cell_of(run, place, line) : 0;
        if (sampled && !cell)
            return STACK_FAILED;
        distance = sampled ? raise(run, place, cell) : STACK_OUTSIDE;
    }
    if (run->last & bit(place)) {
        if (!lower(run, run->cells[place]))
            return STACK_FAILED;
        run->known_count--;
    }
    run->last |= bit(place);
    run->known_count++;
    run->lines[place] = line;
    run->cells[place] = cell;
    return distance;
}

/* The repetition from `at` on at which a cursor comes to another line. */
static inline uint64_t next_line(const struct stack_run *run, uint64_t address, int64_t stride)
{
    const uint32_t line_bytes = UINT32_C(1) << run->line_digits;
    const uint32_t offset = (uint32_t)address & (line_bytes - 1);
    const uint64_t length = stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;

    if (!length)
        return UINT64_MAX;
    if (length >= line_bytes)
        return run->at + 1;
    return run->at + 1 + (stride < 0 ? offset : line_bytes - 1 - offset) / (uint32_t)length;
}

/* What was on top before the run goes below. */
static bool lower_older(struct stack_run *run)
{
    for (uint64_t bits = run->last & ~(bit(STACK_RUN_MAX) - 1); bits; bits &= bits - 1) {
        const size_t at = (size_t)__builtin_ctzll(bits);
        if (!lower(run, run->cells[at]))
            return false;
        run->last ^= bit(at);
        run->known_count--;
    }
    return true;
}

/* The lines of a cursor: from *low to *high, or all where it goes around the end of addresses. */
static void find_range(const struct stack_cursor *cursor, uint64_t count, unsigned digits,
                       uint64_t *low, uint64_t *high)
{
    const uint64_t end = cursor->address + (count - 1) * (uint64_t)cursor->stride;
    const bool is_down = cursor->stride < 0;
    const uint64_t length = is_down ? 0 - (uint64_t)cursor->stride : (uint64_t)cursor->stride;
    const bool wraps = (length && count - 1 > UINT64_MAX / length) ||
                       (is_down ? end > cursor->address : end < cursor->address);

    *low = wraps ? 0 : (is_down ? end : cursor->address) >> digits;
    *high = wraps ? UINT64_MAX : (is_down ? cursor->address : end) >> digits;
}

/* Which places may have a line in common, by the ranges of their cursors. */
static void find_near(struct stack_run *run)
{
    uint64_t low[STACK_RUN_MAX], high[STACK_RUN_MAX];

    for (size_t k = 0; k < run->width; k++) {
        find_range(&run->cursors[k], run->count, run->line_digits, &low[k], &high[k]);
        run->near[k] = bit(k);
        for (size_t i = 0; i < k; i++)
            if (low[i] <= high[k] && low[k] <= high[i]) {
                run->near[k] |= bit(i);
                run->near[i] |= bit(k);
            }
    }
}

void stack_run_begin(struct stack_run *run, struct stack *stack, const struct stack_cursor *cursors,
                     size_t width, uint64_t count, unsigned line_digits)
{
    run->stack = stack;
    run->cursors = cursors;
    run->width = width;
    run->at = 0;
    run->count = count;
    run->line_digits = line_digits;
    run->known_count = stack->top_count;
    run->last = 0;
    for (uint32_t i = 0; i < stack->top_count; i++) {
        run->last |= bit(PLACES - 1 - i);
        run->lines[PLACES - 1 - i] = stack->top[i];
        run->cells[PLACES - 1 - i] = stack->top_cells[i];
    }
    for (size_t k = 0; k < width; k++) {
        const uint64_t page_bytes = (uint64_t)TABLE_PAGE << line_digits;
        run->is_far[k] = stack->threshold == UINT64_MAX && /* of a sample it is not worth it */
                         (uint64_t)cursors[k].stride + page_bytes >= 2 * page_bytes;
        run->until[k] = 0;
        run->page_cells[k] = 0;
    }
    find_near(run);
    forget_words(run);
}

uint64_t stack_run_next(struct stack_run *run, uint64_t *distances)
{
    const uint64_t at = run->at;
    uint64_t next = run->count, repetitions;
    bool is_same = true;

    if (at == run->count)
        return 0;
    for (size_t k = 0; k < run->width; k++) {
        if (at < run->until[k] && run->last & bit(k)) {
            distances[k] = run->known_count - 1;
        } else if (at < run->until[k]) {
            distances[k] = touch(run, k, run->lines[k]);
        } else {
            const struct stack_cursor *cursor = &run->cursors[k];
            const uint64_t address = cursor->address + at * (uint64_t)cursor->stride;
            is_same = false;
            if (run->is_far[k])
                fetch_ahead(&run->stack->table,
                            (address + AHEAD_ENTRY * (uint64_t)cursor->stride) >> run->line_digits,
                            (address + AHEAD_CELL * (uint64_t)cursor->stride) >> run->line_digits);
            run->until[k] = next_line(run, address, cursor->stride);
            distances[k] = touch(run, k, address >> run->line_digits);
        }
        if (distances[k] == STACK_FAILED)
            return STACK_FAILED;
        next = run->until[k] < next ? run->until[k] : next;
    }
    if (at == 0 && !lower_older(run))
        return STACK_FAILED;
    repetitions = is_same ? next - at : 1;
    run->at += repetitions;
    return repetitions;
}

bool stack_run_end(struct stack_run *run)
{
    struct stack *stack = run->stack;
    bool fits = true;

    for (; fits && run->known_count > TOP; run->known_count--) {
        const size_t at = (size_t)__builtin_ctzll(run->last);
        fits = stack_lower(stack, run->cells[at]);
        run->last ^= bit(at);
    }
    stack->top_count = 0;
    for (uint64_t bits = run->last; fits && bits; stack->top_count++) {
        const size_t at = 63 - (size_t)__builtin_clzll(bits);
        stack->top[stack->top_count] = run->lines[at];
        stack->top_cells[stack->top_count] = run->cells[at];
        bits ^= bit(at);
    }
    return fits;
}
