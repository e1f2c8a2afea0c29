/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jacobi3d: Jacobi's iteration for Laplace's equation on a cube of n^3 points, n = SIZE,
 * the boundary included and fixed; ITERATIONS sweeps, from one array to the other and back.
 *
 * Accesses: a point loads itself and its six neighbours and stores its new value: offsets of
 * 8, 8 n and 8 n^2 bytes to both sides, two regions of 8 n^3 bytes (globals), 8 n^3 accesses a
 * sweep, half when vectorised by two. A cache that keeps three planes, 24 n^2 bytes, misses
 * once a line of each array (with lines of 64, 2 of 64 accesses); one that keeps five rows,
 * 40 n bytes, but no planes, misses on three lines of the old array. When n is a power of
 * two, neighbouring rows and planes fall into few sets.
 */
#include "sample.h"

#define MAX_SIZE 256

static double u[MAX_SIZE * MAX_SIZE * MAX_SIZE];
static double v[MAX_SIZE * MAX_SIZE * MAX_SIZE];

static void init(size_t n)
{
    uint64_t random = 1;

    for (size_t i = 0; i < n * n * n; i++)
        u[i] = v[i] = sample_unit(&random);
    for (size_t i = 0; i < n * n; i++)
        u[i] = v[i] = 2; /* the plane i = 0 */
}

static void sweep(size_t n, const double *restrict from, double *restrict to)
{
    for (size_t i = 1; i < n - 1; i++) {
        for (size_t j = 1; j < n - 1; j++) {
            for (size_t k = 1; k < n - 1; k++) {
                size_t at = (i * n + j) * n + k;

                to[at] = (from[at] + from[at - 1] + from[at + 1] + from[at - n] + from[at + n] +
                          from[at - n * n] + from[at + n * n]) /
                         7;
            }
        }
    }
}

static double checksum(size_t n, const double *grid)
{
    double sum = 0;

    for (size_t i = 0; i < n * n * n; i++)
        sum += grid[i];
    return sum;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "jacobi3d",
                            .size_is = "the points along an edge of the cube",
                            .size = 100,
                            .size_min = 3,
                            .size_max = MAX_SIZE,
                            .iterations = 10};

    sample_arguments(&sample, argc, argv);
    init(sample.size);
    for (size_t i = 0; i < sample.iterations; i++) {
        if (i % 2 == 0)
            sweep(sample.size, u, v);
        else
            sweep(sample.size, v, u);
    }
    return sample_print_real(&sample, checksum(sample.size, sample.iterations % 2 ? v : u));
}
