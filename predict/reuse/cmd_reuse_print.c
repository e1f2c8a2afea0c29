/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The report of psnap reuse as a table and as JSON.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/json.h"
#include "predict/reuse/cmd_reuse.h"
#include "predict/reuse/cmd_reuse_curves.h"

/* ------------------------------------------------------------------ the table */

/* Caches whose hit rates the table has, in bytes. */
static const uint64_t caches[] = {1 << 10, 8 << 10, 32 << 10, 256 << 10,
                                  1 << 20, 8 << 20, 32 << 20};
static const char *const cache_headings[] = {"1K %", "8K %", "32K %", "256K %",
                                             "1M %", "8M %", "32M %"};
enum { CACHES = sizeof caches / sizeof caches[0], FIXED = 6 };

static void percent_cell(struct psnap_table *table, double share)
{
    if (isnan(share))
        psnap_table_cell(table, "-");
    else
        psnap_table_cell(table, "%.2f", 100 * share);
}

void reuse_print_table(const struct reuse_report *report, const struct reuse_settings *settings)
{
    static const char *const fixed[FIXED] = {"scope",    "id",      "name",
                                             "accesses", "share %", "cold %"};
    const char *headings[FIXED + CACHES];
    struct psnap_table *table;
    char digits[32];

    memcpy(headings, fixed, sizeof fixed);
    memcpy(headings + FIXED, cache_headings, sizeof cache_headings);
    table = psnap_table_new(FIXED + CACHES, headings);
    psnap_table_shorten(table, 1);
    psnap_table_shorten(table, 2);
    for (size_t i = 3; i < FIXED + CACHES; i++)
        psnap_table_align_right(table, i);
    for (size_t i = 0; i < report->rows.count; i++) {
        const struct reuse_row *row = &report->rows.rows[i];
        const double accesses = (double)psnap_distances_accesses(row->distances);
        psnap_table_cell(table, "%s", psnap_scope_name(row->scope));
        psnap_table_cell(table, "%s", row->id);
        psnap_table_cell(table, "%s", row->name);
        psnap_table_cell(table, "%s",
                         psnap_group_digits(psnap_distances_accesses(row->distances), digits));
        percent_cell(table, report->accesses ? accesses / (double)report->accesses : 1);
        percent_cell(table, (double)psnap_distances_cold(row->distances) / accesses);
        for (size_t k = 0; k < CACHES; k++)
            percent_cell(table,
                         psnap_distances_hit_rate(row->distances, caches[k] / report->line_bytes));
    }
    psnap_print(stdout,
                "hit rates of fully associative LRU caches, lines of %" PRIu64
                " byte%s, cold at the "
                "start:\n\n",
                report->line_bytes, psnap_plural(report->line_bytes));
    psnap_table_print(table, stdout);
    psnap_table_free(table);
    psnap_print(stdout, "\n%s%s lines%s\n", settings->reuse.sample > 0 ? "about " : "",
                psnap_group_digits(report->lines, digits),
                report->threads > 1 ? ", threads each for itself" : "");
    if (settings->reuse.sample > 0)
        printf("estimated from a sample of the lines, %g %% of them where there are many\n",
               100 * settings->reuse.sample);
    fflush(stdout);
    psnap_print(stderr, "%s accesses in %.2f s, %.1f M/s\n",
                psnap_group_digits(report->accesses, digits), report->seconds,
                1e-6 * reuse_rate(report));
}

/* ----------------------------------------------------------------------- JSON */

static void json_row(struct psnap_json *json, const struct reuse_row *row, bool bins)
{
    struct psnap_distance_count each = {0};
    uint64_t distance = 0, count = 0;

    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "scope", psnap_scope_name(row->scope));
    psnap_json_text(json, "id", row->id);
    psnap_json_text(json, "name", row->name);
    psnap_json_u64(json, "accesses", psnap_distances_accesses(row->distances));
    psnap_json_u64(json, "cold", psnap_distances_cold(row->distances));
    psnap_json_begin_array(json, "histogram");
    while (reuse_next_entry(row->distances, bins, &each, &distance, &count)) {
        psnap_json_begin_array(json, NULL);
        psnap_json_u64(json, NULL, distance);
        psnap_json_u64(json, NULL, count);
        psnap_json_end_array(json);
    }
    psnap_json_end_array(json);
    psnap_json_end_object(json);
}

void reuse_print_json(const struct reuse_report *report, const struct reuse_settings *settings)
{
    struct psnap_json json;

    psnap_cmd_begin_json(&json, stdout, "reuse");
    psnap_json_text(&json, "input", report->input);
    psnap_json_u64(&json, "accesses", report->accesses);
    psnap_json_u64(&json, "threads", report->threads);
    psnap_json_u64(&json, "line_bytes", report->line_bytes);
    psnap_json_u64(&json, "lines", report->lines);
    psnap_json_real(&json, "sample", settings->reuse.sample > 0 ? settings->reuse.sample : 1);
    psnap_json_real(&json, "accesses_per_second", reuse_rate(report));
    psnap_json_begin_array(&json, "scopes");
    for (size_t i = 0; i < report->rows.count; i++)
        json_row(&json, &report->rows.rows[i], settings->bins);
    psnap_json_end_array(&json);
    psnap_json_end_object(&json);
    putchar('\n');
}
