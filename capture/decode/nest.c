/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of nests (capture_abi.h) to executions of their hoisted loops. The
 * steps of a nest are the program's own control flow with all that depends on
 * data left out, values what scalar evolution made of its addresses, counts and
 * conditions: going through them from where the record begins to where it stopped
 * finds each execution of a hoisted loop, with its bases, steps and iterations,
 * which hoisted.c then delivers as if it had had a record of its own. Values of a
 * loop are computed anew for each of its iterations, those of outer loops stay.
 * Where iterations of a loop can be told in closed form they are (fold_iterations): nearly all of
 * them.
 *
 * A program that was killed, or a bug, may have written any words: steps lead
 * forward but for AGAIN, of which a record has no more than the program counts
 * accesses before it writes one.
 *
 * Iterations of a nest's loop, with all loops in it, as one affine nest (formats/base/nest.h). The
 * steps of a first iteration are gone through; on the way each value is given the amount by which
 * it advances along each of the loops, and these bound the number of iterations in which all
 * conditions come out as they do now (value.h). Bases and counts of hoisted loops must be linear in
 * all loops at once: the product of two values that advance is refused.
 *
 * The iterations of loops in loops are a box. As values are linear in the box conditions hold
 * in all of it if they do so at its corners. So a loop in another one is gone through three times:
 * in its first iteration, in the last one that is like it and in the one behind that, in which it
 * has to be left and otherwise do the same. Each time the steps, the addresses and their strides
 * have to be those of the nest.
 *
 * Where the nest is of an iteration of a period (period.c), or of several within each other, their
 * iterations are levels, too, each bounded alone: what holds at the corners of the other ones' box
 * so many times holds in all.
 *
 * Of the outermost loop as many iterations are taken as there are. A loop that has no such nest, as
 * its addresses have quotients, or it has other accesses in some iterations, goes by steps
 * and so do the loops in it, but for those that have a nest of their own.
 */
#include "capture/decode/nest.h"

#include <string.h>

/* How the values of a step, which are computed, advance along a direction; nearly all of them do
 * not. `is_own`: it is the loop whose iterations they are of. */
static void advance(const struct psnap_context *context, const struct psnap_nested *open,
                    const struct psnap_capture_step *step, int64_t *deltas, bool is_own,
                    uint64_t *times)
{
    const struct psnap_table_value *value =
        &context->tables.values[open->nest->first_value + step->a];
    uint32_t index = open->nest->words + step->a;

    for (uint32_t i = 0; i < step->b; i++, value++, index++) {
        deltas[index] = 0;
        if (deltas[value->a] || (psnap_value_has_second(value) && deltas[value->b]) ||
            (is_own && value->op == PSNAP_VALUE_RECURRENCE))
            deltas[index] = psnap_value_advance(value, open->values, deltas, is_own,
                                                open->values[index], times);
    }
}

/* Computes the values of a step, in the present iteration. */
static inline void evaluate(const struct psnap_context *context, struct psnap_nested *open,
                            const struct psnap_capture_step *step)
{
    int64_t(*deltas)[PSNAP_NEST_VALUES_MAX] = open->deltas;

    psnap_values_compute(&context->tables.values[open->nest->first_value + step->a], step->b,
                         open->iterations[step->level], open->values, open->nest->words + step->a);
    for (struct psnap_shift *shift = open->shift; shift; shift = shift->outer, deltas++)
        advance(context, open, step, *deltas, false, &shift->times);
}

/* A value that decides how the nest goes on: it may not advance along a shift. */
static inline uint64_t decide(const struct psnap_nested *open, uint32_t value)
{
    const int64_t(*deltas)[PSNAP_NEST_VALUES_MAX] = open->deltas;

    for (struct psnap_shift *shift = open->shift; shift; shift = shift->outer, deltas++)
        if ((*deltas)[value])
            shift->times = 0;
    return open->values[value];
}

/* Iterations of the hoisted loop that a step runs. */
static inline uint64_t count_of(const struct psnap_nested *open,
                                const struct psnap_capture_step *step)
{
    return step->b ? decide(open, step->b) : 1;
}

