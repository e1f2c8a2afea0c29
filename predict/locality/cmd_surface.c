/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Figures of locality surfaces: strides to the right, distances to the back by
 * powers of two, upwards the share of accesses. Strides are those that occur at all, multiples of
 * what the alignment of addresses leaves, so the grid is as fine as it must be.
 */
#include "predict/locality/cmd_surface.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "formats/base/cmd_csv.h"
#include "formats/base/text.h"
#include "predict/cmd_gnuplot.h"

/* -------------------------------------------------------------------- figures */

bool surface_can_draw(const char *path)
{
    return psnap_text_ends_in(path, ".svg") || psnap_text_ends_in(path, ".png");
}

static double share_of(const struct psnap_locality *locality, int s, int k)
{
    return locality->accesses ? (double)locality->surface[s][k] / (double)locality->accesses : 0;
}

/* The largest power of two, up to 8, of which all strides of both sides are multiples. */
static int step_of(const struct locality_row *row)
{
    int step = 8;

    for (int side = 0; side < LOCALITY_SIDES; side++)
        for (int s = 0; row->sides[side] && s < PSNAP_SURFACE_STRIDES; s++)
            for (int k = 0; k < PSNAP_SURFACE_DISTANCES; k++)
                while (row->sides[side]->surface[s][k] && (s - PSNAP_SURFACE_STRIDE_MAX) % step)
                    step /= 2;
    return step;
}

double surface_top(double highest)
{
    static const double tops[] = {0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5};

    for (size_t i = 0; i < sizeof tops / sizeof tops[0]; i++)
        if (highest <= tops[i])
            return tops[i];
    return 1;
}

static double top_of(const struct locality_row *row)
{
    double highest = 0;

    for (int side = 0; side < LOCALITY_SIDES; side++)
        for (int s = 0; row->sides[side] && s < PSNAP_SURFACE_STRIDES; s++)
            for (int k = 0; k < PSNAP_SURFACE_DISTANCES; k++)
                highest = fmax(highest, share_of(row->sides[side], s, k));
    return surface_top(highest);
}

static void write_data(FILE *script, const struct psnap_locality *locality, int side, int step)
{
    fprintf(script, "$side%d << EOD\n", side);
    for (int k = 0; k < PSNAP_SURFACE_DISTANCES; k++) {
        for (int s = 0; s < PSNAP_SURFACE_STRIDES; s += step)
            fprintf(script, "%d %d %.6g\n", s - PSNAP_SURFACE_STRIDE_MAX, k,
                    share_of(locality, s, k));
        putc('\n', script);
    }
    fputs("EOD\n", script);
}

static void write_plot(FILE *script, const struct locality_report *report, int side)
{
    const struct locality_row *row = &report->rows[0];
    char title[1024];

    snprintf(title, sizeof title, "%s%s%s", report->sides[side].path, row->is_loop ? ": " : "",
             row->is_loop ? row->id : "");
    fputs("set title ", script);
    gnuplot_quoted(script, title);
    fprintf(script, " noenhanced\nsplot $side%d using 1:2:3 with pm3d\n", side);
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

static void write_script(FILE *script, const struct locality_report *report, const char *path)
{
    const struct locality_row *row = &report->rows[0];
    const bool is_svg = psnap_text_ends_in(path, ".svg");
    int figures = 0;

    for (int side = 0; side < LOCALITY_SIDES; side++)
        if (row->sides[side]) {
            write_data(script, row->sides[side], side, step_of(row));
            figures++;
        }
    fprintf(script, "set terminal %s size %d,%d\n",
            is_svg ? "svg dynamic enhanced" : "pngcairo enhanced", 900 * (figures > 1 ? 2 : 1),
            700);
    surface_axes(script);
    fputs("set palette defined (0 '#f7fbff', 0.15 '#9ecae1', 0.5 '#3182bd', 1 '#08306b')\n",
          script);
    fprintf(script, "set zrange [0:%g]\nset cbrange [0:%g]\n", top_of(row), top_of(row));
    if (figures > 1)
        fputs("set multiplot layout 1,2\n", script);
    for (int side = 0; side < LOCALITY_SIDES; side++)
        if (row->sides[side])
            write_plot(script, report, side);
    if (figures > 1)
        fputs("unset multiplot\n", script);
}

enum psnap_status surface_draw(const struct locality_report *report, const char *path, FILE *file,
                               struct psnap_error *error)
{
    FILE *script = gnuplot_script(error);

    if (!script)
        return error->code;
    write_script(script, report, path);
    return gnuplot_draw(script, path, file, error);
}

/* ------------------------------------------------------------------------ CSV */

static void write_row(struct psnap_csv *csv, const struct locality_report *report,
                      const struct locality_row *row, int side)
{
    const struct psnap_locality *locality = row->sides[side];

    for (int s = 0; locality && s < PSNAP_SURFACE_STRIDES; s++)
        for (int k = 0; k < PSNAP_SURFACE_DISTANCES; k++) {
            if (!locality->surface[s][k])
                continue;
            if (report->sides[LOCALITY_THERE].path)
                psnap_csv_text(csv, report->sides[side].path);
            psnap_csv_text(csv, row->is_loop ? "loop" : "total");
            psnap_csv_text(csv, row->id);
            psnap_csv_real(csv, s - PSNAP_SURFACE_STRIDE_MAX);
            psnap_csv_u64(csv, UINT64_C(1) << k);
            psnap_csv_u64(csv, locality->surface[s][k]);
            psnap_csv_real(csv, share_of(locality, s, k));
            psnap_csv_end(csv);
        }
}

void surface_write_csv(const struct locality_report *report, FILE *file)
{
    struct psnap_csv csv;

    psnap_csv_init(&csv, file);
    if (report->sides[LOCALITY_THERE].path)
        fputs("input,", file);
    fputs("scope,id,stride_bytes,distance_accesses,count,share\n", file);
    for (size_t i = 0; i < report->count; i++)
        for (int side = 0; side < LOCALITY_SIDES; side++)
            write_row(&csv, report, &report->rows[i], side);
}
