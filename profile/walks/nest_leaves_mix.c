/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Iterations of loops that are mixed to tokens of their mix's chain. Those of one shape are a token
 * as long as they go on by the strides that their references have; whatever is drawn goes on.
 * References that do not go on from one iteration to the next are drawn for each, from when that is
 * clear. A loop of many kinds of iterations is told block by block.
 */
#include <string.h>

#include "profile/walks/nest_leaves.h"

enum { TOKENS_MIN = 64 };

/* References that do not go on from iteration to iteration are drawn for each. */
static void judge_state(struct nest_leaves *l)
{
    const struct nest_shape *shape = l->state->shape;

    for (uint32_t k = 0; k < shape->width; k++) {
        struct nest_ref_state *ref = &l->states.refs[shape->refs[k].ref];
        ref->tokens++;
        ref->iterations += l->state_count;
        if (ref->tokens >= TOKENS_MIN && ref->iterations < 2 * ref->tokens)
            ref->mode = NEST_DRAWN;
    }
}

/* Where walks are whose first addresses were drawn. */
static void end_firsts(struct nest_leaves *l)
{
    const struct nest_pattern *state = l->state;

    for (uint32_t k = 0; l->is_state_known && k < state->shape->width; k++)
        if (state->shape->refs[k].mode == NEST_DRAWN_FIRST)
            nest_draws_move(l->collected->draws, state->shape->refs[k].draw,
                            l->state_next[k] - state->steps[k]);
}

bool nest_leaves_end_state(struct nest_leaves *l)
{
    const struct nest_pattern *state = l->state;
    enum psnap_status status;

    if (!state)
        return true;
    if (!l->is_state_drawn) {
        judge_state(l);
        end_firsts(l);
    }
    l->state = NULL;
    l->is_begun = true;
    nest_draws_end(l->collected->draws, state->shape->loop, l->state_count);
    status = mix_add(l->collected->mixes[l->visited], state->number, l->state_count);
    l->has_too_many |= status == PSNAP_ERROR_LIMIT;
    return status != PSNAP_ERROR_MEMORY;
}

/* Tokens that come on are no longer of the same visit of the chain. */
static bool end_tokens(struct nest_leaves *l)
{
    bool is_done = nest_leaves_end_state(l);

    if (is_done && l->is_begun)
        is_done = mix_end(l->collected->mixes[l->visited]) == PSNAP_OK;
    l->is_begun = false;
    return is_done;
}

bool nest_leaves_end_visit(struct nest_leaves *l)
{
    const bool is_done = end_tokens(l);

    l->visited = PSNAP_NONE;
    return is_done;
}

bool nest_leaves_visit(struct nest_leaves *l, uint32_t mix)
{
    if (l->visited == mix)
        return end_tokens(l);
    if (!nest_leaves_end_leaf(l) || !nest_leaves_end_visit(l))
        return false;
    if (l->due == mix + 1)
        l->due = 0;
    if (!nest_leaves_end_due(l))
        return false;
    l->visited = mix;
    l->loop = PSNAP_NONE;
    return nest_leaves_fold_visit(l, mix);
}

bool nest_leaves_go_on(struct nest_leaves *l, const struct nest_leaves *before)
{
    if (!nest_leaves_end_state(l))
        return false;
    l->state = before->state;
    l->state_count = before->state_count;
    l->is_state_known = before->is_state_known;
    l->is_state_drawn = before->is_state_drawn;
    memcpy(l->state_next, before->state_next, NEST_WIDTH_MAX * sizeof *l->state_next);
    l->is_begun |= before->is_begun;
    return true;
}

/* How many of the iterations go on with the state under way, of which the first addresses are
 * drawn, by the stride that the reference has. */
static uint64_t count_of_state(const struct nest_leaves *l, const struct nest_iterations *it)
{
    uint64_t n = it->count;

    if (!l->state || !nest_shape_is_equal(l->state->shape, it->shape))
        return 0;
    for (uint32_t k = 0; k < it->shape->width; k++) {
        if (it->shape->refs[k].mode != NEST_DRAWN_FIRST)
            continue;
        if (!l->is_state_known || it->firsts[k] != l->state_next[k])
            return 0;
        n = it->count > 1 && it->steps[k] != l->state->steps[k] ? 1 : n;
    }
    return n;
}

