/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mvt: x1 += A y1 and x2 += A' y2 for a square matrix A of n = SIZE rows; ITERATIONS adds
 * again.
 *
 * Accesses: a, 8 n^2 bytes, and four vectors of 8 n bytes (heap). One loop goes along the rows of a
 * beside y1, at unit stride, the other down its columns by 8 n bytes beside y2: 2 n^2 loads each.
 * a misses once a line along the rows; a column touches n lines, 64 n bytes with lines of 64, that
 * have the next 7 columns in them: one column in 8 misses where they stay cached, else all do.
 *
 * Parallel: rows and columns in one parallel section, schedule(static). Neither loop needs the
 * other, so that no thread waits between them (nowait): one may go down columns while another still
 * goes along its rows.
 */
#include <omp.h>

#include "../sample.h"

static void init(size_t n, double *a, double *vectors)
{
    uint64_t random = 1;

    for (size_t i = 0; i < n * n; i++)
        a[i] = sample_unit(&random);
    for (size_t i = 0; i < 4 * n; i++)
        vectors[i] = sample_unit(&random);
}

static void add(size_t n, const double *a, const double *y1, const double *y2, double *x1,
                double *x2)
{
#pragma omp parallel
    {
#pragma omp for schedule(static) nowait
        for (size_t i = 0; i < n; i++) {
            double sum = 0;

            for (size_t j = 0; j < n; j++)
                sum += a[i * n + j] * y1[j];
            x1[i] += sum;
        }
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i++) {
            double sum = 0;

            for (size_t j = 0; j < n; j++)
                sum += a[j * n + i] * y2[j];
            x2[i] += sum;
        }
    }
}

static double checksum(size_t n, const double *x1, const double *x2)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += x1[i] + 2 * x2[i];
    return sum;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "mvt",
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
    vectors = malloc(4 * n * sizeof(*vectors)); /* y1, y2, x1, x2 */
    sample_need_memory(&sample, a && vectors);

    init(n, a, vectors);
    for (size_t i = 0; i < sample.iterations; i++)
        add(n, a, vectors, vectors + n, vectors + 2 * n, vectors + 3 * n);
    sum = checksum(n, vectors + 2 * n, vectors + 3 * n);

    free(a);
    free(vectors);
    return sample_print_real(&sample, sum);
}
