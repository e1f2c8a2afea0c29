/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accesses to iterations: references of one loop in rising order, whether they come one by one or
 * as runs, and wherever these begin and end. Each thread is a stream of its own (of more than LANES
 * of them, some share one), so that the nests do not depend on how threads were recorded in turn;
 * in the end they stand one after the other, by the threads' numbers.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/walks/nest_stack.h"

enum { LANES = 64 };

/* The stream of a thread. */
struct lane {
    const struct psnap_program *program;
    struct nest_stack *stack;
    struct nest_shape *iteration; /* under way, `width` 0: none */
    uint64_t firsts[NEST_WIDTH_MAX], steps[NEST_WIDTH_MAX];
};

struct nest_builder {
    struct psnap_sink base;
    const struct psnap_program *program;
    struct lane *lanes[LANES]; /* by thread's number modulo LANES; NULL: none came */
    struct psnap_nests *nests; /* of all, in the end */
};

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the nests of a stream");
}

static enum psnap_status end_iteration(struct lane *lane, struct psnap_error *error)
{
    struct nest_iterations it = {.shape = lane->iteration, .firsts = lane->firsts, .count = 1};

    if (lane->iteration->width && !nest_stack_put(lane->stack, &it))
        return no_memory(error);
    lane->iteration->width = 0;
    return PSNAP_OK;
}

/* Whether a reference may be of the same iteration as the one before it. */
static inline bool follows(const struct lane *lane, uint32_t ref, uint16_t thread,
                           const struct psnap_access *next)
{
    const struct psnap_ref *refs = lane->program->refs;

    return next->ref > ref && next->thread == thread && refs[next->ref].loop == refs[ref].loop;
}

static inline bool follows_iteration(const struct lane *lane, const struct psnap_access *next)
{
    const struct nest_shape *iteration = lane->iteration;
    const struct nest_ref *last = &iteration->refs[iteration->width - 1];

    return iteration->width && follows(lane, last->ref, last->thread, next);
}

static inline struct nest_ref nest_ref_of(const struct psnap_access *access)
{
    return (struct nest_ref){
        .ref = access->ref, .thread = access->thread, .size = access->size, .kind = access->kind};
}

static enum psnap_status put_one(struct lane *lane, const struct psnap_access *access,
                                 struct psnap_error *error)
{
    struct nest_shape *iteration = lane->iteration;
    enum psnap_status status = PSNAP_OK;

    if (!follows_iteration(lane, access) || iteration->width == NEST_WIDTH_MAX)
        status = end_iteration(lane, error);
    if (status)
        return status;
    iteration->loop = lane->program->refs[access->ref].loop;
    lane->firsts[iteration->width] = access->address;
    iteration->refs[iteration->width++] = nest_ref_of(access);
    return PSNAP_OK;
}

/* ---- runs ---- */

/* Accesses [from, to) of a repetition. */
static enum psnap_status put_slice(struct lane *lane, const struct psnap_run *run, uint64_t i,
                                   size_t from, size_t to, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    for (size_t k = from; k < to && status == PSNAP_OK; k++) {
        struct psnap_access access = run->first[k];
        access.address = psnap_run_address(run, i, k);
        status = put_one(lane, &access, error);
    }
    return status;
}

/* Where in a run's repetition an iteration begins: a run may begin within one. False when there
 * are several iterations in a repetition. */
