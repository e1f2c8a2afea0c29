/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mg: Poisson's equation on a periodic cube of 32^3 points by multigrid, the benchmark MG of the
 * NAS Parallel Benchmarks (NAS report RNR-94-007) in its class S.
 *
 *     mg [ITERATIONS]
 *
 * An iteration (4 by default) is a V-cycle from 32^3 points down to 2^3. A grid of 2^k points along
 * an edge is an array [n][n][n], n = 2^k + 2: its first and last planes are copies of the planes at
 * the other side (comm3). The grids of all levels are one array, the finest grid first.
 * The operators have 27 points and coefficients that depend on the distance alone; each line is
 * computed in two passes, of which the first one sums the four nearest and the four diagonal lines.
 * Prints the root mean square of the last residual; after 4 iterations it is the benchmark's,
 * 5.307707e-05.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CUBE(n) ((n) * (n) * (n))

enum {
    LEVELS = 5,
    EDGE_MAX = (1 << LEVELS) + 2,
    CELLS_MAX = CUBE(EDGE_MAX),
    CELLS = CELLS_MAX + CUBE(18) + CUBE(10) + CUBE(6) + CUBE(4), /* of all levels */
    CHARGES = 10                                                 /* of each sign */
};

static double u[CELLS], r[CELLS], v[CELLS_MAX];
static int edge[LEVELS + 1], first[LEVELS + 1]; /* of each level: n, and its first cell */

/* A and the smoother S: coefficients at a distance of 0, 1, 2 and 3 steps along the axes. Not
 * constants, as in the benchmark, where they depend on the class. */
double operator_a[4] = {-8.0 / 3.0, 0.0, 1.0 / 6.0, 1.0 / 12.0};
double operator_s[4] = {-3.0 / 8.0, 1.0 / 32.0, -1.0 / 64.0, 0.0};

/* Copy the outermost planes of points to the borders at the other side. */
static void comm3(void *cells, int n)
{
    double(*x)[n][n] = cells;

    for (int i3 = 1; i3 < n - 1; i3++) {
        for (int i2 = 1; i2 < n - 1; i2++) {
            x[i3][i2][0] = x[i3][i2][n - 2];
            x[i3][i2][n - 1] = x[i3][i2][1];
        }
    }
    for (int i3 = 1; i3 < n - 1; i3++) {
        for (int i1 = 0; i1 < n; i1++) {
            x[i3][0][i1] = x[i3][n - 2][i1];
            x[i3][n - 1][i1] = x[i3][1][i1];
        }
    }
    for (int i2 = 0; i2 < n; i2++) {
        for (int i1 = 0; i1 < n; i1++) {
            x[0][i2][i1] = x[n - 2][i2][i1];
            x[n - 1][i2][i1] = x[1][i2][i1];
        }
    }
}

static void zero3(void *cells, int n)
{
    double(*x)[n][n] = cells;

    for (int i3 = 0; i3 < n; i3++) {
        for (int i2 = 0; i2 < n; i2++) {
            for (int i1 = 0; i1 < n; i1++)
                x[i3][i2][i1] = 0.0;
        }
    }
}

/* residual = right - A solution; residual and right may be the same. */
static void resid(void *solution, void *right, void *residual, int n, const double a[4])
{
    double(*x)[n][n] = solution, (*f)[n][n] = right;
    double(*y)[n][n] = residual;
    double x1[EDGE_MAX], x2[EDGE_MAX];

    for (int i3 = 1; i3 < n - 1; i3++) {
        for (int i2 = 1; i2 < n - 1; i2++) {
            for (int i1 = 0; i1 < n; i1++) {
                x1[i1] =
                    x[i3][i2 - 1][i1] + x[i3][i2 + 1][i1] + x[i3 - 1][i2][i1] + x[i3 + 1][i2][i1];
                x2[i1] = x[i3 - 1][i2 - 1][i1] + x[i3 - 1][i2 + 1][i1] + x[i3 + 1][i2 - 1][i1] +
                         x[i3 + 1][i2 + 1][i1];
            }
            for (int i1 = 1; i1 < n - 1; i1++) { /* a[1] is 0 */
                y[i3][i2][i1] = f[i3][i2][i1] - a[0] * x[i3][i2][i1] -
                                a[2] * (x2[i1] + x1[i1 - 1] + x1[i1 + 1]) -
                                a[3] * (x2[i1 - 1] + x2[i1 + 1]);
            }
        }
    }
    comm3(residual, n);
}

