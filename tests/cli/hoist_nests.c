/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Of hoist.c: loops in loops, whose counts, addresses and conditions depend on the outer ones, or
 * on data.
 */
#include "tests/cli/hoist.h"

OPAQUE static void shrinks(double *x, long n, long step)
{
    for (long i = 0; i < n; i++) {
        for (long j = i; j < n; j++)
            x[i * n + j] = x[j];
        for (long j = n - 1; j >= i; j -= step)
            c[j] += x[i];
        x[i] = 0;
    }
}

OPAQUE static void three_deep(double *x, long n, long m)
{
    for (long i = n; i > 0; i--)
        for (long j = 0; j <= i; j += 2) {
            double s = x[i];
            for (long k = j; k < m; k++)
                s += x[k * n + j] * b[i + k];
            x[i * n + j] = s;
        }
}

/* Rows begin with a part that must be done singly, and end with one. */
OPAQUE static void tiles(double *x, long n, long tile)
{
    for (long i = 0; i < n; i += tile)
        for (long j = 0; j < n; j += tile)
            for (long k = i; k < (i + tile < n ? i + tile : n); k++)
                for (long l = j; l < (j + tile < n ? j + tile : n); l++)
                    x[k * n + l] = x[l * n + k];
}

OPAQUE static void some_rows(double *x, long n, long special)
{
    for (long i = 0; i < n; i++) {
        if (i == special || (i & 3) == 2) {
            for (long j = 0; j < i; j++)
                x[j] += x[i];
            c[i] = 1;
        } else if (i > n / 2)
            for (long j = i; j > 0; j--)
                x[j] = x[j - 1];
        b[i] += 1;
    }
}

/* Which rows is known only when it happens. */
OPAQUE static void rows_by_data(double *x, const int *which, long n)
{
    for (long i = 0; i < n; i++)
        if (which[i] & 1)
            for (long j = 0; j < n; j++)
                x[j] += 1;
}

OPAQUE static long leaves(double *x, long rows, long columns, double limit)
{
    for (long i = 0; i < rows; i++) {
        if (c[i] > limit)
            return i;
        for (long j = 0; j < columns; j++)
            x[j] += 1;
        if (x[columns] > limit)
            break;
        for (long j = 0; j < 3; j++) {
            for (long k = 0; k < i; k++)
                b[k] += x[j];
            if (x[i] > limit)
                return j;
        }
        x[i] = 2;
    }
    return -rows;
}

OPAQUE static void row_wraps8(uint8_t from, uint8_t step, unsigned rows, unsigned n)
{
    uint8_t row = from;
    for (; rows--; row = (uint8_t)(row + step))
        for (unsigned j = 0; j < n; j++)
            a[row * 16 + j] += 1;
}

OPAQUE static void row_wraps32(double *x, uint32_t from, uint32_t step, unsigned rows, int n)
{
    for (uint32_t row = from; rows--; row += step)
        for (int j = n; j > -n; j--)
            x[(row >> 20) + (unsigned)(j + n)] = 2;
}

/* Loops that the vectoriser makes two of: whether one pointer's range overlaps another's, all
 * compared at once, may change from row to row, as they do not advance alike. */
struct pair {
    double re, im;
};
static struct pair pairs[3 * 1024];
OPAQUE static void passes(size_t n, const struct pair *root, struct pair *x, struct pair *y)
{
    struct pair *from = x, *to = y, *next;
    for (size_t half = n / 2, step = 1; half >= 1; half /= 2, step *= 2) {
        for (size_t j = 0; j < half; j++) {
            struct pair w = root[j * step];
            for (size_t k = 0; k < step; k++) {
                struct pair one = from[j * step + k], other = from[(j + half) * step + k];
                double re = one.re - other.re, im = one.im - other.im;
                to[2 * j * step + k].re = one.re + other.re;
                to[2 * j * step + k].im = one.im + other.im;
                to[(2 * j + 1) * step + k].re = re * w.re - im * w.im;
                to[(2 * j + 1) * step + k].im = re * w.im + im * w.re;
            }
        }
        next = from;
        from = to;
        to = next;
    }
}

/* Blocks in planes: two pointers and a number, which nests compare, advance along both; where the
 * comparisons come out in another way is anywhere in the rectangle. */
OPAQUE static void block(double *x, const double *y, long rows, long columns, long bias)
{
    for (long i = 0; i < rows; i++) {
        for (long j = 0; j < columns; j++)
            x[8 * i + j] += y[8 * i + j];
        if (bias + i > 40)
            for (long j = 0; j < columns - 2; j++)
                x[8 * i + j] = 1;
    }
}

OPAQUE static void planes_of_blocks(double *x, double *y, const long *steps, long twist, long bias)
{
    for (long plane = 0; plane < steps[6]; plane++) {
        for (long i = 0; i < 7; i++)
            block(x + 8 * (i * steps[0] + plane * steps[1]),
                  y + 8 * (i * steps[2] + plane * steps[3]), steps[4], steps[5],
                  bias + 3 * i + 2 * plane + twist * i * plane);
        c[plane] = 1;
    }
}

/* Short loops in turn, each of which comes again after all others. */
OPAQUE static void in_turn(double *x, const double *y, long rounds, long n)
{
    for (long i = 0; i < rounds; i++) {
        for (long j = 0; j < n; j++)
            x[j] += y[i + j];
        for (long j = 0; j < n; j++)
            x[8 + i + j] += y[2 * j];
        for (long j = 0; j < n + i / 20; j++)
            c[j] = x[i];
    }
}

