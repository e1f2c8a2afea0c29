/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * avl: an AVL tree in an arena of indices, recursive insertion and deletion, keys of two ages
 * (a sliding window: the oldest goes when a new one comes). Irregular: paths through the arena,
 * slots that are used again in the order in which they became free.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
    uint64_t key;
    uint32_t left, right;
    uint32_t count;
    int height;
};

static struct node *pool;
static uint32_t free_list;

static uint32_t scramble(uint32_t x)
{
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return x;
}

static void update(uint32_t n)
{
    const struct node *left = &pool[pool[n].left], *right = &pool[pool[n].right];

    pool[n].height = 1 + (left->height > right->height ? left->height : right->height);
    pool[n].count = 1 + left->count + right->count;
}

static uint32_t turn_right(uint32_t n)
{
    uint32_t top = pool[n].left;

    pool[n].left = pool[top].right;
    pool[top].right = n;
    update(n);
    update(top);
    return top;
}

static uint32_t turn_left(uint32_t n)
{
    uint32_t top = pool[n].right;

    pool[n].right = pool[top].left;
    pool[top].left = n;
    update(n);
    update(top);
    return top;
}

static int lean(uint32_t n)
{
    return pool[pool[n].left].height - pool[pool[n].right].height;
}

static uint32_t balance(uint32_t n)
{
    update(n);
    if (lean(n) > 1) {
        if (lean(pool[n].left) < 0)
            pool[n].left = turn_left(pool[n].left);
        return turn_right(n);
    }
    if (lean(n) < -1) {
        if (lean(pool[n].right) > 0)
            pool[n].right = turn_right(pool[n].right);
        return turn_left(n);
    }
    return n;
}

static uint32_t insert(uint32_t n, uint64_t key)
{
    if (!n) {
        n = free_list;
        free_list = pool[n].left;
        pool[n] = (struct node){.key = key, .count = 1, .height = 1};
        return n;
    }
    if (key < pool[n].key)
        pool[n].left = insert(pool[n].left, key);
    else
        pool[n].right = insert(pool[n].right, key);
    return balance(n);
}

static uint32_t take_min(uint32_t n, uint32_t *min)
{
    if (!pool[n].left) {
        *min = n;
        return pool[n].right;
    }
    pool[n].left = take_min(pool[n].left, min);
    return balance(n);
}

static uint32_t erase(uint32_t n, uint64_t key)
{
    uint32_t min, right;

    if (!n)
        return 0;
    if (key != pool[n].key) {
        uint32_t *side = key < pool[n].key ? &pool[n].left : &pool[n].right;

        *side = erase(*side, key);
        return balance(n);
    }
    right = pool[n].right;
    min = pool[n].left;
    if (right) {
        right = take_min(right, &min);
        pool[min].right = right;
        pool[min].left = pool[n].left;
        min = balance(min);
    }
    pool[n].left = free_list;
    free_list = n;
    return min;
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 20000;
    uint32_t root = 0, window = n / 4 + 1, key = 1, old = 1;
    uint64_t sum = 0;

    pool = calloc(window + 2, sizeof(*pool));
    for (uint32_t i = 1; i <= window; i++)
        pool[i].left = i + 1;
    free_list = 1;
    for (uint32_t i = 0; i < n; i++) {
        if (i >= window) {
            root = erase(root, old);
            old = scramble(old);
        }
        root = insert(root, key);
        key = scramble(key);
        sum += pool[pool[root].left].count * (uint64_t)i + (uint64_t)pool[root].height;
    }
    free(pool);
    printf("avl %u checksum %" PRIu64 "\n", n, sum);
    return 0;
}
