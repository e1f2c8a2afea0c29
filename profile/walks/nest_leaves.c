/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Iterations to leaves: those of one shape that go on by the same strides are a leaf, wherever
 * blocks and runs begin and end; references of which every address is drawn always go on. When a
 * leaf ends its values are told as the modes say. Iterations of loops that are mixed are a visit
 * of their mix, and leaves of its chain (nest_leaves_mix.c). Where a mix is to be visited behind
 * each leaf of a kind, the visit is there even when none of its loops comes, and then has no
 * leaves.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"
#include "profile/walks/nest_leaves.h"

/* ---- how they are told ---- */

static inline bool tell_ref(struct nest_leaves *l, struct nest_ref *ref, uint64_t address,
                            bool is_mixed)
{
    struct nest_ref_state *state = &l->states.refs[ref->ref];

    if (state->mode == NEST_DRAWN && state->draw) { /* most of what does not fold */
        ref->mode = NEST_DRAWN;
        ref->draw = l->collected ? state->draw - 1 : 0;
        return true;
    }
    if (is_mixed && state->mode != NEST_DRAWN_FIRST)
        state->mode = NEST_DRAWN;
    ref->mode = state->mode;
    ref->draw = 0;
    if (state->mode == NEST_AFFINE || !l->collected)
        return true;
    if (state->mode == NEST_CONTINUING) {
        state->walk = state->walk ? state->walk : 1 + nest_collected_add_walk(l->collected);
        ref->draw = state->walk - 1;
        return state->walk != 0;
    }
    /* Copies of a reference share a draw; each walk of theirs begins for itself. */
    if (!state->draw)
        state->draw = 1 + nest_draws_add(l->collected->draws, ref,
                                         state->mode == NEST_DRAWN_FIRST ? 0 : address);
    ref->draw = state->draw - 1;
    return state->draw != 0;
}

/* Fills modes in. */
static bool tell(struct nest_leaves *l, const struct nest_iterations *it)
{
    struct nest_shape *shape = it->shape;
    const struct nest_loop_state *loop;
    const struct nest_known *known;

    if (!nest_states_cover(&l->states, shape))
        return false;
    loop = &l->states.loops[shape->loop];
    for (uint32_t k = 0; k < shape->width; k++)
        if (!tell_ref(l, &shape->refs[k], it->is_unknown && it->is_unknown[k] ? 0 : it->firsts[k],
                      loop->mix != 0))
            return false;
    shape->counts = 0;
    if (!loop->has_drawn_counts || loop->mix)
        return true;
    known = nest_leaves_known(l, shape);
    if (!known)
        return false;
    if (known->leaf && nest_shape_is_alike(known->leaf->shape, shape)) {
        shape->counts = known->leaf->shape->counts; /* no need to ask */
        return true;
    }
    shape->counts = l->collected ? 1 + nest_collected_counts_of(l->collected, shape) : UINT32_MAX;
    return shape->counts != 0;
}

static bool is_plain(const struct nest_shape *shape)
{
    for (uint32_t k = 0; k < shape->width; k++)
        if (shape->refs[k].mode != NEST_AFFINE)
            return false;
    return !shape->counts;
}

/* The values of the leaf under way as its modes say, and what of it is drawn. */
static bool make_values(struct nest_leaves *l)
{
    const struct nest_shape *shape = l->shape;
    const uint64_t count = l->values[0];

    l->told[0] = shape->counts ? 1 : count;
    for (uint32_t k = 0; k < shape->width; k++) {
        struct nest_ref_state *state = &l->states.refs[shape->refs[k].ref];
        const uint64_t first = l->values[1 + k], mode = shape->refs[k].mode;
        uint64_t stride = l->strides[k];
        if (count > 1)
            state->stride = stride;
        stride = mode == NEST_DRAWN ? 0 : state->stride;
        l->made_strides[k] = stride;
        l->told[1 + k] = mode == NEST_AFFINE ? first : 0;
        if (mode != NEST_CONTINUING)
            continue;
        if (!state->has_position && l->collected)
            l->collected->walks[shape->refs[k].draw] = first;
        l->told[1 + k] = state->has_position ? first - state->position : 0;
        state->position = first + count * stride;
        state->has_position = true;
    }
    return !shape->counts || !l->collected || (l->has_told && l->is_count_told) ||
           counts_add(&l->collected->counts[shape->counts - 1], count);
}