/* Numbers of 8 to 32 bits, with signs or without, that come from below to above and round again. */
OPAQUE static void conditions(double *x, uint32_t rows, uint32_t from, uint32_t step, int limit,
                              unsigned small)
{
    for (uint32_t i = 0, at = from; i < rows; i++, at += step) {
        if (at < 1000 && (int)at > limit)
            for (int j = 0; j < 3; j++)
                x[j] += 1;
        if ((uint8_t)at >= small || (int16_t)at < limit)
            for (uint32_t j = i; j < rows; j++)
                x[j] += x[i];
        else if (at == 7 || (int)(at + 100) < (int)(from - i))
            x[i] = 2;
        else
            for (uint32_t j = 0; j < 17; j++)
                x[i + j] = x[j];
    }
}

typedef int four __attribute__((vector_size(16)));
OPAQUE static void lanes(double *x, int rows, int first, int second, int third)
{
    const four limits = {first, second, third, 5};
    for (int i = 0; i < rows; i++) {
        const four here = {i, 2 * i - 9, first - i, second};
        if (__builtin_reduce_or(here > limits))
            for (int j = 0; j < rows; j++)
                x[j] += 1;
        if (__builtin_reduce_and(here != limits))
            for (int j = 0; j < i; j++)
                x[j] += 2;
        x[i] = 1;
    }
}

static void conditional_nests(long n)
{
    double *x = (double *)pairs;

    in_turn(x, x + 1000, 60, 3);
    in_turn(x, x + 1000, 30, n);
    passes(512u >> (n & 1), pairs, pairs + 512, pairs + 512 + 80 * n);
    passes(512, pairs + n, pairs + 512 + 100 * n, pairs + 512);
    conditions(x, 40, (uint32_t)n - 20, (uint32_t)n, -5, 3 + (unsigned)n);
    conditions(x, 30, INT32_MAX - 9, 1 + ((uint32_t)n << 27), 1 << n, 200);
    conditions(x, 30, 250, (uint32_t)-n, 40 * (int)n, 17 * (unsigned)n);
    for (long i = 0; i < 32; i++) {
        const long steps[] = {
            i & 1 ? 1 : 2, i & 2 ? 5 : 3, i & 4 ? 1 : 3, i & 8 ? 3 : 4 + n % 3, 3, 6, 9};
        planes_of_blocks(x + 40 * (i % 5), x + 8 * (n + i) + (i & 1), steps, i & 16 ? 1 : 0,
                         5 * i - 60);
        planes_of_blocks(x + 8 * (3 * i + n), x + 400, steps, i & 16 ? -1 : 0, 100 - 7 * i);
    }
    lanes(x, 20 + (int)n, (int)n, 30 - 3 * (int)n, 2);
    lanes(x, 25, 100, 40, (int)n);
}

/* More accesses than one record stands for, in loops of all levels. */
OPAQUE static double goes_on(double *x, long planes, long rows, long columns)
{
    double s = 0;
    for (long i = 0; i < planes; i++) {
        for (long j = 0; j < rows; j++) {
            for (long k = 0; k < columns; k++)
                s += x[k];
            for (long k = columns - j; k < columns; k++)
                x[k] = s;
        }
        for (long j = 0; j < planes; j++)
            for (long k = 0; k <= j; k++)
                s += c[k];
    }
    return s;
}

/* In loops that are recorded in batches. */
OPAQUE static void nests_by_data(double *x, const int *which, long n, long size)
{
    for (long i = 0; i < n; i++) {
        x[which[i]] = 1;
        for (long j = 0; j < size; j++)
            for (long k = 0; k < j; k++)
                c[k] += x[j];
        for (long j = 0; j < which[i] % 3; j++)
            x[which[j]] += 1;
    }
}

/* One batch, or many; the affine loop may be long or short, the return leaves two loops. */
OPAQUE static long nest(double *x, const int *index, long rows, long columns)
{
    for (long i = 0; i < rows; i++) {
        c[i] = index[i];
        for (long j = 0; j < columns; j++)
            x[j] += (double)i;
        for (long j = 0; j < index[i] % 8; j++)
            c[index[j]] += x[j];
        if (index[i] % 16 == 5)
            for (long k = 0; k < columns; k++)
                if (x[k] < (double)-k || (i > 250 && k == 3))
                    return i;
    }
    return rows;
}

OPAQUE static long recursive(double *x, long n)
{
    for (long i = 0; i < n; i++)
        x[i] += (double)n;
    return n ? recursive(x + 1, n - 1) + recursive(x, n / 2) : 1;
}

void nests(long n)
{
    shrinks(b, n, 1 + n % 3);
    three_deep(b, n, 12 - n);
    tiles(b, 3 * n, 4);
    some_rows(a, 2 * n, n);
    rows_by_data(a, where, 2 * n);
    c[n] = n & 1 ? 2000 : 0;
    a[n] = n & 2 ? 2000 : 0;
    a[5] = n & 4 ? 2000 : 0;
    sink = leaves(a, n, 5 + n % 2, 1000) + leaves(b, 11 - n, n, 1000);
    a[n] = c[n] = a[5] = 1;
    row_wraps8((uint8_t)(250 - n), (uint8_t)(1 + 40 * n), 12, (unsigned)n);
    row_wraps32(a, UINT32_MAX - 5, 1 + ((uint32_t)n << 28), 9, (int)n);
    conditional_nests(n);
    nests_by_data(a, where + n, n, n);
}

void large_nests(long seed)
{
    sink = nest(a, where, 300, 5) + nest(b, where, 20, 0) + nest(a, where + 9, 4, SIZE);
    if (seed == 5)
        sink = (long)goes_on(a, 8 * seed, 6 * seed, 180 * seed);
    sink = recursive(b, 7);
}
