/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * matmul: C = A B for matrices of n = SIZE rows and columns, the textbook's three loops.
 * ITERATIONS multiplies again.
 *
 * Accesses, to be counted by hand: init() stores a and b, 2 n^2; each multiply() loads a
 * and b n^3 times each and stores c n^2 times; checksum() loads c, n^2. Strides in the
 * inner loop of multiply(): 8 bytes along a row of a, 8 n down a column of b. Three regions
 * of 8 n^2 bytes (globals). A row of a is used n times in turn and hits but for its first time:
 * with lines of 64 bytes it misses once in 8 n loads. A column of b touches n lines: b misses
 * once in 8 loads if the cache keeps these n lines for the next 7 columns, always if not, and
 * only the first time if it keeps all of b.
 */
#include "sample.h"

#define MAX_SIZE 1024

static double a[MAX_SIZE * MAX_SIZE];
static double b[MAX_SIZE * MAX_SIZE];
static double c[MAX_SIZE * MAX_SIZE];

/* Small integers: every sum is exact. */
static void init(size_t n)
{
    uint64_t random = 1;

    for (size_t i = 0; i < n * n; i++) {
        a[i] = (double)sample_below(&random, 10);
        b[i] = (double)sample_below(&random, 10);
    }
}

static void multiply(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            double sum = 0;

            for (size_t k = 0; k < n; k++)
                sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
    }
}

static double checksum(size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n * n; i++)
        sum += c[i];
    return sum;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "matmul",
                            .size_is = "the rows of a matrix",
                            .size = 64,
                            .size_min = 1,
                            .size_max = MAX_SIZE,
                            .iterations = 1};

    sample_arguments(&sample, argc, argv);
    init(sample.size);
    for (size_t i = 0; i < sample.iterations; i++)
        multiply(sample.size);
    return sample_print_count(&sample, (uint64_t)checksum(sample.size));
}
