/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap predict bandwidth: memory times of loops from their hit rates, by a bandwidth function that
 * 'psnap fit' fitted. BANDWIDTH.md has the models and documents JSON.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/text.h"
#include "predict/bandwidth/cmd_bandwidth.h"
#include "predict/bandwidth/cmd_coverage.h"
#include "predict/bandwidth/relative.h"
#include "predict/cmd_predict.h"

#define RELEVANT 0.005 /* of an input's accesses: smaller loops are in the total alone */

struct request {
    struct psnap_input_options input;
    const char *method, *coverage, *by, *relative_to;
    struct psnap_text_list fits, costs; /* as many costs as fits, or none */
    bool wanted[PSNAP_SCOPE_COUNT];
    bool json;
    char **paths;
    size_t count;
};

struct report {
    struct fits *fits;           /* one a machine */
    struct psnap_machine *costs; /* of each; NULL: unknown */
    struct in_use {
        size_t first, end; /* of a fit's results */
    } *in_use;
    size_t machines, base;         /* base: of --relative-to */
    struct relative *relative;     /* of each machine; NULL without a base */
    struct maps points;            /* of --coverage */
    struct convolve_input *inputs; /* of each input one for each machine */
    size_t count;
};

/* ------------------------------------------------------------------------ reading */

/* The best one, the one that was asked for, or all. */
static enum psnap_status choose_result(const struct fits *fits, const char *path,
                                       const char *method, struct in_use *in_use,
                                       struct psnap_error *error)
{
    if (method && !strcmp(method, "all")) {
        in_use->end = fits->count;
        return PSNAP_OK;
    }
    in_use->first = method ? 0 : fit_best(fits->results, fits->count);
    while (method && in_use->first < fits->count &&
           strcmp(method, bandwidth_method_name(fits->results[in_use->first].model.method)))
        in_use->first++;
    in_use->end = in_use->first + 1;
    return in_use->first < fits->count
               ? PSNAP_OK
               : psnap_error_set(error, PSNAP_ERROR_USAGE, "'%.200s' has no fit by '%.50s'", path,
                                 method);
}

static enum psnap_status read_costs(const char *name, struct psnap_machine *costs,
                                    struct psnap_error *error)
{
    const enum psnap_status status = psnap_machine_find(name, costs, error);
    const bool has_clock = !status && costs->clock_hz > 0;

    if (status || (has_clock && costs->operations[PSNAP_OP_FP_ADD].throughput_cycles > 0))
        return status;
    return psnap_error_set(error, PSNAP_ERROR_VALUE,
                           "machine '%.200s' has no %s: measure this computer with 'psnap machine "
                           "host'",
                           costs->name, has_clock ? "costs of operations" : "clock");
}

/* Machine `i`, which has a name of its own. */
static enum psnap_status read_fit(struct report *report, const struct request *request, size_t i,
                                  struct psnap_error *error)
{
    const char *path = request->fits.items[i];
    FILE *file = psnap_input_file(path, error);
    enum psnap_status status = file ? fits_read(file, path, &report->fits[i], error) : error->code;

    if (file && file != stdin)
        fclose(file);
    for (size_t j = 0; j < i && !status; j++)
        if (!strcmp(report->fits[i].machine.name, report->fits[j].machine.name))
            status = psnap_error_set(error, PSNAP_ERROR_VALUE,
                                     "the machines of '%.200s' and '%.200s' are both called "
                                     "'%.100s': change 'name' in one of them",
                                     request->fits.items[j], path, report->fits[i].machine.name);
    if (!status)
        status = choose_result(&report->fits[i], path, request->method, &report->in_use[i], error);
    if (!status && report->costs)
        status = read_costs(request->costs.items[i], &report->costs[i], error);
    return status;
}

