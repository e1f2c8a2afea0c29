/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the records of a period deliver in a round, as the body of a loop: runs and rounds as they
 * come, accesses as runs of the references that follow each other, repeated while they advance by
 * strides. Two rounds that have the same body say by how much each access advances.
 */
#include "capture/decode/period.h"

#include <string.h>

void psnap_period_tree_init(struct psnap_period_tree *tree)
{
    tree->node_count = 1; /* the loop around them */
    tree->width = 0;
}

/* Another node, with room for so many accesses; NULL: there is none. */
static struct psnap_round *add_node(struct psnap_period_tree *tree, size_t width, uint64_t count)
{
    struct psnap_round *node = &tree->nodes[tree->node_count];

    if (tree->node_count == PSNAP_ROUNDS_NODES || PSNAP_ROUNDS_WIDTH - tree->width < width)
        return NULL;
    *node = (struct psnap_round){count, 0, (uint16_t)tree->width, (uint16_t)width};
    tree->node_count++;
    tree->width += (uint32_t)width;
    return node;
}

static int64_t *strides_of(struct psnap_period_tree *tree, size_t a)
{
    return &tree->strides[a * PSNAP_ROUNDS_LEVELS];
}

bool psnap_period_tree_run(struct psnap_period_tree *tree, const struct psnap_run *run)
{
    const bool is_plain = !run->columns && run->turns <= 1;
    const struct psnap_round *node = is_plain ? add_node(tree, run->width, run->count) : NULL;

    if (!node)
        return false;
    for (size_t k = 0; k < run->width; k++) {
        tree->first[node->begin + k] = run->first[k];
        memset(strides_of(tree, node->begin + k), 0, PSNAP_ROUNDS_LEVELS * sizeof(int64_t));
        strides_of(tree, node->begin + k)[1] = run->strides[k];
    }
    return true;
}

bool psnap_period_tree_rounds(struct psnap_period_tree *tree, const struct psnap_rounds *rounds)
{
    const uint32_t begin = tree->width, width = rounds->nodes->width;

    if (rounds->node_count > PSNAP_ROUNDS_NODES - tree->node_count ||
        width > PSNAP_ROUNDS_WIDTH - tree->width)
        return false;
    for (uint32_t i = 0; i < rounds->node_count; i++) {
        struct psnap_round *node = &tree->nodes[tree->node_count + i];
        *node = rounds->nodes[i];
        node->begin = (uint16_t)(node->begin + begin);
    }
    for (uint32_t a = 0; a < width; a++) {
        const int64_t *from = &rounds->strides[(size_t)a * PSNAP_ROUNDS_LEVELS];
        if (from[PSNAP_ROUNDS_LEVELS - 1])
            return false; /* too deep */
        tree->first[begin + a] = rounds->first[a];
        memcpy(strides_of(tree, begin + a) + 1, from, (PSNAP_ROUNDS_LEVELS - 1) * sizeof *from);
    }
    tree->node_count += rounds->node_count;
    tree->width += width;
    return true;
}

/* Whether they are the same but for the address. */
static bool are_alike(const struct psnap_access *a, const struct psnap_access *b)
{
    return a->ref == b->ref && a->size == b->size && a->kind == b->kind && a->thread == b->thread;
}

/* How many accesses, from the first on, are of one loop, and of no reference twice. */
static size_t count_distinct(const struct psnap_program *program,
                             const struct psnap_access *accesses, size_t n)
{
    size_t width = 1;

    for (; width < n; width++) {
        if (program->refs[accesses[width].ref].loop != program->refs[accesses->ref].loop)
            break;
        for (size_t k = 0; k < width; k++)
            if (accesses[k].ref == accesses[width].ref)
                return width;
    }
    return width;
}

/* Whether `width` accesses are those before them, advanced as `strides` say. */
static bool is_repetition(const struct psnap_access *accesses, size_t width, const int64_t *strides)
{
    for (size_t k = 0; k < width; k++) {
        const struct psnap_access *before = accesses + k - width;
        if (!are_alike(&accesses[k], before) ||
            accesses[k].address - before->address != (uint64_t)strides[k])
            return false;
    }
    return true;
}

bool psnap_period_tree_accesses(struct psnap_period_tree *tree, const struct psnap_program *program,
                                const struct psnap_access *accesses, size_t n)
{
    while (n) {
        size_t width = count_distinct(program, accesses, n);
        int64_t strides[PSNAP_ROUNDS_WIDTH];
        struct psnap_run run = {.first = accesses, .strides = strides, .count = 1};
        run.width = width = width < PSNAP_ROUNDS_WIDTH ? width : PSNAP_ROUNDS_WIDTH;
        for (size_t k = 0; k < width; k++)
            strides[k] =
                n >= 2 * width ? (int64_t)(accesses[width + k].address - accesses[k].address) : 0;
        while ((run.count + 1) * width <= n &&
               is_repetition(accesses + run.count * width, width, strides))
            run.count++;
        if (!psnap_period_tree_run(tree, &run))
            return false;
        accesses += run.count * width;
        n -= run.count * width;
    }
    return true;
}

bool psnap_period_tree_close(struct psnap_period_tree *tree, const struct psnap_period_tree *second,
                             uint64_t count)
{
    if (tree->node_count != second->node_count || tree->width != second->width ||
        tree->node_count < 2)
        return false;
    for (uint32_t i = 1; i < tree->node_count; i++) {
        const struct psnap_round *a = &tree->nodes[i], *b = &second->nodes[i];
        if (a->count != b->count || a->span != b->span || a->width != b->width)
            return false;
    }
    for (uint32_t a = 0; a < tree->width; a++) {
        const int64_t *others = &second->strides[(size_t)a * PSNAP_ROUNDS_LEVELS];
        int64_t *strides = strides_of(tree, a);
        if (!are_alike(&tree->first[a], &second->first[a]) ||
            memcmp(strides + 1, others + 1, (PSNAP_ROUNDS_LEVELS - 1) * sizeof *strides) != 0)
            return false;
        strides[0] = (int64_t)(second->first[a].address - tree->first[a].address);
    }
    tree->nodes[0] = (struct psnap_round){count, tree->node_count - 1, 0, (uint16_t)tree->width};
    return true;
}

bool psnap_period_tree_stays(const struct psnap_period_tree *tree,
                             const struct psnap_decoder *decoder)
{
    uint64_t counts[PSNAP_ROUNDS_LEVELS];
    uint32_t ends[PSNAP_ROUNDS_LEVELS], depth = 0;

    for (uint32_t i = 0; i < tree->node_count; i++) {
        const struct psnap_round *node = &tree->nodes[i];
        while (depth && i >= ends[depth - 1])
            depth--;
        counts[depth] = node->count;
        ends[depth] = i + 1 + node->span;
        for (uint32_t a = node->begin; !node->span && a < (uint32_t)node->begin + node->width;
             a++) {
            const struct psnap_capture_ref *ref = &decoder->tables.refs[tree->first[a].ref];
            const uint64_t first = tree->first[a].address - ref->delta - ref->low;
            uint64_t room_down = first, room_up = ref->span - 1 - first;
            if (first >= ref->span)
                return false;
            for (uint32_t l = 0; l <= depth; l++) {
                const int64_t stride = tree->strides[(size_t)a * PSNAP_ROUNDS_LEVELS + l];
                uint64_t *room = stride < 0 ? &room_down : &room_up, way;
                if (__builtin_mul_overflow(stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride,
                                           counts[l] - 1, &way) ||
                    way > *room)
                    return false;
                *room -= way;
            }
        }
        depth += node->span > 0;
    }
    return true;
}
