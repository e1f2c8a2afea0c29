/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A page of psnap report: its sections, with their figures as scripts for gnuplot; report_sections
 * has their order. Tables of loops are columns of
 * report_value(); a figure of loops has those of its table. Inputs differ in marks or dashes as
 * well as in colours.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "formats/base/html.h"
#include "formats/base/output.h"
#include "predict/cmd_gnuplot.h"
#include "predict/locality/cmd_surface.h"
#include "predict/report/cmd_report.h"
#include "profile/cmd_words.h"
#include "simcore/cmd_turns.h"

enum {
    SHOWN = 15,  /* loops in view */
    REGIONS = 6, /* loops of which all regions are listed */
    LINES = 12,  /* loops in a figure of lines, */
    CURVES = 6,  /* of curves, and panels of strides */
    WIDTH = 960  /* of figures, pixels */
};

static const char *const colours[CURVES] = {"#0a58a8", "#c2410c", "#8236a5",
                                            "#806000", "#0b7a57", "#b0105b"};

/* A name in a script, short. */
static void write_quoted(FILE *script, const char *name, size_t most)
{
    char room[PSNAP_HTML_SHORT];

    gnuplot_quoted(script, psnap_html_shorten(name, most, room));
}

/* A logarithmic x axis of bytes, and lines upwards where caches of the first machine end. */
static void write_bytes_axis(FILE *script, const struct report *report, double low, double high)
{
    const struct psnap_machine *machine = &report->machines[0];
    char name[PSNAP_LEVEL_NAME_ROOM];

    fprintf(script,
            "set logscale x 2\nset xrange [%g:%g]\nset format x '%%.0b %%BB'\nset xtics 1,%d\n"
            "set tmargin 5\n",
            low, high, log2(high / low) > 12 ? 16 : 4);
    for (uint32_t l = 0; l < machine->level_count; l++) {
        const uint64_t bytes = machine->levels[l].size_bytes;
        fprintf(script,
                "set arrow from %" PRIu64 ", graph 0 to %" PRIu64 ", graph 1 nohead dt 2\n"
                "set label at %" PRIu64 ", graph 1.04 center ",
                bytes, bytes, bytes);
        gnuplot_quoted(script, psnap_machine_level_name(machine, l, name));
        putc('\n', script);
    }
}

/* ----------------------------------------------------------------------- dots */

/* The whole program, which is NULL, and the hottest loops. */
static size_t line_count(const struct report *report)
{
    return 1 + (report->relevant_count < LINES ? report->relevant_count : LINES);
}

static double line_value(const struct report *report, const struct report_column *column, size_t i)
{
    return report_value(report, column, i ? &report->loops[i - 1] : NULL);
}

/* Data and y axis of a line for each loop, the whole program uppermost. */
static void write_lines(FILE *script, const struct report *report,
                        const struct report_columns *columns)
{
    const size_t lines = line_count(report);

    fputs("$dots << EOD\n", script);
    for (size_t i = 0; i < lines; i++) {
        fprintf(script, "%zu", lines - 1 - i);
        for (size_t c = 0; c < columns->count; c++)
            fprintf(script, " %.9g", line_value(report, &columns->items[c], i));
        putc('\n', script);
    }
    fputs("EOD\nset ytics (", script);
    for (size_t i = 0; i < lines; i++) {
        fputs(i ? ", " : "", script);
        write_quoted(script, i ? report->loops[i - 1].id : "whole program", 24);
        fprintf(script, " %zu", lines - 1 - i);
    }
    fprintf(script, ")\nset yrange [-0.6:%g]\n", (double)lines - 0.4);
}

