/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * symm: C = alpha A B + beta C with A symmetric, of which only the lower triangle is
 * stored, all of n = SIZE rows and columns; ITERATIONS multiplies again.
 *
 * Accesses: the inner loop goes down a column of b and of c to row i (a triangle, n^3 / 2
 * turns) and along row i of a: strides of 8 n bytes in b and c, 8 in a, 4 accesses a turn and
 * 2 n^3 in all. Three regions of 8 n^2 bytes (heap), of a only half is used. The columns
 * touch 2 i lines whose other elements the next j use if the cache keeps them (128 i bytes
 * with lines of 64), else nearly all of these miss; the rows of b and c above i, 16 n i bytes,
 * come again with the next i.
 */
#include "sample.h"

static void init(int n, double *a, double *b, double *c)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            a[i * n + j] = j <= i ? (double)((i + j) % 100) / n : -999;
            b[i * n + j] = (double)((n + i - j) % 100) / n;
            c[i * n + j] = (double)((i + j) % 100) / n;
        }
    }
}

static void multiply(int n, double alpha, const double *a, const double *b, double beta, double *c)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            double upper = 0;

            for (int k = 0; k < i; k++) {
                c[k * n + j] += alpha * b[i * n + j] * a[i * n + k];
                upper += b[k * n + j] * a[i * n + k];
            }
            c[i * n + j] = beta * c[i * n + j] + alpha * (b[i * n + j] * a[i * n + i] + upper);
        }
    }
}

static double checksum(int n, const double *c)
{
    double sum = 0;

    for (int i = 0; i < n * n; i++)
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
                            .iterations = 1};
    double *a, *b, *c, sum;
    size_t bytes;
    int n;

    sample_arguments(&sample, argc, argv);
    n = (int)sample.size;
    bytes = sample.size * sample.size * sizeof(*a);
    a = malloc(bytes);
    b = malloc(bytes);
    c = malloc(bytes);
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
