/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conv2d: convolution of a picture of n by n points, n = SIZE, with nine weights, three by
 * three; ITERATIONS does so to and fro between two arrays, whose borders stay as they are.
 *
 * Accesses: two regions of 8 n^2 bytes (heap). In a pass nine loads and a store for each inner
 * point, at offsets of 8 and 8 n bytes, half when vectorised by two, in tiles of 32 rows and 128
 * columns: 34 by 130 points of the source, 35 KiB, and 32 by 128 of the other array. Three rows
 * of a tile, 3 KiB, are what the nearest cache must keep; then a pass misses once a line in each
 * array, and the two rows and columns that tiles have in common at their borders.
 *
 * Parallel: the two loops over tiles are one of all tiles, by collapse(2) with
 * schedule(static): a thread has tiles that lie beside each other, and begins and ends amid a
 * band of them. It reads rows and columns at the borders that others have written.
 */
#include <omp.h>

#include "../sample.h"

enum { TILE_ROWS = 32, TILE_COLUMNS = 128 };

static void init(size_t n, double *u, double *v)
{
    uint64_t random = 1;

    for (size_t i = 0; i < n * n; i++)
        u[i] = v[i] = sample_unit(&random);
}

static void convolve_row(size_t n, const double *from, double *to, size_t first, size_t end)
{
    for (size_t at = first; at < end; at++) {
        const double *above = from + at - n, *on = from + at, *below = from + at + n;

        to[at] = 0.06 * above[-1] + 0.12 * above[0] + 0.05 * above[1] + 0.13 * on[-1] +
                 0.24 * on[0] + 0.14 * on[1] + 0.08 * below[-1] + 0.11 * below[0] + 0.07 * below[1];
    }
}

static void convolve(size_t n, const double *from, double *to)
{
#pragma omp parallel for schedule(static) collapse(2)
    for (size_t row = 1; row < n - 1; row += TILE_ROWS) {
        for (size_t column = 1; column < n - 1; column += TILE_COLUMNS) {
            size_t rows_end = row + TILE_ROWS < n - 1 ? row + TILE_ROWS : n - 1;
            size_t end = column + TILE_COLUMNS < n - 1 ? column + TILE_COLUMNS : n - 1;

            for (size_t i = row; i < rows_end; i++)
                convolve_row(n, from, to, i * n + column, i * n + end);
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
    struct sample sample = {.name = "conv2d",
                            .size_is = "the points along an edge of the picture",
                            .size = 500,
                            .size_min = 3,
                            .size_max = 20000,
                            .iterations = 2,
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
    for (size_t i = 0; i < sample.iterations; i++)
        convolve(n, i % 2 ? v : u, i % 2 ? u : v);
    sum = checksum(n, sample.iterations % 2 ? v : u);

    free(u);
    free(v);
    return sample_print_real(&sample, sum);
}