static void write_dots(FILE *script, const struct report *report,
                       const struct report_columns *columns, size_t first, size_t end)
{
    static const unsigned points[] = {7, 6, 4, 8, [REPORT_INPUTS] = 1};

    for (size_t c = first; c < end; c++) {
        const struct report_column *column = &columns->items[c];
        const bool is_predicted = column->kind == REPORT_PREDICTED;
        const size_t series = is_predicted ? REPORT_INPUTS : column->input;
        fprintf(script, "%s $dots using (%s$%zu):1 with points pt %u ps %g lw 2 lc rgb '%s' title ",
                c == first ? "plot" : ",", column->kind == REPORT_WORKING_SET ? "" : "100*", c + 2,
                points[series], series ? 1.6 : 1.0, colours[series]);
        gnuplot_quoted(script,
                       is_predicted ? "predicted (SDCM)" : report->inputs[column->input].label);
    }
    putc('\n', script);
}

static void write_summary(struct report_page *page)
{
    const struct report *report = page->report;
    bool is_cut = false;
    char text[512], skip[32], count[32];

    snprintf(text, sizeof text,
             "Footprints are of lines of %" PRIu64 " bytes, scores of locality from 0 (none) to 1",
             report->inputs[0].distances[0].line_bytes);
    report_table(page, NULL, text,
                 "Input|File|What it is|Threads|#Accesses|#Loads %|#Loops|#Footprint|#Spatial|"
                 "#Temporal");
    for (size_t i = 0; i < report->input_count; i++) {
        const struct report_input *input = &report->inputs[i];
        const struct psnap_profile *profile = input->profile ? input->profile : input->measured;
        const struct report_regions regions = report_regions_of(input, NULL);
        report_row(page, input->label, NULL);
        report_text(page, input->path);
        snprintf(text, sizeof text, "%s%s%s",
                 input->is_profile ? "profile, replayed; model " : "trace",
                 input->is_profile ? profile->model : "",
                 psnap_sampling_is_part(&profile->sampling) ? ", a part of a run" : "");
        report_text(page, text);
        snprintf(text, sizeof text, "%" PRIu32 "%s%s", input->threads,
                 input->threads > 1 ? ", one hierarchy, " : "",
                 input->threads > 1 ? psnap_turns_words(input->side.in_turn) : "");
        report_text(page, text);
        report_cell(page, 'n', (double)input->side.accesses);
        report_cell(page, '%', (double)regions.loads / (double)regions.accesses);
        report_cell(page, 'n', (double)input->side.loops.count);
        report_cell(page, 'b', report_footprint(input));
        report_cell(page, 'r', psnap_locality_spatial(input->locality));
        report_cell(page, 'r', psnap_locality_temporal(input->locality));
        is_cut |= input->is_cut;
    }
    report_table_end(page, NULL);
    if (is_cut)
        fprintf(page->file,
                "<p class=\"note\">Of each input %s accesses are left out at the start, and at "
                "most %s are taken.</p>\n",
                psnap_group_digits(report->options.skip, skip),
                psnap_group_digits(report->options.count, count));
}

static void write_loops(struct report_page *page)
{
    const struct report *report = page->report;
    struct report_columns columns = {.count = 0};
    char caption[400];

    report_add(&columns, REPORT_ACCESS_COUNT, 0, 0, 0, 1);
    report_add(&columns, REPORT_SHARE, 0, 0, 0, report->input_count);
    report_add(&columns, REPORT_WORKING_SET, 0, 0, 0, 1);
    for (uint32_t l = 0; l < report->machines[0].level_count; l++)
        report_add(&columns, REPORT_RATE, 0, l, 0, 1);
    report_add(&columns, REPORT_STRIDES, 0, 0, 0, 1);
    snprintf(caption, sizeof caption,
             "Loops, most accesses first; cumulative hit rates are on %.250s",
             report->machines[0].name);
    report_loop_table(page, NULL, caption, &columns, 0, SHOWN);
    if (report->loop_count > SHOWN)
        report_loop_table(page, "More loops", caption, &columns, SHOWN + 1, REPORT_ROWS);
}

