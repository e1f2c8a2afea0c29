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
#define STACK_LINES_MAX (UINT64_C(1) << 30)

struct stack;

struct stack *stack_new(void); /* NULL: out of memory */
void stack_free(struct stack *stack);

/*
 * Touches a line, any number: its distance, the number of other lines touched since it last was;
 * STACK_COLD at its first touch. STACK_FAILED leaves the stack as it was. With a sample, distances
 * below STACK_TOP are those of all lines. Others count lines of the sample behind the first
 * STACK_TOP, and are of such lines alone: STACK_OUTSIDE for others, touched before or not.
 */
uint64_t stack_touch(struct stack *stack, uint64_t line);

/*
 * The same of `n` lines in turn, `distances` of which get theirs; faster where the lines are far
 * more than a processor's caches hold. False: out of memory, or too many lines.
 */
bool stack_touch_all(struct stack *stack, const uint64_t *lines, size_t n, uint64_t *distances);

/* From now on only lines whose hash is at most `threshold` are of the sample, which loses those
 * that are above it: UINT64_MAX, where a stack begins, has all. It may not become larger. */
void stack_sample(struct stack *stack, uint64_t threshold);

/* Lines of the sample that were touched. */
uint64_t stack_lines(const struct stack *stack);

#endif
