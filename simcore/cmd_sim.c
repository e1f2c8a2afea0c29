/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap sim: one pass of a stream through any number of machines, and a table
 * of hit rates for each. The JSON is documented in MACHINES.md.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "formats/base/cmd.h"
#include "formats/base/json.h"
#include "formats/base/text.h"
#include "replay/cmd_input.h"
#include "simcore/cmd_side.h"
#include "simcore/cmd_turns.h"
#include "simcore/scope.h"

struct report {
    const char *path;
    const struct psnap_machine *machines;
    size_t machine_count;
    bool wanted[PSNAP_SCOPE_COUNT];
    struct scope_rows scopes[PSNAP_SCOPE_COUNT]; /* of those wanted */
    uint64_t accesses;
    uint32_t threads;
    uint64_t cores; /* threads are these, 0: they have one hierarchy */
    bool apart;     /* a table for each machine */
    bool in_turn;   /* these, access by access; else in the trace's order */
    double seconds;
};

static double rate(const struct report *report)
{
    return report->seconds > 0 ? (double)report->accesses / report->seconds : 0;
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void release_scopes(struct report *report)
{
    for (int i = 0; i < PSNAP_SCOPE_COUNT; i++)
        scope_rows_release(&report->scopes[i]);
}

static enum psnap_status run(void *context, struct psnap_source *source, struct psnap_error *error)
{
    struct report *report = context;
    struct psnap_touched *touched =
        report->wanted[PSNAP_SCOPE_REGION] ? psnap_touched_new(source->program) : NULL;
    const struct psnap_sim_options options = {.by_thread = report->wanted[PSNAP_SCOPE_THREAD],
                                              .tagger = touched ? psnap_touched_tag : NULL,
                                              .tagger_context = touched,
                                              .cores = (uint32_t)report->cores};
    struct psnap_sink *sim =
        psnap_sim_new(report->machines, report->machine_count, source->program, &options, error);
    const double start = now();
    enum psnap_status status = sim ? PSNAP_OK : PSNAP_ERROR_MEMORY;

    release_scopes(report);
    if (report->wanted[PSNAP_SCOPE_REGION] && !touched)
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for regions");
    if (status == PSNAP_OK)
        status = psnap_pump(source, sim, &report->accesses, error);
    report->seconds = now() - start;
    if (status == PSNAP_OK)
        report->threads = psnap_sim_threads(sim);
    for (int i = 0; i < PSNAP_SCOPE_COUNT && status == PSNAP_OK; i++)
        if (report->wanted[i])
            status = scope_rows_init(&report->scopes[i], (enum psnap_scope)i, sim,
                                     report->machine_count, source->program, touched, error);
    psnap_sink_free(sim);
    psnap_touched_free(touched);
    return status;
}

/* A share or rate in percent; "-" when there is nothing to divide by. */
static void percent_cell(struct psnap_table *table, double fraction)
{
    if (fraction == fraction)
        psnap_table_cell(table, "%.2f", 100 * fraction);
    else
        psnap_table_cell(table, "-");
}

static void table_row(struct psnap_table *table, const struct report *report, size_t machine,
                      enum psnap_scope scope, const struct scope_row *row)
{
    const struct psnap_tally *tally = &row->tallies[machine];
    char digits[32];

    psnap_table_cell(table, "%s", psnap_scope_name(scope));
    psnap_table_cell(table, "%s", row->id);
    psnap_table_cell(table, "%s", row->name);
    psnap_table_cell(table, "%s", psnap_group_digits(tally->accesses, digits));
    percent_cell(table, report->accesses ? (double)tally->accesses / (double)report->accesses : 1);
    for (size_t i = 0; i < report->machines[machine].level_count; i++) {
        percent_cell(table, psnap_tally_hit_rate(tally, i));
        percent_cell(table, psnap_tally_cumulative(tally, i));
        psnap_table_cell(table, "%s", psnap_group_digits(tally->write_backs[i], digits));
        if (!report->machines[machine].levels[i].prefetch.entries)
            continue;
        psnap_table_cell(table, "%s", psnap_group_digits(tally->prefetches[i], digits));
        psnap_table_cell(table, "%s", psnap_group_digits(tally->prefetches_useful[i], digits));
        psnap_table_cell(table, "%s", psnap_group_digits(tally->prefetches_useless[i], digits));
    }
    for (size_t i = 0; i < report->machines[machine].tlb_level_count; i++) {
        percent_cell(table, psnap_tally_tlb_hit_rate(tally, i));
        percent_cell(table, psnap_tally_tlb_cumulative(tally, i));
    }
}

enum { CORES_MAX = 1024 }; /* each has memory for its caches */
enum { FIXED = 5, PER_LEVEL = 3, PER_PREFETCHER = 3, PER_TLB_LEVEL = 2 };
enum {
    COLUMNS_MAX = FIXED + PSNAP_LEVELS_MAX * (PER_LEVEL + PER_PREFETCHER) +
                  PSNAP_TLB_LEVELS_MAX * PER_TLB_LEVEL
};

struct columns {
    char headings[COLUMNS_MAX][32];
    size_t count;
};

/* Columns of a level, "L1 hit %" and so on. */
static void add_columns(struct columns *columns, const char *level, const char *const *names,
                        size_t n)
{
    for (size_t i = 0; i < n; i++)
        snprintf(columns->headings[columns->count++], sizeof columns->headings[0], "%s%s%s", level,
                 *level ? " " : "", names[i]);
}

static struct psnap_table *machine_table(const struct psnap_machine *machine)
{
    static const char *const fixed[FIXED] = {"scope", "id", "name", "accesses", "share %"};
    static const char *const per_level[PER_LEVEL] = {"hit %", "cum. %", "wb"};
    static const char *const per_prefetcher[PER_PREFETCHER] = {"prefetched", "useful", "useless"};
    const char *headings[COLUMNS_MAX];
    struct columns columns = {.count = 0};
    struct psnap_table *table;
    char level[16];

    add_columns(&columns, "", fixed, FIXED);
    for (uint32_t i = 0; i < machine->level_count; i++) {
        snprintf(level, sizeof level, "L%" PRIu32, i + 1);
        add_columns(&columns, level, per_level, PER_LEVEL);
        if (machine->levels[i].prefetch.entries)
            add_columns(&columns, level, per_prefetcher, PER_PREFETCHER);
    }
    for (uint32_t i = 0; i < machine->tlb_level_count; i++)
        add_columns(&columns, scope_tlb_name(i), per_level, PER_TLB_LEVEL);
    for (size_t i = 0; i < columns.count; i++)
        headings[i] = columns.headings[i];
    table = psnap_table_new(columns.count, headings);
    psnap_table_shorten(table, 1);
    psnap_table_shorten(table, 2);
    for (size_t i = 3; i < columns.count; i++)
        psnap_table_align_right(table, i);
    return table;
}

static void print_machine(const struct report *report, size_t machine)
{
    struct psnap_table *table = machine_table(&report->machines[machine]);
    char shape[512];

    for (int scope = 0; scope < PSNAP_SCOPE_COUNT; scope++)
        for (size_t i = 0; i < report->scopes[scope].count; i++)
            table_row(table, report, machine, (enum psnap_scope)scope,
                      &report->scopes[scope].rows[i]);
    printf("%smachine %s", machine ? "\n" : "", report->machines[machine].name);
    if (!strchr(report->machines[machine].name, ':')) /* the inline form says it already */
        printf(" (%s)", scope_machine_shape(&report->machines[machine], shape, sizeof shape));
    printf("\n\n");
    psnap_table_print(table, stdout);
    psnap_table_free(table);
}

/* Cumulative hit rates of all machines, beside each other. */
static struct psnap_table *side_by_side(const struct report *report)
{
    static const char *const fixed[FIXED] = {"scope", "id", "name", "accesses", "share %"};
    size_t columns = FIXED;
    struct psnap_table *table;
    const char **headings;
    char(*names)[64];

    for (size_t i = 0; i < report->machine_count; i++)
        columns += report->machines[i].level_count;
    headings = calloc(columns, sizeof *headings);
    names = calloc(columns, sizeof *names);
    for (size_t i = 0; headings && i < FIXED; i++)
        headings[i] = fixed[i];
    for (size_t i = 0, at = FIXED; headings && names && i < report->machine_count; i++)
        for (uint32_t level = 0; level < report->machines[i].level_count; level++, at++) {
            snprintf(names[at], sizeof names[at], "%.48s L%" PRIu32 " %%", report->machines[i].name,
                     level + 1);
            headings[at] = names[at];
        }
    table = headings && names ? psnap_table_new(columns, headings) : NULL;
    for (size_t i = 3; table && i < columns; i++)
        psnap_table_align_right(table, i);
    free(headings);
    free(names);
    return table;
}

static void compared_row(struct psnap_table *table, const struct report *report,
                         enum psnap_scope scope, const struct scope_row *row)
{
    const uint64_t accesses = row->tallies[0].accesses;
    char digits[32];

    psnap_table_cell(table, "%s", psnap_scope_name(scope));
    psnap_table_cell(table, "%s", row->id);
    psnap_table_cell(table, "%s", row->name);
    psnap_table_cell(table, "%s", psnap_group_digits(accesses, digits));
    percent_cell(table, report->accesses ? (double)accesses / (double)report->accesses : 1);
    for (size_t i = 0; i < report->machine_count; i++)
        for (uint32_t level = 0; level < report->machines[i].level_count; level++)
            percent_cell(table, psnap_tally_cumulative(&row->tallies[i], level));
}

/* Write-backs, prefetches and TLBs are in each machine's own table, and with --json. */
static void print_compared(const struct report *report)
{
    struct psnap_table *table = side_by_side(report);
    char shape[512];

    for (size_t i = 0; i < report->machine_count; i++)
        printf("machine %s (%s)\n", report->machines[i].name,
               scope_machine_shape(&report->machines[i], shape, sizeof shape));
    printf("\ncumulative hit rates:\n\n");
    if (!table) {
        fprintf(stderr, "psnap sim: out of memory for a table\n");
        return;
    }
    psnap_table_shorten(table, 1);
    psnap_table_shorten(table, 2);
    for (int scope = 0; scope < PSNAP_SCOPE_COUNT; scope++)
        for (size_t i = 0; i < report->scopes[scope].count; i++)
            compared_row(table, report, (enum psnap_scope)scope, &report->scopes[scope].rows[i]);
    psnap_table_print(table, stdout);
    psnap_table_free(table);
}

static void print_tables(const struct report *report)
{
    char digits[32];

    if (report->machine_count > 1 && !report->apart)
        print_compared(report);
    else
        for (size_t i = 0; i < report->machine_count; i++)
            print_machine(report, i);
    if (report->threads > 1)
        printf("\n%" PRIu32 " threads, interleaved %s, %s\n", report->threads,
               report->in_turn ? "access by access" : "in the stream's order",
               report->cores ? "each a core with the caches that the machine has for it"
                             : "in one hierarchy");
    fflush(stdout);
    fprintf(stderr, "%s accesses in %.2f s, %.1f M/s\n",
            psnap_group_digits(report->accesses, digits), report->seconds, 1e-6 * rate(report));
}

static void json_tlb(struct psnap_json *json, const struct psnap_machine *machine,
                     const struct psnap_tally *tally)
{
    if (!machine->tlb_level_count)
        return;
    psnap_json_begin_array(json, "tlb");
    for (size_t i = 0; i < machine->tlb_level_count; i++) {
        psnap_json_begin_object(json, NULL);
        psnap_json_text(json, "level", scope_tlb_name(i));
        psnap_json_u64(json, "accesses", psnap_tally_tlb_reached(tally, i));
        psnap_json_u64(json, "hits", tally->tlb_hits[i]);
        psnap_json_real(json, "hit_rate", psnap_tally_tlb_hit_rate(tally, i));
        psnap_json_real(json, "cumulative_hit_rate", psnap_tally_tlb_cumulative(tally, i));
        psnap_json_end_object(json);
    }
    psnap_json_end_array(json);
}

static void json_row(struct psnap_json *json, const struct report *report, size_t machine,
                     enum psnap_scope scope, const struct scope_row *row)
{
    const struct psnap_tally *tally = &row->tallies[machine];

    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "machine", report->machines[machine].name);
    psnap_json_text(json, "scope", psnap_scope_name(scope));
    psnap_json_text(json, "id", row->id);
    psnap_json_text(json, "name", row->name);
    psnap_json_u64(json, "accesses", tally->accesses);
    psnap_json_begin_array(json, "levels");
    for (size_t i = 0; i < report->machines[machine].level_count; i++) {
        psnap_json_begin_object(json, NULL);
        psnap_json_u64(json, "level", i + 1);
        psnap_json_u64(json, "accesses", psnap_tally_reached(tally, i));
        psnap_json_u64(json, "hits", tally->hits[i]);
        psnap_json_real(json, "hit_rate", psnap_tally_hit_rate(tally, i));
        psnap_json_real(json, "cumulative_hit_rate", psnap_tally_cumulative(tally, i));
        psnap_json_u64(json, "write_backs", tally->write_backs[i]);
        if (report->machines[machine].levels[i].prefetch.entries) {
            psnap_json_u64(json, "prefetches", tally->prefetches[i]);
            psnap_json_u64(json, "prefetches_useful", tally->prefetches_useful[i]);
            psnap_json_u64(json, "prefetches_useless", tally->prefetches_useless[i]);
        }
        psnap_json_end_object(json);
    }
    psnap_json_end_array(json);
    json_tlb(json, &report->machines[machine], tally);
    psnap_json_end_object(json);
}

