/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap predict runtime: run times from hit rates and operation counts, of an input as it was
 * measured, or of a larger one: with the block counts of another recording (--at), with branch
 * probabilities (--probabilities), or by how several inputs grow (--sizes, --size). AMM.md has the
 * models and documents JSON.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/output.h"
#include "formats/base/text.h"
#include "predict/amm/cmd_branches.h"
#include "predict/amm/cmd_mca.h"
#include "predict/amm/cmd_runtime_rows.h"
#include "predict/cmd_predict.h"
#include "replay/cmd_input.h"

/* An input that was read. */
struct run {
    const char *path;
    struct psnap_source *source;
    struct psnap_profile *profile; /* NULL: a trace */
    struct measure measure;
};

struct settings {
    char **paths;
    size_t path_count;
    struct psnap_input_options input;
    const char *at, *probabilities, *write_probabilities, *csv;
    struct psnap_text_list assembly;
    const char *cpu; /* as llvm-mca calls it */
    double sizes[GROWTH_SIZES_MAX], size;
    double rate;
    uint64_t seed, line_bytes; /* of distances; 0: as the levels have it */
    bool json, force;
    struct runtime_settings rows; /* without machine, plans and loops */
};

struct report {
    struct psnap_machine machines[MACHINES_MAX];
    size_t machine_count;
    size_t plans_of[MACHINES_MAX][PSNAP_LEVELS_MAX];
    struct measure_plan plans[MEASURE_PLANS_MAX];
    size_t plan_count;
    struct run runs[GROWTH_SIZES_MAX + 1]; /* the last one may be --at's */
    size_t run_count;
    struct target targets[2]; /* [1]: with distances as they are, to compare with */
    const char *names[2];     /* what their distances are */
    size_t target_count;
    struct mca_loops mca;
    struct runtime_rows rows;
    size_t rows_end[MACHINES_MAX];
    double system_error; /* of block counts by the linear system, relative */
};

/* ---------------------------------------------------------------------- plans */

static enum psnap_status plan_level(struct report *report, const struct psnap_cache_level *level,
                                    const struct settings *settings, size_t *plan,
                                    struct psnap_error *error)
{
    const uint64_t sets = settings->rows.per_set && level->sets > 1 ? level->sets : 0;
    const uint64_t line = settings->line_bytes ? settings->line_bytes : level->line_bytes;
    struct measure_plan *plans = report->plans;
    size_t i = 0;

    while (i < report->plan_count && (plans[i].line_bytes != line || plans[i].sets != sets))
        i++;
    if (i == MEASURE_PLANS_MAX)
        return psnap_error_set(error, PSNAP_ERROR_USAGE, "too many different caches: at most %d",
                               MEASURE_PLANS_MAX);
    if (i == report->plan_count)
        plans[report->plan_count++] = (struct measure_plan){.line_bytes = line, .sets = sets};
    if (plans[i].ways < level->ways)
        plans[i].ways = level->ways;
    *plan = i;
    return PSNAP_OK;
}

static enum psnap_status find_machines(struct report *report, const struct psnap_text_list *names,
                                       const struct settings *settings, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    if (names->count > MACHINES_MAX)
        return psnap_error_set(error, PSNAP_ERROR_USAGE, "at most %d machines", MACHINES_MAX);
    for (size_t m = 0; m < names->count && !status; m++) {
        struct psnap_machine *machine = &report->machines[m];
        status = psnap_machine_find(names->items[m], machine, error);
        for (uint32_t l = 0; l < machine->level_count && !status; l++)
            status =
                plan_level(report, &machine->levels[l], settings, &report->plans_of[m][l], error);
        report->machine_count += !status;
    }
    return status;
}

/* --------------------------------------------------------------------- inputs */

static enum psnap_status refuse(const struct run *run, const char *what, struct psnap_error *error)
{
    psnap_error_set(error, PSNAP_ERROR_VALUE,
                    "%s: build the program with 'psnap cc' and record it with 'psnap record'",
                    what);
    psnap_error_at(error, run->path, 0, 0);
    return PSNAP_ERROR_VALUE;
}

