/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bt: the compressible Navier-Stokes equations on 12^3 points, by approximate factorisation into
 * block-tridiagonal systems along x, y and z: the benchmark BT of the NAS Parallel Benchmarks (NAS
 * report RNR-94-007) in its class S.
 *
 *     bt [STEPS]
 *
 * A step (60 by default) computes the right side (compute_rhs), then solves for each line along x,
 * then y, then z: builds the blocks of 5x5 of its system, eliminates forward and substitutes back;
 * and adds the result to u. Fields are [z][y][x][component] with rows of odd length, blocks
 * [column][row]. Formulas are the same along all axes, so they are written once, for an axis (0 to
 * 2); each use of them is inlined with constants. Prints the norm of the residual of each
 * component; after 60 steps these are the benchmark's, from 1.703428e-01 on.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cube.h"

#define INLINE static inline __attribute__((always_inline))
#define CALLED static __attribute__((noinline)) /* as if it were in another file */

enum { N = 12, ROW = N / 2 * 2 + 1, BEFORE = 0, HERE = 1, AFTER = 2 };

static double u[N][ROW][ROW][5], rhs[N][ROW][ROW][5], forcing[N][ROW][ROW][5];
static double velocity[3][N][ROW][ROW], rho_i[N][ROW][ROW], qs[N][ROW][ROW], square[N][ROW][ROW];
static double fjac[N][5][5], njac[N][5][5], lhs[N][3][5][5]; /* of a line */

/* Not constants, as in the benchmark: the compiler knows neither them nor trip counts. */
int nx = N, ny = N, nz = N;
double dt = 0.01, spacing = 1.0 / (N - 1);
double t1 = 1.0 * (N - 1) * (N - 1), t2 = 0.5 * (N - 1); /* of second and first differences */
double c1 = 1.4, c2 = 0.4, c3c4 = 0.1, c1345 = 1.4 * 1.4 * 0.1;
double diffusion[3] = {0.75, 0.75, 1.0}, dissipation = 0.25; /* of second and fourth order */

#define SECOND(field) (AT(field, 1) - 2.0 * AT(field, 0) + AT(field, -1))
#define SECOND_OF(field, m) (AT(field, 1)[m] - 2.0 * AT(field, 0)[m] + AT(field, -1)[m])

/* Convection and viscosity along an axis, at a cell. */
INLINE void add_flux(int axis, int k, int j, int i)
{
    const int n = axis + 1; /* component of the normal momentum */
    const double viscous = c3c4 * t1, third = 1.0 / 3.0;
    const double d = diffusion[axis] * t1;
    const double w = AT(velocity[axis], 0), wp = AT(velocity[axis], 1), wm = AT(velocity[axis], -1);
    double *out = rhs[k][j][i];

    out[0] += d * SECOND_OF(u, 0) - t2 * (AT(u, 1)[n] - AT(u, -1)[n]);
    for (int m = 1; m < 4; m++) {
        out[m] += d * SECOND_OF(u, m) - t2 * (AT(u, 1)[m] * wp - AT(u, -1)[m] * wm) +
                  viscous * (m == n ? 4.0 * third : 1.0) * SECOND(velocity[m - 1]);
    }
    out[n] -= t2 * c2 * (AT(u, 1)[4] - AT(square, 1) - AT(u, -1)[4] + AT(square, -1));
    out[4] += d * SECOND_OF(u, 4) + viscous * (1.0 - c1 * c1) * SECOND(qs) +
              viscous * third * 0.5 * (wp * wp - 2.0 * w * w + wm * wm) +
              viscous * c1 * c1 *
                  (AT(u, 1)[4] * AT(rho_i, 1) - 2.0 * AT(u, 0)[4] * AT(rho_i, 0) +
                   AT(u, -1)[4] * AT(rho_i, -1)) -
              t2 * ((c1 * AT(u, 1)[4] - c2 * AT(square, 1)) * wp -
                    (c1 * AT(u, -1)[4] - c2 * AT(square, -1)) * wm);
}

/* The same for the inner cells of a plane across z. */
INLINE void add_fluxes(int axis, int k)
{
    for (int j = 1; j < ny - 1; j++) {
        for (int i = 1; i < nx - 1; i++)
            add_flux(axis, k, j, i);
    }
}

/* Dissipation of fourth order along an axis, at a cell with 0, 1 or more inner cells below and
 * above. */
