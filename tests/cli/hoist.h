/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of hoist.c share: arrays, and what goes through the loops of each, with bounds
 * and steps that the compiler does not know.
 */
#ifndef PSNAP_TEST_HOIST_H
#define PSNAP_TEST_HOIST_H

#include <stddef.h>
#include <stdint.h>

#define OPAQUE __attribute__((noinline))

enum { SIZE = 1 << 13 };
extern double a[SIZE], b[SIZE], c[SIZE];
extern int where[SIZE];
extern unsigned char bytes[SIZE];
extern volatile long sink;

/* hoist_affine.c */
double sum(const double *x, long n);
void affine(long n, long seed);
void wraps(long n);

/* hoist_nests.c */
void nests(long n);
void large_nests(long seed);

/* hoist_exits.c */
void gather(double *x, const double *y, const int *index, long n);
void exits(long n);
void large_exits(void);

/* hoist_quotients.c */
void quotients(size_t n);

/* hoist_straight.c */
void straight(long n);

/* hoist_branches.c */
void branches(long n);

/* hoist.c: handlers run on a stack of their own */
void on_signal(int number, void (*handler)(int));

#endif
