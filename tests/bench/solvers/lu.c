/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lu: the compressible Navier-Stokes equations on 12^3 points, by symmetric successive
 * over-relaxation: the benchmark LU of the NAS Parallel Benchmarks (NAS report RNR-94-007) in its
 * class S.
 *
 *     lu [ITERATIONS]
 *
 * An iteration (50 by default) solves a block lower and a block upper triangular system, plane by
 * plane: the blocks of 5x5 of a plane are built (jacld, jacu), then its cells are visited in order
 * (blts) or in reverse order (buts), each of which solves its diagonal block. Then u and the
 * residual (rhs) are computed anew. Fields are [z][y][x][component] with rows of odd length, blocks
 * [column][row]. Formulas are the same along all axes, so they are written once, for an axis (0 to
 * 2); each use of them is inlined with constants. Prints the norm of the residual of each
 * component; after 50 iterations these are the benchmark's, from 1.619634e-02 on.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cube.h"

#define INLINE static inline __attribute__((always_inline))
#define CALLED static __attribute__((noinline)) /* as if it were in another file */

enum { N = 12, ROW = N / 2 * 2 + 1 };

static double u[N][ROW][ROW][5], rsd[N][ROW][ROW][5], frct[N][ROW][ROW][5];
static double qs[N][ROW][ROW], rho_i[N][ROW][ROW];
static double a[N][ROW][5][5], b[N][ROW][5][5], c[N][ROW][5][5], d[N][ROW][5][5]; /* of a plane */
static double flux[N][5];                                                         /* of a line */

/* Not constants, as in the benchmark: the compiler knows neither them nor trip counts. */
int nx = N, ny = N, nz = N;
double dt = 0.5, omega = 1.2, spacing = 1.0 / (N - 1);
double t1 = 1.0 * (N - 1) * (N - 1), t2 = 0.5 * (N - 1), t3 = N - 1; /* of differences */
double c1 = 1.4, c2 = 0.4, c34 = 0.1, c1345 = 1.4 * 1.4 * 0.1;
double diffusion[3] = {0.75, 0.75, 1.0}, dissipation = 0.25; /* of second and fourth order */

/* Convective flux through cell l of a line, and the viscous one between l - 1 and l. */
INLINE void set_convective(int axis, int k, int j, int i, int l)
{
    const double *v = AT(u, l), q = AT(qs, l), w = v[axis + 1] * AT(rho_i, l);

    flux[l][0] = v[axis + 1];
    flux[l][1] = v[1] * w;
    flux[l][2] = v[2] * w;
    flux[l][3] = v[3] * w;
    flux[l][axis + 1] += c2 * (v[4] - q);
    flux[l][4] = (c1 * v[4] - c2 * q) * w;
}

INLINE void set_viscous(int axis, int k, int j, int i, int l)
{
    const double *v = AT(u, l), *before = AT(u, l - 1);
    const double r = AT(rho_i, l), rb = AT(rho_i, l - 1);
    const double v1 = r * v[1], v2 = r * v[2], v3 = r * v[3], v4 = r * v[4];
    const double b1 = rb * before[1], b2 = rb * before[2], b3 = rb * before[3], b4 = rb * before[4];
    const double w = r * v[axis + 1], wb = rb * before[axis + 1];

    flux[l][1] = t3 * (v1 - b1);
    flux[l][2] = t3 * (v2 - b2);
    flux[l][3] = t3 * (v3 - b3);
    flux[l][axis + 1] = 4.0 / 3.0 * t3 * (w - wb);
    flux[l][4] =
        0.5 * (1.0 - c1 * c1) * t3 * (v1 * v1 + v2 * v2 + v3 * v3 - b1 * b1 - b2 * b2 - b3 * b3) +
        1.0 / 6.0 * t3 * (w * w - wb * wb) + c1 * c1 * t3 * (v4 - b4);
}

/* Dissipation of fourth order at cell l, with 0, 1 or more inner cells below and above. */
INLINE void dissipate(int axis, int below, int above, int k, int j, int i, int l)
{
    for (int m = 0; m < 5; m++) {
        double sum = (below == 0 || above == 0 ? 5.0 : 6.0) * AT(u, l)[m];

        if (below > 0)
            sum -= 4.0 * AT(u, l - 1)[m];
        if (above > 0)
            sum -= 4.0 * AT(u, l + 1)[m];
        if (below > 1)
            sum += AT(u, l - 2)[m];
        if (above > 1)
            sum += AT(u, l + 2)[m];
        AT(rsd, l)[m] -= dissipation * sum;
    }
}

