/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap sim: one pass of a stream through any number of machines, and a table
 * of hit rates for each. The JSON is documented in MACHINES.md.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/reals.h"
#include "formats/base/text.h"
#include "replay/cmd_input.h"
#include "simcore/cmd_side.h"
#include "simcore/cmd_sim.h"
#include "simcore/cmd_sweep.h"
#include "simcore/cmd_turns.h"

static void release_scopes(struct sim_report *report)
{
    for (int i = 0; i < PSNAP_SCOPE_COUNT; i++)
        scope_rows_release(&report->scopes[i]);
}

static enum psnap_status run_all(struct sim_report *report, struct psnap_source *source,
                                 struct psnap_error *error)
{
    struct psnap_touched *touched =
        report->wanted[PSNAP_SCOPE_REGION] ? psnap_touched_new(source->program) : NULL;
    const struct psnap_sim_options options = {.by_thread = report->wanted[PSNAP_SCOPE_THREAD],
                                              .tagger = touched ? psnap_touched_tag : NULL,
                                              .tagger_context = touched,
                                              .cores = (uint32_t)report->cores,
                                              .classify = report->classify,
                                              .threads = psnap_processors()};
    struct psnap_sink *sim =
        psnap_sim_new(report->machines, report->machine_count, source->program, &options, error);
    const double start = psnap_reals_now();
    enum psnap_status status = sim ? PSNAP_OK : PSNAP_ERROR_MEMORY;

    release_scopes(report);
    if (report->wanted[PSNAP_SCOPE_REGION] && !touched)
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for regions");
    if (status == PSNAP_OK)
        status = psnap_pump(source, sim, &report->accesses, error);
    report->seconds = psnap_reals_now() - start;
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

static enum psnap_status run(void *context, struct psnap_source *source, struct psnap_error *error)
{
    const struct sim_report *report = context;
    struct psnap_source *ahead = side_read_ahead(source, report->machine_count);
    const enum psnap_status status = run_all(context, ahead ? ahead : source, error);

