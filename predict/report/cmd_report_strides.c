/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stride histograms on a page of psnap report: from one access of a region to the next one of it,
 * binned by powers of two as profiles have them (profile.h), "random" being longer ones.
 */
#include <math.h>

#include "predict/report/cmd_report.h"
#include "formats/base/html.h"
#include "predict/report/svg.h"

/* Panels: the total (0), and the loops ranked first. */
static size_t panel_count(const struct report *report)
{
    const size_t loops = report->rank.count;

    return loops < 2 ? 1 : 1 + (loops < REPORT_PANELS - 1 ? loops : REPORT_PANELS - 1);
}

static bool shares_of(const struct report_input *input, const char *id,
                      double shares[PSNAP_STRIDE_BINS])
{
    const struct report_regions regions = report_regions_of(input, id);
    uint64_t sum = 0;

    for (unsigned bin = 0; bin < PSNAP_STRIDE_BINS; bin++)
        sum += regions.strides[bin];
    for (unsigned bin = 0; bin < PSNAP_STRIDE_BINS; bin++)
        shares[bin] = sum ? (double)regions.strides[bin] / (double)sum : (double)NAN;
    return sum != 0;
}

static void write_bars(FILE *script, const struct report *report, size_t panel)
{
    const double width = 0.8 / (double)report->input_count;

    for (size_t i = 0; i < report->input_count; i++) {
        double shares[PSNAP_STRIDE_BINS];
        const bool known = shares_of(&report->inputs[i], report_line_id(report, panel), shares);
        fprintf(script, "$p%zui%zu << EOD\n", panel, i);
        for (unsigned bin = 0; known && bin < PSNAP_STRIDE_BINS; bin++)
            if (shares[bin] > 0) {
                const double left = bin - 0.4 + width * (double)i;
                fprintf(script, "%.4f %.4f %.6g\n", left, left + width, 100 * shares[bin]);
            }
        fputs("EOD\n", script);
    }
}

static void write_panel(FILE *script, const struct report *report, size_t panel)
{
    fputs("set title ", script);
    report_quoted(script, report_line_name(report, panel), 44);
    fputs("\nplot ", script);
    for (size_t i = 0; i < report->input_count; i++)
        fprintf(script,
                "%s$p%zui%zu using (($1+$2)/2):3:1:2:(0):3 with boxxyerror lc rgb '" SVG_SERIES "'",
                i ? ", " : "", panel, i, 16 * report_series(i));
    fputs(", NaN\n", script);
}

static void draw(struct report_page *page)
{
    const struct report *report = page->report;
    const unsigned panels = (unsigned)panel_count(report), columns = panels > 1 ? 2 : 1;
    const unsigned rows = (panels + columns - 1) / columns, height = 74 + 200 * rows;
    FILE *script = report_script(page, 900, height);

    if (!script)
        return;
    for (size_t panel = 0; panel < panels; panel++)
        write_bars(script, report, panel);
    fputs("set xtics rotate by -45 font ',12' (", script);
    for (unsigned bin = 0; bin < PSNAP_STRIDE_BINS; bin++) {
        fputs(bin ? ", " : "", script);
        report_quoted(script, psnap_stride_label(bin), 16);
        fprintf(script, " %u", bin);
    }
    fprintf(script,
            ")\nset xrange [-0.7:%g]\nset yrange [0:100]\nset ytics 25\nset grid noxtics\n"
            "set ylabel '%% of strides' offset 1,0\nset style fill solid 1.0 noborder\n"
            "set multiplot layout %u,%u margins 0.075,0.965,%g,%g spacing 0.085,%g\n",
            (double)PSNAP_STRIDE_BINS - 0.3, rows, columns, 56.0 / height, 1 - 44.0 / height,
            88.0 / height);
    for (size_t panel = 0; panel < panels; panel++)
        write_panel(script, report, panel);
    fputs("unset multiplot\n", script);
    report_legend_inputs(page);
    report_draw(page, script, "Stride histograms",
                "Bytes from one access of a region to the next one of it; a bin has the strides up "
                "to its own from the one before it, \"random\" all above 256 bytes.");
}

static void write_table(struct report_page *page, size_t input)
{
    const struct report *report = page->report;
    const char *headings[1 + PSNAP_STRIDE_BINS] = {"Loop"};
    char caption[96];

    for (unsigned bin = 0; bin < PSNAP_STRIDE_BINS; bin++)
        headings[1 + bin] = psnap_stride_label(bin);
    snprintf(caption, sizeof caption, "Strides of the %s input, percent by bin of bytes",
             report->inputs[input].label);
    report_table(page, caption, headings, 1 + PSNAP_STRIDE_BINS, 1, 0);
    for (size_t line = 0; line <= report_row_count(report); line++) {
        double shares[PSNAP_STRIDE_BINS];
        if (!shares_of(&report->inputs[input], report_line_id(report, line), shares))
            continue;
        report_row_name(page, report_line_name(report, line));
        for (unsigned bin = 0; bin < PSNAP_STRIDE_BINS; bin++)
            report_cell_number(page, 1, shares[bin] > 0 ? 100 * shares[bin] : (double)NAN);
        report_row_end(page);
    }
    report_table_end(page);
}

void report_strides(struct report_page *page)
{
    report_section(page, "strides", "Strides");
    draw(page);
    report_details(page, "Tables of strides");
    for (size_t i = 0; i < page->report->input_count; i++)
        write_table(page, i);
    report_rows_left_out(page);
    report_details_end(page);
    report_section_end(page);
}
