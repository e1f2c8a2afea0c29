/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nests to trees and back, and changes of their form (edit_tree.h).
 */
#include "profile/edit/edit_tree.h"

#include <string.h>

#include "profile/edit/edit.h"

enum { STEPS_MAX = 1 << 24 /* iterations that are gone through to measure */ };

/* ---- from terms ---- */

/* A node with room for children; NULL: out of memory. */
static struct edit_node *new_node(struct editing *e, uint32_t depth, size_t children)
{
    struct edit_node *node = edit_alloc(e, 1, sizeof *node);
    struct edit_node **room = edit_alloc(e, children, sizeof(struct edit_node *));

    if (node && room)
        *node = (struct edit_node){.children = room,
                                   .is_loop = children > 0,
                                   .depth = depth,
                                   .symbol = NEST_NUMBERS,
                                   .array = PSNAP_NONE};
    return room ? node : NULL;
}

/* A value, and its steps in the loops around. */
static struct edit_value take_value(uint64_t first, const uint64_t *const *steps, uint32_t depth,
                                    size_t index)
{
    struct edit_value value = {.first = (int64_t)first};

    for (uint32_t i = 0; i < depth; i++)
        value.steps[i] = (int64_t)steps[i][index];
    return value;
}

/* The node of a term; steps[i] are those of its values in the loop of depth i around. */
static struct edit_node *grow(struct editing *e, const struct nest_pattern *pattern,
                              const uint64_t *values, const uint64_t *const *steps, uint32_t depth)
{
    struct edit_node *node = new_node(e, depth, pattern->body_count);
    const uint64_t *inner[NEST_DEPTH_MAX];
    size_t at = 0;

    if (!node)
        return NULL;
    node->count = take_value(values[0], steps, depth, 0);
    if (!node->is_loop && (node->symbol = pattern->symbol) == NEST_NUMBERS) {
        node->value = take_value(values[1], steps, depth, 1);
        node->stride = (int64_t)pattern->steps[0];
    }
    for (uint32_t i = 0; i < pattern->body_count; at += pattern->body[i++]->values) {
        struct edit_node *child;
        for (uint32_t k = 0; k < depth; k++)
            inner[k] = steps[k] + 1 + at;
        inner[depth] = pattern->steps + at;
        child = grow(e, pattern->body[i], values + 1 + at, inner, depth + 1);
        if (!child)
            return NULL;
        node->children[node->child_count++] = child;
    }
    return node;
}

struct edit_node *edit_tree_new(struct editing *e, const struct nest_terms *terms)
{
    struct edit_node *root = new_node(e, 0, terms->count + 1);

    if (!root)
        return NULL;
    root->count.first = 1;
    for (size_t i = 0; i < terms->count; i++) {
        root->children[i] = grow(e, terms->terms[i].pattern, nest_term_values(terms, i), NULL, 0);
        if (!root->children[i])
            return NULL;
        root->child_count++;
    }
    return root;
}

/* ---- to terms ---- */

static bool need(struct editing *e, bool is_done)
{
    if (!is_done)
        edit_fail(e, PSNAP_NONE, "out of memory, or more than %d loops in loops", NEST_DEPTH_MAX);
    return is_done;
}

static size_t count_values(const struct edit_node *node)
{
    size_t sum = node->is_loop || node->symbol != NEST_NUMBERS ? 1 : 2;

    for (uint32_t i = 0; i < node->child_count; i++)
        sum += count_values(node->children[i]);
    return sum;
}

/* A node's pattern; `values` gets those of a term of it, with their steps. NULL: out of memory, or
 * loops are too deep. */
static const struct nest_pattern *make(struct editing *e, const struct edit_node *node,
                                       struct edit_value *values)
{
    const struct nest_pattern **body, *made;
    uint64_t *steps;
    size_t n = 1;

