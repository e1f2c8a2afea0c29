/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many short loops, each with code of its own: LOOPS(F), which the program defines, is F(k) for the
 * number k of each. A round goes through all of them once.
 */
#ifndef PSNAP_BENCH_LOOPS_H
#define PSNAP_BENCH_LOOPS_H

#include <stdio.h>

#define TEN(F, p) F(p##0) F(p##1) F(p##2) F(p##3) F(p##4) F(p##5) F(p##6) F(p##7) F(p##8) F(p##9)

#define DEFINE(k)                                                                                  \
    __attribute__((noinline)) static void loop##k(double *x, const double *y, long n)              \
    {                                                                                              \
        for (long i = 0; i < n; i++)                                                               \
            x[i] += y[i + (k) % 7] * (k);                                                          \
    }
#define CALL(k) loop##k(values + 37 * ((k) - 100), values + 8000 + 91 * ((k) - 100), n);

static double values[1 << 16];

LOOPS(DEFINE)

/* Goes through the loops, of n iterations each, and prints what came out. */
static int run(long rounds, volatile long n_of_all)
{
    const long n = n_of_all;

    for (long round = 0; round < rounds; round++) {
        LOOPS(CALL)
    }
    printf("%g\n", values[0]);
    return 0;
}

#endif
