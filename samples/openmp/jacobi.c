/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jacobi: Jacobi's iteration with five points on a square of n by n points, n = SIZE;
 * ITERATIONS sweeps, from one array to the other and back.
 *
 * Accesses: two regions of 8 n^2 bytes (heap). In a sweep every inner point is loaded five times
 * and stored once, at offsets of 8 and 8 n bytes, half of that when vectorised by two. Three rows,
 * 24 n bytes, are what the nearest cache must keep for a sweep to miss only once a line in each
 * array; both arrays come again with the next sweep.
 *
 * Parallel: all sweeps are one parallel section, in each the rows with schedule(static), so
 * that a thread has the same band of 1 / THREADS of the rows in every sweep, and reads the rows
 * on either side of it, which its neighbours wrote. Caches of 16 n^2 / THREADS
 * bytes each keep both arrays.
 */
#include <omp.h>

#include "../sample.h"

static void init(size_t n, double *u, double *v)
{
    uint64_t random = 1;

    for (size_t i = 0; i < n * n; i++)
        u[i] = v[i] = sample_unit(&random);
}

static void sweep_row(size_t n, const double *from, double *to)
{
    for (size_t j = 1; j < n - 1; j++)
        to[j] = (from[j] + from[j - 1] + from[j + 1] + *(from + j - n) + from[j + n]) / 5;
}

static void relax(size_t n, size_t sweeps, double *u, double *v)
{
#pragma omp parallel
    for (size_t sweep = 0; sweep < sweeps; sweep++) {
        const double *from = sweep % 2 ? v : u;
        double *to = sweep % 2 ? u : v;

#pragma omp for schedule(static)
        for (size_t i = 1; i < n - 1; i++)
            sweep_row(n, from + i * n, to + i * n);
    }
}

static double checksum(size_t n, const double *u)
{
    double sum = 0;

    for (size_t i = 0; i < n * n; i++)
        sum += u[i] * u[i];
    return sum;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "jacobi",
                            .size_is = "the points along an edge of the square",
                            .size = 500,
                            .size_min = 3,
                            .size_max = 20000,
                            .iterations = 10,
                            .threads = 1};
    double *u, *v, sum;
    size_t n;

    sample_arguments(&sample, argc, argv);
    omp_set_num_threads((int)sample.threads);
    n = sample.size;
    u = malloc(n * n * sizeof(*u));
    v = malloc(n * n * sizeof(*v));
    sample_need_memory(&sample, u && v);

    init(n, u, v);
    relax(n, sample.iterations, u, v);
    sum = checksum(n, sample.iterations % 2 ? v : u);

    free(u);
    free(v);
    return sample_print_real(&sample, sum);
}
