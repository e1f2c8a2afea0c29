/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a cache knows of lines that it may not hold any more: a hash table of line numbers, which
 * grows with them.
 */
#ifndef PSNAP_SIMCORE_HISTORY_H
#define PSNAP_SIMCORE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum history_state {
    HISTORY_NEVER = 0, /* it has not been there */
    HISTORY_SEEN,
    HISTORY_TAKEN /* another core's store took it away, and it has not been there since */
};

struct history {
    uint64_t *lines;
    uint8_t *states;    /* HISTORY_NEVER: the slot is free */
    size_t size, count; /* a power of two, or 0 */
};

/* The state of a line, which becomes `state`, not HISTORY_NEVER; -1: out of memory. */
int history_set(struct history *history, uint64_t line, enum history_state state);
void history_release(struct history *history);

#endif
