/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap show: a profile for people. The program and the totals, the hottest
 * loops with their share of the accesses, their working set and the strides
 * that dominate; with --loop one loop's regions. --json has the same fields.
 *
 * Where threads are apart there is a table of these, and the parts of a loop come
 * behind it. The loop as a whole has no regions of its own: its row, in the JSON too,
 * says what they come to in all its parts. `loop_count` counts no parts, as psnap info.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/json.h"
#include "formats/base/layout.h"
#include "formats/base/text.h"
#include "profile/profile.h"
#include "replay/cmd_input.h"
#include "profile/yaml_keys.h"

struct request {
    const char *path, *loop;
    uint64_t top;
    bool json;
};

/* What is shown of a loop as a whole. */
struct summary {
    uint32_t index;
    uint64_t accesses, hot;     /* hot: of the whole loop, when this is a part of it */
    uint64_t working_set_bytes; /* sum over regions */
    uint64_t loads, stores;     /* atomics count as stores */
    uint64_t strides[PSNAP_STRIDE_BINS];
    uint32_t region_count;
};

static void summarise(const struct psnap_profile_loop *loop, uint32_t index,
                      struct summary *summary)
{
    memset(summary, 0, sizeof *summary);
    summary->index = index;
    summary->accesses = summary->hot = loop->accesses;
    summary->region_count = loop->region_count;
    for (uint32_t i = 0; i < loop->region_count; i++) {
        const struct psnap_profile_region *region = &loop->regions[i];
        summary->working_set_bytes += region->bytes;
        summary->loads += region->kinds[PSNAP_LOAD];
        summary->stores += region->kinds[PSNAP_STORE] + region->kinds[PSNAP_ATOMIC];
        for (unsigned s = 0; s < region->stride_count; s++)
            summary->strides[region->strides[s].bin] += region->strides[s].count;
    }
}

/* Adds what is in parts to the whole loops, and notes how much that is in the parts. By index. */
static void add_parts(const struct psnap_profile *profile, struct summary *summaries)
{
    for (uint32_t i = 0; i < profile->loop_count; i++) {
        const struct summary *part = &summaries[i];
        struct summary *whole;
        if (profile->loops[i].whole == PSNAP_NONE)
            continue;
        whole = &summaries[profile->loops[i].whole];
        whole->accesses += part->accesses;
        whole->working_set_bytes += part->working_set_bytes;
        whole->loads += part->loads;
        whole->stores += part->stores;
        whole->region_count += part->region_count;
        for (unsigned bin = 0; bin < PSNAP_STRIDE_BINS; bin++)
            whole->strides[bin] += part->strides[bin];
        whole->hot = whole->accesses;
    }
    for (uint32_t i = 0; i < profile->loop_count; i++)
        if (profile->loops[i].whole != PSNAP_NONE)
            summaries[i].hot = summaries[profile->loops[i].whole].hot;
}

/* "12.5 MiB", "800 B". */
static const char *human_bytes(uint64_t bytes, char text[32])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    unsigned unit = 0;

    for (; value >= 1024 && unit < 6; unit++)
        value /= 1024;
    snprintf(text, 32, unit && value < 100 ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return text;
}

/* "8 75 %, random 25 %": the bins with most strides, at most three of at least 5 %. */
static const char *human_strides(const uint64_t counts[PSNAP_STRIDE_BINS], char *text, size_t size)
{
    bool shown[PSNAP_STRIDE_BINS] = {false};
    uint64_t sum = 0;
    size_t used = 0;

    text[0] = '\0';
    for (unsigned bin = 0; bin < PSNAP_STRIDE_BINS; bin++)
        sum += counts[bin];
    for (unsigned n = 0; n < 3; n++) {
        unsigned best = PSNAP_STRIDE_BINS;
        double percent;
        for (unsigned bin = 0; bin < PSNAP_STRIDE_BINS; bin++)
            if (!shown[bin] && counts[bin] &&
                (best == PSNAP_STRIDE_BINS || counts[bin] > counts[best]))
                best = bin;
        percent = best < PSNAP_STRIDE_BINS ? 100.0 * (double)counts[best] / (double)sum : 0;
        if (percent < 5)
            break;
        shown[best] = true;
        used += (size_t)snprintf(text + used, size - used, "%s%s %.0f %%", n ? ", " : "",
                                 psnap_stride_label(best), percent);
    }
    return text[0] ? text : "-";
}

