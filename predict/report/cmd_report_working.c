/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Working sets on a page of psnap report: the bytes of the lines that a loop touches, and the
 * regions with most accesses, their extents, and what lies there.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "predict/report/cmd_report.h"
#include "predict/report/svg.h"
#include "profile/cmd_words.h"

enum { REGIONS = 40 };

static uint64_t working_set(const struct report *report, size_t input, size_t line)
{
    return report_working_set(&report->inputs[input], report_line_id(report, line));
}

/* Returns the largest working set. */
static uint64_t write_bars(FILE *script, const struct report *report)
{
    const size_t lines = report_line_count(report), inputs = report->input_count;
    const double width = 0.76 / (double)inputs;
    uint64_t largest = 64;

    for (size_t input = 0; input < inputs; input++) {
        fprintf(script, "$i%zu << EOD\n", input);
        for (size_t i = 0; i < lines; i++) {
            const double top = (double)(lines - 1 - i) + 0.38 - width * (double)input;
            const uint64_t bytes = working_set(report, input, i);
            largest = bytes > largest ? bytes : largest;
            fprintf(script, "%" PRIu64 " %.4f %.4f\n", bytes, top - width, top);
        }
        fputs("EOD\n", script);
    }
    return largest;
}

static void draw(struct report_page *page)
{
    const struct report *report = page->report;
    const size_t lines = report_line_count(report), inputs = report->input_count;
    const unsigned height = 90 + (unsigned)(lines * (16 + 8 * inputs));
    FILE *script = report_script(page, 900, height);
    uint64_t largest;

    if (!script)
        return;
    largest = write_bars(script, report);
    report_line_axis(report, script);
    report_cache_marks(report, script);
    report_bytes_axis(script, 8, 2 * largest);
    fprintf(script,
            "set xrange [8:%" PRIu64 "]\n"
            "set style fill solid 1.0 noborder\nset lmargin at screen 0.22\n"
            "set rmargin at screen 0.97\nset tmargin 2\nset grid noytics\nplot ",
            2 * largest);
    for (size_t i = 0; i < inputs; i++)
        fprintf(script, "%s$i%zu using 1:2:(8):1:2:3 with boxxyerror lc rgb '" SVG_SERIES "'",
                i ? ", " : "", i, 16 * report_series(i));
    putc('\n', script);
    report_legend_inputs(page);
    report_draw(
        page, script, "Working sets",
        "Bytes of the lines that a loop touches, on a logarithmic axis; dashed lines are the "
        "caches of the first machine.");
}

static void write_table(struct report_page *page)
{
    const struct report *report = page->report;
    const char *headings[1 + 2 * RANK_INPUTS] = {"Loop"};
    char texts[2 * RANK_INPUTS][64];
    size_t columns = 1;

    for (size_t i = 0; i < report->input_count; i++)
        for (int k = 0; k < 2; k++) {
            snprintf(texts[columns - 1], 64, "%s, %s", k ? "regions" : "working set",
                     report->inputs[i].label);
            headings[columns] = texts[columns - 1];
            columns++;
        }
    report_details(page, "Table of working sets");
    report_table(page, "Working sets", headings, columns, 1, 0);
    for (size_t line = 0; line <= report_row_count(report); line++) {
        const char *id = report_line_id(report, line);
        report_row_name(page, report_line_name(report, line));
        for (size_t i = 0; i < report->input_count; i++) {
            report_cell_bytes(page, report_working_set(&report->inputs[i], id));
            report_cell_count(page, report_regions_of(&report->inputs[i], id).count);
        }
        report_row_end(page);
    }
    report_table_end(page);
    report_rows_left_out(page);
    report_details_end(page);
}

/* -------------------------------------------------------------------- regions */

struct region_line {
    const struct psnap_profile_loop *loop;
    const struct psnap_profile_region *region;
    size_t index; /* in the profile */
};

static int by_accesses(const void *left, const void *right)
{
    const struct region_line *a = left, *b = right;
    const uint64_t x = a->region->accesses, y = b->region->accesses;

    if (x != y)
        return (x < y) - (x > y);
    return (a->index > b->index) - (a->index < b->index);
}

static void write_region(struct report_page *page, const struct region_line *line, uint64_t all)
{
    const struct psnap_profile_region *region = line->region;
    uint64_t strides[PSNAP_STRIDE_BINS] = {0};

    for (unsigned s = 0; s < region->stride_count; s++)
        strides[region->strides[s].bin] = region->strides[s].count;
    report_row_name(page, line->loop->id);
    report_cell(page, "%s", region->object ? region->object : region->id);
    report_cell_bar(page, 1, all ? (double)region->accesses / (double)all : 0);
    report_cell_bytes(page, region->bytes);
    report_cell_percent(page, (double)region->kinds[PSNAP_LOAD] / (double)region->accesses);
    report_cell_strides(page, strides);
    report_row_end(page);
}

static void write_regions(struct report_page *page, const struct report_input *input)
{
    static const char *const headings[] = {"Loop",   "Region",  "Share of accesses",
                                           "Extent", "Loads %", "Strides (bytes)"};
    const struct psnap_profile *profile = input->profile ? input->profile : input->measured;
    struct region_line *lines;
    size_t room = 1, count = 0;
    char caption[160];

    for (uint32_t i = 0; i < profile->loop_count; i++)
        room += profile->loops[i].region_count;
    lines = malloc(room * sizeof *lines);
    for (uint32_t i = 0; lines && i < profile->loop_count; i++)
        for (uint32_t r = 0; r < profile->loops[i].region_count; r++) {
            lines[count] =
                (struct region_line){&profile->loops[i], &profile->loops[i].regions[r], count};
            count++;
        }
    if (count)
        qsort(lines, count, sizeof *lines, by_accesses);
    snprintf(caption, sizeof caption, "The regions with most accesses, %s (%zu of %zu)",
             input->label, count < REGIONS ? count : (size_t)REGIONS, count);
    fprintf(page->file, "<details><summary>Regions, %s</summary>\n", input->label);
    report_table(page, caption, headings, 6, 2, 1);
    for (size_t i = 0; i < count && i < REGIONS; i++)
        write_region(page, &lines[i], input->side.accesses);
    report_table_end(page);
    report_details_end(page);
    free(lines);
}

void report_working_sets(struct report_page *page)
{
    report_section(page, "working-sets", "Working sets");
    draw(page);
    write_table(page);
    for (size_t i = 0; i < page->report->input_count; i++)
        write_regions(page, &page->report->inputs[i]);
    report_section_end(page);
}
