/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap multimaps: how fast this computer reads strided and random streams (maps.h), with the hit
 * rates that its caches are simulated to have of each. BANDWIDTH.md documents the file and JSON.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "formats/base/cmd.h"
#include "formats/base/cmd_progress.h"
#include "formats/base/output.h"
#include "predict/bandwidth/calibrate.h"
#include "predict/bandwidth/cmd_bandwidth.h"
#include "predict/bandwidth/maps.h"
#include "simcore/cmd_host.h"

#define BUDGET_SECONDS 120.0
#define LARGEST_MIN (UINT64_C(50) << 20)
/* The size that a system gives for its last cache may be the sum of many caches. */
#define LARGEST_MAX (UINT64_C(256) << 20)
#define SIZES 54
#define LARGEST_CACHES 4 /* times the last cache */

struct request {
    const char *output, *budget, *machine, *again, *plot;
    uint64_t sizes, largest, stride, seed;
    double tolerance;
    bool has_largest, strided, json, force;
};

/* ------------------------------------------------------------------- progress */

struct watch {
    size_t points;
    struct psnap_progress *progress; /* of measuring, and then of simulating; NULL: none */
    size_t simulated;                /* points, as far as that knows */
};

/* The share is of the budget: the time left is the longest there may be. */
static void tell_measured(void *context, uint32_t round, size_t unstable, double share)
{
    const struct watch *watch = context;

    psnap_progress_share(watch->progress, share < 1 ? share : 1,
                         "round %" PRIu32 ", %zu of %zu points not stable yet", round, unstable,
                         watch->points);
}

static void tell_simulated(void *context, size_t points)
{
    struct watch *watch = context;

    psnap_progress_add(watch->progress, points - watch->simulated);
    watch->simulated = points;
}

static void tell_variant(void *context, uint32_t variant, uint32_t count)
{
    struct watch *watch = context;

    if (!watch->progress)
        watch->progress = psnap_progress_of(count, "variants of the machine");
    if (variant > 1)
        psnap_progress_add(watch->progress, 1);
}

/* ----------------------------------------------------------------------- work */

static void fill_origin(struct map_origin *origin)
{
    const time_t now = time(NULL);
    struct tm when;

    snprintf(origin->psnap, sizeof origin->psnap, "%s", PSNAP_VERSION);
    if (gmtime_r(&now, &when))
        strftime(origin->date, sizeof origin->date, "%Y-%m-%dT%H:%M:%SZ", &when);
    host_processor(origin->processor, sizeof origin->processor);
}

/* The array that nothing holds: the largest one, unless said. */
static uint64_t largest_of(const struct request *request, const struct psnap_machine *machine)
{
    const uint64_t last = machine->levels[machine->level_count - 1].size_bytes;

    if (request->has_largest)
        return request->largest;
    if (last > LARGEST_MAX / LARGEST_CACHES)
        return LARGEST_MAX;
    return last > LARGEST_MIN / LARGEST_CACHES ? LARGEST_CACHES * last : LARGEST_MIN;
}

static enum psnap_status measure(struct maps *maps, const struct request *request, double budget,
                                 const struct psnap_machine *machine, struct watch *watch,
                                 struct psnap_error *error)
{
    const uint64_t largest = largest_of(request, machine);
    const struct maps_settings settings = {.budget_seconds = budget,
                                           .tolerance = request->tolerance,
                                           .rounds_max = 500,
                                           .seed = request->seed,
                                           .tell = tell_measured,
                                           .context = watch};
    enum psnap_status status = maps_plan_strided(maps, (uint32_t)request->sizes, largest,
                                                 (uint32_t)request->stride, error);

    if (!status && !request->strided)
        status = maps_plan_apex(maps, largest, error);
    if (!status && !request->strided)
        status = maps_plan_further(maps, (uint32_t)(request->sizes + 1) / 2, largest, error);
    watch->points = maps->count;
    if (!status) {
        watch->progress = psnap_progress_new(0, -1);
        status = maps_measure(maps, &settings, error);
        psnap_progress_free(watch->progress);
        watch->progress = NULL;
    }
    fill_origin(&maps->origin);
    return status;
}

