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
#include "predict/cmd_predict.h"

#define RELEVANT 0.005 /* of an input's accesses: smaller loops are in the total alone */

struct request {
    struct psnap_input_options input;
    const char *fit, *method, *costs, *coverage, *by;
    bool wanted[PSNAP_SCOPE_COUNT];
    bool json;
    char **paths;
    size_t count;
};

struct report {
    struct fits fits;
    size_t first, end; /* of its results: those in use */
    struct psnap_machine costs;
    bool has_costs;
    struct maps points; /* of --coverage */
    struct convolve_input *inputs;
    size_t count;
};

/* ------------------------------------------------------------------------ reading */

/* The best one, the one that was asked for, or all. */
static enum psnap_status choose_result(struct report *report, const struct request *request,
                                       struct psnap_error *error)
{
    const struct fits *fits = &report->fits;

    if (request->method && !strcmp(request->method, "all")) {
        report->end = fits->count;
        return PSNAP_OK;
    }
    report->first = request->method ? 0 : fit_best(fits->results, fits->count);
    while (
        request->method && report->first < fits->count &&
        strcmp(request->method, bandwidth_method_name(fits->results[report->first].model.method)))
        report->first++;
    report->end = report->first + 1;
    return report->first < fits->count
               ? PSNAP_OK
               : psnap_error_set(error, PSNAP_ERROR_USAGE, "'%.200s' has no fit by '%.50s'",
                                 request->fit, request->method);
}

static enum psnap_status lacks(const struct report *report, const char *what,
                               struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_VALUE,
                           "machine '%.200s' has no %s: measure this computer with 'psnap machine "
                           "host'",
                           report->costs.name, what);
}

static enum psnap_status read_files(struct report *report, const struct request *request,
                                    struct psnap_error *error)
{
    FILE *file = psnap_input_file(request->fit, error);
    enum psnap_status status =
        file ? fits_read(file, request->fit, &report->fits, error) : error->code;

    if (file && file != stdin)
        fclose(file);
    if (!status)
        status = choose_result(report, request, error);
    if (!status && request->coverage) {
        status = maps_read_path(request->coverage, &report->points, error);
        if (!status && !maps_are_of(&report->points, &report->fits.machine))
            status = psnap_error_set(error, PSNAP_ERROR_VALUE,
                                     "the hit rates of '%.200s' are of %s: --coverage takes points "
                                     "of the fit's machine",
                                     request->coverage,
                                     report->points.has_machine ? "other caches than the fit's"
                                                                : "a machine that is not known");
    }
    if (!status && request->costs) {
        status = psnap_machine_find(request->costs, &report->costs, error);
        if (!status && !(report->costs.clock_hz > 0))
            status = lacks(report, "clock", error);
        if (!status && !(report->costs.operations[PSNAP_OP_FP_ADD].throughput_cycles > 0))
            status = lacks(report, "costs of operations", error);
        report->has_costs = !status;
    }
    return status;
}

static enum psnap_status predict(struct report *report, const struct request *request,
                                 struct psnap_error *error)
{
    const struct convolve_settings settings = {.input = request->input,
                                               .fits = &report->fits,
                                               .costs = report->has_costs ? &report->costs : NULL};
    enum psnap_status status = PSNAP_OK;