    values[0] = node->count;
    if (!node->is_loop && node->symbol != NEST_NUMBERS)
        return nest_pattern_symbol(e->model->patterns, node->symbol);
    if (!node->is_loop) {
        values[1] = node->value;
        return nest_pattern_run(e->model->patterns, (uint64_t)node->stride);
    }
    body = edit_alloc(e, node->child_count, sizeof(struct nest_pattern *));
    steps = edit_alloc(e, count_values(node), sizeof *steps);
    if (!body || !steps)
        return NULL;
    for (uint32_t i = 0; i < node->child_count; n += body[i++]->values)
        if (!(body[i] = make(e, node->children[i], values + n)))
            return NULL;
    for (size_t k = 1; k < n; k++)
        steps[k - 1] = (uint64_t)values[k].steps[node->depth];
    made = nest_pattern_loop(e->model->patterns, body, node->child_count, steps);
    return made && made->depth < NEST_DEPTH_MAX ? made : NULL;
}

void edit_tree_store(struct editing *e, const struct edit_node *root, struct nest_terms *terms)
{
    const size_t room = count_values(root);
    struct edit_value *values = edit_alloc(e, room, sizeof *values);
    uint64_t *firsts = edit_alloc(e, room, sizeof *firsts);

    nest_terms_release(terms);
    for (uint32_t i = 0; i < root->child_count && !e->status; i++) {
        const struct nest_pattern *pattern = make(e, root->children[i], values);
        for (size_t k = 0; pattern && k < pattern->values; k++)
            firsts[k] = (uint64_t)values[k].first;
        need(e, pattern && nest_terms_push(terms, pattern, firsts));
    }
}

/* ---- measures ---- */

struct measuring {
    int64_t at[NEST_DEPTH_MAX]; /* iterations of the loops around */
    uint64_t steps;             /* that may still be gone through */
};

static uint64_t value_at(const struct measuring *m, const struct edit_value *value, uint32_t depth)
{
    uint64_t sum = (uint64_t)value->first;

    for (uint32_t i = 0; i < depth; i++)
        sum += (uint64_t)value->steps[i] * (uint64_t)m->at[i];
    return sum;
}

static void measure_leaf(const struct measuring *m, struct edit_node *leaf, int64_t count)
{
    const uint64_t first = value_at(m, &leaf->value, leaf->depth);
    const uint64_t last = first + (uint64_t)leaf->stride * (uint64_t)(count - 1);
    const uint64_t low = leaf->stride < 0 ? last : first, high = first + last - low;

    leaf->low = low < leaf->low ? low : leaf->low;
    leaf->high = high > leaf->high ? high : leaf->high;
}

bool edit_node_varies(const struct edit_node *node, uint32_t depth)
{
    if (node->count.steps[depth])
        return true;
    for (uint32_t i = 0; i < node->child_count; i++)
        if (edit_node_varies(node->children[i], depth))
            return true;
    return false;
}

bool edit_loop_is_steady(const struct edit_node *loop)
{
    for (uint32_t i = 0; i < loop->child_count; i++)
        if (edit_node_varies(loop->children[i], loop->depth))
            return false;
    return true;
}

/* `times` 0: only where it leads. When counts do not change, the first iteration stands for all
 * that they come to, the first and the last for where they lead: addresses are affine. */
static bool measure(struct measuring *m, struct edit_node *node, uint64_t times)
{
    const int64_t count = (int64_t)value_at(m, &node->count, node->depth);
    bool is_even, is_done = true;

    if (m->steps-- == 0)
        return false;
    if (count <= 0)
        return true;
    node->visits += times;
    node->all += times * (uint64_t)count;
    if (!node->is_loop) {
        measure_leaf(m, node, count);
        return true;
    }
    is_even = edit_loop_is_steady(node);
    for (int64_t at = 0; at < count && is_done; at += is_even && count > 1 && !at ? count - 1 : 1) {
        const uint64_t all = !is_even ? times : at ? 0 : times * (uint64_t)count;
        m->at[node->depth] = at;
        for (uint32_t i = 0; i < node->child_count && is_done; i++)
            is_done = measure(m, node->children[i], all);
    }
    return is_done;
}

