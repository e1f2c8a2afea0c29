/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Of hoist.c: loops whose addresses have one step, and indices that wrap around.
 */
#include "tests/cli/hoist.h"

/* ------------------------------------------------------------- affine */

OPAQUE double sum(const double *x, long n)
{
    double s = 0;
    for (long i = 0; i < n; i++)
        s += x[i];
    return s;
}

OPAQUE static void strided(double *x, const double *y, long from, long to, long step)
{
    for (long i = from; step > 0 ? i < to : i > to; i += step)
        x[i] = 2 * y[i] + x[from];
}

OPAQUE static void still(double *x, long n, long step)
{
    volatile double *p = x;
    for (long i = 0; i < n; i++, p += step) /* a step of zero, too */
        *p = *p + 1;
}

OPAQUE static void stencil(double *x, const double *y, long rows, long columns)
{
    for (long i = 1; i + 1 < rows; i++)
        for (long j = 1; j + 1 < columns; j++)
            x[i * columns + j] = y[i * columns + j - 1] + y[i * columns + j + 1] +
                                 y[(i - 1) * columns + j] + y[(i + 1) * columns + j];
}

OPAQUE static void triangle(double *x, long n)
{
    for (long i = 0; i < n; i++)
        for (long j = 0; j < i; j++) /* none at first */
            x[i * n + j] = x[j * n + i];
}

/* ------------------------------------------------------------- indices that wrap around */

OPAQUE static void wrap8(uint8_t from, unsigned n)
{
    uint8_t i = from;
    while (n--)
        a[i++] += 1;
}

OPAQUE static void wrap16(uint16_t from, uint16_t step, unsigned n)
{
    for (uint16_t i = from; n--; i = (uint16_t)(i + step))
        bytes[i % SIZE] ^= 1;
}

OPAQUE static void wrap32(uint32_t from, uint32_t step, unsigned n)
{
    for (uint32_t i = from; n--; i += step)
        b[i & (SIZE - 1)] += a[(uint32_t)(i + 7) >> 21];
}

OPAQUE static void wrap_index(double *x, uint32_t from, unsigned n)
{
    x -= from; /* far outside, but what is touched is not */
    for (uint32_t i = from; n--; i++)
        x[i] = 1;
}

OPAQUE static void below_zero(double *x, unsigned n)
{
    for (unsigned i = n; i-- > 0;)
        x[i] = i;
}

void affine(long n, long seed)
{
    sink = (long)(sum(a, n) + sum(b + n, 3 * n));
    strided(c, a, n, 100, 1 + n);
    strided(c, a, 100, n, -1 - n);
    still(a + n, n, seed - 1);
    still(a + 100, n, 3 - n);
    stencil(c, a, n, 2 * n);
    triangle(b, n);
}

void wraps(long n)
{
    wrap8((uint8_t)(250 - n), 20);
    wrap16((uint16_t)(65530 + n), 1, 30);
    wrap16((uint16_t)(7 * n), 21845, 15);
    wrap32(UINT32_MAX - 5, 1 + (uint32_t)n, 20);
    wrap_index(a, UINT32_MAX - 40, (unsigned)(2 * n));
    below_zero(b, (unsigned)n);
}
