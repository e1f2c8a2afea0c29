/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * psnap predict cache: cumulative hit rates of each level of machines, from reuse distances by SDCM
 * (sdcm.c), from distances within the level's sets, and simulated, in one pass. SDCM.md says what
 * each of them is and documents the JSON.
 *
 * Both predictions take each level for itself, as if it saw the whole stream: P_i, the share of
 * accesses that it would satisfy alone. The cumulative hit rate of level i is the largest of P_1 to
 * P_i, and what follows from it are the other rates of a report.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base/json.h"
#include "predict/cmd_predict.h"
#include "predict/reuse/cmd_reuse_rows.h"
#include "replay/cmd_input.h"
#include "simcore/cmd_turns.h"
#include "simcore/simcore.h"

enum method { METHOD_SDCM, METHOD_SETS, METHOD_SIM, METHODS };
static const char *const method_names[METHODS] = {"sdcm", "per-set", "simulation"};
static const char *const method_headings[METHODS] = {"SDCM", "sets", "sim."};

enum { MACHINES_MAX = 64, MEASURES_MAX = 2 * MACHINES_MAX * PSNAP_LEVELS_MAX };

/* A sink of psnap_reuse_new(), and its rows. */
struct measure {
    uint64_t line_bytes, sets, ways; /* sets 0: one stack of all lines */
    struct psnap_sink *sink;
    struct reuse_rows rows;
};

struct report {
    struct psnap_machine machines[MACHINES_MAX];
    size_t machine_count;
    bool wanted[PSNAP_SCOPE_COUNT];
    bool methods[METHODS];
    struct measure measures[MEASURES_MAX];
    size_t measure_count;
    struct psnap_tally *tallies; /* row by row, the machines of each; of METHOD_SIM */
    uint64_t accesses;
    bool in_turn;
};

/* ------------------------------------------------------------------- measures */

/* The measure that a level is predicted from. */
static struct measure *measure_of(struct report *report, const struct psnap_cache_level *level,
                                  enum method method)
{
    const uint64_t sets = method == METHOD_SDCM || level->sets == 1 ? 0 : level->sets;
    struct measure *measure = report->measures;

    for (size_t i = 0; i < report->measure_count; i++, measure++)
        if (measure->line_bytes == level->line_bytes && measure->sets == sets)
            return measure;
    report->measure_count++;
    *measure = (struct measure){.line_bytes = level->line_bytes, .sets = sets};
    return measure;
}

static void plan_measures(struct report *report)
{
    report->measure_count = 0;
    for (size_t m = 0; m < report->machine_count; m++)
        for (uint32_t l = 0; l < report->machines[m].level_count; l++)
            for (int method = 0; method < METHOD_SIM; method++) {
                const struct psnap_cache_level *level = &report->machines[m].levels[l];
                struct measure *measure =
                    report->methods[method] ? measure_of(report, level, (enum method)method) : NULL;
                if (measure && measure->ways < level->ways)
                    measure->ways = level->ways;
            }
}

static void release(struct report *report)
{
    for (size_t i = 0; i < report->measure_count; i++) {
        psnap_sink_free(report->measures[i].sink);
        reuse_rows_release(&report->measures[i].rows);
    }
    free(report->tallies);
    report->tallies = NULL;
    report->measure_count = 0;
}

/* ------------------------------------------------------------------- the pass */

static enum psnap_status no_memory(struct psnap_error *error)
{
    return psnap_error_set(error, PSNAP_ERROR_MEMORY, "out of memory for the prediction");
}

/* What the simulator counted of the rows of a scope, which are those from `first` on of every
 * measure. */
static enum psnap_status take_tallies(struct report *report, enum psnap_scope scope, size_t first,
                                      const struct psnap_sink *sim,
                                      const struct psnap_program *program,
                                      struct psnap_error *error)
{
    const struct reuse_rows *rows = &report->measures[0].rows;
    const enum psnap_view view = psnap_scope_view(scope);
    const size_t machines = report->machine_count;
    struct psnap_grouping grouping;
    struct psnap_tally *sums = NULL, *all;
    bool fits = psnap_grouping_init(&grouping, scope, program, psnap_sim_rows(sim, view), NULL);

