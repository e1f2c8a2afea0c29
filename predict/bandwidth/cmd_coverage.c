/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hit-rate coverage for people and programs: for each level and bin how many points have such a
 * cumulative hit rate, and how many loops with which share of all accesses.
 */
#include "predict/bandwidth/cmd_coverage.h"

#include <inttypes.h>

#include "formats/base/cmd.h"
#include "predict/bandwidth/coverage.h"

struct cell {
    uint64_t points, loops;
    double share; /* of the accesses of all inputs */
};

static struct cell cell_of(const struct maps *points, const struct convolve_input *inputs,
                           size_t count, uint32_t level, int bin)
{
    struct cell cell = {0};
    double accesses = 0, all = 0;

    for (size_t i = 0; i < points->count; i++)
        cell.points += coverage_bin(supply_hit_rate(&points->points[i].supply, level)) == bin;
    for (size_t i = 0; i < count; i++) {
        all += (double)inputs[i].rows[0].accesses;
        for (size_t row = 1; row < inputs[i].count; row++) {
            const struct convolve_row *loop = &inputs[i].rows[row];

            if (!loop->accesses || coverage_bin(supply_hit_rate(&loop->supply, level)) != bin)
                continue;
            cell.loops++;
            accesses += (double)loop->accesses;
        }
    }
    cell.share = accesses / all;
    return cell;
}

void coverage_print(const struct maps *points, const struct convolve_input *inputs, size_t count)
{
    static const char *const headings[] = {"level", "hit rate %", "points", "loops", "accesses %"};
    struct psnap_table *table = psnap_table_new(5, headings);

    for (size_t column = 2; column < 5; column++)
        psnap_table_align_right(table, column);
    for (uint32_t level = 0; level < points->machine.level_count; level++)
        for (int bin = 0; bin < COVERAGE_BINS; bin++) {
            const struct cell cell = cell_of(points, inputs, count, level, bin);

            psnap_table_cell(table, "%" PRIu32, level + 1);
            psnap_table_cell(table, "%s", coverage_bin_name(bin));
            psnap_table_cell(table, "%" PRIu64, cell.points);
            psnap_table_cell(table, "%" PRIu64, cell.loops);
            psnap_table_cell(table, "%.2f%s", 100 * cell.share,
                             cell.loops && !cell.points ? " (no point)" : "");
        }
    putchar('\n');
    psnap_table_print(table, stdout);
    psnap_table_free(table);
}

void coverage_json(struct psnap_json *json, const struct maps *points,
                   const struct convolve_input *inputs, size_t count)
{
    psnap_json_begin_array(json, "coverage");
    for (uint32_t level = 0; level < points->machine.level_count; level++)
        for (int bin = 0; bin < COVERAGE_BINS; bin++) {
            const struct cell cell = cell_of(points, inputs, count, level, bin);

            psnap_json_begin_object(json, NULL);
            psnap_json_u64(json, "level", level + 1);
            psnap_json_text(json, "hit_rate_percent", coverage_bin_name(bin));
            psnap_json_u64(json, "points", cell.points);
            psnap_json_u64(json, "loops", cell.loops);
            psnap_json_real(json, "share", cell.share);
            psnap_json_end_object(json);
        }
    psnap_json_end_array(json);
}
