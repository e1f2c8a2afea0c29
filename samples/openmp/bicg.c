/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bicg: the two products of a step of biconjugate gradients, q = A p and s = A' r, for a
 * square matrix A of n = SIZE rows; ITERATIONS multiplies again.
 *
 * Accesses: a, 8 n^2 bytes, and four vectors of 8 n bytes (heap). by_rows() loads a and p at
 * unit stride, by_columns() goes down the columns of a by 8 n bytes beside r: 2 n^2 loads each.
 * The n lines that a column touches, 64 n bytes with lines of 64, have the next 7 columns in
 * them: where they stay cached one column in 8 misses, else all do. Strides of a power of two
 * fall into few sets and miss sooner.
 *
 * Parallel: the rows with schedule(static); the columns with schedule(static, 8), dealt out to
 * the threads by eights, which is a line of a row and of s: threads walk down beside each other,
 * and share a line only where a row does not begin with one.
 */
#include <omp.h>

#include "../sample.h"

static void init(size_t n, double *a, double *p, double *r)
{
    uint64_t random = 1;

    for (size_t i = 0; i < n * n; i++)
        a[i] = sample_unit(&random);
    for (size_t i = 0; i < n; i++) {
        p[i] = sample_unit(&random);
        r[i] = sample_unit(&random);
    }
}

static void by_rows(size_t n, const double *a, const double *p, double *q)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        double sum = 0;

        for (size_t j = 0; j < n; j++)
            sum += a[i * n + j] * p[j];
        q[i] = sum;
    }
}

static void by_columns(size_t n, const double *a, const double *r, double *s)
{
#pragma omp parallel for schedule(static, 8)
    for (size_t j = 0; j < n; j++) {
        double sum = 0;

        for (size_t i = 0; i < n; i++)
            sum += a[i * n + j] * r[i];
        s[j] = sum;
    }
}

static double checksum(size_t n, const double *q, const double *s)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += q[i] + 2 * s[i];
    return sum;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "bicg",
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
    vectors = malloc(4 * n * sizeof(*vectors)); /* p, q, r, s */
    sample_need_memory(&sample, a && vectors);

    init(n, a, vectors, vectors + 2 * n);
    for (size_t i = 0; i < sample.iterations; i++) {
        by_rows(n, a, vectors, vectors + n);
        by_columns(n, a, vectors + 2 * n, vectors + 3 * n);
    }
    sum = checksum(n, vectors + n, vectors + 3 * n);

    free(a);
    free(vectors);
    return sample_print_real(&sample, sum);
}
