/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * atax: y = A' (A x) for a square matrix A of n = SIZE rows; ITERATIONS multiplies again.
 *
 * Accesses: a, 8 n^2 bytes, the vectors x, y and t = A x, 8 n bytes each (heap). First along
 * the rows of a, with x: 2 n^2 loads at unit stride; then through a once more in strips of 64
 * columns, 512 bytes of every row, which are added to a part of y that stays in the nearest
 * cache: 3 n^2 accesses, half when vectorised by two. a comes twice, by whole lines each time,
 * and misses once a line in caches smaller than 8 n^2 bytes.
 *
 * Parallel: both loops, of rows and of strips, in one parallel section with schedule(static).
 * Threads read all of x and of t, the latter of which all of them wrote; a strip's part of y
 * is one thread's.
 */
#include <omp.h>

#include "../sample.h"

enum { STRIP = 64 };

static void init(size_t n, double *a, double *x)
{
    uint64_t random = 1;

    for (size_t i = 0; i < n * n; i++)
        a[i] = sample_unit(&random);
    for (size_t i = 0; i < n; i++)
        x[i] = sample_unit(&random);
}

static void multiply(size_t n, const double *a, const double *x, double *t, double *y)
{
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i++) {
            double sum = 0;

            for (size_t j = 0; j < n; j++)
                sum += a[i * n + j] * x[j];
            t[i] = sum;
        }
#pragma omp for schedule(static)
        for (size_t first = 0; first < n; first += STRIP) {
            size_t end = first + STRIP < n ? first + STRIP : n;

            for (size_t j = first; j < end; j++)
                y[j] = 0;
            for (size_t i = 0; i < n; i++) {
                double factor = t[i];

                for (size_t j = first; j < end; j++)
                    y[j] += a[i * n + j] * factor;
            }
        }
    }
}

static double checksum(size_t n, const double *y)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += y[i];
    return sum;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "atax",
                            .size_is = "the rows of the matrix",
                            .size = 500,
                            .size_min = 1,
                            .size_max = 20000,
                            .iterations = 2,
                            .threads = 1};
    double *a, *vectors, sum;
    size_t n;

    sample_arguments(&sample, argc, argv);
    omp_set_num_threads((int)sample.threads);
    n = sample.size;
    a = malloc(n * n * sizeof(*a));
    vectors = malloc(3 * n * sizeof(*vectors)); /* x, t, y */
    sample_need_memory(&sample, a && vectors);

    init(n, a, vectors);
    for (size_t i = 0; i < sample.iterations; i++)
        multiply(n, a, vectors, vectors + n, vectors + 2 * n);
    sum = checksum(n, vectors + 2 * n);

    free(a);
    free(vectors);
    return sample_print_real(&sample, sum);
}
