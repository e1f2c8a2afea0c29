/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accesses to leaves (nests.h). References of one loop in rising order are an iteration;
 * iterations of the same references that go on by the same strides are a leaf, whether they
 * come one by one or as runs, and wherever these begin and end: nests depend on the accesses
 * alone.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/nests.h"

struct nest_builder {
    struct psnap_sink base;
    const struct psnap_program *program;
    struct nest_stack *stack;
    struct nest_shape *shape;            /* of the leaf under way, `width` 0: none */
    uint64_t values[1 + NEST_WIDTH_MAX]; /* of the leaf under way */
    uint64_t strides[NEST_WIDTH_MAX];
    bool may_go_on;               /* its last iteration, with further references */
    struct nest_shape *iteration; /* under way, `width` 0: none */
    uint64_t firsts[NEST_WIDTH_MAX], steps[NEST_WIDTH_MAX], second[NEST_WIDTH_MAX];
};

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the nests of a stream");
}

/* ---- leaves ---- */

/* Folds the leaf under way as it is. */
static enum psnap_status put_leaf(struct nest_builder *b, struct psnap_error *error)
{
    return nest_stack_leaf(b->stack, b->shape, b->strides, b->values) ? PSNAP_OK : no_memory(error);
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
        const bool is_same = nest_shape_is_equal(b->shape, wanted);
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

    for (size_t i = 0; i < n && status == PSNAP_OK; i++)
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

    if (nest_stack_is_given_up(b->stack, loop)) {
        status = end_iteration(b, error);
        status = status ? status : end_leaf(b, error);
        return status || nest_stack_visit(b->stack, loop) ? status : no_memory(error);
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
    return status || nest_stack_end(b->stack) ? status : no_memory(error);
}

static void builder_free(struct psnap_sink *self)
{
    struct nest_builder *b = (struct nest_builder *)self;

    nest_stack_free(b->stack);
    free(b->iteration);
    free(b->shape);
    free(b);
}

struct psnap_sink *nest_builder_new(const struct psnap_program *program)
{
    static const struct psnap_sink_ops ops = {
        .put = put, .put_run = put_run, .finish = finish, .free = builder_free};
    struct nest_builder *b = calloc(1, sizeof *b);

    if (!b)
        return NULL;
    b->base.ops = &ops;
    b->program = program;
    b->iteration = calloc(1, nest_shape_bytes(NEST_WIDTH_MAX));
    b->shape = calloc(1, nest_shape_bytes(NEST_WIDTH_MAX));
    b->stack = nest_stack_new();
    if (b->iteration && b->shape && b->stack)
        return &b->base;
    builder_free(&b->base);
    return NULL;
}

const struct psnap_nests *nest_builder_nests(const struct psnap_sink *builder)
{
    return nest_stack_nests(((const struct nest_builder *)builder)->stack);
}