struct nest_known *nest_leaves_known(struct nest_leaves *l, const struct nest_shape *shape)
{
    const uint32_t last = shape->width ? shape->refs[shape->width - 1].ref : 0;
    const size_t before = l->known_room, index = nest_known_index(shape->loop, shape->width, last);
    struct nest_known *larger;

    if (index < before)
        return &l->known[index];
    larger = psnap_with_room(l->known, &l->known_room, index + 1, sizeof *larger);
    if (!larger)
        return NULL;
    memset(larger + before, 0, (l->known_room - before) * sizeof *larger);
    l->known = larger;
    return &larger[index];
}

bool nest_known_is(const struct nest_pattern *known, const struct nest_shape *shape,
                   const uint64_t *strides)
{
    return known && nest_shape_is_equal(known->shape, shape) &&
           !memcmp(known->steps, strides, shape->width * sizeof *strides);
}

/* What functions that call each other touch, each once, is no loop of theirs. */
enum { CALLS_MOST = NEST_DEPTH_MAX };

static bool is_at_rest(const struct nest_leaves *l)
{
    for (uint32_t k = 0; k < l->shape->width; k++)
        if (l->strides[k])
            return false;
    return true;
}

/* The leaf under way, iteration by iteration. */
static bool fold_calls(struct nest_leaves *l, const struct nest_pattern *leaf)
{
    const uint64_t count = l->values[0];
    bool is_done = true;

    l->values[0] = 1;
    for (uint64_t i = 0; is_done && i < count; i++)
        is_done = nest_fold_leaf(l->fold, leaf, l->values);
    l->values[0] = count;
    return is_done;
}

/* Folds the leaf under way as it is. */
static bool fold_leaf(struct nest_leaves *l)
{
    struct nest_patterns *patterns = l->fold->nests->patterns;
    const uint64_t *values = l->values, *strides = l->strides;
    struct nest_known *known;

    if (!is_plain(l->shape)) {
        if (!make_values(l))
            return false;
        values = l->told;
        strides = l->made_strides;
    }
    known = nest_leaves_known(l, l->shape);
    if (!known)
        return false;
    if (!nest_known_is(known->leaf, l->shape, strides)) {
        const struct nest_shape *made = nest_shape_of(patterns, l->shape);
        known->leaf = made ? nest_pattern_leaf(patterns, made, strides) : NULL;
    }
    if (!known->leaf)
        return false;
    if (l->fold->in_pairs && is_plain(l->shape) && values[0] <= CALLS_MOST && is_at_rest(l))
        return fold_calls(l, known->leaf);
    return nest_fold_leaf(l->fold, known->leaf, values);
}

/* Where references of the leaf that has ended were last, as far as that is not drawn. */
static void mark_leaf(struct nest_leaves *l)
{
    const struct nest_shape *shape = l->shape;
    uint32_t from = shape->width, count = 0;

    while (from && count < NEST_MARKS)
        count += shape->refs[--from].mode <= NEST_CONTINUING;
    for (; from < shape->width; from++)
        if (shape->refs[from].mode <= NEST_CONTINUING)
            nest_draws_mark(l->collected->draws, shape->refs[from].ref,
                            l->values[1 + from] + (l->values[0] - 1) * l->strides[from]);
}