    report->inputs = calloc(request->count, sizeof *report->inputs);
    if (!report->inputs)
        return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the prediction");
    for (; report->count < request->count && !status; report->count++) {
        report->inputs[report->count].path = request->paths[report->count];
        status = convolve_input(&report->inputs[report->count], &settings, error);
    }
    return status;
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

static double seconds_of(const struct convolve_row *row, size_t result)
{
    return row->memory_seconds[result] + (isnan(row->compute_seconds) ? 0 : row->compute_seconds);
}

static void print_row(struct psnap_table *table, const struct report *report,
                      const struct convolve_input *input, size_t i, size_t result)
{
    const struct convolve_row *row = &input->rows[i];

    psnap_table_cell(table, "%s", i ? row->id : psnap_text_base_name(input->path));
    psnap_table_cell(table, "%" PRIu64, row->accesses);
    for (uint32_t level = 0; level < report->fits.machine.level_count; level++)
        psnap_table_cell(table, "%.2f", 100 * supply_hit_rate(&row->supply, level));
    psnap_table_cell(table, "%.2f", bandwidth_of_row(row, result) / 1e9);
    psnap_table_cell(table, "%.4g", row->memory_seconds[result]);
    if (report->has_costs) {
        psnap_table_cell(table, "%.4g", row->compute_seconds);
        psnap_table_cell(table, "%.4g", seconds_of(row, result));
    }
}

static void print_table(const struct report *report, const struct request *request, size_t result)
{
    const struct fit_result *of = &report->fits.results[result];
    const char *headings[PSNAP_LEVELS_MAX + 6] = {"input, loop", "accesses"};
    char levels[PSNAP_LEVELS_MAX][PSNAP_LEVEL_NAME_ROOM];
    const struct psnap_machine *machine = &report->fits.machine;
    size_t columns = 2;
    struct psnap_table *table;

    for (uint32_t i = 0; i < machine->level_count; i++)
        headings[columns++] = psnap_machine_level_name(machine, i, levels[i]);
    headings[columns++] = "GB/s";
    headings[columns++] = "memory s";
    if (report->has_costs) {
        headings[columns++] = "floating s";
        headings[columns++] = "sum s";
    }
    table = psnap_table_new(columns, headings);
    for (size_t i = 1; i < columns; i++)
        psnap_table_align_right(table, i);
    psnap_table_shorten(table, 0);
    for (size_t i = 0; i < report->count; i++)
        for (size_t row = 0; row < report->inputs[i].count; row++)
            if (is_shown(&report->inputs[i], row, request))
                print_row(table, report, &report->inputs[i], row, result);
    psnap_table_print(table, stdout);
    psnap_table_free(table);
    psnap_print(stdout, "\nhit rates of machine '%s'; by %s, fitted to %" PRIu32 " points of %s",
                report->fits.machine.name, bandwidth_method_name(of->model.method), of->points,
                report->fits.origin.processor[0] ? report->fits.origin.processor : "a machine");
    if (!isnan(of->mean_error))
        printf(" within %.1f %%", 100 * of->mean_error);
    if (!isnan(of->held_out_error))
        printf(", %.1f %% where they were held out", 100 * of->held_out_error);
    puts("; hit rates are cumulative, in percent");
}

/* --------------------------------------------------------------------------- JSON */

static void json_row(struct psnap_json *json, const struct report *report,
                     const struct convolve_input *input, size_t i, size_t result)
{
    const struct convolve_row *row = &input->rows[i];

    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "input", input->path);
    psnap_json_text(json, "method",
                    bandwidth_method_name(report->fits.results[result].model.method));
    psnap_json_text(json, "machine", report->fits.machine.name);
    psnap_json_text(json, "scope", i ? "loop" : "total");
    psnap_json_text(json, "id", i ? row->id : "total");
    psnap_json_text(json, "name", i ? row->name : "total");
    psnap_json_u64(json, "accesses", row->accesses);
    psnap_json_begin_array(json, "hit_rates");
    for (uint32_t level = 0; level < report->fits.machine.level_count; level++)
        psnap_json_real(json, NULL, supply_hit_rate(&row->supply, level));
    psnap_json_end_array(json);
    psnap_json_real(json, "bandwidth_bytes_per_s", bandwidth_of_row(row, result));
    psnap_json_real(json, "t_mem_seconds", row->memory_seconds[result]);
    psnap_json_real(json, "t_cpu_seconds", row->compute_seconds);
    psnap_json_real(json, "seconds", seconds_of(row, result));
    psnap_json_end_object(json);
}

