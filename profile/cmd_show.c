/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap show: a profile for people. The program and the totals, the hottest loops with their share
 * of the accesses, their working set and the strides that dominate; of a profile of model nests its
 * irregular references and the beginning of its schedule; with --loop one loop's regions, bodies
 * and references. --json is the file as JSON, by the keys of profile/FORMAT.md, and whether its
 * certificate holds; with --loop the loops are those asked for alone.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/json.h"
#include "formats/base/layout.h"
#include "formats/base/yaml.h"
#include "profile/cmd_show.h"
#include "profile/cmd_words.h"
#include "replay/cmd_input.h"

struct request {
    const char *path, *loop;
    uint64_t top;
    bool json, schedule;
};

/* ---- the program ---- */

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
    if (from->has_rank) {
        printf("rank       %" PRIu32, from->rank);
        if (from->ranks)
            printf(" of %" PRIu32, from->ranks);
        putchar('\n');
    }
    if (profile->same_ranks && *profile->same_ranks)
        psnap_print(stdout, "stands for ranks %s\n", profile->same_ranks);
    psnap_print(stdout, "model      %s, gap %" PRIu64 " bytes, %" PRIu32 " regions per loop\n",
                profile->model, profile->region_gap_bytes, profile->region_limit);
    psnap_print_part(&profile->sampling, 11);
}

static void print_totals(const struct psnap_profile *profile,
                         const struct psnap_profile_totals *totals)
{
    const char *separator = "operations ";
    char digits[32], bytes[32];

    psnap_print(stdout, "accesses   %s in %" PRIu32 " loop%s, %s\n",
                psnap_group_digits(totals->accesses, digits), profile->loop_count,
                psnap_plural(profile->loop_count), human_bytes(totals->bytes, bytes));
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
    if (*separator == ',')
        putchar('\n');
}

static void print_points(const char *label, const struct psnap_certificate_row *row, double points)
{
    char level[16];

    psnap_print(stdout, "%s%s %.2f", label, psnap_certificate_level(row, level), points);
}

/* Prints how far the replay is off, in points of cumulative hit rates. */
static void print_certificate(const struct psnap_profile *profile)
{
    const struct psnap_certificate *from = profile->certificate;
    uint32_t machines = 0;

    if (!from)
        return;
    if (psnap_certificate_holds(profile, NULL) != 1) {
        printf("certificate no longer holds: the profile was edited since it was made\n");
        return;
    }
    for (uint32_t i = 0; i < from->row_count; i++)
        machines += !i || strcmp(from->rows[i].machine, from->rows[i - 1].machine) != 0;
    fputs("error     ", stdout);
    for (uint32_t i = 0; i < from->level_count; i++)
        if (!isnan(from->levels[i].mean_points))
            print_points(i ? ", " : " ", &from->levels[i], from->levels[i].mean_points);
    psnap_print(stdout, "%s points, mean over %" PRIu64 " loop%s and %" PRIu32 " machine%s\n",
                from->relevant_loops ? "" : " no relevant loops,", from->relevant_loops,
                psnap_plural(from->relevant_loops), machines, psnap_plural(machines));
    if (!from->worst_loop)
        return;
    print_points("           at most ", &from->worst, from->worst.max_points);
    psnap_print(stdout, ", %s on %s\n", from->worst_loop, from->worst.machine);
}

/* ---- loops ---- */

/* Cells: accesses in the whole run by the sample, and their standard error in percent. */
static void print_estimate(const struct psnap_profile_loop *loop, struct psnap_table *table)
{
    const bool is_known = loop->estimate_accesses != UINT64_MAX && loop->estimate_accesses;
    char digits[32];

    psnap_table_cell(table, "%s",
                     is_known ? psnap_group_digits(loop->estimate_accesses, digits) : "-");
    if (is_known && loop->estimate_error != UINT64_MAX)
        psnap_table_cell(table, "%.1f %%",
                         show_percent(loop->estimate_error, loop->estimate_accesses));
    else
        psnap_table_cell(table, "-");
}

