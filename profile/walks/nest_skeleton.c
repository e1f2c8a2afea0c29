/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The skeleton of a stream: of its loops those of which the order folds when the others are not
 * there. From the loop with most accesses on each is taken that lets the terms of those taken
 * before fold as they did. The others are what comes or does not come, or comes in turn with
 * something else, as the data has it: the swap of two rows when a pivot is not on the diagonal.
 * They become mixes. What follows each other directly is of one mix; so is what comes behind leaves
 * of the skeleton that end with the same reference, and behind each of these the mix is visited, be
 * it in vain. So visits come in an order that folds as well, and the skeleton is told as it is.
 */
#include <stdlib.h>
#include <string.h>

#include "profile/walks/nest_project.h"
#include "profile/walks/nest_stack.h"

enum {
    SEEN_MIN = 16,  /* leaves on the stack of what is worth leaving out, */
    OWN_SHARE = 64, /* and of its values one in so many: fewer are not what makes it high */
    TRIES = 48,     /* loops, and mixes, that are tried */
    FOLDED = 32,    /* values that a loop which folds may add in a third of its leaves, */
    SHARE = 5       /* or of its own one in so many */
};

/* Loops, then mixes. */
struct node {
    uint32_t seen;    /* leaves on the stack, */
    uint64_t own;     /* and their values, */
    uint32_t between; /* and of them those between two that are not kept */
    double weight;    /* accesses; of a mix less than none */
    uint32_t group;   /* a node of the group, itself at last */
    uint32_t mix;     /* of a group's own node, or PSNAP_NONE */
};

struct skeleton {
    const struct psnap_nests *nests;
    size_t loop_count, node_count;
    struct node *nodes;
    bool *is_kept, in_pairs;
    uint32_t *behind; /* by reference: a node behind a leaf that ends with it, or PSNAP_NONE */
    const struct nest_shape *before; /* of the leaf before, or NULL */
    uint32_t last[2];                /* nodes of the last two leaves, or PSNAP_NONE */
};

static uint32_t node_of(const struct skeleton *s, const struct nest_shape *shape)
{
    return shape->width ? shape->loop : (uint32_t)s->loop_count + shape->loop;
}

static void see(struct skeleton *s, const struct nest_pattern *pattern, const uint64_t *values,
                double times)
{
    struct node *node;

    if ((int64_t)values[0] <= 0)
        return;
    times *= (double)values[0];
    for (uint32_t i = 0, at = 1; i < pattern->body_count; at += pattern->body[i++]->values)
        see(s, pattern->body[i], values + at, times);
    if (pattern->body_count)
        return;
    node = &s->nodes[node_of(s, pattern->shape)];
    node->seen++;
    node->own += pattern->values;
    node->weight += pattern->shape->width ? times * pattern->shape->width : -1;
}

/* ---- what is kept ---- */

/* The heaviest node that has not been tried yet. */
static uint32_t next_node(const struct skeleton *s, const bool *is_tried)
{
    uint32_t best = PSNAP_NONE;

    for (uint32_t i = 0; i < s->node_count; i++)
        if (!is_tried[i] && (best == PSNAP_NONE || s->nodes[i].weight > s->nodes[best].weight))
            best = i;
    return best;
}

static uint32_t count_leaves(const struct skeleton *s, const struct nest_pattern *pattern,
                             uint32_t node)
{
    uint32_t count = !pattern->body_count && node_of(s, pattern->shape) == node;

    for (uint32_t i = 0; i < pattern->body_count; i++)
        count += count_leaves(s, pattern->body[i], node);
    return count;
}

/* By how much terms get higher from the second third of a node's leaves to the last: lows[0], those
 * without it, and lows[1]. What there is of an iteration that has not ended does not count. */
static void see_growth(const struct skeleton *s, uint32_t node, size_t *const heights[2],
                       int64_t grown[2])
{
    size_t lows[2][3];
    uint32_t seen = 0;

    memset(lows, 0xff, sizeof lows);
    for (size_t i = 0; i < s->nests->count && seen < s->nodes[node].seen; i++) {
        const uint64_t third = (uint64_t)seen * 3 / s->nodes[node].seen;
        for (int k = 0; k < 2; k++)
            if (heights[k][i] < lows[k][third])
                lows[k][third] = heights[k][i];
        seen += count_leaves(s, s->nests->terms[i].pattern, node);
    }
    for (int k = 0; k < 2; k++)
        grown[k] = (int64_t)lows[k][2] - (int64_t)lows[k][1];
}

