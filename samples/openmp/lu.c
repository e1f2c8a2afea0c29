/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lu: A = L U in place, without pivots, for a matrix of n = SIZE rows whose diagonal
 * dominates; ITERATIONS factors anew.
 *
 * Accesses: one region of 8 n^2 bytes (heap), by rows. Step k subtracts a multiple of row k from
 * each row below, from column k on: three accesses at unit stride for each of n^3 / 3 elements,
 * half when vectorised by two, in a pyramid (i > k, j > k). Row k, 8 (n - k) bytes, stays in the
 * nearest cache; all rows below come again with each k, the square of (n - k)^2 elements,
 * and hit when it is smaller than the cache, so that the last steps hit in any.
 *
 * Parallel: all steps are one parallel section, in each the rows below k with schedule(static):
 * bands that shrink, so that rows move from thread to thread. All threads read row k, which one of
 * them wrote in the step before.
 */
#include <omp.h>

#include "../sample.h"

static void init(size_t n, double *a)
{
    uint64_t random = 1;

    for (size_t i = 0; i < n * n; i++)
        a[i] = sample_unit(&random);
    for (size_t i = 0; i < n; i++)
        a[i * n + i] += (double)n;
}

static void subtract(size_t n, size_t k, const double *pivot_row, double *row)
{
    double factor = row[k] / pivot_row[k];

    row[k] = factor;
    for (size_t j = k + 1; j < n; j++)
        row[j] -= factor * pivot_row[j];
}

static void decompose(size_t n, double *a)
{
#pragma omp parallel
    for (size_t k = 0; k < n; k++) {
#pragma omp for schedule(static)
        for (size_t i = k + 1; i < n; i++)
            subtract(n, k, a + k * n, a + i * n);
    }
}

static double checksum(size_t n, const double *a)
{
    double sum = 0;

    for (size_t i = 0; i < n * n; i++)
        sum += fabs(a[i]);
    return sum;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "lu",
                            .size_is = "the rows of the matrix",
                            .size = 300,
                            .size_min = 1,
                            .size_max = 10000,
                            .iterations = 1,
                            .threads = 1};
    double *a, sum;
    size_t n;

    sample_arguments(&sample, argc, argv);
    omp_set_num_threads((int)sample.threads);
    n = sample.size;
    a = malloc(n * n * sizeof(*a));
    sample_need_memory(&sample, a != NULL);

    for (size_t i = 0; i < sample.iterations; i++) {
        init(n, a);
        decompose(n, a);
    }
    sum = checksum(n, a);

    free(a);
    return sample_print_real(&sample, sum);
}
