/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nests to a tree and back. In a pattern a loop has the steps of everything in it; here every
 * value has its own steps, so that a part can be changed, wrapped or taken away by itself. What
 * was one pattern in several places is several nodes.
 */
#include "profile/edit/edit_tree.h"

#include <stdlib.h>
#include <string.h>

#include "formats/base/arena.h"

/* ---- from nests ---- */

static struct edit_node *new_node(struct psnap_arena *arena, uint32_t depth)
{
    struct edit_node *node = psnap_arena_alloc(arena, sizeof *node);

    if (node)
        *node = (struct edit_node){.depth = depth, .owner = PSNAP_NONE};
    return node;
}

/* A term whose values, with their steps, are `values`. */
static struct edit_node *grow(struct psnap_arena *arena, const struct nest_pattern *pattern,
                              const struct edit_value *values, uint32_t depth)
{
    struct edit_node *node = new_node(arena, depth);
    struct edit_value *inner;

    if (!node)
        return NULL;
    node->count = values[0];
    if (!pattern->body_count) {
        node->loop = pattern->shape->loop;
        node->width = pattern->shape->width;
        node->counts = pattern->shape->counts;
        node->refs = psnap_arena_alloc(arena, (node->width + (size_t)1) * sizeof *node->refs);
        for (uint32_t k = 0; node->refs && k < node->width; k++)
            node->refs[k] = (struct edit_ref){.ref = pattern->shape->refs[k],
                                              .value = values[1 + k],
                                              .stride = (int64_t)pattern->steps[k]};
        return node->refs ? node : NULL;
    }
    node->is_repeat = true;
    inner = malloc(pattern->values * sizeof *inner);
    node->children = psnap_arena_alloc(arena, pattern->body_count * sizeof(struct edit_node *));
    if (!inner || !node->children) {
        free(inner);
        return NULL;
    }
    memcpy(inner, values + 1, (pattern->values - 1) * sizeof *inner);
    for (size_t k = 0; k + 1 < pattern->values; k++)
        inner[k].steps[depth] = (int64_t)pattern->steps[k];
    for (uint32_t i = 0, at = 0; i < pattern->body_count; at += pattern->body[i++]->values)
        if (!(node->children[node->child_count++] =
                  grow(arena, pattern->body[i], inner + at, depth + 1))) {
            free(inner);
            return NULL;
        }
    free(inner);
    return node;
}

static bool grow_all(struct edit_tree *tree, const struct psnap_nests *nests)
{
    tree->root.children =
        psnap_arena_alloc(tree->arena, (nests->count + 1) * sizeof(struct edit_node *));
    for (size_t i = 0; tree->root.children && i < nests->count; i++) {
        const struct nest_pattern *pattern = nests->terms[i].pattern;
        struct edit_value *values = calloc(pattern->values, sizeof *values);
        struct edit_node *node = NULL;
        for (size_t k = 0; values && k < pattern->values; k++)
            values[k].first = (int64_t)nests_values(nests, i)[k];
        if (values)
            node = grow(tree->arena, pattern, values, 0);
        free(values);
        if (!node)
            return false;
        tree->root.children[tree->root.child_count++] = node;
    }
    return tree->root.children != NULL;
}

struct edit_tree *edit_tree_new(const struct psnap_nests *nests)
{
    struct edit_tree *tree = calloc(1, sizeof *tree);

    if (!tree)
        return NULL;
    tree->root = (struct edit_node){.is_repeat = true, .count = {.first = 1}, .owner = PSNAP_NONE};
    tree->arena = psnap_arena_new();
    if (tree->arena && grow_all(tree, nests))
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

/* ---- to nests ---- */

/* A term: its pattern, and its values with their steps; the caller frees these. */
static const struct nest_pattern *make(struct nest_patterns *patterns, const struct edit_node *node,
                                       struct edit_value **values);

static const struct nest_pattern *
make_leaf(struct nest_patterns *patterns, const struct edit_node *node, struct edit_value **values)
{
    struct nest_shape *wanted = calloc(1, nest_shape_bytes(node->width));
    uint64_t strides[NEST_WIDTH_MAX] = {0};
    const struct nest_shape *shape = NULL;

    *values = malloc((node->width + (size_t)1) * sizeof **values);
    if (wanted && *values) {
        wanted->loop = node->loop;
        wanted->width = node->width;
        wanted->counts = node->counts;
        (*values)[0] = node->count;
        for (uint32_t k = 0; k < node->width; k++) {
            wanted->refs[k] = node->refs[k].ref;
            (*values)[1 + k] = node->refs[k].value;
            strides[k] = (uint64_t)node->refs[k].stride;
        }
        shape = nest_shape_of(patterns, wanted);
    }
    free(wanted);
    return shape ? nest_pattern_leaf(patterns, shape, strides) : NULL;
}

/* Appends a child's values to those of the repeat. */
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

static const struct nest_pattern *make_repeat(struct nest_patterns *patterns,
                                              const struct edit_node *node,
                                              struct edit_value **values)
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
    return made;
}

static const struct nest_pattern *make(struct nest_patterns *patterns, const struct edit_node *node,
                                       struct edit_value **values)
{
    return node->is_repeat ? make_repeat(patterns, node, values)
                           : make_leaf(patterns, node, values);
}

struct psnap_nests *edit_tree_nests(const struct edit_tree *tree)
{
    struct psnap_nests *nests = nests_new();
    bool is_done = nests != NULL;

