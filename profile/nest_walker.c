/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The nests of a profile, leaf by leaf (profile.h). The profile may go: patterns are copied, with
 * the refs that the caller has for its references.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/nest_profile.h"

struct psnap_walker {
    struct psnap_nests *nests; /* refs are the caller's */
    struct nest_cursor cursor; /* in the present term */
    size_t term;               /* the next one */
    struct psnap_access first[NEST_WIDTH_MAX];
};

static void count_refs(const struct nest_pattern *pattern, uint32_t *counts)
{
    for (uint32_t i = 0; i < pattern->body_count; i++)
        count_refs(pattern->body[i], counts);
    if (pattern->body_count)
        return;
    for (uint32_t k = 0; k < pattern->shape->width; k++)
        if (pattern->shape->refs[k].ref >= counts[pattern->shape->loop])
            counts[pattern->shape->loop] = pattern->shape->refs[k].ref + 1;
}

enum psnap_status psnap_profile_walks(const struct psnap_profile *profile, uint64_t *visits,
                                      uint32_t *refs)
{
    struct nest_count *counts = calloc(profile->loop_count + (size_t)1, sizeof *counts);
    const enum psnap_status status =
        counts ? nests_count(profile->nests, counts) : PSNAP_ERROR_MEMORY;

    memset(refs, 0, profile->loop_count * sizeof *refs);
    for (size_t i = 0; i < profile->nests->count; i++)
        count_refs(profile->nests->terms[i].pattern, refs);
    for (uint32_t i = 0; !status && i < profile->loop_count; i++)
        visits[i] = counts[i].visits;
    free(counts);
    return status;
}

static void shift_refs(void *context, struct nest_shape *shape)
{
    const uint32_t *first_ref = context;

    for (uint32_t k = 0; k < shape->width; k++)
        shape->refs[k].ref += first_ref[shape->loop];
}

struct psnap_walker *psnap_walker_new(const struct psnap_profile *profile,
                                      const uint32_t *first_ref)
{
    struct psnap_walker *walker = calloc(1, sizeof *walker);

    if (!walker)
        return NULL;
    walker->nests = nests_copy(profile->nests, shift_refs, (void *)(uintptr_t)first_ref);
    if (walker->nests)
        return walker;
    psnap_walker_free(walker);
    return NULL;
}

void psnap_walker_free(struct psnap_walker *walker)
{
    if (!walker)
        return;
    nests_free(walker->nests);
    nest_cursor_free(&walker->cursor);
    free(walker);
}

/* The next leaf; 1, 0 at the end, negative when out of memory. */
static int next_leaf(struct psnap_walker *walker, struct nest_leaf *leaf)
{
    const struct psnap_nests *nests = walker->nests;
    int more = nest_cursor_next(&walker->cursor, leaf);

    while (more == 0 && walker->term < nests->count) {
        const struct nest_pattern *pattern = nests->terms[walker->term].pattern;
        const uint64_t *values = nests_values(nests, walker->term++);
        if ((int64_t)values[0] <= 0)
            continue;
        *leaf = (struct nest_leaf){pattern, values};
        if (!pattern->body_count)
            return 1;
        if (!nest_cursor_start(&walker->cursor, pattern, values, 0, values[0]))
            return -1;
        more = nest_cursor_next(&walker->cursor, leaf);
    }
    return more;
}

int psnap_walker_next(struct psnap_walker *walker, struct psnap_walk *walk)
{
    struct nest_leaf leaf;
    const int more = next_leaf(walker, &leaf);
    const struct nest_shape *shape;

    if (more <= 0)
        return more;
    shape = leaf.pattern->shape;
    for (uint32_t k = 0; k < shape->width; k++) {
        walker->first[k] = shape->refs[k];
        walker->first[k].address = leaf.values[1 + k];
    }
    *walk = (struct psnap_walk){.loop = shape->loop,
                                .run = {.first = walker->first,
                                        .strides = (const int64_t *)leaf.pattern->steps,
                                        .width = shape->width,
                                        .count = leaf.values[0]}};
    return 1;
}