/* Where walks are whose first addresses were drawn. */
static void end_firsts(struct nest_leaves *l)
{
    const struct nest_shape *shape = l->shape;

    for (uint32_t k = 0; k < shape->width; k++)
        if (shape->refs[k].mode == NEST_DRAWN_FIRST && !(l->has_told && l->is_told[k]))
            nest_draws_move(l->collected->draws, shape->refs[k].draw,
                            l->values[1 + k] + (l->values[0] - 1) * l->strides[k]);
}

bool nest_leaves_end_leaf(struct nest_leaves *l)
{
    const bool is_leaf = l->shape->width != 0, is_done = !is_leaf || fold_leaf(l);

    if (is_leaf && l->collected) {
        nest_draws_end(l->collected->draws, PSNAP_NONE, l->values[0]);
        end_firsts(l);
        mark_leaf(l);
    }
    if (is_leaf)
        l->due = nest_states_next_mix(&l->states, l->shape);
    l->shape->width = 0;
    return is_done;
}

bool nest_leaves_fold_visit(struct nest_leaves *l, uint32_t mix)
{
    static const uint64_t one = 1;
    struct nest_patterns *patterns = l->fold->nests->patterns;
    const struct nest_shape wanted = {.loop = mix};
    struct nest_known *known = nest_leaves_known(l, &wanted);

    if (known && !known->visit) {
        const struct nest_shape *shape = nest_shape_of(patterns, &wanted);
        known->visit = shape ? nest_pattern_leaf(patterns, shape, &one) : NULL;
    }
    return known && known->visit && nest_fold_leaf(l->fold, known->visit, &one);
}

bool nest_leaves_end_due(struct nest_leaves *l)
{
    const uint32_t mix = l->due - 1;

    if (!l->due)
        return true;
    l->due = 0;
    return nest_leaves_fold_visit(l, mix) &&
           (!l->collected || (mix_begin(l->collected->mixes[mix]) == PSNAP_OK &&
                              mix_end(l->collected->mixes[mix]) == PSNAP_OK));
}

/* Draws the first addresses of the leaf under way. */
static void draw_firsts(struct nest_leaves *l)
{
    const struct nest_shape *shape = l->shape;

    for (uint32_t k = 0; l->collected && k < shape->width; k++)
        if (shape->refs[k].mode == NEST_DRAWN_FIRST && !(l->has_told && l->is_told[k]))
            nest_draws_put_first(l->collected->draws, shape->refs[k].draw, l->loop != shape->loop,
                                 l->values[1 + k]);
}

/* Two iterations with which the next does not go on: the second may belong to what comes. */
static bool put_first_of_two(struct nest_leaves *l)
{
    const uint32_t width = l->shape->width;
    uint64_t strides[NEST_WIDTH_MAX];

    memcpy(strides, l->strides, width * sizeof *strides);
    memset(l->strides, 0, width * sizeof *strides);
    l->values[0] = 1;
    if (!fold_leaf(l))
        return false;
    if (l->collected)
        mark_leaf(l);
    l->due = nest_states_next_mix(&l->states, l->shape);
    if (!nest_leaves_end_due(l))
        return false;
    for (uint32_t k = 0; k < width; k++)
        l->values[1 + k] += strides[k];
    draw_firsts(l);
    return true;
}

/* ---- drawn addresses ---- */

static bool is_drawn(const struct nest_iterations *it, uint32_t k)
{
    return it->shape->refs[k].mode == NEST_DRAWN &&
           !(it->drawn && it->drawn->refs[k].mode == NEST_DRAWN) &&
           !(it->is_unknown && it->is_unknown[k]);
}

/* Draws the addresses of the first iteration. */
static void draw_one(struct nest_draws *draws, const struct nest_iterations *it, bool is_entry)
{
    for (uint32_t k = 0; k < it->shape->width; k++)
        if (is_drawn(it, k))
            nest_draws_put(draws, it->shape->refs[k].draw, is_entry, nest_iterations_first(it, k));
}

