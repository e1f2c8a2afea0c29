/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stream: McCalpin's four loops over three arrays of n = SIZE reals: copy c = a, scale
 * b = s c, add c = a + b, triad a = b + s c; ITERATIONS rounds of them.
 *
 * Accesses: unit stride throughout, three regions of 8 n bytes (globals), 10 n accesses a
 * round where one access is one element (optimised code moves two or more at once, and
 * makes a memcpy of copy). Nothing is used twice within a loop, so as long as 24 n bytes
 * exceed a cache, every line misses once in each loop that touches it: a hit rate of
 * 1 - 8 / line at the first level for scalar accesses, and 0 behind it. When 24 n bytes fit, all
 * hits after the first round.
 */
#include "sample.h"

#define MAX_SIZE 4194304

static double a[MAX_SIZE];
static double b[MAX_SIZE];
static double c[MAX_SIZE];

static void init(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        a[i] = 1;
        b[i] = 2;
        c[i] = 0;
    }
}

static void copy(size_t n)
{
    for (size_t i = 0; i < n; i++)
        c[i] = a[i];
}

static void scale(size_t n, double factor)
{
    for (size_t i = 0; i < n; i++)
        b[i] = factor * c[i];
}

static void add(size_t n)
{
    for (size_t i = 0; i < n; i++)
        c[i] = a[i] + b[i];
}

static void triad(size_t n, double factor)
{
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] + factor * c[i];
}

static double checksum(size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += a[i] + b[i] + c[i];
    return sum;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "stream",
                            .size_is = "the elements of an array",
                            .size = 1000000,
                            .size_min = 1,
                            .size_max = MAX_SIZE,
                            .iterations = 10};
    /* A round multiplies a by s^2 + 2 s, with this s by 0.9999. */
    const double factor = 0.4141782067;

    sample_arguments(&sample, argc, argv);
    init(sample.size);
    for (size_t i = 0; i < sample.iterations; i++) {
        copy(sample.size);
        scale(sample.size, factor);
        add(sample.size);
        triad(sample.size, factor);
    }
    return sample_print_real(&sample, checksum(sample.size));
}
