/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * doublehash: sums of four numbers that are zero: all sums of two lists go into a table by double
 * hashing with a prime number of slots, all sums of the others are looked up. Irregular: keys,
 * counts in two arrays that are hit at the same random places, probes a second hash apart.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct counts {
    int32_t *sum;
    uint32_t *count; /* 0: free */
    uint32_t slots;
};

static uint32_t rnd(uint32_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 17;
    *s ^= *s << 5;
    return *s;
}

static int is_prime(uint32_t n)
{
    for (uint32_t d = 2; d <= n / d; d++)
        if (n % d == 0)
            return 0;
    return n > 1;
}

static uint32_t slot_of(const struct counts *t, int32_t sum)
{
    uint32_t h = (uint32_t)sum * 2246822519u, at, step;

    h ^= h >> 15;
    at = h % t->slots;
    step = 1 + h / 7 % (t->slots - 1);
    while (t->count[at] && t->sum[at] != sum) {
        at += step;
        if (at >= t->slots)
            at -= t->slots;
    }
    return at;
}

static void fill(struct counts *t, const int32_t *a, const int32_t *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            uint32_t at = slot_of(t, a[i] + b[j]);

            t->sum[at] = a[i] + b[j];
            t->count[at]++;
        }
    }
}

static uint64_t look_up(const struct counts *t, const int32_t *c, const int32_t *d, uint32_t n)
{
    uint64_t zero = 0;

    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++)
            zero += t->count[slot_of(t, -(c[i] + d[j]))];
    return zero;
}

static uint32_t longest_cluster(const struct counts *t)
{
    uint32_t longest = 0, length = 0;

    for (uint32_t i = 0; i < t->slots; i++) {
        length = t->count[i] ? length + 1 : 0;
        if (length > longest)
            longest = length;
    }
    return longest;
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 900;
    struct counts t = {.slots = n * n * 4 / 3 + 3};
    int32_t *list = malloc(4 * n * sizeof(*list));
    uint32_t seed = 123456789;
    uint64_t zero;

    while (!is_prime(t.slots))
        t.slots++;
    t.sum = calloc(t.slots, sizeof(*t.sum));
    t.count = calloc(t.slots, sizeof(*t.count));
    for (uint32_t i = 0; i < 4 * n; i++)
        list[i] = (int32_t)(rnd(&seed) % 2000000) - 1000000;
    fill(&t, list, list + n, n);
    zero = look_up(&t, list + 2 * n, list + 3 * n, n);
    printf("doublehash %u checksum %" PRIu64 " (%u)\n", n, zero, longest_cluster(&t));
    free(t.sum);
    free(t.count);
    free(list);
    return 0;
}
