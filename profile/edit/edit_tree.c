/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nests to trees and back, and changes of their form (edit_tree.h).
 */
#include "profile/edit/edit_tree.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/arena.h"
#include "profile/profile.h"

enum { STEPS_MAX = 1 << 24 /* iterations that are gone through to measure */ };

/* ---- from terms ---- */

static struct edit_node *new_node(struct psnap_arena *arena, uint32_t depth)
{
    struct edit_node *node = psnap_arena_alloc(arena, sizeof *node);

    if (node)
        *node = (struct edit_node){.depth = depth, .symbol = NEST_NUMBERS, .array = PSNAP_NONE};
    return node;
}

/* A term whose values, with their steps, are `values`; NULL: out of memory. */
static struct edit_node *grow(struct psnap_arena *arena, const struct nest_pattern *pattern,
                              const struct edit_value *values, uint32_t depth)
{
    struct edit_node *node = new_node(arena, depth);
    struct edit_value *inner;

    if (!node)
        return NULL;
    node->count = values[0];
    if (!pattern->body_count) {
        node->symbol = pattern->symbol;
        if (pattern->symbol == NEST_NUMBERS) {
            node->value = values[1];
            node->stride = (int64_t)pattern->steps[0];
        }
        return node;
    }
    node->is_loop = true;
    inner = malloc(pattern->values * sizeof *inner);
    node->children = psnap_arena_alloc(arena, pattern->body_count * sizeof(struct edit_node *));
    if (inner && node->children) {
        memcpy(inner, values + 1, (pattern->values - 1) * sizeof *inner);
        for (size_t k = 0; k + 1 < pattern->values; k++)
            inner[k].steps[depth] = (int64_t)pattern->steps[k];
        for (uint32_t i = 0, at = 0; i < pattern->body_count; at += pattern->body[i++]->values) {
            struct edit_node *child = grow(arena, pattern->body[i], inner + at, depth + 1);
            if (!child)
                break;
            node->children[node->child_count++] = child;
        }
    }
    free(inner);
    return node->child_count == pattern->body_count ? node : NULL;
}

static struct edit_node *grow_term(struct psnap_arena *arena, const struct nest_terms *terms,
                                   size_t term)
{
    const struct nest_pattern *pattern = terms->terms[term].pattern;
    struct edit_value *values = calloc(pattern->values, sizeof *values);
    struct edit_node *node = NULL;

    for (size_t k = 0; values && k < pattern->values; k++)
        values[k].first = (int64_t)nest_term_values(terms, term)[k];
    if (values)
        node = grow(arena, pattern, values, 0);
    free(values);
    return node;
}

struct edit_tree *edit_tree_new(const struct nest_terms *terms)
{
    struct edit_tree *tree = calloc(1, sizeof *tree);
    struct edit_node *root = tree ? &tree->root : NULL;

    if (!tree)
        return NULL;
    *root = (struct edit_node){.is_loop = true, .count = {.first = 1}};
    tree->arena = psnap_arena_new();
    if (tree->arena)
        root->children =
            psnap_arena_alloc(tree->arena, (terms->count + 1) * sizeof(struct edit_node *));
    while (root->children && root->child_count < terms->count) {
        struct edit_node *node = grow_term(tree->arena, terms, root->child_count);
        if (!node)
            break;
        root->children[root->child_count++] = node;
    }
    if (root->children && root->child_count == terms->count)
        return tree;
    edit_tree_free(tree);
    return NULL;
}

void edit_tree_free(struct edit_tree *tree)
{
    if (tree)
        psnap_arena_free(tree->arena);
    free(tree);
}

/* ---- to terms ---- */

/* A node's pattern; its values, with their steps, go to `values`, which the caller frees. */
static const struct nest_pattern *make(struct nest_patterns *patterns, const struct edit_node *node,
                                       struct edit_value **values);

/* Appends a child's values to those of a loop. */
static bool append(struct edit_value **values, size_t *count, const struct edit_value *more,
                   size_t n)
{
    struct edit_value *grown = realloc(*values, (*count + n) * sizeof *grown);

    if (!grown)
        return false;
    memcpy(grown + *count, more, n * sizeof *grown);
    *values = grown;
    *count += n;
    return true;
}