static enum psnap_status read_files(struct report *report, const struct request *request,
                                    struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    for (size_t i = 0; i < report->machines && !status; i++)
        status = read_fit(report, request, i, error);
    while (!status && request->relative_to &&
           strcmp(report->fits[report->base].machine.name, request->relative_to))
        if (++report->base == report->machines)
            status = psnap_error_set(error, PSNAP_ERROR_USAGE, "no fit is of machine '%.100s'",
                                     request->relative_to);
    if (!status && request->coverage) {
        status = maps_read_path(request->coverage, &report->points, error);
        if (!status && !maps_are_of(&report->points, &report->fits->machine))
            status = psnap_error_set(error, PSNAP_ERROR_VALUE,
                                     "the hit rates of '%.200s' are of %s: --coverage takes points "
                                     "of the fit's machine",
                                     request->coverage,
                                     report->points.has_machine ? "other caches than the fit's"
                                                                : "a machine that is not known");
    }
    return status;
}

static enum psnap_status predict(struct report *report, const struct request *request,
                                 struct psnap_error *error)
{
    const struct convolve_settings settings = {.input = request->input,
                                               .fits = report->fits,
                                               .costs = report->costs,
                                               .count = report->machines};
    enum psnap_status status = PSNAP_OK;

    for (; report->count < request->count && !status; report->count++) {
        struct convolve_input *inputs = &report->inputs[report->count * report->machines];

        for (size_t i = 0; i < report->machines; i++)
            inputs[i].path = request->paths[report->count];
        status = convolve_input(inputs, &settings, error);
    }
    return status;
}

static size_t machine_of(const struct report *report, const struct convolve_input *input)
{
    return (size_t)(input - report->inputs) % report->machines;
}

static double seconds_of(const struct convolve_row *row, size_t result)
{
    return row->memory_seconds[result] + (isnan(row->compute_seconds) ? 0 : row->compute_seconds);
}

/* How much longer a row takes than on the base, each by the one function that is in use; negative
 * where it takes less. */
static double relative_time(const struct report *report, const struct convolve_input *input,
                            size_t row)
{
    const size_t machine = machine_of(report, input);
    const struct convolve_input *base = input - machine + report->base;

    return seconds_of(&input->rows[row], report->in_use[machine].first) /
               seconds_of(&base->rows[row], report->in_use[report->base].first) -
           1;
}

static void compare(struct report *report)
{
    for (size_t i = 0; i < report->machines; i++)
        report->relative[i].machine = report->fits[i].machine.name;
    for (size_t i = 0; i < report->count * report->machines; i++)
        relative_add(&report->relative[i % report->machines],
                     relative_time(report, &report->inputs[i], 0));
    relative_sort(report->relative, report->machines);
}

/* ------------------------------------------------------------------------- tables */

static bool is_shown(const struct convolve_input *input, size_t row, const struct request *request)
{
    if (!row)
        return request->wanted[PSNAP_SCOPE_TOTAL];
    return request->wanted[PSNAP_SCOPE_LOOP] &&
           (double)input->rows[row].accesses >= RELEVANT * (double)input->rows[0].accesses;
}

static double bandwidth_of_row(const struct convolve_row *row, size_t result)
{
    return (double)row->accesses * MAP_WORD_BYTES / row->memory_seconds[result];
}

static void print_row(struct psnap_table *table, const struct report *report,
                      const struct convolve_input *input, size_t i, size_t result)
{
    const struct convolve_row *row = &input->rows[i];

    psnap_table_cell(table, "%s", i ? row->id : psnap_text_base_name(input->path));
    psnap_table_cell(table, "%" PRIu64, row->accesses);
    for (uint32_t level = 0; level < report->fits[machine_of(report, input)].machine.level_count;
         level++)
        psnap_table_cell(table, "%.2f", 100 * supply_hit_rate(&row->supply, level));
    psnap_table_cell(table, "%.2f", bandwidth_of_row(row, result) / 1e9);
    psnap_table_cell(table, "%.4g", row->memory_seconds[result]);
    if (report->costs) {
        psnap_table_cell(table, "%.4g", row->compute_seconds);
        psnap_table_cell(table, "%.4g", seconds_of(row, result));
    }
    if (report->relative)
        psnap_table_cell(table, "%+.1f", 100 * relative_time(report, input, i));
}

