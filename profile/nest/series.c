/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers to runs, and runs to nests (series.h). Which runs there are depends on the numbers alone,
 * not on how they were put: a run of two whose third number is elsewhere is a single one and the
 * beginning of another run.
 */
#include "profile/nest/series.h"

#include <stdlib.h>

enum {
    MOST = 1024,      /* values while the series goes on, */
    PLAIN = 16,       /* numbers for each value of a nest for sure, */
    PLAIN_MOST = 32,  /* which has no more of these */
    PLAIN_FROM = 512, /* numbers after which a series can be told to be a nest, */
    NONE_FROM = 2048, /* or to be none: */
    NONE = 3          /* fewer numbers for each value */
};

void series_init(struct series *series, struct nest_patterns *patterns)
{
    *series = (struct series){0};
    nest_fold_init(&series->fold, patterns);
}

void series_release(struct series *series)
{
    nest_fold_release(&series->fold);
}

void series_give_up(struct series *series)
{
    series->is_none = true;
    series->count = 0;
    nest_fold_release(&series->fold);
}

/* Whether the series has at most so many values: else it gives up, or is over. */
static void bound(struct series *series, size_t most)
{
    if (series->fold.terms.value_count <= most)
        return;
    series->is_over = true;
    if (!series->keeps)
        series_give_up(series);
}

/* The run under way ends. */
static bool flush(struct series *series)
{
    const uint64_t values[2] = {series->count, series->first};
    const uint64_t stride = series->count > 1 ? series->stride : 0;

    series->count = 0;
    if (!series->pattern || series->pattern->steps[0] != stride)
        series->pattern = nest_pattern_run(series->fold.terms.patterns, stride);
    if (!series->pattern || !nest_fold_leaf(&series->fold, series->pattern, values))
        return false;
    bound(series, MOST);
    return true;
}

static void begin(struct series *series, uint64_t first, uint64_t stride, uint64_t count)
{
    series->first = first;
    series->stride = stride;
    series->count = count;
    series->next = first + count * stride;
}

/* A run of two is a single number and the beginning of another run. */
static bool split(struct series *series)
{
    const uint64_t second = series->first + series->stride;

    series->count = 1;
    if (!flush(series))
        return false;
    if (!series->is_none)
        begin(series, second, 0, 1);
    return true;
}

/* Whether the row that begins now is part of the run under way, which a row has ended: most are. A
 * run of two may not be one. */
static bool joins(struct series *series, uint64_t first)
{
    series->has_ended = false;
    if (series->count <= 2)
        return true;
    if (first == series->next)
        series->joined += series->joined < UINT32_MAX;
    else
        series->jumps += series->jumps < UINT32_MAX;
    return first == series->next && series->joined > 2 * (uint64_t)series->jumps;
}

bool series_put_other(struct series *series, uint64_t first, uint64_t stride, uint64_t count)
{
    if (series->has_ended && !joins(series, first) && !flush(series))
        return false;
    while (series->count && !series->is_none) {
        if (series->count == 1 && (count == 1 || first - series->first == stride)) {
            begin(series, series->first, first - series->first, 1 + count);
            return true;
        }
        if (series->count > 1 && first == series->next) {
            const uint64_t joined = count == 1 || stride == series->stride ? count : 1;
            series->count += joined;
            series->next += joined * series->stride;
            first += joined * stride;
            count -= joined;
            if (!count)
                return true;
        } else if (series->count == 2) {
            if (!split(series))
                return false;
        } else if (!flush(series)) {
            return false;
        }
    }
    if (!series->is_none)
        begin(series, first, stride, count);
    return true;
}

/* Whether the run under way is that of before, `step` further. */
static bool is_further(const struct series *series, const struct series *before, uint64_t step)
{
    return !before->has_ended && series->count == before->count &&
           series->stride == before->stride && series->first == before->first + step &&
           series->next == before->next + step;
}

bool series_put_repeated(struct series *series, const struct series_run *runs, uint32_t n,
                         uint64_t step, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        const struct series before = *series;
        const struct nest_mark mark = nest_fold_mark(&series->fold);
        uint64_t times = 0;
        for (uint32_t k = 0; k < n; k++)
            if (!series_put(series, runs[k].first + i * step, runs[k].stride, runs[k].count))
                return false;
        if (series->is_none) /* it counts numbers, no more */
            times = UINT64_MAX;
        else if (mark.depth && is_further(series, &before, step))
            times = nest_fold_repeats(&series->fold, &mark, step);
        times = times < count - i - 1 ? times : count - i - 1;
        if (times && !series->is_none)
            nest_fold_skip(&series->fold, &mark, times);
        series->first += times * step;
        series->next += times * step;
        series->length += times * (series->length - before.length);
        i += times;
    }
    return true;
}

bool series_end(struct series *series, size_t most)
{
    if (series->is_none)
        return true;
    if ((series->count == 2 && !split(series)) || (series->count && !flush(series)))
        return false;
    if (series->is_none)
        return true;
    if (!nest_fold_end(&series->fold))
        return false;
    bound(series, most);
    return true;
}

bool series_is_plain(const struct series *series)
{
    return !series->is_none && series->length >= PLAIN_FROM &&
           series->fold.terms.value_count <= PLAIN_MOST &&
           series->fold.terms.value_count * PLAIN <= series->length;
}

bool series_is_hopeless(const struct series *series)
{
    return !series->is_none && series->length >= NONE_FROM &&
           series->fold.terms.value_count * NONE > series->length;
}
