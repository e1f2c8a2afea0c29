/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * seidel: Gauss and Seidel's iteration in place with a stencil of nine points on a square
 * of n by n points, n = SIZE, its boundary fixed; ITERATIONS sweeps.
 *
 * Accesses: one region of 8 n^2 bytes (heap); a point loads the nine points around it in
 * three rows and stores the middle: offsets of 8 and 8 n bytes, 9 n^2 accesses a sweep, or
 * 10 n^2 when the left neighbour, just computed, is not kept in a register. Three rows, 24 n
 * bytes, are the working set: a cache that keeps them misses once a line (of 64 bytes, once
 * in 72 accesses), a smaller one three times. The whole square comes again with the next
 * sweep. Each point waits for its left neighbour.
 */
#include "sample.h"

static void init(int n, double *a)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            a[i * n + j] = ((double)i * (j + 2) + 2) / n;
    }
}

static void sweep(int n, double *a)
{
    for (int i = 1; i < n - 1; i++) {
        for (int j = 1; j < n - 1; j++) {
            double above = a[(i - 1) * n + j - 1] + a[(i - 1) * n + j] + a[(i - 1) * n + j + 1];
            double below = a[(i + 1) * n + j - 1] + a[(i + 1) * n + j] + a[(i + 1) * n + j + 1];
            double here = a[i * n + j] + a[i * n + j + 1] + a[i * n + j - 1];

            a[i * n + j] = (above + below + here) * (1 / 9.0);
        }
    }
}

static double checksum(int n, const double *a)
{
    double sum = 0;

    for (int i = 0; i < n * n; i++)
        sum += a[i];
    return sum;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "seidel",
                            .size_is = "the points along an edge of the square",
                            .size = 500,
                            .size_min = 3,
                            .size_max = 20000,
                            .iterations = 10};
    double *a, sum;
    int n;

    sample_arguments(&sample, argc, argv);
    n = (int)sample.size;
    a = malloc(sample.size * sample.size * sizeof(*a));
    sample_need_memory(&sample, a != NULL);

    init(n, a);
    for (size_t i = 0; i < sample.iterations; i++)
        sweep(n, a);
    sum = checksum(n, a);

    free(a);
    return sample_print_real(&sample, sum);
}
