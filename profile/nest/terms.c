/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Terms one after the other, a stack of them.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"
#include "profile/nest/nest.h"

void nest_terms_release(struct nest_terms *terms)
{
    free(terms->terms);
    free(terms->values);
    *terms = (struct nest_terms){.patterns = terms->patterns};
}

bool nest_terms_push(struct nest_terms *terms, const struct nest_pattern *pattern,
                     const uint64_t *values)
{
    struct nest_term *more =
        psnap_with_room(terms->terms, &terms->room, terms->count + 1, sizeof *more);
    uint64_t *more_values;

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
    for (size_t i = 0; i < from->count; i++) {
        const struct nest_pattern *pattern =
            nest_pattern_copy(to->patterns, from->terms[i].pattern);
        if (!pattern || !nest_terms_push(to, pattern, nest_term_values(from, i)))
            return false;
    }
    return true;
}