/* Where a branch leads. */
static inline uint32_t branch(const struct psnap_nested *open,
                              const struct psnap_capture_step *step)
{
    return decide(open, step->a) ? step->b : step->c;
}

static inline void set(struct psnap_nested *open, const struct psnap_capture_step *step)
{
    open->values[step->a] = open->values[step->b];
    for (uint32_t d = 0; d < open->directions; d++)
        open->deltas[d][step->a] = open->deltas[d][step->b];
}

/* Whether the step at which the record stops has come, in the iterations in which it did. */
static inline bool has_stopped(const struct psnap_nested *open)
{
    const uint64_t *to = open->values + PSNAP_NEST_HEADER_WORDS + open->nest->levels;

    const struct psnap_capture_step *step = &open->steps[open->stop];
    const uint32_t levels = step->op == PSNAP_STEP_ENTER ? step->level : step->level + 1u;

    for (uint32_t i = 0; i < levels; i++)
        if (open->iterations[i] != to[i])
            return false;
    return true;
}

/* ---- iterations in closed form ---- */

struct folding {
    struct psnap_context *context;
    struct psnap_nested *open;
    struct psnap_fold *fold;
};

enum way { FAILS, ENDS, LEAVES }; /* an iteration does not fit; it ends; the loop is left in it */

/* Whether the loop is in the iteration behind those that are like the first one: its strides need
 * not be the nest's. */
static bool is_last(const struct psnap_fold_level *level)
{
    return level->position > level->times;
}

/* Whether loops and accesses are added to the nest, and not compared with it: all loops are in
 * their first iterations. */
static bool is_first(const struct psnap_fold *fold)
{
    return fold->over == 0;
}

/* By how much values advance along a loop that is folded, by its level. */
static const int64_t *deltas_of(const struct folding *with, uint32_t level)
{
    return with->open->deltas[with->open->shifts + level];
}

/* Whether a value advances along a direction, from the `first` on. */
static bool advances(const struct psnap_nested *open, uint32_t first, uint32_t value)
{
    while (first < open->directions && !open->deltas[first][value])
        first++;
    return first < open->directions;
}

/* The same along the loops. */
static bool advances_in_loops(const struct folding *with, uint32_t value)
{
    return advances(with->open, with->open->shifts, value);
}

/* Iterations in which the level's values may still be bounded. */
static uint64_t *times_of(struct psnap_fold_level *level, uint64_t *none)
{
    *none = UINT64_MAX;
    return level->is_over ? none : &level->times;
}

/* Computes the values of a step and how they advance; false when they are no linear functions. */
static bool compute(const struct folding *with, const struct psnap_capture_step *step)
{
    struct psnap_nested *open = with->open;
    const struct psnap_table_value *value =
        &with->context->tables.values[open->nest->first_value + step->a];

    evaluate(with->context, open, step);
    for (uint32_t l = 0; l < with->fold->depth; l++) {
        struct psnap_fold_level *level = &with->fold->levels[l];
        uint64_t none;
        advance(with->context, open, step, open->deltas[open->shifts + l],
                open->steps[level->enter].level == step->level, times_of(level, &none));
    }
    for (uint32_t i = 0; i < step->b; i++, value++)
        if (value->op == PSNAP_VALUE_MUL && advances(open, 0, value->a) &&
            advances(open, 0, value->b))
            return false;
    return true;
}

/* Whether a value that is `first` in the first iterations, and advances by `strides`, is `value`
 * now, and does so. */
static bool is_linear(const struct folding *with, uint64_t first, const int64_t *strides,
                      uint64_t value, uint32_t index)
{
    for (uint32_t l = 0; l < with->fold->depth; l++) {
        const struct psnap_fold_level *level = &with->fold->levels[l];
        if (!is_last(level) && index && deltas_of(with, l)[index] != strides[l])
            return false;
        first += level->position * (uint64_t)strides[l];
    }
    return first == value;
}

