/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap fit: bandwidth as a function of hit rates, fitted to points of 'psnap multimaps'.
 * BANDWIDTH.md has the functions, the methods, the file and JSON.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "formats/base/cmd.h"
#include "formats/base/cmd_progress.h"
#include "formats/base/output.h"
#include "predict/bandwidth/cmd_bandwidth.h"
#include "predict/bandwidth/fit.h"

enum { FOLDS_MAX = 100, POPULATION_MAX = 1000000, GENERATIONS_MAX = 100000 };

struct request {
    const char *input, *output, *method;
    uint64_t folds, seed, population, generations, jobs;
    bool as_published, with_apex, json, force;
    bool methods[METHODS];
};

bool fit_has_nlopt(void)
{
    return fit_nlopt_is_built();
}

/* ------------------------------------------------------------------- progress */

struct watch {
    const struct request *request;
    struct psnap_progress *progress; /* NULL: none */
};

/* Of a fit, in generations of the genetic algorithm, which takes nearly all the time. */
static double work_of(const struct request *request, enum bandwidth_method method)
{
    return method == METHOD_GA ? (double)request->generations : 1;
}

/* A fit that ends early has all its work done when the next one begins. */
static void tell(void *context, enum bandwidth_method method, uint32_t fold, uint32_t generation)
{
    const struct watch *watch = context;
    const struct request *request = watch->request;
    const double fits = 1 + (double)request->folds;
    double done = fold * work_of(request, method) + generation, all = 0;
    char place[120] = "";
    int length = 0;

    for (int i = 0; i < METHODS; i++) {
        const double work =
            request->methods[i] ? fits * work_of(request, (enum bandwidth_method)i) : 0;

        done += i < (int)method ? work : 0;
        all += work;
    }
    if (fold)
        length =
            snprintf(place, sizeof place, ", fold %" PRIu32 " of %" PRIu64, fold, request->folds);
    if (generation)
        snprintf(place + length, sizeof place - (size_t)length,
                 ", generation %" PRIu32 " of %" PRIu64, generation, request->generations);
    psnap_progress_share(watch->progress, done / all, "%s%s", bandwidth_method_name(method), place);
}

/* ----------------------------------------------------------------------- fits */

static enum psnap_status fit_all(const struct request *request, const struct maps *maps,
                                 struct fits *fits, struct psnap_error *error)
{
    struct watch watch = {request, psnap_progress_new(0, -1)};
    const struct fit_settings settings = {.by_kind = !request->as_published,
                                          .folds = (uint32_t)request->folds,
                                          .seed = request->seed,
                                          .population = (uint32_t)request->population,
                                          .generations = (uint32_t)request->generations,
                                          .threads = (uint32_t)request->jobs,
                                          .with_apex = request->with_apex,
                                          .tell = tell,
                                          .context = &watch};
    enum psnap_status status = fit_latencies(maps, fits->latencies, error);

    fits->machine = maps->machine;
    fits->origin = maps->origin;
    for (int method = 0; method < METHODS && !status; method++) {
        if (!request->methods[method])
            continue;
        status = fit_points(maps, (enum bandwidth_method)method, &settings,
                            &fits->results[fits->count++], error);
        if ((status == PSNAP_ERROR_UNSUPPORTED || status == PSNAP_ERROR_VALUE) &&
            !request->method) {
            psnap_progress_erase(watch.progress);
            psnap_print(stderr, "psnap fit: warning: %s: %s, so that method is left out\n",
                        bandwidth_method_name((enum bandwidth_method)method), error->message);
            fits->count--;
            status = PSNAP_OK;
        }
    }
    psnap_progress_free(watch.progress);
    return status || fits->count ? status : error->code;
}

/* --------------------------------------------------------------------- reports */

static void percent(struct psnap_table *table, double share)
{
    if (isnan(share))
        psnap_table_cell(table, "-");
    else
        psnap_table_cell(table, "%.2f", 100 * share);
}

static void print_table(const struct request *request, const struct fits *fits)
{
    static const char *const headings[] = {"method",     "parameters", "error %",     "worst %",
                                           "held out %", "+-",         "MultiMAPS %", "streams %",
                                           "Apex-MAP %", "seconds"};
    struct psnap_table *table = psnap_table_new(10, headings);

    for (size_t column = 1; column < 10; column++)
        psnap_table_align_right(table, column);
    for (size_t i = 0; i < fits->count; i++) {
        const struct fit_result *result = &fits->results[i];

        psnap_table_cell(table, "%s", bandwidth_method_name(result->model.method));
        psnap_table_cell(table, "%" PRIu32, result->parameters);
        percent(table, result->mean_error);
        percent(table, result->worst_error);
        percent(table, result->held_out_error);
        percent(table, result->held_out_spread);
        percent(table, result->probe_error[MAP_STRIDED]);
        percent(table, result->probe_error[MAP_STREAMS]);
        percent(table, result->probe_error[MAP_APEX]);
        psnap_table_cell(table, "%.1f", result->seconds);
    }
    psnap_table_print(table, stdout);
    psnap_table_free(table);
    if (fits->count > 1)
        psnap_print(
            stdout, "\n%s is best: %s\n",
            bandwidth_method_name(fits->results[fit_best(fits->results, fits->count)].model.method),
            request->folds ? "of points that were held out"
                           : "of the points; with --folds of "
                             "points that are held out");
}

