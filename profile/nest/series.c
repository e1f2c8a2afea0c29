/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers to runs, and runs to nests (series.h). Which runs there are depends on the numbers and
 * the ends of rows alone, not on how they were put: a run of two whose third number is elsewhere is
 * a single one and the beginning of another run.
 */
#include "profile/nest/series.h"

#include <stdlib.h>

enum {
    MOST = 1024,     /* values while the series goes on, */
    FEW = 48,        /* and when it has ended: more are kept only of */
    PLAIN = 16,      /* so many numbers for each */
    PLAIN_FROM = 512 /* numbers after which a series can be told to be a nest */
};

void series_init(struct series *series, struct nest_patterns *patterns)
{
    *series = (struct series){.state = SERIES_ROWS};
    nest_fold_init(&series->fold, patterns);
}

void series_release(struct series *series)
{
    nest_fold_release(&series->fold);
}

static bool fold_run(struct series *series, uint64_t first, uint64_t stride, uint64_t count)
{
    const uint64_t values[2] = {count, first};

    if (!series->pattern || series->pattern->steps[0] != stride)
        series->pattern = nest_pattern_run(series->fold.terms.patterns, stride);
    series->runs++;
    return series->pattern && nest_fold_leaf(&series->fold, series->pattern, values);
}

/* The run that a term is as a whole, if it is one. */
static bool is_run(const struct nest_pattern *pattern, const uint64_t *values, uint64_t *first,
                   uint64_t *stride, uint64_t *count)
{
    if (!pattern->body_count) {
        *count = values[0];
        *first = values[1];
        *stride = pattern->steps[0];
        return true;
    }
    if (pattern->body_count > 1 || !is_run(pattern->body[0], values + 1, first, stride, count))
        return false;
    for (uint32_t i = 0; i + 1 < pattern->values - 1; i++)
        if (pattern->steps[i])
            return false;
    if (pattern->steps[pattern->values - 2] != *count * *stride)
        return false;
    *count *= values[0];
    return true;
}

static bool flush(struct series *series);
static bool put_number(struct series *series, uint64_t first, uint64_t stride, uint64_t count);

/* Folds the terms anew, rows joined. */
static bool join_rows(struct series *series)
{
    struct nest_fold before = series->fold;
    const struct series under_way = *series;
    bool is_done = true;

    nest_fold_init(&series->fold, before.terms.patterns);
    series->state = SERIES_JOINED;
    series->count = 0;
    for (size_t i = 0; is_done && i < before.terms.count; i++) {
        const struct nest_pattern *pattern = before.terms.terms[i].pattern;
        const uint64_t *values = nest_term_values(&before.terms, i);
        uint64_t first, stride, count;
        is_done = is_run(pattern, values, &first, &stride, &count)
                      ? put_number(series, first, stride, count)
                      : flush(series) && nest_fold_term(&series->fold, pattern, values);
    }
    nest_fold_release(&before);
    return is_done &&
           (!under_way.count || put_number(series, under_way.first, under_way.stride,
                                           under_way.count));
}

/* Too many terms: they are told in another way, or not at all. */
static bool lower(struct series *series)
{
    if (!nest_fold_end(&series->fold))
        return false;
    if (series->state == SERIES_ROWS && !join_rows(series))
        return false;
    if (series->fold.terms.value_count <= MOST / 2)
        return true;
    series->state = SERIES_NONE;
    series->count = 0;
    nest_fold_release(&series->fold);
    return true;
}

/* The run under way ends. */
static bool flush(struct series *series)
{
    const uint64_t count = series->count;

    series->count = 0;
    if (count && !fold_run(series, series->first, count > 1 ? series->stride : 0, count))
        return false;
    return series->fold.terms.value_count <= MOST || lower(series);
}

static void begin(struct series *series, uint64_t first, uint64_t stride, uint64_t count)
{
    series->first = first;
    series->stride = stride;
    series->count = count;
    series->next = first + count * stride;
}

/* As series_put, of a series that has not given up. */
static bool put_number(struct series *series, uint64_t first, uint64_t stride, uint64_t count)
{
    while (series->count) {
        if (series->count == 1 && (count == 1 || first - series->first == stride)) {
            begin(series, series->first, first - series->first, 1 + count);
            return true;
        }
        if (series->count > 1 && first == series->next && (count == 1 || stride == series->stride)) {
            series->count += count;
            series->next += count * series->stride;
            return true;
        }
        if (series->count > 1 && first == series->next) { /* its first number belongs to the run */
            series->count++;
            series->next += series->stride;
            first += stride;
            count--;
            continue;
        }
        if (series->count == 2) {
            const uint64_t second = series->first + series->stride;
            series->count = 1;
            if (!flush(series))
                return false;
            if (series->state == SERIES_NONE)
                return true;
            if (!put_number(series, second, 0, 1))
                return false;
            continue;
        }
        if (!flush(series)) /* afterwards a run may be under way: the last of rows that were joined */
            return false;
        if (series->state == SERIES_NONE)
            return true;
    }
    begin(series, first, stride, count);
    return true;
}

bool series_put(struct series *series, uint64_t first, uint64_t stride, uint64_t count)
{
    series->length += count;
    if (series->state == SERIES_NONE)
        return true;
    if (series->count > 1 && first == series->next && (count == 1 || stride == series->stride)) {
        series->count += count;
        series->next += count * series->stride;
        return true;
    }
    return put_number(series, first, stride, count);
}

bool series_end_row(struct series *series)
{
    return series->state != SERIES_ROWS || !series->count || flush(series);
}

bool series_end(struct series *series)
{
    if (series->state == SERIES_NONE)
        return true;
    if (!flush(series) || (series->state != SERIES_NONE && !nest_fold_end(&series->fold)))
        return false;
    for (int way = 0; way < 2 && series->state != SERIES_NONE; way++) {
        const size_t values = series->fold.terms.value_count;
        if (values <= FEW || values * PLAIN <= series->length)
            return true;
        if (series->state == SERIES_ROWS) {
            if (!join_rows(series) || !flush(series) || !nest_fold_end(&series->fold))
                return false;
        } else {
            series->state = SERIES_NONE;
            nest_fold_release(&series->fold);
        }
    }
    return true;
}

bool series_is_plain(const struct series *series)
{
    return series->state != SERIES_NONE && series->length >= PLAIN_FROM &&
           series->fold.terms.value_count * PLAIN <= series->length;
}
