/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What psnap hybrid writes to files: observations as the CSV that it reads, with m0; and figures of
 * m0 against size, one of each code, with a line of m0 by t_i through the points that were
 * observed.
 */
#include <math.h>

#include "formats/base/cmd_csv.h"
#include "formats/base/text.h"
#include "predict/cmd_gnuplot.h"
#include "predict/hybrid/cmd_hybrid.h"

/* ------------------------------------------------------------------------ CSV */

/* The most levels that an observation has hits of. */
static uint32_t levels_of(const struct observations *observations)
{
    uint32_t levels = 0;

    for (size_t i = 0; i < observations->count; i++)
        if (observations->rows[i].levels > levels)
            levels = observations->rows[i].levels;
    return levels;
}

/* m0 by t_i at the size of an observation; NAN. */
static double fitted_of(const struct hybrid *hybrid, const struct observation *row)
{
    const struct hybrid_code *code = &hybrid->codes[row->code];

    for (uint32_t m = 0; m < code->machine_count; m++)
        for (size_t p = 0; code->machines[m] == row->machine && p < code->curves[m].count; p++)
            if (code->curves[m].points[p].size == row->size)
                return code->curves[m].points[p].m0_fitted;
    return NAN;
}

static void write_row(struct psnap_csv *csv, const struct hybrid *hybrid,
                      const struct observations *observations, const struct observation *row,
                      uint32_t levels)
{
    char size[32];

    psnap_csv_text(csv, observations->codes.names[row->code]);
    psnap_csv_text(csv, observations->machines.names[row->machine]);
    if (observations->sizes.count)
        psnap_csv_text(csv, observations_size(observations, row->size, size));
    else
        psnap_csv_real(csv, row->size);
    psnap_csv_text(csv, row->replicate ? row->replicate : "");
    psnap_csv_real(csv, row->cpi);
    psnap_csv_real(csv, row->cpi_pipeline);
    psnap_csv_real(csv, row->cpi_memory);
    for (uint32_t l = 0; l < levels; l++)
        psnap_csv_real(csv, l < row->levels ? row->hits[l] : NAN);
    for (uint32_t l = 0; l < levels; l++)
        psnap_csv_real(csv, row->latencies[l]);
    psnap_csv_real(csv, m0_of(row));
    psnap_csv_real(csv, fitted_of(hybrid, row));
    psnap_csv_end(csv);
}

void hybrid_write_csv(const struct hybrid *hybrid, const struct observations *observations,
                      FILE *file)
{
    const uint32_t levels = levels_of(observations);
    struct psnap_csv csv;

    psnap_csv_init(&csv, file);
    fputs("code,machine,size,replicate,cpi,cpi_pipeline,cpi_memory", file);
    for (uint32_t l = 0; l < levels; l++)
        fprintf(file, ",hits%u", l + 2);
    for (uint32_t l = 0; l < levels; l++)
        fprintf(file, ",latency%u", l + 2);
    fputs(",m0,m0_fitted\n", file);
    for (size_t i = 0; i < observations->count; i++)
        write_row(&csv, hybrid, observations, &observations->rows[i], levels);
}

/* -------------------------------------------------------------------- figures */

bool hybrid_can_draw(const char *path)
{
    return psnap_text_ends_in(path, ".svg") || psnap_text_ends_in(path, ".png");
}

/* Points of each code that has some: size, m0, its standard deviation, m0 by t_i. How many codes.
 */
static size_t write_data(FILE *script, const struct hybrid *hybrid)
{
    size_t figures = 0;

    for (size_t c = 0; c < hybrid->code_count; c++) {
        const struct hybrid_code *code = &hybrid->codes[c];
        bool has_points = false;
        for (uint32_t m = 0; m < code->machine_count; m++) {
            fprintf(script, "$m0_%zu_%u << EOD\n", c, m);
            for (size_t p = 0; p < code->curves[m].count; p++) {
                const struct m0_point *point = &code->curves[m].points[p];
                fprintf(script, "%.10g %.6g %.6g ", point->size, point->m0,
                        isnan(point->deviation) ? 0 : point->deviation);
                if (isnan(point->m0_fitted))
                    fputs("NaN\n", script);
                else
                    fprintf(script, "%.6g\n", point->m0_fitted);
                has_points = true;
            }
            fputs("EOD\n", script);
        }
        figures += has_points;
    }
    return figures;
}

/* m0 of a machine: as observed, with its standard deviation where there are replicates; and by t_i,
 * or without them a line that joins the points. */
static void write_curve(FILE *script, const struct hybrid_code *code,
                        const struct observations *observations, size_t c, uint32_t m)
{
    const struct m0_curve *curve = &code->curves[m];
    const char *const machine = observations->machines.names[code->machines[m]];
    char title[128];
    bool has_deviations = false;

    for (size_t p = 0; p < curve->count; p++)
        has_deviations |= curve->points[p].deviation > 0;
    fprintf(script,
            "$m0_%zu_%u using %s pointtype 7 pointsize 0.5 linewidth 1.5 linecolor %u title ", c, m,
            has_deviations ? "1:2:3 with yerrorbars" : "1:2 with points", m + 1);
    gnuplot_quoted(script, machine);
    fprintf(script, ", $m0_%zu_%u using 1:%d with lines linecolor %u ", c, m,
            curve->has_latencies ? 4 : 2, m + 1);
    if (!curve->has_latencies) {
        fputs("notitle", script);
        return;
    }
    snprintf(title, sizeof title, "%.100s by t_i", machine);
    fputs("title ", script);
    gnuplot_quoted(script, title);
}

