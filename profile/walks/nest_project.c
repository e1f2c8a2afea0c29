/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Projections of nests: of each pattern what is kept of it, found once, and of terms the values of
 * that. Short loops are put term by term, as they may have been grouped around what is not kept.
 */
#include "profile/walks/nest_project.h"

#include <stdlib.h>
#include <string.h>

#include "profile/walks/nest_stack.h"

struct nest_projection {
    struct nest_kept kept;
    struct nest_fold *fold;
    const struct nest_pattern **made; /* by pattern of what is projected; NULL: nothing of it */
    bool *is_made;
    uint64_t *values;           /* of a term */
    size_t room, pattern_count; /* of what is projected */
};

struct nest_projection *nest_projection_new(const struct psnap_nests *from,
                                            const struct nest_kept *kept)
{
    struct nest_projection *p = calloc(1, sizeof *p);
    struct psnap_nests *nests = nests_new();

    if (!p) {
        nests_free(nests);
        return NULL;
    }
    p->kept = *kept;
    p->pattern_count = from->last_room;
    p->fold = nests ? nest_fold_new(nests) : NULL;
    if (p->fold) {
        p->fold->in_pairs = kept->in_pairs;
        return p;
    }
    nest_projection_free(p);
    return NULL;
}

void nest_projection_free(struct nest_projection *p)
{
    if (!p)
        return;
    nest_fold_free(p->fold);
    free(p->made);
    free(p->is_made);
    free(p->values);
    free(p);
}

size_t nest_projection_height(const struct nest_projection *p)
{
    return p->fold->nests->value_count;
}

/* The reference of a leaf that is kept; its width: all are, more: none is. */
static uint32_t find_kept(const struct nest_projection *p, const struct nest_shape *shape)
{
    const struct nest_kept *kept = &p->kept;

    if (kept->loops)
        return kept->loops[shape->width ? shape->loop : kept->loop_count + shape->loop]
                   ? shape->width
                   : UINT32_MAX;
    for (uint32_t k = 0; k < shape->width; k++)
        if (shape->refs[k].ref == kept->ref)
            return k;
    return UINT32_MAX;
}

static void keep_one(void *context, struct nest_shape *shape)
{
    const struct nest_projection *p = context;
    const uint32_t k = find_kept(p, shape);

    shape->refs[0] = shape->refs[k];
    shape->width = 1;
}

/* What is kept of some values of a pattern, behind `to`; returns where they end. */
static uint64_t *keep_values(const struct nest_projection *p, const struct nest_pattern *pattern,
                             const uint64_t *values, uint64_t *to)
{
    const struct nest_pattern *made = p->made[pattern->number];

    if (!made)
        return to;
    *to++ = values[0];
    if (!pattern->body_count) {
        const uint32_t k = find_kept(p, pattern->shape);
        const uint32_t from = k < pattern->shape->width ? k : 0;
        memcpy(to, values + 1 + from, (made->values - 1) * sizeof *to);
        return to + made->values - 1;
    }
    for (uint32_t i = 0, at = 1; i < pattern->body_count; at += pattern->body[i++]->values)
        to = keep_values(p, pattern->body[i], values + at, to);
    return to;
}

static bool make(struct nest_projection *p, const struct nest_pattern *from);

static bool make_leaf(struct nest_projection *p, const struct nest_pattern *from)
{
    struct nest_patterns *patterns = p->fold->nests->patterns;
    const uint32_t k = find_kept(p, from->shape);
    const bool is_one = k < from->shape->width;
    const struct nest_shape *shape;

    if (k == UINT32_MAX)
        return true;
    shape = nest_shape_copy(patterns, from->shape, is_one ? keep_one : NULL, p);
    if (!shape)
        return false;
    p->made[from->number] = nest_pattern_leaf(patterns, shape, from->steps + (is_one ? k : 0));
    return p->made[from->number];
}

