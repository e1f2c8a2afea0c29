/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The LRU stack of a stream of lines, whole or of a sample of the lines: how many other lines were
 * touched since a line last was.
 */
#ifndef PSNAP_PREDICT_REUSE_STACK_H
#define PSNAP_PREDICT_REUSE_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STACK_TOP 8                    /* lines touched last, which are always known */
#define STACK_COLD UINT64_MAX          /* the distance of a first touch */
#define STACK_OUTSIDE (UINT64_MAX - 1) /* of a line that is not of the sample */
#define STACK_FAILED (UINT64_MAX - 2)  /* no memory, or too many lines */
#define STACK_SAMPLED (UINT64_C(1) << 62)

struct stack;

struct stack *stack_new(void); /* NULL: out of memory */
void stack_free(struct stack *stack);
void stack_clear(struct stack *stack); /* as it was when new; keeps its memory */

/*
 * Touches `n` lines, any numbers, in turn; distances get theirs: the number of other lines touched
 * since each last was, or STACK_COLD at its first touch. False: out of memory, or too many lines;
 * the last distance is STACK_FAILED then, and the stack can only be freed.
 */
bool stack_touch_all(struct stack *stack, const uint64_t *lines, size_t n, uint64_t *distances);

/* There are as many lines as there can be: why it has failed, if it has. */
bool stack_is_full(const struct stack *stack);

/* Lines that were touched, of the sample. */
uint64_t stack_lines(const struct stack *stack);

/*
 * From now on only this share of the lines, by a hash, is of the sample, which loses all others: a
 * stack has all lines at first, and the rate may not become larger.
 *
 * Distances below the number of lines that are always known, STACK_TOP unless fewer were touched
 * (or those of a run), are of all lines and exact. A line further down has a distance if it is
 * sampled, STACK_SAMPLED and what the sampled lines in between make of all; STACK_OUTSIDE if not,
 * touched before or not. STACK_COLD is of sampled lines alone as well.
 */
void stack_sample(struct stack *stack, double rate);

/* --------------------------------------------------------- a stream in chunks */

/*
 * A stream that is cut into chunks has the distances of the whole where each chunk has a stack of
 * its own and one stack, of all lines, has what was before. Of a line that a chunk touches for the
 * first time stack_leave() has the distance: after stack_settle(), the chunk's first touches are
 * asked for in their order. Then stack_join() puts the chunk's lines in front.
 */
bool stack_settle(struct stack *stack); /* false: out of memory, or too many lines */
uint64_t stack_leave(struct stack *stack, uint64_t line);
/* The line is asked for soon. */
void stack_expect(const struct stack *stack, uint64_t line);
bool stack_join(struct stack *stack, const struct stack *chunk); /* false: as above */

/* --------------------------------------------------------------------- a run */

#define STACK_RUN_MAX 56 /* touches of a repetition */

/* Touches of the lines of address, address + stride and so on (modulo 2^64). */
struct stack_cursor {
    uint64_t address;
    int64_t stride;
};

/* `count` repetitions of the same `width` touches; of the caller, who reads `lines` only. */
struct stack_run {
    struct stack *stack;
    const struct stack_cursor *cursors;
    size_t width;
    uint64_t at, count;
    unsigned line_digits;                      /* 2^these bytes are a line, up to 30 */
    uint32_t known_count;                      /* bits of `last` */
    uint64_t last;                             /* places whose line was touched at no later one */
    uint64_t lines[STACK_RUN_MAX + STACK_TOP]; /* of the touches, each at its place */
    uint32_t cells[STACK_RUN_MAX + STACK_TOP]; /* where the bit of `last` is set */
    uint64_t near[STACK_RUN_MAX];              /* places that may have the same line, and itself */
    uint64_t pages[STACK_RUN_MAX];             /* the page that a place had last */
    uint32_t page_cells[STACK_RUN_MAX];        /* its cells, 0: none yet */
    bool is_far[STACK_RUN_MAX];                /* places that have another page each time */
    int32_t words[STACK_RUN_MAX], behind_words[STACK_RUN_MAX]; /* see stack_run.c */
    uint64_t until[STACK_RUN_MAX]; /* the repetition that has another line */
};

/* Begins a run, 1 <= width <= STACK_RUN_MAX, 1 <= count; the stack is the run's until its end. */
void stack_run_begin(struct stack_run *run, struct stack *stack, const struct stack_cursor *cursors,
                     size_t width, uint64_t count, unsigned line_digits);

/* The distances of the touches of the next repetitions, all of which have the same; returns how
 * many these are. 0 at the end, STACK_FAILED: out of memory, or too many lines. */
uint64_t stack_run_next(struct stack_run *run, uint64_t *distances);

/* Ends a run that is at its end; false: as above. */
bool stack_run_end(struct stack_run *run);

#endif
