/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cuckoo: hashing with two tables and buckets of four, which evicts on insertion; then a mix of
 * lookups. Irregular: two independent random lines a lookup, walks of evictions that get longer
 * towards the end of the filling.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { WAYS = 4, KICKS = 500 };

struct bucket {
    uint32_t key[WAYS];
};

struct cuckoo {
    struct bucket *half[2];
    uint32_t mask;
    uint32_t stash[256];
    unsigned stashed;
    uint32_t seed;
};

static uint32_t hash(uint32_t key, int which)
{
    uint64_t product = key * (which ? UINT64_C(0xc2b2ae3d27d4eb4f) : UINT64_C(0x9e3779b185ebca87));

    return (uint32_t)(product >> 32) ^ (uint32_t)(product >> 50);
}

static int has(const struct bucket *b, uint32_t key)
{
    for (int i = 0; i < WAYS; i++)
        if (b->key[i] == key)
            return 1;
    return 0;
}

static int find(const struct cuckoo *c, uint32_t key)
{
    if (has(&c->half[0][hash(key, 0) & c->mask], key))
        return 1;
    if (has(&c->half[1][hash(key, 1) & c->mask], key))
        return 2;
    for (unsigned i = 0; i < c->stashed; i++)
        if (c->stash[i] == key)
            return 3;
    return 0;
}

static int put(struct bucket *b, uint32_t key)
{
    for (int i = 0; i < WAYS; i++) {
        if (!b->key[i]) {
            b->key[i] = key;
            return 1;
        }
    }
    return 0;
}

static unsigned insert(struct cuckoo *c, uint32_t key)
{
    int side = 0;

    for (unsigned kick = 0; kick < KICKS; kick++, side = !side) {
        struct bucket *b = &c->half[side][hash(key, side) & c->mask];
        uint32_t other;
        unsigned victim;

        if (put(b, key))
            return kick;
        c->seed ^= c->seed << 13;
        c->seed ^= c->seed >> 17;
        c->seed ^= c->seed << 5;
        victim = c->seed >> 7 & (WAYS - 1);
        other = b->key[victim];
        b->key[victim] = key;
        key = other;
    }
    if (c->stashed < 256)
        c->stash[c->stashed++] = key;
    return KICKS;
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 480000;
    struct cuckoo c = {.mask = 1, .seed = 2463534242u};
    uint64_t sum = 0;
    uint32_t keys;

    while ((c.mask + 1) * 2 * WAYS * 10 < n * 11)
        c.mask = 2 * c.mask + 1;
    keys = (c.mask + 1) / 10 * 2 * WAYS * 9; /* nine tenths full, ten when there are few */
    for (int i = 0; i < 2; i++)
        c.half[i] = calloc(c.mask + 1, sizeof(struct bucket));
    for (uint32_t key = 1; key <= keys; key++)
        sum += insert(&c, key * 2654435769u);
    for (uint32_t i = 1; i <= 2 * n; i++) {
        uint32_t key = (i * 40503u ^ i >> 3) % (keys + keys / 2 + 1);

        sum += (uint64_t)find(&c, key * 2654435769u) * i;
    }
    free(c.half[0]);
    free(c.half[1]);
    printf("cuckoo %u checksum %" PRIu64 " (%u)\n", n, sum, c.stashed);
    return 0;
}
