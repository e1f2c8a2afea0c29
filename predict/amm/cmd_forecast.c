/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From inputs to rows (cmd_forecast.h). A level's distances are measured in its own lines; levels
 * that agree share them.
 */
#include "predict/amm/cmd_forecast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predict/amm/cmd_branches.h"

/* ---------------------------------------------------------------------- plans */

static enum psnap_status plan_level(struct forecast *forecast,
                                    const struct psnap_cache_level *level,
                                    const struct forecast_settings *settings, size_t *plan,
                                    struct psnap_error *error)
{
    const bool per_set = settings->rows.per_set && !level->effective_bytes && level->sets > 1;
    const uint64_t sets = per_set ? level->sets : 0;
    const uint64_t line = settings->line_bytes ? settings->line_bytes : level->line_bytes;
    struct measure_plan *plans = forecast->plans;
    size_t i = 0;

    while (i < forecast->plan_count && (plans[i].line_bytes != line || plans[i].sets != sets))
        i++;
    if (i == MEASURE_PLANS_MAX)
        return psnap_error_set(error, PSNAP_ERROR_USAGE, "too many different caches: at most %d",
                               MEASURE_PLANS_MAX);
    if (i == forecast->plan_count)
        plans[forecast->plan_count++] = (struct measure_plan){.line_bytes = line, .sets = sets};
    if (plans[i].ways < level->ways)
        plans[i].ways = level->ways;
    *plan = i;
    return PSNAP_OK;
}

enum psnap_status forecast_add_machine(struct forecast *forecast,
                                       const struct psnap_machine *machine,
                                       const struct forecast_settings *settings,
                                       struct psnap_error *error)
{
    const size_t m = forecast->machine_count;
    enum psnap_status status = PSNAP_OK;

    if (m == MACHINES_MAX)
        return psnap_error_set(error, PSNAP_ERROR_USAGE, "at most %d machines", MACHINES_MAX);
    forecast->machines[m] = *machine;
    for (size_t i = 0; i < m && !status; i++)
        if (!strcmp(forecast->machines[i].name, machine->name))
            status = psnap_error_set(error, PSNAP_ERROR_USAGE, "two machines are called '%.200s'",
                                     machine->name);
    for (uint32_t l = 0; l < machine->level_count && !status; l++)
        status =
            plan_level(forecast, &machine->levels[l], settings, &forecast->plans_of[m][l], error);
    forecast->machine_count += !status;
    return status;
}

enum psnap_status forecast_machines(struct forecast *forecast, const struct psnap_text_list *names,
                                    const struct forecast_settings *settings,
                                    struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    if (names->count > MACHINES_MAX)
        return psnap_error_set(error, PSNAP_ERROR_USAGE, "at most %d machines", MACHINES_MAX);
    for (size_t m = 0; m < names->count && !status; m++) {
        struct psnap_machine machine;
        status = psnap_machine_find(names->items[m], &machine, error);
        if (!status)
            status = forecast_add_machine(forecast, &machine, settings, error);
    }
    return status;
}

/* --------------------------------------------------------------------- inputs */

static enum psnap_status refuse(const struct forecast_run *run, const char *what,
                                struct psnap_error *error)
{
    psnap_error_set(
        error, PSNAP_ERROR_VALUE,
        "%s: build the program with 'psnap cc' and record all of a run with 'psnap record'", what);
    psnap_error_at(error, run->path, 0, 0);
    return PSNAP_ERROR_VALUE;
}

/* Reads an input; of one that only its counts are asked of there are no plans. */
static enum psnap_status read_run(struct forecast *forecast,
                                  const struct forecast_settings *settings, const char *path,
                                  bool counts_alone, struct psnap_error *error)
{
    struct forecast_run *run = &forecast->runs[forecast->run_count++];
    struct psnap_input_options input = settings->input;
    const struct measure_options options = {.plans = forecast->plans,
                                            .plan_count = counts_alone ? 0 : forecast->plan_count,
                                            .rate = settings->rate,
                                            .seed = settings->seed};
    enum psnap_status status;

    *run = (struct forecast_run){.path = path};
    input.kept = &run->profile;
    run->source = psnap_input_open(path, &input, error);
    if (!run->source)
        return error->code;
    status = measure_stream(&run->measure, run->source, run->profile, &options, error);
    if (status)
        return status;
    if (settings->input.count != UINT64_MAX && run->profile)
        measure_part(&run->measure, run->profile);
    if (!run->measure.total)
        return refuse(run, "there is not a single access in it", error);
    if (!run->measure.has_operations && settings->input.count != UINT64_MAX && !run->profile)
        return psnap_error_set(error, PSNAP_ERROR_UNSUPPORTED,
                               "what a trace's blocks compute stands behind its accesses: --count "
                               "is of profiles");
    if (!run->measure.has_operations)
        return refuse(run, "it does not say what its blocks compute, which T_cpu is made of",
                      error);
    return PSNAP_OK;
}

/* What needs block labels cannot do without them. */
static enum psnap_status need_blocks(const struct forecast_run *run, const char *option,
                                     struct psnap_error *error)
{
    char what[160];

    if (run->measure.has_block_counts)
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

static enum psnap_status by_probabilities(struct forecast *forecast, const char *path,
                                          struct psnap_error *error)
{
    const struct measure *measure = &forecast->runs[0].measure;
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
    status = target_executions(&forecast->target, measure, executions, error);
out:
    free(branches);
    free(executions);
    return status;
}

static enum psnap_status make_target(struct forecast *forecast,
                                     const struct forecast_settings *settings,
                                     struct psnap_error *error)
{
    const struct forecast_run *run = &forecast->runs[0];
    enum psnap_status status = PSNAP_OK;

