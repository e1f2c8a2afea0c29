/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sequences of bytes as sequences of elements: each run of bytes becomes one of the addresses of
 * elements that lie one behind the other.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/nest/nest.h"

/* The counts of runs among the values of a term, or among their steps, are of elements; false: they
 * are no multiples. */
static bool widen_counts(const struct nest_pattern *pattern, uint64_t *values, int64_t bytes)
{
    if (!pattern->body_count) {
        const int64_t count = (int64_t)values[0];
        values[0] = (uint64_t)(count / bytes);
        return count % bytes == 0;
    }
    values++;
    for (uint32_t i = 0; i < pattern->body_count; values += pattern->body[i++]->values)
        if (!widen_counts(pattern->body[i], values, bytes))
            return false;
    return true;
}

/* NULL: it is not of elements, or out of memory. */
static const struct nest_pattern *widen_pattern(struct nest_patterns *to,
                                                const struct nest_pattern *from, uint64_t bytes)
{
    const struct nest_pattern **body, *made = NULL;
    uint64_t *steps, *at;
    uint32_t i = 0;

    if (!from->body_count)
        return from->symbol == NEST_NUMBERS && from->steps[0] == 1 ? nest_pattern_run(to, bytes)
                                                                   : NULL;
    body = malloc(from->body_count * sizeof(struct nest_pattern *));
    at = steps = malloc(from->values * sizeof *steps);
    if (steps)
        memcpy(steps, from->steps, (from->values - 1) * sizeof *steps);
    while (body && steps && i < from->body_count &&
           (body[i] = widen_pattern(to, from->body[i], bytes)) &&
           widen_counts(from->body[i], at, (int64_t)bytes))
        at += from->body[i++]->values;
    if (i == from->body_count)
        made = nest_pattern_loop(to, body, i, steps);
    free(body);
    free(steps);
    return made;
}

bool nest_terms_widen(struct nest_terms *to, const struct nest_terms *from, uint64_t bytes)
{
    for (size_t i = 0; i < from->count; i++) {
        const struct nest_pattern *pattern = from->terms[i].pattern, *made;
        uint64_t *values = malloc(pattern->values * sizeof *values);
        bool is_done = values != NULL;
        if (is_done)
            memcpy(values, nest_term_values(from, i), pattern->values * sizeof *values);
        made = is_done ? widen_pattern(to->patterns, pattern, bytes) : NULL;
        is_done = made && widen_counts(pattern, values, (int64_t)bytes) &&
                  nest_terms_push(to, made, values);
        free(values);
        if (!is_done)
            return false;
    }
    return true;
}
