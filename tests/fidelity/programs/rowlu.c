/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rowlu: LU factorisation of a banded matrix whose rows are allocated one by one and swapped by
 * their pointers when pivots want it, solves, and a determinant by Gauss over a prime. Irregular:
 * rows in an order that partial pivoting makes, columns found through an array of pointers.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double uniform(uint32_t *s)
{
    *s ^= *s << 13;
    *s ^= *s >> 17;
    *s ^= *s << 5;
    return (double)*s * 0x1p-32 - 0.5;
}

static int factorise(double **row, int *pivot, int n, int band)
{
    int swaps = 0;

    for (int k = 0; k < n; k++) {
        int best = k, low = k + band < n ? k + band : n - 1;
        int right = k + 2 * band < n ? k + 2 * band : n - 1;

        for (int i = k + 1; i <= low; i++)
            if (fabs(row[i][k]) > fabs(row[best][k]))
                best = i;
        pivot[k] = best;
        if (best != k) {
            double *t = row[k];

            row[k] = row[best];
            row[best] = t;
            swaps++;
        }
        for (int i = k + 1; i <= low; i++) {
            double f = row[i][k] / row[k][k];

            if (row[i][k] == 0)
                continue;
            row[i][k] = 0;
            for (int j = k + 1; j <= right; j++)
                row[i][j] -= f * row[k][j];
            row[i][n] -= f * row[k][n]; /* the right hand side */
        }
    }
    return swaps;
}

static void back(double **row, double *x, int n)
{
    for (int i = n - 1; i >= 0; i--) {
        double sum = row[i][n];

        for (int j = i + 1; j < n; j++)
            sum -= row[i][j] * x[j];
        x[i] = sum / row[i][i];
    }
}

static uint64_t power(uint64_t a, uint64_t e, uint64_t p)
{
    uint64_t r = 1;

    for (; e; e >>= 1, a = a * a % p)
        if (e & 1)
            r = r * a % p;
    return r;
}

static uint64_t determinant(uint32_t **row, int n, uint64_t p)
{
    uint64_t det = 1;

    for (int k = 0; k < n; k++) {
        uint64_t inverse;
        int i = k;

        while (i < n && row[i][k] == 0)
            i++;
        if (i == n)
            return 0;
        uint32_t *t = row[i];
        row[i] = row[k];
        row[k] = t;
        det = det * (i == k ? row[k][k] : p - row[k][k]) % p;
        inverse = power(row[k][k], p - 2, p);
        for (i = k + 1; i < n; i++) {
            uint64_t f = row[i][k] * inverse % p;

            if (f == 0)
                continue;
            for (int j = k; j < n; j++)
                row[i][j] = (uint32_t)((row[i][j] + (p - f) * row[k][j]) % p);
        }
    }
    return det;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? (int)strtoul(argv[1], NULL, 10) : 900, band = n / 24 + 1, m = n / 8 + 1,
        swaps;
    double **row = malloc((size_t)n * sizeof(*row)), *x = malloc((size_t)n * sizeof(*x)), sum = 0;
    uint32_t **mod = malloc((size_t)m * sizeof(*mod)), s = 1948;
    int *pivot = malloc((size_t)n * sizeof(*pivot));
    uint64_t det;

    for (int i = 0; i < n; i++) {
        row[i] = calloc((size_t)n + 1, sizeof(**row));
        for (int j = i > band ? i - band : 0; j <= i + band && j < n; j++)
            row[i][j] = uniform(&s) + 3 * ((i ^ 5) == j);
        row[i][n] = i % 9;
    }
    swaps = factorise(row, pivot, n, band);
    back(row, x, n);
    for (int i = 0; i < n; i++)
        sum += fabs(x[i]) * (1 + pivot[i] % 3);
    for (int i = 0; i < m; i++) {
        mod[i] = calloc((size_t)m, sizeof(**mod));
        for (int j = 0; j < m; j++)
            mod[i][j] = uniform(&s) > 0.3 ? (uint32_t)(uniform(&s) * 2000 + 1001) : 0;
    }
    det = determinant(mod, m, 65521);
    for (int i = 0; i < n; i++)
        free(row[i]);
    for (int i = 0; i < m; i++)
        free(mod[i]);
    free(row);
    free(mod);
    free(x);
    free(pivot);
    printf("rowlu %d checksum %.6e %" PRIu64 " (%d swaps)\n", n, sum, det, swaps);
    return 0;
}
