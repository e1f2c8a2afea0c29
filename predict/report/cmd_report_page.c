/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of the pages of psnap report, from their heads to their feet, tables and figures:
 * one file that needs nothing else, runs no scripts, and is readable in light and dark, on paper,
 * on a telephone and by a screen reader. A figure is an image, gnuplot's SVG as it is, in which
 * nothing can run; dark inverts it. Names of programs, functions and files are text:
 * formats/base/html.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/html.h"
#include "formats/base/output.h"
#include "predict/cmd_gnuplot.h"
#include "predict/report/cmd_report.h"
#include "profile/cmd_words.h"

enum { HEADINGS = 100 * REPORT_COLUMNS };

/* All text has a contrast of 4.5 and more to what is behind it (WCAG 2.1, AA). */
#define LIGHT                                                                                      \
    ":root{color-scheme:light;--paper:#fff;--ink:#1b2430;--soft:#4d5b6b;"                          \
    "--line:#d5dce4;--link:#0a58a8;--good:#12703f;--bad:#b42318;--bar:#cfe2f6}"
#define DARK                                                                                       \
    ":root{color-scheme:dark;--paper:#12171e;--ink:#e6ebf1;--soft:#a9b5c2;"                        \
    "--line:#313c49;--link:#7cb8ff;--good:#5fd39a;--bad:#ff8f85;--bar:#1f4368}"

static const char style[] = LIGHT
    "@media (prefers-color-scheme:dark){" DARK "img{filter:invert(1) hue-rotate(180deg)}}"
    "*{box-sizing:border-box}"
    "body{margin:0 auto;max-width:80rem;padding:1rem;background:var(--paper);color:var(--ink);"
    "font:16px/1.5 system-ui,'DejaVu Sans',sans-serif}a,summary{color:var(--link)}"
    ":focus-visible{outline:3px solid var(--link)}.skip{position:absolute;left:-999em}"
    ".skip:focus{left:1rem}h1,h3,p,code,b,tbody th,td{overflow-wrap:anywhere}"
    "p,figcaption{max-width:46rem}.soft,caption,thead th,small{color:var(--soft)}"
    "small{display:block}.good{color:var(--good)}.bad,.note{color:var(--bad)}"
    "nav a{margin-right:1rem;white-space:nowrap}.scroll{overflow-x:auto}figure{margin:1rem 0}"
    "img{display:block;max-width:100%;min-width:30rem}.pair{display:flex;flex-wrap:wrap}"
    ".pair>figure{flex:1 1 30rem;min-width:0}"
    "table{border-collapse:collapse;width:100%;font-size:.9rem}caption,th,td{text-align:left}"
    "th,td{padding:.3rem .6rem;vertical-align:baseline;border-bottom:1px solid var(--line)}"
    "tbody th,code{font:500 .85em ui-monospace,'DejaVu Sans Mono',monospace}"
    "tbody th,td:not(.n){min-width:8rem}"
    ".n,thead th.n{text-align:right;font-variant-numeric:tabular-nums}td.n{white-space:nowrap}"
    "@media print{" LIGHT "body{font-size:10pt;max-width:none}nav,.skip,.place{display:none}"
    ".scroll{overflow:visible}img{filter:none;min-width:0}figure,tr{break-inside:avoid}"
    "h2,h3,summary{break-after:avoid}a{color:inherit}*{print-color-adjust:exact}}\n";

void report_begin(FILE *file, const char *title)
{
    fputs("<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"generator\" content=\"psnap " PSNAP_VERSION "\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
          "'unsafe-inline'; img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n<title>",
          file);
    psnap_html_text(file, title);
    fprintf(file,
            "</title>\n<style>\n%s</style>\n</head>\n<body>\n"
            "<a class=\"skip\" href=\"#main\">Skip to the report</a>\n<h1>",
            style);
    psnap_html_text(file, title);
    fputs("</h1>\n", file);
}

void report_end(FILE *file)
{
    fputs("</main>\n<footer class=\"soft\">Made by psnap " PSNAP_VERSION
          " report. This file needs no network and runs no scripts.</footer>\n</body>\n</html>\n",
          file);
}

/* ---------------------------------------------------------------------- tables */

