/* SPDX-License-Identifier: BSD-3-Clause */
/*
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
 * (nest.c), and so do the loops in it, but for those that have a nest of their own.
 */
#include "capture/decode/fold.h"

#include <string.h>

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

static bool advances(const struct psnap_fold *fold, uint32_t value)
{
    for (uint32_t l = 0; l < fold->depth; l++)
        if (fold->deltas[l][value])
            return true;
    return false;
}

/* Iterations in which the level's values may still be bounded. */
static uint64_t *times_of(struct psnap_fold_level *level, uint64_t *none)
{
    *none = UINT64_MAX;
    return level->is_over ? none : &level->times;
}

/* How the values of a step, which are computed, advance along a level; nearly all of them do not.
 */
static void advance(const struct folding *with, const struct psnap_capture_step *step, uint32_t l)
{
    const struct psnap_nested *open = with->open;
    const struct psnap_table_value *value =
        &with->context->tables.values[open->nest->first_value + step->a];
    struct psnap_fold_level *level = &with->fold->levels[l];
    const bool is_own = open->steps[level->enter].level == step->level;
    int64_t *deltas = with->fold->deltas[l];
    uint64_t none, *times = times_of(level, &none);
    uint32_t index = open->nest->words + step->a;

    for (uint32_t i = 0; i < step->b; i++, value++, index++) {
        deltas[index] = 0;
        if (deltas[value->a] || (psnap_value_has_second(value) && deltas[value->b]) ||
            (is_own && value->op == PSNAP_VALUE_RECURRENCE))
            deltas[index] = psnap_value_advance(value, open->values, deltas, is_own,
                                                open->values[index], times);
    }
}

static bool changes(const struct folding *with, uint32_t value)
{
    int64_t(*shifts)[PSNAP_NEST_VALUES_MAX] = with->open->shifts;

    for (const struct psnap_shift *shift = with->open->shift; shift; shift = shift->outer, shifts++)
        if ((*shifts)[value])
            return true;
    return advances(with->fold, value);
}

/* Computes the values of a step and how they advance; false when they are no linear functions. */
static bool compute(const struct folding *with, const struct psnap_capture_step *step)
{
    const struct psnap_fold *fold = with->fold;
    const struct psnap_table_value *value =
        &with->context->tables.values[with->open->nest->first_value + step->a];

    psnap_nested_evaluate(with->context, with->open, step);
    for (uint32_t l = 0; l < fold->depth; l++)
        advance(with, step, l);
    for (uint32_t i = 0; i < step->b; i++, value++)
        if (value->op == PSNAP_VALUE_MUL && changes(with, value->a) && changes(with, value->b))
            return false;
    return true;
}

/* Whether a value that is `first` in the first iterations, and advances by `strides`, is `value`
 * now, and does so. */
static bool is_linear(const struct psnap_fold *fold, uint64_t first, const int64_t *strides,
                      uint64_t value, uint32_t index)
{
    for (uint32_t l = 0; l < fold->depth; l++) {
        const struct psnap_fold_level *level = &fold->levels[l];
        if (!is_last(level) && index && fold->deltas[l][index] != strides[l])
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
            strides[l] = fold->deltas[l][move->base];
        strides[fold->depth] = step;
    }
    return strides[fold->depth] == step && !(move->step && advances(fold, move->step)) &&
           is_linear(fold, maker->first[a].address, strides, address + ref->delta, move->base);
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
    const uint64_t count = psnap_nested_count(with->open, step);
    struct psnap_nest_maker *maker = &with->context->maker;
    struct psnap_nest_loop *loop = next_loop(with, at);

    if (!loop || count > PSNAP_ITERATIONS_MAX || (hoist->refs && (step->c || hoist->quotients)))
        return false;
    if (is_first(fold)) {
        loop->count = (int64_t)count;
        loop->shape = hoist->first_piece + 1;
        for (uint32_t l = 0; l < fold->depth && step->b; l++)
            loop->count_steps[l] = fold->deltas[l][step->b];
        if (count || (step->b && advances(fold, step->b)))
            loop->width = (uint16_t)hoist->refs;
        if (loop->width > PSNAP_NEST_WIDTH - maker->width)
            return false;
        maker->width += loop->width;
    }
    for (uint32_t l = 0; l < fold->depth && step->b; l++) {
        uint64_t none;
        psnap_value_bound(count, fold->deltas[l][step->b], 63, times_of(&fold->levels[l], &none));
    }
    if (!is_linear(fold, (uint64_t)loop->count, loop->count_steps, count, step->b))
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
        if (*at == open->stop && psnap_nested_has_stopped(open))
            return fold->depth == 1 ? LEAVES : FAILS;
        switch (step->op) {
        case PSNAP_STEP_RUN:
            if (!put_run(with, *at))
                return FAILS;
            ++*at;
            break;
        case PSNAP_STEP_BRANCH:
            if (advances(fold, step->a))
                return FAILS;
            *at = psnap_nested_branch(open, step);
            break;
        case PSNAP_STEP_GOTO:
            *at = step->a;
            break;
        case PSNAP_STEP_SET:
            psnap_nested_set(open, step);
            for (uint32_t l = 0; l < fold->depth; l++)
                fold->deltas[l][step->a] = fold->deltas[l][step->b];
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
    const struct psnap_nested *open = with->open;
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
    memset(fold->deltas[fold->depth++], 0,
           (open->nest->words + open->nest->values) * sizeof **fold->deltas);
    way = walk_from(with, 0, at);
    if (way == ENDS)
        count = count_iterations(with, at);
    if (way == FAILS || !count)
        return false;
    fold->depth--;
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

void psnap_nested_shift(const struct psnap_context *context, struct psnap_nested *open,
                        const struct psnap_capture_step *step)
{
    const struct psnap_table_value *value =
        &context->tables.values[open->nest->first_value + step->a];
    const uint32_t first = open->nest->words + step->a;
    int64_t(*shifts)[PSNAP_NEST_VALUES_MAX] = open->shifts;

    for (struct psnap_shift *shift = open->shift; shift; shift = shift->outer, shifts++)
        for (uint32_t i = 0; i < step->b; i++)
            (*shifts)[first + i] = psnap_value_advance(&value[i], open->values, *shifts, false,
                                                       open->values[first + i], &shift->times);
}

bool psnap_fold(struct psnap_context *context, struct psnap_nested *open, uint32_t enter,
                struct psnap_delivery *to)
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
    open->iterations[step->level] = begun;
    if (fold->levels[0].is_over)
        psnap_nested_evaluate(context, open, step);
    return false;
}