/* Draws the addresses of the first n iterations. */
static void draw(struct nest_leaves *l, const struct nest_iterations *it, uint64_t n)
{
    const bool is_entry = l->loop != it->shape->loop;
    struct nest_drawn drawn[NEST_WIDTH_MAX], *to;
    uint32_t count = 0;

    if (n == 1 && l->collected) {
        draw_one(l->collected->draws, it, is_entry);
        l->loop = it->shape->loop;
        return;
    }
    for (uint32_t k = 0; l->collected && k < it->shape->width; k++) {
        const struct psnap_column *column = it->columns ? &it->columns[k] : NULL;
        if (!is_drawn(it, k))
            continue;
        to = &drawn[count++];
        to->draw = it->shape->refs[k].draw;
        to->words = column && column->words ? column->words + it->from * column->pitch : NULL;
        to->pitch = to->words ? column->pitch : 0;
        to->first = to->words ? column->offset : it->firsts[k];
        to->step = !to->words && n > 1 ? it->steps[k] : 0;
    }
    l->loop = it->shape->loop;
    if (count)
        nest_draws_put_all(l->collected->draws, drawn, count, n, is_entry);
}

void nest_iterations_skip(struct nest_iterations *it, uint64_t n)
{
    it->count -= n;
    it->from += n;
    for (uint32_t k = 0; it->count && k < it->shape->width; k++)
        if (!(it->columns && it->columns[k].words))
            it->firsts[k] += n * it->steps[k];
}

void nest_leaves_pass(struct nest_leaves *l, struct nest_iterations *it, uint64_t n)
{
    draw(l, it, n);
    nest_iterations_skip(it, n);
}

/* ---- leaves ---- */

/* How many of the iterations go on where the leaf of their shape ends: none, all, or the first,
 * which had come to its end. */
static uint64_t count_continuing(struct nest_leaves *l, const struct nest_iterations *it)
{
    const struct nest_ref *refs = l->shape->refs;
    const uint32_t width = l->shape->width;
    bool is_same = true;

    if ((l->has_told && l->is_count_told) || (it->told && it->told->counts))
        return 0;
    if (l->values[0] == 1) {
        for (uint32_t k = 0; k < width; k++)
            if (it->count > 1 && refs[k].mode != NEST_DRAWN &&
                it->firsts[k] - l->values[1 + k] != it->steps[k])
                return 0;
        for (uint32_t k = 0; k < width; k++)
            l->strides[k] = refs[k].mode != NEST_DRAWN ? it->firsts[k] - l->values[1 + k] : 0;
        return it->count;
    }
    for (uint32_t k = 0; k < width; k++) {
        if (refs[k].mode == NEST_DRAWN)
            continue;
        if (it->firsts[k] != l->values[1 + k] + l->values[0] * l->strides[k])
            return 0;
        is_same = is_same && (it->count == 1 || it->steps[k] == l->strides[k]);
    }
    return is_same ? it->count : 1;
}

/* Whether an iteration has no address that is not drawn: it goes on with any. */
static bool is_all_drawn(const struct nest_shape *shape)
{
    for (uint32_t k = 0; k < shape->width; k++)
        if (shape->refs[k].mode != NEST_DRAWN)
            return false;
    return true;
}

static void begin(struct nest_leaves *l, struct nest_iterations *it)
{
    const uint32_t width = it->shape->width;

    memcpy(l->shape, it->shape, nest_shape_bytes(width));
    l->values[0] = it->count;
    memcpy(l->values + 1, it->firsts, width * sizeof *it->firsts);
    for (uint32_t k = 0; k < width; k++)
        l->strides[k] = it->count > 1 && it->shape->refs[k].mode != NEST_DRAWN ? it->steps[k] : 0;
    l->has_told = it->told != NULL;
    for (uint32_t k = 0; it->told && k < width; k++)
        l->is_told[k] =
            it->told->refs[k].mode >= NEST_DRAWN_FIRST || (it->is_unknown && it->is_unknown[k]);
    l->is_count_told = it->told && it->told->counts;
    draw_firsts(l);
    nest_leaves_pass(l, it, it->count);
}

