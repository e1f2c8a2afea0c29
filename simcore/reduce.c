/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Repetitions in which no access comes to another line are passed over in one step, but for
 * accesses that share a set. Sets are told apart by buckets: two sets of one bucket are taken for
 * the same, which only leaves fewer accesses out.
 */
#include "simcore/reduce.h"

#include <stdlib.h>
#include <string.h>

enum { REPETITIONS_MIN = 4 };

/* Whether an access stays within the address space, without wrapping around. */
static bool stays_inside(const struct psnap_run *run, size_t k)
{
    const uint64_t first = run->first[k].address;
    int64_t way;

    if (run->count > INT64_MAX ||
        __builtin_mul_overflow(run->strides[k], (int64_t)run->count, &way) || way == INT64_MIN)
        return false;
    return way < 0 ? first >= 0 - (uint64_t)way
                   : first <= UINT64_MAX - PSNAP_ACCESS_SIZE_MAX - (uint64_t)way;
}

bool reduce_suits(const struct psnap_run *run, uint64_t line_bytes)
{
    size_t within = 0;

    if (run->width > REDUCE_WIDTH_MAX || run->count < REPETITIONS_MIN)
        return false;
    for (size_t k = 0; k < run->width; k++) {
        if ((run->columns && run->columns[k].words) || !stays_inside(run, k))
            return false;
        within +=
            (uint64_t)llabs(run->strides[k]) <= line_bytes / 4 && run->first[k].size <= line_bytes;
    }
    return 2 * within >= run->width;
}

static uint64_t address_at(const struct reduce *reduce, size_t k, uint64_t repetition)
{
    return reduce->run->first[k].address + repetition * (uint64_t)reduce->run->strides[k];
}

/* In which repetition after this one an access leaves its line, or begins to lie in two. */
static uint64_t next_change(const struct reduce *reduce, size_t k)
{
    const int64_t stride = reduce->run->strides[k];
    const uint64_t offset = address_at(reduce, k, reduce->repetition) & (reduce->line_bytes - 1);
    const uint64_t size = reduce->run->first[k].size;
    uint64_t steps;

    if (offset + size > reduce->line_bytes)
        return reduce->repetition + 1;
    if (stride == 0)
        return UINT64_MAX;
    steps = stride > 0 ? (reduce->line_bytes - size - offset) / (uint64_t)stride
                       : offset / (0 - (uint64_t)stride);
    return reduce->repetition + steps + 1;
}

static size_t bucket_of(const struct reduce_shape *shape, uint64_t line)
{
    return (shape->mask ? line & shape->mask : line % shape->sets) % REDUCE_BUCKETS;
}

static void note_line(struct reduce *reduce, size_t bucket, uint64_t line)
{
    uint32_t i = 0;

    if (reduce->buckets[bucket].stamp != reduce->stamp) {
        reduce->buckets[bucket].stamp = reduce->stamp;
        reduce->buckets[bucket].count = 0;
    }
    while (i < reduce->buckets[bucket].count && i < REDUCE_LINES_MAX &&
           reduce->buckets[bucket].lines[i] != line)
        i++;
    if (i < reduce->buckets[bucket].count && i < REDUCE_LINES_MAX)
        return;
    if (i < REDUCE_LINES_MAX)
        reduce->buckets[bucket].lines[i] = line;
    reduce->buckets[bucket].count++;
}

/* Which accesses share their sets with other lines in this repetition, and with too many. */
static void look_at_sets(struct reduce *reduce, bool *shares, bool *crowds)
{
    const struct psnap_run *run = reduce->run;

    for (size_t s = 0; s < reduce->shape_count; s++) {
        const struct reduce_shape *shape = &reduce->shapes[s];

        reduce->stamp++;
        for (size_t k = 0; k < run->width; k++) {
            const uint64_t address = address_at(reduce, k, reduce->repetition);
            const uint64_t line = address >> shape->line_shift;
            const uint64_t last = (address + run->first[k].size - 1) >> shape->line_shift;
            for (uint64_t i = 0; i <= last - line; i++)
                note_line(reduce, bucket_of(shape, line + i), line + i);
        }
        for (size_t k = 0; k < run->width; k++) {
            const uint64_t line = address_at(reduce, k, reduce->repetition) >> shape->line_shift;
            const uint32_t count = reduce->buckets[bucket_of(shape, line)].count;
            shares[k] |= count > 1;
            crowds[k] |= count > shape->ways || count > REDUCE_LINES_MAX;
        }
    }
}

/* What is due in the repetition in hand. */
static void begin_repetition(struct reduce *reduce)
{
    const size_t width = reduce->run->width;
    bool shares[REDUCE_WIDTH_MAX], moves = false;

    reduce->at = 0;
    for (size_t k = 0; k < width; k++)
        moves |= reduce->change[k] <= reduce->repetition;
    if (!moves) { /* what crowds one level's set may share that of another level's */
        memcpy(reduce->is_due, reduce->shares, width);
        return;
    }
    memset(shares, 0, width);
    memset(reduce->crowds, 0, width);
    look_at_sets(reduce, shares, reduce->crowds);
    for (size_t k = 0; k < width; k++) {
        reduce->is_due[k] =
            reduce->shares[k] || shares[k] || reduce->change[k] <= reduce->repetition;
        reduce->shares[k] = shares[k];
    }
}

/* On to the next repetition in which something is due. */
static void advance(struct reduce *reduce)
{
    uint64_t next = UINT64_MAX;

    for (size_t k = 0; k < reduce->run->width; k++) {
        const uint64_t due = reduce->crowds[k] ? reduce->repetition + 1 : reduce->change[k];
        next = due < next ? due : next;
    }
    reduce->repetition = next;
    if (next < reduce->run->count)
        begin_repetition(reduce);
}

void reduce_begin(struct reduce *reduce, const struct psnap_run *run,
                  const struct reduce_shape *shapes, size_t shape_count, uint64_t line_bytes)
{
    reduce->run = run;
    reduce->shapes = shapes;
    reduce->shape_count = shape_count;
    reduce->line_bytes = line_bytes;
    reduce->repetition = reduce->left = 0;
    for (size_t k = 0; k < run->width; k++) {
        reduce->change[k] = 0;
        reduce->shares[k] = reduce->crowds[k] = false;
    }
    begin_repetition(reduce);
}

size_t reduce_next(struct reduce *reduce, struct psnap_access *block, size_t capacity)
{
    const struct psnap_run *run = reduce->run;
    size_t n = 0;

    while (reduce->repetition < run->count) {
        for (; reduce->at < run->width; reduce->at++) {
            const size_t k = reduce->at;
            if (!reduce->is_due[k])
                continue;
            if (n == capacity)
                return n;
            block[n] = run->first[k];
            block[n++].address = address_at(reduce, k, reduce->repetition);
            reduce->left++;
            if (reduce->change[k] <= reduce->repetition)
                reduce->change[k] = next_change(reduce, k);
        }
        advance(reduce);
    }
    return n;
}