INLINE void dissipate(int axis, int below, int above, int k, int j, int i)
{
    for (int m = 0; m < 5; m++) {
        double sum = (below == 0 || above == 0 ? 5.0 : 6.0) * AT(u, 0)[m];

        if (below > 0)
            sum -= 4.0 * AT(u, -1)[m];
        if (above > 0)
            sum -= 4.0 * AT(u, 1)[m];
        if (below > 1)
            sum += AT(u, -2)[m];
        if (above > 1)
            sum += AT(u, 2)[m];
        rhs[k][j][i][m] -= dissipation * sum;
    }
}

/* The same for the inner cells of a row, and of a plane across z. */
INLINE void dissipate_row(int axis, int below, int above, int k, int j)
{
    for (int i = 1; i < nx - 1; i++)
        dissipate(axis, below, above, k, j, i);
}

INLINE void dissipate_plane(int below, int above, int k)
{
    for (int j = 1; j < ny - 1; j++)
        dissipate_row(2, below, above, k, j);
}

static void rhs_x(void)
{
    for (int k = 1; k < nz - 1; k++) {
        add_fluxes(0, k);
        for (int j = 1; j < ny - 1; j++) {
            dissipate(0, 0, 2, k, j, 1);
            dissipate(0, 1, 2, k, j, 2);
        }
        for (int j = 1; j < ny - 1; j++) {
            for (int i = 3; i < nx - 3; i++)
                dissipate(0, 2, 2, k, j, i);
        }
        for (int j = 1; j < ny - 1; j++) {
            dissipate(0, 2, 1, k, j, nx - 3);
            dissipate(0, 2, 0, k, j, nx - 2);
        }
    }
}

static void rhs_y(void)
{
    for (int k = 1; k < nz - 1; k++) {
        add_fluxes(1, k);
        dissipate_row(1, 0, 2, k, 1);
        dissipate_row(1, 1, 2, k, 2);
        for (int j = 3; j < ny - 3; j++)
            dissipate_row(1, 2, 2, k, j);
        dissipate_row(1, 2, 1, k, ny - 3);
        dissipate_row(1, 2, 0, k, ny - 2);
    }
}

static void rhs_z(void)
{
    for (int k = 1; k < nz - 1; k++)
        add_fluxes(2, k);
    dissipate_plane(0, 2, 1);
    dissipate_plane(1, 2, 2);
    for (int k = 3; k < nz - 3; k++)
        dissipate_plane(2, 2, k);
    dissipate_plane(2, 1, nz - 3);
    dissipate_plane(2, 0, nz - 2);
}

CALLED void compute_rhs(void)
{
    for (int k = 0; k < nz; k++) {
        for (int j = 0; j < ny; j++) {
            for (int i = 0; i < nx; i++) {
                const double *c = u[k][j][i], inverse = 1.0 / c[0];

                rho_i[k][j][i] = inverse;
                velocity[0][k][j][i] = c[1] * inverse;
                velocity[1][k][j][i] = c[2] * inverse;
                velocity[2][k][j][i] = c[3] * inverse;
                square[k][j][i] = 0.5 * (c[1] * c[1] + c[2] * c[2] + c[3] * c[3]) * inverse;
                qs[k][j][i] = square[k][j][i] * inverse;
            }
        }
    }
    for (int k = 0; k < nz; k++) {
        for (int j = 0; j < ny; j++) {
            for (int i = 0; i < nx; i++) {
                for (int m = 0; m < 5; m++)
                    rhs[k][j][i][m] = forcing[k][j][i][m];
            }
        }
    }
    rhs_x();
    rhs_y();
    rhs_z();
    for (int k = 1; k < nz - 1; k++) {
        for (int j = 1; j < ny - 1; j++) {
            for (int i = 1; i < nx - 1; i++) {
                for (int m = 0; m < 5; m++)
                    rhs[k][j][i][m] *= dt;
            }
        }
    }
}

/* The forcing that makes the exact solution a steady state. */
static void exact_rhs(void)
{
    for (int k = 0; k < nz; k++) {
        for (int j = 0; j < ny; j++) {
            for (int i = 0; i < nx; i++)
                exact_solution(i * spacing, j * spacing, k * spacing, u[k][j][i]);
        }
    }
    compute_rhs();
    for (int k = 1; k < nz - 1; k++) {
        for (int j = 1; j < ny - 1; j++) {
            for (int i = 1; i < nx - 1; i++) {
                for (int m = 0; m < 5; m++)
                    forcing[k][j][i][m] = -rhs[k][j][i][m] / dt;
            }
        }
    }
}

/* Interpolated between the faces of the cube, where u is left exact. */
static void initialize(void)
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

