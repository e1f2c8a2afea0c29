/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * adi: the heat equation on a square of n by n points, n = SIZE, by alternating directions
 * (Peaceman and Rachford): each of the ITERATIONS time steps is implicit along the columns,
 * then along the rows. A line's tridiagonal system is eliminated forwards and substituted
 * backwards (Thomas); p and q keep the elimination's factors of every line.
 *
 * Accesses: four regions of 8 n^2 bytes (globals), about 17 n^2 accesses a step. columns()
 * runs its inner loops down u and v by strides of 8 n bytes, forwards and then backwards,
 * while p and q go along rows: a column touches n lines of u and n of v, which the next
 * columns need again, so a cache that keeps 128 n bytes (with lines of 64) misses on one column
 * in 8 and a smaller one on nearly every access to u and v. rows() goes by 8 and -8 bytes and
 * reads neighbours 8 n bytes away in v. A whole array comes again only half a step later.
 */
#include "sample.h"

#define MAX_SIZE 1024

static double u[MAX_SIZE * MAX_SIZE];
static double v[MAX_SIZE * MAX_SIZE];
static double p[MAX_SIZE * MAX_SIZE];
static double q[MAX_SIZE * MAX_SIZE];

static void init(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            u[i * n + j] = (double)((3 * i + 5 * j) % 17) / 8;
    }
}

/* v from u, implicit along column i; r is the time step over twice the mesh width squared. */
static void columns(size_t n, double r)
{
    for (size_t i = 1; i < n - 1; i++) {
        v[i] = 1;
        p[i * n] = 0;
        q[i * n] = 1;
        for (size_t j = 1; j < n - 1; j++) {
            double right_side =
                r * u[j * n + i - 1] + (1 - 2 * r) * u[j * n + i] + r * u[j * n + i + 1];
            double pivot = 1 + 2 * r - r * p[i * n + j - 1];

            p[i * n + j] = r / pivot;
            q[i * n + j] = (right_side + r * q[i * n + j - 1]) / pivot;
        }
        v[(n - 1) * n + i] = 1;
        for (size_t j = n - 2; j >= 1; j--)
            v[j * n + i] = p[i * n + j] * v[(j + 1) * n + i] + q[i * n + j];
    }
}

/* u from v, implicit along row i. */
static void rows(size_t n, double r)
{
    for (size_t i = 1; i < n - 1; i++) {
        u[i * n] = 1;
        p[i * n] = 0;
        q[i * n] = 1;
        for (size_t j = 1; j < n - 1; j++) {
            double right_side =
                r * v[(i - 1) * n + j] + (1 - 2 * r) * v[i * n + j] + r * v[(i + 1) * n + j];
            double pivot = 1 + 2 * r - r * p[i * n + j - 1];

            p[i * n + j] = r / pivot;
            q[i * n + j] = (right_side + r * q[i * n + j - 1]) / pivot;
        }
        u[i * n + n - 1] = 1;
        for (size_t j = n - 2; j >= 1; j--)
            u[i * n + j] = p[i * n + j] * u[i * n + j + 1] + q[i * n + j];
    }
}

static double checksum(size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n * n; i++)
        sum += u[i] * u[i];
    return sum;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "adi",
                            .size_is = "the points along an edge of the square",
                            .size = 500,
                            .size_min = 3,
                            .size_max = MAX_SIZE,
                            .iterations = 4};

    sample_arguments(&sample, argc, argv);
    init(sample.size);
    for (size_t i = 0; i < sample.iterations; i++) {
        columns(sample.size, 0.4);
        rows(sample.size, 0.4);
    }
    return sample_print_real(&sample, checksum(sample.size));
}
