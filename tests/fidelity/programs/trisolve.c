/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trisolve: incomplete Cholesky factorisation of a sparse matrix in place, and triangular solves
 * with it, forward by rows and backward by columns, as a preconditioner does. Irregular: rows that
 * are matched by two pointers, gathers forward, scatters backward.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct lower {
    uint32_t n;
    uint32_t *first, *column; /* ascending; the diagonal is the last of a row */
    double *value;
};

static uint32_t rnd(uint32_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 17;
    *s ^= *s << 5;
    return *s >> 2;
}

static void make_lower(struct lower *l, uint32_t side)
{
    uint32_t at = 0, s = 1010101;

    l->n = side * side;
    l->first = malloc((l->n + 1) * sizeof(uint32_t));
    l->column = malloc(7 * l->n * sizeof(uint32_t));
    l->value = malloc(7 * l->n * sizeof(double));
    for (uint32_t i = 0; i < l->n; i++) {
        uint32_t far = i ? rnd(&s) % i : 0;

        l->first[i] = at;
        if (i > side + 2 && far < i - side - 1 && rnd(&s) % 4 == 0)
            l->column[at++] = far;
        if (i >= side + 1 && i % side && rnd(&s) % 2)
            l->column[at++] = i - side - 1;
        if (i >= side)
            l->column[at++] = i - side;
        if (i % side)
            l->column[at++] = i - 1;
        for (uint32_t k = l->first[i]; k < at; k++)
            l->value[k] = -1 - (double)(rnd(&s) % 8) / 16;
        l->column[at] = i;
        l->value[at++] = 13 + (double)(i % 3);
    }
    l->first[l->n] = at;
}

/* The rows' product over the columns that both have, left of `end`. */
static double row_product(const struct lower *l, uint32_t a, uint32_t b, uint32_t end)
{
    uint32_t i = l->first[a], j = l->first[b];
    double sum = 0;

    while (l->column[i] < end && l->column[j] < end) {
        if (l->column[i] < l->column[j])
            i++;
        else if (l->column[i] > l->column[j])
            j++;
        else
            sum += l->value[i++] * l->value[j++];
    }
    return sum;
}

static void factorise(struct lower *l)
{
    for (uint32_t i = 0; i < l->n; i++) {
        uint32_t diagonal = l->first[i + 1] - 1;
        double sum = 0;

        for (uint32_t k = l->first[i]; k < diagonal; k++) {
            uint32_t j = l->column[k];
            double pivot = l->value[l->first[j + 1] - 1];

            l->value[k] = (l->value[k] - row_product(l, i, j, j)) / pivot;
            sum += l->value[k] * l->value[k];
        }
        l->value[diagonal] = sqrt(l->value[diagonal] - sum);
    }
}

static void solve(const struct lower *l, double *x)
{
    for (uint32_t i = 0; i < l->n; i++) {
        uint32_t k = l->first[i];
        double sum = x[i];

        for (; k + 1 < l->first[i + 1]; k++)
            sum -= l->value[k] * x[l->column[k]];
        x[i] = sum / l->value[k];
    }
    for (uint32_t i = l->n; i-- > 0;) {
        uint32_t k = l->first[i + 1] - 1;
        double xi = x[i] /= l->value[k];

        while (k-- > l->first[i])
            x[l->column[k]] -= l->value[k] * xi;
    }
}

int main(int argc, char **argv)
{
    uint32_t side = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 180;
    struct lower l;
    double *x, norm = 0;

    make_lower(&l, side);
    factorise(&l);
    x = malloc(l.n * sizeof(*x));
    for (uint32_t i = 0; i < l.n; i++)
        x[i] = 1 + i % 10;
    for (int round = 0; round < 12; round++) {
        solve(&l, x);
        for (uint32_t i = 0; i < l.n; i++)
            x[i] = 8 * x[i] + 1;
    }
    for (uint32_t i = 0; i < l.n; i++)
        norm += x[i] * (1 + i % 7);
    free(x);
    free(l.first);
    free(l.column);
    free(l.value);
    printf("trisolve %u checksum %.8e\n", side, norm);
    return 0;
}
