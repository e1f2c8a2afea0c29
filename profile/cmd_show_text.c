/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap show for people: program, totals and loops as tables, and one loop with its
 * regions.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/layout.h"
#include "profile/cmd_show.h"
#include "profile/cmd_words.h"

static void print_program(const struct psnap_profile *profile)
{
    const struct psnap_provenance *from = &profile->provenance;

    psnap_print(stdout, "program    %s", *from->name ? from->name : "unknown");
    print_command(from->command);
    putchar('\n');
    if (*from->compiler || *from->host)
        psnap_print(stdout, "built      %s%s%s\n", from->compiler,
                    *from->compiler && *from->host ? ", " : "", from->host);
    if (*from->recorded)
        psnap_print(stdout, "recorded   %s\n", from->recorded);
    if (from->has_rank)
        printf("rank       %" PRIu32, from->rank);
    if (from->has_rank && from->ranks)
        printf(" of %" PRIu32, from->ranks);
    if (from->has_rank)
        putchar('\n');
    if (profile->same_ranks && *profile->same_ranks)
        psnap_print(stdout, "stands for ranks %s\n", profile->same_ranks);
    psnap_print(stdout, "model      %s, gap %" PRIu64 " bytes, %" PRIu32 " regions per loop\n",
                profile->model, profile->region_gap_bytes, profile->region_limit);
}

static void print_totals(const struct psnap_profile *profile,
                         const struct psnap_profile_totals *totals)
{
    char digits[32], bytes[32];
    const char *separator = "operations ";

    psnap_print(stdout, "accesses   %s in %" PRIu32 " loop%s",
                psnap_group_digits(totals->accesses, digits), profile->loop_count,
                psnap_plural(profile->loop_count));
    psnap_print(stdout, ", %s\n", human_bytes(totals->bytes, bytes));
    psnap_print(stdout, "           %s loads", psnap_group_digits(totals->loads, digits));
    psnap_print(stdout, ", %s stores", psnap_group_digits(totals->stores, digits));
    if (totals->atomics)
        psnap_print(stdout, ", %s atomics", psnap_group_digits(totals->atomics, digits));
    putchar('\n');
    for (unsigned op = 0; op < PSNAP_OPERATION_COUNT; op++)
        if (totals->operations[op]) {
            psnap_print(stdout, "%s%s %s", separator, psnap_operation_name(op),
                        psnap_group_digits(totals->operations[op], digits));
            separator = ", ";
        }
    if (separator[0] == ',')
        putchar('\n');
}

static void print_points(const char *label, const struct psnap_certificate_row *row, double points)
{
    char level[16];

    psnap_print(stdout, "%s%s %.2f", label, psnap_certificate_level(row, level), points);
}

/* How far the replay is off, in points of cumulative hit rates. */
static void print_certificate(const struct psnap_profile *profile)
{
    const struct psnap_certificate *from = profile->certificate;
    uint32_t machines = 0;

    if (!from)
        return;
    for (uint32_t i = 0; i < from->row_count; i++)
        machines += !i || strcmp(from->rows[i].machine, from->rows[i - 1].machine) != 0;
    if (psnap_certificate_holds(profile, NULL) != 1) {
        printf("certificate no longer holds: the profile was edited since it was made\n");
        return;
    }
    fputs("error     ", stdout);
    for (uint32_t i = 0; i < from->level_count; i++)
        if (!isnan(from->levels[i].mean_points))
            print_points(i ? ", " : " ", &from->levels[i], from->levels[i].mean_points);
    psnap_print(stdout, "%s points, mean over %" PRIu64 " loop%s and %" PRIu32 " machine%s\n",
                from->relevant_loops ? "" : " no relevant loops,", from->relevant_loops,
                psnap_plural(from->relevant_loops), machines, psnap_plural(machines));
    if (!from->worst_loop)
        return;
    printf("           at most");
    print_points(" ", &from->worst, from->worst.max_points);
    psnap_print(stdout, ", %s on %s\n", from->worst_loop, from->worst.machine);
}

/* Cells: accesses in the whole run by the sample, and their standard error in percent. */
static void print_estimate(const struct psnap_profile_loop *loop, struct psnap_table *table)
{
    const bool is_known = loop->estimate_accesses != UINT64_MAX && loop->estimate_accesses;
    char digits[32];

    psnap_table_cell(table, "%s",
                     is_known ? psnap_group_digits(loop->estimate_accesses, digits) : "-");
    if (is_known && loop->estimate_error != UINT64_MAX)
        psnap_table_cell(table, "%.1f %%",
                         100 * show_share(loop->estimate_error, loop->estimate_accesses));
    else
        psnap_table_cell(table, "-");
}

static void print_loops(const struct psnap_profile *profile, const struct show_summary *summaries,
                        uint32_t count, uint64_t accesses)
{
    const bool is_sample = profile->sampling.window != 0;
    static const char *const headings[] = {
        "loop",        "source",          "accesses",   "share", "regions",
        "working set", "strides (bytes)", "in the run", "error"};
    const size_t columns = is_sample ? 9 : 7;
    struct psnap_table *table = psnap_table_new(columns, headings);
    char text[4096], bytes[32];

    psnap_table_shorten(table, 0);
    for (size_t column = 2; column < columns; column++)
        if (column != 6) /* strides */
            psnap_table_align_right(table, column);
    for (uint32_t i = 0; i < count; i++) {
        const struct psnap_profile_loop *loop = &profile->loops[summaries[i].index];
        psnap_table_cell(table, "%s", loop->id);
        psnap_table_cell(table, "%s", human_source(loop, text, sizeof text));
        psnap_table_cell(table, "%s", psnap_group_digits(summaries[i].accesses, bytes));
        psnap_table_cell(table, "%.1f %%", 100 * show_share(summaries[i].accesses, accesses));
        psnap_table_cell(table, "%" PRIu32, summaries[i].region_count);
        psnap_table_cell(table, "%s", human_bytes(summaries[i].working_set_bytes, bytes));
        psnap_table_cell(table, "%s", human_strides(summaries[i].strides, text, sizeof text));
        if (is_sample)
            print_estimate(loop, table);
    }
    putchar('\n');
    psnap_table_print(table, stdout);
    psnap_table_free(table);
    if (count < profile->loop_count)
        psnap_print(stdout, "(%" PRIu32 " of %" PRIu32 " loops; --top N shows more)\n", count,
                    profile->loop_count);
}

