/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spgemm: a product of sparse matrices by Gustavson's rows, first counted with marks, then summed
 * in a dense accumulator, and rows sorted; squared twice (of a graph: who is reached in two steps).
 * Irregular: rows of B in an order that A's columns say, scatters into accumulators.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct matrix {
    uint32_t rows, *first, *column;
    double *value;
};

static uint64_t s = 299792458;

static uint32_t draw(uint32_t below)
{
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return (uint32_t)((s >> 32) * below >> 32);
}

static struct matrix new_matrix(uint32_t rows, uint32_t entries)
{
    return (struct matrix){rows, calloc(rows + 1, sizeof(uint32_t)),
                           malloc((entries + 1) * sizeof(uint32_t)),
                           malloc((entries + 1) * sizeof(double))};
}

static void free_matrix(struct matrix *m)
{
    free(m->first);
    free(m->column);
    free(m->value);
}

static uint32_t *count_rows(const struct matrix *a, const struct matrix *b)
{
    uint32_t *mark = calloc(b->rows, sizeof(*mark)), *count = calloc(a->rows, sizeof(*count));

    for (uint32_t i = 0; i < a->rows; i++) {
        for (uint32_t k = a->first[i]; k < a->first[i + 1]; k++) {
            uint32_t row = a->column[k];

            for (uint32_t l = b->first[row]; l < b->first[row + 1]; l++) {
                if (mark[b->column[l]] != i + 1) {
                    mark[b->column[l]] = i + 1;
                    count[i]++;
                }
            }
        }
    }
    free(mark);
    return count;
}

static void sort_row(uint32_t *column, uint32_t n)
{
    for (uint32_t gap = n / 2; gap > 0; gap /= 2) {
        for (uint32_t i = gap; i < n; i++) {
            uint32_t x = column[i], j = i;

            for (; j >= gap && column[j - gap] > x; j -= gap)
                column[j] = column[j - gap];
            column[j] = x;
        }
    }
}

static struct matrix multiply(const struct matrix *a, const struct matrix *b)
{
    uint32_t *count = count_rows(a, b), entries = 0, at = 0;
    double *sum = calloc(b->rows, sizeof(*sum));
    struct matrix c;

    for (uint32_t i = 0; i < a->rows; i++)
        entries += count[i];
    c = new_matrix(a->rows, entries);
    for (uint32_t i = 0; i < a->rows; i++) {
        for (uint32_t k = a->first[i]; k < a->first[i + 1]; k++) {
            uint32_t row = a->column[k];

            for (uint32_t l = b->first[row]; l < b->first[row + 1]; l++) {
                if (sum[b->column[l]] == 0)
                    c.column[at++] = b->column[l];
                sum[b->column[l]] += a->value[k] * b->value[l];
            }
        }
        sort_row(c.column + c.first[i], at - c.first[i]);
        for (uint32_t k = c.first[i]; k < at; k++) {
            c.value[k] = sum[c.column[k]];
            sum[c.column[k]] = 0;
        }
        c.first[i + 1] = at;
    }
    free(count);
    free(sum);
    return c;
}

int main(int argc, char **argv)
{
    uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 8000, at = 0;
    struct matrix a = new_matrix(n, 5 * n), square, fourth;
    double check = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t here = 2 + draw(4);

        for (uint32_t k = 0; k < here; k++) {
            a.column[at] = (k == 0 ? i : draw(4) ? (i + draw(90)) % n : draw(draw(n) + 1));
            a.value[at++] = 0.25 + draw(100) / 128.0;
        }
        a.first[i + 1] = at;
    }
    square = multiply(&a, &a);
    fourth = multiply(&square, &square);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = fourth.first[i]; k < fourth.first[i + 1]; k++)
            check += fourth.value[k] * (1 + (fourth.column[k] ^ i) % 5);
    printf("spgemm %u checksum %.8e (%u, %u)\n", n, check, square.first[n], fourth.first[n]);
    free_matrix(&a);
    free_matrix(&square);
    free_matrix(&fourth);
    return 0;
}
