/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accesses of a thread to iterations: references of one loop in rising order, whether they come one
 * by one or as runs, and wherever these begin and end.
 */
#include "profile/walks/nest_lane.h"

#include <stdlib.h>
#include <string.h>

enum psnap_status nest_no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the nests of a stream");
}

enum psnap_status nest_lane_end(struct nest_lane *lane, struct psnap_error *error)
{
    struct nest_iterations it = {.shape = lane->iteration, .firsts = lane->firsts, .count = 1};

    if (lane->iteration->width && !nest_stack_put(lane->stack, &it))
        return nest_no_memory(error);
    lane->iteration->width = 0;
    return PSNAP_OK;
}

/* Whether a reference may be of the same iteration as the one before it. */
static inline bool follows(const struct nest_lane *lane, uint32_t ref, uint16_t thread,
                           const struct psnap_access *next)
{
    const struct psnap_ref *refs = lane->program->refs;

    return next->ref > ref && next->thread == thread && refs[next->ref].loop == refs[ref].loop;
}

static inline bool follows_iteration(const struct nest_lane *lane, const struct psnap_access *next)
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

static enum psnap_status put_one(struct nest_lane *lane, const struct psnap_access *access,
                                 struct psnap_error *error)
{
    struct nest_shape *iteration = lane->iteration;
    enum psnap_status status = PSNAP_OK;

    if (!follows_iteration(lane, access) || iteration->width == NEST_WIDTH_MAX)
        status = nest_lane_end(lane, error);
    if (status)
        return status;
    iteration->loop = lane->program->refs[access->ref].loop;
    lane->firsts[iteration->width] = access->address;
    iteration->refs[iteration->width++] = nest_ref_of(access);
    return PSNAP_OK;
}

/* Learns which references are the last ones of their loops, of those that the program has by now.
 */
static bool learn_refs(struct nest_lane *lane)
{
    const struct psnap_program *program = lane->program;

    if (lane->loop_room < program->loop_count) {
        const uint32_t room = 2 * program->loop_count;
        uint32_t *larger = realloc(lane->last_refs, room * sizeof *larger);
        if (!larger)
            return false;
        lane->last_refs = larger;
        lane->loop_room = room;
    }
    for (; lane->known_refs < program->ref_count; lane->known_refs++)
        lane->last_refs[program->refs[lane->known_refs].loop] = lane->known_refs;
    return true;
}

/* Whether an iteration ends with a reference: none of its loop comes behind it. */
static bool is_last(struct nest_lane *lane, uint32_t ref)
{
    if (lane->known_refs < lane->program->ref_count && !learn_refs(lane))
        return false;
    return lane->last_refs[lane->program->refs[ref].loop] == ref;
}

/* Iterations that came before, as many as are whole: returns how many accesses they have, or
 * SIZE_MAX when there is no memory. */
static size_t put_again(struct nest_lane *lane, const struct psnap_access *block, size_t n)
{
    const struct psnap_ref *refs = lane->program->refs;
    enum nest_taken taken = NEST_TAKEN;
    size_t at = 0, end;

    while (taken == NEST_TAKEN && at < n) {
        const uint32_t loop = refs[block[at].ref].loop;
        const uint16_t thread = block[at].thread;
        for (end = at + 1; end < n && block[end].ref > block[end - 1].ref &&
                           block[end].thread == thread && refs[block[end].ref].loop == loop;)
            end++;
        if (end - at > NEST_WIDTH_MAX || (end == n && !is_last(lane, block[end - 1].ref)))
            break;
        taken = nest_stack_put_again(lane->stack, loop, &block[at], (uint32_t)(end - at));
        at = taken == NEST_TAKEN ? end : at;
    }
    return taken == NEST_NO_MEMORY ? SIZE_MAX : at;
}