static const char *human_source(const struct psnap_profile_loop *loop, char *text, size_t size)
{
    if (loop->src_line)
        snprintf(text, size, "%s:%" PRIu32, loop->file, loop->src_line);
    else
        snprintf(text, size, "%s", *loop->file ? loop->file : "-");
    return text;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

static void print_program(const struct psnap_profile *profile)
{
    const struct psnap_provenance *from = &profile->provenance;

    printf("program    %s", *from->name ? from->name : "unknown");
    if (from->command && from->command[0]) {
        printf(" (");
        for (const char *const *word = from->command; *word; word++)
            printf("%s%s", word == from->command ? "" : " ", *word);
        printf(")");
    }
    putchar('\n');
    if (*from->compiler || *from->host)
        printf("built      %s%s%s\n", from->compiler, *from->compiler && *from->host ? ", " : "",
               from->host);
    if (*from->recorded)
        printf("recorded   %s\n", from->recorded);
    if (from->has_rank)
        printf("rank       %" PRIu32, from->rank);
    if (from->has_rank && from->ranks)
        printf(" of %" PRIu32, from->ranks);
    if (from->has_rank)
        putchar('\n');
    printf("model      %s, gap %" PRIu64 " bytes, %" PRIu32 " regions per loop\n", profile->model,
           profile->region_gap_bytes, profile->region_limit);
}

static void print_totals(const struct psnap_profile *profile)
{
    struct psnap_profile_totals totals;
    char digits[32], bytes[32];
    const char *separator = "operations ";

    psnap_profile_totals(profile, &totals);
    printf("accesses   %s in %" PRIu32 " loops", psnap_group_digits(totals.accesses, digits),
           totals.loops);
    if (profile->is_apart)
        printf(" (%" PRIu32 " parts of threads)", totals.parts);
    printf(", %s\n", human_bytes(totals.bytes, bytes));
    printf("           %s loads", psnap_group_digits(totals.loads, digits));
    printf(", %s stores", psnap_group_digits(totals.stores, digits));
    if (totals.atomics)
        printf(", %s atomics", psnap_group_digits(totals.atomics, digits));
    putchar('\n');
    for (unsigned op = 0; op < PSNAP_OPERATION_COUNT; op++)
        if (totals.operations[op]) {
            printf("%s%s %s", separator, psnap_operation_name(op),
                   psnap_group_digits(totals.operations[op], digits));
            separator = ", ";
        }
    if (separator[0] == ',')
        putchar('\n');
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
                         100 * share(loop->estimate_error, loop->estimate_accesses));
    else
        psnap_table_cell(table, "-");
}

/* "all", "3", or "64+". */
static const char *human_thread(const struct psnap_profile_loop *loop, char text[32])
{
    if (loop->thread == PSNAP_NONE)
        return "all";
    snprintf(text, 32, "%" PRIu32 "%s", loop->thread, loop->thread_count > 1 ? "+" : "");
    return text;
}

/* What threads have done, when they are apart. */
struct thread_summary {
    const struct psnap_profile_loop *part; /* one of its parts, NULL: it has none */
    uint64_t accesses;
    uint32_t loops;
};

/* By thread, PSNAP_THREADS_MAX of them; the caller frees them. NULL: out of memory. */
static struct thread_summary *summarise_threads(const struct psnap_profile *profile)
{
    struct thread_summary *threads = calloc(PSNAP_THREADS_MAX, sizeof *threads);

    for (uint32_t i = 0; threads && i < profile->loop_count; i++) {
        const struct psnap_profile_loop *loop = &profile->loops[i];
        if (loop->thread == PSNAP_NONE)
            continue;
        threads[loop->thread].part = loop;
        threads[loop->thread].accesses += loop->accesses;
        threads[loop->thread].loops++;
    }
    return threads;
}

