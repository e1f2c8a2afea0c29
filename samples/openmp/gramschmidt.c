/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gramschmidt: modified Gram and Schmidt, A = Q R for a square matrix of n = SIZE rows;
 * ITERATIONS factors anew. Matrices lie by rows, but the algorithm works on columns.
 *
 * Accesses: three regions of 8 n^2 bytes (heap). For each column k its norm and q's column, then
 * for all later columns j of a a product with q's column and a subtraction: 5 n accesses, 2.5 n^3
 * in all, in a triangle (j > k). Every inner loop strides by 8 n bytes, so each access is to a line
 * of its own; a column's n lines have the next 7 columns in them, which hit in a cache that keeps
 * the lines of q's column and of a's, 128 n bytes with lines of 64. The columns of a after k come
 * again with the next k.
 *
 * Parallel: in one parallel section over all k, the columns j > k with schedule(static); norm
 * and q's column are made by one thread, the others wait, read them and share lines of a at the
 * borders of their columns, which move with each k.
 */
#include <omp.h>

#include "../sample.h"

static void init(size_t n, double *a)
{
    uint64_t random = 1;

    for (size_t i = 0; i < n * n; i++)
        a[i] = sample_unit(&random) - 0.5;
    for (size_t i = 0; i < n; i++)
        a[i * n + i] += 2;
}

static void normalise(size_t n, size_t k, const double *a, double *q, double *r)
{
    double sum = 0, norm;

    for (size_t i = 0; i < n; i++)
        sum += a[i * n + k] * a[i * n + k];
    norm = sqrt(sum);
    r[k * n + k] = norm;
    for (size_t i = 0; i < n; i++)
        q[i * n + k] = a[i * n + k] / norm;
}

static void factor(size_t n, double *a, double *q, double *r)
{
#pragma omp parallel
    for (size_t k = 0; k < n; k++) {
#pragma omp single
        normalise(n, k, a, q, r);
#pragma omp for schedule(static)
        for (size_t j = k + 1; j < n; j++) {
            double dot = 0;

            for (size_t i = 0; i < n; i++)
                dot += q[i * n + k] * a[i * n + j];
            for (size_t i = 0; i < n; i++)
                a[i * n + j] -= q[i * n + k] * dot;
            r[k * n + j] = dot;
        }
    }
}

static double checksum(size_t n, const double *r)
{
    double sum = 0;

    for (size_t i = 0; i < n * n; i++)
        sum += fabs(r[i]);
    return sum;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "gramschmidt",
                            .size_is = "the rows of the matrix",
                            .size = 200,
                            .size_min = 1,
                            .size_max = 10000,
                            .iterations = 1,
                            .threads = 1};
    double *a, *q, *r, sum;
    size_t n;

    sample_arguments(&sample, argc, argv);
    omp_set_num_threads((int)sample.threads);
    n = sample.size;
    a = malloc(n * n * sizeof(*a));
    q = malloc(n * n * sizeof(*q));
    r = calloc(n * n, sizeof(*r)); /* below the diagonal it stays 0 */
    sample_need_memory(&sample, a && q && r);

    for (size_t i = 0; i < sample.iterations; i++) {
        init(n, a);
        factor(n, a, q, r);
    }
    sum = checksum(n, r);

    free(a);
    free(q);
    free(r);
    return sample_print_real(&sample, sum);
}
