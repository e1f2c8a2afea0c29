/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a stream did so far, as nests and what of them is given up. What does not fold makes the
 * stack of terms grow. When it is too high, the loop without which it is lowest is given up:
 * its leaves become visits, visits one after the other are one, and what is on the stack is
 * folded anew. When all loops on the stack are given up and it is still too high, it is their
 * order that has no rule: then there are no nests.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"
#include "profile/nests.h"

enum {
    MOST = 1 << 16,   /* values while the stream goes on */
    LAST = 1 << 13,   /* and when it has ended */
    GIVE_UP_TRIES = 6 /* loops that may be given up */
};

struct nest_stack {
    struct nest_fold *fold;
    const struct nest_pattern *pattern; /* of the leaf before */
    uint32_t visited;  /* the loop that was visited last, PSNAP_NONE: a walk came since */
    bool *is_given_up; /* by loop */
    size_t loop_room;
    bool has_no_order; /* nothing more is folded */
};

static bool is_visit(const struct nest_pattern *pattern)
{
    return !pattern->body_count && pattern->shape->width == 0;
}

/* A loop's visit, which goes on while nothing else comes. */
static bool put_visit(struct nest_stack *s, uint32_t loop)
{
    static const uint64_t one = 1;
    struct nest_patterns *patterns = s->fold->nests->patterns;
    const struct nest_shape wanted = {.loop = loop}, *shape;
    const struct nest_pattern *pattern;

    if (s->visited == loop)
        return true;
    s->visited = loop;
    shape = nest_shape_of(patterns, &wanted);
    pattern = shape ? nest_pattern_leaf(patterns, shape, &one) : NULL;
    return pattern && nest_fold_leaf(s->fold, pattern, &one);
}

static bool know_loop(struct nest_stack *s, uint32_t loop)
{
    const size_t before = s->loop_room;
    bool *larger = psnap_with_room(s->is_given_up, &s->loop_room, (size_t)loop + 1, sizeof *larger);

    if (!larger)
        return false;
    memset(larger + before, 0, (s->loop_room - before) * sizeof *larger);
    s->is_given_up = larger;
    return true;
}

/* Adds the leaves of a pattern that are no visits to their loops' counts. */
static void count_leaves(const struct nest_pattern *pattern, uint32_t *counts)
{
    for (uint32_t i = 0; i < pattern->body_count; i++)
        count_leaves(pattern->body[i], counts);
    if (!pattern->body_count && !is_visit(pattern))
        counts[pattern->shape->loop]++;
}

static bool has_loop(const struct nest_pattern *pattern, uint32_t loop)
{
    for (uint32_t i = 0; i < pattern->body_count; i++)
        if (has_loop(pattern->body[i], loop))
            return true;
    return !pattern->body_count && pattern->shape->loop == loop && pattern->shape->width > 0;
}

/* The loop that is visited at the end of a term, or PSNAP_NONE. */
static uint32_t last_visited(const struct nest_pattern *pattern)
{
    while (pattern->body_count)
        pattern = pattern->body[pattern->body_count - 1];
    return is_visit(pattern) ? pattern->shape->loop : PSNAP_NONE;
}

/* A term of the old stack, without what was given up. */
static bool put_again(struct nest_stack *s, const struct nest_pattern *pattern,
                      const uint64_t *values, uint32_t loop)
{
    struct nest_cursor cursor = {0};
    struct nest_leaf leaf = {pattern, values};
    bool is_done = true;
    int more = 1;

    if (!has_loop(pattern, loop) || !pattern->body_count) {
        if (has_loop(pattern, loop) || is_visit(pattern))
            return put_visit(s, pattern->shape->loop);
        s->visited = last_visited(pattern);
        pattern = nest_pattern_copy(s->fold->nests->patterns, pattern, NULL, NULL);
        return pattern && nest_fold_term(s->fold, pattern, values);
    }
    is_done = nest_cursor_start(&cursor, pattern, values, 0, values[0]);
    while (is_done && (more = nest_cursor_next(&cursor, &leaf)) > 0)
        is_done = put_again(s, leaf.pattern, leaf.values, loop);
    nest_cursor_free(&cursor);
    return is_done && more >= 0;
}

/* The stack folded anew without the leaves of a loop, in the place of the old one, which is
 * returned; NULL: out of memory, nothing has changed. */
static struct nest_fold *refold(struct nest_stack *s, uint32_t loop)
{
    struct nest_fold *old = s->fold;
    struct psnap_nests *nests = nests_new();
    bool is_done = true;

    s->fold = nests ? nest_fold_new(nests) : NULL;
    s->visited = PSNAP_NONE;
    for (size_t i = 0; s->fold && is_done && i < old->nests->count; i++)
        is_done = put_again(s, old->nests->terms[i].pattern, nests_values(old->nests, i), loop);
    if (s->fold && is_done && nest_fold_end(s->fold))
        return old;
    nest_fold_free(s->fold);
    s->fold = old;
    return NULL;
}