static void print_threads(const struct psnap_profile *profile, uint64_t accesses)
{
    static const char *const headings[] = {"thread", "loops", "accesses", "share"};
    struct thread_summary *threads = profile->is_apart ? summarise_threads(profile) : NULL;
    struct psnap_table *table = threads ? psnap_table_new(4, headings) : NULL;
    uint32_t shared_from = 0, shared = 0;
    char text[32];

    for (size_t column = 1; table && column < 4; column++)
        psnap_table_align_right(table, column);
    for (uint32_t i = 0; table && i < PSNAP_THREADS_MAX; i++) {
        if (!threads[i].part)
            continue;
        psnap_table_cell(table, "%s", human_thread(threads[i].part, text));
        psnap_table_cell(table, "%" PRIu32, threads[i].loops);
        psnap_table_cell(table, "%s", psnap_group_digits(threads[i].accesses, text));
        psnap_table_cell(table, "%.1f %%", 100 * share(threads[i].accesses, accesses));
        if (threads[i].part->thread_count > 1) {
            shared_from = i;
            shared = threads[i].part->thread_count;
        }
    }
    if (table) {
        putchar('\n');
        psnap_table_print(table, stdout);
    }
    if (shared)
        printf("(%" PRIu32 " threads from %" PRIu32 " on are merged)\n", shared, shared_from);
    psnap_table_free(table);
    free(threads);
}

static void print_loops(const struct psnap_profile *profile, const struct summary *summaries,
                        uint32_t count, uint64_t accesses)
{
    const bool is_sample = profile->sampling.window != 0;
    static const char *const headings[] = {
        "thread",  "loop",        "source",          "accesses",   "share",
        "regions", "working set", "strides (bytes)", "in the run", "error"};
    const size_t first = !profile->is_apart, columns = (is_sample ? 10 : 8) - first;
    struct psnap_table *table = psnap_table_new(columns, headings + first);
    char text[4096], bytes[32];

    psnap_table_shorten(table, 1 - first);
    for (size_t column = 3 - first; column < columns; column++)
        if (column != 7 - first) /* strides */
            psnap_table_align_right(table, column);
    for (uint32_t i = 0; i < count; i++) {
        const struct psnap_profile_loop *loop = &profile->loops[summaries[i].index];
        if (profile->is_apart)
            psnap_table_cell(table, "%s", human_thread(loop, bytes));
        psnap_table_cell(table, "%s", loop->id);
        psnap_table_cell(table, "%s", human_source(loop, text, sizeof text));
        psnap_table_cell(table, "%s", psnap_group_digits(summaries[i].accesses, bytes));
        psnap_table_cell(table, "%.1f %%", 100 * share(summaries[i].accesses, accesses));
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
        printf("(%" PRIu32 " of %" PRIu32 " %s; --top N shows more)\n", count, profile->loop_count,
               profile->is_apart ? "loops and parts" : "loops");
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
        psnap_table_cell(table, "%.1f %%", 100 * share(region->accesses, loop->accesses));
        psnap_table_cell(table, "%.0f %%",
                         100 *
                             share(region->accesses - region->kinds[PSNAP_LOAD], region->accesses));
        psnap_table_cell(table, "%s", human_bytes(region->bytes, bytes));
        psnap_table_cell(table, "%s%+" PRId64, psnap_group_name(place.group), place.offset);
        psnap_table_cell(table, "%s", human_strides(strides, text, sizeof text));
    }
    putchar('\n');
    psnap_table_print(table, stdout);
    psnap_table_free(table);
}