    if (fits)
        sums = calloc((grouping.row_count + (size_t)1) * machines, sizeof *sums);
    all = realloc(report->tallies, (rows->count * machines + 1) * sizeof *all);
    if (all)
        report->tallies = all;
    fits = sums && all;
    for (uint32_t i = 0; fits && i < psnap_sim_rows(sim, view); i++)
        for (size_t m = 0; m < machines; m++)
            psnap_sim_add(sim, m, view, i, &sums[psnap_grouping_row(&grouping, i) * machines + m]);
    for (size_t i = first; fits && i < rows->count; i++)
        memcpy(&all[i * machines], &sums[rows->rows[i].index * machines], machines * sizeof *all);
    free(sums);
    psnap_grouping_release(&grouping);
    return fits ? PSNAP_OK : no_memory(error);
}

static enum psnap_status take_rows(struct report *report, const struct psnap_sink *sim,
                                   const struct psnap_program *program, struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    for (int scope = 0; scope < PSNAP_SCOPE_COUNT && !status; scope++) {
        const size_t first = report->measures[0].rows.count;
        if (!report->wanted[scope])
            continue;
        for (size_t i = 0; i < report->measure_count && !status; i++)
            status = reuse_rows_add(&report->measures[i].rows, (enum psnap_scope)scope,
                                    report->measures[i].sink, program, NULL, error);
        if (!status && sim)
            status = take_tallies(report, (enum psnap_scope)scope, first, sim, program, error);
    }
    return status;
}

static enum psnap_status pass(void *context, struct psnap_source *source, struct psnap_error *error)
{
    struct report *report = context;
    struct psnap_sink *sinks[MEASURES_MAX + 1], *tee = NULL, *sim = NULL;
    size_t count = 0;
    enum psnap_status status = PSNAP_OK;

    release(report);
    plan_measures(report);
    if (report->methods[METHOD_SIM]) {
        sim = psnap_sim_new(report->machines, report->machine_count, source->program, NULL, error);
        sinks[count++] = sim;
        status = sim ? PSNAP_OK : error->code;
    }
    for (size_t i = 0; i < report->measure_count && !status; i++) {
        struct measure *measure = &report->measures[i];
        const struct psnap_reuse_options options = {.line_bytes = measure->line_bytes,
                                                    .sets = measure->sets,
                                                    .ways = measure->ways,
                                                    .together = true};
        measure->sink = psnap_reuse_new(source->program, &options, error);
        sinks[count++] = measure->sink;
        if (!measure->sink)
            status = error->code;
    }
    if (!status) {
        tee = psnap_tee_sink_new(sinks, count);
        status = tee ? psnap_pump(source, tee, &report->accesses, error) : no_memory(error);
    }
    if (!status)
        status = take_rows(report, sim, source->program, error);
    psnap_sink_free(tee);
    psnap_sink_free(sim);
    return status;
}

/* ------------------------------------------------------------------ hit rates */

/* The share of a row's accesses that the level would satisfy alone. */
static double alone(struct report *report, const struct psnap_cache_level *level, size_t row,
                    enum method method)
{
    const struct measure *measure = measure_of(report, level, method);
    const struct psnap_distances *distances = measure->rows.rows[row].distances;

    if (method == METHOD_SDCM)
        return psnap_sdcm_hit_rate(distances, level->ways, level->size_bytes / level->line_bytes);
    return psnap_distances_hit_rate(distances, level->ways);
}

/* Cumulative hit rates of all levels. */
static void predict(struct report *report, size_t machine, size_t row, enum method method,
                    double rates[PSNAP_LEVELS_MAX])
{
    const struct psnap_machine *m = &report->machines[machine];

    for (uint32_t l = 0; l < m->level_count; l++) {
        rates[l] =
            method == METHOD_SIM
                ? psnap_tally_cumulative(&report->tallies[row * report->machine_count + machine], l)
                : alone(report, &m->levels[l], row, method);
        if (l && rates[l] < rates[l - 1])
            rates[l] = rates[l - 1];
    }
}

/* ------------------------------------------------------------------ the table */

enum { FIXED = 5, COLUMNS_MAX = FIXED + METHODS * PSNAP_LEVELS_MAX, COLUMN_ROOM = 64 };

static struct psnap_table *new_table(const struct report *report, size_t machine)
{
    static const char *const fixed[FIXED] = {"scope", "id", "name", "accesses", "share %"};
    char names[COLUMNS_MAX][COLUMN_ROOM], level[PSNAP_LEVEL_NAME_ROOM];
    const char *headings[COLUMNS_MAX];
    size_t columns = FIXED;
    struct psnap_table *table;