static void draw_rates(struct report_page *page, size_t machine,
                       const struct report_columns *columns, const char *title)
{
    const struct report *report = page->report;
    const uint32_t levels = report->machines[machine].level_count;
    const size_t lines = line_count(report), series = columns->count / levels;
    const unsigned height = 130 + 24 * (unsigned)lines;
    FILE *script = report_script(page, WIDTH, height);
    char name[PSNAP_LEVEL_NAME_ROOM];
    double low = 0.9;

    if (!script)
        return;
    for (size_t i = 0; i < lines; i++)
        for (size_t c = 0; c < columns->count; c++)
            low = fmin(low, line_value(report, &columns->items[c], i));
    write_lines(script, report, columns);
    fprintf(script,
            "set xrange [%g:101]\nset xlabel 'cumulative hit rate (%%)'\n"
            "set multiplot layout 1,%u margins 0.2,0.985,%g,%g spacing 0.035\n",
            floor(10 * low) * 10, levels, 64.0 / height, 1 - 64.0 / height);
    for (uint32_t l = 0; l < levels; l++) {
        fputs("set title ", script);
        gnuplot_quoted(script, psnap_machine_level_name(&report->machines[machine], l, name));
        putc('\n', script);
        write_dots(script, report, columns, l * series, (l + 1) * series);
        fputs("unset key\nset ytics format ''\nset ytics 1\n", script);
    }
    report_draw(page, script, title,
                "a panel for each level, a line for each of the hottest loops.");
}

static void write_rates(struct report_page *page)
{
    const struct report *report = page->report;
    char title[800], shape[400];

    for (size_t m = 0; m < report->machine_count; m++) {
        const struct psnap_machine *machine = &report->machines[m];
        struct report_columns columns = {.count = 0};
        for (uint32_t l = 0; l < machine->level_count; l++) {
            report_add(&columns, REPORT_RATE, m, l, 0, report->input_count);
            report_add(&columns, REPORT_PREDICTED, m, l, 0, 1);
        }
        snprintf(title, sizeof title, "Cumulative hit rates on %.250s, %s", machine->name,
                 scope_machine_shape(machine, shape, sizeof shape));
        draw_rates(page, m, &columns, title);
        report_loop_table(page, "Table of hit rates", title, &columns, 0, REPORT_ROWS);
    }
}

/* As psnap compare has it: over machines and relevant loops, 100 where one input lacks the loop. */
static double mean_points(const struct report *report, size_t other, uint32_t level)
{
    double sum = 0;
    size_t count = 0;

    for (size_t m = 0; m < report->machine_count; m++)
        for (size_t i = 0; i < report->relevant_count && level < report->machines[m].level_count;
             i++, count++) {
            const struct report_column column = {REPORT_CHANGE, other, m, level};
            const double points = report_value(report, &column, &report->loops[i]);
            sum += isnan(points) ? 100 : fabs(points);
        }
    return sum / (double)count;
}

/* Each further input against the first one. */
static void write_comparison(struct report_page *page)
{
    const struct report *report = page->report;
    const uint32_t levels = report->machines[0].level_count;

    fputs("<p>Each further input, held against the first.</p>\n", page->file);
    for (size_t i = 1; i < report->input_count; i++) {
        struct report_columns columns = {.count = 0};
        fputs("<p>Cumulative hit rates of loops with at least 0.5 % of the accesses are apart by, "
              "in the mean,",
              page->file);
        for (uint32_t l = 0; l < levels; l++)
            fprintf(page->file, " %.3f points at L%u,", mean_points(report, i, l), l + 1);
        fprintf(page->file, " locality surfaces by %.4f (0: the same, 1: nothing in common).</p>\n",
                psnap_locality_distance(report->inputs[0].locality, report->inputs[i].locality));
        report_add(&columns, REPORT_ACCESS_COUNT, 0, 0, 0, 1);
        report_add(&columns, REPORT_ACCESS_COUNT, 0, 0, i, i + 1);
        report_add(&columns, REPORT_WORKING_SET, 0, 0, 0, 1);
        report_add(&columns, REPORT_WORKING_SET, 0, 0, i, i + 1);
        for (uint32_t l = 0; l < levels; l++)
            report_add(&columns, REPORT_CHANGE, 0, l, i, i + 1);
        report_loop_table(page, NULL, report->machines[0].name, &columns, 0,
                          report->relevant_count);
    }
}

