/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locality surfaces on a page of psnap report: of each input, and of the hottest loops of the
 * first. A figure has a column for every 8 bytes of stride, the highest of those that round to it
 * away from 0, so that it has a thousand tiles and not ten; psnap locality draws them all.
 */
#include <inttypes.h>
#include <math.h>

#include "predict/locality/cmd_surface.h"
#include "predict/report/cmd_report.h"
#include "formats/base/html.h"
#include "predict/report/svg.h"

enum {
    STEP = 8,
    COLUMNS = 2 * PSNAP_SURFACE_STRIDE_MAX / STEP + 1,
    SCALE = 12, /* colours */
    STRIDES = 8 /* in a table */
};

struct surface {
    double shares[COLUMNS][PSNAP_SURFACE_DISTANCES], highest;
};

static int column_of(int stride)
{
    const int away = (stride < 0 ? -stride : stride) + STEP - 1;

    return COLUMNS / 2 + (stride < 0 ? -(away / STEP) : away / STEP);
}

static void fill(struct surface *surface, const struct psnap_locality *locality)
{
    *surface = (struct surface){.highest = 0};
    for (int s = 0; s < PSNAP_SURFACE_STRIDES && locality->accesses; s++)
        for (int k = 0; k < PSNAP_SURFACE_DISTANCES; k++) {
            const double share = (double)locality->surface[s][k] / (double)locality->accesses;
            double *column = surface->shares[column_of(s - PSNAP_SURFACE_STRIDE_MAX)];
            column[k] = fmax(column[k], share);
            surface->highest = fmax(surface->highest, share);
        }
}

static double highest_of(const struct psnap_locality *locality)
{
    struct surface surface;

    fill(&surface, locality);
    return surface.highest;
}

/* Whether a tile beside the point is above the floor: others are not drawn. */
static bool is_drawn(const struct surface *surface, int column, int k)
{
    for (int c = column - 1; c <= column + 1; c++)
        for (int d = k - 1; d <= k + 1; d++)
            if (c >= 0 && c < COLUMNS && d >= 0 && d < PSNAP_SURFACE_DISTANCES &&
                surface->shares[c][d] > 0)
                return true;
    return false;
}

static void write_script(FILE *script, const struct surface *surface, double top)
{
    fputs("$surface << EOD\n", script);
    for (int k = 0; k < PSNAP_SURFACE_DISTANCES; k++) {
        for (int c = 0; c < COLUMNS; c++)
            if (is_drawn(surface, c, k))
                fprintf(script, "%d %d %.4g\n", STEP * (c - COLUMNS / 2), k, surface->shares[c][k]);
            else
                fprintf(script, "%d %d NaN\n", STEP * (c - COLUMNS / 2), k);
        putc('\n', script);
    }
    fputs("EOD\nset border 31\n", script);
    surface_axes(script);
    fprintf(script, "set palette maxcolors %d defined (", SCALE);
    for (unsigned i = 0; i < SCALE; i++)
        fprintf(script, "%s%u '" SVG_SCALE "'", i ? ", " : "", i, 16 * i);
    fprintf(
        script,
        ")\nset pm3d noborder\nset ytics font ',12'\n"
        "set zrange [0:%g]\nset cbrange [0:%g]\nset lmargin 7\nset rmargin 2\nset tmargin 0\n"
        "set bmargin 0\nset view 52,318,1.06\nset xlabel offset 0,-0.5\nset ylabel offset 2,-0.5\n"
        "splot $surface using 1:2:3 with pm3d\n",
        top, top);
}

