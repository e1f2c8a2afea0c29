/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rounds to iterations. The rounds of a loop are put one by one, those of the loops within it
 * likewise, until one has brought nothing but what was to be expected: then the rest that is alike
 * is put at once (nest_repeat.c). A nest that is known thus takes two rounds of each loop, however
 * many there are. Several iterations in a repetition of a run (quotients) are rounds as well.
 */
#include "profile/walks/nest_lane.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/room.h"
#include "profile/walks/nest_repeat.h"

/* A lane as it was behind a round of the loop at a level. */
struct level {
    struct nest_mark *leaves;
    struct nest_shape *iteration; /* under way */
    uint64_t firsts[NEST_WIDTH_MAX];
};

struct nest_rounds {
    const struct psnap_rounds *rounds; /* that are put */
    struct nest_lane *lane;
    uint64_t round[PSNAP_ROUNDS_LEVELS]; /* of the loops around what is put */
    struct nest_advances advances;
    struct level levels[PSNAP_ROUNDS_LEVELS];
};

static struct nest_rounds *rounds_new(struct nest_lane *lane)
{
    struct nest_rounds *put = calloc(1, sizeof *put);
    bool is_done = put != NULL;

    for (unsigned l = 0; is_done && l < PSNAP_ROUNDS_LEVELS; l++) {
        put->levels[l].leaves = nest_mark_new();
        put->levels[l].iteration = calloc(1, nest_shape_bytes(NEST_WIDTH_MAX));
        is_done = put->levels[l].leaves && put->levels[l].iteration;
    }
    if (is_done) {
        put->lane = lane;
        return put;
    }
    nest_rounds_free(put);
    return NULL;
}

void nest_rounds_free(struct nest_rounds *put)
{
    if (!put)
        return;
    for (unsigned l = 0; l < PSNAP_ROUNDS_LEVELS; l++) {
        nest_mark_free(put->levels[l].leaves);
        free(put->levels[l].iteration);
    }
    free(put->advances.of);
    free(put);
}

static const int64_t *strides_of(const struct nest_rounds *put, uint32_t access)
{
    return &put->rounds->strides[(size_t)access * PSNAP_ROUNDS_LEVELS];
}

/* ---- rounds that are alike ---- */

static void mark(struct nest_rounds *put, unsigned depth)
{
    const struct nest_lane *lane = put->lane;
    const struct nest_leaves *leaves = nest_stack_leaves(lane->stack);
    struct level *level = &put->levels[depth];

    level->leaves->is_set = leaves != NULL;
    if (!leaves)
        return;
    nest_mark_set(level->leaves, leaves);
    memcpy(level->iteration, lane->iteration, nest_shape_bytes(lane->iteration->width));
    memcpy(level->firsts, lane->firsts, lane->iteration->width * sizeof *level->firsts);
}

/* Whether a reference is told by its addresses and nothing else. */
static bool is_affine(const struct nest_leaves *leaves, uint32_t ref, uint32_t loop)
{
    const struct nest_states *states = &leaves->states;

    return ref < states->ref_count && loop < states->loop_count &&
           states->refs[ref].mode == NEST_AFFINE && !states->refs[ref].next_mix &&
           !states->loops[loop].mix && !states->loops[loop].has_drawn_counts;
}

/* By how much references advance from one round of a node to the next; false when they are not
 * affine or one advances by this here and by that there, or out of memory: then it is done in
 * another way. */
static bool find_advances(struct nest_rounds *put, const struct psnap_round *node, unsigned depth,
                          const struct nest_leaves *leaves)
{
    const struct psnap_access *first = put->rounds->first;
    struct nest_advances *advances = &put->advances;

    advances->turn++;
    for (uint32_t a = node->begin; a < (uint32_t)node->begin + node->width; a++) {
        const uint32_t ref = first[a].ref;
        const uint64_t bytes = (uint64_t)strides_of(put, a)[depth];
        if (!is_affine(leaves, ref, put->lane->program->refs[ref].loop))
            return false;
        if (ref >= advances->room) {
            const size_t before = advances->room;
            struct nest_advance *larger =
                psnap_with_room(advances->of, &advances->room, ref + (size_t)1, sizeof *larger);
            if (!larger)
                return false;
            memset(larger + before, 0, (advances->room - before) * sizeof *larger);
            advances->of = larger;
        }
        if (advances->of[ref].known == advances->turn && advances->of[ref].bytes != bytes)
            return false;
        advances->of[ref] = (struct nest_advance){bytes, advances->turn};
    }
    return true;
}

/* Whether the iteration under way is as it was, further by what its references advance. */
static bool has_advanced(const struct nest_lane *lane, const struct level *level,
                         const struct nest_advances *advances)
{
    const struct nest_shape *iteration = lane->iteration;

    if (iteration->width != level->iteration->width ||
        !nest_shape_is_equal(iteration, level->iteration))
        return false;
    for (uint32_t k = 0; k < iteration->width; k++)
        if (!nest_advances_by(advances, iteration->refs[k].ref, lane->firsts[k] - level->firsts[k]))
            return false;
    return true;
}

