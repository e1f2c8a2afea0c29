/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers to runs, and runs to nests (series.h). Which runs there are depends on the numbers alone,
 * not on how they were put: a run of two whose third number is elsewhere is a single one and the
 * beginning of another run.
 */
#include "profile/nest/series.h"

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

void series_mark(const struct series *series, struct series_mark *mark)
{
    mark->next = series->next;
    mark->stride = series->stride;
    mark->count = series->count;
    mark->first = series->first;
    mark->length = series->length;
    mark->joined = series->joined;
    mark->jumps = series->jumps;
    mark->has_ended = series->has_ended;
    nest_fold_mark(&series->fold, &mark->fold);
}

/* Whether the run under way is that of before, `step` further. */
static bool is_further(const struct series *series, const struct series_mark *mark, uint64_t step)
{
    return mark->has_ended == series->has_ended && series->count == mark->count &&
           series->stride == mark->stride && series->first == mark->first + step &&
           series->next == mark->next + step;
}

/* Whether rows that begin elsewhere will go on to be runs, or not to be, as they did since. */
static bool are_rows_settled(const struct series *series, const struct series_mark *mark)
{
    const int64_t joined = series->joined - (int64_t)mark->joined;
    const int64_t jumps = series->jumps - (int64_t)mark->jumps;
    const int64_t now = series->joined - 2 * (int64_t)series->jumps, reach = joined + 2 * jumps;

    if (joined > 2 * jumps)
        return now > 2 * reach;
    return joined == 2 * jumps || now + 2 * reach <= 0;
}

uint64_t series_repeats(const struct series *series, const struct series_mark *mark, uint64_t step)
{
    if (series->is_none) /* it counts numbers, no more */
        return UINT64_MAX;
    if (!mark->fold.depth || !is_further(series, mark, step) || !are_rows_settled(series, mark))
        return 0;
    return nest_fold_repeats(&series->fold, &mark->fold, step);
}

static uint32_t add_up_to_most(uint32_t count, uint64_t more, uint64_t times)
{
    return more && times > (UINT32_MAX - count) / more ? UINT32_MAX
                                                       : count + (uint32_t)(more * times);
}

void series_skip(struct series *series, const struct series_mark *mark, uint64_t step,
                 uint64_t times)
{
    if (!series->is_none) {
        nest_fold_skip(&series->fold, &mark->fold, step, times);
        series->first += times * step;
        series->next += times * step;
        series->joined = add_up_to_most(series->joined, series->joined - mark->joined, times);
        series->jumps = add_up_to_most(series->jumps, series->jumps - mark->jumps, times);
    }
    series->length += times * (series->length - mark->length);
}

bool series_put_repeated(struct series *series, const struct series_run *runs, uint32_t n,
                         uint64_t step, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        struct series_mark mark;
        uint64_t times;
        series_mark(series, &mark);
        for (uint32_t k = 0; k < n; k++)
            if (!series_put(series, runs[k].first + i * step, runs[k].stride, runs[k].count))
                return false;
        times = series_repeats(series, &mark, step);
        times = times < count - i - 1 ? times : count - i - 1;
        if (times)
            series_skip(series, &mark, step, times);
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