/* Of a node that is tried: whether terms still fold with it. What folds gets no higher when it goes
 * on as it was. */
static bool is_folding(const struct skeleton *s, uint32_t node, size_t *const heights[2])
{
    const int64_t own = (int64_t)(s->nodes[node].own / 3 / SHARE);
    int64_t grown[2];

    see_growth(s, node, heights, grown);
    return grown[1] - grown[0] <= (own > FOLDED ? own : FOLDED);
}

/* Stages of a transform are each of another shape: few terms that do not fold, of many accesses. */
static bool is_small(const struct skeleton *s, size_t node)
{
    return s->nodes[node].seen < SEEN_MIN || s->nodes[node].own * OWN_SHARE < s->nests->value_count;
}

static bool choose(struct skeleton *s, bool *is_tried, size_t *heights[2])
{
    const struct nest_kept kept = {s->is_kept, s->loop_count, PSNAP_NONE, s->in_pairs};
    bool is_done;

    for (size_t i = 0; i < s->node_count; i++)
        s->is_kept[i] = is_tried[i] = is_small(s, i);
    is_done = nest_project(s->nests, &kept, heights[0]);
    for (int tries = 0; is_done && tries < TRIES; tries++) {
        const uint32_t i = next_node(s, is_tried);
        if (i == PSNAP_NONE)
            break;
        is_tried[i] = s->is_kept[i] = true;
        is_done = nest_project(s->nests, &kept, heights[1]);
        s->is_kept[i] = is_folding(s, i, heights);
        if (s->is_kept[i]) {
            size_t *lower = heights[0];
            heights[0] = heights[1];
            heights[1] = lower;
        }
    }
    return is_done;
}

static void see_between(struct skeleton *s, const struct nest_pattern *pattern)
{
    for (uint32_t i = 0; i < pattern->body_count; i++)
        see_between(s, pattern->body[i]);
    if (pattern->body_count)
        return;
    const uint32_t node = node_of(s, pattern->shape), *last = s->last;

    if (last[0] != PSNAP_NONE && !s->is_kept[last[0]] && !s->is_kept[node])
        s->nodes[last[1]].between++;
    s->last[0] = s->last[1];
    s->last[1] = node;
}

/* What has been kept for it is little, but mostly comes between what is mixed, is of that. */
static void give_up_between(struct skeleton *s)
{
    s->last[0] = s->last[1] = PSNAP_NONE;
    for (size_t i = 0; i < s->nests->count; i++)
        see_between(s, s->nests->terms[i].pattern);
    for (uint32_t i = 0; i < s->node_count; i++)
        if (s->is_kept[i] && is_small(s, i) && s->nodes[i].between * 2 > s->nodes[i].seen)
            s->is_kept[i] = false;
}

/* ---- what is mixed ---- */

static uint32_t find(struct skeleton *s, uint32_t node)
{
    while (s->nodes[node].group != node)
        node = s->nodes[node].group = s->nodes[s->nodes[node].group].group;
    return node;
}

static void join(struct skeleton *s, uint32_t a, uint32_t b)
{
    a = find(s, a);
    b = find(s, b);
    s->nodes[a > b ? a : b].group = a > b ? b : a;
}

/* A leaf, or a visit, and behind it another one. */
static void follow(struct skeleton *s, const struct nest_shape *shape)
{
    const uint32_t b = node_of(s, shape), a = s->before ? node_of(s, s->before) : PSNAP_NONE;

    if (a == PSNAP_NONE || s->is_kept[b])
        return;
    if (a >= s->loop_count || !s->is_kept[a]) {
        if (a < s->loop_count || b < s->loop_count)
            join(s, a, b);
        return;
    }
    uint32_t *behind = &s->behind[s->before->refs[s->before->width - 1].ref];
    if (*behind == PSNAP_NONE)
        *behind = b;
    else
        join(s, *behind, b);
}

