/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Of hoist.c: loops that are left early, that go by data, that change what they go by, and that
 * call, copy or are jumped into.
 */
#include <string.h>

#include "tests/cli/hoist.h"

/* ------------------------------------------------------------- exits */

OPAQUE static long find(const double *x, long n, double value)
{
    for (long i = 0; i < n; i++)
        if (x[i] == value)
            return i;
    return -1;
}

OPAQUE static long search(const double *x, const double *y, long n)
{
    for (long i = 0; i < n; i++) {
        if (x[i] > 1000)
            return i;
        if (y[i] > 1000)
            break;
        if (x[n - 1 - i] < -1000)
            return -i;
        c[i] = 1;
    }
    return n;
}

OPAQUE static size_t length(const unsigned char *text)
{
    size_t n = 0;
    while (text[n])
        n++;
    return n;
}

OPAQUE static long switches(const int *x, long n)
{
    long seen = 0;
    for (long i = 0;; i++) {
        switch (x[i] % 5) {
        case 0:
            seen += x[i];
            break;
        case 1:
            c[i] = 1;
            break;
        case 2:
            if (i > n)
                return seen;
            b[i] += 1;
            break;
        case 3:
            if (i > n)
                goto out;
            break;
        default:
            a[x[i]] = 3;
        }
    }
out:
    return -seen;
}

/* ------------------------------------------------------------- irregular and guarded */

OPAQUE void gather(double *x, const double *y, const int *index, long n)
{
    for (long i = 0; i < n; i++)
        x[i] = y[index[i]] + x[n - 1 - i];
}

OPAQUE static void scatter(double *x, const int *index, long n, double limit)
{
    for (long i = 0; i < n; i++) {
        x[index[i]] += 1;
        if (x[index[i]] > limit)
            break;
        c[i] = limit;
    }
}

OPAQUE static void guarded(double *x, const int *index, long n)
{
    for (long i = 0; i < n; i++) {
        if (index[i] & 1)
            x[i] = 1;
        else if (index[i] & 2)
            x[index[i]] = 2;
        if (index[i] % 3 == 0)
            c[index[i]] += x[n - i];
    }
}

OPAQUE static long guarded_exits(const int *index, long n)
{
    for (long i = 0; i < n; i++) {
        if (index[i] & 4) {
            if (b[i] < 0)
                return i;
            b[index[i]] += 1;
        }
        if (index[i] & 8 && a[i] < 0)
            return -i;
    }
    return n;
}

struct node {
    struct node *next;
    long value;
};

OPAQUE static long walk(const struct node *node)
{
    long s = 0;
    for (; node; node = node->next)
        s += node->value;
    return s;
}

/* ------------------------------------------------------------- an index in memory */

OPAQUE static void in_memory(long n)
{
    volatile long i;
    for (i = 0; i < n; i++)
        a[i] = 1;
}

OPAQUE static void overwrites_itself(long n)
{
    long cell[8] = {0};
    long *i = &cell[n & 1];
    sink = (long)(uintptr_t)cell & 1;
    while (*i < n) {
        cell[(*i & 2) + 4] = *i; /* beside it */
        cell[n & 1] += 1;        /* itself, under another name */
    }
    sink = cell[4];
}

OPAQUE static void bounds_in_memory(long *n)
{
    for (long i = 0; i < *n; i++)
        n[i] -= i == 3; /* the first is the bound */
}

/* ------------------------------------------------------------- calls, copies, jumps */

OPAQUE static void leaf(double *x)
{
    *x += 1;
}

OPAQUE static void calls(double *x, long n)
{
    for (long i = 0; i < n; i++) {
        x[i] = 1;
        if (i % 3 == 0)
            leaf(x + i);
        for (long j = 0; j < i % 4; j++) /* one to three iterations, or none */
            x[j] += x[i];
    }
}

OPAQUE static void copies(long n)
{
    struct {
        char text[100];
    } from = {{1}}, to[4];
    for (long i = 0; i < n; i++) {
        to[i & 3] = from;
        from.text[i] = to[i & 3].text[i + 1];
    }
    sink = to[1].text[5];
}

OPAQUE static void jumps_into(long n, long start)
{
    long i = 0;
    if (start)
        goto middle;
    for (; i < n; i++) {
        a[i] = 1;
    middle:
        b[i] = 2;
    }
}

void exits(long n)
{
    sink = find(a, 10, (double)n);
    a[n] = n & 1 ? 2000 : 0;
    b[n] = n & 2 ? 2000 : 0;
    a[11 - n] -= n & 4 ? 3000 : 0;
    sink = search(a, b, 12);
    a[n] = b[n] = a[11 - n] = 1;
    memset(bytes, 'x', (size_t)(7 * n));
    bytes[7 * n] = 0;
    sink = (long)length(bytes);
    gather(c, a, where + n, n * n);
    scatter(a, where, 4 * n, 3.0 + (double)n);
    guarded(c, where, 30 * n);
    b[n] = n == 5 ? -1 : 1;
    a[2 * n] = n == 7 ? -1 : 1;
    sink = guarded_exits(where, 8 * n);
    b[n] = a[2 * n] = 1;
    sink = switches(where, 20 * n);
    in_memory(n);
    overwrites_itself(n + 5);
    calls(a, n);
    copies(n);
    jumps_into(n + 1, n & 1);
}

void large_exits(void)
{
    static struct node nodes[100];
    long bound[12] = {12};

    bounds_in_memory(bound);
    gather(c, a, where, SIZE); /* more than a record holds */
    guarded(c, where, SIZE / 2);
    for (int i = 0; i < 100; i++)
        nodes[(i * 37) % 100] = (struct node){i < 99 ? &nodes[(i + 1) * 37 % 100] : NULL, i};
    sink = walk(nodes);
}
