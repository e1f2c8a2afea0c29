/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spmv: the largest eigenvalue of a sparse matrix of n = SIZE rows in compressed rows, by
 * ITERATIONS steps of the power method. Unlike cg's, rows differ in length, from 1 to 64
 * entries and 17 on average, and 3 of 4 entries lie within 256 columns of the diagonal.
 *
 * Accesses: multiply() loads value (8 bytes) and column (4) at unit stride, 17 n entries,
 * and gathers from x: mostly from a band of 4 KB that moves down with the rows and stays in
 * any cache, one in four anywhere in 8 n bytes. It stores y at unit stride and loads the
 * bounds of each row. About 54 n accesses and 220 n bytes a step: the matrix streams by at 3
 * lines of 64 bytes in 16 entries; a cache that keeps x misses on little else. The inner
 * loop is short and its length hard to foresee.
 */
#include "sample.h"

enum { BAND = 256, LONGEST = 64 };

struct matrix {
    size_t n;
    size_t *start; /* of row i: start[i] up to start[i + 1] */
    uint32_t *column;
    double *value;
};

/* Most rows are short: the cube of a random number is mostly small. */
static void choose_lengths(struct matrix *m)
{
    uint64_t random = 1;

    m->start[0] = 0;
    for (size_t i = 0; i < m->n; i++) {
        double u = sample_unit(&random);

        m->start[i + 1] = m->start[i] + 1 + (size_t)(u * u * u * (double)LONGEST);
    }
}

static size_t choose_column(size_t n, size_t row, uint64_t *random)
{
    size_t column;

    if (sample_below(random, 4) == 0)
        return sample_below(random, n);
    column = row + sample_below(random, 2 * BAND);
    if (column < BAND)
        return 0;
    return column - BAND < n ? column - BAND : n - 1;
}

static void build(struct matrix *m)
{
    uint64_t random = 2;

    for (size_t i = 0; i < m->n; i++) {
        for (size_t k = m->start[i]; k < m->start[i + 1]; k++) {
            m->column[k] = (uint32_t)choose_column(m->n, i, &random);
            m->value[k] = sample_unit(&random);
        }
    }
}

static void multiply(const struct matrix *m, const double *x, double *y)
{
    for (size_t i = 0; i < m->n; i++) {
        double sum = 0;

        for (size_t k = m->start[i]; k < m->start[i + 1]; k++)
            sum += m->value[k] * x[m->column[k]];
        y[i] = sum;
    }
}

/* x = y over its largest element, which is returned. */
static double normalise(size_t n, const double *y, double *x)
{
    double largest = 0;

    for (size_t i = 0; i < n; i++)
        largest = y[i] > largest ? y[i] : largest;
    for (size_t i = 0; i < n; i++)
        x[i] = y[i] / largest;
    return largest;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "spmv",
                            .size_is = "the rows of the matrix",
                            .size = 50000,
                            .size_min = 1,
                            .size_max = 10000000,
                            .iterations = 10};
    struct matrix m = {0};
    double *x, *y, eigenvalue = 0;

    sample_arguments(&sample, argc, argv);
    m.n = sample.size;
    m.start = malloc((m.n + 1) * sizeof(*m.start));
    x = malloc(m.n * sizeof(*x));
    y = malloc(m.n * sizeof(*y));
    sample_need_memory(&sample, m.start && x && y);
    choose_lengths(&m);
    m.column = malloc(m.start[m.n] * sizeof(*m.column));
    m.value = malloc(m.start[m.n] * sizeof(*m.value));
    sample_need_memory(&sample, m.column && m.value);

    build(&m);
    for (size_t i = 0; i < m.n; i++)
        x[i] = 1;
    for (size_t i = 0; i < sample.iterations; i++) {
        multiply(&m, x, y);
        eigenvalue = normalise(m.n, y, x);
    }

    free(m.start);
    free(m.column);
    free(m.value);
    free(x);
    free(y);
    return sample_print_real(&sample, eigenvalue);
}