/* Hit rates of the machine that was asked for, or of a variant of this computer. */
static enum psnap_status simulate(struct maps *maps, const struct request *request,
                                  const struct psnap_machine *machine, struct watch *watch,
                                  struct psnap_error *error)
{
    struct psnap_machine variant = *machine;
    enum psnap_status status = PSNAP_OK;

    if (!request->machine)
        status = maps_calibrate(maps, machine, &variant, tell_variant, watch, error);
    psnap_progress_free(watch->progress);
    if (status)
        return status;
    watch->progress = psnap_progress_of(maps->count, "points simulated");
    status = maps_supply(maps, &variant, tell_simulated, watch, error);
    psnap_progress_free(watch->progress);
    return status;
}

static enum psnap_status read_again(struct maps *maps, const char *path, struct psnap_error *error)
{
    enum psnap_status status = maps_read_path(path, maps, error);

    for (size_t i = 0; i < maps->count && !status; i++)
        if (!maps->points[i].step || maps->points[i].size_bytes / maps->points[i].streams <
                                         2 * MAP_WORD_BYTES * (uint64_t)maps->points[i].step)
            status = psnap_error_set(error, PSNAP_ERROR_VALUE,
                                     "%s: line %" PRIu32 ": without its size and stride this point "
                                     "has no stream to simulate",
                                     path, maps->points[i].src_line);
    return status;
}

/* --------------------------------------------------------------------- reports */

static void print_points(const struct maps *maps)
{
    const char *headings[5 + PSNAP_LEVELS_MAX] = {"array", "probe", "alpha", "GB/s", "spread"};
    char levels[PSNAP_LEVELS_MAX][PSNAP_LEVEL_NAME_ROOM];
    const uint32_t count = maps->machine.level_count;
    struct psnap_table *table;

    for (uint32_t i = 0; i < count; i++)
        headings[5 + i] = psnap_machine_level_name(&maps->machine, i, levels[i]);
    table = psnap_table_new(5 + count, headings);
    for (uint32_t i = 0; i < 5 + count; i++)
        psnap_table_align_right(table, i);
    for (size_t i = 0; i < maps->count; i++) {
        const struct map_point *point = &maps->points[i];

        psnap_table_cell(table, "%.1f K", (double)point->size_bytes / 1024);
        psnap_table_cell(table, "%s %" PRIu32, map_probe_name(point->probe),
                         point->probe == MAP_STREAMS ? point->streams : point->step);
        if (point->probe == MAP_APEX)
            psnap_table_cell(table, "%g", point->alpha);
        else
            psnap_table_cell(table, "%s", "");
        psnap_table_cell(table, "%.2f", map_point_bandwidth(point) / 1e9);
        if (point->runs > 1)
            psnap_table_cell(table, "%.1f %%", 100 * point->spread);
        else
            psnap_table_cell(table, "-");
        for (uint32_t level = 0; level < count; level++)
            psnap_table_cell(table, "%.2f", 100 * supply_hit_rate(&point->supply, level));
    }
    psnap_table_print(table, stdout);
    psnap_table_free(table);
    psnap_print(stdout, "\nhit rates are cumulative, of %s, in percent\n", maps->machine.name);
}

static void print_json(const struct maps *maps)
{
    struct psnap_json json;

    psnap_cmd_begin_json(&json, stdout, "multimaps");
    psnap_json_text(&json, "machine", maps->machine.name);
    psnap_json_u64(&json, "rounds", maps->origin.rounds);
    psnap_json_real(&json, "seconds", maps->origin.seconds);
    psnap_json_begin_array(&json, "points");
    for (size_t i = 0; i < maps->count; i++) {
        const struct map_point *point = &maps->points[i];

        psnap_json_begin_object(&json, NULL);
        psnap_json_text(&json, "probe", map_probe_name(point->probe));
        psnap_json_u64(&json, "size_bytes", point->size_bytes);
        psnap_json_u64(&json,
                       point->probe == MAP_APEX    ? "block_words"
                       : point->probe == MAP_CHAIN ? "chain_words"
                                                   : "stride_words",
                       point->step);
        if (point->probe == MAP_STREAMS)
            psnap_json_u64(&json, "streams", point->streams);
        if (point->probe == MAP_APEX)
            psnap_json_real(&json, "alpha", point->alpha);
        psnap_json_real(&json, "bandwidth_bytes_per_s", map_point_bandwidth(point));
        psnap_json_real(&json, "spread", point->runs > 1 ? point->spread : NAN);
        psnap_json_u64(&json, "runs", point->runs);
        psnap_json_begin_array(&json, "hit_rates");
        for (uint32_t level = 0; level < maps->machine.level_count; level++)
            psnap_json_real(&json, NULL, supply_hit_rate(&point->supply, level));
        psnap_json_end_array(&json);
        psnap_json_end_object(&json);
    }
    psnap_json_end_array(&json);
    psnap_json_end_object(&json);
    putchar('\n');
}

