/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sweep: neutral particles in a cube of n^3 cells, n = SIZE, by discrete ordinates (S2: a direction
 * in each octant) with diamond differences; ITERATIONS source iterations. It stands for SWEEP of
 * samples/STUDY.md, which is to say for the wavefront sweeps of SWEEP3D.
 *
 * In a direction a cell takes what leaves its three neighbours upstream, so that a sweep begins in
 * the octant's corner and goes along i, j and k: forwards or backwards. What comes along i is in a
 * register, along j in an array of n, along k in one of n^2 numbers. The source of a direction is
 * the sum of four moments; the fluxes of all directions make the four moments of the flux, from
 * which scattering makes the next source.
 *
 * Accesses: a cell loads its cross section, four moments of the source and of the flux, what comes
 * along j and k, and stores the moments and what leaves: 17, all of unit stride, forwards in four
 * octants and backwards in four, over nine arrays of n^3 numbers, 72 n^3 bytes. There is no reuse
 * within a sweep but that of the planes, 8 n^2 bytes; a level of a cache has either all of it, from
 * the second sweep on, or misses once a line. A division a cell (19 cycles of an R10000) is what
 * memory has to hide behind.
 */
#include <stddef.h>

#include "arrays.h"

enum { MOMENTS = 4 };

struct cube {
    size_t n;
    double *total; /* cross section */
    double *source[MOMENTS], *flux[MOMENTS];
    double *along_j, *along_k;
};

/* The cells of a line along i, from its upstream end: at the first, going by step. */
static double line(const struct cube *cube, const double *weight, size_t at, ptrdiff_t step,
                   double *restrict y, double *restrict z)
{
    const double *restrict total = cube->total + at;
    const double *restrict s0 = cube->source[0] + at, *restrict s1 = cube->source[1] + at;
    const double *restrict s2 = cube->source[2] + at, *restrict s3 = cube->source[3] + at;
    double *restrict f0 = cube->flux[0] + at, *restrict f1 = cube->flux[1] + at;
    double *restrict f2 = cube->flux[2] + at, *restrict f3 = cube->flux[3] + at;
    double x = 0; /* what comes along i: nothing from outside */
    ptrdiff_t i = 0;

    for (size_t cells = cube->n; cells > 0; cells--, i += step) {
        const double source = s0[i] + weight[1] * s1[i] + weight[2] * s2[i] + weight[3] * s3[i];
        const double in = x + y[i] + z[i];
        const double psi = (source + 2 * in) / (total[i] + 6);

        x = fmax(2 * psi - x, 0); /* what leaves: never less than nothing */
        y[i] = fmax(2 * psi - y[i], 0);
        z[i] = fmax(2 * psi - z[i], 0);
        f0[i] += psi;
        f1[i] += weight[1] * psi;
        f2[i] += weight[2] * psi;
        f3[i] += weight[3] * psi;
    }
    return x;
}

/* One direction: bit d of the octant says that it goes backwards along dimension d. */
static double sweep(const struct cube *cube, unsigned octant)
{
    const size_t n = cube->n, first_i = octant & 1 ? n - 1 : 0;
    const ptrdiff_t step = octant & 1 ? -1 : 1;
    double weight[MOMENTS] = {1}, leaves = 0;

    for (unsigned d = 0; d < 3; d++)
        weight[d + 1] = octant >> d & 1 ? -0.577350269 : 0.577350269;
    memset(cube->along_k, 0, n * n * sizeof(double));
    for (size_t plane = 0; plane < n; plane++) {
        const size_t k = octant & 4 ? n - 1 - plane : plane;
        memset(cube->along_j, 0, n * sizeof(double));
        for (size_t row = 0; row < n; row++) {
            const size_t j = octant & 2 ? n - 1 - row : row;
            leaves += line(cube, weight, (k * n + j) * n + first_i, step, cube->along_j + first_i,
                           cube->along_k + j * n + first_i);
        }
    }
    return leaves;
}

/* What is scattered, half of the flux, and an even source. */
static void scatter(const struct cube *cube, size_t cells)
{
    for (int m = 0; m < MOMENTS; m++) {
        double *restrict source = cube->source[m];
        double *restrict flux = cube->flux[m];
        for (size_t at = 0; at < cells; at++) {
            source[at] = (m == 0) + 0.0625 * flux[at];
            flux[at] = 0;
        }
    }
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "sweep",
                            .size_is = "the cells along an edge of the cube",
                            .size = 40,
                            .size_min = 2,
                            .size_max = 256,
                            .iterations = 1};
    struct cube cube = {0};
    double sum = 0;
    double **arrays[1 + 2 * MOMENTS] = {&cube.total};
    size_t cells;
    void *all;

    sample_arguments(&sample, argc, argv);
    cube.n = sample.size;
    cells = cube.n * cube.n * cube.n;
    for (size_t m = 0; m < MOMENTS; m++) {
        arrays[1 + m] = &cube.source[m];
        arrays[1 + MOMENTS + m] = &cube.flux[m];
    }
    all = study_arrays(1 + 2 * MOMENTS, arrays, cells);
    cube.along_j = malloc(cube.n * sizeof(double));
    cube.along_k = malloc(cube.n * cube.n * sizeof(double));
    sample_need_memory(&sample, all && cube.along_j && cube.along_k);
    for (size_t at = 0; at < cells; at++)
        cube.total[at] = 1 + 0.5 * (double)(at % 7);
    for (size_t iteration = 0; iteration < sample.iterations; iteration++) {
        scatter(&cube, cells);
        for (unsigned octant = 0; octant < 8; octant++)
            sum += sweep(&cube, octant);
    }
    free(all);
    free(cube.along_j);
    free(cube.along_k);
    return sample_print_real(&sample, sum);
}