static bool find_turn(const struct lane *lane, const struct psnap_run *run, size_t *turn)
{
    const struct psnap_access *first = run->first;
    const size_t width = run->width;

    *turn = 0;
    if (width > NEST_WIDTH_MAX)
        return false;
    for (size_t k = 1; k < width; k++) {
        if (follows(lane, first[k - 1].ref, first[k - 1].thread, &first[k]))
            continue;
        if (*turn)
            return false;
        *turn = k;
    }
    return !*turn || follows(lane, first[width - 1].ref, first[width - 1].thread, &first[0]);
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
static enum psnap_status put_repetitions(struct lane *lane, const struct psnap_run *run,
                                         size_t turn, uint64_t head, uint64_t count,
                                         struct psnap_error *error)
{
    const size_t width = run->width;
    enum psnap_status status = end_iteration(lane, error);
    struct nest_shape *shape = lane->iteration;
    struct nest_iterations it = {.shape = shape,
                                 .firsts = lane->firsts,
                                 .steps = lane->steps,
                                 .columns = run->columns,
                                 .from = head,
                                 .count = count};

    shape->loop = lane->program->refs[run->first[0].ref].loop;
    for (size_t i = 0; i < width; i++) {
        const size_t k = turn + i < width ? turn + i : turn + i - width;
        const uint64_t at = turn ? k < turn : head;
        shape->refs[i] = nest_ref_of(&run->first[k]);
        lane->firsts[i] = psnap_run_address(run, at, k);
        lane->steps[i] = (uint64_t)run->strides[k];
    }
    shape->width = (uint32_t)width;
    if (status == PSNAP_OK && !nest_stack_put(lane->stack, &it))
        status = no_memory(error);
    shape->width = 0;
    return status;
}

/* Whether the stack takes the columns of a run as they are. */
static bool can_take(const struct lane *lane, const struct psnap_run *run)
{
    for (size_t k = 0; k < run->width; k++)
        if (run->columns[k].words && !nest_stack_draws(lane->stack, run->first[k].ref))
            return false;
    return true;
}

static enum psnap_status put_lane_run(struct lane *lane, const struct psnap_run *run,
                                      struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;
    uint64_t head, count;
    size_t turn;

    if (!find_turn(lane, run, &turn) || (has_columns(run) && (turn || !can_take(lane, run)))) {
        for (uint64_t i = 0; i < run->count && status == PSNAP_OK; i++)
            status = put_slice(lane, run, i, 0, run->width, error);
        return status;
    }
    /* What comes first may belong to an iteration that is under way, what comes last to one that
     * goes on. */
    head = turn || follows_iteration(lane, &run->first[0]);
    if (head)
        status = put_slice(lane, run, 0, 0, turn ? turn : run->width, error);
    count = run->count - head;
    count -= !turn && count;
    if (status == PSNAP_OK && count)
        status = put_repetitions(lane, run, turn, head, count, error);
    if (status == PSNAP_OK && (turn || run->count > head))
        status = put_slice(lane, run, run->count - 1, turn, run->width, error);
    return status;
}

/* ---- the sink ---- */

static void lane_free(struct lane *lane)
{
    if (!lane)
        return;
    nest_stack_free(lane->stack);
    free(lane->iteration);
    free(lane);
}

static struct lane *lane_new(const struct psnap_program *program)
{
    struct lane *lane = calloc(1, sizeof *lane);

    if (!lane)
        return NULL;
    lane->program = program;
    lane->iteration = calloc(1, nest_shape_bytes(NEST_WIDTH_MAX));
    lane->stack = nest_stack_new(program);
    if (lane->iteration && lane->stack)
        return lane;
    lane_free(lane);
    return NULL;
}

/* That of a thread; NULL: out of memory. */
static inline struct lane *lane_of(struct nest_builder *b, uint16_t thread)
{
    struct lane **lane = &b->lanes[thread % LANES];

    if (!*lane)
        *lane = lane_new(b->program);
    return *lane;
}

static enum psnap_status put(struct psnap_sink *self, const struct psnap_access *block, size_t n,
                             struct psnap_error *error)
{
    struct nest_builder *b = (struct nest_builder *)self;
    enum psnap_status status = PSNAP_OK;

    for (size_t i = 0; i < n && status == PSNAP_OK; i++) {
        struct lane *lane = lane_of(b, block[i].thread);
        status = lane ? put_one(lane, &block[i], error) : no_memory(error);
    }
    return status;
}

static enum psnap_status put_run(struct psnap_sink *self, const struct psnap_run *run,
                                 struct psnap_error *error)
{
    struct nest_builder *b = (struct nest_builder *)self;
    struct lane *lane = lane_of(b, run->first[0].thread);
    enum psnap_status status = PSNAP_OK;
    bool is_of_one = true;

    for (size_t k = 1; k < run->width; k++)
        is_of_one &= run->first[k].thread == run->first[0].thread;
    if (is_of_one)
        return lane ? put_lane_run(lane, run, error) : no_memory(error);
    for (uint64_t i = 0; i < run->count; i++)
        for (size_t k = 0; k < run->width && status == PSNAP_OK; k++) {
            struct psnap_access access = run->first[k];
            access.address = psnap_run_address(run, i, k);
            status = put(self, &access, 1, error);
        }
    return status;
}

static enum psnap_status finish(struct psnap_sink *self, struct psnap_error *error)
{
    struct nest_builder *b = (struct nest_builder *)self;
    bool has_order = true;

    b->nests = nests_new();
    if (!b->nests)
        return no_memory(error);
    for (int i = 0; i < LANES; i++) {
        struct lane *lane = b->lanes[i];
        const struct psnap_nests *nests;
        if (!lane)
            continue;
        if (end_iteration(lane, error) || !nest_stack_end(lane->stack))
            return no_memory(error);
        nests = nest_stack_nests(lane->stack);
        if (nests && !nests_join(b->nests, nests))
            return no_memory(error);
        has_order &= nests != NULL;
        lane_free(lane);
        b->lanes[i] = NULL;
    }
    if (!has_order) {
        nests_free(b->nests);
        b->nests = NULL;
    }
    return PSNAP_OK;
}

static void builder_free(struct psnap_sink *self)
{
    struct nest_builder *b = (struct nest_builder *)self;

    for (int i = 0; i < LANES; i++)
        lane_free(b->lanes[i]);
    nests_free(b->nests);
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
    return &b->base;
}

const struct psnap_nests *nest_builder_nests(const struct psnap_sink *builder)
{
    return ((const struct nest_builder *)builder)->nests;
}
