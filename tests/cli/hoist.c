/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loops of all shapes, for test_hoist.sh: recorded hoisted and unhoisted they are
 * the same stream. Each gets its bounds and steps from outside, so that the
 * compiler does not know them.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPAQUE __attribute__((noinline))

enum { SIZE = 1 << 13 };
static double a[SIZE], b[SIZE], c[SIZE];
static int where[SIZE];
static unsigned char bytes[SIZE];
static volatile long sink;

/* ------------------------------------------------------------- affine */

OPAQUE static double sum(const double *x, long n)
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

/* ------------------------------------------------------------- nests */

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

    passes(512u >> (n & 1), pairs, pairs + 512, pairs + 512 + 80 * n);
    passes(512, pairs + n, pairs + 512 + 100 * n, pairs + 512);
    conditions(x, 40, (uint32_t)n - 20, (uint32_t)n, -5, 3 + (unsigned)n);
    conditions(x, 30, INT32_MAX - 9, 1 + ((uint32_t)n << 27), 1 << n, 200);
    conditions(x, 30, 250, (uint32_t)-n, 40 * (int)n, 17 * (unsigned)n);
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

OPAQUE static void gather(double *x, const double *y, const int *index, long n)
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

/* ------------------------------------------------------------- calls, nests */

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
        x[i] += n;
    return n ? recursive(x + 1, n - 1) + recursive(x, n / 2) : 1;
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

/* ------------------------------------------------------------- quotients */

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
                x[i * n + k / 2] += y[index[i] + k / 3];
}

static void quotients(size_t n)
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

/* ------------------------------------------------------------- signals and jumps */

static sigjmp_buf place;
static int counts_signals;

static void handle(int number)
{
    (void)number;
    counts_signals++;
    gather(c, b, where, 40);
    sink = (long)sum(b, 30);
}

static void leave(int number)
{
    (void)number;
    siglongjmp(place, 1);
}

/* Handlers run at the same addresses each time: not behind a frame that the kernel aligns. */
static void on_trap(void (*handler)(int))
{
    static char stack[1 << 16] __attribute__((aligned(4096)));
    const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    const struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};

    sigaltstack(&other, NULL);
    sigaction(SIGTRAP, &action, NULL);
}

/* Signals come at the same place in both recordings: a trap, which is no call. */
#if defined(__x86_64__)
#    define TRAP() __asm__ volatile("int3")
#elif defined(__aarch64__)
#    define TRAP() __asm__ volatile("brk #0")
#else
#    define TRAP() (void)0
#endif

OPAQUE static void after_traps(long n)
{
    for (long i = 0; i < n; i++)
        a[i] = 4;
    TRAP();
    for (long i = 0; i < n; i++)
        a[where[i]] = 5;
    TRAP();
}

int main(int argc, char **argv)
{
    const long seed = argc > 1 ? atol(argv[1]) : 1;
    static struct node nodes[100];
    long bound[12] = {12};

    for (long i = 0; i < SIZE; i++) {
        where[i] = (int)(((unsigned long)i * 1103515245 + (unsigned long)seed * 12345) >> 7 & 2047);
        a[i] = b[i] = (double)(i % 7);
    }
    for (long n = 0; n < 12; n++) {
        sink = (long)(sum(a, n) + sum(b + n, 3 * n));
        strided(c, a, n, 100, 1 + n);
        strided(c, a, 100, n, -1 - n);
        still(a + n, n, seed - 1);
        still(a + 100, n, 3 - n);
        stencil(c, a, n, 2 * n);
        triangle(b, n);
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
        wrap8((uint8_t)(250 - n), 20);
        wrap16((uint16_t)(65530 + n), 1, 30);
        wrap16((uint16_t)(7 * n), 21845, 15);
        wrap32(UINT32_MAX - 5, 1 + (uint32_t)n, 20);
        wrap_index(a, UINT32_MAX - 40, (unsigned)(2 * n));
        below_zero(b, (unsigned)n);
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
        quotients((size_t)n);
    }
    sink = nest(a, where, 300, 5) + nest(b, where, 20, 0) + nest(a, where + 9, 4, SIZE);
    if (seed == 5)
        sink = (long)goes_on(a, 40, 30, 900);
    bounds_in_memory(bound);
    sink = recursive(b, 7);
    gather(c, a, where, SIZE); /* more than a record holds */
    guarded(c, where, SIZE / 2);
    for (int i = 0; i < 100; i++)
        nodes[(i * 37) % 100] = (struct node){i < 99 ? &nodes[(i + 1) * 37 % 100] : NULL, i};
    sink = walk(nodes);
    on_trap(handle);
    after_traps(50);
    on_trap(leave);
    for (volatile int i = 0; i < 3; i++)
        if (sigsetjmp(place, 1) == 0)
            after_traps(20 + i);
    printf("%d signals, sink %ld\n", counts_signals, sink);
    return 0;
}
