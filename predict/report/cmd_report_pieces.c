/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What pages of psnap report are made of: sections, tables, legends, figures. A figure that gnuplot
 * cannot draw is not there, and the page says so; its table is.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "predict/cmd_gnuplot.h"
#include "predict/report/cmd_report.h"
#include "formats/base/html.h"
#include "predict/report/svg.h"
#include "profile/cmd_words.h"

void report_section(struct report_page *page, const char *id, const char *title)
{
    fprintf(page->file, "<section id=\"%s\" aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">",
            id, id, id);
    fprintf(page->file, "<a href=\"#%s\">%s</a></h2>\n", id, title);
}

void report_heading(struct report_page *page, const char *title)
{
    fputs("<h3>", page->file);
    psnap_html_text(page->file, title);
    fputs("</h3>\n", page->file);
}

void report_section_end(struct report_page *page)
{
    fputs("</section>\n", page->file);
}

static void text_until(FILE *file, const char *text, const char *end)
{
    char *piece = strndup(text, (size_t)(end - text));

    if (piece)
        psnap_html_text(file, piece);
    free(piece);
}

void report_text(struct report_page *page, const char *text)
{
    FILE *file = page->file;
    const char *end;

    for (; *text; text = end) {
        const bool is_option = !strncmp(text, "--", 2);
        end = text + strcspn(text, is_option ? " " : " ,");
        end += *end == ',';
        fputs(is_option ? "<span class=\"whole\">" : "", file);
        text_until(file, text, end);
        fputs(is_option ? "</span>" : end[-1] == ',' && *end && *end != ' ' ? "<wbr>" : "", file);
        if (*end == ' ')
            fputs(*++end == '%' ? "&#8239;" : " ", file);
    }
}

/* --------------------------------------------------------------------- tables */

void report_table(struct report_page *page, const char *caption, const char *const *headings,
                  size_t columns, size_t first_number, size_t texts)
{
    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"", page->file);
    psnap_html_text(page->file, caption);
    fputs("\"><table><caption>", page->file);
    psnap_html_text(page->file, caption);
    fputs("</caption><thead><tr>", page->file);
    for (size_t i = 0; i < columns; i++) {
        fprintf(page->file, "<th scope=\"col\"%s>",
                i >= first_number && i + texts < columns ? " class=\"n\"" : "");
        psnap_html_text(page->file, headings[i]);
        fputs("</th>", page->file);
    }
    fputs("</tr></thead><tbody>\n", page->file);
}

void report_table_end(struct report_page *page)
{
    fputs("</tbody></table></div>\n", page->file);
}

void report_row_names(struct report_page *page, const char *name, const char *second)
{
    fputs("<tr><th scope=\"row\">", page->file);
    psnap_html_name(page->file, name, 48);
    if (second) {
        fputs("<small>", page->file);
        psnap_html_name(page->file, second, 56);
        fputs("</small>", page->file);
    }
    fputs("</th>", page->file);
}

void report_row_name(struct report_page *page, const char *name)
{
    report_row_names(page, name, NULL);
}

void report_cell(struct report_page *page, const char *format, ...)
{
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fputs("<td>", page->file);
    psnap_html_text(page->file, text);
    fputs("</td>", page->file);
}

static void number_cell(struct report_page *page, const char *text)
{
    fprintf(page->file, "<td class=\"n\">%s</td>", text);
}

void report_cell_count(struct report_page *page, uint64_t count)
{
    char digits[32];

    number_cell(page, psnap_group_digits(count, digits));
}

void report_cell_bytes(struct report_page *page, uint64_t bytes)
{
    char text[32];

    number_cell(page, human_bytes(bytes, text));
}

void report_cell_number(struct report_page *page, int digits, double number)
{
    char text[64];

    if (isnan(number))
        snprintf(text, sizeof text, "\xE2\x80\x93");
    else if (digits == REPORT_SIGNED)
        snprintf(text, sizeof text, "%s%.2f",
                 number <= -0.005  ? "\xE2\x88\x92"
                 : number >= 0.005 ? "+"
                                   : "",
                 fabs(number));
    else
        snprintf(text, sizeof text, "%.*f", digits, number);
    number_cell(page, text);
}