static void print_loop(const struct psnap_profile *profile, const struct summary *summary,
                       uint64_t accesses)
{
    const struct psnap_profile_loop *loop = &profile->loops[summary->index];
    char text[4096], digits[32];

    printf("loop       %s", loop->id);
    if (strcmp(loop->id, loop->src_id) != 0)
        printf(", part of %s", loop->src_id);
    if (loop->thread_count > 1)
        printf("\nthread     %" PRIu32 " and higher, %" PRIu32 " threads", loop->thread,
               loop->thread_count);
    else if (loop->thread != PSNAP_NONE)
        printf("\nthread     %" PRIu32, loop->thread);
    printf("\nfunction   %s at %s\n", loop->function, human_source(loop, text, sizeof text));
    printf("nest       depth %" PRIu32, loop->depth);
    for (uint32_t l = loop->parent; l != PSNAP_NONE; l = profile->loops[l].parent)
        printf(", in %s", profile->loops[l].id);
    putchar('\n');
    if (loop->entries != UINT64_MAX)
        printf("entries    %s\n", psnap_group_digits(loop->entries, digits));
    if (loop->iterations != UINT64_MAX) {
        printf("iterations %s", psnap_group_digits(loop->iterations, digits));
        if (loop->entries && loop->entries != UINT64_MAX)
            printf(", %.6g per entry", (double)loop->iterations / (double)loop->entries);
        putchar('\n');
    }
    printf("accesses   %s, %.1f %% of all\n", psnap_group_digits(summary->accesses, digits),
           100 * share(summary->accesses, accesses));
    if (loop->estimate_accesses != UINT64_MAX)
        printf("in the run %s", psnap_group_digits(loop->estimate_accesses, digits));
    if (loop->estimate_accesses != UINT64_MAX && loop->estimate_error != UINT64_MAX)
        printf(", standard error %s", psnap_group_digits(loop->estimate_error, digits));
    if (loop->estimate_accesses != UINT64_MAX)
        putchar('\n');
    for (unsigned op = 0; op < PSNAP_OPERATION_COUNT; op++)
        if (loop->operations[op])
            printf("%-10s %s\n", psnap_operation_name(op),
                   psnap_group_digits(loop->operations[op], digits));
    if (loop->region_count)
        print_regions(loop);
}

static void json_strides(struct psnap_json *json, const uint64_t counts[PSNAP_STRIDE_BINS])
{
    psnap_json_begin_object(json, "strides");
    for (unsigned bin = 0; bin < PSNAP_STRIDE_BINS; bin++)
        if (counts[bin])
            psnap_json_u64(json, psnap_stride_label(bin), counts[bin]);
    psnap_json_end_object(json);
}

static void json_operations(struct psnap_json *json, const uint64_t counts[PSNAP_OPERATION_COUNT])
{
    psnap_json_begin_object(json, "operations");
    for (unsigned op = 0; op < PSNAP_OPERATION_COUNT; op++)
        if (counts[op])
            psnap_json_u64(json, psnap_operation_name(op), counts[op]);
    psnap_json_end_object(json);
}

static void json_region(struct psnap_json *json, const struct psnap_profile_region *region)
{
    const struct psnap_place place = psnap_layout_split(region->low);
    uint64_t strides[PSNAP_STRIDE_BINS] = {0};

    for (unsigned s = 0; s < region->stride_count; s++)
        strides[region->strides[s].bin] = region->strides[s].count;
    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "id", region->id);
    if (region->object)
        psnap_json_text(json, psnap_object_keys[region->object_kind], region->object);
    psnap_json_u64(json, "accesses", region->accesses);
    for (unsigned kind = 0; kind < 3; kind++)
        psnap_json_u64(json, psnap_kind_keys[kind], region->kinds[kind]);
    psnap_json_u64(json, "working_set_bytes", region->bytes);
    psnap_json_text(json, "group", psnap_group_name(place.group));
    psnap_json_u64(json, "index", place.index);
    psnap_json_i64(json, "offset", place.offset);
    json_strides(json, strides);
    psnap_json_end_object(json);
}

