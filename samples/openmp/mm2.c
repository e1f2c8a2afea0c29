/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mm2: two matrix products, D = alpha A B C + beta D, of n = SIZE rows each; ITERATIONS
 * multiplies again.
 *
 * Accesses: five regions of 8 n^2 bytes (heap), a, b, c, d and the product of a and b. Each product
 * is n^2 sums of n terms, along a row of the left matrix by 8 bytes and down a column of the right
 * one by 8 n: 2 n^3 loads. A row stays in the nearest cache for n columns. A column touches n
 * lines, 64 n bytes with lines of 64, that have the next 7 in them: where they stay, one column in
 * 8 misses, and where all of the right matrix stays, 8 n^2 bytes, none after the first row.
 *
 * Parallel: in both products the n^2 sums, by collapse(2) with schedule(static): a stretch of
 * the result for each thread, about a band of rows, while all threads read the whole right
 * matrix. The first product has to be whole before the second begins.
 */
#include <omp.h>

#include "../sample.h"

static void init(size_t n, double *matrix, uint64_t seed)
{
    for (size_t i = 0; i < n * n; i++)
        matrix[i] = sample_unit(&seed) / (double)n;
}

/* result = alpha left right + beta result */
static void multiply(size_t n, double alpha, const double *left, const double *right, double beta,
                     double *result)
{
#pragma omp parallel for schedule(static) collapse(2)
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            double sum = 0;

            for (size_t k = 0; k < n; k++)
                sum += left[i * n + k] * right[k * n + j];
            result[i * n + j] = beta * result[i * n + j] + alpha * sum;
        }
    }
}

static double checksum(size_t n, const double *d)
{
    double sum = 0;

    for (size_t i = 0; i < n * n; i++)
        sum += d[i];
    return sum;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "mm2",
                            .size_is = "the rows of a matrix",
                            .size = 200,
                            .size_min = 1,
                            .size_max = 10000,
                            .iterations = 1,
                            .threads = 1};
    double *matrices[5], sum;
    int have_it = 1;
    size_t n;

    sample_arguments(&sample, argc, argv);
    omp_set_num_threads((int)sample.threads);
    n = sample.size;
    for (int i = 0; i < 5; i++) {
        matrices[i] = malloc(n * n * sizeof(*matrices[i]));
        have_it = have_it && matrices[i];
    }
    sample_need_memory(&sample, have_it);

    for (int i = 0; i < 5; i++)
        init(n, matrices[i], (uint64_t)i + 1);
    for (size_t i = 0; i < sample.iterations; i++) {
        multiply(n, 1.5, matrices[0], matrices[1], 0, matrices[4]);
        multiply(n, 1, matrices[4], matrices[2], 0.5, matrices[3]);
    }
    sum = checksum(n, matrices[3]);

    for (int i = 0; i < 5; i++)
        free(matrices[i]);
    return sample_print_real(&sample, sum);
}
