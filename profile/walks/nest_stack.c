/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a stream did so far, as nests. What does not fold makes the stack of terms grow. When it is
 * too high, or has too many loose ones at the end, it is told in another way and folded anew:
 *
 * - references and counts whose values change by another amount each time (nest_blame.c) are told
 *   by where they went on, or drawn;
 * - when none is to blame it is the order: loops that keep the others from folding become mixes
 *   (nest_skeleton.c); or else the loop without which the stack is lowest becomes one, whose visits
 *   one after the other are one;
 * - when visits of mixes come in no order, the two that follow each other most often become one;
 * - where two groups of terms that do the same elsewhere are a loop, not only three, recursions
 * into halves fold: that is tried before anything else;
 * - when that takes many steps, as in programs of thousands of loops, all loops on the stack become
 *   one mix.
 *
 * That ends: a single mix is a single visit. Ways are tried without drawing anything, from one to
 * the next until the stack is low enough; then it is folded once more, from what it was, and what
 * is no longer told is drawn.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/walks/nest_leaves.h"
#include "profile/walks/nest_stack.h"

enum {
    MOST = 1 << 16,         /* values while the stream goes on */
    WHOLE = 1 << 14,        /* and when it has ended, */
    LAST = 1 << 12,         /* of which are loose */
    FEW = 1 << 8,           /* not worth telling otherwise */
    GAIN = 4,               /* times lower it is worth it below LAST */
    TRIES = 6,              /* loops that may become a mix */
    SAME = 64,              /* values that make no difference */
    PLACED = 3,             /* times higher it is worth it to know where mixes come, */
    VAIN = 4,               /* of which else one visit in so many had anything */
    STEPS = 16,             /* ways tried one after the other until all becomes one mix, and then */
    LEAVES_AGAIN = 1 << 14, /* of a term that is told in another way; longer ones stay, */
    LEAVES_LONG = 1 << 20,  /* but where the stack stays too high for these; */
    LEAVES_ALL = 1 << 22    /* if there are no more of them in all */
};

struct nest_stack {
    struct nest_leaves *leaves;
    struct nest_collected *collected;
    bool has_no_order; /* nothing more is folded */
};

/* ---- ways to tell ---- */

/* A plan: what the stack is like when it is told in this way. */
struct plan {
    struct nest_leaves *leaves; /* NULL: as it is */
    uint32_t mix_count;         /* that there are then */
};

static size_t height(const struct nest_leaves *leaves)
{
    return leaves->fold->nests->value_count;
}

/* The values that there should be few of: what has folded may be as large as the code. */
static size_t excess(const struct nest_leaves *leaves)
{
    return height(leaves) > WHOLE ? height(leaves) : nest_loose(leaves->fold->nests);
}

static struct nest_leaves *try_states(const struct nest_leaves *from,
                                      const struct nest_states *states)
{
    struct nest_leaves *made =
        nest_leaves_again(from->fold->nests, &from->states, states, NULL, from->again);

    if (made)
        made->again = from->again;
    return made;
}

/* Leaves by loop, in terms of the stack. */
static void count_loops(const struct nest_pattern *pattern, uint32_t *counts)
{
    for (uint32_t i = 0; i < pattern->body_count; i++)
        count_loops(pattern->body[i], counts);
    if (!pattern->body_count && pattern->shape->width)
        counts[pattern->shape->loop]++;
}

/* Of the few loops with most leaves on the stack, that without which it is lowest becomes a mix.
 * *made is NULL when there is none. False: out of memory. */
static bool try_mix(const struct nest_leaves *from, uint32_t mix, struct nest_leaves **made)
{
    const struct psnap_nests *nests = from->fold->nests;
    const size_t loops = from->states.loop_count;
    uint32_t *counts = calloc(loops + 1, sizeof *counts);
    struct nest_states states;
    bool is_done = counts && nest_states_copy(&states, &from->states);

    *made = NULL;
    for (size_t i = 0; is_done && i < nests->count; i++)
        count_loops(nests->terms[i].pattern, counts);
    for (size_t i = 0; is_done && i < loops; i++)
        if (states.loops[i].mix)
            counts[i] = 0; /* in terms that stay as they are */
    for (int tries = 0; is_done && tries < TRIES; tries++) {
        struct nest_leaves *way;
        uint32_t loop = 0;
        for (uint32_t i = 1; i < loops; i++)
            loop = counts[i] > counts[loop] ? i : loop;
        if (!counts[loop])
            break;
        counts[loop] = 0;
        states.loops[loop].mix = 1 + mix;
        way = try_states(from, &states);
        states.loops[loop].mix = 0;
        is_done = way != NULL;
        if (way && (!*made || height(way) < height(*made))) {
            nest_leaves_free(*made);
            *made = way;
        } else
            nest_leaves_free(way);
    }
    if (counts)
        nest_states_free(&states);
    free(counts);
    return is_done;
}

