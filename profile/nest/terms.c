/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Terms one after the other, a stack of them.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"
#include "profile/nest/nest.h"

enum { FEW_TERMS = 4, FEW_VALUES = 16 }; /* most nests have no more */

void nest_terms_release(struct nest_terms *terms)
{
    free(terms->terms);
    free(terms->values);
    *terms = (struct nest_terms){.patterns = terms->patterns};
}

/* Room for so many terms and values, and no more: false, out of memory. */
static bool resize(struct nest_terms *terms, size_t count, size_t value_count)
{
    if (!psnap_resize(&terms->terms, count, sizeof *terms->terms))
        return false;
    terms->room = count;
    if (!psnap_resize(&terms->values, value_count, sizeof *terms->values))
        return false;
    terms->value_room = value_count;
    return true;
}

bool nest_terms_push(struct nest_terms *terms, const struct nest_pattern *pattern,
                     const uint64_t *values)
{
    struct nest_term *more;
    uint64_t *more_values;

    if (!terms->room && !resize(terms, FEW_TERMS, FEW_VALUES))
        return false;
    more = psnap_with_room(terms->terms, &terms->room, terms->count + 1, sizeof *more);
    terms->terms = more ? more : terms->terms;
    more_values = psnap_with_room(terms->values, &terms->value_room,
                                  terms->value_count + pattern->values, sizeof *more_values);
    terms->values = more_values ? more_values : terms->values;
    if (!more || !more_values)
        return false;
    terms->terms[terms->count++] = (struct nest_term){pattern, terms->value_count};
    memcpy(&terms->values[terms->value_count], values, pattern->values * sizeof *values);
    terms->value_count += pattern->values;
    return true;
}

void nest_terms_pop(struct nest_terms *terms, size_t n)
{
    if (!n)
        return;
    terms->count -= n;
    terms->value_count = terms->terms[terms->count].at;
}

bool nest_terms_copy(struct nest_terms *to, const struct nest_terms *from)
{
    if (from->count && !resize(to, to->count + from->count, to->value_count + from->value_count))
        return false;
    for (size_t i = 0; i < from->count; i++) {
        const struct nest_pattern *pattern =
            nest_pattern_copy(to->patterns, from->terms[i].pattern);
        if (!pattern || !nest_terms_push(to, pattern, nest_term_values(from, i)))
            return false;
    }
    return true;
}

/* The last iteration of the loop on top becomes terms behind it. */
static bool open_last(struct nest_terms *terms)
{
    const struct nest_term loop = terms->terms[terms->count - 1];
    const size_t n = loop.pattern->values - 1;
    uint64_t *values = &terms->values[loop.at], *last = malloc((n + 1) * sizeof *last);
    bool is_done = last != NULL;

    for (size_t i = 0; last && i < n; i++)
        last[i] = values[1 + i] + (values[0] - 1) * loop.pattern->steps[i];
    if (!--values[0])
        nest_terms_pop(terms, 1);
    for (uint32_t i = 0, at = 0; is_done && i < loop.pattern->body_count;
         at += loop.pattern->body[i++]->values)
        is_done = nest_terms_push(terms, loop.pattern->body[i], last + at);
    free(last);
    return is_done;
}

bool nest_terms_cut(struct nest_terms *terms, uint64_t count)
{
    while (count && terms->count) {
        const struct nest_term last = terms->terms[terms->count - 1];
        uint64_t *values = &terms->values[last.at], length, left;
        if ((int64_t)values[0] <= 0) {
            nest_terms_pop(terms, 1);
            continue;
        }
        if (last.pattern->body_count && !nest_is_steady(last.pattern)) {
            if (!open_last(terms))
                return false;
            continue;
        }
        length = nest_length(last.pattern, values) / values[0]; /* of an iteration */
        left = length ? count / length : values[0];
        if (left >= values[0]) {
            count -= values[0] * length;
            nest_terms_pop(terms, 1);
            continue;
        }
        values[0] -= left;
        count -= left * length;
        if (count && !open_last(terms))
            return false;
    }
    return true;
}