    for (uint32_t i = 0; is_done && i < tree->root.child_count; i++) {
        struct edit_value *values = NULL;
        const struct nest_pattern *pattern = make(nests->patterns, tree->root.children[i], &values);
        uint64_t *firsts = pattern ? malloc(pattern->values * sizeof *firsts) : NULL;
        for (size_t k = 0; firsts && k < pattern->values; k++)
            firsts[k] = (uint64_t)values[k].first;
        is_done = firsts && nests_push(nests, pattern, firsts);
        free(firsts);
        free(values);
    }
    if (is_done)
        return nests;
    nests_free(nests);
    return NULL;
}

/* ---- what it comes to ---- */

struct measuring {
    int64_t at[NEST_DEPTH_MAX]; /* iterations of the repeats around */
    uint64_t steps;             /* that may still be gone through */
};

static uint64_t value_at(const struct measuring *m, const struct edit_value *value, uint32_t depth)
{
    uint64_t sum = (uint64_t)value->first;

    for (uint32_t i = 0; i < depth; i++)
        sum += (uint64_t)value->steps[i] * (uint64_t)m->at[i];
    return sum;
}

static void measure_leaf(struct measuring *m, struct edit_node *leaf, int64_t count, uint64_t times)
{
    leaf->visits += times;
    leaf->all += times * (uint64_t)count;
    for (uint32_t k = 0; k < leaf->width; k++) {
        struct edit_ref *ref = &leaf->refs[k];
        const uint64_t first = value_at(m, &ref->value, leaf->depth);
        const uint64_t last = first + (uint64_t)ref->stride * (uint64_t)(count - 1);
        const uint64_t low = ref->stride < 0 ? last : first, high = first + last - low;
        if (ref->ref.mode != NEST_AFFINE)
            continue;
        ref->low = !ref->high || low < ref->low ? low : ref->low;
        ref->high = high + ref->ref.size > ref->high ? high + ref->ref.size : ref->high;
    }
}

/* Whether counts in a node change with the repeat of that depth. */
static bool changes(const struct edit_node *node, uint32_t depth)
{
    if (node->count.steps[depth])
        return true;
    for (uint32_t i = 0; i < node->child_count; i++)
        if (changes(node->children[i], depth))
            return true;
    return false;
}

/* `times` 0: only where it leads. As counting (nest_profile.c) does, the first iteration stands
 * for all that come to the same, and the last for where they lead. */
static bool measure(struct measuring *m, struct edit_node *node, uint64_t times)
{
    const int64_t count = (int64_t)value_at(m, &node->count, node->depth);
    bool is_even = true, is_done = true;

    if (m->steps-- == 0)
        return false;
    if (count <= 0)
        return true;
    if (!node->is_repeat) {
        measure_leaf(m, node, count, times);
        return true;
    }
    node->visits += times;
    node->all += times * (uint64_t)count;
    for (uint32_t i = 0; i < node->child_count && is_even; i++)
        is_even = !changes(node->children[i], node->depth);
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
    node->visits = node->all = 0;
    for (uint32_t i = 0; i < node->child_count; i++)
        forget(node->children[i]);
    for (uint32_t k = 0; !node->is_repeat && k < node->width; k++)
        node->refs[k].low = node->refs[k].high = 0;
}

bool edit_tree_measure(struct edit_tree *tree)
{
    struct measuring m = {.steps = NEST_STEPS_MAX};
    bool is_done = true;

    forget(&tree->root);
    for (uint32_t i = 0; i < tree->root.child_count && is_done; i++)
        is_done = measure(&m, tree->root.children[i], 1);
    return is_done;
}

/* ---- changes of its form ---- */

void edit_tree_leaves(struct edit_node *node, void (*see)(void *context, struct edit_node *leaf),
                      void *context)
{
    if (!node->is_repeat) {
        see(context, node);
        return;
    }
    for (uint32_t i = 0; i < node->child_count; i++)
        edit_tree_leaves(node->children[i], see, context);
}

static void deepen_value(struct edit_value *value, uint32_t at)
{
    memmove(&value->steps[at + 1], &value->steps[at],
            (NEST_DEPTH_MAX - 1 - at) * sizeof value->steps[0]);
    value->steps[at] = 0;
}

/* One repeat more around the node, at this depth, with which nothing changes. */
static bool deepen(struct edit_node *node, uint32_t at)
{
    if (node->depth + 2 >= NEST_DEPTH_MAX)
        return false;
    node->depth++;
    deepen_value(&node->count, at);
    for (uint32_t k = 0; !node->is_repeat && k < node->width; k++)
        deepen_value(&node->refs[k].value, at);
    for (uint32_t i = 0; i < node->child_count; i++)
        if (!deepen(node->children[i], at))
            return false;
    return true;
}

bool edit_tree_wrap(struct edit_tree *tree, struct edit_node *parent, uint32_t at, uint32_t count,
                    int64_t times)
{
    const uint32_t depth = parent->children[at]->depth;
    struct edit_node *around = new_node(tree->arena, depth);

    if (!around)
        return false;
    around->is_repeat = true;
    around->count.first = times;
    around->children = psnap_arena_alloc(tree->arena, count * sizeof(struct edit_node *));
    if (!around->children)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        around->children[around->child_count++] = parent->children[at + i];
        if (!deepen(parent->children[at + i], depth))
            return false;
    }
    parent->children[at] = around;
    parent->child_count -= count - 1;
    memmove(&parent->children[at + 1], &parent->children[at + count],
            (parent->child_count - at - 1) * sizeof(struct edit_node *));
    return true;
}

void edit_tree_prune(struct edit_node *node,
                     bool (*is_gone)(const void *context, const struct edit_node *leaf),
                     const void *context)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < node->child_count; i++) {
        struct edit_node *child = node->children[i];
        if (child->is_repeat)
            edit_tree_prune(child, is_gone, context);
        if (child->is_repeat ? child->child_count > 0 : !is_gone(context, child))
            node->children[kept++] = child;
    }
    node->child_count = kept;
}