/* Of all inputs, or of the first one's loops. */
static void draw_curves(struct report_page *page, bool of_loops, const char *title,
                        const char *description)
{
    const struct report *report = page->report;
    const double line = (double)report->inputs[0].distances[0].line_bytes;
    const size_t loops = report->loop_count < CURVES ? report->loop_count : CURVES;
    const size_t count = of_loops ? loops : report->input_count;
    FILE *script = report_script(page, WIDTH, 440);
    double end = line;

    if (!script)
        return;
    for (size_t i = 0; i < report->input_count; i++)
        end = fmax(end, 2 * report_footprint(&report->inputs[i]));
    fputs("$curves << EOD\n", script);
    for (uint32_t step = 0; step < 16 * log2(1.1 * end / line); step++) {
        const double bytes = line * exp2(step / 16.0);
        fprintf(script, "%.0f", bytes);
        for (size_t i = 0; i < count; i++) {
            const struct report_column column = {REPORT_MISSES, of_loops ? 0 : i, 0,
                                                 (uint64_t)(bytes + 0.5)};
            fprintf(script, " %.6g", line_value(report, &column, of_loops ? i + 1 : 0));
        }
        putc('\n', script);
    }
    fputs("EOD\n", script);
    write_bytes_axis(script, report, line, end);
    fputs("set key maxrows 2\nset xlabel 'size of a fully associative LRU cache'\n"
          "set ylabel 'miss ratio'\nset yrange [0:1.02]\n",
          script);
    for (size_t i = 0; i < count; i++) {
        fprintf(script, "%s $curves using 1:%zu with steps lw 2 dt %zu lc rgb '%s' title ",
                i ? "," : "plot", i + 2, i + 1, colours[i]);
        write_quoted(script, of_loops ? report->loops[i].id : report->inputs[i].label, 20);
    }
    putc('\n', script);
    report_draw(page, script, title, description);
}

static void write_curves(struct report_page *page)
{
    draw_curves(page, false, "Miss-ratio curves of the whole program",
                "where a curve falls, a working set begins to fit; first touches always miss.");
    if (page->report->loop_count > 1)
        draw_curves(page, true, "Miss-ratio curves of the hottest loops",
                    "each of the loop's own accesses, whoever touched the line before.");
    for (size_t i = 0; i < page->report->input_count; i++) {
        struct report_columns columns = {.count = 0};
        for (uint64_t bytes = 1024; bytes <= 1 << 28; bytes *= 4)
            report_add(&columns, REPORT_MISSES, 0, bytes, i, i + 1);
        report_loop_table(page, "Table of miss ratios",
                          "Miss ratios in fully associative LRU caches, by size", &columns, 0,
                          REPORT_ROWS);
    }
}

static void draw_working_sets(struct report_page *page, const struct report_columns *columns)
{
    const struct report *report = page->report;
    FILE *script = report_script(page, WIDTH, 130 + 24 * (unsigned)line_count(report));
    double largest = 64;

    if (!script)
        return;
    for (size_t c = 0; c < columns->count; c++)
        largest = fmax(largest, line_value(report, &columns->items[c], 0));
    write_lines(script, report, columns);
    write_bytes_axis(script, report, 8, 2 * largest);
    fputs("set lmargin at screen 0.2\n", script);
    write_dots(script, report, columns, 0, columns->count);
    report_draw(page, script, "Working sets",
                "bytes of the lines that a loop touches; dashed: the first machine's caches.");
}