/* The part of the residual along an axis, of the line through cell (k, j, i), which is 0 along it.
 */
INLINE void rhs_line(int axis, int k, int j, int i)
{
    const int last = (axis == 0 ? nx : axis == 1 ? ny : nz) - 1;

    for (int l = 0; l <= last; l++)
        set_convective(axis, k, j, i, l);
    for (int l = 1; l < last; l++) {
        for (int m = 0; m < 5; m++)
            AT(rsd, l)[m] -= t2 * (flux[l + 1][m] - flux[l - 1][m]);
    }
    for (int l = 1; l <= last; l++)
        set_viscous(axis, k, j, i, l);
    for (int l = 1; l < last; l++) {
        for (int m = 0; m < 5; m++) {
            AT(rsd, l)
            [m] += diffusion[axis] * t1 * (AT(u, l - 1)[m] - 2.0 * AT(u, l)[m] + AT(u, l + 1)[m]);
            if (m > 0)
                AT(rsd, l)[m] += t3 * c34 * (flux[l + 1][m] - flux[l][m]);
        }
    }
    dissipate(axis, 0, 2, k, j, i, 1);
    dissipate(axis, 1, 2, k, j, i, 2);
    for (int l = 3; l < last - 2; l++)
        dissipate(axis, 2, 2, k, j, i, l);
    dissipate(axis, 2, 1, k, j, i, last - 2);
    dissipate(axis, 2, 0, k, j, i, last - 1);
}

/* The residual of the steady equations. */
CALLED void rhs(void)
{
    for (int k = 0; k < nz; k++) {
        for (int j = 0; j < ny; j++) {
            for (int i = 0; i < nx; i++) {
                const double *v = u[k][j][i], r = 1.0 / v[0];

                for (int m = 0; m < 5; m++)
                    rsd[k][j][i][m] = -frct[k][j][i][m];
                rho_i[k][j][i] = r;
                qs[k][j][i] = 0.5 * (v[1] * v[1] + v[2] * v[2] + v[3] * v[3]) * r;
            }
        }
    }
    for (int k = 1; k < nz - 1; k++) {
        for (int j = 1; j < ny - 1; j++)
            rhs_line(0, k, j, 0);
    }
    for (int k = 1; k < nz - 1; k++) {
        for (int i = 1; i < nx - 1; i++)
            rhs_line(1, k, 0, i);
    }
    for (int j = 1; j < ny - 1; j++) {
        for (int i = 1; i < nx - 1; i++)
            rhs_line(2, 0, j, i);
    }
}

/* The forcing that makes the exact solution a steady state. */
static void erhs(void)
{
    for (int k = 0; k < nz; k++) {
        for (int j = 0; j < ny; j++) {
            for (int i = 0; i < nx; i++)
                exact_solution(i * spacing, j * spacing, k * spacing, u[k][j][i]);
        }
    }
    rhs();
    for (int k = 1; k < nz - 1; k++) {
        for (int j = 1; j < ny - 1; j++) {
            for (int i = 1; i < nx - 1; i++) {
                for (int m = 0; m < 5; m++)
                    frct[k][j][i][m] = rsd[k][j][i][m];
            }
        }
    }
}

/* Interpolated between the faces of the cube, where u is left exact. */
static void setiv(void)
{
    double face[3][2][5];

    for (int k = 1; k < nz - 1; k++) {
        for (int j = 1; j < ny - 1; j++) {
            for (int i = 1; i < nx - 1; i++) {
                double x = i * spacing, y = j * spacing, z = k * spacing;

                for (int side = 0; side < 2; side++) {
                    exact_solution(side, y, z, face[0][side]);
                    exact_solution(x, side, z, face[1][side]);
                    exact_solution(x, y, side, face[2][side]);
                }
                for (int m = 0; m < 5; m++) {
                    double px = x * face[0][1][m] + (1.0 - x) * face[0][0][m];
                    double py = y * face[1][1][m] + (1.0 - y) * face[1][0][m];
                    double pz = z * face[2][1][m] + (1.0 - z) * face[2][0][m];

                    u[k][j][i][m] = 1.0 - (1.0 - px) * (1.0 - py) * (1.0 - pz);
                }
            }
        }
    }
}

