/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Straight code (hoist.c): small matrices behind pointers and indices, fields of structures, copies
 * of them, bases that are loaded in between; called from loops, so that records of it come again
 * and again, and in loops that cannot be hoisted; cut short by a jump out of a handler.
 */
#include <setjmp.h>
#include <signal.h>

#include "tests/cli/hoist.h"

enum { M = 5 };

struct cell {
    double state[M], matrix[M][M];
    struct cell *next;
    int kind;
    char name[9];
};

static struct cell cells[40];

/* Written out, as such code is. */
#define ROW(m, v, i)                                                                               \
    (m[i][0] * v[0] + m[i][1] * v[1] + m[i][2] * v[2] + m[i][3] * v[3] + m[i][4] * v[4])

OPAQUE static void multiply(double m[M][M], const double *v, double *to)
{
    to[0] = ROW(m, v, 0);
    to[1] = ROW(m, v, 1);
    to[2] = ROW(m, v, 2);
    to[3] = ROW(m, v, 3);
    to[4] = ROW(m, v, 4);
}

/* A base that is known late. */
OPAQUE static double follow(struct cell *at)
{
    struct cell *next = at->next;

    at->state[0] += next->state[1];
    at->state[1] += next->matrix[1][2] + next->matrix[2][1];
    next->state[3] = at->matrix[4][4];
    next->kind = at->kind + 1;
    at->name[3] = next->name[4];
    return next->next->state[4] + next->next->state[2];
}

/* A loop that is none to hoist: it goes where the data says, twice in an iteration. */
OPAQUE static double chase(struct cell *at, long n)
{
    double sum = 0;

    while (n-- > 0) {
        sum += at->state[0] + at->state[1] + at->state[2] + at->matrix[0][0] + at->matrix[3][3];
        at->kind++;
        at->name[n & 7] = (char)n;
        if (at->kind % 3 == 0)
            at->state[3] = at->matrix[1][1] + at->matrix[2][2] + at->matrix[0][1];
        at = at->next;
    }
    return sum;
}

static sigjmp_buf place;

static void leave(int number)
{
    (void)number;
    siglongjmp(place, 1);
}

/* Is left in the middle. */
OPAQUE static void halfway(struct cell *at)
{
    at->state[0] = at->matrix[0][0] + at->matrix[0][1] + at->matrix[0][2] + at->matrix[0][3];
    at->state[1] = at->matrix[1][0] + at->matrix[1][1] + at->matrix[1][2];
    *(volatile int *)0 = 0;
    at->state[2] = 1;
}

void straight(long n)
{
    volatile double sum = 0;

    for (int i = 0; i < 40; i++)
        cells[i].next = &cells[(i * 7 + 3) % 40];
    for (long k = 0; k < n; k++)
        for (long i = 0; i + 1 < n + 5; i++)
            multiply(cells[i].matrix, cells[i].state, cells[i + 1].state);
    for (long i = 0; i < 30; i++) {
        multiply(cells[i].matrix, cells[i + 1].state, cells[i + 2].state);
        sum = sum + follow(&cells[i]);
    }
    sum = sum + chase(cells, 20 * n);
    on_signal(SIGSEGV, leave);
    if (sigsetjmp(place, 1) == 0)
        halfway(&cells[n % 40]);
    signal(SIGSEGV, SIG_DFL);
}
