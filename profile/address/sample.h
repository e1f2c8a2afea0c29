/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When the cache lines of a spatial sample were last touched. A line is in the sample when a hash
 * of it is below a threshold (C. A. Waldspurger, N. Park, A. Garthwaite, I. Ahmad, "Efficient MRC
 * Construction with SHARDS", FAST 2015); the threshold begins with all lines and is halved whenever
 * there are too many, so memory is bounded. Times between touches need no scaling, for all accesses
 * are counted; numbers of touches do, by `weight`.
 */
#ifndef PSNAP_PROFILE_SAMPLE_H
#define PSNAP_PROFILE_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

enum { SAMPLE_LINE_BITS = 6 /* lines of 64 bytes */ };

struct sample_line {
    uint64_t line; /* UINT64_MAX: an empty slot */
    uint64_t time; /* of the last touch */
    uint8_t byte;  /* of the line that was touched last */
};

struct sample {
    struct sample_line
        *slots;           /* a hash table, half full at most, of its own: lines are forgotten */
    uint64_t room, count; /* room is a power of two */
    uint64_t mask;        /* bits of the hash that are 0 in the sample */
    uint64_t weight;      /* lines that one stands for */
};

bool sample_init(struct sample *sample); /* false: out of memory */
void sample_release(struct sample *sample);

static inline uint64_t sample_hash(uint64_t line)
{
    return line * UINT64_C(0x9e3779b97f4a7c15);
}

static inline bool sample_has(const struct sample *sample, uint64_t line)
{
    return !(sample_hash(line) & sample->mask);
}

/* The slot of a line of the sample: its own, or an empty one for it. The line is filled in by
 * sample_add, which may thin the sample out; false: out of memory. */
static inline struct sample_line *sample_find(const struct sample *sample, uint64_t line)
{
    uint64_t at = (sample_hash(line) >> 20) & (sample->room - 1);

    while (sample->slots[at].line != line && sample->slots[at].line != UINT64_MAX)
        at = (at + 1) & (sample->room - 1);
    return &sample->slots[at];
}

bool sample_add(struct sample *sample, const struct sample_line *line);

/* An access to a line of the sample: `*before` gets what its slot was, which is another line if
 * this is a first touch. False: out of memory. */
static inline bool sample_touch(struct sample *sample, const struct sample_line *line,
                                struct sample_line *before)
{
    struct sample_line *slot = sample_find(sample, line->line);

    *before = *slot;
    if (slot->line != line->line)
        return sample_add(sample, line);
    if (line->time >= slot->time)
        *slot = *line;
    return true;
}

#endif
