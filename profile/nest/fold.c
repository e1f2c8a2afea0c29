/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Folding leaves into nests (nest.h) while they come. Terms lie on a stack. What is on top may be
 * the next iteration of the loop below it, or the third group of terms that differ by the same:
 * then they become a loop, which stays open while the leaves that come are those that a cursor in
 * it expects; these never get to the stack. When another one comes the loop is closed, the terms of
 * its unfinished iteration go to the stack, and folding goes on there.
 *
 * A long iteration of few patterns is no nest that anybody wrote but a history of what data
 * decided, which comes again with each iteration around it: which rows of a sparse matrix are
 * long, where the entries of a table lie. It would grow with the data, so it does not fold.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/nest/nest.h"

enum {
    GROUPS = 3, /* of terms that make a loop */
    TRIES = 16, /* terms before that a loop may begin with */
    LONG = 64,  /* terms of an iteration, and more: then it has */
    ALIKE = 8   /* at most so many of a pattern in the mean */
};

void nest_fold_init(struct nest_fold *fold, struct nest_patterns *patterns)
{
    *fold = (struct nest_fold){.terms = {.patterns = patterns}};
}

void nest_fold_release(struct nest_fold *fold)
{
    nest_terms_release(&fold->terms);
    nest_cursor_free(&fold->cursor);
    fold->is_open = false;
}

/* Whether the terms behind a loop are its next iteration. */
static bool is_next(const struct nest_terms *nests, const struct nest_term *loop)
{
    const struct nest_pattern *pattern = loop->pattern;
    const uint64_t *values = &nests->values[loop->at], *next = values + pattern->values;

    for (uint32_t i = 0; i < pattern->body_count; i++)
        if (loop[1 + i].pattern != pattern->body[i])
            return false;
    for (uint32_t k = 1; k < pattern->values; k++)
        if (next[k - 1] != values[k] + values[0] * pattern->steps[k - 1])
            return false;
    return true;
}

/* Takes the terms on top into the loop below them if they are its next iteration. */
static bool extend(struct nest_terms *nests)
{
    const size_t top = nests->count - 1;

    for (size_t above = 1, tries = 0; above <= top && above <= NEST_BODY_MAX; above++) {
        const struct nest_term *loop = &nests->terms[top - above];
        if (!loop->pattern->body_count)
            continue;
        if (loop->pattern->body_count == above && is_next(nests, loop)) {
            nests->values[loop->at]++;
            nest_terms_pop(nests, above);
            return true;
        }
        if (++tries == TRIES)
            return false;
    }
    return false;
}

/* Whether the last three groups of b terms differ by the same, and are not nested too deeply. */
static bool are_groups(const struct nest_terms *nests, size_t b)
{
    const struct nest_term *third = &nests->terms[nests->count - b];
    const struct nest_term *second = third - b, *first = second - b;
    const uint64_t *x = &nests->values[first->at], *y = &nests->values[second->at];
    const uint64_t *z = &nests->values[third->at];

    for (size_t i = b; i-- > 0;)
        if (first[i].pattern != third[i].pattern || second[i].pattern != third[i].pattern ||
            third[i].pattern->depth + 1 >= NEST_DEPTH_MAX)
            return false;
    for (size_t i = 0, n = nests->value_count - third->at; i < n; i++)
        if (y[i] - x[i] != z[i] - y[i])
            return false;
    return true;
}

/* Whether the last b terms are a history. */
static bool is_history(const struct nest_terms *nests, size_t b)
{
    const struct nest_term *terms = &nests->terms[nests->count - b];
    const struct nest_pattern *kinds[NEST_BODY_MAX / ALIKE + 1];
    size_t count = 0;

    for (size_t i = 0; b >= LONG && i < b && count * ALIKE < b; i++) {
        const struct nest_pattern *kind = terms[i].pattern;
        size_t k = 0;
        while (k < count && kinds[k] != kind)
            k++;
        kinds[k] = kind;
        count += k == count;
    }
    return b >= LONG && count * ALIKE < b;
}