static void add_strides(const struct psnap_profile_region *region,
                        uint64_t strides[PSNAP_STRIDE_BINS])
{
    for (unsigned s = 0; s < region->stride_count; s++)
        strides[region->strides[s].bin] += region->strides[s].count;
}

static void print_loops(const struct psnap_profile *profile,
                        struct psnap_profile_loop *const *loops, uint32_t count, uint64_t accesses)
{
    static const char *const headings[] = {
        "loop",        "source",          "accesses",   "share", "regions",
        "working set", "strides (bytes)", "in the run", "error"};
    const bool is_sample = profile->sampling.window != 0;
    struct psnap_table *table = show_table(is_sample ? 9 : 7, headings, 0x1bc, 1);
    char text[4096];

    for (uint32_t i = 0; i < count; i++) {
        uint64_t bytes = 0, strides[PSNAP_STRIDE_BINS] = {0};
        for (uint32_t r = 0; r < loops[i]->region_count; r++) {
            bytes += loops[i]->regions[r].bytes;
            add_strides(&loops[i]->regions[r], strides);
        }
        psnap_table_cell(table, "%s", loops[i]->id);
        psnap_table_cell(table, "%s", human_source(loops[i], text, sizeof text));
        psnap_table_cell(table, "%s", psnap_group_digits(loops[i]->accesses, text));
        psnap_table_cell(table, "%.1f %%", show_percent(loops[i]->accesses, accesses));
        psnap_table_cell(table, "%" PRIu32, loops[i]->region_count);
        psnap_table_cell(table, "%s", human_bytes(bytes, text));
        psnap_table_cell(table, "%s", human_strides(strides, text, sizeof text));
        if (is_sample)
            print_estimate(loops[i], table);
    }
    show_print(table);
    if (count < profile->loop_count)
        psnap_print(stdout, "(%" PRIu32 " of %" PRIu32 " loops; --top N shows more)\n", count,
                    profile->loop_count);
}

static void print_regions(const struct psnap_profile_loop *loop)
{
    static const char *const headings[] = {"region", "object",      "accesses", "share",
                                           "stores", "working set", "place",    "strides (bytes)"};
    struct psnap_table *table = show_table(8, headings, 0x3c, 3);
    char text[256];

    for (uint32_t i = 0; i < loop->region_count; i++) {
        const struct psnap_profile_region *region = &loop->regions[i];
        const struct psnap_place place = psnap_layout_split(region->low);
        uint64_t strides[PSNAP_STRIDE_BINS] = {0};
        add_strides(region, strides);
        psnap_table_cell(table, "%s", region->id);
        psnap_table_cell(table, "%s", region->object ? region->object : "-");
        psnap_table_cell(table, "%s", psnap_group_digits(region->accesses, text));
        psnap_table_cell(table, "%.1f %%", show_percent(region->accesses, loop->accesses));
        psnap_table_cell(
            table, "%.0f %%",
            show_percent(region->accesses - region->kinds[PSNAP_LOAD], region->accesses));
        psnap_table_cell(table, "%s", human_bytes(region->bytes, text));
        psnap_table_cell(table, "%s%+" PRId64, psnap_group_name(place.group), place.offset);
        psnap_table_cell(table, "%s", human_strides(strides, text, sizeof text));
    }
    show_print(table);
}

static void print_count(const char *label, uint64_t count, const char *end)
{
    char digits[32];

    psnap_print(stdout, "%-10s %s", label, psnap_group_digits(count, digits));
    fputs(end, stdout);
}