    memcpy(headings, fixed, sizeof fixed);
    for (uint32_t l = 0; l < report->machines[machine].level_count; l++)
        for (int method = 0; method < METHODS; method++)
            if (report->methods[method]) {
                snprintf(names[columns], COLUMN_ROOM, "%s %s %%",
                         psnap_machine_level_name(&report->machines[machine], l, level),
                         method_headings[method]);
                headings[columns] = names[columns];
                columns++;
            }
    table = psnap_table_new(columns, headings);
    psnap_table_shorten(table, 1);
    psnap_table_shorten(table, 2);
    for (size_t i = 3; i < columns; i++)
        psnap_table_align_right(table, i);
    return table;
}

static void percent_cell(struct psnap_table *table, double share)
{
    if (isnan(share))
        psnap_table_cell(table, "-");
    else
        psnap_table_cell(table, "%.2f", 100 * share);
}

static void print_row(struct psnap_table *table, struct report *report, size_t machine, size_t row)
{
    const struct reuse_row *named = &report->measures[0].rows.rows[row];
    const uint64_t accesses = psnap_distances_accesses(named->distances);
    double rates[METHODS][PSNAP_LEVELS_MAX];
    char digits[32];

    psnap_table_cell(table, "%s", psnap_scope_name(named->scope));
    psnap_table_cell(table, "%s", named->id);
    psnap_table_cell(table, "%s", named->name);
    psnap_table_cell(table, "%s", psnap_group_digits(accesses, digits));
    percent_cell(table, report->accesses ? (double)accesses / (double)report->accesses : 1);
    for (int method = 0; method < METHODS; method++)
        if (report->methods[method])
            predict(report, machine, row, (enum method)method, rates[method]);
    for (uint32_t l = 0; l < report->machines[machine].level_count; l++)
        for (int method = 0; method < METHODS; method++)
            if (report->methods[method])
                percent_cell(table, rates[method][l]);
}

static void print_tables(struct report *report)
{
    for (size_t m = 0; m < report->machine_count; m++) {
        struct psnap_table *table = new_table(report, m);
        if (m)
            putchar('\n');
        psnap_print(stdout, "machine %s, cumulative hit rates:\n\n", report->machines[m].name);
        for (size_t row = 0; row < report->measures[0].rows.count; row++)
            print_row(table, report, m, row);
        psnap_table_print(table, stdout);
        psnap_table_free(table);
    }
}

/* ----------------------------------------------------------------------- JSON */

static void json_row(struct psnap_json *json, struct report *report, size_t machine, size_t row,
                     enum method method)
{
    const struct reuse_row *named = &report->measures[0].rows.rows[row];
    const double accesses = (double)psnap_distances_accesses(named->distances);
    double rates[PSNAP_LEVELS_MAX];

    predict(report, machine, row, method, rates);
    psnap_json_begin_object(json, NULL);
    psnap_json_text(json, "machine", report->machines[machine].name);
    psnap_json_text(json, "method", method_names[method]);
    psnap_json_text(json, "scope", psnap_scope_name(named->scope));
    psnap_json_text(json, "id", named->id);
    psnap_json_text(json, "name", named->name);
    psnap_json_u64(json, "accesses", psnap_distances_accesses(named->distances));
    psnap_json_begin_array(json, "levels");
    for (uint32_t l = 0; l < report->machines[machine].level_count; l++) {
        const double nearer = l ? rates[l - 1] : 0;
        psnap_json_begin_object(json, NULL);
        psnap_json_u64(json, "level", l + 1);
        if (report->machines[machine].levels[l].name[0])
            psnap_json_text(json, "name", report->machines[machine].levels[l].name);
        psnap_json_real(json, "accesses", accesses * (1 - nearer));
        psnap_json_real(json, "hits", accesses * (rates[l] - nearer));
        psnap_json_real(json, "hit_rate", nearer < 1 ? (rates[l] - nearer) / (1 - nearer) : NAN);
        psnap_json_real(json, "cumulative_hit_rate", rates[l]);
        psnap_json_end_object(json);
    }
    psnap_json_end_array(json);
    psnap_json_end_object(json);
}

static void print_json(struct report *report, const char *path)
{
    struct psnap_json json;

    psnap_cmd_begin_json(&json, stdout, "predict cache");
    psnap_json_text(&json, "input", path);
    psnap_json_u64(&json, "accesses", report->accesses);
    psnap_json_begin_array(&json, "rows");
    for (size_t m = 0; m < report->machine_count; m++)
        for (size_t row = 0; row < report->measures[0].rows.count; row++)
            for (int method = 0; method < METHODS; method++)
                if (report->methods[method])
                    json_row(&json, report, m, row, (enum method)method);
    psnap_json_end_array(&json);
    psnap_json_end_object(&json);
    putchar('\n');
}

