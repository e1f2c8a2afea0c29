/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * is: rank n = SIZE integer keys by counting, bucket by bucket, as NPB IS does; ITERATIONS
 * rankings, two keys changing between them, then the keys are put in order and checked.
 * Keys have a bell-shaped distribution over a range m of about n / 16.
 *
 * Accesses: rank() reads keys (4 n bytes, heap) at unit stride twice: it counts them into 1024
 * buckets (4 KB, a global), then scatters them into sorted (4 n bytes) at 1024 places that
 * all move forwards, so that as many lines are being filled, 64 KB. Then it reads sorted at
 * unit stride and counts each key in count (4 m bytes), at random but within 4 m / 1024 bytes
 * at a time. 10 n accesses a ranking, 4 n of which stream by and miss once a line when 8 n
 * bytes exceed the cache. order(), at the end, goes to count and sorted at random.
 */
#include "sample.h"

enum { BUCKET_BITS = 10, BUCKETS = 1 << BUCKET_BITS };

struct ranking {
    size_t n;
    size_t range;   /* of the keys, a power of two and at least BUCKETS */
    unsigned shift; /* from a key to its bucket */
    uint32_t *keys;
    uint32_t *sorted; /* the keys by bucket, in the end in order */
    uint32_t *count;  /* how many keys are at most this, once ranked */
};

static uint32_t place[BUCKETS]; /* where in sorted the next key of a bucket goes */

static void init(struct ranking *r)
{
    uint64_t random = 1;

    for (size_t i = 0; i < r->n; i++) {
        double sum = 0;

        for (int k = 0; k < 4; k++)
            sum += sample_unit(&random);
        r->keys[i] = (uint32_t)(sum / 4 * (double)r->range);
    }
}

static void bucket_keys(const struct ranking *r)
{
    uint32_t start = 0;

    for (size_t b = 0; b < BUCKETS; b++)
        place[b] = 0;
    for (size_t i = 0; i < r->n; i++)
        place[r->keys[i] >> r->shift]++;
    for (size_t b = 0; b < BUCKETS; b++) {
        uint32_t size = place[b];

        place[b] = start;
        start += size;
    }
    for (size_t i = 0; i < r->n; i++)
        r->sorted[place[r->keys[i] >> r->shift]++] = r->keys[i];
}

static void rank(const struct ranking *r)
{
    bucket_keys(r);
    for (size_t k = 0; k < r->range; k++)
        r->count[k] = 0;
    for (size_t i = 0; i < r->n; i++)
        r->count[r->sorted[i]]++;
    for (size_t k = 1; k < r->range; k++)
        r->count[k] += r->count[k - 1];
}

/* Every key to its rank; counts what is out of order then, which is nothing. */
static size_t order(const struct ranking *r)
{
    size_t wrong = 0;

    for (size_t i = 0; i < r->n; i++)
        r->sorted[--r->count[r->keys[i]]] = r->keys[i];
    for (size_t i = 1; i < r->n; i++)
        wrong += r->sorted[i - 1] > r->sorted[i];
    return wrong;
}

static uint64_t checksum(const struct ranking *r)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < r->n; i++)
        sum += (uint64_t)r->sorted[i] * (i % 1000);
    return sum;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "is",
                            .size_is = "the keys",
                            .size = 262144,
                            .size_min = 1,
                            .size_max = 100000000,
                            .iterations = 5};
    struct ranking r = {.range = BUCKETS};
    uint64_t sum;
    size_t wrong;

    sample_arguments(&sample, argc, argv);
    r.n = sample.size;
    while (r.range * 2 <= r.n / 16) {
        r.range *= 2;
        r.shift++;
    }
    r.keys = malloc(r.n * sizeof(*r.keys));
    r.sorted = malloc(r.n * sizeof(*r.sorted));
    r.count = malloc(r.range * sizeof(*r.count));
    sample_need_memory(&sample, r.keys && r.sorted && r.count);

    init(&r);
    for (size_t i = 0; i < sample.iterations; i++) {
        r.keys[i % r.n] = (uint32_t)(i % r.range);
        r.keys[(r.n - 1 - i % r.n)] = (uint32_t)(r.range - 1 - i % r.range);
        rank(&r);
    }
    wrong = order(&r);
    sum = checksum(&r);

    free(r.keys);
    free(r.sorted);
    free(r.count);
    if (wrong != 0) {
        fprintf(stderr, "%s: %zu keys are out of order\n", sample.name, wrong);
        return EXIT_FAILURE;
    }
    return sample_print_count(&sample, sum);
}
