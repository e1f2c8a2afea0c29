/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much of a stack is loose: values that say what happened once, and will be more when the
 * program has more to do. Loops in which much of the program is are not: their size is that of the
 * code. Nor are the iterations that lead into them or out of them: counts in a triangle begin with
 * 0 and 1, which look different, and unrolled ones of them with as many rows; a loop is found when
 * three iterations differ by the same. They are at most REACH of its iterations.
 */
#include <stdlib.h>

#include "profile/walks/nest_stack.h"

enum { REACH = 4 };
static const double share = 1.0 / 16; /* of all leaves are much */

static double leaves_of(const struct psnap_nests *nests, const struct nest_term *term)
{
    return nest_count_leaves(term->pattern, &nests->values[term->at]);
}

size_t nest_loose(const struct psnap_nests *nests)
{
    bool *is_loose = calloc(nests->count + 1, sizeof *is_loose);
    size_t until = 0, from = nests->value_count, loose = 0;
    double leaves = 0, much;

    if (!is_loose)
        return nests->value_count;
    for (size_t i = 0; i < nests->count; i++)
        leaves += leaves_of(nests, &nests->terms[i]);
    much = leaves * share;
    for (size_t i = 0; i < nests->count; i++) {
        const struct nest_term *term = &nests->terms[i];
        const size_t n = term->pattern->values, end = term->at + n;
        if (term->pattern->body_count && leaves_of(nests, term) >= much)
            until = end + REACH * n > until ? end + REACH * n : until;
        is_loose[i] = end > until;
    }
    for (size_t i = nests->count; i-- > 0;) {
        const struct nest_term *term = &nests->terms[i];
        const size_t n = term->pattern->values;
        if (term->pattern->body_count && leaves_of(nests, term) >= much) {
            const size_t begin = term->at > REACH * n ? term->at - REACH * n : 0;
            from = begin < from ? begin : from;
        }
        loose += is_loose[i] && term->at < from ? n : 0;
    }
    free(is_loose);
    return loose;
}
