/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Terms told in another way. Leaves of loops and references that are told otherwise now are put
 * anew, one by one, with their first addresses as far as these are still known: where a count was
 * drawn, nobody knows where the reference went on behind it. What is no longer told is drawn; what
 * was drawn before is not drawn twice. Terms that are not concerned, and very long ones, stay.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/walks/nest_project.h"
#include "profile/walks/nest_stack.h"

struct again {
    const struct nest_states *before, *after;
    struct nest_leaves *to;
    struct nest_shape *shape;
    struct nest_collected *collected; /* where walks began; NULL: nothing is drawn */
    uint64_t *positions;              /* by reference, as they were told before, */
    bool *has_position;
    bool *is_unknown; /* and whether that was after a count that was drawn */
    double most;      /* leaves of a term that is told again */
    struct psnap_rng rng;
    bool unknown[NEST_WIDTH_MAX];
    uint64_t firsts[NEST_WIDTH_MAX];
};

static bool is_loop_changed(const struct again *again, uint32_t loop)
{
    const struct nest_loop_state *a = &again->before->loops[loop], *b = &again->after->loops[loop];

    return a->mix != b->mix || a->has_drawn_counts != b->has_drawn_counts;
}

/* Whether a term has leaves that are told in another way now. */
static bool is_changed(const struct again *again, const struct nest_pattern *pattern)
{
    const struct nest_shape *shape = pattern->shape;

    for (uint32_t i = 0; i < pattern->body_count; i++)
        if (is_changed(again, pattern->body[i]))
            return true;
    if (pattern->body_count || !shape->width)
        return false;
    for (uint32_t k = 0; k < shape->width; k++)
        if (again->before->refs[shape->refs[k].ref].mode !=
            again->after->refs[shape->refs[k].ref].mode)
            return true;
    return is_loop_changed(again, shape->loop) ||
           nest_states_next_mix(again->before, shape) != nest_states_next_mix(again->after, shape);
}

/* The mix that a visit's has become part of. */
static uint32_t mix_now(const struct again *again, uint32_t mix)
{
    for (size_t i = 0; i < again->before->loop_count; i++)
        if (again->before->loops[i].mix == mix + 1)
            return again->after->loops[i].mix - 1;
    return mix;
}

/* The count of a leaf: of one that was drawn one of those, when that is known no more. It is the
 * mix's then: those that stay in terms draw from what is left. */
static uint64_t count_again(struct again *again, const struct nest_shape *was,
                            const uint64_t *values)
{
    struct counts_collector *counts;

    if (!was->counts || !again->collected || !again->after->loops[was->loop].mix)
        return values[0];
    counts = &again->collected->counts[was->counts - 1];
    return counts->times ? counts_give(counts, &again->rng) : values[0];
}

static bool put_leaf_again(struct again *again, const struct nest_pattern *leaf,
                           const uint64_t *values)
{
    const struct nest_shape *was = leaf->shape;
    struct nest_iterations it = {.shape = again->shape,
                                 .firsts = again->firsts,
                                 .steps = leaf->steps,
                                 .count = count_again(again, was, values),
                                 .drawn = was,
                                 .told = was,
                                 .is_unknown = again->unknown};

    memcpy(again->shape, was, nest_shape_bytes(was->width));
    for (uint32_t k = 0; k < was->width; k++) {
        const uint32_t ref = was->refs[k].ref, mode = was->refs[k].mode;
        again->firsts[k] = values[1 + k];
        again->unknown[k] = mode >= NEST_DRAWN_FIRST;
        if (mode != NEST_CONTINUING)
            continue;
        if (!again->has_position[ref] && again->collected)
            again->positions[ref] = again->collected->walks[was->refs[k].draw];
        again->has_position[ref] = true;
        again->firsts[k] += again->positions[ref];
        again->unknown[k] = again->is_unknown[ref];
        again->positions[ref] = again->firsts[k] + values[0] * leaf->steps[k];
        again->is_unknown[ref] |= was->counts != 0;
    }
    while (it.count)
        if (!nest_leaves_put(again->to, &it))
            return false;
    return true;
}

static void renumber_visit(void *context, struct nest_shape *shape)
{
    if (!shape->width)
        shape->loop = mix_now(context, shape->loop);
}

static bool put_visit_again(struct again *again, const struct nest_pattern *visit)
{
    const uint32_t mix = mix_now(again, visit->shape->loop);

    return nest_leaves_visit(again->to, mix);
}

static bool has_visit(const struct nest_pattern *pattern)
{
    for (uint32_t i = 0; i < pattern->body_count; i++)
        if (has_visit(pattern->body[i]))
            return true;
    return !pattern->body_count && !pattern->shape->width;
}

/* Short loops are put term by term even if they have not changed: what did may have been between
 * them, and they have been grouped around it. */
static bool is_put_whole(const struct again *again, const struct nest_pattern *loop,
                         const uint64_t *values)
{
    if (nest_count_leaves(loop, values) > again->most)
        return true;
    return values[0] > NEST_EXPANDED_MAX / loop->body_count && !is_changed(again, loop) &&
           !has_visit(loop);
}

static bool put_again(void *context, const struct nest_pattern *pattern, const uint64_t *values)
{
    struct again *again = context;

    if ((int64_t)values[0] <= 0)
        return true;
    if (!pattern->body_count)
        return pattern->shape->width ? put_leaf_again(again, pattern, values)
                                     : put_visit_again(again, pattern);
    if (!is_put_whole(again, pattern, values))
        return nest_each_iteration(pattern, values, put_again, again);
    pattern = nest_pattern_copy(again->to->fold->nests->patterns, pattern, renumber_visit, again);
    return pattern && nest_leaves_term(again->to, pattern, values);
}

struct nest_leaves *nest_leaves_again(const struct psnap_nests *from,
                                      const struct nest_states *before,
                                      const struct nest_states *after,
                                      struct nest_collected *collected, double most)
{
    struct again again = {.before = before,
                          .after = after,
                          .collected = collected,
                          .most = most,
                          .to = nest_leaves_new()};
    bool is_done = again.to && nest_states_copy(&again.to->states, after);

    if (is_done)
        again.to->fold->in_pairs = after->in_pairs;
    again.shape = malloc(nest_shape_bytes(NEST_WIDTH_MAX));
    again.positions = calloc(after->ref_count + 1, sizeof *again.positions);
    again.has_position = calloc(after->ref_count + 1, sizeof *again.has_position);
    again.is_unknown = calloc(after->ref_count + 1, sizeof *again.is_unknown);
    psnap_rng_init(&again.rng, 1);
    is_done = is_done && again.shape && again.positions && again.has_position && again.is_unknown;
    if (is_done) {
        again.to->collected = collected;
        for (size_t i = 0; i < after->ref_count; i++)
            again.to->states.refs[i].has_position = false;
    }
    for (size_t i = 0; is_done && i < from->count; i++)
        is_done = put_again(&again, from->terms[i].pattern, nests_values(from, i));
    is_done = is_done && nest_leaves_end_leaf(again.to) && nest_fold_end(again.to->fold);
    free(again.shape);
    free(again.positions);
    free(again.has_position);
    free(again.is_unknown);
    if (is_done)
        return again.to;
    nest_leaves_free(again.to);
    return NULL;
}
