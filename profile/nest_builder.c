/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accesses to iterations: references of one loop in rising order, whether they come one by one or
 * as runs, and wherever these begin and end.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/nest_stack.h"

struct nest_builder {
    struct psnap_sink base;
    const struct psnap_program *program;
    struct nest_stack *stack;
    struct nest_shape *iteration; /* under way, `width` 0: none */
    uint64_t firsts[NEST_WIDTH_MAX], steps[NEST_WIDTH_MAX];
};

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the nests of a stream");
}

static enum psnap_status end_iteration(struct nest_builder *b, struct psnap_error *error)
{
    struct nest_iterations it = {.shape = b->iteration, .firsts = b->firsts, .count = 1};

    if (b->iteration->width && !nest_stack_put(b->stack, &it))
        return no_memory(error);
    b->iteration->width = 0;
    return PSNAP_OK;
}

/* Whether a reference may be of the same iteration as the one before it. */
static inline bool follows(const struct nest_builder *b, uint32_t ref, uint16_t thread,
                           const struct psnap_access *next)
{
    const struct psnap_ref *refs = b->program->refs;

    return next->ref > ref && next->thread == thread && refs[next->ref].loop == refs[ref].loop;
}

static inline bool follows_iteration(const struct nest_builder *b, const struct psnap_access *next)
{
    const struct nest_shape *iteration = b->iteration;
    const struct nest_ref *last = &iteration->refs[iteration->width - 1];

    return iteration->width && follows(b, last->ref, last->thread, next);
}

static inline struct nest_ref nest_ref_of(const struct psnap_access *access)
{
    return (struct nest_ref){
        .ref = access->ref, .thread = access->thread, .size = access->size, .kind = access->kind};
}

static enum psnap_status put_one(struct nest_builder *b, const struct psnap_access *access,
                                 struct psnap_error *error)
{
    struct nest_shape *iteration = b->iteration;
    enum psnap_status status = PSNAP_OK;

    if (!follows_iteration(b, access) || iteration->width == NEST_WIDTH_MAX)
        status = end_iteration(b, error);
    if (status)
        return status;
    iteration->loop = b->program->refs[access->ref].loop;
    b->firsts[iteration->width] = access->address;
    iteration->refs[iteration->width++] = nest_ref_of(access);
    return PSNAP_OK;
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

/* Where in a run's repetition an iteration begins: a run may begin within one. False when there
 * are several iterations in a repetition. */
static bool find_turn(const struct nest_builder *b, const struct psnap_run *run, size_t *turn)
{
    const struct psnap_access *first = run->first;
    const size_t width = run->width;

    *turn = 0;
    if (width > NEST_WIDTH_MAX)
        return false;
    for (size_t k = 1; k < width; k++) {
        if (follows(b, first[k - 1].ref, first[k - 1].thread, &first[k]))
            continue;
        if (*turn)
            return false;
        *turn = k;
    }
    return !*turn || follows(b, first[width - 1].ref, first[width - 1].thread, &first[0]);
}

static bool has_columns(const struct psnap_run *run)
{
    for (size_t k = 0; run->columns && k < run->width; k++)
        if (run->columns[k].words)
            return true;
    return false;
}

/* Repetitions of a run from `head` on, without its first `turn` accesses and with as many behind
 * them. */
static enum psnap_status put_repetitions(struct nest_builder *b, const struct psnap_run *run,
                                         size_t turn, uint64_t head, uint64_t count,
                                         struct psnap_error *error)
{
    const size_t width = run->width;
    enum psnap_status status = end_iteration(b, error);
    struct nest_shape *shape = b->iteration;
    struct nest_iterations it = {.shape = shape,
                                 .firsts = b->firsts,
                                 .steps = b->steps,
                                 .columns = run->columns,
                                 .from = head,
                                 .count = count};

    shape->loop = b->program->refs[run->first[0].ref].loop;
    for (size_t i = 0; i < width; i++) {
        const size_t k = turn + i < width ? turn + i : turn + i - width;
        const uint64_t at = turn ? k < turn : head;
        shape->refs[i] = nest_ref_of(&run->first[k]);
        b->firsts[i] = psnap_run_address(run, at, k);
        b->steps[i] = (uint64_t)run->strides[k];
    }
    shape->width = (uint32_t)width;
    if (status == PSNAP_OK && !nest_stack_put(b->stack, &it))
        status = no_memory(error);
    shape->width = 0;
    return status;
}

/* Whether the stack takes the columns of a run as they are. */
static bool can_take(const struct nest_builder *b, const struct psnap_run *run)
{
    for (size_t k = 0; k < run->width; k++)
        if (run->columns[k].words && !nest_stack_draws(b->stack, run->first[k].ref))
            return false;
    return true;
}

static enum psnap_status put_run(struct psnap_sink *self, const struct psnap_run *run,
                                 struct psnap_error *error)
{
    struct nest_builder *b = (struct nest_builder *)self;
    enum psnap_status status = PSNAP_OK;
    uint64_t head, count;
    size_t turn;

    if (!find_turn(b, run, &turn) || (has_columns(run) && (turn || !can_take(b, run)))) {
        for (uint64_t i = 0; i < run->count && status == PSNAP_OK; i++)
            status = put_slice(b, run, i, 0, run->width, error);
        return status;
    }
    /* What comes first may belong to an iteration that is under way, what comes last to one that
     * goes on. */
    head = turn || follows_iteration(b, &run->first[0]);
    if (head)
        status = put_slice(b, run, 0, 0, turn ? turn : run->width, error);
    count = run->count - head;
    count -= !turn && count;
    if (status == PSNAP_OK && count)
        status = put_repetitions(b, run, turn, head, count, error);
    if (status == PSNAP_OK && (turn || run->count > head))
        status = put_slice(b, run, run->count - 1, turn, run->width, error);
    return status;
}

/* ---- the sink ---- */

static enum psnap_status finish(struct psnap_sink *self, struct psnap_error *error)
{
    struct nest_builder *b = (struct nest_builder *)self;
    const enum psnap_status status = end_iteration(b, error);

    return status || nest_stack_end(b->stack) ? status : no_memory(error);
}

static void builder_free(struct psnap_sink *self)
{
    struct nest_builder *b = (struct nest_builder *)self;

    nest_stack_free(b->stack);
    free(b->iteration);
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
    b->stack = nest_stack_new(program);
    if (b->iteration && b->stack)
        return &b->base;
    builder_free(&b->base);
    return NULL;
}

const struct psnap_nests *nest_builder_nests(const struct psnap_sink *builder)
{
    return nest_stack_nests(((const struct nest_builder *)builder)->stack);
}
