/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cgsmall: conjugate gradients on the Laplacian of a small random graph, stored as half of a
 * symmetric matrix, with a diagonal preconditioner; many right hand sides, all in 60 KB. Irregular:
 * a gather and a scatter an entry, within the first or second level of cache.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct half {
    uint32_t n, entries;
    uint16_t *row, *column; /* column < row */
    double *value, *diagonal;
};

static uint32_t s = 1952;

static uint32_t draw(uint32_t below)
{
    s ^= s << 13;
    s ^= s >> 17;
    s ^= s << 5;
    return (uint32_t)((uint64_t)s * below >> 32);
}

static void make(struct half *a)
{
    a->row = malloc(3 * a->n * sizeof(*a->row));
    a->column = malloc(3 * a->n * sizeof(*a->column));
    a->value = malloc(3 * a->n * sizeof(*a->value));
    a->diagonal = malloc(a->n * sizeof(*a->diagonal));
    for (uint32_t i = 0; i < a->n; i++) {
        a->diagonal[i] = 0.02;
        for (uint32_t k = 0; i > 0 && k < 3; k++) {
            uint32_t near = i < 40 ? i : 40, j = i - 1 - draw(k ? near : i);

            a->row[a->entries] = (uint16_t)i;
            a->column[a->entries] = (uint16_t)j;
            a->value[a->entries] = -1 - draw(4) / 4.0;
            a->diagonal[i] -= a->value[a->entries];
            a->diagonal[j] -= a->value[a->entries++];
        }
    }
}

static void multiply(const struct half *a, const double *x, double *y)
{
    for (uint32_t i = 0; i < a->n; i++)
        y[i] = a->diagonal[i] * x[i];
    for (uint32_t e = 0; e < a->entries; e++) {
        y[a->row[e]] += a->value[e] * x[a->column[e]];
        y[a->column[e]] += a->value[e] * x[a->row[e]];
    }
}

static double dot(const double *a, const double *b, uint32_t n)
{
    double sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static int solve(const struct half *a, double *x, double *r, double *work)
{
    double *p = work, *q = work + a->n, *z = q + a->n, rho, alpha, before = 1;
    int steps = 0;

    for (uint32_t i = 0; i < a->n; i++)
        x[i] = p[i] = 0;
    while (dot(r, r, a->n) > 1e-12 && steps < 200) {
        for (uint32_t i = 0; i < a->n; i++)
            z[i] = r[i] / a->diagonal[i];
        rho = dot(r, z, a->n);
        for (uint32_t i = 0; i < a->n; i++)
            p[i] = z[i] + rho / before * p[i];
        multiply(a, p, q);
        alpha = rho / dot(p, q, a->n);
        for (uint32_t i = 0; i < a->n; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        before = rho;
        steps++;
    }
    return steps;
}

int main(int argc, char **argv)
{
    uint32_t rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 20;
    struct half a = {.n = 800};
    double *x = malloc(a.n * sizeof(*x)), *b = malloc(a.n * sizeof(*b));
    double *work = malloc(3 * a.n * sizeof(*work)), sum = 0;
    int steps = 0;

    make(&a);
    for (uint32_t k = 0; k < rounds; k++) {
        for (uint32_t i = 0; i < a.n; i++)
            b[i] = (double)draw(19) - 9;
        steps += solve(&a, x, b, work);
        for (uint32_t i = 0; i < a.n; i++)
            sum += fabs(x[i]);
    }
    free(x);
    free(b);
    free(work);
    free(a.row);
    free(a.column);
    free(a.value);
    free(a.diagonal);
    printf("cgsmall %u checksum %.3e (%d steps)\n", rounds, sum, steps);
    return 0;
}
