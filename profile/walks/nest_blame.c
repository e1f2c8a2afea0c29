/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is to blame for terms that do not fold. Terms of one pattern would be a loop if each of
 * their values changed by the same from one to the next: of those that mostly do not, the reference
 * or count is told in another way. At a time the first of these ways that is of use to any:
 *
 *   all addresses drawn     strides differ from leaf to leaf, or leaves are single iterations, or
 *                           end while other references go on
 *   where it went on        that is where it mostly begins
 *   counts drawn            counts change
 *   first addresses drawn   first addresses change
 *
 * Those that fold when they are alone (nest_alone.c) are not to blame.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/walks/nest_project.h"
#include "profile/walks/nest_stack.h"

enum { SEEN_MIN = 16 };

struct share {
    uint32_t seen, bad;
};

struct ref_blame {
    struct share value, stride; /* changed by another amount; differ */
    struct share going_on;      /* bad: does not begin where it went on */
    struct share single;        /* bad: leaves of more than one iteration */
    uint64_t position, last_stride;
    uint64_t leaves, iterations;
    uint64_t last, resumed; /* number of the last leaf; those that go on from the one before */
    bool has_position, is_in_long;
};

struct blame {
    struct ref_blame *refs;
    struct share *counts;             /* by loop */
    const struct nest_pattern **leaf; /* the last one, by its first reference */
    uint64_t seen;                    /* leaves */
    bool *is_irregular_ref, *is_cutting, *is_irregular_count;
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