/* How the k-th reference of a hoisted loop goes through the nest, as its access `a`. */
static bool put_member(struct folding *with, const struct psnap_capture_hoist *hoist, uint32_t k,
                       uint32_t a)
{
    const struct psnap_fold *fold = with->fold;
    const struct psnap_table_move *move = &with->context->tables.moves[hoist->first_move + k];
    struct psnap_capture_ref *ref = &with->context->tables.refs[hoist->first_ref + k];
    struct psnap_nest_maker *maker = &with->context->maker;
    int64_t *strides = &maker->strides[(size_t)a * PSNAP_NEST_LEVELS];
    const uint64_t address = with->open->values[move->base] + (uint64_t)move->offset;
    const int64_t step = (int64_t)psnap_move_step(move, with->open->values);

    if (is_first(fold)) {
        if (!psnap_context_reach(with->context, ref, address))
            return false;
        maker->first[a] = psnap_context_access(with->context, ref, hoist->first_ref + k, address);
        memset(strides, 0, PSNAP_NEST_LEVELS * sizeof *strides);
        for (uint32_t l = 0; l < fold->depth; l++)
            strides[l] = deltas_of(with, l)[move->base];
        strides[fold->depth] = step;
    }
    return strides[fold->depth] == step && !(move->step && advances_in_loops(with, move->step)) &&
           is_linear(with, maker->first[a].address, strides, address + ref->delta, move->base);
}

/* The loop of the nest that a step is: a new one, or the next of those that there are. */
static struct psnap_nest_loop *next_loop(struct folding *with, uint32_t step)
{
    struct psnap_nest_maker *maker = &with->context->maker;
    const uint32_t index = with->fold->loop;

    if (is_first(with->fold)) {
        if (index == PSNAP_NEST_LOOPS)
            return NULL;
        maker->loops[index] = (struct psnap_nest_loop){.begin = (uint16_t)maker->width};
        maker->loop_count = index + 1;
        with->fold->steps[index] = (uint16_t)step;
    } else if (index == maker->loop_count || with->fold->steps[index] != step)
        return NULL;
    with->fold->loop++;
    return &maker->loops[index];
}

/* An execution of a hoisted loop in each iteration. */
static bool put_run(struct folding *with, uint32_t at)
{
    struct psnap_fold *fold = with->fold;
    const struct psnap_capture_step *step = &with->open->steps[at];
    const struct psnap_capture_hoist *hoist = &with->context->tables.hoists[step->a];
    const uint64_t count = count_of(with->open, step);
    struct psnap_nest_maker *maker = &with->context->maker;
    struct psnap_nest_loop *loop = next_loop(with, at);

    if (!loop || count > PSNAP_ITERATIONS_MAX || (hoist->refs && (step->c || hoist->quotients)))
        return false;
    if (is_first(fold)) {
        loop->count = (int64_t)count;
        loop->shape = hoist->first_piece + 1;
        for (uint32_t l = 0; l < fold->depth && step->b; l++)
            loop->count_steps[l] = deltas_of(with, l)[step->b];
        if (count || (step->b && advances_in_loops(with, step->b)))
            loop->width = (uint16_t)hoist->refs;
        if (loop->width > PSNAP_NEST_WIDTH - maker->width)
            return false;
        maker->width += loop->width;
    }
    for (uint32_t l = 0; l < fold->depth && step->b; l++) {
        uint64_t none;
        psnap_value_bound(count, deltas_of(with, l)[step->b], 63,
                          times_of(&fold->levels[l], &none));
    }
    if (!is_linear(with, (uint64_t)loop->count, loop->count_steps, count, step->b))
        return false;
    for (uint32_t k = 0; k < loop->width; k++)
        if (!put_member(with, hoist, k, loop->begin + k))
            return false;
    return true;
}

static bool put_loop(struct folding *with, uint32_t enter, uint64_t begun, uint32_t *at);

/* Goes through an iteration of the innermost open loop, from step *at on. */
static enum way walk(struct folding *with, uint32_t *at)
{
    struct psnap_nested *open = with->open;
    struct psnap_fold *fold = with->fold;
    const uint32_t enter = fold->levels[fold->depth - 1].enter;