static void print_summary(const struct maps *maps, double tolerance)
{
    size_t unstable = 0, once = 0;

    for (size_t i = 0; i < maps->count; i++) {
        unstable += maps->points[i].spread > 10 * tolerance;
        once += maps->points[i].runs < 2;
    }
    printf("%zu points in %" PRIu32 " rounds, %.0f s\n", maps->count, maps->origin.rounds,
           maps->origin.seconds);
    if (once)
        printf("%zu of them were measured once, so how good they are is not known: a longer "
               "--budget\n",
               once);
    if (unstable)
        printf("%zu of them spread by more than %.0f %%: another program, or another machine on "
               "this computer, was in the way\n",
               unstable, 1000 * tolerance);
}

/* Points first, and the figure then: what was measured is there, whatever gnuplot says. */
static enum psnap_status write_files(const struct request *request, const struct maps *maps,
                                     struct psnap_output *output, struct psnap_output *plot,
                                     enum psnap_status status, struct psnap_error *error)
{
    if (!status && output)
        status = maps_write(maps, psnap_output_file(output), error);
    status = psnap_output_finish(output, status, error);
    if (!status && plot)
        status = maps_plot(maps, request->plot, psnap_output_file(plot), error);
    return psnap_output_finish(plot, status, error);
}

/* ------------------------------------------------------------------ the command */

static int run(const struct request *request, double budget)
{
    struct watch watch = {.points = 0};
    struct psnap_output *output = NULL, *plot = NULL;
    struct psnap_machine machine;
    struct maps maps = {.origin.cpu = -1};
    struct psnap_error error;
    const char *const name = request->machine ? request->machine : "host";
    enum psnap_status status = psnap_machine_find(name, &machine, &error);

    if (!status && request->plot)
        status = gnuplot_find("; or leave out --plot", &error);
    if (!status && request->output &&
        !(output = psnap_output_open(request->output, request->force, &error)))
        status = error.code;
    if (!status && request->plot &&
        !(plot = psnap_output_open(request->plot, request->force, &error)))
        status = error.code;
    if (!status)
        status = request->again ? read_again(&maps, request->again, &error)
                                : measure(&maps, request, budget, &machine, &watch, &error);
    if (!status)
        status = simulate(&maps, request, &machine, &watch, &error);
    status = write_files(request, &maps, output, plot, status, &error);
    if (!status && request->json)
        print_json(&maps);
    else if (!status && !request->output && !psnap_output_is_stdout(request->plot))
        print_points(&maps);
    else if (!status && !psnap_output_is_stdout(request->output) &&
             !psnap_output_is_stdout(request->plot) && !request->again)
        print_summary(&maps, request->tolerance);
    maps_release(&maps);
    return status ? psnap_cmd_fail("multimaps", &error)
                  : psnap_cmd_close_stdout("multimaps", PSNAP_EXIT_DONE);
}