    blame->seen++;
    for (uint32_t k = 0; k < shape->width; k++) {
        struct ref_blame *ref = &blame->refs[shape->refs[k].ref];
        const uint64_t first = values[1 + k], stride = leaf->steps[k];
        ref->resumed += ref->last + 1 == blame->seen && first == ref->position;
        ref->last = blame->seen;
        if (is_alike && stride && (*last)->steps[k])
            add(&ref->stride, stride != (*last)->steps[k]);
        add(&ref->single, values[0] > 1);
        ref->leaves++;
        ref->iterations += values[0];
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

    for (size_t i = 0; i < states->ref_count; i++) {
        const uint32_t better =
            blame->is_cutting[i] ? NEST_DRAWN : better_mode(&blame->refs[i], states->refs[i].mode);
        if (states->refs[i].mode == mode || !blame->is_irregular_ref[i] || better != mode)
            continue;
        states->refs[i].mode = mode;
        is_any = true;
    }
    return is_any;
}

static bool take_counts(const struct blame *blame, struct nest_states *states)
{
    bool is_any = false;

    for (size_t i = 0; i < states->loop_count; i++)
        if (!states->loops[i].has_drawn_counts && blame->is_irregular_count[i] &&
            is_mostly(&blame->counts[i])) {
            states->loops[i].has_drawn_counts = true;
            is_any = true;
        }
    return is_any;
}

static bool blame_new(struct blame *blame, const struct nest_states *states)
{
    const size_t refs = states->ref_count + 1, loops = states->loop_count + 1;

    *blame = (struct blame){.refs = calloc(refs, sizeof *blame->refs),
                            .counts = calloc(loops, sizeof *blame->counts),
                            .leaf = calloc(refs, sizeof(struct nest_pattern *)),
                            .is_irregular_ref = calloc(refs, sizeof *blame->is_irregular_ref),
                            .is_cutting = calloc(refs, sizeof *blame->is_cutting),
                            .is_irregular_count = calloc(loops, sizeof *blame->is_irregular_count)};
    return blame->refs && blame->counts && blame->leaf && blame->is_irregular_ref &&
           blame->is_cutting && blame->is_irregular_count;
}

static void blame_free(struct blame *blame)
{
    free(blame->refs);
    free(blame->counts);
    free(blame->leaf);
    free(blame->is_irregular_ref);
    free(blame->is_cutting);
    free(blame->is_irregular_count);
}

bool nest_blame(const struct psnap_nests *nests, struct nest_states *states, double most,
                bool is_alone, bool *is_any)
{
    struct blame blame;
    bool is_done = blame_new(&blame, states);

    if (is_done && is_alone)
        is_done = nest_alone(nests, states, blame.is_irregular_ref, blame.is_cutting,
                             blame.is_irregular_count);
    else if (is_done) {
        memset(blame.is_irregular_ref, true, states->ref_count);
        memset(blame.is_irregular_count, true, states->loop_count);
    }
    if (is_done) {
        see_terms(&blame, nests, most);
        *is_any = take_mode(&blame, states, NEST_DRAWN) ||
                  take_mode(&blame, states, NEST_CONTINUING) || take_counts(&blame, states) ||
                  take_mode(&blame, states, NEST_DRAWN_FIRST);
    }
    blame_free(&blame);
    return is_done;
}

/* ---- what is mixed ---- */

enum { LONG = 4 }; /* iterations of a leaf that is a walk, in the mean */

static bool see_short(struct blame *blame, const struct nest_pattern *pattern,
                      const uint64_t *values)
{
    struct nest_cursor cursor = {0};
    struct nest_leaf leaf = {pattern, values};
    bool is_done = true;
    int more = !pattern->body_count;

    blame->seen++; /* what is between leaves of a loop is another one */
    if (more && pattern->shape->width) {
        blame->seen--;
        see_leaf(blame, pattern, values);
    }
    if (more || nest_count_leaves(pattern, values) > (double)NEST_EXPANDED_MAX)
        return true;
    is_done = nest_cursor_start(&cursor, pattern, values, 0, values[0]);
    while (is_done && (more = nest_cursor_next(&cursor, &leaf)) > 0)
        if (leaf.pattern->shape->width)
            see_leaf(blame, leaf.pattern, leaf.values);
    nest_cursor_free(&cursor);
    return is_done && more >= 0;
}

/* Whether only first addresses were kept of a reference: where its walks were is not known. */
static bool was_walk(const struct nest_ref_state *ref)
{
    return ref->mode == NEST_DRAWN_FIRST && ref->draw;
}

/* Whether a reference walks on by its stride in each leaf, and then begins elsewhere. */
static bool is_walk(const struct blame *blame, const struct nest_states *states, uint32_t ref)
{
    const struct ref_blame *seen = &blame->refs[ref];

    if (was_walk(&states->refs[ref]))
        return true;
    return !blame->is_irregular_ref[ref] && states->refs[ref].mode != NEST_DRAWN &&
           !is_mostly(&seen->stride) && seen->iterations >= LONG * seen->leaves &&
           seen->resumed * 2 <= seen->leaves;
}

/* Goes through the leaves of what is mixed: one that does not walk keeps the others of its leaf
 * from it, as these may go along with it. True: there was one more of them. */
static bool spread(struct blame *blame, const struct nest_states *states,
                   const struct nest_pattern *pattern, const bool *is_kept)
{
    const struct nest_shape *shape = pattern->shape;
    uint32_t walks = 0;
    bool is_any = false;

    for (uint32_t i = 0; i < pattern->body_count; i++)
        is_any |= spread(blame, states, pattern->body[i], is_kept);
    if (pattern->body_count || !shape->width || is_kept[shape->loop])
        return is_any;
    for (uint32_t k = 0; k < shape->width; k++)
        walks += is_walk(blame, states, shape->refs[k].ref);
    for (uint32_t k = 0; k < shape->width && walks < shape->width; k++) {
        is_any |= walks && !blame->is_irregular_ref[shape->refs[k].ref];
        blame->is_irregular_ref[shape->refs[k].ref] = true;
    }
    return is_any;
}

static void tell_mixed(const struct blame *blame, struct nest_states *states,
                       const struct nest_pattern *pattern, const bool *is_kept)
{
    const struct nest_shape *shape = pattern->shape;

    for (uint32_t i = 0; i < pattern->body_count; i++)
        tell_mixed(blame, states, pattern->body[i], is_kept);
    if (pattern->body_count || !shape->width || is_kept[shape->loop])
        return;
    for (uint32_t k = 0; k < shape->width; k++) {
        struct nest_ref_state *ref = &states->refs[shape->refs[k].ref];
        if (!was_walk(ref))
            ref->stride = blame->refs[shape->refs[k].ref].last_stride;
        ref->mode = is_walk(blame, states, shape->refs[k].ref) ? NEST_DRAWN_FIRST : NEST_DRAWN;
    }
}

bool nest_blame_mixed(const struct psnap_nests *nests, struct nest_states *states,
                      const bool *is_kept)
{
    struct blame blame;
    bool is_done = blame_new(&blame, states), is_any = true;

    for (size_t i = 0; is_done && i < nests->count; i++)
        is_done = see_short(&blame, nests->terms[i].pattern, nests_values(nests, i));
    while (is_done && is_any) {
        is_any = false;
        for (size_t i = 0; i < nests->count; i++)
            is_any |= spread(&blame, states, nests->terms[i].pattern, is_kept);
    }
    for (size_t i = 0; is_done && i < nests->count; i++)
        tell_mixed(&blame, states, nests->terms[i].pattern, is_kept);
    blame_free(&blame);
    return is_done;
}