static void print_loop(const struct psnap_profile *profile, const struct psnap_profile_loop *loop,
                       uint64_t accesses)
{
    const bool is_entered = loop->entries && loop->entries != UINT64_MAX;
    char text[4096];

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
        print_count("entries", loop->entries, "\n");
    if (loop->iterations != UINT64_MAX) {
        print_count("iterations", loop->iterations, is_entered ? ", " : "\n");
        if (is_entered)
            printf("%.6g per entry\n", (double)loop->iterations / (double)loop->entries);
    }
    print_count("accesses", loop->accesses, ", ");
    printf("%.1f %% of all\n", show_percent(loop->accesses, accesses));
    if (loop->estimate_accesses != UINT64_MAX) {
        print_count("in the run", loop->estimate_accesses, "");
        if (loop->estimate_error != UINT64_MAX)
            print_count(", standard error", loop->estimate_error, "");
        putchar('\n');
    }
    for (unsigned op = 0; op < PSNAP_OPERATION_COUNT; op++)
        if (loop->operations[op])
            print_count(psnap_operation_name(op), loop->operations[op], "\n");
    if (loop->region_count)
        print_regions(loop);
}

/* ---- as JSON ---- */

/* The file that the profile is written as, for the caller to free. */
static struct psnap_yaml_doc *written(const struct psnap_profile *profile)
{
    struct psnap_yaml_doc *doc = NULL;
    struct psnap_error error;
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    if (file && !psnap_profile_write(profile, file, &error) && !fflush(file))
        doc = psnap_yaml_read_text(text, size, "profile", &error);
    if (!doc)
        psnap_cmd_out_of_memory();
    fclose(file);
    free(text);
    return doc;
}

/* Loops are in the order of the file. */
static void print_json(const struct psnap_profile *profile, struct psnap_profile_loop *const *loops,
                       uint32_t count)
{
    struct psnap_yaml_doc *doc = written(profile);
    struct psnap_json json;

    psnap_cmd_begin_json(&json, stdout, "show");
    if (profile->certificate)
        psnap_json_bool(&json, "certificate_holds", psnap_certificate_holds(profile, NULL) == 1);
    for (const struct psnap_yaml_node *part = psnap_yaml_root(doc)->first; part;
         part = part->next) {
        const struct psnap_yaml_node *loop = part->first;
        if (strcmp(part->key, "loops") != 0) {
            if (strcmp(part->key, "psnap") != 0)
                psnap_cmd_json_node(&json, part);
            continue;
        }
        psnap_json_begin_array(&json, "loops");
        for (uint32_t i = 0, chosen = 0; chosen < count; i++, loop = loop->next)
            if (&profile->loops[i] == loops[chosen]) {
                psnap_cmd_json_node(&json, loop);
                chosen++;
            }
        psnap_json_end_array(&json);
    }
    psnap_json_end_object(&json);
    psnap_yaml_doc_free(doc);
}

/* ---- the command ---- */

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

/* Chooses all loops, that of an id, or else the parts of that loop of the source; returns how many
 * these are, in the order of the profile. */
static uint32_t choose(const struct psnap_profile *profile, const char *wanted,
                       struct psnap_profile_loop **loops)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < profile->loop_count; i++)
        if (!wanted || is_id(wanted, profile->loops[i].id))
            loops[count++] = &profile->loops[i];
    for (uint32_t i = 0, parts = !count; parts && i < profile->loop_count; i++)
        if (is_id(wanted, profile->loops[i].src_id))
            loops[count++] = &profile->loops[i];
    return count;
}

static int hottest_first(const void *a, const void *b)
{
    const struct psnap_profile_loop *const *p = a, *const *q = b;

    if ((*p)->accesses != (*q)->accesses)
        return (*p)->accesses > (*q)->accesses ? -1 : 1;
    return *p < *q ? -1 : *p > *q;
}

static int no_such_loop(const struct request *request, const struct psnap_profile *profile)
{
    const char *nearest = psnap_profile_nearest_loop(profile, request->loop);
    struct psnap_error error;

    psnap_error_set(&error, PSNAP_ERROR_VALUE, "there is no loop '%.200s' in '%.200s'%s%.100s%s",
                    request->loop, request->path, nearest ? "; did you mean '" : "",
                    nearest ? nearest : "", nearest ? "'?" : "");
    return psnap_cmd_fail("show", &error);
}