static void write_regions(struct report_page *page, const struct report_input *input)
{
    const struct report *report = page->report;
    const struct psnap_profile *profile = input->profile ? input->profile : input->measured;
    char text[256];

    snprintf(text, sizeof text, "Regions of the hottest loops, %s", input->label);
    report_table(page, "Table of regions", text,
                 "Loop|Region|#Share %|#Extent|#Loads %|Strides (bytes)");
    for (size_t n = 0; n < REGIONS && n < report->loop_count; n++)
        for (uint32_t i = 0; i < profile->loop_count; i++) {
            const struct psnap_profile_loop *loop = &profile->loops[i];
            for (uint32_t r = 0;
                 !strcmp(loop->src_id, report->loops[n].id) && r < loop->region_count; r++) {
                const struct psnap_profile_region *region = &loop->regions[r];
                const double accesses = (double)region->accesses;
                uint64_t strides[PSNAP_STRIDE_BINS] = {0};
                for (unsigned s = 0; s < region->stride_count; s++)
                    strides[region->strides[s].bin] = region->strides[s].count;
                report_row(page, loop->id, NULL);
                report_text(page, region->object ? region->object : region->id);
                report_cell(page, '%', accesses / (double)input->side.accesses);
                report_cell(page, 'b', (double)region->bytes);
                report_cell(page, '%', (double)region->kinds[PSNAP_LOAD] / accesses);
                report_text(page, human_strides(strides, text, sizeof text));
            }
        }
    report_table_end(page, "");
}

static void write_working_sets(struct report_page *page)
{
    const size_t inputs = page->report->input_count;
    struct report_columns columns = {.count = 0};

    report_add(&columns, REPORT_WORKING_SET, 0, 0, 0, inputs);
    draw_working_sets(page, &columns);
    report_loop_table(page, "Table of working sets", "Working sets", &columns, 0, REPORT_ROWS);
    for (size_t i = 0; i < inputs; i++)
        write_regions(page, &page->report->inputs[i]);
}

static void draw_strides(struct report_page *page)
{
    const struct report *report = page->report;
    const size_t lines = line_count(report);
    const size_t panels = lines < 3 ? 1 : lines < CURVES ? lines : CURVES;
    const unsigned rows = (unsigned)(panels + 1) / 2, height = 70 + 200 * rows;
    FILE *script = report_script(page, WIDTH, height);

    if (!script)
        return;
    fprintf(script,
            "set style data histograms\nset style histogram clustered gap 1\nset yrange [0:100]\n"
            "set ytics 25\nset grid noxtics\nset xtics rotate by -45 font ',12'\n"
            "set ylabel '%% of strides'\n"
            "set multiplot layout %u,%u margins 0.075,0.965,%g,%g spacing 0.085,%g\n",
            rows, panels > 1 ? 2 : 1, 56.0 / height, 1 - 60.0 / height, 92.0 / height);
    for (size_t p = 0; p < panels; p++) {
        fprintf(script, "$panel%zu << EOD\n", p);
        for (uint32_t bin = 0; bin < PSNAP_STRIDE_BINS; bin++) {
            fputs(psnap_stride_label(bin), script);
            for (size_t i = 0; i < report->input_count; i++) {
                const struct report_column column = {REPORT_STRIDE, i, 0, bin};
                fprintf(script, " %.6g", 100 * line_value(report, &column, p));
            }
            putc('\n', script);
        }
        fputs("EOD\nset title ", script);
        write_quoted(script, p ? report->loops[p - 1].id : "whole program", 44);
        for (size_t i = 0; i < report->input_count; i++)
            fprintf(script, "%s $panel%zu using %zu:xtic(1) lc rgb '%s' title '%s'",
                    i ? "," : "\nplot", p, i + 2, colours[i], report->inputs[i].label);
        fputs("\nunset key\n", script);
    }
    report_draw(page, script, "Stride histograms",
                "bytes from one access of a region to the next one of it; a bin has the strides up "
                "to its own from the one before it, \"random\" all above 256 bytes.");
}

