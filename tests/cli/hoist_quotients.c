/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Of hoist.c: addresses that have a loop's index divided, or the rest of that.
 */
#include "tests/cli/hoist.h"

OPAQUE static void halves(double *x, const double *y, size_t from, size_t n)
{
    for (size_t i = from; i < from + n; i++)
        x[i] = y[i / 2] + y[(i + 1) / 2];
}

OPAQUE static void halves_down(double *x, const double *y, size_t n)
{
    for (size_t i = n; i-- > 0;)
        x[i] += y[i >> 1];
}

OPAQUE static void doubles(double *x, const double *y, size_t n)
{
    for (size_t i = 0; i < n; i += 2)
        x[i] = y[i * 3 / 4] + y[(i + 5) / 6];
}

OPAQUE static long remainders(const double *x, unsigned n)
{
    double s = 0;
    for (unsigned i = 0; i < n; i++)
        s += x[i % 3] + x[i / 3] + x[i % 7 + 10] + x[i & 1];
    return (long)s;
}

OPAQUE static void circles(double *x, const double *y, size_t n, size_t start)
{
    for (size_t i = start; i < start + n; i++)
        x[i & 63] += y[i & 15] + y[(i ^ 1) & 31];
}

OPAQUE static void tens(double *x, size_t n, size_t start)
{
    for (size_t i = start; i < start + n; i++) {
        bytes[i / 100]++;
        x[i / 10] += x[i % 10];
    }
}

OPAQUE static void halves_guarded(double *x, const double *y, const int *index, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (index[i] & 16)
            x[i / 2] = y[index[i]];
        if (i % 5 == 3)
            x[i / 3] += 1;
    }
}

OPAQUE static size_t halves_until(const double *x, const double *y, size_t n, double most)
{
    for (size_t i = 0; i < n; i++)
        if (x[i / 2] + y[(i + 1) / 4] > most)
            return i;
    return n;
}

OPAQUE static void halves_below(double *x, long from, long to) /* rounds towards zero */
{
    for (long i = from; i < to; i++)
        x[i / 2] += x[i >> 1];
}

OPAQUE static void halves_by(double *x, size_t n, size_t divisor, size_t factor)
{
    for (size_t i = 0; i < n; i++)
        x[i / divisor] += x[i / 2 * factor];
}

OPAQUE static void refines(double *x, const double *y, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t j = 1; j < n; j++)
            for (size_t k = 1; k < n; k++)
                x[(i * n + j) * n + k] +=
                    y[(i / 2 * n + (j + 1) / 2) * n + k / 2] + y[(j / 8 * n + i) * n + (k + 1) / 2];
}

OPAQUE static void refines_some(double *x, const double *y, const int *index, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            if (index[k] & 16 || k % 4 == i)
                x[i * n + k / 2] += y[(size_t)index[i] + k / 3];
}

void quotients(size_t n)
{
    halves(c, a, n, 7 * n);
    halves(c, a, 1, n);
    halves_down(c, a, 5 * n);
    doubles(c, a, 9 * n);
    sink = remainders(a, (unsigned)(11 * n));
    circles(c, a, 30 * n, 3 * n);
    tens(a, 37 * n, 13 * n);
    halves_guarded(c, a, where + n, 6 * n);
    a[n] = n & 1 ? 2000 : 0;
    b[n] = n & 2 ? 2000 : 0;
    sink = (long)(halves_until(a, b, n, 1000) + halves_until(a, b, 40 * n, 1000));
    a[n] = b[n] = 1;
    halves_below(a + 100, -3 * (long)n, 2 * (long)n);
    halves_by(c, 8 * n, 1 + n % 4, n);
    refines(c, a, n + 2);
    refines_some(c, a, where, n);
    if (n != 11)
        return;
    halves(c, a, 1, SIZE / 2); /* more than a record holds */
    circles(c, a, SIZE, 5);
    halves_guarded(c, a, where, SIZE / 2);
}
