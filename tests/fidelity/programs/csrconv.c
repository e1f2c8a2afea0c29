/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * csrconv: formats of a sparse matrix: triplets in random order with duplicates become CSR, its
 * transpose, ELLPACK with a remainder and blocks of 2 x 2; a product with each. Irregular: counting
 * and scattering by row, merging of duplicates, columns stored by slot.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct csr {
    uint32_t n, *first, *column;
    float *value;
};

static uint32_t rnd(uint64_t *s, uint32_t below)
{
    *s ^= *s >> 12;
    *s ^= *s << 25;
    *s ^= *s >> 27;
    return (uint32_t)((*s * UINT64_C(2685821657736338717) >> 32) * below >> 32);
}

static struct csr from_triplets(uint32_t n, uint32_t m, const uint32_t *row, const uint32_t *column,
                                const float *value)
{
    struct csr a = {n, calloc(n + 2, 4), malloc((m + 1) * 4), malloc((m + 1) * 4)};

    for (uint32_t k = 0; k < m; k++)
        a.first[row[k] + 2]++;
    for (uint32_t i = 2; i < n + 2; i++)
        a.first[i] += a.first[i - 1];
    for (uint32_t k = 0; k < m; k++) {
        uint32_t at = a.first[row[k] + 1]++;

        a.column[at] = column[k];
        a.value[at] = value[k];
    }
    return a;
}

/* Twice transposed is sorted by column; duplicates are then neighbours. */
static struct csr transpose(const struct csr *a)
{
    uint32_t m = a->first[a->n], *row = malloc((m + 1) * 4);
    struct csr t;

    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t k = a->first[i]; k < a->first[i + 1]; k++)
            row[k] = i;
    t = from_triplets(a->n, m, a->column, row, a->value);
    free(row);
    return t;
}

static void merge_duplicates(struct csr *a)
{
    uint32_t out = 0, from = 0;

    for (uint32_t i = 0; i < a->n; i++) {
        uint32_t end = a->first[i + 1], begin = out;

        for (uint32_t k = from; k < end; k++) {
            if (out > begin && a->column[out - 1] == a->column[k]) {
                a->value[out - 1] += a->value[k];
            } else {
                a->column[out] = a->column[k];
                a->value[out++] = a->value[k];
            }
        }
        from = end;
        a->first[i + 1] = out;
    }
}

static void multiply(const struct csr *a, const float *x, float *y)
{
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t k = a->first[i]; k < a->first[i + 1]; k++)
            y[i] += a->value[k] * x[a->column[k]];
}

/* ELLPACK of `width` slots, slot by slot; what is left goes on by rows. */
static void multiply_ell(const struct csr *a, uint32_t width, const float *x, float *y)
{
    uint32_t *column = calloc(a->n * width, 4);
    float *value = calloc(a->n * width, 4);

    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t k = a->first[i]; k < a->first[i + 1] && k - a->first[i] < width; k++) {
            column[(k - a->first[i]) * a->n + i] = a->column[k];
            value[(k - a->first[i]) * a->n + i] = a->value[k];
        }
    for (uint32_t slot = 0; slot < width; slot++)
        for (uint32_t i = 0; i < a->n; i++)
            y[i] += value[slot * a->n + i] * x[column[slot * a->n + i]];
    for (uint32_t i = 0; i < a->n; i++)
        for (uint32_t k = a->first[i] + width; k < a->first[i + 1]; k++)
            y[i] += a->value[k] * x[a->column[k]];
    free(column);
    free(value);
}

static void free_csr(struct csr *a)
{
    free(a->first);
    free(a->column);
    free(a->value);
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 40000, m = 6 * n;
    uint32_t *row = malloc(m * 4), *column = malloc(m * 4);
    float *value = malloc(m * 4), *x = malloc(n * 4), *y = calloc(n, 4);
    struct csr a, t;
    uint64_t s = 58, sum = 0;

    for (uint32_t k = 0; k < m; k++) {
        row[k] = rnd(&s, rnd(&s, 3) ? n : n / 16 + 1);
        column[k] = (row[k] + rnd(&s, 40) * rnd(&s, 40)) % n;
        value[k] = (float)(1 + rnd(&s, 4));
        x[k % n] = (float)(k % 4);
    }
    a = from_triplets(n, m, row, column, value);
    t = transpose(&a);
    free_csr(&a);
    a = transpose(&t);
    merge_duplicates(&a);
    multiply(&a, x, y);
    multiply(&t, x, y);
    multiply_ell(&a, 4, x, y);
    for (uint32_t i = 0; i < n; i++)
        sum = sum * 3 + (uint64_t)y[i];
    printf("csrconv %u checksum %" PRIu64 " (%u)\n", n, sum, a.first[n]);
    free_csr(&a);
    free_csr(&t);
    free(row);
    free(column);
    free(value);
    free(x);
    free(y);
    return 0;
}
