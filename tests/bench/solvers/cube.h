/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What bt.c and lu.c share, which solve the same equations on the same cube (NAS report
 * RNR-94-007): the solution that they are made for, and fields seen along an axis.
 */
#ifndef PSNAP_BENCH_CUBE_H
#define PSNAP_BENCH_CUBE_H

/* The solution that the forcing is made for: a polynomial of each coordinate. */
static void exact_solution(double x, double y, double z, double value[5])
{
    static const double coefficient[5][13] = {
        {2.0, 0.0, 0.0, 4.0, 5.0, 3.0, 0.5, 0.02, 0.01, 0.03, 0.5, 0.4, 0.3},
        {1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.01, 0.03, 0.02, 0.4, 0.3, 0.5},
        {2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.04, 0.03, 0.05, 0.3, 0.5, 0.4},
        {2.0, 2.0, 0.0, 0.0, 0.0, 2.0, 3.0, 0.03, 0.05, 0.04, 0.2, 0.1, 0.3},
        {5.0, 4.0, 3.0, 2.0, 0.1, 0.4, 0.3, 0.05, 0.04, 0.03, 0.1, 0.3, 0.2}};

    for (int m = 0; m < 5; m++) {
        const double *c = coefficient[m];

        value[m] = c[0] + x * (c[1] + x * (c[4] + x * (c[7] + x * c[10]))) +
                   y * (c[2] + y * (c[5] + y * (c[8] + y * c[11]))) +
                   z * (c[3] + z * (c[6] + z * (c[9] + z * c[12])));
    }
}

/* A field at a cell that is `step` further along the axis. */
#define AT(field, step)                                                                            \
    field[k + (axis == 2 ? (step) : 0)][j + (axis == 1 ? (step) : 0)][i + (axis == 0 ? (step) : 0)]

#endif
