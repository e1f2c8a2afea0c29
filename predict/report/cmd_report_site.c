/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap report REPOSITORY: a site of all profiles of a repository, or those of a query. Entries are
 * listed and their profiles copied while no gc can run; then the repository is let go, reports
 * are made, and it is listed again for the index page. What was added meanwhile has its turn next
 * time. The index page is written before the first report, too, so that the directory is a site
 * whenever somebody looks, or the run is broken off.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/output.h"
#include "predict/cmd_gnuplot.h"
#include "predict/report/cmd_report_site.h"

#define PAGE_FORM 2 /* of reports: another number makes all of them anew */

/* ------------------------------------------------------------------------- the key */

/* A hash of all that a page is made of beside the profile. */
static enum psnap_status make_key(struct report_site *site, struct psnap_error *error)
{
    const struct report *like = site->like;
    const struct psnap_input_options *options = &like->options;
    struct psnap_error no_figure;
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    const bool can_draw = !gnuplot_find("", &no_figure);
    enum psnap_status status = PSNAP_OK;

    if (!file)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    if (!can_draw)
        psnap_cmd_warn(&no_figure);
    fprintf(file, "%s %d %d %llu %llu %llu\n", PSNAP_VERSION, PAGE_FORM, can_draw,
            (unsigned long long)options->seed, (unsigned long long)options->skip,
            (unsigned long long)options->count);
    for (const char *const *rule = report_style; *rule; rule++)
        fputs(*rule, file);
    for (size_t m = 0; m < like->machine_count && !status; m++) {
        fprintf(file, "%s\n", like->machines[m].name);
        status = psnap_machine_write(&like->machines[m], file, error);
    }
    if (fclose(file) && !status)
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory");
    if (!status)
        snprintf(site->key, sizeof site->key, "%016llx",
                 (unsigned long long)repo_sum_of(text, size));
    free(text);
    return status;
}

/* ------------------------------------------------------------------ the index page */

enum { COLUMNS = REPORT_MACHINES * PSNAP_LEVELS_MAX, HEADING = 320 };

struct indexing {
    const struct report_site *site;
    struct site_page page;
    double values[COLUMNS];
    char words[160];
};

/* The curve in words: at 1 and 32 KiB, 1 and 32 MiB. */
static void write_words(const struct report_figures *figures, char *words, size_t size)
{
    static const struct {
        unsigned at;
        const char *name;
    } sizes[] = {{0, "1 KiB"}, {5, "32 KiB"}, {10, "1 MiB"}, {15, "32 MiB"}};
    size_t used = (size_t)snprintf(words, size, "misses");

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && used < size; i++)
        used += (size_t)snprintf(words + used, size - used, "%s %.2f %% in %s", i ? "," : "",
                                 100 * figures->misses[sizes[i].at], sizes[i].name);
}

static bool add_row(void *context, const struct entry *entry)
{
    struct indexing *indexing = context;
    const struct report *like = indexing->site->like;
    const struct site_entry *known = site_entry_of(indexing->site, entry->id);
    struct site_row row = {.entry = entry};
    size_t column = 0;

    if (!known) /* it was added meanwhile */
        return true;
    row.has_report = known->has_report;
    row.has_profile = known->has_profile;
    row.problem = known->problem;
    if (known->has_report) {
        for (size_t m = 0; m < like->machine_count; m++)
            for (uint32_t l = 0; l < like->machines[m].level_count; l++)
                indexing->values[column++] = known->figures.rates[m][l];
        row.values = indexing->values;
        write_words(&known->figures, indexing->words, sizeof indexing->words);
        row.curve = (struct site_curve){known->figures.misses, REPORT_SIZES, indexing->words};
    }
    site_page_row(&indexing->page, &row);
    return true;
}

/* "L1 %", or with several machines "i7-5960x L1 %". */
static void name_columns(const struct report *like, char texts[COLUMNS][HEADING],
                         const char *headings[COLUMNS], size_t *count)
{
    char name[PSNAP_LEVEL_NAME_ROOM];

    for (size_t m = 0; m < like->machine_count; m++)
        for (uint32_t l = 0; l < like->machines[m].level_count; l++) {
            snprintf(texts[*count], HEADING, "%s%s%s %%",
                     like->machine_count > 1 ? like->machines[m].name : "",
                     like->machine_count > 1 ? " " : "",
                     psnap_machine_level_name(&like->machines[m], l, name));
            headings[*count] = texts[*count];
            (*count)++;
        }
}

