/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rbtree: a red-black tree with parent pointers, nodes from malloc; random keys go in, half of the
 * probes miss, and one walk in order sums it up. Irregular: every descent takes another path, the
 * first levels are hot and the leaves cold; rotations touch what the descent has just touched.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
    struct node *parent, *child[2];
    uint32_t key;
    int red;
};

static uint64_t state = UINT64_C(88172645463325252);

static uint32_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 20);
}

static void rotate(struct node **root, struct node *x, int dir)
{
    struct node *y = x->child[!dir];

    x->child[!dir] = y->child[dir];
    if (y->child[dir])
        y->child[dir]->parent = x;
    y->parent = x->parent;
    if (!x->parent)
        *root = y;
    else
        x->parent->child[x == x->parent->child[1]] = y;
    y->child[dir] = x;
    x->parent = y;
}

static void rebalance(struct node **root, struct node *n)
{
    while (n->parent && n->parent->red) {
        struct node *p = n->parent, *g = p->parent;
        int side = p == g->child[1];
        struct node *uncle = g->child[!side];

        if (uncle && uncle->red) {
            p->red = uncle->red = 0;
            g->red = 1;
            n = g;
            continue;
        }
        if (n == p->child[!side]) {
            rotate(root, p, side);
            p = n;
        }
        p->red = 0;
        g->red = 1;
        rotate(root, g, !side);
        break;
    }
    (*root)->red = 0;
}

static int insert(struct node **root, uint32_t key)
{
    struct node *parent = NULL, *at = *root, *n;

    while (at) {
        if (at->key == key)
            return 0;
        parent = at;
        at = at->child[key > at->key];
    }
    n = calloc(1, sizeof(*n));
    n->key = key;
    n->parent = parent;
    n->red = 1;
    if (parent)
        parent->child[key > parent->key] = n;
    else
        *root = n;
    rebalance(root, n);
    return 1;
}

static const struct node *find(const struct node *at, uint32_t key)
{
    while (at && at->key != key)
        at = at->child[key > at->key];
    return at;
}

static struct node *next(struct node *n)
{
    if (n->child[1]) {
        for (n = n->child[1]; n->child[0];)
            n = n->child[0];
        return n;
    }
    while (n->parent && n == n->parent->child[1])
        n = n->parent;
    return n->parent;
}

static void drop(struct node *n)
{
    if (!n)
        return;
    drop(n->child[0]);
    drop(n->child[1]);
    free(n);
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 60000;
    struct node *root = NULL, *at;
    uint64_t sum = 0, rank = 0;

    for (size_t i = 0; i < n; i++)
        sum += (uint64_t)insert(&root, draw() % (4 * (uint32_t)n) * 2);
    for (size_t i = 0; i < 4 * n; i++)
        sum += find(root, draw() % (8 * (uint32_t)n)) != NULL;
    for (at = root; at->child[0];)
        at = at->child[0];
    for (; at; at = next(at))
        sum += at->key * ++rank;
    drop(root);
    printf("rbtree %zu checksum %" PRIu64 "\n", n, sum);
    return 0;
}