static void print_regions(const struct psnap_profile_loop *loop)
{
    static const char *const headings[] = {"region", "object",      "accesses", "share",
                                           "stores", "working set", "place",    "strides (bytes)"};
    struct psnap_table *table = psnap_table_new(8, headings);
    char text[256], bytes[32];

    psnap_table_shorten(table, 0);
    psnap_table_shorten(table, 1);
    for (size_t column = 2; column < 6; column++)
        psnap_table_align_right(table, column);
    for (uint32_t i = 0; i < loop->region_count; i++) {
        const struct psnap_profile_region *region = &loop->regions[i];
        const struct psnap_place place = psnap_layout_split(region->low);
        uint64_t strides[PSNAP_STRIDE_BINS] = {0};
        for (unsigned s = 0; s < region->stride_count; s++)
            strides[region->strides[s].bin] = region->strides[s].count;
        psnap_table_cell(table, "%s", region->id);
        psnap_table_cell(table, "%s", region->object ? region->object : "-");
        psnap_table_cell(table, "%s", psnap_group_digits(region->accesses, bytes));
        psnap_table_cell(table, "%.1f %%", 100 * show_share(region->accesses, loop->accesses));
        psnap_table_cell(
            table, "%.0f %%",
            100 * show_share(region->accesses - region->kinds[PSNAP_LOAD], region->accesses));
        psnap_table_cell(table, "%s", human_bytes(region->bytes, bytes));
        psnap_table_cell(table, "%s%+" PRId64, psnap_group_name(place.group), place.offset);
        psnap_table_cell(table, "%s", human_strides(strides, text, sizeof text));
    }
    putchar('\n');
    psnap_table_print(table, stdout);
    psnap_table_free(table);
}

static void print_loop(const struct psnap_profile *profile, const struct show_summary *summary,
                       uint64_t accesses)
{
    const struct psnap_profile_loop *loop = &profile->loops[summary->index];
    char text[4096], digits[32];

    psnap_print(stdout, "loop       %s", loop->id);
    if (strcmp(loop->id, loop->src_id) != 0)
        psnap_print(stdout, ", part of %s", loop->src_id);
    psnap_print(stdout, "\nfunction   %s at %s\n", loop->function,
                human_source(loop, text, sizeof text));
    printf("nest       depth %" PRIu32, loop->depth);
    for (uint32_t l = loop->parent; l != PSNAP_NONE; l = profile->loops[l].parent)
        psnap_print(stdout, ", in %s", profile->loops[l].id);
    putchar('\n');
    if (loop->entries != UINT64_MAX)
        psnap_print(stdout, "entries    %s\n", psnap_group_digits(loop->entries, digits));
    if (loop->iterations != UINT64_MAX) {
        psnap_print(stdout, "iterations %s", psnap_group_digits(loop->iterations, digits));
        if (loop->entries && loop->entries != UINT64_MAX)
            printf(", %.6g per entry", (double)loop->iterations / (double)loop->entries);
        putchar('\n');
    }
    psnap_print(stdout, "accesses   %s, %.1f %% of all\n",
                psnap_group_digits(summary->accesses, digits),
                100 * show_share(summary->accesses, accesses));
    if (loop->estimate_accesses != UINT64_MAX)
        psnap_print(stdout, "in the run %s", psnap_group_digits(loop->estimate_accesses, digits));
    if (loop->estimate_accesses != UINT64_MAX && loop->estimate_error != UINT64_MAX)
        psnap_print(stdout, ", standard error %s",
                    psnap_group_digits(loop->estimate_error, digits));
    if (loop->estimate_accesses != UINT64_MAX)
        putchar('\n');
    for (unsigned op = 0; op < PSNAP_OPERATION_COUNT; op++)
        if (loop->operations[op])
            psnap_print(stdout, "%-10s %s\n", psnap_operation_name(op),
                        psnap_group_digits(loop->operations[op], digits));
    if (loop->region_count)
        print_regions(loop);
}

bool show_print_table(const struct psnap_profile *profile,
                      const struct psnap_profile_totals *totals,
                      const struct show_summary *summaries, uint32_t count, uint64_t lines)
{
    print_program(profile);
    psnap_print_part(&profile->sampling, 11);
    print_totals(profile, totals);
    print_certificate(profile);
    print_loops(profile, summaries, count, totals->accesses);
    return show_print_irregular(profile, totals->accesses, (lines + 3) / 4) &&
           show_print_schedule(profile, lines);
}

bool show_print_loops(const struct psnap_profile *profile,
                      const struct psnap_profile_totals *totals,
                      const struct show_summary *summaries, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        fputs(i ? "\n" : "", stdout);
        print_loop(profile, &summaries[i], totals->accesses);
        show_print_references(profile, summaries[i].index);
    }
    return true;
}