void report_cell_percent(struct report_page *page, double share)
{
    report_cell_number(page, 2, 100 * share);
}

void report_cell_bar(struct report_page *page, unsigned series, double share)
{
    fprintf(page->file,
            "<td class=\"n bar\"><span class=\"track\" aria-hidden=\"true\"><span "
            "style=\"width:%.1f%%;background:var(--s%u)\"></span></span>%.1f&#8239;%%</td>",
            100 * share, series, 100 * share);
}

/* They break between strides alone. */
void report_cell_strides(struct report_page *page, const uint64_t strides[PSNAP_STRIDE_BINS])
{
    char text[256];

    human_strides(strides, text, sizeof text);
    fputs("<td>", page->file);
    for (const char *at = text; *at; at++)
        if (*at == ' ' && at > text && at[-1] != ',')
            fputs(at[1] == '%' ? "&#8239;" : "&nbsp;", page->file);
        else
            putc(*at, page->file);
    fputs("</td>", page->file);
}

void report_row_end(struct report_page *page)
{
    fputs("</tr>\n", page->file);
}

void report_details(struct report_page *page, const char *summary)
{
    fprintf(page->file, "<details%s><summary>%s</summary>\n", page->can_draw ? "" : " open",
            summary);
}

void report_details_end(struct report_page *page)
{
    fputs("</details>\n", page->file);
}

void report_rows_left_out(struct report_page *page)
{
    const size_t count = report_row_count(page->report);

    if (count < page->report->rank.count)
        fprintf(page->file, "<p>The %zu hottest of %zu loops.</p>\n", count,
                page->report->rank.count);
}

/* -------------------------------------------------------------------- legends */

unsigned report_series(size_t input)
{
    static const unsigned series[RANK_INPUTS] = {1, 2, 4, 5};

    return series[input];
}

const char *report_mark(size_t input)
{
    static const char *const marks[RANK_INPUTS] = {"\xE2\x97\x8F", "\xE2\x97\x8B", "\xE2\x96\xA1",
                                                   "\xE2\x96\xB3"};

    return marks[input];
}

unsigned report_point(size_t input)
{
    static const unsigned points[RANK_INPUTS] = {7, 6, 4, 8};

    return points[input];
}

void report_legend(struct report_page *page)
{
    fputs("<ul class=\"legend\">", page->file);
}

void report_legend_entry(struct report_page *page, unsigned series, const char *mark,
                         const char *name)
{
    fprintf(page->file, "<li><span aria-hidden=\"true\" style=\"color:var(--s%u)\">%s</span> ",
            series, mark);
    psnap_html_name(page->file, name, 48);
    fputs("</li>", page->file);
}

void report_legend_end(struct report_page *page)
{
    fputs("</ul>\n", page->file);
}

void report_legend_inputs(struct report_page *page)
{
    const struct report *report = page->report;

    if (report->input_count < 2)
        return;
    report_legend(page);
    for (size_t i = 0; i < report->input_count; i++)
        report_legend_entry(page, report_series(i), "\xE2\x96\xA0", report->inputs[i].label);
    report_legend_end(page);
}

/* -------------------------------------------------------------------- figures */

FILE *report_script(struct report_page *page, unsigned width, unsigned height)
{
    struct psnap_error error;
    FILE *script = page->can_draw ? gnuplot_script(&error) : NULL;

    if (script)
        fprintf(script,
                "set terminal svg dynamic noenhanced size %u,%u font ',14'\nset encoding utf8\n"
                "unset key\nset border 3 linecolor rgb 'gray'\nset tics nomirror textcolor rgb "
                "'black'\n"
                "set grid linecolor rgb 'gray' linewidth 0.6 dashtype solid\n",
                width, height);
    return script;
}

