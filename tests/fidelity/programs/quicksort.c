/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * quicksort: three-way quicksort with median of three and insertion sort of short pieces, by an
 * array of pointers to records and then the records themselves; many keys are equal. Irregular:
 * partitions that meet where the data wants, comparisons through pointers into shuffled memory.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct record {
    uint32_t key;
    uint32_t serial;
    double payload[3];
};

static int compare(const struct record *a, const struct record *b)
{
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->serial < b->serial ? -1 : a->serial > b->serial;
}

static void insertion(struct record **a, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct record *x = a[i];
        size_t j = i;

        for (; j > 0 && compare(x, a[j - 1]) < 0; j--)
            a[j] = a[j - 1];
        a[j] = x;
    }
}

static struct record *median(struct record *a, struct record *b, struct record *c)
{
    if (compare(a, b) < 0)
        return compare(b, c) < 0 ? b : compare(a, c) < 0 ? c : a;
    return compare(a, c) < 0 ? a : compare(b, c) < 0 ? c : b;
}

static void sort(struct record **a, size_t n)
{
    while (n > 16) {
        const struct record *pivot = median(a[0], a[n / 2], a[n - 1]);
        size_t i = 0, j = n - 1;

        for (;;) {
            struct record *t;

            while (compare(a[i], pivot) < 0)
                i++;
            while (compare(a[j], pivot) > 0)
                j--;
            if (i >= j)
                break;
            t = a[i];
            a[i++] = a[j];
            a[j--] = t;
        }
        if (j + 1 < n - j - 1) {
            sort(a, j + 1);
            a += j + 1;
            n -= j + 1;
        } else {
            sort(a + j + 1, n - j - 1);
            n = j + 1;
        }
    }
    insertion(a, n);
}

/* Dutch national flag on plain keys. */
static void sort_keys(uint32_t *a, size_t n)
{
    size_t low = 0, i = 0, high = n;
    uint32_t pivot;

    if (n < 2)
        return;
    pivot = a[n / 2];
    while (i < high) {
        uint32_t x = a[i];

        if (x < pivot) {
            a[i++] = a[low];
            a[low++] = x;
        } else if (x > pivot) {
            a[i] = a[--high];
            a[high] = x;
        } else {
            i++;
        }
    }
    sort_keys(a, low);
    sort_keys(a + high, n - high);
}

int main(int argc, char **argv)
{
    size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 80000;
    struct record *records = malloc(n * sizeof(*records)), **order = malloc(n * sizeof(*order));
    uint32_t *keys = malloc(n * sizeof(*keys));
    uint64_t s = 424242, sum = 0;

    for (size_t i = 0; i < n; i++) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
        records[i].key = (uint32_t)(s >> 40) % (uint32_t)(n / 3 + 1);
        records[i].serial = (uint32_t)i;
        records[i].payload[1] = (double)i;
        order[i] = &records[i];
    }
    sort(order, n);
    for (size_t i = 0; i < n; i++) {
        sum = sum * 3 + order[i]->serial + (uint64_t)order[i]->payload[1];
        keys[i] = order[i]->serial % 5000;
    }
    sort_keys(keys, n);
    for (size_t i = 0; i < n; i++)
        sum += keys[i] * (uint64_t)i;
    free(records);
    free(order);
    free(keys);
    printf("quicksort %zu checksum %" PRIu64 "\n", n, sum);
    return 0;
}
