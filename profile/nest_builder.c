/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accesses to leaves (nests.h). References of one loop in rising order are an iteration;
 * iterations of the same references that go on by the same strides are a leaf, whether they
 * come one by one or as runs, and wherever these begin and end: nests depend on the accesses
 * alone.
 *
 * What does not fold makes the stack of terms grow. When it is too high, the loop without
 * which it is lowest is given up: its leaves become visits, visits one after the other are
 * one, and what is on the stack is folded anew. When all loops on the stack are given up and
 * still do not fold, it is their order that has no rule: then there are no nests.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/nests.h"

enum {
    STACK_MOST = 1 << 16, /* values while the stream goes on */
    STACK_LAST = 1 << 13, /* and when it has ended */
    GIVE_UP_TRIES = 6     /* loops that may be given up */
};

struct nest_builder {
    struct psnap_sink base;
    const struct psnap_program *program;
    struct nest_fold *fold;
    struct nest_shape *shape;            /* of the leaf under way, `width` 0: none */
    const struct nest_pattern *pattern;  /* of the leaf before */
    uint64_t values[1 + NEST_WIDTH_MAX]; /* of the leaf under way */
    uint64_t strides[NEST_WIDTH_MAX];
    bool may_go_on;               /* its last iteration, with further references */
    struct nest_shape *iteration; /* under way, `width` 0: none */
    uint64_t firsts[NEST_WIDTH_MAX], steps[NEST_WIDTH_MAX], second[NEST_WIDTH_MAX];
    uint32_t visited;  /* the loop that was visited last, PSNAP_NONE: a walk came since */
    bool *is_given_up; /* by loop */
    uint32_t loop_room;
    bool has_no_order; /* nothing more is folded */
};

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the nests of a stream");
}

/* ---- giving up ---- */

static bool is_visit(const struct nest_pattern *pattern)
{
    return !pattern->body_count && pattern->shape->width == 0;
}

/* A loop's visit, which goes on while nothing else comes. */
static bool put_visit(struct nest_builder *b, uint32_t loop)
{
    static const uint64_t one = 1;
    struct nest_patterns *patterns = b->fold->nests->patterns;
    const struct nest_shape wanted = {.loop = loop}, *shape;
    const struct nest_pattern *pattern;

    if (b->visited == loop)
        return true;
    b->visited = loop;
    shape = nest_shape_of(patterns, &wanted);
    pattern = shape ? nest_pattern_leaf(patterns, shape, &one) : NULL;
    return pattern && nest_fold_leaf(b->fold, pattern, &one);
}