    while (fold->levels[0].times + 2 >= PSNAP_FOLD_ITERATIONS_MIN) {
        const struct psnap_capture_step *step = &open->steps[*at];
        if (step->level < open->steps[enter].level ||
            (step->op == PSNAP_STEP_ENTER && step->c != enter))
            return LEAVES;
        if (*at == open->stop && has_stopped(open))
            return fold->depth == 1 ? LEAVES : FAILS;
        switch (step->op) {
        case PSNAP_STEP_RUN:
            if (!put_run(with, *at))
                return FAILS;
            ++*at;
            break;
        case PSNAP_STEP_BRANCH:
            if (advances_in_loops(with, step->a))
                return FAILS;
            *at = branch(open, step);
            break;
        case PSNAP_STEP_GOTO:
            *at = step->a;
            break;
        case PSNAP_STEP_SET:
            set(open, step);
            ++*at;
            break;
        case PSNAP_STEP_COMPUTE:
            if (!compute(with, step))
                return FAILS;
            ++*at;
            break;
        case PSNAP_STEP_ENTER:
            if (!put_loop(with, *at, 0, at))
                return FAILS;
            break;
        default: /* PSNAP_STEP_AGAIN */
            return step->a == enter ? ENDS : FAILS;
        }
    }
    return FAILS;
}

/* Goes through the iteration at `position` of the innermost open loop. */
static enum way walk_from(struct folding *with, uint64_t position, uint32_t *at)
{
    struct psnap_fold_level *level = &with->fold->levels[with->fold->depth - 1];
    const struct psnap_capture_step *enter = &with->open->steps[level->enter];

    level->position = position;
    with->open->iterations[enter->level] = level->begun + position;
    *at = level->enter + 1;
    return compute(with, enter) ? walk(with, at) : FAILS;
}

/* Iterations that there are from the present one, of a loop from step `enter` to `again`, to that
 * in which the record stops, if it does so in this execution of the loop. */
static uint64_t count_left(const struct psnap_nested *open, uint32_t enter, uint32_t again)
{
    const uint64_t *to = open->values + PSNAP_NEST_HEADER_WORDS + open->nest->levels;
    const uint32_t level = open->steps[enter].level;

    for (uint32_t i = 0; i < level; i++)
        if (open->iterations[i] != to[i])
            return UINT64_MAX;
    if (open->stop <= enter || open->stop > again || to[level] < open->iterations[level])
        return UINT64_MAX;
    return to[level] - open->iterations[level];
}

/* Goes through the other iterations of the innermost open loop, whose first one has ended at step
 * *at: how many there are; 0 when they are no nest. */
static uint64_t count_iterations(struct folding *with, uint32_t *at)
{
    struct psnap_nested *open = with->open;
    struct psnap_fold *fold = with->fold;
    struct psnap_fold_level *level = &fold->levels[fold->depth - 1];
    const uint32_t again = *at, end = fold->loop;
    const uint64_t left = count_left(open, level->enter, again);
    const bool may_stop = open->steps[open->stop].level == open->steps[again].level;

    if (!left)
        return 0;
    level->times = level->times < left ? level->times : left - 1;
    level->is_over = true;
    fold->over++;
    fold->loop = level->loop + 1;
    if ((fold->depth > 1 || open->shift) && level->times &&
        (walk_from(with, level->times, at) != ENDS || fold->loop != end))
        return 0;
    fold->loop = level->loop + 1;
    if ((level->times + 1 < left || may_stop) && walk_from(with, level->times + 1, at) == LEAVES &&
        fold->loop == end)
        return level->times + 2;
    open->iterations[open->steps[again].level] = level->begun + level->times;
    *at = again;
    fold->loop = end;
    return fold->depth == 1 ? level->times + 1 : 0;
}

