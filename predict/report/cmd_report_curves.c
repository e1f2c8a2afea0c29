/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Miss-ratio curves on a page of psnap report: of all inputs, and of the hottest loops of the
 * first.
 */
#include <inttypes.h>
#include <math.h>

#include "predict/report/cmd_report.h"
#include "predict/report/svg.h"
#include "predict/reuse/cmd_reuse_curves.h"
#include "profile/cmd_words.h"

struct curve {
    const struct reuse_row *row;
    const char *name;
    unsigned series;
};

static size_t curves_of_inputs(const struct report *report, struct curve *curves)
{
    for (size_t i = 0; i < report->input_count; i++)
        curves[i] = (struct curve){report_reuse_row(&report->inputs[i].distances[0], NULL),
                                   report->inputs[i].label, report_series(i)};
    return report->input_count;
}

static size_t curves_of_loops(const struct report *report, struct curve *curves)
{
    static const unsigned series[REPORT_CURVES] = {1, 2, 3, 4, 5, 6};
    size_t count = 0;

    for (size_t i = 0; i < report->rank.count && count < REPORT_CURVES; i++) {
        const char *id = report->rank.loops[i].id;
        const struct reuse_row *row = report_reuse_row(&report->inputs[0].distances[0], id);
        if (!row)
            continue;
        curves[count] = (struct curve){row, id, series[count]};
        count++;
    }
    return count;
}

static void draw(struct report_page *page, const struct curve *curves, size_t count,
                 const char *title, const char *description)
{
    const uint64_t line = page->report->inputs[0].distances[0].line_bytes;
    FILE *script = report_script(page, 900, 420);
    uint64_t largest = 1;

    if (!script)
        return;
    for (size_t i = 0; i < count; i++) {
        const uint64_t end = reuse_curves_end(curves[i].row, 1);
        largest = end > largest ? end : largest;
    }
    for (size_t i = 0; i < count; i++)
        reuse_curve_data(script, curves[i].row, i, line, largest);
    report_cache_marks(page->report, script);
    report_bytes_axis(script, line, 2 * largest * line);
    fprintf(script,
            "set xlabel "
            "'size of a fully associative LRU cache'\nset ylabel 'miss ratio'\n"
            "set xrange [%" PRIu64 ":%" PRIu64 "]\nset yrange [0:1.02]\nset tmargin 2\nset rmargin "
            "3\nplot ",
            line, 2 * largest * line);
    for (size_t i = 0; i < count; i++)
        fprintf(script,
                "%s$curve%zu using 1:2 with steps linewidth %g dashtype %zu linecolor rgb "
                "'" SVG_SERIES "'",
                i ? ", " : "", i, i ? 2.0 : 2.6, i + 1, 16 * curves[i].series);
    putc('\n', script);
    report_legend(page);
    for (size_t i = 0; i < count; i++) {
        static const char *const marks[] = {
            "\xE2\x94\x81\xE2\x94\x81", "\xE2\x95\x8C\xE2\x95\x8C",     "\xE2\x94\x88\xE2\x94\x88",
            "\xE2\x94\x81\xC2\xB7",     "\xE2\x94\x81\xC2\xB7\xC2\xB7", "\xE2\x95\x8C\xC2\xB7"};
        report_legend_entry(page, curves[i].series, marks[i % 6], curves[i].name);
    }
    report_legend_end(page);
    report_draw(page, script, title, description);
}

static void write_table(struct report_page *page, const struct curve *curves, size_t count)
{
    const uint64_t line = page->report->inputs[0].distances[0].line_bytes;
    const uint64_t end = reuse_curves_end(curves[0].row, 1) * line;
    const char *headings[1 + REPORT_CURVES] = {"Cache size"};

    for (size_t i = 0; i < count; i++)
        headings[1 + i] = curves[i].name;
    report_details(page, "Table of miss ratios");
    report_table(page, "Miss ratios of fully associative LRU caches", headings, count + 1, 1, 0);
    for (uint64_t bytes = 1024; bytes < 2 * end + 2048; bytes *= 2) {
        char text[32];
        report_row_name(page, human_bytes(bytes, text));
        for (size_t i = 0; i < count; i++)
            report_cell_number(
                page, 4, 1 - psnap_distances_hit_rate(curves[i].row->distances, bytes / line));
        report_row_end(page);
    }
    report_table_end(page);
    report_details_end(page);
}

void report_curves(struct report_page *page)
{
    struct curve curves[REPORT_CURVES];
    size_t count = curves_of_inputs(page->report, curves);

    report_section(page, "curves", "Miss ratios");
    fputs("<p>How many of the accesses miss in a cache of a size, if any line may be anywhere in "
          "it. Where a curve falls is a working set that begins to fit. Dashed lines upwards are "
          "the caches of the first machine.</p>\n",
          page->file);
    draw(page, curves, count, "Miss-ratio curves of the whole program",
         "First touches miss in all sizes: where the curve ends.");
    write_table(page, curves, count);
    count = curves_of_loops(page->report, curves);
    if (page->report->rank.count > 1 && count) {
        draw(page, curves, count, "Miss-ratio curves of the hottest loops",
             "Each of the loop's own accesses, whoever touched the line before.");
        write_table(page, curves, count);
    }
    report_section_end(page);
}
