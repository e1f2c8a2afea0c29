/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is different on a page of psnap report: each further input against the first one, as psnap
 * compare has it (simcore/compare.h), with what changed in accesses and working sets beside it.
 */
#include <math.h>
#include <string.h>

#include "predict/report/cmd_report.h"
#include "formats/base/html.h"
#include "predict/report/svg.h"

enum { LOOPS = 20, HEADING = 64 };

struct comparing {
    struct report_page *page;
    const struct report *report;
    const struct report_input *first, *other;
    size_t other_index;
    const struct compare *compare;
};

/* The ranked loop of a compared one. */
static const struct rank_loop *ranked(const struct report *report, const char *id)
{
    for (size_t i = 0; i < report->rank.count; i++)
        if (!strcmp(report->rank.loops[i].id, id))
            return &report->rank.loops[i];
    return NULL;
}

/* Points by which the other input's hit rate is higher; NaN where one does not have the loop. */
static double change_of(const struct comparing *comparing, const struct rank_loop *loop,
                        size_t machine, uint32_t level)
{
    const struct scope_row *from = report_row(comparing->report, 0, loop);
    const struct scope_row *to = report_row(comparing->report, comparing->other_index, loop);

    if (!from || !to)
        return (double)NAN;
    return 100 * (psnap_tally_cumulative(&to->tallies[machine], level) -
                  psnap_tally_cumulative(&from->tallies[machine], level));
}

/* --------------------------------------------------------------------- in words */

/* Of those that are relevant; NULL: none is. */
static const struct compare_loop *worst_loop(const struct compare *compare)
{
    for (size_t i = 0; i < compare->loop_count; i++)
        if (compare->loops[i].relevant)
            return &compare->loops[i];
    return NULL;
}

static void write_lead(const struct comparing *comparing)
{
    const struct compare *compare = comparing->compare;
    const double surfaces =
        psnap_locality_distance(comparing->first->total, comparing->other->total);
    const struct compare_loop *worst = worst_loop(compare);
    FILE *file = comparing->page->file;

    fputs("<p>", file);
    if (compare->relevant_loops) {
        fprintf(file, "Over the %zu loops with at least 0.5&#8239;%% of the accesses",
                compare->relevant_loops);
        fputs(comparing->report->machine_count > 1 ? " and all machines" : "", file);
        fputs(" the cumulative hit rates are apart by, in the mean,", file);
        for (uint32_t l = 0; l < compare->levels; l++)
            fprintf(file, "%s %.3f points at L%u", l ? "," : "", compare->mean_points[l], l + 1);
        fputs(". ", file);
    }
    if (worst && worst->worst_points > 0) {
        fputs("The largest difference has <code>", file);
        psnap_html_name(file, worst->id, 60);
        fprintf(file, "</code>, %.3f points on <code>", worst->worst_points);
        psnap_html_text(file, compare->machines[worst->worst_machine].name);
        fputs("</code>. ", file);
    }
    if (compare->missing_loops)
        fprintf(file, "%zu of these loops only one of the inputs has. ", compare->missing_loops);
    if (!isnan(surfaces))
        fprintf(file, "The locality surfaces are %.4f apart (0: the same, 1: nothing in common).",
                surfaces);
    fputs("</p>\n", file);
}

/* ------------------------------------------------------------------- the tables */

static void write_totals(const struct comparing *comparing)
{
    struct report_page *page = comparing->page;
    const struct report *report = comparing->report;
    const char *const headings[] = {"Machine", "Level", comparing->first->label,
                                    comparing->other->label, "Change, points"};
    char name[PSNAP_LEVEL_NAME_ROOM];

    report_table(page, "The whole program: cumulative hit rates, percent", headings, 5, 2, 0);
    for (size_t m = 0; m < report->machine_count; m++)
        for (uint32_t l = 0; l < report->machines[m].level_count; l++) {
            report_row_name(page, report->machines[m].name);
            report_cell(page, "%s", psnap_machine_level_name(&report->machines[m], l, name));
            report_cell_percent(
                page, psnap_tally_cumulative(&report_row(report, 0, NULL)->tallies[m], l));
            report_cell_percent(
                page, psnap_tally_cumulative(
                          &report_row(report, comparing->other_index, NULL)->tallies[m], l));
            report_cell_number(page, REPORT_SIGNED, change_of(comparing, NULL, m, l));
            report_row_end(page);
        }
    report_table_end(page);
}

static void write_loop(const struct comparing *comparing, const struct compare_loop *compared)
{
    struct report_page *page = comparing->page;
    const struct report *report = comparing->report;
    const struct rank_loop *loop = ranked(report, compared->id);
    const size_t sides[] = {0, comparing->other_index};

    if (!loop)
        return;
    report_row_name(page, loop->id);
    for (size_t i = 0; i < 2; i++)
        report_cell_count(page, loop->accesses[sides[i]]);
    for (size_t i = 0; i < 2; i++)
        report_cell_bytes(page, report_working_set(&report->inputs[sides[i]], loop->id));
    for (uint32_t l = 0; l < report->machines[0].level_count; l++)
        report_cell_number(page, REPORT_SIGNED, change_of(comparing, loop, 0, l));
    report_cell_number(page, 3, compared->worst_points);
    report_row_end(page);
}