static void write_table(struct report_page *page, const struct psnap_locality *locality)
{
    static const char *const headings[] = {"Stride (bytes)",  "\xE2\x89\xA4 1",  "\xE2\x89\xA4 4",
                                           "\xE2\x89\xA4 16", "\xE2\x89\xA4 64", "\xE2\x89\xA4 1K",
                                           "\xE2\x89\xA4 64K"};
    static const int classes[] = {0, 2, 4, 6, 10, 16};
    bool named[PSNAP_SURFACE_STRIDES] = {false};

    report_details(page, "Table of the strongest strides");
    report_table(page, "Accesses that find a stride below them accessed, percent by distance",
                 headings, 7, 1, 0);
    for (int n = 0; n < STRIDES; n++) {
        int best = -1;
        double most = 0;
        char text[32];
        for (int s = 0; s < PSNAP_SURFACE_STRIDES; s++) {
            const double share = psnap_locality_share(locality, s - PSNAP_SURFACE_STRIDE_MAX, 16);
            if (!named[s] && share > most) {
                most = share;
                best = s;
            }
        }
        if (best < 0)
            break;
        named[best] = true;
        snprintf(text, sizeof text, "%d", best - PSNAP_SURFACE_STRIDE_MAX);
        report_row_name(page, text);
        for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
            report_cell_percent(
                page, psnap_locality_share(locality, best - PSNAP_SURFACE_STRIDE_MAX, classes[i]));
        report_row_end(page);
    }
    report_table_end(page);
    report_details_end(page);
}

/* `highest`: of the surfaces that this one is to be held against, 0: it stands alone. */
static void write_surface(struct report_page *page, const struct psnap_locality *locality,
                          const char *what, const char *label, double highest)
{
    FILE *script = report_script(page, 560, 400);
    char title[320], description[320];
    struct surface surface;

    fill(&surface, locality);
    snprintf(title, sizeof title, "Locality surface, %.200s, %.60s", what, label);
    snprintf(description, sizeof description,
             "Spatial score %.3f, temporal score %.3f. To the right strides, to the back how many "
             "accesses ago, upwards the share of accesses, at most %.3f.",
             psnap_locality_spatial(locality), psnap_locality_temporal(locality), surface.highest);
    if (script)
        write_script(script, &surface, surface_top(fmax(highest, surface.highest)));
    fputs("<div>\n", page->file);
    report_draw(page, script, title, description);
    if (!script) {
        report_heading(page, title);
        fputs("<p>", page->file);
        psnap_html_text(page->file, description);
        fputs("</p>\n", page->file);
    }
    write_table(page, locality);
    fputs("</div>\n", page->file);
}

void report_surfaces(struct report_page *page)
{
    const struct report *report = page->report;
    const struct report_input *first = &report->inputs[0];
    double highest = 0;

    report_section(page, "surfaces", "Locality");
    fputs(
        "<p>Each access is held against those before it: how often was the address so many bytes "
        "below its own accessed so many accesses ago? A ridge at stride 8 is a walk by words, one "
        "at stride 0 reuse; what is far back needs a large cache.</p>\n<div class=\"pair\">\n",
        page->file);
    for (size_t i = 0; i < report->input_count; i++)
        highest = fmax(highest, highest_of(report->inputs[i].total));
    for (size_t i = 0; i < report->input_count; i++)
        write_surface(page, report->inputs[i].total, "whole program", report->inputs[i].label,
                      highest);
    for (size_t i = 0; i < first->loop_count && first->side.loops.count > 1; i++)
        if (first->loops[i]->accesses) /* a sample may have none of a short one */
            write_surface(page, first->loops[i], first->side.loops.rows[i].id, first->label, 0);
    fputs("</div>\n", page->file);
    for (size_t i = 0; i < report->input_count; i++)
        if (report->inputs[i].locality_every > 1)
            fprintf(page->file,
                    "<p class=\"note\">Scores and surfaces of the %s input are estimated by one "
                    "access in %" PRIu32
                    ", in rows at places that are drawn, each held against all "
                    "before it; how many words were touched since, beyond 32 accesses, by one word "
                    "in 16.</p>\n",
                    report->inputs[i].label, report->inputs[i].locality_every);
    report_section_end(page);
}
