/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cg: the smallest eigenvalue of a sparse random symmetric matrix by inverse iteration,
 * each step of which solves A z = x by 25 rounds of conjugate gradients, as NPB CG does.
 * A has n = SIZE rows of 129 entries on average in compressed rows and is diagonally
 * dominant, so positive definite. ITERATIONS steps.
 *
 * Accesses: nearly all in multiply(), three for each of 129 n entries a round: value and
 * column at unit stride (8 and 4 bytes) and a gather from p at random. So 12 * 129 n bytes
 * stream by and come again a round later, while the 8 n bytes of p are used everywhere: a
 * cache of several times 8 n bytes misses on the stream alone (3 lines of 64 bytes in 16
 * entries), a smaller one on most gathers too. The rest are passes at unit stride over p, q,
 * r and z (8 n bytes each), 14 n accesses a round. build() scatters entries at random. All
 * regions are on the heap.
 */
#include "sample.h"

enum { PICKS = 64, ROUNDS = 25 };

struct matrix {
    size_t n;
    size_t *start; /* of row i: start[i] up to start[i + 1] */
    uint32_t *column;
    double *value;
};

/* Each row picks PICKS columns j; entry (i, j) is entered at (j, i) as well. */
static void count_entries(struct matrix *m)
{
    uint64_t random = 1;

    for (size_t i = 0; i <= m->n; i++)
        m->start[i] = i == 0 ? 0 : 1;
    for (size_t i = 0; i < m->n; i++) {
        m->start[i + 1] += PICKS;
        for (size_t k = 0; k < PICKS; k++)
            m->start[sample_below(&random, m->n) + 1]++;
    }
    for (size_t i = 0; i < m->n; i++)
        m->start[i + 1] += m->start[i];
}

/* The same picks again; fill[i] is where row i stands. The diagonal comes first. */
static void build(struct matrix *m, size_t *fill)
{
    uint64_t random = 1, value_random = 2;

    for (size_t i = 0; i < m->n; i++) {
        m->column[m->start[i]] = (uint32_t)i;
        m->value[m->start[i]] = 1;
        fill[i] = m->start[i] + 1;
    }
    for (size_t i = 0; i < m->n; i++) {
        for (size_t k = 0; k < PICKS; k++) {
            size_t j = sample_below(&random, m->n);
            double value = 2 * sample_unit(&value_random) - 1;

            m->column[fill[i]] = (uint32_t)j;
            m->value[fill[i]++] = value;
            m->column[fill[j]] = (uint32_t)i;
            m->value[fill[j]++] = value;
            m->value[m->start[i]] += fabs(value);
            m->value[m->start[j]] += fabs(value);
        }
    }
    for (size_t i = 0; i < m->n; i++)
        m->value[m->start[i]] *= 1 + 9 * sample_unit(&value_random);
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

static double dot(size_t n, const double *x, const double *y)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* z = A^-1 x, nearly; p, q and r are work space. */
static void solve(const struct matrix *m, const double *x, double *z, double *p, double *q,
                  double *r)
{
    double rho = dot(m->n, x, x);

    for (size_t i = 0; i < m->n; i++) {
        z[i] = 0;
        p[i] = r[i] = x[i];
    }
    for (size_t round = 0; round < ROUNDS; round++) {
        double alpha, beta, rho_before = rho;

        multiply(m, p, q);
        alpha = rho / dot(m->n, p, q);
        for (size_t i = 0; i < m->n; i++) {
            z[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        rho = dot(m->n, r, r);
        beta = rho / rho_before;
        for (size_t i = 0; i < m->n; i++)
            p[i] = r[i] + beta * p[i];
    }
}

/* x = z, its largest element made 1. */
static void normalise(size_t n, const double *z, double *x)
{
    double largest = 0;

    for (size_t i = 0; i < n; i++)
        largest = fabs(z[i]) > largest ? fabs(z[i]) : largest;
    for (size_t i = 0; i < n; i++)
        x[i] = z[i] / largest;
}

int main(int argc, char **argv)
{
    struct sample sample = {.name = "cg",
                            .size_is = "the rows of the matrix",
                            .size = 7000,
                            .size_min = 2,
                            .size_max = 1000000,
                            .iterations = 1};
    struct matrix m = {0};
    double *x, *z, *p, *q, *r, eigenvalue = 0;
    size_t *fill;

    sample_arguments(&sample, argc, argv);
    m.n = sample.size;
    m.start = malloc((m.n + 1) * sizeof(*m.start));
    fill = malloc(m.n * sizeof(*fill));
    sample_need_memory(&sample, m.start && fill);
    count_entries(&m);
    m.column = malloc(m.start[m.n] * sizeof(*m.column));
    m.value = malloc(m.start[m.n] * sizeof(*m.value));
    x = malloc(m.n * sizeof(*x));
    z = malloc(m.n * sizeof(*z));
    p = malloc(m.n * sizeof(*p));
    q = malloc(m.n * sizeof(*q));
    r = malloc(m.n * sizeof(*r));
    sample_need_memory(&sample, m.column && m.value && x && z && p && q && r);

    build(&m, fill);
    for (size_t i = 0; i < m.n; i++)
        x[i] = 1;
    for (size_t i = 0; i < sample.iterations; i++) {
        solve(&m, x, z, p, q, r);
        eigenvalue = dot(m.n, x, x) / dot(m.n, x, z);
        normalise(m.n, z, x);
    }

    free(m.start);
    free(m.column);
    free(m.value);
    free(fill);
    free(x);
    free(z);
    free(p);
    free(q);
    free(r);
    return sample_print_real(&sample, eigenvalue);
}