/* solution += S residual */
static void psinv(void *residual, void *solution, int n, const double s[4])
{
    double(*x)[n][n] = residual;
    double(*y)[n][n] = solution;
    double x1[EDGE_MAX], x2[EDGE_MAX];

    for (int i3 = 1; i3 < n - 1; i3++) {
        for (int i2 = 1; i2 < n - 1; i2++) {
            for (int i1 = 0; i1 < n; i1++) {
                x1[i1] =
                    x[i3][i2 - 1][i1] + x[i3][i2 + 1][i1] + x[i3 - 1][i2][i1] + x[i3 + 1][i2][i1];
                x2[i1] = x[i3 - 1][i2 - 1][i1] + x[i3 - 1][i2 + 1][i1] + x[i3 + 1][i2 - 1][i1] +
                         x[i3 + 1][i2 + 1][i1];
            }
            for (int i1 = 1; i1 < n - 1; i1++) { /* s[3] is 0 */
                y[i3][i2][i1] += s[0] * x[i3][i2][i1] +
                                 s[1] * (x[i3][i2][i1 - 1] + x[i3][i2][i1 + 1] + x1[i1]) +
                                 s[2] * (x2[i1] + x1[i1 - 1] + x1[i1 + 1]);
            }
        }
    }
    comm3(solution, n);
}

/* Restrict to the next coarser grid, of nc points and borders: weights 1/2, 1/4, 1/8 and 1/16. */
static void rprj3(void *fine, int n, void *coarse, int nc)
{
    double(*x)[n][n] = fine;
    double(*y)[nc][nc] = coarse;
    double x1[EDGE_MAX], x2[EDGE_MAX];

    for (int j3 = 1; j3 < nc - 1; j3++) {
        int i3 = 2 * j3; /* of the fine cell at the same point */

        for (int j2 = 1; j2 < nc - 1; j2++) {
            int i2 = 2 * j2;

            for (int j1 = 1; j1 < nc; j1++) {
                int i1 = 2 * j1 - 1;

                x1[i1] =
                    x[i3][i2 - 1][i1] + x[i3][i2 + 1][i1] + x[i3 - 1][i2][i1] + x[i3 + 1][i2][i1];
                x2[i1] = x[i3 - 1][i2 - 1][i1] + x[i3 + 1][i2 - 1][i1] + x[i3 - 1][i2 + 1][i1] +
                         x[i3 + 1][i2 + 1][i1];
            }
            for (int j1 = 1; j1 < nc - 1; j1++) {
                int i1 = 2 * j1;
                double near =
                    x[i3][i2 - 1][i1] + x[i3][i2 + 1][i1] + x[i3 - 1][i2][i1] + x[i3 + 1][i2][i1];
                double diagonal = x[i3 - 1][i2 - 1][i1] + x[i3 + 1][i2 - 1][i1] +
                                  x[i3 - 1][i2 + 1][i1] + x[i3 + 1][i2 + 1][i1];

                y[j3][j2][j1] = 0.5 * x[i3][i2][i1] +
                                0.25 * (x[i3][i2][i1 - 1] + x[i3][i2][i1 + 1] + near) +
                                0.125 * (x1[i1 - 1] + x1[i1 + 1] + diagonal) +
                                0.0625 * (x2[i1 - 1] + x2[i1 + 1]);
            }
        }
    }
    comm3(coarse, nc);
}

/* Add the coarse correction, linear between its points, to the fine solution. */
static void interp(void *coarse, int nc, void *fine, int n)
{
    double(*x)[nc][nc] = coarse;
    double(*y)[n][n] = fine;
    double x1[EDGE_MAX], x2[EDGE_MAX], x3[EDGE_MAX];

    for (int j3 = 0; j3 < nc - 1; j3++) {
        for (int j2 = 0; j2 < nc - 1; j2++) {
            for (int j1 = 0; j1 < nc; j1++) {
                x1[j1] = x[j3][j2 + 1][j1] + x[j3][j2][j1];
                x2[j1] = x[j3 + 1][j2][j1] + x[j3][j2][j1];
                x3[j1] = x[j3 + 1][j2 + 1][j1] + x[j3 + 1][j2][j1] + x1[j1];
            }
            for (int j1 = 0; j1 < nc - 1; j1++) {
                y[2 * j3][2 * j2][2 * j1] += x[j3][j2][j1];
                y[2 * j3][2 * j2][2 * j1 + 1] += 0.5 * (x[j3][j2][j1 + 1] + x[j3][j2][j1]);
            }
            for (int j1 = 0; j1 < nc - 1; j1++) {
                y[2 * j3][2 * j2 + 1][2 * j1] += 0.5 * x1[j1];
                y[2 * j3][2 * j2 + 1][2 * j1 + 1] += 0.25 * (x1[j1] + x1[j1 + 1]);
            }
            for (int j1 = 0; j1 < nc - 1; j1++) {
                y[2 * j3 + 1][2 * j2][2 * j1] += 0.5 * x2[j1];
                y[2 * j3 + 1][2 * j2][2 * j1 + 1] += 0.25 * (x2[j1] + x2[j1 + 1]);
            }
            for (int j1 = 0; j1 < nc - 1; j1++) {
                y[2 * j3 + 1][2 * j2 + 1][2 * j1] += 0.25 * x3[j1];
                y[2 * j3 + 1][2 * j2 + 1][2 * j1 + 1] += 0.125 * (x3[j1] + x3[j1 + 1]);
            }
        }
    }
}