/* Reads an input; of one that only its counts are asked of there are no plans. */
static enum psnap_status read_run(struct report *report, const struct settings *settings,
                                  const char *path, bool counts_alone, struct psnap_error *error)
{
    struct run *run = &report->runs[report->run_count++];
    struct psnap_input_options input = settings->input;
    const struct measure_options options = {.plans = report->plans,
                                            .plan_count = counts_alone ? 0 : report->plan_count,
                                            .rate = settings->rate,
                                            .seed = settings->seed};
    enum psnap_status status;

    *run = (struct run){.path = path};
    input.kept = &run->profile;
    run->source = psnap_input_open(path, &input, error);
    if (!run->source)
        return error->code;
    status = measure_stream(&run->measure, run->source, run->profile, &options, error);
    if (status)
        return status;
    if (!run->measure.total)
        return refuse(run, "there is not a single access in it", error);
    if (!run->measure.has_operations)
        return refuse(run, "it does not say what its blocks compute, which T_cpu is made of",
                      error);
    return PSNAP_OK;
}

/* What needs block labels cannot do without them. */
static enum psnap_status need_blocks(const struct run *run, const char *option, bool of_trace,
                                     struct psnap_error *error)
{
    char what[160];

    if (run->measure.has_blocks && (run->measure.has_block_counts || !of_trace))
        return PSNAP_OK;
    if (run->profile)
        snprintf(what, sizeof what,
                 "%s needs the blocks of a program, and a profile has loops; give a .pst trace "
                 "(--trace)",
                 option);
    else
        snprintf(what, sizeof what, "%s needs block labels, and this trace has none", option);
    return refuse(run, what, error);
}

/* -------------------------------------------------------------------- targets */

/* How far the system of branch probabilities is from the windows that were counted. */
static enum psnap_status solve_measured(struct report *report, struct psnap_error *error)
{
    const struct measure *measure = &report->runs[0].measure;
    const uint32_t blocks = measure->program->block_count;
    struct branch *branches = branches_of(measure);
    double *executions = calloc(blocks + (size_t)1, sizeof *executions);
    enum psnap_status status = PSNAP_OK;

    if (!branches || !executions)
        status = psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for probabilities");
    else
        status = chain_solve(branches, measure->transition_count, blocks, executions, error);
    for (uint32_t i = 0; i < blocks && !status; i++)
        if (measure->windows[i] > 0)
            report->system_error =
                fmax(report->system_error, fabs(executions[i] / measure->windows[i] - 1));
    free(branches);
    free(executions);
    return status;
}

static enum psnap_status by_probabilities(struct report *report, const char *path,
                                          struct psnap_error *error)
{
    const struct measure *measure = &report->runs[0].measure;
    const uint32_t blocks = measure->program->block_count;
    size_t count;
    struct branch *branches = branches_read(path, measure->program, &count, error);
    double *executions = calloc(blocks + (size_t)1, sizeof *executions);
    enum psnap_status status;

    if (!branches || !executions) {
        status =
            branches ? psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory") : error->code;
        goto out;
    }
    status = chain_solve(branches, count, blocks, executions, error);
    if (status) {
        psnap_error_at(error, path, 0, 0);
        goto out;
    }
    for (uint32_t i = 0; i < blocks; i++) /* of windows, to those of the capture */
        executions[i] = measure->windows[i] > 0
                            ? executions[i] * measure->executions[i] / measure->windows[i]
                        : executions[i] > 0 ? executions[i]
                                            : -1;
    status = target_executions(&report->targets[0], measure, executions, error);
out:
    free(branches);
    free(executions);
    return status;
}

static enum psnap_status by_growth(struct report *report, const struct settings *settings,
                                   struct psnap_error *error)
{
    const struct measure *measures[GROWTH_SIZES_MAX];
    enum psnap_status status = PSNAP_OK;

    for (size_t i = 0; i < report->run_count && !status; i++) {
        measures[i] = &report->runs[i].measure;
        status = need_blocks(&report->runs[i], "--size", true, error);
    }
    for (int fixed = 0; fixed < 2 && !status; fixed++)
        status = target_grown(&report->targets[report->target_count++], measures, settings->sizes,
                              report->run_count, settings->size, fixed, error);
    report->names[0] = "grown";
    report->names[1] = "fixed";
    return status;
}

static enum psnap_status make_targets(struct report *report, const struct settings *settings,
                                      struct psnap_error *error)
{
    const struct run *run = &report->runs[0];
    enum psnap_status status = PSNAP_OK;

    report->names[0] = settings->at || settings->probabilities ? "fixed" : "measured";
    if (settings->size > 0)
        return by_growth(report, settings, error);
    report->target_count = 1;
    if (settings->probabilities) {
        status = need_blocks(run, "--probabilities", true, error);
        return status ? status : by_probabilities(report, settings->probabilities, error);
    }
    if (!settings->at)
        return target_same(&report->targets[0], &run->measure, error);
    status = need_blocks(run, "--at", false, error);
    if (!status)
        status = read_run(report, settings, settings->at, true, error);
    if (!status)
        status = need_blocks(&report->runs[1], "--at", false, error);
    return status ? status
                  : target_at(&report->targets[0], &run->measure, &report->runs[1].measure, error);
}

