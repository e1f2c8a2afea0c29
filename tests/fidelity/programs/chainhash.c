/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * chainhash: a chained hash table of malloc'd entries that doubles as it fills, rehashing all of
 * them, with entries moved to the front of their chain when they are found; a tenth is deleted
 * now and then. Irregular: buckets at random, chains in the order of last use, growth in bursts.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct entry {
    struct entry *next;
    uint64_t key, value;
};

struct table {
    struct entry **bucket;
    size_t mask, used;
};

static uint64_t mix(uint64_t x)
{
    x ^= x >> 31;
    x *= UINT64_C(0x7fb5d329728ea185);
    return x ^ x >> 27;
}

static void grow(struct table *t)
{
    size_t mask = 2 * t->mask + 1;
    struct entry **fresh = calloc(mask + 1, sizeof(*fresh)), *e, *next;

    for (size_t i = 0; i <= t->mask; i++) {
        for (e = t->bucket[i]; e; e = next) {
            next = e->next;
            e->next = fresh[mix(e->key) & mask];
            fresh[mix(e->key) & mask] = e;
        }
    }
    free(t->bucket);
    t->bucket = fresh;
    t->mask = mask;
}

static struct entry *find(struct table *t, uint64_t key, int insert)
{
    struct entry **bucket = &t->bucket[mix(key) & t->mask], **at = bucket, *e;

    for (; (e = *at); at = &e->next) {
        if (e->key == key) {
            *at = e->next;
            e->next = *bucket;
            return *bucket = e;
        }
    }
    if (!insert)
        return NULL;
    if (++t->used > t->mask) {
        grow(t);
        bucket = &t->bucket[mix(key) & t->mask];
    }
    e = malloc(sizeof(*e));
    *e = (struct entry){.next = *bucket, .key = key};
    return *bucket = e;
}

/* Deletes what `value` says is old: every so many buckets, whole chains are looked through. */
static uint64_t purge(struct table *t, uint64_t oldest)
{
    uint64_t gone = 0;

    for (size_t i = 0; i <= t->mask; i += 3) {
        struct entry **at = &t->bucket[i], *e;

        while ((e = *at)) {
            if (e->value < oldest) {
                *at = e->next;
                gone += e->key;
                t->used--;
                free(e);
            } else {
                at = &e->next;
            }
        }
    }
    return gone;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 600000;
    struct table t = {.bucket = calloc(16, sizeof(struct entry *)), .mask = 15};
    uint64_t s = 20240101, sum = 0;

    for (size_t i = 0; i < n; i++) {
        struct entry *e;

        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        e = find(&t, (s >> 20) % (s & 1 ? n / 64 + 1 : n), s >> 60 < 11);
        if (e) {
            sum += e->value;
            e->value = i;
        }
        if (i % (n / 8 + 1) == n / 8)
            sum ^= purge(&t, i - i / 4);
    }
    for (size_t i = 0; i <= t.mask; i++) {
        for (struct entry *e = t.bucket[i], *next; e; e = next) {
            next = e->next;
            sum += e->value;
            free(e);
        }
    }
    free(t.bucket);
    printf("chainhash %zu checksum %" PRIu64 " (%zu)\n", n, sum, t.used);
    return 0;
}
