/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The page of psnap report from its head to its foot: one file that needs nothing else, without
 * scripts, readable in light and dark, on paper, on a telephone and by a screen reader.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "predict/report/cmd_report.h"
#include "formats/base/html.h"
#include "profile/cmd_words.h"
#include "profile/repo/cmd_repo_read.h"
#include "predict/report/cmd_report_index.h"
#include "simcore/cmd_turns.h"

/* "4.36 M" */
static const char *human_count(uint64_t count, char text[32])
{
    static const char units[] = " KMGTPE";
    double value = (double)count;
    unsigned unit = 0;

    for (; value >= 999.5 && unit < sizeof units - 2; unit++)
        value /= 1000;
    snprintf(text, 32, unit ? "%.3g %c" : "%.0f", value, units[unit]);
    return text;
}

/* The first input that knows its program's name. */
static const struct psnap_provenance *provenance_of(const struct report *report)
{
    for (size_t i = 0; i < report->input_count; i++) {
        const struct psnap_provenance *from = &report->inputs[i].measured->provenance;
        if (from->name && *from->name)
            return from;
    }
    return &report->inputs[0].measured->provenance;
}

static const char *title_of(const struct report *report)
{
    const struct psnap_provenance *from = provenance_of(report);

    return from->name && *from->name ? from->name : report->inputs[0].path;
}

/* ----------------------------------------------------------------------- head */

static void write_head(struct report_page *page)
{
    FILE *file = page->file;

    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n"
          "<meta name=\"generator\" content=\"psnap " PSNAP_VERSION "\">\n",
          file);
    if (page->place)
        report_figures_write(page);
    fputs("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
          "'unsafe-inline'; img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n<title>",
          file);
    psnap_html_text(file, title_of(page->report));
    fputs(" \xE2\x80\x93 memory behaviour</title>\n<style>\n", file);
    for (const char *const *rule = report_style; *rule; rule++)
        fputs(*rule, file);
    fputs("</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the report</a>\n"
          "<div class=\"frame\">\n",
          file);
}

static void write_command(FILE *file, const struct psnap_provenance *from)
{
    if (!from->command || !from->command[0])
        return;
    fputs("<p class=\"command\">", file);
    for (const char *const *word = from->command; *word; word++) {
        fputs(word == from->command ? "" : " ", file);
        psnap_html_text(file, *word);
    }
    fputs("</p>\n", file);
}

static void write_header(struct report_page *page)
{
    const struct psnap_provenance *from = provenance_of(page->report);
    const char *const facts[] = {from->compiler, from->host, from->recorded};
    const char *separator = "<p class=\"soft\">";
    FILE *file = page->file;

    fputs("<header>\n", file);
    if (page->place)
        fprintf(file,
                "<p class=\"place\"><a href=\"" SITE_INDEX
                "\">All profiles</a> <a href=\"" SITE_PROFILE
                "\" download>This profile (YAML)</a></p>\n",
                page->place->id);
    fputs("<p class=\"kind\">Memory behaviour</p>\n<h1>", file);
    psnap_html_text(file, title_of(page->report));
    fputs("</h1>\n", file);
    write_command(file, from);
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        if (facts[i] && *facts[i]) {
            fputs(separator, file);
            psnap_html_text(file, facts[i]);
            separator = " \xC2\xB7 ";
        }
    fputs(separator[0] == '<' ? "" : "</p>\n", file);
    if (!page->can_draw) {
        fputs("<p class=\"note\">There are no figures, but tables in their place: ", file);
        psnap_html_text(file, page->no_figure.message);
        fputs(".</p>\n", file);
    }
    fputs("</header>\n", file);
}

static void write_contents(struct report_page *page)
{
    static const struct {
        const char *id, *title;
    } sections[] = {
        {"summary", "Summary"},         {"loops", "Loops"},        {"rates", "Hit rates"},
        {"comparison", "Comparison"},   {"curves", "Miss ratios"}, {"working-sets", "Working sets"},
        {"strides", "Strides"},         {"surfaces", "Locality"},  {"times", "Run times"},
        {"certificate", "Certificate"}, {"about", "About"}};

    fputs("<nav aria-label=\"Contents\"><ul>\n", page->file);
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        if (!strcmp(sections[i].id, "comparison") && page->report->input_count < 2)
            continue;
        if (!strcmp(sections[i].id, "certificate") && !report_has_certificate(page->report))
            continue;
        fprintf(page->file, "<li><a href=\"#%s\">%s</a></li>\n", sections[i].id, sections[i].title);
    }
    fputs("</ul></nav>\n<main id=\"main\" tabindex=\"-1\">\n", page->file);
}