/* -------------------------------------------------------------------- outputs */

static void write_distance(void *context, uint64_t distance, double accesses)
{
    char number[32];

    if (!(accesses > 0))
        return;
    if (distance == PSNAP_DISTANCE_COLD)
        fputs("cold,", context);
    else
        fprintf(context, "%" PRIu64 ",", distance);
    fprintf(context, "%s\n", psnap_text_from_real(accesses, number));
}

/* Writes a file by `write`, whole or not at all. */
static enum psnap_status write_file(
    const char *path, const struct settings *settings, const struct report *report,
    enum psnap_status (*write)(const struct report *report, FILE *file, struct psnap_error *error),
    struct psnap_error *error)
{
    struct psnap_output *output;
    enum psnap_status status;

    if (!path)
        return PSNAP_OK;
    output = psnap_output_open(path, settings->force, error);
    if (!output)
        return error->code;
    status = write(report, psnap_output_file(output), error);
    if (!status)
        return psnap_output_commit(output, error);
    psnap_output_abandon(output);
    return status;
}

static enum psnap_status write_distances(const struct report *report, FILE *file,
                                         struct psnap_error *error)
{
    (void)error;
    fputs("distance,accesses\n", file);
    target_distances(&report->targets[0], write_distance, file);
    return PSNAP_OK;
}

static enum psnap_status write_probabilities(const struct report *report, FILE *file,
                                             struct psnap_error *error)
{
    const struct measure *measure = &report->runs[0].measure;
    struct branch *branches = branches_of(measure);

    if (!branches)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for probabilities");
    branches_write(measure, branches, file);
    free(branches);
    return PSNAP_OK;
}

static void print_notes(const struct report *report, const struct settings *settings)
{
    const struct measure *measure = &report->runs[0].measure;
    char digits[32], more[32];

    printf("\n%s accesses of %s in sampled windows of blocks",
           psnap_group_digits(measure->sampled, digits), psnap_group_digits(measure->total, more));
    printf("; the linear system of %zu branch probabilities has the block counts within %.0e\n",
           measure->transition_count, report->system_error);
    if (settings->size > 0)
        printf(
            "accesses grow so that those of an input that was left out are off by %.2g %%%s\n",
            100 * report->targets[0].left_out,
            report->targets[0].left_out > 0.01
                ? ": these inputs are no series; other arguments, or what remainder loops are left?"
                : "");
    if (report->targets[0].unknown > 0)
        printf("%s accesses of the larger input are of blocks that '%s' did not execute: they are "
               "left out\n",
               psnap_group_digits((uint64_t)report->targets[0].unknown, digits),
               report->runs[0].path);
    if (report->mca.cycles)
        printf("%" PRIu32 " of %" PRIu32 " loops that iterate have their cycles by llvm-mca\n",
               report->mca.matched, report->mca.loops);
    else if (settings->rows.methods[RUNTIME_OVERLAP])
        printf(
            "no --asm: T_cpu of overlap is what units need for the operations, without what they "
            "wait for\n");
    if (measure->threads > 1)
        printf("%" PRIu32 " threads, as if one core did the work of all\n", measure->threads);
}

static void print_tables(const struct report *report, const struct settings *settings)
{
    for (size_t m = 0; m < report->machine_count; m++) {
        printf("%smachine %s, one core:\n\n", m ? "\n" : "", report->machines[m].name);
        runtime_rows_print(&report->rows, m ? report->rows_end[m - 1] : 0, report->rows_end[m],
                           &report->machines[m], settings->rows.methods);
    }
    print_notes(report, settings);
}

static void print_json(const struct report *report)
{
    const struct measure *measure = &report->runs[0].measure;
    struct psnap_json json;

    psnap_json_init(&json, stdout);
    psnap_json_begin_object(&json, NULL);
    psnap_json_u64(&json, "psnap", 1);
    psnap_json_text(&json, "command", "predict runtime");
    psnap_json_text(&json, "input", report->runs[0].path);
    psnap_json_u64(&json, "accesses", measure->total);
    psnap_json_u64(&json, "sampled_accesses", measure->sampled);
    psnap_json_u64(&json, "branches", measure->transition_count);
    psnap_json_real(&json, "system_error", report->system_error);
    psnap_json_real(&json, "unknown_accesses", report->targets[0].unknown);
    if (report->mca.cycles) {
        psnap_json_u64(&json, "loops", report->mca.loops);
        psnap_json_u64(&json, "loops_with_assembly", report->mca.matched);
    }
    if (report->target_count > 1)
        psnap_json_real(&json, "left_out_error", report->targets[0].left_out);
    psnap_json_begin_array(&json, "rows");
    for (size_t m = 0; m < report->machine_count; m++)
        runtime_rows_json(&report->rows, m ? report->rows_end[m - 1] : 0, report->rows_end[m],
                          &report->machines[m], &json);
    psnap_json_end_array(&json);
    psnap_json_end_object(&json);
    putchar('\n');
}