static void print_json(const struct fits *fits)
{
    struct psnap_json json;

    psnap_cmd_begin_json(&json, stdout, "fit");
    psnap_json_u64(&json, "points", fits->results[0].points);
    psnap_json_begin_array(&json, "methods");
    for (size_t i = 0; i < fits->count; i++) {
        const struct fit_result *result = &fits->results[i];

        psnap_json_begin_object(&json, NULL);
        psnap_json_text(&json, "method", bandwidth_method_name(result->model.method));
        psnap_json_u64(&json, "parameters", result->parameters);
        psnap_json_real(&json, "mean_error", result->mean_error);
        psnap_json_real(&json, "worst_error", result->worst_error);
        psnap_json_real(&json, "held_out_error", result->held_out_error);
        psnap_json_real(&json, "held_out_spread", result->held_out_spread);
        psnap_json_real(&json, "multimaps_error", result->probe_error[MAP_STRIDED]);
        psnap_json_real(&json, "streams_error", result->probe_error[MAP_STREAMS]);
        psnap_json_real(&json, "apex_error", result->probe_error[MAP_APEX]);
        if (result->model.method == METHOD_GA)
            psnap_json_u64(&json, "generations", result->generations);
        psnap_json_real(&json, "seconds", result->seconds);
        psnap_json_end_object(&json);
    }
    psnap_json_end_array(&json);
    psnap_json_end_object(&json);
    putchar('\n');
}

/* ------------------------------------------------------------------ the command */

static int run(const struct request *request)
{
    struct fits fits = {0};
    struct maps maps = {0};
    struct psnap_output *output = NULL;
    struct psnap_error error;
    enum psnap_status status = PSNAP_OK;

    if (request->output && !(output = psnap_output_open(request->output, request->force, &error)))
        status = error.code;
    if (!status)
        status = maps_read_path(request->input, &maps, &error);
    if (!status) {
        status = fit_all(request, &maps, &fits, &error);
        if (status)
            psnap_error_at(&error, request->input, 0, 0);
    }
    if (!status && output)
        status = fits_write(&fits, psnap_output_file(output), &error);
    status = psnap_output_finish(output, status, &error);
    maps_release(&maps);
    if (status)
        return psnap_cmd_fail("fit", &error);
    if (request->json)
        print_json(&fits);
    else if (!psnap_output_is_stdout(request->output))
        print_table(request, &fits);
    return psnap_cmd_close_stdout("fit", PSNAP_EXIT_DONE);
}

/* "ga", "nlopt", "nnls" and the baselines; all of them. 0, or the exit status of a mistake. */
static int take_method(struct request *request)
{
    bool is_known = false;

    for (int i = 0; i < METHODS; i++) {
        request->methods[i] =
            !request->method || !strcmp(request->method, "all") ||
            !strcmp(request->method, bandwidth_method_name((enum bandwidth_method)i));
        is_known |= request->methods[i];
    }
    if (request->method && !strcmp(request->method, "all"))
        request->method = NULL;
    return is_known ? 0
                    : psnap_cmd_usage("fit",
                                      "--method is ga, nlopt, nnls, averaged, additive or all, not "
                                      "'%.100s'",
                                      request->method);
}

static int check_usage(struct request *request)
{
    if (request->folds == 1 || request->folds > FOLDS_MAX)
        return psnap_cmd_usage("fit", "--folds is 0 for none, or 2 to %d", FOLDS_MAX);
    if (request->population < 24 || request->population > POPULATION_MAX)
        return psnap_cmd_usage("fit", "--population is 24 to %d", POPULATION_MAX);
    if (request->generations < 1 || request->generations > GENERATIONS_MAX)
        return psnap_cmd_usage("fit", "--generations is 1 to %d", GENERATIONS_MAX);
    if (request->json && psnap_output_is_stdout(request->output))
        return psnap_cmd_usage("fit", "only one of JSON and YAML can go to standard output");
    return take_method(request);
}

int psnap_cmd_fit(int argc, char **argv)
{
    struct request request = {
        .folds = 5, .population = 10000, .generations = 200, .jobs = psnap_processors()};
    const struct psnap_option options[] = {
        {PSNAP_OPTION_TEXT, 'o', "output", &request.output, "FIT.yaml",
         "keep the functions, for 'psnap predict bandwidth'"},
        {PSNAP_OPTION_TEXT, 0, "method", &request.method, "ga|nlopt|nnls|averaged|additive|all",
         "how to fit (all)"},
        {PSNAP_OPTION_COUNT, 0, "folds", &request.folds, "N",
         "hold out one of so many parts of the points in turn; 0: none (5)"},
        {PSNAP_OPTION_FLAG, 0, "as-published", &request.as_published, NULL,
         "hit rates of levels alone, whatever kind of stream"},
        {PSNAP_OPTION_FLAG, 0, "apex", &request.with_apex, NULL,
         "fit to all points of Apex-MAP, not those of random words alone"},
        {PSNAP_OPTION_COUNT, 0, "population", &request.population, "N",
         "of the genetic algorithm (10000)"},
        {PSNAP_OPTION_COUNT, 0, "generations", &request.generations, "N", "at most (200)"},
        {PSNAP_OPTION_U64, 'j', "jobs", &request.jobs, "N",
         "threads, of the islands (the processors)"},
        {PSNAP_OPTION_U64, 0, "seed", &request.seed, "N", "of all that is drawn (0)"},
        {PSNAP_OPTION_FLAG, 0, "json", &request.json, NULL, "print JSON"},
        {PSNAP_OPTION_FLAG, 0, "force", &request.force, NULL, "overwrite FIT.yaml"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {
        "psnap fit POINTS.yaml [-o FIT.yaml] [--method METHOD] [--seed N] [--json]",
        "Fits bandwidth as a function of hit rates to measured points, by a genetic\n"
        "algorithm and other methods, with the error of points that are held out.\n"
        "predict/bandwidth/BANDWIDTH.md has the functions.",
        options};
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    if (operands != 1)
        return psnap_cmd_usage("fit", "one file of points, of psnap multimaps, is needed");
    request.input = argv[1];
    status = check_usage(&request);
    return status ? status : run(&request);
}
