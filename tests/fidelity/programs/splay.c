/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * splay: a top-down splay tree under skewed accesses whose favourites change over time, as a cache
 * of names would see them. Irregular: each access restructures its whole path, so that recently
 * used nodes are near the root; how deep one goes depends on the whole past.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
    struct node *left, *right;
    uint64_t key;
    uint64_t hits;
};

static uint64_t xorshift(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    return *s ^= *s << 17;
}

static struct node *splay(struct node *t, uint64_t key)
{
    struct node sentinel = {0}, *l = &sentinel, *r = &sentinel, *y;

    if (!t)
        return NULL;
    for (;;) {
        if (key < t->key) {
            if (t->left && key < t->left->key) {
                y = t->left;
                t->left = y->right;
                y->right = t;
                t = y;
            }
            if (!t->left)
                break;
            r->left = t;
            r = t;
            t = t->left;
        } else if (key > t->key) {
            if (t->right && key > t->right->key) {
                y = t->right;
                t->right = y->left;
                y->left = t;
                t = y;
            }
            if (!t->right)
                break;
            l->right = t;
            l = t;
            t = t->right;
        } else {
            break;
        }
    }
    l->right = t->left;
    r->left = t->right;
    t->left = sentinel.right;
    t->right = sentinel.left;
    return t;
}

static struct node *touch(struct node *t, uint64_t key)
{
    struct node *n;

    t = splay(t, key);
    if (t && t->key == key) {
        t->hits++;
        return t;
    }
    n = calloc(1, sizeof(*n));
    n->key = key;
    if (t && key < t->key) {
        n->left = t->left;
        n->right = t;
        t->left = NULL;
    } else if (t) {
        n->right = t->right;
        n->left = t;
        t->right = NULL;
    }
    return n;
}

/* Frees by rotating to the right: deep trees need no deep stack. */
static uint64_t drain(struct node *t)
{
    uint64_t sum = 0;

    while (t) {
        struct node *left = t->left;

        if (left) {
            t->left = left->right;
            left->right = t;
            t = left;
        } else {
            struct node *right = t->right;

            sum = sum * 31 + t->key * t->hits;
            free(t);
            t = right;
        }
    }
    return sum;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 160000;
    uint64_t seed = 12345, names = n / 8 + 1;
    struct node *root = NULL;

    for (size_t i = 0; i < n; i++) {
        uint64_t r = xorshift(&seed) >> 33, base = i * 16 / n;
        uint64_t skewed = r % names * (r / names % names) / names; /* small numbers are likely */

        if (r % 5 == 0)
            skewed = skewed * (r / 5 % 8) / 8;
        root = touch(root, (skewed + base * 97) * UINT64_C(0x9e3779b97f4a7c15) >> 16);
    }
    printf("splay %zu checksum %" PRIu64 "\n", n, drain(root));
    return 0;
}
