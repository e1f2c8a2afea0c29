/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gramschmidt: modified Gram and Schmidt, A = Q R for a square matrix of n = SIZE rows;
 * ITERATIONS factors anew. Matrices lie by rows, but the algorithm works on columns.
 *
 * Accesses: for each column k of q, all later columns j of a, twice: 5 n accesses each,
 * 2.5 n^3 in all, in a triangle (j > k). Every inner loop strides by 8 n bytes, so each
 * access is to a line of its own: a column touches n lines with 8 elements each, which the
 * next columns use if the cache keeps the n lines of q's column and those of 8 columns of a,
 * 128 n bytes with lines of 64; the whole of a, 8 n^2 bytes, comes again with the next k.
 * Three regions of 8 n^2 bytes (heap). Strides of a power of two fall into few sets and miss
 * sooner.
 */
#include "sample.h"

static void init(int n, double *a)
{
    uint64_t random = 1;

    for (int i = 0; i < n * n; i++)
        a[i] = sample_unit(&random) - 0.5;
    for (int i = 0; i < n; i++)
        a[i * n + i] += 2;
}

static void factor(int n, double *a, double *q, double *r)
{
    for (int k = 0; k < n; k++) {
        double norm = 0;

        for (int i = 0; i < n; i++)
            norm += a[i * n + k] * a[i * n + k];
        r[k * n + k] = sqrt(norm);
        for (int i = 0; i < n; i++)
            q[i * n + k] = a[i * n + k] / r[k * n + k];
        for (int j = k + 1; j < n; j++) {
            double dot = 0;

            for (int i = 0; i < n; i++)
                dot += q[i * n + k] * a[i * n + j];
            for (int i = 0; i < n; i++)
                a[i * n + j] -= q[i * n + k] * dot;
            r[k * n + j] = dot;
        }
    }
}

/* The sum of the upper triangle of r. */
static double checksum(int n, const double *r)
{
    double sum = 0;

    for (int i = 0; i < n; i++) {
        for (int j = i; j < n; j++)
            sum += fabs(r[i * n + j]);
    }
    return sum;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "gramschmidt",
                            .size_is = "the rows of the matrix",
                            .size = 200,
                            .size_min = 1,
                            .size_max = 10000,
                            .iterations = 1};
    double *a, *q, *r, sum;
    size_t bytes;
    int n;

    sample_arguments(&sample, argc, argv);
    n = (int)sample.size;
    bytes = sample.size * sample.size * sizeof(*a);
    a = malloc(bytes);
    q = malloc(bytes);
    r = malloc(bytes);
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