bool nest_leaves_put(struct nest_leaves *l, struct nest_iterations *it)
{
    uint64_t n;

    if (!tell(l, it))
        return false;
    if (l->states.loops[it->shape->loop].mix)
        return nest_leaves_put_mixed(l, it);
    if (l->visited != PSNAP_NONE && !nest_leaves_end_visit(l))
        return false;
    if (!l->shape->width) {
        if (!nest_leaves_end_due(l))
            return false;
        begin(l, it);
        return true;
    }
    if (!nest_shape_is_equal(l->shape, it->shape))
        return nest_leaves_end_leaf(l);
    n = count_continuing(l, it);
    if (n) {
        l->values[0] += n;
        nest_leaves_pass(l, it, n);
        return true;
    }
    return l->values[0] == 2 && !is_all_drawn(l->shape) ? put_first_of_two(l)
                                                        : nest_leaves_end_leaf(l);
}

static const struct nest_pattern *last_leaf(const struct nest_pattern *pattern)
{
    while (pattern->body_count)
        pattern = pattern->body[pattern->body_count - 1];
    return pattern;
}

static const struct nest_pattern *first_leaf(const struct nest_pattern *pattern)
{
    while (pattern->body_count)
        pattern = pattern->body[0];
    return pattern;
}

bool nest_leaves_term(struct nest_leaves *l, const struct nest_pattern *pattern,
                      const uint64_t *values)
{
    const struct nest_shape *first = first_leaf(pattern)->shape, *last = last_leaf(pattern)->shape;

    if (!nest_leaves_end_leaf(l) || !nest_leaves_end_visit(l))
        return false;
    if (!first->width && l->due == first->loop + 1)
        l->due = 0;
    if (!nest_leaves_end_due(l) || !nest_fold_term(l->fold, pattern, values))
        return false;
    for (uint32_t i = 0; l->collected && i < NEST_MARKS; i++)
        nest_draws_mark(l->collected->draws, PSNAP_NONE, 0);
    l->due = nest_states_next_mix(&l->states, last);
    return true;
}

bool nest_leaves_end(struct nest_leaves *l)
{
    return nest_leaves_end_leaf(l) && nest_leaves_end_visit(l) && nest_leaves_end_due(l);
}

struct nest_leaves *nest_leaves_new(void)
{
    struct nest_leaves *l = calloc(1, sizeof *l);
    struct psnap_nests *nests = nests_new();

    if (!l) {
        nests_free(nests);
        return NULL;
    }
    l->fold = nests ? nest_fold_new(nests) : NULL;
    l->visited = l->loop = PSNAP_NONE;
    l->shape = calloc(1, nest_shape_bytes(NEST_WIDTH_MAX));
    l->values = calloc(4 * (1 + NEST_WIDTH_MAX), sizeof *l->values);
    l->is_told = calloc(NEST_WIDTH_MAX, sizeof *l->is_told);
    l->part = malloc(nest_shape_bytes(NEST_WIDTH_MAX));
    l->part_before = malloc(nest_shape_bytes(NEST_WIDTH_MAX));
    l->state_next = calloc(NEST_WIDTH_MAX, sizeof *l->state_next);
    if (!l->fold || !l->shape || !l->values || !l->is_told || !l->state_next || !l->part ||
        !l->part_before) {
        nest_leaves_free(l);
        return NULL;
    }
    l->strides = l->values + 1 + NEST_WIDTH_MAX;
    l->told = l->strides + 1 + NEST_WIDTH_MAX;
    l->made_strides = l->told + 1 + NEST_WIDTH_MAX;
    return l;
}

void nest_leaves_free(struct nest_leaves *l)
{
    if (!l)
        return;
    nest_fold_free(l->fold);
    nest_states_free(&l->states);
    free(l->known);
    free(l->shape);
    free(l->values);
    free(l->is_told);
    free(l->state_next);
    free(l->part);
    free(l->part_before);
    free(l);
}