/* ------------------------------------------------------------------- the work */

static enum psnap_status predict(struct report *report, const struct settings *settings,
                                 struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    for (size_t i = 0; i < settings->path_count && !status; i++)
        status = read_run(report, settings, settings->paths[i], false, error);
    if (!status)
        status = solve_measured(report, error);
    if (!status)
        status = make_targets(report, settings, error);
    if (!status && settings->assembly.count) {
        const struct target *target = &report->targets[0];
        status = mca_measure(&report->mca, &settings->assembly, settings->cpu,
                             target->base->program, target->iterations, error);
    }
    for (size_t m = 0; m < report->machine_count && !status; m++) {
        struct runtime_settings rows = settings->rows;
        rows.mca = settings->assembly.count ? &report->mca : NULL;
        rows.machine = &report->machines[m];
        rows.plans = report->plans_of[m];
        for (size_t t = 0; t < report->target_count && !status; t++)
            status = runtime_rows_add(&report->rows, &report->targets[t], report->names[t], &rows,
                                      error);
        report->rows_end[m] = report->rows.count;
    }
    if (!status)
        status = write_file(settings->csv, settings, report, write_distances, error);
    if (!status)
        status =
            write_file(settings->write_probabilities, settings, report, write_probabilities, error);
    return status;
}

static void release(struct report *report)
{
    for (size_t i = 0; i < report->target_count; i++)
        target_release(&report->targets[i]);
    for (size_t i = 0; i < report->run_count; i++) {
        measure_release(&report->runs[i].measure);
        psnap_source_free(report->runs[i].source);
        psnap_profile_free(report->runs[i].profile);
    }
    mca_release(&report->mca);
    runtime_rows_release(&report->rows);
}

/* --------------------------------------------------------------- the command line */

static bool take_sizes(struct settings *settings, const char *text)
{
    char number[64];
    size_t count = 0;

    while (count < GROWTH_SIZES_MAX) {
        const size_t length = strcspn(text, ",");
        if (length >= sizeof number)
            return false;
        memcpy(number, text, length);
        number[length] = '\0';
        if (!psnap_text_real(number, &settings->sizes[count]) || !(settings->sizes[count] > 0) ||
            (count && settings->sizes[count] <= settings->sizes[count - 1]))
            return false;
        count++;
        if (!text[length])
            return count == settings->path_count;
        text += length + 1;
    }
    return false;
}

/* What the options ask for makes sense together; 0, or the exit status of a mistake. */
static int check_usage(struct settings *settings, const char *sizes, const char *method,
                       const char *rates, const char *by)
{
    const char *const command = "predict runtime";
    const int others =
        (settings->at != NULL) + (settings->probabilities != NULL) + (settings->size > 0);
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
    if (!settings->rows.per_set && strcmp(rates, "sdcm") != 0)
        return psnap_cmd_usage(command, "--rates takes sdcm and per-set, not '%.100s'", rates);
    if (!psnap_scope_parse_list(by, settings->rows.wanted, &error) ||
        settings->rows.wanted[PSNAP_SCOPE_BLOCK] || settings->rows.wanted[PSNAP_SCOPE_REGION] ||
        settings->rows.wanted[PSNAP_SCOPE_THREAD])
        return psnap_cmd_usage(command, "--by takes total and loop");
    if (!(settings->rate > 0) || settings->rate > 1)
        return psnap_cmd_usage(command, "--rate is above 0 and at most 1");
    if (others > 1)
        return psnap_cmd_usage(command, "of --at, --probabilities and --size only one can be");
    if ((settings->size != 0) != (sizes != NULL) || settings->size < 0)
        return psnap_cmd_usage(command,
                               "--sizes, of the inputs, and --size, of the one to predict, "
                               "come together");
    if (!sizes && settings->path_count != 1)
        return psnap_cmd_usage(command, "one input is needed, not %zu; several with --sizes",
                               settings->path_count);
    if (sizes &&
        (settings->path_count < GROWTH_SIZES_MIN || settings->path_count > GROWTH_SIZES_MAX))
        return psnap_cmd_usage(command, "%d to %d inputs show how a program grows, not %zu",
                               GROWTH_SIZES_MIN, GROWTH_SIZES_MAX, settings->path_count);
    if (sizes && !take_sizes(settings, sizes))
        return psnap_cmd_usage(command,
                               "--sizes takes %zu numbers above 0, one for each input, the "
                               "smallest first",
                               settings->path_count);
    return 0;
}