static void follow_term(struct skeleton *s, const struct nest_pattern *pattern)
{
    const struct nest_pattern *first = pattern;

    for (uint32_t i = 0; i < pattern->body_count; i++)
        follow_term(s, pattern->body[i]);
    while (first->body_count)
        first = first->body[0];
    follow(s, first->shape); /* of a loop: from iteration to iteration */
    if (!pattern->body_count)
        s->before = pattern->shape;
}

/* Groups become mixes: one that is there already, or a new one. */
static void name_groups(struct skeleton *s, uint32_t *mix_count, bool *is_any)
{
    for (uint32_t i = (uint32_t)s->loop_count; i < s->node_count; i++) {
        struct node *group = &s->nodes[find(s, i)];
        group->mix = group->mix == PSNAP_NONE ? i - (uint32_t)s->loop_count : group->mix;
    }
    for (uint32_t i = 0; i < s->node_count; i++)
        if (!s->is_kept[i]) {
            struct node *group = &s->nodes[find(s, i)];
            group->mix = group->mix == PSNAP_NONE ? (*mix_count)++ : group->mix;
            *is_any = true;
        }
}

static uint32_t mix_of(struct skeleton *s, uint32_t node)
{
    return 1 + s->nodes[find(s, node)].mix;
}

static void tell(struct skeleton *s, struct nest_states *states)
{
    for (uint32_t i = 0; i < s->loop_count; i++) {
        struct nest_loop_state *loop = &states->loops[i];
        if (loop->mix)
            loop->mix = mix_of(s, (uint32_t)s->loop_count + loop->mix - 1);
        else if (!s->is_kept[i])
            loop->mix = mix_of(s, i);
    }
    for (uint32_t i = 0; i < states->ref_count; i++) {
        struct nest_ref_state *ref = &states->refs[i];
        if (ref->next_mix)
            ref->next_mix = mix_of(s, (uint32_t)s->loop_count + ref->next_mix - 1);
        else if (s->behind[i] != PSNAP_NONE)
            ref->next_mix = mix_of(s, s->behind[i]);
    }
}

bool nest_skeleton(const struct psnap_nests *nests, struct nest_states *states, uint32_t *mix_count,
                   bool *is_any)
{
    struct skeleton s = {.nests = nests,
                         .loop_count = states->loop_count,
                         .in_pairs = states->in_pairs,
                         .node_count = states->loop_count + *mix_count};
    size_t *heights[2] = {malloc((nests->count + 1) * sizeof(size_t)),
                          malloc((nests->count + 1) * sizeof(size_t))};
    bool *is_tried = calloc(s.node_count + 1, sizeof *is_tried), is_done;

    s.nodes = calloc(s.node_count + 1, sizeof *s.nodes);
    s.is_kept = calloc(s.node_count + 1, sizeof *s.is_kept);
    s.behind = malloc((states->ref_count + 1) * sizeof *s.behind);
    is_done = s.nodes && s.is_kept && s.behind && is_tried && heights[0] && heights[1];
    *is_any = false;
    for (uint32_t i = 0; is_done && i < s.node_count; i++) {
        s.nodes[i].group = i;
        s.nodes[i].mix = PSNAP_NONE;
    }
    if (is_done)
        memset(s.behind, 0xff, states->ref_count * sizeof *s.behind);
    for (size_t i = 0; is_done && i < nests->count; i++)
        see(&s, nests->terms[i].pattern, nests_values(nests, i), 1);
    is_done = is_done && choose(&s, is_tried, heights);
    if (is_done)
        give_up_between(&s);
    for (size_t i = 0; is_done && i < nests->count; i++)
        follow_term(&s, nests->terms[i].pattern);
    if (is_done)
        name_groups(&s, mix_count, is_any);
    if (is_done && *is_any)
        is_done = nest_blame_mixed(nests, states, s.is_kept);
    if (is_done)
        tell(&s, states);
    free(s.nodes);
    free(s.is_kept);
    free(s.behind);
    free(is_tried);
    free(heights[0]);
    free(heights[1]);
    return is_done;
}
