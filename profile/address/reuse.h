/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reuse histograms. The reuse time of an access is how many accesses of its thread came between it
 * and the last one to the same cache line of 64 bytes, by any reference; "first" when there was
 * none. Bins are exact up to 15, then one an octave. With all other accesses in place the
 * distribution of reuse times fixes that of LRU stack distances, and so the hits of every LRU
 * cache.
 *
 * A reference keeps one histogram for each data object that it touches, in up to four phases of
 * equally many executions, where these differ.
 */
#ifndef PSNAP_PROFILE_REUSE_H
#define PSNAP_PROFILE_REUSE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    REUSE_EXACT = 16,
    REUSE_OCTAVES = 40,                        /* from 16 on */
    REUSE_FIRST = REUSE_EXACT + REUSE_OCTAVES, /* the bin of first touches */
    REUSE_BINS = REUSE_FIRST + 1,
    REUSE_SLOTS = 8,     /* of 8 bytes in a line */
    REUSE_LINE = 64,     /* bytes */
    REUSE_STEPS = 8,     /* of a model: from one place of a line to the next */
    REUSE_STRIDES = 16,  /* of first touches */
    REUSE_WHEN = 48,     /* octaves of executions, for when first touches come */
    REUSE_COLLECTED = 8, /* phases while they are collected */
    REUSE_PHASES = 4     /* and of a model */
};

static inline uint32_t reuse_bin(uint64_t time)
{
    uint32_t bin;

    if (time < REUSE_EXACT)
        return (uint32_t)time;
    bin = REUSE_EXACT + 59 - (uint32_t)__builtin_clzll(time);
    return bin < REUSE_FIRST ? bin : REUSE_FIRST - 1;
}

/* The shortest time of a bin, and how many it has. */
static inline uint64_t reuse_bin_low(uint32_t bin)
{
    return bin < REUSE_EXACT ? bin : UINT64_C(16) << (bin - REUSE_EXACT);
}

static inline uint64_t reuse_bin_width(uint32_t bin)
{
    return bin < REUSE_EXACT ? 1 : UINT64_C(16) << (bin - REUSE_EXACT);
}

/* ---- collecting ---- */

/* What a reference does in one part of memory. */
struct reuse_seen {
    uint64_t part;               /* addresses divided by 2^shift */
    uint64_t low, high;          /* lowest and highest address */
    uint64_t slots[REUSE_SLOTS]; /* accesses by place in the line, */
    uint64_t *steps; /* by bytes from the last place in it + REUSE_LINE - 1; NULL: none yet */
    uint64_t *phases[REUSE_COLLECTED]; /* REUSE_BINS each, or NULL: none yet */
    uint64_t *when;                    /* first touches, as those of the model; NULL: none yet */
};

/* The octave of an execution, by its number from 0 on: the first one, the next two, four ... */
static inline uint32_t reuse_when(uint64_t index)
{
    const uint32_t octave = 63 - (uint32_t)__builtin_clzll(index + 1);

    return octave < REUSE_WHEN ? octave : REUSE_WHEN - 1;
}

/* First touches of a reference, and how far they go on from one to the next. */
struct reuse_stride {
    int64_t lines;
    uint64_t count;
};

struct reuse_firsts {
    uint64_t latest; /* line */
    uint64_t count;
    struct reuse_stride strides[REUSE_STRIDES]; /* commonest first */
};

struct reuse_collector { /* zeroed: nothing yet */
    struct reuse_seen *seen;
    uint32_t count, at;          /* parts; the last one looked up */
    uint32_t shift;              /* parts are twice as large whenever there are too many */
    uint64_t width;              /* executions of a phase; 0: not known yet */
    struct reuse_firsts *firsts; /* or NULL: none */
};

void reuse_collector_release(struct reuse_collector *collector);
/* An access, number `index` of the reference's, that stands for `weight` of them; `last` is the
 * byte of the line that was accessed before, if it is no first touch. False: out of memory. */
bool reuse_note(struct reuse_collector *collector, uint64_t address, uint64_t index, uint32_t bin,
                unsigned last, uint64_t weight);
/* A first touch, of all lines and not a sample; false: out of memory. */
bool reuse_note_first(struct reuse_collector *collector, uint64_t line);

/* ---- the model ---- */

struct reuse_bin_count {
    uint32_t phase, bin;
    uint64_t count;
};

/* So often an access was so many bytes behind the last one to its line. */
struct reuse_step {
    int32_t bytes;
    uint64_t count;
};

struct reuse_steps {
    struct reuse_step steps[REUSE_STEPS]; /* commonest first */
    uint32_t count;
    uint64_t elsewhere; /* to any other place */
};

/* What a reference does in one object, or what is left of it to draw. */
struct reuse {
    uint32_t object;
    uint64_t slots[REUSE_SLOTS];  /* weights of places in the line; all 0: its beginning */
    struct reuse_steps steps;     /* and but for first touches from its last place */
    struct reuse_bin_count *bins; /* by phase, then bin; none empty; owned */
    uint32_t bin_count;
    /* Weights of the executions of the first phase, by octave, for when its first touches come; all
     * 0: evenly. What is touched is mostly touched early. */
    uint64_t when[REUSE_WHEN];
};

/* The histograms of a reference with so many executions, and into how many phases these are parted;
 * objects[i] is that of part i. `*reuses` is a new array of `*count`, owned by the caller. False:
 * out of memory. */
bool reuse_take(const struct reuse_collector *collector, const uint32_t *objects,
                uint64_t executions, struct reuse **reuses, uint32_t *count, uint32_t *phases);
void reuse_release(struct reuse *reuses, uint32_t count);
/* Accesses of a histogram; of several, added to `bins` by bin, objects and phases together. */
uint64_t reuse_accesses(const struct reuse *reuse);
void reuse_add_up(const struct reuse *reuses, uint32_t count, uint64_t bins[REUSE_BINS]);
/* How many first touches of the first phase come when `when` says; 0 also if that says nothing. */
uint64_t reuse_timed_firsts(const struct reuse *reuse);

#endif