/* A loop of the nest, from iteration `begun` of it on: the record goes on at step *at. */
static bool put_loop(struct folding *with, uint32_t enter, uint64_t begun, uint32_t *at)
{
    struct psnap_nested *open = with->open;
    const struct psnap_nest_maker *maker = &with->context->maker;
    struct psnap_fold *fold = with->fold;
    const bool is_new = is_first(fold);
    struct psnap_nest_loop *loop = next_loop(with, enter);
    struct psnap_fold_level *level = &fold->levels[fold->depth];
    uint64_t count = 1;
    enum way way;

    if (!loop || fold->depth == PSNAP_FOLD_DEPTH)
        return false;
    *level = (struct psnap_fold_level){
        .begun = begun, .times = open->left, .within = 1, .enter = enter, .loop = fold->loop - 1};
    fold->depth++;
    memset(open->deltas[open->directions++], 0,
           (open->nest->words + open->nest->values) * sizeof **open->deltas);
    way = walk_from(with, 0, at);
    if (way == ENDS)
        count = count_iterations(with, at);
    if (way == FAILS || !count)
        return false;
    fold->depth--;
    open->directions--;
    fold->over -= level->is_over;
    if (is_new) {
        loop->count = (int64_t)count;
        loop->inside = fold->loop - 1 - level->loop;
        loop->width = (uint16_t)(maker->width - loop->begin);
    }
    count *= level->within;
    for (uint32_t l = 0; l < fold->depth; l++) {
        struct psnap_fold_level *outer = &fold->levels[l];
        outer->within = outer->within > count ? outer->within : count;
        if (!outer->is_over && outer->times > open->left / count)
            outer->times = open->left / count;
    }
    return (uint64_t)loop->count * level->within == count;
}

/* ------------------------------------------------------------- what has been found */

/* Iterations of a loop at `depth` in all `times` iterations of those around it, of which each has
 * so many. */
static uint64_t count_all(const struct psnap_nest_loop *loop, uint32_t depth, uint64_t times,
                          const uint64_t *counts)
{
    uint64_t count = (uint64_t)loop->count * times;

    for (uint32_t l = 0; l < depth; l++)
        count += (uint64_t)loop->count_steps[l] * ((counts[l] - 1) * times / 2);
    return count;
}

/* Counts the blocks of a loop of the nest, which is executed so many times, and makes it loop `to`
 * if there are accesses in it: how many loops there are then. */
static uint32_t finish(struct folding *with, uint32_t at, uint32_t depth, uint64_t times,
                       uint64_t *counts, uint32_t to)
{
    struct psnap_nest_loop *loops = with->context->maker.loops;
    const struct psnap_nest_loop loop = loops[at];
    const struct psnap_capture_step *step = &with->open->steps[with->fold->steps[at]];
    const uint32_t begin = to;

    if (depth > PSNAP_FOLD_DEPTH) /* put_loop refuses deeper ones; a compiler does not know */
        return to;
    if (step->op == PSNAP_STEP_RUN)
        psnap_hoist_count(with->context, &with->context->tables.hoists[step->a],
                          count_all(&loop, depth, times, counts), step->c, times);
    else
        counts[depth] = (uint64_t)loop.count;
    loops[to] = loop;
    to += loop.width > 0;
    for (uint32_t i = at + 1, next; i <= at + loop.inside; i = next) {
        next = i + 1 + loops[i].inside;
        to = finish(with, i, depth + 1, times * (uint64_t)loop.count, counts, to);
    }
    if (loop.width)
        loops[begin].inside = to - begin - 1;
    return to;
}

/* Delivers the nest; false when that cannot be. */
static bool deliver(struct folding *with, struct psnap_delivery *to)
{
    struct psnap_context *context = with->context;
    struct psnap_nest_maker *maker = &context->maker;
    struct psnap_nest nest = psnap_nest_made(maker);
    const uint64_t accesses = maker->width ? psnap_nest_accesses(&nest) : 0;
    const uint64_t again = (uint64_t)maker->loops[0].count * with->fold->levels[0].within;
    uint64_t counts[PSNAP_FOLD_DEPTH + 1] = {0};

    if (maker->loops[0].count < PSNAP_FOLD_ITERATIONS_MIN || again > with->open->left ||
        psnap_context_bound(context, to->n, accesses, 1) != 1 ||
        !psnap_context_holds(context, &nest))
        return false;
    with->open->left -= (uint32_t)again;
    nest.loop_count = finish(with, 0, 0, 1, counts, 0);
    if (nest.loop_count)
        *to->nest = nest;
    return true;
}

