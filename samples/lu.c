/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lu: solve A x = b of n = SIZE unknowns by factoring A = P L U in place, by blocks of 32
 * columns with partial pivoting, as HPL does; then check the residual. ITERATIONS solves
 * anew.
 *
 * Accesses: one region of 8 n^2 bytes (heap), by rows. For each block, factor_panel() goes
 * down a column by 8 n bytes to find the pivot and through 32 elements of each row; then
 * update() subtracts from each row below, 8 (n - first) bytes, multiples of the block's 32
 * rows: 3 accesses at unit stride for each product, n^3 in all, half when vectorised by
 * two. A row stays in the nearest cache while 32 rows pass it, 256 n bytes, which want the
 * next; the rest of the matrix comes once for each block, n / 32 times in all. Loop bounds
 * shrink with the block: squares and triangles.
 */
#include "sample.h"

enum { BLOCK = 32 };

static void init(size_t n, double *a, double *b)
{
    uint64_t random = 1;

    for (size_t i = 0; i < n * n; i++)
        a[i] = sample_unit(&random) - 0.5;
    for (size_t i = 0; i < n; i++)
        b[i] = sample_unit(&random) - 0.5;
}

static size_t find_pivot(size_t n, const double *a, size_t k)
{
    size_t pivot = k;

    for (size_t i = k + 1; i < n; i++) {
        if (fabs(a[i * n + k]) > fabs(a[pivot * n + k]))
            pivot = i;
    }
    return pivot;
}

static void swap_rows(size_t n, double *a, double *b, size_t i, size_t j)
{
    double other = b[i];

    b[i] = b[j];
    b[j] = other;
    for (size_t k = 0; k < n; k++) {
        other = a[i * n + k];
        a[i * n + k] = a[j * n + k];
        a[j * n + k] = other;
    }
}

/* Factor the columns first to last - 1; rows are swapped whole. */
static void factor_panel(size_t n, double *a, double *b, size_t first, size_t last)
{
    for (size_t k = first; k < last; k++) {
        size_t pivot = find_pivot(n, a, k);

        if (pivot != k)
            swap_rows(n, a, b, pivot, k);
        for (size_t i = k + 1; i < n; i++) {
            double factor = a[i * n + k] /= a[k * n + k];

            for (size_t j = k + 1; j < last; j++)
                a[i * n + j] -= factor * a[k * n + j];
        }
    }
}

/* Subtract from the rows after first the block's L times its U, in the columns from last. */
static void update(size_t n, double *a, size_t first, size_t last)
{
    for (size_t i = first + 1; i < n; i++) {
        for (size_t k = first; k < last && k < i; k++) {
            double factor = a[i * n + k];

            for (size_t j = last; j < n; j++)
                a[i * n + j] -= factor * a[k * n + j];
        }
    }
}

static void factor(size_t n, double *a, double *b)
{
    for (size_t first = 0; first < n; first += BLOCK) {
        size_t last = first + BLOCK < n ? first + BLOCK : n;

        factor_panel(n, a, b, first, last);
        update(n, a, first, last);
    }
}

/* b, permuted already, becomes x. */
static void solve(size_t n, const double *a, double *b)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            b[i] -= a[i * n + k] * b[k];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++)
            b[i] -= a[i * n + k] * b[k];
        b[i] /= a[i * n + i];
    }
}

/* The largest |A x - b|, for which a and b are made once more. */
static double residual(size_t n, double *a, double *b, const double *x)
{
    double largest = 0;

    init(n, a, b);
    for (size_t i = 0; i < n; i++) {
        double sum = -b[i];

        for (size_t k = 0; k < n; k++)
            sum += a[i * n + k] * x[k];
        largest = fabs(sum) > largest ? fabs(sum) : largest;
    }
    return largest;
}

static double checksum(size_t n, const double *x)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += fabs(x[i]);
    return sum;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "lu",
                            .size_is = "the unknowns",
                            .size = 300,
                            .size_min = 1,
                            .size_max = 10000,
                            .iterations = 1};
    double *a, *b, *x, sum, error;
    size_t n;

    sample_arguments(&sample, argc, argv);
    n = sample.size;
    a = malloc(n * n * sizeof(*a));
    b = malloc(n * sizeof(*b));
    x = malloc(n * sizeof(*x));
    sample_need_memory(&sample, a && b && x);

    for (size_t i = 0; i < sample.iterations; i++) {
        init(n, a, x);
        factor(n, a, x);
        solve(n, a, x);
    }
    sum = checksum(n, x);
    error = residual(n, a, b, x);

    free(a);
    free(b);
    free(x);
    if (error > 1e-12 * sum) {
        fprintf(stderr, "%s: the residual is %g\n", sample.name, error);
        return EXIT_FAILURE;
    }
    return sample_print_real(&sample, sum);
}