static void print_table(const struct report *report, const struct request *request, size_t fit,
                        size_t result)
{
    const struct fits *fits = &report->fits[fit];
    const struct fit_result *of = &fits->results[result];
    const char *headings[PSNAP_LEVELS_MAX + 7] = {"input, loop", "accesses"};
    char levels[PSNAP_LEVELS_MAX][PSNAP_LEVEL_NAME_ROOM];
    const struct psnap_machine *machine = &fits->machine;
    size_t columns = 2;
    struct psnap_table *table;

    for (uint32_t i = 0; i < machine->level_count; i++)
        headings[columns++] = psnap_machine_level_name(machine, i, levels[i]);
    headings[columns++] = "GB/s";
    headings[columns++] = "memory s";
    if (report->costs) {
        headings[columns++] = "floating s";
        headings[columns++] = "sum s";
    }
    if (report->relative)
        headings[columns++] = "relative %";
    table = psnap_table_new(columns, headings);
    for (size_t i = 1; i < columns; i++)
        psnap_table_align_right(table, i);
    psnap_table_shorten(table, 0);
    for (size_t i = fit; i < report->count * report->machines; i += report->machines)
        for (size_t row = 0; row < report->inputs[i].count; row++)
            if (is_shown(&report->inputs[i], row, request))
                print_row(table, report, &report->inputs[i], row, result);
    psnap_table_print(table, stdout);
    psnap_table_free(table);
    psnap_print(stdout, "\nhit rates of machine '%s'; by %s, fitted to %" PRIu32 " points of %s",
                machine->name, bandwidth_method_name(of->model.method), of->points,
                fits->origin.processor[0] ? fits->origin.processor : "a machine");
    if (!isnan(of->mean_error))
        printf(" within %.1f %%", 100 * of->mean_error);
    if (!isnan(of->held_out_error))
        printf(", %.1f %% where they were held out", 100 * of->held_out_error);
    puts("; hit rates are cumulative, in percent");
}

static void print_relative(const struct report *report)
{
    static const char *const headings[] = {"machine", "relative %", "deviation"};
    struct psnap_table *table = psnap_table_new(3, headings);

    psnap_table_align_right(table, 1);
    psnap_table_align_right(table, 2);
    for (size_t i = 0; i < report->machines; i++) {
        psnap_table_cell(table, "%s", report->relative[i].machine);
        psnap_table_cell(table, "%+.1f", 100 * report->relative[i].mean);
        psnap_table_cell(table, report->count > 1 ? "%.1f" : "-",
                         100 * relative_deviation(&report->relative[i]));
    }
    putchar('\n');
    psnap_table_print(table, stdout);
    psnap_table_free(table);
    psnap_print(stdout,
                "\nrelative: how much longer the time is than on '%s', negative where it is "
                "shorter; mean and standard deviation over inputs\n",
                report->fits[report->base].machine.name);
}

/* --------------------------------------------------------------------------- JSON */

static void json_row(struct psnap_json *json, const struct report *report,
                     const struct convolve_input *input, size_t i, size_t result)
{
    const struct convolve_row *row = &input->rows[i];
    const struct fits *fits = &report->fits[machine_of(report, input)];

    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "input", input->path);
    psnap_json_text(json, "method", bandwidth_method_name(fits->results[result].model.method));
    psnap_json_text(json, "machine", fits->machine.name);
    psnap_json_text(json, "scope", i ? "loop" : "total");
    psnap_json_text(json, "id", i ? row->id : "total");
    psnap_json_text(json, "name", i ? row->name : "total");
    psnap_json_u64(json, "accesses", row->accesses);
    psnap_json_begin_array(json, "hit_rates");
    for (uint32_t level = 0; level < fits->machine.level_count; level++)
        psnap_json_real(json, NULL, supply_hit_rate(&row->supply, level));
    psnap_json_end_array(json);
    psnap_json_real(json, "bandwidth_bytes_per_s", bandwidth_of_row(row, result));
    psnap_json_real(json, "t_mem_seconds", row->memory_seconds[result]);
    psnap_json_real(json, "t_cpu_seconds", row->compute_seconds);
    psnap_json_real(json, "seconds", seconds_of(row, result));
    if (report->relative)
        psnap_json_real(json, "relative_time", relative_time(report, input, i));
    psnap_json_end_object(json);
}

