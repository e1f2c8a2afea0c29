/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shellsort: Shell's sort with Ciura's gaps, then comb sort and cocktail sort of nearly sorted
 * data, then binary insertion. Irregular: strides of each gap broken off by data; shifts whose
 * lengths vary.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t rnd(uint32_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 17;
    *s ^= *s << 5;
    return *s;
}

static void shell(float *a, size_t n)
{
    static const size_t gaps[] = {90927, 40412, 17961, 7983, 3548, 1577, 701,
                                  301,   132,   57,    23,   10,   4,    1};

    for (size_t g = 0; g < sizeof(gaps) / sizeof(gaps[0]); g++) {
        size_t gap = gaps[g];

        for (size_t i = gap; i < n; i++) {
            float x = a[i];
            size_t j = i;

            for (; j >= gap && a[j - gap] > x; j -= gap)
                a[j] = a[j - gap];
            a[j] = x;
        }
    }
}

static void comb(uint16_t *a, size_t n)
{
    size_t gap = n;
    int swapped = 1;

    while (gap > 1 || swapped) {
        gap = gap * 10 / 13;
        if (gap < 1)
            gap = 1;
        swapped = 0;
        for (size_t i = 0; i + gap < n; i++) {
            if (a[i] > a[i + gap]) {
                uint16_t t = a[i];

                a[i] = a[i + gap];
                a[i + gap] = t;
                swapped = 1;
            }
        }
    }
}

/* Both ways, and no further than where the last swap was. */
static void cocktail(float *a, size_t n)
{
    size_t low = 0, high = n ? n - 1 : 0;

    while (low < high) {
        size_t last = low;

        for (size_t i = low; i < high; i++) {
            if (a[i] > a[i + 1]) {
                float t = a[i];

                a[i] = a[i + 1];
                a[i + 1] = t;
                last = i;
            }
        }
        high = last;
        last = high;
        for (size_t i = high; i > low; i--) {
            if (a[i - 1] > a[i]) {
                float t = a[i];

                a[i] = a[i - 1];
                a[i - 1] = t;
                last = i;
            }
        }
        low = last;
    }
}

static size_t binary_insert(float *a, size_t n, float x)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (a[middle] <= x)
            low = middle + 1;
        else
            high = middle;
    }
    memmove(a + low + 1, a + low, (n - low) * sizeof(*a));
    a[low] = x;
    return low;
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 120000, few = n / 30 + 1;
    float *a = malloc(n * sizeof(*a)), *sorted = malloc((few + 1) * sizeof(*sorted));
    uint16_t *b = malloc(n * sizeof(*b));
    uint32_t s = 77777;
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        a[i] = (float)(rnd(&s) >> 8);
        b[i] = (uint16_t)(rnd(&s) >> 16);
    }
    shell(a, n);
    comb(b, n / 4);
    for (size_t i = 0; i + 40 < n; i += 1 + rnd(&s) % 64) { /* a little disorder */
        size_t to = i + rnd(&s) % 6;
        float t = a[i];

        a[i] = a[to];
        a[to] = t;
    }
    cocktail(a, n);
    for (size_t i = 0; i < few; i++)
        sum += binary_insert(sorted, i, (float)(rnd(&s) >> 12));
    for (size_t i = 0; i < n; i++)
        sum = sum * 3 + (uint64_t)a[i] + b[i];
    free(a);
    free(b);
    free(sorted);
    printf("shellsort %zu checksum %" PRIu64 "\n", n, sum);
    return 0;
}
