/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of loops of a page of psnap report: the hottest first, with what there is to know of
 * them in a line each. The first rows are in view, others behind a fold.
 */
#include <math.h>
#include <string.h>

#include "predict/report/cmd_report.h"
#include "formats/base/html.h"
#include "profile/cmd_words.h"

enum { SHOWN = 15, COLUMNS = 24, HEADING = 96 };

struct columns {
    char texts[COLUMNS][HEADING];
    const char *headings[COLUMNS];
    size_t count;
};

static void add(struct columns *columns, const char *first, const char *second)
{
    char *text = columns->texts[columns->count];

    if (columns->count == COLUMNS)
        return;
    snprintf(text, HEADING, "%s%s%s", first, second ? " " : "", second ? second : "");
    columns->headings[columns->count++] = text;
}

/* Share of each input; of the first one working set, hit rates and strides. */
static void plan(const struct report *report, struct columns *columns)
{
    const struct psnap_machine *machine = &report->machines[0];
    char name[PSNAP_LEVEL_NAME_ROOM], text[HEADING];

    columns->count = 0;
    add(columns, "Loop", NULL);
    add(columns, "Accesses", NULL);
    for (size_t i = 0; i < report->input_count; i++)
        add(columns, "Share", report->input_count > 1 ? report->inputs[i].label : NULL);
    add(columns, "Working set", NULL);
    for (uint32_t l = 0; l < machine->level_count; l++) {
        snprintf(text, sizeof text, "%s %%", psnap_machine_level_name(machine, l, name));
        add(columns, text, NULL);
    }
    add(columns, "Strides (bytes)", NULL);
}

static void write_row(struct report_page *page, size_t index)
{
    const struct report *report = page->report;
    const struct rank_loop *loop = &report->rank.loops[index];
    const struct psnap_machine *machine = &report->machines[0];
    struct report_regions regions;
    const struct scope_row *row = NULL;
    size_t input = 0;

    while (!row)
        row = report_row(report, input++, loop);
    input--;
    report_row_names(page, loop->id, loop->name);
    report_cell_count(page, loop->accesses[input]);
    for (size_t i = 0; i < report->input_count; i++)
        report_cell_bar(page, report_series(i), loop->shares[i]);
    report_cell_bytes(page, report_working_set(&report->inputs[input], loop->id));
    for (uint32_t l = 0; l < machine->level_count; l++)
        report_cell_percent(page, psnap_tally_cumulative(&row->tallies[0], l));
    regions = report_regions_of(&report->inputs[input], loop->id);
    report_cell_strides(page, regions.strides);
    report_row_end(page);
}

static void write_rows(struct report_page *page, const char *caption, size_t from, size_t to)
{
    struct columns columns;

    plan(page->report, &columns);
    report_table(page, caption, columns.headings, columns.count, 1, 1);
    for (size_t i = from; i < to; i++)
        write_row(page, i);
    report_table_end(page);
}

void report_loops(struct report_page *page)
{
    const size_t count = report_row_count(page->report);
    char caption[512];

    report_section(page, "loops", "Loops, by accesses");
    snprintf(caption, sizeof caption,
             "Working set, cumulative hit rates on %.300s and strides are those of the %s stream",
             page->report->machines[0].name, page->report->inputs[0].label);
    write_rows(page, caption, 0, count < SHOWN ? count : SHOWN);
    if (count > SHOWN) {
        char summary[64];
        snprintf(summary, sizeof summary, "%zu more loops", count - SHOWN);
        fprintf(page->file, "<details><summary>%s</summary>\n", summary);
        write_rows(page, caption, SHOWN, count);
        report_rows_left_out(page);
        report_details_end(page);
    }
    report_section_end(page);
}
