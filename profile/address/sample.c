/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A spatial sample of cache lines (sample.h). The highest bits of a line's hash decide whether it
 * is in the sample, those below them where its slot is.
 */
#include "profile/address/sample.h"

#include <stdlib.h>

enum {
    ROOM_FIRST = 1 << 10,
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

/* The lines that are still in the sample, in a table of this room. */
static bool rebuild(struct sample *sample, uint64_t room)
{
    const struct sample before = *sample;

    sample->slots = new_slots(room);
    if (!sample->slots) {
        *sample = before;
        return false;
    }
    sample->room = room;
    sample->count = 0;
    for (uint64_t i = 0; i < before.room; i++)
        if (before.slots[i].line != UINT64_MAX && sample_has(sample, before.slots[i].line)) {
            *sample_find(sample, before.slots[i].line) = before.slots[i];
            sample->count++;
        }
    free(before.slots);
    return true;
}

bool sample_add(struct sample *sample, const struct sample_line *line)
{
    while (sample->count >= LINES_MAX) {
        const uint64_t mask = sample->mask;
        sample->mask = (sample->mask >> 1) | (UINT64_C(1) << 63);
        sample->weight *= 2;
        if (!rebuild(sample, sample->room)) {
            sample->mask = mask;
            sample->weight /= 2;
            return false;
        }
    }
    if (sample->count * 2 >= sample->room && !rebuild(sample, 2 * sample->room))
        return false;
    if (!sample_has(sample, line->line))
        return true;
    *sample_find(sample, line->line) = *line;
    sample->count++;
    return true;
}