    if (settings->write_probabilities) {
        status = need_blocks(run, "--write-probabilities", error);
        if (status)
            return status;
    }
    forecast->distances = settings->at || settings->probabilities ? "fixed" : "measured";
    if (settings->probabilities) {
        status = need_blocks(run, "--probabilities", error);
        return status ? status : by_probabilities(forecast, settings->probabilities, error);
    }
    if (!settings->at)
        return target_same(&forecast->target, &run->measure, error);
    status = need_blocks(run, "--at", error);
    if (!status)
        status = read_run(forecast, settings, settings->at, true, error);
    if (!status)
        status = need_blocks(&forecast->runs[1], "--at", error);
    if (status)
        return status;
    status = target_at(&forecast->target, &run->measure, &forecast->runs[1].measure, error);
    if (status)
        psnap_error_at(error, settings->at, 0, 0);
    return status;
}

/* No prediction is of more than can be counted. */
static enum psnap_status check_counts(const struct target *target, struct psnap_error *error)
{
    const struct psnap_program *program = target->base->program;
    double accesses = target->unknown, largest = 0;

    for (uint32_t i = 0; i < program->ref_count; i++)
        accesses += target->accesses[i];
    for (uint32_t i = 0; i < program->loop_count; i++)
        largest = fmax(largest, fmax(target->iterations[i], target->entries[i]));
    for (size_t i = 0; i < (size_t)program->loop_count * PSNAP_OPERATION_COUNT; i++)
        largest = fmax(largest, target->operations[i]);
    if (fmax(accesses, largest) <= (double)PSNAP_RUN_MAX)
        return PSNAP_OK;
    return psnap_error_set(error, PSNAP_ERROR_VALUE,
                           "the larger input has %.3g accesses, and up to %.3g iterations and "
                           "operations of a loop; up to 2^62 (4.6e18) can be predicted: choose a "
                           "smaller one",
                           accesses, largest);
}

/* ------------------------------------------------------------------- the work */

enum psnap_status forecast_measure(struct forecast *forecast,
                                   const struct forecast_settings *settings,
                                   struct psnap_error *error)
{
    enum psnap_status status = PSNAP_OK;

    if (!forecast->run_count)
        status = read_run(forecast, settings, settings->path, false, error);
    if (!status)
        status = make_target(forecast, settings, error);
    if (!status)
        status = check_counts(&forecast->target, error);
    if (!status && settings->assembly.count) {
        const struct target *target = &forecast->target;
        status = mca_measure(&forecast->mca, &settings->assembly, settings->cpu,
                             target->base->program, target->iterations, error);
    }
    return status;
}

enum psnap_status forecast_rows(struct forecast *forecast, const struct forecast_settings *settings,
                                size_t m, struct psnap_error *error)
{
    struct runtime_settings rows = settings->rows;
    enum psnap_status status;

    rows.mca = settings->assembly.count ? &forecast->mca : NULL;
    rows.machine = &forecast->machines[m];
    rows.plans = forecast->plans_of[m];
    status =
        runtime_rows_add(&forecast->rows, &forecast->target, forecast->distances, &rows, error);
    forecast->rows_end[m] = forecast->rows.count;
    return status;
}

/* Where hit rates of references on a machine are. */
struct simulated {
    const struct psnap_sink *sim;
    size_t machine;
};

/* Is runtime_settings.hit_rate. */
static double simulated_rate(const void *context, uint32_t ref, uint32_t level)
{
    const struct simulated *simulated = context;
    struct psnap_tally tally = {0};

    psnap_sim_add(simulated->sim, simulated->machine, PSNAP_VIEW_REF, ref, &tally);
    return psnap_tally_cumulative(&tally, level);
}

/* Makes the rows of all machines with the hit rates of the simulator. */
static enum psnap_status simulate(struct forecast *forecast,
                                  const struct forecast_settings *settings,
                                  struct psnap_error *error)
{
    struct forecast_settings simulating = *settings;
    struct psnap_source *source;
    struct psnap_sink *sim = NULL;
    enum psnap_status status;

    simulating.input.is_again = true;
    source = psnap_input_open(settings->path, &simulating.input, error);
    if (source)
        sim = psnap_sim_new(forecast->machines, forecast->machine_count, source->program, NULL,
                            error);
    status = sim ? psnap_pump(source, sim, NULL, error) : error->code;
    for (size_t m = 0; m < forecast->machine_count && !status; m++) {
        const struct simulated simulated = {sim, m};
        simulating.rows.hit_rate = simulated_rate;
        simulating.rows.rates = &simulated;
        status = forecast_rows(forecast, &simulating, m, error);
    }
    psnap_sink_free(sim);
    psnap_source_free(source);
    return status;
}

enum psnap_status forecast_make(struct forecast *forecast, const struct forecast_settings *settings,
                                struct psnap_error *error)
{
    enum psnap_status status = forecast_measure(forecast, settings, error);

    if (!status && settings->simulate)
        return simulate(forecast, settings, error);
    for (size_t m = 0; m < forecast->machine_count && !status; m++)
        status = forecast_rows(forecast, settings, m, error);
    return status;
}

void forecast_forget_runs(struct forecast *forecast)
{
    target_release(&forecast->target);
    for (size_t i = 0; i < forecast->run_count; i++) {
        measure_release(&forecast->runs[i].measure);
        psnap_source_free(forecast->runs[i].source);
        psnap_profile_free(forecast->runs[i].profile);
    }
    forecast->run_count = 0;
}

void forecast_release(struct forecast *forecast)
{
    forecast_forget_runs(forecast);
    mca_release(&forecast->mca);
    runtime_rows_release(&forecast->rows);
}
