/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Points for the commands: read by path, and drawn. The figure of MultiMAPS as its papers have it:
 * bandwidth against the size of the array, both in logarithms, a line for each stride.
 */
#include "predict/bandwidth/cmd_bandwidth.h"

#include <inttypes.h>

#include "replay/cmd_input.h"

enum psnap_status maps_read_path(const char *path, struct maps *maps, struct psnap_error *error)
{
    FILE *file = psnap_input_file(path, error);
    const enum psnap_status status = file ? maps_read(file, path, maps, error) : error->code;

    if (file && file != stdin)
        fclose(file);
    return status;
}

static void write_line(FILE *script, const struct maps *maps, uint32_t stride)
{
    fprintf(script, "$s%" PRIu32 " << EOD\n", stride);
    for (size_t i = 0; i < maps->count; i++)
        if (maps->points[i].probe == MAP_STRIDED && maps->points[i].step == stride)
            fprintf(script, "%.6g %.6g\n", (double)maps->points[i].size_bytes / 1024,
                    map_point_bandwidth(&maps->points[i]) / 1e9);
    fputs("EOD\n", script);
}

enum psnap_status maps_plot(const struct maps *maps, const char *path, FILE *file,
                            struct psnap_error *error)
{
    FILE *script = gnuplot_script(error);
    const char *comma = "plot ";

    if (!script)
        return error->code;
    for (uint32_t stride = 1; stride <= MAP_STEP_MAX; stride *= 2)
        write_line(script, maps, stride);
    fputs("set terminal svg dynamic size 900,560 background rgb 'white'\nset title ", script);
    gnuplot_quoted(script, maps->origin.processor[0] ? maps->origin.processor : "MultiMAPS");
    fputs(" noenhanced\nset logscale xy 2\nset grid\nset xlabel 'array (KiB)'\n"
          "set ylabel 'bandwidth (GB/s)'\nset key outside title 'stride (words)'\n",
          script);
    for (uint32_t stride = 1; stride <= MAP_STEP_MAX; stride *= 2, comma = ", ")
        fprintf(script, "%s$s%" PRIu32 " with linespoints pointsize 0.4 title '%" PRIu32 "'", comma,
                stride, stride);
    putc('\n', script);
    return gnuplot_draw(script, path, file, error);
}
