/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Miss-ratio curves: of the accesses of a row those whose distance is as large as a cache has
 * lines, or larger, miss. A curve has a step at each distance that occurs; figures leave out steps
 * that are nearer to each other than one can see.
 */
#include "predict/reuse/cmd_reuse_curves.h"

#include <inttypes.h>
#include <string.h>

#include "formats/base/cmd_csv.h"
#include "predict/cmd_gnuplot.h"

enum { CURVES_MAX = 8, STEPS_PER_DOUBLING = 64 };

bool reuse_next_entry(const struct psnap_distances *distances, bool bins,
                      struct psnap_distance_count *each, uint64_t *distance, uint64_t *count)
{
    if (!psnap_distances_next(distances, each))
        return false;
    *distance = each->distance;
    *count = each->count;
    if (bins && each->distance > 1) {
        const int digits = 63 - __builtin_clzll(each->distance);
        struct psnap_distance_count more = *each;

        *distance = UINT64_C(1) << digits;
        while (psnap_distances_next(distances, &more) && more.distance >> digits == 1) {
            *count += more.count;
            *each = more;
        }
    }
    return true;
}

/* The point of a curve, which begins with `lines` 0 and `misses` all accesses. */
struct point {
    const struct psnap_distances *distances;
    struct psnap_distance_count each;
    uint64_t lines, misses;
};

static struct point first_point(const struct reuse_row *row)
{
    return (struct point){.distances = row->distances,
                          .misses = psnap_distances_accesses(row->distances)};
}

/* The next cache size that misses less; false: there is none. */
static bool next_point(struct point *point, bool bins)
{
    uint64_t distance, count;

    if (!reuse_next_entry(point->distances, bins, &point->each, &distance, &count))
        return false;
    point->lines = point->each.distance + 1;
    point->misses -= count;
    return true;
}

static double miss_ratio(const struct point *point)
{
    return (double)point->misses / (double)psnap_distances_accesses(point->distances);
}

void reuse_curves_write(const struct reuse_rows *rows, uint64_t line_bytes, bool bins, FILE *file)
{
    struct psnap_csv csv;

    psnap_csv_init(&csv, file);
    fputs("scope,id,cache_lines,cache_bytes,miss_ratio\n", file);
    for (size_t i = 0; i < rows->count; i++) {
        const struct reuse_row *row = &rows->rows[i];
        struct point point = first_point(row);
        bool more = point.misses != 0;

        for (; more; more = next_point(&point, bins)) {
            psnap_csv_text(&csv, psnap_scope_name(row->scope));
            psnap_csv_text(&csv, row->id);
            psnap_csv_u64(&csv, point.lines);
            psnap_csv_u64(&csv, point.lines * line_bytes);
            psnap_csv_real(&csv, miss_ratio(&point));
            psnap_csv_end(&csv);
        }
    }
}

/* ---------------------------------------------------------------------- figures */

/* The cache size, in lines, from which on none of the rows' curves is lower. */
static uint64_t curves_end(const struct reuse_row *rows, size_t count)
{
    uint64_t largest = 1;

    for (size_t i = 0; i < count; i++) {
        struct point point = first_point(&rows[i]);
        while (next_point(&point, true))
            largest = point.lines > largest ? point.lines : largest;
    }
    return largest;
}

/* A curve, "$curve<number>": sizes in bytes and miss ratios, up to twice `largest` lines. */
static void curve_data(FILE *script, const struct reuse_row *row, size_t number,
                       uint64_t line_bytes, uint64_t largest)
{
    struct point point = first_point(row), seen = point;
    uint64_t written = 0;

    fprintf(script, "$curve%zu << EOD\n", number);
    while (next_point(&point, false)) {
        if (!seen.lines && point.lines > 1)
            seen.lines = 1; /* smaller caches than the first that has a hit */
        if (seen.lines > written + written / STEPS_PER_DOUBLING) {
            fprintf(script, "%" PRIu64 " %.6g\n", seen.lines * line_bytes, miss_ratio(&seen));
            written = seen.lines;
        }
        seen = point;
    }
    if (psnap_distances_accesses(row->distances))
        fprintf(script, "%" PRIu64 " %.6g\n%" PRIu64 " %.6g\n",
                (seen.lines ? seen.lines : 1) * line_bytes, miss_ratio(&seen),
                2 * largest * line_bytes, miss_ratio(&seen));
    fputs("EOD\n", script);
}

static void write_script(FILE *script, const struct reuse_rows *rows, uint64_t line_bytes,
                         const char *title)
{
    const size_t count = rows->count < CURVES_MAX ? rows->count : CURVES_MAX;
    const uint64_t largest = curves_end(rows->rows, count);

    for (size_t i = 0; i < count; i++)
        curve_data(script, &rows->rows[i], i, line_bytes, largest);
    fputs("set terminal svg dynamic size 900,560\nset encoding utf8\nset title ", script);
    gnuplot_quoted(script, title);
    fprintf(script,
            " noenhanced\nset logscale x 2\nset format x '%%.0b %%BB'\nset xtics rotate by -45\n"
            "set xlabel 'size of a fully associative LRU cache'\nset ylabel 'miss ratio'\n"
            "set xrange [%" PRIu64 ":%" PRIu64 "]\nset yrange [0:1]\nset grid\n"
            "set key outside right top noenhanced\nplot ",
            line_bytes, 2 * largest * line_bytes);
    for (size_t i = 0; i < count; i++) {
        char name[256];
        snprintf(name, sizeof name, "%s%s%s", psnap_scope_name(rows->rows[i].scope),
                 rows->rows[i].scope == PSNAP_SCOPE_TOTAL ? "" : " ",
                 rows->rows[i].scope == PSNAP_SCOPE_TOTAL ? "" : rows->rows[i].id);
        fprintf(script, "%s$curve%zu using 1:2 with steps linewidth 2 title ", i ? ", " : "", i);
        gnuplot_quoted(script, name);
    }
    putc('\n', script);
}

enum psnap_status reuse_curves_draw(const struct reuse_rows *rows, uint64_t line_bytes,
                                    const char *title, const char *path, FILE *file,
                                    struct psnap_error *error)
{
    FILE *script = gnuplot_script(error);

    if (!script)
        return error->code;
    write_script(script, rows, line_bytes, title);
    return gnuplot_draw(script, path, file, error);
}
