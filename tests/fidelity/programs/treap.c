/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * treap: an implicit treap as a sequence: cut a piece out anywhere, reverse it lazily, put it
 * elsewhere; read the sequence at the end. Irregular: recursive splits and merges whose shape is
 * random, over nodes whose order in memory has less and less to do with that of the sequence.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
    struct node *left, *right;
    uint32_t priority, size;
    uint32_t value;
    int turned;
};

static uint32_t random_state = 2463534242u;

static uint32_t draw(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state;
}

static uint32_t size_of(const struct node *n)
{
    return n ? n->size : 0;
}

static void push(struct node *n)
{
    struct node *left = n->left;

    if (!n->turned)
        return;
    n->left = n->right;
    n->right = left;
    n->turned = 0;
    if (n->left)
        n->left->turned ^= 1;
    if (n->right)
        n->right->turned ^= 1;
}

static struct node *pull(struct node *n)
{
    n->size = 1 + size_of(n->left) + size_of(n->right);
    return n;
}

static void split(struct node *n, uint32_t first, struct node **a, struct node **b)
{
    if (!n) {
        *a = *b = NULL;
        return;
    }
    push(n);
    if (size_of(n->left) >= first) {
        split(n->left, first, a, &n->left);
        *b = pull(n);
    } else {
        split(n->right, first - size_of(n->left) - 1, &n->right, b);
        *a = pull(n);
    }
}

static struct node *merge(struct node *a, struct node *b)
{
    if (!a || !b)
        return a ? a : b;
    if (a->priority > b->priority) {
        push(a);
        a->right = merge(a->right, b);
        return pull(a);
    }
    push(b);
    b->left = merge(a, b->left);
    return pull(b);
}

static uint64_t read_out(struct node *n, uint64_t hash)
{
    if (!n)
        return hash;
    push(n);
    hash = read_out(n->left, hash);
    hash = (hash ^ n->value) * UINT64_C(1099511628211);
    return read_out(n->right, hash);
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 24000;
    struct node *nodes = calloc(n, sizeof(*nodes)), *root = NULL;
    uint64_t hash = UINT64_C(14695981039346656037);

    for (uint32_t i = 0; i < n; i++) {
        nodes[i] = (struct node){.priority = draw(), .size = 1, .value = i};
        root = merge(root, &nodes[i]);
    }
    for (uint32_t i = 0; i < n; i++) {
        struct node *head, *piece, *tail;
        uint32_t from = draw() % n, length = draw() % (n - from) + 1;

        split(root, from, &head, &tail);
        split(tail, length, &piece, &tail);
        if (i % 2)
            piece->turned ^= 1;
        root = merge(head, tail);
        split(root, draw() % (size_of(root) + 1), &head, &tail);
        root = merge(merge(head, piece), tail);
    }
    hash = read_out(root, hash);
    free(nodes);
    printf("treap %u checksum %" PRIu64 "\n", n, hash);
    return 0;
}