/* The mix of a term that is nothing but its visit, or PSNAP_NONE. */
static uint32_t visited(const struct nest_term *term)
{
    const struct nest_shape *shape = term->pattern->shape;

    return term->pattern->body_count || shape->width ? PSNAP_NONE : shape->loop;
}

/* The two mixes that are visited one after the other most often become one. */
static bool try_merge(const struct nest_leaves *from, uint32_t mixes, struct nest_leaves **made)
{
    const struct psnap_nests *nests = from->fold->nests;
    uint32_t *counts = calloc((size_t)mixes * mixes + 1, sizeof *counts);
    struct nest_states states;
    bool is_done = counts && nest_states_copy(&states, &from->states);
    size_t best = 0;

    *made = NULL;
    for (size_t i = 1; is_done && i < nests->count; i++) {
        const uint32_t a = visited(&nests->terms[i - 1]), b = visited(&nests->terms[i]);
        if (a == b || a == PSNAP_NONE || b == PSNAP_NONE)
            continue;
        const size_t pair = (size_t)(a < b ? a : b) * mixes + (a < b ? b : a);
        if (++counts[pair] > counts[best])
            best = pair;
    }
    if (is_done && counts[best]) {
        const uint32_t into = (uint32_t)(1 + best / mixes);
        for (size_t i = 0; i < states.loop_count; i++)
            if (states.loops[i].mix == 1 + best % mixes)
                states.loops[i].mix = into;
        for (size_t i = 0; i < states.ref_count; i++)
            if (states.refs[i].next_mix == 1 + best % mixes)
                states.refs[i].next_mix = into;
        *made = try_states(from, &states);
        is_done = *made != NULL;
    }
    if (counts)
        nest_states_free(&states);
    free(counts);
    return is_done;
}

/* What is to blame is told in another way; of what does not fold when it is alone if `is_alone`. */
static bool try_blame(const struct nest_leaves *from, bool is_alone, struct nest_leaves **made)
{
    struct nest_states states;
    bool is_done = nest_states_copy(&states, &from->states), is_any = false;

    *made = NULL;
    if (!is_done)
        return false;
    is_done = nest_blame(from->fold->nests, &states, from->again, is_alone, &is_any);
    if (is_done && is_any)
        is_done = (*made = try_states(from, &states)) != NULL;
    nest_states_free(&states);
    return is_done;
}

/* Visits of a mix are no longer in vain, where they came to be so only now; false: there are none.
 */
static bool leave_vain(const struct nest_leaves *told, uint32_t mix, struct nest_states *states)
{
    bool is_any = false;

    for (size_t i = 0; i < states->ref_count; i++)
        if (states->refs[i].next_mix == mix + 1 && !told->states.refs[i].next_mix) {
            states->refs[i].next_mix = 0;
            is_any = true;
        }
    return is_any;
}

static double count_visits(const struct nest_pattern *pattern, const uint64_t *values, uint32_t mix)
{
    const double times = (int64_t)values[0] > 0 ? (double)values[0] : 0;
    double sum = !pattern->body_count && !pattern->shape->width && pattern->shape->loop == mix;

    for (uint32_t i = 0, at = 1; i < pattern->body_count; at += pattern->body[i++]->values)
        sum += count_visits(pattern->body[i], values + at, mix);
    return sum * times;
}

/* Whether a mix is visited in vain most of the time, and need not be. */
static bool is_mostly_vain(const struct nest_leaves *with, const struct nest_leaves *without,
                           uint32_t mix)
{
    const struct psnap_nests *nests[2] = {with->fold->nests, without->fold->nests};
    double visits[2] = {0, 0};

    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < nests[k]->count; i++)
            visits[k] += count_visits(nests[k]->terms[i].pattern, nests_values(nests[k], i), mix);
    return visits[0] >= (double)VAIN * visits[1];
}

/* Mixes whose visits fold as they come need not be visited in vain: they come where they do, and
 * not just as often. Where most are in vain that is worth a higher stack. */
