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

static void write_plot(FILE *script, const struct hybrid *hybrid,
                       const struct observations *observations, size_t c)
{
    const struct hybrid_code *code = &hybrid->codes[c];
    unsigned curves = 0;

    for (uint32_t m = 0; m < code->machine_count; m++)
        curves += code->curves[m].count > 0;
    if (!curves)
        return;
    fputs("set title ", script);
    gnuplot_quoted(script, observations->codes.names[code->code]);
    fputs(" noenhanced\nunset arrow\n", script);
    if (code->is_known && code->is_predictable)
        fprintf(script,
                "set arrow from first %.10g, graph 0 to first %.10g, graph 1 nohead dashtype 2 "
                "linecolor rgb '#808080'\n",
                code->steady_from, code->steady_from);
    fputs("plot ", script);
    curves = 0;
    for (uint32_t m = 0; m < code->machine_count; m++) {
        const struct m0_curve *curve = &code->curves[m];
        if (!curve->count)
            continue;
        fprintf(script, "%s$m0_%zu_%u using 1:2:3 with yerrorbars pointtype 7 linecolor %u title ",
                curves ? ", \\\n" : "", c, m, m + 1);
        gnuplot_quoted(script, observations->machines.names[code->machines[m]]);
        fprintf(script, ", $m0_%zu_%u using 1:%d with lines linecolor %u notitle", c, m,
                curve->has_latencies ? 4 : 2, m + 1);
        curves++;
    }
    fputs("\n", script);
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
          "set key outside right top noenhanced\nset offsets graph 0.03, graph 0.03, graph 0.1, "
          "graph 0.1\n",
          script);
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
