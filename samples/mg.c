/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mg: Poisson's equation on a cube by multigrid: ITERATIONS V-cycles on (n + 1)^3 points,
 * n = SIZE, zero at the boundary, then on grids of half the edge down to n = 2.
 *
 * Accesses: each grid has three regions of 8 (n + 1)^3 bytes, u, f and r (heap); all coarser
 * ones together are a seventh of the finest and soon fit in a cache. residual() is a stencil
 * of seven points of u, with f and r at unit stride; smooth() adds r to u at unit stride;
 * coarsen() loads the 27 points of r around every other point in each dimension, nine rows
 * at a stride of 16 bytes; refine() loads eight points of the coarse u for each of the fine
 * one, each of them several times in turn. About 48 (n + 1)^3 accesses a cycle. Three planes,
 * 24 (n + 1)^2 bytes, are the working set of the stencils; a grid comes again with the next
 * pass over it.
 */
#include "sample.h"

enum { MAX_LEVELS = 10, SOURCES = 20 };

struct grid {
    size_t n;  /* intervals along an edge */
    double *u; /* solution, or correction to the finer grid's */
    double *f; /* right side */
    double *r; /* residual f - A u */
};

static size_t index_of(size_t n, size_t i, size_t j, size_t k)
{
    return (i * (n + 1) + j) * (n + 1) + k;
}

static void residual(const struct grid *grid)
{
    const size_t n = grid->n, row = n + 1, plane = row * row;
    const double *u = grid->u, *f = grid->f;
    const double scale = (double)(n * n);
    double *r = grid->r;

    for (size_t i = 1; i < n; i++) {
        for (size_t j = 1; j < n; j++) {
            for (size_t k = 1; k < n; k++) {
                size_t at = index_of(n, i, j, k);

                r[at] = f[at] - scale * (6 * u[at] - u[at - 1] - u[at + 1] - u[at - row] -
                                         u[at + row] - u[at - plane] - u[at + plane]);
            }
        }
    }
}

/* Jacobi's iteration, damped by 6/7. */
static void smooth(const struct grid *grid)
{
    const size_t n = grid->n;
    const double factor = 6 / 7.0 / (6.0 * (double)(n * n));

    residual(grid);
    for (size_t i = 1; i < n; i++) {
        for (size_t j = 1; j < n; j++) {
            for (size_t k = 1; k < n; k++) {
                size_t at = index_of(n, i, j, k);

                grid->u[at] += factor * grid->r[at];
            }
        }
    }
}

/* The coarse right side is the fine residual, weighted 1, 1/2, 1/4, 1/8 by distance. */
static void coarsen(const struct grid *fine, const struct grid *coarse)
{
    static const double weight[3] = {0.25, 0.5, 0.25};

    for (size_t i = 1; i < coarse->n; i++) {
        for (size_t j = 1; j < coarse->n; j++) {
            for (size_t k = 1; k < coarse->n; k++) {
                double sum = 0;

                for (size_t di = 0; di < 3; di++) {
                    for (size_t dj = 0; dj < 3; dj++) {
                        const double *r =
                            &fine->r[index_of(fine->n, 2 * i + di - 1, 2 * j + dj - 1, 2 * k - 1)];

                        sum += weight[di] * weight[dj] * (r[0] / 4 + r[1] / 2 + r[2] / 4);
                    }
                }
                coarse->f[index_of(coarse->n, i, j, k)] = sum;
            }
        }
    }
}

/* The fine solution gets the coarse one, linear in between: halves round to both sides. */
static void refine(const struct grid *coarse, const struct grid *fine)
{
    for (size_t i = 1; i < fine->n; i++) {
        for (size_t j = 1; j < fine->n; j++) {
            for (size_t k = 1; k < fine->n; k++) {
                double sum = 0;

                for (size_t corner = 0; corner < 8; corner++)
                    sum += coarse->u[index_of(coarse->n, (i + corner / 4) / 2,
                                              (j + corner / 2 % 2) / 2, (k + corner % 2) / 2)];
                fine->u[index_of(fine->n, i, j, k)] += sum / 8;
            }
        }
    }
}

static void v_cycle(const struct grid *grid)
{
    const struct grid *coarse = grid + 1;
    const size_t n = grid->n;

    smooth(grid);
    smooth(grid);
    if (n == 2)
        return;
    residual(grid);
    coarsen(grid, coarse);
    memset(coarse->u, 0, (coarse->n + 1) * (coarse->n + 1) * (coarse->n + 1) * sizeof(*coarse->u));
    v_cycle(coarse);
    refine(coarse, grid);
    smooth(grid);
    smooth(grid);
}

/* Charges of both signs at random points. */
static void init(const struct grid *grid)
{
    uint64_t random = 1;

    for (size_t s = 0; s < SOURCES; s++) {
        size_t i = 1 + sample_below(&random, grid->n - 1);
        size_t j = 1 + sample_below(&random, grid->n - 1);
        size_t k = 1 + sample_below(&random, grid->n - 1);

        grid->f[index_of(grid->n, i, j, k)] += s % 2 ? -1000 : 1000;
    }
}

static double checksum(const struct grid *grid)
{
    size_t points = (grid->n + 1) * (grid->n + 1) * (grid->n + 1);
    double sum = 0;

    for (size_t i = 0; i < points; i++)
        sum += grid->u[i] * grid->u[i];
    return sum;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "mg",
                            .size_is = "the intervals along an edge, a power of two",
                            .size = 32,
                            .size_min = 4,
                            .size_max = 512,
                            .iterations = 4};
    struct grid grids[MAX_LEVELS] = {{0}};
    size_t levels = 0;
    double sum;

    sample_arguments(&sample, argc, argv);
    if ((sample.size & (sample.size - 1)) != 0)
        sample_usage(&sample);
    for (size_t n = sample.size; n >= 2; n /= 2) {
        struct grid *grid = &grids[levels++];
        size_t points = (n + 1) * (n + 1) * (n + 1);

        grid->n = n;
        grid->u = calloc(points, sizeof(*grid->u));
        grid->f = calloc(points, sizeof(*grid->f));
        grid->r = calloc(points, sizeof(*grid->r));
        sample_need_memory(&sample, grid->u && grid->f && grid->r);
    }

    init(&grids[0]);
    for (size_t i = 0; i < sample.iterations; i++)
        v_cycle(&grids[0]);
    sum = checksum(&grids[0]);

    for (size_t i = 0; i < levels; i++) {
        free(grids[i].u);
        free(grids[i].f);
        free(grids[i].r);
    }
    return sample_print_real(&sample, sum);
}