static void write_strides(struct report_page *page)
{
    draw_strides(page);
    for (size_t i = 0; i < page->report->input_count; i++) {
        struct report_columns columns = {.count = 0};
        for (uint32_t bin = 0; bin < PSNAP_STRIDE_BINS; bin++)
            report_add(&columns, REPORT_STRIDE, 0, bin, i, i + 1);
        report_loop_table(page, "Table of strides", "Strides, percent by bin of bytes", &columns, 0,
                          REPORT_ROWS);
    }
}

/* A column of a figure has 8 bytes of stride, and is as high as the highest of them: a thousand
 * tiles instead of ten; psnap locality draws them all. */
static void draw_surface(struct report_page *page, const struct psnap_locality *locality,
                         double highest, const char *title)
{
    FILE *script = report_script(page, 560, 400);

    if (!script)
        return;
    surface_data(script, locality, 0, 8, false);
    surface_axes(script);
    surface_heights(script, highest);
    fputs("set border 31\nset pm3d noborder\nset ytics font ',12'\nset lmargin 7\nset rmargin 2\n"
          "set tmargin 0\nset bmargin 0\nset view 52,318,1.06\nset xlabel offset 0,-0.5\n"
          "set ylabel offset 2,-0.5\nsplot $side0 using 1:2:3 with pm3d\n",
          script);
    report_draw(page, script, title,
                "to the right strides, to the back how many accesses ago, upwards the share of "
                "accesses.");
}
static void write_surfaces(struct report_page *page)
{
    const struct report *report = page->report;
    double highest = 0;
    char title[160];

    fputs("<p>How often was the address so many bytes below an access's own accessed so many "
          "accesses ago? A ridge at stride 8 is a walk by words, one at 0 reuse.</p>\n",
          page->file);
    for (size_t i = 0; i < report->input_count; i++) {
        const struct report_input *input = &report->inputs[i];
        highest = fmax(highest, surface_highest(input->locality));
        if (input->locality_every > 1)
            fprintf(page->file,
                    "<p class=\"note\">Scores and surface of the %s input are estimated by one "
                    "access in %" PRIu32 ", in rows at places that are drawn.</p>\n",
                    input->label, input->locality_every);
    }
    fputs("<div class=\"pair\">\n", page->file);
    for (size_t i = 0; i < report->input_count; i++) {
        snprintf(title, sizeof title, "Locality surface, %s", report->inputs[i].label);
        draw_surface(page, report->inputs[i].locality, highest, title);
    }
    fputs("</div>\n", page->file);
}

static void write_certificate(struct report_page *page)
{
    for (size_t i = 0; i < page->report->input_count; i++) {
        const struct report_input *input = &page->report->inputs[i];
        const struct psnap_certificate *certificate =
            input->profile ? input->profile->certificate : NULL;
        char level[16];
        if (!certificate) {
            fprintf(page->file, "<p>The %s input has none: psnap record --certify makes one.</p>\n",
                    input->label);
            continue;
        }
        if (psnap_certificate_holds(input->profile, NULL) == 1)
            fputs("<p class=\"good\">It holds: the profile is as it was compared.</p>\n",
                  page->file);
        else
            fputs("<p class=\"bad\">It no longer holds: the profile was edited since.</p>\n",
                  page->file);
        report_table(page, NULL, "Errors of hit rates of replay; psnap compare checks them",
                     "Machine|Level|#Mean, points|#Largest|#Whole program");
        for (uint32_t r = 0; r < certificate->level_count; r++) {
            const struct psnap_certificate_row *row = &certificate->levels[r];
            report_row(page, row->machine ? row->machine : "all machines", NULL);
            report_text(page, psnap_certificate_level(row, level));
            report_cell(page, 'r', row->mean_points);
            report_cell(page, 'r', row->max_points);
            report_cell(page, 'r', row->total_points);
        }
        report_table_end(page, NULL);
    }
}