static bool try_without(const struct nest_leaves *told, struct nest_states *states, uint32_t mixes,
                        struct nest_leaves **made)
{
    bool is_done = true;

    for (uint32_t mix = 0, tries = 0; is_done && mix < mixes && tries < TRIES; mix++) {
        struct nest_states without;
        struct nest_leaves *way = NULL;
        is_done = nest_states_copy(&without, states);
        if (is_done && leave_vain(told, mix, &without)) {
            way = try_states(told, &without);
            is_done = way != NULL;
            tries++;
        }
        if (way &&
            height(way) <= (is_mostly_vain(*made, way, mix) ? PLACED : 1) * height(*made) + SAME) {
            struct nest_leaves *other = *made;
            struct nest_states with = *states;
            *made = way;
            *states = without;
            way = other;
            without = with;
        }
        nest_leaves_free(way);
        nest_states_free(&without);
    }
    return is_done;
}

/* What keeps the rest from folding becomes mixes, if that makes the stack much lower. */
static bool try_skeleton(const struct nest_leaves *from, struct plan *plan,
                         struct nest_leaves **made)
{
    struct nest_states states;
    uint32_t mixes = plan->mix_count;
    bool is_done = nest_states_copy(&states, &from->states), is_any = false;

    *made = NULL;
    if (!is_done)
        return false;
    is_done = nest_skeleton(from->fold->nests, &states, &mixes, &is_any);
    if (is_done && is_any)
        is_done = (*made = try_states(from, &states)) != NULL;
    if (*made && height(*made) * 2 > height(from)) {
        nest_leaves_free(*made);
        *made = NULL;
    }
    if (*made)
        is_done = try_without(from, &states, mixes, made);
    nest_states_free(&states);
    plan->mix_count = *made ? mixes : plan->mix_count;
    return is_done;
}

/* A loop becomes a mix, or two mixes become one. */
static bool try_order(const struct nest_leaves *from, struct plan *plan, struct nest_leaves **made)
{
    struct nest_leaves *merged = NULL;
    const bool is_done =
        try_merge(from, plan->mix_count, &merged) && try_mix(from, plan->mix_count, made);

    if (*made && (!merged || height(*made) < height(merged))) {
        nest_leaves_free(merged);
        plan->mix_count++;
    } else if (merged) {
        nest_leaves_free(*made);
        *made = merged;
    }
    return is_done;
}

/* All loops that have leaves on the stack, and all mixes, become one. */
static bool try_all(const struct nest_leaves *from, struct plan *plan, struct nest_leaves **made)
{
    const struct psnap_nests *nests = from->fold->nests;
    uint32_t *counts = calloc(from->states.loop_count + 1, sizeof *counts);
    struct nest_states states;
    const bool is_done = counts && nest_states_copy(&states, &from->states);

    *made = NULL;
    for (size_t i = 0; is_done && i < nests->count; i++)
        count_loops(nests->terms[i].pattern, counts);
    for (size_t i = 0; is_done && i < states.loop_count; i++)
        states.loops[i].mix = counts[i] || states.loops[i].mix ? 1 : 0;
    for (size_t i = 0; is_done && i < states.ref_count; i++)
        states.refs[i].next_mix = 0;
    if (is_done) {
        plan->mix_count += plan->mix_count == 0;
        *made = try_states(from, &states);
        nest_states_free(&states);
    }
    free(counts);
    return *made != NULL;
}

/* Terms fold in pairs, if that makes the stack much lower. */
static bool try_pairs(const struct nest_leaves *from, struct nest_leaves **made)
{
    struct nest_states states;

    *made = NULL;
    if (from->states.in_pairs)
        return true;
    if (!nest_states_copy(&states, &from->states))
        return false;
    states.in_pairs = true;
    *made = try_states(from, &states);
    nest_states_free(&states);
    if (!*made)
        return false;
    if (height(*made) * GAIN > height(from)) {
        nest_leaves_free(*made);
        *made = NULL;
    }
    return true;
}

/* The next way to tell what was told as `from`; *made is NULL when there is none. Order is left as
 * it is when there `is_order`. */
static bool try_next(const struct nest_leaves *from, bool is_order, struct plan *plan,
                     struct nest_leaves **made)
{
    if (!try_pairs(from, made))
        return false;
    if (!*made && !try_blame(from, true, made))
        return false;
    if (!*made && !try_skeleton(from, plan, made))
        return false;
    if (!*made && !try_blame(from, false, made))
        return false;
    return *made || is_order || try_order(from, plan, made);
}

