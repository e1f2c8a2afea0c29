/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * btree: a B-tree with up to 31 keys a node; insertions split full nodes on the way down, then
 * point lookups by binary search and range scans over children. Irregular: nodes of 512 bytes
 * anywhere on the heap, bisection within them, moves of half a node.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HALF = 16, KEYS = 2 * HALF - 1 };

struct node {
    uint16_t keys, leaf;
    uint32_t value[KEYS];
    uint64_t key[KEYS];
    struct node *child[]; /* KEYS + 1, none of a leaf */
};

static uint64_t xorshift(uint64_t *s)
{
    *s ^= *s >> 12;
    *s ^= *s << 25;
    *s ^= *s >> 27;
    return *s * UINT64_C(2685821657736338717);
}

static struct node *new_node(int leaf)
{
    struct node *n = calloc(1, sizeof(*n) + (leaf ? 0 : KEYS + 1) * sizeof(n));

    n->leaf = (uint16_t)leaf;
    return n;
}

static unsigned lower(const struct node *n, uint64_t key)
{
    unsigned low = 0, high = n->keys;

    while (low < high) {
        unsigned middle = (low + high) / 2;

        if (n->key[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void split(struct node *parent, unsigned at)
{
    struct node *left = parent->child[at], *right = new_node(left->leaf);

    right->keys = HALF - 1;
    memcpy(right->key, left->key + HALF, (HALF - 1) * sizeof(left->key[0]));
    memcpy(right->value, left->value + HALF, (HALF - 1) * sizeof(left->value[0]));
    if (!left->leaf)
        memcpy(right->child, left->child + HALF, HALF * sizeof(left->child[0]));
    left->keys = HALF - 1;
    for (unsigned k = parent->keys; k > at; k--) {
        parent->key[k] = parent->key[k - 1];
        parent->value[k] = parent->value[k - 1];
        parent->child[k + 1] = parent->child[k];
    }
    parent->key[at] = left->key[HALF - 1];
    parent->value[at] = left->value[HALF - 1];
    parent->child[at + 1] = right;
    parent->keys++;
}

static struct node *insert(struct node *root, uint64_t key, uint32_t value)
{
    struct node *n = root;
    unsigned at;

    if (root->keys == KEYS) {
        n = new_node(0);
        n->child[0] = root;
        split(n, 0);
        root = n;
    }
    while (at = lower(n, key), !n->leaf) {
        if (n->child[at]->keys == KEYS) {
            split(n, at);
            at += n->key[at] < key;
        }
        n = n->child[at];
    }
    for (unsigned i = n->keys++; i > at; i--) {
        n->key[i] = n->key[i - 1];
        n->value[i] = n->value[i - 1];
    }
    n->key[at] = key;
    n->value[at] = value;
    return root;
}

static uint32_t find(const struct node *n, uint64_t key)
{
    for (;;) {
        unsigned at = lower(n, key);

        if (at < n->keys && n->key[at] == key)
            return n->value[at];
        if (n->leaf)
            return 0;
        n = n->child[at];
    }
}

static uint64_t range(const struct node *n, uint64_t low, uint64_t high)
{
    uint64_t sum = 0;
    unsigned i = lower(n, low);

    for (; i < n->keys && n->key[i] <= high; i++)
        sum += n->value[i] + (n->leaf ? 0 : range(n->child[i], low, high));
    return sum + (n->leaf ? 0 : range(n->child[i], low, high));
}

static void drop(struct node *n)
{
    for (unsigned i = 0; !n->leaf && i <= n->keys; i++)
        drop(n->child[i]);
    free(n);
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 150000;
    uint64_t seed = 42, again = 42, sum = 0;
    struct node *root = new_node(1);

    for (uint32_t i = 0; i < n; i++)
        root = insert(root, xorshift(&seed), i);
    for (uint32_t i = 0; i < n; i++)
        sum += find(root, xorshift(&again)) ^ find(root, xorshift(&seed));
    for (uint32_t i = 0; i < n / 100; i++) {
        uint64_t low = xorshift(&seed);

        sum += range(root, low, low + UINT64_MAX / n * 60);
    }
    drop(root);
    printf("btree %u checksum %" PRIu64 "\n", n, sum);
    return 0;
}
