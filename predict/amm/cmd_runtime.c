/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap predict runtime: run times from hit rates and operation counts, of an input as it was
 * measured, or of a larger one: with the block counts of another recording (--at), or with branch
 * probabilities (--probabilities). AMM.md has the models and documents JSON.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/output.h"
#include "formats/base/room.h"
#include "formats/base/text.h"
#include "predict/amm/cmd_branches.h"
#include "predict/amm/cmd_forecast.h"
#include "predict/amm/cmd_observations.h"
#include "predict/cmd_predict.h"

#define UNSAID UINT64_MAX /* bytes that no option gives */

/* -------------------------------------------------------------------- outputs */

struct bar {
    uint64_t distance;
    double accesses;
};

struct histogram {
    struct bar *bars;
    size_t count, room;
    bool is_full; /* out of memory */
};

static void add_bar(void *context, uint64_t distance, double accesses)
{
    struct histogram *histogram = context;
    struct bar *bars;

    if (!(accesses > 0) || histogram->is_full)
        return;
    bars = psnap_with_room(histogram->bars, &histogram->room, histogram->count + 1, sizeof *bars);
    histogram->is_full = !bars;
    if (!bars)
        return;
    histogram->bars = bars;
    bars[histogram->count++] = (struct bar){distance, accesses};
}

/* Cold ones are the largest. */
static int by_distance(const void *left, const void *right)
{
    const uint64_t a = ((const struct bar *)left)->distance;
    const uint64_t b = ((const struct bar *)right)->distance;

    return (a > b) - (a < b);
}

/* A line for each distance, in ascending order. */
static enum psnap_status write_distances(const struct forecast *forecast, FILE *file,
                                         struct psnap_error *error)
{
    struct histogram histogram = {0};
    char number[32];

    target_distances(&forecast->target, add_bar, &histogram);
    if (histogram.count)
        qsort(histogram.bars, histogram.count, sizeof *histogram.bars, by_distance);
    fputs("distance,accesses\n", file);
    for (size_t i = 0, next; i < histogram.count; i = next) {
        const uint64_t distance = histogram.bars[i].distance;
        double accesses = 0;
        for (next = i; next < histogram.count && histogram.bars[next].distance == distance; next++)
            accesses += histogram.bars[next].accesses;
        if (distance == PSNAP_DISTANCE_COLD)
            fputs("cold,", file);
        else
            fprintf(file, "%" PRIu64 ",", distance);
        fprintf(file, "%s\n", psnap_text_from_real(accesses, number));
    }
    free(histogram.bars);
    return histogram.is_full ? psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for --csv")
                             : PSNAP_OK;
}

static enum psnap_status write_probabilities(const struct forecast *forecast, FILE *file,
                                             struct psnap_error *error)
{
    const struct measure *measure = &forecast->runs[0].measure;
    struct branch *branches = branches_of(measure);

    if (!branches)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for probabilities");
    branches_write(measure, branches, file);
    free(branches);
    return PSNAP_OK;
}

static void print_notes(const struct forecast *forecast, const struct forecast_settings *settings)
{
    const struct measure *measure = &forecast->runs[0].measure;
    char digits[32], more[32];

    psnap_print(stdout, "\n%s accesses of %s in sampled windows of blocks\n",
                psnap_group_digits(measure->sampled, digits),
                psnap_group_digits(measure->total, more));
    if (forecast->target.unknown > 0)
        psnap_print(
            stdout,
            "%s accesses of the larger input are of blocks that '%s' did not execute: they are "
            "left out\n",
            psnap_group_digits((uint64_t)forecast->target.unknown, digits), forecast->runs[0].path);
    if (forecast->mca.cycles)
        printf("%" PRIu32 " of %" PRIu32 " loops that iterate have their cycles by llvm-mca\n",
               forecast->mca.matched, forecast->mca.loops);
    else if (settings->rows.methods[RUNTIME_OVERLAP])
        printf(
            "no --asm: T_cpu of overlap is what units need for the operations, without what they "
            "wait for\n");
    for (size_t m = 0; m < forecast->machine_count && settings->rows.methods[RUNTIME_OVERLAP]; m++)
        runtime_print_unknown(&forecast->machines[m]);
    if (measure->threads > 1)
        printf("%" PRIu32 " threads, as if one core did the work of all\n", measure->threads);
}

