/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * symm: C = alpha A B + beta C with A symmetric, of which only the lower triangle is
 * stored, all of n = SIZE rows and columns; ITERATIONS multiplies again.
 *
 * Accesses: three regions of 8 n^2 bytes (heap), of a only half is used. Row i of c is the
 * sum of all rows of b, each times an element of a: three accesses at unit stride for each of
 * n^3 products, half when vectorised by two. The elements of a come along row i as far as
 * the diagonal, and then down column i by 8 n bytes. c's row, 8 n bytes, stays in the nearest
 * cache; the whole of b comes again with every row.
 *
 * Parallel: the rows of c with schedule(static), all of the same length; all threads read the
 * whole of b, and both their own rows of a and the columns below in those of later threads.
 */
#include <omp.h>

#include "../sample.h"

static void init(size_t n, double *a, double *b, double *c)
{
    uint64_t random = 1;

    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            a[i * n + j] = j <= i ? sample_unit(&random) / (double)n : -999;
            b[i * n + j] = sample_unit(&random);
            c[i * n + j] = sample_unit(&random);
        }
    }
}

static void add_row(size_t n, double factor, const double *from, double *to)
{
    for (size_t j = 0; j < n; j++)
        to[j] += factor * from[j];
}

static void multiply(size_t n, double alpha, const double *a, const double *b, double beta,
                     double *c)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            c[i * n + j] *= beta;
        for (size_t k = 0; k <= i; k++)
            add_row(n, alpha * a[i * n + k], b + k * n, c + i * n);
        for (size_t k = i + 1; k < n; k++)
            add_row(n, alpha * a[k * n + i], b + k * n, c + i * n);
    }
}

static double checksum(size_t n, const double *c)
{
    double sum = 0;

    for (size_t i = 0; i < n * n; i++)
        sum += c[i];
    return sum;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "symm",
                            .size_is = "the rows of a matrix",
                            .size = 200,
                            .size_min = 1,
                            .size_max = 10000,
                            .iterations = 1,
                            .threads = 1};
    double *a, *b, *c, sum;
    size_t n;

    sample_arguments(&sample, argc, argv);
    omp_set_num_threads((int)sample.threads);
    n = sample.size;
    a = malloc(n * n * sizeof(*a));
    b = malloc(n * n * sizeof(*b));
    c = malloc(n * n * sizeof(*c));
    sample_need_memory(&sample, a && b && c);

    init(n, a, b, c);
    for (size_t i = 0; i < sample.iterations; i++)
        multiply(n, 1.5, a, b, 0.5, c);
    sum = checksum(n, c);

    free(a);
    free(b);
    free(c);
    return sample_print_real(&sample, sum);
}