/* The size from which on m0 is steady, in the legend. */
static void write_steady(FILE *script, const struct hybrid_code *code,
                         const struct observations *observations)
{
    char title[64], size[32];

    snprintf(title, sizeof title, "steady from n = %s",
             observations_size(observations, code->steady_from, size));
    fputs(", NaN with lines dashtype 2 linecolor rgb '#808080' title ", script);
    gnuplot_quoted(script, title);
}

static void write_plot(FILE *script, const struct hybrid *hybrid,
                       const struct observations *observations, size_t c)
{
    const struct hybrid_code *code = &hybrid->codes[c];
    const bool is_steady = code->is_known && code->is_predictable;
    unsigned curves = 0;

    for (uint32_t m = 0; m < code->machine_count; m++)
        curves += code->curves[m].count > 0;
    if (!curves)
        return;
    fputs("set title ", script);
    gnuplot_quoted(script, observations->codes.names[code->code]);
    fputs(" noenhanced\nunset arrow\n", script);
    if (is_steady)
        fprintf(script,
                "set arrow from first %.10g, graph 0 to first %.10g, graph 1 nohead dashtype 2 "
                "linecolor rgb '#808080'\n",
                code->steady_from, code->steady_from);
    curves = 0;
    for (uint32_t m = 0; m < code->machine_count; m++) {
        if (!code->curves[m].count)
            continue;
        fputs(curves++ ? ", \\\n" : "plot ", script);
        write_curve(script, code, observations, c, m);
    }
    if (is_steady)
        write_steady(script, code, observations);
    fputs("\n", script);
}

/* Margins that figures have in common: the legend on the right gets what its longest line needs. */
static void write_margins(FILE *script, const struct observations *observations)
{
    size_t longest = strlen("steady from n = 00000");

    for (size_t m = 0; m < observations->machines.count; m++) {
        const size_t length = strlen(observations->machines.names[m]) + strlen(" by t_i");
        if (length > longest)
            longest = length;
    }
    fprintf(script, "set lmargin 10\nset rmargin %zu\n", (longest < 60 ? longest : 60) + 9);
}

/* m0 of all codes has the same axis, with a tenth of room. */
static void write_range(FILE *script, const struct hybrid *hybrid)
{
    double lowest = INFINITY, highest = -INFINITY, room;

    for (size_t c = 0; c < hybrid->code_count; c++)
        for (uint32_t m = 0; m < hybrid->codes[c].machine_count; m++)
            for (size_t p = 0; p < hybrid->codes[c].curves[m].count; p++) {
                const struct m0_point *point = &hybrid->codes[c].curves[m].points[p];
                const double deviation = isnan(point->deviation) ? 0 : point->deviation;
                lowest = fmin(fmin(lowest, point->m0 - deviation), point->m0_fitted);
                highest = fmax(fmax(highest, point->m0 + deviation), point->m0_fitted);
            }
    room = highest > lowest ? (highest - lowest) / 10 : 0.1;
    fprintf(script, "set yrange [%.10g:%.10g]\n", lowest - room, highest + room);
}

/* Where sizes have names, those are what the axis has. */
static void write_names(FILE *script, const struct observations *observations)
{
    for (size_t i = 0; i < observations->sizes.count; i++) {
        fputs(i ? ", " : "set xtics noenhanced (", script);
        gnuplot_quoted(script, observations->sizes.names[i]);
        fprintf(script, " %zu", i + 1);
    }
    if (observations->sizes.count)
        fputs(")\n", script);
}

static void write_script(FILE *script, const struct hybrid *hybrid,
                         const struct observations *observations, const char *path)
{
    const size_t figures = write_data(script, hybrid);

    fprintf(script, "set terminal %s size 900,%zu\nset encoding utf8\n",
            psnap_text_ends_in(path, ".png") ? "pngcairo" : "svg dynamic",
            420 * (figures ? figures : 1));
    fputs("set xlabel 'problem size'\nset ylabel 'm0, share of latency hidden'\nset grid\n"
          "set key outside right top noenhanced\nset errorbars 1.5\n"
          "set offsets graph 0.03, graph 0.03, 0, 0\n",
          script);
    write_margins(script, observations);
    write_range(script, hybrid);
    write_names(script, observations);
    fprintf(script, "set multiplot layout %zu,1\n", figures ? figures : 1);
    for (size_t c = 0; c < hybrid->code_count; c++)
        write_plot(script, hybrid, observations, c);
    fputs("unset multiplot\n", script);
}

enum psnap_status hybrid_draw(const struct hybrid *hybrid, const struct observations *observations,
                              const char *path, FILE *file, struct psnap_error *error)
{
    bool has_points = false;
    FILE *script;

    for (size_t c = 0; c < hybrid->code_count; c++)
        for (uint32_t m = 0; m < hybrid->codes[c].machine_count; m++)
            has_points |= hybrid->codes[c].curves[m].count > 0;
    if (!has_points)
        return psnap_error_set(error, PSNAP_ERROR_VALUE, "there is no m0 to draw: %.300s",
                               hybrid->codes[0].verdict);
    script = gnuplot_script(error);
    if (!script)
        return error->code;
    write_script(script, hybrid, observations, path);
    return gnuplot_draw(script, path, file, error);
}