/* -------------------------------------------------------------------- summary */

static void tile(struct report_page *page, const char *term, const char *value, const char *class,
                 const char *more)
{
    fputs("<div><dt>", page->file);
    psnap_html_text(page->file, term);
    fprintf(page->file, "</dt><dd%s%s%s>", class ? " class=\"" : "", class ? class : "",
            class ? "\"" : "");
    psnap_html_text(page->file, value);
    if (more) {
        fputs("<small>", page->file);
        report_text(page, more);
        fputs("</small>", page->file);
    }
    fputs("</dd></div>\n", page->file);
}

/* Who and where in a sentence: which loop is hottest, and what the caches make of it. */
static void write_lead(struct report_page *page)
{
    const struct report *report = page->report;
    const struct psnap_machine *machine = &report->machines[0];
    const struct psnap_tally *tally = &report->inputs[0].side.total.rows[0].tallies[0];
    const double rest = 1 - psnap_tally_cumulative(tally, machine->level_count - 1);
    const struct rank_loop *hot = &report->rank.loops[0];
    char text[32];

    fputs("<p class=\"lead\">", page->file);
    if (report->rank.count > 1) {
        fputs("The loop <code>", page->file);
        psnap_html_name(page->file, hot->id, 60);
        fprintf(page->file, "</code> makes %.1f&#8239;%% of the accesses. ", 100 * rank_share(hot));
    }
    fprintf(page->file, "In the caches of %s<code>",
            report->machine_count > 1 ? "the first machine, " : "");
    report_text(page, machine->name);
    fputs("</code>, ", page->file);
    psnap_html_text(page->file, report_percent(psnap_tally_cumulative(tally, 0), text));
    fputs("&#8239;% of all accesses are satisfied in level 1", page->file);
    fprintf(page->file, ", and %.3g&#8239;%% go on to memory.</p>\n", 100 * rest);
}

static void certificate_tile(struct report_page *page)
{
    for (size_t i = 0; i < page->report->input_count; i++) {
        const struct report_input *input = &page->report->inputs[i];
        const struct psnap_certificate *certificate =
            input->is_profile ? input->profile->certificate : NULL;
        char text[64] = "holds", more[64] = "";
        if (!certificate)
            continue;
        if (psnap_certificate_holds(input->profile, NULL) != 1) {
            tile(page, "Certificate", "does not hold", "bad", "the profile was edited since");
            return;
        }
        if (certificate->level_count && !isnan(certificate->levels[0].mean_points))
            snprintf(more, sizeof more, "level 1 off by %.2f\xC2\xA0points, mean of loops",
                     certificate->levels[0].mean_points);
        tile(page, "Certificate", text, "good", more);
        return;
    }
    if (report_has_certificate(page->report))
        tile(page, "Certificate", "none", NULL, "psnap record --certify makes one");
}

void report_summary(struct report_page *page)
{
    const struct report *report = page->report;
    const struct report_input *input = &report->inputs[0];
    const struct psnap_machine *machine = &report->machines[0];
    const struct psnap_tally *tally = &input->side.total.rows[0].tallies[0];
    const struct report_regions regions = report_regions_of(input, NULL);
    char text[64], more[96], share[32], name[PSNAP_LEVEL_NAME_ROOM];

    report_section(page, "summary", "Summary");
    write_lead(page);
    fputs("<dl class=\"tiles\">\n", page->file);
    snprintf(more, sizeof more, "%.1f %% loads, %.1f %% stores",
             100 * (double)regions.loads / (double)(regions.accesses ? regions.accesses : 1),
             100 * (double)regions.stores / (double)(regions.accesses ? regions.accesses : 1));
    tile(page, "Accesses", human_count(input->side.accesses, text), NULL, more);
    snprintf(more, sizeof more,
             "in lines of %" PRIu64 "\xC2\xA0"
             "bytes",
             input->distances[0].line_bytes);
    tile(page, "Footprint",
         human_bytes(input->distances[0].lines * input->distances[0].line_bytes, text), NULL, more);
    snprintf(text, sizeof text, "%zu", input->side.loops.count);
    snprintf(more, sizeof more, "%" PRIu32 " thread%s", input->threads,
             psnap_plural(input->threads));
    tile(page, "Loops", text, NULL, more);
    for (uint32_t l = 0; l < machine->level_count; l++) {
        snprintf(text, sizeof text, "%s\xC2\xA0%%",
                 report_percent(psnap_tally_cumulative(tally, l), share));
        snprintf(more, sizeof more, "Hits up to %s", psnap_machine_level_name(machine, l, name));
        tile(page, more, text, NULL, machine->name);
    }
    certificate_tile(page);
    fputs("</dl>\n", page->file);
    report_inputs(page);
    report_section_end(page);
}