static void write_about(struct report_page *page)
{
    fputs("<p>A <em>cumulative hit rate</em> is the share of all accesses that are satisfied at a "
          "level or nearer, in caches that are cold at the start, a <em>point</em> one percent of "
          "them. A <em>loop</em> is one of the source, with all that the optimiser made of it. "
          "<em>Observed</em> is a trace, <em>synthetic</em> the replay of a profile, "
          "<em>predicted</em> what SDCM makes of reuse distances.</p>\n",
          page->file);
}

static void write_reason(struct report_page *page, const char *of, const char *on, const char *why)
{
    fprintf(page->file, "<p>Not predicted: %s on ", of);
    report_name(page, "code", on);
    fputs(": ", page->file);
    psnap_html_text(page->file, why);
    fputs("</p>\n", page->file);
}

static void write_times(struct report_page *page)
{
    const struct report *report = page->report;

    fputs(
        "<p>As <code>psnap predict runtime</code> has them, without assembly: not measured. Memory "
        "and core work at the same time (overlap), or one after the other (throughput), or each "
        "operation waits for the one before (published).</p>\n",
        page->file);
    for (size_t m = 0; m < report->machine_count; m++) {
        const struct psnap_machine *machine = &report->machines[m];
        struct report_columns columns = {.count = 0};
        for (size_t i = 0; i < report->input_count; i++) {
            const struct report_input *input = &report->inputs[i];
            if (input->forecast_of[m] == SIZE_MAX)
                write_reason(page, input->label, machine->name, input->reason[m]);
            for (uint32_t at = 0; at <= RUNTIME_METHODS && input->forecast_of[m] != SIZE_MAX; at++)
                report_add(&columns, REPORT_TIME, m, at, i, i + 1);
        }
        if (!columns.count)
            continue;
        if (!(machine->mispredict_cycles > 0 && machine->first_touch_cycles > 0))
            write_reason(page, "mispredicted branches, or first touches of pages", machine->name,
                         "it does not say mispredict_cycles, or memory.first_touch_cycles");
        report_loop_table(page, NULL, machine->name, &columns, 0, SHOWN);
    }
}

static const struct report_section report_sections[] = {
    {"summary", "Summary", write_summary},   {"loops", "Loops", write_loops},
    {"rates", "Hit rates", write_rates},     {"comparison", "Comparison", write_comparison},
    {"curves", "Miss ratios", write_curves}, {"working-sets", "Working sets", write_working_sets},
    {"strides", "Strides", write_strides},   {"surfaces", "Locality", write_surfaces},
    {"times", "Run times", write_times},     {"certificate", "Certificate", write_certificate},
    {"about", "About", write_about},         {NULL, NULL, NULL},
};

/* -------------------------------------------------------------------- the page */

/* Of the last input: a profile, if there is one, knows more than traces do. */
static const struct psnap_provenance *provenance_of(const struct report *report)
{
    return &report->inputs[report->input_count - 1].measured->provenance;
}

static const char *title_of(const struct report *report)
{
    const char *name = provenance_of(report)->name;

    return name && *name ? name : report->inputs[0].path;
}

static void write_command(FILE *file, const struct psnap_provenance *from)
{
    for (const char *const *word = from->command; word && *word; word++) {
        psnap_html_text(file, *word);
        putc(' ', file);
    }
}

/* The page's row in the index of its site, but for its end, in a comment: no text has a '>'. */
static void write_index_row(struct report_page *page)
{
    const struct report *report = page->report;
    const struct report_input *input = &report->inputs[0];
    const struct psnap_provenance *from = provenance_of(report);

    fprintf(page->file, "<!-- %s %s <tr><th scope=\"row\"><a href=\"%s.html\">", page->site_key,
            page->site_id, page->site_id);
    psnap_html_name(page->file, title_of(report), REPORT_NAME);
    fputs("</a></th><td>", page->file);
    write_command(page->file, from);
    fputs("</td>", page->file);
    report_cell(page, 'n', (double)input->side.accesses);
    report_cell(page, 'n', (double)input->side.loops.count);
    report_cell(page, 'b', report_footprint(input));
    for (size_t m = 0; m < report->machine_count; m++)
        for (uint32_t l = 0; l < report->machines[m].level_count; l++)
            report_cell(page, '%',
                        psnap_tally_cumulative(&input->side.total.rows[0].tallies[m], l));
    report_text(page, from->recorded ? from->recorded : "");
    fputs("-->\n", page->file);
}

