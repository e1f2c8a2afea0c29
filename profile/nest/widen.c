/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sequences of bytes as sequences of elements: each run of bytes becomes one of the addresses of
 * elements that lie one behind the other; or, of numbers of bytes, those of numbers of elements.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/nest/nest.h"

struct widening {
    int64_t bytes;
    bool is_length; /* the numbers are of bytes, not where each one is */
};

static bool divide(uint64_t *value, int64_t by)
{
    const int64_t number = (int64_t)*value;

    *value = (uint64_t)(number / by);
    return number % by == 0;
}

/* The counts of runs among the values of a term, or among their steps, are of elements, or their
 * first numbers are; false: they are no multiples. */
static bool widen_values(const struct widening *w, const struct nest_pattern *pattern,
                         uint64_t *values)
{
    if (!pattern->body_count)
        return divide(&values[w->is_length], w->bytes);
    values++;
    for (uint32_t i = 0; i < pattern->body_count; values += pattern->body[i++]->values)
        if (!widen_values(w, pattern->body[i], values))
            return false;
    return true;
}

static const struct nest_pattern *widen_run(const struct widening *w, struct nest_patterns *to,
                                            const struct nest_pattern *from)
{
    uint64_t stride = from->steps[0];

    if (w->is_length ? !divide(&stride, w->bytes) : stride != 1)
        return NULL;
    return nest_pattern_run(to, w->is_length ? stride : (uint64_t)w->bytes);
}

/* NULL: it is not of elements, or out of memory. */
static const struct nest_pattern *widen_pattern(const struct widening *w, struct nest_patterns *to,
                                                const struct nest_pattern *from)
{
    const struct nest_pattern **body, *made = NULL;
    uint64_t *steps, *at;
    uint32_t i = 0;

    if (!from->body_count)
        return widen_run(w, to, from);
    body = malloc(from->body_count * sizeof(struct nest_pattern *));
    at = steps = malloc(from->values * sizeof *steps);
    if (steps)
        memcpy(steps, from->steps, (from->values - 1) * sizeof *steps);
    while (body && steps && i < from->body_count &&
           (body[i] = widen_pattern(w, to, from->body[i])) && widen_values(w, from->body[i], at))
        at += from->body[i++]->values;
    if (i == from->body_count)
        made = nest_pattern_loop(to, body, i, steps);
    free(body);
    free(steps);
    return made;
}

bool nest_terms_widen(struct nest_terms *to, const struct nest_terms *from, uint64_t bytes,
                      bool is_length)
{
    const struct widening w = {(int64_t)bytes, is_length};

    for (size_t i = 0; i < from->count; i++) {
        const struct nest_pattern *pattern = from->terms[i].pattern, *made;
        uint64_t *values = malloc(pattern->values * sizeof *values);
        bool is_done = values != NULL;
        if (is_done)
            memcpy(values, nest_term_values(from, i), pattern->values * sizeof *values);
        made = is_done ? widen_pattern(&w, to->patterns, pattern) : NULL;
        is_done = made && widen_values(&w, pattern, values) && nest_terms_push(to, made, values);
        free(values);
        if (!is_done)
            return false;
    }
    return true;
}
