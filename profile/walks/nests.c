/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Terms one after the other, with what finds those that a new one may fold with: the last one
 * of each pattern, and the last loop.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"
#include "profile/walks/nest_models.h"

struct psnap_nests *nests_new(void)
{
    struct psnap_nests *nests = calloc(1, sizeof *nests);

    if (nests && !(nests->patterns = nest_patterns_new())) {
        free(nests);
        return NULL;
    }
    return nests;
}

void nests_free(struct psnap_nests *nests)
{
    if (!nests)
        return;
    nest_patterns_free(nests->patterns);
    nest_models_free(nests->models);
    free(nests->terms);
    free(nests->values);
    free(nests->last);
    free(nests);
}

/* Room for one more term of the pattern; false: out of memory. */
static bool make_room(struct psnap_nests *nests, const struct nest_pattern *pattern)
{
    const size_t lasts = nests->last_room;
    struct nest_term *terms =
        psnap_with_room(nests->terms, &nests->room, nests->count + 1, sizeof *terms);
    uint64_t *values;
    int64_t *last;

    nests->terms = terms ? terms : nests->terms;
    values = psnap_with_room(nests->values, &nests->value_room,
                             nests->value_count + pattern->values, sizeof *values);
    nests->values = values ? values : nests->values;
    last =
        psnap_with_room(nests->last, &nests->last_room, (size_t)pattern->number + 1, sizeof *last);
    nests->last = last ? last : nests->last;
    for (size_t i = lasts; i < nests->last_room; i++)
        nests->last[i] = -1;
    return terms && values && last;
}

bool nests_push(struct psnap_nests *nests, const struct nest_pattern *pattern,
                const uint64_t *values)
{
    if (!make_room(nests, pattern))
        return false;
    nests->terms[nests->count] =
        (struct nest_term){pattern, nests->value_count, nests->last[pattern->number], -1};
    if (nests->count) {
        const struct nest_term *before = &nests->terms[nests->count - 1];
        nests->terms[nests->count].loop =
            before->pattern->body_count ? (int64_t)nests->count - 1 : before->loop;
    }
    nests->last[pattern->number] = (int64_t)nests->count++;
    memcpy(&nests->values[nests->value_count], values, pattern->values * sizeof *values);
    nests->value_count += pattern->values;
    return true;
}

void nests_pop(struct psnap_nests *nests, size_t n)
{
    while (n--) {
        const struct nest_term *term = &nests->terms[--nests->count];
        nests->last[term->pattern->number] = term->previous;
        nests->value_count = term->at;
    }
}

struct psnap_nests *nests_copy(const struct psnap_nests *from,
                               void (*change)(void *context, struct nest_shape *shape),
                               void *context)
{
    struct psnap_nests *to = nests_new();

    for (size_t i = 0; to && i < from->count; i++) {
        const struct nest_pattern *pattern =
            nest_pattern_copy(to->patterns, from->terms[i].pattern, change, context);
        if (!pattern || !nests_push(to, pattern, nests_values(from, i))) {
            nests_free(to);
            return NULL;
        }
    }
    if (to && from->models && !(to->models = nest_models_copy(from->models, change, context))) {
        nests_free(to);
        return NULL;
    }
    return to;
}