static void print_json(const struct report *report, const struct request *request)
{
    struct psnap_json json;

    psnap_cmd_begin_json(&json, stdout, "predict bandwidth");
    psnap_json_begin_array(&json, "methods");
    for (size_t k = report->first; k < report->end; k++) {
        const struct fit_result *result = &report->fits.results[k];

        psnap_json_begin_object(&json, NULL);
        psnap_json_text(&json, "method", bandwidth_method_name(result->model.method));
        psnap_json_real(&json, "mean_error", result->mean_error);
        psnap_json_real(&json, "held_out_error", result->held_out_error);
        psnap_json_end_object(&json);
    }
    psnap_json_end_array(&json);
    psnap_json_begin_array(&json, "rows");
    for (size_t i = 0; i < report->count; i++)
        for (size_t row = 0; row < report->inputs[i].count; row++)
            for (size_t k = report->first; k < report->end; k++)
                if (is_shown(&report->inputs[i], row, request))
                    json_row(&json, report, &report->inputs[i], row, k);
    psnap_json_end_array(&json);
    if (request->coverage)
        coverage_json(&json, &report->points, report->inputs, report->count);
    psnap_json_end_object(&json);
    putchar('\n');
}

/* ------------------------------------------------------------------------ command */

static int run(const struct request *request)
{
    struct report *report = calloc(1, sizeof *report);
    struct psnap_error error;
    enum psnap_status status =
        report ? PSNAP_OK
               : psnap_error_set(&error, PSNAP_ERROR_MEMORY, "out of memory for the prediction");

    if (!status)
        status = read_files(report, request, &error);
    if (!status)
        status = predict(report, request, &error);
    if (!status && request->json)
        print_json(report, request);
    for (size_t k = report ? report->first : 0; !status && !request->json && k < report->end; k++) {
        if (k > report->first)
            putchar('\n');
        print_table(report, request, k);
    }
    if (!status && request->coverage && !request->json)
        coverage_print(&report->points, report->inputs, report->count);
    for (size_t i = 0; report && i < report->count; i++)
        convolve_release(&report->inputs[i]);
    if (report) {
        free(report->inputs);
        maps_release(&report->points);
    }
    free(report);
    return status ? psnap_cmd_fail("predict bandwidth", &error)
                  : psnap_cmd_close_stdout("predict bandwidth", PSNAP_EXIT_DONE);
}

int psnap_cmd_predict_bandwidth(int argc, char **argv)
{
    struct request request = {.input = PSNAP_INPUT_DEFAULTS, .by = "total,loop"};
    const struct psnap_option options[] = {
        {PSNAP_OPTION_TEXT, 0, "fit", &request.fit, "FIT.yaml",
         "the bandwidth function, of 'psnap fit'"},
        {PSNAP_OPTION_TEXT, 0, "method", &request.method, "ga|nlopt|nnls|averaged|additive|all",
         "which of its functions (the best of points that were held out)"},
        {PSNAP_OPTION_TEXT, 'm', "machine", &request.costs, "MACHINE",
         "with clock and costs of operations: floating-point time, too"},
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
        "psnap predict bandwidth INPUT... --fit FIT.yaml [-m MACHINE] [--json]",
        "Predicts memory times of each INPUT (a trace or a profile) and its loops from the\n"
        "hit rates they are simulated to have on the machine of the fit, and the bandwidth\n"
        "that was fitted to such hit rates. predict/bandwidth/BANDWIDTH.md has the models.",
        options};
    struct psnap_error error;
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    request.paths = argv + 1;
    request.count = (size_t)operands;
    if (!operands)
        return psnap_cmd_usage("predict bandwidth", "an input is needed, a trace or a profile");
    if (!request.fit)
        return psnap_cmd_usage("predict bandwidth", "no --fit FIT.yaml: 'psnap multimaps -o "
                                                    "POINTS.yaml' and 'psnap fit POINTS.yaml -o "
                                                    "FIT.yaml' make one");
    if (request.input.count != UINT64_MAX && request.costs)
        return psnap_cmd_usage(
            "predict bandwidth",
            "floating-point time is of all of an input: leave out -m or --count");
    if (!psnap_scope_parse_list(request.by, request.wanted, &error) ||
        request.wanted[PSNAP_SCOPE_BLOCK] || request.wanted[PSNAP_SCOPE_REGION] ||
        request.wanted[PSNAP_SCOPE_THREAD])
        return psnap_cmd_usage("predict bandwidth", "--by takes total and loop");
    return run(&request);
}