/*
 * An iteration of the loop that step `enter` enters begins: its values are computed and, from it
 * on, as many as are a nest are delivered as one, or counted where nothing is accessed; the record
 * goes on behind them. False: they are too few, or none, and it goes on in the iteration.
 */
static bool fold_iterations(struct psnap_context *context, struct psnap_nested *open,
                            uint32_t enter, struct psnap_delivery *to)
{
    struct psnap_fold *fold = &open->fold;
    struct folding with = {context, open, fold};
    const struct psnap_capture_step *step = &open->steps[enter];
    const uint64_t begun = open->iterations[step->level];
    uint32_t at;

    fold->depth = fold->over = fold->loop = context->maker.width = 0;
    if (put_loop(&with, enter, begun, &at) && deliver(&with, to)) {
        open->at = at;
        fold->found++;
        return true;
    }
    open->directions = open->shifts;
    open->iterations[step->level] = begun;
    if (fold->levels[0].is_over)
        evaluate(context, open, step);
    return false;
}

/* ---- records ---- */

enum { PATIENCE_MAX = 63 };

/* The values of a loop and of those around it, outermost first. */
static void evaluate_all(const struct psnap_context *context, struct psnap_nested *open,
                         uint32_t enter)
{
    const struct psnap_capture_step *step = &open->steps[enter];

    if (enter)
        evaluate_all(context, open, step->c);
    evaluate(context, open, step);
}

/* Takes the progress of a nest that was left: `stopped` is iterations of a hoisted loop, or the
 * iteration of a level that is over. False: it cannot be. */
static bool set_stop(struct psnap_nested *open)
{
    const struct psnap_capture_step *step = &open->steps[open->stop];

    if (step->op == PSNAP_STEP_AGAIN) {
        open->values[PSNAP_NEST_HEADER_WORDS + open->nest->levels + step->level] = open->stopped;
        open->stopped = 0;
    }
    return step->op == PSNAP_STEP_RUN || !open->stopped;
}

enum psnap_status psnap_nested_open(struct psnap_context *context, struct psnap_nested *open,
                                    const struct psnap_capture_piece *end,
                                    struct psnap_error *error)
{
    const struct psnap_table_nest *nest = &context->tables.nests[end->nest - 1].row;
    const struct psnap_table_value *value = &context->tables.values[nest->first_value];
    const struct psnap_shift *shift;
    const uint64_t *at = context->at;

    if (nest->words > (uint64_t)(context->end - at))
        return psnap_loop_corrupt(error, "nest of loops", "it is longer than there is room");
    open->steps = &context->tables.steps[nest->first_step];
    if (at[1] && (at[1] >= nest->steps || open->steps[at[1]].op != PSNAP_STEP_AGAIN))
        return psnap_loop_corrupt(error, "nest of loops", "it goes on where it did not stop");
    open->nest = nest;
    open->at = (uint32_t)at[1];
    open->stop = end->last;
    open->stopped = 0;
    if (end->last == PSNAP_NONE) { /* it was left, or goes on: its progress is in front of it */
        if (context->passed != at - 2)
            return psnap_loop_corrupt(error, "nest of loops", "it has no end");
        open->stop = (uint32_t)(at[-1] >> PSNAP_NEST_STEP_SHIFT);
        open->stopped = at[-1] & ((UINT64_C(1) << PSNAP_NEST_STEP_SHIFT) - 1);
        if (open->stop >= nest->steps || open->stopped > PSNAP_ITERATIONS_MAX)
            return psnap_loop_corrupt(error, "nest of loops", "it stops where it does not come");
    }
    open->left = PSNAP_NEST_ACCESSES + 1;
    memcpy(open->values, at, nest->words * sizeof *at);
    if (end->last == PSNAP_NONE && !set_stop(open))
        return psnap_loop_corrupt(error, "nest of loops", "it stops where it does not come");
    open->shift = context->shift;
    open->shifts = 0;
    for (shift = open->shift; shift; shift = shift->outer) {
        int64_t *deltas = open->deltas[open->shifts++];
        memcpy(deltas, shift->deltas + (at - shift->begin), nest->words * sizeof *at);
        memset(deltas + nest->words, 0, nest->values * sizeof *deltas);
    }
    open->directions = open->shifts;
    for (uint32_t i = 0; i < nest->constants; i++, value++)
        open->values[nest->words + i] = value->a | (uint64_t)value->b << 32;
    memcpy(open->iterations, at + PSNAP_NEST_HEADER_WORDS, nest->levels * sizeof *at);
    if (open->at)
        evaluate_all(context, open, open->steps[open->at].a);
    context->at += nest->words;
    return PSNAP_OK;
}