static void write_loops(const struct comparing *comparing)
{
    struct report_page *page = comparing->page;
    const struct psnap_machine *machine = &comparing->report->machines[0];
    char texts[5 + PSNAP_LEVELS_MAX][HEADING], name[PSNAP_LEVEL_NAME_ROOM], caption[320];
    const char *headings[6 + PSNAP_LEVELS_MAX] = {"Loop"};
    size_t columns = 1;

    for (int k = 0; k < 4; k++) {
        snprintf(texts[k], HEADING, "%s, %s", k < 2 ? "Accesses" : "Working set",
                 k % 2 ? comparing->other->label : comparing->first->label);
        headings[columns++] = texts[k];
    }
    for (uint32_t l = 0; l < machine->level_count; l++) {
        snprintf(texts[4 + l], HEADING, "%s, change in points",
                 psnap_machine_level_name(machine, l, name));
        headings[columns++] = texts[4 + l];
    }
    headings[columns++] =
        comparing->report->machine_count > 1 ? "Largest, any machine" : "Largest, points";
    snprintf(caption, sizeof caption,
             "Loops of at least 0.5 %% of the accesses, the most different first; changes of hit "
             "rates are on %.200s",
             machine->name);
    report_table(page, caption, headings, columns, 1, 0);
    for (size_t i = 0, n = 0; i < comparing->compare->loop_count && n < LOOPS; i++)
        if (comparing->compare->loops[i].relevant) {
            write_loop(comparing, &comparing->compare->loops[i]);
            n++;
        }
    report_table_end(page);
}

/* ------------------------------------------------------------------- the figure */

/* Bars of a level, each from 0 to the change. */
static double write_bars(FILE *script, const struct comparing *comparing, uint32_t level)
{
    const struct report *report = comparing->report;
    const size_t lines = report_line_count(report);
    const double width = 0.76 / report->machines[0].level_count;
    double largest = 0;

    fprintf(script, "$l%u << EOD\n", level);
    for (size_t i = 0; i < lines; i++) {
        const double change = change_of(comparing, report_line(report, i), 0, level);
        const double top = (double)(lines - 1 - i) + 0.38 - width * level;
        if (isnan(change))
            continue;
        largest = fmax(largest, fabs(change));
        if (fabs(change) > 1e-4)
            fprintf(script, "%.6g %.4f %.4f\n", change, top - width, top);
    }
    fputs("EOD\n", script);
    return largest;
}

static void draw(const struct comparing *comparing)
{
    struct report_page *page = comparing->page;
    const struct report *report = comparing->report;
    const uint32_t levels = report->machines[0].level_count;
    const size_t lines = report_line_count(report);
    const unsigned height = 90 + (unsigned)(lines * (16 + 6 * levels));
    FILE *script = report_script(page, 900, height);
    char name[PSNAP_LEVEL_NAME_ROOM], title[320];
    double largest = 0;

    if (!script)
        return;
    for (uint32_t l = 0; l < levels; l++)
        largest = fmax(largest, write_bars(script, comparing, l));
    report_line_axis(report, script);
    largest = largest > 0.1 ? 1.08 * largest : 0.1;
    fprintf(script,
            "set xrange [%g:%g]\nset xlabel 'change of the cumulative hit "
            "rate, points'\nset style fill solid 1.0 noborder\nset lmargin at screen 0.22\nset "
            "rmargin at screen 0.97\nset grid noytics\nset arrow from 0, graph 0 to "
            "0, graph 1 nohead lc rgb 'black' lw 1\nplot ",
            -largest, largest);
    for (uint32_t l = 0; l < levels; l++)
        fprintf(script, "%s$l%u using 1:2:(0):1:2:3 with boxxyerror lc rgb '" SVG_SERIES "'",
                l ? ", " : "", l, 16 * (l + 1));
    fputs(", NaN\n", script);
    report_legend(page);
    for (uint32_t l = 0; l < levels; l++)
        report_legend_entry(page, l + 1, "\xE2\x96\xA0",
                            psnap_machine_level_name(&report->machines[0], l, name));
    report_legend_end(page);
    snprintf(title, sizeof title, "From %s to %s, on %.200s", comparing->first->label,
             comparing->other->label, report->machines[0].name);
    report_draw(page, script, title,
                "To the right: more accesses are satisfied at this level or nearer; to the left: "
                "fewer.");
}

static enum psnap_status compare_with(struct report_page *page, size_t other,
                                      struct psnap_error *error)
{
    const struct report *report = page->report;
    const struct report_input *first = &report->inputs[0], *second = &report->inputs[other];
    struct compare compare = {0};
    const struct comparing comparing = {page, report, first, second, other, &compare};
    enum psnap_status status = compare_init(&compare, report->machines, report->machine_count,
                                            &first->side, &second->side, error);

    if (!status) {
        fprintf(page->file, "<h3>%s and %s</h3>\n", first->label, second->label);
        write_lead(&comparing);
        draw(&comparing);
        write_totals(&comparing);
        write_loops(&comparing);
    }
    compare_release(&compare);
    return status;
}

/* The first of them that is a profile; as many as there are inputs: none is. */
static size_t first_profile(const struct report *report)
{
    size_t i = 0;

    while (i < report->input_count && !report->inputs[i].is_profile)
        i++;
    return i;
}

enum psnap_status report_compare(struct report_page *page, struct psnap_error *error)
{
    const struct report *report = page->report;
    const size_t profile = first_profile(report);
    enum psnap_status status = PSNAP_OK;

    report_section(page, "comparison", "Comparison");
    for (size_t i = 1; i < report->input_count && !status; i++) {
        status = compare_with(page, i, error);
        if (!status && i > profile)
            status = report_diff(page, &report->inputs[profile], &report->inputs[i], error);
    }
    report_section_end(page);
    return status;
}