static bool is_part(const struct report_input *input)
{
    const struct psnap_profile *profile = input->profile ? input->profile : input->measured;

    return psnap_sampling_is_part(&profile->sampling);
}

void report_inputs(struct report_page *page)
{
    static const char *const headings[] = {"Input",   "File",      "What it is", "Accesses",
                                           "Threads", "Footprint", "Spatial",    "Temporal"};
    const struct report *report = page->report;
    bool is_cut = false;

    report_table(page, "The inputs; scores of locality are from 0 (none) to 1", headings, 8, 3, 0);
    for (size_t i = 0; i < report->input_count; i++) {
        const struct report_input *input = &report->inputs[i];
        const struct report_distances *distances = &input->distances[0];
        report_row_name(page, input->label);
        report_cell(page, "%s", input->path);
        report_cell(page, "%s%s%s", input->is_profile ? "profile, replayed; model " : "trace",
                    input->is_profile ? input->profile->model : "",
                    is_part(input) ? ", a part of a run" : "");
        report_cell_count(page, input->side.accesses);
        report_cell_count(page, input->threads);
        report_cell_bytes(page, distances->lines * distances->line_bytes);
        report_cell_number(page, 3, psnap_locality_spatial(input->total));
        report_cell_number(page, 3, psnap_locality_temporal(input->total));
        report_row_end(page);
        is_cut = is_cut || report_is_cut(report, input);
    }
    report_table_end(page);
    if (report->options.skip || is_cut) {
        char skip[32], count[32];
        fprintf(
            page->file,
            "<p class=\"note\">Of each input %s accesses are left out at the start, and at most "
            "%s are taken.</p>\n",
            psnap_group_digits(report->options.skip, skip),
            psnap_group_digits(report->options.count, count));
    }
}

/* ----------------------------------------------------------------------- foot */

static void write_about(struct report_page *page)
{
    const struct report *report = page->report;
    char shape[256];

    report_section(page, "about", "About");
    fputs("<p>A <em>cumulative hit rate</em> is the share of all accesses that are satisfied at a "
          "level or nearer. A <em>loop</em> is one of the source; what the optimiser made of it "
          "counts together. <em>Observed</em> is a trace, <em>synthetic</em> the stream that a "
          "profile is replayed as, <em>predicted</em> follows from reuse distances by the model "
          "SDCM, without simulation. A <em>point</em> is one percent of all accesses.</p>\n",
          page->file);
    for (size_t i = 0; i < report->input_count; i++)
        if (report->inputs[i].threads > 1)
            fprintf(page->file,
                    "<p>The %" PRIu32 " threads of the %s input share one hierarchy, %s.</p>\n",
                    report->inputs[i].threads, report->inputs[i].label,
                    psnap_turns_words(report->inputs[i].side.in_turn));
    report_table(page, "The machines; caches are cold at the start",
                 (const char *const[]){"Machine", "Caches (size:line:ways)", "What it is"}, 3, 3,
                 0);
    for (size_t m = 0; m < report->machine_count; m++) {
        const struct psnap_machine *machine = &report->machines[m];
        report_row_name(page, machine->name);
        shape[0] = '\0';
        for (uint32_t l = 0; l < machine->level_count; l++) {
            const struct psnap_cache_level *level = &machine->levels[l];
            char bytes[32];
            const size_t used = strlen(shape);
            snprintf(shape + used, sizeof shape - used, "%s%s:%" PRIu64 ":%" PRIu64, l ? ", " : "",
                     human_bytes(level->size_bytes, bytes), level->line_bytes, level->ways);
        }
        report_cell(page, "%s", shape);
        report_cell(page, "%s", machine->description);
        report_row_end(page);
    }
    report_table_end(page);
    report_section_end(page);
}

enum psnap_status report_write(struct report_page *page, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    write_head(page);
    write_header(page);
    write_contents(page);
    report_summary(page);
    report_loops(page);
    report_rates(page);
    if (page->report->input_count > 1)
        status = report_compare(page, error);
    report_curves(page);
    report_working_sets(page);
    report_strides(page);
    report_surfaces(page);
    report_times(page);
    if (!status)
        status = report_certificate(page, error);
    write_about(page);
    fputs("</main>\n<footer>Made by psnap " PSNAP_VERSION
          " report. This file needs no network and runs no scripts.</footer>\n</div>\n</body>\n"
          "</html>\n",
          page->file);
    return status;
}
