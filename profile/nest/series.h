/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sequence of numbers that may be a nest: the addresses of a reference, or the trip counts of a
 * loop. It is folded while it comes (nest.h). Numbers that go on by the same stride are one run. So
 * are rows of numbers, as inner loops make them, when most of them begin where the one before
 * ended, as those of a sparse matrix do whatever their lengths; where most begin elsewhere, each is
 * a run. When there are too many terms the series gives up: it is no nest, and forgets them, unless
 * it is one that keeps them.
 */
#ifndef PSNAP_PROFILE_SERIES_H
#define PSNAP_PROFILE_SERIES_H

#include "profile/nest/nest.h"

struct series {
    uint64_t next, stride, count, first; /* of the run under way; count 0: none */
    uint64_t length;                     /* numbers so far */
    uint32_t joined, jumps;             /* rows that began where the one before ended, or did not */
    bool has_ended;                     /* a row of several numbers just has */
    bool is_none;                       /* it gave up, */
    bool keeps, is_over;                /* or would have: one that keeps its terms is over */
    const struct nest_pattern *pattern; /* that the last run had */
    struct nest_fold fold;
};

void series_init(struct series *series, struct nest_patterns *patterns);
void series_release(struct series *series);

/* As series_put, when the run under way does not go on so. */
bool series_put_other(struct series *series, uint64_t first, uint64_t stride, uint64_t count);

/* `count` more numbers from `first` on; false: out of memory. */
static inline bool series_put(struct series *series, uint64_t first, uint64_t stride,
                              uint64_t count)
{
    series->length += count;
    if (series->is_none)
        return true;
    if (first != series->next || series->count < 2 || (count > 1 && stride != series->stride) ||
        series->has_ended)
        return series_put_other(series, first, stride, count);
    series->count += count;
    series->next += count * series->stride;
    return true;
}

/* Numbers from `first` on, a stride apart. */
struct series_run {
    uint64_t first, stride, count;
};

/* `count` times the same `n` runs, but each time all are `step` further; false: out of memory. */
bool series_put_repeated(struct series *series, const struct series_run *runs, uint32_t n,
                         uint64_t step, uint64_t count);

/* What a series was like at some time. When numbers have come since, and the same are to come again
 * and again, `step` further each time: series_repeats is how often that may be told to it at once,
 * by series_skip. */
struct series_mark {
    uint64_t next, stride, count, first, length;
    uint32_t joined, jumps;
    bool has_ended;
    struct nest_mark fold;
};

void series_mark(const struct series *series, struct series_mark *mark);
uint64_t series_repeats(const struct series *series, const struct series_mark *mark, uint64_t step);
void series_skip(struct series *series, const struct series_mark *mark, uint64_t step,
                 uint64_t times);

/* A row of several numbers ends here; rows of one are not told. */
static inline void series_end_row(struct series *series)
{
    series->has_ended = true;
}

/* No more will come. Afterwards it has terms; with more than `most` values it is none, or over. */
bool series_end(struct series *series, size_t most);
/* It is none. */
void series_give_up(struct series *series);

/* Whether there are so few terms for the numbers that it is a nest for sure, or so many, after so
 * many numbers, that it is none. */
bool series_is_plain(const struct series *series);
bool series_is_hopeless(const struct series *series);

#endif
