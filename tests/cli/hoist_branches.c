/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Straight code with branches in it (hoist.c): ways that meet again, within each other, one after
 * the other, without accesses, by data or by what does not change; bases that are known on one of
 * the ways alone; calls, loops and returns on one; more of it than a record has guards for. And
 * loads and stores of more bytes than an access has.
 */
#include <string.h>

#include "tests/cli/hoist.h"

enum { M = 5 };

struct cell {
    double state[M], matrix[M][M];
    struct cell *next, *other;
    int kind;
};

static struct cell cells[40];

/* Elimination in a matrix, for one more matrix if there is one: branches all the way. */
OPAQUE static void eliminate(double m[M][M], double also[M][M], double *v){
#define ELIMINATE(i, j)                                                                            \
    m[i][1] -= m[j][1] * m[i][j];                                                                  \
    m[i][2] -= m[j][2] * m[i][j];                                                                  \
    m[i][3] -= m[j][3] * m[i][j];                                                                  \
    if (also) {                                                                                    \
        also[i][0] -= also[j][0] * m[i][j];                                                        \
        also[i][1] -= also[j][1] * m[i][j];                                                        \
        also[i][2] -= also[j][2] * m[i][j];                                                        \
    }                                                                                              \
    v[i] -= v[j] * m[i][j];
    ELIMINATE(1, 0) ELIMINATE(2, 0) ELIMINATE(3, 0) ELIMINATE(2, 1) ELIMINATE(3, 1) ELIMINATE(3, 2)}

/* Ways within ways, by data; some have no accesses, one a return. */
OPAQUE static long inspect(struct cell *at, long n)
{
    long result = at->kind;

    at->state[0] += at->matrix[0][0] + at->matrix[0][1] + at->matrix[0][2] + at->matrix[0][3];
    if (at->kind % 3 == 0) {
        at->state[1] = at->matrix[1][0] + at->matrix[1][1];
        if (n & 1)
            at->state[2] = at->matrix[2][0] + at->matrix[2][1] + at->matrix[2][2];
        else if (n & 2)
            result = result * 7 % 13;
        at->state[1] += at->matrix[1][3];
    } else {
        result += n;
    }
    at->matrix[4][0] = at->state[0] + at->state[1];
    at->matrix[4][1] = at->state[2];
    if (result == 12)
        return n;
    switch (at->kind & 3) {
    case 0:
        at->matrix[3][0] = at->state[3];
        at->matrix[3][1] = at->state[4];
        break;
    case 1:
        at->matrix[3][2] = at->state[3] * at->state[4];
        break;
    case 2:
        at->kind++;
        break;
    default:;
    }
    at->kind += at->state[0] > 100;
    return result + at->kind;
}

/* A base that is loaded on one of the ways; a call and a loop on one. */
OPAQUE static double wander(struct cell *at, const struct cell *from)
{
    double sum = at->state[0] + at->state[1] + at->state[2] + from->state[0];

    if (at->kind & 1) {
        const struct cell *next = at->next;
        sum += next->state[0] + next->state[1] + next->state[2] + next->matrix[1][1];
    }
    at->matrix[0][1] = from->matrix[0][1] + from->matrix[0][2] + from->matrix[0][3];
    if (at->kind & 2)
        sum += (double)inspect(at, at->kind);
    at->matrix[2][1] = from->matrix[2][1] + from->matrix[2][2] + from->matrix[2][3];
    at->matrix[2][2] = from->matrix[2][0] + from->matrix[2][4];
    if (at->kind & 4)
        for (int i = 0; i < M; i++)
            at->state[i] = from->state[M - 1 - i];
    if (sum > 3)
        at->matrix[3][3] = from->matrix[3][4];
    at->matrix[3][1] = from->matrix[3][1] + from->matrix[3][2] + from->matrix[3][3];
    return sum;
}

/* Seventy ways to go, and straight on. */
OPAQUE static void many_ways(double *to, const double *from, unsigned long bits){
#define WAY(k)                                                                                     \
    if (bits >> (k) & 1)                                                                           \
        to[k] = from[k] + from[(k) + 3];                                                           \
    to[(k) + 1] += from[(k) + 1] + from[(k) + 5];
#define WAYS(k) WAY(k) WAY((k) + 1) WAY((k) + 2) WAY((k) + 3) WAY((k) + 4) WAY((k) + 5) WAY((k) + 6)
    WAYS(0) WAYS(7) WAYS(14) WAYS(21) WAYS(28) WAYS(35) WAYS(42) WAYS(49) WAYS(56)}

/* Into the middle of a cycle, which is no loop then. */
OPAQUE static void jumps_in(struct cell *at, long n, int into)
{
    at->state[0] += at->matrix[0][0] + at->matrix[0][1] + at->matrix[0][2] + at->matrix[0][3];
    if (into)
        goto middle;
again:
    at->matrix[1][0] += at->matrix[1][1] + at->matrix[1][2] + at->matrix[1][3];
    at->matrix[2][0] += at->matrix[2][1] + at->matrix[2][2] + at->matrix[2][3];
middle:
    at->matrix[3][0] += at->matrix[3][1] + at->matrix[3][2] + at->matrix[3][3];
    at->matrix[4][0] += at->matrix[4][1] + at->matrix[4][2] + at->matrix[4][3];
    if (n-- > 0)
        goto again;
    at->state[1] += at->matrix[1][0] + at->matrix[2][0];
}

/* Rows that are copied as a whole. */
OPAQUE static void copy_rows(struct cell *to, const struct cell *from, long n)
{
    for (long i = 0; i < n; i++)
        memcpy(to[i].matrix, from[i].matrix, sizeof to->matrix);
}

/* Vectors of several rows at once; values that are copied as a whole. */
OPAQUE static void rows_of_five(double (*rows)[M], double (*others)[M], long n)
{
    for (long i = 0; i < n; i++)
        for (int k = 0; k < M; k++)
            rows[i][k] = others[i][k] * 0.5 + rows[i][k];
    for (long i = 0; i < n; i++) {
        rows[i][0] = others[i][1];
        rows[i][1] = others[i][2];
        rows[i][2] = others[i][3];
        rows[i][3] = others[i][4];
        rows[i][4] = others[i][0];
    }
}

typedef double wide __attribute__((vector_size(256), aligned(8)));

OPAQUE static void wide_vectors(double *to, const double *from, long n, long step)
{
    for (long i = 0; i < n; i++) {
        wide value;
        memcpy(&value, from + i * step, sizeof value);
        *(wide *)(to + i) += value * *(const wide *)(from + i * step);
        if (i & 4)
            sink = sink + (long)to[i];
    }
}

void branches(long n)
{
    volatile double sum = 0;

    for (int i = 0; i < 40; i++) {
        cells[i].next = &cells[(i * 7 + 3) % 40];
        cells[i].kind = (i * 11 + (int)n) % 17;
    }
    for (long k = 0; k < n; k++)
        for (long i = 0; i + 1 < n + 5; i++)
            eliminate(cells[i].matrix, k & 1 ? cells[i + 2].matrix : NULL, cells[i + 1].state);
    for (long i = 0; i < 30; i++) {
        sum = sum + (double)inspect(&cells[i], n + i);
        sum = sum + wander(&cells[i], &cells[39 - i]);
        jumps_in(&cells[i], n % 4, i & 1);
        many_ways(c + i, b + i, (unsigned long)(n * 2654435761) * (unsigned long)(i | 1));
    }
    copy_rows(cells, cells + 20, n + 8);
    rows_of_five((double(*)[M])c, (double(*)[M])a, 20 * n);
    wide_vectors(c, b, 10 * n, n);
}