static void print_tables(const struct forecast *forecast, const struct forecast_settings *settings)
{
    for (size_t m = 0; m < forecast->machine_count; m++) {
        if (m)
            putchar('\n');
        psnap_print(stdout, "machine %s, one core:\n\n", forecast->machines[m].name);
        runtime_rows_print(&forecast->rows, m ? forecast->rows_end[m - 1] : 0,
                           forecast->rows_end[m], &forecast->machines[m], settings->rows.methods);
    }
    print_notes(forecast, settings);
}

static void print_json(const struct forecast *forecast)
{
    const struct measure *measure = &forecast->runs[0].measure;
    struct psnap_json json;

    psnap_cmd_begin_json(&json, stdout, "predict runtime");
    psnap_json_text(&json, "input", forecast->runs[0].path);
    psnap_json_u64(&json, "accesses", measure->total);
    psnap_json_u64(&json, "sampled_accesses", measure->sampled);
    psnap_json_real(&json, "unknown_accesses", forecast->target.unknown);
    if (forecast->mca.cycles) {
        psnap_json_u64(&json, "loops", forecast->mca.loops);
        psnap_json_u64(&json, "loops_with_assembly", forecast->mca.matched);
    }
    psnap_json_begin_array(&json, "rows");
    for (size_t m = 0; m < forecast->machine_count; m++)
        runtime_rows_json(&forecast->rows, m ? forecast->rows_end[m - 1] : 0, forecast->rows_end[m],
                          &forecast->machines[m], &json);
    psnap_json_end_array(&json);
    psnap_json_end_object(&json);
    putchar('\n');
}

enum { CSV, PROBABILITIES, OBSERVATIONS, FILES };

struct files {
    const char *paths[FILES]; /* NULL: none */
    struct psnap_output *outputs[FILES];
};

static struct files files_of(const struct forecast_settings *settings)
{
    return (struct files){
        .paths = {settings->csv, settings->write_probabilities, settings->observations}};
}

static enum psnap_status open_files(struct files *files, bool force, struct psnap_error *error)
{
    for (int f = 0; f < FILES; f++)
        if (files->paths[f]) {
            files->outputs[f] = psnap_output_open(files->paths[f], force, error);
            if (!files->outputs[f])
                return error->code;
        }
    return PSNAP_OK;
}

/* Writes all of them before one appears. */
static enum psnap_status write_files(struct files *files, const struct forecast *forecast,
                                     double size, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    if (files->outputs[CSV])
        status = write_distances(forecast, psnap_output_file(files->outputs[CSV]), error);
    if (!status && files->outputs[PROBABILITIES])
        status =
            write_probabilities(forecast, psnap_output_file(files->outputs[PROBABILITIES]), error);
    if (!status && files->outputs[OBSERVATIONS])
        status = observations_write(forecast, size, psnap_output_file(files->outputs[OBSERVATIONS]),
                                    error);
    for (int f = 0; f < FILES; f++)
        if (!status && files->outputs[f]) {
            status = psnap_output_commit(files->outputs[f], error);
            files->outputs[f] = NULL;
        }
    return status;
}

/* Tells whether standard output is one of the files. */
static bool has_stdout(const struct files *files)
{
    bool has = false;

    for (int f = 0; f < FILES; f++)
        has |= psnap_output_is_stdout(files->paths[f]);
    return has;
}

/* --------------------------------------------------------------- the command line */

/* Each output has a place of its own; 0, or an exit status. */
static int check_outputs(const struct forecast_settings *settings)
{
    const struct files files = files_of(settings);
    int on_stdout = settings->json;

    for (int f = 0; f < FILES; f++) {
        on_stdout += psnap_output_is_stdout(files.paths[f]);
        for (int g = f + 1; g < FILES; g++)
            if (psnap_output_is_same(files.paths[f], files.paths[g]))
                return psnap_cmd_usage("predict runtime", "two outputs are both '%.200s'",
                                       files.paths[f]);
    }
    return on_stdout <= 1
               ? 0
               : psnap_cmd_usage("predict runtime", "only one output can go to standard output");
}

/* Of a block and a line, unless UNSAID. 0, or the exit status of a mistake. */
static int take_bytes(struct forecast_settings *settings, uint64_t block, uint64_t line)
{
    settings->rows.reading.block_bytes = block == UNSAID ? 0 : (double)block;
    settings->line_bytes = line == UNSAID ? 0 : line;
    return block && line ? 0
                         : psnap_cmd_usage("predict runtime", "%s takes one byte or more",
                                           block ? "--line" : "--block");
}

