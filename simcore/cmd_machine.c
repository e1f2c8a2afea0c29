/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap machine host: a machine file of this computer. Sizes are what the system says, times what
 * probe.h measures; MACHINES.md says how, and what the figures mean.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "formats/base/cmd.h"
#include "formats/base/output.h"
#include "simcore/cmd_host.h"
#include "simcore/cmd_machines.h"
#include "simcore/probe.h"

#define BUDGET_SECONDS 25.0
#define LINE_COLUMNS 90

struct request {
    const char *output, *budget;
    bool json, force;
};

/* A line on the terminal that is rewritten for each measurement. */
static void tell_progress(void *context, const char *what, double done)
{
    const double *seconds = context;

    psnap_print(stderr, "\rpsnap: measuring the %s, %.0f %%, %.0f s left\033[K", what, 100 * done,
                *seconds * (1 - done));
}

/* The name is left to the file; what the system's description says of rounding is kept. */
static void describe_measured(struct psnap_machine *machine, const char *processor)
{
    char rounding[sizeof machine->description];
    const char *semicolon = strchr(machine->description, ';');

    snprintf(rounding, sizeof rounding, "%s", semicolon ? semicolon : "");
    snprintf(machine->description, sizeof machine->description, "%.100s, measured%.140s", processor,
             rounding);
}

static void print_set(FILE *file, const char *name, uint64_t bytes)
{
    if (bytes)
        fprintf(file, "#   %s: %.0f KiB\n", name, (double)bytes / 1024);
    else
        fprintf(file, "#   %s: not measured, as no working set would be in it alone\n", name);
}

/* Each figure with the spread of its runs, as many as fit on a line. */
static void print_spreads(FILE *file, const struct probe_notes *notes)
{
    size_t column = 0;

    fprintf(file, "# Of each figure half of the runs are within a spread of:");
    for (size_t i = 0; i < notes->figure_count; i++) {
        const struct probe_figure *figure = &notes->figures[i];
        char text[128];
        const int length =
            figure->runs < PROBE_RUNS_MIN
                ? snprintf(text, sizeof text, "%s unknown", figure->what)
                : snprintf(text, sizeof text, "%s %.0f %%", figure->what, 100 * figure->spread);
        const bool is_full = !column || column + (size_t)length > LINE_COLUMNS;
        fprintf(file, "%s%s%s", !i ? "" : ",", is_full ? "\n#   " : " ", text);
        column = (is_full ? 4 : column + 2) + (size_t)length;
    }
    fputs(notes->is_short ? "\n# There was no time for more: the machine was busy.\n" : "\n", file);
}

/* Where the figures come from, as comments. */
static void print_provenance(FILE *file, const struct psnap_machine *machine, const char *processor,
                             const struct probe_notes *notes)
{
    const time_t now = time(NULL);
    struct tm when;
    char date[32] = "", name[32];

    if (gmtime_r(&now, &when))
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &when);
    psnap_print(file, "# Measured by psnap " PSNAP_VERSION " on %s in %.1f s, %s, ", date,
                notes->seconds, processor);
    if (notes->cpu >= 0)
        fprintf(file, "on its processor %d.\n", notes->cpu);
    else
        fprintf(file, "without staying on one processor.\n");
    fprintf(file,
            "# Sizes, lines and ways are what the system says; all else is of one core.\n"
            "# Cycles are those of dependent additions; simcore/MACHINES.md says how.\n"
            "# Working sets, %.0f %% of the largest in huge pages:\n",
            100 * notes->huge_share);
    for (uint32_t i = 0; i < machine->level_count; i++) {
        snprintf(name, sizeof name, "level %" PRIu32, i + 1);
        print_set(file, name, notes->set_bytes[i]);
    }
    print_set(file, "memory", notes->set_bytes[machine->level_count]);
    print_spreads(file, notes);
}