/* Looks for a way until the stack has no more than `few` loose values; `plan` is as it is now. */
static bool find_plan(const struct nest_stack *s, bool is_order, struct plan *plan, size_t few)
{
    const unsigned most = is_order ? STEPS : 2 * STEPS;
    bool is_done = true;

    for (unsigned steps = 0; is_done && steps < most; steps++) {
        const struct nest_leaves *from = plan->leaves ? plan->leaves : s->leaves;
        struct nest_leaves *next = NULL;
        if (excess(from) <= few)
            break;
        is_done =
            steps == STEPS ? try_all(from, plan, &next) : try_next(from, is_order, plan, &next);
        if (!next)
            break;
        nest_leaves_free(plan->leaves);
        plan->leaves = next;
    }
    return is_done;
}

/* ---- the way that was found ---- */

/* New mixes get collectors, those that became part of others give up theirs. */
static bool take_mixes(struct nest_stack *s, const struct nest_states *before,
                       const struct nest_states *after, uint32_t mix_count)
{
    while (s->collected->mix_count < mix_count)
        if (nest_collected_add_mix(s->collected) == PSNAP_NONE)
            return false;
    for (size_t i = 0; i < before->loop_count; i++) {
        const uint32_t was = before->loops[i].mix, is = after->loops[i].mix;
        if (was && was != is && s->collected->mixes[was - 1] &&
            !nest_collected_merge_mixes(s->collected, is - 1, was - 1, &s->has_no_order))
            return false;
    }
    return true;
}

/* What goes on goes on where it was; what is told by that now, where it was told last. */
static void take_positions(struct nest_states *states, const struct nest_states *before)
{
    for (size_t i = 0; i < before->ref_count; i++) {
        if (before->refs[i].mode == states->refs[i].mode) {
            states->refs[i].position = before->refs[i].position;
            states->refs[i].has_position = before->refs[i].has_position;
        }
        states->refs[i].stride =
            before->refs[i].stride ? before->refs[i].stride : states->refs[i].stride;
    }
}

/* The leaf under way goes on as it is told now, be it one of a mix. */
static bool take_leaf(struct nest_leaves *l, const struct nest_leaves *before)
{
    const uint32_t width = before->shape->width;
    struct nest_shape *shape = malloc(nest_shape_bytes(NEST_WIDTH_MAX));
    struct nest_iterations it = {.shape = shape,
                                 .firsts = before->values + 1,
                                 .steps = before->strides,
                                 .count = width ? before->values[0] : 0,
                                 .drawn = before->shape};
    bool is_done = shape != NULL;

    if (before->visited != PSNAP_NONE)
        is_done = is_done && nest_leaves_go_on(l, before);
    else if (shape)
        memcpy(shape, before->shape, nest_shape_bytes(width));
    while (is_done && it.count)
        is_done = nest_leaves_put(l, &it);
    free(shape);
    return is_done;
}

/* Whether long terms may be told in another way, too: they are not too many. */
static bool may_be_long(const struct nest_leaves *leaves)
{
    const struct psnap_nests *nests = leaves->fold->nests;
    double sum = 0;

    for (size_t i = 0; i < nests->count; i++) {
        const double count = nest_count_leaves(nests->terms[i].pattern, nests_values(nests, i));
        sum += count <= (double)LEAVES_LONG ? count : 0;
    }
    return sum <= (double)LEAVES_ALL;
}

/* The way to tell what is on the stack, of short terms only if that will do. */
static bool find_way(struct nest_stack *s, bool is_order, struct plan *plan, size_t most,
                     size_t few)
{
    struct nest_leaves *leaves = s->leaves;

    leaves->again = LEAVES_AGAIN;
    if (!find_plan(s, is_order, plan, few))
        return false;
    if (excess(plan->leaves ? plan->leaves : leaves) <= most || !may_be_long(leaves))
        return true;
    nest_leaves_free(plan->leaves);
    *plan = (struct plan){NULL, (uint32_t)s->collected->mix_count};
    leaves->again = LEAVES_LONG;
    return find_plan(s, is_order, plan, few);
}

/* Tells the stack in other ways until it has no more than `few` loose values; with `most` and fewer
 * of them only if that makes much of a difference, and their order is left as it is. When there are
 * still more, or a mix has too many states, there are no nests. */
