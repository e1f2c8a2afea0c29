/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hydro, hydrot: a gas in two dimensions by explicit Lagrangian hydrodynamics on a grid of n^2
 * points, n = SIZE, which move with the gas; ITERATIONS time steps. They stand for HYDRO and HYDROT
 * of samples/STUDY.md. Both compute the same and print the same number; the loops are the same, but
 *
 *     hydro     the inner loop goes across the rows of the arrays: strides of 8 n bytes
 *     hydrot    the arrays are transposed (hydrot.c): unit stride
 *
 * Points have places and velocities, the cells between them mass, density, energy, pressure and
 * artificial viscosity (von Neumann and Richtmyer's, where a cell is compressed). A step has three
 * loops over the grid: points are accelerated by the pressures of the four cells around, move, and
 * cells get new areas, densities, viscosities, energies and pressures.
 *
 * Accesses: nine arrays of n^2 numbers, 72 n^2 bytes, some 48 n^2 accesses a step, in which every
 * array is gone through once or twice, at offsets of a row and a column; the masses of a line of
 * points are summed in a buffer of n numbers of unit stride. hydrot misses once a line. hydro comes
 * back to a line only at the next column: a level that has not the n lines of each array of a loop,
 * up to nine, misses at every access. That is so in level 1 of an R10000 (1024 lines) at all sizes
 * of interest, but never in level 2 (16384 lines of 2 MB), where both miss alike, but for sets.
 */
#include "arrays.h"

#ifdef HYDRO_TRANSPOSED
#    define NAME "hydrot"
#    define ALONG(n) ((size_t)1) /* from a point to the next one of a line, of the inner loop */
#    define ACROSS(n) (n)        /* from a line to the next one */
#else
#    define NAME "hydro"
#    define ALONG(n) (n)
#    define ACROSS(n) ((size_t)1)
#endif

struct grid {
    size_t n;
    double *x, *y, *u, *v;                          /* of points */
    double *mass, *density, *energy, *pressure, *q; /* of cells: of the point at their low corner */
    double *line;
};

#define TIME_STEP 0.1 /* cells are of edge 1, sound of speed 1 */
#define GAMMA 1.4

static void accelerate(const struct grid *grid)
{
    const size_t n = grid->n, along = ALONG(n), across = ACROSS(n);
    const double *restrict x = grid->x, *restrict y = grid->y;
    const double *restrict p = grid->pressure, *restrict q = grid->q, *restrict mass = grid->mass;
    double *restrict u = grid->u, *restrict v = grid->v, *restrict line = grid->line;

    for (size_t l = 1; l < n - 1; l++) {
        size_t at = l * across + along;

        for (size_t k = 1; k < n - 1; k++, at += along)
            line[k] = mass[at] + mass[at - along] + mass[at - across] + mass[at - along - across];
        at = l * across + along;
        for (size_t k = 1; k < n - 1; k++, at += along) {
            const size_t before = at - across;
            const double p11 = p[at] + q[at], p01 = p[at - along] + q[at - along];
            const double p10 = p[before] + q[before];
            const double p00 = p[before - along] + q[before - along];
            const double step = 2 * TIME_STEP / line[k];
            const double xd = x[at + along] - x[at - along], yd = y[at + along] - y[at - along];
            const double xe = x[at + across] - x[before], ye = y[at + across] - y[before];

            u[at] += step * ((p10 + p00 - p11 - p01) * yd + (p11 + p10 - p01 - p00) * ye) / 2;
            v[at] += step * ((p11 + p01 - p10 - p00) * xd + (p01 + p00 - p11 - p10) * xe) / 2;
        }
    }
}

static void move(const struct grid *grid)
{
    const size_t n = grid->n, along = ALONG(n), across = ACROSS(n);
    const double *restrict u = grid->u, *restrict v = grid->v;
    double *restrict x = grid->x, *restrict y = grid->y;

    for (size_t l = 0; l < n; l++) {
        size_t at = l * across;
        for (size_t k = 0; k < n; k++, at += along) {
            x[at] += TIME_STEP * u[at];
            y[at] += TIME_STEP * v[at];
        }
    }
}

/* The gas does work on what is around it, by its pressure and viscosity. */
static void compress(const struct grid *grid)
{
    const size_t n = grid->n, along = ALONG(n), across = ACROSS(n);
    const double *restrict x = grid->x, *restrict y = grid->y, *restrict mass = grid->mass;
    double *restrict density = grid->density, *restrict energy = grid->energy;
    double *restrict pressure = grid->pressure, *restrict q = grid->q;

    for (size_t l = 0; l < n - 1; l++) {
        size_t at = l * across;
        for (size_t k = 0; k < n - 1; k++, at += along) {
            const size_t far = at + along + across;
            const double area = ((x[far] - x[at]) * (y[at + along] - y[at + across]) -
                                 (y[far] - y[at]) * (x[at + along] - x[at + across])) /
                                2;
            const double now = mass[at] / fmax(fabs(area), 0.1), was = density[at];
            const double shrinks = fmax(now - was, 0);
            const double viscosity = 2 * shrinks * shrinks / (TIME_STEP * TIME_STEP) / now * 0.01;
            const double work = (pressure[at] + viscosity) * (now - was) / (now * was);
            const double left = fmax(energy[at] + work, 0.01);

            density[at] = now;
            energy[at] = left;
            q[at] = viscosity;
            pressure[at] = (GAMMA - 1) * now * left;
        }
    }
}

/* A gas at rest, warmer in one corner. l is the line, k the place in it: the same for both. */
static void init(const struct grid *grid)
{
    const size_t n = grid->n, along = ALONG(n), across = ACROSS(n);

    for (size_t l = 0; l < n; l++) {
        size_t at = l * across;
        for (size_t k = 0; k < n; k++, at += along) {
            grid->x[at] = (double)l;
            grid->y[at] = (double)k;
            grid->u[at] = grid->v[at] = grid->q[at] = 0;
            grid->mass[at] = grid->density[at] = 1;
            grid->energy[at] = l < n / 4 && k < n / 4 ? 2.5 : 1.8;
            grid->pressure[at] = (GAMMA - 1) * grid->energy[at];
        }
    }
}

static double checksum(const struct grid *grid)
{
    const size_t n = grid->n, along = ALONG(n), across = ACROSS(n);
    double sum = 0;

    for (size_t l = 0; l < n - 1; l++) {
        size_t at = l * across;
        for (size_t k = 0; k < n - 1; k++, at += along)
            sum += grid->mass[at] * grid->energy[at];
    }
    return sum;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = NAME,
                            .size_is = "the points along an edge of the grid",
                            .size = 300,
                            .size_min = 4,
                            .size_max = 4096,
                            .iterations = 3};
    struct grid grid = {0};
    double **const arrays[] = {&grid.x,       &grid.y,      &grid.u,        &grid.v, &grid.mass,
                               &grid.density, &grid.energy, &grid.pressure, &grid.q};
    double sum;
    void *all;

    sample_arguments(&sample, argc, argv);
    grid.n = sample.size;
    all = study_arrays(sizeof arrays / sizeof arrays[0], arrays, grid.n * grid.n);
    grid.line = malloc(grid.n * sizeof(double));
    sample_need_memory(&sample, all && grid.line);
    init(&grid);
    for (size_t step = 0; step < sample.iterations; step++) {
        accelerate(&grid);
        move(&grid);
        compress(&grid);
    }
    sum = checksum(&grid);
    free(all);
    free(grid.line);
    return sample_print_real(&sample, sum);
}