static bool make_loop(struct nest_projection *p, const struct nest_pattern *from)
{
    const struct nest_pattern **body =
        malloc((from->body_count + (size_t)1) * sizeof(struct nest_pattern *));
    uint64_t *steps = malloc(from->values * sizeof *steps), *end = steps;
    bool is_done = body && steps;
    uint32_t n = 0;

    for (uint32_t i = 0, at = 0; is_done && i < from->body_count; at += from->body[i++]->values) {
        is_done = make(p, from->body[i]);
        if (!is_done || !p->made[from->body[i]->number])
            continue;
        body[n++] = p->made[from->body[i]->number];
        end = keep_values(p, from->body[i], from->steps + at, end);
    }
    if (is_done && n) {
        p->made[from->number] = nest_pattern_loop(p->fold->nests->patterns, body, n, steps);
        is_done = p->made[from->number] != NULL;
    }
    free(body);
    free(steps);
    return is_done;
}

/* Finds out what is kept of a pattern. */
static bool make(struct nest_projection *p, const struct nest_pattern *from)
{
    if (p->is_made[from->number])
        return true;
    p->is_made[from->number] = true;
    return from->body_count ? make_loop(p, from) : make_leaf(p, from);
}

/* Short loops are put term by term. */
static bool put(void *context, const struct nest_pattern *pattern, const uint64_t *values)
{
    struct nest_projection *p = context;

    if ((int64_t)values[0] <= 0)
        return true;
    if (!pattern->body_count)
        return nest_fold_leaf(p->fold, pattern, values);
    if (values[0] > NEST_EXPANDED_MAX / pattern->body_count)
        return nest_fold_term(p->fold, pattern, values);
    return nest_each_iteration(pattern, values, put, p);
}

/* Patterns are found when terms come: those of single references mostly have none. */
static bool make_room(struct nest_projection *p)
{
    if (!p->made)
        p->made = calloc(p->pattern_count + 1, sizeof(struct nest_pattern *));
    if (!p->is_made)
        p->is_made = calloc(p->pattern_count + 1, sizeof *p->is_made);
    return p->made && p->is_made;
}

bool nest_projection_put(struct nest_projection *p, const struct nest_pattern *pattern,
                         const uint64_t *values)
{
    const struct nest_pattern *made;

    if (nest_projection_height(p) > NEST_HEIGHT_MAX)
        return true;
    if (!make_room(p) || !make(p, pattern))
        return false;
    made = p->made[pattern->number];
    if (!made || (int64_t)values[0] <= 0)
        return true;
    if (made->values > p->room) {
        free(p->values);
        p->room = 2 * (size_t)made->values;
        p->values = malloc(p->room * sizeof *p->values);
        if (!p->values) {
            p->room = 0;
            return false;
        }
    }
    keep_values(p, pattern, values, p->values);
    return put(p, made, p->values);
}

bool nest_projection_leaf(struct nest_projection *p, const struct nest_shape *shape,
                          const uint64_t *strides, const uint64_t *values)
{
    struct nest_patterns *patterns = p->fold->nests->patterns;
    const struct nest_shape *made = nest_shape_of(patterns, shape);
    const struct nest_pattern *leaf = made ? nest_pattern_leaf(patterns, made, strides) : NULL;

    if (nest_projection_height(p) > NEST_HEIGHT_MAX)
        return true;
    return leaf && nest_fold_leaf(p->fold, leaf, values);
}

bool nest_project(const struct psnap_nests *from, const struct nest_kept *kept, size_t *heights)
{
    struct nest_projection *p = nest_projection_new(from, kept);
    bool is_done = p != NULL;

    for (size_t i = 0; is_done && i < from->count; i++) {
        is_done = nest_projection_put(p, from->terms[i].pattern, nests_values(from, i));
        heights[i] = is_done ? nest_projection_height(p) : 0;
    }
    nest_projection_free(p);
    return is_done;
}