static bool lower(struct nest_stack *s, size_t most, size_t few)
{
    struct nest_leaves *before = s->leaves, *after = NULL;
    const bool is_order = excess(before) <= most;
    struct plan plan = {NULL, (uint32_t)s->collected->mix_count};
    bool is_done;

    is_done = nest_fold_end(before->fold) && find_way(s, is_order, &plan, most, few);
    if (is_done && is_order && plan.leaves && excess(plan.leaves) * GAIN > excess(before)) {
        nest_leaves_free(plan.leaves);
        plan.leaves = NULL;
    }
    if (is_done && plan.leaves) {
        is_done = take_mixes(s, &before->states, &plan.leaves->states, plan.mix_count);
        after = is_done ? nest_leaves_again(before->fold->nests, &before->states,
                                            &plan.leaves->states, s->collected, before->again)
                        : NULL;
        is_done = after != NULL;
    }
    if (after) {
        after->has_too_many |= before->has_too_many;
        after->fold->changes += 1 + before->fold->changes; /* as it was is no mark */
        take_positions(&after->states, &before->states);
        after->loop = before->loop;
        is_done = take_leaf(after, before);
        s->leaves = after;
        nest_leaves_free(before);
    }
    nest_leaves_free(plan.leaves);
    s->has_no_order |= excess(s->leaves) > most || s->leaves->has_too_many;
    return is_done;
}

/* ---- what comes ---- */

static inline bool is_high(const struct nest_stack *stack)
{
    return height(stack->leaves) > MOST && !stack->has_no_order;
}

bool nest_stack_put(struct nest_stack *stack, struct nest_iterations *iterations)
{
    while (iterations->count && !stack->has_no_order)
        if (!nest_leaves_put(stack->leaves, iterations) ||
            (is_high(stack) && !lower(stack, MOST, MOST / 8)))
            return false;
    return true;
}

enum nest_taken nest_stack_put_again(struct nest_stack *stack, uint32_t loop,
                                     const struct psnap_access *accesses, uint32_t width)
{
    enum nest_taken taken = NEST_ENDED;

    while (taken == NEST_ENDED && !stack->has_no_order) {
        taken = nest_leaves_put_again(stack->leaves, loop, accesses, width);
        if (taken == NEST_NO_MEMORY || (is_high(stack) && !lower(stack, MOST, MOST / 8)))
            return NEST_NO_MEMORY;
    }
    return taken;
}

struct nest_leaves *nest_stack_leaves(struct nest_stack *stack)
{
    return stack->has_no_order ? NULL : stack->leaves;
}

bool nest_stack_draws(const struct nest_stack *stack, uint32_t ref)
{
    const struct nest_states *states = &stack->leaves->states;

    return stack->has_no_order || (ref < states->ref_count && states->refs[ref].mode == NEST_DRAWN);
}

bool nest_stack_end(struct nest_stack *stack)
{
    if (stack->has_no_order)
        return true;
    if (!nest_leaves_end(stack->leaves) || !nest_fold_end(stack->leaves->fold))
        return false;
    if (excess(stack->leaves) > LAST && !lower(stack, LAST, LAST))
        return false;
    /* Where terms began to fold in pairs within a recursion some are left loose. */
    if (!stack->has_no_order && !stack->leaves->states.in_pairs && excess(stack->leaves) > FEW &&
        !lower(stack, LAST, FEW))
        return false;
    if (!nest_leaves_end(stack->leaves) || !nest_fold_end(stack->leaves->fold))
        return false;
    stack->has_no_order |= stack->leaves->has_too_many;
    if (stack->has_no_order)
        return true;
    stack->leaves->fold->nests->models = nest_collected_take(stack->collected);
    return stack->leaves->fold->nests->models != NULL;
}

const struct psnap_nests *nest_stack_nests(const struct nest_stack *stack)
{
    return stack->has_no_order ? NULL : stack->leaves->fold->nests;
}

struct nest_stack *nest_stack_new(const struct psnap_program *program)
{
    struct nest_stack *stack = calloc(1, sizeof *stack);

    if (!stack)
        return NULL;
    stack->leaves = nest_leaves_new();
    stack->collected = nest_collected_new(program);
    if (stack->leaves && stack->collected) {
        stack->leaves->collected = stack->collected;
        return stack;
    }
    nest_stack_free(stack);
    return NULL;
}

void nest_stack_free(struct nest_stack *stack)
{
    if (!stack)
        return;
    nest_leaves_free(stack->leaves);
    nest_collected_free(stack->collected);
    free(stack);
}
