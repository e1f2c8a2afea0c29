/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a measure consists of; private to measure.c and measure_run.c.
 */
#ifndef PSNAP_PREDICT_REUSE_MEASURE_PARTS_H
#define PSNAP_PREDICT_REUSE_MEASURE_PARTS_H

#include "predict/reuse/distances.h"
#include "predict/reuse/measure.h"
#include "predict/reuse/sets.h"
#include "predict/reuse/stack.h"

struct memory { /* of a thread; both NULL: no accesses yet */
    struct stack *stack;
    struct sets *sets;
};

struct first { /* touch of a line, in a chunk */
    uint64_t line;
    uint32_t ref, tag;
    uint16_t thread;
    bool joins; /* of the same access as the one before */
};

struct measure {
    const struct psnap_reuse_options *options;
    bool is_chunk;
    unsigned line_digits; /* 2^these bytes are a line */
    double rate;          /* of the sample now; 1: all lines */
    struct measure_view views[PSNAP_VIEW_COUNT];
    struct memory memories[PSNAP_THREADS_MAX];
    uint16_t threads[PSNAP_THREADS_MAX]; /* that have a memory */
    uint32_t thread_count;
    struct first *firsts; /* of a chunk */
    size_t first_count, first_room;
    uint64_t *lines; /* of the piece, in turn */
    uint64_t *distances;
};

/* A row, made if there is none; NULL: out of memory. */
struct measure_row *measure_new_row(struct measure_view *view, uint32_t row);

/* Counts what a stack says but a distance that is known. */
bool measure_count_other(const struct measure *measure, struct measure_row *row, uint64_t distance,
                         uint64_t times);

/* Of a thread, made at its first access; NULL: out of memory. */
struct memory *measure_memory(struct measure *measure, uint16_t thread);

/* Keeps a first touch, of a chunk. */
bool measure_keep_first(struct measure *measure, const struct first *first);

/* Makes the sample smaller where it has more lines than it needs, down to the rate asked for. */
bool measure_thin(struct measure *measure);

static inline bool measure_add(struct psnap_distances **distances, uint64_t distance,
                               uint64_t count)
{
    if (!*distances)
        *distances = psnap_distances_new();
    return *distances && distances_add(*distances, distance, count);
}

static inline bool measure_count(struct measure *measure, enum psnap_view view, uint32_t row,
                                 uint64_t distance, uint64_t times)
{
    struct measure_view *of = &measure->views[view];
    struct measure_row *at = row < of->count ? &of->rows[row] : measure_new_row(of, row);

    if (!at)
        return false;
    return distance < STACK_SAMPLED ? measure_add(&at->known, distance, times)
                                    : measure_count_other(measure, at, distance, times);
}

/* Of the distances of an access's lines that of the access. */
static inline uint64_t measure_fold(const uint64_t *distances, uint64_t more)
{
    uint64_t largest = distances[0];

    for (uint64_t k = 1; k <= more && largest < STACK_SAMPLED; k++)
        largest = distances[k] > largest ? distances[k] : largest;
    return largest;
}

#endif
