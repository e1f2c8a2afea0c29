/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mergesort: sort n = SIZE integers by merging halves, recursively, short pieces by
 * insertion; ITERATIONS sorts of new numbers.
 *
 * Accesses: an array of 8 n bytes and a buffer of half that (heap). sort() halves the array
 * down to pieces of at most 16, which insert() sorts within 2 or 3 lines. merge() copies the
 * left half to the buffer at unit stride, then reads the buffer and the right half and
 * writes the array, three streams at unit stride whose order the numbers decide. About 3.5 n
 * accesses on each of log2(n / 16) depths. The recursion goes depth first: a piece of k
 * numbers for which 12 k bytes fit in a cache is sorted within it, so a cache of s bytes
 * misses only on the upper log2(12 n / s) depths, once a line and stream.
 */
#include "sample.h"

enum { SHORT = 16 };

static void init(size_t n, uint64_t *array, uint64_t *random)
{
    for (size_t i = 0; i < n; i++)
        array[i] = sample_random(random);
}

static void insert(size_t n, uint64_t *array)
{
    for (size_t i = 1; i < n; i++) {
        uint64_t number = array[i];
        size_t at = i;

        while (at > 0 && array[at - 1] > number) {
            array[at] = array[at - 1];
            at--;
        }
        array[at] = number;
    }
}

/* Merge the first half elements with the rest, both in order. */
static void merge(size_t half, size_t n, uint64_t *array, uint64_t *buffer)
{
    size_t left = 0, right = half, to = 0;

    for (size_t i = 0; i < half; i++)
        buffer[i] = array[i];
    while (left < half && right < n) {
        if (buffer[left] <= array[right])
            array[to++] = buffer[left++];
        else
            array[to++] = array[right++];
    }
    while (left < half)
        array[to++] = buffer[left++];
}

static void sort(size_t n, uint64_t *array, uint64_t *buffer)
{
    if (n <= SHORT) {
        insert(n, array);
    } else {
        sort(n / 2, array, buffer);
        sort(n - n / 2, array + n / 2, buffer);
        merge(n / 2, n, array, buffer);
    }
}

/* Returns whether the array is in order, and a sum that depends on it. */
static int check(size_t n, const uint64_t *array, uint64_t *sum)
{
    int in_order = 1;

    for (size_t i = 1; i < n; i++)
        in_order &= array[i - 1] <= array[i];
    for (size_t i = 0; i < n; i++)
        *sum += array[i] * (i + 1);
    return in_order;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "mergesort",
                            .size_is = "the numbers",
                            .size = 100000,
                            .size_min = 1,
                            .size_max = 1000000000,
                            .iterations = 1};
    uint64_t random = 1, sum = 0;
    uint64_t *array, *buffer;
    int in_order = 1;

    sample_arguments(&sample, argc, argv);
    array = malloc(sample.size * sizeof(*array));
    buffer = malloc((sample.size / 2 + 1) * sizeof(*buffer));
    sample_need_memory(&sample, array && buffer);

    for (size_t i = 0; i < sample.iterations; i++) {
        init(sample.size, array, &random);
        sort(sample.size, array, buffer);
        in_order &= check(sample.size, array, &sum);
    }

    free(array);
    free(buffer);
    if (!in_order) {
        fprintf(stderr, "%s: the numbers are out of order\n", sample.name);
        return EXIT_FAILURE;
    }
    return sample_print_count(&sample, sum);
}