static bool know_loop(struct nest_builder *b, uint32_t loop)
{
    const uint32_t room = loop * 2 + 64;
    bool *larger;

    if (loop < b->loop_room)
        return true;
    larger = realloc(b->is_given_up, room * sizeof *larger);
    if (!larger)
        return false;
    memset(larger + b->loop_room, 0, (room - b->loop_room) * sizeof *larger);
    b->is_given_up = larger;
    b->loop_room = room;
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

/* The same pattern among those of the fold. */
static const struct nest_pattern *again(struct nest_builder *b, const struct nest_pattern *pattern)
{
    struct nest_patterns *patterns = b->fold->nests->patterns;
    const struct nest_pattern **body, *made;
    const struct nest_shape *shape;

    if (!pattern->body_count) {
        shape = nest_shape_of(patterns, pattern->shape);
        return shape ? nest_pattern_leaf(patterns, shape, pattern->steps) : NULL;
    }
    body = malloc((pattern->body_count + 1) * sizeof(struct nest_pattern *));
    for (uint32_t i = 0; body && i < pattern->body_count; i++) {
        body[i] = again(b, pattern->body[i]);
        if (!body[i]) {
            free(body);
            return NULL;
        }
    }
    made = body ? nest_pattern_loop(patterns, body, pattern->body_count, pattern->steps) : NULL;
    free(body);
    return made;
}

/* A term of the old stack, without what was given up. */
static bool put_again(struct nest_builder *b, const struct nest_pattern *pattern,
                      const uint64_t *values, uint32_t loop)
{
    struct nest_cursor cursor = {0};
    struct nest_leaf leaf = {pattern, values};
    bool is_done = true;
    int more = 1;

    if (!has_loop(pattern, loop) || !pattern->body_count) {
        if (has_loop(pattern, loop) || is_visit(pattern))
            return put_visit(b, pattern->shape->loop);
        b->visited = last_visited(pattern);
        pattern = again(b, pattern);
        return pattern && nest_fold_term(b->fold, pattern, values);
    }
    is_done = nest_cursor_start(&cursor, pattern, values, 0, values[0]);
    while (is_done && (more = nest_cursor_next(&cursor, &leaf)) > 0)
        is_done = put_again(b, leaf.pattern, leaf.values, loop);
    nest_cursor_free(&cursor);
    return is_done && more >= 0;
}

/* The stack folded anew without the leaves of a loop, in the place of the old one, which is
 * returned; NULL: out of memory, nothing has changed. */
static struct nest_fold *refold(struct nest_builder *b, uint32_t loop)
{
    struct nest_fold *old = b->fold;
    struct psnap_nests *nests = nests_new();
    bool is_done = true;

    b->fold = nests ? nest_fold_new(nests) : NULL;
    b->visited = PSNAP_NONE;
    for (size_t i = 0; b->fold && is_done && i < old->nests->count; i++)
        is_done = put_again(b, old->nests->terms[i].pattern, nests_values(old->nests, i), loop);
    if (b->fold && is_done && nest_fold_end(b->fold))
        return old;
    nest_fold_free(b->fold);
    b->fold = old;
    return NULL;
}

/* Gives up the loop without which the stack has fewest values, of the few with most leaves; *is_any
 * says whether there was one. `counts`, by loop, are zero. False: out of memory. */
static bool give_up(struct nest_builder *b, uint32_t *counts, bool *is_any)
{
    struct nest_fold *best = NULL;
    uint32_t given_up = PSNAP_NONE, visited = PSNAP_NONE;

    for (size_t i = 0; i < b->fold->nests->count; i++)
        count_leaves(b->fold->nests->terms[i].pattern, counts);
    for (int tries = 0; tries < GIVE_UP_TRIES; tries++) {
        struct nest_fold *before;
        uint32_t loop = 0;
        for (uint32_t i = 1; i < b->loop_room; i++)
            loop = counts[i] > counts[loop] ? i : loop;
        if (!counts[loop])
            break;
        counts[loop] = 0;
        before = refold(b, loop);
        if (!before) {
            nest_fold_free(best);
            return false;
        }
        if (!best || b->fold->nests->value_count < best->nests->value_count) {
            nest_fold_free(best);
            best = b->fold;
            given_up = loop;
            visited = b->visited;
        } else
            nest_fold_free(b->fold);
        b->fold = before;
    }
    *is_any = best != NULL;
    if (!best)
        return true;
    nest_fold_free(b->fold);
    b->fold = best;
    b->pattern = NULL;
    b->visited = visited;
    b->is_given_up[given_up] = true;
    return true;
}

/* Gives up loops while the stack has more than `most` values. When all of them are given up it is
 * their order that has no rule, and the stream has no nests. */
static bool lower(struct nest_builder *b, size_t most)
{
    uint32_t *counts;
    bool is_done = true, is_any = true;

    if (b->fold->nests->value_count <= most)
        return true;
    counts = malloc((b->loop_room + 1) * sizeof *counts);
    is_done = counts && nest_fold_end(b->fold);
    while (is_done && is_any && b->fold->nests->value_count > most / 2) {
        memset(counts, 0, (b->loop_room + 1) * sizeof *counts);
        is_done = give_up(b, counts, &is_any);
    }
    b->has_no_order = !is_any;
    free(counts);
    return is_done;
}

/* ---- leaves ---- */

static bool is_shape(const struct nest_shape *a, const struct nest_shape *b)
{
    return a->width == b->width && a->loop == b->loop &&
           !memcmp(a->refs, b->refs, a->width * sizeof a->refs[0]);
}

/* Folds the leaf under way as it is. */
static enum psnap_status put_leaf(struct nest_builder *b, struct psnap_error *error)
{
    const struct nest_shape *shape = b->shape;
    bool is_done;

    if (b->has_no_order)
        return PSNAP_OK;
    if (b->is_given_up[shape->loop])
        is_done = put_visit(b, shape->loop);
    else {
        if (!b->pattern || !is_shape(b->pattern->shape, shape) ||
            memcmp(b->pattern->steps, b->strides, shape->width * sizeof *b->strides) != 0) {
            const struct nest_shape *made = nest_shape_of(b->fold->nests->patterns, shape);
            b->pattern =
                made ? nest_pattern_leaf(b->fold->nests->patterns, made, b->strides) : NULL;
        }
        b->visited = PSNAP_NONE;
        is_done = b->pattern && nest_fold_leaf(b->fold, b->pattern, b->values);
    }
    return is_done && lower(b, STACK_MOST) ? PSNAP_OK : no_memory(error);
}

static enum psnap_status end_leaf(struct nest_builder *b, struct psnap_error *error)
{
    const enum psnap_status status = b->shape->width ? put_leaf(b, error) : PSNAP_OK;

    b->shape->width = 0;
    return status;
}

/* Two iterations with which the next does not go on: the second may belong to what comes. */
static enum psnap_status put_first_of_two(struct nest_builder *b, struct psnap_error *error)
{
    const uint32_t width = b->shape->width;
    enum psnap_status status;

    for (uint32_t k = 0; k < width; k++)
        b->second[k] = b->values[1 + k] + b->strides[k];
    memset(b->strides, 0, width * sizeof *b->strides);
    b->values[0] = 1;
    status = put_leaf(b, error);
    memcpy(b->values + 1, b->second, width * sizeof *b->second);
    return status;
}

/* How many of `count` iterations of the leaf's shape, from `firsts` on and with `steps` from one to
 * the next, go on where it ends: none, all, or the first, which had come to its end. */
static uint64_t count_continuing(struct nest_builder *b, const uint64_t *firsts,
                                 const uint64_t *steps, uint64_t count)
{
    const uint32_t width = b->shape->width;
    bool is_same = true;

    if (b->values[0] == 1) {
        for (uint32_t k = 0; k < width; k++)
            if (count > 1 && firsts[k] - b->values[1 + k] != steps[k])
                return 0;
        for (uint32_t k = 0; k < width; k++)
            b->strides[k] = firsts[k] - b->values[1 + k];
        return count;
    }
    for (uint32_t k = 0; k < width; k++) {
        if (firsts[k] != b->values[1 + k] + b->values[0] * b->strides[k])
            return 0;
        is_same = is_same && (count == 1 || steps[k] == b->strides[k]);
    }
    return is_same ? count : 1;
}

/* Iterations of one shape; those of a single one have no steps. `firsts` may change. */
static enum psnap_status put_iterations(struct nest_builder *b, const struct nest_shape *wanted,
                                        uint64_t *firsts, const uint64_t *steps, uint64_t count,
                                        struct psnap_error *error)
{
    const uint32_t width = wanted->width;
    enum psnap_status status;

    while (b->shape->width) {
        const bool is_same = is_shape(b->shape, wanted);
        const uint64_t n = is_same ? count_continuing(b, firsts, steps, count) : 0;
        b->values[0] += n;
        count -= n;
        if (!count)
            return PSNAP_OK;
        for (uint32_t k = 0; n && k < width; k++)
            firsts[k] += steps[k];
        status = is_same && b->values[0] == 2 ? put_first_of_two(b, error) : end_leaf(b, error);
        if (status)
            return status;
    }
    memcpy(b->shape, wanted, nest_shape_bytes(width));
    b->values[0] = count;
    memcpy(b->values + 1, firsts, width * sizeof *firsts);
    if (count > 1)
        memcpy(b->strides, steps, width * sizeof *steps);
    else
        memset(b->strides, 0, width * sizeof *b->strides);
    return PSNAP_OK;
}

/* ---- iterations ---- */

static enum psnap_status end_iteration(struct nest_builder *b, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    if (b->iteration->width)
        status = put_iterations(b, b->iteration, b->firsts, NULL, 1, error);
    b->iteration->width = 0;
    return status;
}

/* Whether a reference may be of the same iteration as the one before it. */
static inline bool follows(const struct nest_builder *b, const struct psnap_access *last,
                           const struct psnap_access *next)
{
    const struct psnap_ref *refs = b->program->refs;

    return next->ref > last->ref && next->thread == last->thread &&
           refs[next->ref].loop == refs[last->ref].loop;
}

static inline bool follows_leaf(const struct nest_builder *b, const struct psnap_access *next)
{
    return b->may_go_on && b->shape->width &&
           follows(b, &b->shape->refs[b->shape->width - 1], next);
}

static inline bool follows_iteration(const struct nest_builder *b, const struct psnap_access *next)
{
    const struct nest_shape *iteration = b->iteration;

    return iteration->width && follows(b, &iteration->refs[iteration->width - 1], next);
}

/* The last iteration of the leaf was not whole: it is under way. */
static void take_back(struct nest_builder *b)
{
    const struct nest_shape *shape = b->shape;

    memcpy(b->iteration, shape, nest_shape_bytes(shape->width));
    b->values[0]--;
    for (uint32_t k = 0; k < shape->width; k++)
        b->firsts[k] = b->values[1 + k] + b->values[0] * b->strides[k];
    if (b->values[0] == 1)
        memset(b->strides, 0, shape->width * sizeof *b->strides);
    if (!b->values[0])
        b->shape->width = 0;
}

static enum psnap_status put_one(struct nest_builder *b, const struct psnap_access *access,
                                 struct psnap_error *error)
{
    const uint32_t loop = b->program->refs[access->ref].loop;
    struct nest_shape *iteration = b->iteration;
    enum psnap_status status = PSNAP_OK;

    if (!know_loop(b, loop))
        return no_memory(error);
    if (follows_leaf(b, access))
        take_back(b);
    b->may_go_on = false;
    if (!follows_iteration(b, access) || iteration->width == NEST_WIDTH_MAX)
        status = end_iteration(b, error);
    iteration->loop = loop;
    b->firsts[iteration->width] = access->address;
    iteration->refs[iteration->width] = *access;
    iteration->refs[iteration->width++].address = 0;
    return status;
}

static enum psnap_status put(struct psnap_sink *self, const struct psnap_access *block, size_t n,
                             struct psnap_error *error)
{
    struct nest_builder *b = (struct nest_builder *)self;
    enum psnap_status status = PSNAP_OK;

    for (size_t i = 0; i < n && status == PSNAP_OK && !b->has_no_order; i++)
        status = put_one(b, &block[i], error);
    return status;
}

/* ---- runs ---- */

/* Accesses [from, to) of a repetition. */
static enum psnap_status put_slice(struct nest_builder *b, const struct psnap_run *run, uint64_t i,
                                   size_t from, size_t to, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    for (size_t k = from; k < to && status == PSNAP_OK; k++) {
        struct psnap_access access = run->first[k];
        access.address = psnap_run_address(run, i, k);
        status = put_one(b, &access, error);
    }
    return status;
}

/* Where in a run's repetition an iteration begins: a run may begin within one. False when there are
 * columns, or several iterations in a repetition, which are put one by one. */
static bool find_turn(const struct nest_builder *b, const struct psnap_run *run, size_t *turn)
{
    const size_t width = run->width;

    *turn = 0;
    if (width > NEST_WIDTH_MAX)
        return false;
    for (size_t k = 0; k < width; k++) {
        if (run->columns && run->columns[k].words)
            return false;
        if (k && !follows(b, &run->first[k - 1], &run->first[k])) {
            if (*turn)
                return false;
            *turn = k;
        }
    }
    return !*turn || follows(b, &run->first[width - 1], &run->first[0]);
}

/* Repetitions of a run without its first `turn` accesses, and the first `head` of the rest. */
static enum psnap_status put_repetitions(struct nest_builder *b, const struct psnap_run *run,
                                         size_t turn, uint64_t head, uint64_t count,
                                         struct psnap_error *error)
{
    const size_t width = run->width;
    enum psnap_status status = end_iteration(b, error);
    struct nest_shape *wanted = b->iteration;

    wanted->loop = b->program->refs[run->first[0].ref].loop;
    for (size_t i = 0; i < width; i++) {
        const size_t k = turn + i < width ? turn + i : turn + i - width;
        const uint64_t at = turn ? k < turn : head;
        wanted->refs[i] = run->first[k];
        wanted->refs[i].address = 0;
        b->firsts[i] = psnap_run_address(run, at, k);
        b->steps[i] = (uint64_t)run->strides[k];
    }
    wanted->width = (uint32_t)width;
    if (status == PSNAP_OK)
        status = put_iterations(b, wanted, b->firsts, b->steps, count, error);
    wanted->width = 0;
    return status;
}

static enum psnap_status put_run(struct psnap_sink *self, const struct psnap_run *run,
                                 struct psnap_error *error)
{
    struct nest_builder *b = (struct nest_builder *)self;
    const uint32_t loop = b->program->refs[run->first[0].ref].loop;
    enum psnap_status status = PSNAP_OK;
    uint64_t head, count;
    size_t turn;

    if (b->has_no_order)
        return PSNAP_OK;
    if (!know_loop(b, loop))
        return no_memory(error);
    if (b->is_given_up[loop]) {
        status = end_iteration(b, error);
        status = status ? status : end_leaf(b, error);
        return status || put_visit(b, loop) ? status : no_memory(error);
    }
    if (!find_turn(b, run, &turn)) {
        for (uint64_t i = 0; i < run->count && status == PSNAP_OK; i++)
            status = put_slice(b, run, i, 0, run->width, error);
        return status;
    }
    /* What comes first may belong to an iteration that is under way. */
    head = turn || follows_iteration(b, &run->first[0]) || follows_leaf(b, &run->first[0]);
    if (head)
        status = put_slice(b, run, 0, 0, turn ? turn : run->width, error);
    count = run->count - head;
    if (status == PSNAP_OK && count)
        status = put_repetitions(b, run, turn, head, count, error);
    b->may_go_on = !turn && count;
    if (status == PSNAP_OK && turn)
        status = put_slice(b, run, run->count - 1, turn, run->width, error);
    return status;
}

/* ---- the sink ---- */

static enum psnap_status finish(struct psnap_sink *self, struct psnap_error *error)
{
    struct nest_builder *b = (struct nest_builder *)self;
    enum psnap_status status = end_iteration(b, error);

    if (status == PSNAP_OK)
        status = end_leaf(b, error);
    if (status == PSNAP_OK && (!nest_fold_end(b->fold) || !lower(b, STACK_LAST)))
        status = no_memory(error);
    return status;
}

static void builder_free(struct psnap_sink *self)
{
    struct nest_builder *b = (struct nest_builder *)self;

    nest_fold_free(b->fold);
    free(b->iteration);
    free(b->shape);
    free(b->is_given_up);
    free(b);
}

struct psnap_sink *nest_builder_new(const struct psnap_program *program)
{
    static const struct psnap_sink_ops ops = {
        .put = put, .put_run = put_run, .finish = finish, .free = builder_free};
    struct nest_builder *b = calloc(1, sizeof *b);
    struct psnap_nests *nests = nests_new();

    if (b) {
        b->base.ops = &ops;
        b->program = program;
        b->visited = PSNAP_NONE;
        b->iteration = calloc(1, nest_shape_bytes(NEST_WIDTH_MAX));
        b->shape = calloc(1, nest_shape_bytes(NEST_WIDTH_MAX));
        b->fold = nests ? nest_fold_new(nests) : NULL;
        if (b->iteration && b->shape && b->fold)
            return &b->base;
        builder_free(&b->base);
    } else
        nests_free(nests);
    return NULL;
}

const struct psnap_nests *nest_builder_nests(const struct psnap_sink *builder)
{
    const struct nest_builder *b = (const struct nest_builder *)builder;

    return b->has_no_order ? NULL : b->fold->nests;
}
