/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * doolittle: factor A = L U in place, row by row and without pivots, of a diagonally dominant
 * matrix of n = SIZE rows, for which none are needed; ITERATIONS factors anew. lu is the one with
 * pivots.
 *
 * Accesses: one region of 8 n^2 bytes (heap), by rows. factor() goes through row i: for each k < i
 * it divides a[i][k] by a[k][k] and subtracts a multiple of what is right of the diagonal in row k
 * from row i: 3 accesses at unit stride for each product, n^3 in all, half when vectorised by two.
 * Row i stays in the nearest cache as long as 8 n bytes fit there twice; all rows above pass by for
 * each, a triangle of up to 4 n^2 bytes, which the last cache has to hold. Nothing depends on the
 * numbers: all addresses and counts are functions of i and k.
 */
#include "sample.h"

static void init(size_t n, double *a)
{
    uint64_t random = 1;

    for (size_t i = 0; i < n * n; i++)
        a[i] = sample_unit(&random) - 0.5;
    for (size_t i = 0; i < n; i++)
        a[i * n + i] += (double)n;
}

static void factor(size_t n, double *a)
{
    for (size_t i = 1; i < n; i++) {
        for (size_t k = 0; k < i; k++) {
            double multiple = a[i * n + k] /= a[k * n + k];

            for (size_t j = k + 1; j < n; j++)
                a[i * n + j] -= multiple * a[k * n + j];
        }
    }
}

/* The product of the diagonal, by its logarithm. */
static double checksum(size_t n, const double *a)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += log(a[i * n + i]);
    return sum;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "doolittle",
                            .size_is = "the rows",
                            .size = 300,
                            .size_min = 1,
                            .size_max = 10000,
                            .iterations = 1};
    double sum = 0;
    double *a;

    sample_arguments(&sample, argc, argv);
    a = malloc(sample.size * sample.size * sizeof(*a));
    sample_need_memory(&sample, a != NULL);

    for (size_t i = 0; i < sample.iterations; i++) {
        init(sample.size, a);
        factor(sample.size, a);
        sum += checksum(sample.size, a);
    }

    free(a);
    return sample_print_real(&sample, sum);
}