enum psnap_status nest_lane_put(struct nest_lane *lane, const struct psnap_access *block, size_t n,
                                struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    for (size_t i = 0; i < n && status == PSNAP_OK; i++) {
        if (!follows_iteration(lane, &block[i])) {
            size_t again;
            status = nest_lane_end(lane, error);
            again = status ? 0 : put_again(lane, &block[i], n - i);
            if (again == SIZE_MAX)
                return nest_no_memory(error);
            i += again;
        }
        if (status == PSNAP_OK && i < n)
            status = put_one(lane, &block[i], error);
    }
    return status;
}

/* ---- runs ---- */

/* Accesses [from, to) of a repetition. */
static enum psnap_status put_slice(struct nest_lane *lane, const struct psnap_run *run, uint64_t i,
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

static enum psnap_status put_slices(struct nest_lane *lane, const struct psnap_run *run,
                                    struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    for (uint64_t i = 0; i < run->count && status == PSNAP_OK; i++)
        status = put_slice(lane, run, i, 0, run->width, error);
    return status;
}

/* Where in a run's repetition, of these accesses, an iteration begins: a run may begin within one.
 * False when there are several iterations in a repetition. */
static bool find_turn(const struct nest_lane *lane, const struct psnap_access *first, size_t width,
                      size_t *turn)
{
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

bool nest_lane_has_turns(const struct nest_lane *lane, const struct psnap_access *first,
                         size_t width)
{
    size_t turn;

    return !find_turn(lane, first, width, &turn);
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
static enum psnap_status put_repetitions(struct nest_lane *lane, const struct psnap_run *run,
                                         size_t turn, uint64_t head, uint64_t count,
                                         struct psnap_error *error)
{
    const size_t width = run->width;
    enum psnap_status status = nest_lane_end(lane, error);
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
        status = nest_no_memory(error);
    shape->width = 0;
    return status;
}

/* Whether the stack takes the columns of a run as they are. */
static bool can_take(const struct nest_lane *lane, const struct psnap_run *run)
{
    for (size_t k = 0; k < run->width; k++)
        if (run->columns[k].words && !nest_stack_draws(lane->stack, run->first[k].ref))
            return false;
    return true;
}

enum psnap_status nest_lane_put_run(struct nest_lane *lane, const struct psnap_run *run,
                                    struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;
    const bool is_of_columns = has_columns(run);
    uint64_t head, count, tail;
    size_t turn;

    if (!find_turn(lane, run->first, run->width, &turn)) {
        if (!is_of_columns && run->width <= PSNAP_ROUNDS_WIDTH)
            return nest_lane_put_turns(lane, run, error);
        return put_slices(lane, run, error);
    }
    if (is_of_columns && (turn || !can_take(lane, run)))
        return put_slices(lane, run, error);
    /* What comes first may belong to an iteration that is under way, what comes last to one that
     * goes on. */
    head = turn || follows_iteration(lane, &run->first[0]);
    if (head)
        status = put_slice(lane, run, 0, 0, turn ? turn : run->width, error);
    count = run->count - head;
    tail = count && !turn && !is_last(lane, run->first[run->width - 1].ref);
    if (status == PSNAP_OK && count > tail)
        status = put_repetitions(lane, run, turn, head, count - tail, error);
    if (status == PSNAP_OK && (turn || tail))
        status = put_slice(lane, run, run->count - 1, turn, run->width, error);
    return status;
}

/* ---- lanes ---- */

void nest_lane_free(struct nest_lane *lane)
{
    if (!lane)
        return;
    nest_stack_free(lane->stack);
    free(lane->iteration);
    free(lane->last_refs);
    nest_rounds_free(lane->rounds);
    free(lane);
}

struct nest_lane *nest_lane_new(const struct psnap_program *program)
{
    struct nest_lane *lane = calloc(1, sizeof *lane);

    if (!lane)
        return NULL;
    lane->program = program;
    lane->iteration = calloc(1, nest_shape_bytes(NEST_WIDTH_MAX));
    lane->stack = nest_stack_new(program);
    if (lane->iteration && lane->stack)
        return lane;
    nest_lane_free(lane);
    return NULL;
}