static int run_command(struct report *report, const struct settings *settings,
                       const struct psnap_text_list *machines)
{
    struct psnap_error error;

    if (find_machines(report, machines, settings, &error) || predict(report, settings, &error))
        return psnap_cmd_fail("predict runtime", &error);
    if (settings->json)
        print_json(report);
    else
        print_tables(report, settings);
    return psnap_cmd_close_stdout("predict runtime", PSNAP_EXIT_DONE);
}

int psnap_cmd_predict_runtime(int argc, char **argv)
{
    struct settings settings = {.input = PSNAP_INPUT_DEFAULTS, .rate = NAN, .cpu = "native"};
    struct psnap_text_list machines = {0};
    const char *by = "total,loop", *method = NULL, *rates = "sdcm", *sizes = NULL;
    uint64_t block = 0;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_LIST, 'm', "machine", &machines, "MACHINE",
         "with clock and latencies: a machine file; may be repeated"},
        {PSNAP_OPTION_TEXT, 0, "method", &method, "METHOD",
         "published, throughput or overlap alone (all)"},
        {PSNAP_OPTION_TEXT, 0, "rates", &rates, "METHOD", "hit rates by sdcm or per-set (sdcm)"},
        {PSNAP_OPTION_LIST, 0, "asm", &settings.assembly, "FILE",
         "the program's assembly, by clang -S -g: loops' cycles by llvm-mca; may be repeated"},
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
        {PSNAP_OPTION_TEXT, 0, "sizes", &sizes, "N,N,N", "of the inputs, the smallest first"},
        {PSNAP_OPTION_REAL, 0, "size", &settings.size, "N", "of the one to predict"},
        {PSNAP_OPTION_REAL, 0, "rate", &settings.rate, "RATE",
         "of the windows of a block that are sampled (1)"},
        {PSNAP_OPTION_SIZE, 0, "line", &settings.line_bytes, "BYTES",
         "distances in lines of so many bytes (the levels' own); 1: in addresses"},
        {PSNAP_OPTION_TEXT, 0, "by", &by, "SCOPES", "rows: any of total,loop (total,loop)"},
        {PSNAP_OPTION_TEXT, 0, "csv", &settings.csv, "FILE",
         "write how many accesses are expected of each distance"},
        {PSNAP_OPTION_FLAG, 0, "json", &settings.json, NULL, "print JSON"},
        {PSNAP_OPTION_TEXT, 0, "from", &settings.input.from, "FORMAT",
         "the input's format (recognised)"},
        {PSNAP_OPTION_U64, 0, "seed", &settings.seed, "N", "of samples and replay (0)"},
        {PSNAP_OPTION_FLAG, 0, "force", &settings.force, NULL, "overwrite files"},
        {PSNAP_OPTION_END, 0, NULL, NULL, NULL, NULL},
    };
    const struct psnap_usage usage = {
        "psnap predict runtime INPUT... -m MACHINE [-m ...] [--at LARGE] [--json]",
        "Predicts the run time of INPUT (a trace, a profile, or - for standard input) on\n"
        "one core of a machine from hit rates, latencies and operation counts: as\n"
        "published by AMM, in two forms, and with memory and computation overlapped. Of a\n"
        "larger input with --at, --probabilities or --size. AMM.md has the models.",
        options};
    struct report *report;
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    settings.paths = argv + 1;
    settings.path_count = (size_t)operands;
    settings.input.seed = settings.seed;
    settings.rows.reading.block_bytes = (double)block;
    if (isnan(settings.rate))
        settings.rate = settings.rows.reading.as_published ? 0.01 : 1;
    report = calloc(1, sizeof *report);
    status = check_usage(&settings, sizes, method, rates, by);
    if (!status && !machines.count)
        status = psnap_cmd_usage("predict runtime", "no machine: give at least one -m MACHINE");
    else if (!status && !report)
        status = psnap_cmd_usage("predict runtime", "out of memory");
    else if (!status)
        status = run_command(report, &settings, &machines);
    if (report)
        release(report);
    free(report);
    psnap_text_list_release(&machines);
    psnap_text_list_release(&settings.assembly);
    return status;
}