static void print_text(const struct request *request, const struct psnap_profile *profile,
                       struct psnap_profile_loop **loops, uint32_t count)
{
    const uint64_t top = request->top < UINT32_MAX ? request->top : UINT32_MAX;
    struct psnap_profile_totals totals;

    psnap_profile_totals(profile, &totals);
    qsort(loops, count, sizeof(struct psnap_profile_loop *), hottest_first);
    for (uint32_t i = 0; request->loop && i < count; i++) {
        fputs(i ? "\n" : "", stdout);
        print_loop(profile, loops[i], totals.accesses);
        show_print_references(profile, (uint32_t)(loops[i] - profile->loops));
    }
    if (request->schedule)
        show_print_schedule(profile, SHOW_ALL_LINES);
    if (request->loop || request->schedule)
        return;
    print_program(profile);
    print_totals(profile, &totals);
    print_certificate(profile);
    print_loops(profile, loops, count < top ? count : (uint32_t)top, totals.accesses);
    if (profile->stream) {
        show_print_irregular(profile, totals.accesses, (2 * top + 3) / 4);
        show_print_schedule(profile, 2 * top);
    }
}

static int show(const struct request *request, const struct psnap_profile *profile)
{
    struct psnap_profile_loop **loops = calloc(profile->loop_count + (size_t)1, sizeof(void *));
    uint32_t count;
    int status = PSNAP_EXIT_DONE;

    if (!loops)
        psnap_cmd_out_of_memory();
    count = choose(profile, request->loop, loops);
    if (request->loop && !count)
        status = no_such_loop(request, profile);
    else if (request->json)
        print_json(profile, loops, count);
    else
        print_text(request, profile, loops, count);
    free(loops);
    return status;
}

int psnap_cmd_show(int argc, char **argv)
{
    struct request request = {.top = 20};
    const struct psnap_option options[] = {
        {PSNAP_OPTION_TEXT, 0, "loop", &request.loop, "ID",
         "one loop, with its regions, bodies and references; all its parts"},
        {PSNAP_OPTION_U64, 0, "top", &request.top, "N",
         "so many of the hottest loops, and twice as many lines of the schedule; 20"},
        {PSNAP_OPTION_FLAG, 0, "schedule", &request.schedule, NULL,
         "only the schedule, in full: executions of loop bodies as nested repeats, and what comes\n"
         "after what in chains; (+1) behind a number: it grows by 1 with each repeat around"},
        {PSNAP_OPTION_FLAG, 0, "json", &request.json, NULL,
         "the profile's file as JSON, all of its loops or those of --loop"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {
        "psnap show P.yaml [--loop ID | --schedule] [--top N] [--json]",
        "Shows a profile: program, totals, its hottest loops with their share of the accesses,\n"
        "working set (the extents of all regions together: lowest to highest address of each) and\n"
        "dominating strides, how soon irregular references come back to their lines, and the\n"
        "schedule. 'load a +8' goes through region a\n"
        "8 bytes at a time, 'load @3 +8' goes 8 bytes behind the latest address of reference 3,\n"
        "'load ~h' is irregular in the data object h. Strides are those of the machine's\n"
        "references: of a loop that was unrolled four times they are four times those of the\n"
        "source, which psnap edit takes.",
        options};
    struct psnap_profile *profile = NULL;
    struct psnap_error error;
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    if (operands != 1)
        return psnap_cmd_usage("show", "one profile, please");
    if (request.schedule && request.loop)
        return psnap_cmd_usage("show", "--schedule is of all loops, --loop of one");
    request.path = argv[1];
    profile = psnap_input_read_profile(request.path, &error);
    if (!profile)
        return psnap_cmd_fail("show", &error);
    if (request.schedule && !profile->stream) {
        psnap_error_set(&error, PSNAP_ERROR_VALUE,
                        "'%.200s' is of model %s, whose schedule is a list of loops: --schedule is "
                        "for model nests",
                        request.path, profile->model);
        status = psnap_cmd_fail("show", &error);
    } else
        status = show(&request, profile);
    psnap_profile_free(profile);
    return psnap_cmd_close_stdout("show", status);
}
