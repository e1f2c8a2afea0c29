/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Iterations that come again and again, each time with addresses further by the same for each
 * reference, wherever it occurs. To find out what leaves they are only differences between
 * addresses of one reference are looked at, so each time they are the same leaves, further by that,
 * once the leaf under way is the same, further by that.
 *
 * A nest that is open goes on to expect them when it expected all of them once, and its cursor is
 * back in its place but for iterations of one of the loops around it that were gone through: if in
 * each of these addresses advance by as much and counts do not change, until that loop ends. The
 * outermost loop, which grows, does not.
 *
 * Or they all went on with the leaf under way, and then do so for ever.
 */
#include "profile/walks/nest_repeat.h"

#include <stdlib.h>
#include <string.h>

struct nest_mark *nest_mark_new(void)
{
    struct nest_mark *mark = calloc(1, sizeof *mark);

    if (!mark)
        return NULL;
    mark->shape = calloc(1, nest_shape_bytes(NEST_WIDTH_MAX));
    mark->values = calloc(2 * (1 + NEST_WIDTH_MAX), sizeof *mark->values);
    mark->strides = mark->values ? mark->values + 1 + NEST_WIDTH_MAX : NULL;
    if (mark->shape && mark->values)
        return mark;
    nest_mark_free(mark);
    return NULL;
}

void nest_mark_free(struct nest_mark *mark)
{
    if (!mark)
        return;
    free(mark->shape);
    free(mark->values);
    free(mark);
}

void nest_mark_set(struct nest_mark *mark, const struct nest_leaves *l)
{
    const struct nest_cursor *cursor = &l->fold->cursor;
    const uint32_t width = l->shape->width;

    mark->is_set = true;
    mark->is_open = l->fold->is_open;
    mark->depth = mark->is_open ? cursor->depth : 0;
    mark->changes = l->fold->changes;
    memcpy(mark->frames, cursor->frames, mark->depth * sizeof *mark->frames);
    memcpy(mark->shape, l->shape, nest_shape_bytes(width));
    memcpy(mark->values, l->values, (1 + width) * sizeof *mark->values);
    memcpy(mark->strides, l->strides, width * sizeof *mark->strides);
}

/* Whether the leaf under way is of the shape that it was, told by its addresses. */
static bool is_same_shape(const struct nest_leaves *l, const struct nest_mark *mark)
{
    return l->shape->width && l->visited == PSNAP_NONE && !l->due && !l->has_told &&
           l->shape->width == mark->shape->width &&
           !memcmp(l->shape, mark->shape, nest_shape_bytes(l->shape->width));
}

/* Whether the leaf under way is as it was, further by what its references advance. */
static bool has_advanced(const struct nest_leaves *l, const struct nest_mark *mark,
                         const struct nest_advances *advances)
{
    const struct nest_shape *shape = l->shape;

    if (l->values[0] != mark->values[0])
        return false;
    for (uint32_t k = 0; k < shape->width; k++)
        if (l->strides[k] != mark->strides[k] ||
            !nest_advances_by(advances, shape->refs[k].ref, l->values[1 + k] - mark->values[1 + k]))
            return false;
    return true;
}

/* Whether the leaf under way has as many more iterations as its references advance by. */
static bool has_grown(const struct nest_leaves *l, const struct nest_mark *mark,
                      const struct nest_advances *advances)
{
    const struct nest_shape *shape = l->shape;
    const uint64_t more = l->values[0] - mark->values[0];

    if (l->values[0] <= mark->values[0])
        return false;
    for (uint32_t k = 0; k < shape->width; k++)
        if (l->values[1 + k] != mark->values[1 + k] ||
            !nest_advances_by(advances, shape->refs[k].ref, more * l->strides[k]))
            return false;
    return true;
}

/* Whether an iteration of the loop around it leaves a term's counts as they are and advances its
 * addresses as they do, in so many iterations. */
static bool advances_alike(const struct nest_pattern *pattern, const uint64_t *steps,
                           uint64_t iterations, const struct nest_advances *advances)
{
    if (*steps++ != 0)
        return false;
    for (uint32_t i = 0; i < pattern->body_count; steps += pattern->body[i++]->values)
        if (!advances_alike(pattern->body[i], steps, iterations, advances))
            return false;
    for (uint32_t k = 0; !pattern->body_count && k < pattern->shape->width; k++)
        if (!nest_advances_by(advances, pattern->shape->refs[k].ref, iterations * steps[k]))
            return false;
    return true;
}

static bool has_alike_iterations(const struct nest_pattern *loop, uint64_t iterations,
                                 const struct nest_advances *advances)
{
    const uint64_t *steps = loop->steps;

    for (uint32_t i = 0; i < loop->body_count; steps += loop->body[i++]->values)
        if (!advances_alike(loop->body[i], steps, iterations, advances))
            return false;
    return true;
}

/* Whether a cursor is in its place but for iterations of one loop: *frame, *iterations of it,
 * 0: none. */
static bool find_moved(const struct nest_cursor *cursor, const struct nest_mark *mark,
                       uint32_t *frame, uint64_t *iterations)
{
    *iterations = 0;
    if (cursor->depth != mark->depth)
        return false;
    for (uint32_t i = 0; i < cursor->depth; i++) {
        const struct nest_frame *is = &cursor->frames[i], *was = &mark->frames[i];
        if (is->pattern != was->pattern || is->child != was->child)
            return false;
        if (is->done == was->done && is->left == was->left)
            continue;
        if (*iterations || is->done <= was->done)
            return false;
        *iterations = is->done - was->done;
        *frame = i;
    }
    return true;
}

/* The cursor goes through so many iterations more of the loop of a frame, which has them. */
static void move_on(struct nest_fold *fold, uint32_t frame, uint64_t iterations)
{
    struct nest_cursor *cursor = &fold->cursor;
    struct nest_frame *at = &cursor->frames[frame];
    const uint64_t *steps = at->pattern->steps;

    if (frame)
        at->left -= iterations;
    else
        fold->nests->values[fold->nests->terms[fold->nests->count - 1].at] += iterations;
    at->done += iterations;
    for (;; at++) {
        uint64_t *values = cursor->values + at->at;
        for (uint32_t i = 0; i + 1 < at->pattern->values; i++)
            values[i] += iterations * steps[i];
        if (at == &cursor->frames[cursor->depth - 1])
            break;
        steps += at->offset - at[1].pattern->values + 1; /* that of the count is not in the frame */
    }
}

uint64_t nest_leaves_repeat(struct nest_leaves *l, const struct nest_mark *mark,
                            const struct nest_advances *advances, uint64_t times)
{
    struct nest_fold *fold = l->fold;
    uint32_t frame = 0;
    uint64_t iterations = 0;

    if (!mark->is_set || fold->changes != mark->changes || fold->is_open != mark->is_open ||
        !is_same_shape(l, mark) ||
        (fold->is_open && !find_moved(&fold->cursor, mark, &frame, &iterations)))
        return 0;
    if (!iterations) {
        if (!has_grown(l, mark, advances))
            return 0;
        l->values[0] += times * (l->values[0] - mark->values[0]);
        return times;
    }
    if (!has_advanced(l, mark, advances) ||
        !has_alike_iterations(fold->cursor.frames[frame].pattern, iterations, advances))
        return 0;
    if (frame && times > (fold->cursor.frames[frame].left - 1) / iterations)
        times = (fold->cursor.frames[frame].left - 1) / iterations;
    move_on(fold, frame, times * iterations);
    for (uint32_t k = 0; k < l->shape->width; k++)
        l->values[1 + k] += times * (l->values[1 + k] - mark->values[1 + k]);
    return times;
}