static void json_loop(struct psnap_json *json, const struct psnap_profile *profile,
                      const struct summary *summary, uint64_t accesses, bool regions)
{
    const struct psnap_profile_loop *loop = &profile->loops[summary->index];

    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "id", loop->id);
    psnap_json_text(json, "part_of", loop->src_id);
    if (loop->thread != PSNAP_NONE) {
        psnap_json_text(json, "whole", profile->loops[loop->whole].id);
        psnap_json_u64(json, "thread", loop->thread);
        psnap_json_u64(json, "threads", loop->thread_count);
    }
    psnap_json_text(json, "function", loop->function);
    psnap_json_text(json, "file", loop->file);
    psnap_json_u64(json, "src_line", loop->src_line);
    psnap_json_u64(json, "depth", loop->depth);
    if (loop->parent != PSNAP_NONE)
        psnap_json_text(json, "parent", profile->loops[loop->parent].id);
    if (loop->entries != UINT64_MAX)
        psnap_json_u64(json, "entries", loop->entries);
    if (loop->iterations != UINT64_MAX)
        psnap_json_u64(json, "iterations", loop->iterations);
    psnap_json_u64(json, "accesses", summary->accesses);
    if (loop->estimate_accesses != UINT64_MAX)
        psnap_json_u64(json, "estimate_accesses", loop->estimate_accesses);
    if (loop->estimate_error != UINT64_MAX)
        psnap_json_u64(json, "standard_error", loop->estimate_error);
    psnap_json_real(json, "share", share(summary->accesses, accesses));
    psnap_json_u64(json, "loads", summary->loads);
    psnap_json_u64(json, "stores", summary->stores);
    psnap_json_u64(json, "working_set_bytes", summary->working_set_bytes);
    json_strides(json, summary->strides);
    json_operations(json, loop->operations);
    if (regions) {
        psnap_json_begin_array(json, "regions");
        for (uint32_t i = 0; i < loop->region_count; i++)
            json_region(json, &loop->regions[i]);
        psnap_json_end_array(json);
    } else {
        psnap_json_u64(json, "region_count", summary->region_count);
    }
    psnap_json_end_object(json);
}

/* Nothing when threads are merged. */
static void json_threads(struct psnap_json *json, const struct psnap_profile *profile,
                         uint64_t accesses)
{
    struct thread_summary *threads = profile->is_apart ? summarise_threads(profile) : NULL;

    if (threads)
        psnap_json_begin_array(json, "threads");
    for (uint32_t i = 0; threads && i < PSNAP_THREADS_MAX; i++) {
        if (!threads[i].part)
            continue;
        psnap_json_begin_object(json, NULL);
        psnap_json_u64(json, "thread", i);
        psnap_json_u64(json, "threads", threads[i].part->thread_count);
        psnap_json_u64(json, "loops", threads[i].loops);
        psnap_json_u64(json, "accesses", threads[i].accesses);
        psnap_json_real(json, "share", share(threads[i].accesses, accesses));
        psnap_json_end_object(json);
    }
    if (threads)
        psnap_json_end_array(json);
    free(threads);
}

static void print_json(const struct request *request, const struct psnap_profile *profile,
                       const struct summary *summaries, uint32_t count)
{
    struct psnap_profile_totals totals;
    struct psnap_json json;

    psnap_profile_totals(profile, &totals);
    psnap_json_init(&json, stdout);
    psnap_json_begin_object(&json, NULL);
    psnap_json_u64(&json, "psnap", 1);
    psnap_json_text(&json, "command", "show");
    psnap_json_text(&json, "program", profile->provenance.name);
    psnap_json_text(&json, "model", profile->model);
    psnap_json_part(&json, &profile->sampling);
    psnap_json_u64(&json, "accesses", totals.accesses);
    psnap_json_u64(&json, "loads", totals.loads);
    psnap_json_u64(&json, "stores", totals.stores);
    psnap_json_u64(&json, "atomics", totals.atomics);
    psnap_json_u64(&json, "bytes", totals.bytes);
    json_operations(&json, totals.operations);
    json_threads(&json, profile, totals.accesses);
    psnap_json_u64(&json, "loop_count", totals.loops);
    if (profile->is_apart)
        psnap_json_u64(&json, "part_count", totals.parts);
    psnap_json_begin_array(&json, "loops");
    for (uint32_t i = 0; i < count; i++)
        json_loop(&json, profile, &summaries[i], totals.accesses, request->loop != NULL);
    psnap_json_end_array(&json);
    psnap_json_end_object(&json);
}

static int compare_hot(const void *a, const void *b)
{
    const struct summary *p = a, *q = b;

    if (p->hot != q->hot)
        return p->hot > q->hot ? -1 : 1;
    return p->index < q->index ? -1 : p->index > q->index;
}

/* Whether `wanted` is `id`, or what a table leaves of a long one: "std::vec...ack:105". */
static bool is_id(const char *wanted, const char *id)
{
    const char *dots = strstr(wanted, "...");
    const size_t length = strlen(id), tail = dots ? strlen(dots + 3) : 0;

    if (!dots)
        return !strcmp(wanted, id);
    return length > (size_t)(dots - wanted) + tail &&
           !strncmp(wanted, id, (size_t)(dots - wanted)) && !strcmp(dots + 3, id + length - tail);
}

