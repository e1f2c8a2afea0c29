/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * skiplist: a skip list with towers of random height in nodes of different sizes; inserts, finds,
 * deletes in turn. Irregular: forward pointers that skip less and less, heap nodes of 32 bytes and
 * more, an array of predecessors on the stack that is written from the top down.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { LEVELS = 16 };

struct node {
    uint32_t key, height;
    uint64_t value;
    struct node *next[];
};

struct list {
    struct node *head;
    unsigned height;
    size_t length;
    uint64_t seed;
};

static uint64_t draw(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

static struct node *new_node(uint32_t key, uint32_t height)
{
    struct node *n = calloc(1, sizeof(*n) + height * sizeof(n->next[0]));

    n->key = key;
    n->height = height;
    return n;
}

static struct node *locate(const struct list *list, uint32_t key, struct node **before)
{
    struct node *at = list->head;

    for (unsigned level = list->height; level-- > 0;) {
        while (at->next[level] && at->next[level]->key < key)
            at = at->next[level];
        before[level] = at;
    }
    at = at->next[0];
    return at && at->key == key ? at : NULL;
}

static void insert(struct list *list, uint32_t key)
{
    struct node *before[LEVELS], *n = locate(list, key, before);
    uint32_t height = 1;

    if (n) {
        n->value += key;
        return;
    }
    while (height < LEVELS && draw(&list->seed) >> 62 == 0)
        height++;
    while (list->height < height)
        before[list->height++] = list->head;
    n = new_node(key, height);
    for (uint32_t level = 0; level < height; level++) {
        n->next[level] = before[level]->next[level];
        before[level]->next[level] = n;
    }
    list->length++;
}

static void erase(struct list *list, uint32_t key)
{
    struct node *before[LEVELS], *n = locate(list, key, before);

    if (!n)
        return;
    for (uint32_t level = 0; level < n->height; level++)
        before[level]->next[level] = n->next[level];
    free(n);
    list->length--;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 200000;
    struct list list = {.head = new_node(0, LEVELS), .height = 1, .seed = 7};
    struct node *before[LEVELS];
    uint64_t sum = 0, seed = 99;

    for (size_t i = 0; i < n; i++) {
        uint32_t key = (uint32_t)(draw(&seed) >> 30) % (uint32_t)(n / 2 + 1);

        switch (seed >> 40 & 7) {
        case 0:
            erase(&list, key);
            break;
        case 1:
        case 2:
        case 3:
            insert(&list, key);
            break;
        default:
            sum += locate(&list, key, before) != NULL;
        }
    }
    for (struct node *at = list.head, *next; at; at = next) {
        next = at->next[0];
        sum = sum * 3 + at->value + at->key;
        free(at);
    }
    printf("skiplist %zu checksum %" PRIu64 "\n", n, sum + list.length);
    return 0;
}