void report_table(struct report_page *page, const char *summary, const char *caption,
                  const char *headings)
{
    char text[REPORT_TEXT];

    if (summary)
        fprintf(page->file, "<details%s><summary>%s</summary>\n", page->can_draw ? "" : " open",
                summary);
    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"", page->file);
    psnap_html_text(page->file, caption);
    fputs("\"><table><caption>", page->file);
    psnap_html_text(page->file, caption);
    fputs("</caption><thead><tr>", page->file);
    for (; *headings; headings += strspn(headings, "|")) {
        const bool is_number = *headings == '#';
        headings += is_number;
        snprintf(text, sizeof text, "%.*s", (int)strcspn(headings, "|"), headings);
        headings += strcspn(headings, "|");
        fprintf(page->file, "<th scope=\"col\"%s>", is_number ? " class=\"n\"" : "");
        psnap_html_text(page->file, text);
        fputs("</th>", page->file);
    }
    fputs("</tr></thead><tbody>", page->file);
}

void report_table_end(struct report_page *page, const char *summary)
{
    fprintf(page->file, "\n</tbody></table></div>%s\n", summary ? "</details>" : "");
}

void report_row(struct report_page *page, const char *name, const char *second)
{
    fputs("\n<tr><th scope=\"row\">", page->file);
    psnap_html_name(page->file, name, REPORT_NAME);
    if (second)
        report_name(page, "small", second);
    fputs("</th>", page->file);
}

void report_text(struct report_page *page, const char *text)
{
    fputs("<td>", page->file);
    psnap_html_text(page->file, text);
    fputs("</td>", page->file);
}

void report_cell(struct report_page *page, char format, double value)
{
    static const char *const units[] = {"s", "ms", "\xC2\xB5s", "ns"};
    char text[REPORT_TEXT] = "\xE2\x80\x93";
    size_t unit = 0;

    if (format == 'n' && !isnan(value))
        psnap_group_digits((uint64_t)value, text);
    else if (format == 'b' && !isnan(value))
        human_bytes((uint64_t)value, text);
    else if (format == '%' && value < 1 && value >= 0.99995) /* it does not become all of it */
        strcpy(text, "> 99.99");
    else if (format == '%' && !isnan(value))
        snprintf(text, sizeof text, "%.2f", 100 * value);
    else if (format == 's' && !isnan(value)) {
        for (; value > 0 && value < 1 && unit < 3; unit++)
            value *= 1000;
        snprintf(text, sizeof text, "%.3g %s", value, units[unit]);
    } else if (!isnan(value))
        snprintf(text, sizeof text, format == '+' ? "%+.2f" : "%.3f",
                 fabs(value) < 0.0005 ? 0 : value);
    fprintf(page->file, "<td class=\"n\">%s</td>", text);
}

void report_name(struct report_page *page, const char *element, const char *name)
{
    fprintf(page->file, "<%s>", element);
    psnap_html_name(page->file, name, 2 * REPORT_NAME);
    fprintf(page->file, "</%s>", element);
}

/* -------------------------------------------------------------- tables of loops */

static const struct {
    const char *heading;
    char format;
} kinds[] = {
    [REPORT_ACCESS_COUNT] = {"Accesses", 'n'},
    [REPORT_SHARE] = {"Share %", '%'},
    [REPORT_WORKING_SET] = {"Working set", 'b'},
    [REPORT_RATE] = {"%", '%'},
    [REPORT_PREDICTED] = {"predicted %", '%'},
    [REPORT_CHANGE] = {"change, points", '+'},
    [REPORT_MISSES] = {"", 'r'},
    [REPORT_STRIDE] = {"", '%'},
    [REPORT_STRIDES] = {"Strides (bytes)", 'n'},
    [REPORT_TIME] = {"", 's'},
};

void report_add(struct report_columns *columns, enum report_kind kind, size_t machine, uint64_t at,
                size_t from, size_t to)
{
    for (size_t input = from; input < to && columns->count < REPORT_COLUMNS; input++)
        columns->items[columns->count++] = (struct report_column){kind, input, machine, at};
}

/* Adds "|#L1 % observed": a column of one of several inputs says of which. */
static void add_heading(const struct report *report, const struct report_column *column,
                        char headings[HEADINGS])
{
    const struct psnap_machine *machine = &report->machines[column->machine];
    char heading[REPORT_TEXT], text[PSNAP_LEVEL_NAME_ROOM] = "";
    const size_t used = strlen(headings);
    const char *prefix = "";

    if (column->kind == REPORT_RATE || column->kind == REPORT_PREDICTED ||
        column->kind == REPORT_CHANGE)
        prefix = psnap_machine_level_name(machine, (uint32_t)column->at, text);
    else if (column->kind == REPORT_MISSES)
        prefix = human_bytes(column->at, text);
    else if (column->kind == REPORT_STRIDE)
        prefix = psnap_stride_label((unsigned)column->at);
    else if (column->kind == REPORT_TIME)
        prefix = column->at == RUNTIME_METHODS
                     ? "of memory"
                     : runtime_method_name((enum runtime_method)column->at);
    snprintf(heading, sizeof heading, "%.40s %s %s", prefix, kinds[column->kind].heading,
             report->input_count > 1 && column->kind != REPORT_PREDICTED
                 ? report->inputs[column->input].label
                 : "");
    for (char *at = heading; *at; at++)
        *at = *at == '|' ? ' ' : *at;
    snprintf(headings + used, HEADINGS - used, "|%s%s", column->kind == REPORT_STRIDES ? "" : "#",
             heading + strspn(heading, " "));
}