/* An execution of a hoisted loop, and the `last` pieces behind it: it is counted, or opened. */
static void run(struct psnap_context *context, const struct psnap_nested *open, uint32_t index,
                uint64_t count, uint32_t last, struct psnap_hoisted *hoisted)
{
    const struct psnap_capture_hoist *hoist = &context->tables.hoists[index];

    if (!hoist->refs) {
        psnap_hoist_count(context, hoist, count, last, 1);
        return;
    }
    *hoisted = (struct psnap_hoisted){
        .hoist = hoist,
        .record = open->values,
        .row = open->values,
        .end = open->values,
        .count = count,
        .last = last,
    };
}

/* Whether so few iterations of the nest's outermost loop are left in the record that they are not
 * worth folding. */
static bool is_short(const struct psnap_nested *open, uint32_t enter)
{
    const uint64_t to = open->values[PSNAP_NEST_HEADER_WORDS + open->nest->levels];

    return !enter && to - open->iterations[0] < PSNAP_FOLD_ITERATIONS_MIN - 1;
}

/* An iteration of the loop that step `enter` enters begins: it is a nest with the ones behind it,
 * or it goes by steps. */
static void begin_iteration(struct psnap_context *context, struct psnap_nested *open,
                            uint32_t enter, struct psnap_delivery *to)
{
    struct psnap_capture_step *step = &open->steps[enter];

    open->at = enter + 1;
    if (is_short(open, enter) || step->rest || !to->nest) {
        step->rest = (uint8_t)(step->rest - (step->rest > 0));
        evaluate(context, open, step);
    } else if (fold_iterations(context, open, enter, to))
        step->patience = 0;
    else
        psnap_wait_longer(&step->rest, &step->patience, PATIENCE_MAX);
}

enum psnap_status psnap_nested_next(struct psnap_context *context, struct psnap_nested *open,
                                    struct psnap_hoisted *hoisted, struct psnap_delivery *to,
                                    struct psnap_error *error)
{
    while (!hoisted->hoist && !psnap_delivery_is_over(to)) {
        const struct psnap_capture_step *step = &open->steps[open->at];
        uint64_t count;
        if (open->at == open->stop && has_stopped(open)) {
            open->nest = NULL;
            if (open->stopped)
                run(context, open, step->a, open->stopped, 0, hoisted);
            break;
        }
        switch (step->op) {
        case PSNAP_STEP_RUN:
            count = count_of(open, step);
            if (count > PSNAP_ITERATIONS_MAX)
                return psnap_loop_corrupt(error, "nest of loops",
                                          "it has more iterations than there is time for");
            open->at++;
            run(context, open, step->a, count, step->c, hoisted);
            break;
        case PSNAP_STEP_BRANCH:
            open->at = branch(open, step);
            break;
        case PSNAP_STEP_GOTO:
            open->at = step->a;
            break;
        case PSNAP_STEP_SET:
            set(open, step);
            open->at++;
            break;
        case PSNAP_STEP_COMPUTE:
            evaluate(context, open, step);
            open->at++;
            break;
        case PSNAP_STEP_ENTER:
            open->iterations[step->level] = 0;
            begin_iteration(context, open, open->at, to);
            break;
        default: /* PSNAP_STEP_AGAIN */
            if (!open->left--)
                return psnap_loop_corrupt(error, "nest of loops",
                                          "it does not come to where it stopped");
            open->iterations[step->level]++;
            begin_iteration(context, open, step->a, to);
        }
    }
    return PSNAP_OK;
}