static void print_json(const struct report *report)
{
    struct psnap_json json;

    psnap_json_init(&json, stdout);
    psnap_json_begin_object(&json, NULL);
    psnap_json_u64(&json, "psnap", 1);
    psnap_json_text(&json, "command", "sim");
    psnap_json_text(&json, "input", report->path);
    psnap_json_u64(&json, "accesses", report->accesses);
    psnap_json_u64(&json, "threads", report->threads);
    if (report->cores)
        psnap_json_u64(&json, "cores", report->cores);
    psnap_json_text(&json, "interleaving",
                    report->in_turn && report->threads > 1 ? "round-robin by access"
                                                           : "stream order");
    psnap_json_text(&json, "hierarchy", report->cores ? "cores" : "one");
    psnap_json_real(&json, "accesses_per_second", rate(report));
    psnap_json_begin_array(&json, "rows");
    for (size_t machine = 0; machine < report->machine_count; machine++)
        for (int scope = 0; scope < PSNAP_SCOPE_COUNT; scope++)
            for (size_t i = 0; i < report->scopes[scope].count; i++)
                json_row(&json, report, machine, (enum psnap_scope)scope,
                         &report->scopes[scope].rows[i]);
    psnap_json_end_array(&json);
    psnap_json_end_object(&json);
    putchar('\n');
}