static void write_value(struct report_page *page, const struct report_column *column,
                        const struct report_loop *loop)
{
    const double value = report_value(page->report, column, loop);
    char text[256];

    if (column->kind == REPORT_STRIDES) {
        const struct report_regions regions =
            report_regions_of(&page->report->inputs[column->input], loop);
        report_text(page, human_strides(regions.strides, text, sizeof text));
    } else if (column->kind == REPORT_SHARE && value >= 0) {
        fprintf(page->file,
                "<td class=\"n\" style=\"background:linear-gradient(90deg,var(--bar) "
                "%.1f%%,transparent 0)\">%.1f</td>",
                100 * value, 100 * value);
    } else {
        report_cell(page, kinds[column->kind].format, value);
    }
}

void report_loop_table(struct report_page *page, const char *summary, const char *caption,
                       const struct report_columns *columns, size_t first, size_t last)
{
    const struct report *report = page->report;
    const size_t end = last < report->loop_count ? last : report->loop_count;
    char headings[HEADINGS] = "Loop";

    for (size_t c = 0; c < columns->count; c++)
        add_heading(report, &columns->items[c], headings);
    report_table(page, summary, caption, headings);
    for (size_t i = first; i <= end; i++) {
        const struct report_loop *loop = i ? &report->loops[i - 1] : NULL;
        report_row(page, loop ? loop->id : "whole program",
                   loop && columns->items[0].kind == REPORT_ACCESS_COUNT ? loop->name : NULL);
        for (size_t c = 0; c < columns->count; c++)
            write_value(page, &columns->items[c], loop);
    }
    report_table_end(page, summary);
    if (last == REPORT_ROWS && end < report->loop_count)
        fprintf(page->file, "<p>The %zu hottest of %zu loops.</p>\n", end, report->loop_count);
}

/* -------------------------------------------------------------------- figures */

FILE *report_script(struct report_page *page, unsigned width, unsigned height)
{
    struct psnap_error error;
    FILE *script = page->can_draw ? gnuplot_script(&error) : NULL;

    if (script)
        fprintf(script,
                "set terminal svg noenhanced size %u,%u font 'sans-serif,14'\nset encoding utf8\n"
                "set border 3 lc rgb '#808080'\nset tics nomirror textcolor rgb 'black'\n"
                "set grid lc rgb '#c3ccd6' lw 0.6 dt solid\nset style fill solid noborder\n"
                "set key at screen 0.55,0.99 center top maxrows 1 samplen 2\n",
                width, height);
    return script;
}

void report_draw(struct report_page *page, FILE *script, const char *title, const char *description)
{
    struct psnap_error error;
    FILE *file = page->file, *drawn = gnuplot_script(&error);
    size_t size;
    char *svg = NULL, *at;

    fputs("<figure><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"", file);
    psnap_html_text(file, title);
    fputs("\">", file);
    if (!drawn)
        fclose(script);
    else if (!gnuplot_draw(script, "figure", drawn, &error))
        svg = psnap_cmd_content(drawn, &size);
    if (svg) { /* the image in its own address */
        fputs("<img src=\"data:image/svg+xml,", file);
        for (at = svg; *at; at++)
            fprintf(file, strchr("\"#%&\n", *at) || *at < 0 ? "%%%02X" : "%c", (unsigned char)*at);
        fputs("\" alt=\"", file);
        psnap_html_text(file, title);
        fputs("\">", file);
    } else {
        psnap_cmd_warn(&error);
        fputs("<p class=\"note\">This figure could not be drawn: ", file);
        psnap_html_text(file, error.message);
        fputs("</p>", file);
    }
    fputs("</div><figcaption>", file);
    report_name(page, "b", title);
    fputs(": ", file);
    psnap_html_text(file, description);
    fputs("</figcaption></figure>\n", file);
    free(svg);
    if (drawn)
        fclose(drawn);
}