static void print_json(const struct psnap_machine *machine, const char *processor,
                       const struct probe_notes *notes)
{
    struct psnap_json json;

    psnap_cmd_begin_json(&json, stdout, "machine");
    machines_json(&json, "machine", machine);
    psnap_json_begin_object(&json, "measured");
    psnap_json_text(&json, "processor", processor);
    if (notes->cpu >= 0)
        psnap_json_u64(&json, "cpu", (uint64_t)notes->cpu);
    psnap_json_real(&json, "seconds", notes->seconds);
    psnap_json_real(&json, "huge_page_share", notes->huge_share);
    psnap_json_bool(&json, "is_short_of_time", notes->is_short);
    psnap_json_begin_array(&json, "spreads");
    for (size_t i = 0; i < notes->figure_count; i++) {
        psnap_json_begin_object(&json, NULL);
        psnap_json_text(&json, "figure", notes->figures[i].what);
        psnap_json_real(&json, "spread", notes->figures[i].spread);
        psnap_json_u64(&json, "runs", notes->figures[i].runs);
        psnap_json_end_object(&json);
    }
    psnap_json_end_array(&json);
    psnap_json_begin_array(&json, "working_set_bytes");
    for (uint32_t i = 0; i <= machine->level_count; i++)
        psnap_json_u64(&json, NULL, notes->set_bytes[i]);
    psnap_json_end_array(&json);
    psnap_json_end_object(&json);
    psnap_json_end_object(&json);
    putchar('\n');
}

/* The file, where one is asked for, then what is for standard output. */
static enum psnap_status report(const struct request *request, struct psnap_output *output,
                                struct psnap_machine *machine, const struct probe_notes *notes,
                                struct psnap_error *error)
{
    const bool is_stdout = !request->json && psnap_output_is_stdout(request->output);
    char processor[128];
    enum psnap_status status = PSNAP_OK;

    host_processor(processor, sizeof processor);
    describe_measured(machine, processor);
    if (output) {
        machine->name[0] = '\0';
        print_provenance(psnap_output_file(output), machine, processor, notes);
        status = psnap_machine_write(machine, psnap_output_file(output), error);
        snprintf(machine->name, sizeof machine->name, "host");
    }
    if (status != PSNAP_OK)
        return status;
    if (request->json)
        print_json(machine, processor, notes);
    else if (!is_stdout)
        machines_describe(machine);
    return PSNAP_OK;
}

static int measure(const struct request *request, double seconds)
{
    const bool is_on_terminal = isatty(STDERR_FILENO);
    const struct probe_progress progress = {is_on_terminal ? tell_progress : NULL, &seconds};
    const bool has_file = !request->json || !psnap_output_is_stdout(request->output);
    struct psnap_output *output = NULL;
    struct psnap_machine machine;
    struct probe_notes notes;
    struct psnap_error error;
    enum psnap_status status = psnap_machine_host(NULL, &machine, &error);

    if (status == PSNAP_OK && has_file) {
        output = psnap_output_open(request->output, request->force, &error);
        if (!output)
            return psnap_cmd_fail("machine", &error);
    }
    if (status == PSNAP_OK)
        status = probe_machine(&machine, seconds, progress, &notes, &error);
    if (is_on_terminal)
        fputs("\r\033[K", stderr);
    if (status == PSNAP_OK)
        status = report(request, output, &machine, &notes, &error);
    if (status == PSNAP_OK && notes.is_short)
        fputs(
            "psnap machine: warning: the machine was too busy for all runs in time; the file says "
            "how far those of each figure are apart\n",
            stderr);
    if (psnap_output_finish(output, status, &error) != PSNAP_OK)
        return psnap_cmd_fail("machine", &error);
    return psnap_cmd_close_stdout("machine", PSNAP_EXIT_DONE);
}

int psnap_cmd_machine(int argc, char **argv)
{
    struct request request = {.output = "-"};
    const struct psnap_option options[] = {
        {PSNAP_OPTION_TEXT, 'o', "output", &request.output, "FILE.yaml", "where to; else stdout"},
        {PSNAP_OPTION_TEXT, 0, "budget", &request.budget, "TIME",
         "about how long it may take: 500ms, 30s, 2m; 25s unless said"},
        {PSNAP_OPTION_FLAG, 0, "json", &request.json, NULL, "print JSON"},
        {PSNAP_OPTION_FLAG, 0, "force", &request.force, NULL, "overwrite FILE"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {
        "psnap machine host [-o FILE.yaml] [--budget TIME] [--json] [--force]",
        "Measures this computer: clock, latency, throughput and bandwidth of each cache\n"
        "level and of memory, and what operations cost; cache sizes are what the system\n"
        "says. Writes a machine file, for '-m FILE'. Best while nothing else runs.",
        options};
    double seconds = BUDGET_SECONDS;
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    if (operands != 1 || strcmp(argv[1], "host"))
        return psnap_cmd_usage("machine", "'host', please: only this computer can be measured");
    if (request.budget && !host_parse_seconds(request.budget, &seconds))
        return psnap_cmd_usage("machine", "'%s' is no time such as 500ms, 30s or 2m, up to 60m",
                               request.budget);
    return measure(&request, seconds);
}