/* Gives up the loop without which the stack has fewest values, of the few with most leaves; *is_any
 * says whether there was one. `counts`, by loop, are zero. False: out of memory. */
static bool give_up(struct nest_stack *s, uint32_t *counts, bool *is_any)
{
    struct nest_fold *best = NULL;
    uint32_t given_up = PSNAP_NONE, visited = PSNAP_NONE;

    for (size_t i = 0; i < s->fold->nests->count; i++)
        count_leaves(s->fold->nests->terms[i].pattern, counts);
    for (int tries = 0; tries < GIVE_UP_TRIES; tries++) {
        struct nest_fold *before;
        uint32_t loop = 0;
        for (uint32_t i = 1; i < s->loop_room; i++)
            loop = counts[i] > counts[loop] ? i : loop;
        if (!counts[loop])
            break;
        counts[loop] = 0;
        before = refold(s, loop);
        if (!before) {
            nest_fold_free(best);
            return false;
        }
        if (!best || s->fold->nests->value_count < best->nests->value_count) {
            nest_fold_free(best);
            best = s->fold;
            given_up = loop;
            visited = s->visited;
        } else
            nest_fold_free(s->fold);
        s->fold = before;
    }
    *is_any = best != NULL;
    if (!best)
        return true;
    nest_fold_free(s->fold);
    s->fold = best;
    s->pattern = NULL;
    s->visited = visited;
    s->is_given_up[given_up] = true;
    return true;
}

/* When the stack has more than `most` values, gives up loops until it has no more than `few`. When
 * all are given up and it is still higher than `most` it is their order that has no rule. */
static bool lower(struct nest_stack *s, size_t most, size_t few)
{
    uint32_t *counts;
    bool is_done, is_any = true;

    if (s->fold->nests->value_count <= most)
        return true;
    counts = malloc((s->loop_room + (size_t)1) * sizeof *counts);
    is_done = counts && nest_fold_end(s->fold);
    while (is_done && is_any && s->fold->nests->value_count > few) {
        memset(counts, 0, (s->loop_room + (size_t)1) * sizeof *counts);
        is_done = give_up(s, counts, &is_any);
    }
    s->has_no_order = s->fold->nests->value_count > most;
    free(counts);
    return is_done;
}

bool nest_stack_is_given_up(const struct nest_stack *stack, uint32_t loop)
{
    return stack->has_no_order || (loop < stack->loop_room && stack->is_given_up[loop]);
}

bool nest_stack_visit(struct nest_stack *stack, uint32_t loop)
{
    return stack->has_no_order || (put_visit(stack, loop) && lower(stack, MOST, MOST / 2));
}

bool nest_stack_leaf(struct nest_stack *stack, const struct nest_shape *shape,
                     const uint64_t *strides, const uint64_t *values)
{
    struct nest_patterns *patterns = stack->fold->nests->patterns;

    if (nest_stack_is_given_up(stack, shape->loop))
        return nest_stack_visit(stack, shape->loop);
    if (!know_loop(stack, shape->loop))
        return false;
    if (!stack->pattern || !nest_shape_is_equal(stack->pattern->shape, shape) ||
        memcmp(stack->pattern->steps, strides, shape->width * sizeof *strides) != 0) {
        const struct nest_shape *made = nest_shape_of(patterns, shape);
        stack->pattern = made ? nest_pattern_leaf(patterns, made, strides) : NULL;
    }
    stack->visited = PSNAP_NONE;
    return stack->pattern && nest_fold_leaf(stack->fold, stack->pattern, values) &&
           lower(stack, MOST, MOST / 2);
}

bool nest_stack_end(struct nest_stack *stack)
{
    return stack->has_no_order || (nest_fold_end(stack->fold) && lower(stack, LAST, LAST));
}

const struct psnap_nests *nest_stack_nests(const struct nest_stack *stack)
{
    return stack->has_no_order ? NULL : stack->fold->nests;
}

struct nest_stack *nest_stack_new(void)
{
    struct nest_stack *stack = calloc(1, sizeof *stack);
    struct psnap_nests *nests = nests_new();

    if (!stack) {
        nests_free(nests);
        return NULL;
    }
    stack->visited = PSNAP_NONE;
    stack->fold = nests ? nest_fold_new(nests) : NULL;
    if (stack->fold)
        return stack;
    free(stack);
    return NULL;
}

void nest_stack_free(struct nest_stack *stack)
{
    if (!stack)
        return;
    nest_fold_free(stack->fold);
    free(stack->is_given_up);
    free(stack);
}