static void write_header(struct report_page *page)
{
    const struct psnap_provenance *from = provenance_of(page->report);
    const char *const facts[] = {from->compiler, from->host, from->recorded};
    FILE *file = page->file;

    if (page->site_id)
        fprintf(file,
                "<p class=\"place\"><a href=\"index.html\">All profiles</a> "
                "<a href=\"psnap-profiles/%s.yaml\" download>This profile (YAML)</a></p>\n",
                page->site_id);
    fputs("<p><code>", file);
    write_command(file, from);
    fputs("</code></p>\n<p class=\"soft\">Memory behaviour", file);
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        if (facts[i]) {
            fputs(" \xC2\xB7 ", file);
            psnap_html_text(file, facts[i]);
        }
    fputs("</p>\n", file);
    if (!page->can_draw) {
        fputs("<p class=\"note\">There are no figures, but tables in their place: ", file);
        psnap_html_text(file, page->no_figure.message);
        fputs(".</p>\n", file);
    }
    fputs("<nav aria-label=\"Contents\">", file);
    for (const struct report_section *section = report_sections; section->id; section++)
        fprintf(file, "<a href=\"#%s\">%s</a> ", section->id, section->title);
    fputs("</nav>\n<main id=\"main\" tabindex=\"-1\">\n", file);
}

static void write_page(struct report_page *page)
{
    fputs("<!DOCTYPE html>\n", page->file);
    if (page->site_id)
        write_index_row(page);
    report_begin(page->file, title_of(page->report));
    write_header(page);
    for (const struct report_section *section = report_sections; section->id; section++) {
        fprintf(page->file,
                "<section id=\"%s\" aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">%s</h2>\n",
                section->id, section->id, section->id, section->title);
        section->write(page);
        fputs("</section>\n", page->file);
    }
    report_end(page->file);
}

/* Puts traces first; names all: "observed", "observed 2", "synthetic", "what if", "what if 2". */
static void arrange(struct report *report)
{
    struct report_input ordered[REPORT_INPUTS];
    size_t count = 0, of[3] = {0};

    for (int is_profile = 0; is_profile < 2; is_profile++)
        for (size_t i = 0; i < report->input_count; i++) {
            struct report_input *input = &report->inputs[i];
            const size_t kind = !is_profile ? 0 : of[1] ? 2 : 1;
            if (input->is_profile != is_profile)
                continue;
            snprintf(input->label, sizeof input->label, of[kind] ? "%s %zu" : "%s",
                     (const char *const[]){"observed", "synthetic", "what if"}[kind], of[kind] + 1);
            of[kind]++;
            ordered[count++] = *input;
        }
    memcpy(report->inputs, ordered, count * sizeof ordered[0]);
}

enum psnap_status report_make(struct report *report, const char *path, bool force,
                              struct report_page *page, struct psnap_error *error)
{
    struct psnap_output *output = psnap_output_open(path, force, error);
    enum psnap_status status = output ? PSNAP_OK : error->code;

    for (size_t i = 0; i < report->input_count && !status; i++)
        status = report_measure(report, &report->inputs[i], error);
    if (!status) {
        arrange(report);
        status = report_rank(report, error);
    }
    if (!status) {
        page->report = report;
        page->file = psnap_output_file(output);
        page->can_draw = !gnuplot_find("", &page->no_figure);
        write_page(page);
    }
    return output ? psnap_output_finish(output, status, error) : status;
}