static void v_cycle(void)
{
    for (int k = LEVELS; k > 1; k--)
        rprj3(&r[first[k]], edge[k], &r[first[k - 1]], edge[k - 1]);
    zero3(&u[first[1]], edge[1]);
    psinv(&r[first[1]], &u[first[1]], edge[1], operator_s);
    for (int k = 2; k < LEVELS; k++) {
        zero3(&u[first[k]], edge[k]);
        interp(&u[first[k - 1]], edge[k - 1], &u[first[k]], edge[k]);
        resid(&u[first[k]], &r[first[k]], &r[first[k]], edge[k], operator_a);
        psinv(&r[first[k]], &u[first[k]], edge[k], operator_s);
    }
    interp(&u[first[LEVELS - 1]], edge[LEVELS - 1], u, edge[LEVELS]);
    resid(u, v, r, edge[LEVELS], operator_a);
    psinv(r, u, edge[LEVELS], operator_s);
}

static double norm2u3(void *cells, int n)
{
    double(*x)[n][n] = cells;
    double sum = 0.0;

    for (int i3 = 1; i3 < n - 1; i3++) {
        for (int i2 = 1; i2 < n - 1; i2++) {
            for (int i1 = 1; i1 < n - 1; i1++)
                sum += x[i3][i2][i1] * x[i3][i2][i1];
        }
    }
    return sqrt(sum / CUBE(n - 2.0));
}

/* The benchmarks' random numbers: a linear congruence modulo 2^46. */
static double next_random(uint64_t *state)
{
    *state = *state * 1220703125 & ((UINT64_C(1) << 46) - 1);
    return (double)*state * 0x1p-46;
}

struct extreme {
    double value;
    int i3, i2, i1;
};

/* Keep the list sorted, its smallest value first, which a larger one replaces. */
static void keep_largest(struct extreme *list, struct extreme candidate)
{
    int at = 0;

    if (candidate.value <= list[0].value)
        return;
    for (; at + 1 < CHARGES && list[at + 1].value < candidate.value; at++)
        list[at] = list[at + 1];
    list[at] = candidate;
}

/* Charges of +1 where random values of all points are largest, -1 where they are smallest. */
static void zran3(void *cells, int n)
{
    double(*x)[n][n] = cells;
    struct extreme largest[CHARGES] = {{0}}, smallest[CHARGES] = {{0}};
    uint64_t state = 314159265;

    zero3(cells, n);
    for (int i3 = 1; i3 < n - 1; i3++) {
        for (int i2 = 1; i2 < n - 1; i2++) {
            for (int i1 = 1; i1 < n - 1; i1++)
                x[i3][i2][i1] = next_random(&state);
        }
    }
    for (int i3 = 1; i3 < n - 1; i3++) {
        for (int i2 = 1; i2 < n - 1; i2++) {
            for (int i1 = 1; i1 < n - 1; i1++) {
                double value = x[i3][i2][i1];

                keep_largest(largest, (struct extreme){value, i3, i2, i1});
                keep_largest(smallest, (struct extreme){1.0 - value, i3, i2, i1});
            }
        }
    }
    zero3(cells, n);
    for (int i = 0; i < CHARGES; i++) {
        x[largest[i].i3][largest[i].i2][largest[i].i1] = 1.0;
        x[smallest[i].i3][smallest[i].i2][smallest[i].i1] = -1.0;
    }
    comm3(cells, n);
}

int main(int argc, char **argv)
{
    int iterations = argc > 1 ? atoi(argv[1]) : 4;

    if (argc > 2 || iterations < 1) {
        fprintf(stderr, "usage: mg [ITERATIONS]\n");
        return 2;
    }
    for (int k = LEVELS; k > 0; k--) {
        edge[k] = (1 << k) + 2;
        first[k] = k == LEVELS ? 0 : first[k + 1] + CUBE(edge[k + 1]);
    }
    zero3(u, edge[LEVELS]);
    zran3(v, edge[LEVELS]);
    resid(u, v, r, edge[LEVELS], operator_a);
    for (int i = 0; i < iterations; i++) {
        v_cycle();
        resid(u, v, r, edge[LEVELS], operator_a);
    }
    printf("mg %d checksum %.6e\n", iterations, norm2u3(r, edge[LEVELS]));
    return 0;
}
