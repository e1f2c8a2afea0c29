/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * adi: the heat equation on a square of n by n points, n = SIZE, whose border stays at 1, by
 * alternating directions (Peaceman and Rachford): each of the ITERATIONS time steps is
 * implicit along the columns, then along the rows. A line's tridiagonal system is eliminated
 * forwards and substituted backwards (Thomas).
 *
 * Accesses: u and v, 8 n^2 bytes each (heap), and in each thread the elimination's factors p
 * and q of one line (a private array each, 8 n bytes used, on its stack), about 18 n^2 accesses a
 * step. Along the columns a half step goes down u, in three columns at once, and then up v, by
 * strides of 8 n bytes; the lines that a column touches have the next 7 columns in them, which hit
 * where 2 n lines stay cached. Along the rows it goes through three rows of v by 8 bytes, and
 * back in u by -8. p and q stay in the nearest cache.
 *
 * Parallel: the lines of a direction, schedule(static): a thread has a band of columns, then
 * one of rows, so that most of what it reads in a half step another one wrote in the last.
 */
#include <omp.h>

#include "../sample.h"

enum { MAX_SIZE = 4096 };

static void init(size_t n, double *u, double *v)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++) {
            int border = i == 0 || j == 0 || i == n - 1 || j == n - 1;

            u[i * n + j] = border ? 1 : (double)(i + (3 * i + 5 * j) % 17) / (double)n;
            v[i * n + j] = u[i * n + j];
        }
    }
}

/* A half step: to from from, implicit along the lines; the points of a line are `along` elements
 * apart, the lines `across`. r is the time step over twice the mesh width squared. */
static void half_step(size_t n, double r, const double *from, double *to, size_t along,
                      size_t across)
{
#pragma omp parallel
    {
        double p[MAX_SIZE], q[MAX_SIZE];

        p[0] = 0;
        q[0] = 1;
#pragma omp for schedule(static)
        for (size_t line = 1; line < n - 1; line++) {
            for (size_t k = 1; k < n - 1; k++) {
                const double *point = from + line * across + k * along;
                double right_side =
                    r * *(point - across) + (1 - 2 * r) * *point + r * point[across];
                double pivot = 1 + 2 * r - r * p[k - 1];

                p[k] = r / pivot;
                q[k] = (right_side + r * q[k - 1]) / pivot;
            }
            for (size_t k = n - 2; k >= 1; k--) {
                double *point = to + line * across + k * along;

                *point = p[k] * point[along] + q[k];
            }
        }
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
    struct sample sample = {.name = "adi",
                            .size_is = "the points along an edge of the square",
                            .size = 500,
                            .size_min = 3,
                            .size_max = MAX_SIZE,
                            .iterations = 4,
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
    for (size_t i = 0; i < sample.iterations; i++) {
        half_step(n, 0.4, u, v, n, 1);
        half_step(n, 0.4, v, u, 1, n);
    }
    sum = checksum(n, u);

    free(u);
    free(v);
    return sample_print_real(&sample, sum);
}