/* Derivatives by u of the convective (f) and the viscous flux (v) along an axis, at cell l of it.
 */
INLINE void jacobians(int axis, int k, int j, int i, int l)
{
    const int n = axis + 1;
    const double *c = AT(u, l);
    const double r = AT(rho_i, l), r2 = r * r, r3 = r * r2, q = AT(qs, l);
    const double normal = 4.0 / 3.0 * c3c4;
    double f[5][5] = {{0.0}}, v[5][5] = {{0.0}};

    f[n][0] = 1.0;
    f[0][n] = c2 * q - c[n] * c[n] * r2;
    f[n][n] = (2.0 - c2) * c[n] * r;
    f[4][n] = c2;
    f[0][4] = (2.0 * c2 * AT(square, l) - c1 * c[4]) * c[n] * r2;
    f[n][4] = c1 * c[4] * r - c2 * (q + c[n] * c[n] * r2);
    f[4][4] = c1 * c[n] * r;
    v[0][n] = -normal * c[n] * r2;
    v[n][n] = normal * r;
    v[0][4] = -(normal - c1345) * c[n] * c[n] * r3 - c1345 * c[4] * r2;
    v[n][4] = (normal - c1345) * c[n] * r2;
    v[4][4] = c1345 * r;
    for (int m = 1; m < 4; m++) { /* the other two momenta; unrolled */
        if (m == n)
            continue;
        f[m][n] = -c2 * c[m] * r;
        f[0][m] = -c[n] * c[m] * r2;
        f[n][m] = c[m] * r;
        f[m][m] = c[n] * r;
        f[m][4] = -c2 * c[m] * c[n] * r2;
        v[0][m] = -c3c4 * c[m] * r2;
        v[m][m] = c3c4 * r;
        v[0][4] -= (c3c4 - c1345) * c[m] * c[m] * r3;
        v[m][4] = (c3c4 - c1345) * c[m] * r2;
    }
    memcpy(fjac[l], f, sizeof(f));
    memcpy(njac[l], v, sizeof(v));
}

/* At both ends of a line u is known: the block HERE is the unit matrix. */
static void lhsinit(int last)
{
    memset(lhs[0], 0, sizeof(lhs[0]));
    memset(lhs[last], 0, sizeof(lhs[0]));
    for (int m = 0; m < 5; m++)
        lhs[0][HERE][m][m] = lhs[last][HERE][m][m] = 1.0;
}

/* A column of the three blocks of a line's system at its inner cell i. */
INLINE void build_column(int axis, int i, int column)
{
    const double a = dt * t1, b = dt * t2, d = dt * t1 * diffusion[axis];

    for (int row = 0; row < 5; row++) { /* unrolled */
        double diagonal = row == column ? d : 0.0;

        lhs[i][BEFORE][column][row] =
            -b * fjac[i - 1][column][row] - a * njac[i - 1][column][row] - diagonal;
        lhs[i][HERE][column][row] =
            (row == column) + 2.0 * a * njac[i][column][row] + 2.0 * diagonal;
        lhs[i][AFTER][column][row] =
            b * fjac[i + 1][column][row] - a * njac[i + 1][column][row] - diagonal;
    }
}

/* b -= a v */
INLINE void subtract_product(double a[5][5], const double v[5], double b[5])
{
    for (int row = 0; row < 5; row++)
        b[row] -= a[0][row] * v[0] + a[1][row] * v[1] + a[2][row] * v[2] + a[3][row] * v[3] +
                  a[4][row] * v[4];
}

CALLED void matvec_sub(double a[5][5], const double v[5], double b[5])
{
    subtract_product(a, v, b);
}

/* c -= a b */
CALLED void matmul_sub(double a[5][5], double b[5][5], double c[5][5])
{
    subtract_product(a, b[0], c[0]);
    subtract_product(a, b[1], c[1]);
    subtract_product(a, b[2], c[2]);
    subtract_product(a, b[3], c[3]);
    subtract_product(a, b[4], c[4]);
}

/* One column of Gauss-Jordan's elimination of a, on c (unless it is NULL) and r as well. */
INLINE void eliminate(int p, double a[5][5], double (*c)[5], double r[5])
{
    const double inverse = 1.0 / a[p][p];

    for (int column = p + 1; column < 5; column++)
        a[column][p] *= inverse;
    for (int column = 0; c && column < 5; column++)
        c[column][p] *= inverse;
    r[p] *= inverse;
    for (int row = 0; row < 5; row++) {
        double factor = a[p][row];

        if (row == p)
            continue;
        for (int column = p + 1; column < 5; column++)
            a[column][row] -= factor * a[column][p];
        for (int column = 0; c && column < 5; column++)
            c[column][row] -= factor * c[column][p];
        r[row] -= factor * r[p];
    }
}