/* The last three groups of b terms become a loop; false: out of memory. */
static bool make_loop(struct nest_terms *nests, size_t b)
{
    const struct nest_term *first = &nests->terms[nests->count - GROUPS * b];
    const size_t n = first[b].at - first->at;
    const uint64_t *values = &nests->values[first->at];
    const struct nest_pattern **body = malloc(b * sizeof(struct nest_pattern *)), *loop = NULL;
    uint64_t *steps = malloc((2 * n + 1) * sizeof *steps);
    bool is_done = false;

    if (body && steps) {
        uint64_t *made = steps + n;
        for (size_t i = 0; i < b; i++)
            body[i] = first[i].pattern;
        for (size_t i = 0; i < n; i++)
            steps[i] = values[n + i] - values[i];
        made[0] = GROUPS;
        memcpy(made + 1, values, n * sizeof *made);
        loop = nest_pattern_loop(nests->patterns, body, (uint32_t)b, steps);
        nest_terms_pop(nests, GROUPS * b);
        is_done = loop && nest_terms_push(nests, loop, made);
    }
    free(body);
    free(steps);
    return is_done;
}

/* 1: the terms on top have become a loop, 0: they are none, negative: out of memory. */
static int create(struct nest_terms *nests)
{
    const size_t top = nests->count - 1;
    const struct nest_term *terms = nests->terms;

    for (size_t b = 1, tries = 0; GROUPS * b <= top + 1 && b <= NEST_BODY_MAX; b++) {
        if (terms[top - b].pattern != terms[top].pattern)
            continue;
        if (are_groups(nests, b) && !is_history(nests, b))
            return make_loop(nests, b) ? 1 : -1;
        if (++tries == TRIES)
            return 0;
    }
    return 0;
}

/* The loop on top goes on: finds out what comes next. One whose iterations are empty from here on
 * cannot. */
static bool open_top(struct nest_fold *fold)
{
    const struct nest_term *top = &fold->terms.terms[fold->terms.count - 1];
    const uint64_t *values = &fold->terms.values[top->at];
    int more;

    if (!nest_cursor_start(&fold->cursor, top->pattern, values, values[0], 1))
        return false;
    more = nest_cursor_next(&fold->cursor, &fold->expected);
    fold->is_open = more > 0;
    return more >= 0;
}

/* What the closed term on top completes. */
static bool settle(struct nest_fold *fold)
{
    while (!fold->is_open) {
        const int made = extend(&fold->terms) ? 1 : create(&fold->terms);
        fold->changes++;
        if (made <= 0)
            return made == 0;
        if (!open_top(fold))
            return false;
    }
    return true;
}

/* The first terms of an iteration of a loop. */
static bool put_body(struct nest_fold *fold, const struct nest_pattern *loop, uint32_t children,
                     const uint64_t *values)
{
    for (uint32_t i = 0; i < children; values += loop->body[i++]->values)
        if (!nest_fold_term(fold, loop->body[i], values))
            return false;
    return true;
}

/* What the cursor has gone through of a frame's iteration: the leaf it has come to is not. */
static bool put_part(struct nest_fold *fold, const struct nest_cursor *cursor, uint32_t depth)
{
    const struct nest_frame *frame = &cursor->frames[depth], *inner = frame + 1;
    const uint64_t *values = cursor->values + frame->at, *begun;
    uint64_t *part;
    bool is_done;

    if (!put_body(fold, frame->pattern, frame->child - 1, values))
        return false;
    if (depth + 1 == cursor->depth)
        return true;
    begun = values + frame->offset - inner->pattern->values;
    part = malloc(inner->pattern->values * sizeof *part);
    if (!part)
        return false;
    memcpy(part, begun, inner->pattern->values * sizeof *part);
    part[0] = inner->done;
    is_done = nest_fold_term(fold, inner->pattern, part);
    free(part);
    return is_done && put_part(fold, cursor, depth + 1);
}

/* The open loop gets no more iterations. */
static bool close_top(struct nest_fold *fold)
{
    struct nest_cursor cursor = fold->cursor;
    bool is_done;

    fold->is_open = false;
    fold->cursor = (struct nest_cursor){0};
    is_done = settle(fold) && put_part(fold, &cursor, 0);
    nest_cursor_free(&cursor);
    return is_done;
}

/* Whether a leaf is the one that is expected: a single iteration has no stride. */
static bool is_expected(const struct nest_leaf *expected, const struct nest_pattern *leaf,
                        const uint64_t *values)
{
    if (expected->pattern != leaf && (values[0] != 1 || expected->pattern->symbol != leaf->symbol))
        return false;
    for (uint32_t i = 0; i < leaf->values; i++) /* one or two */
        if (expected->values[i] != values[i])
            return false;
    return true;
}

bool nest_fold_leaf(struct nest_fold *fold, const struct nest_pattern *leaf, const uint64_t *values)
{
    struct nest_terms *nests = &fold->terms;

    while (fold->is_open) {
        int more;
        if (!is_expected(&fold->expected, leaf, values)) {
            if (!close_top(fold))
                return false;
            continue;
        }
        more = nest_cursor_next(&fold->cursor, &fold->expected);
        if (more > 0)
            return true;
        nests->values[nests->terms[nests->count - 1].at]++; /* an iteration is whole */
        return more == 0 && open_top(fold) && settle(fold);
    }
    return nest_terms_push(nests, leaf, values) && settle(fold);
}

