/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ft: the heat equation on a periodic grid of 64^3 complex points by 3-D FFT, the benchmark FT of
 * the NAS Parallel Benchmarks (NAS report RNR-94-007) in its class S.
 *
 *     ft [ITERATIONS]
 *
 * The initial field is transformed once; an iteration (6 by default) multiplies the spectrum by
 * the decay of each mode in a time step (evolve), transforms it back and sums 1024 of its points.
 * A transform takes each dimension in turn (cffts1, cffts2, cffts3): blocks of 16 lines are copied
 * into a work array [point][line], transformed there together by Stockham's method in 6 passes from
 * one work array to another (fftz2), and copied back. Arrays are [z][y][x], and rows have a point
 * more than the grid so that columns do not fall into a few sets of a cache.
 * Prints the last sum; after 6 iterations it is the benchmark's, 5.542683e+02 4.932597e+02.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    NX = 64,
    NY = 64,
    NZ = 64,
    EDGE_MAX = 64,
    BLOCK_MAX = 16,
    BLOCK_PADDED = BLOCK_MAX + 2 /* of a row of the work arrays */
};

struct complex {
    double re, im;
};

static struct complex u0[NZ][NY][NX + 1], u1[NZ][NY][NX + 1];
static double twiddle[NZ][NY][NX + 1];
static struct complex roots[2 * EDGE_MAX]; /* from 2^l on the first 2^l of 2^(l+1) roots of one */
static struct complex work1[EDGE_MAX][BLOCK_PADDED], work2[EDGE_MAX][BLOCK_PADDED];

/* Not constants, as in the benchmark: the compiler does not know trip counts. */
int nx = NX, ny = NY, nz = NZ, fftblock = BLOCK_MAX;

/* The decay in a step of time of each mode, whose frequencies are -n / 2 to n / 2 - 1. */
static void compute_indexmap(double alpha)
{
    const double pi = 3.14159265358979323846;

    for (int k = 0; k < nz; k++) {
        int kk = (k + nz / 2) % nz - nz / 2;

        for (int j = 0; j < ny; j++) {
            int jj = (j + ny / 2) % ny - ny / 2;

            for (int i = 0; i < nx; i++) {
                int ii = (i + nx / 2) % nx - nx / 2;

                twiddle[k][j][i] =
                    exp(-4.0 * alpha * pi * pi * (double)(ii * ii + jj * jj + kk * kk));
            }
        }
    }
}

/* The benchmarks' random numbers: a linear congruence modulo 2^46. */
static double next_random(uint64_t *state)
{
    *state = *state * 1220703125 & ((UINT64_C(1) << 46) - 1);
    return (double)*state * 0x1p-46;
}

static void compute_initial_conditions(void)
{
    uint64_t state = 314159265;

    for (int k = 0; k < nz; k++) {
        for (int j = 0; j < ny; j++) {
            for (int i = 0; i < nx; i++) {
                u1[k][j][i].re = next_random(&state);
                u1[k][j][i].im = next_random(&state);
            }
        }
    }
}

static int log2_of(int n)
{
    int log = 0;

    while (1 << log < n)
        log++;
    return log;
}

static void fft_init(int n)
{
    const double pi = 3.14159265358979323846;

    for (int count = 1; count < n; count *= 2) {
        for (int i = 0; i < count; i++) {
            roots[count + i].re = cos(pi * i / count);
            roots[count + i].im = sin(pi * i / count);
        }
    }
}

/* Pass l of m of the transform of a block of lines of n points from x to y. */
static void fftz2(int sign, int l, int m, int n, int lines, struct complex x[][BLOCK_PADDED],
                  struct complex y[][BLOCK_PADDED])
{
    const int half = n / 2, run = 1 << (l - 1), runs = 1 << (m - l);

    for (int i = 0; i < runs; i++) {
        int from = i * run, to = 2 * i * run;
        struct complex w = roots[runs + i];

        if (sign < 0)
            w.im = -w.im;
        for (int k = 0; k < run; k++) {
            for (int j = 0; j < lines; j++) {
                struct complex a = x[from + k][j], b = x[from + half + k][j];
                double re = a.re - b.re, im = a.im - b.im;

                y[to + k][j].re = a.re + b.re;
                y[to + k][j].im = a.im + b.im;
                y[to + run + k][j].re = w.re * re - w.im * im;
                y[to + run + k][j].im = w.re * im + w.im * re;
            }
        }
    }
}

