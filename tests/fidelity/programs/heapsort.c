/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * heapsort: heap sort bottom up (down along the larger children, then back up), and a four-ary heap
 * that keeps the k largest of a stream. Irregular: paths 2 i + 1 whose turns depend on data; the
 * top is always in use, each leaf hardly ever.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t xorshift(uint64_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 7;
    *s ^= *s << 17;
    return *s;
}

static void sift(int64_t *a, size_t root, size_t n)
{
    size_t at = root;
    int64_t x = a[root];

    while (2 * at + 2 < n)
        at = 2 * at + 1 + (a[2 * at + 2] > a[2 * at + 1]);
    if (2 * at + 1 < n)
        at = 2 * at + 1;
    while (a[at] < x)
        at = (at - 1) / 2;
    while (at > root) {
        int64_t t = a[at];

        a[at] = x;
        x = t;
        at = (at - 1) / 2;
    }
    a[root] = x;
}

static void heapsort_up(int64_t *a, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sift(a, i, n);
    for (size_t end = n; end-- > 1;) {
        int64_t t = a[0];

        a[0] = a[end];
        a[end] = t;
        if (end > 1)
            sift(a, 0, end);
    }
}

static void replace_least(int64_t *heap, size_t k, int64_t x)
{
    size_t at = 0;

    for (;;) {
        size_t first = 4 * at + 1, last = first + 4 < k ? first + 4 : k, least = first;

        if (first >= k)
            break;
        for (size_t i = first + 1; i < last; i++)
            if (heap[i] < heap[least])
                least = i;
        if (heap[least] >= x)
            break;
        heap[at] = heap[least];
        at = least;
    }
    heap[at] = x;
}

static uint64_t largest(size_t n, size_t k, uint64_t *seed)
{
    int64_t *heap = malloc(k * sizeof(*heap));
    uint64_t sum = 0;

    for (size_t i = 0; i < k; i++)
        heap[i] = INT64_MIN;
    for (size_t i = 0; i < n; i++) {
        int64_t x = (int64_t)(xorshift(seed) >> 30) + (int64_t)i * 100000; /* it rises */

        if (x > heap[0])
            replace_least(heap, k, x);
    }
    for (size_t i = 0; i < k; i++)
        sum = sum * 3 + (uint64_t)heap[i];
    free(heap);
    return sum;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 250000;
    int64_t *a = malloc(n * sizeof(*a));
    uint64_t seed = 606060, sum = 0;

    for (size_t i = 0; i < n; i++)
        a[i] = (int64_t)(xorshift(&seed) >> 24) - (int64_t)(UINT64_C(1) << 39);
    heapsort_up(a, n);
    for (size_t i = 0; i < n; i++)
        sum = sum * 5 + (uint64_t)a[i];
    sum += largest(n, n / 20 + 1, &seed);
    free(a);
    printf("heapsort %zu checksum %" PRIu64 "\n", n, sum);
    return 0;
}
