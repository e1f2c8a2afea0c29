/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hashjoin: join two tables on a key: build a hash table with chains over the n = SIZE
 * tuples of one, probe it with the 4 n tuples of the other, half of which find their match;
 * ITERATIONS probes of the whole other table.
 *
 * Accesses: probe() loads its tuples of 16 bytes at unit stride (64 n bytes), then a bucket
 * at random (8 bytes in 8 n to 16 n), then follows its chain, at most one entry on average,
 * to entries anywhere in 24 n bytes: 4 to 5 accesses a probe. Buckets and entries are hit
 * about as often as the cache keeps their 32 n to 40 n bytes beside the stream. build()
 * stores entries at unit stride and pushes each onto a random bucket. Four regions (heap),
 * linked by pointers.
 */
#include "sample.h"

struct tuple {
    uint64_t key;
    uint64_t payload;
};

struct entry {
    struct entry *next;
    uint64_t key;
    uint64_t payload;
};

struct table {
    size_t buckets; /* a power of two */
    struct entry **bucket;
    struct entry *entries;
};

/* Keys of build tuples are all different: an odd factor permutes the numbers of 64 bits. */
static uint64_t nth_key(size_t i)
{
    return (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15);
}

static size_t bucket_of(const struct table *table, uint64_t key)
{
    return (size_t)((key ^ key >> 32) * UINT64_C(0xd6e8feb86659fd93) >> 32) & (table->buckets - 1);
}

/* Keys above the n of the first table find nothing. */
static void init(size_t n, struct tuple *inner, struct tuple *outer)
{
    uint64_t random = 1;

    for (size_t i = 0; i < n; i++) {
        inner[i].key = nth_key(i);
        inner[i].payload = sample_random(&random) >> 40;
    }
    for (size_t i = 0; i < 4 * n; i++) {
        outer[i].key = nth_key(sample_below(&random, 2 * n));
        outer[i].payload = sample_random(&random) >> 40;
    }
}

static void build(size_t n, const struct tuple *inner, struct table *table)
{
    for (size_t i = 0; i < table->buckets; i++)
        table->bucket[i] = NULL;
    for (size_t i = 0; i < n; i++) {
        struct entry *entry = &table->entries[i];
        struct entry **bucket = &table->bucket[bucket_of(table, inner[i].key)];

        entry->key = inner[i].key;
        entry->payload = inner[i].payload;
        entry->next = *bucket;
        *bucket = entry;
    }
}

static uint64_t probe(size_t n, const struct tuple *outer, const struct table *table)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        const struct entry *entry = table->bucket[bucket_of(table, outer[i].key)];

        while (entry != NULL && entry->key != outer[i].key)
            entry = entry->next;
        if (entry != NULL)
            sum += entry->payload * outer[i].payload;
    }
    return sum;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "hashjoin",
                            .size_is = "the tuples of the table that is hashed",
                            .size = 50000,
                            .size_min = 1,
                            .size_max = 100000000,
                            .iterations = 4};
    struct table table = {.buckets = 1};
    struct tuple *inner, *outer;
    uint64_t sum = 0;
    size_t n;

    sample_arguments(&sample, argc, argv);
    n = sample.size;
    while (table.buckets < n)
        table.buckets *= 2;
    inner = malloc(n * sizeof(*inner));
    outer = malloc(4 * n * sizeof(*outer));
    table.bucket = malloc(table.buckets * sizeof(struct entry *));
    table.entries = malloc(n * sizeof(*table.entries));
    sample_need_memory(&sample, inner && outer && table.bucket && table.entries);

    init(n, inner, outer);
    build(n, inner, &table);
    for (size_t i = 0; i < sample.iterations; i++) {
        outer[i % (4 * n)].payload += 1; /* lest a compiler find that all probes are one */
        sum += probe(4 * n, outer, &table);
    }

    free(inner);
    free(outer);
    free(table.bucket);
    free(table.entries);
    return sample_print_count(&sample, sum);
}