enum psnap_status site_index(struct report_site *site, struct psnap_error *error)
{
    const struct report *like = site->like;
    char texts[COLUMNS][HEADING], path[4200], caption[512];
    const char *headings[COLUMNS];
    struct indexing indexing = {.site = site};
    struct psnap_output *output;
    enum psnap_status status;
    size_t count = 0;

    snprintf(path, sizeof path, "%s/" SITE_INDEX, site->directory);
    output = psnap_output_open(path, true, error);
    if (!output)
        return error->code;
    name_columns(like, texts, headings, &count);
    snprintf(caption, sizeof caption,
             "Hit rates are cumulative, of the replayed profile%s%s. Misses are in fully "
             "associative caches of 1 KiB to 64 MiB, from 100 %% down to 0.01 %%, both axes "
             "logarithmic. An empty cell: not known.",
             like->machine_count > 1 ? "" : " in the caches of ",
             like->machine_count > 1 ? "" : like->machines[0].name);
    indexing.page = (struct site_page){.file = psnap_output_file(output),
                                       .title = "Profiles",
                                       .caption = caption,
                                       .headings = headings,
                                       .heading_count = count,
                                       .curves = "Misses"};
    site_page_begin(&indexing.page);
    status = index_list(site->opened.index, &site->query.ask, add_row, &indexing, error);
    site_page_end(&indexing.page);
    return psnap_output_finish(output, status, error);
}

/* -------------------------------------------------------------------- the command */

/* Nothing is written then. */
static enum psnap_status nothing_found(const struct report_site *site, struct psnap_error *error)
{
    char text[256] = "";
    size_t used = 0;

    for (size_t i = 0; i < site->word_count && used < sizeof text; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, " %s", site->words[i]);
    psnap_error_set(error, PSNAP_ERROR_VALUE,
                    site->word_count ? "no profile matches%s" : "there is no profile in it%s",
                    text);
    psnap_error_at(error, site->repository, 0, 0);
    return error->code;
}

static enum psnap_status make_site(struct report_site *site, struct psnap_error *error)
{
    struct repo *repo = site->opened.repo;
    enum psnap_status status = query_settle(&site->query, site->opened.index, error);

    if (!status) {
        repo_lock(repo, false, NULL); /* no gc meanwhile, where there are locks */
        status = site_list(site, error);
        if (!status && !site->count)
            status = nothing_found(site, error);
        if (!status)
            status = make_key(site, error);
        if (!status)
            status = site_prepare(site, error);
        if (!status)
            status = site_find(site, error);
        if (!status)
            status = site_index(site, error);
        repo_unlock(repo);
    }
    if (!status)
        status = site_run(site, error);
    if (!status)
        status = site_index(site, error);
    if (!status)
        site_sweep(site);
    return status;
}

static int print_summary(const struct report_site *site)
{
    size_t of[SITE_FAILED + 1] = {0};

    for (size_t i = 0; i < site->count; i++)
        of[site->entries[i].state]++;
    psnap_print(stdout,
                "%s/" SITE_INDEX ": %zu profile%s, %zu report%s made, %zu kept, %zu failed\n",
                site->directory, site->count, psnap_plural(site->count), of[SITE_MADE],
                psnap_plural(of[SITE_MADE]), of[SITE_KEPT], of[SITE_FAILED]);
    return psnap_cmd_close_stdout("report", of[SITE_FAILED] ? PSNAP_EXIT_FAILED : PSNAP_EXIT_DONE);
}

int report_site(const char *repository, char *const *words, size_t word_count,
                const struct report *like, const struct report_settings *settings)
{
    struct report_site site = {.repository = repository,
                               .words = words,
                               .word_count = word_count,
                               .directory = settings->output,
                               .like = like,
                               .force = settings->force};
    struct psnap_error error;
    int status = PSNAP_EXIT_DONE;

    for (size_t i = 0; i < word_count && !status; i++)
        if (query_parse(&site.query, words[i], &error))
            status = psnap_cmd_fail("report", &error);
    if (!status) {
        status = repo_cmd_open("report", repository, &site.opened);
        if (!status) {
            status =
                make_site(&site, &error) ? psnap_cmd_fail("report", &error) : print_summary(&site);
            repo_cmd_close(&site.opened);
        }
    }
    for (size_t i = 0; i < site.count; i++)
        free(site.entries[i].problem);
    free(site.entries);
    query_release(&site.query);
    return status;
}