static const struct nest_pattern *
make_loop(struct nest_patterns *patterns, const struct edit_node *node, struct edit_value **values)
{
    const struct nest_pattern **body =
        calloc(node->child_count + (size_t)1, sizeof(struct nest_pattern *));
    const struct nest_pattern *made = NULL;
    uint64_t *steps = NULL;
    size_t count = 0;
    uint32_t i = 0;

    *values = NULL;
    if (body && append(values, &count, &node->count, 1))
        for (; i < node->child_count; i++) {
            struct edit_value *inner = NULL;
            bool is_done = (body[i] = make(patterns, node->children[i], &inner)) != NULL;
            is_done = is_done && append(values, &count, inner, body[i]->values);
            free(inner);
            if (!is_done)
                break;
        }
    if (body && *values && i == node->child_count && (steps = malloc(count * sizeof *steps))) {
        for (size_t k = 1; k < count; k++)
            steps[k - 1] = (uint64_t)(*values)[k].steps[node->depth];
        made = nest_pattern_loop(patterns, body, node->child_count, steps);
    }
    free(steps);
    free(body);
    return made && made->depth < NEST_DEPTH_MAX ? made : NULL;
}

static const struct nest_pattern *make(struct nest_patterns *patterns, const struct edit_node *node,
                                       struct edit_value **values)
{
    if (node->is_loop)
        return make_loop(patterns, node, values);
    *values = malloc(2 * sizeof **values);
    if (!*values)
        return NULL;
    (*values)[0] = node->count;
    (*values)[1] = node->value;
    return node->symbol == NEST_NUMBERS ? nest_pattern_run(patterns, (uint64_t)node->stride)
                                        : nest_pattern_symbol(patterns, node->symbol);
}

static bool push(struct nest_terms *terms, const struct edit_node *node)
{
    struct edit_value *values = NULL;
    const struct nest_pattern *pattern = make(terms->patterns, node, &values);
    uint64_t *firsts = pattern ? malloc(pattern->values * sizeof *firsts) : NULL;
    bool is_done = firsts != NULL;

    for (size_t k = 0; is_done && k < pattern->values; k++)
        firsts[k] = (uint64_t)values[k].first;
    is_done = is_done && nest_terms_push(terms, pattern, firsts);
    free(firsts);
    free(values);
    return is_done;
}

