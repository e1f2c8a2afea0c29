/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The LRU stack of a stream (R. L. Mattson, J. Gecsei, D. R. Slutz and I. L. Traiger, "Evaluation
 * techniques for storage hierarchies", IBM Systems Journal 9(2), 1970): cache lines by how
 * recently they were touched. Found both ways: from a line to its depth, which is the reuse
 * distance of an access to it, and from a depth to the line.
 */
#ifndef PSNAP_PROFILE_LRU_STACK_H
#define PSNAP_PROFILE_LRU_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LRU_NONE UINT32_MAX

struct lru_stack;

struct lru_stack *lru_stack_new(void); /* empty; NULL: out of memory */
void lru_stack_free(struct lru_stack *stack);
size_t lru_stack_bytes(const struct lru_stack *stack); /* that it takes; NULL: 0 */

/* Lines in it. They are numbered from 0, in the order in which they came. */
uint32_t lru_stack_count(const struct lru_stack *stack);

/* The number of a line, LRU_NONE when it is not in the stack; and the line of a number. */
uint32_t lru_stack_find(const struct lru_stack *stack, uint64_t line);
uint64_t lru_stack_line(const struct lru_stack *stack, uint32_t number);

/* Puts a line that is not in the stack on top; its number, LRU_NONE: out of memory. */
uint32_t lru_stack_add(struct lru_stack *stack, uint64_t line);

/* How many lines lie above this one; which one lies below so many (fewer than there are). */
uint32_t lru_stack_depth(const struct lru_stack *stack, uint32_t number);
uint32_t lru_stack_at(const struct lru_stack *stack, uint32_t depth);

/* Takes a line from where it is to the top. */
void lru_stack_raise(struct lru_stack *stack, uint32_t number);

#endif