/* Transform the block of lines in x in place; y is as large. */
static void cfftz(int sign, int m, int n, struct complex x[][BLOCK_PADDED],
                  struct complex y[][BLOCK_PADDED])
{
    for (int l = 1; l <= m; l += 2) {
        fftz2(sign, l, m, n, fftblock, x, y);
        if (l == m) {
            for (int i = 0; i < n; i++) {
                for (int j = 0; j < fftblock; j++)
                    x[i][j] = y[i][j];
            }
            return;
        }
        fftz2(sign, l + 1, m, n, fftblock, y, x);
    }
}

/* Along x; so the lines of a block are rows. */
static void cffts1(int sign, struct complex in[][NY][NX + 1], struct complex out[][NY][NX + 1])
{
    const int log = log2_of(nx);

    for (int k = 0; k < nz; k++) {
        for (int first = 0; first <= ny - fftblock; first += fftblock) {
            for (int j = 0; j < fftblock; j++) {
                for (int i = 0; i < nx; i++)
                    work1[i][j] = in[k][first + j][i];
            }
            cfftz(sign, log, nx, work1, work2);
            for (int j = 0; j < fftblock; j++) {
                for (int i = 0; i < nx; i++)
                    out[k][first + j][i] = work1[i][j];
            }
        }
    }
}

static void cffts2(int sign, struct complex in[][NY][NX + 1], struct complex out[][NY][NX + 1])
{
    const int log = log2_of(ny);

    for (int k = 0; k < nz; k++) {
        for (int first = 0; first <= nx - fftblock; first += fftblock) {
            for (int j = 0; j < ny; j++) {
                for (int i = 0; i < fftblock; i++)
                    work1[j][i] = in[k][j][first + i];
            }
            cfftz(sign, log, ny, work1, work2);
            for (int j = 0; j < ny; j++) {
                for (int i = 0; i < fftblock; i++)
                    out[k][j][first + i] = work1[j][i];
            }
        }
    }
}

static void cffts3(int sign, struct complex in[][NY][NX + 1], struct complex out[][NY][NX + 1])
{
    const int log = log2_of(nz);

    for (int j = 0; j < ny; j++) {
        for (int first = 0; first <= nx - fftblock; first += fftblock) {
            for (int k = 0; k < nz; k++) {
                for (int i = 0; i < fftblock; i++)
                    work1[k][i] = in[k][j][first + i];
            }
            cfftz(sign, log, nz, work1, work2);
            for (int k = 0; k < nz; k++) {
                for (int i = 0; i < fftblock; i++)
                    out[k][j][first + i] = work1[k][i];
            }
        }
    }
}

static void fft(int sign, struct complex in[][NY][NX + 1], struct complex out[][NY][NX + 1])
{
    if (sign > 0) {
        cffts1(1, in, in);
        cffts2(1, in, in);
        cffts3(1, in, out);
    } else {
        cffts3(-1, in, in);
        cffts2(-1, in, in);
        cffts1(-1, in, out);
    }
}

/* A step of time of the spectrum u0, which u1 gets as well. */
static void evolve(void)
{
    for (int k = 0; k < nz; k++) {
        for (int j = 0; j < ny; j++) {
            for (int i = 0; i < nx; i++) {
                u0[k][j][i].re *= twiddle[k][j][i];
                u0[k][j][i].im *= twiddle[k][j][i];
                u1[k][j][i] = u0[k][j][i];
            }
        }
    }
}

static struct complex checksum(struct complex x[][NY][NX + 1])
{
    const double points = (double)(nx * ny * nz);
    struct complex sum = {0.0, 0.0};

    for (int j = 1; j <= 1024; j++) {
        const struct complex *point = &x[5 * j % nz][3 * j % ny][j % nx];

        sum.re += point->re;
        sum.im += point->im;
    }
    sum.re /= points;
    sum.im /= points;
    return sum;
}

int main(int argc, char **argv)
{
    int iterations = argc > 1 ? atoi(argv[1]) : 6;
    struct complex sum = {0.0, 0.0};

    if (argc > 2 || iterations < 1) {
        fprintf(stderr, "usage: ft [ITERATIONS]\n");
        return 2;
    }
    compute_indexmap(1e-6);
    compute_initial_conditions();
    fft_init(EDGE_MAX);
    fft(1, u1, u0);
    for (int i = 0; i < iterations; i++) {
        evolve();
        fft(-1, u1, u1);
        sum = checksum(u1);
    }
    printf("ft %d checksum %.6e %.6e\n", iterations, sum.re, sum.im);
    return 0;
}
