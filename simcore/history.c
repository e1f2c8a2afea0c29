/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Open addressing with linear probing, at most half full; nothing is ever removed (Knuth, The Art
 * of Computer Programming, vol. 3, 6.4).
 */
#include "simcore/history.h"

#include <stdlib.h>

#include "formats/base/rng.h"

#define FIRST_SIZE ((size_t)1 << 10)

static size_t slot_of(const struct history *history, uint64_t line)
{
    size_t slot = (size_t)psnap_rng_mix(line) & (history->size - 1);

    while (history->states[slot] != HISTORY_NEVER && history->lines[slot] != line)
        slot = (slot + 1) & (history->size - 1);
    return slot;
}

static bool grow(struct history *history)
{
    struct history larger = {.size = history->size ? 2 * history->size : FIRST_SIZE,
                             .count = history->count};

    larger.lines = malloc(larger.size * sizeof *larger.lines);
    larger.states = calloc(larger.size, sizeof *larger.states);
    if (!larger.lines || !larger.states) {
        history_release(&larger);
        return false;
    }
    for (size_t i = 0; i < history->size; i++)
        if (history->states[i] != HISTORY_NEVER) {
            const size_t slot = slot_of(&larger, history->lines[i]);
            larger.lines[slot] = history->lines[i];
            larger.states[slot] = history->states[i];
        }
    history_release(history);
    *history = larger;
    return true;
}

int history_set(struct history *history, uint64_t line, enum history_state state)
{
    size_t slot;
    int before;

    if (2 * history->count >= history->size && !grow(history))
        return -1;
    slot = slot_of(history, line);
    before = history->states[slot];
    history->count += before == HISTORY_NEVER;
    history->lines[slot] = line;
    history->states[slot] = (uint8_t)state;
    return before;
}

void history_release(struct history *history)
{
    free(history->lines);
    free(history->states);
    *history = (struct history){0};
}
