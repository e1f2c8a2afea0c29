/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A spatial sample of cache lines (sample.h). The highest bits of a line's hash decide whether it
 * is in the sample, those below them where its slot is.
 */
#include "profile/address/sample.h"

#include <stdlib.h>

enum {
    ROOM_FIRST = 1 << 10,
    GROWTH = 4,
    LINES_MAX =
        1 << 13 /* 512 KiB of a program's memory at full rate; slots in a second-level cache */
};

static struct sample_line *new_slots(uint64_t room)
{
    struct sample_line *slots = malloc(room * sizeof *slots);

    for (uint64_t i = 0; slots && i < room; i++)
        slots[i].line = UINT64_MAX;
    return slots;
}

bool sample_init(struct sample *sample)
{
    *sample = (struct sample){.room = ROOM_FIRST, .weight = 1};
    sample->slots = new_slots(sample->room);
    return sample->slots != NULL;
}

void sample_release(struct sample *sample)
{
    free(sample->slots);
    sample->slots = NULL;
}

/* The table has more room; false: out of memory. */
static bool grow(struct sample *sample)
{
    const struct sample before = *sample;

    sample->slots = new_slots(before.room * GROWTH);
    if (!sample->slots) {
        *sample = before;
        return false;
    }
    sample->room *= GROWTH;
    for (uint64_t i = 0; i < before.room; i++)
        if (before.slots[i].line != UINT64_MAX)
            *sample_find(sample, before.slots[i].line) = before.slots[i];
    free(before.slots);
    return true;
}

/* Half of the lines are no more in the sample, the others close up: from an empty slot on, each
 * goes to where it was or to a slot before that, up to its own. */
static void thin_out(struct sample *sample)
{
    uint64_t from = 0;

    sample->mask = (sample->mask >> 1) | (UINT64_C(1) << 63);
    sample->weight *= 2;
    while (sample->slots[from].line != UINT64_MAX)
        from++;
    for (uint64_t i = 1; i < sample->room; i++) {
        struct sample_line *slot = &sample->slots[(from + i) & (sample->room - 1)];
        const struct sample_line line = *slot;
        if (line.line == UINT64_MAX)
            continue;
        slot->line = UINT64_MAX;
        if (sample_has(sample, line.line))
            *sample_find(sample, line.line) = line;
        else
            sample->count--;
    }
}

bool sample_add(struct sample *sample, const struct sample_line *line)
{
    while (sample->count >= LINES_MAX)
        thin_out(sample);
    if (sample->count * 2 >= sample->room && !grow(sample))
        return false;
    if (!sample_has(sample, line->line))
        return true;
    *sample_find(sample, line->line) = *line;
    sample->count++;
    return true;
}
