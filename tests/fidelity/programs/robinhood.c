/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * robinhood: open addressing with linear probing where the richer entry yields, and deletion that
 * shifts back; counts pairs of neighbouring words (n-grams) of a stream. Irregular: short runs at
 * random places, a few hot counters, a table that is 7/8 full before it doubles.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct slot {
    uint64_t key; /* 0: free */
    uint32_t count;
    uint32_t distance;
};

struct table {
    struct slot *slot;
    size_t size, used;
};

static size_t home(const struct table *t, uint64_t key)
{
    return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 17) & (t->size - 1);
}

static void place(struct table *t, struct slot in)
{
    size_t at = (home(t, in.key) + in.distance) & (t->size - 1);

    for (;; in.distance++, at = (at + 1) & (t->size - 1)) {
        if (!t->slot[at].key) {
            t->slot[at] = in;
            t->used++;
            return;
        }
        if (t->slot[at].distance < in.distance) {
            struct slot richer = t->slot[at];

            t->slot[at] = in;
            in = richer;
        }
    }
}

static void enlarge(struct table *t)
{
    struct table old = *t;

    t->size *= 2;
    t->used = 0;
    t->slot = calloc(t->size, sizeof(*t->slot));
    for (size_t i = 0; i < old.size; i++)
        if (old.slot[i].key)
            place(t, (struct slot){.key = old.slot[i].key, .count = old.slot[i].count});
    free(old.slot);
}

static struct slot *find(struct table *t, uint64_t key)
{
    size_t at = home(t, key);

    for (uint32_t d = 0; t->slot[at].key && t->slot[at].distance >= d; d++) {
        if (t->slot[at].key == key)
            return &t->slot[at];
        at = (at + 1) & (t->size - 1);
    }
    return NULL;
}

static void erase(struct table *t, struct slot *slot)
{
    size_t at = (size_t)(slot - t->slot), next = (at + 1) & (t->size - 1);

    while (t->slot[next].key && t->slot[next].distance > 0) {
        t->slot[at] = t->slot[next];
        t->slot[at].distance--;
        at = next;
        next = (next + 1) & (t->size - 1);
    }
    t->slot[at].key = 0;
    t->used--;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 500000;
    struct table t = {.slot = calloc(64, sizeof(struct slot)), .size = 64};
    uint64_t s = 1, sum = 0, before = 1;

    for (size_t i = 0; i < n; i++) {
        struct slot *slot;
        uint64_t word, key;

        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        word = 1 + (s >> 10 & 4095) * (s >> 30 & 4095) / (1 + (s >> 50 & 511));
        key = before << 32 | word;
        before = word & 15;
        slot = find(&t, key);
        if (!slot) {
            if (t.used * 8 >= t.size * 7)
                enlarge(&t);
            place(&t, (struct slot){.key = key, .count = 1});
        } else if (++slot->count == 40) {
            sum += slot->key;
            erase(&t, slot);
        }
    }
    for (size_t i = 0; i < t.size; i++)
        sum += t.slot[i].key ? t.slot[i].count * (uint64_t)(t.slot[i].distance + 1) : 0;
    free(t.slot);
    printf("robinhood %zu checksum %" PRIu64 " (%zu)\n", n, sum, t.used);
    return 0;
}
