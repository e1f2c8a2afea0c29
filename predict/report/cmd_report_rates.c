/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hit rates on a page of psnap report: for each machine a figure with a panel for each level, in
 * which each loop is a line with a mark for each input, and one for what SDCM predicts from the
 * reuse distances of the first; and the numbers.
 */
#include <math.h>
#include <stdlib.h>

#include "predict/report/cmd_report.h"
#include "formats/base/html.h"
#include "predict/report/svg.h"

static double rate_of(const struct report *report, size_t input, size_t machine,
                      const struct rank_loop *loop, uint32_t level)
{
    const struct scope_row *row = report_row(report, input, loop);

    return row ? psnap_tally_cumulative(&row->tallies[machine], level) : (double)NAN;
}

/* ----------------------------------------------------------------- the figure */

static double lowest_rate(const struct report *report, size_t machine)
{
    double lowest = 1;

    for (size_t i = 0; i < report_line_count(report); i++)
        for (size_t input = 0; input < report->input_count; input++)
            for (uint32_t l = 0; l < report->machines[machine].level_count; l++) {
                const double rate = rate_of(report, input, machine, report_line(report, i), l);
                if (rate < lowest)
                    lowest = rate;
            }
    return lowest;
}

/* Points of a panel: for each input, then predicted, "$i<input>l<level>". */
static void write_points(FILE *script, const struct report *report, size_t machine, uint32_t level)
{
    const size_t lines = report_line_count(report);

    for (size_t input = 0; input < report->input_count; input++) {
        fprintf(script, "$i%zul%u << EOD\n", input, level);
        for (size_t i = 0; i < lines; i++) {
            const double rate = rate_of(report, input, machine, report_line(report, i), level);
            if (!isnan(rate))
                fprintf(script, "%.6g %zu\n", 100 * rate, lines - 1 - i);
        }
        fputs("EOD\n", script);
    }
    fprintf(script, "$pl%u << EOD\n", level);
    for (size_t i = 0; i < lines; i++) {
        const struct rank_loop *loop = report_line(report, i);
        double rates[PSNAP_LEVELS_MAX];
        report_predict(&report->inputs[0], &report->machines[machine], loop ? loop->id : NULL,
                       rates);
        if (!isnan(rates[level]))
            fprintf(script, "%.6g %zu\n", 100 * rates[level], lines - 1 - i);
    }
    fputs("EOD\n", script);
}

static void write_panel(FILE *script, const struct report *report, size_t machine, uint32_t level)
{
    char name[PSNAP_LEVEL_NAME_ROOM];

    fputs("set title ", script);
    report_quoted(script, psnap_machine_level_name(&report->machines[machine], level, name), 24);
    fputs("\nplot ", script);
    for (size_t input = 0; input < report->input_count; input++)
        fprintf(script, "$i%zul%u with points pt %u ps %g lw 2 lc rgb '" SVG_SERIES "', ", input,
                level, report_point(input), input ? 1.5 : 1.0, 16 * report_series(input));
    fprintf(script, "$pl%u with points pt 1 ps 2.1 lw 1 lc rgb '" SVG_SERIES "'\n", level,
            16u * REPORT_PREDICTED);
    fputs("set ytics 1 format ''\n", script);
}

static void draw(struct report_page *page, size_t machine)
{
    const struct report *report = page->report;
    const uint32_t levels = report->machines[machine].level_count;
    const unsigned lines = (unsigned)report_line_count(report);
    const unsigned height = 120 + 24 * lines;
    const double low = floor(10 * lowest_rate(report, machine)) * 10;
    FILE *script = report_script(page, 900, height);
    char title[320], description[512];

    if (!script)
        return;
    for (uint32_t l = 0; l < levels; l++)
        write_points(script, report, machine, l);
    report_line_axis(report, script);
    fprintf(script,
            "set xrange [%g:101]\nset format x '%%g'\nset xlabel "
            "'cumulative hit rate (%%)' offset 0,0.3\nset xtics autofreq\n"
            "set multiplot layout 1,%u margins 0.22,0.985,%g,%g spacing 0.035\n",
            low < 100 ? low : 90.0, levels, 56.0 / height, 1 - 44.0 / height);
    for (uint32_t l = 0; l < levels; l++)
        write_panel(script, report, machine, l);
    fputs("unset multiplot\n", script);
    snprintf(title, sizeof title, "Cumulative hit rates on %.250s", report->machines[machine].name);
    snprintf(
        description, sizeof description,
        "A panel for each level, a line for the whole program and each of the %u hottest loops; "
        "the axis begins at %g %%. The numbers are in the table.",
        lines - 1, low < 100 ? low : 90.0);
    report_legend(page);
    for (size_t i = 0; i < report->input_count; i++)
        report_legend_entry(page, report_series(i), report_mark(i), report->inputs[i].label);
    report_legend_entry(page, REPORT_PREDICTED, "+", "predicted (SDCM)");
    report_legend_end(page);
    report_draw(page, script, title, description);
}

/* ------------------------------------------------------------------ the table */

enum { HEADING = 64, COLUMNS = 1 + PSNAP_LEVELS_MAX * (RANK_INPUTS + 1) };

static void write_row(struct report_page *page, size_t machine, const struct rank_loop *loop)
{
    const struct report *report = page->report;
    double predicted[PSNAP_LEVELS_MAX];

    report_row_name(page, loop ? loop->id : "whole program");
    report_predict(&report->inputs[0], &report->machines[machine], loop ? loop->id : NULL,
                   predicted);
    for (uint32_t l = 0; l < report->machines[machine].level_count; l++) {
        for (size_t i = 0; i < report->input_count; i++)
            report_cell_percent(page, rate_of(report, i, machine, loop, l));
        report_cell_percent(page, predicted[l]);
    }
    report_row_end(page);
}

static void write_table(struct report_page *page, size_t machine)
{
    const struct report *report = page->report;
    const struct psnap_machine *m = &report->machines[machine];
    char texts[COLUMNS][HEADING], caption[320], name[PSNAP_LEVEL_NAME_ROOM];
    const char *headings[COLUMNS] = {"Loop"};
    size_t columns = 1;

    for (uint32_t l = 0; l < m->level_count; l++)
        for (size_t i = 0; i <= report->input_count; i++) {
            snprintf(texts[columns], HEADING, "%s %s %%", psnap_machine_level_name(m, l, name),
                     i < report->input_count ? report->inputs[i].label : "predicted");
            headings[columns] = texts[columns];
            columns++;
        }
    snprintf(caption, sizeof caption, "Cumulative hit rates on %.250s, percent", m->name);
    report_details(page, "Table of hit rates");
    report_table(page, caption, headings, columns, 1, 0);
    write_row(page, machine, NULL);
    for (size_t i = 0; i < report_row_count(report); i++)
        write_row(page, machine, &report->rank.loops[i]);
    report_table_end(page);
    report_rows_left_out(page);
    report_details_end(page);
}

void report_rates(struct report_page *page)
{
    report_section(page, "rates", "Hit rates");
    for (size_t m = 0; m < page->report->machine_count; m++) {
        if (page->report->machine_count > 1) {
            report_heading(page, page->report->machines[m].name);
        }
        draw(page, m);
        write_table(page, m);
    }
    report_section_end(page);
}