/* The block of a cell itself: of second differences along all axes. */
INLINE void set_diagonal(int k, int j, int i, double block[5][5])
{
    const double *v = u[k][j][i], r = rho_i[k][j][i], r2 = r * r, r3 = r * r2;
    const double both = 2.0 * dt * t1, viscous = (2.0 + 4.0 / 3.0) * c34; /* of the three axes */
    const double one = 1.0 + both * (diffusion[0] + diffusion[1] + diffusion[2]);
    double x[5][5] = {{0.0}};

    x[0][0] = one;
    x[0][4] = -both * 3.0 * c1345 * r2 * v[4];
    for (int m = 1; m < 4; m++) { /* unrolled */
        x[0][m] = -both * viscous * r2 * v[m];
        x[m][m] = one + both * viscous * r;
        x[0][4] -= both * (viscous - 3.0 * c1345) * r3 * v[m] * v[m];
        x[m][4] = both * (viscous - 3.0 * c1345) * r2 * v[m];
    }
    x[4][4] = one + both * 3.0 * c1345 * r;
    memcpy(block, x, sizeof(x));
}

/* The block of a neighbour (k, j, i), which is before (sign -1) or after (1) the cell. */
INLINE void set_neighbour(int axis, double sign, int k, int j, int i, double block[5][5])
{
    const int n = axis + 1;
    const double *v = u[k][j][i], r = rho_i[k][j][i], r2 = r * r, r3 = r * r2, q = qs[k][j][i];
    const double first = sign * dt * t2, second = dt * t1, normal = 4.0 / 3.0 * c34;
    double x[5][5] = {{0.0}};

    x[0][0] = -second * diffusion[axis];
    x[n][0] = first;
    x[0][n] = first * (c2 * q * r - v[n] * v[n] * r2) + second * normal * r2 * v[n];
    x[n][n] = first * (2.0 - c2) * v[n] * r - second * (normal * r + diffusion[axis]);
    x[4][n] = first * c2;
    x[0][4] = first * (2.0 * c2 * q - c1 * v[4]) * v[n] * r2 +
              second * ((normal - c1345) * r3 * v[n] * v[n] + c1345 * r2 * v[4]);
    x[n][4] = first * (c1 * v[4] * r - c2 * (q * r + v[n] * v[n] * r2)) -
              second * (normal - c1345) * r2 * v[n];
    x[4][4] = first * c1 * v[n] * r - second * (c1345 * r + diffusion[axis]);
    for (int m = 1; m < 4; m++) { /* the other two momenta; unrolled */
        if (m == n)
            continue;
        x[m][n] = -first * c2 * v[m] * r;
        x[0][m] = -first * v[n] * v[m] * r2 + second * c34 * r2 * v[m];
        x[n][m] = first * v[m] * r;
        x[m][m] = first * v[n] * r - second * (c34 * r + diffusion[axis]);
        x[0][4] += second * (c34 - c1345) * r3 * v[m] * v[m];
        x[m][4] = -first * c2 * v[m] * v[n] * r2 - second * (c34 - c1345) * r2 * v[m];
    }
    memcpy(block, x, sizeof(x));
}

CALLED void jacld(int k)
{
    for (int j = 1; j < ny - 1; j++) {
        for (int i = 1; i < nx - 1; i++) {
            set_diagonal(k, j, i, d[j][i]);
            set_neighbour(2, -1.0, k - 1, j, i, a[j][i]);
            set_neighbour(1, -1.0, k, j - 1, i, b[j][i]);
            set_neighbour(0, -1.0, k, j, i - 1, c[j][i]);
        }
    }
}

CALLED void jacu(int k)
{
    for (int j = 1; j < ny - 1; j++) {
        for (int i = 1; i < nx - 1; i++) {
            set_diagonal(k, j, i, d[j][i]);
            set_neighbour(0, 1.0, k, j, i + 1, a[j][i]);
            set_neighbour(1, 1.0, k, j + 1, i, b[j][i]);
            set_neighbour(2, 1.0, k + 1, j, i, c[j][i]);
        }
    }
}

/* A row of the product of a block and a vector. */
INLINE double row_product(double x[5][5], const double v[5], int row)
{
    return x[0][row] * v[0] + x[1][row] * v[1] + x[2][row] * v[2] + x[3][row] * v[3] +
           x[4][row] * v[4];
}

/* Gauss' elimination of column p below the diagonal. */
INLINE void eliminate(int p, double x[5][5], double v[5])
{
    const double inverse = 1.0 / x[p][p];

    for (int row = p + 1; row < 5; row++) {
        double factor = inverse * x[p][row];

        for (int column = p + 1; column < 5; column++)
            x[column][row] -= factor * x[column][p];
        v[row] -= factor * v[p];
    }
}