static int simulate(const char *path, const struct psnap_input_options *input, const char *by,
                    const struct psnap_text_list *machines, uint64_t cores, bool apart, bool json)
{
    struct report report = {
        .path = path, .machine_count = machines->count, .cores = cores, .apart = apart};
    struct psnap_error error;
    struct psnap_machine *owned = NULL;
    int status = PSNAP_EXIT_DONE;

    if (!psnap_scope_parse_list(by, report.wanted, &error))
        return psnap_cmd_fail("sim", &error);
    owned = scope_machines(machines->items, machines->count, &error);
    report.machines = owned;
    if (owned)
        side_warn_of_sizes(owned, machines->count);
    if (owned && !psnap_turns_pass(path, input, report.wanted[PSNAP_SCOPE_THREAD] && !cores, run,
                                   &report, &report.in_turn, &error)) {
        if (json)
            print_json(&report);
        else
            print_tables(&report);
        status = psnap_cmd_close_stdout("sim", PSNAP_EXIT_DONE);
    } else {
        status = psnap_cmd_fail("sim", &error);
    }
    release_scopes(&report);
    free(owned);
    return status;
}

int psnap_cmd_sim(int argc, char **argv)
{
    struct psnap_input_options input = PSNAP_INPUT_DEFAULTS;
    struct psnap_text_list machines = {0};
    const char *by = "total,loop";
    uint64_t cores = 0;
    const char *threads = NULL;
    bool apart = false, json = false;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_LIST, 'm', "machine", &machines, "MACHINE",
         "a bundled name, a machine file, or size:line:ways,...; may be repeated"},
        {PSNAP_OPTION_TEXT, 0, "by", &by, "SCOPES",
         "rows: any of total,loop,block,region,thread (total,loop)"},
        {PSNAP_OPTION_TEXT, 0, "cores", &threads, "N",
         "threads are N cores, whose caches are apart or shared as the machine says"},
        {PSNAP_OPTION_FLAG, 0, "apart", &apart, NULL,
         "of several machines: a table each, with write-backs, prefetches and TLBs"},
        {PSNAP_OPTION_FLAG, 0, "json", &json, NULL, "print JSON"},
        {PSNAP_OPTION_TEXT, 0, "from", &input.from, "FORMAT", "the input's format (recognised)"},
        {PSNAP_OPTION_U64, 0, "seed", &input.seed, "N", "of a profile's replay (0)"},
        {PSNAP_OPTION_COUNT, 0, "skip", &input.skip, "N", "leave out the first N accesses"},
        {PSNAP_OPTION_COUNT, 0, "count", &input.count, "N", "stop after N accesses"},
        {PSNAP_OPTION_END, 0, NULL, NULL, NULL, NULL},
    };
    const struct psnap_usage usage = {
        "psnap sim INPUT -m MACHINE [-m ...] [--by total,loop,block,region,thread] [--json]",
        "Runs the accesses of INPUT (a trace, a profile, or - for standard input)\n"
        "through the caches of each MACHINE, all cold at the start, in one pass.\n"
        "'psnap machines' lists the bundled machines. Hit rates are of the accesses\n"
        "that reached a level; cumulative ones of all accesses. Several machines have a\n"
        "table in common, of cumulative hit rates.",
        options};
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands == 1 && threads &&
        (!psnap_text_u64(threads, &cores) || cores < 1 || cores > CORES_MAX))
        status = psnap_cmd_usage("sim", "--cores takes a number from 1 to %d, not '%.100s'",
                                 CORES_MAX, threads);
    else if (operands == 1 && machines.count)
        status = simulate(argv[1], &input, by, &machines, cores, apart, json);
    else if (operands == 1)
        status = psnap_cmd_usage("sim", "no machine: give at least one -m MACHINE");
    else if (operands >= 0)
        status = psnap_cmd_usage("sim", "one input is needed, not %d", operands);
    psnap_text_list_release(&machines);
    return status;
}
