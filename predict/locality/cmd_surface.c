/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scripts that draw surfaces by gnuplot (cmd_surface.h): strides to the right, distances to the
 * back by powers of two, upwards the share of accesses.
 */
#include "predict/locality/cmd_surface.h"

#include <math.h>

static double share_of(const struct psnap_locality *locality, int s, int k)
{
    return locality->accesses ? (double)locality->surface[s][k] / (double)locality->accesses : 0;
}

double surface_highest(const struct psnap_locality *locality)
{
    double highest = 0;

    for (int s = 0; s < PSNAP_SURFACE_STRIDES; s++)
        for (int k = 0; k < PSNAP_SURFACE_DISTANCES; k++)
            highest = fmax(highest, share_of(locality, s, k));
    return highest;
}

void surface_heights(FILE *script, double highest)
{
    static const double tops[] = {0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 1};
    size_t i = 0;

    while (highest > tops[i] && tops[i] < 1)
        i++;
    fprintf(script,
            "set palette defined (0 '#f7fbff', 0.15 '#9ecae1', 0.5 '#3182bd', 1 '#08306b')\n"
            "set zrange [0:%g]\nset cbrange [0:%g]\n",
            tops[i], tops[i]);
}

/* The highest of the strides that round to `stride` away from 0. */
static double column_of(const struct psnap_locality *locality, int stride, int step, int k)
{
    double highest = 0;

    if (stride < -PSNAP_SURFACE_STRIDE_MAX || stride > PSNAP_SURFACE_STRIDE_MAX || k < 0 ||
        k >= PSNAP_SURFACE_DISTANCES)
        return 0;
    for (int below = 0; below < step && (below == 0 || stride); below++)
        highest = fmax(
            highest,
            share_of(locality,
                     PSNAP_SURFACE_STRIDE_MAX + (stride < 0 ? stride + below : stride - below), k));
    return highest;
}

/* Whether a tile beside the point is above the floor: others are not drawn. */
static bool is_drawn(const struct psnap_locality *locality, int stride, int step, int k)
{
    for (int side = -1; side <= 1; side++)
        for (int behind = -1; behind <= 1; behind++)
            if (column_of(locality, stride + side * step, step, k + behind) > 0)
                return true;
    return false;
}

void surface_data(FILE *script, const struct psnap_locality *locality, int side, int step,
                  bool has_floor)
{
    fprintf(script, "$side%d << EOD\n", side);
    for (int k = 0; k < PSNAP_SURFACE_DISTANCES; k++) {
        for (int stride = -PSNAP_SURFACE_STRIDE_MAX; stride <= PSNAP_SURFACE_STRIDE_MAX;
             stride += step)
            fprintf(script, "%d %d %.5g\n", stride, k,
                    has_floor || is_drawn(locality, stride, step, k)
                        ? column_of(locality, stride, step, k)
                        : (double)NAN);
        putc('\n', script);
    }
    fputs("EOD\n", script);
}

void surface_axes(FILE *script)
{
    fputs("set encoding utf8\nunset key\nset view 52,318\nset xyplane 0\n"
          "set pm3d depthorder border linecolor rgb '#404040' linewidth 0.3\n"
          "unset colorbox\nset grid xtics ytics ztics\n"
          "set xrange [-256:256]\nset xtics -256,128,256 offset 0.5,-0.5\nset xlabel 'stride "
          "(bytes)'\n"
          "set yrange [0:16]\nset ylabel 'distance (accesses)'\n"
          "set ytics offset -1,-0.3 ('1' 0, '4' 2, '16' 4, '64' 6, '256' 8, '1K' 10, '4K' 12, "
          "'16K' 14, '64K' 16)\n"
          "set zlabel 'share of accesses' rotate by 90\n",
          script);
}