/* v = inverse of block times v */
INLINE void solve(double block[5][5], double v[5])
{
    double x[5][5];

    memcpy(x, block, sizeof(x));
    eliminate(0, x, v); /* no loop: straight code, as in the benchmark */
    eliminate(1, x, v);
    eliminate(2, x, v);
    eliminate(3, x, v);
    v[4] = v[4] / x[4][4];
    v[3] = (v[3] - x[4][3] * v[4]) / x[3][3];
    v[2] = (v[2] - x[3][2] * v[3] - x[4][2] * v[4]) / x[2][2];
    v[1] = (v[1] - x[2][1] * v[2] - x[3][1] * v[3] - x[4][1] * v[4]) / x[1][1];
    v[0] = (v[0] - x[1][0] * v[1] - x[2][0] * v[2] - x[3][0] * v[3] - x[4][0] * v[4]) / x[0][0];
}

/* Plane k of the lower triangular system. */
CALLED void blts(int k)
{
    for (int j = 1; j < ny - 1; j++) {
        for (int i = 1; i < nx - 1; i++) {
            for (int m = 0; m < 5; m++)
                rsd[k][j][i][m] -= omega * row_product(a[j][i], rsd[k - 1][j][i], m);
        }
    }
    for (int j = 1; j < ny - 1; j++) {
        for (int i = 1; i < nx - 1; i++) {
            double v[5];

            for (int m = 0; m < 5; m++) {
                v[m] = rsd[k][j][i][m] - omega * (row_product(b[j][i], rsd[k][j - 1][i], m) +
                                                  row_product(c[j][i], rsd[k][j][i - 1], m));
            }
            solve(d[j][i], v);
            memcpy(rsd[k][j][i], v, sizeof(v));
        }
    }
}

/* Plane k of the upper triangular system. */
CALLED void buts(int k)
{
    static double tv[N][ROW][5];

    for (int j = ny - 2; j > 0; j--) {
        for (int i = nx - 2; i > 0; i--) {
            for (int m = 0; m < 5; m++)
                tv[j][i][m] = omega * row_product(c[j][i], rsd[k + 1][j][i], m);
        }
    }
    for (int j = ny - 2; j > 0; j--) {
        for (int i = nx - 2; i > 0; i--) {
            for (int m = 0; m < 5; m++) {
                tv[j][i][m] += omega * (row_product(b[j][i], rsd[k][j + 1][i], m) +
                                        row_product(a[j][i], rsd[k][j][i + 1], m));
            }
            solve(d[j][i], tv[j][i]);
            for (int m = 0; m < 5; m++)
                rsd[k][j][i][m] -= tv[j][i][m];
        }
    }
}

static void ssor(int iterations)
{
    const double factor = 1.0 / (omega * (2.0 - omega));

    rhs();
    for (int iteration = 0; iteration < iterations; iteration++) {
        for (int k = 1; k < nz - 1; k++) {
            for (int j = 1; j < ny - 1; j++) {
                for (int i = 1; i < nx - 1; i++) {
                    for (int m = 0; m < 5; m++)
                        rsd[k][j][i][m] *= dt;
                }
            }
        }
        for (int k = 1; k < nz - 1; k++) {
            jacld(k);
            blts(k);
        }
        for (int k = nz - 2; k > 0; k--) {
            jacu(k);
            buts(k);
        }
        for (int k = 1; k < nz - 1; k++) {
            for (int j = 1; j < ny - 1; j++) {
                for (int i = 1; i < nx - 1; i++) {
                    for (int m = 0; m < 5; m++)
                        u[k][j][i][m] += factor * rsd[k][j][i][m];
                }
            }
        }
        rhs();
    }
}

static double l2norm(int m)
{
    double sum = 0.0;

    for (int k = 1; k < nz - 1; k++) {
        for (int j = 1; j < ny - 1; j++) {
            for (int i = 1; i < nx - 1; i++)
                sum += rsd[k][j][i][m] * rsd[k][j][i][m];
        }
    }
    return sqrt(sum / ((nx - 2) * (ny - 2) * (nz - 2)));
}

int main(int argc, char **argv)
{
    int iterations = argc > 1 ? atoi(argv[1]) : 50;

    if (argc > 2 || iterations < 1) {
        fprintf(stderr, "usage: lu [ITERATIONS]\n");
        return 2;
    }
    erhs();
    setiv();
    ssor(iterations);
    printf("lu %d checksum", iterations);
    for (int m = 0; m < 5; m++)
        printf(" %.6e", l2norm(m));
    printf("\n");
    return 0;
}
