/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * segtree: a segment tree with lazy additions over ranges and queries for the maximum, as in
 * booking seats on a line of trains. Irregular: two paths down an implicit tree in an array, of
 * which neighbours are 2 i and 2 i + 1; intervals are short mostly, long sometimes.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct tree {
    uint32_t size;
    int32_t *most, *owed;
};

static uint64_t xorshift(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    return *s ^= *s << 17;
}

static void give(struct tree *t, uint32_t node, int32_t by)
{
    t->most[node] += by;
    t->owed[node] += by;
}

static void pass_on(struct tree *t, uint32_t node)
{
    if (t->owed[node]) {
        give(t, 2 * node, t->owed[node]);
        give(t, 2 * node + 1, t->owed[node]);
        t->owed[node] = 0;
    }
}

static void add(struct tree *t, uint32_t node, uint32_t low, uint32_t high, uint32_t from,
                uint32_t to, int32_t by)
{
    uint32_t middle = low + (high - low) / 2;

    if (to <= low || high <= from)
        return;
    if (from <= low && high <= to) {
        give(t, node, by);
        return;
    }
    pass_on(t, node);
    add(t, 2 * node, low, middle, from, to, by);
    add(t, 2 * node + 1, middle, high, from, to, by);
    t->most[node] = t->most[2 * node];
    if (t->most[2 * node + 1] > t->most[node])
        t->most[node] = t->most[2 * node + 1];
}

static int32_t query(struct tree *t, uint32_t node, uint32_t low, uint32_t high, uint32_t from,
                     uint32_t to)
{
    uint32_t middle = low + (high - low) / 2;
    int32_t a, b;

    if (to <= low || high <= from)
        return INT32_MIN;
    if (from <= low && high <= to)
        return t->most[node];
    pass_on(t, node);
    a = query(t, 2 * node, low, middle, from, to);
    b = query(t, 2 * node + 1, middle, high, from, to);
    return a > b ? a : b;
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 60000;
    struct tree t = {.size = n * 4};
    uint64_t seed = 5, booked = 0, sum = 0;

    t.most = calloc(t.size * 4, sizeof(int32_t));
    t.owed = calloc(t.size * 4, sizeof(int32_t));
    for (uint32_t i = 0; i < n; i++) {
        uint64_t r = xorshift(&seed);
        uint32_t from = (uint32_t)(r >> 20) % t.size;
        uint32_t length = 1 + (uint32_t)(r >> 50) % (r % 16 ? 60 : t.size);
        uint32_t to = length < t.size - from ? from + length : t.size;

        if (query(&t, 1, 0, t.size, from, to) < 12) {
            add(&t, 1, 0, t.size, from, to, 1);
            booked++;
        }
        if (i % 64 == 0)
            add(&t, 1, 0, t.size, 0, t.size / 2 + i % (t.size / 2), -1);
        sum += (uint64_t)(t.most[1] + 1000) * i;
    }
    free(t.most);
    free(t.owed);
    printf("segtree %u checksum %" PRIu64 "\n", n, sum * 31 + booked);
    return 0;
}
