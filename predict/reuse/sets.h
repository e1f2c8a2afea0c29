/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * LRU stacks of the sets of a cache: how many other lines of its set were touched since a line last
 * was.
 */
#ifndef PSNAP_PREDICT_REUSE_SETS_H
#define PSNAP_PREDICT_REUSE_SETS_H

#include <stddef.h>
#include <stdint.h>

struct sets;

/* `count` sets, each of which knows the `ways` lines touched last. NULL: out of memory. */
struct sets *sets_new(uint64_t count, uint64_t ways);
void sets_free(struct sets *sets);

/* Touches `n` lines in turn, `distances` of which get theirs: below `ways`, or STACK_COLD. */
void sets_touch_all(struct sets *sets, const uint64_t *lines, size_t n, uint64_t *distances);

/* Lines that are in the stacks. */
uint64_t sets_lines(const struct sets *sets);

#endif
