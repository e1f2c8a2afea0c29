/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The figures of a page of a site, in its head, so that the index page can be made again without
 * measuring:
 *
 *   <meta name="psnap-report" content="KEY ID N N N ...">
 *
 * The numbers are cumulative hit rates in percent, by machine and level, then shares of misses by
 * size of cache. KEY is of all that the page is made of but the profile: psnap's version, machines,
 * options. ID is the hash of the profile's content. A page of another key or id is made anew.
 */
#include <math.h>
#include <string.h>

#include "formats/base/text.h"
#include "predict/report/cmd_report.h"

#define MARK "<meta name=\"psnap-report\" content=\""
enum { HEAD_BYTES = 8192 };

static size_t level_count(const struct report *report)
{
    size_t count = 0;

    for (size_t m = 0; m < report->machine_count; m++)
        count += report->machines[m].level_count;
    return count;
}

static double miss_share(const struct report_distances *distances, unsigned size)
{
    const struct reuse_row *row = report_reuse_row(distances, NULL);
    const uint64_t lines = (UINT64_C(1024) << size) / distances->line_bytes;
    const double rate = row ? psnap_distances_hit_rate(row->distances, lines) : (double)NAN;

    return isnan(rate) ? 0 : 1 - rate;
}

void report_figures_write(struct report_page *page)
{
    const struct report *report = page->report;
    const struct report_input *input = &report->inputs[0];

    fprintf(page->file, MARK "%s %s", page->place->key, page->place->id);
    for (size_t m = 0; m < report->machine_count; m++)
        for (uint32_t l = 0; l < report->machines[m].level_count; l++)
            fprintf(page->file, " %.4f",
                    100 * psnap_tally_cumulative(&input->side.total.rows[0].tallies[m], l));
    for (unsigned size = 0; size < REPORT_SIZES; size++)
        fprintf(page->file, " %.5f", miss_share(&input->distances[0], size));
    fputs("\">\n", page->file);
}

/* The text of the mark in the head of a file; NULL: it has none. */
static char *find_mark(const char *path, char head[HEAD_BYTES + 1])
{
    FILE *file = fopen(path, "re");
    char *mark, *end;
    size_t size;

    if (!file)
        return NULL;
    size = fread(head, 1, HEAD_BYTES, file);
    fclose(file);
    head[size] = '\0';
    mark = strstr(head, MARK);
    if (!mark)
        return NULL;
    mark += strlen(MARK);
    end = strchr(mark, '"');
    if (end)
        *end = '\0';
    return end ? mark : NULL;
}

bool report_figures_are_in(const char *path)
{
    char head[HEAD_BYTES + 1];

    return find_mark(path, head) != NULL;
}

static bool take(char **rest, double most, double *value)
{
    const char *word = strsep(rest, " ");

    return word && psnap_text_real(word, value) && *value >= 0 && *value <= most;
}

/* Whether the next word is this one. */
static bool skip(char **rest, const char *wanted)
{
    const char *word = strsep(rest, " ");

    return word && !strcmp(word, wanted);
}

bool report_figures_read(const char *path, const struct report_place *place,
                         const struct report *report, struct report_figures *figures)
{
    char head[HEAD_BYTES + 1], *rest = find_mark(path, head);
    bool is_good = rest && skip(&rest, place->key) && skip(&rest, place->id) && level_count(report);

    for (size_t m = 0; m < report->machine_count; m++)
        for (uint32_t l = 0; l < report->machines[m].level_count && is_good; l++)
            is_good = take(&rest, 100, &figures->rates[m][l]);
    for (size_t size = 0; size < REPORT_SIZES && is_good; size++)
        is_good = take(&rest, 1, &figures->misses[size]);
    return is_good && !rest;
}