static int check_usage(const struct request *request)
{
    if (request->again && (request->budget || request->sizes != SIZES || request->has_largest ||
                           request->stride != MAP_STEP_MAX || request->strided))
        return psnap_cmd_usage("multimaps", "--of measures nothing: --budget, --sizes, --largest, "
                                            "--stride and --strided are of no use with it");
    if (request->stride & (request->stride - 1))
        return psnap_cmd_usage("multimaps", "--stride is a power of two");
    if (request->sizes < 1 || request->sizes > 1000)
        return psnap_cmd_usage("multimaps", "--sizes are 1 to 1000");
    if (request->stride < 1 || request->stride > MAP_STEP_MAX)
        return psnap_cmd_usage("multimaps", "--stride is 1 to %d words", MAP_STEP_MAX);
    if (request->has_largest &&
        (request->largest < 4 * MAP_SIZE_MIN || request->largest > MAP_SIZE_MAX))
        return psnap_cmd_usage("multimaps", "--largest is 4K to 16G");
    if (!(request->tolerance > 0) || request->tolerance > 1)
        return psnap_cmd_usage("multimaps", "--tolerance is above 0 and at most 1");
    if (request->json + psnap_output_is_stdout(request->output) +
            psnap_output_is_stdout(request->plot) >
        1)
        return psnap_cmd_usage("multimaps",
                               "only one of JSON, YAML and the figure can go to standard output");
    if (psnap_output_is_same(request->output, request->plot))
        return psnap_cmd_usage("multimaps", "-o and --plot are both '%.200s'", request->plot);
    return 0;
}

int psnap_cmd_multimaps(int argc, char **argv)
{
    struct request request = {
        .sizes = SIZES, .largest = UINT64_MAX, .stride = MAP_STEP_MAX, .tolerance = 0.005};
    const struct psnap_option options[] = {
        {PSNAP_OPTION_TEXT, 'o', "output", &request.output, "POINTS.yaml",
         "where to; else a table on standard output"},
        {PSNAP_OPTION_TEXT, 'm', "machine", &request.machine, "MACHINE",
         "whose hit rates the points get (this computer's, in the variant that fits them)"},
        {PSNAP_OPTION_TEXT, 0, "budget", &request.budget, "TIME",
         "at most about how long to measure: 30s, 10m (2m); simulating comes on top"},
        {PSNAP_OPTION_COUNT, 0, "sizes", &request.sizes, "N", "of arrays (54)"},
        {PSNAP_OPTION_SIZE, 0, "largest", &request.largest, "BYTES",
         "array (four times the last cache, 50M to 256M)"},
        {PSNAP_OPTION_COUNT, 0, "stride", &request.stride, "WORDS",
         "strides are powers of two up to it (64)"},
        {PSNAP_OPTION_REAL, 0, "tolerance", &request.tolerance, "SHARE",
         "a point whose median is known so well is done (0.005)"},
        {PSNAP_OPTION_FLAG, 0, "strided", &request.strided, NULL,
         "MultiMAPS alone: no random words, streams side by side and chains"},
        {PSNAP_OPTION_TEXT, 0, "of", &request.again, "POINTS.yaml",
         "measure nothing: these points, with the hit rates of MACHINE"},
        {PSNAP_OPTION_TEXT, 0, "plot", &request.plot, "FILE.svg",
         "draw bandwidth against size, by gnuplot"},
        {PSNAP_OPTION_U64, 0, "seed", &request.seed, "N", "of the order of points (0)"},
        {PSNAP_OPTION_FLAG, 0, "json", &request.json, NULL, "print JSON"},
        {PSNAP_OPTION_FLAG, 0, "force", &request.force, NULL, "overwrite files"},
        {.type = PSNAP_OPTION_END},
    };
    const struct psnap_usage usage = {
        "psnap multimaps [-o POINTS.yaml] [-m MACHINE] [--budget TIME] [--plot FILE.svg]",
        "Measures how fast this computer reads arrays of many sizes by many strides\n"
        "(MultiMAPS), and at random places (Apex-MAP), and simulates the hit rates of the\n"
        "machine's caches for each: the points that 'psnap fit' fits bandwidth to. Best\n"
        "while nothing else runs.",
        options};
    double budget = BUDGET_SECONDS;
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    request.has_largest = request.largest != UINT64_MAX;
    if (operands)
        return psnap_cmd_usage("multimaps", "'%s': there are no operands", argv[1]);
    if (request.budget && !host_parse_seconds(request.budget, &budget))
        return psnap_cmd_usage("multimaps", "'%s' is no time such as 30s or 10m, up to 60m",
                               request.budget);
    status = check_usage(&request);
    return status ? status : run(&request, budget);
}