/* ---------------------------------------------------------------- the command */

static enum psnap_status find_machines(struct report *report, const struct psnap_text_list *names,
                                       struct psnap_error *error)
{
    if (names->count > MACHINES_MAX)
        return psnap_error_set(error, PSNAP_ERROR_USAGE, "at most %d machines", MACHINES_MAX);
    for (size_t m = 0; m < names->count; m++) {
        if (psnap_machine_find(names->items[m], &report->machines[m], error))
            return error->code;
        for (size_t i = 0; i < m; i++)
            if (!strcmp(report->machines[i].name, report->machines[m].name))
                return psnap_error_set(error, PSNAP_ERROR_USAGE, "two machines are called '%.200s'",
                                       report->machines[m].name);
    }
    report->machine_count = names->count;
    return PSNAP_OK;
}

/* Both predictions and the simulation, or the one that was asked for. */
static bool choose_methods(struct report *report, const char *method)
{
    for (int i = 0; i < METHODS; i++)
        report->methods[i] = !method || !strcmp(method, method_names[i]);
    return report->methods[METHOD_SDCM] || report->methods[METHOD_SETS];
}

int psnap_cmd_predict_cache(int argc, char **argv)
{
    struct psnap_input_options input = PSNAP_INPUT_DEFAULTS;
    struct psnap_text_list machines = {0};
    const char *by = "total,loop", *method = NULL;
    bool json = false;
    const struct psnap_option options[] = {
        {PSNAP_OPTION_LIST, 'm', "machine", &machines, "MACHINE",
         "a bundled name, a machine file, or size:line:ways,...; may be repeated"},
        {PSNAP_OPTION_TEXT, 0, "method", &method, "sdcm|per-set",
         "sdcm or per-set alone (both, and simulated)"},
        {PSNAP_OPTION_TEXT, 0, "by", &by, "SCOPES", "rows: any of total,loop,block (total,loop)"},
        {PSNAP_OPTION_FLAG, 0, "json", &json, NULL, "print JSON"},
        PSNAP_INPUT_OPTIONS(input),
        {PSNAP_OPTION_END, 0, NULL, NULL, NULL, NULL},
    };
    const struct psnap_usage usage = {
        "psnap predict cache INPUT -m MACHINE [-m ...] [--method sdcm|per-set] [--json]",
        "Predicts the cumulative hit rates of caches from the reuse distances of INPUT (a\n"
        "trace, a profile, or - for standard input): by SDCM from those of all lines,\n"
        "and from those within each level's sets; beside them what is simulated. SDCM.md\n"
        "says what they leave out. LRU is assumed, and nothing is prefetched.",
        options};
    struct report *report;
    struct psnap_error error;
    int status;
    const int operands = psnap_options_parse(argc, argv, &usage, false, &status);

    if (operands < 0)
        return status;
    report = calloc(1, sizeof *report);
    if (!report) {
        no_memory(&error);
        status = psnap_cmd_fail("predict cache", &error);
    } else if (operands != 1) {
        status = psnap_cmd_usage("predict cache", "one input is needed, not %d", operands);
    } else if (!machines.count) {
        status = psnap_cmd_usage("predict cache", "no machine: give at least one -m MACHINE");
    } else if (!choose_methods(report, method)) {
        status = psnap_cmd_usage("predict cache", "--method takes sdcm and per-set, not '%.100s'",
                                 method);
    } else if (psnap_scope_parse_list(by, report->wanted, &error) &&
               (report->wanted[PSNAP_SCOPE_REGION] || report->wanted[PSNAP_SCOPE_THREAD])) {
        status = psnap_cmd_usage("predict cache", "--by takes total, loop and block");
    } else if (!psnap_scope_parse_list(by, report->wanted, &error) ||
               find_machines(report, &machines, &error) ||
               psnap_turns_pass(argv[1], &input, pass, report, &report->in_turn, &error) ||
               reuse_need_accesses(report->accesses, argv[1], &error)) {
        status = psnap_cmd_fail("predict cache", &error);
    } else {
        if (json)
            print_json(report, argv[1]);
        else
            print_tables(report);
        status = psnap_cmd_close_stdout("predict cache", PSNAP_EXIT_DONE);
    }
    if (report)
        release(report);
    free(report);
    psnap_text_list_release(&machines);
    return status;
}