bool edit_tree_store(const struct edit_tree *tree, struct nest_terms *terms)
{
    nest_terms_release(terms);
    for (uint32_t i = 0; i < tree->root.child_count; i++)
        if (!push(terms, tree->root.children[i]))
            return false;
    return true;
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

/* `times` 0: only where it leads. When counts do not change, the first iteration stands for all
 * that they come to, the first and the last for where they lead: addresses are affine. */
static bool measure(struct measuring *m, struct edit_node *node, uint64_t times)
{
    const int64_t count = (int64_t)value_at(m, &node->count, node->depth);
    bool is_even = true, is_done = true;

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
    for (uint32_t i = 0; i < node->child_count && is_even; i++)
        is_even = !edit_node_varies(node->children[i], node->depth);
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

bool edit_tree_measure(struct edit_tree *tree)
{
    struct measuring m = {.steps = STEPS_MAX};

    forget(&tree->root);
    tree->root.visits = tree->root.all = 1;
    for (uint32_t i = 0; i < tree->root.child_count; i++)
        if (!measure(&m, tree->root.children[i], 1))
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

bool edit_tree_leaves(struct edit_node *node, bool (*see)(void *context, struct edit_node *leaf),
                      void *context)
{
    if (!node->is_loop)
        return see(context, node);
    for (uint32_t i = 0; i < node->child_count; i++)
        if (!edit_tree_leaves(node->children[i], see, context))
            return false;
    return true;
}

/* ---- changes of the form ---- */

/* A value gets a step at this depth, `scale` times the one that it had there (0: none). */
static void deepen_value(struct edit_value *value, uint32_t at, int64_t scale)
{
    memmove(&value->steps[at + 1], &value->steps[at],
            (NEST_DEPTH_MAX - 1 - at) * sizeof value->steps[0]);
    value->steps[at] = (int64_t)((uint64_t)value->steps[at] * (uint64_t)scale);
}

/* The node is in one loop more, of this depth, in which values have `scale` times the step that
 * they had in the loop of that depth. */
static bool deepen(struct edit_node *node, uint32_t at, int64_t scale)
{
    if (node->depth + 2 >= NEST_DEPTH_MAX)
        return false;
    node->depth++;
    deepen_value(&node->count, at, scale);
    deepen_value(&node->value, at, scale);
    for (uint32_t i = 0; i < node->child_count; i++)
        if (!deepen(node->children[i], at, scale))
            return false;
    return true;
}

/* A loop, around nothing yet, with room for children; NULL: out of memory. */
static struct edit_node *new_loop(struct edit_tree *tree, uint32_t depth, uint32_t room,
                                  int64_t iterations)
{
    struct edit_node *loop = new_node(tree->arena, depth);

    if (!loop)
        return NULL;
    loop->is_loop = true;
    loop->count.first = iterations;
    loop->children = psnap_arena_alloc(tree->arena, room * sizeof(struct edit_node *));
    return loop->children ? loop : NULL;
}

bool edit_tree_wrap(struct edit_tree *tree, struct edit_node *parent, uint32_t at, uint32_t count,
                    int64_t iterations)
{
    const uint32_t depth = parent->children[at]->depth;
    struct edit_node *around = new_loop(tree, depth, count, iterations);

    if (!around)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        struct edit_node *child = parent->children[at + i];
        around->children[around->child_count++] = child;
        if (!deepen(child, depth, 0))
            return false;
    }
    parent->children[at] = around;
    parent->child_count -= count - 1;
    memmove(&parent->children[at + 1], &parent->children[at + count],
            (parent->child_count - at - 1) * sizeof(struct edit_node *));
    return true;
}

bool edit_tree_split(struct edit_tree *tree, struct edit_node *parent, uint32_t at,
                     int64_t iterations)
{
    struct edit_node *node = parent->children[at];
    const uint32_t depth = node->depth;
    struct edit_node *around = new_loop(tree, depth, 1, node->count.first / iterations);

    if (!around || node->depth + 2 >= NEST_DEPTH_MAX)
        return false;
    for (uint32_t i = 0; i < node->child_count; i++) /* its own steps are theirs at its depth */
        if (!deepen(node->children[i], depth, iterations))
            return false;
    node->depth++;
    deepen_value(&node->count, depth, 0);
    deepen_value(&node->value, depth, 0);
    node->value.steps[depth] = (int64_t)((uint64_t)node->stride * (uint64_t)iterations);
    node->count.first = iterations;
    around->children[around->child_count++] = node;
    parent->children[at] = around;
    return true;
}

/* A run of so many numbers as the first one of an iteration of the loop; NULL: out of memory. */
static struct edit_node *first_run(struct edit_tree *tree, const struct edit_node *loop,
                                   int64_t iteration, uint64_t count)
{
    struct edit_node *run = new_node(tree->arena, loop->depth);
    const struct edit_node *leaf = loop;

    while (leaf->is_loop)
        leaf = leaf->children[0];
    if (!run)
        return NULL;
    run->value = leaf->value;
    run->value.first += leaf->value.steps[loop->depth] * iteration;
    for (uint32_t i = loop->depth; i < NEST_DEPTH_MAX; i++)
        run->value.steps[i] = 0;
    run->count.first = (int64_t)count;
    run->stride = leaf->stride;
    return run;
}

bool edit_tree_cut(struct edit_tree *tree, uint64_t length)
{
    struct edit_node *root = &tree->root;

    for (uint32_t i = 0; i < root->child_count; i++) {
        struct edit_node *node = root->children[i], *run;
        uint64_t whole, iteration;
        if (!edit_node_length(node, &whole))
            return false;
        if (whole <= length) {
            length -= whole;
            continue;
        }
        iteration = whole / (uint64_t)node->count.first;
        root->child_count = i;
        node->count.first = (int64_t)(length / iteration);
        run = node->is_loop ? first_run(tree, node, node->count.first, length % iteration) : NULL;
        if (node->count.first)
            root->children[root->child_count++] = node;
        if (node->is_loop && length % iteration) {
            struct edit_node **more = psnap_arena_alloc(
                tree->arena, (root->child_count + (size_t)1) * sizeof(struct edit_node *));
            if (!run || !more)
                return false;
            memcpy(more, root->children, root->child_count * sizeof(struct edit_node *));
            root->children = more;
            more[root->child_count++] = run;
        }
        return true;
    }
    return true;
}