static void forget(struct edit_node *node)
{
    node->visits = node->all = node->high = 0;
    node->low = UINT64_MAX;
    for (uint32_t i = 0; i < node->child_count; i++)
        forget(node->children[i]);
}

bool edit_tree_measure(struct edit_node *root)
{
    struct measuring m = {.steps = STEPS_MAX};

    forget(root);
    root->visits = root->all = 1;
    for (uint32_t i = 0; i < root->child_count; i++)
        if (!measure(&m, root->children[i], 1))
            return false;
    return true;
}

bool edit_node_length(const struct edit_node *node, uint64_t *length)
{
    uint64_t sum = node->is_loop ? 0 : 1;

    for (uint32_t i = 0; i < node->depth; i++)
        if (node->count.steps[i])
            return false;
    for (uint32_t i = 0; i < node->child_count; i++) {
        uint64_t child;
        if (!edit_node_length(node->children[i], &child) || child > PSNAP_COUNT_MAX - sum)
            return false;
        sum += child;
    }
    if (node->count.first <= 0)
        sum = 0;
    return !__builtin_mul_overflow(sum, (uint64_t)node->count.first, length);
}

void edit_each_leaf(struct editing *e, struct edit_node *node,
                    void (*see)(struct editing *e, struct edit_node *leaf))
{
    if (!node->is_loop)
        see(e, node);
    for (uint32_t i = 0; i < node->child_count; i++)
        edit_each_leaf(e, node->children[i], see);
}

/* ---- changes of the form ---- */

/* The node is in one loop more, of this depth, in which nothing changes. */
static bool deepen(struct edit_node *node, uint32_t at)
{
    const size_t deeper = (NEST_DEPTH_MAX - 1 - at) * sizeof node->count.steps[0];

    if (node->depth + 2 >= NEST_DEPTH_MAX)
        return false;
    node->depth++;
    memmove(&node->count.steps[at + 1], &node->count.steps[at], deeper);
    memmove(&node->value.steps[at + 1], &node->value.steps[at], deeper);
    node->count.steps[at] = node->value.steps[at] = 0;
    for (uint32_t i = 0; i < node->child_count; i++)
        if (!deepen(node->children[i], at))
            return false;
    return true;
}

bool edit_tree_wrap(struct editing *e, struct edit_node *parent, uint32_t at, uint32_t count,
                    int64_t iterations)
{
    struct edit_node *around = new_node(e, parent->children[at]->depth, count);

    if (!around)
        return false;
    around->count.first = iterations;
    for (uint32_t i = 0; i < count; i++) {
        around->children[around->child_count++] = parent->children[at + i];
        if (!need(e, deepen(parent->children[at + i], around->depth)))
            return false;
    }
    parent->children[at] = around;
    parent->child_count -= count - 1;
    memmove(&parent->children[at + 1], &parent->children[at + count],
            (parent->child_count - at - 1) * sizeof(struct edit_node *));
    return true;
}

static int64_t multiply(int64_t step, int64_t iterations)
{
    return (int64_t)((uint64_t)step * (uint64_t)iterations);
}

/* In the loop of this depth values change by as much as in so many iterations of the one in it. */
static void carry(struct edit_node *node, uint32_t depth, int64_t iterations)
{
    node->count.steps[depth] = multiply(node->count.steps[depth + 1], iterations);
    node->value.steps[depth] = multiply(node->value.steps[depth + 1], iterations);
    for (uint32_t i = 0; i < node->child_count; i++)
        carry(node->children[i], depth, iterations);
}

bool edit_tree_split(struct editing *e, struct edit_node *parent, uint32_t at, int64_t iterations)
{
    struct edit_node *node = parent->children[at];

    if (!edit_tree_wrap(e, parent, at, 1, node->count.first / iterations))
        return false;
    node->count.first = iterations;
    node->value.steps[node->depth - 1] = multiply(node->stride, iterations);
    for (uint32_t i = 0; i < node->child_count; i++)
        carry(node->children[i], node->depth - 1, iterations);
    return true;
}