    psnap_source_free(ahead);
    return status;
}

static int simulate(const char *path, const struct psnap_input_options *input, const char *by,
                    const struct psnap_text_list *machines, uint64_t cores, bool classify,
                    bool apart, enum psnap_report_form form)
{
    struct sim_report report = {.path = path,
                                .machine_count = machines->count,
                                .cores = cores,
                                .classify = classify,
                                .apart = apart};
    struct psnap_error error;
    struct psnap_machine *owned = NULL;
    int status = PSNAP_EXIT_DONE;

    if (!psnap_scope_parse_list(by, report.wanted, &error))
        return psnap_cmd_fail("sim", &error);
    owned = scope_machines(machines->items, machines->count, &error);
    report.machines = owned;
    if (owned)
        side_warn_of_sizes(owned, machines->count);
    if (owned && !psnap_turns_pass(path, input, run, &report, &report.in_turn, &error)) {
        if (form == PSNAP_REPORT_JSON)
            sim_report_json(&report);
        else if (form == PSNAP_REPORT_CSV)
            sim_report_csv(&report, stdout);
        else
            sim_report_print(&report);
        status = psnap_cmd_close_stdout("sim", PSNAP_EXIT_DONE);
    } else {
        status = psnap_cmd_fail("sim", &error);
    }
    release_scopes(&report);
    free(owned);
    return status;
}

static int run_sweep(struct sweep_settings *sweep, const char *path, const char *by,
                     const char *other_option, enum psnap_report_form form)
{
    struct psnap_error error;

    if (other_option)
        return psnap_cmd_usage("sim", "--sweep is of caches by themselves: leave out %s",
                               other_option);
    if (!sweep->lines)
        sweep->lines = "64";
    if (sweep->ways == UINT64_MAX)
        sweep->ways = 16;
    if (sweep->ways < 1 || sweep->ways > SWEEP_WAYS_MAX)
        return psnap_cmd_usage("sim", "--ways takes a number from 1 to %d", SWEEP_WAYS_MAX);
    if (!psnap_scope_parse_list(by, sweep->wanted, &error))
        return psnap_cmd_fail("sim", &error);
    sweep->path = path;
    sweep->form = form;
    return sweep_run(sweep);
}

int psnap_cmd_sim(int argc, char **argv)
{
    struct psnap_input_options input = PSNAP_INPUT_DEFAULTS;
    struct psnap_text_list machines = {0};
    struct sweep_settings sweep = {.input = &input, .ways = UINT64_MAX};
    const char *by = NULL;
    uint64_t cores = 0;
    const char *threads = NULL;
    bool classify = false, apart = false, json = false, csv = false;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_LIST, 'm', "machine", &machines, "MACHINE",
         "a bundled name, a machine file, or size:line:ways,...; may be repeated"},
        {PSNAP_OPTION_TEXT, 0, "by", &by, "SCOPES",
         "rows: any of total,loop,block,region,thread (total,loop; of a sweep total)"},
        {PSNAP_OPTION_TEXT, 0, "cores", &threads, "N",
         "threads are N cores, whose caches are apart or shared as the machine says"},
        {PSNAP_OPTION_TEXT, 0, "interleave", &input.interleave, "WAY",
         "round-robin: threads in turn, access by access (else in the input's order)"},
        {PSNAP_OPTION_FLAG, 0, "misses", &classify, NULL,
         "tell cold, capacity and conflict misses apart, and count evictions (slower)"},
        {PSNAP_OPTION_TEXT, 0, "sweep", &sweep.sets, "SETS",
         "without a machine: LRU caches of these numbers of sets, as in 64,128,1K, and ..."},
        {PSNAP_OPTION_TEXT, 0, "line", &sweep.lines, "BYTES", "... lines of these sizes (64)"},
        {PSNAP_OPTION_COUNT, 0, "ways", &sweep.ways, "N", "... and all of 1 to N ways (16)"},
        {PSNAP_OPTION_FLAG, 0, "apart", &apart, NULL,
         "of several machines: a table each, with write-backs, prefetches and TLBs"},
        {PSNAP_OPTION_FLAG, 0, "json", &json, NULL, "print JSON"},
        {PSNAP_OPTION_FLAG, 0, "csv", &csv, NULL,
         "print CSV, a row for each machine, scope and level; of a sweep for each cache"},
        PSNAP_INPUT_OPTIONS(input),
        {PSNAP_OPTION_END, 0, NULL, NULL, NULL, NULL},
    };
    const struct psnap_usage usage = {
        "psnap sim INPUT -m MACHINE [-m ...] [--by total,loop,block,region,thread] [--json|--csv]",
        "Runs the accesses of INPUT (a trace, a profile, or - for standard input)\n"
        "through the caches of each MACHINE, all cold at the start, in one pass.\n"
        "'psnap machines' lists the bundled machines. Hit rates are of the accesses\n"
        "that reached a level; cumulative ones of all accesses. Several machines have a\n"
        "table in common, of cumulative hit rates, or several where a terminal is too\n"
        "narrow for it. With --sweep the hit rates of a whole space of single caches, in\n"
        "one pass. 'psnap reuse' has miss-ratio curves, of fully associative caches of\n"
        "all sizes.",
        options};
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);
    const enum psnap_report_form form = json  ? PSNAP_REPORT_JSON
                                        : csv ? PSNAP_REPORT_CSV
                                              : PSNAP_REPORT_TABLE;

    if (operands >= 0 && json && csv)
        status = psnap_cmd_usage("sim", "--json and --csv: one of them");
    else if (operands == 1 && threads &&
             (!psnap_text_u64(threads, &cores) || cores < 1 || cores > SIM_CORES_MAX))
        status = psnap_cmd_usage("sim", "--cores takes a number from 1 to %d, not '%.100s'",
                                 SIM_CORES_MAX, threads);
    else if (operands == 1 && sweep.sets)
        status = run_sweep(&sweep, argv[1], by ? by : "total",
                           machines.count ? "-m"
                           : classify     ? "--misses"
                           : apart        ? "--apart"
                           : threads      ? "--cores"
                                          : NULL,
                           form);
    else if (operands == 1 && (sweep.lines || sweep.ways != UINT64_MAX))
        status =
            psnap_cmd_usage("sim", "--line and --ways are of a --sweep; a machine has its own");
    else if (operands == 1 && machines.count)
        status = simulate(argv[1], &input, by ? by : "total,loop", &machines, cores, classify,
                          apart || classify, form);
    else if (operands == 1)
        status = psnap_cmd_usage("sim", "no machine: give at least one -m MACHINE");
    else if (operands >= 0)
        status = psnap_cmd_usage("sim", "one input is needed, not %d", operands);
    psnap_text_list_release(&machines);
    return status;
}