static void json_methods(struct psnap_json *json, const struct report *report)
{
    psnap_json_begin_array(json, "methods");
    for (size_t i = 0; i < report->machines; i++)
        for (size_t k = report->in_use[i].first; k < report->in_use[i].end; k++) {
            const struct fit_result *result = &report->fits[i].results[k];

            psnap_json_begin_object(json, NULL);
            psnap_json_text(json, "machine", report->fits[i].machine.name);
            psnap_json_text(json, "method", bandwidth_method_name(result->model.method));
            psnap_json_real(json, "mean_error", result->mean_error);
            psnap_json_real(json, "held_out_error", result->held_out_error);
            psnap_json_end_object(json);
        }
    psnap_json_end_array(json);
}

static void json_relative(struct psnap_json *json, const struct report *report)
{
    psnap_json_text(json, "relative_to", report->fits[report->base].machine.name);
    psnap_json_begin_array(json, "machines");
    for (size_t i = 0; i < report->machines; i++) {
        psnap_json_begin_object(json, NULL);
        psnap_json_text(json, "machine", report->relative[i].machine);
        psnap_json_real(json, "relative_time", report->relative[i].mean);
        psnap_json_real(json, "deviation", relative_deviation(&report->relative[i]));
        psnap_json_end_object(json);
    }
    psnap_json_end_array(json);
}

static void print_json(const struct report *report, const struct request *request)
{
    struct psnap_json json;

    psnap_cmd_begin_json(&json, stdout, "predict bandwidth");
    json_methods(&json, report);
    psnap_json_begin_array(&json, "rows");
    for (size_t i = 0; i < report->count * report->machines; i++) {
        const struct in_use *in_use = &report->in_use[i % report->machines];

        for (size_t row = 0; row < report->inputs[i].count; row++)
            for (size_t k = in_use->first; k < in_use->end; k++)
                if (is_shown(&report->inputs[i], row, request))
                    json_row(&json, report, &report->inputs[i], row, k);
    }
    psnap_json_end_array(&json);
    if (report->relative)
        json_relative(&json, report);
    if (request->coverage)
        coverage_json(&json, &report->points, report->inputs, report->count);
    psnap_json_end_object(&json);
    putchar('\n');
}

/* ------------------------------------------------------------------------ command */

static enum psnap_status make_room(struct report *report, const struct request *request,
                                   struct psnap_error *error)
{
    const size_t machines = request->fits.count;

    report->machines = machines;
    report->fits = calloc(machines, sizeof *report->fits);
    report->in_use = calloc(machines, sizeof *report->in_use);
    report->inputs = calloc(request->count * machines, sizeof *report->inputs);
    if (request->costs.count)
        report->costs = calloc(machines, sizeof *report->costs);
    if (request->relative_to)
        report->relative = calloc(machines, sizeof *report->relative);
    return report->fits && report->in_use && report->inputs &&
                   (report->costs || !request->costs.count) &&
                   (report->relative || !request->relative_to)
               ? PSNAP_OK
               : psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the prediction");
}

static void release(struct report *report)
{
    for (size_t i = 0; i < report->count * report->machines; i++)
        convolve_release(&report->inputs[i]);
    free(report->inputs);
    free(report->in_use);
    free(report->relative);
    free(report->costs);
    free(report->fits);
    maps_release(&report->points);
}

static void print(const struct report *report, const struct request *request)
{
    for (size_t i = 0; i < report->machines; i++)
        for (size_t k = report->in_use[i].first; k < report->in_use[i].end; k++) {
            if (i || k > report->in_use[i].first)
                putchar('\n');
            print_table(report, request, i, k);
        }
    if (report->relative)
        print_relative(report);
    if (request->coverage)
        coverage_print(&report->points, report->inputs, report->count);
}