void report_quoted(FILE *script, const char *name, size_t most)
{
    char room[PSNAP_HTML_SHORT];

    gnuplot_quoted(script, psnap_html_shorten(name, most, room));
}

void report_line_axis(const struct report *report, FILE *script)
{
    const size_t lines = report_line_count(report);

    fputs("set ytics (", script);
    for (size_t i = 0; i < lines; i++) {
        fputs(i ? ", " : "", script);
        report_quoted(script, report_line_name(report, i), 24);
        fprintf(script, " %zu", lines - 1 - i);
    }
    fprintf(script, ")\nset yrange [-0.6:%g]\n", (double)lines - 0.4);
}

void report_cache_marks(const struct report *report, FILE *script)
{
    const struct psnap_machine *machine = &report->machines[0];
    char name[PSNAP_LEVEL_NAME_ROOM];

    for (uint32_t l = 0; l < machine->level_count; l++) {
        const uint64_t bytes = machine->levels[l].size_bytes;
        fprintf(script,
                "set arrow from %" PRIu64 ", graph 0 to %" PRIu64 ", graph 1 nohead dashtype 2 "
                "linecolor rgb 'black' linewidth 0.8\nset label ",
                bytes, bytes);
        gnuplot_quoted(script, psnap_machine_level_name(machine, l, name));
        fprintf(script, " at %" PRIu64 ", graph 1.03 center\n", bytes);
    }
}

void report_bytes_axis(FILE *script, uint64_t low, uint64_t high)
{
    char text[32];
    unsigned step = 1, first = 0;

    while (UINT64_C(1) << first < low && first < 62)
        first++;
    while ((UINT64_C(1) << first) < high >> (10 * step) && step < 6)
        step++;
    fputs("set logscale x 2\nset xtics (", script);
    for (unsigned power = first - first % step; power < 63 && UINT64_C(1) << power <= high;
         power += step)
        if (UINT64_C(1) << power >= low) {
            gnuplot_quoted(script, human_bytes(UINT64_C(1) << power, text));
            fprintf(script, " %" PRIu64 ", ", UINT64_C(1) << power);
        }
    fputs("'' 1)\n", script);
}

/* The drawn figure, or what went wrong. */
static enum psnap_status draw(struct report_page *page, FILE *script, const char *title,
                              const char *description, struct psnap_error *error)
{
    FILE *drawn = gnuplot_script(error);
    enum psnap_status status;
    char *text, *inlined = NULL;
    size_t size = 0, inlined_size = 0;
    FILE *memory;

    if (!drawn) {
        fclose(script);
        return error->code;
    }
    status = gnuplot_draw(script, "figure", drawn, error);
    text = status ? NULL : psnap_cmd_content(drawn, &size);
    memory = text ? open_memstream(&inlined, &inlined_size) : NULL;
    if (memory) {
        if (!svg_inline(text, size, page->figures, title, description, memory))
            status = psnap_error_set(error, PSNAP_ERROR_UNSUPPORTED,
                                     "gnuplot drew something that is no figure");
        fclose(memory);
        if (!status)
            fwrite(inlined, 1, inlined_size, page->file);
        free(inlined);
    } else if (!status) {
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for a figure");
    }
    free(text);
    fclose(drawn);
    return status;
}

void report_draw(struct report_page *page, FILE *script, const char *title, const char *description)
{
    struct psnap_error error;

    if (!script)
        return;
    page->figures++;
    fputs("<figure><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"", page->file);
    psnap_html_text(page->file, title);
    fputs("\">", page->file);
    if (draw(page, script, title, description, &error)) {
        psnap_cmd_warn(&error);
        fputs("<p class=\"note\">This figure could not be drawn: ", page->file);
        psnap_html_text(page->file, error.message);
        fputs("</p>", page->file);
    }
    fputs("</div><figcaption><b>", page->file);
    psnap_html_text(page->file, title);
    fputs(".</b> ", page->file);
    psnap_html_text(page->file, description);
    fputs("</figcaption></figure>\n", page->file);
}
