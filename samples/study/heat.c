/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * heat: an implicit step of the diffusion of heat on a grid of n^2 points, n = SIZE, whose
 * conductivity differs from edge to edge, by conjugate gradients; ITERATIONS iterations. It stands
 * for HEAT of samples/STUDY.md.
 *
 * The matrix is symmetric and has five diagonals, of which three are kept: its own, and the
 * conductivities to the next point of the row and to the next row. An iteration is a product with
 * it, two scalar products and three updates of vectors.
 *
 * Accesses: seven arrays of n^2 numbers, 56 n^2 bytes, and 21 n^2 accesses an iteration, all of
 * unit stride: the product loads a point, its four neighbours (8 and 8 n bytes off), five
 * coefficients, and stores a number; then come loops over two vectors and over one. There is
 * hardly any arithmetic to hide misses behind, and reuse is that of rows, 24 n bytes, and of whole
 * vectors between the loops: a level has the 56 n^2 bytes, a part of the vectors, or misses once a
 * line in each loop.
 */
#include "arrays.h"

struct system {
    size_t n;
    double *diagonal, *along, *across;
    double *x, *r, *p, *q;
};

/* q = A p, and the product of p with it; the border stays 0. */
static double multiply(const struct system *a)
{
    const size_t n = a->n;
    double product = 0;

    for (size_t i = 1; i < n - 1; i++) {
        const double *restrict p = a->p + i * n, *restrict below = p - n, *restrict above = p + n;
        const double *restrict diagonal = a->diagonal + i * n, *restrict along = a->along + i * n;
        const double *restrict across = a->across + i * n, *restrict before = across - n;
        double *restrict q = a->q + i * n;

        for (size_t j = 1; j < n - 1; j++) {
            const double sum = diagonal[j] * p[j] - along[j] * p[j + 1] - along[j - 1] * p[j - 1] -
                               across[j] * above[j] - before[j] * below[j];
            q[j] = sum;
            product += p[j] * sum;
        }
    }
    return product;
}

/* x += step p, r -= step q; the square of r. */
static double advance(const struct system *a, double step)
{
    const size_t count = a->n * a->n;
    const double *restrict p = a->p, *restrict q = a->q;
    double *restrict x = a->x, *restrict r = a->r;
    double square = 0;

    for (size_t at = 0; at < count; at++)
        x[at] += step * p[at];
    for (size_t at = 0; at < count; at++)
        r[at] -= step * q[at];
    for (size_t at = 0; at < count; at++)
        square += r[at] * r[at];
    return square;
}

static void turn(const struct system *a, double share)
{
    const size_t count = a->n * a->n;
    const double *restrict r = a->r;
    double *restrict p = a->p;

    for (size_t at = 0; at < count; at++)
        p[at] = r[at] + share * p[at];
}

/* Conductivities from 0.5 to 1.5, a warm square; the square of r. */
static double init(const struct system *a)
{
    const size_t n = a->n, count = n * n;
    uint64_t random = 1;
    double square = 0;

    for (size_t at = 0; at < count; at++) {
        a->along[at] = 0.5 + sample_unit(&random);
        a->across[at] = 0.5 + sample_unit(&random);
        a->x[at] = a->r[at] = a->p[at] = a->q[at] = a->diagonal[at] = 0;
    }
    for (size_t i = 1; i < n - 1; i++) {
        for (size_t at = i * n + 1; at < i * n + n - 1; at++) {
            a->diagonal[at] =
                1 + a->along[at] + a->along[at - 1] + a->across[at] + a->across[at - n];
            a->p[at] = a->r[at] = i < n / 2 ? 1 : 2;
            square += a->r[at] * a->r[at];
        }
    }
    return square;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "heat",
                            .size_is = "the points along an edge of the grid",
                            .size = 300,
                            .size_min = 3,
                            .size_max = 4096,
                            .iterations = 5};
    struct system a = {0};
    double **const arrays[] = {&a.diagonal, &a.along, &a.across, &a.x, &a.r, &a.p, &a.q};
    double square, sum = 0;
    void *all;

    sample_arguments(&sample, argc, argv);
    a.n = sample.size;
    all = study_arrays(sizeof arrays / sizeof arrays[0], arrays, a.n * a.n);
    sample_need_memory(&sample, all != NULL);
    square = init(&a);
    for (size_t i = 0; i < sample.iterations && square > 0; i++) {
        const double was = square;
        square = advance(&a, was / multiply(&a));
        turn(&a, square / was);
    }
    for (size_t at = 0; at < a.n * a.n; at++)
        sum += a.x[at];
    free(all);
    return sample_print_real(&sample, sum);
}