/* What the options ask for makes sense together; 0, or the exit status of a mistake. */
static int check_usage(struct forecast_settings *settings, const char *method, const char *rates,
                       const char *by)
{
    const char *const command = "predict runtime";
    struct psnap_error error;
    bool known = !method;

    for (int i = 0; i < RUNTIME_METHODS; i++) {
        const char *name = runtime_method_name((enum runtime_method)i);
        settings->rows.methods[i] = !method || !strcmp(method, name);
        known |= settings->rows.methods[i];
    }
    if (!known)
        return psnap_cmd_usage(
            command, "--method takes published, throughput and overlap, not '%.100s'", method);
    settings->rows.per_set = !strcmp(rates, "per-set");
    settings->simulate = !strcmp(rates, "simulation");
    if (!settings->rows.per_set && !settings->simulate && strcmp(rates, "sdcm") != 0)
        return psnap_cmd_usage(command, "--rates takes sdcm, per-set and simulation, not '%.100s'",
                               rates);
    if (settings->simulate && (settings->at || settings->probabilities))
        return psnap_cmd_usage(command, "--rates simulation is of an INPUT as it is");
    if (settings->observations && !settings->rows.methods[RUNTIME_OVERLAP])
        return psnap_cmd_usage(command, "--observations are by --method overlap, not %s", method);
    if (settings->size < 0)
        return psnap_cmd_usage(command, "--size is a number above 0");
    if (!psnap_scope_parse_list(by, settings->rows.wanted, &error) ||
        settings->rows.wanted[PSNAP_SCOPE_BLOCK] || settings->rows.wanted[PSNAP_SCOPE_REGION] ||
        settings->rows.wanted[PSNAP_SCOPE_THREAD])
        return psnap_cmd_usage(command, "--by takes total and loop");
    if (!(settings->rate > 0) || settings->rate > 1)
        return psnap_cmd_usage(command, "--rate is above 0 and at most 1");
    if (settings->assembly.count && !settings->rows.methods[RUNTIME_OVERLAP])
        return psnap_cmd_usage(command, "--asm is for --method overlap, not %s", method);
    if (settings->cpu && !settings->assembly.count)
        return psnap_cmd_usage(command, "--cpu says for which processor --asm is, which is absent");
    if (settings->at && settings->probabilities)
        return psnap_cmd_usage(command, "of --at and --probabilities only one can be");
    return check_outputs(settings);
}

static enum psnap_status predict(struct forecast *forecast,
                                 const struct forecast_settings *settings,
                                 const struct psnap_text_list *machines, struct psnap_error *error)
{
    struct files files = files_of(settings);
    enum psnap_status status = forecast_machines(forecast, machines, settings, error);

    if (!status)
        status = open_files(&files, settings->force, error);
    if (!status)
        status = forecast_make(forecast, settings, error);
    if (!status)
        status = write_files(&files, forecast, settings->size, error);
    for (int f = 0; f < FILES; f++)
        psnap_output_abandon(files.outputs[f]);
    return status;
}

static int run_command(const struct forecast_settings *settings,
                       const struct psnap_text_list *machines)
{
    struct forecast *forecast = calloc(1, sizeof *forecast);
    const struct files files = files_of(settings);
    struct psnap_error error;
    enum psnap_status status;

    if (!forecast) {
        psnap_error_set(&error, PSNAP_ERROR_MEMORY, "out of memory for the prediction");
        return psnap_cmd_fail("predict runtime", &error);
    }
    status = predict(forecast, settings, machines, &error);
    if (!status && settings->json)
        print_json(forecast);
    else if (!status && !has_stdout(&files))
        print_tables(forecast, settings);
    forecast_release(forecast);
    free(forecast);
    return status ? psnap_cmd_fail("predict runtime", &error)
                  : psnap_cmd_close_stdout("predict runtime", PSNAP_EXIT_DONE);
}