INLINE void eliminate_all(double a[5][5], double (*c)[5], double r[5])
{
    eliminate(0, a, c, r);
    eliminate(1, a, c, r);
    eliminate(2, a, c, r);
    eliminate(3, a, c, r);
    eliminate(4, a, c, r);
}

/* c = inverse of a times c, r = inverse of a times r; a is destroyed. */
CALLED void binvcrhs(double a[5][5], double c[5][5], double r[5])
{
    eliminate_all(a, c, r);
}

CALLED void binvrhs(double a[5][5], double r[5])
{
    eliminate_all(a, NULL, r);
}

/* Solve along the line of an axis through cell (k, j, i), which is 0 along it, by block Thomas. */
INLINE void solve_line(int axis, int k, int j, int i)
{
    const int last = (axis == 0 ? nx : axis == 1 ? ny : nz) - 1;

    for (int l = 0; l <= last; l++)
        jacobians(axis, k, j, i, l);
    lhsinit(last);
    for (int l = 1; l < last; l++) { /* no loop over columns: straight code, as in the benchmark */
        build_column(axis, l, 0);
        build_column(axis, l, 1);
        build_column(axis, l, 2);
        build_column(axis, l, 3);
        build_column(axis, l, 4);
    }
    binvcrhs(lhs[0][HERE], lhs[0][AFTER], AT(rhs, 0));
    for (int l = 1; l < last; l++) {
        matvec_sub(lhs[l][BEFORE], AT(rhs, l - 1), AT(rhs, l));
        matmul_sub(lhs[l][BEFORE], lhs[l - 1][AFTER], lhs[l][HERE]);
        binvcrhs(lhs[l][HERE], lhs[l][AFTER], AT(rhs, l));
    }
    matvec_sub(lhs[last][BEFORE], AT(rhs, last - 1), AT(rhs, last));
    matmul_sub(lhs[last][BEFORE], lhs[last - 1][AFTER], lhs[last][HERE]);
    binvrhs(lhs[last][HERE], AT(rhs, last));
    for (int l = last - 1; l >= 0; l--) {
        for (int row = 0; row < 5; row++) {
            for (int column = 0; column < 5; column++)
                AT(rhs, l)[row] -= lhs[l][AFTER][column][row] * AT(rhs, l + 1)[column];
        }
    }
}

CALLED void x_solve(void)
{
    for (int k = 1; k < nz - 1; k++) {
        for (int j = 1; j < ny - 1; j++)
            solve_line(0, k, j, 0);
    }
}

CALLED void y_solve(void)
{
    for (int k = 1; k < nz - 1; k++) {
        for (int i = 1; i < nx - 1; i++)
            solve_line(1, k, 0, i);
    }
}

CALLED void z_solve(void)
{
    for (int j = 1; j < ny - 1; j++) {
        for (int i = 1; i < nx - 1; i++)
            solve_line(2, 0, j, i);
    }
}

CALLED void add(void)
{
    for (int k = 1; k < nz - 1; k++) {
        for (int j = 1; j < ny - 1; j++) {
            for (int i = 1; i < nx - 1; i++) {
                for (int m = 0; m < 5; m++)
                    u[k][j][i][m] += rhs[k][j][i][m];
            }
        }
    }
}

static double rhs_norm(int m)
{
    double sum = 0.0;

    for (int k = 1; k < nz - 1; k++) {
        for (int j = 1; j < ny - 1; j++) {
            for (int i = 1; i < nx - 1; i++)
                sum += rhs[k][j][i][m] * rhs[k][j][i][m];
        }
    }
    return sqrt(sum / ((nx - 2) * (ny - 2) * (nz - 2)));
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 60;

    if (argc > 2 || steps < 1) {
        fprintf(stderr, "usage: bt [STEPS]\n");
        return 2;
    }
    exact_rhs();
    initialize();
    for (int step = 0; step < steps; step++) {
        compute_rhs();
        x_solve();
        y_solve();
        z_solve();
        add();
    }
    compute_rhs();
    printf("bt %d checksum", steps);
    for (int m = 0; m < 5; m++)
        printf(" %.6e", rhs_norm(m) / dt);
    printf("\n");
    return 0;
}