/* ---- leaves that are skipped ---- */

void nest_fold_mark(const struct nest_fold *fold, struct nest_mark *mark)
{
    mark->changes = fold->changes;
    mark->depth = fold->is_open ? fold->cursor.depth : 0;
    for (uint32_t d = 0; d < mark->depth; d++)
        mark->places[d] =
            (struct nest_place){fold->cursor.frames[d].done, fold->cursor.frames[d].child};
}

/* The loop whose iterations have gone by since a mark, while all else is where it was: by its
 * depth, or mark->depth when there is none. */
static uint32_t loop_since(const struct nest_fold *fold, const struct nest_mark *mark)
{
    const struct nest_frame *frames = fold->cursor.frames;
    uint32_t at = mark->depth;

    if (!fold->is_open || mark->depth != fold->cursor.depth || mark->changes != fold->changes)
        return mark->depth;
    for (uint32_t d = 0; d < mark->depth; d++) {
        if (mark->places[d].child != frames[d].child)
            return mark->depth;
        if (mark->places[d].done != frames[d].done) {
            if (at < mark->depth)
                return mark->depth;
            at = d;
        }
    }
    return at;
}

/* Whether all numbers in a loop are `step` further after so many iterations, and no count changes.
 * `steps` are the loop's, from its body's first value on. */
static bool is_shift(const struct nest_pattern *loop, const uint64_t *steps, uint64_t iterations,
                     uint64_t step)
{
    for (uint32_t i = 0; i < loop->body_count; steps += loop->body[i++]->values) {
        const struct nest_pattern *child = loop->body[i];
        if (steps[0] || (child->body_count ? !is_shift(child, steps + 1, iterations, step)
                                           : child->values > 1 && steps[1] * iterations != step))
            return false;
    }
    return true;
}

/* All numbers in a loop, whose body's values these are, go so far. */
static void shift(const struct nest_pattern *loop, uint64_t *values, uint64_t by)
{
    for (uint32_t i = 0; i < loop->body_count; values += loop->body[i++]->values) {
        if (loop->body[i]->body_count)
            shift(loop->body[i], values + 1, by);
        else if (loop->body[i]->values > 1)
            values[1] += by;
    }
}

uint64_t nest_fold_repeats(const struct nest_fold *fold, const struct nest_mark *mark,
                           uint64_t step)
{
    const uint32_t at = loop_since(fold, mark);
    const struct nest_frame *frame;
    uint64_t iterations;

    if (at == mark->depth)
        return 0;
    frame = &fold->cursor.frames[at];
    iterations = frame->done - mark->places[at].done;
    if (!is_shift(frame->pattern, frame->pattern->steps, iterations, step))
        return 0;
    return at ? (frame->left - 1) / iterations : UINT64_MAX;
}

void nest_fold_skip(struct nest_fold *fold, const struct nest_mark *mark, uint64_t step,
                    uint64_t times)
{
    const uint32_t at = loop_since(fold, mark);
    struct nest_frame *frame = &fold->cursor.frames[at];
    const uint64_t iterations = times * (frame->done - mark->places[at].done);

    for (uint32_t d = at; d < mark->depth; d++)
        shift(fold->cursor.frames[d].pattern, fold->cursor.values + fold->cursor.frames[d].at,
              times * step);
    frame->done += iterations;
    if (at)
        frame->left -= iterations;
    else
        fold->terms.values[fold->terms.terms[fold->terms.count - 1].at] += iterations;
}

/* ---- terms ---- */

static bool put_term(void *context, const struct nest_pattern *pattern, const uint64_t *values)
{
    return nest_fold_term(context, pattern, values);
}

bool nest_fold_term(struct nest_fold *fold, const struct nest_pattern *pattern,
                    const uint64_t *values)
{
    if ((int64_t)values[0] <= 0)
        return true;
    if (!nest_fold_end(fold))
        return false;
    if (!pattern->body_count || values[0] >= GROUPS)
        return nest_terms_push(&fold->terms, pattern, values) && settle(fold);
    return nest_each_iteration(pattern, values, put_term, fold); /* it would not have become one */
}

bool nest_fold_end(struct nest_fold *fold)
{
    while (fold->is_open)
        if (!close_top(fold))
            return false;
    return true;
}
