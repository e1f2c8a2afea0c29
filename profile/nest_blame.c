/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is to blame for terms that do not fold. Terms of one pattern would be a loop if each of
 * their values changed by the same from one to the next: of those that mostly do not, the reference
 * or count is told in another way. At a time the first of these ways that is of use to any:
 *
 *   all addresses drawn     strides differ from leaf to leaf, or leaves are single iterations
 *   where it went on        that is where it mostly begins
 *   counts drawn            counts change
 *   first addresses drawn   first addresses change
 */
#include <stdlib.h>
#include <string.h>

#include "profile/nest_stack.h"

enum { SEEN_MIN = 16 };

struct share {
    uint32_t seen, bad;
};

struct ref_blame {
    struct share value, stride; /* changed by another amount; differ */
    struct share going_on;      /* bad: does not begin where it went on */
    struct share single;        /* bad: leaves of more than one iteration */
    uint64_t position, last_stride;
    bool has_position, is_in_long;
};

struct blame {
    struct ref_blame *refs;
    struct share *counts;             /* by loop */
    const struct nest_pattern **leaf; /* the last one, by its first reference */
};

static bool is_mostly(const struct share *share)
{
    return share->seen >= SEEN_MIN && share->bad * 2 > share->seen;
}

static void add(struct share *share, bool is_bad)
{
    share->seen++;
    share->bad += is_bad;
}

/* Three terms of a pattern in a row. */
static void blame_values(struct blame *blame, const struct nest_pattern *pattern, const uint64_t *x,
                         const uint64_t *y, const uint64_t *z)
{
    const struct nest_shape *shape = pattern->shape;

    for (uint32_t i = 0, at = 1; i < pattern->body_count; at += pattern->body[i++]->values)
        blame_values(blame, pattern->body[i], x + at, y + at, z + at);
    if (pattern->body_count || !shape->width)
        return;
    add(&blame->counts[shape->loop], y[0] - x[0] != z[0] - y[0]);
    for (uint32_t k = 0; k < shape->width; k++)
        add(&blame->refs[shape->refs[k].ref].value, y[1 + k] - x[1 + k] != z[1 + k] - y[1 + k]);
}

static void see_leaf(struct blame *blame, const struct nest_pattern *leaf, const uint64_t *values)
{
    const struct nest_shape *shape = leaf->shape;
    const struct nest_pattern **last = &blame->leaf[shape->refs[0].ref];
    const bool is_alike = *last && (*last)->shape == shape;

    for (uint32_t k = 0; k < shape->width; k++) {
        struct ref_blame *ref = &blame->refs[shape->refs[k].ref];
        const uint64_t first = values[1 + k], stride = leaf->steps[k];
        if (is_alike && stride && (*last)->steps[k])
            add(&ref->stride, stride != (*last)->steps[k]);
        add(&ref->single, values[0] > 1);
        if (ref->has_position)
            add(&ref->going_on, first != ref->position);
        ref->last_stride = values[0] > 1 ? stride : ref->last_stride;
        ref->position = first + values[0] * ref->last_stride;
        ref->has_position = true;
    }
    *last = leaf;
}

double nest_count_leaves(const struct nest_pattern *pattern, const uint64_t *values)
{
    double sum = 0;

    if (!pattern->body_count)
        return 1;
    for (uint32_t i = 0, at = 1; i < pattern->body_count; at += pattern->body[i++]->values)
        sum += nest_count_leaves(pattern->body[i], values + at);
    return sum * (double)values[0];
}

/* References of a long term stay as they are there, so their positions would not be known. */
static void see_long(struct blame *blame, const struct nest_pattern *pattern)
{
    for (uint32_t i = 0; i < pattern->body_count; i++)
        see_long(blame, pattern->body[i]);
    for (uint32_t k = 0; !pattern->body_count && k < pattern->shape->width; k++)
        blame->refs[pattern->shape->refs[k].ref].is_in_long = true;
}

static void see_terms(struct blame *blame, const struct psnap_nests *nests, double most)
{
    for (size_t i = 0; i < nests->count; i++) {
        const struct nest_term *term = &nests->terms[i];
        const uint64_t *values = nests_values(nests, i);
        const int64_t before = term->previous;
        const int64_t first = before >= 0 ? nests->terms[before].previous : -1;
        if (first >= 0)
            blame_values(blame, term->pattern, nests_values(nests, (size_t)first),
                         nests_values(nests, (size_t)before), values);
        if (!term->pattern->body_count && term->pattern->shape->width)
            see_leaf(blame, term->pattern, values);
        else if (nest_count_leaves(term->pattern, values) > most)
            see_long(blame, term->pattern);
    }
}

/* The way that a reference is told better, or its own. */
static uint32_t better_mode(const struct ref_blame *ref, uint32_t mode)
{
    if (mode == NEST_DRAWN || is_mostly(&ref->stride))
        return NEST_DRAWN;
    if (mode == NEST_DRAWN_FIRST || !is_mostly(&ref->value))
        return mode;
    if (mode == NEST_AFFINE && !ref->is_in_long && ref->going_on.seen >= SEEN_MIN &&
        !is_mostly(&ref->going_on))
        return NEST_CONTINUING;
    return is_mostly(&ref->single) ? NEST_DRAWN_FIRST : NEST_DRAWN;
}

static bool take_mode(const struct blame *blame, struct nest_states *states, uint32_t mode)
{
    bool is_any = false;

    for (size_t i = 0; i < states->ref_count; i++)
        if (states->refs[i].mode != mode &&
            better_mode(&blame->refs[i], states->refs[i].mode) == mode) {
            states->refs[i].mode = mode;
            is_any = true;
        }
    return is_any;
}

static bool take_counts(const struct blame *blame, struct nest_states *states)
{
    bool is_any = false;

    for (size_t i = 0; i < states->loop_count; i++)
        if (!states->loops[i].has_drawn_counts && is_mostly(&blame->counts[i])) {
            states->loops[i].has_drawn_counts = true;
            is_any = true;
        }
    return is_any;
}

bool nest_blame(const struct psnap_nests *nests, struct nest_states *states, double most,
                bool *is_any)
{
    struct blame blame = {calloc(states->ref_count + 1, sizeof *blame.refs),
                          calloc(states->loop_count + 1, sizeof *blame.counts),
                          calloc(states->ref_count + 1, sizeof(struct nest_pattern *))};
    const bool is_done = blame.refs && blame.counts && blame.leaf;

    if (is_done) {
        see_terms(&blame, nests, most);
        *is_any = take_mode(&blame, states, NEST_DRAWN) ||
                  take_mode(&blame, states, NEST_CONTINUING) || take_counts(&blame, states) ||
                  take_mode(&blame, states, NEST_DRAWN_FIRST);
    }
    free(blame.refs);
    free(blame.counts);
    free(blame.leaf);
    return is_done;
}