int psnap_cmd_predict_runtime(int argc, char **argv)
{
    struct forecast_settings settings = {.input = PSNAP_INPUT_DEFAULTS, .rate = NAN};
    struct psnap_text_list machines = {0};
    const char *by = "total,loop", *method = NULL, *rates = "sdcm";
    uint64_t block = UNSAID, line = UNSAID;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_LIST, 'm', "machine", &machines, "MACHINE",
         "with clock and latencies: a machine file; may be repeated"},
        {PSNAP_OPTION_TEXT, 0, "method", &method, "published|throughput|overlap",
         "published, throughput or overlap alone (all)"},
        {PSNAP_OPTION_TEXT, 0, "rates", &rates, "sdcm|per-set|simulation",
         "hit rates by sdcm, per-set or simulation, which reads INPUT twice (sdcm)"},
        {PSNAP_OPTION_LIST, 0, "asm", &settings.assembly, "FILE",
         "the program's assembly, by psnap cc --psnap-blocks -S: loops' cycles by llvm-mca; may be "
         "repeated"},
        {PSNAP_OPTION_TEXT, 0, "cpu", &settings.cpu, "NAME",
         "the processor, as llvm-mca calls it (native)"},
        {PSNAP_OPTION_FLAG, 0, "as-published", &settings.rows.reading.as_published, NULL,
         "each level's rate of all accesses, blocks by their executions, --rate 0.01"},
        {PSNAP_OPTION_SIZE, 0, "block", &block, "BYTES",
         "b of the published methods (the mean size of an access)"},
        {PSNAP_OPTION_TEXT, 0, "at", &settings.at, "LARGE",
         "predict this input, of which only block counts are used"},
        {PSNAP_OPTION_TEXT, 0, "probabilities", &settings.probabilities, "FILE",
         "predict the input with these branch probabilities"},
        {PSNAP_OPTION_TEXT, 0, "write-probabilities", &settings.write_probabilities, "FILE",
         "write those of INPUT"},
        {PSNAP_OPTION_REAL, 0, "rate", &settings.rate, "RATE",
         "of the windows of a block that are sampled (1)"},
        {PSNAP_OPTION_SIZE, 0, "line", &line, "BYTES",
         "distances in lines of so many bytes (the levels' own); 1: in addresses"},
        {PSNAP_OPTION_TEXT, 0, "by", &by, "SCOPES", "rows: any of total,loop (total,loop)"},
        {PSNAP_OPTION_TEXT, 0, "csv", &settings.csv, "FILE",
         "write how many accesses are expected of each distance"},
        {PSNAP_OPTION_TEXT, 0, "observations", &settings.observations, "FILE",
         "write cycles per instruction and hits of each machine for psnap hybrid"},
        {PSNAP_OPTION_REAL, 0, "size", &settings.size, "N",
         "problem size, of observations (the first number among the program's arguments)"},
        {PSNAP_OPTION_FLAG, 0, "json", &settings.json, NULL, "print JSON"},
        {PSNAP_OPTION_TEXT, 0, "from", &settings.input.from, "FORMAT",
         "the input's format (recognised)"},
        {PSNAP_OPTION_COUNT, 0, "count", &settings.input.count, "N",
         "stop after N accesses of an input, and predict these"},
        {PSNAP_OPTION_U64, 0, "seed", &settings.seed, "N", "of samples and replay (0)"},
        {PSNAP_OPTION_FLAG, 0, "force", &settings.force, NULL, "overwrite files"},
        {PSNAP_OPTION_END, 0, NULL, NULL, NULL, NULL},
    };
    const struct psnap_usage usage = {
        "psnap predict runtime INPUT -m MACHINE [-m ...] [--at LARGE] [--json]",
        "Predicts the run time of INPUT (a trace, a profile, or - for standard input) on\n"
        "one core of a machine from hit rates, latencies and operation counts: as\n"
        "published by AMM, in two forms, and with memory and computation overlapped. Of a\n"
        "larger input with --at or --probabilities. AMM.md has the models.",
        options};
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    settings.path = argv[1];
    settings.input.seed = settings.seed;
    if (isnan(settings.rate))
        settings.rate = settings.rows.reading.as_published ? 0.01 : 1;
    status = operands == 1
                 ? take_bytes(&settings, block, line)
                 : psnap_cmd_usage("predict runtime", "one input is needed, not %d", operands);
    if (!status)
        status = check_usage(&settings, method, rates, by);
    if (!status && !machines.count)
        status = psnap_cmd_usage("predict runtime", "no machine: give at least one -m MACHINE");
    else if (!status)
        status = run_command(&settings, &machines);
    psnap_text_list_release(&machines);
    psnap_text_list_release(&settings.assembly);
    return status;
}
