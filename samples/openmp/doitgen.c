/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * doitgen: each line of a cube of n^3 numbers, n = SIZE, is multiplied by a matrix of n^2, as
 * in multiresolution analysis: a[r][q][p] becomes the sum over s of a[r][q][s] c[s][p];
 * ITERATIONS does so again.
 *
 * Accesses: the cube, 8 n^3 bytes, the matrix, 8 n^2 (heap), and a line of 8 n bytes in which
 * a thread collects the result (a private array, on its stack). For each of the n^2 lines the
 * whole matrix comes, down its columns by 8 n bytes, beside the line of the cube: 2 n^4 loads in
 * all. Matrix and lines stay in a cache of somewhat more than 8 n^2 bytes; the cube misses once a
 * line.
 *
 * Parallel: the n^2 lines, by collapse(2) with schedule(static), the collected line private:
 * a thread has a stretch of the cube, all threads read the matrix.
 */
#include <omp.h>

#include "../sample.h"

enum { MAX_SIZE = 512 };

/* The rows of c sum to 1, so that numbers stay as large as they are. */
static void init(size_t n, double *a, double *c)
{
    uint64_t random = 1;

    for (size_t i = 0; i < n * n * n; i++)
        a[i] = sample_unit(&random);
    for (size_t s = 0; s < n; s++) {
        for (size_t p = 0; p < n; p++)
            c[s * n + p] = (double)(2 * ((s + p) % n) + 1) / (double)(n * n);
    }
}

static void multiply(size_t n, double *a, const double *c)
{
    double line[MAX_SIZE];

#pragma omp parallel for schedule(static) collapse(2) private(line)
    for (size_t r = 0; r < n; r++) {
        for (size_t q = 0; q < n; q++) {
            double *of_a = a + (r * n + q) * n;

            for (size_t p = 0; p < n; p++) {
                double sum = 0;

                for (size_t s = 0; s < n; s++)
                    sum += of_a[s] * c[s * n + p];
                line[p] = sum;
            }
            for (size_t p = 0; p < n; p++)
                of_a[p] = line[p];
        }
    }
}

static double checksum(size_t n, const double *a)
{
    double sum = 0;

    for (size_t i = 0; i < n * n * n; i++)
        sum += a[i] * a[i];
    return sum;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "doitgen",
                            .size_is = "the numbers along an edge of the cube",
                            .size = 50,
                            .size_min = 1,
                            .size_max = MAX_SIZE,
                            .iterations = 1,
                            .threads = 1};
    double *a, *c, sum;
    size_t n;

    sample_arguments(&sample, argc, argv);
    omp_set_num_threads((int)sample.threads);
    n = sample.size;
    a = malloc(n * n * n * sizeof(*a));
    c = malloc(n * n * sizeof(*c));
    sample_need_memory(&sample, a && c);

    init(n, a, c);
    for (size_t i = 0; i < sample.iterations; i++)
        multiply(n, a, c);
    sum = checksum(n, a);

    free(a);
    free(c);
    return sample_print_real(&sample, sum);
}