/* Leaves the loops that --loop means: that id, with its threads' parts, or else the parts of that
 * loop of the source. */
static uint32_t choose_loop(const struct request *request, const struct psnap_profile *profile,
                            struct summary *summaries)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < profile->loop_count; i++) {
        const uint32_t whole = profile->loops[i].whole;
        if (is_id(request->loop, profile->loops[i].id) ||
            (whole != PSNAP_NONE && is_id(request->loop, profile->loops[whole].id)))
            summaries[count++] = summaries[i];
    }
    for (uint32_t i = 0, parts = !count; parts && i < profile->loop_count; i++)
        if (is_id(request->loop, profile->loops[i].src_id))
            summaries[count++] = summaries[i];
    return count;
}

static int no_such_loop(const struct request *request, const struct psnap_profile *profile)
{
    const char **names = calloc(profile->loop_count + 1, sizeof *names);
    const char *nearest = NULL;

    for (uint32_t i = 0; names && i < profile->loop_count; i++)
        names[i] = profile->loops[i].id;
    if (names)
        nearest = psnap_text_nearest(request->loop, names, profile->loop_count);
    fprintf(stderr, "psnap show: there is no loop '%s' in '%s'%s%s%s\n", request->loop,
            request->path, nearest ? "; did you mean '" : "", nearest ? nearest : "",
            nearest ? "'?" : "");
    free(names);
    return PSNAP_EXIT_FAILED;
}

/* Shows the `top` hottest loops, or those asked for. */
static int show(const struct request *request, const struct psnap_profile *profile)
{
    struct summary *summaries = calloc(profile->loop_count + 1, sizeof *summaries);
    struct psnap_profile_totals totals;
    uint32_t count = profile->loop_count;
    int status = PSNAP_EXIT_DONE;

    if (!summaries)
        return PSNAP_EXIT_FAILED;
    psnap_profile_totals(profile, &totals);
    for (uint32_t i = 0; i < profile->loop_count; i++)
        summarise(&profile->loops[i], i, &summaries[i]);
    add_parts(profile, summaries);
    if (request->loop)
        count = choose_loop(request, profile, summaries);
    qsort(summaries, count, sizeof *summaries, compare_hot);
    if (!request->loop && count > request->top)
        count = (uint32_t)request->top;
    if (request->loop && !count) {
        status = no_such_loop(request, profile);
    } else if (request->json) {
        print_json(request, profile, summaries, count);
    } else if (request->loop) {
        for (uint32_t i = 0; i < count; i++) {
            fputs(i ? "\n" : "", stdout);
            print_loop(profile, &summaries[i], totals.accesses);
        }
    } else {
        print_program(profile);
        psnap_print_part(&profile->sampling, 11);
        print_totals(profile);
        print_threads(profile, totals.accesses);
        print_loops(profile, summaries, count, totals.accesses);
    }
    free(summaries);
    return status;
}

int psnap_cmd_show(int argc, char **argv)
{
    struct request request = {.top = 20};
    const struct psnap_option options[] = {
        {PSNAP_OPTION_TEXT, 0, "loop", &request.loop, "ID",
         "one loop, with its regions; all its parts"},
        {PSNAP_OPTION_U64, 0, "top", &request.top, "N", "so many of the hottest loops; 20"},
        {PSNAP_OPTION_FLAG, 0, "json", &request.json, NULL, "for programs"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {
        "psnap show P.yaml [--loop ID] [--top N] [--json]",
        "Shows a profile: program, totals, and its hottest loops with their share of the\n"
        "accesses, working set (of all regions together) and dominating strides.",
        options};
    struct psnap_profile *profile = NULL;
    struct psnap_error error;
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    if (operands != 1)
        return psnap_cmd_usage("show", "one profile, please");
    request.path = argv[1];
    profile = psnap_input_read_profile(request.path, &error);
    if (!profile)
        return psnap_cmd_fail("show", &error);
    status = show(&request, profile);
    psnap_profile_free(profile);
    return psnap_cmd_close_stdout("show", status);
}