static int run(const struct request *request)
{
    struct report report = {0};
    struct psnap_error error;
    enum psnap_status status = make_room(&report, request, &error);

    if (!status)
        status = read_files(&report, request, &error);
    if (!status)
        status = predict(&report, request, &error);
    if (!status && report.relative)
        compare(&report);
    if (!status)
        (request->json ? print_json : print)(&report, request);
    release(&report);
    return status ? psnap_cmd_fail("predict bandwidth", &error)
                  : psnap_cmd_close_stdout("predict bandwidth", PSNAP_EXIT_DONE);
}

/* What is wrong with the usage, or NULL. */
static const char *mistake(struct request *request)
{
    struct psnap_error error;

    if (!request->count)
        return "an input is needed, a trace or a profile";
    if (!request->fits.count)
        return "no --fit FIT.yaml: 'psnap multimaps -o POINTS.yaml' and 'psnap fit POINTS.yaml -o "
               "FIT.yaml' make one";
    if (request->costs.count && request->costs.count != request->fits.count)
        return "-m is there once for each --fit, or not at all";
    if (request->coverage && request->fits.count > 1)
        return "--coverage is of one --fit";
    if (request->relative_to && request->method && !strcmp(request->method, "all"))
        return "--relative-to compares times by one method: leave out '--method all'";
    if (request->input.count != UINT64_MAX && request->costs.count)
        return "floating-point time is of all of an input: leave out -m or --count";
    if (!psnap_scope_parse_list(request->by, request->wanted, &error) ||
        request->wanted[PSNAP_SCOPE_BLOCK] || request->wanted[PSNAP_SCOPE_REGION] ||
        request->wanted[PSNAP_SCOPE_THREAD])
        return "--by takes total and loop";
    return NULL;
}

int psnap_cmd_predict_bandwidth(int argc, char **argv)
{
    struct request request = {.input = PSNAP_INPUT_DEFAULTS, .by = "total,loop"};
    const struct psnap_option options[] = {
        {PSNAP_OPTION_LIST, 0, "fit", &request.fits, "FIT.yaml",
         "the bandwidth function, of 'psnap fit'; again for each further machine"},
        {PSNAP_OPTION_TEXT, 0, "method", &request.method, "ga|nlopt|nnls|averaged|additive|all",
         "which of its functions (the best of points that were held out)"},
        {PSNAP_OPTION_LIST, 'm', "machine", &request.costs, "MACHINE",
         "with clock and costs of operations: floating-point time, too (of each --fit)"},
        {PSNAP_OPTION_TEXT, 0, "relative-to", &request.relative_to, "MACHINE",
         "times relative to those on this machine of a --fit, and machines in order"},
        {PSNAP_OPTION_TEXT, 0, "coverage", &request.coverage, "POINTS.yaml",
         "show which hit rates the points of 'psnap multimaps' cover"},
        {PSNAP_OPTION_TEXT, 0, "by", &request.by, "SCOPES", "rows: any of total,loop (total,loop)"},
        {PSNAP_OPTION_FLAG, 0, "json", &request.json, NULL, "print JSON"},
        {PSNAP_OPTION_TEXT, 0, "from", &request.input.from, "FORMAT",
         "the inputs' format (recognised)"},
        {PSNAP_OPTION_U64, 0, "seed", &request.input.seed, "N", "of a profile's replay (0)"},
        {PSNAP_OPTION_COUNT, 0, "count", &request.input.count, "N",
         "stop after N accesses of an input: memory times alone"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {
        "psnap predict bandwidth INPUT... --fit FIT.yaml [--fit ...] [-m MACHINE] [--json]",
        "Predicts memory times of each INPUT (a trace or a profile) and its loops from the\n"
        "hit rates they are simulated to have on the machine of the fit, and the bandwidth\n"
        "that was fitted to such hit rates. predict/bandwidth/BANDWIDTH.md has the models.",
        options};
    const char *wrong;
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands >= 0) {
        request.paths = argv + 1;
        request.count = (size_t)operands;
        wrong = mistake(&request);
        status = wrong ? psnap_cmd_usage("predict bandwidth", "%s", wrong) : run(&request);
    }
    psnap_text_list_release(&request.fits);
    psnap_text_list_release(&request.costs);
    return status;
}