/* Begins a state with the first of the iterations. */
static bool begin_state(struct nest_leaves *l, const struct nest_iterations *it)
{
    const struct nest_shape *shape = it->shape;
    struct nest_known *known = nest_leaves_known(l, shape);
    uint64_t strides[NEST_WIDTH_MAX];

    if (!known || !nest_leaves_end_state(l))
        return false;
    l->is_state_known = l->is_state_drawn = true;
    for (uint32_t k = 0; k < shape->width; k++) {
        const struct nest_ref *ref = &shape->refs[k];
        const bool is_unknown = it->is_unknown && it->is_unknown[k];
        const bool is_first = ref->mode == NEST_DRAWN_FIRST;
        strides[k] = is_first ? l->states.refs[ref->ref].stride : 0;
        l->state_next[k] = it->firsts[k];
        l->is_state_known &= !is_unknown;
        l->is_state_drawn &= ref->mode == NEST_DRAWN;
        if (is_first && !is_unknown && !(it->told && it->told->refs[k].mode >= NEST_DRAWN_FIRST))
            nest_draws_put_first(l->collected->draws, ref->draw, l->loop != shape->loop,
                                 it->firsts[k]);
    }
    if (!nest_known_is(known->state, shape, strides)) {
        const uint32_t before = nest_pattern_count(l->collected->shapes);
        const struct nest_shape *made = nest_shape_of(l->collected->shapes, shape);
        known->state = made ? nest_pattern_leaf(l->collected->shapes, made, strides) : NULL;
        l->states.loops[shape->loop].states += nest_pattern_count(l->collected->shapes) - before;
        known->is_drawn = l->is_state_drawn;
    }
    l->state = known->state;
    l->state_count = 0;
    return l->state;
}

/* Some iterations of the mix that is visited. */
static bool put_state(struct nest_leaves *l, struct nest_iterations *it)
{
    uint64_t n = it->count;

    if (l->collected) {
        n = count_of_state(l, it);
        if (!n) {
            if (!begin_state(l, it))
                return false;
            n = l->is_state_known ? count_of_state(l, it) : it->count;
        }
        for (uint32_t k = 0; k < it->shape->width; k++)
            l->state_next[k] += n * l->state->steps[k];
        l->state_count += n;
    }
    nest_leaves_pass(l, it, n);
    return true;
}

/* Where the block ends that a reference of a shape is of. */
static uint32_t end_of_block(const struct nest_leaves *l, const struct nest_shape *shape,
                             uint32_t from)
{
    const struct psnap_ref *refs = l->collected->program->refs;
    uint32_t to = from + 1;

    while (to < shape->width &&
           refs[shape->refs[to].ref].block == refs[shape->refs[from].ref].block)
        to++;
    return to;
}

static void take_part(struct nest_shape *part, const struct nest_shape *whole, uint32_t from,
                      uint32_t width)
{
    part->loop = whole->loop;
    part->width = width;
    part->counts = part->number = 0;
    memcpy(part->refs, whole->refs + from, width * sizeof *part->refs);
}

/* The first of the iterations, block by block. Where stores depend on data, as many blocks as there
 * are lanes in a vector come or do not come, there are more kinds of iterations than can be told.
 */
static bool put_blocks(struct nest_leaves *l, struct nest_iterations *it)
{
    const struct nest_shape *shape = it->shape;
    uint64_t firsts[NEST_WIDTH_MAX];
    bool is_done = true;

    for (uint32_t k = 0; k < shape->width; k++)
        firsts[k] = nest_iterations_first(it, k);
    for (uint32_t from = 0, to; is_done && from < shape->width; from = to) {
        struct nest_iterations part = {.shape = l->part, .firsts = firsts + from, .count = 1};
        to = end_of_block(l, shape, from);
        take_part(l->part, shape, from, to - from);
        part.is_unknown = it->is_unknown ? it->is_unknown + from : NULL;
        if (it->drawn || it->told)
            take_part(l->part_before, it->drawn ? it->drawn : it->told, from, to - from);
        part.drawn = it->drawn ? l->part_before : NULL;
        part.told = it->told ? l->part_before : NULL;
        is_done = put_state(l, &part);
    }
    nest_iterations_skip(it, 1);
    return is_done;
}

bool nest_leaves_put_mixed(struct nest_leaves *l, struct nest_iterations *it)
{
    const struct nest_loop_state *loop = &l->states.loops[it->shape->loop];
    const uint32_t mix = loop->mix - 1;

    if (l->visited != mix && !nest_leaves_visit(l, mix))
        return false;
    if (l->collected && loop->states >= NEST_STATES_MANY &&
        end_of_block(l, it->shape, 0) < it->shape->width)
        return put_blocks(l, it);
    return put_state(l, it);
}
