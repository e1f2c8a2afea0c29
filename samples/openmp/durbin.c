/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * durbin: the Yule-Walker equations T y = -r of n = SIZE unknowns, whose matrix is
 * Toeplitz's of 1 and r, by Durbin's recursion (Golub and Van Loan, 4.7): n steps, each
 * of which makes the solution longer by one; ITERATIONS solves anew.
 *
 * Accesses: three vectors of 8 n bytes (heap). Step k loads y forwards beside r backwards from
 * k, then y forwards and backwards at once and stores the next y in the other vector, all at
 * unit stride: 5 k accesses, the last three half of that when vectorised by two, and k more that
 * store the sum, as a reduction's is kept in memory: 3 n^2 in all. All vectors come again with
 * each step: 24 n bytes fit a cache, which then hits, or miss in it once a line.
 *
 * Parallel: in each step the product, with a reduction, and the update, schedule(static). The
 * bounds grow with k, so a thread's part of the vectors moves with each step. A sum of another
 * order differs in digits that are not printed.
 */
#include <omp.h>

#include "../sample.h"

/* Autocorrelations of two waves and noise. */
static void init(size_t n, double *r)
{
    for (size_t k = 0; k < n; k++)
        r[k] = 0.4 * cos(0.3 * (double)(k + 1)) + 0.3 * cos(1.1 * (double)(k + 1));
}

/* The next coefficient but for its scale: r[k] + the sum of r[k - 1 - i] y[i]. */
static double product(size_t k, const double *r, const double *y)
{
    double sum = r[k];

#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (size_t i = 0; i < k; i++)
        sum += r[k - 1 - i] * y[i];
    return sum;
}

static void update(size_t k, double alpha, const double *y, double *next)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < k; i++)
        next[i] = y[i] + alpha * y[k - 1 - i];
    next[k] = alpha;
}

/* The solution, which is in y or in other. */
static double *solve(size_t n, const double *r, double *y, double *other)
{
    double alpha = -r[0], beta = 1;

    y[0] = alpha;
    for (size_t k = 1; k < n; k++) {
        double *next = other;

        beta *= 1 - alpha * alpha;
        alpha = -product(k, r, y) / beta;
        update(k, alpha, y, next);
        other = y;
        y = next;
    }
    return y;
}

static double checksum(size_t n, const double *y)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += fabs(y[i]);
    return sum;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "durbin",
                            .size_is = "the unknowns",
                            .size = 1000,
                            .size_min = 1,
                            .size_max = 1000000,
                            .iterations = 1,
                            .threads = 1};
    double *vectors, sum = 0;
    size_t n;

    sample_arguments(&sample, argc, argv);
    omp_set_num_threads((int)sample.threads);
    n = sample.size;
    vectors = malloc(3 * n * sizeof(*vectors)); /* r, y and the next y */
    sample_need_memory(&sample, vectors != NULL);

    init(n, vectors);
    for (size_t i = 0; i < sample.iterations; i++)
        sum = checksum(n, solve(n, vectors, vectors + n, vectors + 2 * n));

    free(vectors);
    return sample_print_real(&sample, sum);
}