/* Puts up to `times` rounds of a node that are like the one since the mark, and says how many. */
static uint64_t repeat(struct nest_rounds *put, const struct psnap_round *node, unsigned depth,
                       uint64_t times)
{
    struct nest_lane *lane = put->lane;
    struct nest_leaves *leaves = nest_stack_leaves(lane->stack);
    const struct level *level = &put->levels[depth];

    if (!level->leaves->is_set || !leaves || !find_advances(put, node, depth, leaves) ||
        !has_advanced(lane, level, &put->advances))
        return 0;
    times = nest_leaves_repeat(leaves, level->leaves, &put->advances, times);
    for (uint32_t k = 0; k < lane->iteration->width; k++)
        lane->firsts[k] += times * put->advances.of[lane->iteration->refs[k].ref].bytes;
    return times;
}

/* ---- putting ---- */

/* When rounds are compared: not when references are drawn, and less and less often when in vain. */
struct trying {
    uint64_t next, gap; /* the round; rounds until the one after it */
};

static struct trying begin_trying(struct nest_rounds *put, const struct psnap_round *node,
                                  unsigned depth)
{
    const struct nest_leaves *leaves = nest_stack_leaves(put->lane->stack);
    const uint32_t ref = put->rounds->first[node->begin].ref;
    const bool is_known = leaves && ref < leaves->states.ref_count;

    return (struct trying){
        node->count > 2 && (!is_known || find_advances(put, node, depth, leaves)) ? 1 : UINT64_MAX,
        1};
}

/* Round i of a node has been put: some more, if they are alike. Returns how many. */
static uint64_t put_alike(struct nest_rounds *put, const struct psnap_round *node, unsigned depth,
                          uint64_t i, struct trying *trying)
{
    const uint64_t left = node->count - i - 1;
    uint64_t times = 0;

    if (i == trying->next) {
        times = left ? repeat(put, node, depth, left) : 0;
        trying->gap = times ? 1 : 2 * trying->gap;
        trying->next = i + times + trying->gap;
    }
    if (left - times > 1 && i + times + 1 == trying->next)
        mark(put, depth);
    return times;
}

/* The run of a node, in the rounds that the loops around it are in. */
static enum psnap_status put_run(struct nest_rounds *put, const struct psnap_round *node,
                                 unsigned depth, struct psnap_error *error)
{
    struct psnap_access first[PSNAP_ROUNDS_WIDTH];
    int64_t strides[PSNAP_ROUNDS_WIDTH];
    const struct psnap_run run = {
        .first = first, .strides = strides, .width = node->width, .count = node->count};
    enum psnap_status status = PSNAP_OK;
    struct trying trying;

    for (uint32_t k = 0; k < node->width; k++) {
        const int64_t *from = strides_of(put, node->begin + k);
        first[k] = put->rounds->first[node->begin + k];
        for (unsigned l = 0; l < depth; l++)
            first[k].address += put->round[l] * (uint64_t)from[l];
        strides[k] = from[depth];
    }
    if (!nest_lane_has_turns(put->lane, first, node->width))
        return nest_lane_put_run(put->lane, &run, error);
    trying = begin_trying(put, node, depth);
    for (uint64_t i = 0; i < node->count && !status; i++) {
        uint64_t times;
        status = nest_lane_put(put->lane, first, node->width, error);
        times = status ? 0 : put_alike(put, node, depth, i, &trying);
        for (uint32_t k = 0; k < node->width; k++)
            first[k].address += (1 + times) * (uint64_t)strides[k];
        i += times;
    }
    return status;
}

static enum psnap_status put_node(struct nest_rounds *put, uint32_t at, unsigned depth,
                                  struct psnap_error *error)
{
    const struct psnap_round *node = &put->rounds->nodes[at];
    enum psnap_status status = PSNAP_OK;
    struct trying trying;

    if (!node->span)
        return put_run(put, node, depth, error);
    trying = begin_trying(put, node, depth);
    for (uint64_t i = 0; i < node->count && !status; i++) {
        put->round[depth] = i;
        for (uint32_t k = at + 1; k <= at + node->span && !status;
             k += 1 + put->rounds->nodes[k].span)
            status = put_node(put, k, depth + 1, error);
        i += status ? 0 : put_alike(put, node, depth, i, &trying);
    }
    return status;
}

enum psnap_status nest_lane_put_rounds(struct nest_lane *lane, const struct psnap_rounds *rounds,
                                       struct psnap_error *error)
{
    if (!nest_stack_leaves(lane->stack))
        return PSNAP_OK;
    if (!lane->rounds && !(lane->rounds = rounds_new(lane)))
        return nest_no_memory(error);
    lane->rounds->rounds = rounds;
    return put_node(lane->rounds, 0, 0, error);
}

enum psnap_status nest_lane_put_turns(struct nest_lane *lane, const struct psnap_run *run,
                                      struct psnap_error *error)
{
    int64_t strides[PSNAP_ROUNDS_WIDTH * PSNAP_ROUNDS_LEVELS];
    const struct psnap_round node = {.count = run->count, .width = (uint16_t)run->width};

    memset(strides, 0, run->width * PSNAP_ROUNDS_LEVELS * sizeof *strides);
    for (size_t k = 0; k < run->width; k++)
        strides[k * PSNAP_ROUNDS_LEVELS] = run->strides[k];
    return nest_lane_put_rounds(lane, &(struct psnap_rounds){&node, run->first, strides, 1}, error);
}
